//! `plan`, `apply`, `diff` and `show`: the JSON that programs rely on, and the lines for people.

use crate::program::{fields, fleet, points, Dir, RICH};
use serde_json::Value;

const REPORT: [&str; 19] = [
    "by_hand",
    "bytes",
    "capacity",
    "domains",
    "epoch",
    "lower_bound",
    "max_share_error_points",
    "moved",
    "name",
    "nodes",
    "pending_violations",
    "pin_violations",
    "policies",
    "reordered",
    "replicas",
    "short_pins",
    "slices",
    "violations",
    "warnings",
];
const HOLDER: [&str; 8] = [
    "name",
    "over_wanted",
    "pinned_points",
    "points",
    "primary_points",
    "target_points",
    "wanted_points",
    "weight",
];

#[track_caller]
fn assert_report(report: &Value) {
    // `moves` and `flows` are there only if asked for, `optimum` only if a fleet asks for the
    // change, `to_be_carried` only if that moves data, and the others only if there is a map before
    let sometimes = ["moves", "flows", "optimum", "to_be_carried"];
    let of_change = [
        "changes",
        "copies",
        "gone_domains",
        "left",
        "new_domains",
        "old_bytes",
        "old_epoch",
        "old_replicas",
        "old_slices",
    ];
    let has_old = report.get("old_epoch").is_some();
    for field in of_change {
        assert_eq!(report.get(field).is_some(), has_old, "{field}");
    }
    assert_eq!(
        fields(report)
            .into_iter()
            .filter(|f| !sometimes.contains(f) && !of_change.contains(f))
            .collect::<Vec<_>>(),
        REPORT
    );
    for amount in ["moved", "lower_bound", "by_hand", "reordered"] {
        assert_eq!(fields(&report[amount]), ["fraction", "points"]);
        let fraction = points(&report[amount]["points"]) as f64 / 2f64.powi(64);
        assert_eq!(report[amount]["fraction"].as_f64(), Some(fraction));
    }
    for holder in report["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .chain(report["policies"].as_array().unwrap())
    {
        let before = ["change_points", "old_points", "old_weight"];
        let now = fields(holder).into_iter().filter(|f| !before.contains(f));
        assert_eq!(now.collect::<Vec<_>>(), HOLDER);
        assert_eq!(holder.get("change_points").is_some(), has_old);
        assert_eq!(holder["points"], holder["target_points"]);
    }
    assert_eq!(
        (&report["violations"], &report["max_share_error_points"]),
        (&0.into(), &"0".into())
    );
    let all = report["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .chain(report["policies"].as_array().unwrap());
    assert_eq!(
        all.map(|holder| points(&holder["points"])).sum::<u128>(),
        1 << 64
    );
}

#[test]
fn a_first_map_moves_nothing() {
    let dir = Dir::new();
    dir.write("f.toml", RICH);
    let planned = dir.run(&["plan", "f.toml", "--json"]).json();
    assert_report(&planned);
    assert_eq!(
        (&planned["epoch"], &planned["moved"]["points"]),
        (&1.into(), &"0".into())
    );
    // a MAP that does not exist yet is the same as no MAP
    assert_eq!(
        dir.run(&["plan", "f.toml", "m.map", "--json"]).json(),
        planned
    );
    assert!(!dir.path("m.map").exists());
    assert_eq!(
        dir.run(&["apply", "f.toml", "m.map", "--json"]).json(),
        planned
    );
    assert_eq!(dir.read("m.map"), dir.read("m.map.history/1"));
    let weights: Vec<&str> = planned["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n["weight"].as_str().unwrap())
        .collect();
    assert_eq!(
        (weights, planned["policies"][0]["name"].as_str()),
        (vec!["1.5", "1", "0"], Some("pair"))
    );
}

#[test]
fn plan_says_what_apply_does_and_diff_repeats_it() {
    let dir = Dir::new();
    dir.apply(&["n1", "n2", "n3"]);
    dir.write("fleet.toml", fleet(&["n1", "n2", "n3", "n4"]));
    let before = dir.everything();
    let planned = dir
        .run(&["plan", "fleet.toml", "m.map", "--json", "--moves"])
        .json();
    let planned_text = dir.run(&["plan", "fleet.toml", "m.map", "--moves"]).ok();
    assert_eq!(dir.everything(), before, "plan writes nothing");
    assert_report(&planned);
    assert_eq!(planned["epoch"], 2);
    assert_eq!(points(&planned["moved"]["points"]), 1 << 62);
    assert_eq!(planned["moved"], planned["lower_bound"]);
    let mut moved = 0;
    for m in planned["moves"].as_array().unwrap() {
        assert_eq!(fields(m), ["cause", "first", "from", "last", "to"]);
        assert_eq!(
            (m["to"].as_str(), m["cause"].as_str()),
            (Some("n4"), Some("rebalance"))
        );
        let [first, last] =
            ["first", "last"].map(|end| u64::from_str_radix(m[end].as_str().unwrap(), 16).unwrap());
        moved += u128::from(last - first) + 1;
    }
    assert_eq!(moved, 1 << 62);

    let applied = dir
        .run(&["apply", "fleet.toml", "m.map", "--json", "--moves"])
        .json();
    assert_eq!(applied, planned);
    let mut diff = dir
        .run(&["diff", "m.map.history/1", "m.map", "--json", "--moves"])
        .json();
    diff["optimum"] = planned["optimum"].clone();
    diff["to_be_carried"] = true.into();
    assert_eq!(diff, planned);
    let diff_text = dir
        .run(&["diff", "m.map.history/1", "m.map", "--moves"])
        .ok();
    // the last line is about what `apply` could do instead
    let said = planned_text.text();
    let (change, hint) = said.rsplit_once("\n\n").unwrap();
    assert!(hint.starts_with("a map moves no data"), "{hint}");
    assert_eq!(diff_text.text().trim_end(), change);
    assert!(!fields(
        &dir.run(&["diff", "m.map.history/1", "m.map", "--json"])
            .json()
    )
    .contains(&"moves"));
    let first = planned_text.text().lines().next().unwrap().to_owned();
    assert_eq!(
        first,
        "members: epoch 1 -> 2, moves 25.00 % (the least possible)"
    );
}

#[test]
fn nothing_to_do_writes_nothing() {
    let dir = Dir::new();
    dir.apply(&["n1", "n2"]);
    dir.apply(&["n1", "n2", "n3"]);
    let before = dir.everything();
    let again = dir
        .run(&["apply", "fleet.toml", "m.map", "--json", "--moves"])
        .json();
    assert_report(&again);
    assert_eq!(
        (&again["epoch"], &again["moved"]["points"]),
        (&2.into(), &"0".into())
    );
    assert_eq!(again["moves"], Value::Array(Vec::new()));
    // nor when the fleet lists its nodes in another order
    dir.write("fleet.toml", fleet(&["n3", "n1", "n2"]));
    let text = dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    assert!(
        text.text()
            .starts_with("members: nothing to do, epoch 2 stays, "),
        "{text:?}"
    );
    assert_eq!(
        dir.run(&["plan", "fleet.toml", "m.map", "--json"]).json()["epoch"],
        2
    );
    assert_eq!(dir.everything(), before);
    // an attribute does not affect placement, but changing it makes a new epoch
    dir.write(
        "fleet.toml",
        fleet(&["n3", "n1", "n2"]) + "attributes = { address = \"10.0.0.2\" }\n",
    );
    let changed = dir.run(&["apply", "fleet.toml", "m.map", "--json"]).json();
    assert_eq!(
        (&changed["epoch"], &changed["moved"]["points"]),
        (&3.into(), &"0".into())
    );
}

#[test]
fn a_rename_moves_nothing_and_is_shown() {
    let dir = Dir::new();
    dir.apply(&["old", "n2"]);
    dir.write("fleet.toml", fleet(&["n2", "new"]) + "formerly = \"old\"\n");
    let ran = dir.run(&["apply", "fleet.toml", "m.map"]).ok();
    let text = ran.text();
    assert!(
        text.starts_with("members: epoch 1 -> 2, moves nothing\n")
            && text.contains("\nfleet     ~ node new was old\n"),
        "{text}"
    );
    assert!(
        text.contains("new (was old)") && !text.contains("left"),
        "{text}"
    );
    dir.apply(&["n2", "n3"]);
    let gone = dir.run(&["diff", "m.map.history/2", "m.map"]).ok();
    assert!(
        gone.text().contains("new (left)") && gone.text().contains("-50.00 %"),
        "{gone:?}"
    );
}

#[test]
fn a_pin_is_reported_as_done_by_hand() {
    let dir = Dir::new();
    dir.apply(&["a", "b"]);
    dir.write(
        "fleet.toml",
        fleet(&["a", "b"]) + "[[pin]]\nkey = \"frank\"\nnodes = [\"b\"]\n",
    );
    let report = dir
        .run(&["apply", "fleet.toml", "m.map", "--json", "--moves"])
        .json();
    assert_eq!(
        (&report["moved"]["points"], &report["by_hand"]["points"]),
        (&"0".into(), &"1".into())
    );
    let the_move = &report["moves"][0];
    assert_eq!(
        (&the_move["first"], &the_move["cause"]),
        (&"26253c50741faa9c".into(), &"pin".into())
    );
    let text = dir.run(&["diff", "m.map.history/1", "m.map"]).ok();
    assert!(
        text.text()
            .lines()
            .next()
            .unwrap()
            .contains(", moves by hand only: 1 pinned key"),
        "{text:?}"
    );
}

#[test]
fn show_has_the_reports_fields_and_the_maps_identity() {
    let dir = Dir::new();
    dir.write("f.toml", RICH);
    let report = dir.run(&["apply", "f.toml", "m.map", "--json"]).json();
    let shown = dir.run(&["show", "m.map", "--json"]).json();
    for field in [
        "name",
        "epoch",
        "replicas",
        "slices",
        "violations",
        "pending_violations",
        "pin_violations",
        "short_pins",
        "max_share_error_points",
        "domains",
    ] {
        assert_eq!(shown[field], report[field], "{field}");
    }
    for (node, reported) in shown["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .zip(report["nodes"].as_array().unwrap())
    {
        for field in HOLDER {
            assert_eq!(node[field], reported[field]);
        }
    }
    assert_eq!(shown["nodes"][0]["labels"]["zone"], "z1");
    assert_eq!(shown["nodes"][0]["attributes"]["address"], "10.0.0.1:3306");
    assert_eq!(
        (&shown["hash"], &shown["max_slices"]),
        (&"md5".into(), &50.into())
    );
    assert_eq!(shown["parent"].as_str().unwrap(), "0".repeat(64));
    let digest = shown["digest"].as_str().unwrap();
    assert_eq!(
        (digest.len(), &digest[..32]),
        (64, shown["map_id"].as_str().unwrap())
    );
    let policies = shown["policies"].as_array().unwrap();
    assert_eq!(
        (fields(&policies[0]), fields(&policies[1]).len()),
        (vec!["kind", "name", "nodes"], 10)
    );
    assert_eq!(policies[0]["nodes"], Value::from(vec!["c", "a"]));
    assert_eq!(shown["pins"][1]["key"], "justin");
    assert_eq!(shown["pins"][1]["policy"], "hot");
    assert_eq!(
        (&shown["pins"][0]["nodes"], shown["pins"][0].get("key")),
        (&Value::from(vec!["c"]), None)
    );
}

#[test]
fn slices_are_listed_with_the_pins_over_them() {
    let dir = Dir::new();
    dir.write("f.toml", RICH);
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let count = dir.run(&["show", "m.map", "--json"]).json()["slices"].clone();
    let shown = dir.run(&["show", "m.map", "--json", "--slices"]).json();
    assert_eq!(shown["slice_count"], count);
    let slices = shown["slices"].as_array().unwrap();
    let mut next = 0u128;
    for slice in slices {
        let [first, last] = ["first", "last"]
            .map(|end| u64::from_str_radix(slice[end].as_str().unwrap(), 16).unwrap());
        assert_eq!(u128::from(first), next);
        next = u128::from(last) + 1;
    }
    assert_eq!(next, 1 << 64);
    let justin = slices
        .iter()
        .find(|s| s["first"] == "53dd9c6005f3cdfc")
        .expect("the pinned key");
    assert_eq!(
        (&justin["nodes"], &justin["policy"]),
        (&Value::from(vec!["c", "a"]), &"hot".into())
    );
    assert!(slices.iter().any(|s| s.get("policy").is_none()));
    let text = dir.run(&["show", "m.map", "--slices"]).ok();
    assert!(
        text.text().contains("53dd9c6005f3cdfc  53dd9c6005f3cdfc"),
        "{text:?}"
    );
}

#[test]
fn a_secret_is_never_printed() {
    let dir = Dir::new();
    let secret = "00112233445566778899aabbccddeeff";
    dir.write(
        "f.toml",
        format!(
            "hash = \"siphash\"\nsecret = \"{secret}\"\n{}",
            fleet(&["a", "b"])
        ),
    );
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir.write(
        "wrong.toml",
        fleet(&["a", "b"]).replace(
            "name = \"members\"",
            "name = \"members\"\nhash = \"siphash\"\nsecret = \"ff112233445566778899aabbccddeeff\"",
        ),
    );
    let mut said = Vec::new();
    for arguments in [
        &["show", "m.map"][..],
        &["show", "m.map", "--json", "--slices"],
        &["check", "m.map"],
        &["history", "m.map", "--json"],
        &["locate", "m.map", "--explain", "frank"],
        &["plan", "f.toml", "m.map"],
    ] {
        said.extend(dir.run(arguments).ok().out);
    }
    said.extend(
        dir.run(&["plan", "wrong.toml", "m.map"])
            .fails(65, &["the secret is not the map's"])
            .err
            .into_bytes(),
    );
    let said = String::from_utf8(said).unwrap();
    assert!(
        said.contains("siphash") && !said.contains(secret) && !said.contains("112233445566"),
        "{said}"
    );
    use std::os::unix::fs::PermissionsExt;
    for file in ["m.map", "m.map.history/1"] {
        assert_eq!(
            std::fs::metadata(dir.path(file))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o600,
            "{file}"
        );
    }
}

#[test]
fn help_and_version_are_no_errors_and_wrong_usage_is_64() {
    let dir = Dir::new();
    assert_eq!(
        dir.run(&["--version"]).ok().text(),
        concat!("stead ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = dir.run(&["--help"]).ok();
    for verb in [
        "init", "fleet", "plan", "apply", "ring", "locate", "path", "show", "who", "what-if",
        "diff", "check", "simulate", "survey", "history", "rollback",
    ] {
        assert!(help.text().contains(&format!("  {verb} ")), "{verb}");
        let help = dir.run(&[verb, "--help"]).ok();
        assert!(
            help.text().contains("Example") && help.text().contains("Exit codes:"),
            "{verb}"
        );
    }
    assert!(help.text().contains("75  another process"));
    let same = dir.run(&["help"]).ok();
    assert_eq!(same.text(), help.text());
    let plan = dir.run(&["plan", "--help"]).ok();
    assert_eq!(dir.run(&["help", "plan"]).ok().text(), plan.text());
    dir.run(&["help", "plam"]).fails(64, &["plan"]);
    for wrong in [
        &["plam"][..],
        &["apply", "f"],
        &["show"],
        &["locate", "m", "--prefer", "x"],
        &["rollback", "m", "-1"],
    ] {
        dir.run(wrong).fails(64, &["see --help"]);
    }
    dir.run(&[] as &[&str])
        .fails(64, &["give a command", "`stead --help` lists them"]);
    for (word, meant) in [("lookup", "stead locate"), ("version", "--version")] {
        dir.run(&[word]).fails(64, &[meant]);
    }
    dir.run(&["plot", "m.map"])
        .fails(64, &["m.map: give a kind of picture first"]);
    dir.run(&["path", "--levels", "64,0", "x"])
        .fails(64, &["level 2 has 0 directories"]);
    dir.run(&["locate", "m", "--fold", "ASCII", "x"])
        .fails(64, &["fold is \"ASCII\""]);
}
