//! The verdict: the share that every holder and domain wants, may have and has, and every
//! violation.

use std::collections::HashMap;

use super::caps::{Domains, Place};
use super::policies::Policies;
use super::shares::{allowed, off, targets, wanted, Bound};
use super::violation::{Problem, Rule, Violation, Violations};
use crate::held::{Held, Holdings, Pinned};
use crate::map::{Map, Node};
use crate::point::SPACE;
use crate::policy::PolicyId;
use crate::slice::Slice;
use crate::tolerance::Tolerance;
use crate::weight::Weight;

/// The facts about a map that follow from the map alone.
///
/// Shares, caps and primaries are judged over the base slices. While a gradual change is under way,
/// they are judged over the target slices instead, where the change will end; a base slice is then
/// a violation only if the target leaves it broken. Pins are judged as they are. Targets are
/// counted in cells; see [`Verdict::in_points`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict<'a> {
    /// Every node, in the order of the map, which is by name.
    pub nodes: Vec<Holder<'a>>,
    /// With one replica, every named policy that has a weight, in the order of names. With more
    /// replicas these hold nothing.
    pub policies: Vec<Holder<'a>>,
    /// The whole first, then the domains of each level, in the order of their names from the
    /// outermost in.
    pub domains: Vec<Domain<'a>>,
    /// The broken rules.
    pub violations: Violations,
    /// Things that are no violations but that the user should know: pins that the fleet declares
    /// short, and nodes of weight 0 that only pins and policies keep in use.
    pub warnings: Violations,
    /// The base slices that break a cap or do not have R nodes, without those that a gradual change
    /// repairs.
    pub violating_slices: usize,
    /// The base slices that break a cap or do not have R nodes until a gradual change repairs them.
    /// They are not violations.
    pub pending_violations: usize,
    /// The pins that have fewer than R nodes, break a cap or list a node twice, and are not
    /// declared short.
    pub violating_pins: usize,
    /// The pins with such a fault that the fleet declares short. They are not violations.
    pub short_pins: usize,
    /// The largest difference between the points of a holder and its target, also where the
    /// tolerance allows it.
    pub max_share_error: u128,
    /// The largest difference between the cells of a holder and its target, in millionths of the
    /// target, rounded up. A sound map has no more than its tolerance.
    pub max_share_error_millionths: u128,
    /// How far shares may be from their targets; `None` if they must be exact.
    pub tolerance: Option<Tolerance>,
    /// The number of cells in the space.
    space: u128,
}

/// A node, or a policy with a weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder<'a> {
    /// The name of the node or policy.
    pub name: &'a str,
    /// The weight of the node or policy.
    pub weight: Weight,
    /// Its share without caps, in cells.
    pub wanted: u128,
    /// Its share under the caps, in cells. `None` when fewer nodes than replicas can hold points.
    pub target: Option<u128>,
    /// What keeps it from more. `None` when it has no weight or there are no targets.
    pub bound: Option<Bound>,
    /// What it holds in the base slices.
    pub now: Held,
    /// What it holds in the slices that are judged: those at the end of a gradual change, otherwise
    /// the same as `now`.
    pub then: Held,
    /// The additional points that pins and named policies give it.
    pub pinned_points: u128,
}

/// The whole, or the nodes that share the values of the first spread labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain<'a> {
    /// 0 for the whole, 1 for the outermost label.
    pub level: usize,
    /// The value of the label of this level; empty for the whole. [`Verdict::names`] also gives the
    /// values of the outer levels.
    pub name: &'a str,
    /// The domain around it, as its index in [`Verdict::domains`]; `None` for the whole.
    pub parent: Option<usize>,
    /// How many copies of one point it may hold.
    pub cap: usize,
    /// How many of its nodes have a weight above 0.
    pub can_hold: usize,
    /// What its nodes want, in cells.
    pub wanted: u128,
    /// The targets of its nodes, in cells.
    pub target: Option<u128>,
    /// What its nodes hold in the base slices.
    pub now: Held,
    /// What its nodes hold in the slices that are judged.
    pub then: Held,
}

