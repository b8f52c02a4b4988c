//! Looking inside a map: its header, nodes, policies, slices and pins.

use std::cmp::Ordering;

use super::open::Map;
use crate::cell::Cells;
use crate::format::records::{
    Header, NodeRecord, PairRecord, PolicyRecord, Run, Section, Stored, StringRef, ATTRIBUTES,
    BASE_POINTS, BASE_POLICIES, FINAL_POINTS, FINAL_POLICIES, LABELS, LEAVING, MEMBERS, NODES,
    PINS, POLICIES, SPREAD, TARGET_POINTS, TARGET_POLICIES,
};
use crate::format::{Digest, MapId, NodePart, Parts, PinPart, PolicyPart, TargetPart};
use crate::hash::{Hash, KeyRule};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::{with_ends, Slice};
use crate::weight::Weight;

/// A node of a map.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    map: &'a Map,
    /// Its number in this map.
    pub id: NodeId,
}

/// A policy of a map.
#[derive(Clone, Copy)]
pub struct Policy<'a> {
    map: &'a Map,
    /// Its number in this map.
    pub id: PolicyId,
}

/// A pin: a slice that lies over the base slices.
#[derive(Clone, Copy)]
pub struct Pin<'a> {
    /// The points, and who holds them.
    pub slice: Slice,
    /// The key, of a pin by key.
    pub key: Option<&'a [u8]>,
    /// Whether the fleet says that fewer copies than R, or copies that break a cap, are meant.
    pub short: bool,
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

impl Map {
    pub(super) fn header(&self) -> Header {
        Header::read(&self.bytes, 0)
    }

    pub(super) fn count<R>(&self, section: Section<R>) -> usize {
        self.checked.layout.count(section)
    }

    /// Record `i` of a section.
    pub(super) fn read<R: Stored>(&self, section: Section<R>, i: usize) -> R {
        self.checked.layout.read(&self.bytes, section, i)
    }

    /// The name of the cluster.
    pub fn name(&self) -> &str {
        self.text(self.header().name)
    }

    /// The number of this version, from 1.
    pub fn epoch(&self) -> u64 {
        self.header().epoch
    }

    /// SHA-256 over the file: the identity of this version.
    pub fn digest(&self) -> Digest {
        self.checked.digest
    }

    /// The digest of the epoch before; zeros in epoch 1.
    pub fn parent(&self) -> Digest {
        self.header().parent
    }

    /// The first 16 bytes of epoch 1's digest: the identity of all versions together.
    pub fn map_id(&self) -> MapId {
        let Header { epoch, map_id, .. } = self.header();
        if epoch == 1 {
            return MapId::read(&self.digest(), 0);
        }
        map_id
    }

    /// The version of the algorithm that made the base slices.
    pub fn algorithm(&self) -> u32 {
        self.header().algorithm
    }

    /// R: how many nodes hold each point.
    pub fn replicas(&self) -> u32 {
        self.header().replicas
    }

    /// How keys become points.
    pub fn hash(&self) -> Hash {
        self.checked.hash.clone()
    }

    /// What of a key is hashed.
    pub fn key_rule(&self) -> KeyRule {
        self.checked.key_rule
    }

    /// How many cells the space has.
    pub fn cells(&self) -> Cells {
        self.checked.cells
    }

    /// The fleet's limit for base slices.
    pub fn max_slices(&self) -> Option<u32> {
        Some(self.header().max_slices).filter(|most| *most > 0)
    }

