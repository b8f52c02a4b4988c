//! The facts of a fleet, one by one, as a map holds them: they tell what an epoch brought and what
//! a fleet takes back.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use crate::error::Result;
use crate::map::{Map, Node, Pin};
use crate::plan::same_nodes;
use crate::policy::{NodeId, PolicyId};

/// A thing that a fleet states.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fact<'a> {
    Replicas,
    Spread,
    MaxSlices,
    Tolerance,
    /// Whether the node is in the fleet.
    Node(&'a str),
    Weight(&'a str),
    Labels(&'a str),
    Attributes(&'a str),
    Policy(&'a str),
    /// What lies on the points from here on: the key, if the pin is by key, and the last point.
    Pin(u64, u64, Option<&'a [u8]>),
    /// The same of a first.
    First(u64, u64, Option<&'a [u8]>),
}

impl fmt::Display for Fact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Replicas => f.write_str("replicas"),
            Fact::Spread => f.write_str("spread"),
            Fact::MaxSlices => f.write_str("max_slices"),
            Fact::Tolerance => f.write_str("tolerance"),
            Fact::Node(name) => write!(f, "node {name}"),
            Fact::Weight(name) => write!(f, "weight of {name}"),
            Fact::Labels(name) => write!(f, "labels of {name}"),
            Fact::Attributes(name) => write!(f, "attributes of {name}"),
            Fact::Policy(name) => write!(f, "policy {name}"),
            Fact::Pin(_, _, Some(key)) => write!(f, "pin of {:?}", String::from_utf8_lossy(key)),
            Fact::Pin(first, _, None) => write!(f, "pin at {first:016x}"),
            Fact::First(_, _, Some(key)) => {
                write!(f, "first of {:?}", String::from_utf8_lossy(key))
            }
            Fact::First(first, _, None) => write!(f, "first at {first:016x}"),
        }
    }
}

/// A map, and its pins and firsts by what they cover.
pub(super) struct Facts<'a> {
    pub map: &'a Map,
    /// The nodes that the map renames, by the names that the facts have for them.
    renamed: HashMap<&'a str, NodeId>,
    /// The names that the facts have for these nodes.
    former: HashMap<NodeId, &'a str>,
    pins: HashMap<(u64, u64, Option<&'a [u8]>), Pin<'a>>,
    firsts: HashMap<(u64, u64, Option<&'a [u8]>), NodeId>,
    policies: HashMap<&'a str, PolicyId>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(map: &'a Map) -> Facts<'a> {
        let policies = map.policies();
        Facts {
            map,
            renamed: HashMap::new(),
            former: HashMap::new(),
            pins: map.pins().map(|pin| (place(&pin), pin)).collect(),
            firsts: map
                .firsts()
                .map(|first| ((first.first.0, first.last.0, first.key), first.node))
                .collect(),
            policies: policies.filter_map(|p| Some((p.name()?, p.id))).collect(),
        }
    }

    /// Returns the facts of the map that follows `old`. A node that it renames has the name that it
    /// has in `old`, since a new name alone is no other fact.
    ///
    /// Errors: `Identity` when the maps belong to different clusters.
    pub(super) fn after(old: &'a Map, map: &'a Map) -> Result<Facts<'a>> {
        let mut facts = Facts::of(map);
        for (before, after) in old.nodes().zip(same_nodes(old, map)?) {
            if let Some(after) = after.filter(|id| map.node(*id).name() != before.name()) {
                facts.renamed.insert(before.name(), after);
                facts.former.insert(after, before.name());
            }
        }
        Ok(facts)
    }

    fn name(&self, node: NodeId) -> &'a str {
        let former = self.former.get(&node).copied();
        former.unwrap_or_else(|| self.map.node(node).name())
    }

    fn node(&self, name: &str) -> Option<Node<'a>> {
        let node = match self.renamed.get(name) {
            Some(id) => Some(self.map.node(*id)),
            None => self.map.node_named(name),
        };
        // a node that was renamed is not there under its new name
        node.filter(|node| !node.leaving() && self.name(node.id) == name)
    }

    /// Returns everything that one of two fleets states, or both.
    pub(super) fn all(&self, other: &Facts<'a>) -> BTreeSet<Fact<'a>> {
        let mut all = BTreeSet::from([
            Fact::Replicas,
            Fact::Spread,
            Fact::MaxSlices,
            Fact::Tolerance,
        ]);
        for facts in [self, other] {
            for node in facts.map.nodes().filter(|node| !node.leaving()) {
                let name = facts.name(node.id);
                all.extend([
                    Fact::Node(name),
                    Fact::Weight(name),
                    Fact::Labels(name),
                    Fact::Attributes(name),
                ]);
            }
            all.extend(facts.policies.keys().map(|name| Fact::Policy(name)));
            all.extend(
                facts
                    .pins
                    .keys()
                    .map(|(first, last, key)| Fact::Pin(*first, *last, *key)),
            );
            let firsts = facts.firsts.keys();
            all.extend(firsts.map(|(first, last, key)| Fact::First(*first, *last, *key)));
        }
        all
    }

    /// Returns what the fleet states; `None` when it does not have the node, policy, pin
    /// or first.
    pub(super) fn state(&self, fact: &Fact) -> Option<String> {
        match fact {
            Fact::Replicas => Some(self.map.replicas().to_string()),
            Fact::Spread => Some(self.map.spread().collect::<Vec<_>>().join(",")),
            Fact::MaxSlices => Some(
                self.map
                    .max_slices()
                    .map_or("none".to_owned(), |n| n.to_string()),
            ),
            Fact::Tolerance => Some(
                self.map
                    .tolerance()
                    .map_or("none".to_owned(), |tolerance| tolerance.to_string()),
            ),
            Fact::Node(name) => self.node(name).map(|_| String::new()),
            Fact::Weight(name) => self.node(name).map(|node| node.weight().to_string()),
            Fact::Labels(name) => self.node(name).map(|node| joined(node.labels())),
            Fact::Attributes(name) => self.node(name).map(|node| joined(node.attributes())),
            Fact::Policy(name) => {
                let policy = self.map.policy(*self.policies.get(name)?);
                let weight = policy.weight().map_or("none".to_owned(), |w| w.to_string());
                Some(format!(
                    "{} {weight} {}",
                    self.nodes(policy.id),
                    policy.kind()
                ))
            }
            Fact::Pin(first, last, key) => {
                let pin = self.pins.get(&(*first, *last, *key))?;
                let policy = self.map.policy(pin.slice.policy);
                let to = match policy.name() {
                    Some(name) => format!("policy {name}"),
                    None => self.nodes(policy.id),
                };
                Some(format!("{to} {}", pin.short))
            }
            Fact::First(first, last, key) => {
                let node = self.firsts.get(&(*first, *last, *key))?;
                Some(self.name(*node).to_owned())
            }
        }
    }

    fn nodes(&self, policy: PolicyId) -> String {
        let members = self.map.policy(policy).members();
        let names: Vec<&str> = members.map(|node| self.name(node)).collect();
        names.join(",")
    }
}

fn place<'a>(pin: &Pin<'a>) -> (u64, u64, Option<&'a [u8]>) {
    (pin.slice.first.0, pin.slice.last.0, pin.key)
}

/// Joins texts that have no control characters, so that nothing is confused.
fn joined<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    pairs
        .map(|(name, value)| format!("{name}\n{value}\n"))
        .collect()
}
