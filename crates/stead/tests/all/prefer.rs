//! Which nodes answer when a node is down: docs/placement.md, "Prefer". The distribution is
//! measured over many keys and compared with what chance allows. `cargo test -p stead --test all --
//! --nocapture prefer::` prints it.

use std::collections::{BTreeMap, BTreeSet};

use stead::policy::NodeId;
use stead::{build, Fleet, Map};

/// The number of copies of keys. Each of 15 nodes then takes over about 480 from each other node,
/// give or take 5 percent.
const KEYS: usize = 100_000;

fn fleet(replicas: usize, spread: &str, nodes: impl Iterator<Item = String>) -> Map {
    let text = format!(
        "name = \"prefer\"\nreplicas = {replicas}\nspread = [{spread}]\n{}",
        nodes.collect::<String>()
    );
    build(&Fleet::parse(&text, "prefer.toml").unwrap(), None).unwrap()
}

/// Node i has `weight(i)` and is in zone i modulo `zones`.
fn nodes(n: usize, zones: usize, weight: fn(usize) -> usize) -> impl Iterator<Item = String> {
    (0..n).map(move |i| {
        format!(
            "[[node]]\nname = \"n{i:02}\"\nweight = {}\nlabels = {{ zone = \"z{}\" }}\n",
            weight(i),
            i % zones
        )
    })
}

fn keys() -> impl Iterator<Item = Vec<u8>> {
    (0..KEYS).map(|i| format!("key-{i}").into_bytes())
}

/// The points of each node in the base slices.
fn points(map: &Map) -> BTreeMap<NodeId, f64> {
    let mut points: BTreeMap<NodeId, f64> = map.nodes().map(|node| (node.id, 0.0)).collect();
    for slice in map.base_slices() {
        map.policy(slice.policy)
            .members()
            .for_each(|node| *points.entry(node).or_default() += slice.points() as f64);
    }
    points
}

/// For each node that may be down, how many of its keys go to each other node. The other node is
/// the first one in the list after all holders of the key.
fn taken_over(map: &Map) -> BTreeMap<NodeId, BTreeMap<NodeId, usize>> {
    let mut taken: BTreeMap<NodeId, BTreeMap<NodeId, usize>> =
        map.nodes().map(|node| (node.id, BTreeMap::new())).collect();
    let replicas = map.replicas() as usize;
    for key in keys().take(KEYS / replicas) {
        let list = map.prefer(&key, replicas + 1);
        assert!(
            list[..replicas].iter().copied().eq(map.locate_all(&key)),
            "the list starts with the holders in their order"
        );
        for down in &list[..replicas] {
            *taken
                .entry(*down)
                .or_default()
                .entry(list[replicas])
                .or_default() += 1;
        }
    }
    taken
}

#[test]
fn with_one_replica_a_down_nodes_keys_go_to_the_others_in_proportion_to_their_points() {
    let map = fleet(1, "", nodes(10, 1, |i| 1 + i % 4));
    let points = points(&map);
    for (down, taken) in taken_over(&map) {
        let (sum, rest) = (
            taken.values().sum::<usize>() as f64,
            points.values().sum::<f64>() - points[&down],
        );
        assert_eq!(taken.get(&down), None);
        for (node, points) in points.iter().filter(|(node, _)| **node != down) {
            let share = points / rest;
            let (wanted, deviation) = (sum * share, (sum * share * (1.0 - share)).sqrt());
            let found = taken.get(node).copied().unwrap_or(0) as f64;
            assert!(
                (found - wanted).abs() < 5.0 * deviation,
                "{down:?} down: {node:?} got {found} of {sum} keys, not {wanted}"
            );
        }
    }
}

#[test]
fn a_shorter_list_is_a_prefix_of_the_whole_list() {
    let map = fleet(2, "\"zone\"", nodes(9, 3, |_| 1));
    for key in keys().take(500) {
        let whole = map.prefer(&key, 9);
        assert_eq!(
            whole.iter().collect::<BTreeSet<_>>().len(),
            9,
            "each node once"
        );
        (0..=9).for_each(|n| assert_eq!(map.prefer(&key, n), whole[..n]));
    }
}

