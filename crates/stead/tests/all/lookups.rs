//! Looking up points: the search index, the pairs of neighbours and the shortcut for policies that
//! have equally many nodes give what a plain search over all slices gives.

use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PinPart, PolicyPart};
use stead::hash::{Hash, KeyRule};
use stead::map::mix;
use stead::policy::{NodeId, PolicyId};
use stead::weight::Weight;
use stead::{Map, Point};

const NODES: u32 = 7;

/// A map whose base slices start at these points, and at 0. Policy i has node i first, and either
/// no other node, or i others.
fn map(bounds: impl Iterator<Item = u64>, alike: bool, pins: &[(u64, u64)]) -> Map {
    let mut firsts: Vec<u64> = bounds.chain([0]).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let policies = firsts.len().min(NODES as usize) as u32;
    let parts = Parts {
        name: "lookups".into(),
        epoch: 1,
        map_id: [0; 16],
        parent: [0; 32],
        algorithm: 1,
        replicas: 1,
        hash: Hash::Md5,
        key_rule: KeyRule::Whole,
        cells: Cells::FINEST,
        max_slices: None,
        tolerance: None,
        spread: Vec::new(),
        nodes: (0..NODES)
            .map(|i| NodePart {
                name: format!("n{i}"),
                formerly: String::new(),
                weight: Weight::ONE,
                labels: Vec::new(),
                attributes: Vec::new(),
            })
            .collect(),
        policies: (0..policies)
            .map(|i| PolicyPart {
                name: None,
                kind: String::new(),
                weight: None,
                members: (0..if alike { 1 } else { 1 + i })
                    .map(|next| NodeId((i + next) % NODES))
                    .collect(),
            })
            .collect(),
        base: (0..)
            .zip(&firsts)
            .map(|(i, first)| (Point(*first), PolicyId(i % policies)))
            .collect(),
        firsts: Vec::new(),
        pins: pins
            .iter()
            .map(|(first, last)| PinPart {
                first: Point(*first),
                last: Point(*last),
                policy: PolicyId(0),
                key: None,
                short: false,
            })
            .collect(),
        target: None,
        carry: None,
    };
    Map::from_bytes(encode(&parts)).unwrap()
}

/// Compares every lookup with a search over all slices, at all bounds, beside them and elsewhere.
fn check(map: &Map) {
    let (finals, bases): (Vec<_>, Vec<_>) = (map.slices().collect(), map.base_slices().collect());
    let bounds = finals.iter().chain(&bases).map(|slice| slice.first.0);
    let beside = bounds.flat_map(|at| [at.wrapping_sub(1), at, at.wrapping_add(1)]);
    for point in beside
        .chain((0..2000).map(|i| mix(Point(9), i).0))
        .map(Point)
    {
        let place = finals.partition_point(|slice| slice.first <= point) - 1;
        let slice = finals[place];
        assert_eq!(map.slice_of(point), slice, "{point}");
        assert_eq!(map.policy_of(point), slice.policy, "{point}");
        let node = NodeId(slice.policy.0 % NODES);
        assert_eq!(map.locate_point(point), node, "{point}");
        assert_eq!(map.locate_all_point(point).next(), Some(node), "{point}");
        let base = bases.partition_point(|slice| slice.first <= point) - 1;
        assert_eq!(map.base_slice_of(point), bases[base], "{point}");
    }
}

#[test]
fn every_lookup_gives_what_a_search_over_all_slices_gives() {
    let pins = [(5, 9), (1 << 40, 1 << 50), (u64::MAX - 3, u64::MAX)];
    for alike in [true, false] {
        for pins in [&pins[..], &[]] {
            for slices in [1, 2, 3, 10, 100, 3000] {
                let uniform = || (1..slices).map(|i| mix(Point(slices), i).0);
                check(&map(uniform(), alike, pins));
                // thin slices: many in a bucket, and buckets with several on both sides
                check(&map(uniform().map(|at| at >> (at & 63)), alike, pins));
                check(&map(uniform().map(|at| !(at >> 50)), alike, pins));
            }
        }
    }
}

#[test]
fn a_wrong_entry_of_the_index_is_refused_wherever_it_is() {
    use sha2::{Digest, Sha256};
    let bytes = map((1..20).map(|i| mix(Point(3), i).0), true, &[])
        .bytes()
        .to_vec();
    // entry 12 of the section table, which starts behind the header, is that of the index
    let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let entry = header - 13 * 24 + 12 * 24;
    let offset = u64::from_le_bytes(bytes[entry + 8..entry + 16].try_into().unwrap()) as usize;
    let count = u64::from_le_bytes(bytes[entry + 16..entry + 24].try_into().unwrap()) as usize;
    assert_eq!((bytes[entry], count), (13, (1 << 7) + 1));
    let digest = Sha256::digest([&bytes[..96], &[0; 32], &bytes[128..]].concat());
    assert_eq!(bytes[96..128], digest[..], "the place of the digest");
    for place in 0..count {
        let at = offset + 4 * place;
        let right = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        for wrong in [right.wrapping_sub(1), right + 1, 0, 20, 21, u32::MAX] {
            let mut damaged = bytes.clone();
            damaged[at..at + 4].copy_from_slice(&wrong.to_le_bytes());
            damaged[96..128].fill(0);
            let digest = Sha256::digest(&damaged);
            damaged[96..128].copy_from_slice(&digest);
            let opened = Map::from_bytes(damaged);
            match opened {
                Ok(_) => assert_eq!(wrong, right, "entry {place}"),
                Err(error) => {
                    assert_ne!(wrong, right, "entry {place}");
                    let text = error.to_string();
                    let says = format!("this entry of the index must be {right}");
                    assert!(text.contains(&says), "entry {place}: {text}");
                }
            }
        }
    }
}

#[test]
fn a_number_of_another_map_is_refused() {
    let map = map([1 << 60, 1 << 61].into_iter(), true, &[]);
    let said = |ask: &dyn Fn()| {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    for number in [NODES, 99, u32::MAX] {
        let told = said(&|| {
            map.node(NodeId(number));
        });
        let part = format!("there is no node {number}; this map has {NODES} nodes");
        assert!(told.starts_with(&part), "{told}");
        let told = said(&|| {
            map.policy(PolicyId(number));
        });
        assert!(
            told.starts_with(&format!("there is no policy {number}; ")),
            "{told}"
        );
    }
    // the control: its own numbers, and names that come after all others
    assert_eq!(
        map.nodes()
            .filter(|node| map.node(node.id).name() == node.name())
            .count(),
        NODES as usize
    );
    assert!(map.node_named("\u{10ffff}").is_none());
}
