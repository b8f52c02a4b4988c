//! What one call costs: `Map::locate`, the lookup within it, and `Map::prefer`.
//!
//! ```text
//! single_cost      (make bench-single)
//! ```
//!
//! `locate` is compared with what a careful programmer writes first: the md-5 crate, and
//! `partition_point` over the bounds as `u128`. The lookup alone is compared with that
//! `partition_point`, for points that are known. `prefer` is compared with `locate` and with
//! `locate_all`, in maps with up to 16 labels and 65,536 nodes. All candidates
//! of a table take turns; the figures are medians of the rounds, and a ratio is the median of the
//! rounds' ratios.

use std::hint::black_box;
use std::time::Instant;

use md5::{Digest, Md5};
use stead::cell::Cells;
use stead::format::{encode, NodePart, Parts, PolicyPart};
use stead::hash::{Hash, KeyRule};
use stead::policy::{NodeId, PolicyId};
use stead::weight::Weight;
use stead::{build, Fleet, Map, Point};

const ROUNDS: usize = 1001;
/// The number of keys or points of a round: few enough that hardly a round is interrupted by
/// another process. Each round takes the next ones.
const KEYS: usize = 1_000;
/// The number of windows of `KEYS` keys, after which the first one is taken again.
const WINDOWS: usize = 20;
/// The number of nodes of the maps whose slices are drawn at random.
const NODES: u32 = 100;

fn main() {
    locating();
    looking_up();
    preferring();
    preferring_all("md5");
    preferring_all("xxh3");
}

fn locating() {
    println!(
        "locate, of keys of 4 to 40 bytes (naive: md-5 crate and partition_point; bare: the \
         point alone)\n\n{:>10} {:>6} {:>9} {:>9} {:>9} {:>15} {:>15}",
        "slices", "hash", "naive ns", "bare ns", "locate ns", "locate / naive", "locate / bare"
    );
    for (slices, hash) in [
        (10, Hash::Md5),
        (1_000, Hash::Md5),
        (10_000, Hash::Md5),
        (100_000, Hash::Md5),
        (10, Hash::Xxh3),
        (10_000, Hash::Xxh3),
        (10_000, Hash::Sha1),
    ] {
        let (map, firsts) = random_map(slices, &uniform(slices), hash.clone());
        let is_md5 = hash == Hash::Md5;
        let keys = keys();
        let mut times = Rounds::default();
        for round in 0..ROUNDS {
            let keys = window(&keys, round);
            let naive = time(keys, |key| {
                let point = Md5::digest(key)
                    .iter()
                    .take(8)
                    .fold(0, |point, byte| point << 8 | u128::from(*byte));
                naive_node(&firsts, point)
            });
            let bare = time(keys, |key| map.point(key).0 as u32);
            let locate = time(keys, |key| map.locate(key).0);
            assert!(!is_md5 || naive.1 == locate.1, "both give the same nodes");
            times.add([naive.0, bare.0, locate.0]);
        }
        println!(
            "{:>10} {:>6} {:>9.1} {:>9.1} {:>9.1} {:>15.3} {:>15.3}",
            map.slice_count(),
            hash.name(),
            times.of(0),
            times.of(1),
            times.of(2),
            times.ratio(2, 0),
            times.ratio(2, 1)
        );
    }
}

