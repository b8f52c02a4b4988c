//! Build: computes the next map from a fleet and the map before it, if there is one.

use super::aim::Aim;
use super::compose::Composer;
use super::need::need;
use super::piece::{loads, moved, Piece};
use super::roster::Roster;
use super::sets::Sets;
use super::targets::targets;
use super::tolerated::{is_tolerated, tolerated};
use super::{gradual, limit};
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::format::Parts;
use crate::hash::{Hash, KeyRule};
use crate::map::{Map, Node, Permits};
use crate::memory;
use crate::point::{Share, SPACE};
use crate::weight::Weight;

/// The version of the rebalancing algorithm. Every map that is built records it.
pub const ALGORITHM: u32 = 2;

/// Returns the map for this fleet: the first one, or the successor of `previous` with the least
/// movement.
///
/// The result always has a new epoch, even when nothing changed: see [`Map::same`]. The
/// same fleet and the same previous map give the same bytes on every machine. A gradual change that
/// is under way for this fleet is completed.
///
/// Errors: `Identity` when the previous map belongs to another cluster or has another hash or key
/// rule; `Fleet` when pins overlap, or for a first map of a fleet with `first_map = false`;
/// `Impossible` when `max_slices` is too low, or when fewer nodes can hold than there are replicas;
/// `Carrying` when a carry is open and the fleet changes anything but attributes of nodes;
/// `Version` when this stead does not know all features of the previous map; `Memory` or
/// `MemoryLimit` when there may not be enough memory (see [`memory`]).
pub fn build(fleet: &Fleet, previous: Option<&Map>) -> Result<Map> {
    next(fleet, previous, None)
}

/// Like [`build`], but takes only one step towards the result: at most R * `part` points change
/// their node, and the map carries its target slices until they are reached.
///
/// Calling it again with the same fleet takes the next step. A changed fleet gets a new target,
/// computed from the slices as they are then. A first map moves nothing, so it is complete at once.
///
/// Errors: as for `build`; also `Impossible` when `part` is less than a cell, or when a weighted
/// policy would have to leave step by step.
pub fn build_max_move(fleet: &Fleet, previous: Option<&Map>, part: Share) -> Result<Map> {
    next(fleet, previous, Some(part))
}

fn next(fleet: &Fleet, previous: Option<&Map>, part: Option<Share>) -> Result<Map> {
    previous.map_or(Ok(()), Map::understood)?;
    let (hash, key_rule, cells) = settings(fleet, previous)?;
    let Some(epoch) = previous.map_or(0, Map::epoch).checked_add(1) else {
        return Err(Error::Impossible {
            problem: "no epoch can follow 2^64 - 1".into(),
        });
    };
    let _room = memory::room(need(fleet, previous))?;
    let mut sets = Sets::default();
    let mut roster = Roster::of(fleet, previous);
    let aim = aim(fleet, &roster, cells)?;
    let (base, target) = pieces(fleet, previous, part, &mut roster, &mut sets, &aim)?;
    let composer = Composer {
        fleet,
        roster: &roster,
        sets: &sets,
        hash: &hash,
        key_rule,
        cells,
    };
    let composed = composer
        .compose(&base, target.as_deref())
        .map_err(|error| in_fleet(fleet, error))?;
    let parts = Parts {
        name: fleet.name.clone(),
        epoch,
        map_id: previous.map_or([0; 16], Map::map_id),
        parent: previous.map_or([0; 32], Map::digest),
        algorithm: ALGORITHM,
        replicas: fleet.replicas,
        hash,
        key_rule,
        cells,
        max_slices: fleet.max_slices,
        tolerance: fleet.tolerance,
        spread: fleet.spread.clone(),
        nodes: composed.nodes,
        policies: composed.policies,
        base: composed.base,
        pins: composed.pins,
        firsts: composed.firsts,
        target: composed.target,
        carry: previous.and_then(Map::carry),
    };
    let next = Map::from_parts(&parts, &composed.unnamed)?.with_permits(Permits {
        move_limit: fleet.move_limit,
        carry: fleet.carry,
    });
    match previous.filter(|previous| previous.carry().is_some()) {
        Some(previous) => in_carry(previous, next),
        None => Ok(next),
    }
}

