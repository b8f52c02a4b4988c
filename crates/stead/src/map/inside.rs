//! Looking inside a map: its header, nodes, policies, slices and pins.

use std::cmp::Ordering;
use std::fmt;

use super::open::Map;
use crate::cell::Cells;
use crate::error::Result;
use crate::format::records::{
    Header, NodeRecord, PairRecord, PolicyRecord, Run, Section, Stored, StringRef, ATTRIBUTES,
    BASE_POINTS, BASE_POLICIES, CARRY, FINAL_POINTS, FINAL_POLICIES, FIRSTS, LABELS, LEAVING,
    MEMBERS, NODES, PINS, POLICIES, SPREAD, TARGET_POINTS, TARGET_POLICIES, TOLERANCE, TWICE,
};
use crate::format::{
    all_known, Carry, Digest, FirstPart, MapId, NodePart, Parts, PinPart, PolicyPart, TargetPart,
};
use crate::hash::{Hash, KeyRule};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::{with_ends, Slice};
use crate::tolerance::Tolerance;
use crate::weight::Weight;

/// A node of a map.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    map: &'a Map,
    /// The number of the node in this map.
    pub id: NodeId,
}

/// A policy of a map.
#[derive(Clone, Copy)]
pub struct Policy<'a> {
    map: &'a Map,
    /// The number of the policy in this map.
    pub id: PolicyId,
}

/// A pin: a slice that lies over the base slices.
#[derive(Clone, Copy)]
pub struct Pin<'a> {
    /// The points, and the policy that holds them.
    pub slice: Slice,
    /// The key, if this is a pin by key.
    pub key: Option<&'a [u8]>,
    /// Whether the fleet allows this pin to have fewer copies than R or to break a cap.
    pub short: bool,
}

/// A first: a node that answers first in a range of points, where it holds them.
#[derive(Clone, Copy)]
pub struct First<'a> {
    /// The first point.
    pub first: Point,
    /// The last point.
    pub last: Point,
    /// The node.
    pub node: NodeId,
    /// The key, if this is a first by key.
    pub key: Option<&'a [u8]>,
}

/// The nodes of a policy, primary first.
#[derive(Clone)]
pub struct Members<'a> {
    map: &'a Map,
    next: usize,
    end: usize,
}

impl Iterator for Members<'_> {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        if self.next == self.end {
            return None;
        }
        let node = self.map.read(MEMBERS, self.next);
        self.next += 1;
        Some(NodeId(node))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl ExactSizeIterator for Members<'_> {}

impl Members<'_> {
    /// Returns the node at this place among those that are still to come, from 0.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<NodeId> {
        let there = place < self.end - self.next;
        there.then(|| NodeId(self.map.read(MEMBERS, self.next + place)))
    }
}

impl Map {
    pub(super) fn header(&self) -> Header {
        Header::read(&self.bytes, 0)
    }

    pub(super) fn count<R>(&self, section: Section<R>) -> usize {
        self.checked.layout.count(section)
    }

    /// Reads record `i` of a section.
    #[inline]
    pub(super) fn read<R: Stored>(&self, section: Section<R>, i: usize) -> R {
        self.checked.layout.read(&self.bytes, section, i)
    }

    /// Returns the name of the cluster.
    pub fn name(&self) -> &str {
        self.text(self.header().name)
    }

    /// Returns the number of this version, from 1.
    pub fn epoch(&self) -> u64 {
        self.header().epoch
    }

    /// Returns the SHA-256 digest of the file, which identifies this version.
    pub fn digest(&self) -> Digest {
        self.checked.digest
    }

    /// Returns the features, one bit for each; docs/map-format.md lists them.
    pub fn features(&self) -> u64 {
        self.header().features
    }

    /// Whether a policy may name a node twice, as in the map of an adopted ring.
    pub(crate) fn may_list_twice(&self) -> bool {
        self.features() & TWICE != 0
    }

    /// Checks that this stead knows all features of the map. A map that it opened can be looked up
    /// in any case; but the next map can be computed, and the map can be judged, only when all
    /// features are known.
    ///
    /// Errors: `Version`, with the first unknown feature.
    pub fn understood(&self) -> Result<()> {
        all_known(self.features())
    }

    /// Returns the digest of the previous epoch; zeros in epoch 1.
    pub fn parent(&self) -> Digest {
        self.header().parent
    }

    /// Returns the first 16 bytes of the digest of epoch 1, which identify all versions of this
    /// map.
    pub fn map_id(&self) -> MapId {
        let Header { epoch, map_id, .. } = self.header();
        if epoch == 1 {
            return MapId::read(&self.digest(), 0);
        }
        map_id
    }