fn looking_up() {
    println!(
        "\nthe lookup alone (naive: partition_point over the bounds)\n\n{:>10} {:>24} {:>9} \
         {:>9} {:>15}",
        "slices", "bounds and points", "naive ns", "ours ns", "ours / naive"
    );
    for (slices, bounds, what) in [
        (1_000, uniform(1_000), "uniform, uniform"),
        (10_000, uniform(10_000), "uniform, uniform"),
        (10_000, log_uniform(10_000), "log-uniform, uniform"),
        (10_000, log_uniform(10_000), "log-uniform, in slices"),
        (1_000_000, uniform(1_000_000), "uniform, uniform"),
        (1_000_000, log_uniform(1_000_000), "log-uniform, in slices"),
    ] {
        let (map, firsts) = random_map(slices, &bounds, Hash::Md5);
        let mut seed = 7;
        let points: Vec<u64> = (0..KEYS * WINDOWS)
            .map(|_| match what.ends_with("in slices") {
                false => random(&mut seed),
                // each slice is drawn equally often, so most points are in thin slices
                true => {
                    let slice = map
                        .slice((random(&mut seed) % map.slice_count() as u64) as usize)
                        .expect("a slice");
                    let width = (slice.last.0 - slice.first.0).saturating_add(1);
                    slice.first.0 + random(&mut seed) % width
                }
            })
            .collect();
        let mut times = Rounds::default();
        for round in 0..ROUNDS {
            let points = window(&points, round);
            let naive = time(points, |p| naive_node(&firsts, u128::from(*p)));
            let ours = time(points, |p| map.locate_point(Point(*p)).0);
            assert_eq!(naive.1, ours.1, "both give the same nodes");
            times.add([naive.0, ours.0, 0.0]);
        }
        println!(
            "{:>10} {what:>24} {:>9.1} {:>9.1} {:>15.3}",
            map.slice_count(),
            times.of(0),
            times.of(1),
            times.ratio(1, 0)
        );
    }
}

fn preferring() {
    println!(
        "\nprefer, of 2 nodes (into: prefer_into, which allocates nothing)\n\n{:>6} {:>5} {:>25} \
         {:>9} {:>9} {:>7} {:>9} {:>7}",
        "nodes", "hash", "copies", "locate ns", "prefer ns", "/ locate", "into ns", "/ locate"
    );
    for (nodes, hash, replicas, spread) in [
        (10, "md5", 1, false),
        (10, "md5", 2, false),
        (10, "md5", 1, true),
        (10, "md5", 2, true),
        (1000, "md5", 1, false),
        (10, "xxh3", 1, false),
    ] {
        let map = grown_map(nodes, hash, replicas, spread);
        let keys = keys();
        let mut times = Rounds::default();
        for round in 0..ROUNDS {
            let keys = window(&keys, round);
            let locate = time(keys, |key| map.locate(key).0);
            let prefer = time(keys, |key| map.prefer(key, 2)[0].0);
            let into = time(keys, |key| {
                let mut nodes = [NodeId(0); 2];
                map.prefer_into(key, &mut nodes);
                black_box(nodes)[0].0
            });
            assert_eq!(locate.1, prefer.1, "the list starts with the primary node");
            assert_eq!(locate.1, into.1, "both write the same list");
            times.add([locate.0, prefer.0, into.0]);
        }
        println!(
            "{nodes:>6} {hash:>5} {:>25} {:>9.1} {:>9.1} {:>8.2} {:>8.1} {:>8.2}",
            format!(
                "{replicas}{}",
                if spread { ", spread over zones" } else { "" }
            ),
            times.of(0),
            times.of(1),
            times.ratio(1, 0),
            times.of(2),
            times.ratio(2, 0)
        );
    }
}

