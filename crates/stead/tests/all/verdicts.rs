//! The verdict on maps. It agrees with an independent judge; the shares of holders and domains add
//! up; pins and gradual changes are judged by what the map answers; and maps that stead builds are
//! sound.

use std::collections::BTreeMap;
use std::path::Path;

use crate::judge::copies::{read, Judged};
use crate::judge::pins::{self, Pin};
use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PolicyPart, TargetPart};
use stead::hash::{Hash, KeyRule};
use stead::policy::{NodeId, PolicyId};
use stead::report::Report;
use stead::verdict::{Problem, Rule, Verdict, Violations};
use stead::weight::Weight;
use stead::{build, Fleet, Map, Point};

/// All maps of the reference.
fn maps() -> Vec<Map> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/maps");
    let maps: Vec<Map> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| Map::open_uncached(entry.unwrap().path()).unwrap())
        .collect();
    assert!(maps.len() > 50);
    maps
}

/// What the judge reads of a map. `None` for a map that the judge does not understand: one with
/// base slices of named policies, nodes without a label, or lists that name a node twice.
fn judged(map: &Map) -> Option<(Judged, Vec<Pin>)> {
    let mut slices = map
        .base_slices()
        .chain(map.target_slices().into_iter().flatten());
    let unknown = slices.any(|slice| {
        let policy = map.policy(slice.policy);
        policy.name().is_some() || policy.distinct().len() < policy.members().len()
    });
    let weighted = map.policies().any(|policy| policy.weight().is_some());
    let all_labels = |node: stead::map::Node| map.spread().all(|label| node.label(label).is_some());
    (!unknown && !weighted && map.nodes().all(all_labels))
        .then(|| (read(map.bytes()), pins::read(map.bytes())))
}

#[test]
fn the_verdict_agrees_with_an_independent_judge() {
    let (mut nodes, mut caps, mut pins) = (0, 0, 0);
    for map in maps() {
        let Some((judge, list)) = judged(&map) else {
            continue;
        };
        let verdict = Verdict::of(&map, 0);
        let can_hold = judge.nodes.iter().filter(|node| node.weight > 0).count();
        let targets = (can_hold >= judge.replicas).then(|| judge.targets());
        let held = judge
            .loads()
            .into_iter()
            .zip(judge.primaries())
            .zip(judge.pinned(&list));
        for ((i, node), ((load, primary), pinned)) in verdict.nodes.iter().enumerate().zip(held) {
            assert_eq!(node.name, judge.nodes[i].name);
            assert_eq!(node.target, targets.as_ref().map(|targets| targets[i]));
            let said = (node.now.cells, node.now.primary_cells, node.pinned_points);
            assert_eq!(
                said,
                (load, primary, pinned),
                "{} {}",
                map.name(),
                node.name
            );
            nodes += 1;
        }
        let of_verdict: BTreeMap<Vec<&str>, usize> = (0..verdict.domains.len())
            .filter(|domain| verdict.domains[*domain].can_hold > 0)
            .map(|domain| (verdict.names(domain), verdict.domains[domain].cap))
            .collect();
        if can_hold >= judge.replicas {
            let of_judge = judge.caps();
            caps += of_judge.len();
            let of_judge = of_judge
                .iter()
                .map(|(domain, cap)| (domain.iter().map(String::as_str).collect::<Vec<_>>(), *cap));
            assert_eq!(of_verdict, of_judge.collect(), "{}", map.name());
        }
        let broken = |short: bool| {
            let pins = list.iter().filter(|pin| pin.short == short);
            pins.filter(|pin| judge.breaks(pin)).count()
        };
        let said = (verdict.violating_pins, verdict.short_pins);
        assert_eq!(said, (broken(false), broken(true)), "{}", map.name());
        pins += list.len();
    }
    assert!(
        nodes > 150 && caps > 50 && pins > 15,
        "{nodes} {caps} {pins}"
    );
}

