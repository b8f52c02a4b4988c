//! Writing: the only encoding that a map has.

use std::collections::HashMap;
use std::mem::{offset_of, size_of};

use sha2::{Digest as _, Sha256};

use super::parts::{FirstPart, NodeLists, NodePart, Parts, PinPart};
use super::records::{
    header_length, index_bits, section_count, sections_of, AffixRefs, Digest, FirstRecord, Header,
    NodeRecord, PairRecord, PinRecord, PolicyRecord, Run, Section, SectionEntry, Stored, StringRef,
    ToleranceRecord, ADOPTED_HASH, ATTRIBUTES, BASE_POINTS, BASE_POLICIES, FINAL_POINTS,
    FINAL_POLICIES, FIRST, FIRSTS, GRADUAL, INDEX, LABELS, LEAVING, MAGIC, MEMBERS, NODES, PINS,
    POLICIES, SECTIONS, SHORT_PIN, SPREAD, STRINGS, TARGET_POINTS, TARGET_POLICIES, TOLERANCE,
    TOLERANT, TWICE, VERSION,
};
use crate::hash::Hash;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::{lay_over, turned, under_firsts, with_ends, First, Slice};
use crate::weight::Weight;

/// Returns the bytes of a map. `parts` must be in the order that the format demands. This is not
/// checked here, but `verify` refuses the result otherwise.
pub fn encode(parts: &Parts) -> Vec<u8> {
    encode_sealed(parts, &NodeLists::default()).into_bytes()
}

/// Bytes with the right digest in them, which `verify_sealed` need not compute again.
pub(crate) struct Sealed(Vec<u8>);

impl Sealed {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A policy, wherever its nodes are listed.
#[derive(Clone, Copy)]
struct Policy<'a> {
    name: Option<&'a str>,
    kind: &'a str,
    weight: Option<Weight>,
    members: &'a [NodeId],
}

/// Returns the policies of the parts, followed by the unnamed ones.
fn policies<'a>(
    parts: &'a Parts,
    unnamed: &'a NodeLists,
) -> impl Iterator<Item = Policy<'a>> + Clone {
    let of_parts = parts.policies.iter().map(|policy| Policy {
        name: policy.name.as_deref(),
        kind: &policy.kind,
        weight: policy.weight,
        members: &policy.members,
    });
    of_parts.chain(unnamed.iter().map(|members| Policy {
        name: None,
        kind: "",
        weight: None,
        members,
    }))
}

/// Like [`encode`], but the result is known to have the right digest, and the policies of `unnamed`
/// follow those of `parts`.
pub(crate) fn encode_sealed(parts: &Parts, unnamed: &NodeLists) -> Sealed {
    let mut sections = Sections::default();
    let secret = sections.secret(&parts.hash);
    let name = sections.string(parts.name.as_bytes());
    for label in &parts.spread {
        let label = sections.string(label.as_bytes());
        sections.push(SPREAD, label);
    }
    sections.nodes(&parts.nodes);
    sections.policies(policies(parts, unnamed));
    sections.slices(BASE_POINTS, BASE_POLICIES, parts.base.iter().copied());
    sections.pins(&parts.pins);
    // without pins and firsts, the base slices are the final slices
    let bits = if parts.pins.is_empty() && parts.firsts.is_empty() {
        sections.index(parts.base.iter().copied())
    } else {
        let finals = final_slices(parts, unnamed);
        let stored = finals.iter().map(|s| (s.first, s.policy));
        sections.slices(FINAL_POINTS, FINAL_POLICIES, stored.clone());
        sections.index(stored)
    };
    if let Some(target) = &parts.target {
        let slices = target.slices.iter().copied();
        sections.slices(TARGET_POINTS, TARGET_POLICIES, slices);
        for node in &target.leaving {
            sections.push(LEAVING, node.0);
        }
    }
    sections.firsts(&parts.firsts);
    if let Some(tolerance) = parts.tolerance {
        let record = ToleranceRecord {
            millionths: tolerance.millionths(),
            zero: 0,
        };
        sections.push(TOLERANCE, record);
    }
    let features = features(parts, policies(parts, unnamed));
    sections.finish(parts, features, secret, name, bits)
}

/// Returns the features.
fn features<'a>(parts: &Parts, policies: impl Iterator<Item = Policy<'a>>) -> u64 {
    // the last policy that was seen to list each node
    let mut listed: Vec<usize> = vec![usize::MAX; parts.nodes.len()];
    let repeats = |(number, policy): (usize, Policy)| {
        policy.members.iter().any(|node| {
            let last = listed.get_mut(node.index());
            last.is_some_and(|last| std::mem::replace(last, number) == number)
        })
    };
    let set = |feature, is| if is { feature } else { 0 };
    set(GRADUAL, parts.target.is_some())
        | set(ADOPTED_HASH, hash_number(parts) > Hash::SIPHASH)
        | set(TWICE, policies.enumerate().any(repeats))
        | set(SHORT_PIN, parts.pins.iter().any(|pin| pin.short))
        | set(FIRST, !parts.firsts.is_empty())
        | set(TOLERANT, parts.tolerance.is_some())
}

