//! What is copied from where to where: a matrix of the nodes if they are few, a list of the largest
//! sums if they are many, and every single move on request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stead::report::{part, Flow, MoveReport, Report};

use crate::exit::Result;
use crate::output::Out;
use crate::text::{natural, Table, WIDTH};

/// The largest number of sources, and of targets, of a matrix.
const MATRIX: usize = 12;
/// How many lines a list has, unless all are wanted.
const LISTED: usize = 12;

/// The name of a source that is no node: copies are added.
const ADDED: &str = "(added)";
/// The name of a target that is no node: copies are dropped.
const DROPPED: &str = "(dropped)";

/// Writes what each source copies to each target in sum.
pub fn write_totals(report: &Report, all: bool, out: &mut Out) -> Result {
    let flows = report.flows.as_deref().unwrap_or(&[]);
    if flows.is_empty() {
        return Ok(());
    }
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |copies| copies.of_replicas);
    out.line("")?;
    match matrix(flows, copies) {
        Some(lines) => lines.iter().try_for_each(|line| out.line(line)),
        None => list(flows, copies, all, out),
    }
}

fn source<'a>(flow: &Flow<'a>) -> &'a str {
    flow.from.unwrap_or(ADDED)
}

fn target<'a>(flow: &Flow<'a>) -> &'a str {
    flow.to.unwrap_or(DROPPED)
}

/// Draws the matrix, with sums at its edges; `None` if it has too many nodes or is too wide.
fn matrix(flows: &[Flow], copies: u32) -> Option<Vec<String>> {
    let sources: BTreeSet<&str> = flows.iter().map(source).collect();
    let targets: BTreeSet<&str> = flows.iter().map(target).collect();
    if sources.len().max(targets.len()) > MATRIX {
        return None;
    }
    // the percent sign is in the corner, so that the cells are narrow
    let sum = |from: Option<&str>, to: Option<&str>| {
        let here = flows.iter().filter(|flow| {
            from.is_none_or(|from| source(flow) == from) && to.is_none_or(|to| target(flow) == to)
        });
        here.map(|flow| flow.amount.count()).sum::<u128>()
    };
    let cell = |points: u128| match points {
        0 => ".".to_owned(),
        _ => match part(points, copies).strip_suffix(" %") {
            Some(number) => number.replace("< 0.01", "<0.01"),
            None => "<0.01".to_owned(),
        },
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let heading = ["from \\ to, %"]
        .into_iter()
        .chain(targets.iter().copied())
        .chain(["sum"]);
    rows.push(heading.map(str::to_owned).collect());
    for from in sources.iter().map(|from| Some(*from)).chain([None]) {
        let cells = targets.iter().map(|to| cell(sum(from, Some(to))));
        let name = from.unwrap_or("sum").to_owned();
        rows.push(
            [name]
                .into_iter()
                .chain(cells)
                .chain([cell(sum(from, None))])
                .collect(),
        );
    }
    let widths: Vec<usize> = (0..targets.len() + 2)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let wide = widths.iter().sum::<usize>();
    let gap = [2, 1]
        .into_iter()
        .find(|gap| wide + gap * (widths.len() - 1) <= WIDTH)?;
    let line = |row: &Vec<String>| {
        let mut line = format!("{:width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line += &format!("{:gap$}{cell:>width$}", "");
        }
        line
    };
    Some(rows.iter().map(line).collect())
}

/// Writes what each node gives and gets in sum, and then the largest sums of pairs.
fn list(flows: &[Flow], copies: u32, all: bool, out: &mut Out) -> Result {
    let mut sums: BTreeMap<&str, [u128; 2]> = BTreeMap::new();
    for flow in flows {
        let points = flow.amount.count();
        sums.entry(source(flow)).or_default()[0] += points;
        sums.entry(target(flow)).or_default()[1] += points;
    }
    let mut sums: Vec<(&str, [u128; 2])> = sums.into_iter().collect();
    sums.sort_by_key(|(name, [gives, gets])| (Reverse(*gives.max(gets)), natural(name)));
    let most = if all { usize::MAX } else { LISTED };
    let of = |points: u128| match points {
        0 => String::new(),
        _ => part(points, copies),
    };
    // nodes that give and get the same, as far as it is shown, stand together: one row for them
    let sums: Vec<(String, [u128; 2])> = sums
        .chunk_by(|(_, one), (_, other)| !all && one.map(of) == other.map(of))
        .map(|same| {
            let (name, amounts) = same[0];
            match same.len() {
                1 => (name.to_owned(), amounts),
                n => (format!("{name} and {} more", n - 1), amounts),
            }
        })
        .collect();
    let shown = shown(sums.len(), most);
    let mut table = Table::new(&["node", "gives", "gets"], &[1, 2]);
    for (name, [gives, gets]) in &sums[..shown] {
        table.row([name.clone(), of(*gives), of(*gets)]);
    }
    table.write(out)?;
    if let Some((_, largest)) = sums.get(shown) {
        let (more, most) = (sums.len() - shown, of(largest[0].max(largest[1])));
        out.line(format_args!(
            "and {more} more like these, of at most {most} each: --all"
        ))?;
    }
    let shown = self::shown(flows.len(), most);
    let mut table = Table::new(&["from", "to", "copies"], &[2]);
    for flow in &flows[..shown] {
        let amount = of(flow.amount.count());
        table.row([source(flow).to_owned(), target(flow).to_owned(), amount]);
    }
    out.line("")?;
    table.write(out)?;
    let rest = &flows[shown..];
    if rest.is_empty() {
        return Ok(());
    }
    let sum = rest.iter().map(|flow| flow.amount.count()).sum();
    out.line(format_args!(
        "and {} more like these, {} together: --all",
        rest.len(),
        of(sum)
    ))
}

/// Returns how many of so many lines are shown: one line more is not worth a line that says so.
fn shown(lines: usize, most: usize) -> usize {
    if lines <= most.saturating_add(1) {
        lines
    } else {
        most
    }
}

/// Writes every move.
pub fn write_each(report: &Report, out: &mut Out) -> Result {
    let moves = report.moves.as_deref().unwrap_or(&[]);
    if moves.is_empty() {
        return Ok(());
    }
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |copies| copies.of_replicas);
    let mut table = Table::new(&["first", "last", "share", "from", "to", "cause"], &[2]);
    let point = |text: &str| u64::from_str_radix(text, 16).map_or(0, u128::from);
    for m in moves {
        let MoveReport { first, last, .. } = m;
        let share = part(point(last) + 1 - point(first), copies);
        let (from, to) = (m.from.unwrap_or("-"), m.to.unwrap_or("-"));
        let text = [first, last, &share, from, to, m.cause];
        table.row(text.map(str::to_owned));
    }
    out.line("")?;
    table.write(out)
}
