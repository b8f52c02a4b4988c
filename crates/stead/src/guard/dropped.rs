//! Which copies a change drops, and how many it copies, over the final slices of both maps.
//!
//! Moving is not dropping: a point that has as many copies as before drops none. A point that keeps
//! as many copies as the old fleet promised to every point, R, has lost only additional copies that
//! a pin or a policy had given it. That is harmless, except where somebody took the additional
//! copies away by hand and left one: with one copy, any failure loses the point.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::map::Map;
use crate::plan::{are_few, pinned, same_nodes, FEW};
use crate::policy::{NodeId, PolicyId};
use crate::slice::overlay;

/// The copies that a change drops and makes.
pub(super) struct Changed {
    /// The number of points that have fewer copies afterwards, without those that lose only
    /// additional copies.
    pub dropped_points: u128,
    /// The number of copies that these points lose.
    pub dropped_copies: u128,
    /// The number of copies of points that nodes get and did not have.
    pub copied: u128,
    /// How many copies of points each node of the old map has.
    pub held: Vec<u128>,
    /// For each node of the old map, the same node of the new map.
    pub same: Vec<Option<NodeId>>,
}

/// How one policy turns into another.
#[derive(Clone, Copy)]
struct Turn {
    before: usize,
    after: usize,
    /// How many nodes are in the second policy and not in the first.
    gained: usize,
    /// Whether the first policy is a named one that the new fleet made smaller, or removed.
    shrunk: bool,
}

impl Turn {
    fn of(
        (old, before): (&Map, PolicyId),
        (new, after): (&Map, PolicyId),
        same: &[Option<NodeId>],
        named: &HashMap<&str, usize>,
    ) -> Turn {
        let name = old.policy(before).name();
        let (before, after) = (old.policy(before).distinct(), new.policy(after).distinct());
        let kept = before
            .iter()
            .filter_map(|node| same.get(node.index()).copied().flatten());
        let gained = if before.len() + after.len() <= FEW {
            let is_kept = |node: &NodeId| kept.clone().any(|kept| kept == *node);
            after.iter().filter(|node| !is_kept(node)).count()
        } else {
            let kept: HashSet<NodeId> = kept.collect();
            after.iter().filter(|node| !kept.contains(node)).count()
        };
        Turn {
            before: before.len(),
            after: after.len(),
            gained,
            shrunk: name
                .is_some_and(|name| named.get(name).is_none_or(|nodes| *nodes < before.len())),
        }
    }

    /// Returns how many copies each point drops to its harm.
    fn dropped(self, promised: usize, pinned: bool) -> usize {
        let lost = self.before.saturating_sub(self.after);
        let by_hand = pinned || self.shrunk;
        if self.after < promised || (by_hand && self.after == 1) {
            lost
        } else {
            0
        }
    }
}

impl Changed {
    /// Compares two maps. Returns `Identity` for maps of different clusters.
    pub(super) fn between(old: &Map, new: &Map) -> Result<Changed> {
        let same = same_nodes(old, new)?;
        let mut changed = Changed {
            dropped_points: 0,
            dropped_copies: 0,
            copied: 0,
            held: vec![0; old.nodes().len()],
            same,
        };
        let promised = old.replicas() as usize;
        // how many nodes each named policy of the new map has
        let named: HashMap<&str, usize> = new
            .policies()
            .filter_map(|policy| Some((policy.name()?, policy.distinct().len())))
            .collect();
        let mut held = vec![0u128; old.policies().len()];
        let mut known: HashMap<(PolicyId, PolicyId), Turn> = HashMap::new();
        let lists = [
            old.slices().collect(),
            new.slices().collect(),
            pinned(old),
            pinned(new),
        ];
        for (first, last, [before, after, pin_before, pin_after]) in overlay(lists) {
            let turn = || Turn::of((old, before), (new, after), &changed.same, &named);
            let turn = if are_few(old, new, before, after) {
                turn()
            } else {
                *known.entry((before, after)).or_insert_with(turn)
            };
            let points = first.count_to(last);
            if let Some(held) = held.get_mut(before.index()) {
                *held += points;
            }
            changed.copied += turn.gained as u128 * points;
            let pinned = pin_before.0 + pin_after.0 > 0;
            let dropped = turn.dropped(promised, pinned) as u128;
            changed.dropped_copies += dropped * points;
            changed.dropped_points += if dropped > 0 { points } else { 0 };
        }
        let mut nodes = Vec::new();
        for (policy, points) in old.policies().zip(held) {
            policy.list_distinct(&mut nodes);
            for node in &nodes {
                if let Some(sum) = changed.held.get_mut(node.index()) {
                    *sum += points;
                }
            }
        }
        Ok(changed)
    }
}
