//! Full disks, size limits and readers that go away.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};

use crate::program::{fleet, many, Dir, Ran, STEAD};

fn with_map() -> Dir {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    dir.apply(&["a", "b", "c"]);
    dir.write("next.toml", fleet(&["a", "b", "c", "d"]));
    dir.write("names", "frank\njustin\n");
    dir
}

#[test]
fn a_full_device_is_said_in_one_line_by_every_verb() {
    let dir = with_map();
    for arguments in [
        &["plan", "next.toml", "m.map"][..],
        &["plan", "next.toml", "m.map", "--json", "--moves"],
        &["locate", "m.map", "frank"],
        &["locate", "m.map", "--json", "frank"],
        &["locate", "m.map", "--count", "frank"],
        &["locate", "m.map", "--explain", "frank"],
        &["locate", "m.map", "--prefer", "2", "frank"],
        &["show", "m.map"],
        &["show", "m.map", "--json", "--slices"],
        &["diff", "m.map.history/1", "m.map"],
        &[
            "diff",
            "m.map.history/1",
            "m.map",
            "--keys",
            "a",
            "b",
            "c",
            "d",
            "e",
            "f",
            "g",
            "h",
            "i",
            "j",
            "k",
        ],
        &["check", "m.map"],
        &["path", "frank"],
        &["survey", "names"],
        &["history", "m.map"],
        &["rollback", "m.map", "1", "--dry-run"],
        &["apply", "fleet.toml", "m.map"], // nothing to do
        &["--help"],
        &["locate", "--help"],
        &["--version"],
    ] {
        let full = OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("/dev/full");
        let ran = Ran::of(dir.command(arguments).stdout(full).output().unwrap());
        let ran = ran.fails(
            74,
            &["cannot write standard output: No space left on device"],
        );
        assert!(!ran.err.contains("in place"), "{arguments:?}: {ran:?}");
    }
    // a change that was published stays published, and the error says so
    for (arguments, epoch) in [
        (&["apply", "next.toml", "m.map"][..], 3),
        (&["rollback", "m.map", "2", "--json"], 4),
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ran = Ran::of(dir.command(arguments).stdout(full).output().unwrap());
        ran.fails(
            76,
            &[&format!(
                "epoch {epoch} is in place, but: cannot write standard output"
            )],
        );
        assert_eq!(dir.run(&["show", "m.map", "--json"]).json()["epoch"], epoch);
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_program_without_a_word() {
    let dir = with_map();
    let keys: String = (0..1_000_000).map(|i| format!("key{i}\n")).collect();
    dir.write("keys", keys);
    for verb in [
        "locate m.map < keys",
        "locate m.map -0 < keys",
        "locate m.map --json < keys",
        "diff m.map.history/1 m.map --keys < keys",
        "path < keys",
    ] {
        let script = format!("{{ \"$STEAD\" {verb}; echo $? > code; }} | head -1");
        let ran = dir.shell(&script).ok();
        assert!(!ran.out.is_empty());
        assert_eq!(dir.read("code"), b"141\n", "{verb}");
    }
    // the control: with a reader that stays
    let ran = dir.shell("\"$STEAD\" locate m.map < keys | wc -l").ok();
    assert_eq!(ran.text().trim(), "1000000");
}

#[test]
fn standard_input_that_cannot_be_read_is_an_error() {
    let dir = with_map();
    dir.shell("\"$STEAD\" locate m.map < .")
        .fails(74, &["cannot read standard input: "]);
    dir.shell("\"$STEAD\" survey .")
        .fails(74, &["cannot read .: "]);
}

#[test]
fn a_file_size_limit_is_an_error_and_leaves_the_old_map() {
    let dir = with_map();
    dir.write("big.toml", many(2000)); // some 200 kB of map
    let before = dir.everything();
    // blocks of 512 bytes in sh; 1024 in bash
    for map in ["m.map", "new.map"] {
        let ran = dir
            .shell(&format!(
                "ulimit -f 8; \"$STEAD\" apply big.toml {map} --json --allow take-back"
            ))
            .fails(74, &["cannot write ", "File too large"]);
        assert!(ran.out.is_empty());
    }
    dir.assert_clean();
    assert!(!dir.path("new.map").exists());
    assert_eq!(dir.everything(), before);
    // the control: without a limit it fits
    dir.run(&["apply", "big.toml", "m.map", "--allow=take-back"])
        .ok();
    // answers that exceed the limit are an error as well
    dir.write(
        "keys",
        (0..100_000)
            .map(|i| format!("key{i}\n"))
            .collect::<String>(),
    );
    dir.shell("ulimit -f 8; \"$STEAD\" locate m.map < keys > answers")
        .fails(74, &["cannot write standard output: File too large"]);
}

/// A small file system of its own, unmounted at the end.
struct Tiny(std::path::PathBuf);

impl Tiny {
    fn mount(at: std::path::PathBuf, size: &str) -> Result<Tiny, String> {
        std::fs::create_dir(&at).unwrap();
        let mut command = Command::new("mount");
        command
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&at)
            .stdout(Stdio::null());
        match command.output() {
            Ok(ran) if ran.status.success() => Ok(Tiny(at)),
            Ok(ran) => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_map() {
    let dir = Dir::new();
    let tiny = match Tiny::mount(dir.path("tiny"), "400k") {
        Ok(tiny) => tiny,
        Err(reason) => {
            return println!("skipped: no file system of its own can be mounted: {reason}")
        }
    };
    let (mut refused, mut weight) = (0, 1);
    dir.write("f.toml", many(1000));
    dir.run(&["apply", "f.toml", "tiny/m.map"]).ok();
    let mut before = dir.everything();
    // about 100 kB an epoch: the disk is full soon
    while refused < 3 && weight < 20 {
        weight += 1;
        dir.write("f.toml", many(1000) + &format!("weight = {weight}\n"));
        let ran = dir.run(&["apply", "f.toml", "tiny/m.map"]);
        if ran.code == Some(0) {
            before = dir.everything();
            continue;
        }
        ran.fails(74, &["cannot write ", "No space left on device"]);
        refused += 1;
        dir.assert_clean();
        let now = dir.everything();
        let map = |files: &[(String, String)]| {
            files.iter().find(|(name, _)| name == "tiny/m.map").cloned()
        };
        assert_eq!(map(&now), map(&before), "the old map stands");
        for file in &before {
            assert!(now.contains(file), "{file:?} is gone");
        }
        dir.run(&["check", "tiny/m.map"]).ok();
        dir.run(&["history", "tiny/m.map"]).ok();
    }
    println!("full disk: {refused} refused, up to weight {weight}");
    assert!(refused > 0, "no fault took effect");
    // with room again, the next apply works
    let grown = Command::new("mount")
        .args(["-o", "remount,size=4m"])
        .arg(&tiny.0)
        .status()
        .is_ok_and(|s| s.success());
    assert!(grown);
    dir.run(&["apply", "f.toml", "tiny/m.map"]).ok();
    dir.assert_clean();
}

#[test]
fn no_colours_and_no_progress_where_there_is_no_terminal() {
    let dir = with_map();
    dir.write("names", "frank\n".repeat(300_000));
    for arguments in [
        &["show", "m.map"][..],
        &["check", "m.map"],
        &["survey", "names"],
        &["--help"],
    ] {
        let ran = dir.run(arguments).ok();
        assert!(!ran.out.contains(&0x1b), "{arguments:?}");
    }
}

/// Runs the program on a terminal of its own with `script`, if that is installed.
#[test]
fn colours_on_a_terminal_unless_no_color_is_set() {
    let dir = with_map();
    let on_terminal = |environment: &str| {
        let mut command = Command::new("script");
        let line = format!("env -u NO_COLOR TERM=xterm {environment} \"$STEAD\" check m.map");
        command
            .current_dir(dir.path(""))
            .env("STEAD", STEAD)
            .args(["-qec", &line, "/dev/null"])
            .stdin(Stdio::null());
        command
            .output()
            .ok()
            .filter(|ran| ran.status.success())
            .map(|ran| ran.stdout)
    };
    let Some(coloured) = on_terminal("A=1") else {
        return println!("skipped: no program `script` that gives a terminal");
    };
    assert!(
        coloured.contains(&0x1b),
        "{:?}",
        String::from_utf8_lossy(&coloured)
    );
    for plain in ["NO_COLOR=1", "TERM=dumb"] {
        assert!(!on_terminal(plain).unwrap().contains(&0x1b), "{plain}");
    }
}

/// Shows a bar with the rate and the time left for a file, a counter for a pipe, and nothing where
/// answers on the terminal would overwrite it.
#[test]
fn progress_on_a_terminal_has_a_rate_and_for_a_file_the_time_left() {
    let dir = with_map();
    dir.write("long", "frank\njustin\n".repeat(2_000_000)); // 26 MB
    let on_terminal = |line: &str| {
        let mut command = Command::new("script");
        command
            .current_dir(dir.path(""))
            .env("STEAD", STEAD)
            .env("TERM", "xterm")
            .args(["-qec", line, "/dev/null"])
            .stdin(Stdio::null());
        let ran = command.output().ok()?;
        Some(String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    let Some(shown) = on_terminal("\"$STEAD\" survey long --json > answer") else {
        return println!("skipped: no program `script` that gives a terminal");
    };
    let has = |shown: &str, words: &[&str]| words.iter().all(|word| shown.contains(word));
    assert!(has(&shown, &["reading ", "iB/s ", "s left"]), "{shown:?}");
    // at the end nothing is left of the bar
    assert!(shown.ends_with("\u{1b}[2K"), "{shown:?}");
    let shown = on_terminal("\"$STEAD\" locate m.map --count < long").unwrap();
    assert!(has(&shown, &["iB/s ", "s left", "a\t"]), "{shown:?}");
    let shown = on_terminal("cat long | \"$STEAD\" locate m.map > answer").unwrap();
    assert!(has(&shown, &["reading ", "iB/s"]), "{shown:?}");
    assert!(!shown.contains("left"), "{shown:?}");
    for silent in [
        "\"$STEAD\" survey long --json > answer 2> errors",
        "\"$STEAD\" locate m.map --points 26253c50741faa9c > answer",
    ] {
        assert_eq!(on_terminal(silent).unwrap(), "", "{silent}");
    }
    let shown = on_terminal("head -n 3 long | \"$STEAD\" locate m.map").unwrap();
    assert!(!shown.contains("reading"), "{shown:?}");
}
