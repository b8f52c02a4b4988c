//! `stead locate --follow`: a pipe that is kept open gets the answers of the newest map.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::program::{fleet, Dir, Ran};

/// A program that answers one key at a time.
struct Pipe {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Pipe {
    fn open(dir: &Dir, options: &[&str]) -> Pipe {
        let mut child = dir
            .command(&[&["locate", "m.map"], options].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Pipe {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn ask(&mut self, key: &str) -> String {
        self.stdin.write_all(format!("{key}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Ends the input, and returns what standard error had.
    fn close(self) -> String {
        drop(self.stdin);
        drop(self.stdout);
        Ran::of(self.child.wait_with_output().unwrap()).err
    }
}

/// Returns a key that moves from epoch 1 to 2, and what `locate` with these options says of it in
/// each.
fn moved(dir: &Dir, options: &[&str], key: fn(u32) -> String) -> (String, [String; 2]) {
    let said = |map: &str, key: &str| {
        let ran = dir.run(&[&["locate", map], options, &[key]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.text().to_owned()
    };
    (0..100)
        .map(key)
        .find_map(|key| {
            let both = ["m.map.history/1", "m.map"].map(|map| said(map, &key));
            (both[0] != both[1]).then_some((key, both))
        })
        .unwrap()
}

/// The map with two epochs; the second one has one more node.
fn two_epochs() -> Dir {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    dir.apply(&["a", "b", "c"]);
    dir
}

/// Puts an epoch of the history in the place of the map, as a watch does.
fn put(dir: &Dir, epoch: u64) {
    fs::copy(
        dir.path(&format!("m.map.history/{epoch}")),
        dir.path("next"),
    )
    .unwrap();
    fs::rename(dir.path("next"), dir.path("m.map")).unwrap();
}

#[test]
fn a_pipe_that_follows_answers_from_the_newest_map_and_says_so() {
    let words: fn(u32) -> String = |n| format!("user{n}");
    let digits: fn(u32) -> String = |n| format!("{n:08x}");
    let points: fn(u32) -> String = |n| format!("{:016x}", u64::from(n) << 57);
    let dir = two_epochs();
    for (options, key) in [
        (&[][..], words),
        (&["--json"], words),
        (&["--prefer", "1"], words),
        (&["--hex"], digits),
        (&["--points"], points),
        (&["--carry"], words),
        (&["--carry", "--json"], words),
    ] {
        put(&dir, 2);
        let (key, both) = moved(&dir, options, key);
        put(&dir, 1);
        let mut pipe = Pipe::open(&dir, &[options, &["--follow"]].concat());
        assert_eq!(pipe.ask(&key), both[0], "{options:?}");
        put(&dir, 2);
        assert_eq!(pipe.ask(&key), both[1], "{options:?}");
        assert_eq!(pipe.ask(&key), both[1], "{options:?}");
        assert_eq!(
            pipe.close(),
            "stead: m.map: epoch 2 answers from here on, in place of epoch 1\n"
        );
        // without the option, the map of the start answers
        put(&dir, 1);
        let mut pipe = Pipe::open(&dir, options);
        assert_eq!(pipe.ask(&key), both[0]);
        put(&dir, 2);
        assert_eq!(pipe.ask(&key), both[0]);
        // and it is older than its history
        let older = "stead: m.map: this map is epoch 1, and its history has epoch 2: an old map";
        assert!(pipe.close().starts_with(older));
    }
}

#[test]
fn a_map_that_is_gone_or_damaged_leaves_the_last_one_answering_and_is_said_once() {
    let dir = two_epochs();
    let (key, both) = moved(&dir, &[], |n| format!("user{n}"));
    put(&dir, 1);
    let mut pipe = Pipe::open(&dir, &["--follow"]);
    assert_eq!(pipe.ask(&key), both[0]);
    fs::remove_file(dir.path("m.map")).unwrap();
    assert_eq!(pipe.ask(&key), both[0]);
    assert_eq!(pipe.ask(&key), both[0]);
    dir.write("bad", "no map");
    fs::rename(dir.path("bad"), dir.path("m.map")).unwrap();
    assert_eq!(pipe.ask(&key), both[0]);
    assert_eq!(pipe.ask(&key), both[0]);
    put(&dir, 1);
    assert_eq!(pipe.ask(&key), both[0]);
    // overwritten in place, as cp does
    dir.write("m.map", dir.read("m.map.history/2"));
    assert_eq!(pipe.ask(&key), both[0]);
    assert_eq!(pipe.ask(&key), both[0]);
    put(&dir, 2);
    assert_eq!(pipe.ask(&key), both[1]);
    let err = pipe.close();
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 4, "{err}");
    for line in &lines[..3] {
        assert!(
            line.contains("m.map") && line.ends_with("; epoch 1 goes on answering"),
            "{err}"
        );
    }
    assert!(lines[2].contains("overwritten in place"), "{err}");
    assert!(lines[3].contains("epoch 2 answers from here on"), "{err}");
}

#[test]
fn a_carry_that_begins_is_said_by_a_pipe_that_follows() {
    let dir = two_epochs();
    let mut pipe = Pipe::open(&dir, &["--follow"]);
    pipe.ask("frank");
    dir.write("fleet.toml", fleet(&["a", "b", "c", "d"]));
    dir.run(&["apply", "fleet.toml", "m.map", "--carry"]).ok();
    pipe.ask("frank");
    let err = pipe.close();
    assert!(err.contains("a carry is open, in the state old"), "{err}");
}

#[test]
fn there_is_nothing_to_follow_with_keys_as_arguments_or_with_a_count() {
    let dir = two_epochs();
    dir.run(&["locate", "m.map", "--follow", "frank"])
        .fails(64, &["--follow"]);
    dir.run(&["locate", "m.map", "--follow", "--count"])
        .fails(64, &["--follow"]);
}
