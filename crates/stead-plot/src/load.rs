//! Load: how many accesses each node answers, against what its share deserves.

use stead::load::{Loads, NodeLoad, Reads, Tally};

use crate::bars::{falling, rows, Bar, ROWS};
use crate::canvas::Canvas;
use crate::colours::series;
use crate::figures::{count, grouped};
use crate::groups::{natural, Groups};
use crate::legend;
use crate::options::Options;

/// Draws the load of each node by a log of accesses, over what its weight deserves. Up to 40 nodes
/// are bars of their hottest key, the next nine, and all others; more are one falling line. `unit`
/// says what the counts of the log are, such as `accesses`.
pub fn load(tally: &Tally, reads: Reads, unit: &str, options: &Options) -> String {
    let map = tally.map();
    let loads = Loads::of(tally, reads);
    let name = |load: &NodeLoad| map.node(load.node).name().to_owned();
    let fullest = loads.fullest();
    let over = fullest.and_then(|load| load.over_mean).unwrap_or(0.0);
    let line = format!(
        "{} {}. The fullest node, {}, has {over:.2} times what its weight deserves; no placement of this log can be below {:.2}, the floor.",
        grouped(tally.accesses()),
        match (tally.accesses(), unit) {
            (1, "accesses") => "access",
            (_, unit) => unit,
        },
        fullest.map_or("none".to_owned(), name),
        loads.floor
    );
    let title = format!(
        "{}: load of {}",
        map.name(),
        count(loads.nodes.len(), "node")
    );
    let mut canvas = Canvas::new(options, title, std::slice::from_ref(&line));
    let known = || loads.nodes.iter().filter(|load| load.over_mean.is_some());
    if known().count() <= ROWS {
        let mut bars: Vec<Bar> = known()
            .map(|load| bar(&loads, tally, load, name(load)))
            .collect();
        bars.sort_by(|a, b| natural(&a.label, &b.label));
        rows(&mut canvas, &bars);
        let parts = ["its hottest key", "its next 9 keys", "all its other keys"];
        let groups = Groups {
            labels: parts.map(str::to_owned).to_vec(),
            of: Vec::new(),
            single: true,
            ranges: Vec::new(),
            said: "A line marks what the node's weight deserves, 1.00.".to_owned(),
        };
        legend::draw(&mut canvas, &groups, |_| true);
        canvas.y -= 6.0;
    } else {
        let values: Vec<(String, f64)> = known()
            .map(|load| (name(load), load.over_mean.unwrap_or(0.0)))
            .collect();
        let floor = format!("floor {:.2}", loads.floor);
        let mut levels = vec![(1.0, "deserved")];
        // beside the other line, its name could not be read
        levels.extend((loads.floor > 1.15).then_some((loads.floor, floor.as_str())));
        falling(&mut canvas, &values, &levels, |value| format!("{value:.2}"));
    }
    let each = known().map(|load| format!("{} {:.2}", name(load), load.over_mean.unwrap_or(0.0)));
    canvas.finish(&format!("{line} {}.", each.collect::<Vec<_>>().join(", ")))
}

fn bar(loads: &Loads, tally: &Tally, load: &NodeLoad, label: String) -> Bar {
    let over = load.over_mean.unwrap_or(0.0);
    let parts = loads.why(tally, load.node).map(|why| {
        let hottest = why.hottest.map_or(0.0, |(_, load)| load);
        [hottest, why.next, why.others.max(0.0)]
    });
    let [hottest, next, others] = parts.unwrap_or([0.0, 0.0, over]);
    Bar {
        said: format!(
            "{label}: {over:.2}, of which its hottest key {hottest:.2}, its next 9 keys {next:.2}"
        ),
        label,
        parts: vec![(hottest, series(0)), (next, series(1)), (others, series(2))],
        mark: Some(1.0),
        ghost: None,
        note: format!("{over:.2}"),
    }
}
