//! The contract of `plan`, `apply` and `diff`: what they print, and what they leave unchanged.

use std::fs;

use crate::common::{fleet, has_fields, strings, Place};
use serde_json::{json, Value};

const REPORT: &str = "name epoch replicas slices moved lower_bound optimum by_hand reordered violations pending_violations pin_violations \
                      short_pins max_share_error_points \
                      nodes policies domains warnings bytes capacity";
/// What only a change has.
const CHANGE: &str = "old_epoch old_replicas old_slices old_bytes changes copies new_domains \
                      gone_domains left";
const HOLDER: &str =
    "name weight wanted_points target_points points primary_points pinned_points over_wanted";

#[test]
fn a_first_map_beside_another_of_its_cluster_may_be_a_slip() {
    let place = Place::new();
    place.write("fleet.toml", "name = 'users'\nnode = [{name = 'a'}]\n");
    let first = place.good(&["apply", "fleet.toml", "users.map"]);
    assert!(!first.contains("slip"), "{first}");
    let slip = "! users.map beside it is a map of users, at epoch 1: is the name user.map a slip?";
    for verb in ["plan", "apply"] {
        let said = place.good(&[verb, "fleet.toml", "user.map"]);
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains(slip), "{said}");
    }
    // another cluster, and a change of the map
    place.write("other.toml", "name = 'other'\nnode = [{name = 'a'}]\n");
    let said = place.good(&["apply", "other.toml", "other.map"]);
    assert!(!said.contains("slip"), "{said}");
    place.write(
        "fleet.toml",
        "name = 'users'\nnode = [{name = 'a'}, {name = 'b'}]\n",
    );
    let said = place.good(&["apply", "fleet.toml", "users.map"]);
    assert!(!said.contains("slip"), "{said}");
}

#[test]
fn a_map_in_the_place_of_a_fleet_is_named() {
    let place = Place::with_map();
    place.write("saved.plan", b"\x89STP\r\n\x1a\n");
    for (file, what) in [("m.map", "a map"), ("saved.plan", "a saved plan")] {
        let words = format!("{file}:1: this is {what}; give a fleet file");
        for arguments in [&["plan", file][..], &["fleet", "add-node", file, "x"]] {
            place.run(arguments).bad(78, &[&words]);
        }
    }
}

#[test]
fn a_number_below_zero_is_a_value_and_not_an_option() {
    let place = Place::with_map();
    place.write("fleet.toml", fleet(2));
    for (arguments, words) in [
        (
            &["fleet", "add-node", "fleet.toml", "x", "--weight", "-1"][..],
            "'-1' for '--weight",
        ),
        (&["rollback", "m.map", "-1"], "'-1' for '<EPOCH>'"),
    ] {
        place.run(arguments).bad(64, &[words]);
    }
}

#[test]
fn an_option_of_another_verb_is_named() {
    let place = Place::with_map();
    place.write("fleet.toml", fleet(2));
    let words =
        "--expect-epoch is no option of `stead plan`, but of `stead apply` and `stead rollback`";
    let arguments = ["plan", "fleet.toml", "m.map", "--expect-epoch", "3"];
    place.run(&arguments).bad(64, &[words]);
    // the control: an option of no verb
    let arguments = ["plan", "fleet.toml", "m.map", "--expect", "3"];
    place
        .run(&arguments)
        .bad(64, &["unexpected argument '--expect'"]);
}

#[test]
fn a_file_in_the_place_of_a_key_is_noted() {
    let place = Place::with_map();
    place.write("keys", "a\n");
    let answer = place.run(&["diff", "m.map", "m.map", "--keys", "keys"]);
    answer.failed(0, &["keys is taken for a key; < keys reads its lines"]);
}

