//! Bad input: each gives one line that names the file and the place, nothing on standard output, the documented exit code,
//! and leaves the map, its history and the directory as they were.

mod common;

use std::fs;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use common::{answer, fleet, is_root, Answer, Place, STEAD};

/// Runs something that must fail and leave everything as it was.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: i32, words: &[&str]) {
    let before = place.contents();
    place.run(arguments).bad(code, words);
    assert!(place.contents() == before, "{arguments:?} changed a file");
}

/// A fleet's last lines, the line that is wrong, and words of the message.
const FLEETS: &[(&str, &str, usize, &str)] = &[
    ("an unknown key", "[[node]]\nname = \"a\"\nwieght = 2\n", 4, "unknown key `wieght`"),
    ("a duplicate name", "[[node]]\nname = \"a\"\n[[node]]\nname = \"a\"\n", 5, "`a` is used in line 3 already"),
    ("a negative weight", "[[node]]\nname = \"a\"\nweight = -1\n", 4, "weight -1"),
    ("a weight that is no number", "[[node]]\nname = \"a\"\nweight = nan\n", 4, "weight nan"),
    ("a weight without end", "[[node]]\nname = \"a\"\nweight = inf\n", 4, "weight inf"),
    ("a weight that is too long", "[[node]]\nname = \"a\"\nweight = 99999999999999999999999999\n", 4, "too large"),
    ("a weight that is too precise", "[[node]]\nname = \"a\"\nweight = 1.0000001\n", 4, "7 places"),
    ("a weight with an exponent", "[[node]]\nname = \"a\"\nweight = 1e3\n", 4, "weight 1e3"),
    ("a weight above the most", "[[node]]\nname = \"a\"\nweight = 1000001\n", 4, "weight 1000001"),
    ("no weight at all", "[[node]]\nname = \"a\"\nweight = 0\n", 1, "no node or policy has a weight above 0"),
    ("no node", "", 1, "no node"),
    ("a missing node of a policy", "[[node]]\nname = \"a\"\n[[policy]]\nname = \"p\"\nnodes = [\"b\"]\n", 6, "node `b` is not in this fleet"),
    ("a missing node of a pin", "[[node]]\nname = \"a\"\n[[pin]]\nkey = \"k\"\nnodes = [\"b\"]\n", 6, "node `b` is not in this fleet"),
    ("a missing policy of a pin", "[[node]]\nname = \"a\"\n[[pin]]\nkey = \"k\"\npolicy = \"p\"\n", 6, "policy `p` is not in this fleet"),
    (
        "overlapping pins",
        "[[node]]\nname = \"a\"\n[[pin]]\nrange = [\"1%\", \"3%\"]\nnodes = [\"a\"]\n[[pin]]\nrange = [\"2%\", \"4%\"]\nnodes = [\"a\"]\n",
        7,
        "line 4",
    ),
    ("the same key pinned twice", "[[node]]\nname = \"a\"\n[[pin]]\nkey = \"k\"\nnodes = [\"a\"]\n[[pin]]\nkey = \"k\"\nnodes = [\"a\"]\n", 7, "line 4"),
    ("a control character in a name", "[[node]]\nname = \"a\\u0007b\"\n", 3, "control character U+0007"),
    ("a newline in a name", "[[node]]\nname = \"a\\nb\"\n", 3, "control character U+000A"),
    ("a comma in a name", "[[node]]\nname = \"a,b\"\n", 3, "comma"),
    ("replicas above 1", "replicas = 2\n[[node]]\nname = \"a\"\n", 2, "not yet"),
    ("spread", "spread = [\"zone\"]\n[[node]]\nname = \"a\"\n", 2, "not yet"),
    ("a syntax error", "[[node]\nname = \"a\"\n", 2, ""),
];

