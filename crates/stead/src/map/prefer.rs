//! Prefer: which nodes answer when a node is down. Every client computes the same list. Normative:
//! docs/placement.md, "Prefer".

use std::collections::{BTreeMap, HashSet};

use super::open::Map;
use crate::format::records::SPREAD;
use crate::point::Point;
use crate::policy::NodeId;

/// The number of draws. If other nodes hold half of the space, 64 draws find the next node with a
/// probability of 1 - 2^-64.
const DRAWS: u64 = 64;

/// Returns the j-th draw for a point: the output step of SplitMix64.
pub fn mix(point: Point, j: u64) -> Point {
    let z = point.0.wrapping_add(j.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    Point(z ^ (z >> 31))
}

/// The longest list that is searched from its start. A longer one has a set beside it.
const SHORT: usize = 64;

impl Map {
    /// Returns up to `n` distinct nodes for a key, best first: its own nodes, then those that take
    /// over when they are down.
    ///
    /// The list is shorter than `n` only when the map has fewer nodes. Placement itself never
    /// changes when a node fails. Cost: up to 64 lookups, and one pass over the nodes if these do
    /// not fill the list. In a map with spread labels, the first call also reads all slices and
    /// labels.
    pub fn prefer(&self, key: &[u8], n: usize) -> Vec<NodeId> {
        let point = self.point(key);
        let mut list = List::new(n.min(self.nodes().len()));
        for node in self.locate_all_point(point) {
            list.push(node);
        }
        if list.full() {
            return list.nodes;
        }
        let domains = self.domains();
        let mut fresh = domains.map_or(0, |domains| domains.fresh(&list.nodes));
        for j in 1..=DRAWS {
            for node in self.policy(self.base_policy_of(mix(point, j))).members() {
                let (is_fresh, allowed) = match domains {
                    Some(domains) if fresh > 0 => domains.judge(node, &list.nodes),
                    _ => (false, true),
                };
                if allowed && list.push(node) {
                    fresh -= usize::from(is_fresh);
                }
            }
            if list.full() {
                return list.nodes;
            }
        }
        for node in self.nodes() {
            list.push(node.id);
        }
        list.nodes
    }

    /// Returns the outermost domains; `None` if the map spreads nothing.
    fn domains(&self) -> Option<&Domains> {
        (self.count(SPREAD) > 0).then(|| self.domains.get_or_init(|| Box::new(Domains::of(self))))
    }
}

struct List {
    n: usize,
    nodes: Vec<NodeId>,
    /// the same nodes, if the list may become long
    listed: Option<HashSet<NodeId>>,
}

impl List {
    fn new(n: usize) -> List {
        List {
            n,
            nodes: Vec::with_capacity(n),
            listed: (n > SHORT).then(HashSet::new),
        }
    }

    fn full(&self) -> bool {
        self.nodes.len() >= self.n
    }

    /// Adds the node, unless it is already listed or the list is full. Returns whether it was
    /// added.
    fn push(&mut self, node: NodeId) -> bool {
        let add = !self.full()
            && match &mut self.listed {
                Some(listed) => listed.insert(node),
                None => !self.nodes.contains(&node),
            };
        if add {
            self.nodes.push(node);
        }
        add
    }
}

/// The outermost domains of a map. They depend on the map alone, so it keeps them.
pub(super) struct Domains {
    /// for each node the number of its domain, or one of the two constants below
    of_nodes: Vec<u32>,
    /// how many domains hold points; they are numbered from 0
    holding: usize,
}

impl Domains {
    /// of a node without the label
    const NONE: u32 = u32::MAX;
    /// of a node whose domain holds no points
    const EMPTY: u32 = u32::MAX - 1;

    fn of(map: &Map) -> Domains {
        let label = map.spread().next().unwrap_or("");
        let mut held = vec![false; map.policies().len()];
        for slice in map.base_slices() {
            if let Some(held) = held.get_mut(slice.policy.index()) {
                *held = true;
            }
        }
        let mut numbers = BTreeMap::new();
        for (policy, _) in map.policies().zip(held).filter(|(_, held)| *held) {
            for domain in policy
                .members()
                .filter_map(|node| map.node(node).label(label))
            {
                let next = numbers.len() as u32;
                numbers.entry(domain).or_insert(next);
            }
        }
        let number = |domain| numbers.get(domain).copied().unwrap_or(Domains::EMPTY);
        Domains {
            of_nodes: map
                .nodes()
                .map(|node| node.label(label).map_or(Domains::NONE, number))
                .collect(),
            holding: numbers.len(),
        }
    }

    fn domain(&self, node: NodeId) -> u32 {
        let domain = self.of_nodes.get(node.index()).copied();
        domain.unwrap_or(Domains::NONE)
    }

    /// Whether the domain of a node holds points and has no node in the list yet.
    fn is_fresh(&self, node: NodeId, listed: &[NodeId]) -> bool {
        let domain = self.domain(node);
        domain < Domains::EMPTY && listed.iter().all(|other| self.domain(*other) != domain)
    }

    /// Returns how many domains that hold points have no node in the list.
    fn fresh(&self, listed: &[NodeId]) -> usize {
        let mut rest = listed;
        let mut taken = 0;
        while let [before @ .., node] = rest {
            taken += usize::from(self.is_fresh(*node, before));
            rest = before;
        }
        self.holding.saturating_sub(taken)
    }

    /// While there are fresh domains: whether a node is in one, and whether it may be listed.
    fn judge(&self, node: NodeId, listed: &[NodeId]) -> (bool, bool) {
        let is_fresh = self.is_fresh(node, listed);
        (is_fresh, is_fresh || self.domain(node) == Domains::NONE)
    }
}