/// A map of three copies over zones and racks with a pin to every set of nodes. Nodes are written
/// as `zone/rack`, or `!zone/rack` with weight 0.
fn pinned_to_every_set(places: &[&str]) -> Map {
    let node = |(i, place): (usize, &&str)| {
        let (zone, rack) = place.trim_start_matches('!').split_once('/').unwrap();
        format!(
            "[[node]]\nname = 'n{i}'\nweight = {}\nlabels = {{zone = '{zone}', rack = '{rack}'}}\n",
            u8::from(!place.starts_with('!'))
        )
    };
    let nodes: String = places.iter().enumerate().map(node).collect();
    let pin = |set: usize| {
        let nodes: Vec<String> = (0..places.len())
            .filter(|i| set >> i & 1 == 1)
            .map(|i| format!("'n{i}'"))
            .collect();
        format!(
            "[[pin]]\nkey = 'k{set}'\nnodes = [{}]\nshort = {}\n",
            nodes.join(","),
            set % 5 == 0
        )
    };
    let pins: String = (1..1 << places.len()).map(pin).collect();
    let text = format!("name = 'm'\nreplicas = 3\nspread = ['zone', 'rack']\n{nodes}{pins}");
    build(&Fleet::parse(&text, "fleet.toml").unwrap(), None).unwrap()
}

#[test]
fn every_pin_is_judged_as_the_page_says() {
    for places in [
        &["a/1", "a/1", "a/2", "b/1", "b/2", "c/1"][..],
        &["a/1", "a/2", "b/1", "b/1", "!b/2", "!c/1", "!c/1"],
        &["a/1", "a/1", "a/1", "!b/1"],
    ] {
        let map = pinned_to_every_set(places);
        let (judge, verdict) = (read(map.bytes()), Verdict::of(&map, 10_000));
        let mut counts = [0; 3];
        for (number, pin) in pins::read(map.bytes()).iter().enumerate() {
            let of = |listed: &[stead::verdict::Violation]| {
                let mine = listed
                    .iter()
                    .filter(|violation| violation.pin == Some(number));
                mine.filter(|violation| !matches!(violation.problem, Problem::Kept { .. }))
                    .count()
            };
            let said = (of(&verdict.violations.listed), of(&verdict.warnings.listed));
            let wanted = match (judge.breaks(pin), pin.short) {
                (false, _) => 0,
                (true, false) => 1,
                (true, true) => 2,
            };
            counts[wanted] += 1;
            let found = usize::from(said.0 > 0) + 2 * usize::from(said.1 > 0);
            assert_eq!(found, wanted, "{pin:?} of {places:?}");
        }
        assert_eq!([verdict.violating_pins, verdict.short_pins], counts[1..]);
        assert!(counts[1] > 5 && counts[2] > 1, "{counts:?}");
    }
}

#[test]
fn a_pin_that_names_a_node_twice_is_a_violation() {
    let text = "name = 'm'\nreplicas = 2\nnode = [{name = 'a'}, {name = 'b'}]\n\
        pin = [{key = 'k', nodes = ['b', 'a']}]";
    let mut parts = build(&Fleet::parse(text, "fleet.toml").unwrap(), None)
        .unwrap()
        .to_parts();
    // only adopted rings have such lists
    parts.policies.push(PolicyPart {
        name: None,
        kind: String::new(),
        weight: None,
        members: [0, 1, 1].map(NodeId).to_vec(),
    });
    parts.policies.sort_by(|a, b| a.members.cmp(&b.members));
    let twice = parts.policies.iter().position(|p| p.members.len() == 3);
    parts.pins[0].policy = PolicyId(twice.unwrap() as u32);
    parts.base = vec![(Point(0), PolicyId(0)), (Point(1 << 63), PolicyId(2))];
    parts.policies.retain(|policy| policy.members.len() > 1);
    let map = Map::from_bytes(encode(&parts)).unwrap();
    let verdict = Verdict::of(&map, 9);
    let listed: Vec<String> = verdict
        .violations
        .listed
        .iter()
        .map(|v| v.problem.to_string())
        .collect();
    assert_eq!(listed, ["node b is named twice"]);
    assert_eq!(verdict.violations.of(Rule::Pins), 1);
}

