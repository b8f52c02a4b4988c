//! What moves from where to where, in sum for each pair of nodes.

use stead::report::{part, Flow, Report};

use super::html::{section, Html};
use super::sheet::{bar, bars, name, number, Cell, Sheet};
use super::tiles::remark;
use crate::text::{count, Scale};

/// How many pairs are listed.
const LISTED: usize = 500;

/// Returns the table of flows, the largest first.
pub fn table(report: &Report) -> Html {
    let flows = report.flows.as_deref().unwrap_or(&[]);
    if flows.is_empty() {
        let html = remark("No copy goes to another node.");
        return section("moves", "What moves where", html);
    }
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |copies| copies.of_replicas);
    let columns = [name("from"), name("to"), number("copies"), bars()];
    let mut sheet = Sheet::new("moves-table", "What each node copies to which", &columns);
    let size = |flow: &Flow| flow.amount.count();
    let most = flows.iter().map(size).max().unwrap_or(0).max(1);
    let scale = Scale::of(most, copies);
    let node = |name: Option<&str>, none: &str| name.map_or(Html::text(none), Html::name);
    for flow in flows.iter().take(LISTED) {
        let points = size(flow);
        sheet.row([
            Cell::from(node(flow.from, "(added)")),
            Cell::from(node(flow.to, "(dropped)")),
            Cell::of(scale.part(points), points).with_hint(format!("{points} points")),
            Cell::from(bar(points as f64 / most as f64)),
        ]);
    }
    let mut html = remark("The sums of all moves between two nodes, as parts of all copies.");
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
