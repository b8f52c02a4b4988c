//! `stead diff --sum`: what moves of the rows or bytes of keys, from which node to which.

use serde::Serialize;
use stead::ways::Way;
use stead_plot::{grouped, grouped_large};

use crate::change::Show;
use crate::exit::Result;
use crate::output::{Out, HEADING};
use crate::summed::{Sum, Summed};
use crate::text::{wrapped, Table};

/// How many pairs of nodes are listed, unless all are wanted.
const LISTED: usize = 20;

/// What moves, in JSON. A count may be too large for a number of JSON.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
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

/// Writes what moves.
pub fn write(sums: &Summed, show: &Show, out: &mut Out) -> Result {
    let (old, new) = (sums.old, sums.new);
    if show.json() {
        let flow = |(way, sum): &(Way, Sum)| FlowJson {
            from: way.from.map(|node| old.node(node).name()),
            source: way.source.map(|node| old.node(node).name()),
            to: way.to.map(|node| new.node(node).name()),
            sum: (*sum).into(),
        };
        return out.json(&Figures {
            name: new.name(),
            old_epoch: old.epoch(),
            epoch: new.epoch(),
            replicas: sums.replicas(),
            lines: sums.all.lines,
            sum: sums.all.count.to_string(),
            moved_lines: sums.moved,
            copied: sums.copied.into(),
            dropped: sums.dropped.into(),
            flows: sums.flows.iter().map(flow).collect(),
        });
    }
    let (before, after) = (old.epoch(), new.epoch());
    let headline = format!(
        "{}: epoch {before} -> {after}, {}",
        new.name(),
        sums.in_words()
    );
    for line in wrapped(&headline, "", "  ") {
        out.line(out.paint(HEADING, line))?;
    }
    if sums.flows.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let unit = sums.unit.as_deref().unwrap_or("sum");
    let all = ["from", "to", "copies", unit];
    let columns = if sums.counted { 4 } else { 3 };
    let mut table = Table::new(&all[..columns], &[2, 3][..columns - 2]);
    // one row more is not worth a line that says so
    let shown = match show.all() || sums.flows.len() <= LISTED + 1 {
        true => sums.flows.len(),
        false => LISTED,
    };
    for (way, sum) in &sums.flows[..shown] {
        let [from, to] = sums.names(*way);
        let cells = [from, to, grouped(sum.lines), grouped_large(sum.count)];
        table.row(cells.into_iter().take(columns));
    }
    table.write(out)?;
    let rest: u128 = sums.flows[shown..].iter().map(|(_, sum)| sum.count).sum();
    match sums.flows.len() - shown {
        0 => Ok(()),
        more => out.line(format_args!(
            "and {more} more like these, {} together: --all",
            grouped_large(rest)
        )),
    }
}
