//! `locate`, `diff --keys` and `path`: the exact bytes of their records for given keys.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::program::{fleet, Dir, RICH};
use serde_json::{json, Value};

/// Returns a map in which four nodes hold a quarter of the points each, in order. frank has the
/// point 26..., justin 53..., and so on.
fn quarters() -> Dir {
    let dir = Dir::new();
    dir.apply(&["q0", "q1", "q2", "q3"]);
    dir
}

#[test]
fn a_key_is_answered_with_its_nodes() {
    let dir = quarters();
    assert_eq!(
        dir.run(&["locate", "m.map", "frank", "justin", ""])
            .ok()
            .text(),
        "frank\tq0\njustin\tq1\n\tq3\n"
    );
    let json = dir.run(&["locate", "m.map", "--json", "frank"]).json();
    assert_eq!(
        json,
        json!({"key": "frank", "point": "26253c50741faa9c", "nodes": ["q0"]})
    );
}

#[test]
fn lines_may_end_as_they_like() {
    let dir = quarters();
    for input in [
        "frank\njustin\n",
        "frank\r\njustin\r\n",
        "frank\njustin",
        "frank\r\njustin",
    ] {
        assert_eq!(
            dir.feed(&["locate", "m.map"], input.as_bytes()).ok().text(),
            "frank\tq0\njustin\tq1\n",
            "{input:?}"
        );
    }
    assert_eq!(dir.feed(&["locate", "m.map"], b"").ok().text(), "");
    // an empty line is the empty key, whose MD5 starts with d4 1d 8c
    assert_eq!(
        dir.feed(&["locate", "m.map"], b"\n\r\n").ok().text(),
        "\tq3\n\tq3\n"
    );
    // other white space belongs to the key
    let spaced = dir
        .feed(&["locate", "m.map", "--json"], b" frank\nfrank\r\r\n")
        .ok();
    assert!(
        spaced.text().contains("\" frank\"") && spaced.text().contains("\"frank\\r\""),
        "{spaced:?}"
    );
}

#[test]
fn with_zero_keys_are_any_bytes_but_nul() {
    let dir = quarters();
    let ran = dir
        .feed(
            &["locate", "m.map", "-0"],
            b"frank\0frank\n\0\0a\tb\r\n\0\xff\xfe",
        )
        .ok();
    let keys: Vec<&[u8]> = ran.out.split(|b| *b == 0).collect();
    assert_eq!(keys.len(), 6, "{ran:?}");
    assert_eq!(keys[0], b"q0\tfrank");
    assert_eq!(keys[1], b"q3\tfrank\n"); // MD5 d2...: another key
    assert_eq!(keys[2], b"q3\t");
    assert!(
        keys[3].ends_with(b"\ta\tb\r\n") && keys[4].ends_with(b"\t\xff\xfe") && keys[5].is_empty()
    );
}

#[test]
fn keys_that_are_not_utf8_work_everywhere() {
    let dir = quarters();
    let key: &[u8] = b"fr\xff\x80nk";
    let from_arguments = dir
        .run(&[
            OsStr::new("locate"),
            OsStr::new("m.map"),
            OsStr::from_bytes(key),
        ])
        .ok();
    let from_lines = dir.feed(&["locate", "m.map"], key).ok();
    assert!(from_arguments.out.starts_with(b"fr\xff\x80nk\tq"));
    assert_eq!(from_arguments.out, from_lines.out);
    let json = dir.feed(&["locate", "m.map", "--json"], key).json();
    assert_eq!(json["key"], json!({"hex": "6672ff806e6b"}));
    let path = dir.feed(&["path"], key).ok();
    assert!(path.text().ends_with("/fr=ff=80nk\n"), "{path:?}");
}

#[test]
fn totals_count_every_node_and_every_key() {
    let dir = Dir::new();
    dir.write("f.toml", RICH);
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let keys: String = (0..5000).map(|i| format!("key{i}\n")).collect();
    let lines = dir.feed(&["locate", "m.map"], keys.as_bytes()).ok();
    let primary = |node: &str| {
        lines
            .text()
            .lines()
            .filter(|l| l.split(['\t', ',']).nth(1) == Some(node))
            .count()
    };
    let counts = dir
        .feed(&["locate", "m.map", "--count"], keys.as_bytes())
        .ok();
    assert_eq!(
        counts.text(),
        format!(
            "a\t{}\nb\t{}\nc\t{}\n",
            primary("a"),
            primary("b"),
            primary("c")
        )
    );
    assert_eq!(primary("a") + primary("b") + primary("c"), 5000);
    let zero = dir
        .feed(
            &["locate", "m.map", "--count", "-0"],
            keys.replace('\n', "\0").as_bytes(),
        )
        .ok();
    assert_eq!(zero.text(), counts.text().replace('\n', "\0"));
    let json = dir
        .run(&["locate", "m.map", "--count", "--json", "justin"])
        .json();
    assert_eq!(json["keys"], 1);
    assert_eq!(
        json["nodes"],
        json!([{"name": "a", "keys": 0}, {"name": "b", "keys": 0}, {"name": "c", "keys": 1}])
    );
}

