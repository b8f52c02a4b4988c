//! What an operator sees before a change: whole screens of `plan`, line by line. They are written
//! out here because they are read under stress, where every line counts.

use crate::common::Place;
use serde_json::{json, Value};

/// A node: its name, weight and labels.
type Row = (String, u32, Vec<(&'static str, String)>);
type Nodes = Vec<Row>;

/// A fleet with these nodes.
fn fleet(replicas: u32, spread: &[&str], nodes: &[Row]) -> String {
    let mut text = format!("name = \"db\"\nreplicas = {replicas}\nspread = {spread:?}\n");
    for (name, weight, labels) in nodes {
        let labels: Vec<String> = labels.iter().map(|(k, v)| format!("{k} = {v:?}")).collect();
        text += &format!(
            "[[node]]\nname = {name:?}\nweight = {weight}\nlabels = {{ {} }}\n",
            labels.join(", ")
        );
    }
    text
}

/// 24 nodes in three zones of two racks each: db1 in a/a1, db2 in b/b1, db3 in c/c1 ...
fn racks() -> Nodes {
    let node = |i: usize| {
        let zone = ["a", "b", "c"][i % 3];
        let rack = format!("{zone}{}", i / 12 + 1);
        let labels = vec![("zone", zone.to_owned()), ("rack", rack)];
        (format!("db{}", i + 1), 1, labels)
    };
    (0..24).map(node).collect()
}

/// A place with `m.map`, made from a fleet.
fn with_map(fleet: &str) -> Place {
    let place = Place::new();
    place.write("fleet.toml", fleet);
    place.good(&["apply", "fleet.toml", "m.map"]);
    place
}

/// Plans a fleet on `m.map` and returns the screen, which is never wider than 80 columns.
fn screen(place: &Place, fleet: &str, more: &[&str]) -> String {
    place.write("next.toml", fleet);
    let text = place.good(&[&["plan", "next.toml", "m.map"], more].concat());
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "wider than 80: {line}");
    }
    text
}

const LEVELS: [&str; 2] = ["zone", "rack"];

#[test]
fn a_new_rack() {
    let place = with_map(&fleet(3, &LEVELS, &racks()));
    let mut grown = racks();
    for i in 25..=32 {
        let labels = vec![("zone", "a".to_owned()), ("rack", "a3".to_owned())];
        grown.push((format!("db{i}"), 1, labels));
    }
    assert_eq!(
        screen(&place, &fleet(3, &LEVELS, &grown), &[]),
        "\
db: epoch 1 -> 2, moves 16.67 % (the least possible)

fleet     + 8 nodes weight 1 rack=a3 zone=a (db25, db26 ... db32)
copies    copied 16.67 %, dropped 0.00 % (of all 3 copies)
domains   + rack a/a3, 8 nodes
          losing a zone costs 1 of 3 copies of up to 100.00 % of the keys (a)
          losing a rack costs 1 of 3 copies of up to 50.00 % of the keys (a/a3)
capacity  zones b, c fill first: 75.00 % of the raw capacity can be used
          zone a can hold at most one of 3 copies: 33.3 % instead of 50.0 %
          zones b, c get 1.33 times what their weight asks for

node  weight  wanted   share                     change
db1        1  3.13 %  2.08 %  ########          -2.08 %
db4        1  3.13 %  2.08 %  ########          -2.08 %
db7        1  3.13 %  2.08 %  ########          -2.08 %
db10       1  3.13 %  2.08 %  ########          -2.08 %
db13       1  3.13 %  2.08 %  ########          -2.08 %
db16       1  3.13 %  2.08 %  ########          -2.08 %
db19       1  3.13 %  2.08 %  ########          -2.08 %
db22       1  3.13 %  2.08 %  ########          -2.08 %
db25       1  3.13 %  2.08 %  ########          +2.08 %
db26       1  3.13 %  2.08 %  ########          +2.08 %
db27       1  3.13 %  2.08 %  ########          +2.08 %
db28       1  3.13 %  2.08 %  ########          +2.08 %
db29       1  3.13 %  2.08 %  ########          +2.08 %
db30       1  3.13 %  2.08 %  ########          +2.08 %
db31       1  3.13 %  2.08 %  ########          +2.08 %
db32       1  3.13 %  2.08 %  ########          +2.08 %

16 nodes keep what they hold: --all

a map moves no data: a cache refills itself; to carry the rest, apply --carry
"
    );
}

