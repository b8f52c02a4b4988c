//! The figures of "Random Slicing after Riak Core" (seed 2), reproduced with this project's code.

use stead::format::{encode, NodePart, Parts, PolicyPart};
use stead::policy::{NodeId, PolicyId};
use stead::rebalance::{targets, Domains};
use stead::report::Report;
use stead::weight::Weight;
use stead::{build, Fleet, Map, Plan, Point};

const SPACE: f64 = 18_446_744_073_709_551_616.0;

fn fleet(weights: &[&str]) -> Fleet {
    let node = |(i, w): (usize, &&str)| format!("[[node]]\nname = \"n{i:02}\"\nweight = {w}\n");
    let nodes: String = weights.iter().enumerate().map(node).collect();
    Fleet::parse(&format!("name = \"article\"\n{nodes}"), "article.toml").unwrap()
}

/// The maps of a history, and what each step after the first map moved, in percent.
fn history(fleets: &[Fleet]) -> (Vec<Map>, Vec<f64>) {
    let mut maps: Vec<Map> = Vec::new();
    let mut moved = Vec::new();
    for fleet in fleets {
        let next = build(fleet, maps.last()).unwrap();
        if let Some(before) = maps.last() {
            let plan = Plan::between(before, &next).unwrap();
            assert_eq!(plan.amounts.moved, plan.amounts.lower_bound);
            moved.push(plan.amounts.moved.0 as f64 / SPACE * 100.0);
        }
        maps.push(next);
    }
    (maps, moved)
}

fn close(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (f, w) in found.iter().zip(wanted) {
        assert!((f - w).abs() < 1e-9, "{found:?}, not {wanted:?}");
    }
}

fn shares(map: &Map) -> Vec<f64> {
    let report = Report::of(None, map, false).unwrap();
    assert_eq!(report.max_share_error_points, "0");
    report
        .nodes
        .iter()
        .map(|n| n.points.parse::<f64>().unwrap() / SPACE * 100.0)
        .collect()
}

/// A map of three nodes whose base slices are written by hand.
fn by_hand(slices: &[(Point, u32)]) -> Map {
    let mut base: Vec<(Point, PolicyId)> = Vec::new();
    for (first, node) in slices {
        if base.last().is_none_or(|(_, before)| before.0 != *node) {
            base.push((*first, PolicyId(*node)));
        }
    }
    let node = |i: u32| NodePart {
        name: format!("n{i}"),
        formerly: String::new(),
        weight: Weight::ONE,
        labels: Vec::new(),
        attributes: Vec::new(),
    };
    let policy = |i: u32| PolicyPart {
        name: None,
        kind: String::new(),
        weight: None,
        members: vec![NodeId(i)],
    };
    let parts = Parts {
        name: "figure 4".into(),
        epoch: 1,
        map_id: [0; 16],
        parent: [0; 32],
        algorithm: 1,
        replicas: 1,
        hash: stead::hash::Hash::Md5,
        key_rule: stead::hash::KeyRule::Whole,
        cells: stead::cell::Cells::FINEST,
        max_slices: None,
        tolerance: None,
        spread: Vec::new(),
        nodes: (0..3).map(node).collect(),
        policies: (0..3).map(policy).collect(),
        base,
        pins: Vec::new(),
        firsts: Vec::new(),
        target: None,
        carry: None,
    };
    Map::from_bytes(encode(&parts)).unwrap()
}

