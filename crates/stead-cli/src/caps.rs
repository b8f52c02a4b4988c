//! The fault domains of a map, for people: a table of what their caps allow, and a line for each
//! reason why a share is not what the weight asks for.

use stead::report::{DomainReport, HolderReport, Report};
use stead::verdict::{Answers, Problem, Rule, Verdict, Violation};
use stead::Map;

use crate::exit::Result;
use crate::output::{Out, BAD};
use crate::text::{count, percent, told, Table};

/// The largest number of pins that break a rule and are listed.
const PINS: usize = 3;

/// Writes the table of domains, if there are any, and then the reasons why a domain or a node
/// cannot have what its weight alone would give it.
pub fn write(report: &Report, out: &mut Out) -> Result {
    let Report { domains, nodes, .. } = report;
    let mut table = Table::new(
        &["level", "domain", "cap", "nodes", "wanted", "share"],
        &[2, 3, 4, 5],
    );
    for domain in domains {
        let [wanted, share] = [&domain.wanted_points, &domain.points]
            .map(|points| percent(points.parse().unwrap_or(0), report.replicas));
        let [cap, inside] = [domain.cap, domain.nodes].map(|n| n.to_string());
        table.row([
            domain.level.to_owned(),
            domain.path.join("/"),
            cap,
            inside,
            wanted,
            share,
        ]);
    }
    if !domains.is_empty() {
        out.line("")?;
        table.write(out)?;
    }
    let reasons = reasons(domains, nodes);
    if !reasons.is_empty() {
        out.line("")?;
    }
    reasons.iter().try_for_each(|reason| out.line(reason))
}

/// Returns the reasons of the domains, from the outside in, and then those of the nodes. A reason
/// that a node shares with its domain appears once.
pub fn reasons<'a>(domains: &'a [DomainReport], nodes: &'a [HolderReport]) -> Vec<&'a str> {
    let mut reasons: Vec<&str> = domains
        .iter()
        .filter_map(|domain| domain.reason.as_deref())
        .collect();
    for reason in nodes.iter().filter_map(|node| node.reason.as_deref()) {
        // a domain's reason has more text after a colon; its nodes' reason is the text before it
        let said = |other: &&str| {
            other
                .strip_prefix(reason)
                .is_some_and(|more| more.is_empty() || more.starts_with(':'))
        };
        if !reasons.iter().any(said) {
            reasons.push(reason);
        }
    }
    reasons
}

/// A sentence about a map or a change, and whether it is about something bad.
pub struct Said {
    pub bad: bool,
    pub text: String,
}

impl Said {
    /// Returns a sentence about something bad.
    pub fn bad(text: impl ToString) -> Said {
        Said {
            bad: true,
            text: text.to_string(),
        }
    }

    /// Returns a sentence about something that is as it should be.
    pub fn plain(text: impl ToString) -> Said {
        Said {
            bad: false,
            text: text.to_string(),
        }
    }

    /// Writes sentences, a line for each.
    pub fn write(sentences: &[Said], out: &mut Out) -> Result {
        sentences.iter().try_for_each(|said| match said.bad {
            true => out.line(out.paint(BAD, &said.text)),
            false => out.line(&said.text),
        })
    }
}

/// Says what is wrong with a map: that there are no targets, how many slices break a rule, and
/// which pins do. Says nothing if nothing is wrong.
pub fn broken(report: &Report, map: &Map) -> Vec<Said> {
    let broken = |slices: usize| {
        let nodes = count(report.replicas as usize, "node");
        let (does, exceeds) = match slices {
            1 => ("does", "exceeds"),
            _ => ("do", "exceed"),
        };
        format!(
            "{} {does} not have exactly {nodes}, or {exceeds} the cap of a domain",
            count(slices, "slice")
        )
    };
    let violations = &report.verdict.violations;
    let without_targets = |one: &&Violation| matches!(one.problem, Problem::TooFew { .. });
    let mut said: Vec<Said> = Vec::new();
    for violation in violations.listed.iter().filter(without_targets) {
        said.push(Said::bad(&violation.problem));
    }
    if report.violations > 0 {
        said.push(Said::bad(broken(report.violations)));
    }
    if report.pending_violations > 0 {
        said.push(Said::plain(format_args!(
            "{}, until the change that is under way reaches them",
            broken(report.pending_violations)
        )));
    }
    let of_pins = violations.listed.iter().filter(|v| v.rule == Rule::Pins);
    for violation in of_pins.take(PINS) {
        said.push(Said::bad(format_args!("pin, {}", told(map, violation))));
    }
    let more = violations.of(Rule::Pins).saturating_sub(PINS);
    if more > 0 {
        let more = count(more, "more violation");
        said.push(Said::bad(format_args!("and {more} of pins")));
    }
    match report.short_pins {
        0 => {}
        1 => said.push(Said::plain("1 pin is short, as its fleet says")),
        pins => said.push(Said::plain(format_args!(
            "{pins} pins are short, as their fleet says"
        ))),
    }
    said
}

/// Says which drained nodes must stay on, because pins or named policies still name them.
pub fn drained(map: &Map) -> Vec<Said> {
    let answers = Answers::of_drained(map).into_iter();
    let said = answers.map(|(node, answers)| {
        let name = map.node(node).name();
        Said::bad(format_args!(
            "node {name} has weight 0 and still answers for {answers}"
        ))
    });
    said.collect()
}

/// Says which nodes a step of a gradual change takes above their shares before the step and at the
/// end of the change: their disks may fill on the way. This is rare, since a step does so only
/// where it could hardly move otherwise.
pub fn peaks(report: &Report, old: Option<&Map>, new: &Map) -> Vec<Said> {
    let Some(old) = old.filter(|_| new.target_slices().is_some()) else {
        return Vec::new();
    };
    let before = Verdict::of(old, 0);
    let mut said = Vec::new();
    for node in &report.verdict.nodes {
        // the nodes are in the order of their names
        let old = before.nodes.binary_search_by(|old| old.name.cmp(node.name));
        let old = old.ok().and_then(|i| before.nodes.get(i));
        let before = old.map_or(0, |old| old.now.points);
        let (now, end) = (node.now.points, node.then.points);
        if now > before.max(end) {
            let [now, before, end] = [now, before, end].map(|p| percent(p, report.replicas));
            said.push(Said::bad(format_args!(
                "node {} holds {now} after this step: more than {before} before and {end} at the end",
                node.name
            )));
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(reason: Option<&str>) -> DomainReport<'_> {
        DomainReport {
            level: "zone",
            path: vec!["a"],
            reason: reason.map(str::to_owned),
            ..DomainReport::default()
        }
    }

    fn node(reason: Option<&str>) -> HolderReport<'_> {
        HolderReport {
            name: "n",
            reason: reason.map(str::to_owned),
            ..HolderReport::default()
        }
    }

    #[test]
    fn each_reason_is_said_once_domains_first() {
        let domains = [domain(Some("zone a can: 33.3 %")), domain(None)];
        let nodes = [
            Some("node x can: 1 %"),
            Some("zone a can"),
            None,
            Some("zone a can"),
            Some("zone a/b can"),
            Some("zone a/b can"),
        ];
        let nodes = nodes.map(node);
        assert_eq!(
            reasons(&domains, &nodes),
            ["zone a can: 33.3 %", "node x can: 1 %", "zone a/b can"]
        );
        assert!(reasons(&domains[1..], &nodes[2..3]).is_empty());
    }
}
