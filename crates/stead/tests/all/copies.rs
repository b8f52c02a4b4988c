//! The guarantees of docs/placement.md with replicas and fault domains: random fleets of 1 to 5
//! replicas over 0 to 3 spread levels, and all kinds of changes. Code that shares nothing with the
//! core judges them, and for each guarantee there is a broken map that the judge must reject.

use std::collections::BTreeSet;

use crate::histories::{inside_zones, nodes, plans, replicas, wanted, Change, Wanted, MILLION};
use crate::judge::copies::{read, Judged, Node, Step};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PolicyPart};
use stead::policy::{NodeId, PolicyId};
use stead::report::Report;
use stead::weight::Weight;
use stead::{build, Error, Fleet, Map, Plan, Point};

/// Fleets with at most this many nodes are small enough to compute the least movement at every
/// step.
const FEW: usize = 10;

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    }
}

/// Checks every guarantee that one map or one step shows, and that plan and report agree with the
/// judge.
fn judge_step(before: Option<&Map>, next: &Map, exact: bool) -> TestCaseResult {
    let after = read(next.bytes());
    prop_assert_eq!(after.check(), Ok(()));
    let report = Report::of(before, next, false).unwrap();
    prop_assert_eq!((report.violations, report.verdict.is_sound()), (0, true));
    let points = (1u128 << 64) / after.cells;
    if (1 << 64) % after.cells == 0 {
        let said: Vec<[String; 3]> = report
            .nodes
            .into_iter()
            .map(|n| [n.target_points.unwrap(), n.points, n.primary_points])
            .collect();
        let held = after.loads().into_iter().zip(after.primaries());
        let found: Vec<[String; 3]> = after
            .targets()
            .into_iter()
            .zip(held)
            .map(|(t, (l, p))| [t, l, p].map(|cells| (cells * points).to_string()))
            .collect();
        prop_assert_eq!(said, found);
    }
    let Some(map) = before else { return Ok(()) };
    let before = read(map.bytes());
    prop_assert_eq!(before.check_step(&after, exact), Ok(()));
    if (1 << 64) % after.cells == 0 {
        let plan = Plan::between(map, next).unwrap();
        let said = [
            plan.amounts.moved.0,
            plan.amounts.lower_bound.0,
            plan.amounts.reordered.0,
        ];
        let Step {
            moved,
            bound,
            reordered,
        } = before.step(&after);
        prop_assert_eq!(said, [moved, bound, reordered].map(|cells| cells * points));
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn targets_caps_movement_and_primaries_are_right_at_every_step(mut wanted in wanted(FEW), plans in plans(12)) {
        let mut map = build(&wanted.fleet(), None).unwrap();
        judge_step(None, &map, true)?;
        for changes in &plans {
            wanted.change(changes);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            judge_step(Some(&map), &next, true)?;
            map = next;
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn larger_fleets_keep_targets_and_caps_too(mut wanted in wanted(32), grown in nodes(10..25), plans in plans(8)) {
        wanted.change(&grown.into_iter().map(|(weight, place)| Change::Add(weight, place)).collect::<Vec<_>>());
        let mut map = build(&wanted.fleet(), None).unwrap();
        judge_step(None, &map, false)?;
        for changes in &plans {
            wanted.change(changes);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            judge_step(Some(&map), &next, false)?;
            map = next;
        }
    }

    #[test]
    fn with_a_zone_for_each_copy_no_more_moves_than_the_lower_bound(
        replicas in replicas(),
        plans in prop::collection::vec(prop::collection::vec(inside_zones(), 1..4), 25),
    ) {
        let mut wanted = Wanted::with_a_zone_for_each_copy(replicas, 24);
        let mut map = build(&wanted.fleet(), None).unwrap();
        for changes in &plans {
            wanted.change(changes);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            // otherwise the judge would not require the bound
            prop_assert!(read(map.bytes()).bound_can_be_reached(&read(next.bytes())));
            judge_step(Some(&map), &next, false)?;
            map = next;
        }
    }

    #[test]
    fn the_same_fleet_gives_the_same_bytes_in_whatever_order_it_is_written(mut wanted in wanted(16), plans in plans(12)) {
        let mut map = build(&wanted.fleet(), None).unwrap();
        for changes in &plans {
            wanted.change(changes);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            let turned = Fleet::parse(&wanted.text(1, true), "test.toml").unwrap();
            let again = build(&turned, Some(&Map::from_bytes(map.bytes().to_vec()).unwrap())).unwrap();
            prop_assert_eq!(next.bytes(), again.bytes());
            map = next;
        }
    }

    #[test]
    fn nothing_moves_when_nothing_changed_or_all_weights_scale_alike(mut wanted in wanted(16), plans in plans(12), scale in 2u64..50) {
        let mut map = build(&wanted.fleet(), None).unwrap();
        for changes in &plans {
            wanted.change(changes);
            map = build(&wanted.fleet(), Some(&map)).unwrap();
            prop_assert!(build(&wanted.fleet(), Some(&map)).unwrap().same(&map));
            if wanted.nodes.iter().all(|node| node.weight * scale <= 1_000_000 * MILLION) {
                let scaled = build(&Fleet::parse(&wanted.text(scale, false), "test.toml").unwrap(), Some(&map)).unwrap();
                prop_assert!(scaled.base_slices().eq(map.base_slices()));
                let plan = Plan::between(&map, &scaled).unwrap();
                prop_assert_eq!((plan.amounts.moved.0, plan.amounts.reordered.0), (0, 0));
            }
        }
    }

    #[test]
    fn max_slices_is_kept_or_the_error_names_a_number_that_works(mut wanted in wanted(FEW), plans in plans(8), room in any::<usize>()) {
        let mut map = build(&wanted.fleet(), None).unwrap();
        for changes in &plans {
            wanted.change(changes);
            wanted.max_slices = Some(1 + room % (2 * map.base_count()));
            let next = match build(&wanted.fleet(), Some(&map)) {
                Err(Error::Impossible { problem }) => {
                    let number = problem.split("set it to ").nth(1).and_then(|rest| rest.split(' ').next());
                    wanted.max_slices = number.and_then(|n| n.parse().ok());
                    prop_assert!(wanted.max_slices.is_some(), "{}", problem);
                    build(&wanted.fleet(), Some(&map)).unwrap()
                }
                other => other.unwrap(),
            };
            prop_assert!(Some(next.base_count()) <= wanted.max_slices);
            prop_assert_eq!(read(next.bytes()).check(), Ok(()));
            map = next;
        }
    }
}

/// Tolerances in millionths: from the smallest to the largest.
fn tolerance() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1u32), 1u32..1_000, Just(10_000), 1_000u32..=100_000]
}

