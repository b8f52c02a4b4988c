//! What `stead load` prints: the load of nodes and domains as bars, the hottest keys and slices,
//! and why the fullest node is so full.

use serde::{Serialize, Serializer};
use stead::load::{Loads, NodeLoad, Reads, Tally};
use stead::point::SPACE;
use stead_plot::grouped;

use crate::exit::Result;
use crate::input::{shown, KeyJson};
use crate::output::{Out, HEADING};
use crate::picture::{columns, Glyphs};
use crate::text::{by_name, count, joined, over, wrapped, Table};
use crate::verb::proposed;

/// The most nodes, and domains, that are listed without --all.
const LISTED: usize = 40;
/// How many of the hottest keys are listed, and in JSON.
const HOTTEST: usize = 10;
/// A log with so many keys has some of them twice, unless its lines are something else.
const MANY: u64 = 1000;
const HOTTEST_JSON: usize = 100;
/// How many of the hottest slices are listed.
const SLICES: usize = 5;
/// The longest key that is shown as a whole.
const KEY_SHOWN: usize = 34;

/// The loads of a log.
pub struct Loaded<'a> {
    tally: &'a Tally<'a>,
    loads: &'a Loads,
    /// what the counts of the log are, such as `accesses`
    unit: &'a str,
}

#[derive(Serialize)]
struct Figures<'a> {
    accesses: u64,
    keys: u64,
    reads: &'static str,
    nodes: Vec<Node<'a>>,
    fullest_over_mean: Option<f64>,
    floor_over_mean: f64,
    hottest: Vec<Key<'a>>,
    proposal: Option<proposed::Figures>,
}

#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    weight: String,
    #[serde(serialize_with = "whole_or_not")]
    load: f64,
    over_mean: Option<f64>,
}

#[derive(Serialize)]
struct Key<'a> {
    key: Option<KeyJson<'a>>,
    accesses: u64,
    own: u64,
}

/// Writes a number without a fraction as an integer.
fn whole_or_not<S: Serializer>(number: &f64, to: S) -> std::result::Result<S::Ok, S::Error> {
    match number.fract() == 0.0 {
        true => to.serialize_u64(*number as u64),
        false => to.serialize_f64(*number),
    }
}

