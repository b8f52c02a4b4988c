//! Slices, movement and time of growing fleets, and of what limits cost: the tables of
//! docs/rebalance.md. Run by `make bench-growth`.
//!
//! Times are of whole builds (rebalance, encode, digest, verify) on this machine; compare rows, not
//! machines. Each row ends with the start of the last map's digest. A map contains the digest of
//! the map before it, so two programs that print the same digest have made the same bytes at each
//! step.
//!
//! `--1000` adds a row, `--step` runs one history alone, `--limits` and `--tolerance` run only
//! those tables (`--large` and `--both` run parts of the first: the steps of 5,000 nodes, and
//! limits with a tolerance), and `--scale` only the table of fleets of up to 65,536 nodes (`--scale
//! 20000`: of one fleet with that many).

use std::time::Instant;

use stead::plan::Amounts;
use stead::verdict::Verdict;
use stead::{build, Fleet, Map};

fn fleet(nodes: usize, limit: &str) -> Fleet {
    let list: String = (0..nodes)
        .map(|i| format!("[[node]]\nname = \"n{i:04}\"\n"))
        .collect();
    Fleet::parse(&format!("name = \"growth\"\n{limit}{list}"), "growth.toml")
        .expect("a fleet that is well written")
}

fn grow(sizes: impl Iterator<Item = usize>) {
    let mut map: Option<Map> = None;
    let (mut slices, mut moved, mut bound, mut seconds, mut worst) =
        (Vec::new(), 0, 0, 0.0, 0.0f64);
    for size in sizes {
        let fleet = fleet(size, "");
        let start = Instant::now();
        let next = build(&fleet, map.as_ref()).expect("a map");
        let took = start.elapsed().as_secs_f64();
        seconds += took;
        worst = worst.max(took);
        if let Some(before) = &map {
            let plan = Amounts::between(before, &next).expect("a plan");
            moved += plan.moved.0;
            bound += plan.lower_bound.0;
        }
        slices.push(next.base_count());
        map = Some(next);
    }
    let map = map.expect("at least one size");
    let thinnest = map.base_slices().map(|s| s.points()).min().unwrap_or(0);
    let counts: Vec<String> = slices
        .iter()
        .rev()
        .take(5)
        .rev()
        .map(usize::to_string)
        .collect();
    println!(
        "to {:>4} nodes in {:>4} steps: slices ..{:<32} moved - bound = {} points, thinnest 2^{}, \
         {seconds:.2} s, worst step {worst:.3} s, {} bytes, digest {}",
        map.nodes().len(),
        slices.len(),
        counts.join(", "),
        moved - bound,
        thinnest.ilog2(),
        map.bytes().len(),
        mark(&map),
    );
}

/// The first 4 bytes of a map's digest.
fn mark(map: &Map) -> String {
    let digest = map.digest();
    digest[..4].iter().map(|b| format!("{b:02x}")).collect()
}

/// One by one to 300 with a limit of so many slices a node: what the limit costs.
fn grow_within(per_node: usize) {
    let mut map: Option<Map> = None;
    let (mut moved, mut bound, mut worst) = (0, 0, 0.0f64);
    for size in 1..=300 {
        let next = build(
            &fleet(size, &format!("max_slices = {}\n", per_node * size.max(4))),
            map.as_ref(),
        )
        .expect("a map");
        if let Some(before) = &map {
            let plan = Amounts::between(before, &next).expect("a plan");
            moved += plan.moved.0;
            bound += plan.lower_bound.0;
            worst = worst.max(plan.moved.0 as f64 / plan.lower_bound.0 as f64);
        }
        map = Some(next);
    }
    let map = map.expect("300 maps");
    println!(
        "to  300 nodes one by one within {per_node:>2} slices a node: {:>5} slices, moved / bound \
         {:.3}, worst step {worst:.1}, digest {}",
        map.base_count(),
        moved as f64 / bound as f64,
        mark(&map),
    );
}