/// Returns the next map while a carry is open: one that differs in nothing, or in attributes of
/// nodes. What a gradual change has left to do waits until the carry is closed.
fn in_carry(previous: &Map, next: Map) -> Result<Map> {
    if previous.same(&next) && previous.target_slices().is_none() {
        return Ok(next);
    }
    let renewed = previous.followed_with_attributes(&next)?;
    if previous.same(&next) || !renewed.same(&next) {
        previous.no_carry().map_err(|error| match error {
            Error::Carrying { file, problem } => Error::Carrying {
                file,
                problem: format!("{problem}{}", differing(previous, &next)),
            },
            error => error,
        })?;
    }
    Ok(renewed.with_permits(next.permits()))
}

/// Says what a fleet would change, besides attributes, in the map of a carry: `; this fleet would
/// change +c, -d and 2 more`. At most two of them are named.
fn differing(previous: &Map, next: &Map) -> String {
    let is_other = |node: &Node, then: &Node| {
        node.weight() != then.weight() || !node.labels().eq(then.labels())
    };
    let of_next = next
        .nodes()
        .filter_map(|node| match previous.node_named(node.name()) {
            None => Some(format!("+{}", node.name())),
            Some(then) => is_other(&node, &then).then(|| node.name().to_owned()),
        });
    let is_gone = |node: &Node| next.node_named(node.name()).is_none();
    let gone = previous.nodes().filter(is_gone);
    let all: Vec<String> = of_next
        .chain(gone.map(|node| format!("-{}", node.name())))
        .collect();
    let names = all.get(..2).unwrap_or(&all).join(", ");
    match all.len() {
        0 => String::new(),
        1 | 2 => format!("; this fleet would change {names}"),
        more => format!("; this fleet would change {names} and {} more", more - 2),
    }
}

/// Step 1: computes what each holder is to get.
fn aim(fleet: &Fleet, roster: &Roster, cells: Cells) -> Result<Aim> {
    let domains = roster.domains(fleet);
    let targets = targets(&roster.weights(), &domains, cells.count());
    Ok(Aim {
        domains,
        targets: targets.ok_or_else(|| too_few_nodes(fleet))?.cells,
        cells: cells.count(),
        max_slices: fleet.max_slices,
        chosen: None,
    })
}

/// Steps 2 to 7: returns the base pieces of the next map and, if `part` leaves something to later
/// steps, its target pieces. A gradual change that is under way for this fleet keeps its target.
fn pieces(
    fleet: &Fleet,
    previous: Option<&Map>,
    part: Option<Share>,
    roster: &mut Roster,
    sets: &mut Sets,
    aim: &Aim,
) -> Result<(Vec<Piece>, Option<Vec<Piece>>)> {
    let Some(map) = previous else {
        let first = limit::first(sets, aim).map_err(|error| in_limit(fleet, error))?;
        return Ok((first, None));
    };
    let before = roster.pieces(map, map.base_slices(), sets)?;
    let stored = match map.target_slices().filter(|_| gradual::is_for(fleet, map)) {
        Some(slices) => Some(roster.pieces(map, slices, sets)?),
        None => None,
    };
    // a map that stead did not build may store anything
    let target = match stored.filter(|stored| is_sound(fleet, stored, sets, aim)) {
        // no step is taken while a carry is open
        Some(stored) if map.carry().is_some() => return Ok((before, Some(stored))),
        Some(stored) => stored,
        None => rebalance(fleet, &before, sets, aim).map_err(|error| in_limit(fleet, error))?,
    };
    let Some(part) = part else {
        return Ok((target, None));
    };
    let base = gradual::advance(
        &before,
        &target,
        sets,
        roster.holders().len(),
        budget(fleet, aim.cells, part)?,
    );
    let target = (base != target).then_some(target);
    Ok((base, target))
}

/// Whether pieces are what a rebalance for this fleet may lead to.
fn is_sound(fleet: &Fleet, pieces: &[Piece], sets: &Sets, aim: &Aim) -> bool {
    pieces.len() <= limit::most(aim)
        && match fleet.tolerance {
            Some(tolerance) => is_tolerated(pieces, sets, aim, tolerance),
            None => aim.prove(pieces, sets).is_ok(),
        }
}

/// Rebalances within the tolerance of the fleet, if it has one. Where that would move more than the
/// exact rebalance, which is rare and possible only with several replicas, it is exact.
fn rebalance(fleet: &Fleet, before: &[Piece], sets: &mut Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let Some(tolerance) = fleet.tolerance else {
        return limit::rebalance(before, sets, aim);
    };
    let tolerated = tolerated(before, sets, aim, tolerance);
    let made = limit::rebalance(before, sets, &tolerated)?;
    let least = aim.targets.above(&loads(before, sets, aim.holders())).sum();
    let moves = moved(before, &made, sets);
    if moves <= least {
        return Ok(made);
    }
    let exact = limit::rebalance(before, sets, aim)?;
    let better = moved(before, &exact, sets) < moves;
    Ok(if better { exact } else { made })
}

