//! `stead diff --sum`: what moves of the rows or bytes of keys, from which node to which.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use stead::path::Fold;
use stead::policy::NodeId;
use stead::{Map, Plan};
use stead_plot::grouped;

use super::counted;
use crate::change::{Show, ADDED, DROPPED};
use crate::exit::Result;
use crate::output::{Out, HEADING};
use crate::text::{natural, wrapped, Table};

/// How many pairs of nodes are listed, unless all are wanted.
const LISTED: usize = 20;

/// A number of lines or of copies, and the sum of their counts. No count reaches 2^64, and no file
/// has 2^64 lines: the sum fits.
#[derive(Clone, Copy, Default)]
struct Sum {
    lines: u64,
    count: u128,
}

/// The node that gives a copy, and the one that gets it.
type Nodes = (Option<NodeId>, Option<NodeId>);

/// What moves of the lines of a file.
pub struct Moved {
    all: Sum,
    /// how many lines get another set of nodes
    moved: u64,
    /// what is copied to a node, and what no node has any more
    copied: Sum,
    dropped: Sum,
    /// every copy of both
    flows: HashMap<Nodes, Sum>,
    /// whether any line has a count
    counted: bool,
}

/// The same in JSON. A count may be too large for a number of JSON.
#[derive(Serialize)]
struct Figures<'a> {
    name: &'a str,
    old_epoch: u64,
    epoch: u64,
    replicas: u32,
    lines: u64,
    sum: String,
    moved_lines: u64,
    copied: SumJson,
    dropped: SumJson,
    flows: Vec<FlowJson<'a>>,
}

#[derive(Serialize)]
struct FlowJson<'a> {
    from: Option<&'a str>,
    to: Option<&'a str>,
    #[serde(flatten)]
    sum: SumJson,
}

#[derive(Serialize)]
struct SumJson {
    copies: u64,
    sum: String,
}

impl From<Sum> for SumJson {
    fn from(sum: Sum) -> SumJson {
        SumJson {
            copies: sum.lines,
            sum: sum.count.to_string(),
        }
    }
}

impl Sum {
    fn add(&mut self, count: u64) {
        self.lines += 1;
        self.count += u128::from(count);
    }
}

impl Moved {
    /// Adds up the lines of a file.
    pub fn of(plan: &Plan, path: &Path, fold: Fold) -> Result<Moved> {
        let mut moved = Moved {
            all: Sum::default(),
            moved: 0,
            copied: Sum::default(),
            dropped: Sum::default(),
            flows: HashMap::new(),
            counted: false,
        };
        counted::lines(path, fold, |keys, counts| {
            moved.counted |= counts.is_some();
            let count_of = |key: usize| {
                let count = counts.and_then(|counts| counts.get(key));
                count.copied().unwrap_or(1)
            };
            (0..keys.len()).for_each(|key| moved.all.add(count_of(key)));
            let mut last = None;
            plan.affects_keys(keys, 0, |row| {
                let count = count_of(row.key);
                moved.moved += u64::from(last.replace(row.key) != Some(row.key));
                match row.to {
                    Some(_) => moved.copied.add(count),
                    None => moved.dropped.add(count),
                }
                moved
                    .flows
                    .entry((row.from, row.to))
                    .or_default()
                    .add(count);
            });
            Ok(())
        })?;
        match moved.all.lines {
            0 => Err(counted::nothing(path, "lines")),
            _ => Ok(moved),
        }
    }

