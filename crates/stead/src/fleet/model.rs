//! The types of a fleet after reading: checked, sorted, and with the line where each part starts.

use std::collections::BTreeMap;

use crate::hash::{Hash, KeyRule};
use crate::point::{Point, Share};
use crate::tolerance::Tolerance;
use crate::weight::Weight;

/// A checked fleet. All rules of docs/fleet.md hold, except that pins may overlap: `lay_pins`
/// checks this, because the place of a pin by key depends on the hash.
///
/// Two files that differ only in the order of their parts give equal fleets, apart from the line
/// numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fleet {
    /// The name of the cluster. The map stores it.
    pub name: String,
    /// How many nodes hold each point.
    pub replicas: u32,
    /// The label names over which copies are kept apart, outermost first. Every node with a weight
    /// above 0 has all of these labels.
    pub spread: Vec<String>,
    /// The hash that the fleet names. `None` means the hash of the previous map, or md5 for a first
    /// map.
    pub hash: Option<Hash>,
    /// Which part of a key is hashed. `None` means the rule of the previous map, or the whole key
    /// for a first map.
    pub key_rule: Option<KeyRule>,
    /// The largest number of base slices, if the fleet sets one.
    pub max_slices: Option<u32>,
    /// The line of `max_slices`; 0 when the fleet does not set it or was not read from a text.
    pub max_slices_line: usize,
    /// How far shares may be from their targets; `None` means that shares are exact.
    pub tolerance: Option<Tolerance>,
    /// How much one publish may move, as a part of all copies, if `[guard]` limits it. A map does
    /// not store it.
    pub move_limit: Option<Share>,
    /// Whether changes that move copies must be carried: `true` refuses others, `false` refuses
    /// none, and `None` leaves it to the history. A map does not store it.
    pub carry: Option<bool>,
    /// Whether a first map may be made of it. The fleet of an adopted ring only goes on from the
    /// map that was drawn: without that map, keys would be elsewhere. A map does not store it.
    pub first_map: bool,
    /// The line of `first_map`; 0 when the fleet does not set it or was not read from a text.
    pub first_map_line: usize,
    /// The nodes, sorted by the bytes of their names; at most 65,536.
    pub nodes: Vec<Node>,
    /// The named policies, sorted by the bytes of their names; at most 65,536.
    pub policies: Vec<Policy>,
    /// The pins: first the pins by key, ordered by the bytes of the key, then the pins by range; at
    /// most 1,000,000.
    pub pins: Vec<Pin>,
    /// The firsts, in the order of pins; at most 1,000,000.
    pub firsts: Vec<First>,
    /// The name of the file as the user gave it, for messages.
    pub file: String,
}

/// A server, mount point or shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The stable name of the node, unique in the fleet.
    pub name: String,
    /// How large a share it wants; 0 means that it gets only what policies and pins give it.
    pub weight: Weight,
    /// Where the node is: zone, rack and so on.
    pub labels: BTreeMap<String, String>,
    /// Free texts, such as the node's address. They never influence placement.
    pub attributes: BTreeMap<String, String>,
    /// The name that the node had before.
    pub formerly: Option<String>,
    /// The line where it starts, from 1; 0 when the fleet was not read from a text.
    pub line: usize,
}

/// A named policy: an ordered list of nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// The name of the policy, unique among the policies.
    pub name: String,
    /// Free text that stead stores and does not interpret.
    pub kind: String,
    /// The weight of its share, if it takes a share as a node does.
    pub weight: Option<Weight>,
    /// The names of nodes of the fleet: at least one, primary first, none twice.
    pub nodes: Vec<String>,
    /// The line where it starts, from 1; 0 when the fleet was not read from a text.
    pub line: usize,
}

/// A key or a thin range that is given to certain nodes by hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pin {
    /// What is pinned.
    pub what: Pinned,
    /// The policy or nodes that get it.
    pub to: PinTo,
    /// Whether the fleet allows this pin to have fewer copies than R or to break a cap.
    pub short: bool,
    /// The line where it starts, from 1; 0 when the fleet was not read from a text.
    pub line: usize,
}

/// A node that answers first in a range of points or for a key, where it holds them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct First {
    /// Where it answers first.
    pub what: Pinned,
    /// The name of a node of the fleet.
    pub node: String,
    /// The line where it starts, from 1; 0 when the fleet was not read from a text.
    pub line: usize,
}

/// What a pin or a first covers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pinned {
    /// The cell of this key's hash.
    Key(Vec<u8>),
    /// A range of points as written in the fleet, not yet rounded to cells.
    Range {
        /// The first point.
        first: Point,
        /// The first point after the range; above `first`, and 2^64 for `100%`.
        end: u128,
    },
}

/// The policy or nodes that a pin gives its points to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PinTo {
    /// A named policy of the fleet.
    Policy(String),
    /// Names of nodes of the fleet: at least one, primary first, none twice.
    Nodes(Vec<String>),
}
