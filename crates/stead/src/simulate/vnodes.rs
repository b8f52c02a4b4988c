//! A ring with virtual nodes: each node has many points on a circle, and a key belongs to the next
//! point clockwise (Karger et al., 1997; Amazon's Dynamo, 2007).
//!
//! The points of a node are the MD5 points of `NAME-0`, `NAME-1`, ... Their number is proportional
//! to its weight; a node with the mean weight of the first fleet has `points_per_node` points. That
//! mean is never updated, so the points of a node change only when its own weight does. The copies
//! of a key are on the first R different nodes clockwise.

use std::collections::HashMap;

use super::ideal::{Names, NodeNumber, Wanted};
use super::placement::Placement;
use super::system::{Sizes, System};
use crate::error::Result;
use crate::fleet::Fleet;
use crate::hash::Hash;
use crate::weight::Weight;

/// The present ring.
pub struct Vnodes {
    points_per_node: u32,
    replicas: usize,
    /// The sum of all weights of the first fleet, in millionths, and the number of its nodes.
    measure: Option<(u128, u128)>,
    /// The points of each node: as many as were needed at any time so far.
    points: HashMap<NodeNumber, Vec<u64>>,
    /// All points of the present nodes, in order.
    ring: Vec<(u64, NodeNumber)>,
}

impl Vnodes {
    /// A ring on which a node of average weight has this number of points.
    pub fn new(points_per_node: u32) -> Vnodes {
        Vnodes {
            points_per_node,
            replicas: 1,
            measure: None,
            points: HashMap::new(),
            ring: Vec::new(),
        }
    }

    /// The number of points for a weight: rounded half up, at least one and at most 2^20.
    fn count(&self, weight: Weight, measure: (u128, u128)) -> usize {
        let (total, nodes) = measure;
        // less than 2^20 * 2^40 * 2^16
        let scaled = u128::from(self.points_per_node) * u128::from(weight.millionths()) * nodes;
        ((scaled * 2 + total) / (total * 2)).clamp(1, u128::from(Sizes::MOST)) as usize
    }
}

impl System for Vnodes {
    fn name(&self) -> &'static str {
        "ring"
    }

    fn size(&self) -> String {
        format!("{} points a node", self.points_per_node)
    }

    fn step(&mut self, _: &Fleet, wanted: &Wanted) -> Result<()> {
        self.replicas = wanted.replicas as usize;
        let total: u128 = wanted
            .holders
            .iter()
            .map(|holder| u128::from(holder.weight.millionths()))
            .sum();
        let measure = *self
            .measure
            .get_or_insert((total, wanted.holders.len() as u128));
        self.ring.clear();
        for holder in &wanted.holders {
            let count = self.count(holder.weight, measure);
            let points = self.points.entry(holder.node).or_default();
            for i in points.len()..count {
                points.push(Hash::Md5.point(format!("{}-{i}", holder.name).as_bytes()).0);
            }
            self.ring
                .extend(points.iter().take(count).map(|point| (*point, holder.node)));
        }
        // if two nodes share a point, the node that was seen first keeps it
        self.ring.sort_unstable();
        self.ring.dedup_by_key(|(point, _)| *point);
        Ok(())
    }

    fn placement(&self, _: &mut Names) -> Placement {
        let mut placement = Placement::default();
        let mut copies: Vec<NodeNumber> = Vec::with_capacity(self.replicas);
        let count = self.ring.len();
        // each run ends at a ring point and includes it; the rest of the space belongs to the first
        // ring point
        let firsts =
            std::iter::once(Some(0)).chain(self.ring.iter().map(|(point, _)| point.checked_add(1)));
        for (first, i) in firsts.zip(0..) {
            copies.clear();
            for (_, node) in (i..i + count).map(|at| self.ring[at % count]) {
                if copies.len() == self.replicas {
                    break;
                }
                if !copies.contains(&node) {
                    copies.push(node);
                }
            }
            if let Some(first) = first {
                placement.push(first, copies.iter().copied());
            }
        }
        placement.entries = self.ring.len();
        placement
    }
}

#[cfg(test)]
mod tests {
    use super::super::ideal::tests::fleet;
    use super::*;

    fn follow(ring: &mut Vnodes, nodes: &[&str], replicas: u32, known: &mut Names) -> Placement {
        let fleet = fleet(replicas, &[], nodes);
        ring.step(&fleet, &Wanted::of(&fleet, known)).unwrap();
        ring.placement(known)
    }

    #[test]
    fn a_point_belongs_to_the_next_ring_point_clockwise() {
        let (mut ring, mut known) = (Vnodes::new(3), Names::default());
        let placement = follow(&mut ring, &["z/r/a", "z/r/b=2"], 1, &mut known);
        // weights 1 and 2, mean 1.5: 2 and 4 points
        assert_eq!((ring.ring.len(), placement.entries), (6, 6));
        for probe in ring
            .ring
            .iter()
            .flat_map(|(point, _)| [point.wrapping_sub(1), *point, point.wrapping_add(1)])
        {
            let wanted = ring
                .ring
                .iter()
                .find(|(point, _)| *point >= probe)
                .unwrap_or(&ring.ring[0])
                .1;
            let found = placement
                .runs()
                .find(|(first, behind, _)| (*first..*behind).contains(&u128::from(probe)))
                .unwrap()
                .2;
            assert_eq!(found, [wanted], "{probe:016x}");
        }
    }

    #[test]
    fn only_a_new_node_gets_points() {
        let (mut ring, mut known) = (Vnodes::new(160), Names::default());
        let before = follow(&mut ring, &["z/r/a", "z/r/b", "z/r/c"], 1, &mut known);
        let after = follow(
            &mut ring,
            &["z/r/a", "z/r/b", "z/r/c", "z/r/d"],
            1,
            &mut known,
        );
        assert_eq!(before.moved(&after), after.loads(4)[3]);
        let again = follow(&mut ring, &["z/r/a", "z/r/b", "z/r/c"], 1, &mut known);
        assert_eq!(again, before);
    }

    #[test]
    fn copies_are_on_different_nodes() {
        let (mut ring, mut known) = (Vnodes::new(20), Names::default());
        let placement = follow(
            &mut ring,
            &["z/r/a", "z/r/b", "z/r/c", "z/r/d=3"],
            3,
            &mut known,
        );
        for (_, _, nodes) in placement.runs() {
            let mut list = nodes.to_vec();
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), 3);
        }
    }
}