#[test]
fn a_drained_node_that_a_pin_or_policy_names_gives_a_warning() {
    let fleet = |weight: u32| {
        let text = format!(
            "name = 'm'\nnode = [{{name = 'a'}}, {{name = 'b', weight = {weight}}}, {{name = 'c', weight = 0}}, {{name = 'd', weight = 0}}]\n\
             policy = [{{name = 'p', nodes = ['c', 'a'], weight = 1}}]\n\
             pin = [{{key = 'justin', nodes = ['b', 'a']}}]"
        );
        Fleet::parse(&text, "fleet.toml").unwrap()
    };
    let first = build(&fleet(1), None).unwrap();
    let words = |map: &Map| -> Vec<String> {
        let verdict = Verdict::of(map, 9);
        assert!(verdict.is_sound());
        verdict
            .warnings
            .listed
            .iter()
            .map(|w| w.problem.to_string())
            .collect()
    };
    let kept = "node c has weight 0 and no share, and still holds what policy `p` has";
    assert_eq!(words(&first), [kept]);
    let drained = build(&fleet(0), Some(&first)).unwrap();
    assert_eq!(
        words(&drained),
        [
            "node b has weight 0 and no share, and still holds what is pinned here",
            kept
        ]
    );
    let verdict = Verdict::of(&drained, 0);
    let held = |i: usize| (verdict.nodes[i].now.points, verdict.nodes[i].pinned_points);
    // a and p have half each; the pinned point belongs to a or to p, and a is in p
    let half = 1u128 << 63;
    assert_eq!(held(0).0, half);
    assert!((half..=half + 1).contains(&held(0).1), "{verdict:?}");
    assert_eq!(held(1), (0, 1));
    assert!(held(2).0 == 0 && (half - 1..=half).contains(&held(2).1));
    assert_eq!(held(3), (0, 0));
}

/// A map of two copies over two zones with a gradual change under way. All four base slices have
/// both copies in one zone; the target repairs the first and the third.
#[test]
fn only_violations_that_a_gradual_change_repairs_are_pending() {
    let text = "name = 'm'\nreplicas = 2\nspread = ['zone']\nnode = [\
        {name = 'a1', labels = {zone = 'a'}}, {name = 'a2', labels = {zone = 'a'}}, \
        {name = 'b1', labels = {zone = 'b'}}, {name = 'b2', labels = {zone = 'b'}}]";
    let mut parts = build(&Fleet::parse(text, "fleet.toml").unwrap(), None)
        .unwrap()
        .to_parts();
    let list = |members: [u32; 2]| PolicyPart {
        name: None,
        kind: String::new(),
        weight: None,
        members: members.map(NodeId).to_vec(),
    };
    parts.policies = [[0, 1], [0, 2], [1, 0], [2, 3], [3, 2]].map(list).to_vec();
    let slices = |policies: [u32; 4]| -> Vec<(Point, PolicyId)> {
        let firsts = (0..4).map(|i| Point(i << 62));
        firsts.zip(policies.map(PolicyId)).collect()
    };
    parts.base = slices([0, 2, 3, 4]);
    parts.target = Some(TargetPart {
        slices: slices([1, 2, 1, 4]),
        leaving: Vec::new(),
    });
    let map = Map::from_bytes(encode(&parts)).unwrap();
    let report = Report::of(None, &map, false).unwrap();
    assert_eq!((report.violations, report.pending_violations), (2, 2));
    let verdict = Verdict::of(&map, 9);
    let counted = (verdict.violating_slices, verdict.pending_violations);
    assert_eq!(counted, (2, 2));
    // the listed violations are those at the end of the change
    assert_eq!(verdict.violations.of(Rule::Spread), 2);
    // a slice of which the target leaves the first point as it is stays
    if let Some(target) = &mut parts.target {
        target.slices[2].0 = Point((1 << 63) + 1);
    }
    let map = Map::from_bytes(encode(&parts)).unwrap();
    let verdict = Verdict::of(&map, 0);
    let counted = (verdict.violating_slices, verdict.pending_violations);
    assert_eq!(counted, (3, 1));
}

/// The texts of what a verdict lists.
fn texts(list: &Violations) -> Vec<String> {
    let listed = list.listed.iter();
    listed.map(|one| one.problem.to_string()).collect()
}