/// Checks the shape of a report field by field.
fn check_report(report: &Value, more: &str) {
    let change = match report.get("old_epoch") {
        Some(_) => CHANGE,
        None => "",
    };
    let more = more.replace("moves", "moves flows");
    let carried = report.get("to_be_carried").map_or("", |_| "to_be_carried");
    let pinned = report.get("pinned_keys").map_or("", |_| "pinned_keys");
    let first = report.get("new_first").map_or("", |_| "new_first");
    let more = format!("{more} {carried} {pinned} {first}");
    has_fields(report, &format!("{REPORT} {change} {more}"));
    if let Some(copies) = report.get("copies") {
        has_fields(
            copies,
            "of_replicas copied dropped reordered reordered_by_hand pinned",
        );
        assert_eq!(copies["copied"], report["moved"]);
        assert_eq!(copies["dropped"]["points"], "0");
    }
    has_fields(&report["capacity"], "usable fills_first more");
    assert_eq!(report["warnings"], json!([]));
    for amount in ["moved", "lower_bound", "optimum", "by_hand", "reordered"] {
        has_fields(&report[amount], "points fraction");
        let points: u128 = report[amount]["points"].as_str().unwrap().parse().unwrap();
        let fraction = report[amount]["fraction"].as_f64().unwrap();
        assert!(
            (fraction - points as f64 / 2f64.powi(64)).abs() < 1e-12,
            "{report}"
        );
    }
    assert!(report["name"].is_string() && report["epoch"].is_u64() && report["slices"].is_u64());
    assert_eq!(
        (
            &report["replicas"],
            &report["violations"],
            &report["max_share_error_points"]
        ),
        (&json!(1), &json!(0), &json!("0"))
    );
    assert_eq!(
        (
            &report["pending_violations"],
            &report["reordered"]["points"],
            &report["domains"]
        ),
        (&json!(0), &json!("0"), &json!([]))
    );
    let mut sum = 0;
    for holder in ["nodes", "policies"]
        .iter()
        .flat_map(|list| report[list].as_array().unwrap())
    {
        let is_new = holder.get("old_weight").is_none();
        let before = match (change, is_new) {
            ("", _) => "",
            (_, true) => "old_points change_points",
            (_, false) => "old_points change_points old_weight",
        };
        has_fields(holder, &format!("{HOLDER} {before}"));
        if !change.is_empty() {
            let number = |field: &str| holder[field].as_str().unwrap().parse::<i128>().unwrap();
            let has = number("points") + number("pinned_points");
            assert!(!is_new || number("old_points") == 0);
            // what was pinned before is not listed, and nothing was in these tests
            assert_eq!(number("change_points"), has - number("old_points"));
        }
        assert_eq!(holder["points"], holder["target_points"]);
        assert_eq!(
            (&holder["wanted_points"], &holder["primary_points"]),
            (&holder["points"], &holder["points"]),
            "one replica has no caps"
        );
        sum += holder["points"].as_str().unwrap().parse::<u128>().unwrap();
    }
    assert_eq!(sum, 1 << 64, "the shares are the whole space");
}

#[test]
fn apply_makes_the_first_map_and_says_so() {
    let place = Place::new();
    place.write("fleet.toml", fleet(3));
    let report = place.json(&["apply", "fleet.toml", "m.map", "--json"]);
    check_report(&report, "");
    assert_eq!(
        (
            &report["epoch"],
            &report["slices"],
            &report["moved"]["points"]
        ),
        (&json!(1), &json!(3), &json!("0"))
    );
    let text = place.good(&["diff", "m.map", "m.map"]);
    assert!(
        text.starts_with("m: epoch 1 -> 1, moves nothing\n"),
        "{text}"
    );
}

#[test]
fn applying_the_same_fleet_again_has_nothing_to_do_and_makes_no_epoch() {
    let place = Place::with_map();
    let before = place.contents();
    let text = place.good(&["apply", "fleet.toml", "m.map"]);
    assert!(
        text.starts_with("m: nothing to do, epoch 1 stays, 3 slices\n"),
        "{text}"
    );
    let report = place.json(&["apply", "fleet.toml", "m.map", "--json", "--moves"]);
    check_report(&report, "moves");
    assert_eq!(
        (&report["epoch"], &report["moves"]),
        (&json!(1), &json!([]))
    );
    assert_eq!(place.contents(), before);
}

#[test]
fn apply_dry_run_names_the_command_for_that() {
    let place = Place::with_map();
    let before = std::fs::read(place.file("m.map")).unwrap();
    place
        .run(&["apply", "next.toml", "m.map", "--dry-run"])
        .bad(64, &["`stead plan next.toml m.map` shows what apply does"]);
    assert_eq!(std::fs::read(place.file("m.map")).unwrap(), before);
}

