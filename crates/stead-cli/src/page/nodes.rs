//! The table of nodes: of a map with what each holds, or of a change with what it held before.

use std::collections::HashMap;

use stead::load::{Loads, NodeLoad};
use stead::map::Node;
use stead::policy::NodeId;
use stead::report::{HolderReport, Report};
use stead::Map;

use super::html::{element, opened, Html};
use super::sheet::{bar, bars, number, text, Cell, Column, Sheet};
use super::tiles::remark;
use crate::asked::whole_cells;
use crate::text::{count, over, Scale};

/// How many nodes are listed: a page of more is slow, and nobody reads it.
const LISTED: usize = 4000;

/// Returns the field that filters the rows of a table, which the script shows.
fn search(table: &str) -> Html {
    let mut inside = element("label", &[("for", "search")], "Find nodes");
    inside.add(opened(
        "input",
        &[
            ("id", "search"),
            ("type", "search"),
            ("data-table", table),
            ("spellcheck", "false"),
            ("autocomplete", "off"),
            ("aria-describedby", "found"),
        ],
    ));
    inside.add(element(
        "p",
        &[("id", "found"), ("class", "remark"), ("role", "status")],
        "",
    ));
    element("div", &[("class", "field"), ("hidden", "")], inside)
}

/// Returns the nodes that a table lists, the largest of them if there are too many, and a remark
/// about the others.
fn listed<'r, 'a>(
    report: &'r Report<'a>,
    size: impl Fn(&HolderReport) -> u128,
) -> (Vec<&'r HolderReport<'a>>, Html) {
    let mut nodes: Vec<&HolderReport> = report.nodes.iter().collect();
    let more = nodes.len().saturating_sub(LISTED);
    if more == 0 {
        return (nodes, Html::default());
    }
    nodes.sort_by_key(|node| std::cmp::Reverse(size(node)));
    nodes.truncate(LISTED);
    nodes.sort_by_key(|node| node.name);
    let nodes_left = count(more, "more node");
    (
        nodes,
        remark(format!(
            "and {nodes_left}, which are smaller: `stead show` lists them all"
        )),
    )
}

fn points(text: &str) -> u128 {
    text.parse().unwrap_or(0)
}

/// Names a node, with what there is to say of its state.
fn named(report: &HolderReport, leaving: bool) -> Html {
    let mut html = Html::name(report.name);
    if let Some(was) = report.was {
        html.add(Html::text(" (was "))
            .add(Html::name(was))
            .add(Html::text(")"));
    }
    if leaving {
        html.add(Html::text(" (leaving)"));
    }
    html
}

fn pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Html {
    let pairs = pairs.map(|(name, value)| {
        let mut inside = Html::text(format!("{name}="));
        inside.add(Html::name(value));
        element("span", &[("class", "pair")], inside)
    });
    pairs
        .enumerate()
        .flat_map(|(i, pair)| [Html::text(if i > 0 { " " } else { "" }), pair])
        .collect()
}

/// Returns the table of the nodes of a map.
pub fn of_map(map: &Map, report: &Report, loads: Option<&Loads>) -> Html {
    let of_id: HashMap<&str, Node> = map.nodes().map(|node| (node.name(), node)).collect();
    let of_load: HashMap<NodeId, &NodeLoad> = loads.map_or(HashMap::new(), |loads| {
        loads.nodes.iter().map(|load| (load.node, load)).collect()
    });
    let (nodes, more) = listed(report, |node| points(&node.points));
    let largest = nodes
        .iter()
        .map(|node| points(&node.points))
        .max()
        .unwrap_or(0);
    let scale = Scale::of(largest, map.replicas());
    let copies = map.replicas() > 1;
    let pinned = report.nodes.iter().any(|node| node.pinned_points != "0");
    let labels = map.nodes().any(|node| node.labels().next().is_some());
    let attributes = map.nodes().any(|node| node.attributes().next().is_some());
    let mut columns: Vec<Column> = vec![text("node"), number("weight"), number("share"), bars()];
    columns.extend(copies.then(|| number("primary")));
    columns.extend(pinned.then(|| number("pinned")));
    columns.extend(loads.map(|_| number("load over fair")));
    columns.extend(labels.then(|| text("labels")));
    columns.extend(attributes.then(|| text("attributes")));
    let mut sheet = Sheet::new(
        "nodes-table",
        "Nodes, with their parts of all copies",
        &columns,
    );
    for holder in nodes {
        let Some(node) = of_id.get(holder.name) else {
            continue;
        };
        let has = points(&holder.points);
        let primary = points(&holder.primary_points);
        let hint = format!("{} points{}", holder.points, exact(map, holder));
        let mut row: Vec<Cell> = vec![
            Cell::from(named(holder, node.leaving())),
            Cell::of(holder.weight.as_str(), &holder.weight),
            Cell::of(scale.part(has), has).with_hint(hint),
            Cell::from(bar(has as f64 / largest.max(1) as f64)),
        ];
        row.extend(copies.then(|| {
            Cell::of(
                Scale::of(largest / u128::from(map.replicas()), 1).part(primary),
                primary,
            )
        }));
        row.extend(pinned.then(|| match points(&holder.pinned_points) {
            0 => Cell::of("", 0),
            points => Cell::of(scale.part(points), points),
        }));
        row.extend(loads.map(|_| {
            let load = of_load.get(&node.id);
            let over_mean = load.and_then(|load| load.over_mean);
            Cell::of(over(over_mean), over_mean.unwrap_or(-1.0))
        }));
        row.extend(labels.then(|| Cell::from(pairs(node.labels()))));
        row.extend(attributes.then(|| Cell::from(pairs(node.attributes()))));
        sheet.marked_row(&[("id", &format!("node-{}", node.id.0))], row);
    }
    let mut html = search("nodes-table");
    html.add(sheet.html()).add(more);
    html
}

