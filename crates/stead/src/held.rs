//! The cells and points that the slices of a map give to its holders. The slices of an unnamed
//! policy count for its nodes, those of a named policy for the policy itself.

use std::collections::{HashMap, HashSet};

use crate::cell::Cells;
use crate::map::Map;
use crate::policy::{NodeId, PolicyId};
use crate::slice::{overlay, Slice};

/// The cells and points of one holder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// The number of cells that it holds.
    pub cells: u128,
    /// The number of cells of which it is the primary.
    pub primary_cells: u128,
    /// The number of points that it holds.
    pub points: u128,
    /// The number of points of which it is the primary.
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

/// The cells and points of all holders, indexed by the numbers of nodes and policies in the map.
pub(crate) struct Holdings {
    pub nodes: Vec<Held>,
    /// What each named policy has. Entries of unnamed policies are 0, since their nodes hold the
    /// points.
    pub policies: Vec<Held>,
}

impl Holdings {
    /// Counts these slices, which must cover the space. Cost: one pass over the slices, the
    /// policies and their nodes.
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
        let mut members = Vec::new();
        for (held, policy) in policies.iter_mut().zip(map.policies()) {
            if policy.name().is_some() {
                continue;
            }
            let mut copy = std::mem::take(held);
            policy.list_distinct(&mut members);
            for node in &members {
                if let Some(sum) = nodes.get_mut(node.index()) {
                    sum.add(copy);
                }
                // only the first node is the primary
                (copy.primary_cells, copy.primary_points) = (0, 0);
            }
        }
        Holdings { nodes, policies }
    }
}

/// The number of cells of a slice, whose bounds must be cell bounds.
fn cells_of(slice: &Slice, cells: Cells) -> u128 {
    cells.of(slice.last) - cells.of(slice.first) + 1
}

/// What pins and named policies give to nodes and policies beyond their base slices.
pub(crate) struct Pinned {
    /// For each node, the points of final slices that name it although its own base slices do not
    /// have them.
    pub nodes: Vec<u128>,
    /// For each policy, the points that pins give to it and that its base slices do not have.
    pub policies: Vec<u128>,
}

impl Pinned {
    /// Compares the final slices with the base slices. Cost: one pass over both, and over the
    /// policies that pins name or cover.
    pub fn of(map: &Map) -> Pinned {
        let mut given = vec![0; map.policies().len()];
        let mut policies = given.clone();
        // how many points of a base policy another policy covers
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
