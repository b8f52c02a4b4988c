//! The table of fault domains, and what is left when one of them fails. Where there are none, the
//! largest nodes fail one by one.

use stead::outage::Outage;
use stead::policy::NodeId;
use stead::report::{DomainReport, Report};
use stead::Map;

use super::html::{element, section, Html};
use super::sheet::{bar, bars, number, text, word, Cell, Sheet};
use super::tiles::remark;
use crate::asked::{in_whole, nearness};
use crate::change::copies_lost;
use crate::loss::Loss;
use crate::picture::part;
use crate::text::{count, percent, Scale};

/// How many domains fail, and how many nodes where there are no domains: each costs a pass over
/// the map.
const DOMAINS: usize = 100;
const NODES: usize = 24;
/// How many nodes are named that take over reads.
const TAKERS: usize = 3;

fn points(text: &str) -> u128 {
    text.parse().unwrap_or(0)
}

/// Returns the table of domains; nothing if there are none.
pub fn table(map: &Map, report: &Report) -> Html {
    let columns = [
        word("level"),
        word("domain"),
        number("nodes"),
        number("cap"),
        number("wanted"),
        number("share"),
        bars(),
        word("losing it costs"),
    ];
    let mut sheet = Sheet::new(
        "domains-table",
        "Fault domains, with their parts of all copies",
        &columns,
    );
    let shares = report.domains.iter().map(|domain| points(&domain.points));
    let largest = shares.max().unwrap_or(0);
    let scale = Scale::of(largest, map.replicas());
    for domain in &report.domains {
        let (wanted, share) = (points(&domain.wanted_points), points(&domain.points));
        let costs = match domain.loss.copies {
            0 => "nothing".to_owned(),
            _ => format!(
                "{} of {} of the keys",
                copies_lost(domain, report.replicas),
                stead::report::part(points(&domain.loss.points), 1)
            ),
        };
        sheet.row([
            Cell::from(domain.level),
            Cell::from(path(domain)),
            Cell::of(domain.nodes.to_string(), domain.nodes),
            Cell::of(domain.cap.to_string(), domain.cap),
            Cell::of(scale.part(wanted), wanted),
            Cell::of(scale.part(share), share).with_hint(format!("{} points", domain.points)),
            Cell::from(bar(share as f64 / largest.max(1) as f64)),
            Cell::from(costs),
        ]);
    }
    if sheet.is_empty() {
        return Html::default();
    }
    let mut html = remark(
        "A cap is how many copies of one key a domain may hold. Wanted is what the weights alone \
         would give it.",
    );
    html.add(sheet.html());
    section("domains", "Fault domains", html)
}

fn path(domain: &DomainReport) -> Html {
    let names = domain.path.iter().enumerate();
    names
        .flat_map(|(i, name)| [Html::text(if i > 0 { "/" } else { "" }), Html::name(name)])
        .collect()
}

/// What fails, for the table.
struct Failing {
    name: Html,
    nodes: Vec<NodeId>,
}

