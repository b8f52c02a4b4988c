//! The rows of the nodes and weighted policies that change: weight, share, a bar and the change.

use std::collections::HashMap;

use stead::report::{HolderReport, Left, Report};

use crate::asked::{asked, differs};
use crate::exit::Result;
use crate::output::Out;
use crate::picture::Glyphs;
use crate::text::{by_name, count, Scale, Table, WIDTH};

/// How many rows are written, unless all are wanted. Of more rows, those that look the same become
/// one.
const ROWS: usize = 20;
/// The smallest and the largest width of a bar.
const BAR: (usize, usize) = (4, 16);

/// A row, before it is known which columns there are.
struct Row {
    label: String,
    weight: String,
    wanted: u128,
    share: u128,
    pinned: u128,
    change: i128,
    changed: bool,
    /// how many nodes it stands for
    nodes: usize,
}

/// Writes the rows that change; with `all`, every row.
pub fn write(report: &Report, all: bool, out: &mut Out) -> Result {
    let mut rows = rows(report);
    let has_old = report.old_epoch.is_some();
    // bars are parts of the largest share of all, whether its row is shown or not
    let largest = rows.iter().map(|row| row.share).max().unwrap_or(0);
    let total = rows.len();
    if !all && has_old {
        rows.retain(|row| row.changed);
    }
    let changed = rows.len();
    // all shares are parts of the copies of the larger R, so that they add up when R changes
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |copies| copies.of_replicas);
    let scale = scale_of(&rows, copies);
    // one row more is not worth a line that says so
    if !all && rows.len() > ROWS + 1 {
        rows = folded(rows, scale);
    }
    let left_out = match all {
        true => Vec::new(),
        false => keep_largest(&mut rows, has_old),
    };
    if !rows.is_empty() {
        out.line("")?;
        table(&rows, scale, largest, has_old).write(out)?;
    }
    if !left_out.is_empty() {
        let largest = left_out
            .iter()
            .map(|row| row.size(has_old))
            .max()
            .unwrap_or(0);
        let what = if has_old {
            "that change by at most"
        } else {
            "of at most"
        };
        out.line(format_args!(
            "and {} more like these, {what} {}: --all",
            left_out.iter().map(|row| row.nodes).sum::<usize>(),
            scale.part(largest)
        ))?;
    }
    match total - changed {
        0 => Ok(()),
        kept => {
            out.line("")?;
            let keep = if kept == 1 { "keeps" } else { "keep" };
            out.line(format_args!(
                "{} {keep} what {} hold{}: --all",
                count(kept, "node"),
                if kept == 1 { "it" } else { "they" },
                if kept == 1 { "s" } else { "" }
            ))
        }
    }
}

impl Row {
    /// What a row is sorted by when there are too many: the change, or the share of a first map.
    fn size(&self, has_old: bool) -> u128 {
        match has_old {
            true => self.change.unsigned_abs(),
            false => self.share,
        }
    }
}

/// Makes one row of those that differ only in their names, at the place of the first of them.
fn folded(rows: Vec<Row>, scale: Scale) -> Vec<Row> {
    let of = |points: u128| scale.part(points);
    let mut places: HashMap<[String; 5], usize> = HashMap::new();
    let mut folded: Vec<Row> = Vec::new();
    for row in rows {
        let [wanted, share, pinned] = [row.wanted, row.share, row.pinned].map(of);
        // what names say in brackets is not lost, and nodes that left have no weight
        let state = row.label.split_once(" (").map_or("", |(_, state)| state);
        // a policy is not a node, and a renamed node stands for itself
        let kind = row.label.split_once("policy ").map_or("", |_| "policy");
        let looks = [
            format!("{} {kind} {state}", row.weight),
            wanted,
            share,
            pinned,
            scale.signed(row.change),
        ];
        match places.get(&looks).and_then(|place| folded.get_mut(*place)) {
            Some(first) => {
                first.nodes += 1;
                if first.change.unsigned_abs() < row.change.unsigned_abs() {
                    first.change = row.change;
                }
            }
            None => {
                places.insert(looks, folded.len());
                folded.push(row);
            }
        }
    }
    for row in folded.iter_mut().filter(|row| row.nodes > 1) {
        let more = row.nodes - 1;
        row.label = match row.label.split_once(" (") {
            Some((name, state)) => format!("{name} and {more} more ({state}"),
            None => format!("{} and {more} more", row.label),
        };
    }
    folded
}

/// Returns how the shares and changes of these rows are written.
fn scale_of(rows: &[Row], copies: u32) -> Scale {
    let largest = rows
        .iter()
        .map(|row| row.share.max(row.change.unsigned_abs()))
        .max();
    Scale::of(largest.unwrap_or(0), copies)
}

/// Keeps the largest rows, in their order, if there are too many. Returns the others.
fn keep_largest(rows: &mut Vec<Row>, has_old: bool) -> Vec<Row> {
    if rows.len() <= ROWS + 1 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(rows[*i].size(has_old)));
    let mut is_kept = vec![false; rows.len()];
    order.iter().take(ROWS).for_each(|i| is_kept[*i] = true);
    let (kept, others): (Vec<_>, Vec<_>) = std::mem::take(rows)
        .into_iter()
        .zip(is_kept)
        .partition(|(_, kept)| *kept);
    *rows = kept.into_iter().map(|(row, _)| row).collect();
    others.into_iter().map(|(row, _)| row).collect()
}