#[test]
fn a_domain_with_too_many_copies_is_named_with_all_its_labels() {
    let node = |(i, rack): (usize, &str)| {
        format!("{{name = 'n{i}', labels = {{zone = 'z', rack = '{rack}'}}}}")
    };
    let nodes: Vec<String> = ["r1", "r1", "r2"]
        .into_iter()
        .enumerate()
        .map(node)
        .collect();
    let text = format!(
        "name = 'm'\nreplicas = 2\nspread = ['zone', 'rack']\nnode = [{}]\n\
         pin = [{{key = 'k', nodes = ['n0', 'n1']}}]",
        nodes.join(", ")
    );
    let map = build(&Fleet::parse(&text, "fleet.toml").unwrap(), None).unwrap();
    assert_eq!(
        texts(&Verdict::of(&map, 9).violations),
        ["2 copies in zone z, rack r1, at most 1 allowed"]
    );
}

#[test]
fn a_pin_with_too_few_nodes_is_told_once_even_where_a_domain_is_full() {
    let map = pinned_to_every_set(&["a/1", "b/1", "c/1"]);
    let verdict = Verdict::of(&map, 99);
    let said = [texts(&verdict.violations), texts(&verdict.warnings)].concat();
    // each single node and each two nodes
    let of = |text: &str| said.iter().filter(|one| *one == text).count();
    let counted = (of("1 node, fewer than 3"), of("2 nodes, fewer than 3"));
    assert_eq!((counted, said.len()), ((3, 3), 6), "{said:?}");
}

#[test]
fn a_named_policy_takes_a_share_with_one_replica_only() {
    let text = "name = 'm'\nreplicas = 2\nnode = [{name = 'a'}, {name = 'b'}]\n\
        policy = [{name = 'p', nodes = ['a', 'b']}]";
    let mut parts = build(&Fleet::parse(text, "fleet.toml").unwrap(), None)
        .unwrap()
        .to_parts();
    parts.policies.retain(|policy| policy.name.is_some());
    parts.policies[0].weight = Some(parts.nodes[0].weight);
    parts.base = vec![(Point(0), PolicyId(0))];
    let map = Map::from_bytes(encode(&parts)).unwrap();
    assert!(texts(&Verdict::of(&map, 9).violations)
        .contains(&"policy `p` takes a share, which is allowed only with one replica".to_owned()));
}

#[test]
fn what_holds_points_or_has_a_weight_is_not_kept_by_hand() {
    let text = "name = 'm'\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c', weight = 0}, \
        {name = 'd', weight = 0}]\n\
        policy = [{name = 'p', nodes = ['d', 'a'], weight = 1}]\n\
        pin = [{key = 'justin', nodes = ['b']}, {key = 'frank', nodes = ['c']}]";
    let mut parts = build(&Fleet::parse(text, "fleet.toml").unwrap(), None)
        .unwrap()
        .to_parts();
    let holds = |node: u32| {
        let is_its = |policy: &PolicyPart| policy.members == [NodeId(node)];
        let found = parts.policies.iter().position(is_its);
        PolicyId(found.unwrap() as u32)
    };
    // b has a weight and no points, c has points and no weight, and the policy has no points
    parts.base = vec![(Point(0), holds(0)), (Point(1 << 63), holds(2))];
    let map = Map::from_bytes(encode(&parts)).unwrap();
    let verdict = Verdict::of(&map, 9);
    assert_eq!(texts(&verdict.warnings), Vec::<String>::new());
}

#[test]
fn so_many_slices_are_allowed_as_the_fleet_says() {
    let said = |slices: &[(u64, &[u32])]| {
        let map = tolerant("max_slices = 3", slices);
        texts(&Verdict::of(&map, 9).violations)
    };
    let four: [(u64, &[u32]); 4] = [(250, &[0]), (250, &[1]), (250, &[0]), (250, &[1])];
    assert_eq!(said(&four), ["4 slices, at most 3 allowed"]);
    assert!(said(&[(250, &[0]), (500, &[1]), (250, &[0])]).is_empty());
}

#[test]
fn a_node_that_is_full_gives_the_rest_to_the_others() {
    let text = "name = 'm'\nreplicas = 3\nnode = [{name = 'a', weight = 10}, \
        {name = 'b', weight = 5}, {name = 'c'}, {name = 'd'}, {name = 'e'}]";
    let map = build(&Fleet::parse(text, "fleet.toml").unwrap(), None).unwrap();
    let all = 1u128 << 64;
    let targets: Vec<u128> = Verdict::of(&map, 0)
        .nodes
        .iter()
        .map(|node| node.target.unwrap())
        .collect();
    assert_eq!(targets[..2], [all, all]);
    assert!(targets[2..]
        .iter()
        .all(|target| target.abs_diff(all / 3) <= 1));
}

