//! `simulate`: scenarios from files and built-in ones, their mistakes, and the contents of the
//! tables and the JSON.

use crate::common::Place;
use crate::program::{fields, Dir};
use serde_json::Value;

const GROWTH: &str = r#"{"name": "growth", "nodes": [{"name": "a"}, {"name": "b"}],
"steps": [{"add": [{"name": "c", "weight": 2.5}]}, {"remove": ["a"], "reweight": {"b": "1.5"}}]}"#;

#[test]
fn a_fleet_is_no_scenario() {
    let place = Place::new();
    let words = ["fleet.toml", "a scenario is JSON"];
    place.write("fleet.toml", "name = 'm'\n");
    place.run(&["simulate", "fleet.toml"]).bad(78, &words);
}

#[test]
fn the_built_in_scenarios_are_listed_and_written() {
    let dir = Dir::new();
    let list = dir.run(&["simulate", "--list"]).ok();
    for name in [
        "figure-5",
        "figure-6",
        "figure-7",
        "one-by-one",
        "batches",
        "zones",
        "five-zones",
        "tight-3-3-2-3",
    ] {
        assert!(
            list.text()
                .lines()
                .any(|line| line.starts_with(&format!("{name} "))),
            "{list:?}"
        );
    }
    for line in list.text().lines().skip(1) {
        let name = line.split_whitespace().next().unwrap();
        let written = dir.run(&["simulate", name, "--write"]).ok();
        let json: Value = serde_json::from_slice(&written.out).unwrap();
        assert_eq!(json["name"], name);
        dir.write("mine.json", &written.out);
        assert_eq!(
            dir.run(&["simulate", "mine.json", "--write"]).ok().out,
            written.out,
            "{name}"
        );
    }
}

#[test]
fn what_is_written_runs_as_the_built_in_one_does() {
    let dir = Dir::new();
    let written = dir.run(&["simulate", "figure-7", "--write"]).ok();
    dir.write("mine.json", &written.out);
    let run = |arguments: &[&str]| {
        dir.run(&[&["simulate", "--json", "--no-times"], arguments].concat())
            .json()
    };
    assert_eq!(
        run(&["mine.json", "--partitions", "16"]),
        run(&["figure-7"])
    );
    assert_ne!(run(&["mine.json"]), run(&["figure-7"]));
}

