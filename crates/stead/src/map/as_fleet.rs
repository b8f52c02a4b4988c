//! The fleet that a map was made from, as far as the map knows it.

use std::collections::{HashMap, HashSet};

use super::inside::{First, Node, Pin, Policy};
use super::open::Map;
use crate::error::Result;
use crate::fleet::{self, Fleet};
use crate::format::records::STRINGS;
use crate::hash::Hash;
use crate::memory::{self, Room};
use crate::point::Point;
use crate::policy::NodeId;
use crate::weight::Weight;

impl Map {
    /// Returns the fleet of this map: its nodes, policies and pins, with everything that placement
    /// depends on and everything that the map remembers. [`Fleet::to_toml`] writes it as text.
    ///
    /// Building the fleet on this map changes nothing ([`Map::same`]), with two exceptions. A
    /// gradual change that is under way is completed. The map of an adopted ring gets exact shares,
    /// as with every fleet, and has no more copies than nodes with a weight. Nodes that are leaving
    /// are not part of the fleet. The hash is part of it only if a fleet can name it and it has no
    /// secret; a build keeps the hash of the map.
    pub fn fleet(&self) -> Fleet {
        let named = |hash: &Hash| matches!(hash, Hash::Md5 | Hash::Sha1 | Hash::Xxh3);
        let mut pins: Vec<fleet::Pin> = self.pins().map(|pin| self.stated_pin(pin)).collect();
        pins.sort_by(|a, b| a.what.cmp(&b.what));
        let mut firsts: Vec<fleet::First> = self
            .firsts()
            .map(|first| self.stated_first(first))
            .collect();
        firsts.sort_by(|a, b| a.what.cmp(&b.what));
        let nodes = self.stated_nodes();
        // the map of a ring may have more copies than nodes with a weight: it lists one node twice,
        // or gives others so little that their weight is 0
        let holding = nodes.iter().filter(|node| node.weight != Weight::ZERO);
        let replicas = self.replicas().min(holding.count().max(1) as u32);
        Fleet {
            name: self.name().to_owned(),
            replicas,
            spread: self.spread().map(str::to_owned).collect(),
            hash: Some(self.hash()).filter(named),
            key_rule: Some(self.key_rule()),
            max_slices: self.max_slices(),
            max_slices_line: 0,
            tolerance: self.tolerance(),
            move_limit: None,
            carry: None,
            first_map: true,
            first_map_line: 0,
            nodes,
            policies: self
                .policies()
                .filter_map(|policy| self.stated_policy(policy))
                .collect(),
            pins,
            firsts,
            file: "fleet".to_owned(),
        }
    }

    /// Holds memory for [`Map::fleet`] and for its text, see [`memory::room`].
    ///
    /// Errors: `Memory` and `MemoryLimit`, see [`memory`].
    pub fn prepare_fleet(&self) -> Result<Room> {
        memory::room(self.need_of_fleet())
    }

    /// The most bytes that the fleet of the map and its text take. tests/memory.rs compares this
    /// with the memory that is really used.
    fn need_of_fleet(&self) -> u64 {
        let table = |pairs: usize| match pairs {
            0 => 0,
            pairs => 650 + 130 * pairs as u64,
        };
        let node =
            |node: Node| 300 + table(node.labels().count()) + table(node.attributes().count());
        // of a named policy the names of its nodes; a pin without one names the nodes of its own
        let named = self.policies().filter(|policy| policy.name().is_some());
        let listed = named.map(|policy| policy.members().len()).sum::<usize>();
        let pinned = self.pins().map(|pin| self.policy(pin.slice.policy));
        let pinned = pinned.filter(|policy| policy.name().is_none());
        let listed = listed + pinned.map(|policy| policy.members().len()).sum::<usize>();
        4 * self.count(STRINGS) as u64
            + self.nodes().map(node).sum::<u64>()
            + 300 * (self.pins().len() + self.firsts().len()) as u64
            + 80 * (self.policies().len() + listed) as u64
    }

    /// Returns the nodes without those that are leaving. Omits a former name that a fleet cannot
    /// state, because another node has it or had it too: only a rollback makes such a map.
    fn stated_nodes(&self) -> Vec<fleet::Node> {
        let staying = || self.nodes().filter(|node| !node.leaving());
        let names: HashSet<&str> = staying().map(|node| node.name()).collect();
        let mut former: HashMap<&str, usize> = HashMap::new();
        for name in staying().filter_map(|node| node.formerly()) {
            *former.entry(name).or_default() += 1;
        }
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let stated = |node: Node| fleet::Node {
            name: node.name().to_owned(),
            weight: node.weight(),
            labels: node.labels().map(owned).collect(),
            attributes: node.attributes().map(owned).collect(),
            formerly: node
                .formerly()
                .filter(|name| former.get(name) == Some(&1))
                .filter(|name| *name == node.name() || !names.contains(name))
                .map(str::to_owned),
            line: 0,
        };
        staying().map(stated).collect()
    }

    fn stated_policy(&self, policy: Policy) -> Option<fleet::Policy> {
        Some(fleet::Policy {
            name: policy.name()?.to_owned(),
            kind: policy.kind().to_owned(),
            weight: policy.weight(),
            nodes: self.names(policy),
            line: 0,
        })
    }

    fn stated_first(&self, first: First) -> fleet::First {
        fleet::First {
            what: stated(first.key, first.first, first.last),
            node: self.node(first.node).name().to_owned(),
            line: 0,
        }
    }

    fn stated_pin(&self, pin: Pin) -> fleet::Pin {
        let policy = self.policy(pin.slice.policy);
        fleet::Pin {
            what: stated(pin.key, pin.slice.first, pin.slice.last),
            to: match policy.name() {
                Some(name) => fleet::PinTo::Policy(name.to_owned()),
                None => fleet::PinTo::Nodes(self.names(policy)),
            },
            short: pin.short,
            line: 0,
        }
    }

    /// Returns the names of the nodes of a policy, primary first.
    fn names(&self, policy: Policy) -> Vec<String> {
        let name = |node: NodeId| self.node(node).name().to_owned();
        policy.distinct().into_iter().map(name).collect()
    }
}

/// Returns what a pin or a first covers. A fleet is a text, so its keys are UTF-8; another key is
/// written by its range.
fn stated(key: Option<&[u8]>, first: Point, last: Point) -> fleet::Pinned {
    match key.filter(|key| std::str::from_utf8(key).is_ok()) {
        Some(key) => fleet::Pinned::Key(key.to_vec()),
        None => fleet::Pinned::Range {
            first,
            end: u128::from(last.0) + 1,
        },
    }
}
