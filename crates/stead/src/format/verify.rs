//! Verifying: every rule of docs/map-format.md, in its order, before anything of a map is handed
//! out.
//!
//! The digest comes first, against accidents; the structure is checked all the same, since whoever
//! writes a hostile file can write its digest too. All arithmetic on numbers of the file is checked
//! or in `u128`.

use super::encode::digest;
use super::layout::{
    array_at, at, header_length, section_count, u32_at, u64_at, Layout, Record, Section,
    ADOPTED_HASH, ENTRY, GRADUAL, MAGIC, RECORD_SIZES, TWICE, VERSION,
};
use super::rules::rules;
use super::Digest;
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Hash, KeyRule, AFFIX_MAX};

/// What verifying found out.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Where the sections are.
    pub layout: Layout,
    /// The hash of the map, with its secret.
    pub hash: Hash,
    /// What of a key is hashed.
    pub key_rule: KeyRule,
    /// The cells of the map.
    pub cells: Cells,
    /// The digest, which fits.
    pub digest: Digest,
}

/// Checks every rule. Errors carry the offset of the first broken one, and no file name: the caller
/// adds it.
///
/// Cost: one SHA-256 over the bytes and one pass over the records.
pub fn verify(bytes: &[u8]) -> Result<Checked> {
    header(bytes, bytes.len() as u64)?;
    let stored: Digest = array_at(bytes, at::DIGEST);
    if digest(bytes) != stored {
        return Err(Error::Digest { file: None });
    }
    let cells = settings(bytes)?;
    let layout = sections(bytes)?;
    let (hash, key_rule) = hash(bytes, &layout)?;
    rules(bytes, layout, &hash, key_rule, cells)?;
    Ok(Checked {
        layout,
        hash,
        key_rule,
        cells,
        digest: stored,
    })
}

/// A broken rule at an offset.
pub(super) fn broken<T>(offset: usize, problem: impl Into<String>) -> Result<T> {
    Err(Error::Format {
        file: None,
        offset: offset as u64,
        problem: problem.into(),
    })
}

/// What can be said before the digest: is it a map, of this format, whole? The first `PEEK` bytes of
/// the file are enough, with its length.
pub(crate) fn header(bytes: &[u8], file_length: u64) -> Result<()> {
    if bytes.is_empty() {
        return broken(0, "the file is empty");
    }
    // as far as there are bytes: a short text that was named by mistake is told what it is, not
    // that it is short
    if bytes.iter().zip(MAGIC).any(|(byte, magic)| *byte != magic) {
        return broken(
            0,
            "this is not a stead map: it does not start with the magic bytes",
        );
    }
    if bytes.len() < at::SECTIONS {
        return broken(
            bytes.len(),
            format!(
                "the file ends after {} bytes, before the header of a stead map does",
                bytes.len()
            ),
        );
    }
    let version = u32_at(bytes, at::VERSION);
    if version > VERSION {
        let needs = format!("the map has format {version}, and this stead reads format {VERSION}");
        return Err(Error::Version { file: None, needs });
    }
    if version != VERSION {
        return broken(at::VERSION, format!("there is no map format {version}"));
    }
    let features = u64_at(bytes, at::FEATURES);
    let unknown = features & !(GRADUAL | ADOPTED_HASH | TWICE);
    if unknown != 0 {
        let needs = format!(
            "the map needs feature {}, which this stead does not know",
            unknown.trailing_zeros()
        );
        return Err(Error::Version { file: None, needs });
    }
    let needed = header_length(features);
    if u32_at(bytes, at::HEADER_LENGTH) as usize != needed {
        return broken(
            at::HEADER_LENGTH,
            format!("the header length must be {needed}"),
        );
    }
    let length = u64_at(bytes, at::FILE_LENGTH);
    if length != file_length {
        let what = if file_length < length {
            "truncated"
        } else {
            "too long"
        };
        return broken(
            at::FILE_LENGTH,
            format!("the file is {what}: it has {file_length} bytes and should have {length}"),
        );
    }
    Ok(())
}

/// The fixed fields of the header.
fn settings(bytes: &[u8]) -> Result<Cells> {
    let epoch = u64_at(bytes, at::EPOCH);
    let zero = |offset: usize, length: usize| {
        bytes
            .get(offset..offset + length)
            .is_some_and(|b| b.iter().all(|b| *b == 0))
    };
    if epoch == 0 {
        return broken(at::EPOCH, "epochs start at 1");
    }
    for (offset, length, what) in [(at::MAP_ID, 16, "map id"), (at::PARENT, 32, "parent")] {
        if zero(offset, length) != (epoch == 1) {
            return broken(
                offset,
                format!("the {what} must be zeros in epoch 1 and only there"),
            );
        }
    }
    let parent: [u8; 16] = array_at(bytes, at::PARENT);
    if epoch == 2 && parent != array_at(bytes, at::MAP_ID) {
        return broken(
            at::MAP_ID,
            "in epoch 2 the map id must be the first 16 bytes of the parent",
        );
    }
    if u32_at(bytes, at::ALGORITHM) != 1 {
        return broken(at::ALGORITHM, "the version of the algorithm must be 1");
    }
    if !(1..=255).contains(&u32_at(bytes, at::REPLICAS)) {
        return broken(at::REPLICAS, "replicas must be 1 to 255");
    }
    let adopted = u32_at(bytes, at::HASH) > Hash::SIPHASH;
    if adopted != (u64_at(bytes, at::FEATURES) & ADOPTED_HASH != 0) {
        return broken(
            at::FEATURES,
            "feature 1 must be set when the number of the hash is above 4, and only then",
        );
    }
    Ok(Cells::from_stored(u64_at(bytes, at::CELLS)))
}

