//! Prefer: which nodes answer when a node is down. Every client computes the same list. Normative:
//! docs/placement.md, "Prefer".

use std::collections::BTreeMap;

use super::domains::Domains;
use super::inside::Members;
use super::marks::Marks;
use super::open::Map;
use crate::error::Result;
use crate::format::records::SPREAD;
use crate::memory;
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

/// How many nodes of a list are compared with others before it gets a set beside it: making one
/// costs about as much.
const COMPARED: usize = 1024;

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
        self.prefer_point_into(self.point(key), nodes)
    }

    /// Writes what [`Map::prefer_into`] writes for a key of this point.
    #[inline]
    pub(crate) fn prefer_point_into(&self, point: Point, nodes: &mut [NodeId]) -> usize {
        let room = nodes.len().min(self.nodes().len());
        let room = nodes.get_mut(..room).unwrap_or_default();
        let mut list = List::new(room, self.nodes().len());
        let own = self.locate_all_point(point);
        if self.may_list_twice() {
            for node in own {
                if !list.full() {
                    list.push(node);
                }
            }
        } else {
            list.begin(own);
        }
        if list.full() {
            return list.count;
        }
        list.expect();
        if let Some(domains) = self.domains() {
            list.spread_over(domains);
        }
        for j in 1..=DRAWS {
            list.make_set_if_worth_it();
            for node in self
                .own_policy(self.base_policy_of(mix(point, j)))
                .members()
            {
                if list.may_have(node) {
                    list.push(node);
                    if list.full() {
                        return list.count;
                    }
                }
            }
        }
        for node in self.nodes() {
            list.push(node.id);
            if list.full() {
                break;
            }
        }
        list.count
    }

    /// Makes sure that the next calls of [`Map::prefer_into`] cannot run out of memory: computes
    /// and keeps what the first of them would compute. The others allocate at most 16 KiB.
    ///
    /// Errors: `Memory` and `MemoryLimit`.
    pub fn prepare_prefer(&self) -> Result<()> {
        if self.count(SPREAD) == 0 || self.domains.get().is_some() {
            return Ok(());
        }
        let held = memory::empty(self.policies().len())?;
        let of_nodes = memory::empty(self.nodes().len())?;
        let find = || Box::new(self.find_domains(held, of_nodes));
        self.domains.get_or_init(find);
        Ok(())
    }

    /// Returns the outermost domains; `None` if the map spreads nothing.
    fn domains(&self) -> Option<&Domains> {
        let spreads = self.count(SPREAD) > 0;
        let find = || Box::new(self.find_domains(Vec::new(), Vec::new()));
        spreads.then(|| self.domains.get_or_init(find))
    }

    /// Finds the outermost domains in two empty lists, for what is known of each policy and of each
    /// node. Lists with room for them do not grow.
    fn find_domains(&self, mut held: Vec<bool>, mut of_nodes: Vec<u32>) -> Domains {
        let label = self.spread().next().unwrap_or("");
        held.resize(self.policies().len(), false);
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
        let labels = self.nodes().map(|node| node.label(label));
        of_nodes.extend(labels.map(|label| label.map_or(Domains::NONE, number)));
        Domains::new(of_nodes, numbers.len())
    }
}

/// The list, and what it knows of itself without being searched.
struct List<'a> {
    room: &'a mut [NodeId],
    count: usize,
    /// the number of the map's nodes
    nodes: usize,
    /// how many nodes were compared with others; above `COMPARED` there is a set of them
    compared: usize,
    set: Option<Marks>,
    /// the outermost domains, once they count
    domains: Option<&'a Domains>,
    /// the domains of the listed nodes
    taken: Taken,
    /// how many domains that hold points have no node in the list
    fresh: usize,
}

/// The domains that have a node in the list, of those that hold points.
enum Taken {
    /// a bit for each of up to 64
    Few(u64),
    Many(Marks),
}

impl Taken {
    fn of(domains: usize) -> Taken {
        match domains {
            0..=64 => Taken::Few(0),
            more => Taken::Many(Marks::new(more)),
        }
    }

    #[inline]
    fn has(&self, domain: u32) -> bool {
        match self {
            Taken::Few(bits) => bits >> (domain % 64) & 1 == 1,
            Taken::Many(marks) => marks.has(domain),
        }
    }

    /// Adds a domain. Returns whether it is new.
    #[inline]
    fn add(&mut self, domain: u32) -> bool {
        match self {
            Taken::Few(bits) => {
                let before = *bits;
                *bits |= 1 << (domain % 64);
                *bits != before
            }
            Taken::Many(marks) => marks.mark(domain),
        }
    }
}

impl<'a> List<'a> {
    /// An empty list of a map with so many nodes.
    fn new(room: &'a mut [NodeId], nodes: usize) -> List<'a> {
        List {
            room,
            count: 0,
            nodes,
            compared: 0,
            set: None,
            domains: None,
            taken: Taken::Few(0),
            fresh: 0,
        }
    }

    /// Begins the list with nodes that are all different.
    fn begin(&mut self, nodes: Members) {
        self.count = nodes.len().min(self.room.len());
        for (place, node) in self.room.iter_mut().zip(nodes) {
            *place = node;
        }
    }

    /// Counts the comparisons that filling the list will take at least, before they are made, so
    /// that a long list uses a set from its start.
    fn expect(&mut self) {
        let missing = self.room.len() - self.count;
        self.compared = missing * (self.count + self.room.len()) / 2;
    }

    fn listed(&self) -> &[NodeId] {
        self.room.get(..self.count).unwrap_or_default()
    }

    fn full(&self) -> bool {
        self.count >= self.room.len()
    }

    /// From now on the list prefers domains that have no node in it yet.
    fn spread_over(&mut self, domains: &'a Domains) {
        self.domains = Some(domains);
        self.taken = Taken::of(domains.holding());
        self.fresh = domains.holding();
        for node in self.room.iter().take(self.count) {
            let domain = domains.domain(*node);
            self.fresh -= usize::from(domain < Domains::EMPTY && self.taken.add(domain));
        }
    }

    /// Whether a node may be listed: as long as there are fresh domains, only one that is in a
    /// fresh domain or in none.
    #[inline]
    fn may_have(&self, node: NodeId) -> bool {
        let Some(domains) = self.domains.filter(|_| self.fresh > 0) else {
            return true;
        };
        match domains.domain(node) {
            Domains::NONE => true,
            Domains::EMPTY => false,
            domain => !self.taken.has(domain),
        }
    }

    /// Makes the set of the listed nodes once many were compared.
    fn make_set_if_worth_it(&mut self) {
        if self.set.is_some() || self.compared <= COMPARED {
            return;
        }
        let mut set = Marks::new(self.nodes);
        for node in self.listed() {
            set.mark(node.0);
        }
        self.set = Some(set);
    }

    /// Adds the node, unless it is already listed. The list must not be full.
    #[inline]
    fn push(&mut self, node: NodeId) {
        let is_new = match &mut self.set {
            Some(set) => set.mark(node.0),
            None => {
                self.compared += self.count;
                !self.listed().contains(&node)
            }
        };
        if !is_new {
            return;
        }
        if let Some(domains) = self.domains.filter(|_| self.fresh > 0) {
            let domain = domains.domain(node);
            self.fresh -= usize::from(domain < Domains::EMPTY && self.taken.add(domain));
        }
        if let Some(place) = self.room.get_mut(self.count) {
            *place = node;
            self.count += 1;
        }
    }
}
