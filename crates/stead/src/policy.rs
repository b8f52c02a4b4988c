//! A policy: an ordered list of nodes, primary first.
//!
//! Slices refer to policies and policies list nodes, even if each list has only one node. So
//! replicas, chains and hot keys are looked up in the same way.

/// The largest number of nodes of a fleet or a map. It keeps products of shares and weights below
/// 2^128.
pub(crate) const NODES_MAX: usize = 65_536;
/// The largest number of copies of a point, R.
pub(crate) const REPLICAS_MAX: u32 = 255;

/// A node, identified by its position in the list of nodes of a map, counted from 0. The list is
/// sorted by name, so another epoch may give the same node another number. Nodes of a
/// [`Pair`](crate::Pair) have numbers of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A policy, identified by its position in the list of policies of a map, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PolicyId(pub u32);

impl NodeId {
    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PolicyId {
    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