#[test]
fn the_json_has_every_step_of_every_system() {
    let dir = Dir::new();
    dir.write("growth.json", GROWTH);
    let json = dir.run(&["simulate", "growth.json", "--json"]).json();
    assert_eq!(
        fields(&json),
        [
            "left_out",
            "lower_bound",
            "name",
            "replicas",
            "spread",
            "steps",
            "systems"
        ]
    );
    assert_eq!(
        (&json["name"], &json["replicas"], &json["left_out"]),
        (&"growth".into(), &1.into(), &Value::Array(Vec::new()))
    );
    let steps = json["steps"].as_array().unwrap();
    let counts = |field: &str| {
        steps
            .iter()
            .map(|step| step[field].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (counts("step"), counts("nodes"), counts("added")),
        (vec![0, 1, 2], vec![2, 3, 2], vec![0, 1, 0])
    );
    assert_eq!(
        (counts("removed"), counts("reweighted")),
        (vec![0, 0, 1], vec![0, 0, 1])
    );
    // 2.5 of 4.5; then b goes from 1 of 4.5 to 1.5 of 4, and c from 2.5 of 4.5 to 2.5 of 4
    for (step, bound) in steps.iter().zip([
        0.0,
        2.5 / 4.5,
        1.5 / 4.0 - 1.0 / 4.5 + 2.5 / 4.0 - 2.5 / 4.5,
    ]) {
        assert!((step["lower_bound"]["fraction"].as_f64().unwrap() - bound).abs() < 1e-12);
    }
    let systems = json["systems"].as_array().unwrap();
    let names: Vec<&str> = systems
        .iter()
        .map(|system| system["system"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "stead",
            "cut-shift",
            "left-to-right",
            "contiguous",
            "riak",
            "ring"
        ]
    );
    for system in systems {
        assert_eq!(fields(system), ["size", "steps", "system", "total"]);
        let wanted = "fullest imbalance median_seconds moved moved_over_bound share_error \
            share_error_points slices_first slices_last violating violations \
            worst_moved_over_bound worst_seconds";
        assert_eq!(fields(&system["total"]).join(" "), wanted);
        let wanted = "fullest imbalance moved moved_over_bound seconds share_error \
            share_error_points slices step violating violations";
        assert_eq!(system["steps"].as_array().unwrap().len(), 3);
        assert_eq!(fields(&system["steps"][1]).join(" "), wanted);
        assert_eq!(system["steps"][0]["moved_over_bound"], Value::Null);
    }
    assert_eq!(systems[0]["total"]["moved"], json["lower_bound"]);
    let twice = [(); 2].map(|()| {
        dir.run(&["simulate", "growth.json", "--json", "--no-times"])
            .ok()
            .out
    });
    assert_eq!(twice[0], twice[1]);
    assert!(!String::from_utf8_lossy(&twice[0]).contains("seconds"));
}

#[test]
fn the_table_has_a_line_a_system_and_with_steps_one_a_step() {
    let dir = Dir::new();
    dir.write("growth.json", GROWTH);
    let lines = |arguments: &[&str]| {
        let ran = dir
            .run(&[&["simulate", "growth.json"], arguments].concat())
            .ok();
        ran.text().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let short = lines(&["--no-times"]);
    assert_eq!(
        short[0],
        "growth: 2 steps, 2 -> 2 nodes, 1 replica; lower bound 77.777778 %"
    );
    assert_eq!(short.len(), 3 + 6);
    assert!(
        short[3].starts_with("stead ")
            && short[3].contains(" 77.777778 %    1.000       1.000            0      1.000  "),
        "{short:?}"
    );
    assert!(!short[2].contains("slowest") && lines(&[])[2].contains("slowest"));
    let long = lines(&["--no-times", "--steps"]);
    assert_eq!(long[..9], short[..]);
    assert_eq!(long.len(), 9 + 2 + 3 * 6);
}

#[test]
fn sizes_of_the_peers_can_be_chosen() {
    let dir = Dir::new();
    let run = |arguments: &[&str]| {
        dir.run(&[&["simulate", "figure-7", "--no-times"], arguments].concat())
    };
    let text = run(&["--partitions", "1024", "--ring-points", "10"]).ok();
    assert!(
        text.text().contains("riak, 1024 partitions")
            && text.text().contains("ring, 10 points a node"),
        "{text:?}"
    );
    run(&["--partitions", "48"]).fails(64, &["48 partitions", "power of two"]);
    run(&["--partitions", "99999999999"]).fails(64, &["partitions", "power of two"]);
    run(&["--ring-points", "0"]).fails(64, &["0 ring points"]);
    run(&["--ring-points", "x"]).fails(64, &["write a whole number"]);
}

#[test]
fn a_bad_scenario_is_one_line_that_names_its_file_and_step() {
    let dir = Dir::new();
    let refused = |text: &[u8], words: &[&str]| {
        dir.write("bad.json", text);
        let ran = dir.run(&["simulate", "bad.json"]).fails(78, words);
        assert!(
            ran.out.is_empty() && ran.err.starts_with("stead: bad.json:"),
            "{ran:?}"
        );
    };
    let with = |steps: &str| {
        format!("{{\"name\": \"s\", \"nodes\": [{{\"name\": \"a\"}}, {{\"name\": \"b\"}}],\n\"steps\": [{{}},\n{steps}]}}")
    };
    for (steps, words) in [
        (
            r#"{"grow": 3}"#,
            &["bad.json:3: step 2: unknown key `grow`; known keys: add, remove, reweight"][..],
        ),
        (
            r#"{"add": [{"name": "c", "wieght": 3}]}"#,
            &["bad.json:3: step 2: unknown key `wieght`"],
        ),
        (
            r#"{"remove": ["c"]}"#,
            &["bad.json:3: step 2: node `c` is not in the fleet"],
        ),
        (
            r#"{"reweight": {"c": 1}}"#,
            &["bad.json:3: step 2: node `c` is not in the fleet"],
        ),
        (
            r#"{"add": [{"name": "a"}]}"#,
            &["bad.json:3: step 2: node `a` is in the fleet already"],
        ),
        (
            r#"{"reweight": {"a": 1e9}}"#,
            &["bad.json:3: step 2: node `a`: weight 1e9 has an exponent"],
        ),
        (
            r#"{"reweight": {"a": 0, "b": 0}}"#,
            &["bad.json:3: step 2: ", "weight above 0"],
        ),
        (
            r#"{"remove": ["a", "b"]}"#,
            &["bad.json:3: step 2: the fleet has no node"],
        ),
        (
            r#"{"add": [{"name": "c,d"}]}"#,
            &["bad.json:3: step 2: node name `c,d` has a comma"],
        ),
    ] {
        refused(with(steps).as_bytes(), words);
    }
    refused(
        b"{\"name\": \"s\", \"nodes\": []}",
        &["bad.json:1: the first fleet: the fleet has no node"],
    );
    refused(
        b"{\"name\": \"s\", \"nodes\": [],\n\"replica\": 2}",
        &["bad.json:2: unknown key `replica`; known keys: name, replicas"],
    );
    refused(
        b"{\"name\": \"s\",\n\"nodes\": [}",
        &["bad.json:2: not valid JSON"],
    );
    refused(
        b"{\"name\": \"s\",\n\"nodes\": [{\"name\": \"\xff\"}]}",
        &["bad.json:2: a byte is not UTF-8"],
    );
    refused(b"", &["bad.json:1: not valid JSON"]);
    refused(&b"[".repeat(100_000), &["bad.json:1: "]);
    dir.run(&["simulate", "missing.json"])
        .fails(66, &["missing.json", "stead simulate --list"]);
    dir.run(&["simulate", "."]).fails(74, &["cannot read ."]);
    dir.run(&["simulate"]).fails(64, &["see --help"]);
    dir.run(&["simulate", "figure-7", "--list"])
        .fails(64, &["see --help"]);
}

#[test]
fn a_fleet_of_the_history_that_cannot_be_met_is_told_with_its_step() {
    let dir = Dir::new();
    dir.write(
        "three.json",
        GROWTH.replace("\"nodes\"", "\"replicas\": 3, \"nodes\""),
    );
    // two nodes cannot hold three copies
    dir.run(&["simulate", "three.json"])
        .fails(78, &["three.json:1: the first fleet: "]);
}
