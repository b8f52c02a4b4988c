//! Slices, movement and time of growing fleets, and of what limits cost: the tables of
//! docs/rebalance.md. Run by `make bench-growth`.
//!
//! Times are of whole builds (rebalance, encode, digest, verify) on this machine; compare rows, not
//! machines.

use std::time::Instant;

use stead::plan::Amounts;
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
         {seconds:.2} s, worst step {worst:.3} s, {} bytes",
        map.nodes().len(),
        slices.len(),
        counts.join(", "),
        moved - bound,
        thinnest.ilog2(),
        map.bytes().len(),
    );
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
    println!(
        "to  300 nodes one by one within {per_node:>2} slices a node: {:>5} slices, moved / bound \
         {:.3}, worst step {worst:.1}",
        map.expect("300 maps").base_count(),
        moved as f64 / bound as f64,
    );
}

/// 3 zones of so many racks of so many nodes, weights 100 to 300, three copies; then changes of one
/// node each: what three copies cost, a limit for the first map alone (which then has fewer
/// chunks), and one for all.
fn zones(racks: u64, per_rack: u64, steps: usize, first_limit: &str, limit: &str) {
    let mut state = 7;
    let mut below = move |n: u64| {
        state += 1;
        stead::map::mix(stead::Point(state), 0).0 % n
    };
    let mut nodes: Vec<(String, u64)> = Vec::new(); // labels and weight
    let labels = |zone: u64, rack: u64| format!("{{zone = 'z{zone}', rack = '{rack}'}}");
    for i in 0..3 * racks * per_rack {
        nodes.push((
            labels(i / (racks * per_rack), i / per_rack % racks),
            100 + below(201),
        ));
    }
    let all = nodes.len();
    let mut numbers: Vec<usize> = (0..all).collect();
    let (mut map, mut moved, mut bound, mut most, mut times): (Option<Map>, _, _, _, Vec<f64>) =
        (None, 0, 0, 0.0f64, Vec::new());
    let (mut first, mut took) = (0, 0.0);
    for step in 0..=steps {
        let text: String = numbers
            .iter()
            .zip(&nodes)
            .map(|(number, (labels, weight))| {
                format!("[[node]]\nname = 'n{number}'\nweight = {weight}\nlabels = {labels}\n")
            })
            .collect();
        let head = format!(
            "name = 'zones'\nreplicas = 3\nspread = ['zone', 'rack']\n{}",
            if step == 0 { first_limit } else { limit }
        );
        let fleet =
            Fleet::parse(&(head + &text), "zones.toml").expect("a fleet that is well written");
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
        match below(3) {
            0 => {
                numbers.push(all + step);
                nodes.push((labels(below(3), below(racks)), 100 + below(201)));
            }
            1 => {
                let gone = below(nodes.len() as u64) as usize;
                numbers.remove(gone);
                nodes.remove(gone);
            }
            _ => {
                let changed = below(nodes.len() as u64) as usize;
                nodes[changed].1 = 100 + below(201);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let slices = map.map_or(0, |map| map.base_count());
    println!(
        "{all:>5} nodes in 3 zones, 3 copies, {steps:>3} changes, {:<18} slices {first:>5} -> \
         {slices:>5}, moved / bound {:.3}, most in a step {:.2} %, first build {:.0} ms, later \
         {:.1} ms (median), {:.0} ms (worst)",
        match (limit, first_limit) {
            ("", "") => "no limit",
            ("", _) => "from one chunk",
            (limit, _) => limit.trim(),
        },
        moved as f64 / bound as f64,
        100.0 * most,
        1e3 * took,
        1e3 * times[times.len() / 2],
        1e3 * times[times.len() - 1],
    );
}

fn main() {
    if std::env::args().any(|arg| arg == "--step") {
        return zones(10, 20, 200, "", ""); // to look at one step closely
    }
    grow([4, 7, 10, 13, 16].into_iter());
    grow((1..=10).map(|k| k * 30));
    grow((1..=30).map(|k| k * 10));
    grow((1..=20).map(|k| k * 50));
    grow((1..=10).map(|k| k * 100));
    grow(1..=100);
    grow(1..=300);
    [32, 8, 4].into_iter().for_each(grow_within);
    [
        "",
        "max_slices = 32000\n",
        "max_slices = 20000\n",
        "max_slices = 8000\n",
    ]
    .into_iter()
    .for_each(|limit| zones(10, 20, 200, limit, limit));
    zones(10, 20, 200, "max_slices = 2000\n", "");
    zones(100, 34, 20, "", "");
    if std::env::args().any(|arg| arg == "--1000") {
        grow(1..=1000);
    }
}
