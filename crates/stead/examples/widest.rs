//! What the widest fleets cost: processor seconds and peak memory of the first map, of a step, and
//! of the report of that change. The table of docs/rebalance.md. Run by `make bench-widest`.
//!
//! In a step of `weights`, a tenth of the nodes leave or get another weight. In a step of `copies`,
//! R is one less. In a step of `labels`, a tenth of the nodes get the labels of others.
//!
//! Each fleet runs in a process of its own, so that its peak is its own. `--nodes N --copies R
//! --labels L --shape tree|mixed|own --step weights|copies|labels` runs one fleet. Two programs
//! that print the same digests have made the same bytes.

use std::env;
use std::fs;
use std::process::Command;

use stead::{build, Fleet, Map, Plan};

/// Nodes, copies, labels, how the labels divide the nodes, and what the step changes.
type Wide<'a> = (usize, usize, usize, &'a str, &'a str);

/// The fleets. First those that somebody may have, then the widest that the limits allow.
const FLEETS: [Wide; 12] = [
    (1_000, 16, 3, "mixed", "weights"),
    (4_000, 16, 3, "mixed", "weights"),
    (4_000, 16, 16, "tree", "weights"),
    (65_536, 3, 4, "mixed", "weights"),
    (1_000, 64, 16, "tree", "weights"),
    (1_000, 64, 16, "mixed", "weights"),
    (1_000, 64, 16, "mixed", "copies"),
    (1_000, 64, 16, "mixed", "labels"),
    (4_096, 64, 3, "mixed", "weights"),
    (4_096, 128, 1, "mixed", "weights"),
    (4_096, 255, 0, "mixed", "weights"),
    (65_536, 12, 0, "mixed", "weights"),
];

/// The text of a fleet. In a `tree`, each label halves the domains of the one before it; `mixed`
/// labels have 2, 3, 4 ... values that do not follow each other; with `own`, each node is alone.
fn text((nodes, copies, labels, shape, change): Wide, step: bool) -> String {
    let names: Vec<String> = (0..labels).map(|label| format!("'l{label}'")).collect();
    let step = if step { change } else { "" };
    let copies = copies - usize::from(step == "copies");
    let mut text = format!("name = 'widest'\nreplicas = {copies}\n");
    text += &format!("spread = [{}]\n", names.join(", "));
    for node in 0..nodes {
        let weight = match (step, node % 20) {
            ("weights", 3) => 0,
            ("weights", 13) => 4,
            _ => 1 + node * 7919 % 3,
        };
        let of = if step == "labels" && node % 10 == 3 {
            node * 7 % nodes
        } else {
            node
        };
        let value = |label: usize| match shape {
            "tree" => of >> 10usize.saturating_sub(label),
            "mixed" => of % (label + 2),
            _ => of,
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

fn run(of: Wide) {
    let (nodes, copies, labels, shape, change) = of;
    let mut row = format!("{nodes:>6} {copies:>4} {labels:>3} {shape:<6} {change:<8}");
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
        let word = |name, or: &str| value(name).unwrap_or_else(|| or.to_owned());
        let (shape, step) = (word("--shape", "mixed"), word("--step", "weights"));
        let nodes = nodes.parse().expect("a number of nodes");
        let (copies, labels) = (number("--copies"), number("--labels"));
        return run((nodes, copies, labels, &shape, &step));
    }
    for (nodes, copies, labels, shape, step) in FLEETS {
        let this = env::current_exe().expect("the path of this program");
        let [nodes, copies, labels] = [nodes, copies, labels].map(|number| number.to_string());
        let mut one = Command::new(this);
        one.args(["--nodes", &nodes, "--copies", &copies, "--labels", &labels]);
        one.args(["--shape", shape, "--step", step]);
        let done = one.status().expect("a process");
        assert!(done.success(), "{nodes} nodes, {copies} copies: {done}");
    }
}