impl<'a> Verdict<'a> {
    /// Judges a map. Lists at most `most` violations and as many warnings.
    ///
    /// This is right only for a map that is [`understood`](Map::understood): another map may have
    /// rules that this stead does not know.
    ///
    /// Cost: O(n log n) for n nodes, domains or slices, and one step for each node of each policy.
    pub fn of(map: &'a Map, most: usize) -> Verdict<'a> {
        let domains = Domains::of(&places(map), map.replicas() as usize);
        let base: Vec<Slice> = map.base_slices().collect();
        let target: Option<Vec<Slice>> = map.target_slices().map(Iterator::collect);
        let judged = target.as_ref().unwrap_or(&base);
        let (nodes, policies) = holders(map, &domains, judged);
        let mut verdict = Verdict {
            domains: shares_of_domains(&domains, &nodes, &policies),
            nodes,
            policies,
            violations: Violations::new(most),
            warnings: Violations::new(most),
            violating_slices: 0,
            pending_violations: 0,
            violating_pins: 0,
            short_pins: 0,
            max_share_error: 0,
            max_share_error_millionths: 0,
            tolerance: map.tolerance(),
            space: map.cells().count(),
        };
        let mut policies = Policies::new(map, &domains);
        verdict.judge_map(map, judged.len());
        verdict.judge_pins(map, &mut policies);
        verdict.judge_slices(judged, &mut policies);
        verdict.judge_base(&base, target.as_deref(), &mut policies);
        verdict.judge_holders(u128::from(map.replicas()));
        verdict.warn_of_policies(map);
        verdict.warn_of_domains(map);
        verdict
    }

    /// Whether no rule is broken.
    pub fn is_sound(&self) -> bool {
        self.violations.count() == 0
    }

    /// Whether targets exist: there are as many nodes with a weight above 0 as replicas, where with
    /// one replica a policy counts as well.
    pub fn has_targets(&self) -> bool {
        let mut holders = self.nodes.iter().chain(&self.policies);
        holders.any(|holder| holder.target.is_some())
    }

    /// Converts cells to points. This is exact if a cell is a point; otherwise it is cells * 2^64 /
    /// G, rounded down.
    pub fn in_points(&self, cells: u128) -> u128 {
        // in two parts, since 255 * G * 2^64 needs more than 128 bits
        cells / self.space * SPACE + cells % self.space * SPACE / self.space
    }

    /// Returns the names of a domain, given by its index in [`Verdict::domains`], outermost first.
    /// The whole has none.
    pub fn names(&self, domain: usize) -> Vec<&'a str> {
        let around = std::iter::successors(self.domains.get(domain), |domain| {
            self.domains.get(domain.parent?)
        });
        let mut names: Vec<&str> = around
            .filter(|domain| domain.level > 0)
            .map(|domain| domain.name)
            .collect();
        names.reverse();
        names
    }

