//! What is copied from where to where: a matrix of the nodes if they are few, a list of the largest
//! sums if they are many, and every single move on request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use stead::report::{part, Flow, MoveReport, Report};

use crate::exit::Result;
use crate::output::{Out, HEADING};
use crate::picture::Glyphs;
use crate::text::{by_name, natural, Table, WIDTH};

/// The largest number of sources, and of targets, of a matrix.
const MATRIX: usize = 12;
/// How many lines a list has, unless all are wanted.
const LISTED: usize = 12;

/// The name of a source that is no node: copies are added, and no node has them. Behind the name of
/// a node: it has the copies, and does not give them up.
pub const ADDED: &str = "(added)";
/// The name of a target that is no node: copies are dropped.
pub const DROPPED: &str = "(dropped)";

/// Names where copies come from, given the node that gives them up and the one at which added
/// copies are read: `db1`, `db1 (added)` or `(added)`.
pub fn from(gives: Option<&str>, source: Option<&str>) -> String {
    match (gives, source) {
        (Some(node), _) => node.to_owned(),
        (None, Some(node)) => format!("{node} {ADDED}"),
        (None, None) => ADDED.to_owned(),
    }
}

/// What goes from one to another, as the tables name them.
struct Row<'a> {
    from: String,
    to: &'a str,
    points: u128,
}

/// Writes what each source copies to each target in sum.
pub fn write_totals(report: &Report, all: bool, out: &mut Out) -> Result {
    let flows: Vec<Row> = rows(report.flows.as_deref().unwrap_or(&[]));
    let flows = flows.as_slice();
    if flows.is_empty() {
        return Ok(());
    }
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |copies| copies.of_replicas);
    out.line("")?;
    match matrix(flows, copies, Glyphs::of_stdout()) {
        Some(lines) => {
            let (heading, rows) = lines.split_first().map_or(("", &[][..]), |(h, r)| (h, r));
            out.line(out.paint(HEADING, heading))?;
            rows.iter().try_for_each(|line| out.line(line))
        }
        None => list(flows, copies, all, out),
    }
}

fn rows<'a>(flows: &[Flow<'a>]) -> Vec<Row<'a>> {
    let row = |flow: &Flow<'a>| Row {
        from: from(flow.from, flow.source),
        to: flow.to.unwrap_or(DROPPED),
        points: flow.amount.count(),
    };
    flows.iter().map(row).collect()
}

/// The names at one edge of the matrix, each once.
fn names<'r>(rows: &'r [Row], of: impl Fn(&'r Row) -> &'r str) -> Vec<&'r str> {
    let names: BTreeSet<&str> = rows.iter().map(of).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    by_name(&mut names, |name| name);
    names
}

/// Draws the matrix, with sums at its edges; `None` if it has too many nodes or is too wide. With
/// Unicode a shade before each number shows where the most goes, if there is room for it.
fn matrix(flows: &[Row], copies: u32, glyphs: Glyphs) -> Option<Vec<String>> {
    let sources = names(flows, |row| row.from.as_str());
    let targets = names(flows, |row| row.to);
    if sources.len().max(targets.len()) > MATRIX {
        return None;
    }
    let corner = match glyphs {
        Glyphs::Unicode => "from → to, %",
        Glyphs::Ascii => "from \\ to, %",
    };
    let sum = |from: Option<&str>, to: Option<&str>| {
        let here = flows.iter().filter(|row| {
            from.is_none_or(|from| row.from == from) && to.is_none_or(|to| row.to == to)
        });
        here.map(|row| row.points).sum::<u128>()
    };
    let most = flows.iter().map(|row| row.points).max();
    let most = most.unwrap_or(0) as f64;
    // the percent sign is in the corner, so that the cells are narrow
    let number = |points: u128| match points {
        0 => ".".to_owned(),
        _ => match part(points, copies).strip_suffix(" %") {
            Some(number) => number.replace("< 0.01", "<0.01"),
            None => "<0.01".to_owned(),
        },
    };
    let rows = |shaded: bool| -> Vec<Vec<String>> {
        let cell = |points: u128| match points {
            some if shaded && some > 0 => {
                format!("{} {}", glyphs.shade(some as f64 / most), number(some))
            }
            points => number(points),
        };
        let heading = [corner].into_iter().chain(targets.iter().copied());
        let heading = heading.chain(["sum"]).map(str::to_owned).collect();
        let row = |from: &str| -> Vec<String> {
            let cells = targets.iter().map(|to| cell(sum(Some(from), Some(to))));
            let row = [from.to_owned()].into_iter().chain(cells);
            row.chain([number(sum(Some(from), None))]).collect()
        };
        let sums = targets.iter().map(|to| number(sum(None, Some(to))));
        let last = ["sum".to_owned()].into_iter().chain(sums);
        let last = last.chain([number(sum(None, None))]).collect();
        [heading]
            .into_iter()
            .chain(sources.iter().map(|from| row(from)))
            .chain([last])
            .collect()
    };
    let fitted = |rows: Vec<Vec<String>>| -> Option<Vec<String>> {
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..targets.len() + 2).map(width).collect();
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
    };
    let shaded = (glyphs == Glyphs::Unicode).then(|| fitted(rows(true)));
    shaded.flatten().or_else(|| fitted(rows(false)))
}

