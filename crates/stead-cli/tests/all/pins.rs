//! Pins that are short of copies or exceed a cap, points that pins keep on a drained node, and maps
//! that earlier versions judged wrongly or not at all.

use crate::program::{fields, points, sixty_buckets, Dir};
use serde_json::Value;
use stead::format::encode;
use stead::weight::Weight;
use stead::Map;

/// Returns a fleet of three copies over three zones of two nodes each, with these pins.
fn zoned(pins: &str) -> String {
    let node = |name: &str| {
        format!(
            "[[node]]\nname = \"{name}\"\nlabels = {{ zone = \"{}\" }}\n",
            &name[..1]
        )
    };
    let nodes: String = ["a1", "a2", "b1", "b2", "c1", "c2"].map(node).concat();
    format!("name = \"m\"\nreplicas = 3\nspread = [\"zone\"]\n{nodes}{pins}")
}

fn applied(fleet: &str) -> Dir {
    let dir = Dir::new();
    dir.write("f.toml", fleet);
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    dir
}

/// Returns the exit code of `check`, and the lines that it lists under its checks.
fn checked(dir: &Dir) -> (Option<i32>, Vec<String>) {
    let ran = dir.run(&["check", "m.map"]);
    let lines = ran.text().lines();
    let about_pins = lines.filter(|line| line.starts_with("pins") || line.starts_with("warn"));
    (ran.code, about_pins.map(str::to_owned).collect())
}

#[test]
fn a_pin_to_two_nodes_of_one_zone_is_a_violation() {
    let dir = applied(&zoned(
        "[[pin]]\nkey = \"justin\"\nnodes = [\"a1\", \"a2\"]\n",
    ));
    let (code, listed) = checked(&dir);
    assert_eq!(
        (code, listed),
        (
            Some(1),
            vec![
                "pins        key \"justin\"  a1,a2: 2 nodes, fewer than 3".to_owned(),
                "pins        key \"justin\"  a1,a2: 2 copies in zone a, at most 1 allowed"
                    .to_owned(),
            ]
        )
    );
    let ran = dir
        .run(&["check", "m.map"])
        .fails(1, &["m.map: a pin breaks a rule", "short = true"]);
    assert!(ran
        .text()
        .contains("\nBROKEN  pins        1 of 1 pin: too few nodes"));
    let json = dir.run(&["check", "m.map", "--json"]);
    let json: Value = serde_json::from_slice(&json.out).unwrap();
    assert_eq!(
        (
            &json["ok"],
            &json["violations"],
            &json["pin_violations"],
            &json["short_pins"]
        ),
        (&false.into(), &2.into(), &1.into(), &0.into())
    );
    let first = &json["listed"][0];
    assert_eq!(
        fields(first),
        ["check", "first", "key", "last", "nodes", "reason"]
    );
    assert_eq!(
        (&first["check"], &first["key"], &first["reason"]),
        (
            &"pins".into(),
            &"justin".into(),
            &"2 nodes, fewer than 3".into()
        )
    );
}

#[test]
fn plan_apply_diff_and_show_say_which_pins_break_a_rule() {
    let dir = applied(&zoned(""));
    let pins: String = (1..=4)
        .map(|i| format!("[[pin]]\nrange = [\"{i}%\", \"{i}.5%\"]\nnodes = [\"a1\"]\n"))
        .collect();
    dir.write("f.toml", zoned(&pins));
    let line = "\npin, range 028f5c28f5c28f5c..03d70a3d70a3d709  a1: 1 node, fewer than 3\n";
    for verb in [
        &["plan", "f.toml", "m.map"][..],
        &["apply", "f.toml", "m.map", "--allow=drop-copies"],
        &["diff", "m.map.history/1", "m.map"],
        &["show", "m.map"],
    ] {
        let ran = dir.run(verb).ok();
        assert!(ran.text().contains(line), "{verb:?}: {ran:?}");
        assert!(
            ran.text().contains("\nand 1 more violation of pins\n"),
            "{ran:?}"
        );
        let json = dir.run(&[verb, &["--json"]].concat()).json();
        assert_eq!(
            (&json["violations"], &json["pin_violations"]),
            (&0.into(), &4.into()),
            "base slices are counted apart"
        );
    }
}

