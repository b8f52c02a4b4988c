//! Writing: the only encoding that a map has.

use std::collections::HashMap;
use std::iter::repeat_n;
use std::mem::{offset_of, size_of};

use sha2::{Digest as _, Sha256};

use super::parts::{FirstPart, NodeLists, NodePart, Parts, PinPart};
use super::records::{
    header_length, index_bits, section_count, sections_of, AffixRefs, CarryRecord, Described,
    Digest, FirstRecord, Header, NodeRecord, PairRecord, PinRecord, PolicyRecord, Run, Section,
    SectionEntry, Stored, StringRef, ToleranceRecord, ADOPTED_HASH, ATTRIBUTES, BASE_POINTS,
    BASE_POLICIES, CARRY, CARRYING, FINAL_POINTS, FINAL_POLICIES, FIRST, FIRSTS, GRADUAL, INDEX,
    LABELS, LEAVING, MAGIC, MEMBERS, NODES, PINS, POLICIES, SECTIONS, SHORT_PIN, SPREAD, STRINGS,
    TARGET_POINTS, TARGET_POLICIES, TOLERANCE, TOLERANT, TWICE, VERSION,
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
    let all = || policies(parts, unnamed);
    let strings = strings(parts);
    // without pins and firsts, the base slices are the final slices
    let laid = !parts.pins.is_empty() || !parts.firsts.is_empty();
    let finals = laid.then(|| final_slices(parts, unnamed));
    let count = finals.as_ref().map_or(parts.base.len(), Vec::len);
    let bits = index_bits(count);
    let of_finals = finals.as_ref().map_or(0, Vec::len);
    let sizes = sizes(parts, all(), strings.len(), of_finals, bits);
    let mut file = File::new(features(parts, all()), sizes);
    let mut place = Strings::default();
    let secret = secret(&parts.hash, &mut place);
    let name = place.next(parts.name.as_bytes());
    file.section(STRINGS, strings.into_iter());
    let spread = parts.spread.iter();
    file.section(SPREAD, spread.map(|label| place.next(label.as_bytes())));
    file.nodes(parts, &mut place);
    file.policies(all(), &mut place);
    file.slices(BASE_POINTS, BASE_POLICIES, parts.base.iter().copied());
    file.pins(&parts.pins, &mut place);
    let stored = finals.iter().flatten().map(|s| (s.first, s.policy));
    file.slices(FINAL_POINTS, FINAL_POLICIES, stored);
    match &finals {
        Some(finals) => file.index(bits, finals.iter().map(|slice| slice.first)),
        None => file.index(bits, parts.base.iter().map(|(first, _)| *first)),
    }
    let target = parts.target.iter();
    let slices = target.clone().flat_map(|target| &target.slices).copied();
    file.slices(TARGET_POINTS, TARGET_POLICIES, slices);
    let leaving = target.flat_map(|target| &target.leaving);
    file.section(LEAVING, leaving.map(|node| node.0));
    file.firsts(&parts.firsts, &mut place);
    file.section(CARRY, parts.carry.iter().map(|carry| carry.to_record()));
    let tolerance = parts.tolerance.iter().map(|tolerance| ToleranceRecord {
        millionths: tolerance.millionths(),
        zero: 0,
    });
    file.section(TOLERANCE, tolerance);
    file.finish(parts, secret, name, bits)
}

/// Returns how many records each section has and how large one is, in any order.
fn sizes<'a>(
    parts: &Parts,
    policies: impl Iterator<Item = Policy<'a>> + Clone,
    strings: usize,
    finals: usize,
    bits: u32,
) -> Vec<(usize, usize)> {
    let target = parts.target.iter();
    let targets = target.clone().map(|target| target.slices.len()).sum();
    let leaving = target.map(|target| target.leaving.len()).sum();
    let members = policies.clone().map(|policy| policy.members.len()).sum();
    let mut sizes = vec![
        (strings, 1),
        (parts.spread.len(), size_of::<StringRef>()),
        (parts.nodes.len(), size_of::<NodeRecord>()),
        (labels(parts).count(), size_of::<PairRecord>()),
        (attributes(parts).count(), size_of::<PairRecord>()),
        (policies.count(), size_of::<PolicyRecord>()),
        (members, size_of::<u32>()),
        (parts.pins.len(), size_of::<PinRecord>()),
        (last_bucket(bits) as usize + 1, size_of::<u32>()),
        (leaving, size_of::<u32>()),
        (parts.firsts.len(), size_of::<FirstRecord>()),
        (parts.carry.iter().count(), size_of::<CarryRecord>()),
        (parts.tolerance.iter().count(), size_of::<ToleranceRecord>()),
    ];
    for slices in [parts.base.len(), finals, targets] {
        // their first points, and their policies
        sizes.extend([(slices, size_of::<u64>()), (slices, size_of::<u32>())]);
    }
    sizes
}

