//! The plan: the difference between two maps. Normative: docs/placement.md, "What differs between
//! two maps".

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Hash, KeyRule};
use crate::held::{Held, Holdings};
use crate::kernel::{self, Kernel, Keys, BLOCK};
use crate::map::{Map, Node, Policy};
use crate::memory;
use crate::point::{Point, Share, SPACE};
use crate::policy::{NodeId, PolicyId};
use crate::slice::{lay_over, overlay, Slice};

/// Why a range of points moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// A pin of the old or of the new map covers the range.
    Pin,
    /// Somebody gave other nodes to the named policy that holds the range.
    Policy,
    /// Rebalancing moves it: every other case.
    Rebalance,
}

impl Cause {
    /// Returns the name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Pin => "pin",
            Cause::Policy => "policy",
            Cause::Rebalance => "rebalance",
        }
    }
}

/// The bits of a point that say in which bucket a search for moves begins.
const START_BITS: u32 = 12;
/// The number of keys that an iterator over many of them takes at a time.
const TAKEN: usize = 256;
/// The most nodes of two policies that are compared anew for each of their slices.
pub(crate) const FEW: usize = 16;
/// What a move takes in the lists of a plan, while they grow.
const MOVE: u64 = 300;
/// What a node of two policies that are compared takes, in the lists and sets of `pairs`.
const PAIRED: u64 = 128;

/// A range of points, and one copy of it that moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The first point.
    pub first: Point,
    /// The last point.
    pub last: Point,
    /// The node that loses the copy, by its number in the old map; `None` when a copy is added.
    pub from: Option<NodeId>,
    /// The node that gets the copy, by its number in the new map; `None` when a copy is dropped.
    pub to: Option<NodeId>,
    /// Why the range moves.
    pub cause: Cause,
}

impl Move {
    /// Returns the number of points in the range.
    pub fn points(&self) -> u128 {
        self.first.count_to(self.last)
    }
}

/// The amounts by which two maps differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amounts {
    /// Copies of points that rebalancing moves, counted over the base slices.
    pub moved: Share,
    /// The sum of what the holders gain. No way to reach the new shares moves less.
    pub lower_bound: Share,
    /// The sum of the moves that pins and changed policies cause.
    pub by_hand: Share,
    /// Points whose primary changes although the old primary still holds a copy, counted over the
    /// base slices.
    pub reordered: Share,
}

/// Returns the number of all copies of points, of which a plan's movement is a part: R * 2^64, with
/// the larger R of the two maps. With the smaller one, a part could be more than the whole when R
/// changes.
pub fn all_copies(old: &Map, new: &Map) -> u128 {
    u128::from(old.replicas().max(new.replicas())) * SPACE
}

impl Amounts {
    /// The amounts of two maps that do not differ.
    pub(crate) const NONE: Amounts = Amounts {
        moved: Share(0),
        lower_bound: Share(0),
        by_hand: Share(0),
        reordered: Share(0),
    };

    /// Compares two maps of one cluster without listing the moves. Returns `Identity` for maps of
    /// different clusters; `Memory` or `MemoryLimit` when there may not be enough memory.
    ///
    /// Cost: one pass over the slices of both maps.
    pub fn between(old: &Map, new: &Map) -> Result<Amounts> {
        same_cluster(old, new)?;
        let _room = memory::room(need(old, new))?;
        let same = Same::of(old, new)?;
        let (moved, reordered) = moved(old, new, &same);
        Ok(Amounts {
            moved: Share(moved),
            lower_bound: Share(lower_bound(old, new, &same)),
            by_hand: Share(by_hand(old, new, &same)?),
            reordered: Share(reordered),
        })
    }
}

/// The difference between two maps: the moves, and how much they amount to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Everything that has to be copied, one move per copy, computed over the final slices.
    pub moves: Vec<Move>,
    /// How much moves.
    pub amounts: Amounts,
    /// for each move, the largest last point of all moves up to and including it; a search for a
    /// point goes backwards until this value is below the point
    reach: Vec<Point>,
    /// for each bucket of points, how many moves start before it; a bucket is the points that begin
    /// with the same START_BITS bits
    starts: Vec<u32>,
    /// how both maps hash keys
    hash: Hash,
    key_rule: KeyRule,
    cells: Cells,
}

