//! Writing: the one byte string that a map has.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::layout::{
    at, header_length, index_bits, section_count, ADOPTED_HASH, ENTRY, GRADUAL, MAGIC,
    RECORD_SIZES, SHORT_PIN, TWICE, VERSION,
};
use super::parts::{NodePart, Parts, PinPart, PolicyPart};
use super::Digest;
use crate::hash::Hash;
use crate::point::Point;
use crate::policy::PolicyId;
use crate::slice::{lay_over, with_ends, Slice};

/// The bytes of a map. `parts` must be in the order that the format demands: `verify` tells when
/// they are not.
pub fn encode(parts: &Parts) -> Vec<u8> {
    let mut w = Writer::default();
    let beside_the_hash = w.beside_the_hash(&parts.hash);
    let name = w.string(parts.name.as_bytes());
    w.section(
        1,
        |w| {
            parts
                .spread
                .iter()
                .for_each(|label| w.put_string(label.as_bytes()))
        },
        parts.spread.len(),
    );
    w.nodes(&parts.nodes);
    w.policies(&parts.policies);
    w.slices(7, parts.base.iter().copied());
    w.pins(&parts.pins);
    let finals = final_slices(parts);
    // without pins the base slices serve as the final ones
    let stored = finals
        .iter()
        .filter(|_| !parts.pins.is_empty())
        .map(|s| (s.first, s.policy));
    w.slices(10, stored);
    let bits = index_bits(finals.len());
    w.index(bits, &finals);
    if let Some(target) = &parts.target {
        w.slices(13, target.slices.iter().copied());
        w.section(
            15,
            |w| {
                target
                    .leaving
                    .iter()
                    .for_each(|node| w.put_u32(node.index()))
            },
            target.leaving.len(),
        );
    }
    w.finish(parts, beside_the_hash, name, bits)
}

/// The required features.
fn features(parts: &Parts) -> u64 {
    let mut seen = HashSet::new();
    let repeats = |policy: &PolicyPart| {
        seen.clear();
        !policy.members.iter().all(|node| seen.insert(*node))
    };
    let set = |feature, is| if is { feature } else { 0 };
    set(GRADUAL, parts.target.is_some())
        | set(ADOPTED_HASH, hash_number(parts) > Hash::SIPHASH)
        | set(TWICE, parts.policies.iter().any(repeats))
        | set(SHORT_PIN, parts.pins.iter().any(|pin| pin.short))
}

/// The number of the hash, with the key rule in it.
fn hash_number(parts: &Parts) -> u32 {
    parts.hash.number() | parts.key_rule.stored()
}

/// The digest that belongs to these bytes.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(bytes.get(..at::DIGEST).unwrap_or(bytes));
    hasher.update([0u8; 32]);
    hasher.update(bytes.get(at::DIGEST + 32..).unwrap_or(&[]));
    hasher.finalize().into()
}

/// The base slices with the pins laid over them.
fn final_slices(parts: &Parts) -> Vec<Slice> {
    let base = with_ends(parts.base.iter().copied());
    lay_over(
        base,
        parts.pins.iter().map(|p| Slice {
            first: p.first,
            last: p.last,
            policy: p.policy,
        }),
    )
}

/// The sections as they grow, each in a buffer of its own.
#[derive(Default)]
struct Writer {
    sections: [Vec<u8>; RECORD_SIZES.len()],
    counts: [usize; RECORD_SIZES.len()],
    /// the section that `put` writes to
    now: usize,
}

impl Writer {
    /// Starts writing `count` records of a section.
    fn section(&mut self, number: usize, write: impl FnOnce(&mut Writer), count: usize) {
        let before = std::mem::replace(&mut self.now, number);
        write(self);
        if let Some(sum) = self.counts.get_mut(number) {
            *sum += count;
        }
        self.now = before;
    }

    fn put(&mut self, bytes: &[u8]) {
        if let Some(section) = self.sections.get_mut(self.now) {
            section.extend_from_slice(bytes);
        }
    }

