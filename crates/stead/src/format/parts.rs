//! A map as plain values: what `encode` writes.

use super::carried::Carry;
use super::records::{Digest, MapId};
use crate::cell::Cells;
use crate::hash::{Hash, KeyRule};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::First;
use crate::tolerance::Tolerance;
use crate::weight::Weight;

/// A map as plain values, in the order that the format demands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The name of the cluster.
    pub name: String,
    /// The number of the version, from 1.
    pub epoch: u64,
    /// The first 16 bytes of the digest of epoch 1; zeros in epoch 1 itself.
    pub map_id: MapId,
    /// The digest of the previous epoch; zeros in epoch 1.
    pub parent: Digest,
    /// The version of the rebalancing algorithm that made the base slices.
    pub algorithm: u32,
    /// The replicas R: how many nodes hold each point.
    pub replicas: u32,
    /// The hash that turns keys into points.
    pub hash: Hash,
    /// Which part of a key is hashed.
    pub key_rule: KeyRule,
    /// How many cells the space has.
    pub cells: Cells,
    /// The largest number of base slices, if the fleet sets one.
    pub max_slices: Option<u32>,
    /// How far shares may be from their targets, if the fleet allows it.
    pub tolerance: Option<Tolerance>,
    /// The label names of spread, outermost first.
    pub spread: Vec<String>,
    /// The nodes, in the order of names.
    pub nodes: Vec<NodePart>,
    /// The policies: the named ones in the order of names, then the unnamed ones in the order of
    /// their members.
    pub policies: Vec<PolicyPart>,
    /// The base slices: the first point of each and the policy that holds it. Neighbours have
    /// different policies.
    pub base: Vec<(Point, PolicyId)>,
    /// The pins, in the order of their first points.
    pub pins: Vec<PinPart>,
    /// The firsts, in the order of their first points.
    pub firsts: Vec<FirstPart>,
    /// The target of a gradual change, while one is under way.
    pub target: Option<TargetPart>,
    /// The carry, while one is open.
    pub carry: Option<Carry>,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodePart {
    /// The stable name of the node.
    pub name: String,
    /// The name that the node had before, or empty.
    pub formerly: String,
    /// How large a share it wants.
    pub weight: Weight,
    /// The labels, in the order of names.
    pub labels: Vec<(String, String)>,
    /// The attributes, in the order of names.
    pub attributes: Vec<(String, String)>,
}

/// A policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyPart {
    /// The name; `None` for a policy that stead made.
    pub name: Option<String>,
    /// The free text of a named policy.
    pub kind: String,
    /// The weight of a named policy that takes a share.
    pub weight: Option<Weight>,
    /// The nodes, primary first.
    pub members: Vec<NodeId>,
}

/// The nodes of unnamed policies. All lists share one array: a map may have a million policies, and
/// a `PolicyPart` of its own for each takes longer than to write it.
#[derive(Default)]
pub(crate) struct NodeLists {
    nodes: Vec<NodeId>,
    /// Where each list ends; the next one starts there.
    ends: Vec<usize>,
}

impl NodeLists {
    /// Appends a list.
    pub(crate) fn push(&mut self, list: &[NodeId]) {
        self.nodes.extend_from_slice(list);
        self.ends.push(self.nodes.len());
    }

    /// The number of lists.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A list, if there is one with this number.
    pub(crate) fn get(&self, number: usize) -> Option<&[NodeId]> {
        let start = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.nodes.get(start..*self.ends.get(number)?)
    }

    /// The number of this list, if the lists are in ascending order and it is one of them.
    pub(crate) fn find(&self, list: &[NodeId]) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle) < Some(list) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low).filter(|low| self.get(*low) == Some(list))
    }

    /// All lists, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[NodeId]> + Clone {
        (0..self.len()).filter_map(|number| self.get(number))
    }
}

/// A pin: a slice that lies over the base slices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinPart {
    /// The first point of the pin.
    pub first: Point,
    /// The last point of the pin.
    pub last: Point,
    /// The policy that holds it.
    pub policy: PolicyId,
    /// The key, if this is a pin by key.
    pub key: Option<Vec<u8>>,
    /// Whether the fleet allows this pin to have fewer copies than R or to break a cap.
    pub short: bool,
}

/// A first: a node that answers first in a range of points, where it holds them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FirstPart {
    /// The first point.
    pub first: Point,
    /// The last point.
    pub last: Point,
    /// The node that answers first.
    pub node: NodeId,
    /// The key, if this is a first by key.
    pub key: Option<Vec<u8>>,
}

impl FirstPart {
    /// Returns the points and the node.
    pub(crate) fn run(&self) -> First {
        First {
            first: self.first,
            last: self.last,
            node: self.node,
        }
    }
}

/// The state that a gradual change leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetPart {
    /// The slices that the base slices will become: the first point of each and the policy that
    /// holds it. Neighbours have different policies.
    pub slices: Vec<(Point, PolicyId)>,
    /// The nodes that the fleet dropped and that base slices still name, in ascending order. Each
    /// has weight 0.
    pub leaving: Vec<NodeId>,
}