/// A fleet of so many zones of so many racks of so many nodes, weights 100 to 300, that changes by
/// one node at a time.
struct Zones {
    zones: u64,
    racks: u64,
    state: u64,
    /// The label table and the weight of each node.
    nodes: Vec<(String, u64)>,
    /// The number in each node's name.
    numbers: Vec<usize>,
    next: usize,
}

impl Zones {
    fn new(count: u64, racks: u64, per_rack: u64) -> Zones {
        let mut zones = Zones {
            zones: count,
            racks,
            state: 7,
            nodes: Vec::new(),
            numbers: Vec::new(),
            next: 0,
        };
        for i in 0..count * racks * per_rack {
            let weight = 100 + zones.below(201);
            zones.add(i / (racks * per_rack), i / per_rack % racks, weight);
        }
        zones
    }

    fn below(&mut self, n: u64) -> u64 {
        self.state += 1;
        stead::map::mix(stead::Point(self.state), 0).0 % n
    }

    fn add(&mut self, zone: u64, rack: u64, weight: u64) {
        let labels = format!("{{zone = 'z{zone}', rack = '{rack}'}}");
        self.nodes.push((labels, weight));
        self.numbers.push(self.next);
        self.next += 1;
    }

    /// A node comes, goes or gets another weight.
    fn change(&mut self) {
        match self.below(3) {
            0 => {
                let (zone, rack) = (self.below(self.zones), self.below(self.racks));
                let weight = 100 + self.below(201);
                self.add(zone, rack, weight);
            }
            1 => {
                let gone = self.below(self.nodes.len() as u64) as usize;
                self.numbers.remove(gone);
                self.nodes.remove(gone);
                self.next += 1;
            }
            _ => {
                let changed = self.below(self.nodes.len() as u64) as usize;
                self.nodes[changed].1 = 100 + self.below(201);
                self.next += 1;
            }
        }
    }

    fn fleet(&self, replicas: u32, head: &str) -> Fleet {
        let nodes = self.numbers.iter().zip(&self.nodes);
        let node = |(number, (labels, weight)): (&usize, &(String, u64))| {
            format!("[[node]]\nname = 'n{number}'\nweight = {weight}\nlabels = {labels}\n")
        };
        let text: String = nodes.map(node).collect();
        let head =
            format!("name = 'zones'\nreplicas = {replicas}\nspread = ['zone', 'rack']\n{head}");
        Fleet::parse(&(head + &text), "zones.toml").expect("a fleet that is well written")
    }
}

/// What three copies cost: a limit for the first map alone (which then has fewer chunks), and one
/// for all.
fn zones(racks: u64, per_rack: u64, steps: usize, first_limit: &str, limit: &str) {
    let mut zones = Zones::new(3, racks, per_rack);
    let all = zones.nodes.len();
    let (mut map, mut moved, mut bound, mut most, mut times): (Option<Map>, _, _, _, Vec<f64>) =
        (None, 0, 0, 0.0f64, Vec::new());
    let (mut first, mut took) = (0, 0.0);
    for step in 0..=steps {
        let fleet = zones.fleet(3, if step == 0 { first_limit } else { limit });
        let start = Instant::now();
        let next = build(&fleet, map.as_ref()).expect("a map");
        if let Some(before) = &map {
            times.push(start.elapsed().as_secs_f64());
            let plan = Amounts::between(before, &next).expect("a plan");
            moved += plan.moved.0;
            bound += plan.lower_bound.0;
            most = most.max(plan.moved.0 as f64 / (3.0 * 2f64.powi(64)));
        } else {
            (first, took) = (next.base_count(), start.elapsed().as_secs_f64());
        }
        map = Some(next);
        zones.change();
    }
    times.sort_by(f64::total_cmp);
    let map = map.expect("at least one step");
    let slices = map.base_count();
    println!(
        "{all:>5} nodes in 3 zones, 3 copies, {steps:>3} changes, {:<18} slices {first:>5} -> \
         {slices:>5}, moved / bound {:.3}, most in a step {:.2} %, first build {:.0} ms, later \
         {:.1} ms (median), {:.0} ms (worst), digest {}",
        match (limit, first_limit) {
            ("", "") => "no limit",
            ("", _) => "first within 2000",
            (limit, _) => limit.trim(),
        },
        moved as f64 / bound as f64,
        100.0 * most,
        1e3 * took,
        1e3 * times[times.len() / 2],
        1e3 * times[times.len() - 1],
        mark(&map),
    );
}

