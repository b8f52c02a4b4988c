//! The verdict: what every holder and domain wants, may have and has, and every violation.

use std::collections::HashMap;

use super::caps::{Domains, Part, Place};
use super::held::{Amount, Held};
use super::shares::{targets, wanted};
use super::violation::{Problem, Violations};
use crate::map::{Map, Node, Policy};
use crate::point::SPACE;
use crate::policy::PolicyId;
use crate::slice::Slice;
use crate::weight::Weight;

/// What holds of a map, by the map alone. Shares are counted in cells; see [`Verdict::in_points`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Every node, by name: in the order of the map.
    pub nodes: Vec<Holder>,
    /// At one replica every named policy that has a weight, by name; with more replicas none holds
    /// anything.
    pub policies: Vec<Holder>,
    /// The whole first, then the domains of each level, by their names from the outside in.
    pub domains: Vec<Domain>,
    /// What is broken.
    pub violations: Violations,
    /// In a gradual change: the slices not yet taken over that break a cap or have not R nodes.
    /// They are no violations.
    pub pending_violations: usize,
    /// The largest difference between a holder's points and its target, in points.
    pub max_share_error: u128,
    /// The cells that there are.
    space: u128,
}

/// A node or a weighted policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: Weight,
    /// Cells: its share without caps.
    pub wanted: u128,
    /// Cells: its share within the caps. `None` where fewer nodes than replicas can hold.
    pub target: Option<u128>,
    /// Cells that it has.
    pub cells: u128,
    /// Cells of which it is the primary.
    pub primary_cells: u128,
    /// Points that it has.
    pub points: u128,
    /// Points of which it is the primary.
    pub primary_points: u128,
}

/// The whole, or the nodes that share the values of the first spread labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// 0 for the whole, 1 for the outermost label.
    pub level: usize,
    /// The value of the label of this level; empty for the whole. [`Verdict::names`] gives those
    /// around it too.
    pub name: String,
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
    /// Cells that its nodes have.
    pub cells: u128,
    /// Points that its nodes have.
    pub points: u128,
}

impl Verdict {
    /// Judges a map, and lists at most so many violations.
    ///
    /// Cost: for n nodes, domains or slices about n log n, and one step for each node of each
    /// policy.
    pub fn of(map: &Map, most: usize) -> Verdict {
        let replicas = map.replicas() as usize;
        let domains = Domains::of(&places(map), replicas);
        let chosen = Chosen::of(map);
        let (nodes, policies) = holders(map, &domains, &Held::by(map, &chosen.judged));
        let mut verdict = Verdict {
            domains: shares_of_domains(&domains, &nodes, &policies),
            nodes,
            policies,
            violations: Violations::new(most),
            pending_violations: 0,
            max_share_error: 0,
            space: map.cells().count(),
        };
        verdict.judge_map(map, &chosen.judged);
        let mut problems = Problems {
            map,
            domains: &domains,
            named: &verdict.domains,
            known: HashMap::new(),
        };
        for slice in &chosen.judged {
            for problem in problems.of(slice.policy) {
                verdict.violations.add(Some(*slice), problem);
            }
        }
        verdict.pending_violations = chosen
            .pending
            .iter()
            .filter(|slice| !problems.of(slice.policy).is_empty())
            .count();
        verdict.judge_holders(replicas as u128);
        verdict
    }

    /// No rule is broken.
    pub fn is_sound(&self) -> bool {
        self.violations.count() == 0
    }

    /// So many cells in points: exact where a cell is a point, otherwise cells * 2^64 / G rounded
    /// down.
    pub fn in_points(&self, cells: u128) -> u128 {
        // in two parts, since 255 * G * 2^64 needs more than 128 bits
        cells / self.space * SPACE + cells % self.space * SPACE / self.space
    }

    /// The names of a domain, by its place in [`Verdict::domains`], from the outside in; none for
    /// the whole.
    pub fn names(&self, domain: usize) -> Vec<&str> {
        names(&self.domains, domain)
    }

