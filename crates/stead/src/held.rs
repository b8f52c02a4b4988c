//! What the slices of a map give its holders: nodes through unnamed policies, and named policies
//! themselves.

use std::collections::{HashMap, HashSet};

use crate::cell::Cells;
use crate::map::Map;
use crate::policy::{NodeId, PolicyId};
use crate::slice::{overlay, Slice};

/// What one holder has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Cells that it has.
    pub cells: u128,
    /// Cells of which it is the primary.
    pub primary_cells: u128,
    /// Points that it has.
    pub points: u128,
    /// Points of which it is the primary.
    pub primary_points: u128,
}

impl Held {
    pub(crate) fn add(&mut self, other: Held) {
        self.cells += other.cells;
        self.primary_cells += other.primary_cells;
        self.points += other.points;
        self.primary_points += other.primary_points;
    }
}

/// What all holders have, by the numbers of nodes and policies in the map.
pub(crate) struct Holdings {
    pub nodes: Vec<Held>,
    /// Only named policies have something of their own; the nodes of an unnamed one have it.
    pub policies: Vec<Held>,
}

impl Holdings {
    /// Counts these slices, which cover the space. Cost: one pass over slices, policies and their
    /// nodes.
    pub fn of(map: &Map, slices: impl Iterator<Item = Slice>) -> Holdings {
        let mut policies = vec![Held::default(); map.policies().len()];
        for slice in slices {
            if let Some(sum) = policies.get_mut(slice.policy.index()) {
                let (cells, points) = (cells_of(&slice, map.cells()), slice.points());
                sum.add(Held {
                    cells,
                    primary_cells: cells,
                    points,
                    primary_points: points,
                });
            }
        }
        let mut nodes = vec![Held::default(); map.nodes().len()];
        for (held, policy) in policies.iter_mut().zip(map.policies()) {
            if policy.name().is_some() {
                continue;
            }
            let mut copy = std::mem::take(held);
            for node in policy.distinct() {
                if let Some(sum) = nodes.get_mut(node.index()) {
                    sum.add(copy);
                }
                // only the first is the primary
                (copy.primary_cells, copy.primary_points) = (0, 0);
            }
        }
        Holdings { nodes, policies }
    }
}

/// How many cells a slice has; its bounds are cell bounds.
fn cells_of(slice: &Slice, cells: Cells) -> u128 {
    cells.of(slice.last) - cells.of(slice.first) + 1
}

/// What pins and named policies give beyond the base slices.
pub(crate) struct Pinned {
    /// Points of the final slices that name a node, and that are not its own: its base slices do
    /// not have them. By the numbers of the nodes.
    pub nodes: Vec<u128>,
    /// Points that pins give to a named policy and that its base slices do not have. By the
    /// numbers of the policies.
    pub policies: Vec<u128>,
}

impl Pinned {
    /// Counts the final slices against the base slices. Cost: one pass over both, and over the
    /// policies that pins name and that lie under them.
    pub fn of(map: &Map) -> Pinned {
        let mut given = vec![0; map.policies().len()];
        let mut policies = given.clone();
        // points of a base policy that lies under another one
        let mut under: HashMap<(PolicyId, PolicyId), u128> = HashMap::new();
        let slices = [map.base_slices().collect(), map.slices().collect()];
        for (first, last, [base, over]) in overlay(slices) {
            if base == over && map.policy(base).name().is_none() {
                continue;
            }
            let points = first.count_to(last);
            if let Some(sum) = given.get_mut(over.index()) {
                *sum += points;
            }
            if base != over {
                *under.entry((over, base)).or_default() += points;
                if let Some(sum) = policies.get_mut(over.index()) {
                    *sum += points;
                }
            }
        }
        let mut nodes = vec![0; map.nodes().len()];
        let mut members: HashMap<PolicyId, HashSet<NodeId>> = HashMap::new();
        for (policy, points) in (0..).map(PolicyId).zip(given) {
            if points == 0 {
                continue;
            }
            let list = members.entry(policy).or_default();
            list.extend(map.policy(policy).members());
            for node in list.iter() {
                if let Some(sum) = nodes.get_mut(node.index()) {
                    *sum += points;
                }
            }
        }
        for ((over, base), points) in under {
            let base = map.policy(base);
            let Some(list) = members.get(&over).filter(|_| base.name().is_none()) else {
                continue;
            };
            for node in base.distinct().iter().filter(|node| list.contains(node)) {
                if let Some(sum) = nodes.get_mut(node.index()) {
                    *sum = sum.saturating_sub(points);
                }
            }
        }
        Pinned { nodes, policies }
    }
}
