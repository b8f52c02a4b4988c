//! The report of a plan or a map, in the form that programs read; `plan`, `apply` and `diff` share
//! it. The facts come from the verdict and the plan, and this module formats them. It finds only
//! the optimum itself, by building the map again without `max_slices`.
//!
//! Points are 16 hex digits. Counts of points and weights are decimal strings. Fractions are
//! numbers: they are the only floating-point numbers here, and nothing is decided by them.

use serde::Serialize;

use crate::error::Result;
use crate::fleet::Fleet;
use crate::map::Map;
use crate::plan::{still_to_move, Amounts, Plan};
use crate::point::SPACE;
use crate::rebalance::build;
use crate::verdict::{Bound, Holder, Verdict};

/// How many violations and warnings the verdict of a report lists. The list is for people.
const LISTED: usize = 20;

/// A number of points, and the fraction of R * 2^64 that it is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Amount {
    /// The number of points, as a decimal string.
    pub points: String,
    /// points / (R * 2^64).
    pub fraction: f64,
}

impl Amount {
    /// Describes a number of points of a map.
    pub fn of(points: u128, map: &Map) -> Amount {
        Amount {
            points: points.to_string(),
            fraction: points as f64 / (f64::from(map.replicas()) * SPACE as f64),
        }
    }
}

/// A move, with the names of its nodes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MoveReport<'a> {
    /// The first point.
    pub first: String,
    /// The last point.
    pub last: String,
    /// The node that loses a copy.
    pub from: Option<&'a str>,
    /// The node that gets a copy.
    pub to: Option<&'a str>,
    /// `rebalance`, `pin` or `policy`.
    pub cause: &'static str,
}

/// A node or a named policy with a weight: what it wants and what it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HolderReport<'a> {
    /// The name of the node or policy.
    pub name: &'a str,
    /// The weight, as an exact decimal.
    pub weight: String,
    /// The points that the weight alone would give it.
    pub wanted_points: String,
    /// Its target: the points that it can have under the caps. `None` when fewer nodes than
    /// replicas have a weight.
    pub target_points: Option<String>,
    /// The points that it has in the base slices.
    pub points: String,
    /// The points of these whose primary it is.
    pub primary_points: String,
    /// The additional points that pins and named policies give it.
    pub pinned_points: String,
    /// Why it cannot have what it wants, in words; `None` when it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A fault domain: what its nodes want and what it has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DomainReport<'a> {
    /// The label of the domain's level.
    pub level: &'a str,
    /// The values of the labels, outermost first.
    pub path: Vec<&'a str>,
    /// How many copies of one point the domain may hold.
    pub cap: usize,
    /// How many nodes of the domain can hold points.
    pub nodes: usize,
    /// The points that the weights alone would give it.
    pub wanted_points: String,
    /// The points that it can have. `None` when fewer nodes than replicas have a weight.
    pub target_points: Option<String>,
    /// The points that it has.
    pub points: String,
    /// Why it cannot have what it wants, in words; `None` when it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The output of `plan`, `apply` and `diff`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report<'a> {
    /// The name of the cluster.
    pub name: &'a str,
    /// The epoch of the new map.
    pub epoch: u64,
    /// The replicas R of the new map.
    pub replicas: u32,
    /// The number of base slices of the new map.
    pub slices: usize,
    /// The amount that rebalancing moves.
    pub moved: Amount,
    /// The least amount that any way to the new shares moves.
    pub lower_bound: Amount,
    /// The least amount that any way to the new shares moves under the caps. Known only for a
    /// change to a fleet that is made at once, not gradually.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimum: Option<Amount>,
    /// The amount that pins and changed policies move.
    pub by_hand: Amount,
    /// Points whose primary changes although the old primary still holds a copy.
    pub reordered: Amount,
    /// The amount that a gradual change has yet to move; `None` when no gradual change is under
    /// way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_come: Option<Amount>,
    /// The number of base slices that break a rule of the fleet.
    pub violations: usize,
    /// The number of base slices that break a rule until a gradual change reaches them.
    pub pending_violations: usize,
    /// The number of pins that have fewer than R nodes, break a cap or list a node twice.
    pub pin_violations: usize,
    /// The number of such pins that the fleet allows.
    pub short_pins: usize,
    /// The largest difference between the points of a holder and its target.
    pub max_share_error_points: String,
    /// Every node, in the order of names.
    pub nodes: Vec<HolderReport<'a>>,
    /// Every named policy with a weight, in the order of names.
    pub policies: Vec<HolderReport<'a>>,
    /// Every fault domain with nodes that can hold points, each followed by the domains inside it.
    /// Empty when R is 1.
    pub domains: Vec<DomainReport<'a>>,
    /// The moves, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<MoveReport<'a>>>,
    /// The verdict on the new map, which the fields above come from.
    #[serde(skip)]
    pub verdict: Verdict<'a>,
}

