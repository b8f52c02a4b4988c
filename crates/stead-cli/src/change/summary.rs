//! What a change does, in a few lines of facts: the fleet, the copies, the domains, the capacity
//! and the slices. Each begins with a word in a column of its own, so that the eye finds it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use stead::report::{
    part, size, Amount, DomainName, DomainReport, Edit, Group, Lost, PinnedKeys, Report,
};

use crate::caps;
use crate::exit::Result;
use crate::output::{Out, HEADING};
use crate::text::{count, sample, wrapped, Table};
use stead_plot::MANY_CELLS;

/// The width of the first column.
const LABEL: usize = 10;
/// How many lines a part has at most; the rest is counted.
const LINES: usize = 12;
/// How many ways to change something are told apart before they become one line.
const KINDS: usize = 4;
/// The part of the capacity above which nobody minds what cannot be used.
const NOTICED: f64 = 0.995;
/// How many domains the table lists.
const DOMAINS: usize = 8;
/// The step in the number of slices that is told, in percent.
const GROWTH: usize = 10;
/// The number of slices that a step adds at least to be told of; fewer are some KiB of a file.
const NOTICED_SLICES: usize = 100;

/// Returns the facts by their labels, in their order; `all` says whether long lists are in full.
pub fn facts(report: &Report, all: bool) -> Vec<(&'static str, Vec<String>)> {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    if let Some(lost) = &report.lost {
        parts.push(("lost", vec![of_lost(lost)]));
    }
    if let Some(edits) = &report.changes {
        parts.push(("fleet", of_fleet(edits, all)));
    }
    parts.push(("copies", of_copies(report)));
    parts.push(("pins", of_pins(report)));
    parts.push(("domains", of_domains(report, all)));
    parts.push(("capacity", of_capacity(report)));
    parts.push(("map", of_map(report)));
    parts.retain(|(_, lines)| !lines.is_empty());
    parts
}

/// Writes the facts; `all` says whether long lists are written in full.
pub fn write(report: &Report, all: bool, out: &mut Out) -> Result {
    let parts = facts(report, all);
    if !parts.is_empty() {
        out.line("")?;
    }
    for (label, lines) in parts {
        write_part(label, lines, all, out)?;
    }
    let rows = domain_table(report, all);
    if let Some(rows) = rows {
        out.line("")?;
        rows.write(out)?;
    }
    Ok(())
}

fn write_part(label: &str, mut lines: Vec<String>, all: bool, out: &mut Out) -> Result {
    let more = match all {
        true => 0,
        false => lines.len().saturating_sub(LINES),
    };
    if more > 0 {
        lines.truncate(LINES);
        let lines_left = count(more, "more line");
        lines.push(format!("and {lines_left} like these: --all"));
    }
    let mut label = format!("{label:LABEL$}");
    for line in lines {
        let rest = " ".repeat(LABEL + 2);
        for (number, line) in wrapped(&line, &label, &rest).into_iter().enumerate() {
            let line = match number {
                0 => {
                    let (label, text) = line.split_at(LABEL);
                    format!("{}{text}", out.paint(HEADING, label))
                }
                _ => line,
            };
            out.line(line)?;
        }
        label = " ".repeat(LABEL);
    }
    Ok(())
}

fn of_lost(lost: &Lost) -> String {
    match lost.without_copy.count() {
        0 => format!("{}; every key has a copy left", sample(&lost.nodes)),
        points => format!(
            "{}; {} of the keys have none",
            sample(&lost.nodes),
            part(points, 1)
        ),
    }
}

