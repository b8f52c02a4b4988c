//! The verdict: what every holder and domain wants, may have and has, and every violation.

use std::collections::HashMap;

use super::caps::{Domains, Place};
use super::policies::Policies;
use super::shares::{targets, wanted, Bound};
use super::violation::{Problem, Rule, Violation, Violations};
use crate::held::{Held, Holdings, Pinned};
use crate::map::{Map, Node};
use crate::point::SPACE;
use crate::policy::PolicyId;
use crate::slice::Slice;
use crate::weight::Weight;

/// What holds of a map, by the map alone.
///
/// Shares, caps and primaries are judged over the base slices. In a gradual change they are judged
/// over the target slices, at which it ends; of the base slices only those are violations that the
/// target leaves broken. Pins are judged as they are. Targets are counted in cells; see
/// [`Verdict::in_points`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict<'a> {
    /// Every node, by name: in the order of the map.
    pub nodes: Vec<Holder<'a>>,
    /// At one replica every named policy that has a weight, by name; with more replicas none holds
    /// anything.
    pub policies: Vec<Holder<'a>>,
    /// The whole first, then the domains of each level, by their names from the outside in.
    pub domains: Vec<Domain<'a>>,
    /// What is broken.
    pub violations: Violations,
    /// What is no violation and should be known: pins that their fleet calls short, and nodes of
    /// weight 0 that only pins and policies keep in use.
    pub warnings: Violations,
    /// The base slices that break a cap or have not R nodes, without those that a gradual change
    /// repairs.
    pub violating_slices: usize,
    /// The base slices that break a cap or have not R nodes until a gradual change repairs them.
    /// They are no violations.
    pub pending_violations: usize,
    /// The pins that have fewer than R nodes, break a cap or list a node twice.
    pub violating_pins: usize,
    /// The pins of which the same is true, and which their fleet calls short. They are no
    /// violations.
    pub short_pins: usize,
    /// The largest difference between a holder's points and its target, in points.
    pub max_share_error: u128,
    /// The cells that there are.
    space: u128,
}

/// A node or a weighted policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its weight.
    pub weight: Weight,
    /// Cells: its share without caps.
    pub wanted: u128,
    /// Cells: its share within the caps. `None` where fewer nodes than replicas can hold.
    pub target: Option<u128>,
    /// What keeps it from more; `None` where it has no weight or there are no targets.
    pub bound: Option<Bound>,
    /// What the base slices give it.
    pub now: Held,
    /// What the slices give it that are judged: at the end of a gradual change, else the same as
    /// `now`.
    pub then: Held,
    /// Points that pins and named policies give it beyond `now`.
    pub pinned_points: u128,
}

/// The whole, or the nodes that share the values of the first spread labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain<'a> {
    /// 0 for the whole, 1 for the outermost label.
    pub level: usize,
    /// The value of the label of this level; empty for the whole. [`Verdict::names`] gives those
    /// around it too.
    pub name: &'a str,
    /// The domain around it, by its place in [`Verdict::domains`]; `None` for the whole.
    pub parent: Option<usize>,
    /// How many copies of one point it may hold.
    pub cap: usize,
    /// How many of its nodes have a weight above 0.
    pub can_hold: usize,
    /// Cells: what its nodes want.
    pub wanted: u128,
    /// Cells: the targets of its nodes.
    pub target: Option<u128>,
    /// What the base slices give its nodes.
    pub now: Held,
    /// What the slices give its nodes that are judged.
    pub then: Held,
}

impl<'a> Verdict<'a> {
    /// Judges a map, and lists at most `most` violations and as many warnings.
    ///
    /// Cost: for n nodes, domains or slices about n log n, and one step for each node of each
    /// policy.
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
            space: map.cells().count(),
        };
        let mut policies = Policies::new(map, &domains);
        verdict.judge_map(map, judged.len());
        verdict.judge_pins(map, &mut policies);
        verdict.judge_slices(judged, &mut policies);
        verdict.judge_base(&base, target.as_deref(), &mut policies);
        verdict.judge_holders(u128::from(map.replicas()));
        verdict.warn_of_policies(map);
        verdict
    }

    /// No rule is broken.
    pub fn is_sound(&self) -> bool {
        self.violations.count() == 0
    }

    /// Whether as many nodes as replicas, or at one replica a policy, have a weight above 0.
    pub fn has_targets(&self) -> bool {
        let mut holders = self.nodes.iter().chain(&self.policies);
        holders.any(|holder| holder.target.is_some())
    }

    /// So many cells in points: exact where a cell is a point, otherwise cells * 2^64 / G rounded
    /// down.
    pub fn in_points(&self, cells: u128) -> u128 {
        // in two parts, since 255 * G * 2^64 needs more than 128 bits
        cells / self.space * SPACE + cells % self.space * SPACE / self.space
    }

    /// The names of a domain, by its place in [`Verdict::domains`], from the outside in; none for
    /// the whole.
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

    /// `points`, or `cells` where a cell is more than a point.
    fn unit(&self) -> &'static str {
        if self.space == SPACE {
            "points"
        } else {
            "cells"
        }
    }

    /// What is broken whatever the slices are, and their number.
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

    /// The pins, which lie over the base slices and answer for them.
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

    /// A weighted policy may keep a drained node in use without a pin.
    fn warn_of_policies(&mut self, map: &Map) {
        // the same policies in the same order; at several replicas none holds anything
        let weighted = map.policies().filter(|policy| policy.weight().is_some());
        for (policy, holder) in weighted.zip(&self.policies) {
            if holder.now.points > 0 {
                if let Some(problem) = self.kept(map, policy.id, policy.name()) {
                    self.warnings.add_of_map(Rule::Pins, || problem);
                }
            }
        }
    }

    /// The nodes of a policy that have weight 0 and no points of their own.
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

    /// Counts the base slices that are broken: those that the target repairs are pending.
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
            self.violations
                .add_of_map(Rule::Balance, || Problem::Share {
                    kind,
                    name: holder.name.to_owned(),
                    has: has.cells,
                    target,
                    unit,
                });
        }
        for node in &self.nodes {
            let (primary, has) = (node.then.primary_cells, node.then.cells);
            if !(has / replicas..=has.div_ceil(replicas)).contains(&primary) {
                self.violations
                    .add_of_map(Rule::Primaries, || Problem::Primaries {
                        node: node.name.to_owned(),
                        primary,
                        has,
                        replicas,
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

/// The nodes, and the named policies that take a share.
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

/// A holder by its number in the lists, before it is known what it wants and may have.
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

/// The domains with the sums of their nodes; the whole has what the policies hold too.
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
