//! Looking inside a map: its header, nodes, policies, slices and pins.

use std::cmp::Ordering;

use super::open::Map;
use crate::cell::Cells;
use crate::format::at;
use crate::format::{
    array_at, u32_at, u64_at, Digest, MapId, NodePart, Parts, PinPart, PolicyPart, Record,
    TargetPart,
};
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
        let offset = self.map.checked.layout.offset(Record::Members, self.next);
        self.next += 1;
        Some(NodeId(u32_at(&self.map.bytes, offset)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl ExactSizeIterator for Members<'_> {}

impl Map {
    /// The name of the cluster.
    pub fn name(&self) -> &str {
        self.text(at::NAME)
    }

    /// The number of this version, from 1.
    pub fn epoch(&self) -> u64 {
        u64_at(&self.bytes, at::EPOCH)
    }

    /// SHA-256 over the file: the identity of this version.
    pub fn digest(&self) -> Digest {
        self.checked.digest
    }

    /// The digest of the epoch before; zeros in epoch 1.
    pub fn parent(&self) -> Digest {
        array_at(&self.bytes, at::PARENT)
    }

    /// The first 16 bytes of epoch 1's digest: the identity of all versions together.
    pub fn map_id(&self) -> MapId {
        if self.epoch() == 1 {
            let [id @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = self.digest();
            return id;
        }
        array_at(&self.bytes, at::MAP_ID)
    }

    /// The version of the algorithm that made the base slices.
    pub fn algorithm(&self) -> u32 {
        u32_at(&self.bytes, at::ALGORITHM)
    }

    /// R: how many nodes hold each point.
    pub fn replicas(&self) -> u32 {
        u32_at(&self.bytes, at::REPLICAS)
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
        Some(u32_at(&self.bytes, at::MAX_SLICES)).filter(|most| *most > 0)
    }

    /// The labels over which copies are kept apart, outermost first.
    pub fn spread(&self) -> impl ExactSizeIterator<Item = &str> {
        let layout = self.checked.layout;
        (0..layout.count(Record::Spread)).map(move |i| self.text(layout.offset(Record::Spread, i)))
    }

    /// The nodes, by name.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> {
        (0..self.checked.layout.count(Record::Nodes) as u32).map(|i| Node {
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
        let count = self.checked.layout.count(Record::Nodes) as u32;
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
        (0..self.checked.layout.count(Record::Policies) as u32).map(|i| Policy {
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
        self.checked.layout.count(Record::BasePoints)
    }

    /// The slices that rebalancing made, before pins.
    pub fn base_slices(&self) -> impl Iterator<Item = Slice> + '_ {
        self.slices_of(Record::BasePoints, Record::BasePolicies)
    }

    /// While a gradual change is under way, what the base slices will be when all of it is done.
    ///
    /// They are never equal to the base slices. `locate` does not read them.
    pub fn target_slices(&self) -> Option<impl Iterator<Item = Slice> + '_> {
        (self.target_count() > 0)
            .then(|| self.slices_of(Record::TargetPoints, Record::TargetPolicies))
    }

    /// How many target slices there are; 0 when no gradual change is under way.
    pub fn target_count(&self) -> usize {
        self.checked.layout.count(Record::TargetPoints)
    }

    /// The slices that `locate` reads: the base slices with the pins over them.
    pub fn slices(&self) -> impl Iterator<Item = Slice> + '_ {
        let (points, policies) = self.final_records();
        self.slices_of(points, policies)
    }

    /// How many slices `locate` reads.
    pub fn slice_count(&self) -> usize {
        self.checked.layout.count(self.final_records().0)
    }

    /// The pins, by first point.
    pub fn pins(&self) -> impl ExactSizeIterator<Item = Pin<'_>> {
        let layout = self.checked.layout;
        (0..layout.count(Record::Pins)).map(move |i| {
            let at = layout.offset(Record::Pins, i);
            let number = |offset| u64_at(&self.bytes, at + offset);
            let slice = Slice {
                first: Point(number(0)),
                last: Point(number(8)),
                policy: PolicyId(u32_at(&self.bytes, at + 16)),
            };
            let flags = u32_at(&self.bytes, at + 20);
            Pin {
                slice,
                key: (flags & 1 == 1).then(|| self.string(at + 24)),
                short: flags & 2 == 2,
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
            map_id: array_at(&self.bytes, at::MAP_ID),
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
    pub(super) fn final_records(&self) -> (Record, Record) {
        if self.checked.layout.count(Record::Pins) == 0 {
            (Record::BasePoints, Record::BasePolicies)
        } else {
            (Record::FinalPoints, Record::FinalPolicies)
        }
    }

    fn slices_of(&self, points: Record, policies: Record) -> impl Iterator<Item = Slice> + '_ {
        let layout = self.checked.layout;
        with_ends((0..layout.count(points)).map(move |i| {
            let first = u64_at(&self.bytes, layout.offset(points, i));
            (
                Point(first),
                PolicyId(u32_at(&self.bytes, layout.offset(policies, i))),
            )
        }))
    }

    /// The bytes of the string that is referred to at `reference`.
    fn string(&self, reference: usize) -> &[u8] {
        let start = self
            .checked
            .layout
            .offset(Record::Strings, u32_at(&self.bytes, reference) as usize);
        let length = u32_at(&self.bytes, reference + 4) as usize;
        start
            .checked_add(length)
            .and_then(|end| self.bytes.get(start..end))
            .unwrap_or(&[])
    }

    /// Checked again, because a mapped file that somebody overwrites must not become a false `str`.
    fn text(&self, reference: usize) -> &str {
        std::str::from_utf8(self.string(reference)).unwrap_or("")
    }

    fn pairs(&self, record: Record, first: u32, count: u32) -> impl Iterator<Item = (&str, &str)> {
        self.run(record, first, count).map(move |i| {
            let at = self.checked.layout.offset(record, i);
            (self.text(at), self.text(at + 8))
        })
    }

    /// The records from `first`, `count` of them and none that is not there: a mapped file that
    /// somebody overwrites must not become a loop over billions.
    fn run(&self, record: Record, first: u32, count: u32) -> std::ops::Range<usize> {
        let there = self.checked.layout.count(record);
        let first = there.min(first as usize);
        first..first + (there - first).min(count as usize)
    }
}

impl<'a> Node<'a> {
    fn at(&self, field: usize) -> usize {
        self.map
            .checked
            .layout
            .offset(Record::Nodes, self.id.index())
            + field
    }

    fn number(&self, field: usize) -> u32 {
        u32_at(&self.map.bytes, self.at(field))
    }

    /// Its stable name.
    pub fn name(&self) -> &'a str {
        self.map.text(self.at(0))
    }

    /// The name that it had before, when the fleet says so.
    pub fn formerly(&self) -> Option<&'a str> {
        Some(self.map.text(self.at(8))).filter(|name| !name.is_empty())
    }

    /// What it wants.
    pub fn weight(&self) -> Weight {
        Weight::from_millionths(u64_at(&self.map.bytes, self.at(16))).unwrap_or(Weight::ZERO)
    }

    /// Whether the fleet dropped it and it still holds points, which a gradual change takes away.
    /// Cost: a binary search.
    pub fn leaving(&self) -> bool {
        let layout = &self.map.checked.layout;
        let (mut low, mut high) = (0, layout.count(Record::Leaving));
        while low < high {
            let middle = low + (high - low) / 2;
            match u32_at(&self.map.bytes, layout.offset(Record::Leaving, middle)).cmp(&self.id.0) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return true,
                Ordering::Greater => high = middle,
            }
        }
        false
    }

    /// Labels, by name.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.map
            .pairs(Record::Labels, self.number(24), self.number(28))
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&'a str> {
        self.labels()
            .find(|(label, _)| *label == name)
            .map(|(_, value)| value)
    }

    /// Attributes, by name.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.map
            .pairs(Record::Attributes, self.number(32), self.number(36))
    }
}