#[test]
fn each_broken_rule_is_named_once() {
    let text = "name = 'm'\nreplicas = 2\nspread = ['zone']\nnode = [\
        {name = 'a', labels = {zone = 'a'}}, {name = 'b', labels = {zone = 'b'}}, \
        {name = 'c', weight = 0, labels = {zone = 'c'}}, {name = 'd', labels = {zone = 'd'}}, \
        {name = 'e', weight = 0, labels = {zone = 'e'}}]";
    let fleet = Fleet::parse(text, "fleet.toml").unwrap();
    let mut parts = build(&fleet, None).unwrap().to_parts();
    parts.nodes[3].labels.clear();
    // without a weight a node needs no label
    parts.nodes[4].labels.clear();
    parts.policies = [&[0, 1][..], &[0, 1, 3]]
        .map(|members| PolicyPart {
            name: None,
            kind: String::new(),
            weight: None,
            members: members.iter().copied().map(NodeId).collect(),
        })
        .to_vec();
    parts.base = vec![(Point(0), PolicyId(0)), (Point(1 << 63), PolicyId(1))];
    let map = Map::from_bytes(encode(&parts)).unwrap();
    let verdict = Verdict::of(&map, 99);
    let words = |list: &Violations| -> Vec<String> {
        let of_shares = |rule| matches!(rule, Rule::Balance | Rule::Primaries);
        let listed = list.listed.iter().filter(|one| !of_shares(one.rule));
        listed
            .map(|one| format!("{}: {}", one.rule.name(), one.problem))
            .collect()
    };
    assert_eq!(
        words(&verdict.violations),
        [
            "spread: node d can hold points but has no label `zone`",
            "replicas: 3 nodes, not 2"
        ]
    );
    assert_eq!(
        words(&verdict.warnings),
        ["spread: zone c has no node with a weight above 0, so it holds no copies"]
    );
}

#[test]
fn a_map_with_too_few_nodes_is_still_reported() {
    let text =
        "name = 'm'\nreplicas = 2\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c', weight = 0}]";
    let mut parts = build(&Fleet::parse(text, "fleet.toml").unwrap(), None)
        .unwrap()
        .to_parts();
    parts.nodes[1].weight = Weight::ZERO;
    let map = Map::from_bytes(encode(&parts)).unwrap();
    let told = "1 node can hold points, but 2 replicas need 2: there are no targets";
    assert_eq!(texts(&Verdict::of(&map, 1).violations), [told]);
    let report = Report::of(None, &map, false).unwrap();
    assert!(!report.verdict.has_targets());
    let nodes = report
        .nodes
        .iter()
        .map(|node| (&*node.points, node.target_points.as_deref()));
    let all = ("18446744073709551616", None);
    assert!(nodes.eq([all, all, ("0", None)]));
}

#[test]
fn shares_of_holders_and_domains_add_up() {
    for map in maps() {
        let verdict = Verdict::of(&map, 0);
        let space = map.cells().count();
        let whole = &verdict.domains[0];
        let all = u128::from(map.replicas()) * space;
        assert_eq!(
            (whole.level, whole.parent, whole.cap),
            (0, None, map.replicas() as usize)
        );
        assert_eq!((whole.wanted, whole.target), (all, Some(all)));
        for (number, domain) in verdict.domains.iter().enumerate() {
            assert_eq!(verdict.names(number).len(), domain.level);
            assert!(domain.target.unwrap_or(0) <= domain.cap as u128 * space);
            let labels = (map.spread().map(str::to_owned))
                .zip(verdict.names(number))
                .collect::<Vec<_>>();
            let inside = |node: &stead::map::Node| {
                labels
                    .iter()
                    .all(|(label, value)| node.label(label) == Some(*value))
            };
            let nodes = map
                .nodes()
                .filter(inside)
                .map(|node| &verdict.nodes[node.id.index()]);
            let sums = nodes.fold([0; 3], |[wanted, cells, points], n| {
                [
                    wanted + n.wanted,
                    cells + n.then.cells,
                    points + n.now.points,
                ]
            });
            if domain.level > 0 {
                assert_eq!(sums, [domain.wanted, domain.then.cells, domain.now.points]);
            }
        }
    }
}