    /// Returns the version of the algorithm that made the base slices.
    pub fn algorithm(&self) -> u32 {
        self.header().algorithm
    }

    /// Returns R: how many nodes hold each point.
    pub fn replicas(&self) -> u32 {
        self.header().replicas
    }

    /// Returns the hash that turns keys into points.
    pub fn hash(&self) -> Hash {
        self.checked.hash.clone()
    }

    /// Returns which part of a key is hashed.
    pub fn key_rule(&self) -> KeyRule {
        self.checked.key_rule
    }

    /// Returns how many cells the space has.
    pub fn cells(&self) -> Cells {
        self.checked.cells
    }

    /// Returns the fleet's limit on the number of base slices.
    pub fn max_slices(&self) -> Option<u32> {
        Some(self.header().max_slices).filter(|most| *most > 0)
    }

    /// Returns how far shares may be from their targets; `None` if they must be exact.
    pub fn tolerance(&self) -> Option<Tolerance> {
        let there = (self.count(TOLERANCE) > 0).then(|| self.read(TOLERANCE, 0))?;
        Tolerance::from_millionths(there.millionths)
    }

    /// Returns the carry that is open; `None` if the data is where the map says.
    pub fn carry(&self) -> Option<Carry> {
        let there = (self.count(CARRY) > 0).then(|| self.read(CARRY, 0))?;
        Carry::of_record(&there)
    }