/// Checks a step within a tolerance: every share in its band, no more movement than the exact step
/// from the same map, and nothing more to do afterwards.
fn judge_tolerant_step(wanted: &Wanted, map: &Map, next: &Map) -> TestCaseResult {
    let (before, after) = (read(map.bytes()), read(next.bytes()));
    prop_assert_eq!(after.check(), Ok(()));
    let report = Report::of(Some(map), next, false).unwrap();
    prop_assert_eq!((report.violations, report.verdict.is_sound()), (0, true));
    let mut exact = wanted.clone();
    exact.tolerance = None;
    let exact = build(&exact.fleet(), Some(map)).unwrap();
    let (moves, least) = (
        before.step(&after).moved,
        before.step(&read(exact.bytes())).moved,
    );
    prop_assert!(
        moves <= least,
        "{} cells move, and exactly {}",
        moves,
        least
    );
    prop_assert!(build(&wanted.fleet(), Some(next)).unwrap().same(next));
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn shares_stay_within_the_tolerance_and_no_more_moves_than_in_an_exact_step(
        mut wanted in wanted(FEW),
        tolerance in tolerance(),
        plans in plans(12),
    ) {
        wanted.tolerance = Some(tolerance);
        let mut map = build(&wanted.fleet(), None).unwrap();
        prop_assert_eq!(read(map.bytes()).check(), Ok(()));
        for changes in &plans {
            wanted.change(changes);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            judge_tolerant_step(&wanted, &map, &next)?;
            map = next;
        }
    }
}

proptest! {
    #![proptest_config(cases(6))]

    #[test]
    fn long_histories_stay_within_the_tolerance(
        replicas in 1usize..4,
        tolerance in tolerance(),
        plans in prop::collection::vec(prop::collection::vec(inside_zones(), 1..3), 200),
    ) {
        let mut wanted = Wanted::with_a_zone_for_each_copy(replicas, 40);
        wanted.tolerance = Some(tolerance);
        let mut map = build(&wanted.fleet(), None).unwrap();
        for changes in &plans {
            wanted.change(changes);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            judge_tolerant_step(&wanted, &map, &next)?;
            map = next;
        }
    }
}

