//! Build: a fleet and the map before it, or none, give the next map.

use std::collections::BTreeMap;

use super::piece::{ByHolder, HolderId, Piece};
use super::step::{contiguous, rebalance};
use super::target::targets;
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::fleet::{Fleet, PinTo, Pinned};
use crate::format::{encode, NodePart, Parts, PinPart, PolicyPart};
use crate::hash::Hash;
use crate::map::Map;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::weight::Weight;

/// The version of the algorithm of this module; it stands in every map that it makes.
pub const ALGORITHM: u32 = 1;

/// The map that this fleet gets: the first one, or the one after `previous` with the least movement.
///
/// The result is always a new epoch, also when nothing changed: see [`Map::same_but_epoch`]. The same fleet and the same
/// previous map give the same bytes, on every machine.
///
/// Errors: `Identity` when the map is of another cluster or has another hash; `Fleet` where pins overlap; `Impossible` when
/// `max_slices` is too low; `NotYet` for more than one replica.
pub fn build(fleet: &Fleet, previous: Option<&Map>) -> Result<Map> {
    refuse_what_is_not_built_yet(fleet, previous)?;
    let (hash, cells) = settings(fleet, previous)?;
    let holders = Holders::of(fleet, previous);
    let none = || Error::Impossible {
        problem: format!("{}: no node has a weight above 0, so nothing can hold the keys; give at least one a weight", fleet.file),
    };
    let mut targets = targets(&holders.weights, cells.count()).ok_or_else(none)?;
    targets.0.resize(holders.count, 0); // those that leave
    let before = match previous {
        Some(map) => holders.pieces(map)?,
        None => contiguous(&targets),
    };
    let pieces = rebalance(&before, &targets, fleet.max_slices).map_err(|error| in_fleet(fleet, error))?.pieces;

    let node_ids: BTreeMap<&str, NodeId> = fleet.nodes.iter().map(|n| n.name.as_str()).zip((0..).map(NodeId)).collect();
    let mut policies = Policies::named(fleet, &node_ids)?;
    let pins = fleet.lay_pins(&hash, cells)?;
    let pinned: Vec<Vec<NodeId>> = fleet
        .pins
        .iter()
        .map(|pin| match &pin.to {
            PinTo::Policy(_) => Ok(Vec::new()),
            PinTo::Nodes(names) => members(names, &node_ids),
        })
        .collect::<Result<_>>()?;
    policies.add_unnamed(holders.nodes_with(&targets).map(|node| vec![node]));
    policies.add_unnamed(pinned.iter().filter(|nodes| !nodes.is_empty()).cloned());

    let mut base = Vec::with_capacity(pieces.len());
    let mut cell = 0;
    for piece in &pieces {
        // below G, so the bound is below 2^64
        base.push((Point(cells.bound(cell) as u64), holders.policy(piece.holder, &policies)?));
        cell += piece.cells;
    }
    let mut laid = Vec::with_capacity(pins.len());
    for pin in pins {
        let (Some(wish), Some(nodes)) = (fleet.pins.get(pin.pin), pinned.get(pin.pin)) else { continue };
        let policy = match &wish.to {
            PinTo::Policy(name) => policies.by_name(name)?,
            PinTo::Nodes(_) => policies.by_members(nodes)?,
        };
        let key = match &wish.what {
            Pinned::Key(key) => Some(key.clone()),
            Pinned::Range { .. } => None,
        };
        laid.push(PinPart { first: pin.first, last: pin.last, policy, key });
    }
    let Some(epoch) = previous.map_or(0, Map::epoch).checked_add(1) else {
        return Err(Error::Impossible { problem: "no epoch can follow 2^64 - 1".into() });
    };
    let parts = Parts {
        name: fleet.name.clone(),
        epoch,
        map_id: previous.map_or([0; 16], Map::map_id),
        parent: previous.map_or([0; 32], Map::digest),
        algorithm: ALGORITHM,
        replicas: 1,
        hash,
        cells,
        max_slices: fleet.max_slices,
        spread: Vec::new(),
        nodes: nodes(fleet),
        policies: policies.list,
        base,
        pins: laid,
        target: None,
    };
    Map::from_bytes(encode(&parts))
}

/// The same failure, naming the fleet that asks for the impossible.
fn in_fleet(fleet: &Fleet, error: Error) -> Error {
    match error {
        Error::Impossible { problem } => Error::Impossible { problem: format!("{}: {problem}", fleet.file) },
        other => other,
    }
}