/// A copy of a key that moves: one row of [`Plan::affects_many`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affected {
    /// The position of the key among the keys that were given, from 0.
    pub key: usize,
    /// The point of the key.
    pub point: Point,
    /// The node that loses the copy, by its number in the old map; `None` when a copy is added.
    pub from: Option<NodeId>,
    /// The node that gets the copy, by its number in the new map; `None` when a copy is dropped.
    pub to: Option<NodeId>,
}

impl Plan {
    /// Compares two maps of one cluster. Returns `Identity` for maps of different clusters;
    /// `Memory` or `MemoryLimit` when there may not be enough memory.
    ///
    /// Cost: one pass over the slices of both maps, and one move per copy: a slice that goes to a
    /// policy of many nodes makes one move for each node. [`Amounts::between`] gives the amounts
    /// without the list.
    pub fn between(old: &Map, new: &Map) -> Result<Plan> {
        let amounts = Amounts::between(old, new)?;
        let moves = moves(old, new, &Same::of(old, new)?, &HashSet::new())?;
        let mut furthest = Point(0);
        let reach = moves.iter().map(|m| {
            furthest = furthest.max(m.last);
            furthest
        });
        let reach = memory::collected(reach)?;
        let before =
            |bucket: u64| moves.partition_point(|m| m.first.0 >> (64 - START_BITS) < bucket);
        let starts = (0..=1 << START_BITS).map(|bucket| before(bucket) as u32);
        let starts = starts.collect();
        Ok(Plan {
            moves,
            amounts,
            reach,
            starts,
            hash: new.hash(),
            key_rule: new.key_rule(),
            cells: new.cells(),
        })
    }

    /// Returns the numbers of the moves that affect a key, in ascending order: these copies of it
    /// have to be made or dropped. Empty when the key stays where it is.
    pub fn affects(&self, key: &[u8]) -> Vec<usize> {
        self.affects_point(self.point(key))
    }

    /// Returns the point of a key, as both maps hash it.
    pub fn point(&self, key: &[u8]) -> Point {
        self.hash.point_of(self.key_rule, self.cells, key)
    }

    /// Returns the numbers of the moves that contain a point, in ascending order.
    ///
    /// Cost: a binary search, and one step for each move near the point.
    pub fn affects_point(&self, point: Point) -> Vec<usize> {
        self.affecting(point).collect()
    }