    /// Returns `points`, or `cells` if a cell is more than a point.
    fn unit(&self) -> &'static str {
        if self.space == SPACE {
            "points"
        } else {
            "cells"
        }
    }

    /// Judges what does not depend on the slices, and their number.
    fn judge_map(&mut self, map: &Map, slices: usize) {
        if !self.has_targets() {
            let nodes = self.nodes.iter();
            let can_hold = nodes.filter(|node| node.weight > Weight::ZERO).count();
            self.violations
                .add_of_map(Rule::Balance, || Problem::TooFew {
                    can_hold,
                    replicas: map.replicas() as usize,
                });
        }
        for node in map.nodes().filter(|node| node.weight() > Weight::ZERO) {
            if let Some(label) = map.spread().find(|label| node.label(label).is_none()) {
                self.violations.add_of_map(Rule::Spread, || Problem::Label {
                    node: node.name().to_owned(),
                    label: label.to_owned(),
                });
            }
        }
        if let Some(most) = map
            .max_slices()
            .map(|most| most as usize)
            .filter(|most| slices > *most)
        {
            self.violations
                .add_of_map(Rule::MaxSlices, || Problem::Slices { has: slices, most });
        }
    }

    /// Judges the pins. Where pins lie, they are judged instead of the base slices below.
    fn judge_pins(&mut self, map: &Map, policies: &mut Policies) {
        let mut kept: HashMap<PolicyId, Option<Problem>> = HashMap::new();
        for (number, pin) in map.pins().enumerate() {
            let policy = pin.slice.policy;
            let violation = |problem| Violation {
                rule: Rule::Pins,
                slice: Some(pin.slice),
                pin: Some(number),
                problem,
            };
            let faults = policies.under_pin(policy).to_vec();
            let list = if pin.short {
                self.short_pins += usize::from(!faults.is_empty());
                &mut self.warnings
            } else {
                self.violating_pins += usize::from(!faults.is_empty());
                &mut self.violations
            };
            for fault in faults {
                list.add(Rule::Pins, || {
                    violation(policies.problem_of_pin(fault, policy))
                });
            }
            let look = || self.kept(map, policy, None);
            if let Some(problem) = kept.entry(policy).or_insert_with(look) {
                self.warnings.add(Rule::Pins, || violation(problem.clone()));
            }
        }
    }

    /// Warns of nodes of weight 0 that a policy with a weight keeps in use without any pin.
    fn warn_of_policies(&mut self, map: &Map) {
        // `self.policies` has the same policies in the same order; with several replicas it is
        // empty
        let weighted = map.policies().filter(|policy| policy.weight().is_some());
        for (policy, holder) in weighted.zip(&self.policies) {
            if holder.now.points > 0 {
                if let Some(problem) = self.kept(map, policy.id, policy.name()) {
                    self.warnings.add_of_map(Rule::Pins, || problem);
                }
            }
        }
    }

    /// Warns of domains that have nodes, none of which can hold points. A domain inside such a
    /// domain is not mentioned.
    fn warn_of_domains(&mut self, map: &Map) {
        for number in 1..self.domains.len() {
            let is_empty = |domain: &Domain| domain.can_hold == 0;
            let Some(domain) = self.domains.get(number).filter(|domain| is_empty(domain)) else {
                continue;
            };
            let around = domain.parent.and_then(|parent| self.domains.get(parent));
            if around.is_some_and(is_empty) {
                continue;
            }
            let names = self.names(number).into_iter().map(str::to_owned);
            let domain = map.spread().map(str::to_owned).zip(names).collect();
            self.warnings
                .add_of_map(Rule::Spread, || Problem::Empty { domain });
        }
    }

    /// Returns the warning about the nodes of a policy that have weight 0 and no share of their
    /// own.
    fn kept(&self, map: &Map, policy: PolicyId, by: Option<&str>) -> Option<Problem> {
        let nodes = map.policy(policy).distinct();
        let mut drained = nodes
            .iter()
            .filter_map(|node| self.nodes.get(node.index()))
            .filter(|node| node.weight == Weight::ZERO && node.now.points == 0);
        let node = drained.next()?.name.to_owned();
        Some(Problem::Kept {
            node,
            more: drained.count(),
            policy: by.map(str::to_owned),
        })
    }

    fn judge_slices(&mut self, judged: &[Slice], policies: &mut Policies) {
        for slice in judged {
            for fault in policies.under_slice(slice.policy).to_vec() {
                let rule = fault.rule();
                self.violations.add(rule, || Violation {
                    rule,
                    slice: Some(*slice),
                    pin: None,
                    problem: policies.problem(fault, slice.policy),
                });
            }
        }
    }

    /// Counts the base slices that are broken. Those that the target repairs are pending.
    fn judge_base(&mut self, base: &[Slice], target: Option<&[Slice]>, policies: &mut Policies) {
        let mut is_broken = |slice: &Slice| !policies.under_slice(slice.policy).is_empty();
        for slice in base {
            if !is_broken(slice) {
                continue;
            }
            let stays = target.is_none_or(|target| {
                let from = target.partition_point(|other| other.last < slice.first);
                let there = target.iter().skip(from);
                there
                    .take_while(|other| other.first <= slice.last)
                    .any(&mut is_broken)
            });
            if stays {
                self.violating_slices += 1;
            } else {
                self.pending_violations += 1;
            }
        }
    }

    fn judge_holders(&mut self, replicas: u128) {
        let unit = self.unit();
        let nodes = self.nodes.iter().map(|node| ("node", node));
        for (kind, holder) in nodes.chain(self.policies.iter().map(|policy| ("policy", policy))) {
            let has = holder.then;
            let Some(target) = holder.target.filter(|target| *target != has.cells) else {
                continue;
            };
            self.max_share_error = self
                .max_share_error
                .max(self.in_points(target).abs_diff(has.points));
            self.max_share_error_millionths =
                self.max_share_error_millionths.max(off(has.cells, target));
            let range = allowed(target, self.tolerance, self.space);
            if !range.contains(&has.cells) {
                self.violations
                    .add_of_map(Rule::Balance, || Problem::Share {
                        kind,
                        name: holder.name.to_owned(),
                        has: has.cells,
                        target,
                        least: *range.start(),
                        most: *range.end(),
                        unit,
                    });
            }
        }
        for node in &self.nodes {
            let (primary, has) = (node.then.primary_cells, node.then.cells);
            // at one replica every copy is a primary, whatever the tolerance
            let tolerance = self.tolerance.filter(|_| replicas > 1);
            let range = match node.target.filter(|_| tolerance.is_some()) {
                Some(target) => allowed(target, tolerance, self.space),
                None => has..=has,
            };
            let (least, most) = (range.start() / replicas, range.end().div_ceil(replicas));
            if !(least..=most).contains(&primary) {
                self.violations
                    .add_of_map(Rule::Primaries, || Problem::Primaries {
                        node: node.name.to_owned(),
                        primary,
                        has,
                        least,
                        most,
                        unit,
                    });
            }
        }
    }
}