    fn put_u32(&mut self, number: usize) {
        self.put(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn put_u64(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    /// Appends a string to section 1 and returns its reference.
    fn string(&mut self, text: &[u8]) -> [u8; 8] {
        let [strings, ..] = &mut self.sections;
        let reference = (strings.len() as u64) | (text.len() as u64) << 32;
        strings.extend_from_slice(text);
        reference.to_le_bytes()
    }

    /// The 16 bytes beside the hash: its secret, or where its affixes lie, which are the first
    /// strings.
    fn beside_the_hash(&mut self, hash: &Hash) -> [u8; 16] {
        match hash.affixes() {
            None => hash.secret().map_or([0; 16], |secret| secret.0),
            Some(affixes) => {
                let places = [self.string(&affixes.prefix), self.string(&affixes.suffix)];
                let mut both = [0; 16];
                both.iter_mut()
                    .zip(places.into_iter().flatten())
                    .for_each(|(place, byte)| *place = byte);
                both
            }
        }
    }

    fn put_string(&mut self, text: &[u8]) {
        let reference = self.string(text);
        self.put(&reference);
    }

    fn nodes(&mut self, nodes: &[NodePart]) {
        let (mut labels, mut attributes) = (0, 0);
        for node in nodes {
            self.section(
                2,
                |w| {
                    w.put_string(node.name.as_bytes());
                    w.put_string(node.formerly.as_bytes());
                    w.put_u64(node.weight.millionths());
                    w.put_u32(labels);
                    w.put_u32(node.labels.len());
                    w.put_u32(attributes);
                    w.put_u32(node.attributes.len());
                },
                1,
            );
            labels += node.labels.len();
            attributes += node.attributes.len();
        }
        for (number, pairs) in [
            (3, nodes.iter().map(|n| &n.labels).collect::<Vec<_>>()),
            (4, nodes.iter().map(|n| &n.attributes).collect()),
        ] {
            for (name, value) in pairs.into_iter().flatten() {
                self.section(
                    number,
                    |w| {
                        w.put_string(name.as_bytes());
                        w.put_string(value.as_bytes());
                    },
                    1,
                );
            }
        }
    }

    fn policies(&mut self, policies: &[PolicyPart]) {
        let mut members = 0;
        for policy in policies {
            self.section(
                5,
                |w| {
                    w.put_string(policy.name.as_deref().unwrap_or("").as_bytes());
                    w.put_string(policy.kind.as_bytes());
                    w.put_u64(policy.weight.map_or(0, |weight| weight.millionths()));
                    w.put_u32(members);
                    w.put_u32(policy.members.len());
                    w.put_u32(
                        usize::from(policy.name.is_some())
                            | usize::from(policy.weight.is_some()) << 1,
                    );
                    w.put_u32(0);
                },
                1,
            );
            self.section(
                6,
                |w| {
                    policy
                        .members
                        .iter()
                        .for_each(|node| w.put_u32(node.index()))
                },
                policy.members.len(),
            );
            members += policy.members.len();
        }
    }

    /// First points into section `number`, policies into the one after it.
    fn slices(&mut self, number: usize, slices: impl Iterator<Item = (Point, PolicyId)>) {
        for (first, policy) in slices {
            self.section(number, |w| w.put_u64(first.0), 1);
            self.section(number + 1, |w| w.put_u32(policy.index()), 1);
        }
    }

    fn pins(&mut self, pins: &[PinPart]) {
        for pin in pins {
            self.section(
                9,
                |w| {
                    w.put_u64(pin.first.0);
                    w.put_u64(pin.last.0);
                    w.put_u32(pin.policy.index());
                    w.put_u32(usize::from(pin.key.is_some()) | usize::from(pin.short) << 1);
                    w.put_string(pin.key.as_deref().unwrap_or(&[]));
                },
                1,
            );
        }
    }

    fn index(&mut self, bits: u32, finals: &[Slice]) {
        let mut firsts = finals.iter().map(|s| u128::from(s.first.0)).peekable();
        let mut below = 0;
        for bucket in 0..=1u128 << bits {
            while firsts
                .next_if(|first| *first < bucket << (64 - bits))
                .is_some()
            {
                below += 1;
            }
            self.section(12, |w| w.put_u32(below), 1);
        }
    }

    /// Puts header and sections together and seals them with the digest.
    fn finish(self, parts: &Parts, beside_the_hash: [u8; 16], name: [u8; 8], bits: u32) -> Vec<u8> {
        let features = features(parts);
        let sections = section_count(features);
        let mut table = Vec::with_capacity(ENTRY * sections);
        let mut offset = header_length(features);
        let mut end = offset;
        for (kind, ((section, count), size)) in (1u32..)
            .zip(self.sections.iter().zip(self.counts).zip(RECORD_SIZES))
            .take(sections)
        {
            // section 1 counts its bytes
            let count = if kind == 1 { section.len() } else { count };
            table.extend_from_slice(&kind.to_le_bytes());
            table.extend_from_slice(&size.to_le_bytes());
            table.extend_from_slice(&(offset as u64).to_le_bytes());
            table.extend_from_slice(&(count as u64).to_le_bytes());
            end = offset + section.len();
            offset = end.next_multiple_of(8);
        }
        let mut out = Vec::with_capacity(end);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(header_length(features) as u32).to_le_bytes());
        out.extend_from_slice(&(end as u64).to_le_bytes());
        out.extend_from_slice(&features.to_le_bytes());
        out.extend_from_slice(&parts.map_id);
        out.extend_from_slice(&parts.epoch.to_le_bytes());
        out.extend_from_slice(&parts.algorithm.to_le_bytes());
        out.extend_from_slice(&parts.replicas.to_le_bytes());
        out.extend_from_slice(&parts.parent);
        out.extend_from_slice(&[0; 32]);
        out.extend_from_slice(&hash_number(parts).to_le_bytes());
        out.extend_from_slice(&parts.max_slices.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&parts.cells.stored().to_le_bytes());
        out.extend_from_slice(&beside_the_hash);
        out.extend_from_slice(&name);
        out.extend_from_slice(&bits.to_le_bytes());
        out.extend_from_slice(&(sections as u32).to_le_bytes());
        out.extend_from_slice(&table);
        for section in self.sections.into_iter().take(sections) {
            // also before an empty section, which ends the file when it is the last one
            out.resize(out.len().next_multiple_of(8), 0);
            out.extend_from_slice(&section);
        }
        let digest = digest(&out);
        if let Some(place) = out.get_mut(at::DIGEST..at::DIGEST + 32) {
            place.copy_from_slice(&digest);
        }
        out
    }
}
