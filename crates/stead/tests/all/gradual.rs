//! Gradual change: `apply --max-move`, step by step, over random fleets; docs/placement.md,
//! "Gradual change".

use proptest::prelude::*;
use stead::format::encode;
use stead::report::Report;
use stead::verdict::Verdict;
use stead::{build, build_max_move, Error, Fleet, Map, Plan, Point, Share};

/// A node: name, weight, zone.
type Wanted = Vec<(usize, u32, u8)>;

fn fleet(nodes: &Wanted, replicas: u32, head: &str) -> Fleet {
    let node = |(name, weight, zone): &(usize, u32, u8)| {
        format!("[[node]]\nname = 'n{name:02}'\nweight = {weight}\nlabels = {{zone = 'z{zone}'}}\n")
    };
    let nodes: String = nodes.iter().map(node).collect();
    Fleet::parse(
        &format!("name = 'gradual'\nreplicas = {replicas}\nspread = ['zone']\n{head}{nodes}"),
        "f.toml",
    )
    .unwrap()
}

fn wanted(first: usize, most: usize) -> impl Strategy<Value = Wanted> {
    let node = (1u32..5, 0u8..4);
    prop::collection::vec(node, 4..most).prop_map(move |list| {
        list.into_iter()
            .zip(first..)
            .map(|((w, z), n)| (n, w, z))
            .collect()
    })
}

fn percent(hundredths: u32) -> Share {
    stead::fleet::part(&format!("{}.{:02}%", hundredths / 100, hundredths % 100)).unwrap()
}

/// The first point of each slice and the names of its nodes, which can be compared between maps.
fn owners(map: &Map, slices: &[stead::slice::Slice]) -> Vec<(u64, Vec<String>)> {
    let names = |p| {
        map.policy(p)
            .members()
            .map(|n| map.node(n).name().to_owned())
            .collect()
    };
    slices
        .iter()
        .map(|slice| (slice.first.0, names(slice.policy)))
        .collect()
}

fn base(map: &Map) -> Vec<(u64, Vec<String>)> {
    owners(map, &map.base_slices().collect::<Vec<_>>())
}