/// What a node takes over of a down node's keys, as a multiple of its part of the points of all
/// nodes that may take over: the least and the most, over all nodes that can be down. With more
/// zones than replicas, the zone of the down node never takes over.
fn ratios(map: &Map, fresh: bool) -> (f64, f64) {
    let points = points(map);
    let zone = |node: &NodeId| map.node(*node).label("zone").unwrap();
    let (mut least, mut most) = (f64::MAX, 0.0f64);
    for (down, taken) in taken_over(map) {
        let others = || {
            points.iter().filter(|(node, _)| {
                if fresh {
                    zone(node) != zone(&down)
                } else {
                    **node != down
                }
            })
        };
        let (sum, rest) = (
            taken.values().sum::<usize>() as f64,
            others().map(|(_, points)| points).sum::<f64>(),
        );
        assert!(
            taken
                .keys()
                .all(|taker| others().any(|(node, _)| node == taker)),
            "{down:?} down: {taken:?}"
        );
        for (node, points) in others() {
            let ratio = taken.get(node).copied().unwrap_or(0) as f64 / sum / (points / rest);
            (least, most) = (least.min(ratio), most.max(ratio));
        }
    }
    (least, most)
}

#[test]
fn with_replicas_every_node_that_may_take_over_does() {
    println!(
        "15 nodes; what a node takes over of a down node's keys, as a multiple of its part of \
        the points of all that may; {KEYS} copies"
    );
    type Weigh = fn(usize) -> usize;
    let weights: [(&str, Weigh); 2] =
        [("equal weights", |_| 1), ("weights 1 and 2", |i| 1 + i % 2)];
    for (name, weight) in weights {
        for (replicas, zones, spread) in [
            (1, 5, ""),
            (2, 5, ""),
            (3, 5, ""),
            (2, 5, "\"zone\""),
            (3, 5, "\"zone\""),
            (3, 3, "\"zone\""),
        ] {
            let map = fleet(replicas, spread, nodes(15, zones, weight));
            let (least, most) = ratios(&map, !spread.is_empty() && zones > replicas);
            let apart = if spread.is_empty() {
                "no spread".into()
            } else {
                format!("{zones} zones")
            };
            println!("{name}, R = {replicas}, {apart}: {least:.2} to {most:.2}");
            // at one replica all differences are chance; with more replicas, a node that shares few
            // points with the down one takes over more of its keys
            assert!(
                least > 0.4 && most < 2.0,
                "{name}, R = {replicas}, {apart}: {least} to {most}"
            );
        }
    }
}

#[test]
fn the_next_node_is_in_a_fresh_zone_as_long_as_there_is_one() {
    for (replicas, zones) in [(1, 2), (2, 3), (2, 5), (3, 3), (3, 5)] {
        let map = fleet(replicas, "\"zone\"", nodes(3 * zones, zones, |i| 1 + i % 4));
        let zone = |node: NodeId| map.node(node).label("zone").unwrap();
        let mut next: BTreeMap<NodeId, usize> = BTreeMap::new();
        for key in keys().take(KEYS / 10) {
            let list = map.prefer(&key, 3 * zones);
            // the first nodes of the list, one for each zone, are all in different zones
            assert_eq!(
                list[..zones]
                    .iter()
                    .map(|node| zone(*node))
                    .collect::<BTreeSet<_>>()
                    .len(),
                zones,
                "{list:?}"
            );
            *next.entry(list[replicas]).or_default() += 1;
        }
        assert_eq!(
            next.len(),
            3 * zones,
            "every node is the next of some keys: {next:?}"
        );
    }
}

/// Seed 2, figure 3: "A Riak Core client will send its query to N=3 servers. No reply is sent by
/// node3. But the replies from node0 and node1 are sufficient to meet the R=2 constraint."
#[test]
fn figure_3_one_of_three_servers_is_down_and_two_replies_suffice() {
    let four = (0..4).map(|i| format!("[[node]]\nname = \"node{i}\"\n"));
    let map = fleet(3, "", four);
    let name = |node: NodeId| map.node(node).name();
    let (n, r) = (3, 2);
    // a key whose "replica set is handled by pink, green, and orange servers (i.e., node3, node0,
    // and node1)"
    let names = |key: &[u8]| map.locate_all(key).map(name).collect::<Vec<_>>();
    let key = keys()
        .find(|key| names(key) == ["node3", "node0", "node1"])
        .unwrap();
    let asked = map.prefer(&key, n);
    assert_eq!(
        asked.iter().map(|node| name(*node)).collect::<Vec<_>>(),
        ["node3", "node0", "node1"]
    );
    let replies: Vec<&str> = asked
        .into_iter()
        .map(name)
        .filter(|server| *server != "node3")
        .collect();
    assert_eq!(replies, ["node0", "node1"]);
    assert!(replies.len() >= r);
    // the node that replaces the crashed one is the same for every client: the walk around the ring
    // continues
    assert_eq!(
        map.prefer(&key, 4).last().map(|node| name(*node)),
        Some("node2")
    );
}

