//! The contract of `locate` and `path`: how they read keys, and the record that they print for
//! each.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::common::{answer, fleet, has_fields, strings, Place};
use serde_json::{json, Value};

/// The record of `frank` in the map of three equal nodes, where n1 ends at 5555.. and n2 at aaaa..
/// The md5 points are: `frank` 2625.., `b` 92eb.., `justin` 53dd..
const FRANK: &str = "frank\tn1\n";

fn parsed(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn keys_are_arguments_in_their_order() {
    let place = Place::with_map();
    assert_eq!(
        place.good(&["locate", "m.map", "frank", "b", "frank"]),
        "frank\tn1\nb\tn2\nfrank\tn1\n"
    );
    assert_eq!(
        place
            .good(&["locate", "m.map", "--", "--count"])
            .split('\t')
            .next(),
        Some("--count")
    );
}

#[test]
fn lines_end_in_lf_or_crlf_and_the_last_one_may_end_in_nothing() {
    let place = Place::with_map();
    for input in [
        "frank\nb\n",
        "frank\r\nb\r\n",
        "frank\nb",
        "frank\r\nb",
        "frank\nb\r\n",
    ] {
        assert_eq!(
            place
                .run_with(&["locate", "m.map"], input.as_bytes())
                .good(),
            "frank\tn1\nb\tn2\n",
            "{input:?}"
        );
    }
    // an empty line is the empty key; empty input has no keys
    assert_eq!(
        place.run_with(&["locate", "m.map"], b"\n").good(),
        place.good(&["locate", "m.map", ""])
    );
    assert_eq!(place.run_with(&["locate", "m.map"], b"").good(), "");
    // white space belongs to the key, so this is another key
    assert_eq!(
        place.run_with(&["locate", "m.map"], b"frank \n").good(),
        place.good(&["locate", "m.map", "frank "])
    );
}

#[test]
fn with_zero_keys_and_records_end_in_nul_and_the_nodes_come_first() {
    let place = Place::with_map();
    assert_eq!(
        place
            .run_with(&["locate", "m.map", "-0"], b"frank\0b")
            .good(),
        "n1\tfrank\0n2\tb\0"
    );
    // with -0 nothing else is stripped: frank with a newline is another key, in another place
    assert_eq!(
        place
            .run_with(&["locate", "m.map", "-0"], b"frank\n\0")
            .good(),
        "n3\tfrank\n\0"
    );
    assert_eq!(
        place.good(&["locate", "m.map", "-0", "a\tb\nc"]),
        "n1\ta\tb\nc\0"
    );
}

#[test]
fn keys_are_bytes_and_need_not_be_utf8() {
    let place = Place::with_map();
    let located = answer(
        place
            .command(&["locate", "m.map"])
            .arg(OsStr::from_bytes(b"\xff\xfe"))
            .output()
            .unwrap(),
    );
    assert_eq!((located.code, located.out), (0, b"\xff\xfe\tn3\n".to_vec()));
    assert_eq!(
        place.run_with(&["locate", "m.map"], b"\xff\xfe\n").out,
        b"\xff\xfe\tn3\n"
    );
    // the same key, written in hex digits
    assert_eq!(
        place.good(&["locate", "m.map", "--hex", "fffe", "6672616E6b"]),
        "fffe\tn3\n6672616E6b\tn1\n"
    );
    let json = place
        .run_with(&["locate", "m.map", "--json"], b"\xff\xfe\n")
        .good();
    assert_eq!(parsed(&json)[0]["key"], json!({"hex": "fffe"}));
}

#[test]
fn totals_are_those_of_all_keys_and_nodes_without_keys_are_listed() {
    let place = Place::with_map();
    place.write(
        "fleet.toml",
        fleet(3) + "[[node]]\nname = \"spare\"\nweight = 0\n",
    );
    place.good(&["apply", "fleet.toml", "m.map"]);
    let keys: String = (0..3000).map(|i| format!("key {i}\n")).collect();
    let text = place
        .run_with(&["locate", "m.map", "--count"], keys.as_bytes())
        .good();
    let counts: Vec<(&str, usize)> = text
        .lines()
        .map(|l| l.split_once('\t').unwrap())
        .map(|(n, k)| (n, k.parse().unwrap()))
        .collect();
    let each = place.run_with(&["locate", "m.map"], keys.as_bytes()).good();
    let of = |node: &str| {
        each.lines()
            .filter(|line| line.ends_with(&format!("\t{node}")))
            .count()
    };
    assert_eq!(
        counts,
        ["n1", "n2", "n3", "spare"].map(|node| (node, of(node)))
    );
    assert_eq!(counts.iter().map(|(_, keys)| keys).sum::<usize>(), 3000);

    let json: Value = serde_json::from_str(
        &place
            .run_with(&["locate", "m.map", "--count", "--json"], keys.as_bytes())
            .good(),
    )
    .unwrap();
    has_fields(&json, "name epoch keys nodes");
    assert_eq!(
        (&json["keys"], &json["nodes"][3]),
        (&json!(3000), &json!({"name": "spare", "keys": 0}))
    );
    let zero = place
        .run_with(&["locate", "m.map", "--count", "-0"], b"")
        .good();
    assert_eq!(zero, "n1\t0\0n2\t0\0n3\t0\0spare\t0\0");
}

#[test]
fn the_json_of_a_key_has_its_point_and_nodes() {
    let place = Place::with_map();
    let lines = place.json_lines(&["locate", "m.map", "--json", "frank", "b"]);
    assert_eq!(
        lines[0],
        json!({"key": "frank", "point": "26253c50741faa9c", "nodes": ["n1"]})
    );
    assert_eq!((lines.len(), &lines[1]["nodes"]), (2, &json!(["n2"])));
}

#[test]
fn explain_says_digest_point_slice_policy_labels_and_why() {
    let place = Place::new();
    let pin = "[[pin]]\nkey = \"hot\"\npolicy = \"both\"\n[[policy]]\nname = \"both\"\nkind \
        = \"chain\"\nnodes = [\"n2\", \"n1\"]\n";
    place.write(
        "fleet.toml",
        fleet(3).replacen(
            "name = \"n1\"",
            "name = \"n1\"\nlabels = { zone = \"a\" }",
            1,
        ) + pin,
    );
    place.good(&["apply", "fleet.toml", "m.map"]);
    let text = place.good(&["locate", "m.map", "--explain", "frank"]);
    let wanted = "frank\tn1
  digest  26253c50741faa9c2e2b836773c69fe6
  point   26253c50741faa9c
  slice   0000000000000000..27369b3bf4483e8c
  policy  chosen by stead
  labels  n1: zone=a
  why     base slice of n1, which has weight 1 of 3
";
    assert_eq!(text, wanted);
    let text = place.good(&["locate", "m.map", "--explain", "hot"]);
    assert!(
        text.starts_with("hot\tn2,n1\n")
            && text.contains("policy  both, kind chain")
            && text.contains("pinned by hand: key \"hot\"")
    );

    let pins = "[[pin]]\nkey = \"warm\"\nnodes = [\"n3\"]\n[[pin]]\nrange = [\"10%\", \"25%\"]\nnodes = [\"n2\"]\n";
    place.write("pins.toml", fleet(3) + pins);
    place.good(&["apply", "pins.toml", "p.map"]);
    for (key, pin) in [
        ("warm", "key \"warm\""),
        ("frank", "range 1999999999999999..3fffffffffffffff"),
    ] {
        let text = place.good(&["locate", "p.map", "--explain", key]);
        let policy = format!("\n  policy  the nodes of the pin of {pin}\n");
        assert!(text.contains(&policy), "{text}");
    }

    let lines = place.json_lines(&["locate", "m.map", "--explain", "--json", "frank", "hot"]);
    has_fields(&lines[0], "key point nodes digest slice labels why");
    assert_eq!(
        lines[0]["slice"],
        json!({"first": "0000000000000000", "last": "27369b3bf4483e8c"})
    );
    assert_eq!(lines[0]["labels"], json!({"n1": {"zone": "a"}}));
    has_fields(
        &lines[1],
        "key point nodes digest slice policy kind labels why",
    );
    assert_eq!(
        (&lines[1]["policy"], &lines[1]["kind"], &lines[1]["nodes"]),
        (&json!("both"), &json!("chain"), &json!(["n2", "n1"]))
    );
}

#[test]
fn a_key_rule_is_applied_after_folding_wherever_a_key_is_placed_and_is_told() {
    let place = Place::with_map();
    place.write(
        "rule.toml",
        "key = \"first 1 segments\"\n".to_owned() + &fleet(3),
    );
    place.good(&["apply", "rule.toml", "r.map"]);
    // frank and all keys under frank are on n1, however they are given; b is on n2
    let keys = ["frank", "frank/cpu.rrd", "/frank/disk/0.rrd", "b/frank"];
    let found = "frank\tn1\nfrank/cpu.rrd\tn1\n/frank/disk/0.rrd\tn1\nb/frank\tn2\n";
    assert_eq!(
        place.good(&[&["locate", "r.map"], &keys[..]].concat()),
        found
    );
    assert_eq!(
        place
            .run_with(&["locate", "r.map"], (keys.join("\n") + "\n").as_bytes())
            .good(),
        found
    );
    assert_ne!(
        place.good(&[&["locate", "m.map"], &keys[..]].concat()),
        found
    );
    assert_eq!(
        place.good(&["locate", "r.map", "--fold", "ascii", "/FRANK/cpu.rrd"]),
        "/FRANK/cpu.rrd\tn1\n"
    );
    assert_eq!(
        place.good(&["locate", "r.map", "--hex", "6672616e6b2f78"]),
        "6672616e6b2f78\tn1\n"
    );
    let prefer = |map: &str, key: &str| {
        place.json_lines(&["locate", map, "--prefer", "3", "--json", key])[0]["nodes"].clone()
    };
    assert_eq!(prefer("r.map", "frank/cpu.rrd"), prefer("m.map", "frank"));

    let text = place.good(&["locate", "r.map", "--explain", "/frank/x"]);
    assert!(
        text.starts_with(
            "/frank/x\tn1\n  hashed  \"frank\", the first 1 segments\n  digest  \
        26253c50741faa9c2e2b836773c69fe6\n  point   26253c50741faa9c\n"
        ),
        "{text}"
    );
    let lines = place.json_lines(&["locate", "r.map", "--explain", "--json", "/frank/x"]);
    has_fields(&lines[0], "key point nodes hashed digest slice labels why");
    assert_eq!(
        (&lines[0]["key"], &lines[0]["hashed"]),
        (&json!("/frank/x"), &json!("frank"))
    );

    assert!(place
        .good(&["show", "r.map"])
        .contains("\nkey     first 1 segments\n"));
    assert_eq!(
        place.json(&["show", "r.map", "--json"])["key"],
        "first 1 segments"
    );
    assert!(!place.good(&["show", "m.map"]).contains("\nkey "));
    assert_eq!(place.json(&["show", "m.map", "--json"])["key"], "whole");

    // if a node leaves, each of its hosts moves with all its files, and no other file moves
    place.write("less.toml", fleet(2));
    place.good(&["apply", "less.toml", "r.map"]);
    let moved = |file: &str| {
        let keys: Vec<String> = (0..20).map(|i| format!("h{i}{file}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let lines = place.good(
            &[
                &["diff", "r.map.history/1", "r.map", "--keys", "--"],
                &keys[..],
            ]
            .concat(),
        );
        lines
            .lines()
            .map(|line| line.replacen(file, "", 1))
            .collect::<Vec<_>>()
    };
    let hosts = moved("");
    assert!(!hosts.is_empty() && hosts.len() < 20, "{hosts:?}");
    assert_eq!(
        (moved("/cpu.rrd"), moved("/disk/0.rrd")),
        (hosts.clone(), hosts)
    );

    // the key rule of a map never changes
    place.write(
        "other.toml",
        "key = \"first 2 segments\"\n".to_owned() + &fleet(3),
    );
    let refused = place.run(&["plan", "other.toml", "r.map"]);
    assert!(
        refused.error.contains(
            "the fleet says key = \"first 2 segments\" and the map has \"first 1 segments\""
        ),
        "{}",
        refused.error
    );
}

#[test]
fn prefer_lists_distinct_nodes_and_begins_with_the_keys_own() {
    let place = Place::with_map();
    assert_eq!(
        place.good(&["locate", "m.map", "--prefer", "1", "frank"]),
        FRANK
    );
    let three = place.json_lines(&["locate", "m.map", "--prefer", "3", "--json", "frank"]);
    let mut nodes = strings(&three[0]["nodes"]);
    assert_eq!(nodes[0], "n1");
    nodes.sort_unstable();
    assert_eq!(nodes, ["n1", "n2", "n3"]);
    // at most all nodes are listed, and a shorter list is a prefix of a longer one
    let all = place.good(&["locate", "m.map", "--prefer", "99", "frank"]);
    assert_eq!(all.split(',').count(), 3);
    assert!(all.starts_with(
        place
            .good(&["locate", "m.map", "--prefer", "2", "frank"])
            .trim_end()
    ));
}

#[test]
fn fold_ascii_makes_two_spellings_one_key_and_shows_the_key_as_it_came() {
    let place = Place::with_map();
    let points = |arguments: &[&str]| -> Vec<Value> {
        place
            .json_lines(&[&["locate", "m.map", "--json"], arguments].concat())
            .iter()
            .map(|line| line["point"].clone())
            .collect()
    };
    assert_eq!(
        points(&["--fold", "ascii", "FRANK", "Frank", "frank"]),
        vec![json!("26253c50741faa9c"); 3]
    );
    assert_ne!(points(&["Frank"]), points(&["frank"]));
    assert_eq!(
        place.good(&["locate", "m.map", "--fold", "ascii", "FRANK"]),
        "FRANK\tn1\n"
    );
}

#[test]
fn points_are_located_as_they_are() {
    let place = Place::with_map();
    let points = [
        "0000000000000000",
        "5555555555555555",
        "5555555555555556",
        "aaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaab",
        "ffffffffffffffff",
    ];
    let text = place.good(&[&["locate", "m.map", "--points"], &points[..]].concat());
    let nodes: Vec<&str> = text
        .lines()
        .map(|line| line.split_once('\t').unwrap().1)
        .collect();
    assert_eq!(nodes, ["n1", "n1", "n2", "n2", "n3", "n3"]);
}

#[test]
fn a_record_that_is_no_point_or_no_hex_ends_it_after_the_records_before() {
    let place = Place::with_map();
    for (flag, good, bad) in [
        ("--points", "26253c50741faa9c", "26253c50741faa9"),
        ("--hex", "6672616e6b", "667"),
        ("--hex", "6672616e6b", "zz"),
    ] {
        let answer = place.run_with(
            &["locate", "m.map", flag],
            format!("{good}\n{bad}\n{good}\n").as_bytes(),
        );
        assert_eq!(answer.out, format!("{good}\tn1\n").into_bytes(), "{flag}");
        answer.failed(65, &["record 2", bad]);
    }
}

#[test]
fn an_answer_comes_before_the_next_key_is_asked() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let place = Place::with_map();
    let mut child = place
        .command(&["locate", "m.map"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (
        child.stdin.take().unwrap(),
        BufReader::new(child.stdout.take().unwrap()),
    );
    for _ in 0..3 {
        stdin.write_all(b"frank\n").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap(); // waits for ever if the answer is kept back
        assert_eq!(line, FRANK);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_path_is_that_of_the_manual() {
    let place = Place::new();
    assert_eq!(
        place.good(&["path", "frank", "Frank", ""]),
        "38/37/60/frank\n57/28/119/=46rank\n20/29/12/=\n"
    );
    assert_eq!(
        place.good(&["path", "--fold", "ascii", "Frank"]),
        "38/37/60/frank\n"
    );
    assert_eq!(
        place.good(&["path", "--levels", "256", "frank"]),
        "38/frank\n"
    );
    assert_eq!(
        place.run_with(&["path"], b"frank\r\nfrank").good(),
        "38/37/60/frank\n38/37/60/frank\n"
    );
    assert_eq!(
        place.run_with(&["path", "-0"], b"frank\n\0frank").good(),
        "18/40/72/frank=0a\x0038/37/60/frank\0"
    );
    let lines = place.json_lines(&["path", "--json", "frank"]);
    assert_eq!(lines, [json!({"key": "frank", "path": "38/37/60/frank"})]);
}

#[test]
fn a_name_that_is_too_long_ends_it_after_the_paths_before() {
    let place = Place::new();
    let input = format!("frank\n{}\nfrank\n", "a".repeat(256));
    let answer = place.run_with(&["path"], input.as_bytes());
    assert_eq!(answer.out, b"38/37/60/frank\n");
    answer.failed(65, &["record 2", "256 bytes", "255"]);
    place
        .run(&["path", &"=".repeat(86)])
        .bad(65, &["record 1", "258 bytes"]);
    assert!(place
        .good(&["path", &"a".repeat(255)])
        .ends_with(&format!("/{}\n", "a".repeat(255))));
}
