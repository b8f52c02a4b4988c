//! What moves from where to where, in sum for each pair of nodes.

use std::collections::HashMap;

use stead::report::{part, Flow, Report};
use stead_plot::{grouped, grouped_large};

use super::html::{section, Html};
use super::sheet::{bar, bars, name, number, Cell, Sheet};
use super::tiles::remark;
use crate::change::{from, ADDED, DROPPED};
use crate::summed::{Sum, Summed};
use crate::text::{count, Scale};

/// How many pairs are listed.
const LISTED: usize = 500;

/// Returns the table of flows, the largest first; `sums` says what moves of the rows or bytes of
/// keys.
pub fn table(report: &Report, sums: Option<&Summed>) -> Html {
    let flows = report.flows.as_deref().unwrap_or(&[]);
    if flows.is_empty() {
        let html = remark("No copy goes to another node.");
        return section("moves", "What moves where", html);
    }
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |copies| copies.of_replicas);
    let is_counted = sums.is_some_and(|sums| sums.counted);
    let mut columns = vec![name("from"), name("to")];
    columns.push(number(if sums.is_some() { "part" } else { "copies" }));
    columns.push(bars());
    columns.extend(sums.map(|_| number("copies")));
    columns.extend(sums.filter(|_| is_counted).map(|sums| {
        let unit = sums.unit.clone();
        number(unit.unwrap_or_else(|| "sum".to_owned()))
    }));
    let mut sheet = Sheet::new("moves-table", "What each node copies to which", &columns);
    let size = |flow: &Flow| flow.amount.count();
    let most = flows.iter().map(size).max().unwrap_or(0).max(1);
    let scale = Scale::of(most, copies);
    let found = sums.into_iter().flat_map(|sums| {
        let named = |(way, sum)| (sums.names(way), sum);
        sums.flows.iter().copied().map(named)
    });
    let found: HashMap<[String; 2], Sum> = found.collect();
    for flow in flows.iter().take(LISTED) {
        let points = size(flow);
        let mut cells = vec![
            Cell::from(source(flow)),
            Cell::from(flow.to.map_or(Html::text(DROPPED), Html::name)),
            Cell::of(scale.part(points), points).with_hint(format!("{points} points")),
            Cell::from(bar(points as f64 / most as f64)),
        ];
        if sums.is_some() {
            let to = flow.to.unwrap_or(DROPPED).to_owned();
            let sum = found.get(&[from(flow.from, flow.source), to]);
            let sum = sum.copied().unwrap_or_default();
            cells.push(Cell::of(grouped(sum.lines), sum.lines));
            cells.extend(is_counted.then(|| Cell::of(grouped_large(sum.count), sum.count)));
        }
        sheet.row(cells);
    }
    let mut text = "The sums of all moves between two nodes, as parts of all copies.".to_owned();
    if flows.iter().any(|flow| flow.source.is_some()) {
        text += " Copies from a node with (added) are read at this node, which gives none up.";
    }
    let mut html = remark(text);
    html.add(sheet.html());
    if let Some(rest) = flows.get(LISTED..).filter(|rest| !rest.is_empty()) {
        let sum = rest.iter().map(size).sum();
        html.add(remark(format!(
            "and {}, {} together: `stead diff --moves --all` lists them",
            count(rest.len(), "smaller pair"),
            part(sum, copies)
        )));
    }
    section("moves", "What moves where", html)
}

/// Names where a flow comes from.
fn source(flow: &Flow) -> Html {
    let mut html = flow
        .from
        .or(flow.source)
        .map_or(Html::default(), Html::name);
    html.add(Html::text(match (flow.from, flow.source) {
        (Some(_), _) => String::new(),
        (None, Some(_)) => format!(" {ADDED}"),
        (None, None) => ADDED.to_owned(),
    }));
    html
}