/// What a tolerance saves: 600 nodes, 200 changes, with these numbers of copies and of zones.
fn tolerances() {
    for (replicas, count) in [(1, 3), (3, 3), (2, 3), (3, 5)] {
        let mut exact = 0.0;
        for tolerance in ["", "0.1%", "1%", "5%"] {
            let head = match tolerance {
                "" => String::new(),
                part => format!("tolerance = '{part}'\n"),
            };
            let mut zones = Zones::new(count, 30 / count, 20);
            let (mut map, mut moved, mut worst, mut times) = (None::<Map>, 0.0, 0, Vec::new());
            let mut first = 0;
            for _ in 0..=200 {
                let fleet = zones.fleet(replicas, &head);
                let start = Instant::now();
                let next = build(&fleet, map.as_ref()).expect("a map");
                times.push(start.elapsed().as_secs_f64());
                let verdict = Verdict::of(&next, 1);
                worst = worst.max(verdict.max_share_error_millionths);
                if let Some(before) = &map {
                    let plan = Amounts::between(before, &next).expect("a plan");
                    moved += plan.moved.0 as f64;
                } else {
                    first = next.base_count();
                }
                map = Some(next);
                zones.change();
            }
            if tolerance.is_empty() {
                exact = moved;
            }
            times.sort_by(f64::total_cmp);
            let map = map.expect("at least one step");
            println!(
                "{replicas} copies, 600 nodes in {count} zones, 200 changes, tolerance {:<5} slices \
                 {first:>5} -> {:>6}, worst error {:.4} %, moved / exact {:.3}, {:.1} ms a build \
                 (median), digest {}",
                if tolerance.is_empty() {
                    "none"
                } else {
                    tolerance
                },
                map.base_count(),
                worst as f64 / 1e4,
                moved / exact,
                1e3 * times[times.len() / 2],
                mark(&map),
            );
        }
    }
}

/// A part of all copies in percent, where there are three of each point.
fn of_copies(points: u128) -> f64 {
    100.0 * points as f64 / (3.0 * 2f64.powi(64))
}

/// The weights of [`scale`], from 100 to 300.
fn scale_weights(all: u64) -> Vec<u64> {
    let weight = |i| 100 + stead::map::mix(stead::Point(i), 0).0 % 201;
    (0..all).map(weight).collect()
}

/// A fleet of three copies in 3 zones of 64 racks.
fn scale_fleet(weights: &[u64], limit: &str) -> Fleet {
    let mut text = format!("name = 'scale'\nreplicas = 3\nspread = ['zone', 'rack']\n{limit}");
    for (i, weight) in weights.iter().enumerate() {
        let (zone, rack) = (i % 3, i / 3 % 64);
        text += &format!(
            "[[node]]\nname = 'n{i}'\nweight = {weight}\n\
             labels = {{zone = 'z{zone}', rack = 'r{rack}'}}\n"
        );
    }
    Fleet::parse(&text, "scale.toml").expect("a fleet that is well written")
}

/// Ten nodes leave and one weight changes.
fn scale_step(weights: &mut [u64], step: u64) {
    let all = weights.len() as u64;
    for leaves in 0..10 {
        let place = stead::map::mix(stead::Point(10 * step + leaves), 1).0 % all;
        weights[place as usize] = 0;
    }
    weights[(step * 7) as usize] = 200 + step;
}

