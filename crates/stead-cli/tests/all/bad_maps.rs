//! Bad maps: each gives a one-line error that names the file, and a documented exit code, and
//! nothing changes.

use std::io::Write;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::program::{fleet, many, Dir, Ran, STEAD};
use stead::format::encode;
use stead::{Map, Point};

/// Runs every verb that opens a map on `bad`. None of them may change a byte.
#[track_caller]
fn all_refuse(dir: &Dir, code: i32, parts: &[&str]) {
    let before = dir.everything();
    for verb in [
        &["plan", "fleet.toml", "bad"][..],
        &["apply", "fleet.toml", "bad"],
        &["locate", "bad", "frank"],
        &["show", "bad"],
        &["diff", "bad", "m.map"],
        &["diff", "m.map", "bad"],
        &["diff", "m.map", "bad", "--keys", "frank"],
        &["plot", "moves", "m.map", "bad", "-o", "-"],
        &["plot", "moves", "bad", "-o", "-"],
        &["report", "m.map", "bad", "-o", "-"],
        &["report", "bad", "-o", "-"],
        &["check", "bad"],
        &["history", "bad"],
        &["rollback", "bad", "1"],
    ] {
        // a verb that writes refuses a directory before it reads it
        let writes = matches!(verb[0], "apply" | "rollback");
        let code = if writes && dir.path("bad").is_dir() {
            64
        } else {
            code
        };
        let ran = dir.run(verb).fails(code, parts);
        assert!(
            ran.err.contains("bad") && ran.out.is_empty(),
            "{verb:?}: {ran:?}"
        );
    }
    assert_eq!(dir.everything(), before);
    dir.assert_clean();
}

fn with_map() -> Dir {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    dir.apply(&["a", "b", "c"]);
    dir
}

#[test]
fn a_map_and_a_fleet_in_the_wrong_order_are_told_apart() {
    let dir = Dir::new();
    dir.write("f.toml", "name = 'm'\nnode = [{name = 'a'}]\n");
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let before = dir.everything();
    let line =
        "m.map is a map, and f.toml is none: the fleet comes first: `stead plan f.toml m.map`";
    dir.run(&["plan", "m.map", "f.toml"]).fails(64, &[line]);
    let line = "m.map is a map, and f.toml is none: the map comes last: `stead apply f.toml m.map`";
    dir.run(&["apply", "m.map", "f.toml"]).fails(64, &[line]);
    assert_eq!(dir.everything(), before);
}

#[test]
fn what_is_no_map_is_refused() {
    let dir = with_map();
    let map = dir.read("m.map");
    let flipped = |at: usize| {
        let mut bytes = map.clone();
        bytes[at] ^= 1;
        bytes
    };
    let newer = |at: usize, value: u8| {
        let mut bytes = map.clone();
        bytes[at] = value;
        bytes
    };
    let crlf: Vec<u8> = map
        .iter()
        .flat_map(|b| {
            if *b == b'\n' {
                vec![b'\r', b'\n']
            } else {
                vec![*b]
            }
        })
        .collect();
    for (bytes, parts) in [
        (Vec::new(), &["bad: byte 0: the file is empty"][..]),
        (map[..100].to_vec(), &["bad: byte 100: the file ends"]),
        (
            map[..map.len() - 1].to_vec(),
            &["bad: byte 16: the file is truncated"],
        ),
        (
            [&map[..], b"\n"].concat(),
            &["bad: byte 16: the file is too long"],
        ),
        (vec![0; 4096], &["bad: byte 0: this is not a stead map"]),
        (
            fleet(&["a"]).repeat(9).into_bytes(),
            &["bad: byte 0: this is not a stead map"],
        ),
        (crlf, &["bad: byte 0: this is not a stead map"]),
        (
            newer(8, 2),
            &["bad: the map has format 2", "use a newer stead"],
        ),
        (
            newer(24, 64),
            &["bad: the map needs feature 6", "use a newer stead"],
        ),
        (flipped(48), &["bad: the digest does not match"]),
        (flipped(map.len() - 1), &["bad: the digest does not match"]),
    ] {
        dir.write("bad", bytes);
        all_refuse(&dir, 65, parts);
    }
}

#[test]
fn a_map_whose_every_byte_is_broken_in_turn_is_refused() {
    let dir = with_map();
    let map = dir.read("m.map");
    let mut broken = 0;
    for at in (0..map.len()).step_by(7) {
        let mut bytes = map.clone();
        bytes[at] ^= 0x10;
        dir.write("bad", &bytes);
        dir.run(&["locate", "bad", "frank"]).fails(65, &["bad: "]);
        broken += 1;
    }
    assert!(broken > 100);
    dir.run(&["locate", "m.map", "frank"]).ok(); // the control
}