/// One line for each edit of the fleet; what many nodes have in common is one line with some of
/// their names.
fn of_fleet(edits: &[Edit], all: bool) -> Vec<String> {
    if all {
        return edits.iter().map(Edit::to_string).collect();
    }
    // in the order of the edits: those with the same sign and kind stand together
    let mut lines = Vec::new();
    for edits in edits.chunk_by(|one, other| (one.sign, one.what) == (other.sign, other.what)) {
        let mut groups: BTreeMap<String, Vec<&Edit>> = BTreeMap::new();
        for edit in edits {
            groups
                .entry(edit.details_in_words())
                .or_default()
                .push(edit);
        }
        let of_group = |details: &str, edits: &[&Edit]| match edits {
            [edit] => edit.to_string(),
            _ => {
                let (sign, what) = (edits[0].sign, edits[0].what);
                let names: Vec<&str> = edits.iter().filter_map(|e| e.name.as_deref()).collect();
                let details = match details {
                    "" => String::new(),
                    details => format!(" {details}"),
                };
                let many = plural(edits.len(), what);
                format!("{sign} {many}{details} ({})", sample(&names))
            }
        };
        if groups.len() <= KINDS {
            lines.extend(
                groups
                    .iter()
                    .map(|(details, edits)| of_group(details, edits)),
            );
        } else {
            let edits: Vec<&Edit> = edits.iter().collect();
            let fields: BTreeSet<&str> = edits
                .iter()
                .flat_map(|edit| edit.details.iter().map(|detail| detail.field.as_str()))
                .collect();
            let fields: Vec<&str> = fields.into_iter().collect();
            let details = match edits[0].sign {
                "~" => format!("{}:", fields.join(", ")),
                _ => String::new(),
            };
            lines.push(of_group(&details, &edits));
        }
    }
    lines
}

/// Formats a number of nodes, policies, pins or firsts.
fn plural(n: usize, what: &str) -> String {
    match what {
        "policy" if n != 1 => format!("{n} policies"),
        _ => count(n, what),
    }
}

fn of_copies(report: &Report) -> Vec<String> {
    let Some(copies) = &report.copies else {
        return Vec::new();
    };
    let of = |amount: &Amount| part(amount.count(), copies.of_replicas);
    let is_there = |amount: &Amount| amount.count() > 0;
    let mut parts = vec![
        format!("copied {}", of(&copies.copied)),
        format!("dropped {}", of(&copies.dropped)),
    ];
    let reordered = copies.reordered.count() + copies.reordered_by_hand.count();
    if reordered > 0 {
        parts.push(format!("reordered {}", part(reordered, copies.of_replicas)));
    }
    if is_there(&copies.pinned) {
        parts.push(format!("pinned {}", of(&copies.pinned)));
    }
    let nothing = ["copied", "dropped", "reordered", "pinned"];
    let amounts = [
        &copies.copied,
        &copies.dropped,
        &copies.reordered,
        &copies.reordered_by_hand,
        &copies.pinned,
    ];
    if !amounts.into_iter().any(is_there) {
        return vec![format!(
            "nothing is {} or {}",
            nothing[..3].join(", "),
            nothing[3]
        )];
    }
    let whole = match (copies.of_replicas, report.old_replicas) {
        (1, _) => "of all keys".to_owned(),
        (most, Some(old)) if old > report.replicas => format!("of the {most} copies before"),
        (most, Some(old)) if old < report.replicas => format!("of the {most} copies after"),
        (most, _) => format!("of all {most} copies"),
    };
    let mut lines = vec![format!("{} ({whole})", parts.join(", "))];
    if let Some(first) = report.new_first.as_ref().filter(|first| is_there(first)) {
        lines.push(format!(
            "a new copy answers first for {} of the keys",
            part(first.count(), 1)
        ));
    }
    lines
}