    /// Writes what moves between these maps.
    pub fn write(&self, old: &Map, new: &Map, show: &Show, out: &mut Out) -> Result {
        let from = |(from, _): Nodes| from.map(|node| old.node(node).name());
        let to = |(_, to): Nodes| to.map(|node| new.node(node).name());
        let mut flows: Vec<(Nodes, Sum)> = self.flows.iter().map(|(n, sum)| (*n, *sum)).collect();
        let names = |nodes| natural(from(nodes).unwrap_or(ADDED));
        let targets = |nodes| natural(to(nodes).unwrap_or(DROPPED));
        flows.sort_by_cached_key(|(nodes, sum)| {
            let size = Reverse((sum.count, sum.lines));
            (size, names(*nodes), targets(*nodes))
        });
        if show.json() {
            return out.json(&Figures {
                name: new.name(),
                old_epoch: old.epoch(),
                epoch: new.epoch(),
                replicas: replicas(old, new),
                lines: self.all.lines,
                sum: self.all.count.to_string(),
                moved_lines: self.moved,
                copied: self.copied.into(),
                dropped: self.dropped.into(),
                flows: flows
                    .iter()
                    .map(|(nodes, sum)| FlowJson {
                        from: from(*nodes),
                        to: to(*nodes),
                        sum: (*sum).into(),
                    })
                    .collect(),
            });
        }
        for line in wrapped(&self.headline(old, new), "", "  ") {
            out.line(out.paint(HEADING, line))?;
        }
        if flows.is_empty() {
            return Ok(());
        }
        out.line("")?;
        let all = ["from", "to", "copies", "sum"];
        let columns = if self.counted { 4 } else { 3 };
        let cells = |from: &str, to: &str, sum: &Sum| {
            let cells = [
                from.to_owned(),
                to.to_owned(),
                grouped(sum.lines),
                grouped_large(sum.count),
            ];
            cells.into_iter().take(columns).collect::<Vec<String>>()
        };
        let mut table = Table::new(&all[..columns], &[2, 3][..columns - 2]);
        // one row more is not worth a line that says so
        let shown = match show.all() || flows.len() <= LISTED + 1 {
            true => flows.len(),
            false => LISTED,
        };
        for (nodes, sum) in &flows[..shown] {
            let (from, to) = (from(*nodes).unwrap_or(ADDED), to(*nodes).unwrap_or(DROPPED));
            table.row(cells(from, to, sum));
        }
        table.write(out)?;
        let mut rest = Sum::default();
        for (_, sum) in &flows[shown..] {
            rest.lines += sum.lines;
            rest.count += sum.count;
        }
        match flows.len() - shown {
            0 => Ok(()),
            more => out.line(format_args!(
                "and {more} more like these, {} together: --all",
                grouped_large(rest.count)
            )),
        }
    }

    /// Says what is copied and what is dropped, as parts of all copies, as a plan begins.
    fn headline(&self, old: &Map, new: &Map) -> String {
        let replicas = replicas(old, new);
        let all = Sum {
            lines: self.all.lines.saturating_mul(u64::from(replicas)),
            count: self.all.count * u128::from(replicas),
        };
        let of = |sum: Sum| {
            let what = if replicas == 1 { "lines" } else { "copies" };
            let part = 100.0 * sum.count as f64 / (all.count as f64).max(1.0);
            let counts = match self.counted {
                false => String::new(),
                true => format!(
                    ", {} of {}",
                    grouped_large(sum.count),
                    grouped_large(all.count)
                ),
            };
            let lines = grouped(sum.lines);
            format!(
                "{lines} of {} {what}{counts} ({part:.2} %)",
                grouped(all.lines)
            )
        };
        let verb = match old.replicas() < new.replicas() {
            true => "copies",
            false => "moves",
        };
        let (before, after) = (old.epoch(), new.epoch());
        let mut text = format!(
            "{}: epoch {before} -> {after}, {verb} {}",
            new.name(),
            of(self.copied)
        );
        if self.dropped.lines > 0 {
            text += &format!(", drops {}", of(self.dropped));
        }
        text
    }
}

/// Returns the larger R, of which a part of all copies is a part.
fn replicas(old: &Map, new: &Map) -> u32 {
    old.replicas().max(new.replicas())
}

/// Formats a sum with commas; one that a u64 can't hold, without.
fn grouped_large(sum: u128) -> String {
    u64::try_from(sum).map_or_else(|_| sum.to_string(), grouped)
}