/// Returns the number of the hash, combined with the key rule.
fn hash_number(parts: &Parts) -> u32 {
    parts.hash.number() | parts.key_rule.stored()
}

/// Returns the digest of these bytes. The digest field itself counts as zeros.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    let (start, zeros) = (offset_of!(Header, digest), [0; size_of::<Digest>()]);
    let mut hasher = Sha256::new();
    hasher.update(bytes.get(..start).unwrap_or(bytes));
    hasher.update(zeros);
    hasher.update(bytes.get(start + zeros.len()..).unwrap_or(&[]));
    hasher.finalize().into()
}

/// Returns the base slices with the firsts, and then the pins, laid over them.
fn final_slices(parts: &Parts, unnamed: &NodeLists) -> Vec<Slice> {
    let base: Vec<Slice> = with_ends(parts.base.iter().copied()).collect();
    let pins: Vec<Slice> = parts
        .pins
        .iter()
        .map(|p| Slice {
            first: p.first,
            last: p.last,
            policy: p.policy,
        })
        .collect();
    let turned = turned_slices(parts, unnamed, &base, &pins);
    lay_over(
        lay_over(base.into_iter(), turned.into_iter()).into_iter(),
        pins.into_iter(),
    )
}

/// Returns the parts of base slices that have another first node because of a first.
fn turned_slices(
    parts: &Parts,
    unnamed: &NodeLists,
    base: &[Slice],
    pins: &[Slice],
) -> Vec<Slice> {
    let firsts: Vec<First> = parts.firsts.iter().map(FirstPart::run).collect();
    if firsts.is_empty() {
        return Vec::new();
    }
    let policies: Vec<Policy> = policies(parts, unnamed).collect();
    let unnamed: HashMap<&[NodeId], PolicyId> = (0..)
        .map(PolicyId)
        .zip(&policies)
        .filter(|(_, policy)| policy.name.is_none())
        .map(|(id, policy)| (policy.members, id))
        .collect();
    let under = under_firsts(base.to_vec(), &firsts, pins);
    let turn = |(slice, node): (Slice, NodeId)| {
        let policy = policies.get(slice.policy.index())?;
        let list = turned(policy.members, node).filter(|_| policy.name.is_none())?;
        // `verify` refuses a map without this policy
        let policy = *unnamed.get(list.as_slice())?;
        Some(Slice { policy, ..slice })
    };
    under.into_iter().filter_map(turn).collect()
}

/// Converts a number or a count of records; the format's limits keep all of them below 2^32.
fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Takes the next `count` records after the used ones, and counts them as used.
fn run(used: &mut usize, count: usize) -> Run {
    let first = short(*used);
    *used += count;
    Run {
        first,
        count: short(count),
    }
}

/// Returns the flag if it is set, otherwise 0.
fn flag(flag: u32, is: bool) -> u32 {
    if is {
        flag
    } else {
        0
    }
}

/// The bytes of each section, which grow as records are added.
#[derive(Default)]
struct Sections([Vec<u8>; SECTIONS.len()]);

impl Sections {
    fn push<R: Stored>(&mut self, section: Section<R>, record: R) {
        record.write(section.of_mut(&mut self.0));
    }

    /// Appends a string and returns where it lies.
    fn string(&mut self, text: &[u8]) -> StringRef {
        let strings = STRINGS.of_mut(&mut self.0);
        let offset = short(strings.len());
        strings.extend_from_slice(text);
        StringRef {
            offset,
            length: short(text.len()),
        }
    }

    /// Returns the header field: the secret of the hash, or references to the hash's affixes. The
    /// affixes are the first strings.
    fn secret(&mut self, hash: &Hash) -> [u8; 16] {
        let Some(affixes) = hash.affixes() else {
            return hash.secret().map_or([0; 16], |secret| secret.0);
        };
        let refs = AffixRefs {
            prefix: self.string(&affixes.prefix),
            suffix: self.string(&affixes.suffix),
        };
        let mut bytes = Vec::new();
        refs.write(&mut bytes);
        Stored::read(&bytes, 0)
    }

    fn nodes(&mut self, nodes: &[NodePart]) {
        let (mut labels, mut attributes) = (0, 0);
        for node in nodes {
            let record = NodeRecord {
                name: self.string(node.name.as_bytes()),
                formerly: self.string(node.formerly.as_bytes()),
                weight: node.weight.millionths(),
                labels: run(&mut labels, node.labels.len()),
                attributes: run(&mut attributes, node.attributes.len()),
            };
            self.push(NODES, record);
        }
        self.pairs(LABELS, nodes.iter().flat_map(|node| &node.labels));
        self.pairs(ATTRIBUTES, nodes.iter().flat_map(|node| &node.attributes));
    }

