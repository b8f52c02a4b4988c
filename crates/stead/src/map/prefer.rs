//! Prefer: which nodes answer when a node is down. Every client computes the same list. Normative:
//! docs/placement.md, "Prefer".

use std::collections::{BTreeMap, HashSet};

use super::domains::Domains;
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
        let mut nodes = vec![NodeId(0); n.min(self.nodes().len())];
        let count = self.prefer_into(key, &mut nodes);
        nodes.truncate(count);
        nodes
    }

    /// As [`Map::prefer`], into room for n nodes. Returns how many it wrote.
    pub fn prefer_into(&self, key: &[u8], nodes: &mut [NodeId]) -> usize {
        let point = self.point(key);
        let room = nodes.len().min(self.nodes().len());
        let mut list = List::new(nodes.get_mut(..room).unwrap_or_default());
        for node in self.locate_all_point(point) {
            list.push(node);
        }
        if list.full() {
            return list.count;
        }
        let domains = self.domains();
        let mut fresh = domains.map_or(0, |domains| domains.fresh(list.nodes()));
        for j in 1..=DRAWS {
            for node in self.policy(self.base_policy_of(mix(point, j))).members() {
                let (is_fresh, allowed) = match domains {
                    Some(domains) if fresh > 0 => domains.judge(node, list.nodes()),
                    _ => (false, true),
                };
                if allowed && list.push(node) {
                    fresh -= usize::from(is_fresh);
                }
            }
            if list.full() {
                return list.count;
            }
        }
        for node in self.nodes() {
            list.push(node.id);
        }
        list.count
    }

    /// Returns the outermost domains; `None` if the map spreads nothing.
    fn domains(&self) -> Option<&Domains> {
        let spreads = self.count(SPREAD) > 0;
        spreads.then(|| self.domains.get_or_init(|| Box::new(self.find_domains())))
    }

    fn find_domains(&self) -> Domains {
        let label = self.spread().next().unwrap_or("");
        let mut held = vec![false; self.policies().len()];
        for slice in self.base_slices() {
            if let Some(held) = held.get_mut(slice.policy.index()) {
                *held = true;
            }
        }
        let mut numbers = BTreeMap::new();
        for (policy, _) in self.policies().zip(held).filter(|(_, held)| *held) {
            for domain in policy
                .members()
                .filter_map(|node| self.node(node).label(label))
            {
                let next = numbers.len() as u32;
                numbers.entry(domain).or_insert(next);
            }
        }
        let number = |domain| numbers.get(domain).copied().unwrap_or(Domains::EMPTY);
        let of_nodes = self
            .nodes()
            .map(|node| node.label(label).map_or(Domains::NONE, number));
        Domains::new(of_nodes.collect(), numbers.len())
    }
}

struct List<'a> {
    room: &'a mut [NodeId],
    count: usize,
    /// the same nodes, if the list may become long
    listed: Option<HashSet<NodeId>>,
}

impl List<'_> {
    fn new(room: &mut [NodeId]) -> List<'_> {
        List {
            count: 0,
            listed: (room.len() > SHORT).then(HashSet::new),
            room,
        }
    }

    fn nodes(&self) -> &[NodeId] {
        self.room.get(..self.count).unwrap_or_default()
    }

    fn full(&self) -> bool {
        self.count >= self.room.len()
    }

    /// Adds the node, unless it is already listed or the list is full. Returns whether it was
    /// added.
    #[inline]
    fn push(&mut self, node: NodeId) -> bool {
        let add = !self.full()
            && match &mut self.listed {
                Some(listed) => listed.insert(node),
                None => !self.nodes().contains(&node),
            };
        if let Some(place) = self.room.get_mut(self.count).filter(|_| add) {
            *place = node;
            self.count += 1;
        }
        add
    }
}