#[test]
fn what_is_no_file_is_refused() {
    let dir = with_map();
    std::fs::create_dir(dir.path("bad")).unwrap();
    all_refuse(&dir, 65, &["bad: this is a directory"]);
    std::fs::remove_dir(dir.path("bad")).unwrap();
    assert!(Command::new("mkfifo")
        .arg(dir.path("bad"))
        .status()
        .unwrap()
        .success());
    all_refuse(&dir, 65, &["bad: this is not a regular file"]);
}

#[test]
fn a_missing_map_is_66_except_where_it_is_made() {
    let dir = with_map();
    for verb in [
        &["locate", "none", "frank"][..],
        &["show", "none"],
        &["diff", "none", "m.map"],
        &["diff", "m.map", "none"],
        &["check", "none"],
        &["history", "none"],
        &["rollback", "none", "1"],
        &["survey", "none"],
        &["plan", "none"],
    ] {
        dir.run(verb).fails(66, &["cannot open none: "]);
    }
    dir.run(&["show", "m.map/none"])
        .fails(66, &["m.map is a file, no directory: correct the path"]);
    dir.run(&["apply", "fleet.toml", "no/such/directory/m.map"])
        .fails(66, &["no/such/directory"]);
}

/// A verb that reads a map into memory is not killed by a map that does not fit there.
#[test]
fn a_huge_file_is_an_error_where_memory_is_scarce() {
    let dir = with_map();
    let huge = |name: &str, header: &[u8]| {
        let mut file = std::fs::File::create(dir.path(name)).unwrap();
        file.write_all(header).unwrap();
        file.set_len(1 << 30).unwrap(); // sparse
    };
    let mut header = dir.read("m.map");
    header[16..24].copy_from_slice(&(1u64 << 30).to_le_bytes());
    huge("zeros", &[]);
    huge("long.map", &header);
    let scarce = |map: &str| {
        dir.shell(&format!(
            "ulimit -v 600000 && exec \"$STEAD\" apply fleet.toml {map}"
        ))
    };
    scarce("m.map").ok();
    scarce("zeros").fails(65, &["zeros: byte 0: this is not a stead map"]);
    scarce("long.map").fails(74, &["cannot read long.map: Cannot allocate memory"]);
}

#[test]
fn the_map_of_another_cluster_is_refused() {
    let dir = with_map();
    dir.write(
        "others.toml",
        fleet(&["a", "b"]).replace("members", "others"),
    );
    dir.run(&["apply", "others.toml", "others.map"]).ok();
    let before = dir.everything();
    dir.run(&["apply", "fleet.toml", "others.map"])
        .fails(65, &["fleet.toml", "`others`", "`members`"]);
    dir.run(&["diff", "m.map", "others.map"])
        .fails(65, &["two clusters", "`others`"]);
    dir.run(&["diff", "m.map", "others.map", "--keys", "x"])
        .fails(65, &["two clusters"]);
    // A map of the same cluster that was made a second time may be compared (docs/placement.md),
    // but never published over the first.
    dir.write("twin.toml", fleet(&["x", "y"]));
    dir.run(&["apply", "twin.toml", "twin.map"]).ok();
    dir.run(&["diff", "m.map", "twin.map"]).ok();
    // nor from the history
    std::fs::copy(dir.path("twin.map"), dir.path("m.map.history/1")).unwrap();
    dir.run(&["rollback", "m.map", "1"])
        .fails(65, &["not epochs of the same map"]);
    let changed = dir
        .everything()
        .into_iter()
        .filter(|file| !before.contains(file))
        .map(|(name, _)| name);
    assert_eq!(
        changed.collect::<Vec<_>>(),
        [
            "m.map.history/1",
            "twin.map",
            "twin.map.history/1",
            "twin.map.history/log"
        ]
    );
}

#[test]
fn through_a_symbolic_link_a_map_is_read_and_not_written() {
    let dir = with_map();
    symlink("m.map", dir.path("link")).unwrap();
    symlink("nothing", dir.path("dangling")).unwrap();
    dir.run(&["locate", "link", "frank"]).ok();
    dir.write("fleet.toml", fleet(&["a", "b", "c", "d"]));
    let before = dir.everything();
    dir.run(&["plan", "fleet.toml", "link"]).ok();
    for link in ["link", "dangling"] {
        dir.run(&["apply", "fleet.toml", link])
            .fails(64, &[link, "symbolic link"]);
    }
    dir.run(&["rollback", "link", "1"]).fails(64, &["link"]);
    assert_eq!(dir.everything(), before);
}

/// Runs the program as a user without rights, or returns the reason why it cannot be run so.
fn as_nobody(dir: &Dir, arguments: &[&str]) -> Result<Ran, String> {
    if Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|id| id.stdout == b"0\n")
    {
        let nobody = |program: &str| {
            let mut command = Command::new(program);
            command.current_dir(dir.path("")).uid(65534).gid(65534);
            command
        };
        match nobody(STEAD).arg("--version").output() {
            Ok(ran) if ran.status.success() => {}
            other => return Err(format!("another user cannot run {STEAD}: {other:?}")),
        }
        return Ok(Ran::of(nobody(STEAD).args(arguments).output().unwrap()));
    }
    Ok(dir.run(arguments))
}

