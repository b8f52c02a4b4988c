//! Holders of a build: the fleet's nodes by name, its weighted policies by name, then those of the
//! old map that leave.

use std::collections::BTreeMap;

use super::domains::Domains;
use super::holder::HolderId;
use super::piece::{join, Piece};
use super::role::Role;
use super::sets::{SetId, Sets};
use crate::fleet::Fleet;
use crate::map::{Map, Policy};
use crate::point::Point;
use crate::policy::NodeId;
use crate::slice::Slice;
use crate::weight::Weight;

/// Who takes a share, and who has one still.
pub(super) struct Holders<'a> {
    fleet: &'a Fleet,
    /// weights of the nodes and the weighted policies
    pub weights: Vec<Weight>,
    /// names of the weighted policies
    policies: Vec<&'a str>,
    /// which holder each node of the old map is, by its number there
    nodes_before: Vec<HolderId>,
    /// which holder each weighted policy of the old map is, by name
    policies_before: BTreeMap<String, HolderId>,
    /// all of them, leaving ones included
    pub count: usize,
}

impl<'a> Holders<'a> {
    pub(super) fn of(fleet: &'a Fleet, previous: Option<&Map>) -> Holders<'a> {
        let weighted = || fleet.policies.iter().filter_map(|p| Some((p, p.weight?)));
        let mut weights: Vec<Weight> = fleet.nodes.iter().map(|n| n.weight).collect();
        weights.extend(weighted().map(|(_, weight)| weight));
        let policies: Vec<&str> = weighted().map(|(p, _)| p.name.as_str()).collect();
        let count = weights.len();
        let (nodes_before, policies_before) = (Vec::new(), BTreeMap::new());
        let mut holders = Holders {
            fleet,
            weights,
            policies,
            nodes_before,
            policies_before,
            count,
        };
        if let Some(map) = previous {
            holders.follow(map);
        }
        holders
    }

    /// Finds the holder of each node and each weighted policy of the old map.
    fn follow(&mut self, map: &Map) {
        let wanted: BTreeMap<&str, usize> = self
            .fleet
            .nodes
            .iter()
            .map(|n| n.name.as_str())
            .zip(0..)
            .collect();
        // formerly: the new name is unknown to the map, and the old name to the fleet
        let renamed: BTreeMap<&str, usize> = self
            .fleet
            .nodes
            .iter()
            .zip(0..)
            .filter_map(|(node, i)| Some((node.formerly.as_deref()?, node.name.as_str(), i)))
            .filter(|(old, new, _)| map.node_named(new).is_none() && !wanted.contains_key(old))
            .map(|(old, _, i)| (old, i))
            .collect();
        for node in map.nodes() {
            let known = wanted
                .get(node.name())
                .or_else(|| renamed.get(node.name()))
                .copied();
            let holder = known.map_or_else(|| self.leaving(), |i| HolderId(i as u32));
            self.nodes_before.push(holder);
        }
        let weighted: BTreeMap<&str, usize> = self
            .policies
            .iter()
            .copied()
            .zip(self.fleet.nodes.len()..)
            .collect();
        for policy in map.policies().filter(|policy| policy.weight().is_some()) {
            let Some(name) = policy.name() else { continue };
            let holder = weighted
                .get(name)
                .map_or_else(|| self.leaving(), |i| HolderId(*i as u32));
            self.policies_before.insert(name.to_owned(), holder);
        }
    }

    fn leaving(&mut self) -> HolderId {
        let next = HolderId(self.count as u32);
        self.count += 1;
        next
    }

    /// The domains of those that can hold. At one replica no cap binds, so there are none.
    pub(super) fn domains(&self) -> Domains {
        let spread = if self.fleet.replicas > 1 {
            self.fleet.spread.as_slice()
        } else {
            &[]
        };
        let of_node = |node: &'a crate::fleet::Node| {
            let value = |label: &String| node.labels.get(label).map_or("", String::as_str);
            (node.weight > Weight::ZERO).then(|| spread.iter().map(value).collect())
        };
        let nodes = self.fleet.nodes.iter().map(of_node);
        let policies = self
            .weights
            .iter()
            .skip(self.fleet.nodes.len())
            .map(|weight| (*weight > Weight::ZERO).then(Vec::new));
        let mut paths: Vec<Option<Vec<&str>>> = nodes.chain(policies).collect();
        paths.resize(self.count, None); // those that leave
        Domains::new(&paths, self.fleet.replicas)
    }

    /// Slices of the old map as pieces of these holders, in its cells.
    pub(super) fn pieces(
        &self,
        map: &Map,
        slices: impl Iterator<Item = Slice>,
        sets: &mut Sets,
    ) -> Vec<Piece> {
        let cells = map.cells();
        let known: Vec<SetId> = map
            .policies()
            .map(|policy| self.set(policy, sets))
            .collect();
        let piece = |slice: Slice| {
            // bounds are cell bounds, so the difference of cells is exact
            let after = if slice.last == Point::LAST {
                cells.count()
            } else {
                cells.of(Point(slice.last.0 + 1))
            };
            let set = known.get(slice.policy.index()).copied()?;
            Some(Piece {
                cells: after - cells.of(slice.first),
                set,
            })
        };
        join(slices.filter_map(piece).collect::<Vec<_>>())
    }

    /// The holders of a policy of the old map. A node that stands in it twice counts once.
    fn set(&self, policy: Policy, sets: &mut Sets) -> SetId {
        if let Some(holder) = policy
            .name()
            .and_then(|name| self.policies_before.get(name))
        {
            return sets.id([Role::primary(*holder)]);
        }
        let mut roles: Vec<Role> = Vec::new();
        for (place, node) in policy.members().enumerate() {
            let Some(holder) = self.nodes_before.get(node.index()).copied() else {
                continue;
            };
            if roles.iter().all(|role| role.holder() != holder) {
                roles.push(if place == 0 {
                    Role::primary(holder)
                } else {
                    Role::other(holder)
                });
            }
        }
        sets.id(roles)
    }

    /// The weighted policy that a holder is.
    pub(super) fn policy(&self, holder: HolderId) -> Option<&'a str> {
        holder
            .index()
            .checked_sub(self.fleet.nodes.len())
            .and_then(|i| self.policies.get(i))
            .copied()
    }

    /// How many holders are the fleet's; the others leave.
    pub(super) fn staying(&self) -> usize {
        self.weights.len()
    }

    /// The node of the old map that a leaving holder is; `None` for a weighted policy.
    pub(super) fn leaving_node(&self, holder: HolderId) -> Option<NodeId> {
        self.nodes_before
            .iter()
            .position(|before| *before == holder)
            .map(|i| NodeId(i as u32))
    }
}
