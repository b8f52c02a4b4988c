//! Build: a fleet and the map before it, or none, give the next map.

use std::collections::BTreeMap;

use super::holders::Holders;
use super::policies::{members, Policies};
use super::sets::{SetId, Sets};
use super::step::Aim;
use super::target::targets;
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::fleet::{Fleet, PinTo, Pinned};
use crate::format::{encode, NodePart, Parts, PinPart};
use crate::hash::Hash;
use crate::map::Map;
use crate::point::Point;
use crate::policy::NodeId;
use crate::weight::Weight;

/// The version of the algorithm of this module; it stands in every map that it makes.
pub const ALGORITHM: u32 = 1;

/// The map that this fleet gets: the first one, or the one after `previous` with the least movement.
///
/// The result is always a new epoch, also when nothing changed: see [`Map::same_but_epoch`]. The same fleet and the same
/// previous map give the same bytes, on every machine.
///
/// Errors: `Identity` when the map is of another cluster or has another hash; `Fleet` where pins overlap; `Impossible` when
/// `max_slices` is too low, or when there are fewer nodes that can hold than replicas.
pub fn build(fleet: &Fleet, previous: Option<&Map>) -> Result<Map> {
    let (hash, cells) = settings(fleet, previous)?;
    let holders = Holders::of(fleet, previous);
    let domains = holders.domains();
    let mut targets = targets(&holders.weights, &domains, cells.count()).ok_or_else(|| too_few_nodes(fleet))?.cells;
    targets.0.resize(holders.count, 0); // those that leave
    let aim = Aim { domains: &domains, targets: &targets, cells: cells.count(), max_slices: fleet.max_slices };
    let mut sets = Sets::default();
    let pieces = match previous {
        Some(map) => {
            let before = holders.pieces(map, map.base_slices(), &mut sets);
            aim.rebalance(&before, &mut sets)
        }
        None => aim.first(&mut sets),
    };
    let pieces = pieces.map_err(|error| in_fleet(fleet, error))?;

    let node_ids: BTreeMap<&str, NodeId> = fleet.nodes.iter().map(|n| n.name.as_str()).zip((0..).map(NodeId)).collect();
    let pins = fleet.lay_pins(&hash, cells)?;
    let pinned: Vec<Vec<NodeId>> = fleet
        .pins
        .iter()
        .map(|pin| match &pin.to {
            PinTo::Policy(_) => Ok(Vec::new()),
            PinTo::Nodes(names) => members(names, &node_ids),
        })
        .collect::<Result<_>>()?;
    let held: Vec<Held> = pieces.iter().map(|piece| held(piece.set, &sets, &holders)).collect::<Result<_>>()?;
    let lists = held.iter().filter_map(|held| if let Held::Nodes(nodes) = held { Some(nodes) } else { None });
    let lists = lists.chain(pinned.iter().filter(|nodes| !nodes.is_empty()));
    let policies = Policies::new(fleet, &node_ids, lists.cloned())?;

    let mut base = Vec::with_capacity(pieces.len());
    let mut cell = 0;
    for (piece, held) in pieces.iter().zip(&held) {
        let policy = match held {
            Held::Policy(name) => policies.by_name(name)?,
            Held::Nodes(nodes) => policies.by_members(nodes)?,
        };
        base.push((Point(cells.bound(cell) as u64), policy)); // below G, so the bound is below 2^64
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
        replicas: fleet.replicas,
        hash,
        cells,
        max_slices: fleet.max_slices,
        spread: fleet.spread.clone(),
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

fn too_few_nodes(fleet: &Fleet) -> Error {
    let holding = fleet.nodes.iter().filter(|node| node.weight > Weight::ZERO).count();
    let problem = match fleet.replicas {
        1 => format!("{}: no node has a weight above 0, so nothing can hold the keys; give at least one a weight", fleet.file),
        r => format!(
            "{}: replicas = {r} needs {r} nodes with a weight above 0, and there {} {holding}; add {} or set replicas = {}",
            fleet.file,
            if holding == 1 { "is" } else { "are" },
            r as usize - holding,
            holding.max(1)
        ),
    };
    Error::Impossible { problem }
}

/// Who holds a piece, as a map says it.
enum Held<'a> {
    Nodes(Vec<NodeId>),
    Policy(&'a str),
}

/// The primary first, then the others by name.
fn held<'a>(set: SetId, sets: &Sets, holders: &Holders<'a>) -> Result<Held<'a>> {
    let primary = sets.primary(set);
    if let Some(policy) = primary.and_then(|primary| holders.policy(primary)) {
        return Ok(Held::Policy(policy));
    }
    let others = sets.holders(set).filter(|holder| Some(*holder) != primary);
    let nodes: Option<Vec<NodeId>> = primary.into_iter().chain(others).map(|holder| holders.node(holder)).collect();
    nodes.map(Held::Nodes).ok_or_else(|| Error::Internal { problem: "a holder that left still has points".into() })
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