fn places(map: &Map) -> Vec<Place<'_>> {
    let spread: Vec<&str> = map.spread().collect();
    map.nodes().map(|node| place(node, &spread)).collect()
}

fn place<'a>(node: Node<'a>, spread: &[&str]) -> Place<'a> {
    let labels: Vec<(&str, &str)> = node.labels().collect(); // by name
    let value = |label: &&str| {
        let place = labels.binary_search_by(|(name, _)| name.cmp(label)).ok()?;
        labels.get(place).map(|(_, value)| *value)
    };
    Place {
        can_hold: node.weight() > Weight::ZERO,
        values: spread.iter().map_while(value).collect(),
    }
}

/// Returns the nodes, and the named policies that take a share.
fn holders<'a>(
    map: &'a Map,
    domains: &Domains,
    judged: &[Slice],
) -> (Vec<Holder<'a>>, Vec<Holder<'a>>) {
    let now = Holdings::of(map, map.base_slices());
    let then = Holdings::of(map, judged.iter().copied());
    let pinned = Pinned::of(map);
    let of_node = |node: Node<'a>| {
        let (name, weight, i) = (node.name(), node.weight(), node.id.index());
        holder(name, weight, i, [&now.nodes, &then.nodes], &pinned.nodes)
    };
    let mut all: Vec<Holder> = map.nodes().map(of_node).collect();
    let nodes = all.len();
    if map.replicas() == 1 {
        for policy in map.policies() {
            if let (Some(name), Some(weight)) = (policy.name(), policy.weight()) {
                let (i, held) = (policy.id.index(), [&now.policies, &then.policies]);
                all.push(holder(name, weight, i, held, &pinned.policies));
            }
        }
    }
    let weights: Vec<u128> = all
        .iter()
        .map(|holder| u128::from(holder.weight.millionths()))
        .collect();
    let (replicas, space) = (map.replicas(), map.cells().count());
    let wanted = wanted(u128::from(replicas) * space, &weights);
    for (holder, wanted) in all.iter_mut().zip(wanted) {
        holder.wanted = wanted;
    }
    if let Some(targets) = targets(&weights, domains, replicas as usize, space) {
        let found = targets.cells.into_iter().zip(targets.bounds);
        for (holder, (target, bound)) in all.iter_mut().zip(found) {
            (holder.target, holder.bound) = (Some(target), bound);
        }
    }
    let policies = all.split_off(nodes);
    (all, policies)
}

/// Makes a holder from its number in the lists; `wanted`, `target` and `bound` are filled in later.
fn holder<'a>(
    name: &'a str,
    weight: Weight,
    number: usize,
    [now, then]: [&Vec<Held>; 2],
    pinned: &[u128],
) -> Holder<'a> {
    Holder {
        name,
        weight,
        wanted: 0,
        target: None,
        bound: None,
        now: now.get(number).copied().unwrap_or_default(),
        then: then.get(number).copied().unwrap_or_default(),
        pinned_points: pinned.get(number).copied().unwrap_or(0),
    }
}

/// Returns the domains with the sums over their nodes. The whole also includes what the policies
/// hold.
fn shares_of_domains<'a>(
    domains: &Domains<'a>,
    nodes: &[Holder],
    policies: &[Holder],
) -> Vec<Domain<'a>> {
    let parts = domains.all.iter();
    let mut all: Vec<Domain> = parts
        .map(|part| Domain {
            level: part.level,
            name: part.value,
            parent: part.parent,
            cap: part.cap,
            can_hold: part.can_hold,
            wanted: 0,
            target: None,
            now: Held::default(),
            then: Held::default(),
        })
        .collect();
    for (number, holder) in nodes.iter().chain(policies).enumerate() {
        for domain in domains.around(number) {
            if let Some(domain) = all.get_mut(domain) {
                domain.wanted += holder.wanted;
                domain.target = holder
                    .target
                    .map(|target| target + domain.target.unwrap_or(0));
                domain.now.add(holder.now);
                domain.then.add(holder.then);
            }
        }
    }
    all
}
