//! A policy: an ordered list of nodes, primary first.
//!
//! Slices point to policies and policies list nodes, also where each list has one entry: so
//! replicas, chains and hot keys are all the same thing to whoever looks a key up.

/// The most nodes of a fleet or a map: products of shares and weights stay below 2^128.
pub(crate) const NODES_MAX: usize = 65_536;
/// The most copies of a point, R.
pub(crate) const REPLICAS_MAX: u32 = 255;

/// A node, by its place in the map's list of nodes (which is sorted by name), from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A policy, by its place in the map's list of policies, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PolicyId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PolicyId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