#[test]
fn a_wrong_fleet_is_told_with_its_line() {
    for (what, tail, line, words) in FLEETS {
        let place = Place::with_map();
        place.write("bad.toml", format!("name = \"m\"\n{tail}"));
        let at = format!("bad.toml:{line}: ");
        println!("{what}");
        refused(&place, &["apply", "bad.toml", "m.map"], 78, &[&at, words]);
        refused(&place, &["plan", "bad.toml", "m.map"], 78, &[&at, words]);
        refused(&place, &["apply", "bad.toml", "new.map"], 78, &[&at, words]);
    }
}

#[test]
fn a_fleet_that_is_no_text_or_no_file_is_told() {
    let place = Place::with_map();
    place.write("empty.toml", "");
    place.write("latin1.toml", b"name = \"m\"\n# caf\xe9\n");
    place.write("half.json", "{\"name\": \"m\",\n \"node\": [");
    fs::create_dir(place.file("folder")).unwrap();
    refused(&place, &["apply", "empty.toml", "m.map"], 78, &["empty.toml:1: the file is empty"]);
    refused(&place, &["apply", "latin1.toml", "m.map"], 78, &["latin1.toml:2: ", "0xe9"]);
    refused(&place, &["apply", "half.json", "m.map"], 78, &["half.json:2: "]);
    refused(&place, &["apply", "none.toml", "m.map"], 66, &["none.toml"]);
    refused(&place, &["apply", "folder", "m.map"], 74, &["folder", "directory"]);
    // the two arguments the wrong way round
    refused(&place, &["apply", "m.map", "fleet.toml"], 65, &["fleet.toml", "not a stead map"]);
    // a name that would break the line is shown in one line
    refused(&place, &["apply", "no\nsuch.toml", "m.map"], 66, &["no\\nsuch.toml"]);
}

#[test]
fn another_clusters_fleet_or_map_is_refused() {
    let place = Place::with_map();
    place.write("other.toml", fleet(3).replace("\"m\"", "\"other\""));
    place.good(&["apply", "other.toml", "other.map"]);
    refused(&place, &["apply", "other.toml", "m.map"], 65, &["other.toml", "`other`", "`m`"]);
    refused(&place, &["plan", "other.toml", "m.map"], 65, &["other.toml", "`other`", "`m`"]);
    refused(&place, &["diff", "m.map", "other.map"], 65, &["m.map", "other.map", "two clusters"]);
    refused(&place, &["diff", "m.map", "other.map", "--keys", "frank"], 65, &["m.map", "other.map", "two clusters"]);
    fs::copy(place.file("other.map"), place.file("m.map.history/1")).unwrap();
    refused(&place, &["rollback", "m.map", "1"], 65, &["m.map: ", "`other`", "its own history"]);
    // another hash would move every key
    place.write("sha1.toml", format!("hash = \"sha1\"\n{}", fleet(3)));
    refused(&place, &["apply", "sha1.toml", "m.map"], 65, &["sha1.toml", "sha1", "md5"]);
}

/// Every verb that reads a map, with the map's name as `MAP`.
const READERS: &[&[&str]] = &[
    &["locate", "MAP", "frank"],
    &["locate", "MAP", "--count", "frank"],
    &["show", "MAP"],
    &["show", "MAP", "--json", "--slices"],
    &["check", "MAP"],
    &["diff", "MAP", "m.map"],
    &["diff", "m.map", "MAP"],
    &["history", "MAP"],
    &["rollback", "MAP", "1"],
    &["plan", "fleet.toml", "MAP"],
    &["apply", "fleet.toml", "MAP"],
];

#[track_caller]
fn every_reader_refuses(place: &Place, map: &str, code: i32, words: &[&str]) {
    for arguments in READERS {
        let arguments: Vec<&str> = arguments.iter().map(|word| if *word == "MAP" { map } else { word }).collect();
        refused(place, &arguments, code, &[&[map], words].concat());
    }
}

