//! Draws a ring as a map, and writes the fleet with which the map evolves.

use std::collections::{BTreeMap, HashMap};

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::format::{encode, NodePart, Parts, PolicyPart};
use crate::hash::{Hash, KeyRule};
use crate::map::Map;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId, NODES_MAX};
use crate::weight::Weight;

/// What the field `algorithm` of a drawn map says: no version of the algorithm made its slices, and
/// the field is never 0.
const NO_ALGORITHM: u32 = 1;

/// A server of a ring, which becomes a node of the map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name, as the original knows it.
    pub name: String,
    /// Its weight in the original.
    pub weight: Weight,
    /// Its labels, if the original has places for servers.
    pub labels: BTreeMap<String, String>,
    /// Its attributes: whatever else the original knows about it.
    pub attributes: BTreeMap<String, String>,
}

impl Member {
    /// A member without labels and attributes.
    pub fn new(name: String, weight: Weight) -> Member {
        Member {
            name,
            weight,
            labels: BTreeMap::new(),
            attributes: BTreeMap::new(),
        }
    }
}

/// A compiled ring: everything that its map is made of.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The original's hash of keys.
    pub hash: Hash,
    /// The number of different places that the original knows.
    pub cells: Cells,
    /// The number of servers that hold a key.
    pub replicas: u32,
    /// The servers, in the original's order.
    pub members: Vec<Member>,
    /// Rows of a first cell and the holders of the cells from there on, primary first, as numbers
    /// of members. First cells ascend, and the first one is 0.
    pub table: Vec<(u128, Vec<u32>)>,
}

/// Selects the weights of the nodes of an adopted ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weights {
    /// The original's weights: the first `apply` brings every node to its weight.
    Ring,
    /// What each node holds today, in percent: the first `apply` moves next to nothing.
    Shares,
}

impl Ring {
    /// Checks the servers, and sets `replicas` to what the table has. Errors: too many servers, two
    /// of one name, no points.
    pub(crate) fn checked(mut self, file: &str) -> Result<Ring> {
        let refuse = |problem: String| {
            Err(Error::Impossible {
                problem: format!("{file}: {problem}"),
            })
        };
        if self.members.len() > NODES_MAX {
            return refuse(format!(
                "{} servers are more than {NODES_MAX}, the most that a map can have",
                self.members.len()
            ));
        }
        let mut seen = HashMap::new();
        for (i, member) in self.members.iter().enumerate() {
            if let Some(first) = seen.insert(member.name.as_str(), i) {
                return refuse(format!(
                    "server {} and server {} of the list are both named `{}`",
                    first + 1,
                    i + 1,
                    member.name
                ));
            }
        }
        if self.table.is_empty() || self.table.iter().any(|(_, nodes)| nodes.is_empty()) {
            return refuse("no server has a point on the ring; give one a weight".to_owned());
        }
        self.table.dedup_by(|next, before| next.1 == before.1);
        // the ring may have fewer servers than the list asks for copies
        let longest = self
            .table
            .iter()
            .map(|(_, nodes)| nodes.len())
            .max()
            .unwrap_or(1);
        self.replicas = self.replicas.min(longest as u32);
        Ok(self)
    }

    /// The number of cells that each member holds; every copy counts.
    pub fn held(&self) -> Vec<u128> {
        let mut held = vec![0; self.members.len()];
        let ends = self
            .table
            .iter()
            .skip(1)
            .map(|(first, _)| *first)
            .chain([self.cells.count()]);
        for ((first, nodes), end) in self.table.iter().zip(ends) {
            for node in nodes {
                if let Some(held) = held.get_mut(*node as usize) {
                    *held += end - first;
                }
            }
        }
        held
    }

    /// The same ring, with these weights of its members.
    pub fn with(mut self, weights: Weights) -> Ring {
        if weights == Weights::Shares {
            let held = self.held();
            let all: u128 = held.iter().sum::<u128>().max(1);
            for (member, held) in self.members.iter_mut().zip(held) {
                // percent in millionths, rounded to the nearest; held < 2^72, so the product fits
                let millionths = (held * 100_000_000 + all / 2) / all;
                member.weight = Weight::from_millionths(millionths as u64).unwrap_or(Weight::ZERO);
            }
        }
        self
    }

    /// The node of a key, as the original answers: an index into `members`.
    pub fn locate(&self, key: &[u8]) -> Option<u32> {
        let cell = self.hash.cell(key, self.cells);
        let run = self
            .table
            .partition_point(|(first, _)| *first <= cell)
            .checked_sub(1)?;
        self.table.get(run)?.1.first().copied()
    }