impl<'a> Policy<'a> {
    fn at(&self, field: usize) -> usize {
        self.map
            .checked
            .layout
            .offset(Record::Policies, self.id.index())
            + field
    }

    /// The name, of a policy that the fleet names.
    pub fn name(&self) -> Option<&'a str> {
        (u32_at(&self.map.bytes, self.at(32)) & 1 == 1).then(|| self.map.text(self.at(0)))
    }

    /// The free text that the fleet gave it.
    pub fn kind(&self) -> &'a str {
        self.map.text(self.at(8))
    }

    /// The weight, of a policy that takes a share.
    pub fn weight(&self) -> Option<Weight> {
        let weighted = u32_at(&self.map.bytes, self.at(32)) & 2 == 2;
        weighted.then(|| {
            Weight::from_millionths(u64_at(&self.map.bytes, self.at(16))).unwrap_or(Weight::ZERO)
        })
    }

    /// Its first node; it has at least one, which was verified.
    pub(super) fn primary(&self) -> NodeId {
        let first = u32_at(&self.map.bytes, self.at(24)) as usize;
        NodeId(u32_at(
            &self.map.bytes,
            self.map.checked.layout.offset(Record::Members, first),
        ))
    }

    /// Its nodes, primary first.
    pub fn members(&self) -> Members<'a> {
        let (first, count) = (
            u32_at(&self.map.bytes, self.at(24)),
            u32_at(&self.map.bytes, self.at(28)),
        );
        let run = self.map.run(Record::Members, first, count);
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