/// Says how many pinned keys get other nodes, and which part of all keys a pin covers.
fn of_pins(report: &Report) -> Vec<String> {
    let Some(PinnedKeys { moved, of, one_in }) = &report.pinned_keys else {
        return Vec::new();
    };
    let cells = one_in
        .as_ref()
        .filter(|cells| cells.parse::<u128>().is_ok_and(|cells| cells < MANY_CELLS));
    let mut edits = report.changes.iter().flatten();
    let line = match (moved, cells) {
        (0, Some(cells)) if edits.any(|edit| edit.what == "pin") => {
            format!("a pinned key stands for 1/{cells} of all keys")
        }
        (0, _) => return Vec::new(),
        (_, cells) => {
            let (gets, each) = match moved {
                1 => ("gets", ""),
                _ => ("get", " each"),
            };
            let keys = count(*moved, "pinned key");
            let size = match (cells, one_in) {
                (Some(cells), _) => format!(" (1/{cells} of all keys{each})"),
                (None, None) => format!(" (1 point{each})"),
                (None, Some(_)) => String::new(),
            };
            format!("{keys} of {of} {gets} other nodes{size}: diff --keys")
        }
    };
    vec![line]
}

/// The domains that are new or gone, and what losing the worst domain of each level costs.
fn of_domains(report: &Report, all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let lists = [("+", &report.new_domains), ("-", &report.gone_domains)];
    for (sign, domains) in lists {
        let mut levels: BTreeMap<usize, Vec<&DomainName>> = BTreeMap::new();
        // a domain comes and goes with the one around it
        let around: HashSet<&[&str]> = domains
            .iter()
            .flatten()
            .map(|domain| domain.path.as_slice())
            .collect();
        let is_inner = |domain: &DomainName| {
            (1..domain.path.len()).any(|depth| around.contains(&domain.path[..depth]))
        };
        for domain in domains
            .iter()
            .flatten()
            .filter(|domain| all || !is_inner(domain))
        {
            levels.entry(domain.path.len()).or_default().push(domain);
        }
        for domains in levels.into_values() {
            let level = domains[0].level;
            if all || domains.len() <= 2 {
                lines.extend(domains.iter().map(|domain| {
                    let nodes = count(domain.nodes, "node");
                    format!("{sign} {level} {}, {nodes}", domain.path.join("/"))
                }));
            } else {
                let names: Vec<String> = domains.iter().map(|d| d.path.join("/")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let many = count(domains.len(), level);
                lines.push(format!("{sign} {many} ({})", sample(&names)));
            }
        }
    }
    let mut worst: BTreeMap<usize, (&DomainReport, usize)> = BTreeMap::new();
    let cost = |domain: &DomainReport| {
        let points: u128 = domain.loss.points.parse().unwrap_or(0);
        let of = domain.loss.of.max(report.replicas as usize);
        (std::cmp::Reverse(of - domain.loss.copies.min(of)), points)
    };
    for domain in &report.domains {
        let (found, domains) = worst.entry(domain.path.len()).or_insert((domain, 0));
        *domains += 1;
        if cost(domain) > cost(found) {
            *found = domain;
        }
    }
    lines.extend(worst.into_values().map(|(domain, domains)| {
        let (level, name) = (domain.level, domain.path.join("/"));
        let costs = copies(domain, report.replicas);
        match domains {
            1 => format!(
                "losing {level} {name}, the only one, costs {costs} of {}",
                keys(domain)
            ),
            _ => format!(
                "losing a {level} costs {costs} of up to {} ({name})",
                keys(domain)
            ),
        }
    }));
    lines
}

fn keys(domain: &DomainReport) -> String {
    format!(
        "{} of the keys",
        part(domain.loss.points.parse().unwrap_or(0), 1)
    )
}

/// Says how many copies of a key go with a domain: `1 of 3 copies`, `every copy`.
pub fn copies(domain: &DomainReport, replicas: u32) -> String {
    let of = domain.loss.of.max(replicas as usize);
    match domain.loss.copies {
        all if all >= of && domain.loss.last_points != "0" => "every copy".to_owned(),
        n => format!("{n} of {of} copies"),
    }
}

/// Why shares are not what the weights ask for: who fills first, who is capped, who gets more.
fn of_capacity(report: &Report) -> Vec<String> {
    let capacity = &report.capacity;
    let mut lines: Vec<String> = Vec::new();
    let first = capacity
        .fills_first
        .as_ref()
        .filter(|_| capacity.usable < NOTICED);
    if let Some(first) = first {
        lines.push(format!(
            "{} {} first: {:.2} % of the raw capacity can be used",
            who(first),
            if first.count == 1 { "fills" } else { "fill" },
            capacity.usable * 100.0
        ));
    }
    let less = caps::reasons(&report.domains, &report.nodes);
    // a domain that reads `33.3 % instead of 33.3 %` gets what it asks for, and so do its nodes
    let tiny = |reason: &str| {
        let figures = reason
            .rsplit_once(": ")
            .and_then(|(_, text)| text.split_once(" instead of "));
        figures.is_some_and(|(has, wants)| has == wants)
    };
    lines.extend(
        less.into_iter()
            .filter(|reason| !tiny(reason))
            .map(str::to_owned),
    );
    lines.extend(capacity.more.iter().map(|more| {
        let (gets, its) = match more.who.count {
            1 => ("gets", "its"),
            _ => ("get", "their"),
        };
        format!(
            "{} {gets} {:.2} times what {its} weight asks for",
            who(&more.who),
            more.times
        )
    }));
    lines
}

/// Names domains or nodes: `zone c`, `zones b, c`, `16 nodes (db1, db2 ... db16)`.
fn who(group: &Group) -> String {
    let names: Vec<String> = group.paths.iter().map(|path| path.join("/")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let level = group.level.unwrap_or("node");
    match group.count {
        1 => format!("{level} {}", names.join("")),
        2 | 3 => format!("{level}s {}", names.join(", ")),
        // the last of a longer list is not known
        n if n > names.len() => {
            format!("{} ({} ...)", count(n, level), names[..2].join(", "))
        }
        n => format!("{} ({})", count(n, level), sample(&names)),
    }
}

/// Says how the map grows, if a step adds more than a tenth to its slices and no warning says so.
fn of_map(report: &Report) -> Vec<String> {
    let (Some(old), Some(old_bytes)) = (report.old_slices, report.old_bytes) else {
        return Vec::new();
    };
    let added = report.slices.saturating_sub(old);
    let is_warned = report
        .warnings
        .iter()
        .any(|warning| warning.code == "many-slices");
    if is_warned || added < NOTICED_SLICES || added * 100 <= old * GROWTH {
        return Vec::new();
    }
    vec![format!(
        "{old} -> {} slices ({} % more), {} -> {}",
        report.slices,
        added * 100 / old.max(1),
        size(old_bytes),
        size(report.bytes)
    )]
}

/// The table of domains, if a domain does not get what its weight asks for or all are wanted.
fn domain_table(report: &Report, all: bool) -> Option<Table> {
    let of = |text: &str| part(text.parse().unwrap_or(0), report.replicas);
    let differs = |domain: &DomainReport| of(&domain.wanted_points) != of(&domain.points);
    let is_short = report.domains.len() <= DOMAINS && report.domains.iter().any(differs);
    if report.domains.is_empty() || !(all || is_short) {
        return None;
    }
    let right = [2, 3, 4];
    let mut table = Table::new(
        &[
            "level",
            "domain",
            "nodes",
            "wanted",
            "share",
            "losing it costs",
        ],
        &right,
    );
    for domain in &report.domains {
        table.row([
            domain.level.to_owned(),
            domain.path.join("/"),
            domain.nodes.to_string(),
            of(&domain.wanted_points),
            of(&domain.points),
            match domain.loss.copies {
                0 => "nothing".to_owned(),
                _ => {
                    let keys = part(domain.loss.points.parse().unwrap_or(0), 1);
                    format!("{}, {keys}", copies(domain, report.replicas))
                }
            },
        ]);
    }
    Some(table)
}
