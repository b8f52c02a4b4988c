//! Verifying: checks every rule of docs/map-format.md, in the order of that page, before anything
//! of a map is handed out.
//!
//! The digest comes first and finds accidental damage. The structure is checked as well, because
//! the author of a hostile file can write a matching digest. All arithmetic on numbers from the
//! file is checked or done in `u128`.

use std::mem::{offset_of, size_of};

use super::check::{broken, Check};
use super::encode::digest;
use super::layout::{Extent, Layout};
use super::records::{
    header_length, section_count, sections_of, AffixRefs, Digest, Header, SectionEntry, Stored,
    StringRef, ADOPTED_HASH, KNOWN_FEATURES, MAGIC, SECTIONS, STRINGS, VERSION,
};
use super::slice_rules::Used;
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Hash, KeyRule, AFFIX_MAX};
use crate::policy::REPLICAS_MAX;

/// What verifying a map yields.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// Where the sections lie.
    pub(crate) layout: Layout,
    /// The hash of the map, including its secret.
    pub(crate) hash: Hash,
    /// Which part of a key is hashed.
    pub(crate) key_rule: KeyRule,
    /// The cells of the map.
    pub(crate) cells: Cells,
    /// The digest, which matches the bytes.
    pub(crate) digest: Digest,
}

/// Checks every rule. An error has the offset of the first broken rule and no file name, which the
/// caller adds.
///
/// Cost: one SHA-256 over the bytes and one pass over the records.
pub(crate) fn verify(bytes: &[u8]) -> Result<Checked> {
    let header = header(bytes, bytes.len() as u64)?;
    if digest(bytes) != header.digest {
        return Err(Error::Digest { file: None });
    }
    settings(&header)?;
    let layout = sections(bytes, &header)?;
    let (hash, key_rule) = hash(bytes, &header, &layout)?;
    let cells = Cells::from_stored(header.cells);
    records(&Check {
        bytes,
        header,
        layout,
        hash: &hash,
        key_rule,
        cells,
    })?;
    Ok(Checked {
        layout,
        hash,
        key_rule,
        cells,
        digest: header.digest,
    })
}

/// Checks the rules of the records, in the order of the file. Header and section table are already
/// sound.
fn records(check: &Check) -> Result<()> {
    check.strings_nodes_policies()?;
    let mut used = Used::of(check);
    check.base_slices(&mut used)?;
    check.target_slices(&mut used)?;
    let pins = check.pins(&mut used)?;
    let turned = check.firsts(&pins, &mut used)?;
    check.unnamed_policies_are_used(&used)?;
    check.leaving(&used)?;
    check.final_slices(&turned, &pins)
}

/// Checks what can be checked before the digest: that this is a map of this format, not truncated.
/// The first `PEEK` bytes of the file and its length are enough.
pub(crate) fn header(bytes: &[u8], file_length: u64) -> Result<Header> {
    if bytes.is_empty() {
        return broken(0, "the file is empty");
    }
    // compares as many bytes as there are: a short text file is reported as not a map, rather than
    // as a map that is too short
    if bytes.iter().zip(MAGIC).any(|(byte, magic)| *byte != magic) {
        return broken(
            0,
            "this is not a stead map: it does not start with the magic bytes",
        );
    }
    if bytes.len() < size_of::<Header>() {
        return broken(
            bytes.len(),
            format!(
                "the file ends after {} bytes, inside the header of a stead map",
                bytes.len()
            ),
        );
    }
    let header = Header::read(bytes, 0);
    let version = header.version;
    if version > VERSION {
        let needs =
            format!("the map has format {version}, but this stead only reads format {VERSION}");
        return Err(Error::Version { file: None, needs });
    }
    if version != VERSION {
        return broken(
            offset_of!(Header, version),
            format!("there is no map format {version}"),
        );
    }
    let unknown = header.features & !KNOWN_FEATURES;
    if unknown != 0 {
        let needs = format!(
            "the map needs feature {}, which this stead does not know",
            unknown.trailing_zeros()
        );
        return Err(Error::Version { file: None, needs });
    }
    let needed = header_length(header.features);
    if header.header_length as usize != needed {
        return broken(
            offset_of!(Header, header_length),
            format!("the header length must be {needed}"),
        );
    }
    let length = header.file_length;
    if length != file_length {
        let what = if file_length < length {
            "truncated"
        } else {
            "too long"
        };
        return broken(
            offset_of!(Header, file_length),
            format!("the file is {what}: it has {file_length} bytes but should have {length}"),
        );
    }
    Ok(header)
}