    /// Yields the numbers of the moves that contain a point, in ascending order, as
    /// [`Plan::affects_point`] returns them. Allocates nothing.
    pub fn affecting(&self, point: Point) -> impl Iterator<Item = usize> + '_ {
        let end = self.started(point);
        let before = self.reach.get(..end).unwrap_or(&[]);
        let start = end
            - before
                .iter()
                .rev()
                .take_while(|reach| **reach >= point)
                .count();
        let near = self.moves.get(start..end).unwrap_or(&[]);
        (start..)
            .zip(near)
            .filter(move |(_, m)| m.last >= point)
            .map(|(i, _)| i)
    }

    /// Returns how many moves start at a point or before it.
    fn started(&self, point: Point) -> usize {
        let bucket = (point.0 >> (64 - START_BITS)) as usize;
        let bound = |i: usize| self.starts.get(i).map_or(self.moves.len(), |n| *n as usize);
        let (low, high) = (bound(bucket), bound(bucket + 1));
        let within = self.moves.get(low..high).unwrap_or(&[]);
        low + within.partition_point(|m| m.first <= point)
    }

    /// Tells what moves of many keys: calls `row` for each copy that moves, in the order of the
    /// keys, and not for a key that stays where it is. `first` is the position of the first key.
    pub fn affects_keys(&self, keys: Keys<'_>, first: usize, mut row: impl FnMut(Affected)) {
        let mut points = [Point(0); BLOCK];
        let mut key = first;
        for keys in keys.parts(BLOCK) {
            let points = points.get_mut(..keys.len()).unwrap_or_default();
            let (hash, rule, cells) = (&self.hash, self.key_rule, self.cells);
            kernel::points(Kernel::chosen(), hash, rule, cells, keys, points);
            for point in points {
                let point = *point;
                for i in self.affecting(point) {
                    if let Some(Move { from, to, .. }) = self.moves.get(i).copied() {
                        row(Affected {
                            key,
                            point,
                            from,
                            to,
                        });
                    }
                }
                key += 1;
            }
        }
    }

    /// Yields what moves of many keys: one row for each copy that moves, in the order of the keys,
    /// and none for a key that stays where it is. Each key is hashed once.
    pub fn affects_many<'a, K: AsRef<[u8]>>(
        &'a self,
        keys: impl IntoIterator<Item = K> + 'a,
    ) -> impl Iterator<Item = Affected> + 'a {
        let mut keys = keys.into_iter();
        let (mut first, mut rows) = (0, Vec::new().into_iter());
        std::iter::from_fn(move || loop {
            if let Some(row) = rows.next() {
                return Some(row);
            }
            let held: Vec<K> = keys.by_ref().take(TAKEN).collect();
            if held.is_empty() {
                return None;
            }
            let slices: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
            let mut found = Vec::new();
            self.affects_keys(Keys::each(&slices), first, |row| found.push(row));
            first += held.len();
            rows = found.into_iter();
        })
    }
}

/// Returns, for each node of the old map by its number, the number of the same node in the new map.
/// Nodes are matched by name, or by `formerly`.
///
/// Errors: `Identity` when the maps belong to different clusters.
pub fn same_nodes(old: &Map, new: &Map) -> Result<Vec<Option<NodeId>>> {
    same_cluster(old, new)?;
    Ok(Same::of(old, new)?.nodes)
}

fn same_cluster(old: &Map, new: &Map) -> Result<()> {
    let refuse = |problem: &str| {
        Err(Error::Identity {
            problem: format!("{problem}; compare maps of one cluster"),
        })
    };
    if old.name() != new.name() {
        return refuse(&format!(
            "the maps belong to two clusters, `{}` and `{}`",
            old.name(),
            new.name()
        ));
    }
    if old.hash() != new.hash() || old.key_rule() != new.key_rule() || old.cells() != new.cells() {
        return refuse(match (old.hash().secret(), new.hash().secret()) {
            (Some(one), Some(other)) if one != other => {
                "the maps hash keys under different secrets (docs/security.md says how to change one)"
            }
            _ => "the maps hash keys in different ways",
        });
    }
    Ok(())
}

/// The node of the new map that each old node is, and the same for named policies.
struct Same {
    /// old node -> new node
    nodes: Vec<Option<NodeId>>,
    /// old policy -> new policy, named ones only
    policies: Vec<Option<PolicyId>>,
}

impl Same {
    fn of(old: &Map, new: &Map) -> Result<Same> {
        // a step back: `old` is the later map here, and it is the one that records former names
        let nodes = if new.epoch() < old.epoch() {
            inverse(&later(new, old)?, old)?
        } else {
            later(old, new)?
        };
        let mut names: HashMap<&str, PolicyId> = HashMap::new();
        for policy in new.policies() {
            if let Some(name) = policy.name() {
                roomy(&mut names)?;
                names.insert(name, policy.id);
            }
        }
        let same = |policy: Policy| names.get(policy.name()?).copied();
        let policies = memory::collected(old.policies().map(same))?;
        Ok(Same { nodes, policies })
    }

    fn node(&self, old: NodeId) -> Option<NodeId> {
        self.nodes.get(old.index()).copied().flatten()
    }

    fn policy(&self, old: PolicyId) -> Option<PolicyId> {
        self.policies.get(old.index()).copied().flatten()
    }
}

