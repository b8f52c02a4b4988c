//! A map as plain values: what `encode` writes.

use super::records::{Digest, MapId};
use crate::cell::Cells;
use crate::hash::{Hash, KeyRule};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::weight::Weight;

/// A map as plain values, in the order that the format demands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The name of the cluster.
    pub name: String,
    /// From 1.
    pub epoch: u64,
    /// Zeros in epoch 1.
    pub map_id: MapId,
    /// The digest of the epoch before; zeros in epoch 1.
    pub parent: Digest,
    /// Version of the rebalancing algorithm that made the base slices.
    pub algorithm: u32,
    /// R.
    pub replicas: u32,
    /// How keys become points.
    pub hash: Hash,
    /// What of a key is hashed.
    pub key_rule: KeyRule,
    /// How many cells the space has.
    pub cells: Cells,
    /// The fleet's limit for base slices.
    pub max_slices: Option<u32>,
    /// Label names, outermost first.
    pub spread: Vec<String>,
    /// By name.
    pub nodes: Vec<NodePart>,
    /// Named by name, then unnamed by members.
    pub policies: Vec<PolicyPart>,
    /// First points and who holds the slice; neighbours differ.
    pub base: Vec<(Point, PolicyId)>,
    /// By first point.
    pub pins: Vec<PinPart>,
    /// While a gradual change is under way.
    pub target: Option<TargetPart>,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodePart {
    /// Its stable name.
    pub name: String,
    /// The name it had before, or empty.
    pub formerly: String,
    /// What it wants.
    pub weight: Weight,
    /// By name.
    pub labels: Vec<(String, String)>,
    /// By name.
    pub attributes: Vec<(String, String)>,
}

/// A policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyPart {
    /// `None` for those that stead made.
    pub name: Option<String>,
    /// Free text of a named one.
    pub kind: String,
    /// Of a named policy that takes a share.
    pub weight: Option<Weight>,
    /// Primary first.
    pub members: Vec<NodeId>,
}

/// A pin: a slice that lies over the base slices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinPart {
    /// Its first point.
    pub first: Point,
    /// Its last point.
    pub last: Point,
    /// Who holds it.
    pub policy: PolicyId,
    /// The key, of a pin by key.
    pub key: Option<Vec<u8>>,
    /// Whether fewer copies than R, or copies that break a cap, are meant.
    pub short: bool,
}

/// What a gradual change is to end with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetPart {
    /// What the base slices will be; first points and who holds the slice, neighbours differ.
    pub slices: Vec<(Point, PolicyId)>,
    /// The nodes that the fleet dropped and that base slices still name, ascending; each has weight
    /// 0.
    pub leaving: Vec<NodeId>,
}