/// `prefer` against `locate_all`, which lists the nodes that hold the key: with as many nodes as
/// there are copies, with one more, and with all nodes of the map.
fn preferring_all(hash: &str) {
    println!(
        "\nprefer_into against locate_all, {hash}\n\n{:>6} {:>6} {:>6} {:>13} {:>11} {:>6} \
         {:>11} {:>6} {:>13}",
        "nodes",
        "labels",
        "copies",
        "locate_all ns",
        "R nodes ns",
        "ratio",
        "R + 1 ns",
        "ratio",
        "all nodes ns"
    );
    for (nodes, copies) in [
        (3, 3),
        (10, 3),
        (100, 3),
        (1000, 3),
        (1000, 16),
        (1000, 64),
        (1000, 255),
        (65_536, 3),
    ] {
        for labels in [0, 1, 4, 16] {
            let Some(map) = labelled_map(hash, nodes, copies, labels) else {
                continue; // the fleet is above the limits
            };
            let keys = keys();
            let mut times = Rounds::default();
            let mut whole = Vec::new();
            // a list of all nodes takes longer, and its time varies less
            let rounds = if nodes > 1000 { 101 } else { 301 };
            let mut list = vec![NodeId(0); nodes];
            for round in 0..rounds {
                let keys = window(&keys, round);
                let all = time(keys, |key| {
                    let mut last = 0;
                    for (place, node) in list.iter_mut().zip(map.locate_all(key)) {
                        *place = node;
                        last = node.0;
                    }
                    last
                });
                let mut prefer = |keys: &[Vec<u8>], count: usize, at: usize| {
                    time(keys, |key| {
                        map.prefer_into(key, &mut list[..count]);
                        list[at].0
                    })
                };
                let own = prefer(keys, copies, copies - 1);
                assert_eq!(all.1, own.1, "the list begins with the nodes of the key");
                let more = prefer(keys, (copies + 1).min(nodes), copies - 1);
                times.add([all.0, own.0, more.0]);
                if round % 10 == 0 {
                    whole.push(prefer(&keys[..20], nodes, 0).0);
                }
            }
            println!(
                "{nodes:>6} {labels:>6} {copies:>6} {:>13.1} {:>11.1} {:>6.2} {:>11.1} {:>6.2} \
                 {:>13.1}",
                times.of(0),
                times.of(1),
                times.ratio(1, 0),
                times.of(2),
                times.ratio(2, 0),
                median(whole.into_iter())
            );
        }
    }
}

/// A first map of nodes with labels whose values do not follow each other; `None` if the limits of
/// fleets do not allow it.
fn labelled_map(hash: &str, nodes: usize, copies: usize, labels: usize) -> Option<Map> {
    let names: Vec<String> = (0..labels).map(|label| format!("\"l{label}\"")).collect();
    let list: String = (0..nodes)
        .map(|i| {
            let labels = (0..labels).map(|label| format!("l{label} = \"v{}\"", i % (label + 4)));
            let labels: Vec<String> = labels.collect();
            let labels = labels.join(", ");
            format!("[[node]]\nname = \"n{i:05}\"\nlabels = {{ {labels} }}\n")
        })
        .collect();
    let text = format!(
        "name = \"bench\"\nhash = \"{hash}\"\nreplicas = {copies}\nspread = [{}]\n{list}",
        names.join(", ")
    );
    let fleet = Fleet::parse(&text, "bench").ok()?;
    Some(build(&fleet, None).expect("it can be built"))
}

fn window<T>(all: &[T], round: usize) -> &[T] {
    let at = KEYS * (round % WINDOWS);
    &all[at..at + KEYS]
}

/// The times of the candidates, a row for each round.
#[derive(Default)]
struct Rounds(Vec<[f64; 3]>);

impl Rounds {
    fn add(&mut self, row: [f64; 3]) {
        self.0.push(row);
    }

    fn of(&self, candidate: usize) -> f64 {
        median(self.0.iter().map(|row| row[candidate]))
    }

