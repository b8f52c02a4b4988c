//! `stead load`: what it says of a log, and what it says of a line that is no access.

use crate::common::Place;
use serde_json::Value;

/// A place with a map of three nodes, one of which has twice the weight.
fn place() -> Place {
    let place = Place::new();
    let fleet =
        "name = 'm'\n[[node]]\nname = 'a'\n[[node]]\nname = 'b'\nweight = 2\n[[node]]\nname \
        = 'c'\n[[node]]\nname = 'spare'\nweight = 0\n";
    place.write("fleet.toml", fleet);
    place.good(&["apply", "fleet.toml", "m.map"]);
    place
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.good(arguments)).unwrap()
}

#[test]
fn the_loads_are_those_of_counting_with_locate() {
    let place = place();
    let keys: Vec<String> = (0..5000).map(|i| format!("key{}", i * i % 977)).collect();
    place.write("log", keys.join("\n"));
    let load = json(&place, &["load", "m.map", "log", "--json"]);
    assert_eq!(load["accesses"], 5000);
    let mut distinct = keys.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(load["keys"], distinct.len());
    assert_eq!(load["proposal"], Value::Null);
    let mut sums = [0; 4];
    for key in &keys {
        let line = place.good(&["locate", "m.map", key]);
        let node = line.trim_end().split('\t').nth(1).unwrap();
        sums[["a", "b", "c", "spare"]
            .iter()
            .position(|name| *name == node)
            .unwrap()] += 1;
        if sums.iter().sum::<u64>() == 300 {
            break;
        }
    }
    place.write("few", keys[..300].join("\r\n"));
    let few = json(&place, &["load", "m.map", "few", "--json"]);
    let nodes = few["nodes"].as_array().unwrap();
    for (node, sum) in nodes.iter().zip(sums) {
        assert_eq!(node["load"], sum, "{node}");
    }
    for (node, part) in nodes.iter().zip([0.25, 0.5, 0.25]) {
        let over = node["load"].as_f64().unwrap() / (300.0 * part);
        assert!((node["over_mean"].as_f64().unwrap() - over).abs() < 1e-9);
    }
    assert_eq!(nodes[3]["over_mean"], Value::Null);
}

#[test]
fn counts_are_as_good_as_lines() {
    let place = place();
    place.write("lines", "x\ny\nx\nx\nwith\ttab\t1\n");
    place.write("counts", "y\t1\nx\t2\nwith\ttab\t1\nx\n");
    let reads =
        |log: &str, how: &str| place.good(&["load", "m.map", log, "--json", "--reads", how]);
    for how in ["primary", "spread"] {
        assert_eq!(reads("lines", how), reads("counts", how));
    }
    let load = json(&place, &["load", "m.map", "lines", "--json"]);
    let keys = load["hottest"].as_array().unwrap();
    assert_eq!(
        keys[0],
        serde_json::json!({"key": "x", "accesses": 3, "own": 3})
    );
    assert!(keys.iter().any(|key| key["key"] == "with\ttab"));
    // 3 of 5 accesses, and the largest node deserves half of all
    let floor = load["floor_over_mean"].as_f64().unwrap();
    assert!((floor - 3.0 / 2.5).abs() < 1e-9, "{floor}");
}

#[test]
fn a_line_that_is_no_access_is_named() {
    let place = place();
    let long = format!("{}key\tmany\n", "key\t7\n".repeat(9999));
    for (log, told) in [
        ("a\nb\t\n", "log:2: \"\" is not a count"),
        ("a\tx\n", "log:1: \"x\" is not a count"),
        ("a\t-1\n", "log:1: \"-1\" is not a count"),
        (
            "a\t18446744073709551616\n",
            "log:1: \"18446744073709551616\" is not a count",
        ),
        (&long, "log:10000: \"many\" is not a count"),
        (
            "a\t9223372036854775807\na\t1\n",
            "log: line 2: these are 2^63 accesses or more",
        ),
        ("", "log: contains no accesses"),
        ("a\t0\n", "log: contains no accesses"),
    ] {
        place.write("log", log);
        place.run(&["load", "m.map", "log"]).bad(65, &[told]);
    }
}

