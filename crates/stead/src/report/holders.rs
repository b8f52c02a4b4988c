//! The shares of nodes, policies and fault domains, and why one is not what its weight asks for.

use std::collections::HashMap;

use serde::Serialize;

use super::capacity::over_wanted;
use super::losses::Loss;
use crate::map::Map;
use crate::policy::NodeId;
use crate::verdict::{Bound, Holder, Verdict};

/// A node or a named policy with a weight: what it wants and what it has.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
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
    /// How many times the share that its weight asks for it gets: above 1 where the caps of others
    /// leave it more. `None` without a weight.
    pub over_wanted: Option<f64>,
    /// Why it cannot have what it wants, in words; `None` when it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The name that it had in the old map, if that was another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<&'a str>,
    /// Whether the fleet dropped the node, and a gradual change has not emptied it yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub leaving: bool,
    /// Its weight in the old map; `None` if it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_weight: Option<String>,
    /// The points that it had in the base slices of the old map; `None` without an old map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_points: Option<String>,
    /// What it has more than in the old map, pinned points included, with a minus if it has less;
    /// `None` without an old map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_points: Option<String>,
}

/// A node or a weighted policy of the old map that the new map does not have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Left<'a> {
    /// `node` or `policy`.
    pub what: &'static str,
    /// The name.
    pub name: &'a str,
    /// The weight that it had.
    pub old_weight: String,
    /// The points that it had in the base slices.
    pub old_points: String,
    /// What it has more than in the old map: all that it had, pinned points included, with a minus.
    pub change_points: String,
}

/// A fault domain: what its nodes want and what it has.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
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
    /// How many times what its weights ask for it gets. `None` without a weight.
    pub over_wanted: Option<f64>,
    /// What it costs to lose it.
    pub loss: Loss,
    /// Why it cannot have what it wants, in words; `None` when it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Formats holders and domains.
pub(super) struct Words<'a, 'v> {
    pub spread: Vec<&'a str>,
    pub replicas: u32,
    pub cells: u128,
    pub verdict: &'v Verdict<'a>,
}

impl<'a> Words<'a, '_> {
    /// Returns how many times its weight each node gets.
    pub fn over(&self) -> Vec<Option<f64>> {
        let all = self.all();
        let weights = self.weights();
        let nodes = self.verdict.nodes.iter();
        nodes.map(|node| over_wanted(node, weights, all)).collect()
    }

    /// All cells, once for each replica.
    fn all(&self) -> f64 {
        f64::from(self.replicas) * self.cells as f64
    }

    /// The sum of all weights, in millionths.
    fn weights(&self) -> u128 {
        let holders = self.verdict.nodes.iter().chain(&self.verdict.policies);
        holders
            .map(|holder| u128::from(holder.weight.millionths()))
            .sum()
    }

    /// Returns the reports of holders.
    pub fn holders(&self, holders: &[Holder<'a>]) -> Vec<HolderReport<'a>> {
        let weights = self.weights();
        holders
            .iter()
            .map(|holder| self.holder(holder, weights))
            .collect()
    }

    fn holder(&self, holder: &Holder<'a>, weights: u128) -> HolderReport<'a> {
        let points = |cells| self.verdict.in_points(cells).to_string();
        HolderReport {
            name: holder.name,
            weight: holder.weight.to_string(),
            wanted_points: points(holder.wanted),
            target_points: holder.target.map(points),
            points: holder.now.points.to_string(),
            primary_points: holder.now.primary_points.to_string(),
            pinned_points: holder.pinned_points.to_string(),
            over_wanted: over_wanted(holder, weights, self.all()),
            reason: self.why(holder),
            was: None,
            leaving: false,
            old_weight: None,
            old_points: None,
            change_points: None,
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
    /// `losses` has what losing each domain of the verdict costs.
    pub fn domains(&self, losses: &[Loss]) -> Vec<DomainReport<'a>> {
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
                reports.push(self.domain(number, losses.get(number)));
            }
            next.append(&mut parts[number]);
        }
        reports
    }

    fn domain(&self, number: usize, loss: Option<&Loss>) -> DomainReport<'a> {
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
            over_wanted: (domain.wanted > 0)
                .then(|| domain.then.cells as f64 / domain.wanted as f64),
            loss: loss.cloned().unwrap_or_default(),
            reason,
        }
    }

    /// Names a domain: `zone a`, `rack a/1`.
    pub fn name(&self, domain: usize) -> String {
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

/// Adds to the reports of a change what the holders had in the old map. Returns those that left.
///
/// `same` has the new number of each old node.
pub(super) fn compare<'a>(
    [nodes, policies]: [&mut Vec<HolderReport<'a>>; 2],
    old: &Verdict<'a>,
    new: (&Map, &Verdict<'a>),
    same: &[Option<NodeId>],
) -> Vec<Left<'a>> {
    let (map, verdict) = new;
    let mut before = vec![None; nodes.len()];
    let mut left = Vec::new();
    for (was, now) in old.nodes.iter().zip(same) {
        match now.and_then(|now| before.get_mut(now.index())) {
            Some(place) => *place = Some(was),
            None => left.push(Left::of("node", was)),
        }
    }
    for (((report, now), was), node) in nodes
        .iter_mut()
        .zip(&verdict.nodes)
        .zip(before)
        .zip(map.nodes())
    {
        report.leaving = node.leaving();
        report.set_before(was, now);
    }
    let mut named: HashMap<&str, &Holder> = old
        .policies
        .iter()
        .map(|policy| (policy.name, policy))
        .collect();
    for (report, now) in policies.iter_mut().zip(&verdict.policies) {
        report.set_before(named.remove(now.name), now);
    }
    let gone = old
        .policies
        .iter()
        .filter(|policy| named.contains_key(policy.name));
    left.extend(gone.map(|policy| Left::of("policy", policy)));
    left
}

impl<'a> HolderReport<'a> {
    fn set_before(&mut self, was: Option<&Holder<'a>>, now: &Holder<'a>) {
        let had = was.map_or(0, |was| was.now.points + was.pinned_points);
        let has = now.now.points + now.pinned_points;
        self.was = was.map(|was| was.name).filter(|name| *name != now.name);
        self.old_weight = was.map(|was| was.weight.to_string());
        self.old_points = Some(was.map_or(0, |was| was.now.points).to_string());
        self.change_points = Some(match has.checked_sub(had) {
            Some(more) => more.to_string(),
            None => format!("-{}", had - has),
        });
    }
}

impl<'a> Left<'a> {
    fn of(what: &'static str, holder: &Holder<'a>) -> Left<'a> {
        let had = holder.now.points + holder.pinned_points;
        Left {
            what,
            name: holder.name,
            old_weight: holder.weight.to_string(),
            old_points: holder.now.points.to_string(),
            change_points: match had {
                0 => "0".to_owned(),
                had => format!("-{had}"),
            },
        }
    }
}