#[test]
fn plan_writes_nothing_and_says_what_apply_says() {
    for flags in [&[][..], &["--json"], &["--moves"], &["--json", "--moves"]] {
        let place = Place::new();
        for nodes in [3, 4, 4, 2] {
            place.write("fleet.toml", fleet(nodes));
            let before = place.contents();
            let plan = place.good(&[&["plan", "fleet.toml", "m.map"], flags].concat());
            assert_eq!(place.contents(), before);
            let words = ["apply", "fleet.toml", "m.map", "--allow", "take-back"];
            let applied = place.good(&[&words, flags].concat());
            // where data moves, the last line of each says what to do about it
            let planned = plan.strip_suffix(
                "\na map moves no data: a cache refills itself; to carry the rest, apply --carry\n",
            );
            let done = applied.strip_suffix(
                "\nreaders now look for moved data in its new places: copy it, or see apply \
                 --carry\n",
            );
            assert_eq!(planned.is_some(), done.is_some(), "{nodes} nodes {flags:?}");
            assert_eq!(
                planned.unwrap_or(&plan),
                done.unwrap_or(&applied),
                "{nodes} nodes {flags:?}"
            );
        }
    }
}

#[test]
fn a_renaming_that_stead_rrd_refuses_is_said_before_it_is_made() {
    let place = Place::new();
    let node = |name: &str, more: &str, attribute: &str| {
        format!("[[node]]\nname = '{name}'\n{more}attributes = {{{attribute} = '{name}:42217'}}\n")
    };
    let fleet = |names: &[(&str, &str)], attribute: &str| {
        let nodes = names.iter().map(|(name, more)| node(name, more, attribute));
        "name = 'rrd'\n".to_owned() + &nodes.collect::<String>()
    };
    let first = [("r1", ""), ("r2", "")];
    let renamed = [("r1", ""), ("web2", "formerly = 'r2'\n")];
    let back = [("r1", ""), ("r2", "formerly = 'web2'\n")];
    let said = "! web2 was r2: stead-rrd knows backends by their names, and refuses such";
    place.write("fleet.toml", fleet(&first, "rrdcached"));
    place.good(&["apply", "fleet.toml", "m.map"]);
    place.write("fleet.toml", fleet(&renamed, "rrdcached"));
    for verb in ["plan", "apply"] {
        let shown = place.good(&[verb, "fleet.toml", "m.map"]);
        assert!(shown.contains(said), "{shown}");
    }
    // the name that the router knows
    place.write("fleet.toml", fleet(&back, "rrdcached"));
    let shown = place.good(&["plan", "fleet.toml", "m.map"]);
    assert!(!shown.contains("stead-rrd"), "{shown}");
    // `formerly` would be no way out
    let taken = fleet(&back, "rrdcached").replace("'r2'", "'web3'");
    place.write("fleet.toml", taken.replace("formerly = 'web2'\n", ""));
    let shown = place.good(&["plan", "fleet.toml", "m.map"]);
    assert!(!shown.contains("formerly"), "{shown}");
    // other servers have no such router
    place.write("fleet.toml", fleet(&first, "address"));
    place.good(&["apply", "fleet.toml", "o.map"]);
    place.write("fleet.toml", fleet(&renamed, "address"));
    let shown = place.good(&["plan", "fleet.toml", "o.map"]);
    assert!(!shown.contains("stead-rrd"), "{shown}");
}

#[test]
fn a_fleet_of_rrd_files_is_told_of_its_own_move() {
    let place = Place::new();
    let fleet = |nodes: usize, lacking: usize| {
        let node = |n: usize| {
            let which = if n < lacking { "address" } else { "rrdcached" };
            format!("[[node]]\nname = 'r{n}'\nattributes = {{{which} = '10.0.0.{n}:42217'}}\n")
        };
        "name = 'rrd'\n".to_owned() + &(0..nodes).map(node).collect::<String>()
    };
    place.write("fleet.toml", fleet(2, 0));
    place.good(&["apply", "fleet.toml", "m.map"]);
    place.write("fleet.toml", fleet(3, 0));
    let before = "\nthe router finds each RRD file where it is, until `stead-rrd move` moves it\n";
    let after =
        "\nthe router reads RRD files where they are: `stead-rrd move DIRECTORY` moves them\n";
    for (words, line) in [
        (&["plan", "fleet.toml", "m.map"][..], before),
        (&["plan", "fleet.toml", "m.map", "-o", "p.plan"], before),
        (&["apply", "fleet.toml", "m.map"], after),
        (&["rollback", "m.map", "1", "--exact", "--dry-run"], before),
        (&["rollback", "m.map", "1", "--exact"], after),
    ] {
        let said = place.good(words);
        assert!(said.contains(line) && !said.contains("--carry"), "{said}");
    }
    // stead-rrd takes no map in which a node lacks the attribute
    place.write("fleet.toml", fleet(3, 1));
    let said = place.good(&["plan", "fleet.toml", "m.map"]);
    assert!(
        said.ends_with("to carry the rest, apply --carry\n"),
        "{said}"
    );
}