impl<'a> Loaded<'a> {
    pub fn new(tally: &'a Tally<'a>, loads: &'a Loads, unit: &'a str) -> Loaded<'a> {
        Loaded { tally, loads, unit }
    }

    /// Writes the figures for programs.
    pub fn json(&self, proposal: Option<proposed::Figures>, out: &mut Out) -> Result {
        let map = self.tally.map();
        let node = |load: &NodeLoad| {
            let node = map.node(load.node);
            Node {
                name: node.name(),
                weight: node.weight().to_string(),
                load: load.load,
                over_mean: load.over_mean,
            }
        };
        let hottest = self.tally.hottest(HOTTEST_JSON);
        out.json(&Figures {
            accesses: self.tally.accesses(),
            keys: self.tally.keys().0,
            reads: self.loads.reads.name(),
            nodes: self.loads.nodes.iter().map(node).collect(),
            fullest_over_mean: self.loads.fullest().and_then(|node| node.over_mean),
            floor_over_mean: self.loads.floor,
            hottest: hottest
                .iter()
                .map(|hot| Key {
                    key: hot.key.map(KeyJson::of),
                    accesses: hot.accesses,
                    own: hot.own,
                })
                .collect(),
            proposal,
        })
    }

    /// Writes the figures for people.
    pub fn text(&self, all: bool, out: &mut Out) -> Result {
        let (keys, exact) = self.tally.keys();
        let reads = match self.loads.reads {
            Reads::Primary => "primaries answer",
            Reads::Spread => "all nodes of a key answer",
        };
        let first = format!(
            "{} epoch {}: {} {} of {}{}; {reads}",
            self.tally.map().name(),
            self.tally.map().epoch(),
            grouped(self.tally.accesses()),
            match (self.tally.accesses(), self.unit) {
                (1, "accesses") => "access",
                (_, unit) => unit,
            },
            if exact { "" } else { "about " },
            match proposed::things(self.tally.map()) {
                "cell" => format!(
                    "{} of {} cells",
                    grouped(keys),
                    grouped(self.tally.map().cells().count() as u64)
                ),
                _ if keys == 1 => "1 key".to_owned(),
                _ => format!("{} keys", grouped(keys)),
            }
        );
        let lines = wrapped(&first, "", "");
        lines.into_iter().try_for_each(|line| out.line(line))?;
        if exact && keys == self.tally.accesses() && keys >= MANY {
            let note = "! no key comes twice: is each line a KEY, or KEY<TAB>COUNT? After \
                        `uniq -c`, awk '{print $2 \"\\t\" $1}' turns them around";
            let lines = wrapped(note, "", "  ");
            lines.into_iter().try_for_each(|line| out.line(line))?;
        }
        if let Some(fullest) = self.loads.fullest() {
            let line = format!(
                "fullest node: {} has {} times what its weight deserves; the floor is {:.2}",
                self.tally.map().node(fullest.node).name(),
                over(fullest.over_mean),
                self.loads.floor
            );
            out.line(out.paint(HEADING, line))?;
        }
        out.line("")?;
        self.nodes(all, out)?;
        self.domains(all, out)?;
        self.keys(out)?;
        self.slices(out)?;
        self.why(out)
    }

    fn nodes(&self, all: bool, out: &mut Out) -> Result {
        let map = self.tally.map();
        let mut nodes: Vec<&NodeLoad> = self.loads.nodes.iter().collect();
        let left = nodes.len().saturating_sub(LISTED);
        if !all && left > 0 {
            // the fullest ones, which sorting leaves in the order of names
            nodes.sort_by(|a, b| {
                b.over_mean
                    .unwrap_or(0.0)
                    .total_cmp(&a.over_mean.unwrap_or(0.0))
            });
            nodes.truncate(LISTED);
        } else {
            by_name(&mut nodes, |load| map.node(load.node).name());
        }
        let mut bars = Bars::new(&["node", "weight", "load", "part", "over mean"]);
        for load in nodes {
            let node = map.node(load.node);
            bars.row(
                vec![node.name().to_owned(), node.weight().to_string()],
                load.load,
                self.tally.accesses(),
                load.over_mean,
            );
        }
        bars.write(out)?;
        if !all && left > 0 {
            out.line(format!(
                "and {left} nodes that are less full; --all shows them"
            ))?;
        }
        Ok(())
    }

    fn domains(&self, all: bool, out: &mut Out) -> Result {
        if self.loads.domains.is_empty() {
            return Ok(());
        }
        out.line("")?;
        let mut bars = Bars::new(&["domain", "load", "part", "over mean"]);
        let listed = if all { usize::MAX } else { LISTED };
        for domain in self.loads.domains.iter().take(listed) {
            let over = (domain.deserved > 0.0).then(|| domain.load / domain.deserved);
            bars.row(
                vec![domain.names.join("/")],
                domain.load,
                self.tally.accesses(),
                over,
            );
        }
        bars.write(out)?;
        match self.loads.domains.len().saturating_sub(listed) {
            0 => Ok(()),
            left => out.line(format!(
                "and {}; --all shows them",
                count(left, "more domain")
            )),
        }
    }

    fn keys(&self, out: &mut Out) -> Result {
        out.line("")?;
        let map = self.tally.map();
        let are_cells = proposed::things(self.tally.map()) == "cell";
        let mut table = match are_cells {
            true => {
                let heads = [
                    "hottest cells, by a key",
                    self.unit,
                    "the key's",
                    "part",
                    "nodes",
                ];
                Table::new(&heads, &[1, 2, 3])
            }
            false => Table::new(&["hottest keys", self.unit, "part", "nodes"], &[1, 2]),
        };
        let hottest = self.tally.hottest(HOTTEST);
        for hot in &hottest {
            let mut row = vec![
                hot.key.map_or(format!("point {}", hot.point), short),
                match hot.missed {
                    0 => grouped(hot.accesses),
                    missed => format!(
                        "{} to {}",
                        grouped(hot.accesses),
                        grouped(hot.accesses + missed)
                    ),
                },
                part(hot.accesses as f64, self.tally.accesses()),
                joined(map, map.policy_of(hot.point)),
            ];
            if are_cells {
                row.insert(2, grouped(hot.own));
            }
            table.row(row);
        }
        table.write(out)?;
        match self.tally.error() {
            0 => Ok(()),
            error => out.line(format!(
                "no key that is missing here has more than {} {}",
                grouped(error.max(hottest.last().map_or(0, |hot| hot.accesses))),
                self.unit
            )),
        }
    }

    fn slices(&self, out: &mut Out) -> Result {
        out.line("")?;
        let map = self.tally.map();
        let mut slices: Vec<_> = self.tally.pieces().collect();
        slices.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.first.cmp(&b.0.first)));
        let mut table = Table::new(
            &[
                "hottest slices, by first point",
                "of the points",
                "of the load",
                "nodes",
            ],
            &[1, 2],
        );
        for (slice, accesses) in slices.into_iter().take(SLICES) {
            table.row([
                slice.first.to_string(),
                format!("{:.2} %", 100.0 * slice.points() as f64 / SPACE as f64),
                part(accesses as f64, self.tally.accesses()),
                joined(map, slice.policy),
            ]);
        }
        table.write(out)
    }

    /// Says what makes the fullest node full.
    fn why(&self, out: &mut Out) -> Result {
        let map = self.tally.map();
        let fullest = self
            .loads
            .fullest()
            .map(|load| (load, self.loads.why(self.tally, load.node)));
        let Some((load, Some(why))) = fullest else {
            return Ok(());
        };
        out.line("")?;
        let name = map.node(load.node).name();
        let title = format!("why {name} has {}", over(load.over_mean));
        let mut table = Table::new(&[&title, ""], &[1]);
        let hottest = why.hottest.map_or(0.0, |(_, load)| load);
        let key = self
            .tally
            .hottest(usize::MAX)
            .into_iter()
            .find(|hot| Some(hot.point) == why.hottest.map(|(point, _)| point));
        let key = key
            .and_then(|hot| hot.key)
            .map_or(String::new(), |key| format!(" {}", short(key)));
        for (what, over) in [
            (format!("its hottest key{key}"), hottest),
            ("its next 9 keys".to_owned(), why.next),
            ("all its other keys".to_owned(), why.others),
        ] {
            // what is next to nothing has no sign
            table.row([what, format!("{over:.2}").replace("-0.00", "0.00")]);
        }
        table.write(out)?;
        out.line(format!(
            "Its share of the points gives {:.2}, and chance {:.2} more or less.",
            why.shares, why.chance
        ))?;
        out.line(match self.loads.reads {
            Reads::Primary if self.loads.floor > 1.0 => format!(
                "The floor is the hottest key of all: the node that answers it has {:.2} from it.",
                self.loads.floor
            ),
            _ => "The floor is 1, where every node has what it deserves.".to_owned(),
        })
    }
}