#[test]
fn a_damaged_map_is_refused_by_every_verb() {
    let place = Place::with_map();
    let good = fs::read(place.file("m.map")).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("empty.map", Vec::new(), "empty"),
        ("short.map", good[..100].to_vec(), "byte 100"),
        ("truncated.map", good[..good.len() - 1].to_vec(), "byte"),
        ("longer.map", [&good[..], b"\n"].concat(), "byte"),
        ("newer.map", with(8, 2), "newer stead"),
        ("feature.map", with(24, 1), "newer stead"),
        ("flipped.map", with(good.len() - 1, 0xff), "digest"),
        ("text.map", b"name = \"m\"\n".repeat(50), "not a stead map"),
        ("crlf.map", good.iter().flat_map(|byte| if *byte == b'\n' { vec![b'\r', b'\n'] } else { vec![*byte] }).collect(), "not a stead map"),
    ];
    for (name, bytes, words) in cases {
        place.write(name, bytes);
        every_reader_refuses(&place, name, 65, &[words]);
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_nobody_waits_for_it() {
    let place = Place::with_map();
    fs::create_dir(place.file("folder.map")).unwrap();
    assert!(Command::new("mkfifo").arg(place.file("fifo.map")).status().unwrap().success());
    every_reader_refuses(&place, "folder.map", 65, &["directory"]);
    every_reader_refuses(&place, "fifo.map", 65, &["not a regular file"]);
    every_reader_refuses(&place, "/dev/null", 65, &["not a regular file"]);
}

#[test]
fn a_missing_map_is_refused_by_those_who_read_it() {
    let place = Place::with_map();
    for arguments in READERS.iter().filter(|arguments| !["plan", "apply"].contains(&arguments[0])) {
        let arguments: Vec<&str> = arguments.iter().map(|word| if *word == "MAP" { "none.map" } else { word }).collect();
        refused(&place, &arguments, 66, &["none.map", "No such file"]);
    }
    refused(&place, &["apply", "fleet.toml", "none/m.map"], 66, &["cannot open none: No such file"]);
    refused(&place, &["survey", "none"], 66, &["none", "No such file"]);
}

#[test]
fn a_symbolic_link_is_read_through_and_never_replaced() {
    let place = Place::with_map();
    symlink("m.map", place.file("link.map")).unwrap();
    symlink("nowhere", place.file("dangling.map")).unwrap();
    assert_eq!(place.good(&["locate", "link.map", "frank"]), "frank\tn1\n");
    assert!(place.good(&["check", "link.map"]).starts_with("m: epoch 1\n"));
    for map in ["link.map", "dangling.map"] {
        // also when there would be nothing to do
        refused(&place, &["apply", "fleet.toml", map], 64, &[map, "symbolic link"]);
        refused(&place, &["apply", "next.toml", map], 64, &[map, "symbolic link"]);
        refused(&place, &["rollback", map, "1"], 64, &[map, "symbolic link"]);
    }
}

#[test]
fn a_wrong_command_line_is_one_line() {
    let place = Place::with_map();
    let cases: &[(&[&str], &str)] = &[
        (&[], "subcommand"),
        (&["plam"], "'plan'"),
        (&["apply", "fleet.toml"], "<MAP>"),
        (&["apply", "", "m.map"], "FLEET"),
        (&["locate"], "<MAP>"),
        (&["locate", "m.map", "--prefer", "x", "frank"], "whole number"),
        (&["locate", "m.map", "--prefer", "0", "frank"], "whole number"),
        (&["locate", "m.map", "--fold", "utf8", "frank"], "none or ascii"),
        (&["locate", "m.map", "--count", "--explain"], "--explain"),
        (&["locate", "m.map", "--explain", "-0", "frank"], "-0"),
        (&["rollback", "m.map", "last"], "whole number"),
        (&["rollback", "m.map"], "<EPOCH>"),
        (&["diff", "m.map", "m.map", "frank"], "--keys"),
        (&["diff", "m.map", "m.map", "--fold", "ascii"], "--keys"),
        (&["diff", "m.map", "m.map", "-0"], "--keys"),
        (&["path", "--levels", "0", "frank"], "1 to 256"),
        (&["path", "--levels", "257", "frank"], "1 to 256"),
        (&["survey", "m.map", "--levels", "64"], "--members"),
        (&["survey", "m.map", "--members", "-5"], ""),
        (&["check", "m.map", "--jsn"], "--json"),
    ];
    for (arguments, words) in cases {
        refused(&place, arguments, 64, &[words, "; see --help\n"]);
    }
}

/// Runs the program as somebody without rights; `None` when that cannot be done here, and says why.
fn as_nobody(place: &Place, arguments: &[&str]) -> Option<Answer> {
    if !is_root() {
        return Some(place.run(arguments)); // this process has no special rights either
    }
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // a copy that everybody can reach; by `cp`, since a file that this process writes cannot be run by its other threads
    let program = place.file("program");
    if !program.exists() {
        let copied = Command::new("cp").args([STEAD, "program"]).current_dir(place.path()).status().unwrap();
        assert!(copied.success());
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    match Command::new(&program).args(arguments).current_dir(place.path()).gid(65534).uid(65534).output() {
        Ok(output) => Some(answer(output)),
        Err(error) => {
            println!("skipped: cannot run a program as uid 65534 here: {error}");
            None
        }
    }
}

/// A place that an unprivileged process can be locked out of and into.
fn locked(place: &Place, mode: u32, name: &str) {
    fs::set_permissions(place.file(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_may_not_be_read_is_permission_denied() {
    let place = Place::with_map();
    let Some(control) = as_nobody(&place, &["locate", "m.map", "frank"]) else { return };
    assert_eq!(control.good(), "frank\tn1\n", "readable, it works");
    locked(&place, 0o000, "m.map");
    locked(&place, 0o000, "fleet.toml");
    for arguments in [&["locate", "m.map", "frank"][..], &["show", "m.map"], &["check", "m.map"], &["history", "m.map"], &["apply", "next.toml", "m.map"]] {
        as_nobody(&place, arguments).unwrap().bad(77, &["m.map", "Permission denied"]);
    }
    as_nobody(&place, &["plan", "fleet.toml"]).unwrap().bad(77, &["fleet.toml", "Permission denied"]);
    as_nobody(&place, &["survey", "fleet.toml"]).unwrap().bad(77, &["fleet.toml", "Permission denied"]);
    locked(&place, 0o644, "m.map");
}

#[test]
fn where_may_not_be_written_the_old_map_stays() {
    let place = Place::new();
    fs::create_dir(place.file("d")).unwrap();
    place.write("fleet.toml", fleet(3));
    place.write("next.toml", fleet(4));
    place.good(&["apply", "fleet.toml", "d/m.map"]);
    locked(&place, 0o555, "d");
    for arguments in [&["apply", "next.toml", "d/m.map"][..], &["apply", "fleet.toml", "d/new.map"]] {
        let map = place.file("d/m.map");
        let before = (fs::read(&map).unwrap(), fs::read_dir(place.file("d")).unwrap().count());
        let Some(answer) = as_nobody(&place, arguments) else { break };
        answer.bad(77, &["d/", "Permission denied"]);
        assert_eq!((fs::read(&map).unwrap(), fs::read_dir(place.file("d")).unwrap().count()), before);
    }
    locked(&place, 0o755, "d");
    assert_eq!(place.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_map_that_is_replaced_while_it_is_read_is_the_old_or_the_new_one() {
    let place = Place::with_map();
    let (one, two) = (fs::read(place.file("m.map")).unwrap(), {
        place.good(&["apply", "next.toml", "m.map"]);
        fs::read(place.file("m.map")).unwrap()
    });
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for bytes in [&one, &two] {
                    fs::write(place.file("spare"), bytes).unwrap();
                    fs::rename(place.file("spare"), place.file("m.map")).unwrap();
                }
            }
        });
        let answers: Vec<Answer> = (0..50).map(|_| place.run(&["locate", "m.map", "frank"])).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for answer in answers {
            assert_eq!(answer.good(), "frank\tn1\n");
        }
    });
}