    fn pairs<'a>(
        &mut self,
        section: Section<PairRecord>,
        pairs: impl Iterator<Item = &'a (String, String)>,
    ) {
        for (name, value) in pairs {
            let record = PairRecord {
                name: self.string(name.as_bytes()),
                value: self.string(value.as_bytes()),
            };
            self.push(section, record);
        }
    }

    /// Makes room for so many records.
    fn reserve<R>(&mut self, section: Section<R>, count: usize) {
        section.of_mut(&mut self.0).reserve(count * size_of::<R>());
    }

    fn policies<'a>(&mut self, policies: impl Iterator<Item = Policy<'a>> + Clone) {
        self.reserve(POLICIES, policies.clone().count());
        let listed = policies.clone().map(|policy| policy.members.len());
        self.reserve(MEMBERS, listed.sum());
        let mut members = 0;
        for policy in policies {
            let record = PolicyRecord {
                name: self.string(policy.name.unwrap_or("").as_bytes()),
                kind: self.string(policy.kind.as_bytes()),
                weight: policy.weight.map_or(0, |weight| weight.millionths()),
                members: run(&mut members, policy.members.len()),
                flags: flag(PolicyRecord::NAMED, policy.name.is_some())
                    | flag(PolicyRecord::WEIGHTED, policy.weight.is_some()),
                zero: 0,
            };
            self.push(POLICIES, record);
            for node in policy.members {
                self.push(MEMBERS, node.0);
            }
        }
    }

    fn slices(
        &mut self,
        points: Section<u64>,
        policies: Section<u32>,
        slices: impl ExactSizeIterator<Item = (Point, PolicyId)>,
    ) {
        self.reserve(points, slices.len());
        self.reserve(policies, slices.len());
        for (first, policy) in slices {
            self.push(points, first.0);
            self.push(policies, policy.0);
        }
    }

    fn pins(&mut self, pins: &[PinPart]) {
        for pin in pins {
            let record = PinRecord {
                first: pin.first.0,
                last: pin.last.0,
                policy: pin.policy.0,
                flags: flag(PinRecord::BY_KEY, pin.key.is_some())
                    | flag(PinRecord::SHORT, pin.short),
                key: self.string(pin.key.as_deref().unwrap_or(&[])),
            };
            self.push(PINS, record);
        }
    }

    fn firsts(&mut self, firsts: &[FirstPart]) {
        for first in firsts {
            let record = FirstRecord {
                first: first.first.0,
                last: first.last.0,
                node: first.node.0,
                flags: flag(FirstRecord::BY_KEY, first.key.is_some()),
                key: self.string(first.key.as_deref().unwrap_or(&[])),
            };
            self.push(FIRSTS, record);
        }
    }

    /// Appends the index of these slices. Returns its bits.
    fn index(&mut self, finals: impl ExactSizeIterator<Item = (Point, PolicyId)>) -> u32 {
        let count = finals.len();
        let bits = index_bits(count);
        self.reserve(INDEX, (1 << bits) + 1);
        let mut next = 0;
        for (number, (first, _)) in (0u32..).zip(finals) {
            // a slice is not counted before the bucket behind the one that it starts in
            let bucket = first.0 >> (64 - bits);
            while next <= bucket {
                self.push(INDEX, number);
                next += 1;
            }
        }
        while next <= 1 << bits {
            self.push(INDEX, short(count));
            next += 1;
        }
        bits
    }

    /// Joins header and sections and seals them with the digest.
    fn finish(
        self,
        parts: &Parts,
        features: u64,
        secret: [u8; 16],
        name: StringRef,
        bits: u32,
    ) -> Sealed {
        let sections = section_count(features);
        let mut table = Vec::new();
        let (mut offset, mut end) = (header_length(sections), 0);
        for (place, section) in sections_of(features) {
            let Some(bytes) = self.0.get(place) else {
                break;
            };
            let entry = SectionEntry {
                number: section.number,
                record_size: section.record_size,
                offset: offset as u64,
                count: bytes.len() as u64 / u64::from(section.record_size),
            };
            entry.write(&mut table);
            end = offset + bytes.len();
            offset = end.next_multiple_of(8);
        }
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            header_length: short(header_length(sections)),
            file_length: end as u64,
            features,
            map_id: parts.map_id,
            epoch: parts.epoch,
            algorithm: parts.algorithm,
            replicas: parts.replicas,
            parent: parts.parent,
            digest: [0; 32],
            hash: hash_number(parts),
            max_slices: parts.max_slices.unwrap_or(0),
            cells: parts.cells.stored(),
            secret,
            name,
            index_bits: bits,
            section_count: short(sections),
        };
        let mut out = Vec::with_capacity(end);
        header.write(&mut out);
        out.extend_from_slice(&table);
        // a section that the map does not have is empty, and is left out with its padding
        for bytes in sections_of(features).filter_map(|(place, _)| self.0.get(place)) {
            // pads before an empty section, too: if it is the last one, its offset is the end of
            // the file
            out.resize(out.len().next_multiple_of(8), 0);
            out.extend_from_slice(bytes);
        }
        let digest = digest(&out);
        let place = out.iter_mut().skip(offset_of!(Header, digest));
        place.zip(digest).for_each(|(place, byte)| *place = byte);
        Sealed(out)
    }
}