#[test]
fn explain_says_why() {
    let dir = Dir::new();
    dir.write("f.toml", RICH);
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let ran = dir
        .run(&["locate", "m.map", "--explain", "justin", "frank"])
        .ok();
    let text = ran.text();
    for part in [
        "justin\tc,a\n",
        "  digest  53dd9c6005f3cdfc5a69c5c07388016d\n",
        "  point   53dd9c6005f3cdfc\n",
        "  slice   53dd9c6005f3cdfc..53dd9c6005f3cdfc\n",
        "  policy  hot, kind chain\n",
        "  labels  a: rack=r1 zone=z1\n",
        "  labels  c: none\n",
        "  why     pinned by hand: key \"justin\"; the base slice under it is held by ",
        "frank\ta\n",
        "  digest  26253c50741faa9c2e2b836773c69fe6\n",
        "  policy  chosen by stead\n",
        "  why     base slice of a, which has weight 1.5 of 5\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let json = dir
        .run(&["locate", "m.map", "--explain", "--json", "justin"])
        .json();
    assert_eq!(
        (
            &json["digest"],
            &json["policy"],
            &json["slice"]["first"],
            &json["labels"]["a"]["zone"]
        ),
        (
            &"53dd9c6005f3cdfc5a69c5c07388016d".into(),
            &"hot".into(),
            &"53dd9c6005f3cdfc".into(),
            &"z1".into()
        )
    );
    dir.write(
        "sha1.toml",
        fleet(&["a"]).replace("[[node]]", "hash = \"sha1\"\n[[node]]"),
    );
    dir.run(&["apply", "sha1.toml", "sha1.map"]).ok();
    let sha1 = dir.run(&["locate", "sha1.map", "--explain", "abc"]).ok();
    assert!(
        sha1.text()
            .contains("a9993e364706816aba3e25717850c26c9cd0d89d"),
        "{sha1:?}"
    );
    dir.write(
        "xxh3.toml",
        fleet(&["a"]).replace("[[node]]", "hash = \"xxh3\"\n[[node]]"),
    );
    dir.run(&["apply", "xxh3.toml", "xxh3.map"]).ok();
    let xxh3 = dir.run(&["locate", "xxh3.map", "--explain", ""]).ok();
    assert!(
        xxh3.text().contains("  digest  2d06800538d394c2\n"),
        "{xxh3:?}"
    );
    dir.run(&["locate", "m.map", "--explain", "-0", "x"])
        .fails(64, &["add --json"]);
}

#[test]
fn prefer_lists_who_takes_over() {
    let dir = quarters();
    let nodes = |n: &str| {
        dir.run(&["locate", "m.map", "--prefer", n, "--json", "frank"])
            .json()["nodes"]
            .clone()
    };
    let four = nodes("9");
    assert_eq!(
        (four.as_array().unwrap().len(), &four[0]),
        (4, &"q0".into())
    );
    assert_eq!(
        nodes("2"),
        Value::from(four.as_array().unwrap()[..2].to_vec())
    );
    let text = dir.run(&["locate", "m.map", "--prefer", "1", "frank"]).ok();
    assert_eq!(text.text(), "frank\tq0\n");
}

#[test]
fn folding_moves_a_name_to_its_lower_case_place_and_keeps_its_spelling() {
    let dir = quarters();
    let ran = dir
        .run(&["locate", "m.map", "--fold", "ascii", "--json", "FRANK"])
        .json();
    assert_eq!(
        (&ran["key"], &ran["point"]),
        (&"FRANK".into(), &"26253c50741faa9c".into())
    );
    assert_eq!(
        dir.run(&["path", "--fold", "ascii", "Frank"]).ok().text(),
        "38/37/60/frank\n"
    );
    assert_eq!(
        dir.run(&["path", "Frank"]).ok().text(),
        "57/28/119/=46rank\n"
    );
}

#[test]
fn diff_prints_the_keys_that_move() {
    let dir = quarters();
    dir.apply(&["q0", "q1", "q2", "q3", "q4"]);
    let (old, new) = ("m.map.history/1", "m.map");
    let keys: String = (0..3000).map(|i| format!("key{i}\n")).collect();
    let [before, after] = [old, new].map(|map| dir.feed(&["locate", map], keys.as_bytes()).ok());
    let moved = before
        .text()
        .lines()
        .zip(after.text().lines())
        .filter(|(a, b)| a != b);
    let expected: String = moved
        .map(|(a, b)| format!("{a}\t{}\n", b.split('\t').nth(1).unwrap()))
        .collect();
    let printed = dir
        .feed(&["diff", old, new, "--keys"], keys.as_bytes())
        .ok();
    assert_eq!(printed.text(), expected);
    let share = expected.lines().count() as f64 / 3000.0;
    assert!((0.17..0.23).contains(&share), "{share}");

    let key = expected.lines().next().unwrap().split('\t').next().unwrap();
    let line = dir.run(&["diff", old, new, "--keys", "--", key]).ok();
    assert_eq!(
        line.text(),
        format!("{}\n", expected.lines().next().unwrap())
    );
    let zero = dir.run(&["diff", old, new, "--keys", "-0", key]).ok();
    let mut parts = line.text().trim_end().split('\t');
    let (key, from, to) = (
        parts.next().unwrap(),
        parts.next().unwrap(),
        parts.next().unwrap(),
    );
    assert_eq!(zero.text(), format!("{from}\t{to}\t{key}\0"));
    let json = dir.run(&["diff", old, new, "--keys", "--json", key]).json();
    assert_eq!(json, json!({"key": key, "from": [from], "to": [to]}));
    dir.run(&["diff", old, new, "frank"])
        .fails(64, &["without --keys"]);
    dir.run(&["diff", old, new, "-0"]).fails(64, &["--keys"]);
}

#[test]
fn a_key_on_a_renamed_node_does_not_move() {
    let dir = Dir::new();
    dir.apply(&["old", "z"]);
    dir.write("fleet.toml", fleet(&["z", "new"]) + "formerly = \"old\"\n");
    dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    let keys: String = (0..200).map(|i| format!("key{i}\n")).collect();
    assert_eq!(
        dir.feed(
            &["diff", "m.map.history/1", "m.map", "--keys"],
            keys.as_bytes()
        )
        .ok()
        .text(),
        ""
    );
    assert!(dir
        .feed(&["locate", "m.map"], keys.as_bytes())
        .ok()
        .text()
        .contains("\tnew\n"));
}

#[test]
fn a_policy_that_changes_its_order_moves_no_key() {
    let dir = Dir::new();
    dir.write("f.toml", RICH);
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write(
        "f.toml",
        RICH.replace("nodes = [\"c\", \"a\"]", "nodes = [\"a\", \"c\"]"),
    );
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    assert_eq!(
        dir.run(&["diff", "m.map.history/1", "m.map", "--keys", "justin"])
            .ok()
            .text(),
        ""
    );
    dir.write(
        "f.toml",
        RICH.replace("nodes = [\"c\", \"a\"]", "nodes = [\"a\", \"b\"]"),
    );
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let moved = dir
        .run(&["diff", "m.map.history/1", "m.map", "--keys", "justin"])
        .ok();
    assert_eq!(moved.text(), "justin\tc,a\ta,b\n");
}

#[test]
fn paths_come_one_a_record() {
    let dir = Dir::new();
    assert_eq!(
        dir.feed(&["path"], b"frank\r\n\nfrank").ok().text(),
        "38/37/60/frank\n20/29/12/=\n38/37/60/frank\n"
    );
    assert_eq!(
        dir.feed(&["path", "-0"], b"frank\0frank\n").ok().text(),
        "38/37/60/frank\x0018/40/72/frank=0a\0"
    );
    assert_eq!(
        dir.run(&["path", "--levels", "256", "frank"]).ok().text(),
        "38/frank\n"
    );
    assert_eq!(
        dir.run(&["path", "--json", "frank"]).json(),
        json!({"key": "frank", "path": "38/37/60/frank"})
    );
}

#[test]
fn a_name_too_long_for_a_file_stops_at_its_record() {
    let dir = Dir::new();
    let long = "x".repeat(256);
    let ran = dir.feed(
        &["path"],
        format!("frank\njustin\n{long}\nbob\n").as_bytes(),
    );
    let ran = ran.fails(65, &["record 3: the file name would have 256 bytes"]);
    assert_eq!(ran.text().lines().count(), 2);
    dir.run(&["path", &"x".repeat(255)]).ok();
}

#[test]
fn a_program_that_asks_key_by_key_gets_its_answers() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let dir = quarters();
    let mut child = dir
        .command(&["locate", "m.map"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ask = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for (key, answer) in [("frank", "frank\tq0\n"), ("justin", "justin\tq1\n")] {
        writeln!(ask, "{key}").unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        assert_eq!(line, answer);
    }
    drop(ask);
    assert!(child.wait().unwrap().success());
}

#[test]
fn points_and_keys_can_be_written_as_hex_digits() {
    let dir = quarters();
    let points = "0000000000000000\n3fffffffffffffff\n4000000000000000\nffffffffffffffff\n";
    let ran = dir
        .feed(&["locate", "m.map", "--points"], points.as_bytes())
        .ok();
    assert_eq!(
        ran.text(),
        "0000000000000000\tq0\n3fffffffffffffff\tq0\n4000000000000000\tq1\nffffffffffffffff\tq3\n"
    );
    dir.feed(&["locate", "m.map", "--points"], b"0000000000000000\n0x\n")
        .fails(65, &["\"0x\" is not a point"]);
    // 6672616e6b is frank in hex digits
    assert_eq!(
        dir.run(&["locate", "m.map", "--hex", "6672616e6b", ""])
            .ok()
            .text(),
        "6672616e6b\tq0\n\tq3\n"
    );
    dir.run(&["locate", "m.map", "--hex", "6672616e6"])
        .fails(65, &["hex digits"]);
}