/// Returns, for each node of a map, the same node of a later map, matched by name or by its former
/// name.
fn later(old: &Map, new: &Map) -> Result<Vec<Option<NodeId>>> {
    let there = |node: Node| new.node_named(node.name()).map(|n| n.id);
    let mut nodes: Vec<Option<NodeId>> = memory::collected(old.nodes().map(there))?;
    for node in new.nodes() {
        let Some(before) = node.formerly().and_then(|name| old.node_named(name)) else {
            continue;
        };
        if old.node_named(node.name()).is_none() && new.node_named(before.name()).is_none() {
            if let Some(place) = nodes.get_mut(before.id.index()) {
                *place = Some(node.id);
            }
        }
    }
    Ok(nodes)
}

/// Inverts such a list: returns, for each node of `map`, the node that leads to it.
fn inverse(nodes: &[Option<NodeId>], map: &Map) -> Result<Vec<Option<NodeId>>> {
    let mut back = memory::filled(map.nodes().len(), None)?;
    for (to, from) in nodes.iter().zip((0..).map(NodeId)) {
        if let Some(place) = to.and_then(|to| back.get_mut(to.index())) {
            *place = Some(from);
        }
    }
    Ok(back)
}

/// Compares the base slices. Returns the copies whose holder changed, and the points whose primary
/// changed although the old primary still holds a copy.
fn moved(old: &Map, new: &Map, same: &Same) -> (u128, u128) {
    let mut known: HashMap<(PolicyId, PolicyId), (u128, u128)> = HashMap::new();
    let (mut moved, mut reordered) = (0, 0);
    for (first, last, [before, after]) in
        overlay([old.base_slices().collect(), new.base_slices().collect()])
    {
        let changed = || {
            let copies = copies_moved(old, new, same, before, after);
            let turns = old.policy(before).name().is_none()
                && new.policy(after).name().is_none()
                && is_reordered(old, new, same, before, after);
            (copies, u128::from(turns))
        };
        let (copies, turns) = if are_few(old, new, before, after) {
            changed()
        } else {
            *known.entry((before, after)).or_insert_with(changed)
        };
        moved += copies * first.count_to(last);
        reordered += turns * first.count_to(last);
    }
    (moved, reordered)
}

/// How many copies of a point of a base slice have another holder when its policy changes.
fn copies_moved(old: &Map, new: &Map, same: &Same, before: PolicyId, after: PolicyId) -> u128 {
    let (was, is) = (old.policy(before), new.policy(after));
    if was.name().is_some() || is.name().is_some() {
        u128::from(same.policy(before) != Some(after))
    } else if is_same_list(old, new, same, before, after) {
        0
    } else {
        let kept: HashSet<NodeId> = was.members().filter_map(|node| same.node(node)).collect();
        let nodes = is.distinct().into_iter();
        nodes.filter(|node| !kept.contains(node)).count() as u128
    }
}

/// Whether two policies have so few nodes that comparing them takes less time than finding out in a
/// table what came of it before.
pub(crate) fn are_few(old: &Map, new: &Map, before: PolicyId, after: PolicyId) -> bool {
    old.policy(before).members().len() + new.policy(after).members().len() <= FEW
}

/// Whether two policies list the same nodes in the same order.
fn is_same_list(old: &Map, new: &Map, same: &Same, before: PolicyId, after: PolicyId) -> bool {
    let before = old.policy(before).members().map(|node| same.node(node));
    before.eq(new.policy(after).members().map(Some))
}

/// Whether another node is first, although the node that was first still holds a copy.
fn is_reordered(old: &Map, new: &Map, same: &Same, before: PolicyId, after: PolicyId) -> bool {
    let (mut before, after) = (old.policy(before).members(), new.policy(after).members());
    let primary = before.next().and_then(|node| same.node(node));
    let now = after.clone().next();
    primary.is_some_and(|primary| now != Some(primary) && after.into_iter().any(|n| n == primary))
}