impl<'a> Report<'a> {
    /// The report of a map that was built from a fleet, with the optimum. If `max_slices` may have
    /// made more move, the map is built again without `max_slices` to find the optimum.
    pub fn of_fleet(
        fleet: &Fleet,
        old: Option<&'a Map>,
        new: &'a Map,
        with_moves: bool,
    ) -> Result<Report<'a>> {
        let mut report = Report::of(old, new, with_moves)?;
        let gradual =
            new.target_slices().is_some() || old.is_some_and(|old| old.target_slices().is_some());
        report.optimum = match (old, fleet.max_slices) {
            _ if gradual => None,
            (Some(old), Some(_)) if report.moved != report.lower_bound => {
                let free = build(
                    &Fleet {
                        max_slices: None,
                        ..fleet.clone()
                    },
                    Some(old),
                )?;
                Some(Amount::of(Amounts::between(old, &free)?.moved.0, new))
            }
            _ => Some(report.moved.clone()),
        };
        Ok(report)
    }

    /// The report of a change from `old` to `new`. `old` is `None` for a first map, which moves
    /// nothing.
    pub fn of(old: Option<&'a Map>, new: &'a Map, with_moves: bool) -> Result<Report<'a>> {
        let Some(old) = old else {
            let moves = with_moves.then(Vec::new);
            return Ok(Report::made(Amounts::NONE, new, moves));
        };
        if with_moves {
            return Ok(Report::of_plan(&Plan::between(old, new)?, old, new, true));
        }
        Ok(Report::made(Amounts::between(old, new)?, new, None))
    }

    /// The report of a plan that is already computed.
    pub fn of_plan(plan: &Plan, old: &'a Map, new: &'a Map, with_moves: bool) -> Report<'a> {
        let moves = with_moves.then(|| move_reports(old, new, plan));
        Report::made(plan.amounts, new, moves)
    }

    fn made(amounts: Amounts, new: &'a Map, moves: Option<Vec<MoveReport<'a>>>) -> Report<'a> {
        let verdict = Verdict::of(new, LISTED);
        let words = Words {
            spread: new.spread().collect(),
            replicas: new.replicas(),
            cells: new.cells().count(),
            verdict: &verdict,
        };
        let reports = |holders: &[Holder<'a>]| holders.iter().map(|h| words.holder(h)).collect();
        Report {
            name: new.name(),
            epoch: new.epoch(),
            replicas: new.replicas(),
            slices: new.base_count(),
            moved: Amount::of(amounts.moved.0, new),
            lower_bound: Amount::of(amounts.lower_bound.0, new),
            optimum: None,
            by_hand: Amount::of(amounts.by_hand.0, new),
            reordered: Amount::of(amounts.reordered.0, new),
            to_come: to_come(new),
            violations: verdict.violating_slices,
            pending_violations: verdict.pending_violations,
            pin_violations: verdict.violating_pins,
            short_pins: verdict.short_pins,
            max_share_error_points: verdict.max_share_error.to_string(),
            nodes: reports(&verdict.nodes),
            policies: reports(&verdict.policies),
            domains: words.domains(),
            moves,
            verdict,
        }
    }
}

/// Returns the amount that a gradual change has yet to move; `None` when none is under way.
fn to_come(map: &Map) -> Option<Amount> {
    map.target_slices()
        .map(|_| Amount::of(still_to_move(map), map))
}

/// Formats holders and domains.
struct Words<'a, 'v> {
    spread: Vec<&'a str>,
    replicas: u32,
    cells: u128,
    verdict: &'v Verdict<'a>,
}

