//! `check` on maps written by hand: it accepts the sound ones, and lists what is wrong with the
//! others.

use std::collections::BTreeSet;

use crate::program::{fields, Dir};
use serde_json::Value;
use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PolicyPart};
use stead::hash::{Hash, KeyRule};
use stead::policy::{NodeId, PolicyId};
use stead::weight::Weight;
use stead::Point;

/// A map: its nodes, such as `a1 zone=a rack=1 weight=2`, and its slices, each with its first cell
/// and its nodes.
struct Written {
    nodes: Vec<String>,
    slices: Vec<(u64, &'static str)>,
    replicas: u32,
    spread: Vec<&'static str>,
    cells: Cells,
    max_slices: Option<u32>,
}

impl Written {
    /// Returns a sound map of three copies over two zones. Zone a has two racks, the first with two
    /// nodes; zone b has two racks with one node each.
    ///
    /// Zones have the cap 2, racks have the cap 1. All nodes weigh 1 and want 3 * 12 / 5 = 7.2
    /// cells. Rack 1 of zone a is full at level 6: a1 and a2 have 6 cells each. The others share 36
    /// - 12 cells: 8 each. The primaries are 2 and 2 for a1 and a2, and 8 / 3 for the others.
    fn sound() -> Written {
        Written {
            nodes: [
                "a1 zone=a rack=1",
                "a2 zone=a rack=1",
                "a3 zone=a rack=2",
                "b1 zone=b rack=1",
                "b2 zone=b rack=2",
            ]
            .map(str::to_owned)
            .to_vec(),
            slices: vec![
                (0, "a1 a3 b1"),
                (2, "a3 a1 b2"),
                (4, "b1 a1 b2"),
                (6, "a3 a2 b1"),
                (7, "b1 a2 a3"),
                (8, "a2 a3 b2"),
                (10, "b2 a2 b1"),
            ],
            replicas: 3,
            spread: vec!["zone", "rack"],
            cells: Cells::from_stored(12),
            max_slices: Some(7),
        }
    }