/// Says how far a share is from its target.
fn exact(map: &Map, holder: &HolderReport) -> String {
    match &holder.target_points {
        Some(target) if *target == holder.points => match whole_cells(map) {
            Some(cells) => format!(", its target in {cells}"),
            None => ", exactly its target".to_owned(),
        },
        Some(target) => format!(" of a target of {target}"),
        None => String::new(),
    }
}

/// Returns the table of the nodes of a change, those that left too.
pub fn of_change(new: &Map, report: &Report) -> Html {
    let copies = report
        .copies
        .as_ref()
        .map_or(report.replicas, |copies| copies.of_replicas);
    let change_of = |text: &Option<String>| -> i128 {
        text.as_ref()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    };
    let (nodes, more) = listed(report, |node| change_of(&node.change_points).unsigned_abs());
    let left = report.left.iter().flatten();
    let sizes = nodes.iter().map(|node| {
        let old = node.old_points.as_deref().map_or(0, points);
        points(&node.points)
            .max(old)
            .max(change_of(&node.change_points).unsigned_abs())
    });
    let largest = sizes
        .chain(left.map(|left| points(&left.old_points)))
        .max()
        .unwrap_or(0);
    let scale = Scale::of(largest, copies);
    let of_id: HashMap<&str, Node> = new.nodes().map(|node| (node.name(), node)).collect();
    let columns = [
        text("node"),
        number("weight"),
        number("before"),
        bars(),
        number("after"),
        bars(),
        number("change"),
        text("labels"),
    ];
    let mut sheet = Sheet::new(
        "nodes-table",
        "Nodes, with their parts of all copies before and after",
        &columns,
    );
    let drawn = |points: u128| Cell::from(bar(points as f64 / largest.max(1) as f64));
    for holder in nodes {
        let (has, had) = (
            points(&holder.points),
            holder.old_points.as_deref().map_or(0, points),
        );
        let change = change_of(&holder.change_points);
        let weight = match &holder.old_weight {
            Some(old) if *old != holder.weight => format!("{old} → {}", holder.weight),
            _ => holder.weight.clone(),
        };
        let is_new = holder.old_weight.is_none();
        let mut name = named(holder, holder.leaving);
        name.add(Html::text(if is_new { " (new)" } else { "" }));
        let node = of_id.get(holder.name);
        let labels = node.map_or(Html::default(), |node| pairs(node.labels()));
        let id = node.map_or(String::new(), |node| format!("node-{}", node.id.0));
        sheet.marked_row(
            &[("id", &id)],
            [
                Cell::from(name),
                Cell::of(weight, &holder.weight),
                Cell::of(
                    if is_new {
                        "-".to_owned()
                    } else {
                        scale.part(had)
                    },
                    had,
                ),
                drawn(had),
                Cell::of(scale.part(has), has).with_hint(format!(
                    "{} points{}",
                    holder.points,
                    exact(new, holder)
                )),
                drawn(has),
                Cell::of(signed(scale, change), change),
                Cell::from(labels),
            ],
        );
    }
    for node in report.left.iter().flatten() {
        let had = points(&node.old_points);
        let change = node.change_points.parse().unwrap_or(0);
        let mut name = Html::text(if node.what == "policy" { "policy " } else { "" });
        name.add(Html::name(node.name)).add(Html::text(" (left)"));
        sheet.row([
            Cell::from(name),
            Cell::of("-", -1),
            Cell::of(scale.part(had), had),
            drawn(had),
            Cell::of("-", 0),
            drawn(0),
            Cell::of(signed(scale, change), change),
            Cell::from(""),
        ]);
    }
    let mut html = search("nodes-table");
    html.add(sheet.html()).add(more);
    html
}

/// Formats a change with a sign that is as wide as a plus.
fn signed(scale: Scale, change: i128) -> String {
    scale.signed(change).replace('-', "−")
}