#[test]
fn a_pin_that_its_fleet_calls_short_is_only_a_warning() {
    let dir = applied(&zoned(
        "[[policy]]\nname = \"cray\"\nkind = \"chain\"\nnodes = [\"b1\"]\n\
         [[pin]]\nkey = \"justin\"\npolicy = \"cray\"\nshort = true\n\
         [[pin]]\nkey = \"frank\"\nnodes = [\"a1\", \"b1\", \"c1\"]\n",
    ));
    let (code, listed) = checked(&dir);
    assert_eq!(
        (code, listed),
        (
            Some(0),
            vec![
                "warn    pins        key \"justin\"  b1: 1 node, fewer than 3; its fleet says short \
                 = true"
                    .to_owned()
            ]
        )
    );
    let text = dir.run(&["check", "m.map"]).ok();
    assert!(text.text().contains(
        "\nok      pins        2 pins: each has 3 nodes or more and keeps the caps, except\n\
         \x20                   1 that the fleet marks as short\n"
    ));
    let json = dir.run(&["check", "m.map", "--json"]).json();
    assert_eq!(
        (&json["ok"], &json["violations"], &json["short_pins"]),
        (&true.into(), &0.into(), &1.into())
    );
    assert_eq!(json["warnings"][0]["key"], "justin");
    let shown = dir.run(&["show", "m.map"]).ok();
    assert!(shown
        .text()
        .contains("\n1 pin is short, as its fleet says\n"));
    assert!(shown.text().contains("key \"justin\" (short)"), "{shown:?}");
    let json = dir.run(&["show", "m.map", "--json"]).json();
    assert_eq!(
        (&json["pins"][1]["short"], json["pins"][0].get("short")),
        (&true.into(), None)
    );
}

#[test]
fn a_named_policy_of_too_few_nodes_is_judged_like_any_pin() {
    let dir = applied(&zoned(
        "[[policy]]\nname = \"cray\"\nnodes = [\"b1\", \"c1\"]\n\
         [[pin]]\nkey = \"justin\"\npolicy = \"cray\"\n",
    ));
    let (code, listed) = checked(&dir);
    assert_eq!(
        (code, listed),
        (
            Some(1),
            vec!["pins        key \"justin\"  b1,c1: 2 nodes, fewer than 3".to_owned()]
        )
    );
}

