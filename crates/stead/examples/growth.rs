//! Slices, movement and time of growing fleets: the table of docs/rebalance.md. Run by `make bench-growth`.
//!
//! Times are of whole builds (rebalance, encode, digest, verify) on this machine; compare rows, not machines.

use std::time::Instant;

use stead::{build, Fleet, Map, Plan};

fn fleet(nodes: usize, limit: &str) -> Fleet {
    let list: String = (0..nodes).map(|i| format!("[[node]]\nname = \"n{i:04}\"\n")).collect();
    Fleet::parse(&format!("name = \"growth\"\n{limit}{list}"), "growth.toml").expect("a fleet that is well written")
}

fn grow(sizes: impl Iterator<Item = usize>) {
    let mut map: Option<Map> = None;
    let (mut slices, mut moved, mut bound, mut seconds, mut worst) = (Vec::new(), 0, 0, 0.0, 0.0f64);
    for size in sizes {
        let fleet = fleet(size, "");
        let start = Instant::now();
        let next = build(&fleet, map.as_ref()).expect("a map");
        let took = start.elapsed().as_secs_f64();
        seconds += took;
        worst = worst.max(took);
        if let Some(before) = &map {
            let plan = Plan::between(before, &next).expect("a plan");
            moved += plan.moved.0;
            bound += plan.lower_bound.0;
        }
        slices.push(next.base_count());
        map = Some(next);
    }
    let map = map.expect("at least one size");
    let thinnest = map.base_slices().map(|s| s.points()).min().unwrap_or(0);
    let counts: Vec<String> = slices.iter().rev().take(5).rev().map(usize::to_string).collect();
    println!(
        "to {:>4} nodes in {:>4} steps: slices ..{:<32} moved - bound = {} points, thinnest 2^{}, {seconds:.2} s, worst step {worst:.3} s, {} bytes",
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
        let next = build(&fleet(size, &format!("max_slices = {}\n", per_node * size.max(4))), map.as_ref()).expect("a map");
        if let Some(before) = &map {
            let plan = Plan::between(before, &next).expect("a plan");
            moved += plan.moved.0;
            bound += plan.lower_bound.0;
            worst = worst.max(plan.moved.0 as f64 / plan.lower_bound.0 as f64);
        }
        map = Some(next);
    }
    println!(
        "to  300 nodes one by one within {per_node:>2} slices a node: {:>5} slices, moved / bound {:.3}, worst step {worst:.1}",
        map.expect("300 maps").base_count(),
        moved as f64 / bound as f64,
    );
}

fn main() {
    grow([4, 7, 10, 13, 16].into_iter());
    grow((1..=10).map(|k| k * 30));
    grow((1..=30).map(|k| k * 10));
    grow((1..=20).map(|k| k * 50));
    grow((1..=10).map(|k| k * 100));
    grow(1..=100);
    grow(1..=300);
    [32, 8, 4].into_iter().for_each(grow_within);
    if std::env::args().any(|arg| arg == "--1000") {
        grow(1..=1000);
    }
}