#[test]
fn figure_4_six_layouts_have_equal_shares() {
    // the first point of slice i of n over the part [from, to) of the space, in 48ths; the owners
    // are those that the figure draws in its six cases
    let cut = |from: u128, to: u128, n: u128, i: u128| {
        Point((((from * n + (to - from) * i) << 64) / (48 * n)) as u64)
    };
    let robin = |from, to, n: u128| {
        (0..n)
            .map(|i| (cut(from, to, n, i), (i % 3) as u32))
            .collect::<Vec<_>>()
    };
    let whole = |n| robin(0, 48, n);
    let assorted = [robin(0, 24, 6), robin(24, 36, 24), robin(36, 48, 12)].concat();
    let mut shuffled = whole(24);
    // a fixed shuffle of the owners of case 4 (Fisher-Yates with a small linear congruential
    // generator), in which neighbours may have the same owner
    let mut owners: Vec<u32> = shuffled.iter().map(|s| s.1).collect();
    let mut state = 12_345usize;
    for i in (1..owners.len()).rev() {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        owners.swap(i, state % (i + 1));
    }
    assert!(
        owners.windows(2).any(|w| w[0] == w[1]),
        "the figure has neighbouring intervals of one node"
    );
    shuffled
        .iter_mut()
        .zip(owners)
        .for_each(|(s, owner)| s.1 = owner);
    for slices in [whole(3), whole(6), whole(12), whole(24), assorted, shuffled] {
        let map = by_hand(&slices);
        for share in map.base_slices().fold([0u128; 3], |mut sums, s| {
            sums[s.policy.index()] += s.points();
            sums
        }) {
            // each cut is rounded to a point, so a share of k slices differs from a third by at
            // most k points
            assert!(
                share.abs_diff((1 << 64) / 3) <= slices.len() as u128,
                "{share} of {} slices",
                slices.len()
            );
        }
        // every layout can be rebalanced; after that the shares are exact to the point
        let next = build(
            &Fleet::parse(
                "name = 'figure 4'\nnode = [{name='n0'},{name='n1'},{name='n2'}]",
                "f",
            )
            .unwrap(),
            Some(&map),
        );
        let next = next.unwrap();
        assert!(Plan::between(&map, &next).unwrap().amounts.moved.0 <= slices.len() as u128);
        shares(&next);
    }
}

#[test]
fn figure_5_contiguous_moves_150_per_cent() {
    let mut before: Vec<u128> = vec![1 << 64];
    let mut steps = Vec::new();
    for n in 2..=4 {
        let domains = Domains::new(&vec![Some(Vec::new()); n], 1);
        let now = targets(&vec![Weight::ONE; n], &domains, 1 << 64)
            .unwrap()
            .cells
            .into_values();
        // both layouts are contiguous, so a node keeps the part that its old run and its new run
        // have in common
        let (mut kept, mut a, mut b) = (0u128, 0u128, 0u128);
        for (old, new) in before.iter().zip(&now) {
            kept += (a + old).min(b + new).saturating_sub(a.max(b));
            a += old;
            b += new;
        }
        steps.push(((1u128 << 64) - kept) as f64 / SPACE * 100.0);
        before = now;
    }
    close(&steps, &[50.0, 50.0, 50.0]);
    assert!((steps.iter().sum::<f64>() - 150.0).abs() < 1e-9);
}

#[test]
fn figure_6_moves_108_per_cent_and_a_heavier_node_gets_its_third() {
    let (maps, moved) = history(&[
        fleet(&["1"]),
        fleet(&["1"; 2]),
        fleet(&["1"; 3]),
        fleet(&["1"; 4]),
        fleet(&["1", "1", "1", "1.5"]),
    ]);
    close(&moved, &[50.0, 100.0 / 3.0, 25.0, 25.0 / 3.0]);
    close(&[moved[..3].iter().sum()], &[650.0 / 6.0]);
    close(&shares(&maps[3]), &[25.0; 4]);
    close(
        &shares(&maps[4]),
        &[200.0 / 9.0, 200.0 / 9.0, 200.0 / 9.0, 100.0 / 3.0],
    );
    let slices: Vec<usize> = maps.iter().map(Map::base_count).collect();
    assert_eq!(slices, [1, 2, 3, 5, 5]);
}

#[test]
fn figure_7_is_balanced_at_every_size_with_the_least_movement() {
    let (maps, moved) = history(&[4, 7, 10, 13, 16].map(|n| fleet(&vec!["1"; n])));
    close(&moved, &[300.0 / 7.0, 30.0, 300.0 / 13.0, 18.75]);
    for map in &maps {
        let shares = shares(map);
        // Riak's imbalance is 1.5 at 7 nodes and 2.0 at 10 and 13
        let (least, most) = (
            shares.iter().cloned().fold(f64::MAX, f64::min),
            shares.iter().cloned().fold(0.0, f64::max),
        );
        assert!(most / least < 1.0 + 1e-15);
    }
    let slices: Vec<usize> = maps.iter().map(Map::base_count).collect();
    // the prototype: 4, 9, 16, 23, 32
    assert_eq!(slices, [4, 8, 14, 20, 27]);
}

