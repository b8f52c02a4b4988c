//! The verdict on maps: at one replica it agrees with the report; shares of holders and domains add
//! up; what stead builds is sound.

use std::path::Path;

use stead::balance::Balance;
use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PolicyPart};
use stead::hash::{Hash, KeyRule};
use stead::policy::{NodeId, PolicyId};
use stead::verdict::{Problem, Rule, Verdict};
use stead::weight::Weight;
use stead::{build, Fleet, Map, Point};

/// Every map of the reference.
fn maps() -> Vec<Map> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/maps");
    let maps: Vec<Map> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| Map::open_copy(&entry.unwrap().path()).unwrap())
        .collect();
    assert!(maps.len() > 50);
    maps
}

#[test]
fn at_one_replica_verdict_and_report_agree() {
    let mut compared = 0;
    for map in maps().iter().filter(|map| map.replicas() == 1) {
        let (verdict, balance) = (Verdict::of(map, 0), Balance::of(map).unwrap());
        let holders = verdict.nodes.iter().chain(&verdict.policies);
        let reported = balance.nodes.iter().chain(&balance.policies);
        assert_eq!(holders.clone().count(), reported.clone().count());
        for (holder, reported) in holders.zip(reported) {
            let target = verdict.in_points(holder.target.unwrap());
            let seen = [
                holder.name.clone(),
                holder.weight.to_string(),
                target.to_string(),
            ];
            assert_eq!(
                seen,
                [&*reported.name, &reported.weight, &reported.target_points]
            );
            // in a gradual change the verdict is about its end, and the report tells what is there
            // now
            assert!(
                holder.points.to_string() == reported.points || map.target_slices().is_some(),
                "{}",
                map.name()
            );
            assert_eq!(Some(holder.wanted), holder.target);
            compared += 1;
        }
        assert_eq!(
            verdict.max_share_error,
            balance.max_share_error,
            "{}",
            map.name()
        );
    }
    assert!(compared > 150, "{compared}");
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
                [wanted + n.wanted, cells + n.cells, points + n.points]
            });
            if domain.level > 0 {
                assert_eq!(sums, [domain.wanted, domain.cells, domain.points]);
            }
        }
    }
}

#[test]
fn what_stead_builds_is_sound() {
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
    // the control: the last map with other weights
    let mut parts = before.unwrap().to_parts();
    parts.nodes[0].weight = Weight::from_millionths(2_000_000).unwrap();
    let verdict = Verdict::of(&Map::from_bytes(encode(&parts)).unwrap(), 9);
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
            target: None,
        };
        let verdict = Verdict::of(&Map::from_bytes(encode(&parts)).unwrap(), 1000);
        let space = cells.count();
        // of nearly all that it wants it may have the space once
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
        // the first is the primary of everything and the others of nothing; of a single cell that
        // is 1/255, rounded up or down
        assert_eq!(
            verdict.violations.of(Rule::Primaries),
            if space == 1 { 0 } else { 255 }
        );
    }
}