fn refuse_what_is_not_built_yet(fleet: &Fleet, previous: Option<&Map>) -> Result<()> {
    let not_yet = |feature: &str| Err(Error::NotYet { place: None, feature: format!("{}: {feature}", fleet.file) });
    if fleet.replicas > 1 || previous.is_some_and(|map| map.replicas() > 1) {
        return not_yet("replicas above 1");
    }
    if !fleet.spread.is_empty() || previous.is_some_and(|map| map.spread().len() > 0) {
        return not_yet("spread");
    }
    Ok(())
}

/// The hash never changes; left out, it is the map's own, or md5.
fn settings(fleet: &Fleet, previous: Option<&Map>) -> Result<(Hash, Cells)> {
    let Some(map) = previous else {
        return Ok((fleet.hash.unwrap_or(Hash::Md5), Cells::FINEST));
    };
    let refuse = |problem: String| Err(Error::Identity { problem: format!("{}: {problem}", fleet.file) });
    if map.name() != fleet.name {
        return refuse(format!(
            "the fleet is named `{}` and the map belongs to `{}`; use the map of this cluster",
            fleet.name,
            map.name()
        ));
    }
    match fleet.hash {
        Some(hash) if hash != map.hash() && hash.name() == map.hash().name() => {
            refuse("the secret is not the map's; another secret would move every key".into())
        }
        Some(hash) if hash != map.hash() => refuse(format!(
            "the fleet says hash = \"{}\" and the map has \"{}\"; a map keeps its hash, another would move every key",
            hash.name(),
            map.hash().name()
        )),
        _ => Ok((map.hash(), map.cells())),
    }
}

/// Everything of the fleet's nodes that stands in the map.
fn nodes(fleet: &Fleet) -> Vec<NodePart> {
    let pairs = |table: &BTreeMap<String, String>| table.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    let part = |node: &crate::fleet::Node| NodePart {
        name: node.name.clone(),
        formerly: node.formerly.clone().unwrap_or_default(),
        weight: node.weight,
        labels: pairs(&node.labels),
        attributes: pairs(&node.attributes),
    };
    fleet.nodes.iter().map(part).collect()
}

/// Who takes a share: the fleet's nodes by name, its weighted policies by name, then those of the old map that leave.
struct Holders {
    /// how many nodes the fleet has
    nodes: usize,
    /// weights of the nodes and the weighted policies
    weights: Vec<Weight>,
    /// names of the weighted policies
    policies: Vec<String>,
    /// the holder of each policy of the old map, by its number there
    old: Vec<Option<HolderId>>,
    /// all of them, leaving ones included
    count: usize,
}

impl Holders {
    fn of(fleet: &Fleet, previous: Option<&Map>) -> Holders {
        let weighted = || fleet.policies.iter().filter_map(|p| Some((p, p.weight?)));
        let mut weights: Vec<Weight> = fleet.nodes.iter().map(|n| n.weight).collect();
        weights.extend(weighted().map(|(_, weight)| weight));
        let policies: Vec<String> = weighted().map(|(p, _)| p.name.clone()).collect();
        let mut holders = Holders { nodes: fleet.nodes.len(), count: weights.len(), weights, policies, old: Vec::new() };
        if let Some(map) = previous {
            holders.follow(fleet, map);
        }
        holders
    }

    /// Finds the holder of each policy of the old map.
    fn follow(&mut self, fleet: &Fleet, map: &Map) {
        let wanted: BTreeMap<&str, usize> = fleet.nodes.iter().map(|n| n.name.as_str()).zip(0..).collect();
        // formerly: the new name is unknown to the map, and the old name to the fleet
        let weighted: BTreeMap<&str, usize> = self.policies.iter().map(String::as_str).zip(0..).collect();
        let renamed: BTreeMap<&str, usize> = fleet
            .nodes
            .iter()
            .zip(0..)
            .filter_map(|(node, i)| Some((node.formerly.as_deref()?, node.name.as_str(), i)))
            .filter(|(old, new, _)| map.node_named(new).is_none() && !wanted.contains_key(old))
            .map(|(old, _, i)| (old, i))
            .collect();
        for policy in map.policies() {
            let holder = match policy.name() {
                Some(name) => weighted.get(name).map(|i| self.nodes + i),
                None => {
                    let mut members = policy.members();
                    let (Some(node), 0) = (members.next(), members.len()) else {
                        self.old.push(None);
                        continue;
                    };
                    let name = map.node(node).name();
                    wanted.get(name).or_else(|| renamed.get(name)).copied()
                }
            };
            let holder = holder.map_or_else(
                || {
                    let next = HolderId(self.count as u32);
                    self.count += 1;
                    next
                },
                |i| HolderId(i as u32),
            );
            self.old.push(Some(holder));
        }
    }