/// The placement policies of the article, and its hot key, in one fleet.
fn article() -> Fleet {
    let name = |i: u32| format!("n{i}");
    let list = |ids: &mut dyn Iterator<Item = u32>| {
        ids.map(|i| format!("\"{}\"", name(i)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut text = String::from("name = \"article\"\n");
    for i in 0..=200 {
        let weight = if i < 4 { "1" } else { "0" };
        text += &format!("[[node]]\nname = \"{}\"\nweight = {weight}\n", name(i));
    }
    text += "[[node]]\nname = \"printer\"\nweight = 0\n";
    for (policy, kind, weight, nodes) in [
        (
            "policy-0",
            "paxos",
            "weight = 1\n",
            list(&mut [82, 17, 22].into_iter()),
        ),
        (
            "policy-1",
            "chain",
            "weight = 1\n",
            list(&mut [77, 23].into_iter()),
        ),
        ("policy-2", "rs-7-2", "weight = 1\n", list(&mut (31..=39))),
        ("policy-3", "printer", "weight = 1\n", "\"printer\"".into()),
        ("policy-11", "primary-secondary", "", list(&mut (100..=180))),
    ] {
        text += &format!(
            "[[policy]]\nname = \"{policy}\"\nkind = \"{kind}\"\n{weight}nodes = [{nodes}]\n"
        );
    }
    text += "[[pin]]\nrange = [\"6.00000%\", \"6.00001%\"]\npolicy = \"policy-11\"\n";
    Fleet::parse(&text, "article.toml").unwrap()
}

#[test]
fn five_policies_and_a_hot_range_stand_in_one_fleet_and_are_located() {
    let map = build(&article(), None).unwrap();
    let names = |point: u64| {
        let policy = map.policy(map.policy_of(Point(point)));
        (
            policy.name().unwrap_or("").to_owned(),
            policy
                .members()
                .map(|n| map.node(n).name().to_owned())
                .collect::<Vec<_>>(),
        )
    };
    // 6.00000 % and 6.00001 % of 2^64, rounded down; computed by hand
    let (first, end) = (1_106_804_644_422_573_096, 1_106_806_489_096_980_467);
    let (hot, members) = names(first);
    assert_eq!((hot.as_str(), members.len()), ("policy-11", 81));
    assert_eq!(members[0], "n100");
    assert_eq!(names(end - 1).0, "policy-11");
    assert_eq!(names(first - 1), (String::new(), vec!["n0".to_owned()]));
    assert_eq!(names(end), (String::new(), vec!["n0".to_owned()]));
    // the holders in order: n0 to n3, then the weighted policies, an eighth of the space each
    let eighth = 1u64 << 61;
    assert_eq!(
        names(4 * eighth),
        (
            "policy-0".into(),
            vec!["n82".into(), "n17".into(), "n22".into()]
        )
    );
    assert_eq!(
        names(5 * eighth),
        ("policy-1".into(), vec!["n77".into(), "n23".into()])
    );
    assert_eq!(names(6 * eighth).1.len(), 9);
    assert_eq!(
        names(7 * eighth),
        ("policy-3".into(), vec!["printer".into()])
    );
    let kinds: Vec<&str> = map
        .policies()
        .filter(|p| p.name().is_some())
        .map(|p| p.kind())
        .collect();
    assert_eq!(
        kinds,
        ["paxos", "chain", "primary-secondary", "rs-7-2", "printer"]
    );
    // the pin survives a rebalance and takes no part in it
    let mut grown = article();
    grown
        .nodes
        .iter_mut()
        .filter(|n| n.name == "n4")
        .for_each(|n| n.weight = Weight::ONE);
    let next = build(&grown, Some(&map)).unwrap();
    let plan = Plan::between(&map, &next).unwrap();
    assert_eq!(plan.amounts.moved, plan.amounts.lower_bound);
    assert_eq!(
        next.policy(next.policy_of(Point(first))).name(),
        Some("policy-11")
    );
}
