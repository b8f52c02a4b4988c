//! Finds what is wrong with the nodes of a policy, under a slice and under a pin.
//!
//! This depends on the policy alone, so each policy is examined once. A fault has numbers only;
//! names are looked up for the faults that are listed.

use std::collections::HashMap;

use super::caps::Domains;
use super::violation::{Problem, Rule};
use crate::map::{Map, Policy};
use crate::policy::{NodeId, PolicyId};

/// What is wrong with a policy.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    /// It does not have R nodes; under a pin, it has fewer.
    Nodes { has: usize },
    /// It is a named policy, and R is above 1.
    Named,
    /// A domain has more of its nodes than its cap.
    Cap {
        domain: usize,
        copies: usize,
        cap: usize,
    },
    /// It lists a node twice. Only a fault under a pin.
    Twice(NodeId),
}

impl Fault {
    /// The rule that a slice with this fault breaks.
    pub fn rule(self) -> Rule {
        match self {
            Fault::Cap { .. } => Rule::Spread,
            _ => Rule::Replicas,
        }
    }
}

/// Examines the policies of a map.
pub(super) struct Policies<'a> {
    map: &'a Map,
    domains: &'a Domains<'a>,
    /// For each policy, its faults under a slice, as far as they were asked for.
    of_slices: Vec<Option<Vec<Fault>>>,
    of_pins: HashMap<PolicyId, Vec<Fault>>,
}

impl<'a> Policies<'a> {
    pub fn new(map: &'a Map, domains: &'a Domains<'a>) -> Policies<'a> {
        Policies {
            map,
            domains,
            of_slices: vec![None; map.policies().len()],
            of_pins: HashMap::new(),
        }
    }

    /// Returns the faults of a slice that this policy holds.
    pub fn under_slice(&mut self, policy: PolicyId) -> &[Fault] {
        let (map, domains) = (self.map, self.domains);
        let look = || under_slice(map, domains, map.policy(policy));
        let known = self.of_slices.get_mut(policy.index());
        known.map_or(&[], |known| known.get_or_insert_with(look))
    }

    /// Returns the faults of a pin that this policy holds.
    pub fn under_pin(&mut self, policy: PolicyId) -> &[Fault] {
        let (map, domains) = (self.map, self.domains);
        let look = || under_pin(map, domains, map.policy(policy));
        self.of_pins.entry(policy).or_insert_with(look)
    }

    /// Describes a fault of a slice, with names.
    pub fn problem(&self, fault: Fault, policy: PolicyId) -> Problem {
        let replicas = self.map.replicas() as usize;
        match fault {
            Fault::Nodes { has } => Problem::Nodes { has, replicas },
            Fault::Named => Problem::NamedPolicy {
                name: self.map.policy(policy).name().unwrap_or("").to_owned(),
            },
            Fault::Cap {
                domain,
                copies,
                cap,
            } => {
                let names = self.domains.names(domain).into_iter().map(str::to_owned);
                Problem::Cap {
                    domain: self.map.spread().map(str::to_owned).zip(names).collect(),
                    copies,
                    cap,
                }
            }
            Fault::Twice(node) => Problem::Twice {
                node: self.map.node(node).name().to_owned(),
            },
        }
    }

    /// Describes a fault of a pin, with names.
    pub fn problem_of_pin(&self, fault: Fault, policy: PolicyId) -> Problem {
        match fault {
            Fault::Nodes { has } => Problem::Short {
                has,
                replicas: self.map.replicas() as usize,
            },
            _ => self.problem(fault, policy),
        }
    }
}

fn under_slice(map: &Map, domains: &Domains, policy: Policy) -> Vec<Fault> {
    let replicas = map.replicas() as usize;
    if policy.name().is_some() {
        // with one replica it is a holder like any other, and in no domain
        return (replicas > 1).then_some(Fault::Named).into_iter().collect();
    }
    let nodes = policy.distinct();
    let has = nodes.len();
    let mut faults = Vec::new();
    if has != replicas {
        faults.push(Fault::Nodes { has });
    }
    for (domain, copies, cap) in copies(domains, &nodes) {
        if copies > cap {
            faults.push(Fault::Cap {
                domain,
                copies,
                cap,
            });
        }
    }
    faults
}

/// A pin may have more nodes than R, and may have one in a domain where no node can hold points.
/// The rule is that the loss of a domain leaves as many copies of a pinned point as of any other.
fn under_pin(map: &Map, domains: &Domains, policy: Policy) -> Vec<Fault> {
    let replicas = map.replicas() as usize;
    let nodes = policy.distinct();
    let has = nodes.len();
    let mut faults = Vec::new();
    if has < replicas {
        faults.push(Fault::Nodes { has });
    }
    for (domain, copies, cap) in copies(domains, &nodes) {
        let cap = cap.max(1);
        if copies > cap && has - copies < replicas.saturating_sub(cap) {
            faults.push(Fault::Cap {
                domain,
                copies,
                cap,
            });
        }
    }
    if has < policy.members().len() {
        let mut nodes = nodes.into_iter();
        // `distinct` keeps the first occurrences, so the first difference is a repetition
        faults.extend(
            policy
                .members()
                .find(|node| nodes.next() != Some(*node))
                .map(Fault::Twice),
        );
    }
    faults
}

/// Returns, for each domain, how many of these nodes it has, and its cap; ordered from the
/// outermost in and by name. The whole is left out: the number of nodes is checked separately.
fn copies(domains: &Domains, nodes: &[NodeId]) -> Vec<(usize, usize, usize)> {
    let mut around: Vec<usize> = nodes
        .iter()
        .flat_map(|node| domains.around(node.index()))
        .collect();
    around.sort_unstable();
    let count = |copies: &[usize]| {
        let domain = *copies.first()?;
        let part = domains.all.get(domain).filter(|part| part.level > 0)?;
        Some((domain, copies.len(), part.cap))
    };
    around.chunk_by(|a, b| a == b).filter_map(count).collect()
}