impl<'a> Words<'a, '_> {
    fn holder(&self, holder: &Holder<'a>) -> HolderReport<'a> {
        let points = |cells| self.verdict.in_points(cells).to_string();
        HolderReport {
            name: holder.name,
            weight: holder.weight.to_string(),
            wanted_points: points(holder.wanted),
            target_points: holder.target.map(points),
            points: holder.now.points.to_string(),
            primary_points: holder.now.primary_points.to_string(),
            pinned_points: holder.pinned_points.to_string(),
            reason: self.why(holder),
        }
    }

    /// Returns why a holder cannot have what it wants. `None` when it has what it wants, or more,
    /// or at most one cell less.
    fn why(&self, holder: &Holder) -> Option<String> {
        let target = holder.target.filter(|t| holder.wanted > t + 1)?;
        match holder.bound? {
            Bound::Own => {
                let name = format!("node {}", holder.name);
                Some(self.less(&name, 1, holder.wanted, target))
            }
            Bound::Domain(domain) => {
                let cap = self.verdict.domains.get(domain)?.cap;
                Some(self.full(&self.name(domain), cap))
            }
            Bound::Whole => None,
        }
    }

    /// Returns the domains with nodes that can hold points, each followed by the domains inside it.
    /// Empty when R is 1.
    fn domains(&self) -> Vec<DomainReport<'a>> {
        if self.replicas == 1 {
            return Vec::new();
        }
        let all = &self.verdict.domains;
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
        for (number, domain) in all.iter().enumerate().rev() {
            if let Some(parent) = domain.parent {
                parts[parent].push(number);
            }
        }
        // a stack: the next domain is the last element, so siblings are in reverse order
        let mut next = std::mem::take(&mut parts[0]);
        let mut reports = Vec::new();
        while let Some(number) = next.pop() {
            if all[number].can_hold > 0 {
                reports.push(self.domain(number));
            }
            next.append(&mut parts[number]);
        }
        reports
    }

    fn domain(&self, number: usize) -> DomainReport<'a> {
        let domain = &self.verdict.domains[number];
        let points = |cells| self.verdict.in_points(cells).to_string();
        // each node may want up to one cell more than its share because of rounding; no cap is to
        // blame for that
        let is_full = |target: &u128| {
            domain.wanted > target + domain.can_hold as u128
                && domain.cap as u128 * self.cells == *target
        };
        let reason = domain
            .target
            .filter(is_full)
            .map(|target| self.less(&self.name(number), domain.cap, domain.wanted, target));
        DomainReport {
            level: self.spread.get(domain.level - 1).copied().unwrap_or(""),
            path: self.verdict.names(number),
            cap: domain.cap,
            nodes: domain.can_hold,
            wanted_points: points(domain.wanted),
            target_points: domain.target.map(points),
            points: domain.now.points.to_string(),
            reason,
        }
    }

    /// Names a domain: `zone a`, `rack a/1`.
    fn name(&self, domain: usize) -> String {
        let names = self.verdict.names(domain);
        let label = names.len().checked_sub(1).and_then(|i| self.spread.get(i));
        format!("{} {}", label.unwrap_or(&"domain"), names.join("/"))
    }

    /// Says `zone a can hold at most one of 3 copies`.
    fn full(&self, name: &str, cap: usize) -> String {
        let cap = match cap {
            1 => "one".to_owned(),
            cap => cap.to_string(),
        };
        format!("{name} can hold at most {cap} of {} copies", self.replicas)
    }

    /// Says `zone a can hold at most one of 3 copies: 33.3 % instead of 41.2 %`.
    fn less(&self, name: &str, cap: usize, wanted: u128, target: u128) -> String {
        let all = f64::from(self.replicas) * self.cells as f64;
        let [possible, wished] = [target, wanted].map(|cells| 100.0 * cells as f64 / all);
        let full = self.full(name, cap);
        format!("{full}: {possible:.1} % instead of {wished:.1} %")
    }
}

fn move_reports<'a>(old: &'a Map, new: &'a Map, plan: &Plan) -> Vec<MoveReport<'a>> {
    plan.moves
        .iter()
        .map(|m| MoveReport {
            first: m.first.to_string(),
            last: m.last.to_string(),
            from: m.from.map(|node| old.node(node).name()),
            to: m.to.map(|node| new.node(node).name()),
            cause: m.cause.name(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::planted::with_caps_too_high;

    /// A fleet with three copies over three zones, of which the first wants half of everything: it
    /// gets more than one copy of a point as soon as its cap allows.
    fn fleet() -> Fleet {
        let node = |(zone, weight): (&str, u32)| {
            format!(
                "[[node]]\nname = '{zone}'\nweight = {weight}\nlabels = {{zone = '{}'}}\n",
                &zone[..1]
            )
        };
        let nodes = [
            ("a1", 4),
            ("a2", 2),
            ("b1", 2),
            ("b2", 1),
            ("c1", 2),
            ("c2", 1),
        ]
        .map(node);
        let text = format!(
            "name = 'planted'\nreplicas = 3\nspread = ['zone']\n{}",
            nodes.concat()
        );
        Fleet::parse(&text, "fleet.toml").unwrap()
    }

    /// Returns what `plan` prints: violations, whether there is a share error, and violations of
    /// pins.
    fn planned(fleet: &Fleet) -> (usize, bool, usize) {
        let map = build(fleet, None).unwrap();
        let report = Report::of_fleet(fleet, None, &map, false).unwrap();
        let share_error = report.max_share_error_points != "0";
        (report.violations, share_error, report.pin_violations)
    }

    #[test]
    fn a_bug_in_the_caps_of_the_rebalancer_is_seen_by_the_plan() {
        assert_eq!(planned(&fleet()), (0, false, 0));
        let (violations, share_error, _) = with_caps_too_high(|| planned(&fleet()));
        assert!(violations > 0 && share_error, "{violations} {share_error}");
        assert_eq!(planned(&fleet()), (0, false, 0));
    }

    #[test]
    fn a_bug_in_the_caps_is_seen_in_a_step_too() {
        let before = build(&fleet(), None).unwrap();
        let mut grown = fleet();
        grown.nodes[1].weight = crate::weight::Weight::MAX;
        let violations = with_caps_too_high(|| {
            let after = build(&grown, Some(&before)).unwrap();
            let report = Report::of_fleet(&grown, Some(&before), &after, true).unwrap();
            report.violations
        });
        assert!(violations > 0);
    }
}