#[test]
fn what_may_not_be_read_or_written_is_77() {
    let dir = with_map();
    dir.write("fleet.toml", fleet(&["a", "b", "c", "d"]));
    std::fs::set_permissions(dir.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(dir.path("m.map.history"), PermissionsExt::from_mode(0o755)).unwrap();
    match as_nobody(&dir, &["check", "m.map"]) {
        Err(reason) => return println!("skipped: {reason}"),
        Ok(ran) => drop(ran.ok()),
    }
    let before = dir.everything();
    // The user may read but not write: another user if the tests run as root, else the same user
    // without the right.
    std::fs::set_permissions(dir.path(""), PermissionsExt::from_mode(0o555)).unwrap();
    std::fs::set_permissions(dir.path("m.map.lock"), PermissionsExt::from_mode(0o444)).unwrap();
    for arguments in [
        &["apply", "fleet.toml", "m.map"][..],
        &["rollback", "m.map", "1"],
        &["apply", "fleet.toml", "new.map"],
    ] {
        as_nobody(&dir, arguments)
            .unwrap()
            .fails(77, &["map.lock", "ermission denied"]);
    }
    std::fs::set_permissions(dir.path("m.map"), PermissionsExt::from_mode(0o000)).unwrap();
    for arguments in [
        &["locate", "m.map", "x"][..],
        &["show", "m.map"],
        &["apply", "fleet.toml", "m.map"],
    ] {
        as_nobody(&dir, arguments)
            .unwrap()
            .fails(77, &["cannot open m.map", "ermission denied"]);
    }
    std::fs::set_permissions(dir.path("m.map"), PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::set_permissions(dir.path("fleet.toml"), PermissionsExt::from_mode(0o000)).unwrap();
    as_nobody(&dir, &["plan", "fleet.toml"])
        .unwrap()
        .fails(77, &["cannot open fleet.toml"]);
    std::fs::set_permissions(dir.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(dir.everything(), before);
}

#[test]
fn a_map_that_is_written_over_while_it_is_read_gives_an_answer_or_an_error() {
    let dir = Dir::new();
    dir.write("f.toml", many(300));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write("f.toml", many(400));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let (old, new) = (dir.read("m.map.history/1"), dir.read("m.map.history/2"));
    let place = dir.path("torn.map");
    std::fs::write(&place, &old).unwrap();
    let stop = AtomicBool::new(false);
    let (mut right, mut errors) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // overwrites the file in place: truncates, then writes
                std::fs::write(&place, &old).unwrap();
                std::fs::write(&place, &new).unwrap();
            }
        });
        for _ in 0..300 {
            let ran = dir.run(&["locate", "torn.map", "frank"]);
            match ran.code {
                Some(0) => right += usize::from(ran.ok().text().starts_with("frank\tn")),
                _ => {
                    ran.fails(65, &["torn.map: "]);
                    errors += 1;
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("written over while read: {right} answers, {errors} errors");
    assert_eq!(right + errors, 300);
    assert!(errors > 0, "no fault took effect");
}

#[test]
fn check_finds_a_map_that_is_whole_and_wrong() {
    let dir = with_map();
    let map = Map::open_uncached(dir.path("m.map")).unwrap();
    let mut parts = map.to_parts();
    parts.base[1].0 = Point(parts.base[1].0 .0 + 12_345);
    dir.write("skewed.map", encode(&parts));
    let ran = dir
        .run(&["check", "skewed.map"])
        .fails(1, &["skewed.map: a rule is broken"]);
    assert!(
        ran.text()
            .contains("BROKEN  balance     2 shares off target, by at most 12345 points"),
        "{ran:?}"
    );
    let ran = dir.run(&["check", "skewed.map", "--json"]).fails(1, &[]);
    let json: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(
        (&json["ok"], &json["max_share_error_points"]),
        (&false.into(), &"12345".into())
    );

    let mut parts = map.to_parts();
    for policy in &mut parts.policies {
        let other = (policy.members[0].0 + 1) % 3;
        policy.members.push(stead::policy::NodeId(other));
    }
    dir.write("double.map", encode(&parts));
    let ran = dir.run(&["check", "double.map"]).fails(1, &[]);
    assert!(ran.text().contains("BROKEN  replicas"), "{ran:?}");

    let mut parts = map.to_parts();
    parts.max_slices = Some(2);
    dir.write("many.map", encode(&parts));
    let ran = dir.run(&["check", "many.map"]).fails(1, &[]);
    assert!(
        ran.text().contains(&format!(
            "BROKEN  max_slices  {} slices, but at most 2 are allowed",
            map.base_count()
        )),
        "{ran:?}"
    );

    // the control: encoded again without a change, it is the same file, and it is sound
    dir.write("same.map", encode(&map.to_parts()));
    assert_eq!(dir.read("same.map"), dir.read("m.map"));
    dir.run(&["check", "same.map"]).ok();
}