    /// The labels over which copies are kept apart, outermost first.
    pub fn spread(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.count(SPREAD)).map(|i| self.text(self.read(SPREAD, i)))
    }

    /// The nodes, by name.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> {
        (0..self.count(NODES) as u32).map(|i| Node {
            map: self,
            id: NodeId(i),
        })
    }

    /// The node of a number of this map.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        Node { map: self, id }
    }

    /// The node of a name.
    pub fn node_named(&self, name: &str) -> Option<Node<'_>> {
        let count = self.count(NODES) as u32;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.node(NodeId(middle)).name() < name {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(self.node(NodeId(low))).filter(|node| low < count && node.name() == name)
    }

    /// The policies: named ones by name, then unnamed ones by their nodes.
    pub fn policies(&self) -> impl ExactSizeIterator<Item = Policy<'_>> {
        (0..self.count(POLICIES) as u32).map(|i| Policy {
            map: self,
            id: PolicyId(i),
        })
    }

    /// The policy of a number of this map.
    pub fn policy(&self, id: PolicyId) -> Policy<'_> {
        Policy { map: self, id }
    }

    /// How many slices rebalancing made.
    pub fn base_count(&self) -> usize {
        self.count(BASE_POINTS)
    }

    /// The slices that rebalancing made, before pins.
    pub fn base_slices(&self) -> impl Iterator<Item = Slice> + '_ {
        self.slices_of(BASE_POINTS, BASE_POLICIES)
    }

    /// While a gradual change is under way, what the base slices will be when all of it is done.
    ///
    /// They are never equal to the base slices. `locate` does not read them.
    pub fn target_slices(&self) -> Option<impl Iterator<Item = Slice> + '_> {
        (self.target_count() > 0).then(|| self.slices_of(TARGET_POINTS, TARGET_POLICIES))
    }

    /// How many target slices there are; 0 when no gradual change is under way.
    pub fn target_count(&self) -> usize {
        self.count(TARGET_POINTS)
    }

    /// The slices that `locate` reads: the base slices with the pins over them.
    pub fn slices(&self) -> impl Iterator<Item = Slice> + '_ {
        let (points, policies) = self.final_sections();
        self.slices_of(points, policies)
    }

    /// How many slices `locate` reads.
    pub fn slice_count(&self) -> usize {
        self.count(self.final_sections().0)
    }

    /// The pins, by first point.
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

    /// The map as plain values, for writing an altered one.
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
            target: self.target_slices().map(|slices| TargetPart {
                slices: slices.map(|s| (s.first, s.policy)).collect(),
                leaving: self
                    .nodes()
                    .filter(Node::leaving)
                    .map(|node| node.id)
                    .collect(),
            }),
        }
    }

    /// The sections of the final slices: without pins the base slices serve.
    pub(super) fn final_sections(&self) -> (Section<u64>, Section<u32>) {
        if self.count(PINS) == 0 {
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

    /// Checked again, because a mapped file that somebody overwrites must not become a false `str`.
    fn text(&self, string: StringRef) -> &str {
        std::str::from_utf8(self.string(string)).unwrap_or("")
    }

    fn pairs(&self, section: Section<PairRecord>, run: Run) -> impl Iterator<Item = (&str, &str)> {
        self.run(section, run).map(move |i| {
            let pair = self.read(section, i);
            (self.text(pair.name), self.text(pair.value))
        })
    }

    /// The records of a run, and none that is not there: a mapped file that somebody overwrites
    /// must not become a loop over billions.
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

    /// Its stable name.
    pub fn name(&self) -> &'a str {
        self.map.text(self.record().name)
    }

    /// The name that it had before, when the fleet says so.
    pub fn formerly(&self) -> Option<&'a str> {
        Some(self.map.text(self.record().formerly)).filter(|name| !name.is_empty())
    }

    /// What it wants.
    pub fn weight(&self) -> Weight {
        Weight::from_millionths(self.record().weight).unwrap_or(Weight::ZERO)
    }

    /// Whether the fleet dropped it and it still holds points, which a gradual change takes away.
    /// Cost: a binary search.
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

    /// Labels, by name.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.map.pairs(LABELS, self.record().labels)
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&'a str> {
        self.labels()
            .find(|(label, _)| *label == name)
            .map(|(_, value)| value)
    }

    /// Attributes, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.map.pairs(ATTRIBUTES, self.record().attributes)
    }
}

impl<'a> Policy<'a> {
    fn record(&self) -> PolicyRecord {
        self.map.read(POLICIES, self.id.index())
    }

    /// The name, of a policy that the fleet names.
    pub fn name(&self) -> Option<&'a str> {
        let policy = self.record();
        policy.is_named().then(|| self.map.text(policy.name))
    }

    /// The free text that the fleet gave it.
    pub fn kind(&self) -> &'a str {
        self.map.text(self.record().kind)
    }

    /// The weight, of a policy that takes a share.
    pub fn weight(&self) -> Option<Weight> {
        let policy = self.record();
        policy
            .is_weighted()
            .then(|| Weight::from_millionths(policy.weight).unwrap_or(Weight::ZERO))
    }

    /// Its first node; it has at least one, which was verified.
    pub(super) fn primary(&self) -> NodeId {
        let first = self.record().members.first as usize;
        NodeId(self.map.read(MEMBERS, first))
    }

    /// Its nodes, primary first.
    pub fn members(&self) -> Members<'a> {
        let run = self.map.run(MEMBERS, self.record().members);
        Members {
            map: self.map,
            next: run.start,
            end: run.end,
        }
    }

    /// Its nodes, each once, at its first place. Only in the map of an adopted ring is that less
    /// than [`Policy::members`].
    pub fn distinct(&self) -> Vec<NodeId> {
        let mut seen = std::collections::HashSet::new();
        self.members().filter(|node| seen.insert(*node)).collect()
    }
}