#[test]
fn a_log_that_is_no_text_is_told() {
    let place = place();
    for (log, told) in [
        (
            &b"\x1f\x8b\x08\0\0\0\0\0"[..],
            "pipe what `zcat` makes of it",
        ),
        (b"PAR1\x15\x04\n", "is a Parquet file"),
    ] {
        place.write("log", log);
        place.run(&["load", "m.map", "log"]).bad(65, &[told]);
        place
            .run(&["report", "m.map", "--load", "log", "-o", "page.html"])
            .bad(65, &[told]);
    }
    // the control: the same bytes later are a key
    place.write("log", b"a\n\x1f\x8b\nPAR1\n");
    place.good(&["load", "m.map", "log"]);
}

#[test]
fn the_word_for_what_is_counted_can_be_chosen() {
    let place = place();
    place.write("log", "a\t5\nb\t1\n");
    let [said, bytes] = [&[][..], &["--unit", "bytes"]]
        .map(|more| place.good(&[&["load", "m.map", "log"][..], more].concat()));
    assert!(bytes.contains(": 6 bytes of 2 keys; "), "{bytes}");
    assert!(!bytes.contains("access"), "{bytes}");
    assert!(said.contains(": 6 accesses of 2 keys; "), "{said}");
    for unit in ["", "a\tb", "of more than twenty letters"] {
        let arguments = ["load", "m.map", "log", "--unit", unit];
        place
            .run(&arguments)
            .bad(64, &["it is no word of 1 to 20 characters"]);
    }
}

#[test]
fn one_access_is_one() {
    let place = place();
    place.write("log", "a\n");
    let said = place.good(&["load", "m.map", "log"]);
    assert!(said.contains(": 1 access of 1 key; "), "{said}");
}