/// Returns how many points get another first node because of pins, firsts and named policies,
/// although the node that was first still holds a copy. Rebalancing reorders others.
///
/// Cost: one pass over the slices of both maps.
pub(crate) fn reordered_by_hand(old: &Map, new: &Map) -> Result<u128> {
    let same = Same::of(old, new)?;
    let is_named = |before, after| {
        old.policy(before)
            .name()
            .or(new.policy(after).name())
            .is_some()
    };
    let mut known: HashMap<[PolicyId; 4], bool> = HashMap::new();
    let mut by_hand = |policies: [PolicyId; 4]| {
        *known.entry(policies).or_insert_with(|| {
            let [base_before, base_after, before, after] = policies;
            is_reordered(old, new, &same, before, after)
                && (is_named(base_before, base_after)
                    || !is_reordered(old, new, &same, base_before, base_after))
        })
    };
    let parts = overlay([
        old.base_slices().collect(),
        new.base_slices().collect(),
        old.slices().collect(),
        new.slices().collect(),
    ]);
    let points =
        parts.map(|(first, last, policies)| u128::from(by_hand(policies)) * first.count_to(last));
    Ok(points.sum())
}

/// Returns how many copies of points a gradual change has yet to move, from the base slices to the
/// target slices.
pub(crate) fn still_to_move(map: &Map) -> u128 {
    let Some(target) = map.target_slices() else {
        return 0;
    };
    let copies = |now: PolicyId, then: PolicyId| {
        let (now, then) = (map.policy(now), map.policy(then));
        match now.name().or(then.name()) {
            _ if now.id == then.id => 0,
            Some(_) => 1,
            None => then
                .distinct()
                .into_iter()
                .filter(|node| now.members().all(|other| other != *node))
                .count() as u128,
        }
    };
    overlay([map.base_slices().collect(), target.collect()])
        .map(|(first, last, [now, then])| copies(now, then) * first.count_to(last))
        .sum()
}

fn lower_bound(old: &Map, new: &Map, same: &Same) -> u128 {
    let had = Holdings::of(old, old.base_slices());
    let mut has = Holdings::of(new, new.base_slices());
    let less = |of: &mut [Held], i: Option<usize>, had: Held| {
        if let Some(has) = i.and_then(|i| of.get_mut(i)) {
            has.points = has.points.saturating_sub(had.points);
        }
    };
    for (before, had) in (0..).map(NodeId).zip(had.nodes) {
        less(&mut has.nodes, same.node(before).map(NodeId::index), had);
    }
    for (before, had) in (0..).map(PolicyId).zip(had.policies) {
        let now = same.policy(before).map(PolicyId::index);
        less(&mut has.policies, now, had);
    }
    let gained = has.nodes.iter().chain(&has.policies);
    gained.map(|held| held.points).sum()
}

/// Returns slices that show where pins lie: policy 1 under a pin, 0 elsewhere.
pub(crate) fn pinned(map: &Map) -> Vec<Slice> {
    let whole = Slice {
        first: Point(0),
        last: Point::LAST,
        policy: PolicyId(0),
    };
    lay_over(
        std::iter::once(whole),
        map.pins().map(|pin| Slice {
            policy: PolicyId(1),
            ..pin.slice
        }),
    )
}

/// Cuts the space at all bounds of both maps. Yields each piece with its final policies in both
/// maps and the cause of a change there.
fn pieces(
    old: &Map,
    new: &Map,
    same: &Same,
) -> impl Iterator<Item = (Point, Point, PolicyId, PolicyId, Cause)> {
    let same_policy: Vec<Option<PolicyId>> = same.policies.clone();
    let lists = [
        old.slices().collect(),
        new.slices().collect(),
        old.base_slices().collect(),
        new.base_slices().collect(),
        pinned(old),
        pinned(new),
    ];
    overlay(lists).map(
        move |(first, last, [before, after, base_before, base_after, pin_before, pin_after])| {
            let cause = if pin_before.0 + pin_after.0 > 0 {
                Cause::Pin
            } else if same_policy.get(base_before.index()).copied().flatten() == Some(base_after) {
                Cause::Policy
            } else {
                Cause::Rebalance
            };
            (first, last, before, after, cause)
        },
    )
}

