//! Violations: slices that have not as many copies as they are to have, or too many of them in a
//! domain.

use std::collections::BTreeMap;

use crate::map::{Map, Node};
use crate::policy::NodeId;
use crate::rebalance::Domains;
use crate::slice::Slice;
use crate::weight::Weight;

/// How many base slices are not held by R nodes, or by more in a domain than its cap: those that
/// are as they are to be, and those that a gradual change has not reached yet. A named policy holds
/// what it likes at one replica, and nothing at more.
pub fn violations(map: &Map) -> (usize, usize) {
    let caps = Caps::of(map);
    let broken: Vec<bool> = map
        .policies()
        .map(|policy| match policy.name() {
            Some(_) => map.replicas() > 1,
            None => {
                policy.distinct().len() != map.replicas() as usize
                    || caps.are_broken(policy.distinct().into_iter())
            }
        })
        .collect();
    let is_broken = |slice: &Slice| broken.get(slice.policy.index()).copied().unwrap_or(false);
    let all = map.base_slices().filter(is_broken).count();
    match map.target_slices() {
        None => (all, 0),
        Some(target) => {
            let target: Vec<Slice> = target.collect();
            let there = |slice: &Slice| {
                let at = target.partition_point(|other| other.first <= slice.first);
                at.checked_sub(1)
                    .and_then(|at| target.get(at))
                    .is_some_and(|other| other.policy == slice.policy)
            };
            let wrong = map.base_slices().filter(is_broken).filter(there).count();
            (wrong, all - wrong)
        }
    }
}

/// The caps of all domains, also of those in which no node can hold: theirs is 0.
struct Caps {
    /// For each node its domains, from the outside in.
    around: Vec<Vec<usize>>,
    /// Of each domain.
    caps: Vec<usize>,
}

impl Caps {
    fn of(map: &Map) -> Caps {
        let spread: Vec<&str> = map.spread().collect();
        let path = |node: Node<'_>| {
            spread
                .iter()
                .map_while(|label| node.label(label).map(str::to_owned))
                .collect()
        };
        let paths: Vec<Vec<String>> = map.nodes().map(path).collect();
        // weighted policies are in no domain, so they change no cap
        let mut holding: Vec<Option<Vec<&str>>> = Vec::with_capacity(paths.len());
        for (node, path) in map.nodes().zip(&paths) {
            holding.push(
                (node.weight() > Weight::ZERO).then(|| path.iter().map(String::as_str).collect()),
            );
        }
        let domains = Domains::new(&holding, map.replicas());
        let mut caps: Vec<usize> = Vec::with_capacity(domains.list().len());
        let mut numbers: BTreeMap<&[String], usize> = BTreeMap::new();
        for domain in domains.list().values() {
            numbers.insert(&domain.path, caps.len());
            caps.push(domain.cap as usize);
        }
        let mut around: Vec<Vec<usize>> = Vec::with_capacity(paths.len());
        for path in &paths {
            let mut number = |depth: usize| {
                Some(*numbers.entry(path.get(..depth)?).or_insert_with(|| {
                    caps.push(0);
                    caps.len() - 1
                }))
            };
            around.push((1..=path.len()).filter_map(&mut number).collect());
        }
        Caps { around, caps }
    }

    fn are_broken(&self, nodes: impl Iterator<Item = NodeId>) -> bool {
        let mut domains: Vec<usize> = nodes
            .filter_map(|node| self.around.get(node.index()))
            .flatten()
            .copied()
            .collect();
        domains.sort_unstable();
        domains.chunk_by(|a, b| a == b).any(|copies| {
            let cap = copies.first().and_then(|domain| self.caps.get(*domain));
            cap.is_some_and(|cap| copies.len() > *cap)
        })
    }
}