/// The number of copies of cells that a step may move: R times the cells of `part`. A `part` of
/// less than one cell is an error, so every step can move all copies of a cell and makes progress.
fn budget(fleet: &Fleet, cells: u128, part: Share) -> Result<u128> {
    // `part` and `cells` are both at most 2^64, so their product fits except for the whole space
    let of_space = if part.0 >= SPACE {
        cells
    } else {
        (part.0 * cells) >> 64
    };
    if of_space == 0 {
        let problem = format!(
            "{}: a step of less than a cell, of which there are {}, moves \
            nothing; let it move more",
            fleet.file, cells
        );
        return Err(Error::Impossible { problem });
    }
    Ok(of_space * u128::from(fleet.replicas))
}

/// Puts the name of the fleet's file in front of an `Impossible` error.
fn in_fleet(fleet: &Fleet, error: Error) -> Error {
    match error {
        Error::Impossible { problem } => Error::Impossible {
            problem: format!("{}: {problem}", fleet.file),
        },
        other => other,
    }
}

/// Puts the line of `max_slices` in front of an `Impossible` error of the limit.
fn in_limit(fleet: &Fleet, error: Error) -> Error {
    match (error, fleet.max_slices_line) {
        (Error::Impossible { problem }, line @ 1..) => Error::Impossible {
            problem: format!("{}:{line}: {problem}", fleet.file),
        },
        (error, _) => in_fleet(fleet, error),
    }
}

fn too_few_nodes(fleet: &Fleet) -> Error {
    let holding = fleet
        .nodes
        .iter()
        .filter(|node| node.weight > Weight::ZERO)
        .count();
    let problem = match fleet.replicas {
        1 => format!(
            "{}: no node has a weight above 0, so nothing can hold the keys; give at \
            least one a weight",
            fleet.file
        ),
        r => format!(
            "{}: replicas = {r} needs {r} nodes with a weight above 0, and there {} {holding}; add \
             {} or set replicas = {}",
            fleet.file,
            if holding == 1 { "is" } else { "are" },
            r as usize - holding,
            holding.max(1)
        ),
    };
    Error::Impossible { problem }
}

/// The hash, the key rule and the cells of the next map. A map never changes them; where the fleet
/// does not name a hash or a key rule, those of the previous map are used, or else md5 of the whole
/// key.
fn settings(fleet: &Fleet, previous: Option<&Map>) -> Result<(Hash, KeyRule, Cells)> {
    let Some(map) = previous else {
        if !fleet.first_map {
            return Err(Error::Fleet {
                file: fleet.file.clone(),
                line: fleet.first_map_line,
                problem:
                    "first_map = false: this fleet goes on from a map, and there is none; name \
                          the map, or copy it and its history here; without this line a new map \
                          would be made, in which keys are elsewhere"
                        .into(),
            });
        }
        return Ok((
            fleet.hash.clone().unwrap_or(Hash::Md5),
            fleet.key_rule.unwrap_or_default(),
            Cells::FINEST,
        ));
    };
    let refuse = |problem: String| {
        Err(Error::Identity {
            problem: format!("{}: {problem}", fleet.file),
        })
    };
    if map.name() != fleet.name {
        return refuse(format!(
            "the fleet is named `{}` and the map belongs to `{}`; use the map of this cluster",
            fleet.name,
            map.name()
        ));
    }
    match &fleet.hash {
        Some(hash) if *hash != map.hash() && matches!(map.hash(), Hash::Adopted(_)) => refuse(
            "the map keeps the hash of the ring that it was drawn from; leave `hash` out of \
                the fleet"
                .into(),
        ),
        Some(hash) if *hash != map.hash() && hash.name() == map.hash().name() => {
            refuse("the secret is not the map's; another secret would move every key".into())
        }
        Some(hash) if *hash != map.hash() => refuse(format!(
            "the fleet says hash = \"{}\" and the map has \"{}\"; a map keeps its hash, another \
             would move every key",
            hash.name(),
            map.hash().name()
        )),
        _ => match fleet.key_rule {
            Some(rule) if rule != map.key_rule() => refuse(format!(
                "the fleet says key = \"{rule}\" and the map has \"{}\"; a map keeps its key rule, \
                 another would move nearly every key; leave `key` out of the fleet",
                map.key_rule()
            )),
            _ => Ok((map.hash(), map.key_rule(), map.cells())),
        },
    }
}