fn labels(parts: &Parts) -> impl Iterator<Item = &(String, String)> {
    parts.nodes.iter().flat_map(|node| &node.labels)
}

fn attributes(parts: &Parts) -> impl Iterator<Item = &(String, String)> {
    parts.nodes.iter().flat_map(|node| &node.attributes)
}

/// Returns all strings, in the order in which the records refer to them.
fn strings(parts: &Parts) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    let mut add = |text: &[u8]| all.extend_from_slice(text);
    if let Some(affixes) = parts.hash.affixes() {
        add(&affixes.prefix);
        add(&affixes.suffix);
    }
    add(parts.name.as_bytes());
    parts.spread.iter().for_each(|label| add(label.as_bytes()));
    for node in &parts.nodes {
        add(node.name.as_bytes());
        add(node.formerly.as_bytes());
    }
    for (name, value) in labels(parts).chain(attributes(parts)) {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    for policy in &parts.policies {
        add(policy.name.as_deref().unwrap_or("").as_bytes());
        add(policy.kind.as_bytes());
    }
    let keys = parts.pins.iter().map(|pin| &pin.key);
    let keys = keys.chain(parts.firsts.iter().map(|first| &first.key));
    keys.flatten().for_each(|key| add(key));
    all
}

/// The place of the next string. The strings follow each other without gaps.
#[derive(Default)]
struct Strings(usize);

impl Strings {
    /// Returns where this string lies, which is the next one.
    fn next(&mut self, text: &[u8]) -> StringRef {
        let offset = short(self.0);
        self.0 += text.len();
        StringRef {
            offset,
            length: short(text.len()),
        }
    }
}

/// The number of the bucket behind all others, in an index by so many bits.
fn last_bucket(bits: u32) -> u64 {
    1 << bits
}