#[test]
fn a_change_that_moves_data_without_a_carry_is_told_however_it_is_made() {
    let place = Place::with_map();
    place.good(&["plan", "next.toml", "m.map", "-o", "p.plan"]);
    let said = place.good(&["apply", "p.plan", "m.map"]);
    assert!(said.ends_with("copy it, or see apply --carry\n"), "{said}");
    // a carry that is asked for now comes too late
    let said = place.good(&["apply", "next.toml", "m.map", "--carry"]);
    let hint = "\nepoch 2 moved data without a carry. If the data is still where epoch 1 had it,\n\
                go back, and apply with a carry then\n  stead rollback m.map 1 --exact\n  \
                stead apply next.toml m.map --carry --allow take-back\n";
    assert!(said.ends_with(hint), "{said}");
    let said = place.good(&["apply", "next.toml", "m.map"]);
    assert!(!said.contains("without a carry"), "{said}");
    let said = place.good(&["rollback", "m.map", "1", "--exact", "--dry-run"]);
    assert!(said.contains("\na map moves no data: "));
    let said = place.good(&["rollback", "m.map", "1", "--exact"]);
    let line = "for data elsewhere see wrong-places.md\n";
    assert!(said.ends_with(line), "{said}");
    let words = [
        "apply",
        "next.toml",
        "m.map",
        "--carry",
        "--allow=take-back",
    ];
    assert!(place.good(&words).contains("a carry begins"));
    // while it is open, it is the carry that serves the data
    let said = place.good(&["apply", "next.toml", "m.map", "--carry"]);
    assert!(!said.contains("without a carry"), "{said}");
}

#[test]
fn a_plan_for_an_old_map_that_was_put_back_is_refused_as_apply_refuses_it() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    std::fs::copy(place.file("m.map.history/1"), place.file("old")).unwrap();
    std::fs::rename(place.file("old"), place.file("m.map")).unwrap();
    for verb in ["plan", "apply"] {
        let ran = place.run(&[verb, "next.toml", "m.map"]);
        ran.bad(
            65,
            &[
                "an old map was put back, or stead-sync was stopped",
                "; copy ",
            ],
        );
    }
    let checked = place.run(&["check", "m.map"]);
    checked.failed(1, &["m.map: the check of its history failed"]);
    let told = String::from_utf8_lossy(&checked.out);
    assert!(
        told.contains("\nBROKEN  history   ") && told.contains("m.map.history has epoch 2: an old"),
        "{told}"
    );
    // a fleet that fits the old map changes nothing, and is told so on standard error
    let nothing = place.run(&["plan", "fleet.toml", "m.map"]);
    assert_eq!(nothing.code, 0);
    assert!(
        nothing.error.contains("has epoch 2: an old map"),
        "{}",
        nothing.error
    );
    // who applies it wants it in force
    let ran = place.run(&["apply", "fleet.toml", "m.map"]);
    ran.bad(65, &["has epoch 2: an old map", "; copy "]);
    // also where the old map is what is gone back to
    for more in [&[][..], &["--dry-run"]] {
        let ran = place.run(&[&["rollback", "m.map", "1"][..], more].concat());
        ran.bad(65, &["has epoch 2: an old map", "; copy "]);
    }
    // a lookup answers by it, and says so
    for more in [&[][..], &["--carry"], &["--count"]] {
        let found = place.run(&[&["locate", "m.map", "frank"][..], more].concat());
        let told =
            "m.map: this map is epoch 1, and its history has epoch 2: an old map was put back";
        assert!(
            found.code == 0 && found.error.contains(told),
            "{}",
            found.error
        );
    }
    let listed = place.good(&["history", "m.map"]);
    assert!(listed.contains("an old map was put back"), "{listed}");
    let listed = place.json(&["history", "m.map", "--json"]);
    let problem = listed["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("has epoch 2: an old map"), "{problem}");
}