/// So many nodes in 3 zones of 64 racks, weights 100 to 300, three copies: the first map, and then
/// steps in each of which ten nodes leave and one weight changes. Times are medians of the steps.
fn scale(all: u64) {
    const STEPS: u64 = 3;
    let mut weights = scale_weights(all);
    let (mut map, mut first): (Option<Map>, _) = (None, String::new());
    let mut times: [Vec<f64>; 4] = Default::default(); // fleet, build, open, plan
    for step in 0..=STEPS {
        let start = Instant::now();
        let fleet = scale_fleet(&weights, "");
        let parsed = start.elapsed();
        let start = Instant::now();
        let next = build(&fleet, map.as_ref()).expect("a map");
        let built = start.elapsed();
        let start = Instant::now();
        let opened = Map::from_bytes(next.bytes().to_vec()).expect("the same map");
        let open = start.elapsed();
        if let Some(before) = &map {
            let start = Instant::now();
            Amounts::between(before, &opened).expect("a plan");
            let took = [parsed, built, open, start.elapsed()];
            for (times, took) in times.iter_mut().zip(took) {
                times.push(took.as_secs_f64());
            }
        } else {
            first = format!(
                "{:>7} slices, {:>8} bytes, build {:.3} s",
                next.base_count(),
                next.bytes().len(),
                built.as_secs_f64(),
            );
        }
        map = Some(next);
        scale_step(&mut weights, step);
    }
    let map = map.expect("at least one step");
    let [parse, built, open, plan] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!(
        "{all:>5} nodes: first map {first}; after {STEPS} steps {:>7} slices, {:>8} bytes, a step: \
         fleet {parse:.3} s, build {built:.3} s, open {open:.3} s, plan {plan:.3} s, digest {}",
        map.base_count(),
        map.bytes().len(),
        mark(&map),
    );
}

/// What one step of a large fleet costs within its limit. The fleet has 5,000 nodes in 3 zones,
/// three copies and at most so many slices. Then ten nodes leave and one gets twice its weight.
fn large(most: usize) {
    let fleet = |changed: bool| {
        let node = |i: usize| {
            let weight = if changed && i == 7 { 200 } else { 100 };
            let labels = format!("{{zone = 'z{}'}}", i % 3);
            format!("[[node]]\nname = 'n{i}'\nweight = {weight}\nlabels = {labels}\n")
        };
        let stays = |i: &usize| !(changed && i % 500 == 250);
        let nodes: String = (0..5_000).filter(stays).map(node).collect();
        let head = "name = 'large'\nreplicas = 3\nspread = ['zone']\nmax_slices = ";
        Fleet::parse(&format!("{head}{most}\n{nodes}"), "large.toml")
            .expect("a fleet that is well written")
    };
    let first = build(&fleet(false), None).expect("a map");
    let start = Instant::now();
    let next = build(&fleet(true), Some(&first)).expect("a map");
    let took = start.elapsed().as_secs_f64();
    let plan = Amounts::between(&first, &next).expect("a plan");
    println!(
        " 5000 nodes in 3 zones, 3 copies, 10 nodes out, one weight doubled, max_slices = {most}: \
         slices {} -> {}, moved {:.3} %, bound {:.3} %, {took:.2} s",
        first.base_count(),
        next.base_count(),
        of_copies(plan.moved.0),
        of_copies(plan.lower_bound.0),
    );
}

/// 5,000 nodes as in [`scale`], and one of its steps: what it costs within a limit. The first map
/// has another limit, or none.
fn large_weighted(first_limit: &str, most: usize) {
    let mut weights = scale_weights(5_000);
    let first = build(&scale_fleet(&weights, first_limit), None).expect("a map");
    scale_step(&mut weights, 0);
    let fleet = scale_fleet(&weights, &format!("max_slices = {most}\n"));
    let start = Instant::now();
    let next = build(&fleet, Some(&first)).expect("a map");
    let took = start.elapsed().as_secs_f64();
    let plan = Amounts::between(&first, &next).expect("a plan");
    println!(
        " 5000 nodes in 3 zones of 64 racks, weights, 3 copies, 10 nodes out, one weight changed, \
         max_slices = {most}: slices {} -> {}, moved {:.3} %, bound {:.3} %, {took:.2} s",
        first.base_count(),
        next.base_count(),
        of_copies(plan.moved.0),
        of_copies(plan.lower_bound.0),
    );
}