/// The hash, with its secret or its affixes, and the key rule beside it. The section of strings is
/// inside the file.
fn hash(bytes: &[u8], layout: &Layout) -> Result<(Hash, KeyRule)> {
    let stored = u32_at(bytes, at::HASH);
    let (key_rule, number) = KeyRule::from_stored(stored);
    let (secret, affixes) = match Hash::is_affixed(number) {
        false => (array_at(bytes, at::SECRET), Affixes::default()),
        true => ([0; 16], affixes(bytes, layout)?),
    };
    let Some(hash) = Hash::from_stored(number, secret, affixes) else {
        if stored > Hash::SIPHASH && !Hash::is_known(number) {
            let needs = format!("the map has the hash {stored}, which this stead does not know");
            return Err(Error::Version { file: None, needs });
        }
        return broken(
            at::HASH,
            "the hash is unknown, or has a secret that it does not take",
        );
    };
    if hash.is_modulo() && u64_at(bytes, at::CELLS) == 0 {
        return broken(
            at::CELLS,
            "a hash modulo the cells needs their number, below 2^64",
        );
    }
    Ok((hash, key_rule))
}

/// The two strings that stand in the place of the secret; they are the first.
fn affixes(bytes: &[u8], layout: &Layout) -> Result<Affixes> {
    let mut used = 0;
    let mut next = |place: usize| {
        let (offset, length) = (
            u32_at(bytes, place) as usize,
            u32_at(bytes, place + 4) as usize,
        );
        if offset != used || length > AFFIX_MAX || used + length > layout.count(Record::Strings) {
            return broken(
                place,
                format!(
                    "prefix and suffix of the keys are the first strings, of \
                at most {AFFIX_MAX} bytes"
                ),
            );
        }
        used += length;
        let start = layout.offset(Record::Strings, offset);
        Ok(bytes.get(start..start + length).unwrap_or(&[]).to_vec())
    };
    let affixes = Affixes {
        prefix: next(at::SECRET)?,
        suffix: next(at::SECRET + 8)?,
    };
    match affixes == Affixes::default() {
        true => broken(at::SECRET, "prefix and suffix of the keys are both empty"),
        false => Ok(affixes),
    }
}

/// The section table: order, sizes, places, and zeros in between.
fn sections(bytes: &[u8]) -> Result<Layout> {
    let features = u64_at(bytes, at::FEATURES);
    let needed = section_count(features);
    if u32_at(bytes, at::SECTION_COUNT) as usize != needed {
        return broken(
            at::SECTION_COUNT,
            format!("there must be {needed} sections"),
        );
    }
    let mut sections = [Section::default(); RECORD_SIZES.len()];
    let mut end = header_length(features);
    for (i, (section, size)) in sections
        .iter_mut()
        .zip(RECORD_SIZES)
        .take(needed)
        .enumerate()
    {
        let entry = at::SECTIONS + i * ENTRY;
        if u32_at(bytes, entry) as usize != i + 1 || u32_at(bytes, entry + 4) != size {
            return broken(
                entry,
                format!(
                    "section {} must stand here, with records of {size} bytes",
                    i + 1
                ),
            );
        }
        let start = end.next_multiple_of(8);
        if u64_at(bytes, entry + 8) != start as u64 {
            return broken(
                entry + 8,
                format!("section {} must start at byte {start}", i + 1),
            );
        }
        let count = u64_at(bytes, entry + 16);
        let length = u128::from(count) * u128::from(size);
        // the padding before an empty last section belongs to the file, too
        if start > bytes.len() || length > (bytes.len() - start) as u128 {
            return broken(
                entry + 16,
                format!("section {} does not fit into the file", i + 1),
            );
        }
        if bytes
            .get(end..start)
            .is_some_and(|padding| padding.iter().any(|b| *b != 0))
        {
            return broken(end, "bytes between sections must be zero");
        }
        *section = Section {
            offset: start,
            count: count as usize,
        };
        end = start + length as usize;
    }
    if end != bytes.len() {
        return broken(end, "there are bytes after the last section");
    }
    Ok(Layout {
        sections,
        index_bits: u32_at(bytes, at::INDEX_BITS),
    })
}