#[test]
fn a_tolerance_that_is_taken_back_makes_the_shares_exact_again() {
    let fleet = |head: &str, nodes: usize| {
        let nodes: String = (0..nodes)
            .map(|i| {
                format!(
                    "[[node]]\nname = \"n{i:02}\"\nlabels = {{zone = \"{}\"}}\n",
                    i % 3
                )
            })
            .collect();
        let head = format!("name = \"test\"\nreplicas = 3\nspread = [\"zone\"]\n{head}");
        Fleet::parse(&format!("{head}{nodes}"), "test.toml").unwrap()
    };
    let tolerance = "tolerance = \"5%\"\n";
    let first = build(&fleet(tolerance, 60), None).unwrap();
    let grown = build(&fleet(tolerance, 63), Some(&first)).unwrap();
    let judged = read(grown.bytes());
    assert_eq!(judged.check(), Ok(()));
    assert_ne!(
        judged.loads(),
        judged.targets(),
        "the step used the tolerance"
    );
    let exact = build(&fleet("", 63), Some(&grown)).unwrap();
    let judged = read(exact.bytes());
    assert_eq!((judged.check(), judged.loads()), (Ok(()), judged.targets()));
}

#[test]
fn a_tight_limit_is_not_an_internal_fault() {
    let fleet = |most: usize, weights: &[&str]| {
        let node = |(i, w): (usize, &&str)| format!("[[node]]\nname = \"n{i}\"\nweight = {w}\n");
        let nodes: String = weights.iter().enumerate().map(node).collect();
        Fleet::parse(
            &format!("name = \"test\"\nreplicas = 2\nmax_slices = {most}\n{nodes}"),
            "test.toml",
        )
        .unwrap()
    };
    let map = build(&fleet(100, &["1", "1", "1"]), None).unwrap();
    for most in 1..=map.base_count() {
        match build(&fleet(most, &["1", "1", "0.000001"]), Some(&map)) {
            Ok(next) => assert!(next.base_count() <= most),
            Err(Error::Impossible { .. }) => {}
            Err(other) => panic!("max_slices = {most}: {other}"),
        }
    }
}