#[test]
fn a_plan_without_a_map_is_the_first_map_and_makes_no_file() {
    let place = Place::new();
    place.write("fleet.toml", fleet(3));
    let report = place.json(&["plan", "fleet.toml", "--json"]);
    check_report(&report, "");
    assert_eq!(
        report,
        place.json(&["plan", "fleet.toml", "none.map", "--json"])
    );
    assert_eq!(place.contents().len(), 1);
}

#[test]
fn diff_has_the_shape_and_the_figures_of_apply() {
    let place = Place::with_map();
    let applied = place.json(&["apply", "next.toml", "m.map", "--json", "--moves"]);
    let mut diff = place.json(&["diff", "m.map.history/1", "m.map", "--json", "--moves"]);
    diff["optimum"] = applied["optimum"].clone(); // only a fleet has one
    diff["to_be_carried"] = json!(true); // only a change that is made can begin a carry
    assert_eq!(applied, diff);
    check_report(&applied, "moves");
    assert_eq!(applied["optimum"], applied["moved"]);
    assert_eq!(applied["moved"], applied["lower_bound"]);
    assert_eq!(
        applied["moved"]["points"],
        json!((1u128 << 62).to_string()),
        "a fourth node gets a quarter"
    );
    // the reverse moves as much; diff accepts the newer map first
    let back = place.json(&["diff", "m.map", "m.map.history/1", "--json"]);
    assert_eq!(
        (&back["epoch"], &back["moved"]),
        (&json!(1), &applied["moved"])
    );
}

#[test]
fn moves_name_points_nodes_and_cause_and_add_up() {
    let place = Place::with_map();
    place.write(
        "next.toml",
        fleet(4) + "[[pin]]\nkey = \"frank\"\nnodes = [\"n3\"]\n",
    );
    let report = place.json(&["apply", "next.toml", "m.map", "--json", "--moves"]);
    check_report(&report, "moves");
    let (mut sum, mut last_first) = (0u128, None);
    for entry in report["moves"].as_array().unwrap() {
        has_fields(entry, "first last from to cause");
        let point = |name: &str| u64::from_str_radix(entry[name].as_str().unwrap(), 16).unwrap();
        assert!(entry["first"].as_str().unwrap().len() == 16 && point("first") <= point("last"));
        assert!(
            last_first < Some(point("first")),
            "ordered by their first points"
        );
        last_first = Some(point("first"));
        match entry["cause"].as_str().unwrap() {
            "rebalance" => sum += u128::from(point("last") - point("first")) + 1,
            cause => assert_eq!(
                (cause, &entry["to"], &entry["first"]),
                ("pin", &json!("n3"), &json!("26253c50741faa9c"))
            ),
        }
    }
    assert_eq!(report["by_hand"]["points"], "1");
    assert_eq!(sum.to_string(), report["moved"]["points"].as_str().unwrap());
    let text = place.good(&["diff", "m.map.history/1", "m.map", "--moves=each"]);
    assert!(
        text.contains(", by hand 1 pinned key\n")
            && text.contains("\nfleet     + node n4 weight 1\n          + pin \"frank\" -> n3\n")
            && text.contains("26253c50741faa9c  26253c50741faa9c  1 point  n1    n3  pin\n"),
        "{text}"
    );
    // the sums of each pair are the moves, without the points
    let sums = report["flows"].as_array().unwrap();
    let all: u128 = sums
        .iter()
        .map(|flow| flow["points"].as_str().unwrap().parse::<u128>().unwrap())
        .sum();
    assert_eq!(all, sum + 1);
    let text = place.good(&["diff", "m.map.history/1", "m.map", "--moves"]);
    assert!(
        text.contains("\nfrom \\ to, %     n3     n4    sum\n") && !text.contains("26253c50"),
        "{text}"
    );
}

#[test]
fn a_renamed_node_moves_nothing_and_is_shown_with_both_names() {
    let place = Place::with_map();
    place.write(
        "next.toml",
        fleet(3).replace("name = \"n2\"", "name = \"db2\"\nformerly = \"n2\""),
    );
    let text = place.good(&["apply", "next.toml", "m.map"]);
    assert!(
        // one point, because another node comes first now and gets what rounding leaves
        text.starts_with("m: epoch 1 -> 2, moves 1 point (the least possible)\n")
            && text.contains("\nfleet     ~ node db2 was n2\n")
            && text.contains("\ndb2 (was n2) "),
        "{text}"
    );
    let (old, new) = (
        place.good(&["locate", "m.map.history/1", "b", "c"]),
        place.good(&["locate", "m.map", "b", "c"]),
    );
    assert_eq!(old.replace("n2", "db2"), new);
}

