//! Plan: what differs between two maps. Normative: docs/placement.md, "What differs between two maps".

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::map::Map;
use crate::point::{Point, Share};
use crate::policy::{NodeId, PolicyId};
use crate::slice::{lay_over, Slice};

/// Why a range moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// A pin of either map covers it.
    Pin,
    /// A named policy got other nodes by hand.
    Policy,
    /// The rest.
    Rebalance,
}

impl Cause {
    /// As the reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Pin => "pin",
            Cause::Policy => "policy",
            Cause::Rebalance => "rebalance",
        }
    }
}

/// A range of points of which one copy moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The first point.
    pub first: Point,
    /// The last point.
    pub last: Point,
    /// The node that loses the copy, by its number in the old map; `None` when a copy is added.
    pub from: Option<NodeId>,
    /// The node that gets it, by its number in the new map; `None` when a copy is dropped.
    pub to: Option<NodeId>,
    /// Why.
    pub cause: Cause,
}

impl Move {
    /// How many points.
    pub fn points(&self) -> u128 {
        u128::from(self.last.0) - u128::from(self.first.0) + 1
    }
}

/// What differs between two maps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// What really has to be copied, one move per copy: over the final slices.
    pub moves: Vec<Move>,
    /// Copies of points that rebalancing moved: over the base slices.
    pub moved: Share,
    /// The sum of what the holders gained: no way to the new shares moves less.
    pub lower_bound: Share,
    /// The sum of the moves that pins and changed policies dictate.
    pub by_hand: Share,
}

impl Plan {
    /// Compares two maps of one cluster. Errors: `Identity` when they are not.
    ///
    /// Cost: one pass over the slices of both.
    pub fn between(old: &Map, new: &Map) -> Result<Plan> {
        same_cluster(old, new)?;
        let same = Same::of(old, new);
        let moves = moves(old, new, &same);
        let by_hand = moves.iter().filter(|m| m.cause != Cause::Rebalance).map(Move::points).sum();
        Ok(Plan {
            moved: Share(moved(old, new, &same)),
            lower_bound: Share(lower_bound(old, new, &same)),
            by_hand: Share(by_hand),
            moves,
        })
    }
}

/// For each node of the old map, by its number there, the same node's number in the new one: by name, or by `formerly`.
///
/// Errors: `Identity` when they are not maps of one cluster.
pub fn same_nodes(old: &Map, new: &Map) -> Result<Vec<Option<NodeId>>> {
    same_cluster(old, new)?;
    Ok(Same::of(old, new).nodes)
}

fn same_cluster(old: &Map, new: &Map) -> Result<()> {
    let refuse = |problem: &str| Err(Error::Identity { problem: format!("{problem}; compare maps of one cluster") });
    if old.name() != new.name() {
        return refuse(&format!("the maps belong to two clusters, `{}` and `{}`", old.name(), new.name()));
    }
    if old.hash() != new.hash() || old.cells() != new.cells() {
        return refuse("the maps hash keys in different ways");
    }
    Ok(())
}

/// Which node and which named policy of the old map is which of the new.
struct Same {
    /// old node -> new node
    nodes: Vec<Option<NodeId>>,
    /// old policy -> new policy, named ones only
    policies: Vec<Option<PolicyId>>,
}

impl Same {
    fn of(old: &Map, new: &Map) -> Same {
        let mut nodes: Vec<Option<NodeId>> = old.nodes().map(|node| new.node_named(node.name()).map(|n| n.id)).collect();
        for node in new.nodes() {
            let Some(before) = node.formerly().and_then(|name| old.node_named(name)) else { continue };
            if old.node_named(node.name()).is_none() && new.node_named(before.name()).is_none() {
                if let Some(place) = nodes.get_mut(before.id.index()) {
                    *place = Some(node.id);
                }
            }
        }
        let names: HashMap<&str, PolicyId> = new.policies().filter_map(|p| Some((p.name()?, p.id))).collect();
        let policies = old.policies().map(|p| names.get(p.name()?).copied()).collect();
        Same { nodes, policies }
    }

    fn node(&self, old: NodeId) -> Option<NodeId> {
        self.nodes.get(old.index()).copied().flatten()
    }

    fn policy(&self, old: PolicyId) -> Option<PolicyId> {
        self.policies.get(old.index()).copied().flatten()
    }
}

/// The space cut at all bounds of the lists, each of which covers it: first and last point, and each list's policy there.
fn overlay<const N: usize>(lists: [Vec<Slice>; N]) -> impl Iterator<Item = (Point, Point, [PolicyId; N])> {
    let mut lists = lists.map(|list| list.into_iter().peekable());
    let mut next = Some(Point(0));
    std::iter::from_fn(move || {
        let first = next?;
        let mut last = Point::LAST;
        let mut policies = [PolicyId(0); N];
        for (list, policy) in lists.iter_mut().zip(&mut policies) {
            let slice = list.peek()?;
            *policy = slice.policy;
            last = last.min(slice.last);
        }
        for list in &mut lists {
            list.next_if(|slice| slice.last == last);
        }
        next = last.0.checked_add(1).map(Point);
        Some((first, last, policies))
    })
}

fn points(first: Point, last: Point) -> u128 {
    u128::from(last.0) - u128::from(first.0) + 1
}

