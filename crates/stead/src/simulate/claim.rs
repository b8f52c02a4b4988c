//! Riak's ring: a power of two of equal partitions, which nodes claim.
//!
//! This is the plain claim. Partitions of nodes that left go to the nodes with the fewest
//! partitions. Then, as long as two nodes differ by two partitions or more, the node with the
//! fewest claims one from the node with the most. So in the end every node has floor(Q / n)
//! partitions or one more, and no more partitions move than necessary. Weights and domains have no
//! influence, as in Riak. The N copies of a point are at its partition and at the next N - 1. A
//! claim avoids partitions that would put two copies on one node, if it can get another one. A
//! first layout is dealt round-robin, which may break this where the end of the ring meets its
//! start; nothing repairs that.

use std::collections::BTreeMap;

use super::ideal::{Names, NodeNumber, Wanted};
use super::placement::Placement;
use super::system::System;
use crate::error::Result;
use crate::fleet::Fleet;
use crate::point::SPACE;

/// Riak's ring, with the owner of each partition.
pub struct Claim {
    partitions: u32,
    replicas: usize,
    owners: Vec<NodeNumber>,
}

impl Claim {
    /// A ring with this number of partitions, which is a power of two.
    pub fn new(partitions: u32) -> Claim {
        Claim {
            partitions,
            replicas: 1,
            owners: Vec::new(),
        }
    }

    /// Whether a node that gets this partition would hold two copies of a point.
    fn too_near(&self, partition: usize, node: NodeNumber) -> bool {
        let count = self.owners.len();
        (1..self.replicas.min(count)).any(|d| {
            self.owners[(partition + d) % count] == node
                || self.owners[(partition + count - d) % count] == node
        })
    }

    /// The index of the first partition in the list that does not put two copies of a point on the
    /// node; 0 when there is none.
    fn choose(&self, partitions: &[usize], node: NodeNumber) -> usize {
        partitions
            .iter()
            .position(|partition| !self.too_near(*partition, node))
            .unwrap_or(0)
    }
}

impl System for Claim {
    fn name(&self) -> &'static str {
        "riak"
    }

    fn size(&self) -> String {
        format!("{} partitions", self.partitions)
    }

    fn step(&mut self, _: &Fleet, wanted: &Wanted) -> Result<()> {
        self.replicas = wanted.replicas as usize;
        let nodes: Vec<NodeNumber> = wanted.holders.iter().map(|holder| holder.node).collect();
        if self.owners.is_empty() {
            self.owners = nodes
                .iter()
                .cycle()
                .take(self.partitions as usize)
                .copied()
                .collect();
        }
        // the partitions of each node, in the order of the ring
        let mut held: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        let places: BTreeMap<NodeNumber, usize> = nodes.iter().copied().zip(0..).collect();
        let mut orphans = Vec::new();
        for (partition, owner) in self.owners.iter().enumerate() {
            places
                .get(owner)
                .map_or(&mut orphans, |i| &mut held[*i])
                .push(partition);
        }
        for partition in orphans {
            let mut poorest: Vec<usize> = (0..nodes.len()).collect();
            poorest.sort_by_key(|i| held[*i].len());
            let least = held[poorest[0]].len();
            // the loop below can correct one partition too many, but not two copies of a point on
            // one node
            let can =
                |i: &&usize| held[**i].len() <= least + 1 && !self.too_near(partition, nodes[**i]);
            let taker = poorest.iter().find(can).copied().unwrap_or(poorest[0]);
            self.owners[partition] = nodes[taker];
            held[taker].push(partition);
        }
        loop {
            // of equal nodes: the first by name, in both cases
            let poor = (0..nodes.len()).min_by_key(|i| held[*i].len()).unwrap_or(0);
            let rich = (0..nodes.len())
                .rev()
                .max_by_key(|i| held[*i].len())
                .unwrap_or(0);
            if held[rich].len() < held[poor].len() + 2 {
                return Ok(());
            }
            let chosen = self.choose(&held[rich], nodes[poor]);
            let partition = held[rich].remove(chosen);
            self.owners[partition] = nodes[poor];
            held[poor].push(partition);
        }
    }

    fn placement(&self, _: &mut Names) -> Placement {
        let mut placement = Placement::default();
        let width = SPACE / u128::from(self.partitions);
        for i in 0..self.owners.len() {
            let copies = (0..self.replicas).map(|d| self.owners[(i + d) % self.owners.len()]);
            placement.push((width * i as u128) as u64, copies);
        }
        placement.entries = self.owners.len();
        placement
    }
}

#[cfg(test)]
mod tests {
    use super::super::ideal::tests::fleet;
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("z/r/n{i:02}")).collect()
    }

    fn follow(claim: &mut Claim, nodes: &[String], replicas: u32, known: &mut Names) -> Vec<usize> {
        let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let wanted = Wanted::of(&fleet(replicas, &[], &nodes), known);
        claim.step(&fleet(replicas, &[], &nodes), &wanted).unwrap();
        wanted
            .holders
            .iter()
            .map(|holder| {
                claim
                    .owners
                    .iter()
                    .filter(|owner| **owner == holder.node)
                    .count()
            })
            .collect()
    }

    #[test]
    fn every_node_gets_the_floor_or_one_more() {
        let (mut claim, mut known) = (Claim::new(64), Names::default());
        for size in [4, 7, 10, 13, 64, 30, 5, 6, 80, 1] {
            let held = follow(&mut claim, &names(size), 1, &mut known);
            assert!(
                held.iter()
                    .all(|count| *count == 64 / size || *count == 64 / size + 1),
                "{size}: {held:?}"
            );
            assert_eq!(held.iter().sum::<usize>(), 64);
        }
    }

    #[test]
    fn only_necessary_partitions_move_and_only_to_new_nodes() {
        let (mut claim, mut known) = (Claim::new(16), Names::default());
        follow(&mut claim, &names(4), 1, &mut known);
        let before = claim.owners.clone();
        follow(&mut claim, &names(7), 1, &mut known);
        let moved: Vec<NodeNumber> = before
            .iter()
            .zip(&claim.owners)
            .filter(|(a, b)| a != b)
            .map(|(_, b)| *b)
            .collect();
        assert!(
            moved.len() == 6 && moved.iter().all(|node| *node >= 4),
            "{moved:?}"
        );
    }

    #[test]
    fn copies_are_on_different_nodes_except_where_the_ring_closes() {
        let mut known = Names::default();
        let broken = |claim: &Claim| {
            (0..claim.owners.len())
                .filter(|i| claim.too_near(*i, claim.owners[*i]))
                .count()
        };
        let mut even = Claim::new(64);
        follow(&mut even, &names(8), 3, &mut known);
        assert_eq!(broken(&even), 0);
        follow(&mut even, &names(9), 3, &mut known);
        assert_eq!(broken(&even), 0);
        // 64 = 7 * 9 + 1: in a layout for 9 nodes, n00 has the last partition as well as the first
        let mut tail = Claim::new(64);
        follow(&mut tail, &names(9), 3, &mut known);
        assert_eq!(broken(&tail), 2);
    }
}
