//! The types of a fleet, as its reader hands them out: checked, sorted, and with the line that each
//! part stood in.

use std::collections::BTreeMap;

use crate::hash::{Hash, KeyRule};
use crate::point::Point;
use crate::weight::Weight;

/// A checked fleet: all rules of docs/fleet.md hold, apart from the overlap of pins, which
/// `lay_pins` checks because a pin by key has no place before the hash is known.
///
/// Two files that differ only in the order of their parts give equal fleets, apart from the lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fleet {
    /// The cluster's name; it goes into the map.
    pub name: String,
    /// How many nodes hold each point.
    pub replicas: u32,
    /// Label names over which copies are kept apart, outermost first; every node with a weight
    /// above 0 has them all.
    pub spread: Vec<String>,
    /// The hash that the fleet asks for; `None` when it is left out: the map's own, md5 for a first
    /// map.
    pub hash: Option<Hash>,
    /// What of a key is hashed, as the fleet asks for; `None` when it is left out: the map's own,
    /// the whole key for a first map.
    pub key_rule: Option<KeyRule>,
    /// The largest number of base slices, when the fleet sets one.
    pub max_slices: Option<u32>,
    /// The nodes, sorted by the bytes of their names; at most 65,536.
    pub nodes: Vec<Node>,
    /// The named policies, sorted by the bytes of their names; at most 65,536.
    pub policies: Vec<Policy>,
    /// The pins: those by key first, by the bytes of the key, then those by range; at most
    /// 1,000,000.
    pub pins: Vec<Pin>,
    /// The file's name as the user gave it, for messages.
    pub file: String,
}

/// A server, mount point or shard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its stable identity, unique in the fleet.
    pub name: String,
    /// How much it wants; 0 = only what policies and pins give it.
    pub weight: Weight,
    /// Where it stands: zone, rack and so on.
    pub labels: BTreeMap<String, String>,
    /// Free texts such as its address; never part of placement.
    pub attributes: BTreeMap<String, String>,
    /// The name that it had before.
    pub formerly: Option<String>,
    /// The line where it starts, from 1.
    pub line: usize,
}

/// A named policy: an ordered list of nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Its name, unique among the policies.
    pub name: String,
    /// Free text that stead stores and does not interpret.
    pub kind: String,
    /// Its share, when it takes one like a node.
    pub weight: Option<Weight>,
    /// Names of nodes of the fleet, primary first, none twice, at least one.
    pub nodes: Vec<String>,
    /// The line where it starts, from 1.
    pub line: usize,
}

/// A key or a thin range that is given to a policy by hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pin {
    /// What is pinned.
    pub what: Pinned,
    /// Who gets it.
    pub to: PinTo,
    /// Whether fewer copies than R, or copies that break a cap, are meant.
    pub short: bool,
    /// The line where it starts, from 1.
    pub line: usize,
}

/// What a pin covers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pinned {
    /// The cell that this key hashes to.
    Key(Vec<u8>),
    /// A range of points, as written: not yet rounded to cells.
    Range {
        /// The first point.
        first: Point,
        /// The first point behind the range, above `first`; 2^64 for `100%`.
        end: u128,
    },
}

/// Who gets what is pinned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PinTo {
    /// A named policy of the fleet.
    Policy(String),
    /// Names of nodes of the fleet, primary first, none twice, at least one.
    Nodes(Vec<String>),
}