#[test]
fn nothing_is_wider_than_a_terminal() {
    let place = place();
    let log: String = (0..3000)
        .map(|i| format!("a-long-key-of-a-user-{}\n", 9999 / (i + 1)))
        .collect();
    place.write("log", log);
    for how in ["primary", "spread"] {
        let text = place.good(&["load", "m.map", "log", "--reads", how]);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// A log in which the second half of the keys is asked for rarely.
fn skewed() -> String {
    let lines = |i: usize| format!("user{i}\n").repeat(20_000 / (i + 20));
    (0..2000).map(lines).collect()
}

#[test]
fn a_proposal_is_written_applied_and_true() {
    let place = Place::new();
    let nodes: String = (0..6)
        .map(|i| format!("[[node]]\nname = 'n{i}'\n"))
        .collect();
    place.write("fleet.toml", format!("name = 'm'\nreplicas = 2\n{nodes}"));
    place.good(&["apply", "fleet.toml", "m.map"]);
    place.write("log", skewed());
    let full =
        |file: &str| json(&place, &["load", "m.map", file, "--json"])["fullest_over_mean"].as_f64();
    let before = full("log").unwrap();
    let proposed = json(
        &place,
        &[
            "load", "m.map", "log", "--json", "--within", "3%", "-o", "new.toml",
        ],
    );
    let proposal = &proposed["proposal"];
    let goal = proposed["floor_over_mean"].as_f64().unwrap() * 1.04;
    assert!(before > goal && proposal["fullest_over_mean"].as_f64().unwrap() <= goal);
    assert!(proposal["firsts"].as_u64() > Some(0));
    assert!(proposal["reordered_fraction"].as_f64() > Some(0.0));
    assert_eq!(
        (
            proposal["pins"].as_u64(),
            proposal["copied_fraction"].as_f64()
        ),
        (Some(0), Some(0.0))
    );
    place.good(&["apply", "new.toml", "m.map"]);
    assert!(full("log").unwrap() <= goal + 0.01);
    place.good(&["check", "m.map"]);
    let text = place.run(&["show", "m.map", "--fleet"]).out;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("[[first]]\nrange = ["), "{text}");
    // the file is there now, and stays
    place
        .run(&["load", "m.map", "log", "--within", "3%", "-o", "new.toml"])
        .bad(64, &["new.toml already exists; name a new file"]);
}

#[test]
fn a_proposal_that_falls_short_is_written_and_says_why() {
    let place = place();
    place.write("log", "x\t9000\ny\t9000\nz\t9000\nw\t9000\nv\t9000\n");
    let answer = place.run(&["load", "m.map", "log", "--within", "1%", "-o", "new.toml"]);
    answer.failed(1, &["the proposal falls short", "is above"]);
    assert!(place.file("new.toml").exists());
    place
        .run(&["load", "m.map", "log", "-o", "other.toml"])
        .bad(64, &["--within"]);
    place
        .run(&["load", "m.map", "log", "--within", "x"])
        .bad(64, &["--within"]);
}

#[test]
fn keys_that_share_a_bucket_are_counted_and_moved_as_one() {
    let place = Place::new();
    let list: String = (0..60).map(|i| format!("{i} db{}\n", i % 3)).collect();
    place.write("list", list);
    let ring = ["ring", "explicit", "list", "--set", "modulo=60"];
    place.good(&[&ring[..], &["-o", "m.map", "--fleet", "fleet.toml"]].concat());
    let keys = (0..3000).map(|i| format!("key{i}\n"));
    place.write("log", keys.collect::<String>() + "hot\t900\n");
    let said = place.good(&["load", "m.map", "log", "--within", "15%", "-o", "new.toml"]);
    assert!(said.contains(" accesses of 60 of 60 cells; "), "{said}");
    assert!(said.contains("hottest cells, by a key "), "{said}");
    // it comes last, and has most of the accesses of its cell
    let hot = said.lines().find(|line| line.starts_with("\"hot\" "));
    assert!(hot.is_some_and(|line| line.contains("  8")), "{said}");
    let pins = std::fs::read_to_string(place.file("new.toml")).unwrap();
    let pins = pins.matches("[[pin]]").count();
    let cells = format!("{pins} cells, {:.2} %", pins as f64 * 100.0 / 60.0);
    assert!(pins > 1 && said.contains(&cells), "{cells}\n{said}");
}

#[test]
fn a_proposal_goes_into_the_fleet_file_whose_comments_stay() {
    let place = Place::new();
    let nodes: String = (0..6)
        .map(|i| format!("[[node]]  # number {i}\nname = 'n{i}'\n"))
        .collect();
    let fleet = format!("# ours\nname = 'm'\nreplicas = 2\n\n[guard]\nmove = \"30%\"\n\n{nodes}");
    place.write("fleet.toml", &fleet);
    place.good(&["apply", "fleet.toml", "m.map"]);
    place.write("log", skewed());
    let load = [
        "load",
        "m.map",
        "log",
        "--within",
        "3%",
        "--fleet",
        "fleet.toml",
    ];
    let said = place.good(&load);
    assert!(said.ends_with("changed fleet.toml; `stead plan` shows what applying it changes\n"));
    let text = std::fs::read_to_string(place.file("fleet.toml")).unwrap();
    assert!(text.starts_with(&fleet), "{text}");
    let firsts = text.matches("\n[[first]]\n").count();
    assert!(firsts > 0);
    // a fleet that the map does not have yet, another one, and JSON
    let wrong = "fleet.toml: is not the fleet of m.map; apply it first, or name another one";
    place.run(&load).bad(78, &[wrong]);
    place.good(&["apply", "fleet.toml", "m.map"]);
    place.good(&load);
    let again = std::fs::read_to_string(place.file("fleet.toml")).unwrap();
    assert!(again.starts_with(&fleet), "{again}");
    place.write(
        "fleet.toml",
        "{\"name\": \"m\", \"node\": [{\"name\": \"n0\"}]}",
    );
    place.run(&load).bad(64, &["this fleet is JSON"]);
    let both = [&load[..], &["-o", "new.toml"]].concat();
    place.run(&both).bad(64, &["cannot be used with"]);
}

#[test]
fn a_log_without_a_key_that_comes_twice_is_doubted() {
    let place = place();
    let mut log: String = (0..2000).map(|n| format!("      7 user:{n}\n")).collect();
    place.write("counted.log", &log);
    let said = place.good(&["load", "m.map", "counted.log"]);
    assert!(
        said.contains("! no key comes twice: is each line a KEY"),
        "{said}"
    );
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
    log.push_str("      7 user:1\n");
    place.write("counted.log", &log);
    let said = place.good(&["load", "m.map", "counted.log"]);
    assert!(!said.contains("comes twice"), "{said}");
}