#[test]
fn diff_keys_prints_exactly_the_keys_whose_nodes_change() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    let keys: Vec<String> = (0..2000).map(|i| format!("key {i}")).collect();
    let input = keys.join("\n");
    let at = |map: &str| place.run_with(&["locate", map], input.as_bytes()).good();
    let (old, new) = (at("m.map.history/1"), at("m.map"));
    let wanted: String = old
        .lines()
        .zip(new.lines())
        .filter(|(old, new)| old != new)
        .map(|(old, new)| format!("{old}\t{}\n", new.rsplit_once('\t').unwrap().1))
        .collect();
    let diff = ["diff", "m.map.history/1", "m.map", "--keys"];
    assert_eq!(place.run_with(&diff, input.as_bytes()).good(), wanted);
    assert!(
        (300..700).contains(&wanted.lines().count()),
        "about a quarter of 2000 moves: {}",
        wanted.lines().count()
    );

    let zero = place
        .run_with(&[&diff[..], &["-0"]].concat(), keys.join("\0").as_bytes())
        .good();
    let again: String = zero
        .split_terminator('\0')
        .map(|record| {
            let [from, to, key] = record.splitn(3, '\t').collect::<Vec<_>>()[..] else {
                panic!("{record}")
            };
            format!("{key}\t{from}\t{to}\n")
        })
        .collect();
    assert_eq!(again, wanted);

    let lines = place
        .run_with(&[&diff[..], &["--json"]].concat(), input.as_bytes())
        .good();
    for (line, wanted) in lines.lines().zip(wanted.lines()) {
        let value: Value = serde_json::from_str(line).unwrap();
        has_fields(&value, "key from to");
        let nodes = |name: &str| strings(&value[name]).join(",");
        assert_eq!(
            format!(
                "{}\t{}\t{}",
                value["key"].as_str().unwrap(),
                nodes("from"),
                nodes("to")
            ),
            wanted
        );
    }
    assert_eq!(lines.lines().count(), wanted.lines().count());
}

#[test]
fn diff_takes_a_saved_plan_for_the_map_that_it_makes() {
    let place = Place::with_map();
    place.good(&["plan", "next.toml", "m.map", "-o", "next.plan"]);
    let keys: Vec<String> = (0..100).map(|i| format!("key {i}")).collect();
    let input = keys.join("\n");
    let of = |old: &str, new: &str, more: &str| {
        let lines = place.run_with(&["diff", old, new, more], input.as_bytes());
        lines.good()
    };
    let planned = ["--keys", "--json"].map(|more| of("m.map", "next.plan", more));
    place.good(&["apply", "next.plan", "m.map"]);
    let made = ["--keys", "--json"].map(|more| of("m.map.history/1", "m.map", more));
    assert_eq!(planned, made);
    assert!(planned[0].lines().count() > 10, "{planned:?}");
    // what was planned on another epoch is another change
    let ran = place.run(&["diff", "m.map", "next.plan"]);
    ran.bad(65, &["next.plan: m.map is the map of this plan already"]);
}

#[test]
fn diff_keys_takes_arguments_and_folds_letters() {
    let place = Place::with_map();
    place.good(&["apply", "next.toml", "m.map"]);
    let diff = ["diff", "m.map.history/1", "m.map", "--keys"];
    let moved = |more: &[&str]| place.good(&[&diff[..], more].concat());
    let keys: Vec<String> = (0..40).map(|i| format!("k{i}")).collect();
    let key = keys.iter().find(|key| !moved(&[key]).is_empty()).unwrap();
    let upper = key.to_uppercase();
    assert_eq!(
        moved(&["--fold", "ascii", "--", &upper]),
        moved(&[key]).replace(key.as_str(), &upper)
    );
}

#[test]
fn a_fleet_in_json_makes_the_same_bytes() {
    let place = Place::with_map();
    place.write(
        "fleet.json",
        r#"{"name": "m", "node": [{"name": "n3"}, {"name": "n2"}, {"name": "n1"}]}"#,
    );
    place.good(&["apply", "fleet.json", "j.map"]);
    assert_eq!(
        fs::read(place.file("j.map")).unwrap(),
        fs::read(place.file("m.map")).unwrap()
    );
}