/// A table of loads with a bar in each row. The bars are as wide as the terminal leaves room for.
struct Bars {
    heading: Vec<String>,
    rows: Vec<(Vec<String>, Option<f64>)>,
}

impl Bars {
    fn new(heading: &[&str]) -> Bars {
        Bars {
            heading: heading.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    fn row(&mut self, mut cells: Vec<String>, load: f64, all: u64, over_mean: Option<f64>) {
        cells.push(grouped(load.round() as u64));
        cells.push(part(load, all));
        cells.push(over(over_mean));
        self.rows.push((cells, over_mean));
    }

    fn write(self, out: &mut Out) -> Result {
        let lists = std::iter::once(&self.heading).chain(self.rows.iter().map(|(cells, _)| cells));
        let mut widths = vec![0; self.heading.len()];
        for cells in lists {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.chars().count().max(*width);
            }
        }
        let used: usize = widths.iter().map(|width| width + 2).sum();
        let room = columns().min(120).saturating_sub(used).clamp(8, 60);
        let most = self
            .rows
            .iter()
            .filter_map(|(_, over)| *over)
            .fold(1.0, f64::max);
        let glyphs = Glyphs::of_stdout();
        let mut heading: Vec<&str> = self.heading.iter().map(String::as_str).collect();
        heading.push("");
        let right: Vec<usize> = (1..self.heading.len()).collect();
        let mut table = Table::new(&heading, &right);
        for (mut cells, over) in self.rows {
            cells.push(glyphs.bar(over.unwrap_or(0.0) / most, room));
            table.row(cells);
        }
        table.write(out)
    }
}

/// Formats a part of all accesses.
fn part(load: f64, all: u64) -> String {
    format!("{:.2} %", 100.0 * load / all.max(1) as f64)
}

/// Formats a key so that it fits into a column.
fn short(key: &[u8]) -> String {
    let text = shown(key);
    match text.chars().count() > KEY_SHOWN {
        true => text
            .chars()
            .take(KEY_SHOWN - 2)
            .chain("..".chars())
            .collect(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_long_keys_are_cut() {
        let numbers = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(short(b"frank"), "\"frank\"");
        assert_eq!(short(&[b'x'; 100]).chars().count(), KEY_SHOWN);
    }
}