    fn parts(&self) -> Parts {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let node = |text: &String| {
            let words = words(text);
            let mut pairs: Vec<(String, String)> = words[1..]
                .iter()
                .map(|pair| pair.split_once('=').unwrap())
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .collect();
            pairs.sort();
            let weight = pairs
                .iter()
                .position(|(name, _)| name == "weight")
                .map(|at| pairs.remove(at).1);
            NodePart {
                name: words[0].clone(),
                formerly: String::new(),
                weight: weight.map_or(Weight::ONE, |weight| Weight::parse(&weight).unwrap()),
                labels: pairs,
                attributes: Vec::new(),
            }
        };
        let nodes: Vec<NodePart> = self.nodes.iter().map(node).collect();
        let number = |name: &String| {
            NodeId(nodes.iter().position(|node| node.name == *name).unwrap() as u32)
        };
        let members = |text: &str| words(text).iter().map(number).collect::<Vec<NodeId>>();
        let lists: BTreeSet<Vec<NodeId>> = self
            .slices
            .iter()
            .map(|(_, nodes)| members(nodes))
            .collect();
        let policy = |text: &str| {
            PolicyId(
                lists
                    .iter()
                    .position(|list| *list == members(text))
                    .unwrap() as u32,
            )
        };
        Parts {
            name: "written".to_owned(),
            epoch: 1,
            map_id: [0; 16],
            parent: [0; 32],
            algorithm: 1,
            replicas: self.replicas,
            hash: Hash::Md5,
            key_rule: KeyRule::Whole,
            cells: self.cells,
            max_slices: self.max_slices,
            tolerance: None,
            spread: self
                .spread
                .iter()
                .map(|label| (*label).to_owned())
                .collect(),
            base: self
                .slices
                .iter()
                .map(|(cell, nodes)| {
                    (
                        Point(self.cells.bound((*cell).into()) as u64),
                        policy(nodes),
                    )
                })
                .collect(),
            policies: lists
                .iter()
                .map(|members| PolicyPart {
                    name: None,
                    kind: String::new(),
                    weight: None,
                    members: members.clone(),
                })
                .collect(),
            nodes,
            pins: Vec::new(),
            firsts: Vec::new(),
            target: None,
            carry: None,
        }
    }
}

/// Asserts that `check` accepts a map, and returns its text.
#[track_caller]
fn accepts(parts: &Parts) -> String {
    let dir = Dir::new();
    dir.write("m.map", encode(parts));
    let json = dir.run(&["check", "m.map", "--json"]).json();
    assert_eq!(
        (&json["ok"], &json["violations"], &json["unlisted"]),
        (&true.into(), &0.into(), &0.into())
    );
    assert_eq!(
        (
            json["listed"].as_array().unwrap().len(),
            &json["max_share_error_points"]
        ),
        (0, &"0".into())
    );
    dir.run(&["check", "m.map"]).ok().text().to_owned()
}

/// Returns the violations that `check` lists, as `check FIRST_CELL..LAST_CELL nodes: reason`, or as
/// `check: reason` if a violation has no slice.
#[track_caller]
fn rejects(parts: &Parts) -> Vec<String> {
    let dir = Dir::new();
    dir.write("m.map", encode(parts));
    let ran = dir
        .run(&["check", "m.map", "--json"])
        .fails(1, &["m.map: a rule is broken"]);
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    let text = dir
        .run(&["check", "m.map"])
        .fails(1, &["m.map: a rule is broken"]);
    assert_eq!((&json["ok"], &json["unlisted"]), (&false.into(), &0.into()));
    let listed = json["listed"].as_array().unwrap();
    assert_eq!(json["violations"], listed.len());
    // a check is broken exactly if one of its violations is listed, in the text as well
    for check in json["checks"].as_array().unwrap() {
        let broken = listed
            .iter()
            .any(|violation| violation["check"] == check["check"]);
        assert_eq!(check["ok"], !broken, "{check}");
        let line = format!(
            "\n{}  {}  ",
            if broken { "BROKEN" } else { "ok    " },
            check["check"].as_str().unwrap()
        );
        assert!(text.text().contains(&line), "{line:?} is not in {text:?}");
    }
    // `show` and the reports count slices: a slice that exceeds two caps counts once, and a
    // violation that is not about a slice does not count. (If a node lacks a label, no fleet has
    // these caps; only `check` reports violations of them.)
    let caps = !listed
        .iter()
        .any(|violation| violation["check"] == "spread" && violation.get("first").is_none());
    let slices: BTreeSet<&str> = listed
        .iter()
        .filter_map(|violation| violation["first"].as_str())
        .collect();
    let counted = dir.run(&["show", "m.map", "--json"]);
    if counted.code == Some(0) && caps {
        assert_eq!(counted.json()["violations"], slices.len(), "{slices:?}");
    }
    let shown = |violation: &Value| {
        let (check, reason) = (
            violation["check"].as_str().unwrap(),
            violation["reason"].as_str().unwrap(),
        );
        assert!(
            text.text().contains(reason),
            "{reason:?} is not in {text:?}"
        );
        if violation.get("first").is_none() {
            assert_eq!(fields(violation), ["check", "reason"]);
            return format!("{check}: {reason}");
        }
        assert_eq!(
            fields(violation),
            ["check", "first", "last", "nodes", "reason"]
        );
        let [first, last] =
            ["first", "last"].map(|end| Point::from_hex(violation[end].as_str().unwrap()).unwrap());
        let nodes: Vec<&str> = violation["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node.as_str().unwrap())
            .collect();
        format!(
            "{check} {}..{} {}: {reason}",
            parts.cells.of(first),
            parts.cells.of(last),
            nodes.join(" ")
        )
    };
    listed.iter().map(shown).collect()
}

#[test]
fn sound_maps_of_three_copies_are_accepted() {
    let text = accepts(&Written::sound().parts());
    for line in [
        "ok      replicas    every slice is held by 3 nodes\n",
        "ok      spread      6 domains of zone, rack: none holds more copies of a point\n\
         \x20                   than its cap\n",
        "ok      balance     every share is its target, to the point\n",
        "ok      primaries   every node is the primary of 1/3 of its points\n",
        "ok      max_slices  7 slices, and at most 7 are allowed\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    // the same in points: three zones hold each point once. A third of 2^64 is not a whole number,
    // so the numbers of primaries are rounded.
    let sixth = |i: u128| (i * (1 << 64) / 6) as u64;
    let mut three = Written::sound();
    three.nodes = [
        "a1 zone=a rack=1",
        "a2 zone=a rack=2",
        "b1 zone=b rack=1 weight=7",
        "c1 zone=c rack=1 weight=0.5",
    ]
    .map(str::to_owned)
    .to_vec();
    three.slices = [
        "a1 b1 c1", "b1 a1 c1", "c1 a1 b1", "a2 b1 c1", "b1 a2 c1", "c1 a2 b1",
    ]
    .into_iter()
    .zip(0..)
    .map(|(nodes, i)| (sixth(i), nodes))
    .collect();
    three.cells = Cells::FINEST;
    accepts(&three.parts());
}

#[test]
fn a_verdict_fits_into_80_columns() {
    let text = accepts(&Written::sound().parts());
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // the digest is on the line that names it, where scripts look for it
    let digest = text
        .lines()
        .find_map(|line| line.strip_prefix("ok      digest  "));
    assert!(digest.is_some_and(|digest| digest.len() == 64), "{text}");
}

#[test]
fn another_number_of_nodes_is_listed() {
    let mut map = Written::sound();
    map.slices[2].1 = "b1 a1";
    let listed = rejects(&map.parts());
    assert_eq!(listed[0], "replicas 4..5 b1 a1: 2 nodes, not 3");
    assert_eq!(
        listed[1..],
        ["balance: node b2 has 6 cells, 2 too few for its target"]
    );
    map.slices[2].1 = "b1 a1 b2 a3";
    assert_eq!(
        rejects(&map.parts())[0],
        "replicas 4..5 b1 a1 b2 a3: 4 nodes, not 3"
    );
}

#[test]
fn a_domain_above_its_cap_is_listed_at_every_level() {
    let mut map = Written::sound();
    // two copies in rack 1 of zone a, whose cap is one; two copies in zone a, whose cap is two
    map.slices[2].1 = "b1 a1 a2";
    assert_eq!(
        rejects(&map.parts())[0],
        "spread 4..5 b1 a1 a2: 2 copies in zone a, rack 1, at most 1 allowed"
    );
    map.slices[2].1 = "a1 a2 a3";
    let listed = rejects(&map.parts());
    assert_eq!(
        listed[0],
        "spread 4..5 a1 a2 a3: 3 copies in zone a, at most 2 allowed"
    );
    assert_eq!(
        listed[1],
        "spread 4..5 a1 a2 a3: 2 copies in zone a, rack 1, at most 1 allowed"
    );
    // a zone in which no node can hold points
    let mut map = Written::sound();
    map.nodes.push("c1 zone=c rack=1 weight=0".to_owned());
    accepts(&map.parts());
    map.slices[2].1 = "b1 a1 c1";
    assert!(rejects(&map.parts())
        .contains(&"spread 4..5 b1 a1 c1: 1 copy in zone c, at most 0 allowed".to_owned()));
}

#[test]
fn a_share_off_its_target_is_listed() {
    let mut map = Written::sound();
    map.slices[2].1 = "b1 a2 b2";
    let off = [
        "balance: node a1 has 4 cells, 2 too few for its target",
        "balance: node a2 has 8 cells, 2 too many for its target",
    ];
    assert_eq!(rejects(&map.parts()), off);
    // the same slices are right if a1 weighs half as much: rack 1 is then shared 4 to 8
    map.nodes[0] += " weight=0.5";
    accepts(&map.parts());
}

#[test]
fn wrong_primaries_are_listed() {
    let mut map = Written::sound();
    map.slices[5].1 = "a3 a2 b2";
    assert_eq!(
        rejects(&map.parts()),
        [
            "primaries: node a2 is the primary of 0 of its 6 cells, not of 2",
            "primaries: node a3 is the primary of 5 of its 8 cells, not of 2 or 3",
        ]
    );
}

#[test]
fn too_many_slices_are_listed() {
    let mut map = Written::sound();
    map.max_slices = Some(6);
    assert_eq!(
        rejects(&map.parts()),
        ["max_slices: 7 slices, at most 6 allowed"]
    );
}

#[test]
fn a_node_that_can_hold_and_lacks_a_label_is_listed() {
    let mut map = Written::sound();
    map.nodes[4] = "b2 zone=b".to_owned();
    assert_eq!(
        rejects(&map.parts()),
        ["spread: node b2 can hold points but has no label `rack`"]
    );
    map.nodes[4] = "b2 rack=2".to_owned();
    assert_eq!(
        rejects(&map.parts())[0],
        "spread: node b2 can hold points but has no label `zone`"
    );
    // a node that cannot hold points needs no labels
    map.nodes[4] = "b2 zone=b rack=2".to_owned();
    map.nodes.push("spare weight=0".to_owned());
    accepts(&map.parts());
}

#[test]
fn without_enough_nodes_there_are_no_targets_and_the_rest_is_judged() {
    let mut map = Written::sound();
    for node in &mut map.nodes[2..] {
        *node += " weight=0";
    }
    map.max_slices = Some(6);
    let listed = rejects(&map.parts());
    assert_eq!(
        listed[..2],
        [
            "balance: 2 nodes can hold points, but 3 replicas need 3: there are no targets",
            "max_slices: 7 slices, at most 6 allowed"
        ]
    );
    // Violations are listed zone by zone, then rack by rack. Only rack 1 of zone a can hold points
    // now, so its cap is what it has.
    assert_eq!(
        listed[2],
        "spread 0..1 a1 a3 b1: 1 copy in zone b, at most 0 allowed"
    );
    assert_eq!(
        listed[3],
        "spread 0..1 a1 a3 b1: 1 copy in zone a, rack 2, at most 0 allowed"
    );
    assert!(
        !listed
            .iter()
            .any(|line| line.contains("target") && !line.contains("no targets")),
        "{listed:?}"
    );
}

#[test]
fn at_three_replicas_a_named_policy_holds_nothing() {
    let mut parts = Written::sound().parts();
    let named = PolicyPart {
        name: Some("chain".into()),
        kind: String::new(),
        weight: Some(Weight::ONE),
        members: vec![NodeId(0)],
    };
    parts.policies.insert(0, named);
    for (_, policy) in &mut parts.base {
        policy.0 += 1;
    }
    accepts(&parts); // it may stand there, for pins
    let before = parts.base[2].1;
    parts.base[2].1 = PolicyId(0);
    parts.policies.remove(before.index());
    for (_, policy) in &mut parts.base {
        policy.0 -= u32::from(policy.0 > before.0);
    }
    assert_eq!(
        rejects(&parts)[0],
        "replicas 4..5 a1: policy `chain` takes a share, which is allowed only with one replica"
    );
}

#[test]
fn long_lists_end_with_how_many_more_there_are() {
    let mut map = Written::sound();
    (map.replicas, map.spread, map.max_slices, map.cells) = (2, Vec::new(), None, Cells::FINEST);
    map.slices = (0..10_050)
        .map(|i| (i << 40, if i % 2 == 0 { "a1" } else { "a2" }))
        .collect();
    let dir = Dir::new();
    dir.write("m.map", encode(&map.parts()));
    let ran = dir.run(&["check", "m.map"]).fails(1, &[]);
    let json: Value = serde_json::from_slice(&dir.run(&["check", "m.map", "--json"]).out).unwrap();
    let all = json["violations"].as_u64().unwrap();
    assert!(
        all > 10_050
            && ran
                .text()
                .contains("BROKEN  replicas    10050 slices not held by exactly 2 nodes")
    );
    assert_eq!(
        (
            json["listed"].as_array().unwrap().len(),
            json["unlisted"].as_u64()
        ),
        (10_000, Some(all - 10_000))
    );
    assert_eq!(
        ran.text()
            .lines()
            .filter(|line| line.starts_with("replicas  "))
            .count(),
        20
    );
    assert_eq!(
        ran.text().lines().last(),
        Some(&*format!("and {} more; --json lists up to 10000", all - 20))
    );
}

#[test]
fn every_map_of_the_reference_gets_a_verdict() {
    let maps = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/maps");
    let dir = Dir::new();
    let (mut sound, mut broken) = (0, 0);
    for map in std::fs::read_dir(maps).unwrap() {
        let path = map.unwrap().path();
        let ran = dir.run(&["check", path.to_str().unwrap(), "--json"]);
        // a map of a stead that does not exist yet
        if path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("newer")
        {
            ran.fails(65, &["needs feature 40"]);
            continue;
        }
        let json: Value = serde_json::from_slice(&ran.out)
            .unwrap_or_else(|e| panic!("{}: {e}: {ran:?}", path.display()));
        assert_eq!(
            ran.code,
            Some(if json["ok"] == true { 0 } else { 1 }),
            "{}",
            path.display()
        );
        *(if json["ok"] == true {
            &mut sound
        } else {
            &mut broken
        }) += 1;
    }
    assert!(sound > 30 && broken > 5, "{sound} sound, {broken} broken");
}