#[test]
fn maps_that_stead_builds_are_sound() {
    let mut before: Option<Map> = None;
    for (weight, share) in [(1, "0"), (7, "2.5"), (3, "0.000001"), (0, "11")] {
        let fleet = format!(
            "name = 'm'\nmax_slices = 100\nnode = [{{name = 'a'}}, {{name = 'b', weight = {weight}}}, {{name = 'c'}}]\n\
             policy = [{{name = 'p', nodes = ['b', 'a'], weight = {share}}}]\npin = [{{key = 'frank', nodes = ['b']}}]"
        );
        let map = build(
            &Fleet::parse(&fleet, "fleet.toml").unwrap(),
            before.as_ref(),
        )
        .unwrap();
        let verdict = Verdict::of(&map, 9);
        assert!(verdict.is_sound(), "{:?}", verdict.violations);
        before = Some(map);
    }
    // the control: the last map with other weights is not sound
    let mut parts = before.unwrap().to_parts();
    parts.nodes[0].weight = Weight::from_millionths(2_000_000).unwrap();
    let map = Map::from_bytes(encode(&parts)).unwrap();
    let verdict = Verdict::of(&map, 9);
    assert_eq!(
        (
            verdict.violations.of(Rule::Balance),
            verdict.violations.count()
        ),
        (3, 3)
    );
    let Problem::Share { name, .. } = &verdict.violations.listed[2].problem else {
        panic!("{verdict:?}")
    };
    assert_eq!(name, "p");
}

/// A map of 1000 cells with a tolerance, and how many of the cells are in each slice.
fn tolerant(top: &str, slices: &[(u64, &[u32])]) -> Map {
    let node = "node = [{name = 'a'}, {name = 'b'}, {name = 'c', weight = 0}]";
    let fleet = Fleet::parse(&format!("name = 'm'\n{top}\n{node}"), "fleet").unwrap();
    let mut parts = build(&fleet, None).unwrap().to_parts();
    parts.cells = Cells::from_stored(1000);
    let mut lists: Vec<&[u32]> = slices.iter().map(|(_, list)| *list).collect();
    lists.sort_unstable();
    lists.dedup();
    parts.policies = lists
        .iter()
        .map(|list| PolicyPart {
            name: None,
            kind: String::new(),
            weight: None,
            members: list.iter().copied().map(NodeId).collect(),
        })
        .collect();
    let mut first = 0;
    parts.base.clear();
    for (cells, list) in slices {
        let policy = lists.iter().position(|other| other == list).unwrap();
        let point = parts.cells.bound(first).try_into().unwrap();
        parts.base.push((Point(point), PolicyId(policy as u32)));
        first += u128::from(*cells);
    }
    assert_eq!(first, 1000);
    Map::from_bytes(encode(&parts)).unwrap()
}

#[test]
fn shares_are_judged_by_the_band_of_the_tolerance() {
    let said = |top: &str, a: u64| {
        let map = tolerant(top, &[(a, &[0]), (1000 - a, &[1])]);
        let verdict = Verdict::of(&map, 9);
        let listed = verdict.violations.listed.first();
        let first = listed.map_or(String::new(), |one| one.problem.to_string());
        // with one replica a node is the primary of all that it has
        assert_eq!(verdict.violations.of(Rule::Primaries), 0);
        (first, verdict.max_share_error_millionths)
    };
    let one = "tolerance = '1%'";
    assert_eq!(said(one, 500), (String::new(), 0));
    assert_eq!(said(one, 505), (String::new(), 10_000));
    assert_eq!(said(one, 495), (String::new(), 10_000));
    let more = "node a has 506 cells, 1 more than the tolerance of its target allows";
    assert_eq!(said(one, 506), (more.to_owned(), 12_000));
    let fewer = "node a has 493 cells, 2 fewer than the tolerance of its target allows";
    assert_eq!(said(one, 493), (fewer.to_owned(), 14_000));
    // the band is rounded inwards
    let less = "node a has 505 cells, 1 more than the tolerance of its target allows";
    assert_eq!(said("tolerance = '0.9999%'", 505).0, less);
    // and without a tolerance there is none
    let exact = "node a has 501 cells, 1 too many for its target";
    assert_eq!(said("", 501).0, exact);
    // a node of weight 0 holds nothing, whatever the tolerance
    let map = tolerant("tolerance = '10%'", &[(500, &[0]), (499, &[1]), (1, &[2])]);
    let verdict = Verdict::of(&map, 9);
    assert_eq!(verdict.violations.of(Rule::Balance), 1);
    assert_eq!(
        verdict.violations.listed[0].problem.to_string(),
        "node c has 1 cells, 1 too many for its target"
    );
}