    /// The old map's base slices as pieces of these holders.
    fn pieces(&self, map: &Map) -> Result<Vec<Piece>> {
        let cells = map.cells();
        let mut pieces = Vec::with_capacity(map.base_count());
        for slice in map.base_slices() {
            let holder = self.old.get(slice.policy.index()).copied().flatten();
            let Some(holder) = holder else {
                return Err(Error::NotYet { place: None, feature: "a base slice with several nodes at one replica".into() });
            };
            // bounds are cell bounds, so the difference of cells is exact
            let after = if slice.last == Point::LAST { cells.count() } else { cells.of(Point(slice.last.0 + 1)) };
            pieces.push(Piece { cells: after - cells.of(slice.first), holder });
        }
        Ok(pieces)
    }

    /// The nodes that get points.
    fn nodes_with<'a>(&self, targets: &'a ByHolder) -> impl Iterator<Item = NodeId> + 'a {
        targets.0.iter().take(self.nodes).zip((0..).map(NodeId)).filter(|(points, _)| **points > 0).map(|(_, node)| node)
    }

    /// The node that a holder is, when it is one of the new map.
    fn node(&self, holder: HolderId) -> Option<NodeId> {
        ((holder.0 as usize) < self.nodes).then_some(NodeId(holder.0))
    }

    /// The policy of the new map through which a holder holds its slices.
    fn policy(&self, holder: HolderId, policies: &Policies) -> Result<PolicyId> {
        if let Some(node) = self.node(holder) {
            return policies.by_members(&[node]);
        }
        match self.policies.get(holder.0 as usize - self.nodes) {
            Some(name) => policies.by_name(name),
            None => Err(Error::Internal { problem: "a holder that left still has points".into() }),
        }
    }
}

/// The policies of the new map, in the order of the format.
struct Policies {
    list: Vec<PolicyPart>,
    names: BTreeMap<String, PolicyId>,
    unnamed: BTreeMap<Vec<NodeId>, PolicyId>,
}

impl Policies {
    fn named(fleet: &Fleet, node_ids: &BTreeMap<&str, NodeId>) -> Result<Policies> {
        let mut policies = Policies { list: Vec::new(), names: BTreeMap::new(), unnamed: BTreeMap::new() };
        for policy in &fleet.policies {
            policies.names.insert(policy.name.clone(), PolicyId(policies.list.len() as u32));
            policies.list.push(PolicyPart {
                name: Some(policy.name.clone()),
                kind: policy.kind.clone(),
                weight: policy.weight,
                members: members(&policy.nodes, node_ids)?,
            });
        }
        Ok(policies)
    }

    /// Adds node lists; they are numbered by their order after the named policies.
    fn add_unnamed(&mut self, lists: impl Iterator<Item = Vec<NodeId>>) {
        self.unnamed.extend(lists.map(|list| (list, PolicyId(0))));
        self.list.truncate(self.names.len());
        for (members, id) in &mut self.unnamed {
            *id = PolicyId(self.list.len() as u32);
            self.list.push(PolicyPart { name: None, kind: String::new(), weight: None, members: members.clone() });
        }
    }

    fn by_name(&self, name: &str) -> Result<PolicyId> {
        self.names.get(name).copied().ok_or_else(|| Error::Internal { problem: format!("no policy `{name}`") })
    }

    fn by_members(&self, members: &[NodeId]) -> Result<PolicyId> {
        self.unnamed.get(members).copied().ok_or_else(|| Error::Internal { problem: "a policy was not listed".into() })
    }
}

fn members(names: &[String], node_ids: &BTreeMap<&str, NodeId>) -> Result<Vec<NodeId>> {
    let id = |name: &String| {
        node_ids.get(name.as_str()).copied().ok_or_else(|| Error::Internal { problem: format!("no node `{name}`") })
    };
    names.iter().map(id).collect()
}