#[test]
fn fewer_replicas() {
    let place = with_map(&fleet(3, &LEVELS, &racks()));
    let one = fleet(1, &LEVELS, &racks());
    assert_eq!(
        screen(&place, &one, &[]),
        "\
db: epoch 1 -> 2, moves nothing, drops 66.67 %

! drops 66.67 % of all copies: a key keeps 1 copy of 3 (--allow drop-copies)

fleet     ~ replicas 3 -> 1
copies    copied 0.00 %, dropped 66.67 % (of the 3 copies before)

node             weight   share                     change
db1 and 23 more       1  1.39 %  ################  -2.78 %
"
    );
    let report = place.json(&["plan", "next.toml", "m.map", "--json"]);
    assert_eq!(
        (
            &report["old_epoch"],
            &report["old_replicas"],
            &report["replicas"]
        ),
        (&json!(1), &json!(3), &json!(1))
    );
    assert_eq!(report["warnings"][0]["code"], "drop-copies");
    assert_eq!(
        report["copies"]["dropped"]["points"],
        (2u128 << 64).to_string()
    );
    assert_eq!(
        report["changes"],
        json!([{"sign": "~", "what": "replicas", "name": null,
                "details": [{"field": "value", "old": "3", "new": "1"}]}])
    );
}

#[test]
fn a_lost_zone_of_one_node() {
    let node = |zone: &str| (zone.to_owned(), 1, vec![("zone", zone.to_owned())]);
    let nodes: Nodes = ["a", "b", "c"].map(node).into();
    let place = with_map(&fleet(2, &["zone"], &nodes));
    let said = screen(&place, &fleet(2, &["zone"], &nodes[..2]), &[]);
    assert!(
        said.contains("! loses zone c: its only node can hold no copies any more"),
        "{said}"
    );
}

#[test]
fn zones_that_are_named_no_more_are_not_lost() {
    let node = |zone: &str| (zone.to_owned(), 1, vec![("zone", zone.to_owned())]);
    let nodes: Nodes = ["a", "b"].map(node).into();
    let place = with_map(&fleet(2, &["zone"], &nodes));
    let plain: Nodes = ["a", "b"]
        .map(|name| (name.to_owned(), 1, Vec::new()))
        .into();
    let said = screen(&place, &fleet(1, &[], &plain), &[]);
    assert!(!said.contains("can hold copies any more"), "{said}");
    // one that is named no more and one that is away
    let said = screen(&place, &fleet(1, &[], &plain[..1]), &[]);
    let lost = "! loses zone b: its only node can hold no copies any more";
    assert!(said.contains(lost) && !said.contains("zone a:"), "{said}");
}