#[test]
fn primaries_are_judged_by_the_band_of_the_tolerance() {
    // two nodes have one copy each of all cells, so no share can move; the target is 1000 cells,
    // and a node has 990 to 1000 and is the primary of 495 to 500 of them
    let broken = |top: &str, a: u64| {
        let top = format!("replicas = 2\n{top}");
        let map = tolerant(&top, &[(a, &[0, 1]), (1000 - a, &[1, 0])]);
        let verdict = Verdict::of(&map, 9);
        assert_eq!(verdict.violations.of(Rule::Balance), 0);
        let problems = verdict.violations.listed;
        problems
            .iter()
            .map(|one| one.problem.to_string())
            .collect::<Vec<_>>()
    };
    assert!(broken("tolerance = '1%'", 500).is_empty());
    assert_eq!(
        broken("tolerance = '1%'", 494),
        [
            "node a is the primary of 494 of its 1000 cells, not of 495 to 500",
            "node b is the primary of 506 of its 1000 cells, not of 495 to 500",
        ]
    );
    assert_eq!(
        broken("", 499),
        [
            "node a is the primary of 499 of its 1000 cells, not of 500",
            "node b is the primary of 501 of its 1000 cells, not of 500",
        ]
    );
}

/// 256 nodes in as many zones, 255 copies, the finest and the coarsest cells.
#[test]
fn the_largest_numbers_fit() {
    for cells in [
        Cells::FINEST,
        Cells::from_stored(u64::MAX),
        Cells::from_stored(1),
    ] {
        let node = |i: u32| NodePart {
            name: format!("n{i:03}"),
            formerly: String::new(),
            weight: if i == 0 {
                Weight::MAX
            } else {
                Weight::from_millionths(1).unwrap()
            },
            labels: vec![("zone".to_owned(), format!("z{i:03}"))],
            attributes: Vec::new(),
        };
        let parts = Parts {
            name: "large".to_owned(),
            epoch: 1,
            map_id: [0; 16],
            parent: [0; 32],
            algorithm: 1,
            replicas: 255,
            hash: Hash::Md5,
            key_rule: KeyRule::Whole,
            cells,
            max_slices: None,
            tolerance: None,
            spread: vec!["zone".to_owned()],
            nodes: (0..256).map(node).collect(),
            policies: vec![PolicyPart {
                name: None,
                kind: String::new(),
                weight: None,
                members: (0..255).map(NodeId).collect(),
            }],
            base: vec![(Point(0), PolicyId(0))],
            pins: Vec::new(),
            firsts: Vec::new(),
            target: None,
            carry: None,
        };
        let map = Map::from_bytes(encode(&parts)).unwrap();
        let verdict = Verdict::of(&map, 1000);
        let space = cells.count();
        // it wants nearly all copies, but may have the whole space only once
        assert_eq!(verdict.nodes[0].target, Some(space));
        assert_eq!(verdict.in_points(255 * space), 255 << 64);
        assert_eq!(
            verdict
                .nodes
                .iter()
                .map(|node| node.target.unwrap())
                .sum::<u128>(),
            255 * space
        );
        assert_eq!(verdict.domains[1].cap, 1);
        // the first node is the primary of everything, the others of nothing; of a single cell its
        // share of primaries is 1/255, which may be rounded down or up
        assert_eq!(
            verdict.violations.of(Rule::Primaries),
            if space == 1 { 0 } else { 255 }
        );
    }
}
