//! Roster: the holders that take part in a build. First the nodes of the fleet by name, then its
//! weighted policies by name, then the nodes and policies of the old map that are leaving.

use std::collections::BTreeMap;

use super::domains::Domains;
use super::holder::{HolderId, Role};
use super::piece::{append, Piece};
use super::sets::{SetId, Sets};
use super::table::{Id, Table};
use crate::error::{Error, Result};
use crate::fleet::{self, Fleet};
use crate::map::{self, Map};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;
use crate::weight::Weight;

impl Id for NodeId {
    fn new(place: u32) -> NodeId {
        NodeId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

impl Id for PolicyId {
    fn new(place: u32) -> PolicyId {
        PolicyId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// What kind of thing a holder is.
#[derive(Clone, Copy)]
pub(super) enum Holder<'a> {
    /// A node of the fleet.
    Node(&'a fleet::Node),
    /// A policy of the fleet that has a weight.
    Policy(&'a fleet::Policy),
    /// A node of the old map that the fleet no longer has.
    LeavingNode(map::Node<'a>),
    /// A weighted policy of the old map that the fleet no longer has, or no longer has with a
    /// weight.
    LeavingPolicy,
}

/// All holders of a build.
pub(super) struct Roster<'a> {
    holders: Table<HolderId, Holder<'a>>,
    /// The holder of each node of the old map.
    nodes_before: Table<NodeId, HolderId>,
    /// The holder of each weighted policy of the old map.
    policies_before: BTreeMap<PolicyId, HolderId>,
    /// For each policy of the old map that a piece has, the set of its holders.
    sets_before: Table<PolicyId, Option<SetId>>,
}

impl<'a> Roster<'a> {
    /// Lists the holders of the fleet and those of the previous map.
    pub(super) fn of(fleet: &'a Fleet, previous: Option<&'a Map>) -> Self {
        let nodes = fleet.nodes.iter().map(Holder::Node);
        let weighted = fleet.policies.iter().filter(|p| p.weight.is_some());
        let mut roster = Roster {
            holders: nodes.chain(weighted.map(Holder::Policy)).collect(),
            nodes_before: Table::default(),
            policies_before: BTreeMap::new(),
            sets_before: Table::default(),
        };
        if let Some(map) = previous {
            roster.nodes_before = roster.follow_nodes(fleet, map);
            roster.policies_before = roster.follow_policies(map);
            roster.sets_before = Table::filled(map.policies().len(), None);
        }
        roster
    }

    /// Finds the holder of each node of the old map.
    fn follow_nodes(&mut self, fleet: &Fleet, map: &'a Map) -> Table<NodeId, HolderId> {
        let ids = || fleet.nodes.iter().zip((0..).map(HolderId));
        let wanted: BTreeMap<&str, HolderId> =
            ids().map(|(node, id)| (node.name.as_str(), id)).collect();
        // `formerly` applies when the map does not know the new name and the fleet does not have
        // the old one
        let renamed: BTreeMap<&str, HolderId> = ids()
            .filter_map(|(node, id)| Some((node, node.formerly.as_deref()?, id)))
            .filter(|(node, old, _)| {
                map.node_named(&node.name).is_none() && !wanted.contains_key(old)
            })
            .map(|(_, old, id)| (old, id))
            .collect();
        let holder = |node: map::Node<'a>| {
            let stays = wanted.get(node.name()).or(renamed.get(node.name()));
            stays
                .copied()
                .unwrap_or_else(|| self.holders.push(Holder::LeavingNode(node)))
        };
        map.nodes().map(holder).collect()
    }

    /// Finds the holder of each weighted policy of the old map.
    fn follow_policies(&mut self, map: &Map) -> BTreeMap<PolicyId, HolderId> {
        let weighted = |(id, holder): (HolderId, &Holder<'a>)| match holder {
            Holder::Policy(policy) => Some((policy.name.as_str(), id)),
            _ => None,
        };
        let wanted: BTreeMap<&str, HolderId> = self.holders.iter().filter_map(weighted).collect();
        let mut holders = BTreeMap::new();
        for policy in map.policies().filter(|policy| policy.weight().is_some()) {
            let Some(name) = policy.name() else { continue };
            let stays = wanted.get(name).copied();
            let holder = stays.unwrap_or_else(|| self.holders.push(Holder::LeavingPolicy));
            holders.insert(policy.id, holder);
        }
        holders
    }

    /// All holders.
    pub(super) fn holders(&self) -> &Table<HolderId, Holder<'a>> {
        &self.holders
    }

    /// The weight of each holder; 0 for holders that are leaving.
    pub(super) fn weights(&self) -> Vec<Weight> {
        let weight = |holder: &Holder| match holder {
            Holder::Node(node) => node.weight,
            Holder::Policy(policy) => policy.weight.unwrap_or(Weight::ZERO),
            Holder::LeavingNode(_) | Holder::LeavingPolicy => Weight::ZERO,
        };
        self.holders.values().iter().map(weight).collect()
    }

    /// The domains of the holders that can hold. At one replica no cap binds, so there are no
    /// domains.
    pub(super) fn domains(&self, fleet: &Fleet) -> Domains {
        let spread: &[String] = if fleet.replicas > 1 {
            &fleet.spread
        } else {
            &[]
        };
        let path = |(holder, weight): (&Holder<'a>, Weight)| -> Option<Vec<&str>> {
            let labels = match holder {
                _ if weight == Weight::ZERO => return None,
                Holder::Node(node) => &node.labels,
                _ => return Some(Vec::new()),
            };
            let value = |label| labels.get(label).map_or("", String::as_str);
            Some(spread.iter().map(value).collect())
        };
        let holders = self.holders.values().iter().zip(self.weights());
        let paths: Vec<Option<Vec<&str>>> = holders.map(path).collect();
        Domains::new(&paths, fleet.replicas)
    }

    /// The sets of the old map's pieces, in the order of its policies.
    pub(super) fn sets_before(&self) -> impl Iterator<Item = SetId> + '_ {
        self.sets_before.values().iter().copied().flatten()
    }

    /// Turns slices of the old map into pieces of these holders, in the cells of that map.
    ///
    /// Adds their sets to `sets` in the order of the slices, so that the steps, which go from piece
    /// to piece, find the sets side by side in memory.
    pub(super) fn pieces(
        &mut self,
        map: &Map,
        slices: impl Iterator<Item = Slice>,
        sets: &mut Sets,
    ) -> Result<Vec<Piece>> {
        let cells = map.cells();
        sets.reserve(map.policies().len());
        let mut roles = Vec::new();
        let mut listed = Table::filled(self.holders.len(), None);
        let mut pieces = Vec::with_capacity(map.base_count());
        let mut from = 0;
        for slice in slices {
            // slice bounds are cell bounds, so the difference of cells is exact
            let after = if slice.last == Point::LAST {
                cells.count()
            } else {
                cells.of(Point(slice.last.0 + 1))
            };
            let known = self.sets_before.find(slice.policy).ok_or_else(|| {
                let problem = format!("a slice names policy {}", slice.policy.0);
                Error::Internal { problem }
            })?;
            let set = match known {
                Some(set) => *set,
                None => {
                    self.list_roles(map.policy(slice.policy), &mut roles, &mut listed)?;
                    let set = sets.id(roles.iter().copied());
                    self.sets_before[slice.policy] = Some(set);
                    set
                }
            };
            let cells = after - std::mem::replace(&mut from, after);
            append(&mut pieces, Piece { cells, set });
        }
        Ok(pieces)
    }

    /// Lists the roles of a policy of the old map. A node that the policy lists twice counts once:
    /// `listed` has the last policy that listed each holder.
    fn list_roles(
        &self,
        policy: map::Policy,
        roles: &mut Vec<Role>,
        listed: &mut Table<HolderId, Option<PolicyId>>,
    ) -> Result<()> {
        roles.clear();
        if let Some(holder) = self.policies_before.get(&policy.id) {
            roles.push(Role::primary(*holder));
            return Ok(());
        }
        for node in policy.members() {
            let holder = self
                .nodes_before
                .find(node)
                .ok_or_else(|| Error::Internal {
                    problem: format!("a policy names node {}", node.0),
                })?;
            if listed[*holder].replace(policy.id) != Some(policy.id) {
                roles.push(Role::of(*holder, roles.is_empty()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::cell::Cells;
    use crate::format::{encode, NodePart, Parts, PolicyPart};
    use crate::hash::{Hash, KeyRule};

    #[test]
    fn odd_policies_of_an_old_map_are_followed() {
        let node = |name: &str| NodePart {
            name: name.into(),
            formerly: String::new(),
            weight: Weight::ONE,
            labels: Vec::new(),
            attributes: Vec::new(),
        };
        let policy = |name: Option<&str>, weight, members: &[u32]| PolicyPart {
            name: name.map(str::to_owned),
            kind: String::new(),
            weight,
            members: members.iter().copied().map(NodeId).collect(),
        };
        // a named policy that holds nothing, one with a weight, a node that leaves, and a node
        // listed twice
        let map = Map::from_bytes(encode(&Parts {
            name: "f".into(),
            epoch: 1,
            map_id: [0; 16],
            parent: [0; 32],
            algorithm: 1,
            replicas: 1,
            hash: Hash::Md5,
            key_rule: KeyRule::Whole,
            cells: Cells::FINEST,
            max_slices: None,
            tolerance: None,
            spread: Vec::new(),
            nodes: vec![node("a"), node("b")],
            policies: vec![
                policy(Some("pair"), None, &[0, 1]),
                policy(Some("weighted"), Some(Weight::ONE), &[1]),
                policy(None, None, &[0]),
                policy(None, None, &[1, 1]),
            ],
            base: vec![
                (Point(0), PolicyId(1)),
                (Point(1 << 62), PolicyId(2)),
                (Point(1 << 63), PolicyId(3)),
            ],
            pins: Vec::new(),
            firsts: Vec::new(),
            target: None,
            carry: None,
        }))
        .unwrap();
        let fleet = Fleet::parse("name = 'f'\nnode = [{name = 'b'}, {name = 'c'}]", "f").unwrap();
        let mut sets = Sets::default();
        let mut roster = Roster::of(&fleet, Some(&map));
        // 0 = b, 1 = c, 2 = a, which leaves, 3 = the weighted policy, which leaves
        let expected = sets.pieces(&[(1 << 62, &[3]), (1 << 62, &[2]), (1 << 63, &[0])]);
        let pieces = roster.pieces(&map, map.base_slices(), &mut sets);
        assert_eq!(pieces.unwrap(), expected);
        assert!(build(&fleet, Some(&map)).is_ok());
    }
}