/// Returns the header field: the secret of the hash, or references to the hash's affixes. The
/// affixes are the first strings.
fn secret(hash: &Hash, place: &mut Strings) -> [u8; 16] {
    let Some(affixes) = hash.affixes() else {
        return hash.secret().map_or([0; 16], |secret| secret.0);
    };
    let refs = AffixRefs {
        prefix: place.next(&affixes.prefix),
        suffix: place.next(&affixes.suffix),
    };
    let mut bytes = Vec::new();
    refs.write(&mut bytes);
    Stored::read(&bytes, 0)
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
        | set(CARRYING, parts.carry.is_some())
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
fn turned_slices(parts: &Parts, unnamed: &NodeLists, base: &[Slice], pins: &[Slice]) -> Vec<Slice> {
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

/// The bytes of a map, to which the sections are appended in the order of the file. Header and
/// section table are filled in at the end.
struct File {
    features: u64,
    bytes: Vec<u8>,
    /// How long the file will be, up to the padding at its end.
    planned: usize,
    /// The section table.
    entries: Vec<SectionEntry>,
}

impl File {
    /// A file with these features. `sections`: how many records each section will have, and how
    /// large one is, in any order.
    fn new(features: u64, sections: Vec<(usize, usize)>) -> File {
        let header = header_length(section_count(features));
        let padded = sections.into_iter();
        let padded = padded.map(|(count, size)| (count * size).next_multiple_of(8));
        let planned = header + padded.sum::<usize>();
        let mut bytes = Vec::with_capacity(planned);
        bytes.resize(header, 0);
        File {
            features,
            bytes,
            planned,
            entries: Vec::new(),
        }
    }

    /// Appends a section. One that a map with these features does not have is left out.
    fn section<R: Stored>(&mut self, section: Section<R>, records: impl Iterator<Item = R>) {
        let Described {
            number,
            record_size,
            ..
        } = *section.of(&SECTIONS);
        if !sections_of(self.features).any(|(_, there)| there.number == number) {
            return;
        }
        // pads before an empty section, too: if it is the last one, its offset is the end of the
        // file
        let offset = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(offset, 0);
        records.for_each(|record| record.write(&mut self.bytes));
        self.entries.push(SectionEntry {
            number,
            record_size,
            offset: offset as u64,
            count: (self.bytes.len() - offset) as u64 / u64::from(record_size),
        });
    }

    fn nodes(&mut self, parts: &Parts, place: &mut Strings) {
        let (mut first_label, mut first_attribute) = (0, 0);
        let record = |node: &NodePart| NodeRecord {
            name: place.next(node.name.as_bytes()),
            formerly: place.next(node.formerly.as_bytes()),
            weight: node.weight.millionths(),
            labels: run(&mut first_label, node.labels.len()),
            attributes: run(&mut first_attribute, node.attributes.len()),
        };
        self.section(NODES, parts.nodes.iter().map(record));
        let mut pair = |(name, value): &(String, String)| PairRecord {
            name: place.next(name.as_bytes()),
            value: place.next(value.as_bytes()),
        };
        self.section(LABELS, labels(parts).map(&mut pair));
        self.section(ATTRIBUTES, attributes(parts).map(&mut pair));
    }

    fn policies<'a>(
        &mut self,
        policies: impl Iterator<Item = Policy<'a>> + Clone,
        place: &mut Strings,
    ) {
        let mut members = 0;
        let record = |policy: Policy| PolicyRecord {
            name: place.next(policy.name.unwrap_or("").as_bytes()),
            kind: place.next(policy.kind.as_bytes()),
            weight: policy.weight.map_or(0, |weight| weight.millionths()),
            members: run(&mut members, policy.members.len()),
            flags: flag(PolicyRecord::NAMED, policy.name.is_some())
                | flag(PolicyRecord::WEIGHTED, policy.weight.is_some()),
            zero: 0,
        };
        self.section(POLICIES, policies.clone().map(record));
        let members = policies.flat_map(|policy| policy.members);
        self.section(MEMBERS, members.map(|node| node.0));
    }

    fn slices(
        &mut self,
        points: Section<u64>,
        policies: Section<u32>,
        slices: impl Iterator<Item = (Point, PolicyId)> + Clone,
    ) {
        self.section(points, slices.clone().map(|(first, _)| first.0));
        self.section(policies, slices.map(|(_, policy)| policy.0));
    }

    fn pins(&mut self, pins: &[PinPart], place: &mut Strings) {
        let record = |pin: &PinPart| PinRecord {
            first: pin.first.0,
            last: pin.last.0,
            policy: pin.policy.0,
            flags: flag(PinRecord::BY_KEY, pin.key.is_some()) | flag(PinRecord::SHORT, pin.short),
            key: place.next(pin.key.as_deref().unwrap_or(&[])),
        };
        self.section(PINS, pins.iter().map(record));
    }

    fn firsts(&mut self, firsts: &[FirstPart], place: &mut Strings) {
        let record = |first: &FirstPart| FirstRecord {
            first: first.first.0,
            last: first.last.0,
            node: first.node.0,
            flags: flag(FirstRecord::BY_KEY, first.key.is_some()),
            key: place.next(first.key.as_deref().unwrap_or(&[])),
        };
        self.section(FIRSTS, firsts.iter().map(record));
    }

    /// Appends the index of the slices with these first points.
    fn index(&mut self, bits: u32, firsts: impl Iterator<Item = Point>) {
        let buckets = firsts.map(|first| first.0 >> (64 - bits));
        let mut next = 0;
        let entries = (0..).zip(buckets.chain([last_bucket(bits)]));
        // a slice is not counted before the bucket behind the one that it starts in
        let entries = entries.flat_map(|(number, bucket)| {
            let entries = (bucket + 1).saturating_sub(next);
            next += entries;
            repeat_n(number, entries as usize)
        });
        self.section(INDEX, entries);
    }

    /// Fills in header and section table and seals them with the digest.
    fn finish(self, parts: &Parts, secret: [u8; 16], name: StringRef, bits: u32) -> Sealed {
        let File {
            features,
            mut bytes,
            planned,
            entries,
        } = self;
        debug_assert_eq!(bytes.len().next_multiple_of(8), planned);
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            header_length: short(header_length(entries.len())),
            file_length: bytes.len() as u64,
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
            section_count: short(entries.len()),
        };
        let mut head = Vec::new();
        header.write(&mut head);
        entries.iter().for_each(|entry| entry.write(&mut head));
        bytes
            .iter_mut()
            .zip(head)
            .for_each(|(place, byte)| *place = byte);
        let digest = digest(&bytes);
        let place = bytes.iter_mut().skip(offset_of!(Header, digest));
        place.zip(digest).for_each(|(place, byte)| *place = byte);
        Sealed(bytes)
    }
}