#[test]
fn a_drained_node_that_a_pin_names_is_told() {
    let fleet = |weight: u32| {
        format!(
            "name = \"m\"\nnode = [{{ name = \"a\" }}, {{ name = \"db3\", weight = {weight} }}]\n\
             pin = [{{ key = \"justin\", nodes = [\"db3\"] }}]\n"
        )
    };
    let dir = applied(&fleet(1));
    dir.write("f.toml", fleet(0));
    let ran = dir.run(&["apply", "f.toml", "m.map"]).ok();
    // db3 has no base slice any more, but still holds the pinned point
    let located = dir.run(&["locate", "m.map", "justin"]).ok();
    assert_eq!(located.text(), "justin\tdb3\n");
    let shown = dir.run(&["show", "m.map"]).ok();
    let cells = |text: &str| -> Vec<String> {
        let row = text.lines().find(|line| line.starts_with("db3 "));
        row.unwrap().split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(
        cells(shown.text())[..6],
        ["db3", "0", "0.000000", "%", "0", "1"]
    );
    assert!(shown.text().contains("  points  pinned"), "{shown:?}");
    assert_eq!(
        cells(ran.text())[..8],
        ["db3", "1", "->", "0", "0.00", "%", "1", "point"]
    );
    let warning = "\n! db3 has weight 0 and still answers for 1 pin\n";
    assert!(ran.text().contains(warning), "{ran:?}");
    let line = "\nnode db3 has weight 0 and still answers for 1 pin\n";
    assert!(shown.text().contains(line), "{shown:?}");
    let off = dir.run(&["check", "m.map", "--off", "db3"]);
    let off = off.fails(1, &["m.map: db3 may not be switched off"]);
    assert_eq!(
        off.text(),
        "db3 still answers for 1 pin\n  pin, key \"justin\": db3\n"
    );
    let json = dir.run(&["show", "m.map", "--json"]).json();
    let db3 = &json["nodes"][1];
    assert_eq!(
        (points(&db3["points"]), points(&db3["pinned_points"])),
        (0, 1)
    );
    assert_eq!(
        checked(&dir),
        (
            Some(0),
            vec![
                "warn    pins        key \"justin\"  db3: node db3 has weight 0 and no share, and \
                 still holds what is pinned here"
                    .to_owned()
            ]
        )
    );
    // without the pin it holds nothing, and the column `pinned` is gone
    dir.write("f.toml", fleet(0).replace("pin = [{ key", "# "));
    dir.run(&["apply", "f.toml", "m.map"]).ok();
    let shown = dir.run(&["show", "m.map"]).ok();
    assert!(!shown.text().contains("pinned") && !shown.text().contains("still answers"));
    assert_eq!(checked(&dir), (Some(0), Vec::new()));
    let off = dir.run(&["check", "m.map", "--off", "db3"]).ok();
    assert!(off
        .text()
        .starts_with("db3 answers for nothing: it may be switched off"));
    let off = dir
        .run(&["check", "m.map", "--off", "db3", "--json"])
        .json();
    assert_eq!(off["may_be_switched_off"], true);
    let off = dir.run(&["check", "m.map", "--off", "a"]);
    off.fails(1, &["a may not be switched off"]);
    let off = dir.run(&["check", "m.map", "--off", "bd3"]);
    off.fails(64, &["no node \"bd3\""]);
}

#[test]
fn pins_are_judged_in_the_middle_of_a_gradual_change() {
    let dir = applied(&zoned(""));
    let pins = "[[pin]]\nkey = \"justin\"\nnodes = [\"a1\", \"b1\"]\n";
    dir.write(
        "f.toml",
        zoned(pins).replace("name = \"c2\"", "name = \"c2\"\nweight = 5"),
    );
    let allow = "--allow=drop-copies";
    let step = [
        "apply",
        "f.toml",
        "m.map",
        "--max-move",
        "1%",
        "--json",
        allow,
    ];
    let json = dir.run(&step).json();
    assert!(json.get("to_come").is_some());
    assert_eq!(
        (&json["violations"], &json["pin_violations"]),
        (&0.into(), &1.into())
    );
    let (code, listed) = checked(&dir);
    assert_eq!((code, listed.len()), (Some(1), 1), "{listed:?}");
}

#[test]
fn show_and_diff_tell_a_map_with_too_few_weighted_nodes() {
    let dir = applied("name = \"m\"\nreplicas = 2\nnode = [{ name = \"a\" }, { name = \"b\" }]\n");
    let mut parts = Map::open_uncached(dir.path("m.map")).unwrap().to_parts();
    parts.nodes[1].weight = Weight::ZERO;
    dir.write("m.map", encode(&parts));
    let line = "\n1 node can hold points, but 2 replicas need 2: there are no targets\n";
    for verb in [&["show", "m.map"][..], &["diff", "m.map", "m.map"]] {
        let ran = dir.run(verb).ok();
        assert!(ran.text().contains(line), "{ran:?}");
        let json = dir.run(&[verb, &["--json"]].concat()).json();
        assert_eq!(json["nodes"][0]["target_points"], Value::Null);
        assert_eq!(points(&json["nodes"][1]["points"]), 1 << 64);
    }
}

/// Returns a fleet of these nodes, with a pin of each of these keys.
fn pinned(nodes: &[&str], pins: &[(&str, &str)]) -> String {
    let pins = pins.iter();
    let pins = pins.map(|(key, node)| format!("[[pin]]\nkey = \"{key}\"\nnodes = [\"{node}\"]\n"));
    crate::program::fleet(nodes) + &pins.collect::<String>()
}

#[test]
fn a_change_counts_the_pinned_keys_that_get_other_nodes() {
    let keys: Vec<String> = (0..300).map(|number| format!("k{number}")).collect();
    let all = |node| -> Vec<(&str, &str)> { keys.iter().map(|key| (key.as_str(), node)).collect() };
    let dir = applied(&pinned(&["a", "b"], &all("a")));
    // the keys that the rule alone would place at `b`
    dir.write("none.toml", pinned(&["a", "b"], &[]));
    dir.write("keys", keys.join("\n"));
    dir.run(&["plan", "none.toml", "m.map", "-o", "none.plan"])
        .ok();
    let moved = dir.feed(&["diff", "m.map", "none.plan", "--keys"], &dir.read("keys"));
    let moved = moved.ok().text().lines().count();
    assert!(100 < moved && moved < 200, "{moved}");
    let counted = |fleet: &str| {
        dir.write("next.toml", fleet);
        let plan = dir.run(&["plan", "next.toml", "m.map"]).ok();
        let json = dir.run(&["plan", "next.toml", "m.map", "--json"]).json();
        (plan.text().to_owned(), json["pinned_keys"].clone())
    };
    let (text, json) = counted(&pinned(&["a", "b"], &[]));
    assert_eq!(json, serde_json::json!({"moved": moved, "of": 300}));
    assert!(
        text.starts_with(&format!(
            "members: epoch 1 -> 2, moves by hand only: {moved} pinned keys\n"
        )),
        "{text}"
    );
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected =
        format!("pins {moved} pinned keys of 300 get other nodes (1 point each): diff --keys");
    assert!(told.contains(&expected), "{text}");

    // a key that is pinned elsewhere, one that is pinned anew, and a name that is another
    let mut pins = all("a");
    pins[7].1 = "b";
    pins.push(("anew", "a"));
    let (text, json) = counted(&pinned(&["a", "b"], &pins));
    let fresh = dir.run(&["locate", "m.map", "anew"]).ok().text() == "anew\tb\n";
    let moved = 1 + usize::from(fresh);
    assert_eq!(
        json,
        serde_json::json!({"moved": moved, "of": 301}),
        "{text}"
    );
    let renamed = pinned(&["c", "b"], &all("c"))
        .replace("name = \"c\"\n", "name = \"c\"\nformerly = \"a\"\n");
    let (text, json) = counted(&renamed);
    assert_eq!(json, serde_json::json!({"moved": 0, "of": 300}), "{text}");
    assert!(!text.contains("pinned key"), "{text}");
    // apply and its reverse tell the same, and a map without pins has no such member
    let report = dir.run(&["apply", "none.toml", "m.map", "--json"]).json();
    let back = dir
        .run(&["diff", "m.map", "m.map.history/1", "--json"])
        .json();
    assert_eq!(report["pinned_keys"], back["pinned_keys"]);
    let same = dir.run(&["apply", "none.toml", "m.map", "--json"]).json();
    assert!(!fields(&same).contains(&"pinned_keys"));
}

#[test]
fn other_nodes_of_a_policy_move_the_keys_that_are_pinned_to_it() {
    let fleet = |nodes: &str| {
        format!(
            "{}[[policy]]\nname = \"p\"\nnodes = [{nodes}]\n[[pin]]\nkey = \"k\"\npolicy = \"p\"\n",
            crate::program::fleet(&["a", "b"])
        )
    };
    let dir = applied(&fleet("\"a\""));
    let moved = |nodes: &str| {
        dir.write("next.toml", fleet(nodes));
        let plan = dir.run(&["plan", "next.toml", "m.map", "--json"]).json();
        plan["pinned_keys"]["moved"].clone()
    };
    assert_eq!([moved("\"b\""), moved("\"a\", \"b\"")], [1, 1]);
}

#[test]
fn a_pin_of_a_bucket_says_which_part_of_the_keys_it_covers() {
    let dir = sixty_buckets();
    let fleet = String::from_utf8(dir.read("f.toml")).unwrap();
    let at = dir.run(&["locate", "m.map", "k"]).ok().text().to_owned();
    let [same, other] = match at.as_str() {
        "k\tn0\n" => ["n0", "n1"],
        _ => [at.trim().split_once('\t').unwrap().1, "n0"],
    };
    let plan = |node: &str| {
        let pin = format!("\n[[pin]]\nkey = \"k\"\nnodes = [\"{node}\"]\n");
        dir.write("next.toml", fleet.clone() + &pin);
        let plan = dir.run(&["plan", "next.toml", "m.map"]).ok();
        plan.text().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = plan(other);
    let part = "pins 1 pinned key of 1 gets other nodes (1/60 of all keys): diff --keys";
    assert!(text.contains(part), "{text}");
    let text = plan(same);
    assert!(
        text.contains("pins a pinned key stands for 1/60 of all keys"),
        "{text}"
    );
    let json = dir.run(&["plan", "next.toml", "m.map", "--json"]).json();
    assert_eq!(
        json["pinned_keys"],
        serde_json::json!({"moved": 0, "of": 1, "one_in": "60"})
    );
}

#[test]
fn the_history_tells_what_pins_move() {
    let dir = sixty_buckets();
    let fleet = String::from_utf8(dir.read("f.toml")).unwrap();
    let at = dir.run(&["locate", "m.map", "k"]).ok().text().to_owned();
    let other = if at == "k\tn0\n" { "n1" } else { "n0" };
    let pin = format!("\n[[pin]]\nkey = \"k\"\nnodes = [\"{other}\"]\n");
    dir.write("next.toml", fleet + &pin);
    dir.run(&["apply", "next.toml", "m.map"]).ok();
    let said = dir.run(&["history", "m.map"]).ok();
    let words: Vec<&str> = said.text().split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains("0.00 % +1 pin (by hand: 1.67 %, 1 pinned key)"),
        "{text}"
    );
    let json = dir.run(&["history", "m.map", "--json"]).json();
    let [first, second] = [0, 1].map(|number| json["epochs"][number]["by_hand"].clone());
    assert!(first.is_null());
    assert_eq!(second["pinned_keys"], 1);
    // the plan between the two says the same
    let diff = dir
        .run(&["diff", "m.map.history/1", "m.map", "--json"])
        .json();
    assert_eq!(second["points"], diff["copies"]["pinned"]["points"]);
    assert_eq!(diff["pinned_keys"]["moved"], 1);
}
