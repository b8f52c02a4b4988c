//! What is left when nodes are down, and who a node is: compared with a count of every cell of a
//! map that has few cells.

use std::collections::BTreeMap;

use stead::outage::{Outage, Profile};
use stead::policy::NodeId;
use stead::ring::{Kind, Servers};
use stead::{build, Fleet, Map, Point};

/// Returns a map of 16,384 cells: a ring of Redis slots, which a fleet continues with copies.
fn of_cells(replicas: usize, spread: &str, more: &str) -> Map {
    let servers = "d40f 127.0.0.1:1@2 master - 0 0 1 connected 0-5000\n\
        f213 127.0.0.1:3@4 master - 0 0 2 connected 5001-16383\n";
    let servers = Servers {
        bytes: servers.as_bytes(),
        file: "slots",
    };
    let ring = Kind::named("redis-slots").unwrap();
    let ring = ring
        .draw(&servers, &[] as &[&str])
        .unwrap()
        .map("m")
        .unwrap();
    let nodes: String = (0..9)
        .map(|i| {
            format!(
                "[[node]]\nname = \"n{i}\"\nweight = {}\nlabels = {{ zone = \"z{}\", rack = \"{}\" }}\n",
                1 + i % 4,
                i % 3,
                i % 2
            )
        })
        .collect();
    let fleet = format!("name = \"m\"\nreplicas = {replicas}\nspread = [{spread}]\n{nodes}{more}");
    build(&Fleet::parse(&fleet, "fleet").unwrap(), Some(&ring)).unwrap()
}

const PINS: &str = "[[policy]]\nname = \"wide\"\nnodes = [\"n0\", \"n1\", \"n2\", \"n3\"]\n\
    [[pin]]\nrange = [\"10%\", \"12%\"]\npolicy = \"wide\"\n\
    [[pin]]\nrange = [\"50%\", \"50.5%\"]\nnodes = [\"n4\"]\nshort = true\n";

/// The maps of the tests, with what they have in the name of a failure.
fn maps() -> Vec<(&'static str, Map)> {
    vec![
        ("1 copy", of_cells(1, "", "")),
        ("2 copies with pins", of_cells(2, "", PINS)),
        ("3 copies in zones with pins", of_cells(3, "\"zone\"", PINS)),
        ("5 copies in racks", of_cells(5, "\"zone\", \"rack\"", "")),
    ]
}

/// Yields the first point of each cell and its number of points.
fn cells(map: &Map) -> impl Iterator<Item = (Point, u128)> + '_ {
    let cells = map.cells();
    assert_eq!(cells.count(), 16_384);
    (0..cells.count()).map(move |v| {
        let (first, end) = (cells.bound(v), cells.bound(v + 1));
        (Point(first as u64), end - first)
    })
}

fn sets() -> [&'static [u32]; 6] {
    [
        &[],
        &[4],
        &[0, 3, 6],
        &[0, 1, 2, 3],
        &[8, 0, 4, 2, 6, 4],
        &[0, 1, 2, 3, 4, 5, 6, 7, 8],
    ]
}

#[test]
fn an_outage_is_what_a_count_of_every_cell_finds() {
    let mut seen_without_copy = 0;
    for (name, map) in maps() {
        for down in sets() {
            let down: Vec<NodeId> = down.iter().map(|i| NodeId(*i)).collect();
            let outage = Outage::of(&map, &down);
            let mut left: BTreeMap<usize, u128> = BTreeMap::new();
            let mut reads: BTreeMap<NodeId, [u128; 3]> = BTreeMap::new();
            let (mut lost, mut rebuilt) = (0, 0);
            for (point, points) in cells(&map) {
                let holders: Vec<NodeId> = map.locate_all_point(point).collect();
                let up: Vec<NodeId> = holders
                    .iter()
                    .copied()
                    .filter(|n| !down.contains(n))
                    .collect();
                *left.entry(up.len()).or_default() += points;
                lost += (holders.len() - up.len()) as u128 * points;
                rebuilt += if up.is_empty() {
                    0
                } else {
                    (holders.len() - up.len()) as u128 * points
                };
                reads.entry(holders[0]).or_default()[0] += points;
                up.first()
                    .iter()
                    .for_each(|node| reads.entry(**node).or_default()[1] += points);
                holders
                    .iter()
                    .for_each(|node| reads.entry(*node).or_default()[2] += points);
            }
            let context = format!("{name}, {down:?}");
            assert_eq!(outage.lost, lost, "{context}");
            for (copies, points) in outage.left.iter().enumerate() {
                assert_eq!(
                    left.get(&copies).copied().unwrap_or(0),
                    *points,
                    "{context}"
                );
            }
            assert_eq!(outage.left.iter().sum::<u128>(), 1 << 64, "{context}");
            for (node, found) in map.nodes().zip(&outage.nodes) {
                let counted = reads.get(&node.id).copied().unwrap_or_default();
                assert_eq!(
                    [found.reads_before, found.reads, found.points],
                    counted,
                    "{context}"
                );
                assert_eq!(found.down, down.contains(&node.id));
                assert!(!found.down || (found.reads, found.source, found.sampled) == (0, 0, 0));
            }
            // every lost copy that can be rebuilt has its source, to the point
            assert_eq!(
                outage.nodes.iter().map(|n| n.source).sum::<u128>(),
                rebuilt,
                "{context}"
            );
            seen_without_copy += usize::from(outage.left[0] > 0);
            let sampled: u64 = outage.nodes.iter().map(|n| n.sampled).sum();
            assert_eq!(sampled, outage.samples, "{context}");
            let asked = outage.left[0] > 0 && outage.down.len() < 9;
            assert_eq!(outage.samples > 0, asked, "{context}");
        }
    }
    assert!(
        seen_without_copy >= 6,
        "{seen_without_copy} outages left points without a copy"
    );
}