fn number(text: &str) -> u128 {
    text.parse().unwrap_or(0)
}

fn rows(report: &Report) -> Vec<Row> {
    let left = |what: &'static str| report.left.iter().flatten().filter(move |l| l.what == what);
    let asked = asked(&report.verdict, report.replicas);
    let (of_nodes, of_policies) = asked.split_at(report.nodes.len().min(asked.len()));
    let mut nodes: Vec<_> = report.nodes.iter().zip(of_nodes).collect();
    by_name(&mut nodes, |(node, _)| node.name);
    let nodes = nodes.into_iter().map(|(node, asked)| row(node, *asked, ""));
    let gone = left("node").map(|node| row_of_left(node, ""));
    let policies = report.policies.iter().zip(of_policies);
    let policies = policies.map(|(policy, asked)| row(policy, *asked, "policy "));
    let gone_policies = left("policy").map(|policy| row_of_left(policy, "policy "));
    nodes
        .chain(gone)
        .chain(policies)
        .chain(gone_policies)
        .collect()
}

fn row(holder: &HolderReport, asked: u128, kind: &str) -> Row {
    let name = holder.name;
    let label = match (holder.was, holder.leaving) {
        (Some(was), _) => format!("{kind}{name} (was {was})"),
        (None, true) => format!("{kind}{name} (leaving)"),
        (None, false) => format!("{kind}{name}"),
    };
    let change = holder
        .change_points
        .as_ref()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let old_weight = holder
        .old_weight
        .as_ref()
        .filter(|old| **old != holder.weight);
    Row {
        label,
        weight: match old_weight {
            Some(old) => format!("{old} -> {}", holder.weight),
            None => holder.weight.clone(),
        },
        wanted: asked,
        share: number(&holder.points),
        pinned: number(&holder.pinned_points),
        change,
        nodes: 1,
        changed: change != 0
            || holder.was.is_some()
            || holder.leaving
            || old_weight.is_some()
            || (holder.old_points.is_some() && holder.old_weight.is_none()),
    }
}

fn row_of_left(left: &Left, kind: &str) -> Row {
    Row {
        label: format!("{kind}{} (left)", left.name),
        weight: "-".to_owned(),
        wanted: 0,
        share: 0,
        pinned: 0,
        change: left.change_points.parse().unwrap_or(0),
        changed: true,
        nodes: 1,
    }
}

/// Returns the width that a bar has beside the widest label and weight and the columns that there
/// are: wanted, pinned and change.
fn bar_width(rows: &[Row], columns: [bool; 3], decimals: usize) -> usize {
    let widest = |text: fn(&Row) -> &str, least: usize| {
        let widths = rows.iter().map(|row| text(row).chars().count());
        widths.max().unwrap_or(0).max(least)
    };
    let texts = widest(|row| &row.label, "node".len()) + widest(|row| &row.weight, "weight".len());
    // `100.00 %` and two spaces; a change has a sign besides
    let numbers = (8 + decimals) * (columns.iter().filter(|there| **there).count() + 1) + 1;
    WIDTH
        .saturating_sub(texts + numbers + 4)
        .clamp(BAR.0, BAR.1)
}

fn table(rows: &[Row], scale: Scale, largest: u128, has_old: bool) -> Table {
    let glyphs = Glyphs::of_stdout();
    let of = |points: u128| scale.part(points);
    let is_off = |row: &Row| differs(row.share, row.wanted, scale.copies());
    // if a difference can be read in one row, every row that has one says what its weight asks for
    let has_wanted = rows
        .iter()
        .any(|row| is_off(row) && of(row.wanted) != of(row.share));
    let wanted = |row: &Row| match is_off(row) {
        true => of(row.wanted),
        false => String::new(),
    };
    let has_pinned = rows.iter().any(|row| row.pinned > 0);
    let largest = largest.max(1);
    let bar = bar_width(rows, [has_wanted, has_pinned, has_old], scale.decimals());
    let mut columns = vec![("node", false), ("weight", true)];
    columns.extend(has_wanted.then_some(("wanted", true)));
    columns.extend([("share", true), ("", false)]);
    columns.extend(has_pinned.then_some(("pinned", true)));
    columns.extend(has_old.then_some(("change", true)));
    let mut table = Table::of_columns(&columns);
    for row in rows {
        let bar = glyphs.bar(row.share as f64 / largest as f64, bar);
        let cells = [row.label.clone(), row.weight.clone()]
            .into_iter()
            .chain(has_wanted.then(|| wanted(row)))
            .chain([of(row.share), bar])
            .chain(has_pinned.then(|| match row.pinned {
                0 => String::new(),
                points => of(points),
            }))
            .chain(has_old.then(|| scale.signed(row.change)));
        table.row(cells);
    }
    table
}