    /// Returns the labels over which copies are kept apart, outermost first.
    pub fn spread(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.count(SPREAD)).map(|i| self.text(self.read(SPREAD, i)))
    }

    /// Returns the nodes, in the order of names.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> {
        (0..self.count(NODES) as u32).map(|i| Node {
            map: self,
            id: NodeId(i),
        })
    }

    /// Returns the node with this number in this map. Numbers belong to one map: those of another
    /// epoch name other nodes, and those of a [`Pair`](crate::Pair) are for
    /// [`Pair::node`](crate::Pair::node), which returns an error where this panics.
    ///
    /// Panics: when this map has no node with this number. A number that the map itself gave, as by
    /// [`Map::locate`], never panics.
    #[track_caller]
    pub fn node(&self, id: NodeId) -> Node<'_> {
        let count = self.count(NODES);
        assert!(
            (id.0 as usize) < count,
            "there is no node {}; this map has {count} nodes, numbered from 0; is the number that of \
             another map, or of a pair?",
            id.0
        );
        self.own_node(id)
    }

    fn own_node(&self, id: NodeId) -> Node<'_> {
        Node { map: self, id }
    }

    /// Returns the node with this name.
    pub fn node_named(&self, name: &str) -> Option<Node<'_>> {
        let count = self.count(NODES) as u32;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.own_node(NodeId(middle)).name() < name {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = Some(NodeId(low)).filter(|id| id.0 < count)?;
        Some(self.own_node(found)).filter(|node| node.name() == name)
    }

    /// Returns the policies: the named ones in the order of names, then the unnamed ones in the
    /// order of their nodes.
    pub fn policies(&self) -> impl ExactSizeIterator<Item = Policy<'_>> {
        (0..self.count(POLICIES) as u32).map(|i| Policy {
            map: self,
            id: PolicyId(i),
        })
    }

    /// Returns the policy with this number in this map; numbers belong to one map.
    ///
    /// Panics: when this map has no policy with this number.
    #[track_caller]
    pub fn policy(&self, id: PolicyId) -> Policy<'_> {
        let count = self.count(POLICIES);
        assert!(
            (id.0 as usize) < count,
            "there is no policy {}; this map has {count} policies, numbered from 0; is the number \
             that of another map?",
            id.0
        );
        self.own_policy(id)
    }

    /// The same, with a number that this map has given.
    #[inline]
    pub(super) fn own_policy(&self, id: PolicyId) -> Policy<'_> {
        Policy { map: self, id }
    }

    /// Returns the number of base slices.
    pub fn base_count(&self) -> usize {
        self.count(BASE_POINTS)
    }

    /// Returns the slices that rebalancing made, before pins.
    pub fn base_slices(&self) -> impl Iterator<Item = Slice> + '_ {
        self.slices_of(BASE_POINTS, BASE_POLICIES)
    }

    /// Returns what the base slices will be when the gradual change under way is done; `None` if
    /// none is under way.
    ///
    /// The target slices are never equal to the base slices. `locate` does not read them.
    pub fn target_slices(&self) -> Option<impl Iterator<Item = Slice> + '_> {
        (self.target_count() > 0).then(|| self.slices_of(TARGET_POINTS, TARGET_POLICIES))
    }

    /// Returns how many target slices there are; 0 when no gradual change is under way.
    pub fn target_count(&self) -> usize {
        self.count(TARGET_POINTS)
    }

    /// Returns the slices that `locate` reads: the base slices with the firsts, and then the pins,
    /// laid over them.
    pub fn slices(&self) -> impl Iterator<Item = Slice> + '_ {
        let (points, policies) = self.final_sections();
        self.slices_of(points, policies)
    }

    /// Returns how many slices `locate` reads.
    pub fn slice_count(&self) -> usize {
        self.count(self.final_sections().0)
    }

    /// Returns the pins, in the order of their first points.
    pub fn pins(&self) -> impl ExactSizeIterator<Item = Pin<'_>> {
        (0..self.count(PINS)).map(|i| {
            let pin = self.read(PINS, i);
            Pin {
                slice: Slice {
                    first: Point(pin.first),
                    last: Point(pin.last),
                    policy: PolicyId(pin.policy),
                },
                key: pin.is_by_key().then(|| self.string(pin.key)),
                short: pin.is_short(),
            }
        })
    }

    /// Returns the firsts, in the order of their first points.
    pub fn firsts(&self) -> impl ExactSizeIterator<Item = First<'_>> {
        (0..self.count(FIRSTS)).map(|i| {
            let first = self.read(FIRSTS, i);
            First {
                first: Point(first.first),
                last: Point(first.last),
                node: NodeId(first.node),
                key: first.is_by_key().then(|| self.string(first.key)),
            }
        })
    }

    /// Returns the map as plain values, from which a changed map can be written.
    pub fn to_parts(&self) -> Parts {
        let owned = |pairs: &mut dyn Iterator<Item = (&str, &str)>| {
            pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
        };
        Parts {
            name: self.name().to_owned(),
            epoch: self.epoch(),
            map_id: self.header().map_id,
            parent: self.parent(),
            algorithm: self.algorithm(),
            replicas: self.replicas(),
            hash: self.hash(),
            key_rule: self.key_rule(),
            cells: self.cells(),
            max_slices: self.max_slices(),
            tolerance: self.tolerance(),
            spread: self.spread().map(str::to_owned).collect(),
            nodes: self
                .nodes()
                .map(|node| NodePart {
                    name: node.name().to_owned(),
                    formerly: node.formerly().unwrap_or("").to_owned(),
                    weight: node.weight(),
                    labels: owned(&mut node.labels()),
                    attributes: owned(&mut node.attributes()),
                })
                .collect(),
            policies: self
                .policies()
                .map(|policy| PolicyPart {
                    name: policy.name().map(str::to_owned),
                    kind: policy.kind().to_owned(),
                    weight: policy.weight(),
                    members: policy.members().collect(),
                })
                .collect(),
            base: self.base_slices().map(|s| (s.first, s.policy)).collect(),
            pins: self
                .pins()
                .map(|pin| PinPart {
                    first: pin.slice.first,
                    last: pin.slice.last,
                    policy: pin.slice.policy,
                    key: pin.key.map(<[u8]>::to_vec),
                    short: pin.short,
                })
                .collect(),
            firsts: self
                .firsts()
                .map(|first| FirstPart {
                    first: first.first,
                    last: first.last,
                    node: first.node,
                    key: first.key.map(<[u8]>::to_vec),
                })
                .collect(),
            target: self.target_slices().map(|slices| TargetPart {
                slices: slices.map(|s| (s.first, s.policy)).collect(),
                leaving: self
                    .nodes()
                    .filter(Node::leaving)
                    .map(|node| node.id)
                    .collect(),
            }),
            carry: self.carry(),
        }
    }

    /// Returns the sections of the final slices: without pins and firsts, these are the base
    /// slices.
    #[inline]
    pub(super) fn final_sections(&self) -> (Section<u64>, Section<u32>) {
        if self.count(FINAL_POINTS) == 0 {
            (BASE_POINTS, BASE_POLICIES)
        } else {
            (FINAL_POINTS, FINAL_POLICIES)
        }
    }

    fn slices_of(
        &self,
        points: Section<u64>,
        policies: Section<u32>,
    ) -> impl Iterator<Item = Slice> + '_ {
        with_ends((0..self.count(points)).map(move |i| {
            (
                Point(self.read(points, i)),
                PolicyId(self.read(policies, i)),
            )
        }))
    }

    fn string(&self, string: StringRef) -> &[u8] {
        self.checked.layout.string(&self.bytes, string)
    }

    /// Reads a string as text. Checks again that it is UTF-8, because somebody may have overwritten
    /// a mapped file, and an invalid `str` must not exist.
    fn text(&self, string: StringRef) -> &str {
        std::str::from_utf8(self.string(string)).unwrap_or("")
    }

    fn pairs(&self, section: Section<PairRecord>, run: Run) -> impl Iterator<Item = (&str, &str)> {
        self.run(section, run).map(move |i| {
            let pair = self.read(section, i);
            (self.text(pair.name), self.text(pair.value))
        })
    }

    /// Returns the numbers of the records of a run, limited to records that exist: if somebody
    /// overwrites a mapped file, this must not become a loop over billions.
    #[inline]
    fn run<R>(&self, section: Section<R>, run: Run) -> std::ops::Range<usize> {
        let there = self.count(section);
        let first = there.min(run.first as usize);
        first..first + (there - first).min(run.count as usize)
    }
}