/// Checks the fixed fields of the header.
fn settings(header: &Header) -> Result<()> {
    if header.epoch == 0 {
        return broken(offset_of!(Header, epoch), "epochs start at 1");
    }
    for (offset, is_zero, what) in [
        (
            offset_of!(Header, map_id),
            header.map_id == [0; 16],
            "map id",
        ),
        (
            offset_of!(Header, parent),
            header.parent == [0; 32],
            "parent",
        ),
    ] {
        if is_zero != (header.epoch == 1) {
            return broken(
                offset,
                format!("the {what} must be zeros in epoch 1 and must not be in any other"),
            );
        }
    }
    if header.epoch == 2 && !header.parent.starts_with(&header.map_id) {
        return broken(
            offset_of!(Header, map_id),
            "in epoch 2 the map id must be the first 16 bytes of the parent",
        );
    }
    if header.algorithm != 1 {
        return broken(
            offset_of!(Header, algorithm),
            "the version of the algorithm must be 1",
        );
    }
    if !(1..=REPLICAS_MAX).contains(&header.replicas) {
        return broken(
            offset_of!(Header, replicas),
            format!("replicas must be 1 to {REPLICAS_MAX}"),
        );
    }
    let adopted = header.hash > Hash::SIPHASH;
    if adopted != (header.features & ADOPTED_HASH != 0) {
        return broken(
            offset_of!(Header, features),
            "feature 1 must be set when the number of the hash is above 4, and only then",
        );
    }
    Ok(())
}

/// Reads the hash, with its secret or its affixes, and the key rule stored in the same field. The
/// section of strings is known to be inside the file.
fn hash(bytes: &[u8], header: &Header, layout: &Layout) -> Result<(Hash, KeyRule)> {
    let stored = header.hash;
    let (key_rule, number) = KeyRule::from_stored(stored);
    let (secret, affixes) = match Hash::is_affixed(number) {
        false => (header.secret, Affixes::default()),
        true => ([0; 16], affixes(bytes, header, layout)?),
    };
    let Some(hash) = Hash::from_stored(number, secret, affixes) else {
        if stored > Hash::SIPHASH && !Hash::is_known(number) {
            let needs = format!("the map has the hash {stored}, which this stead does not know");
            return Err(Error::Version { file: None, needs });
        }
        return broken(
            offset_of!(Header, hash),
            "the hash is unknown, or there is a secret that it does not use",
        );
    };
    if hash.is_modulo() && header.cells == 0 {
        return broken(
            offset_of!(Header, cells),
            "with a hash modulo the number of cells, that number must be below 2^64",
        );
    }
    Ok((hash, key_rule))
}

/// Reads the two affixes, whose references replace the secret. They must be the first strings.
fn affixes(bytes: &[u8], header: &Header, layout: &Layout) -> Result<Affixes> {
    let place = offset_of!(Header, secret);
    let refs = AffixRefs::read(&header.secret, 0);
    let mut used = 0;
    let mut next = |string: StringRef, field: usize| {
        let (offset, length) = (string.offset as usize, string.length as usize);
        if offset != used || length > AFFIX_MAX || used + length > layout.count(STRINGS) {
            return broken(
                place + field,
                format!(
                    "the prefix and suffix of keys must be the first strings, of at most \
                     {AFFIX_MAX} bytes each"
                ),
            );
        }
        used += length;
        Ok(layout.string(bytes, string).to_vec())
    };
    let affixes = Affixes {
        prefix: next(refs.prefix, offset_of!(AffixRefs, prefix))?,
        suffix: next(refs.suffix, offset_of!(AffixRefs, suffix))?,
    };
    match affixes == Affixes::default() {
        true => broken(place, "the prefix and suffix of keys are both empty"),
        false => Ok(affixes),
    }
}

/// Checks the section table: order, sizes, offsets, and zeros between sections.
fn sections(bytes: &[u8], header: &Header) -> Result<Layout> {
    let needed = section_count(header.features);
    if header.section_count as usize != needed {
        return broken(
            offset_of!(Header, section_count),
            format!("there must be {needed} sections"),
        );
    }
    let mut extents = [Extent::default(); SECTIONS.len()];
    let mut end = header_length(header.features);
    for (i, (number_of_extent, section)) in sections_of(header.features).enumerate() {
        let Some(extent) = extents.get_mut(number_of_extent) else {
            break;
        };
        let place = size_of::<Header>() + i * size_of::<SectionEntry>();
        let entry = SectionEntry::read(bytes, place);
        let (number, size) = (section.number, section.record_size);
        if entry.number != number || entry.record_size != size {
            return broken(
                place,
                format!("this must be section {number}, with records of {size} bytes"),
            );
        }
        let start = end.next_multiple_of(8);
        if entry.offset != start as u64 {
            return broken(
                place + offset_of!(SectionEntry, offset),
                format!("section {number} must start at byte {start}"),
            );
        }
        let length = u128::from(entry.count) * u128::from(size);
        // the padding before an empty last section is part of the file, too
        if start > bytes.len() || length > (bytes.len() - start) as u128 {
            return broken(
                place + offset_of!(SectionEntry, count),
                format!("section {number} does not fit into the file"),
            );
        }
        if bytes
            .get(end..start)
            .is_some_and(|padding| padding.iter().any(|b| *b != 0))
        {
            return broken(end, "bytes between sections must be zero");
        }
        *extent = Extent {
            offset: start,
            count: entry.count as usize,
        };
        end = start + length as usize;
    }
    if end != bytes.len() {
        return broken(end, "there are bytes after the last section");
    }
    Ok(Layout {
        extents,
        index_bits: header.index_bits,
    })
}