fn target(map: &Map) -> Option<Vec<(u64, Vec<String>)>> {
    map.target_slices()
        .map(|slices| owners(map, &slices.collect::<Vec<_>>()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn steps_keep_the_budget_and_end_where_one_step_would(
        old in wanted(0, 12), keep in 0usize..12, new in wanted(20, 8), replicas in (1u32..4, 1u32..4), hundredths in 300u32..4000,
    ) {
        let first = build(&fleet(&old, replicas.0, ""), None).unwrap();
        let mut after: Wanted = old.iter().take(keep).copied().collect();
        after.extend(new);
        let wish = fleet(&after, replicas.1, "");
        let at_once = build(&wish, Some(&first)).unwrap();
        let part = percent(hundredths);
        let budget = part.0 * u128::from(replicas.1);

        let mut map = first;
        let mut moved = 0;
        let mut aim = None;
        for step in 0.. {
            prop_assert!(step < 300, "does not come to an end");
            let next = build_max_move(&wish, Some(&map), part).unwrap();
            let report = Report::of(Some(&map), &next, false).unwrap();
            let amount: u128 = report.moved.points.parse().unwrap();
            prop_assert!(amount <= budget, "{} of {}", amount, budget);
            prop_assert_eq!((report.violations, report.max_share_error_points.as_str()), (0, "0"));
            moved += amount;
            let Some(target) = target(&next) else {
                prop_assert_eq!((report.to_come, report.pending_violations), (None, 0));
                map = next;
                break;
            };
            // the target stays the same until the end, and each step but the last spends its
            // budget: less than R copies of one point are left
            prop_assert!(aim.is_none() || aim.as_ref() == Some(&target));
            prop_assert!(budget - amount < u128::from(replicas.1), "{} of {}", amount, budget);
            prop_assert!(next.nodes().filter(|node| node.leaving()).all(|node| node.weight().millionths() == 0));
            aim = Some(target);
            map = next;
        }
        prop_assert_eq!(base(&map), base(&at_once));
        prop_assert_eq!(map.nodes().len(), after.len(), "nobody leaves any more");
        prop_assert_eq!(moved, Plan::between(&build(&fleet(&old, replicas.0, ""), None).unwrap(), &at_once).unwrap().amounts.moved.0);
    }
}

fn plain(names: &[&str], head: &str) -> Fleet {
    let nodes: String = names
        .iter()
        .map(|n| format!("[[node]]\nname = '{n}'\n"))
        .collect();
    Fleet::parse(&format!("name = 'gradual'\n{head}{nodes}"), "f.toml").unwrap()
}

#[test]
fn a_node_that_left_stays_marked_until_it_holds_nothing() {
    let first = build(&plain(&["a", "b", "c"], ""), None).unwrap();
    let without = plain(&["a", "b"], "");
    let half = build_max_move(&without, Some(&first), percent(2000)).unwrap();
    let leaving: Vec<&str> = half
        .nodes()
        .filter(|node| node.leaving())
        .map(|node| node.name())
        .collect();
    assert_eq!(leaving, ["c"]);
    let report = Report::of(Some(&first), &half, true).unwrap();
    assert_eq!(report.moved.points, percent(2000).0.to_string());
    assert!((report.to_come.unwrap().fraction - (1.0 / 3.0 - 0.2)).abs() < 1e-9);
    // the rest is done in one step without a limit, or in the next step with a large enough limit
    for next in [
        build(&without, Some(&half)).unwrap(),
        build_max_move(&without, Some(&half), percent(2000)).unwrap(),
    ] {
        assert_eq!((next.nodes().len(), target(&next)), (2, None));
        assert_eq!(base(&next), base(&build(&without, Some(&first)).unwrap()));
    }
}

#[test]
fn a_changed_fleet_gets_a_new_target_from_the_present_slices() {
    let first = build(&plain(&["a", "b", "c"], ""), None).unwrap();
    let half = build_max_move(&plain(&["a", "b"], ""), Some(&first), percent(2000)).unwrap();
    // the node comes back and keeps what it still has
    let back = build(&plain(&["a", "b", "c"], ""), Some(&half)).unwrap();
    let plan = Plan::between(&half, &back).unwrap();
    assert_eq!(plan.amounts.moved, plan.amounts.lower_bound);
    assert!((plan.amounts.moved.0 as f64 / 2f64.powi(64) - 0.2).abs() < 1e-9);
    // a new attribute or pin does not change the target
    let pinned = plain(&["a", "b"], "pin = [{key = 'justin', nodes = ['a']}]\n");
    let next = build_max_move(&pinned, Some(&half), percent(100)).unwrap();
    assert_eq!(target(&next), target(&half));
    assert_eq!(next.pins().len(), 1);
    // a node with another name makes another fleet, but nothing is lost
    let renamed = Fleet::parse(
        "name = 'gradual'\nnode = [{name = 'a'}, {name = 'x', formerly = 'b'}]",
        "f.toml",
    )
    .unwrap();
    let next = build_max_move(&renamed, Some(&half), percent(5000)).unwrap();
    assert_eq!(base(&next), base(&build(&renamed, Some(&half)).unwrap()));
}

#[test]
fn a_large_enough_step_is_the_whole_change_and_a_first_map_is_complete_at_once() {
    let (one, two) = (plain(&["a", "b"], ""), plain(&["a", "b", "c"], ""));
    let first = build_max_move(&one, None, percent(1)).unwrap();
    assert_eq!(first.bytes(), build(&one, None).unwrap().bytes());
    assert_eq!(
        build_max_move(&two, Some(&first), percent(3400))
            .unwrap()
            .bytes(),
        build(&two, Some(&first)).unwrap().bytes()
    );
    assert!(build_max_move(&two, Some(&first), percent(3300))
        .unwrap()
        .target_slices()
        .is_some());
}

#[test]
fn a_change_that_is_impossible_step_by_step_is_refused() {
    let (one, two) = (plain(&["a", "b"], ""), plain(&["a", "b", "c"], ""));
    let first = build(&one, None).unwrap();
    let refused = |result: stead::Result<Map>| match result {
        Err(Error::Impossible { problem }) => problem,
        other => panic!("{:?}", other.map(|map| map.base_count())),
    };
    assert!(refused(build_max_move(&two, Some(&first), Share(0))).contains("moves nothing"));
    let weighted = plain(
        &["a", "b"],
        "policy = [{name = 'p', nodes = ['a'], weight = 2}]\n",
    );
    let with = build(&weighted, Some(&first)).unwrap();
    let problem = refused(build_max_move(&one, Some(&with), percent(100)));
    assert!(
        problem.starts_with("f.toml: ")
            && problem.contains("weight 0")
            && problem.contains("--max-move"),
        "{problem}"
    );
    // with weight 0 the policy leaves step by step
    let drained = plain(
        &["a", "b"],
        "policy = [{name = 'p', nodes = ['a'], weight = 0}]\n",
    );
    let mut map = build_max_move(&drained, Some(&with), percent(2000)).unwrap();
    while map.target_slices().is_some() {
        map = build_max_move(&drained, Some(&map), percent(2000)).unwrap();
    }
    assert_eq!(
        base(&build_max_move(&one, Some(&map), percent(1)).unwrap()),
        base(&map)
    );
}

#[test]
fn max_slices_limits_the_target_slices() {
    let limited = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("n{i}")).collect();
        plain(
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
            "max_slices = 12\n",
        )
    };
    let mut map = build(&limited(4), None).unwrap();
    for n in [8, 12] {
        loop {
            map = build_max_move(&limited(n), Some(&map), percent(500)).unwrap();
            assert!(map.target_slices().is_none() || map.target_count() <= 12);
            if map.target_slices().is_none() {
                break;
            }
        }
        assert!(map.base_count() <= 12);
    }
}

#[test]
fn a_stored_target_that_is_not_balanced_is_not_completed() {
    let nodes = |count| (0..count).map(|n| (n, 1, n as u8 % 2)).collect();
    for head in ["", "tolerance = '5%'\n", "max_slices = 40\n"] {
        let first = build(&fleet(&nodes(4), 1, head), None).unwrap();
        let wish = fleet(&nodes(5), 1, head);
        let step = build_max_move(&wish, Some(&first), percent(500)).unwrap();
        let end = build(&wish, Some(&step)).unwrap();
        assert_eq!(Some(base(&end)), target(&step), "an honest target is kept");
        let mut parts = step.to_parts();
        let slices = &mut parts.target.as_mut().unwrap().slices;
        slices[1].0 = Point(slices[1].0 .0 / 2);
        let bent = Map::from_bytes(encode(&parts)).unwrap();
        assert!(!Verdict::of(&bent, 1).is_sound());
        let end = build(&wish, Some(&bent)).unwrap();
        assert!(Verdict::of(&end, 1).is_sound(), "{head}");
    }
}