/// The steps of large fleets within a limit.
fn all_large() {
    [24_000, 20_000].into_iter().for_each(large);
    [24_000, 20_000]
        .into_iter()
        .for_each(|most| large_weighted("max_slices = 30000\n", most));
    large_weighted("", 30_000);
}

/// What a limit and a tolerance of 5 % cost together, and each alone: the same 200 changes of 600
/// nodes. What moved is compared with the exact history without a limit.
fn limits_and_tolerance(replicas: u32, limits: [usize; 3]) {
    let mut exact = 0.0;
    let limits = limits.map(|most| format!("max_slices = {most}\n"));
    for limit in [""].into_iter().chain(limits.iter().map(String::as_str)) {
        for tolerance in ["", "tolerance = '5%'\n"] {
            let head = format!("{limit}{tolerance}");
            let mut zones = Zones::new(3, 10, 20);
            let (mut map, mut moved, mut most) = (None::<Map>, 0.0, 0);
            for _ in 0..=200 {
                let next = build(&zones.fleet(replicas, &head), map.as_ref()).expect("a map");
                if let Some(before) = &map {
                    let plan = Amounts::between(before, &next).expect("a plan");
                    moved += plan.moved.0 as f64;
                }
                most = most.max(next.base_count());
                map = Some(next);
                zones.change();
            }
            if head.is_empty() {
                exact = moved;
            }
            let map = map.expect("at least one step");
            println!(
                "{replicas} copies, 600 nodes, 200 changes, {:<18} {:<16} slices {:>6} at the \
                 end, {most:>6} at most, moved / exact {:.3}, digest {}",
                if limit.is_empty() {
                    "no limit"
                } else {
                    limit.trim()
                },
                if tolerance.is_empty() {
                    "exact shares"
                } else {
                    tolerance.trim()
                },
                map.base_count(),
                moved / exact,
                mark(&map),
            );
        }
    }
}

/// The rows with limits.
fn limits() {
    [32, 8, 4].into_iter().for_each(grow_within);
    for most in [32_000, 20_000, 8_000] {
        let limit = format!("max_slices = {most}\n");
        zones(10, 20, 200, &limit, &limit);
    }
    all_large();
    limits_and_tolerance(1, [19_200, 4_800, 2_400]);
    limits_and_tolerance(3, [32_000, 20_000, 8_000]);
}

fn main() {
    if std::env::args().any(|arg| arg == "--step") {
        return zones(10, 20, 200, "", ""); // to look at one step closely
    }
    if std::env::args().any(|arg| arg == "--tolerance") {
        return tolerances();
    }
    if std::env::args().any(|arg| arg == "--scale") {
        let size = std::env::args().find_map(|arg| arg.parse().ok());
        let all = size.map_or(vec![1000, 5000, 20_000, 65_536], |size| vec![size]);
        return all.into_iter().for_each(scale);
    }
    if std::env::args().any(|arg| arg == "--large") {
        return all_large();
    }
    if std::env::args().any(|arg| arg == "--both") {
        limits_and_tolerance(1, [19_200, 4_800, 2_400]);
        return limits_and_tolerance(3, [32_000, 20_000, 8_000]);
    }
    if std::env::args().any(|arg| arg == "--limits") {
        return limits();
    }
    grow([4, 7, 10, 13, 16].into_iter());
    grow((1..=10).map(|k| k * 30));
    grow((1..=30).map(|k| k * 10));
    grow((1..=20).map(|k| k * 50));
    grow((1..=10).map(|k| k * 100));
    grow(1..=100);
    grow(1..=300);
    zones(10, 20, 200, "", "");
    limits();
    zones(10, 20, 200, "max_slices = 2000\n", "");
    zones(100, 34, 20, "", "");
    if std::env::args().any(|arg| arg == "--1000") {
        grow(1..=1000);
    }
}
