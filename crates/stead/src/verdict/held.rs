//! What the slices of a map give its holders.

use crate::cell::Cells;
use crate::map::Map;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;

/// What one holder has.
#[derive(Clone, Copy, Default)]
pub(super) struct Amount {
    pub cells: u128,
    pub points: u128,
    pub primary_cells: u128,
    pub primary_points: u128,
}

/// What the holders have, by the numbers that nodes and policies have in the map.
pub(super) struct Held {
    pub nodes: Vec<Amount>,
    /// Only named policies have something of their own; what an unnamed one holds its nodes have.
    pub policies: Vec<Amount>,
}

impl Held {
    /// Counts these slices, which cover the space. Cost: one pass over slices, policies and their
    /// nodes.
    pub fn by(map: &Map, slices: &[Slice]) -> Held {
        let mut policies = vec![Amount::default(); map.policies().len()];
        for slice in slices {
            if let Some(sum) = policies.get_mut(slice.policy.index()) {
                let (cells, points) = (cells_of(slice, map.cells()), slice.points());
                sum.add(Amount {
                    cells,
                    points,
                    primary_cells: cells,
                    primary_points: points,
                });
            }
        }
        let mut nodes = vec![Amount::default(); map.nodes().len()];
        for (amount, policy) in policies.iter_mut().zip((0..).map(PolicyId)) {
            let policy = map.policy(policy);
            if policy.name().is_some() {
                continue;
            }
            let whole = std::mem::take(amount);
            for (place, NodeId(node)) in policy.distinct().into_iter().enumerate() {
                let copy = if place == 0 {
                    whole
                } else {
                    Amount {
                        primary_cells: 0,
                        primary_points: 0,
                        ..whole
                    }
                };
                if let Some(sum) = nodes.get_mut(node as usize) {
                    sum.add(copy);
                }
            }
        }
        Held { nodes, policies }
    }

    /// What a node has.
    pub fn node(&self, node: NodeId) -> Amount {
        self.nodes.get(node.index()).copied().unwrap_or_default()
    }

    /// What a named policy has.
    pub fn policy(&self, policy: PolicyId) -> Amount {
        self.policies
            .get(policy.index())
            .copied()
            .unwrap_or_default()
    }
}

impl Amount {
    fn add(&mut self, other: Amount) {
        self.cells += other.cells;
        self.points += other.points;
        self.primary_cells += other.primary_cells;
        self.primary_points += other.primary_points;
    }
}

/// How many cells a slice has; its bounds are cell bounds.
fn cells_of(slice: &Slice, cells: Cells) -> u128 {
    cells.of(slice.last) - cells.of(slice.first) + 1
}
