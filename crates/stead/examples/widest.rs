//! What the widest fleets cost: processor seconds and peak memory of the first map, of a step in
//! which a tenth of the nodes change, and of the report of that change. The table of
//! docs/rebalance.md. Run by `make bench-widest`.
//!
//! Each fleet runs in a process of its own, so that its peak is its own. `--nodes N --copies R
//! --labels L --shape tree|mixed|own` runs one fleet. Two programs that print the same digest have
//! made the same bytes.

use std::env;
use std::fs;
use std::process::Command;

use stead::{build, Fleet, Map, Plan};

/// The fleets: nodes, copies, labels, and how the labels divide the nodes.
const FLEETS: [(usize, usize, usize, &str); 9] = [
    (1_000, 16, 3, "mixed"),
    (4_000, 16, 3, "mixed"),
    (65_536, 3, 2, "mixed"),
    (400, 100, 16, "tree"),
    (400, 100, 16, "mixed"),
    (1_000, 100, 16, "mixed"),
    (1_000, 255, 16, "tree"),
    (1_000, 255, 1, "own"),
    (4_000, 255, 2, "tree"),
];

/// The text of a fleet. In a `tree`, each label halves the domains of the one before it; `mixed`
/// labels have 2, 3, 4 ... values that do not follow each other; with `own`, each node is alone.
fn text((nodes, copies, labels, shape): (usize, usize, usize, &str), step: bool) -> String {
    let names: Vec<String> = (0..labels).map(|label| format!("'l{label}'")).collect();
    let mut text = format!("name = 'widest'\nreplicas = {copies}\n");
    text += &format!("spread = [{}]\n", names.join(", "));
    for node in 0..nodes {
        let weight = match (step && node % 10 == 3, node % 20 == 3) {
            (true, true) => 0,
            (true, false) => 4,
            (false, _) => 1 + node * 7919 % 3,
        };
        let value = |label: usize| match shape {
            "tree" => node >> 10usize.saturating_sub(label),
            "mixed" => node % (label + 2),
            _ => node,
        };
        let values = (0..labels).map(|label| format!("l{label} = 'v{}'", value(label)));
        let values: Vec<String> = values.collect();
        text += &format!("[[node]]\nname = 'n{node}'\nweight = {weight}\n");
        text += &format!("labels = {{{}}}\n", values.join(", "));
    }
    text
}

/// The processor seconds of this process so far.
fn seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    // the 14th and the 15th field, in ticks of a hundredth of a second
    let ticks = fields.skip(11).take(2).map(|field| field.parse::<f64>());
    ticks.map(|ticks| ticks.expect("a number")).sum::<f64>() / 100.0
}

/// The most memory that this process has had, in MiB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.expect("a number") / 1024
}

fn run(of: (usize, usize, usize, &str)) {
    let mut row = format!("{:>6} {:>4} {:>3} {:<6}", of.0, of.1, of.2, of.3);
    let fleet = |step| Fleet::parse(&text(of, step), "widest.toml");
    let (first, second) = match (fleet(false), fleet(true)) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(error), _) | (_, Err(error)) => return println!("{row} refused: {error}"),
    };
    let mut add = |what: &str, since: f64| {
        row += &format!(" {what} {:>7.2} s {:>5} MiB", seconds() - since, peak());
    };
    let start = seconds();
    let map = build(&first, None).expect("a map");
    add("first", start);
    let start = seconds();
    let next = build(&second, Some(&map)).expect("a map");
    add("step", start);
    let start = seconds();
    let plan = Plan::between(&map, &next).expect("a plan");
    let report = stead::report::Report::of_plan(&plan, &map, &next, false).expect("a report");
    assert_eq!(report.violations, 0);
    add("report", start);
    let mark = |map: &Map| -> String {
        map.digest()[..4]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    };
    println!(
        "{row} slices {:>7} digests {} {}",
        next.base_count(),
        mark(&map),
        mark(&next)
    );
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    if let Some(nodes) = value("--nodes") {
        let number = |name| value(name).and_then(|text| text.parse().ok()).unwrap_or(1);
        let shape = value("--shape").unwrap_or_else(|| "mixed".to_owned());
        let nodes = nodes.parse().expect("a number of nodes");
        return run((nodes, number("--copies"), number("--labels"), &shape));
    }
    for (nodes, copies, labels, shape) in FLEETS {
        let this = env::current_exe().expect("the path of this program");
        let [nodes, copies, labels] = [nodes, copies, labels].map(|number| number.to_string());
        let mut one = Command::new(this);
        one.args(["--nodes", &nodes, "--copies", &copies, "--labels", &labels]);
        let done = one.args(["--shape", shape]).status().expect("a process");
        assert!(done.success(), "{nodes} nodes, {copies} copies: {done}");
    }
}