    /// `points`, or `cells` where a cell is more than a point.
    fn unit(&self) -> &'static str {
        if self.space == SPACE {
            "points"
        } else {
            "cells"
        }
    }

    /// What is broken whatever the slices are.
    fn judge_map(&mut self, map: &Map, judged: &[Slice]) {
        if self
            .nodes
            .iter()
            .chain(&self.policies)
            .all(|holder| holder.target.is_none())
        {
            let can_hold = self
                .nodes
                .iter()
                .filter(|node| node.weight > Weight::ZERO)
                .count();
            self.violations.add(
                None,
                &Problem::TooFew {
                    can_hold,
                    replicas: map.replicas() as usize,
                },
            );
        }
        for node in map.nodes().filter(|node| node.weight() > Weight::ZERO) {
            if let Some(label) = map.spread().find(|label| node.label(label).is_none()) {
                self.violations.add(
                    None,
                    &Problem::Label {
                        node: node.name().to_owned(),
                        label: label.to_owned(),
                    },
                );
            }
        }
        if let Some(most) = map
            .max_slices()
            .map(|most| most as usize)
            .filter(|most| judged.len() > *most)
        {
            self.violations.add(
                None,
                &Problem::Slices {
                    has: judged.len(),
                    most,
                },
            );
        }
    }

    fn judge_holders(&mut self, replicas: u128) {
        let unit = self.unit();
        let nodes = self.nodes.iter().map(|node| ("node", node));
        for (kind, holder) in nodes.chain(self.policies.iter().map(|policy| ("policy", policy))) {
            let Some(target) = holder.target.filter(|target| *target != holder.cells) else {
                continue;
            };
            self.max_share_error = self
                .max_share_error
                .max(self.in_points(target).abs_diff(holder.points));
            let problem = Problem::Share {
                kind,
                name: holder.name.clone(),
                has: holder.cells,
                target,
                unit,
            };
            self.violations.add(None, &problem);
        }
        for node in &self.nodes {
            let (primary, has) = (node.primary_cells, node.cells);
            if !(has / replicas..=has.div_ceil(replicas)).contains(&primary) {
                self.violations.add(
                    None,
                    &Problem::Primaries {
                        node: node.name.clone(),
                        primary,
                        has,
                        replicas,
                        unit,
                    },
                );
            }
        }
    }
}

/// Which slices a map is judged by.
struct Chosen {
    /// Their shares, caps and primaries must be right.
    judged: Vec<Slice>,
    /// Those of which only the number that break a cap or have not R nodes is told.
    pending: Vec<Slice>,
}

impl Chosen {
    /// The base slices. In a gradual change it is the target slices that are judged, and the base
    /// slices are pending; this is the one place where that is chosen.
    fn of(map: &Map) -> Chosen {
        match map.target_slices() {
            Some(target) => Chosen {
                judged: target.collect(),
                pending: map.base_slices().collect(),
            },
            None => Chosen {
                judged: map.base_slices().collect(),
                pending: Vec::new(),
            },
        }
    }
}

/// What is wrong with a slice follows from its policy alone, so each policy is looked at once.
struct Problems<'a> {
    map: &'a Map,
    domains: &'a Domains,
    /// the same, as the verdict shows them
    named: &'a [Domain],
    known: HashMap<PolicyId, Vec<Problem>>,
}