/// Writes what each node gives and gets in sum, and then the largest sums of pairs.
fn list(flows: &[Row], copies: u32, all: bool, out: &mut Out) -> Result {
    let mut sums: BTreeMap<&str, [u128; 2]> = BTreeMap::new();
    for row in flows {
        sums.entry(&row.from).or_default()[0] += row.points;
        sums.entry(row.to).or_default()[1] += row.points;
    }
    let mut sums: Vec<(&str, [u128; 2])> = sums.into_iter().collect();
    sums.sort_by_key(|(name, [gives, gets])| (Reverse(*gives.max(gets)), natural(name)));
    let most = if all { usize::MAX } else { LISTED };
    let of = |points: u128| match points {
        0 => String::new(),
        _ => part(points, copies),
    };
    // nodes that give and get the same, as far as it is shown, stand together: one row for them
    let sums: Vec<(String, usize, [u128; 2])> = sums
        .chunk_by(|(_, one), (_, other)| !all && one.map(of) == other.map(of))
        .map(|same| {
            let (name, amounts) = same[0];
            match same.len() {
                1 => (name.to_owned(), 1, amounts),
                n => (format!("{name} and {} more", n - 1), n, amounts),
            }
        })
        .collect();
    let shown = shown(sums.len(), most);
    let mut table = Table::new(&["node", "gives", "gets"], &[1, 2]);
    for (name, _, [gives, gets]) in &sums[..shown] {
        table.row([name.clone(), of(*gives), of(*gets)]);
    }
    table.write(out)?;
    if let Some((_, _, largest)) = sums.get(shown) {
        let more: usize = sums[shown..].iter().map(|(_, nodes, _)| nodes).sum();
        let most = of(largest[0].max(largest[1]));
        out.line(format_args!(
            "and {more} more like these, of at most {most} each: --all"
        ))?;
    }
    let shown = self::shown(flows.len(), most);
    let mut table = Table::new(&["from", "to", "copies"], &[2]);
    for row in &flows[..shown] {
        table.row([row.from.clone(), row.to.to_owned(), of(row.points)]);
    }
    out.line("")?;
    table.write(out)?;
    let rest = &flows[shown..];
    if rest.is_empty() {
        return Ok(());
    }
    let sum = rest.iter().map(|row| row.points).sum();
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

#[cfg(test)]
mod tests {
    use stead::{build, Fleet};

    use super::*;

    /// Draws what moves when the nodes `more` come to a fleet of `few`.
    fn drawn(few: usize, more: usize, glyphs: Glyphs) -> Option<Vec<String>> {
        let fleet = |n: usize| {
            let node = |i| format!("[[node]]\nname = 'a-node-{i}'\nweight = {}\n", 1 + i % 2);
            let nodes: String = (0..n).map(node).collect();
            Fleet::parse(&format!("name = 'm'\n{nodes}"), "fleet.toml").unwrap()
        };
        let old = build(&fleet(few), None).unwrap();
        let new = build(&fleet(few + more), Some(&old)).unwrap();
        let report = Report::of(Some(&old), &new, true).unwrap();
        matrix(&rows(report.flows.as_deref().unwrap()), 1, glyphs)
    }

    #[test]
    fn a_matrix_has_shades_where_there_is_room() {
        let [plain, shaded] = [Glyphs::Ascii, Glyphs::Unicode].map(|g| drawn(2, 2, g).unwrap());
        assert_eq!(
            plain,
            [
                "from \\ to, %  a-node-2  a-node-3    sum",
                "a-node-0         16.67         .  16.67",
                "a-node-1         <0.01     33.33  33.33",
                "sum              16.67     33.33  50.00",
            ]
        );
        assert_eq!(
            shaded,
            [
                "from → to, %  a-node-2  a-node-3    sum",
                "a-node-0       ▒ 16.67         .  16.67",
                "a-node-1       ░ <0.01   █ 33.33  33.33",
                "sum              16.67     33.33  50.00",
            ]
        );
        for (few, more) in [(11, 4), (4, 5), (12, 1)] {
            let lines = drawn(few, more, Glyphs::Unicode).unwrap();
            assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
            assert_eq!(lines.len(), few + 2);
        }
        assert_eq!(drawn(13, 1, Glyphs::Unicode), None);
        assert_eq!(drawn(4, 9, Glyphs::Ascii), None);
    }
}