/// Base slices: copies whose holder changed.
fn moved(old: &Map, new: &Map, same: &Same) -> u128 {
    let mut known: HashMap<(PolicyId, PolicyId), u128> = HashMap::new();
    let mut sum = 0;
    for (first, last, [before, after]) in overlay([old.base_slices().collect(), new.base_slices().collect()]) {
        let copies = *known.entry((before, after)).or_insert_with(|| {
            if old.policy(before).name().is_some() || new.policy(after).name().is_some() {
                return u128::from(same.policy(before) != Some(after));
            }
            let kept: Vec<NodeId> = old.policy(before).members().filter_map(|node| same.node(node)).collect();
            new.policy(after).members().filter(|node| !kept.contains(node)).count() as u128
        });
        sum += copies * points(first, last);
    }
    sum
}

/// The points of each holder over the base slices: by node, and by policy for the weighted ones.
pub(crate) fn holdings(map: &Map) -> (Vec<u128>, Vec<u128>) {
    let mut nodes = vec![0u128; map.nodes().len()];
    let mut policies = vec![0u128; map.policies().len()];
    for slice in map.base_slices() {
        if let Some(sum) = policies.get_mut(slice.policy.index()) {
            *sum += slice.points();
        }
    }
    for policy in map.policies().filter(|p| p.name().is_none()) {
        let points = policies.get_mut(policy.id.index()).map(std::mem::take).unwrap_or(0);
        for node in policy.members() {
            if let Some(sum) = nodes.get_mut(node.index()) {
                *sum += points;
            }
        }
    }
    (nodes, policies)
}

fn lower_bound(old: &Map, new: &Map, same: &Same) -> u128 {
    let ((old_nodes, old_policies), (mut nodes, mut policies)) = (holdings(old), holdings(new));
    let less = |of: &mut [u128], i: Option<usize>, had: u128| {
        if let Some(points) = i.and_then(|i| of.get_mut(i)) {
            *points = points.saturating_sub(had);
        }
    };
    for (i, had) in old_nodes.into_iter().enumerate() {
        less(&mut nodes, same.node(NodeId(i as u32)).map(NodeId::index), had);
    }
    for (i, had) in old_policies.into_iter().enumerate() {
        less(&mut policies, same.policy(PolicyId(i as u32)).map(PolicyId::index), had);
    }
    nodes.into_iter().chain(policies).sum()
}

/// Where a pin lies, as slices: policy 1 under a pin, 0 elsewhere.
fn pinned(map: &Map) -> Vec<Slice> {
    let whole = Slice { first: Point(0), last: Point::LAST, policy: PolicyId(0) };
    lay_over(std::iter::once(whole), map.pins().map(|pin| Slice { policy: PolicyId(1), ..pin.slice }))
}

type Pair = (Option<NodeId>, Option<NodeId>);

/// Final slices: what has to be copied.
fn moves(old: &Map, new: &Map, same: &Same) -> Vec<Move> {
    let lists = [
        old.slices().collect(),
        new.slices().collect(),
        old.base_slices().collect(),
        new.base_slices().collect(),
        pinned(old),
        pinned(new),
    ];
    let mut known: HashMap<(PolicyId, PolicyId), Vec<Pair>> = HashMap::new();
    // for each pair of nodes and cause the last move, which may go on
    let mut open: HashMap<(Pair, Cause), usize> = HashMap::new();
    let mut moves: Vec<Move> = Vec::new();
    for (first, last, [before, after, base_before, base_after, pin_before, pin_after]) in overlay(lists) {
        let pairs = known.entry((before, after)).or_insert_with(|| pairs(old, new, same, before, after));
        if pairs.is_empty() {
            continue;
        }
        let cause = if pin_before.0 + pin_after.0 > 0 {
            Cause::Pin
        } else if same.policy(base_before) == Some(base_after) {
            Cause::Policy
        } else {
            Cause::Rebalance
        };
        for pair in pairs.iter() {
            let goes_on = open.get(&(*pair, cause)).and_then(|i| moves.get_mut(*i));
            match goes_on.filter(|m| m.last.0.checked_add(1) == Some(first.0)) {
                Some(m) => m.last = last,
                None => {
                    open.insert((*pair, cause), moves.len());
                    moves.push(Move { first, last, from: pair.0, to: pair.1, cause });
                }
            }
        }
    }
    // numbers follow names, so the order by number is the order by name, with None first
    moves.sort_by_key(|m| (m.first, m.last, m.from, m.to));
    moves
}

/// The lost and the new nodes of a policy, paired: by position, then by name.
fn pairs(old: &Map, new: &Map, same: &Same, before: PolicyId, after: PolicyId) -> Vec<Pair> {
    let old_nodes: Vec<NodeId> = old.policy(before).members().collect();
    let new_nodes: Vec<NodeId> = new.policy(after).members().collect();
    let kept: Vec<NodeId> = old_nodes.iter().filter_map(|node| same.node(*node)).collect();
    let is_lost = |node: &NodeId| same.node(*node).is_none_or(|now| !new_nodes.contains(&now));
    let is_new = |node: &NodeId| !kept.contains(node);

    let mut pairs: Vec<Pair> = Vec::new();
    let (mut lost, mut gained): (Vec<NodeId>, Vec<NodeId>) = (Vec::new(), Vec::new());
    for i in 0..old_nodes.len().max(new_nodes.len()) {
        match (old_nodes.get(i).copied().filter(is_lost), new_nodes.get(i).copied().filter(is_new)) {
            (None, None) => {}
            (Some(from), None) => lost.push(from),
            (None, Some(to)) => gained.push(to),
            both => pairs.push(both),
        }
    }
    lost.sort_unstable();
    gained.sort_unstable();
    for i in 0..lost.len().max(gained.len()) {
        pairs.push((lost.get(i).copied(), gained.get(i).copied()));
    }
    pairs
}
