//! Prefer: which nodes answer when a node is down. Every client computes the same list. Normative:
//! docs/placement.md, "Prefer".

use std::collections::{BTreeSet, HashSet};

use super::open::Map;
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

impl Map {
    /// Returns up to `n` distinct nodes for a key, best first: its own nodes, then those that take
    /// over when they are down.
    ///
    /// The list is shorter than `n` only when the map has fewer nodes. Placement itself never
    /// changes when a node fails. Cost: up to 64 lookups, and one pass over the nodes if these do
    /// not fill the list. A map with spread labels also reads its policies once.
    pub fn prefer(&self, key: &[u8], n: usize) -> Vec<NodeId> {
        let point = self.point(key);
        let mut list = List {
            n: n.min(self.nodes().len()),
            nodes: Vec::new(),
            listed: HashSet::new(),
        };
        for node in self.locate_all(key) {
            list.push(node);
        }
        let mut domains = Domains::of(self, &list);
        for j in 1..=DRAWS {
            if list.full() {
                break;
            }
            let slice = self.base_slice_of(mix(point, j));
            for node in self.policy(slice.policy).members() {
                if domains.allow(self, node) && list.push(node) {
                    domains.taken(self, node);
                }
            }
        }
        for node in self.nodes() {
            if list.full() {
                break;
            }
            list.push(node.id);
        }
        list.nodes
    }
}

struct List {
    n: usize,
    nodes: Vec<NodeId>,
    listed: HashSet<NodeId>,
}

impl List {
    fn full(&self) -> bool {
        self.nodes.len() >= self.n
    }

    /// Adds the node, unless it is already listed or the list is full. Returns whether it was
    /// added.
    fn push(&mut self, node: NodeId) -> bool {
        let add = !self.full() && self.listed.insert(node);
        if add {
            self.nodes.push(node);
        }
        add
    }
}

/// The outermost domains that hold points and have no node in the list yet. Empty for a map without
/// spread.
struct Domains<'a> {
    label: Option<&'a str>,
    fresh: BTreeSet<&'a str>,
}

impl<'a> Domains<'a> {
    fn of(map: &'a Map, list: &List) -> Domains<'a> {
        let label = map.spread().next();
        let mut domains = Domains {
            label,
            fresh: BTreeSet::new(),
        };
        if label.is_none() || list.full() {
            return domains;
        }
        let holding: BTreeSet<_> = map.base_slices().map(|s| s.policy).collect();
        let members = holding
            .into_iter()
            .flat_map(|policy| map.policy(policy).members());
        domains.fresh = members
            .filter_map(|node| domains.domain(map, node))
            .collect();
        for node in &list.nodes {
            domains.taken(map, *node);
        }
        domains
    }

    fn domain(&self, map: &'a Map, node: NodeId) -> Option<&'a str> {
        self.label.and_then(|label| map.node(node).label(label))
    }

    fn allow(&self, map: &'a Map, node: NodeId) -> bool {
        self.fresh.is_empty()
            || self
                .domain(map, node)
                .is_none_or(|domain| self.fresh.contains(domain))
    }

    fn taken(&mut self, map: &'a Map, node: NodeId) {
        if let Some(domain) = self.domain(map, node) {
            self.fresh.remove(domain);
        }
    }
}