/// Returns how many copies of points the pins and policies move.
fn by_hand(old: &Map, new: &Map, same: &Same) -> Result<u128> {
    let has_pins = |map: &Map| map.pins().len() > 0;
    if !has_pins(old) && !has_pins(new) && same.policies.iter().all(Option::is_none) {
        return Ok(0); // no other cause than rebalancing
    }
    let mut known: HashMap<(PolicyId, PolicyId), u128> = HashMap::new();
    let mut sum = 0;
    for (first, last, before, after, cause) in pieces(old, new, same) {
        if cause != Cause::Rebalance {
            let copies = match known.entry((before, after)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(unknown) => {
                    let pairs = pairs(old, new, same, before, after)?;
                    *unknown.insert(pairs.len() as u128)
                }
            };
            sum += copies * first.count_to(last);
        }
    }
    Ok(sum)
}

/// Returns how many of the keys that either map pins get other nodes, and how many these keys are.
/// Another order of the same nodes does not count.
///
/// Cost: O(n log n) for n pins, and a lookup in each map for each of them.
pub(crate) fn pinned_keys(old: &Map, new: &Map) -> Result<(usize, usize)> {
    let _room = memory::room(need(old, new))?;
    let same = Same::of(old, new)?;
    let by_key = |map: &Map| map.pins().filter(|pin| pin.key.is_some()).count();
    let mut keys: Vec<(Point, &[u8])> = memory::empty(by_key(old) + by_key(new))?;
    for pin in old.pins().chain(new.pins()) {
        keys.extend(pin.key.map(|key| (pin.slice.first, key)));
    }
    keys.sort_unstable();
    keys.dedup();
    let mut known: HashMap<(PolicyId, PolicyId), bool> = HashMap::new();
    let mut moved = 0;
    for (point, _) in &keys {
        let (before, after) = (old.policy_of(*point), new.policy_of(*point));
        moved += usize::from(match known.entry((before, after)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                let pairs = pairs(old, new, &same, before, after)?;
                *unknown.insert(!pairs.is_empty())
            }
        });
    }
    Ok((moved, keys.len()))
}

type Pair = (Option<NodeId>, Option<NodeId>);

/// Lists the moves of two maps of one cluster when these nodes of the old map are dead. A copy that
/// would come from one of them comes from the first other node that has it, in the order of its
/// policy, and from nowhere when there is none.
pub(crate) fn moves_without(old: &Map, new: &Map, dead: &HashSet<NodeId>) -> Result<Vec<Move>> {
    moves(old, new, &Same::of(old, new)?, dead)
}

/// Returns how many copies of points no node has any more, because their policy has fewer nodes
/// than before, counted over the final slices. Both are maps of one cluster.
///
/// Cost: one pass over the slices of both maps.
pub fn dropped(old: &Map, new: &Map) -> u128 {
    let copies = |map: &Map| -> Vec<u128> {
        let distinct = map.policies().map(|policy| policy.distinct().len() as u128);
        distinct.collect()
    };
    let (before, after) = (copies(old), copies(new));
    let of = |list: &[u128], policy: PolicyId| list.get(policy.index()).copied().unwrap_or(0);
    overlay([old.slices().collect(), new.slices().collect()])
        .map(|(first, last, [was, is])| {
            of(&before, was).saturating_sub(of(&after, is)) * first.count_to(last)
        })
        .sum()
}

/// The most bytes that comparing two maps takes, without what grows with the moves: their slices,
/// laid over each other, and what is known of each pair of policies and of each node.
/// tests/memory.rs compares this with the memory that is really used.
fn need(old: &Map, new: &Map) -> u64 {
    let of = |map: &Map| {
        let slices = 96 * (map.base_count() + map.slice_count() + 2 * map.pins().len());
        slices + 128 * map.policies().len() + 192 * map.nodes().len()
    };
    (of(old) + of(new)) as u64 + (1 << 16)
}