/// Returns what is left when each domain fails, or each of the largest nodes.
pub fn what_if(map: &Map, report: &Report) -> Html {
    let (failing, of_nodes) = match report.domains.is_empty() {
        true => (nodes(map, report), true),
        false => (domains(map, report), false),
    };
    let all = match of_nodes {
        true => map.nodes().len(),
        false => report.domains.len(),
    };
    // with one copy of each key, what is lost is gone
    let copies = map.replicas() > 1;
    let mut columns = vec![
        word(match of_nodes {
            true => "if this node fails",
            false => "if this domain fails",
        }),
        number("copies lost"),
        number("keys without a copy"),
    ];
    columns.extend(copies.then(|| number("keys with one copy left")));
    columns.extend([text("who answers instead"), number("worst node reads")]);
    let mut sheet =
        Sheet::new("what-if-table", "What is left when a part fails", &columns).with_cards();
    let more = all.saturating_sub(failing.len());
    for one in failing {
        let outage = Outage::of(map, &one.nodes);
        let loss = Loss::of(map, &outage);
        let left = |copies: usize| outage.left.get(copies).copied().unwrap_or(0);
        let takers = loss.takers();
        let mut takes: Html = takers
            .iter()
            .take(TAKERS)
            .enumerate()
            .flat_map(|(i, (name, growth))| {
                let before = Html::text(if i > 0 { ", " } else { "" });
                [
                    before,
                    Html::name(name),
                    Html::text(format!("\u{a0}+{}", whole(&part(*growth)))),
                ]
            })
            .collect();
        if takers.len() > TAKERS {
            takes.add(Html::text(format!(
                " and {}",
                count(takers.len() - TAKERS, "more node")
            )));
        }
        let hardest = loss.hardest();
        let marked = |points: u128| match points {
            0 => Html::text("none"),
            some => element("strong", &[], stead::report::part(some, 1)),
        };
        let mut row = vec![
            Cell::from(one.name),
            Cell::of(percent_of(outage.lost, map), outage.lost),
            Cell::of(marked(left(0)), left(0)),
        ];
        row.extend(copies.then(|| {
            let one = match left(1) {
                0 => "none".to_owned(),
                some => stead::report::part(some, 1),
            };
            Cell::of(one, left(1))
        }));
        row.extend([
            Cell::from(takes),
            Cell::of(
                hardest.map_or("-".to_owned(), |times| format!("{times:.2} ×")),
                hardest.unwrap_or(0.0),
            ),
        ]);
        sheet.row(row);
    }
    let mut html = remark(
        "Every copy of a part is gone at the same time. Readers ask the first node that is up; the \
         plus is the part of all keys that a node answers more than today.",
    );
    html.add(sheet.html());
    if more > 0 {
        let rest = match of_nodes {
            true => count(more, "smaller node"),
            false => count(more, "more domain"),
        };
        html.add(remark(format!(
            "and {rest}: `stead what-if MAP --down NAME` answers for each"
        )));
    }
    section("what-if", "What if a part fails?", html)
}

/// Keeps a percentage on one line.
fn whole(percentage: &str) -> String {
    percentage.replace(' ', "\u{a0}")
}

fn percent_of(points: u128, map: &Map) -> String {
    match points {
        0 => "0.00 %".to_owned(),
        _ => stead::report::part(points, map.replicas()),
    }
}

fn domains(map: &Map, report: &Report) -> Vec<Failing> {
    let spread: Vec<&str> = map.spread().collect();
    let domains = report.domains.iter().take(DOMAINS);
    let failing = domains.map(|domain| {
        let is_in = |node: &stead::map::Node| {
            let mut labels = spread.iter().zip(&domain.path);
            labels.all(|(label, value)| node.label(label) == Some(*value))
        };
        let nodes: Vec<NodeId> = map.nodes().filter(is_in).map(|node| node.id).collect();
        let mut name = Html::text(format!("{} ", domain.level));
        name.add(path(domain));
        name.add(Html::text(format!(" ({})", count(nodes.len(), "node"))));
        Failing { name, nodes }
    });
    failing.collect()
}

fn nodes(map: &Map, report: &Report) -> Vec<Failing> {
    let mut nodes: Vec<_> = map.nodes().zip(&report.nodes).collect();
    nodes.sort_by_key(|(_, holder)| std::cmp::Reverse(points(&holder.points)));
    nodes.truncate(NODES);
    nodes.sort_by_key(|(node, _)| node.id);
    let failing = nodes.into_iter().map(|(node, _)| Failing {
        name: Html::name(node.name()),
        nodes: vec![node.id],
    });
    failing.collect()
}

/// Formats the largest difference between a share and its target.
pub fn largest_error(map: &Map, report: &Report) -> (String, String) {
    match report.max_share_error_points.as_str() {
        "0" => match nearness(map, &report.verdict) {
            Some(near) => (in_whole(map).to_owned(), format!("every share is {near}")),
            None => (
                "exact".to_owned(),
                "every share is its target, to the point".to_owned(),
            ),
        },
        off => (
            percent(points(off), report.replicas),
            format!("the largest difference from a target: {off} points"),
        ),
    }
}