    fn ratio(&self, candidate: usize, to: usize) -> f64 {
        median(self.0.iter().map(|row| row[candidate] / row[to]))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Nanoseconds an item, and the sum of the answers.
fn time<T>(items: &[T], mut one: impl FnMut(&T) -> u32) -> (f64, u64) {
    let start = Instant::now();
    let sum = items
        .iter()
        .map(|item| u64::from(one(black_box(item))))
        .sum();
    (start.elapsed().as_nanos() as f64 / items.len() as f64, sum)
}

/// The node of a point, where slice number i is held by node i modulo `NODES`.
fn naive_node(firsts: &[u128], point: u128) -> u32 {
    let slice = firsts.partition_point(|first| *first <= point) - 1;
    slice as u32 % NODES
}

/// Names of 4 to 40 bytes, of which 9 in 10 have at most 15, in no order.
fn keys() -> Vec<Vec<u8>> {
    let mut seed = 3;
    let mut pick = |most: u64| (random(&mut seed) % most) as usize;
    (0..KEYS * WINDOWS)
        .map(|_| {
            let length = match pick(10) {
                0 => 16 + pick(25),
                _ => 4 + pick(12),
            };
            (0..length).map(|_| b'a' + pick(26) as u8).collect()
        })
        .collect()
}

fn uniform(slices: usize) -> Vec<u64> {
    let mut seed = 1;
    (1..slices).map(|_| random(&mut seed)).collect()
}

/// Bounds whose distances are 2^k, with k drawn evenly from 0 to 60, stretched to fill the space.
fn log_uniform(slices: usize) -> Vec<u64> {
    let mut seed = 2;
    let widths: Vec<f64> = (1..slices)
        .map(|_| (random(&mut seed) as f64 / u64::MAX as f64 * 60.0).exp2())
        .collect();
    let stretch = u64::MAX as f64 / widths.iter().sum::<f64>() * 0.999;
    let mut at = 0u64;
    widths
        .iter()
        .map(|width| {
            at += (width * stretch) as u64 + 1;
            at
        })
        .collect()
}

/// The output of SplitMix64.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    stead::map::mix(Point(*seed), 0).0
}

/// A map with these bounds, and its bounds as numbers.
fn random_map(slices: usize, bounds: &[u64], hash: Hash) -> (Map, Vec<u128>) {
    let mut firsts: Vec<u64> = bounds.iter().copied().chain([0]).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() + slices / 100 >= slices);
    let parts = Parts {
        name: "bench".into(),
        epoch: 1,
        map_id: [0; 16],
        parent: [0; 32],
        algorithm: 1,
        replicas: 1,
        hash,
        key_rule: KeyRule::Whole,
        cells: Cells::FINEST,
        max_slices: None,
        tolerance: None,
        spread: Vec::new(),
        nodes: (0..NODES.min(slices as u32))
            .map(|i| NodePart {
                name: format!("n{i:04}"),
                formerly: String::new(),
                weight: Weight::ONE,
                labels: Vec::new(),
                attributes: Vec::new(),
            })
            .collect(),
        policies: (0..NODES.min(slices as u32))
            .map(|i| PolicyPart {
                name: None,
                kind: String::new(),
                weight: None,
                members: vec![NodeId(i)],
            })
            .collect(),
        base: firsts
            .iter()
            .enumerate()
            .map(|(i, first)| (Point(*first), PolicyId(i as u32 % NODES)))
            .collect(),
        pins: Vec::new(),
        firsts: Vec::new(),
        target: None,
        carry: None,
    };
    let map = Map::from_bytes(encode(&parts)).expect("a good map");
    (map, firsts.into_iter().map(u128::from).collect())
}

/// Builds a map in ten steps of growth, so that it has slices as real maps do.
fn grown_map(nodes: usize, hash: &str, replicas: usize, spread: bool) -> Map {
    let mut map: Option<Map> = None;
    for count in (nodes / 10..=nodes).step_by(nodes / 10) {
        let list: String = (0..count.max(replicas))
            .map(|i| {
                let zone = i % 4;
                format!("[[node]]\nname = \"n{i:04}\"\nlabels = {{ zone = \"z{zone}\" }}\n")
            })
            .collect();
        let spread = if spread { "spread = [\"zone\"]" } else { "" };
        let text =
            format!("name = \"bench\"\nhash = \"{hash}\"\nreplicas = {replicas}\n{spread}\n{list}");
        let fleet = Fleet::parse(&text, "bench").expect("a good fleet");
        map = Some(build(&fleet, map.as_ref()).expect("it can be built"));
    }
    map.expect("ten steps")
}