impl<'a> Node<'a> {
    fn record(&self) -> NodeRecord {
        self.map.read(NODES, self.id.index())
    }

    /// Returns the stable name of the node.
    pub fn name(&self) -> &'a str {
        self.map.text(self.record().name)
    }

    /// Returns the name that the node had before, if the fleet gives one.
    pub fn formerly(&self) -> Option<&'a str> {
        Some(self.map.text(self.record().formerly)).filter(|name| !name.is_empty())
    }

    /// Returns the weight: how large a share the node wants.
    pub fn weight(&self) -> Weight {
        Weight::from_millionths(self.record().weight).unwrap_or(Weight::ZERO)
    }

    /// Whether the fleet dropped the node, and it still holds points that a gradual change will
    /// take away. Cost: a binary search.
    pub fn leaving(&self) -> bool {
        let (mut low, mut high) = (0, self.map.count(LEAVING));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.map.read(LEAVING, middle).cmp(&self.id.0) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return true,
                Ordering::Greater => high = middle,
            }
        }
        false
    }

    /// Returns the labels, in the order of names.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.map.pairs(LABELS, self.record().labels)
    }

    /// Returns the value of a label.
    pub fn label(&self, name: &str) -> Option<&'a str> {
        self.labels()
            .find(|(label, _)| *label == name)
            .map(|(_, value)| value)
    }

    /// Returns the attributes, in the order of names.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.map.pairs(ATTRIBUTES, self.record().attributes)
    }

    /// Returns the value of an attribute, such as `address`.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes()
            .find(|(attribute, _)| *attribute == name)
            .map(|(_, value)| value)
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({} {:?})", self.id.0, self.name())
    }
}

impl<'a> Policy<'a> {
    #[inline] // so that fields which nobody uses are not read
    fn record(&self) -> PolicyRecord {
        self.map.read(POLICIES, self.id.index())
    }

    /// Returns the name, if the fleet names the policy.
    pub fn name(&self) -> Option<&'a str> {
        let policy = self.record();
        policy.is_named().then(|| self.map.text(policy.name))
    }

    /// Returns the free text that the fleet gave the policy.
    pub fn kind(&self) -> &'a str {
        self.map.text(self.record().kind)
    }

    /// Returns the weight, if the policy takes a share.
    pub fn weight(&self) -> Option<Weight> {
        let policy = self.record();
        policy
            .is_weighted()
            .then(|| Weight::from_millionths(policy.weight).unwrap_or(Weight::ZERO))
    }

    /// Returns the nodes of the policy, primary first.
    #[inline]
    pub fn members(&self) -> Members<'a> {
        let run = self.map.finder.members_of(self.id);
        let run = run.unwrap_or_else(|| self.map.run(MEMBERS, self.record().members));
        Members {
            map: self.map,
            next: run.start,
            end: run.end,
        }
    }

    /// Returns the nodes of the policy, each once, at its first place. Only in the map of an
    /// adopted ring can these be fewer than [`Policy::members`].
    pub fn distinct(&self) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        self.list_distinct(&mut nodes);
        nodes
    }

    /// Like `distinct`, but fills a list, so that many policies can share its memory.
    pub(crate) fn list_distinct(&self, nodes: &mut Vec<NodeId>) {
        nodes.clear();
        if !self.map.may_list_twice() {
            nodes.extend(self.members());
        } else {
            let mut seen = std::collections::HashSet::new();
            nodes.extend(self.members().filter(|node| seen.insert(*node)));
        }
    }
}