/// Lists what has to be copied, computed over the final slices. Nodes in `dead` are not copied
/// from.
///
/// How many moves there are, only this tells: a pin may give its points to all nodes of the map.
/// So every list that grows with them can be refused.
fn moves(old: &Map, new: &Map, same: &Same, dead: &HashSet<NodeId>) -> Result<Vec<Move>> {
    let known_need = need(old, new);
    let mut room = memory::room(known_need)?;
    let mut known: HashMap<(PolicyId, PolicyId), Vec<Pair>> = HashMap::new();
    // for each pair of nodes and cause: its last move, which the next piece may extend
    let mut open: HashMap<(Pair, Cause), usize> = HashMap::new();
    let mut moves: Vec<Move> = Vec::new();
    for (first, last, before, after, cause) in pieces(old, new, same) {
        let few = are_few(old, new, before, after);
        if few && is_same_list(old, new, same, before, after) {
            continue; // nearly all pieces
        }
        roomy(&mut known)?;
        let pairs = match known.entry((before, after)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let mut pairs = pairs(old, new, same, before, after)?;
                if !dead.is_empty() {
                    let alive = |node: &NodeId| !dead.contains(node);
                    let other = old.policy(before).members().find(alive);
                    for (from, to) in &mut pairs {
                        if to.is_some() && from.is_some_and(|node| !alive(&node)) {
                            *from = other;
                        }
                    }
                }
                unknown.insert(pairs)
            }
        };
        for pair in pairs.iter() {
            let goes_on = open.get(&(*pair, cause)).and_then(|i| moves.get_mut(*i));
            match goes_on.filter(|m| m.last.0.checked_add(1) == Some(first.0)) {
                Some(m) => m.last = last,
                None => {
                    if moves.len() == moves.capacity() {
                        drop(room);
                        room = memory::room(known_need + MOVE * 2 * moves.len() as u64)?;
                    }
                    roomy(&mut open)?;
                    open.insert((*pair, cause), moves.len());
                    let new = Move {
                        first,
                        last,
                        from: pair.0,
                        to: pair.1,
                        cause,
                    };
                    memory::push(&mut moves, new)?;
                }
            }
        }
    }
    // node numbers follow names, so this is the order of names, with None first
    moves.sort_unstable_by_key(|m| (m.first, m.last, m.from, m.to, m.cause));
    Ok(moves)
}

/// Makes room for one more entry in a table that may become large.
fn roomy<K: Eq + std::hash::Hash, V>(table: &mut HashMap<K, V>) -> Result<()> {
    if table.len() < table.capacity() {
        return Ok(());
    }
    // a table doubles, and a ninth of its places stay empty
    let bytes = (table.len() + 8).saturating_mul(3 * size_of::<(K, V)>());
    memory::allowed(bytes)?;
    table.try_reserve(1).map_err(|_| Error::Memory { bytes })
}

/// Pairs the nodes that a policy loses with the nodes that it gains: first by position, then the
/// rest by name.
fn pairs(
    old: &Map,
    new: &Map,
    same: &Same,
    before: PolicyId,
    after: PolicyId,
) -> Result<Vec<Pair>> {
    let members = old.policy(before).members().len() + new.policy(after).members().len();
    let _room = memory::room(PAIRED * members as u64)?;
    let (old_nodes, new_nodes) = (old.policy(before).distinct(), new.policy(after).distinct());
    let kept: HashSet<NodeId> = old_nodes
        .iter()
        .filter_map(|node| same.node(*node))
        .collect();
    let there: HashSet<NodeId> = new_nodes.iter().copied().collect();
    let is_lost = |node: &NodeId| same.node(*node).is_none_or(|now| !there.contains(&now));
    let is_new = |node: &NodeId| !kept.contains(node);

    let mut pairs: Vec<Pair> = Vec::new();
    let (mut lost, mut gained): (Vec<NodeId>, Vec<NodeId>) = (Vec::new(), Vec::new());
    for i in 0..old_nodes.len().max(new_nodes.len()) {
        match (
            old_nodes.get(i).copied().filter(is_lost),
            new_nodes.get(i).copied().filter(is_new),
        ) {
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
    Ok(pairs)
}