#[test]
fn a_changed_spread_is_not_an_internal_fault() {
    // each node: name, zone, rack, weight
    type Nodes<'a> = &'a [(&'a str, usize, usize, usize)];
    let steps: [(usize, &str, Nodes); 4] = [
        (2, "zone", &[("d", 4, 1, 1), ("e", 4, 0, 1)]),
        (
            2,
            "zone",
            &[
                ("a", 1, 0, 1),
                ("b", 1, 0, 3),
                ("d", 4, 1, 1),
                ("f", 2, 2, 1),
                ("g", 3, 2, 1_000_000),
            ],
        ),
        (
            4,
            "zone",
            &[
                ("a", 1, 0, 1),
                ("b", 1, 0, 3),
                ("c", 0, 2, 1),
                ("d", 4, 1, 1),
                ("e", 4, 0, 1),
                ("f", 2, 2, 1),
                ("g", 3, 2, 2),
            ],
        ),
        (
            4,
            "rack",
            &[
                ("a", 1, 0, 1),
                ("b", 1, 0, 3),
                ("c", 0, 2, 1),
                ("d", 4, 1, 1),
                ("e", 0, 0, 1),
                ("f", 2, 2, 1),
                ("g", 3, 2, 2),
            ],
        ),
    ];
    let mut map: Option<Map> = None;
    for (replicas, spread, nodes) in steps {
        let node = |(name, zone, rack, weight): &(&str, usize, usize, usize)| {
            format!(
                "[[node]]\nname = \"{name}\"\nweight = {weight}\nlabels = \
                {{ zone = \"{zone}\", rack = \"{rack}\" }}\n"
            )
        };
        let nodes: String = nodes.iter().map(node).collect();
        let text =
            format!("name = \"test\"\nreplicas = {replicas}\nspread = [\"{spread}\"]\n{nodes}");
        let next = build(&Fleet::parse(&text, "test.toml").unwrap(), map.as_ref()).unwrap();
        judge_step(map.as_ref(), &next, true).unwrap();
        map = Some(next);
    }
}

/// A map of one node over a coarse hash.
fn coarse(cells: u64) -> Map {
    let part = NodePart {
        name: "n0-0".into(),
        formerly: String::new(),
        weight: Weight::ONE,
        labels: Vec::new(),
        attributes: Vec::new(),
    };
    let parts = Parts {
        name: "test".into(),
        epoch: 1,
        map_id: [0; 16],
        parent: [0; 32],
        algorithm: 1,
        replicas: 1,
        hash: stead::hash::Hash::Md5,
        key_rule: stead::hash::KeyRule::Whole,
        cells: Cells::from_stored(cells),
        max_slices: None,
        tolerance: None,
        spread: Vec::new(),
        nodes: vec![part],
        policies: vec![PolicyPart {
            name: None,
            kind: String::new(),
            weight: None,
            members: vec![NodeId(0)],
        }],
        base: vec![(Point(0), PolicyId(0))],
        pins: Vec::new(),
        firsts: Vec::new(),
        target: None,
        carry: None,
    };
    Map::from_bytes(encode(&parts)).unwrap()
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn coarse_cells_are_shared_out_exactly(
        cells in prop_oneof![Just(1u64), Just(2), Just(3), Just(16), Just(1000), Just(16384)],
        mut wanted in wanted(FEW),
        plans in plans(8),
    ) {
        let mut map = coarse(cells);
        for changes in &plans {
            wanted.change(changes);
            let next = build(&wanted.fleet(), Some(&map)).unwrap();
            judge_step(Some(&map), &next, true)?;
            map = next;
        }
    }
}

#[test]
fn small_fleets_on_coarse_cells_keep_all_guarantees() {
    for (cells, replicas, spread) in [
        (2, 2, 0),
        (2, 3, 1),
        (16, 2, 2),
        (16, 3, 3),
        (1000, 3, 2),
        (16384, 3, 1),
        (16384, 2, 3),
    ] {
        let mut map = coarse(cells);
        for size in replicas..14 {
            let node = |i: usize| {
                let labels = format!(
                    "zone = \"{}\", rack = \"{}\", shelf = \"{}\"",
                    i % 5,
                    i % 3,
                    i % 2
                );
                format!("[[node]]\nname = \"n{i:02}\"\nlabels = {{ {labels} }}\n")
            };
            let labels = &["\"zone\"", "\"rack\"", "\"shelf\""][..spread];
            let head = format!(
                "name = \"test\"\nreplicas = {replicas}\nspread = [{}]\n",
                labels.join(", ")
            );
            let text = head + &(0..size).map(node).collect::<String>();
            let next = build(&Fleet::parse(&text, "test.toml").unwrap(), Some(&map)).unwrap();
            judge_step(Some(&map), &next, true).unwrap();
            map = next;
        }
    }
}

/// Twelve nodes in racks of two over `zones` zones, with three copies, before and after one more
/// node.
fn grown(zones: usize) -> (Judged, Judged) {
    let node = |i: usize| {
        format!(
            "[[node]]\nname = \"n{i:02}\"\nlabels = {{ zone = \"{}\", rack = \"{}\" }}\n",
            i % zones,
            i / zones % 2
        )
    };
    let fleet = |n: usize| {
        let text = format!(
            "name = \"test\"\nreplicas = 3\nspread = [\"zone\", \"rack\"]\n{}",
            (0..n).map(node).collect::<String>()
        );
        Fleet::parse(&text, "test.toml").unwrap()
    };
    let before = build(&fleet(12), None).unwrap();
    let after = build(&fleet(13), Some(&before)).unwrap();
    (read(before.bytes()), read(after.bytes()))
}

/// The same map with two of its nodes exchanged in every slice, and each list in order.
fn swapped(judged: &Judged, a: usize, b: usize) -> Judged {
    let mut judged = judged.clone();
    for (_, list) in &mut judged.slices {
        list.iter_mut().for_each(|i| {
            *i = if *i == a {
                b
            } else if *i == b {
                a
            } else {
                *i
            }
        });
        list[1..].sort_unstable();
    }
    judged
}

#[test]
fn the_judge_rejects_one_point_too_many() {
    for zones in [2, 3, 4] {
        let (_, after) = grown(zones);
        assert_eq!(after.check(), Ok(()));
        let mut broken = after.clone();
        let holders = |slice: &(u128, Vec<usize>)| BTreeSet::from_iter(slice.1.clone());
        let border = (1..).find(|i| holders(&after.slices[i - 1]) != holders(&after.slices[*i]));
        broken.slices[border.unwrap()].0 += 1;
        assert!(broken.check_targets().is_err());
        // a left-over point at the wrong node
        let loads = after.loads();
        let pair = (1..loads.len()).find(|i| loads[*i].abs_diff(loads[0]) == 1);
        if let Some(other) = pair {
            assert!(swapped(&after, 0, other).check_targets().is_err());
        }
    }
}

#[test]
fn the_judge_rejects_one_cell_beyond_the_tolerance() {
    let (_, exact) = grown(3);
    let tolerant = Judged {
        tolerance: 10_000,
        ..exact.clone()
    };
    assert_eq!(tolerant.check(), Ok(()));
    // two neighbours that differ in one node: a border between them gives cells of one to another
    let differ = |(i, pair): (usize, &[(u128, Vec<usize>)])| {
        let only = |a: &[usize], b: &[usize]| -> Vec<usize> {
            a.iter().copied().filter(|n| !b.contains(n)).collect()
        };
        let (gone, come) = (only(&pair[0].1, &pair[1].1), only(&pair[1].1, &pair[0].1));
        (gone.len() == 1).then(|| (i + 1, come[0]))
    };
    let (slice, loser) = exact
        .slices
        .windows(2)
        .enumerate()
        .find_map(differ)
        .unwrap();
    let target = exact.targets()[loser];
    let room = target - (target * 990_000).div_ceil(1_000_000);
    let moved = |cells: u128| {
        let mut judged = tolerant.clone();
        judged.slices[slice].0 += cells;
        judged
    };
    assert_eq!(moved(room).check_targets(), Ok(()));
    assert!(moved(room + 1).check_targets().is_err());
    // without a tolerance the first cell is too many
    let exact = Judged {
        tolerance: 0,
        ..moved(1)
    };
    assert!(exact.check_targets().is_err());
}

#[test]
fn the_judge_rejects_one_primary_beyond_the_tolerance() {
    // two nodes with both copies of 1000 cells: at 1%, each may have 990 to 1000 cells, and be the
    // primary of 495 to 500 of them
    let node = |name: &str| Node {
        name: name.to_owned(),
        formerly: String::new(),
        weight: 1,
        domain: Vec::new(),
    };
    let judged = |tolerance: u128, of_a: u128| Judged {
        replicas: 2,
        cells: 1000,
        spread: Vec::new(),
        nodes: vec![node("a"), node("b")],
        slices: vec![(0, vec![0, 1]), (of_a, vec![1, 0])],
        tolerance,
    };
    assert_eq!(judged(10_000, 500).check(), Ok(()));
    assert!(judged(10_000, 501).check_primaries().is_err());
    assert!(judged(10_000, 494).check_primaries().is_err());
    assert!(judged(0, 499).check_primaries().is_err());
    // three nodes with two copies each of 900 cells: the target is 600, and the band of the
    // primaries is 297 to 303
    let three = |more: u128| Judged {
        cells: 900,
        nodes: vec![node("a"), node("b"), node("c")],
        slices: vec![(0, vec![0, 1]), (300 + more, vec![1, 2]), (600, vec![2, 0])],
        ..judged(10_000, 0)
    };
    assert_eq!(three(3).check(), Ok(()));
    assert!(three(4).check_primaries().is_err());
    assert_eq!(three(6).check_targets(), Ok(()));
    assert!(three(7).check_targets().is_err());
}

#[test]
fn the_judge_rejects_a_broken_cap_at_each_level() {
    let (_, after) = grown(2); // zones of cap 2, racks of cap 1 and 2
    assert_eq!(after.check_caps(), Ok(()));
    let caps = after.caps();
    for level in [1, 2] {
        let domain = caps.keys().find(|d| d.len() == level).unwrap().clone();
        let inside: Vec<usize> = (0..after.nodes.len())
            .filter(|i| after.nodes[*i].domain.starts_with(&domain))
            .collect();
        let mut broken = after.clone();
        broken.slices[0].1 = inside[..caps[&domain] + 1].to_vec();
        while broken.slices[0].1.len() < 3 {
            let other = (0..after.nodes.len())
                .rev()
                .find(|i| !broken.slices[0].1.contains(i) && !inside.contains(i))
                .unwrap();
            broken.slices[0].1.push(other);
        }
        let said = broken.check_caps().unwrap_err();
        assert!(
            said.contains(&format!("{} copies in {domain:?}", caps[&domain] + 1)),
            "level {level}: {said}"
        );
    }
}

#[test]
fn the_judge_rejects_a_duplicate_copy_and_a_missing_copy() {
    let nodes: String = (0..4)
        .map(|i| format!("[[node]]\nname = \"n{i}\"\n"))
        .collect();
    let map = build(
        &Fleet::parse(
            &format!("name = \"test\"\nreplicas = 3\n{nodes}"),
            "test.toml",
        )
        .unwrap(),
        None,
    )
    .unwrap();
    let good = read(map.bytes());
    assert_eq!(good.check_caps(), Ok(()));
    let mut twice = good.clone();
    twice.slices[0].1[2] = twice.slices[0].1[1];
    assert!(twice.check_caps().is_err());
    let mut few = good;
    few.slices[0].1.pop();
    assert!(few.check_caps().is_err());
}

#[test]
fn the_judge_rejects_unnecessary_movement_and_reordering() {
    for zones in [2, 3, 4] {
        let (before, after) = grown(zones);
        assert_eq!(before.check_step(&after, true), Ok(()));
        // two nodes of one rack with equal weight swap everything they have: targets and caps stay
        // right, the movement does not
        let loads = after.loads();
        let alike = |a: usize, b: usize| {
            after.nodes[a].domain == after.nodes[b].domain && loads[a] == loads[b]
        };
        let mut pairs = (0..12).flat_map(|a| (0..a).map(move |b| (a, b)));
        let (a, b) = pairs.find(|(a, b)| alike(*a, *b)).unwrap();
        let broken = swapped(&after, a, b);
        assert_eq!(broken.check_targets().and(broken.check_caps()), Ok(()));
        assert!(before.check_step(&broken, true).is_err());
        if zones == 3 {
            assert!(before
                .check_step(&broken, false)
                .unwrap_err()
                .contains("the bound is"));
        }
        // in two runs of the same length, two primaries change places: all numbers stay right, the
        // order does not
        let broken = primaries_traded(&after).expect("some two nodes hold two slices together");
        assert_eq!((broken.check(), after.step(&broken).moved), (Ok(()), 0));
        assert!(after
            .check_step(&broken, true)
            .unwrap_err()
            .contains("reordered, 0 would do"));
    }
}

/// The same map in which two runs of the same length have exchanged their primaries p and q. Both
/// runs hold p and q.
fn primaries_traded(judged: &Judged) -> Option<Judged> {
    let ends = judged
        .slices
        .iter()
        .skip(1)
        .map(|(first, _)| *first)
        .chain([judged.cells]);
    let runs: Vec<(u128, u128, &Vec<usize>)> = judged
        .slices
        .iter()
        .zip(ends)
        .map(|((first, list), end)| (*first, end, list))
        .collect();
    let pairs = runs
        .iter()
        .enumerate()
        .flat_map(|(i, a)| runs[i + 1..].iter().map(move |b| (a, b)));
    let (a, b) = pairs
        .into_iter()
        .find(|(a, b)| a.2[0] != b.2[0] && a.2.contains(&b.2[0]) && b.2.contains(&a.2[0]))?;
    let length = (a.1 - a.0).min(b.1 - b.0);
    let mut slices: Vec<(u128, Vec<usize>)> = Vec::new();
    for run in &runs {
        let other = if run.0 == a.0 {
            Some(b.2[0])
        } else {
            (run.0 == b.0).then_some(a.2[0])
        };
        if let Some(primary) = other {
            let mut list = vec![primary];
            list.extend(run.2.iter().filter(|i| **i != primary));
            list[1..].sort_unstable();
            slices.push((run.0, list));
        }
        let rest = if other.is_some() {
            run.0 + length
        } else {
            run.0
        };
        if rest < run.1 {
            slices.push((rest, run.2.clone()));
        }
    }
    Some(Judged {
        slices,
        ..judged.clone()
    })
}

#[test]
fn the_judge_rejects_one_primary_too_many() {
    for zones in [2, 3, 4] {
        let (_, after) = grown(zones);
        assert_eq!(after.check_primaries(), Ok(()));
        let mut broken = after.clone();
        broken.slices[0].1.swap(0, 1);
        broken.slices[0].1[1..].sort_unstable();
        assert!(broken
            .check_primaries()
            .unwrap_err()
            .contains("is the primary of"));
        let mut broken = after.clone();
        broken.slices[0].1.swap(1, 2);
        assert!(broken.check_primaries().unwrap_err().contains("by name"));
    }
}