    /// The map of the ring, with epoch 1.
    pub fn map(&self, name: &str) -> Result<Map> {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        let name_of = |i: &usize| self.members.get(*i).map(|member| member.name.as_str());
        order.sort_by(|a, b| name_of(a).cmp(&name_of(b)));
        let mut ids = vec![NodeId(0); self.members.len()];
        for (id, member) in (0..).map(NodeId).zip(&order) {
            if let Some(place) = ids.get_mut(*member) {
                *place = id;
            }
        }
        let id_of = |member: &u32| ids.get(*member as usize).copied().unwrap_or(NodeId(0));
        let lists: Vec<Vec<NodeId>> = self
            .table
            .iter()
            .map(|(_, nodes)| nodes.iter().map(id_of).collect())
            .collect();
        let numbers: BTreeMap<&[NodeId], u32> =
            lists.iter().map(|list| (list.as_slice(), 0)).collect();
        let numbers: BTreeMap<&[NodeId], PolicyId> =
            numbers.into_keys().zip((0..).map(PolicyId)).collect();
        let policy =
            |list: &Vec<NodeId>| numbers.get(list.as_slice()).copied().unwrap_or(PolicyId(0));
        let pairs = |pairs: &BTreeMap<String, String>| {
            pairs
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
        let parts = Parts {
            name: name.to_owned(),
            epoch: 1,
            map_id: [0; 16],
            parent: [0; 32],
            algorithm: NO_ALGORITHM,
            replicas: self.replicas,
            hash: self.hash.clone(),
            key_rule: KeyRule::Whole,
            cells: self.cells,
            max_slices: None,
            tolerance: None,
            spread: Vec::new(),
            nodes: order
                .iter()
                .filter_map(|i| self.members.get(*i))
                .map(|member| NodePart {
                    name: member.name.clone(),
                    formerly: String::new(),
                    weight: member.weight,
                    labels: pairs(&member.labels),
                    attributes: pairs(&member.attributes),
                })
                .collect(),
            policies: numbers
                .keys()
                .map(|list| PolicyPart {
                    name: None,
                    kind: String::new(),
                    weight: None,
                    members: list.to_vec(),
                })
                .collect(),
            base: self
                .table
                .iter()
                .zip(&lists)
                .map(|((first, _), list)| (Point(self.cells.bound(*first) as u64), policy(list)))
                .collect(),
            pins: Vec::new(),
            firsts: Vec::new(),
            target: None,
            carry: None,
        };
        Map::from_bytes(encode(&parts))
    }

    /// The fleet for the next `stead apply FLEET MAP`, as TOML.
    pub fn fleet(&self, name: &str) -> String {
        let mut text = String::from(
            "# The servers of an adopted ring. The map keeps the ring's hash, so this file names none. Without\n\
             # the map, no other one is made of this file, because keys would be elsewhere in it.\n\
             # To give a node a name that lasts: write the new name, and its old one as formerly = \"...\"; nothing moves.\n\n",
        );
        text.push_str(&format!("name = {}\n", quoted(name)));
        // a ring may list one server twice for a key, or give others so little that their weight is
        // 0; a fleet has as many nodes with a weight as copies
        let holding = self.members.iter().filter(|m| m.weight != Weight::ZERO);
        let replicas = self.replicas.min(holding.count() as u32);
        if replicas > 1 {
            text.push_str(&format!("replicas = {replicas}\n"));
        }
        text.push_str("\n[guard]\nfirst_map = false\n");
        for member in &self.members {
            text.push_str(&format!("\n[[node]]\nname = {}\n", quoted(&member.name)));
            if member.weight != Weight::ONE {
                text.push_str(&format!("weight = {}\n", member.weight));
            }
            for (what, pairs) in [
                ("labels", &member.labels),
                ("attributes", &member.attributes),
            ] {
                if !pairs.is_empty() {
                    let pairs: Vec<String> = pairs
                        .iter()
                        .map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)))
                        .collect();
                    text.push_str(&format!("{what} = {{ {} }}\n", pairs.join(", ")));
                }
            }
        }
        text
    }
}

/// A TOML string. JSON escapes the same characters in the same way, but for DEL, which cannot
/// occur: names have no control characters.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use crate::hash::{Affixes, Function};

    #[test]
    fn a_server_that_is_listed_twice_is_one_copy_in_the_fleet() {
        let member = |name: &str| Member::new(name.to_owned(), Weight::ONE);
        let ring = Ring {
            hash: Hash::of(Function::Md5, false, Affixes::default()),
            cells: Cells::FINEST,
            replicas: 2,
            members: vec![member("a"), member("b"), member("c")],
            table: vec![(0, vec![1, 1])],
        };
        let replicas = |weights| {
            let ring = ring.clone().with(weights);
            let of_map = ring.map("ring").unwrap().fleet().to_toml();
            let [own, of_map] = [ring.fleet("ring"), of_map]
                .map(|text| Fleet::parse(&text, "fleet.toml").unwrap().replicas);
            assert_eq!(own, of_map);
            own
        };
        // of the shares, b has all
        assert_eq!((replicas(Weights::Shares), replicas(Weights::Ring)), (1, 2));
    }
}
