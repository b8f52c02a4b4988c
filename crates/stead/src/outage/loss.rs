//! What is left when some nodes are down at the same time.
//!
//! Placement does not change when a node fails: a reader asks the first node of `prefer` that is up
//! (docs/placement.md, "Prefer"). As long as a holder of a point is up, that is the first holder in
//! the order of its policy, so these reads are counted exactly. Where all holders are down, the
//! next node depends on the point itself, and a sample of these points is asked.

use std::collections::HashMap;

use crate::map::Map;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};

/// How many points without a copy are asked. The part of them that goes to a node is then known to
/// 3 * sqrt(1/4 / 2^16) = 0.6 % of them with a probability of 99.7 %.
const SAMPLES: u32 = 1 << 16;

/// What is left of a map when some of its nodes are down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outage {
    /// The nodes that are down, in the order of names, each once.
    pub down: Vec<NodeId>,
    /// The number of points that have 0, 1, 2 ... copies left. The sum is 2^64. The last entry is
    /// for the most copies that a point of this map has.
    pub left: Vec<u128>,
    /// The number of copies of points that were on the nodes that are down.
    pub lost: u128,
    /// What each node of the map does now, in the order of names.
    pub nodes: Vec<Standing>,
    /// How many points without a copy were asked for the node that readers turn to; 0 if there are
    /// none, or if all nodes are down.
    pub samples: u64,
}

/// What one node does before and during an outage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// Whether the node is down.
    pub down: bool,
    /// The number of points that it holds.
    pub points: u128,
    /// The number of points that it answers first before the outage: it is their primary.
    pub reads_before: u128,
    /// The number of points with a copy left that it answers first during the outage.
    pub reads: u128,
    /// How many of [`Outage::samples`] points without a copy come to it, which does not hold them.
    pub sampled: u64,
    /// The number of lost copies for which this node is the source, when each lost copy is read in
    /// equal parts from the nodes that still hold its points.
    pub source: u128,
}

impl Outage {
    /// Returns what is left when these nodes are down. Cost: one pass over the slices, and over the
    /// nodes of the policies; where points have no copy left, also up to 65,536 calls of `prefer`.
    pub fn of(map: &Map, down: &[NodeId]) -> Outage {
        Outage::sampled(map, down, SAMPLES)
    }

    /// The same, with at most this many points without a copy asked. With `n` samples, the part of
    /// these points that goes to a node is known to `3 * sqrt(1/4 / n)`, with a probability of
    /// 99.7 %. Everything else is exact, also with none.
    pub fn sampled(map: &Map, down: &[NodeId], samples: u32) -> Outage {
        let mut nodes = vec![Standing::default(); map.nodes().len()];
        for node in down {
            if let Some(standing) = nodes.get_mut(node.index()) {
                standing.down = true;
            }
        }
        let mut outage = Outage {
            down: map.nodes().map(|node| node.id).collect(),
            left: Vec::new(),
            lost: 0,
            nodes,
            samples: 0,
        };
        let is_down: Vec<bool> = outage.nodes.iter().map(|node| node.down).collect();
        let is_down = |node: NodeId| is_down.get(node.index()).copied().unwrap_or(false);
        outage.down.retain(|node| is_down(*node));
        let mut of_policies: HashMap<PolicyId, u128> = HashMap::new();
        for slice in map.slices() {
            *of_policies.entry(slice.policy).or_default() += slice.points();
        }
        let mut gone: HashMap<PolicyId, bool> = HashMap::new();
        for (policy, points) in of_policies {
            let up = outage.add(&map.policy(policy).distinct(), points, is_down);
            gone.insert(policy, !up);
        }
        if outage.down.len() < outage.nodes.len() {
            let is_gone = |policy| gone.get(&policy) == Some(&true);
            outage.sample(map, samples, is_gone, is_down);
        }
        outage
    }

    /// Adds the points of a policy. Returns whether one of its nodes is up.
    fn add(&mut self, members: &[NodeId], points: u128, is_down: impl Fn(NodeId) -> bool) -> bool {
        let up: Vec<NodeId> = members.iter().copied().filter(|n| !is_down(*n)).collect();
        if self.left.len() <= members.len() {
            self.left.resize(members.len() + 1, 0);
        }
        if let Some(sum) = self.left.get_mut(up.len()) {
            *sum += points;
        }
        let lost = (members.len() - up.len()) as u128 * points;
        self.lost += lost;
        let mut at = |node: Option<&NodeId>, change: &dyn Fn(&mut Standing)| {
            if let Some(standing) = node.and_then(|node| self.nodes.get_mut(node.index())) {
                change(standing);
            }
        };
        members
            .iter()
            .for_each(|node| at(Some(node), &|node| node.points += points));
        at(members.first(), &|node| node.reads_before += points);
        at(up.first(), &|node| node.reads += points);
        let sources = up.len().max(1) as u128;
        for (i, node) in (0..).zip(&up) {
            // the first ones take what the division leaves over
            let more = u128::from(i < lost % sources);
            at(Some(node), &|node| node.source += lost / sources + more);
        }
        !up.is_empty()
    }

    /// Asks points without a copy, which are evenly spread over all of them, for the node that
    /// readers turn to.
    fn sample(
        &mut self,
        map: &Map,
        samples: u32,
        is_gone: impl Fn(PolicyId) -> bool,
        is_down: impl Fn(NodeId) -> bool,
    ) {
        let gone = self.left.first().copied().unwrap_or(0);
        let samples = u128::from(samples).min(gone);
        // the points without a copy before this slice, and the number of samples in them
        let (mut before, mut taken) = (0, 0);
        for slice in map.slices().filter(|slice| is_gone(slice.policy)) {
            while taken < samples {
                // in the middle of its part; gone < 2^65 and taken < 2^32, so the product fits
                let place = (2 * taken + 1) * gone / (2 * samples);
                let Some(offset) = place.checked_sub(before).filter(|o| *o < slice.points()) else {
                    break;
                };
                let point = Point(slice.first.0.saturating_add(offset as u64));
                let taker = first_up(map, map.cells().first_point_of(point), &is_down);
                if let Some(node) = taker.and_then(|node| self.nodes.get_mut(node.index())) {
                    node.sampled += 1;
                }
                taken += 1;
            }
            before += slice.points();
        }
        self.samples = taken as u64;
    }
}

/// Returns the first node of `prefer` that is up.
fn first_up(map: &Map, point: Point, is_down: impl Fn(NodeId) -> bool) -> Option<NodeId> {
    let all = map.nodes().len();
    let mut n = 8;
    loop {
        let mut list = vec![NodeId(0); n];
        let count = map.prefer_point_into(point, &mut list);
        list.truncate(count);
        if let Some(node) = list.iter().find(|node| !is_down(**node)) {
            return Some(*node);
        }
        if n >= all {
            return None;
        }
        n *= 4;
    }
}