#[test]
fn a_lost_zone() {
    let place = with_map(&fleet(3, &LEVELS, &racks()));
    let mut rest = racks();
    rest.retain(|(_, _, labels)| labels[0].1 != "c");
    let text = fleet(3, &LEVELS, &rest);
    assert_eq!(
        screen(&place, &text, &[]),
        "\
db: epoch 1 -> 2, moves 33.33 % (the least possible)

! loses zone c: none of its 8 nodes can hold copies any more (--allow
  lose-domain)
! losing zone a costs 2 copies of 3 for 50.00 % of the keys: there are only 2
  zones for 3 copies

fleet     - 8 nodes (db3, db6 ... db24)
copies    copied 33.33 %, dropped 0.00 % (of all 3 copies)
domains   - zone c, 8 nodes
          losing a zone costs 2 of 3 copies of up to 50.00 % of the keys (a)
          losing a rack costs 1 of 3 copies of up to 75.00 % of the keys (a/a1)

node                    weight   share                     change
db1 and 15 more              1  6.25 %  ################  +2.08 %
db12 and 7 more (left)       -  0.00 %                    -4.17 %

a map moves no data: a cache refills itself; to carry the rest, apply --carry
"
    );
    // the dead nodes give nothing, and what they had comes from the others
    let dead = racks()
        .into_iter()
        .filter(|(_, _, labels)| labels[0].1 == "c");
    let lost: Vec<String> = dead.map(|(name, _, _)| name).collect();
    let mut flags = vec!["--json", "--moves"];
    for name in &lost {
        flags.extend(["--lost", name.as_str()]);
    }
    let report = place.json(&[&["plan", "next.toml", "m.map"], &flags[..]].concat());
    assert_eq!(report["lost"]["without_copy"]["points"], "0");
    assert_eq!(report["lost"]["nodes"].as_array().unwrap().len(), 8);
    // a label names them all
    let by_label = ["--json", "--moves", "--lost", "zone=c"];
    let by_label = place.json(&[&["plan", "next.toml", "m.map"], &by_label[..]].concat());
    assert_eq!(by_label, report);
    place
        .run(&["plan", "next.toml", "m.map", "--lost", "zone=d"])
        .bad(64, &["no node with zone=d"]);
    let from = |list: &str| -> Vec<Value> {
        let list = report[list].as_array().unwrap();
        list.iter().map(|one| one["from"].clone()).collect()
    };
    for list in ["moves", "flows"] {
        assert!(!from(list).is_empty());
        for from in from(list) {
            let from = from.as_str().unwrap_or_else(|| panic!("{list}: nowhere"));
            assert!(!lost.iter().any(|name| *name == from), "{list}: {from}");
        }
    }
    let text = screen(&place, &text, &flags[2..]);
    assert!(
        text.contains("\nlost      db3, db6 ... db24; every key has a copy left\n"),
        "{text}"
    );
}

#[test]
fn an_unequal_fleet() {
    let node = |(name, weight): (&str, u32)| {
        (
            name.to_owned(),
            weight,
            vec![("zone", name[..1].to_owned())],
        )
    };
    let nodes = |a1: u32| -> Nodes {
        let nodes = [
            ("a1", a1),
            ("a2", 4),
            ("b1", 2),
            ("b2", 2),
            ("c1", 1),
            ("c2", 1),
        ];
        nodes.into_iter().map(node).collect()
    };
    let place = with_map(&fleet(3, &["zone"], &nodes(4)));
    assert_eq!(
        screen(&place, &fleet(3, &["zone"], &nodes(6)), &["--moves"]),
        r"db: epoch 1 -> 2, moves 3.33 % (the least possible)

fleet     ~ node a1 weight 4 -> 6
copies    copied 3.33 %, dropped 0.00 % (of all 3 copies)
domains   losing a zone costs 1 of 3 copies of up to 100.00 % of the keys (a)
capacity  zone c fills first: 37.50 % of the raw capacity can be used
          zone a can hold at most one of 3 copies: 33.3 % instead of 62.5 %
          zone b gets 1.33 times what its weight asks for
          zone c gets 2.67 times what its weight asks for

level  domain  nodes   wanted    share  losing it costs
zone   a           2  62.50 %  33.33 %  1 of 3 copies, 100.00 %
zone   b           2  25.00 %  33.33 %  1 of 3 copies, 100.00 %
zone   c           2  12.50 %  33.33 %  1 of 3 copies, 100.00 %

node  weight   wanted    share                     change
a1    4 -> 6  37.50 %  20.00 %  ################  +3.33 %
a2         4  25.00 %  13.33 %  ###########       -3.33 %

4 nodes keep what they hold: --all

from \ to, %    a1   sum
a2            3.33  3.33
sum           3.33  3.33

a map moves no data: a cache refills itself; to carry the rest, apply --carry
"
    );
}

#[test]
fn a_node_of_weight_twelve_and_its_domain_are_named_once() {
    // R = 2 without a spread: a node can have one of the two copies at most
    let nodes: Nodes = [("big", 12), ("n1", 2), ("n2", 2), ("n3", 2), ("n4", 2)]
        .map(|(name, weight)| (name.to_owned(), weight, vec![("zone", "x".to_owned())]))
        .into();
    let place = Place::new();
    place.write("fleet.toml", fleet(2, &[], &nodes));
    let text = place.good(&["plan", "fleet.toml"]);
    assert!(
        text.contains(
            "\ncapacity  4 nodes (n1, n2 ... n4) fill first: 80.00 % of the raw capacity can be\n            used\n          node big can hold at most one of 2 copies: 50.0 % instead of 60.0 %\n\
            \x20         4 nodes (n1, n2 ... n4) get 1.25 times what their weight asks for\n"
        ),
        "{text}"
    );
}