impl Problems<'_> {
    fn of(&mut self, policy: PolicyId) -> &[Problem] {
        if !self.known.contains_key(&policy) {
            self.known.insert(policy, self.look(policy));
        }
        self.known.get(&policy).map_or(&[], Vec::as_slice)
    }

    fn look(&self, policy: PolicyId) -> Vec<Problem> {
        let replicas = self.map.replicas() as usize;
        let policy = self.map.policy(policy);
        if let Some(name) = policy.name() {
            // at one replica it is a holder like any other, and in no domain
            return if replicas == 1 {
                Vec::new()
            } else {
                vec![Problem::NamedPolicy {
                    name: name.to_owned(),
                }]
            };
        }
        let mut problems = Vec::new();
        let nodes = policy.distinct();
        let has = nodes.len();
        if has != replicas {
            problems.push(Problem::Nodes { has, replicas });
        }
        let mut around: Vec<usize> = nodes
            .into_iter()
            .flat_map(|node| self.domains.around(node.index()))
            .collect();
        around.sort_unstable();
        for copies in around.chunk_by(|a, b| a == b) {
            let Some((number, domain)) = copies
                .first()
                .and_then(|number| Some((*number, self.named.get(*number)?)))
            else {
                continue;
            };
            // how many are in the whole has just been judged
            if domain.level > 0 && copies.len() > domain.cap {
                let names = names(self.named, number).into_iter().map(str::to_owned);
                let domain_named = self.map.spread().map(str::to_owned).zip(names).collect();
                problems.push(Problem::Cap {
                    domain: domain_named,
                    copies: copies.len(),
                    cap: domain.cap,
                });
            }
        }
        problems
    }
}

fn names(domains: &[Domain], number: usize) -> Vec<&str> {
    let around = std::iter::successors(domains.get(number), |domain| domains.get(domain.parent?));
    let mut names: Vec<&str> = around
        .filter(|domain| domain.level > 0)
        .map(|domain| domain.name.as_str())
        .collect();
    names.reverse();
    names
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
fn holders(map: &Map, domains: &Domains, held: &Held) -> (Vec<Holder>, Vec<Holder>) {
    let weighted = |policy: Policy<'_>| {
        Some((
            policy.name()?.to_owned(),
            policy.weight()?,
            held.policy(policy.id),
        ))
    };
    let policies = map
        .policies()
        .filter_map(weighted)
        .filter(|_| map.replicas() == 1);
    let nodes = map
        .nodes()
        .map(|node| (node.name().to_owned(), node.weight(), held.node(node.id)));
    let all: Vec<(String, Weight, Amount)> = nodes.chain(policies).collect();

    let weights: Vec<u128> = all
        .iter()
        .map(|(_, weight, _)| u128::from(weight.millionths()))
        .collect();
    let (replicas, space) = (map.replicas(), map.cells().count());
    let wanted = wanted(u128::from(replicas) * space, &weights);
    let targets = targets(&weights, domains, replicas as usize, space);
    let mut targets = targets.into_iter().flatten();
    let holder = |((name, weight, held), wanted): ((String, Weight, Amount), u128)| {
        let Amount {
            cells,
            points,
            primary_cells,
            primary_points,
        } = held;
        Holder {
            name,
            weight,
            wanted,
            target: targets.next(),
            cells,
            primary_cells,
            points,
            primary_points,
        }
    };
    let mut nodes: Vec<Holder> = all.into_iter().zip(wanted).map(holder).collect();
    let policies = nodes.split_off(map.nodes().len());
    (nodes, policies)
}

/// The domains with the sums of their nodes; the whole has what the policies hold too.
fn shares_of_domains(domains: &Domains, nodes: &[Holder], policies: &[Holder]) -> Vec<Domain> {
    let domain = |part: &Part| Domain {
        level: part.level,
        name: part.value.clone(),
        parent: part.parent,
        cap: part.cap,
        can_hold: part.can_hold,
        wanted: 0,
        target: None,
        cells: 0,
        points: 0,
    };
    let mut all: Vec<Domain> = domains.all.iter().map(domain).collect();
    for (number, holder) in nodes.iter().chain(policies).enumerate() {
        for domain in domains.around(number) {
            if let Some(domain) = all.get_mut(domain) {
                domain.wanted += holder.wanted;
                domain.target = holder
                    .target
                    .map(|target| target + domain.target.unwrap_or(0));
                domain.cells += holder.cells;
                domain.points += holder.points;
            }
        }
    }
    all
}