/// docs/placement.md, "Prefer", step by step, with a list and sets that are made for each key.
fn plainly(map: &Map, key: &[u8], n: usize) -> Vec<NodeId> {
    let point = map.point(key);
    let label = map.spread().next();
    let domain = |node: NodeId| label.and_then(|label| map.node(node).label(label));
    let mut list: Vec<NodeId> = Vec::new();
    for node in map.locate_all_point(point) {
        if list.len() < n && !list.contains(&node) {
            list.push(node);
        }
    }
    let mut fresh: BTreeSet<&str> = map
        .base_slices()
        .flat_map(|slice| map.policy(slice.policy).members())
        .filter_map(domain)
        .collect();
    for node in &list {
        domain(*node).map(|domain| fresh.remove(domain));
    }
    for j in 1..=64 {
        let slice = map.base_slice_of(stead::map::mix(point, j));
        for node in map.policy(slice.policy).members() {
            let allowed =
                fresh.is_empty() || domain(node).is_none_or(|domain| fresh.contains(domain));
            if list.len() < n && allowed && !list.contains(&node) {
                list.push(node);
                domain(node).map(|domain| fresh.remove(domain));
            }
        }
    }
    for node in map.nodes() {
        if list.len() < n && !list.contains(&node.id) {
            list.push(node.id);
        }
    }
    list
}

#[test]
fn the_list_is_that_of_the_page_on_random_maps() {
    let (mut seed, mut lists, mut fallbacks, mut later) = (1u64, 0, 0, 0);
    for round in 0..80 {
        let mut random = |most: usize| {
            seed = seed.wrapping_add(1);
            (stead::map::mix(stead::Point(seed), 0).0 % most as u64) as usize
        };
        let (replicas, count) = (
            1 + random(3),
            8 + random(if round % 10 == 0 { 90 } else { 12 }),
        );
        let (zones, spread) = (3 + random(5), ["", "\"zone\""][random(2)]);
        let mut nodes: String = (0..count)
            .map(|i| {
                // some nodes hold nothing, and one zone may consist of such nodes; the first ones
                // have what R copies need
                let weight = match random(4) {
                    0 if i >= 5 => 0,
                    _ if i >= 5 && i % zones == zones - 1 => 0,
                    _ => 1 + random(3),
                };
                // only a node of weight 0 may lack the label
                let labels = match random(2) {
                    0 if weight == 0 => String::new(),
                    _ => format!("labels = {{ zone = \"z{}\" }}\n", i % zones),
                };
                format!("[[node]]\nname = \"n{i:02}\"\nweight = {weight}\n{labels}")
            })
            .collect();
        if random(2) == 0 {
            // a pinned key has its own nodes, and draws from the slices below
            let pinned: Vec<String> = (count - replicas..count)
                .map(|i| format!("\"n{i:02}\""))
                .collect();
            nodes += &format!(
                "[[pin]]\nrange = [\"10%\", \"40%\"]\nnodes = [{}]\nshort = true\n",
                pinned.join(", ")
            );
        }
        let text =
            format!("name = \"prefer\"\nreplicas = {replicas}\nspread = [{spread}]\n{nodes}");
        let fleet = Fleet::parse(&text, "prefer.toml").unwrap();
        let Ok(map) = build(&fleet, None) else {
            continue; // the weights cannot be met
        };
        for key in keys().take(60) {
            for n in [0, 1, 2, replicas + 1, count / 2, count, count + 5] {
                let list = map.prefer(&key, n);
                assert_eq!(list, plainly(&map, &key, n), "{n} of\n{text}");
                lists += 1;
                later += usize::from(list.len() > map.locate_all(&key).len());
            }
            let holding: BTreeSet<NodeId> = map
                .base_slices()
                .flat_map(|slice| map.policy(slice.policy).members())
                .collect();
            fallbacks += usize::from(holding.len() < count);
        }
    }
    assert!(
        lists > 15_000 && later > lists / 2 && fallbacks > 500,
        "{lists} lists, {later} with others than the holders, {fallbacks} with empty nodes"
    );
}

#[test]
fn a_long_list_begins_as_a_short_one() {
    // a short list is searched, and a longer one has a set beside it; up to 64 domains are bits
    for (replicas, zones) in [(1, 64), (1, 65), (3, 7), (70, 90), (70, 200)] {
        let map = fleet(replicas, "\"zone\"", nodes(200, zones, |i| 1 + i % 3));
        for (number, key) in keys().take(200).enumerate() {
            let long = map.prefer(&key, 200);
            if number < 10 {
                assert_eq!(long, plainly(&map, &key, 200), "{replicas} {zones}");
            }
            let distinct: BTreeSet<NodeId> = long.iter().copied().collect();
            assert_eq!((long.len(), distinct.len()), (200, 200));
            for short in [1, 2, 10, 63, 64, 71] {
                assert_eq!(map.prefer(&key, short), long[..short], "{replicas} {zones}");
            }
        }
    }
}