#[test]
fn a_label_that_looks_like_another_is_asked_about() {
    let place = with_map(&fleet(3, &LEVELS, &racks()));
    let mut grown = racks();
    let labels = vec![("zone", "A".to_owned()), ("rack", "a1".to_owned())];
    grown.push(("db25".to_owned(), 1, labels));
    let text = screen(&place, &fleet(3, &LEVELS, &grown), &[]);
    assert!(
        text.contains(
            "\n\n! zone \"a\" (8 nodes) and zone \"A\" (1 node) are two domains and look alike: is\n  \
            one a slip?\n\n"
        ),
        "{text}"
    );
}

#[test]
fn two_zones_for_three_copies_are_said_once() {
    let mut nodes = racks();
    nodes.retain(|(_, _, labels)| labels[0].1 != "c");
    let place = Place::new();
    place.write("fleet.toml", fleet(3, &LEVELS, &nodes));
    let report = place.json(&["apply", "fleet.toml", "m.map", "--json"]);
    assert_eq!(report["warnings"][0]["code"], "one-domain");
    assert_eq!(report["domains"][0]["loss"]["copies"], 2);
    assert_eq!(report["domains"][0]["loss"]["last_points"], "0");
    // no news for the next change of the same fleet
    nodes[0].1 = 2;
    let report = place.json(&["plan", "fleet.toml", "m.map", "--json"]);
    assert_eq!(report["warnings"], json!([]));
    let text = screen(&place, &fleet(3, &LEVELS, &nodes), &[]);
    assert!(!text.contains("! "), "{text}");
}

#[test]
fn what_no_node_has_any_more_is_said_first() {
    let mut nodes = racks();
    nodes.truncate(4);
    let place = with_map(&fleet(1, &[], &nodes));
    let rest = fleet(1, &[], &nodes[1..]);
    let text = screen(&place, &rest, &["--lost", "db1", "--moves"]);
    let gone = "25.00 % of the keys";
    assert!(
        text.lines()
            .nth(2)
            .unwrap()
            .starts_with(&format!("! {gone} have no copy left: ")),
        "{text}"
    );
    assert!(
        text.contains(&format!("\nlost      db1; {gone} have none\n")),
        "{text}"
    );
    assert!(text.contains("\n(added) "), "{text}");
    // still in the fleet
    let text = screen(&place, &fleet(1, &[], &nodes), &["--lost", "db1"]);
    assert!(
        text.contains("! db1 is lost, and the fleet still gives it 25.00 % of all"),
        "{text}"
    );
    let ran = place.run(&["plan", "next.toml", "m.map", "--lost", "dbx"]);
    ran.bad(64, &["map `db` has no node `dbx`; did you mean db1?"]);
    let again = "no node `db1,db2`; give the option once for each node, or as LABEL=VALUE";
    for verb in ["plan", "apply"] {
        place
            .run(&[verb, "next.toml", "m.map", "--lost", "db1,db2"])
            .bad(64, &[again]);
    }
}

#[test]
fn six_hundred_nodes_fit_on_a_screen_and_all_shows_every_one() {
    let node = |i: usize| {
        let zone = ["a", "b", "c"][i % 3].to_owned();
        (format!("db{i}"), 1, vec![("zone", zone)])
    };
    let nodes: Nodes = (0..600).map(node).collect();
    let place = with_map(&fleet(3, &["zone"], &nodes));
    let mut grown = nodes.clone();
    grown.extend((600..615).map(|i| {
        let (name, _, labels) = node(i);
        (name, 2, labels)
    }));
    let text = screen(&place, &fleet(3, &["zone"], &grown), &["--moves"]);
    assert!(text.lines().count() < 60, "{text}");
    let all = screen(&place, &fleet(3, &["zone"], &grown), &["--all"]);
    assert!(
        all.lines().filter(|line| line.starts_with("db")).count() == 616,
        "{all}"
    );
    assert!(
        all.contains("\nfleet     + node db600 weight 2 zone=a\n"),
        "{all}"
    );
}
