//! Fault domains and what their caps make of the shares, for people: a table, and a line for each
//! reason.

use stead::balance::{DomainReport, HolderReport};

use crate::exit::Result;
use crate::output::{Out, BAD};
use crate::text::{count, percent, Table};

/// Writes the domains, if there are any, and then why nobody can have what its weight would give
/// it.
pub fn write(
    domains: &[DomainReport],
    nodes: &[HolderReport],
    replicas: u32,
    out: &mut Out,
) -> Result {
    let mut table = Table::new(
        &["level", "domain", "cap", "nodes", "wanted", "share"],
        &[2, 3, 4, 5],
    );
    for domain in domains {
        let [wanted, share] = [&domain.wanted_points, &domain.points]
            .map(|points| percent(points.parse().unwrap_or(0), replicas));
        let [cap, inside] = [domain.cap, domain.nodes].map(|n| n.to_string());
        table.row([
            domain.level.clone(),
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

/// Those of the domains, from the outside in, then those of nodes. What a node only owes to its
/// domain is said once.
fn reasons<'a>(domains: &'a [DomainReport], nodes: &'a [HolderReport]) -> Vec<&'a str> {
    let mut reasons: Vec<&str> = domains
        .iter()
        .filter_map(|domain| domain.reason.as_deref())
        .collect();
    for reason in nodes.iter().filter_map(|node| node.reason.as_deref()) {
        // the reason of a domain goes on behind a colon; that of its nodes is what stands before it
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

/// Says how many slices break a rule; nothing when none does.
pub fn write_broken(violations: usize, pending: usize, replicas: u32, out: &mut Out) -> Result {
    let broken = |slices: usize| {
        let nodes = count(replicas as usize, "node");
        let breaks = if slices == 1 { "has" } else { "have" };
        format!(
            "{} {breaks} other than {nodes}, or more in a domain than its cap",
            count(slices, "slice")
        )
    };
    if violations > 0 {
        out.line(out.paint(BAD, broken(violations)))?;
    }
    if pending > 0 {
        out.line(format_args!(
            "{}, until the change that is under way reaches them",
            broken(pending)
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(reason: Option<&str>) -> DomainReport {
        let points = || "0".to_owned();
        DomainReport {
            level: "zone".to_owned(),
            path: vec!["a".to_owned()],
            cap: 1,
            nodes: 2,
            wanted_points: points(),
            target_points: points(),
            points: points(),
            reason: reason.map(str::to_owned),
        }
    }

    fn node(reason: Option<&str>) -> HolderReport {
        let text = || "0".to_owned();
        HolderReport {
            name: "n".to_owned(),
            weight: text(),
            wanted_points: text(),
            target_points: text(),
            points: text(),
            primary_points: text(),
            reason: reason.map(str::to_owned),
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