#[test]
fn sources_share_a_lost_copy_evenly() {
    // one node of three is down, so each lost copy has two sources
    let map = of_cells(3, "\"zone\"", "");
    let down = NodeId(0);
    let outage = Outage::of(&map, &[down]);
    let mut sources: BTreeMap<NodeId, u128> = BTreeMap::new();
    for slice in map.slices() {
        let holders: Vec<NodeId> = map.locate_all_point(slice.first).collect();
        if holders.contains(&down) {
            for node in holders.iter().filter(|node| **node != down) {
                *sources.entry(*node).or_default() += slice.points() / 2;
            }
        }
    }
    assert!(sources.len() > 2, "{sources:?}");
    for (node, points) in sources {
        let found = outage.nodes[node.index()].source;
        assert!(
            found.abs_diff(points) < 10_000,
            "{node:?}: {found}, not {points}"
        );
    }
}

/// The keys whose copies are all down go where the sample says, within the error that it names.
#[test]
fn the_sample_says_where_readers_turn_to() {
    for (replicas, spread) in [(1, ""), (2, "\"zone\""), (3, "")] {
        let nodes: String = (0..12)
            .map(|i| {
                format!(
                    "[[node]]\nname = \"n{i:02}\"\nweight = {}\nlabels = {{ zone = \"z{}\" }}\n",
                    1 + i % 2,
                    i % 4
                )
            })
            .collect();
        let fleet = format!("name = \"m\"\nreplicas = {replicas}\nspread = [{spread}]\n{nodes}");
        let map = build(&Fleet::parse(&fleet, "fleet").unwrap(), None).unwrap();
        let down = [0, 1, 2, 5].map(NodeId);
        let outage = Outage::of(&map, &down);
        assert_eq!(outage.samples, 65_536);
        let (mut taken, mut without) = (vec![0u32; 12], 0u32);
        for i in 0..300_000 {
            let list = map.prefer(format!("key-{i}").as_bytes(), 12);
            if list[..replicas].iter().all(|node| down.contains(node)) {
                without += 1;
                let first = list.iter().find(|node| !down.contains(node)).unwrap();
                taken[first.index()] += 1;
            }
        }
        assert!(without > 2_000, "{without}");
        let part = outage.left[0] as f64 / (1u128 << 64) as f64;
        assert!((f64::from(without) / 300_000.0 - part).abs() < 0.005);
        for (keys, node) in taken.iter().zip(&outage.nodes) {
            let by_keys = f64::from(*keys) / f64::from(without);
            let by_sample = node.sampled as f64 / outage.samples as f64;
            let error = 5.0 * (by_keys.max(0.001) / f64::from(without)).sqrt() + 0.006;
            assert!(
                (by_keys - by_sample).abs() < error,
                "{by_keys} is not {by_sample}"
            );
        }
    }
}

/// Everything but the sample is exact, however few points are asked.
#[test]
fn a_smaller_sample_changes_the_sample_alone() {
    for (name, map) in maps() {
        let down: Vec<NodeId> = map.nodes().map(|node| node.id).take(2).collect();
        let whole = Outage::of(&map, &down);
        for samples in [0, 1, 100] {
            let mut fewer = Outage::sampled(&map, &down, samples);
            assert_eq!(fewer.samples, whole.samples.min(samples.into()), "{name}");
            let asked: u64 = fewer.nodes.iter().map(|node| node.sampled).sum();
            assert_eq!(asked, fewer.samples, "{name}");
            fewer.samples = whole.samples;
            for (few, all) in fewer.nodes.iter_mut().zip(&whole.nodes) {
                few.sampled = all.sampled;
            }
            assert_eq!(fewer, whole, "{name}");
        }
    }
}

#[test]
fn a_profile_is_what_a_count_of_every_cell_finds() {
    for (name, map) in maps() {
        for node in map.nodes() {
            let profile = Profile::of(&map, node.id);
            let (mut points, mut primary) = (0, 0);
            let mut shared: BTreeMap<NodeId, u128> = BTreeMap::new();
            for (point, size) in cells(&map) {
                let holders: Vec<NodeId> = map.locate_all_point(point).collect();
                if holders.contains(&node.id) {
                    points += size;
                    primary += if holders[0] == node.id { size } else { 0 };
                    for other in holders.iter().filter(|other| **other != node.id) {
                        *shared.entry(*other).or_default() += size;
                    }
                }
            }
            assert_eq!(
                (profile.points, profile.primary_points),
                (points, primary),
                "{name}"
            );
            let found: BTreeMap<NodeId, u128> = profile
                .partners
                .iter()
                .map(|p| (p.node, p.points))
                .collect();
            assert_eq!(found, shared, "{name}");
            assert!(profile.partners.is_sorted_by(|a, b| a.points >= b.points));
            let held: Vec<_> = map
                .slices()
                .filter(|slice| map.policy(slice.policy).members().any(|n| n == node.id))
                .collect();
            assert_eq!(profile.slices, held.len());
            let most = held.iter().map(|slice| slice.points()).max();
            assert_eq!(profile.largest.map(|slice| slice.points()), most);
        }
    }
    let map = of_cells(3, "\"zone\"", PINS);
    let of = |i| Profile::of(&map, NodeId(i));
    assert_eq!((of(0).pins, of(0).policies.len()), (vec![0], 1));
    assert_eq!((of(4).pins, of(4).policies.len()), (vec![1], 0));
    assert_eq!((of(5).pins, of(5).policies.len()), (vec![], 0));
}
