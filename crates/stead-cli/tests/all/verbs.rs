//! `check`, `survey`, `history` and `rollback`.

use crate::program::{fields, fleet, points, Dir};
use serde_json::{json, Value};
use stead::Map;

#[test]
fn check_says_what_is_well() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    let text = dir.run(&["check", "m.map"]).ok();
    for check in [
        "digest",
        "structure",
        "replicas",
        "spread",
        "balance",
        "primaries",
    ] {
        assert!(
            text.text().contains(&format!("\nok      {check}  ")),
            "{text:?}"
        );
    }
    let json = dir.run(&["check", "m.map", "--json"]).json();
    assert_eq!(
        (
            &json["ok"],
            &json["violations"],
            &json["max_share_error_points"]
        ),
        (&true.into(), &0.into(), &"0".into())
    );
    assert_eq!(
        fields(&json),
        [
            "checks",
            "digest",
            "epoch",
            "listed",
            "max_share_error_points",
            "name",
            "ok",
            "pending_violations",
            "pin_violations",
            "short_pins",
            "unlisted",
            "unlisted_warnings",
            "violations",
            "warnings",
        ]
    );
    assert_eq!(fields(&json["checks"][0]), ["check", "found", "ok"]);
}

#[test]
fn survey_has_the_papers_schemes() {
    let dir = Dir::new();
    let names: String = (0..2000).map(|i| format!("name{i}\n")).collect();
    dir.write("names", names.clone() + "Ä\r\nx");
    let json = dir.run(&["survey", "names", "--json"]).json();
    assert_eq!(
        (fields(&json), &json["names"]),
        (vec!["names", "schemes"], &2002.into())
    );
    let schemes = json["schemes"].as_array().unwrap();
    let names_of: Vec<&str> = schemes
        .iter()
        .map(|s| s["scheme"].as_str().unwrap())
        .collect();
    assert_eq!(names_of, ["D1", "D2", "D3", "N1", "N2", "M1", "M2", "M3"]);
    let buckets: Vec<u64> = schemes
        .iter()
        .map(|s| s["buckets"].as_u64().unwrap())
        .collect();
    assert_eq!(buckets, [37, 1369, 50653, 31, 1023, 64, 4096, 524_288]);
    for scheme in schemes {
        let wanted = [
            "buckets",
            "fullest",
            "mean",
            "random_sd_over_mean",
            "scheme",
            "sd",
            "sd_over_mean",
            "skipped",
        ];
        assert_eq!(fields(scheme), wanted);
        let mean = (2002 - scheme["skipped"].as_u64().unwrap()) as f64
            / scheme["buckets"].as_f64().unwrap();
        assert!((scheme["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    }
    assert_eq!(
        schemes
            .iter()
            .map(|s| s["skipped"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [1, 2, 2, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        dir.feed(&["survey", "-", "--json"], (names + "Ä\r\nx\n").as_bytes())
            .json(),
        json
    );
    let text = dir.run(&["survey", "names"]).ok();
    assert!(
        text.text().contains("almost half") && text.text().contains("2002 names"),
        "{text:?}"
    );
    assert_eq!(
        dir.feed(&["survey", "-", "--json"], b"").json()["schemes"][0]["sd_over_mean"],
        Value::Null
    );
}

#[test]
fn survey_projects_members() {
    let dir = Dir::new();
    let json = dir
        .feed(
            &["survey", "-", "--json", "--members", "1000000000"],
            b"frank\n",
        )
        .json();
    assert_eq!(json["projection"]["members"], 1_000_000_000);
    let directories: Vec<u64> = json["projection"]["levels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["directories"].as_u64().unwrap())
        .collect();
    assert_eq!(directories, [64, 4096, 524_288]);
    let text = dir
        .feed(
            &["survey", "-", "--members", "1000", "--levels", "16"],
            b"frank\n",
        )
        .ok();
    assert!(text.text().contains("1000 members"), "{text:?}");
    dir.feed(&["survey", "-", "--levels", "16"], b"")
        .fails(64, &["--members"]);
    dir.feed(
        &[
            "survey",
            "-",
            "--members",
            "1",
            "--levels",
            &["256"; 9].join(","),
        ],
        b"",
    )
    .fails(64, &["2^64"]);
}

#[test]
fn a_rollback_is_a_new_epoch_with_the_old_content() {
    let dir = Dir::new();
    dir.apply(&["a", "b", "c"]);
    dir.apply(&["a", "b", "c", "d"]);
    let before = dir.everything();
    let dry = dir
        .run(&["rollback", "m.map", "1", "--dry-run", "--json", "--moves"])
        .json();
    assert_eq!(dir.everything(), before, "a dry run writes nothing");
    let done = dir
        .run(&["rollback", "m.map", "1", "--json", "--moves"])
        .json();
    assert_eq!(done, dry);
    assert_eq!(
        (&done["epoch"], points(&done["moved"]["points"])),
        (&3.into(), 1 << 62)
    );
    let [first, second, third] = ["m.map.history/1", "m.map.history/2", "m.map"]
        .map(|name| Map::open_uncached(dir.path(name)).unwrap());
    assert_eq!(
        (third.epoch(), third.parent(), third.map_id()),
        (3, second.digest(), first.map_id())
    );
    let mut parts = third.to_parts();
    (parts.epoch, parts.parent, parts.map_id) = (1, [0; 32], [0; 16]);
    assert!(parts == first.to_parts());
    assert_eq!(dir.read("m.map.history/3"), dir.read("m.map"));
    // the same rollback again, and one to the current epoch: nothing to do
    for epoch in ["1", "3"] {
        let text = dir.run(&["rollback", "m.map", epoch]).ok();
        assert!(
            text.text()
                .starts_with("members: nothing to do, epoch 3 stays"),
            "{text:?}"
        );
    }
    dir.run(&["rollback", "m.map", "2"]).ok();
    dir.run(&["rollback", "m.map", "7"])
        .fails(64, &["m.map: epoch 7 is not in the history"]);
    dir.run(&["rollback", "m.map", "0"]).fails(64, &["epoch 0"]);
    dir.run(&["check", "m.map"]).ok();
}

#[test]
fn history_lists_what_is_kept() {
    let dir = Dir::new();
    dir.apply(&["a", "b", "c"]);
    dir.apply(&["a", "b", "c", "d"]);
    dir.run(&["rollback", "m.map", "1"]).ok();
    let json = dir.run(&["history", "m.map", "--json"]).json();
    let epochs = json["epochs"].as_array().unwrap();
    let column = |name: &str| {
        epochs
            .iter()
            .map(|e| e[name].clone())
            .collect::<Vec<Value>>()
    };
    assert_eq!(column("epoch"), [1, 2, 3]);
    assert_eq!(column("current"), [false, false, true]);
    let quarter = json!({"points": (1u128 << 62).to_string(), "fraction": 0.25});
    assert_eq!(
        column("moved"),
        [
            json!({"points": "0", "fraction": 0.0}),
            quarter.clone(),
            quarter
        ]
    );
    assert_eq!(column("parent")[1..], column("digest")[..2]);
    for (epoch, digest) in (1..).zip(column("digest")) {
        let shown = dir
            .run(&["show", &format!("m.map.history/{epoch}"), "--json"])
            .json();
        assert_eq!(shown["digest"], digest);
    }
    let text = dir.run(&["history", "m.map"]).ok();
    assert!(
        text.text()
            .lines()
            .last()
            .unwrap()
            .trim_start()
            .starts_with("* 3 "),
        "{text:?}"
    );
}

#[test]
fn history_lists_the_rest_when_an_epoch_is_damaged() {
    let dir = Dir::new();
    for nodes in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
        dir.apply(nodes);
    }
    dir.write("m.map.history/2", "damaged");
    let ran = dir
        .run(&["history", "m.map", "--json"])
        .fails(65, &["m.map.history/2: "]);
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    assert!(
        json["epochs"][1]["error"]
            .as_str()
            .unwrap()
            .contains("m.map.history/2"),
        "{json}"
    );
    assert_eq!(
        (&json["epochs"][2]["epoch"], &json["epochs"][2]["change"]),
        (&3.into(), &"+c".into())
    );
    // the log knows what moved, although the epoch before cannot be compared
    let moved = json["epochs"][2]["moved"]["fraction"].as_f64().unwrap();
    assert!((moved - 1.0 / 3.0).abs() < 1e-9, "{json}");
    std::fs::remove_file(dir.path("m.map.history/log")).unwrap();
    let ran = dir
        .run(&["history", "m.map", "--json"])
        .fails(65, &["m.map.history/2: "]);
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(json["epochs"][2]["moved"], Value::Null);
    dir.run(&["rollback", "m.map", "2"])
        .fails(65, &["m.map.history/2: "]);
    dir.run(&["rollback", "m.map", "1", "--exact"]).ok();
}

#[test]
fn a_map_without_its_history_still_has_one_epoch() {
    let dir = Dir::new();
    dir.apply(&["a"]);
    dir.apply(&["a", "b"]);
    std::fs::copy(dir.path("m.map"), dir.path("shipped.map")).unwrap();
    let json = dir.run(&["history", "shipped.map", "--json"]).json();
    assert_eq!(json["epochs"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&json["epochs"][0]["epoch"], &json["epochs"][0]["current"]),
        (&2.into(), &true.into())
    );
}

#[test]
fn history_is_bounded() {
    let dir = Dir::new();
    for weight in 1..=40 {
        dir.write(
            "fleet.toml",
            fleet(&["a", "b"]) + &format!("weight = {weight}\n"),
        );
        dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    }
    let json = dir.run(&["history", "m.map", "--json"]).json();
    let kept: Vec<u64> = json["epochs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["epoch"].as_u64().unwrap())
        .collect();
    assert_eq!(kept, (9..=40).collect::<Vec<u64>>());
    // epoch 8 is not kept, but the log knows what epoch 9 moved
    assert_ne!(json["epochs"][0]["moved"], Value::Null);
    assert_eq!(json["epochs"][0]["change"], "b 8 -> 9");
    assert_eq!(
        std::fs::read_dir(dir.path("m.map.history"))
            .unwrap()
            .count(),
        32 + 1, // and the log
    );
}
