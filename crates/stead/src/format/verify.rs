//! Verifying: checks every rule of docs/map-format.md, in the order of that page, before anything
//! of a map is handed out.
//!
//! The digest comes first and finds accidental damage. The structure is checked as well, because
//! the author of a hostile file can write a matching digest. All arithmetic on numbers from the
//! file is checked or done in `u128`.

use std::mem::{offset_of, size_of};

use super::carried::Carry;
use super::check::{broken, Check};
use super::encode::{digest, Sealed};
use super::layout::{Extent, Layout};
use super::records::{
    header_length, is_saved_plan, section_count, sections_of, AffixRefs, CarryRecord, Digest,
    Header, SectionEntry, Stored, StringRef, ADOPTED_HASH, BASE_POINTS, CARRY, CARRYING, FIRSTS,
    FOR_EVERY_READER, KNOWN_FEATURES, MAGIC, MEMBERS, NODES, PINS, POLICIES, SECTIONS, STRINGS,
    TOLERANCE, TOLERANT, VERSION,
};
use super::slice_rules::Used;
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Affixes, Hash, KeyRule, AFFIX_MAX};
use crate::memory;
use crate::policy::{NODES_MAX, REPLICAS_MAX};
use crate::tolerance::Tolerance;

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
    rules(bytes, header)
}

/// Like [`verify`], for bytes that `encode_sealed` has just made. Every other rule is checked.
pub(crate) fn verify_sealed(sealed: &Sealed) -> Result<Checked> {
    let bytes = sealed.bytes();
    rules(bytes, header(bytes, bytes.len() as u64)?)
}

/// Checks the rules that come after the digest.
fn rules(bytes: &[u8], header: Header) -> Result<Checked> {
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
    let _room = memory::room(need(check))?;
    check.strings_nodes_policies()?;
    let mut used = Used::of(check)?;
    check.base_slices(&mut used)?;
    check.target_slices(&mut used)?;
    let pins = check.pins(&mut used)?;
    let turned = check.firsts(&pins, &mut used)?;
    check.unnamed_policies_are_used(&used)?;
    check.leaving(&used)?;
    check.final_slices(&turned, &pins)?;
    carry(check)?;
    tolerance(check)
}

/// The most bytes that the checks take: what they note of each node and policy, and, where there
/// are pins or firsts, the slices as they are laid over each other. A file says how many there are,
/// but each of them takes bytes of the file. tests/memory.rs compares this with what is really
/// used.
fn need(check: &Check) -> u64 {
    // two lists of the nodes of a policy, which double
    let longest = check.count(MEMBERS).min(NODES_MAX);
    let noted = 5 * check.count(NODES) + check.count(POLICIES) + 24 * longest;
    let by_hand = check.count(PINS) + check.count(FIRSTS);
    let mut need = noted + 40 * by_hand;
    if by_hand > 0 {
        // three lists of slices, which double, and the parts under firsts
        need += 150 * (check.count(BASE_POINTS) + 2 * by_hand);
    }
    if check.count(FIRSTS) > 0 {
        // the unnamed policies by their nodes
        need += 120 * check.count(POLICIES) + 8 * check.count(MEMBERS);
    }
    need as u64
}

/// What a file is that does not begin as a map does, as far as its first bytes tell.
fn no_map(bytes: &[u8]) -> &'static str {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    if is_saved_plan(bytes) {
        "this is not a stead map but a saved plan, which `stead apply` carries out"
    } else if bytes.iter().take(64).all(is_text) {
        "this is not a stead map but a text; of a fleet, `stead apply` makes a map"
    } else {
        "this is not a stead map: it does not start with the magic bytes"
    }
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
        return broken(0, no_map(bytes));
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
    if unknown & FOR_EVERY_READER != 0 {
        return Err(needs_feature(unknown));
    }
    let needed = header_length(sections_needed(&header));
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

/// Returns the error for a map with unknown features.
fn needs_feature(unknown: u64) -> Error {
    let needs = format!(
        "the map needs feature {}, which this stead does not know",
        unknown.trailing_zeros()
    );
    Error::Version { file: None, needs }
}

/// Checks that a program which computes the next map or judges a map knows all features of this
/// one. The error names the first feature that this stead does not know.
pub(crate) fn all_known(features: u64) -> Result<()> {
    match features & !KNOWN_FEATURES {
        0 => Ok(()),
        unknown => Err(needs_feature(unknown)),
    }
}

/// Returns how many sections there must be. A map with unknown features, which are not for every
/// reader, may have sections that this stead does not know, and says how many.
fn sections_needed(header: &Header) -> usize {
    let known = section_count(header.features);
    match header.features & !KNOWN_FEATURES {
        0 => known,
        _ => known.max(header.section_count as usize),
    }
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
    if header.algorithm == 0 {
        return broken(
            offset_of!(Header, algorithm),
            "the versions of the algorithm start at 1",
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
    let needed = sections_needed(header);
    if header.section_count as usize != needed {
        return broken(
            offset_of!(Header, section_count),
            format!("there must be {needed} sections"),
        );
    }
    let mut extents = [Extent::default(); SECTIONS.len()];
    let mut end = header_length(needed);
    let mut known = sections_of(header.features);
    let mut last = SECTIONS.len() as u32;
    for i in 0..needed {
        let place = size_of::<Header>() + i * size_of::<SectionEntry>();
        let entry = SectionEntry::read(bytes, place);
        let extent = match known.next() {
            Some((number_of_extent, section)) => {
                let (number, size) = (section.number, section.record_size);
                if entry.number != number || entry.record_size != size {
                    return broken(
                        place,
                        format!("this must be section {number}, with records of {size} bytes"),
                    );
                }
                extents.get_mut(number_of_extent)
            }
            // a section that only others read
            None if entry.number <= last => {
                return broken(
                    place,
                    format!("after section {last} there must be one with a higher number"),
                );
            }
            None => {
                last = entry.number;
                None
            }
        };
        let here = place_of(bytes, place, entry, end)?;
        end = here.offset + here.count * entry.record_size as usize;
        if let Some(extent) = extent {
            *extent = here;
        }
    }
    if end != bytes.len() {
        return broken(end, "there are bytes after the last section");
    }
    Ok(Layout {
        extents,
        index_bits: header.index_bits,
    })
}

/// Checks where a section lies: after the one before it, which ends at `end`, and inside the file.
/// `place` is the offset of its entry in the section table.
fn place_of(bytes: &[u8], place: usize, entry: SectionEntry, end: usize) -> Result<Extent> {
    let number = entry.number;
    let start = end.next_multiple_of(8);
    if entry.offset != start as u64 {
        return broken(
            place + offset_of!(SectionEntry, offset),
            format!("section {number} must start at byte {start}"),
        );
    }
    let length = u128::from(entry.count) * u128::from(entry.record_size);
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
    Ok(Extent {
        offset: start,
        count: entry.count as usize,
    })
}

/// Checks the carry, where one is open.
fn carry(check: &Check) -> Result<()> {
    if !check.has(CARRYING) {
        return Ok(());
    }
    let (place, header) = (check.at(CARRY, 0), &check.header);
    if check.count(CARRY) != 1 {
        return broken(place, "there must be one carry");
    }
    let record: CarryRecord = check.read(CARRY, 0);
    let Some(carry) = Carry::of_record(&record) else {
        return broken(
            place,
            "a carry has one of the states 1 to 4, and no flag but that it is reversed, which the \
             states 1 and 2 may have",
        );
    };
    if carry.from_epoch == 0 || carry.from_epoch >= header.epoch {
        return broken(
            place + offset_of!(CarryRecord, from_epoch),
            "the map where the data was must have an earlier epoch",
        );
    }
    let digest = carry.from_digest;
    if digest == [0; 32]
        || (carry.from_epoch == 1 && !digest.starts_with(&header.map_id))
        || ((carry.from_epoch + 1 == header.epoch) != (digest == header.parent))
    {
        return broken(
            place + offset_of!(CarryRecord, from_digest),
            "the digest is not one of a map with the epoch where the data was",
        );
    }
    Ok(())
}

/// Checks the tolerance, where the map has one.
fn tolerance(check: &Check) -> Result<()> {
    if !check.has(TOLERANT) {
        return Ok(());
    }
    let record = check.read(TOLERANCE, 0);
    if check.count(TOLERANCE) != 1
        || Tolerance::from_millionths(record.millionths).is_none()
        || record.zero != 0
    {
        return broken(
            check.at(TOLERANCE, 0),
            "there must be one tolerance, from 1 to 100000 millionths, and after it zeros",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::super::records::{
        index_bits, FirstRecord, PinRecord, Section, FINAL_POINTS, FINAL_POLICIES, INDEX,
    };
    use super::*;
    use crate::{build, Fleet};

    fn map(text: &str) -> crate::Map {
        build(&Fleet::parse(text, "fleet").unwrap(), None).unwrap()
    }

    /// Looks at the records of a file whose header and sections are sound.
    fn looked<T>(bytes: &[u8], look: impl FnOnce(&Check) -> T) -> T {
        let header = header(bytes, bytes.len() as u64).unwrap();
        let layout = sections(bytes, &header).unwrap();
        let (hash, key_rule) = hash(bytes, &header, &layout).unwrap();
        let cells = Cells::from_stored(header.cells);
        look(&Check {
            bytes,
            header,
            layout,
            hash: &hash,
            key_rule,
            cells,
        })
    }

    /// tests/memory.rs compares the bound with what is used; this finds a part that is missing.
    #[test]
    fn what_pins_and_firsts_take_comes_on_top() {
        for (more, by_hand, firsts) in [
            ("", 0, 0),
            ("pin = [{key = 'k', nodes = ['a', 'b']}]", 1, 0),
            (
                "pin = [{key = 'k', nodes = ['a', 'b']}, {key = 'l', nodes = ['a', 'b']}]",
                2,
                0,
            ),
            ("first = [{key = 'k', node = 'a'}]", 1, 1),
        ] {
            let map = map(&format!(
                "name = 'm'\nreplicas = 2\n{more}\n\
                 node = [{{name = 'a'}}, {{name = 'b'}}, {{name = 'c'}}]"
            ));
            looked(map.bytes(), |check| {
                let (policies, members) = (check.count(POLICIES), check.count(MEMBERS));
                let noted = 5 * 3 + policies + 24 * members + 40 * by_hand;
                let lists = match by_hand {
                    0 => 0,
                    _ => 150 * (check.count(BASE_POINTS) + 2 * by_hand),
                };
                let unnamed = firsts * (120 * policies + 8 * members);
                assert_eq!(need(check), (noted + lists + unnamed) as u64, "{more}");
            });
        }
    }

    /// The quick way must say yes to a right index, or every map is checked the slow way.
    #[test]
    fn an_index_is_right_the_quick_way_exactly_if_each_entry_is() {
        let nodes: String = (0..40).map(|n| format!("{{name = 'n{n}'}},")).collect();
        let map = map(&format!("name = 'm'\nnode = [{nodes}]"));
        let (mut bytes, place, bits) = looked(map.bytes(), |check| {
            let bits = index_bits(check.count(BASE_POINTS));
            assert!(bits > 3 && check.index_is_right(BASE_POINTS, bits));
            (check.bytes.to_vec(), check.at(INDEX, 0), bits)
        });
        for entry in (0..=1 << bits).map(|entry| place + 4 * entry) {
            let is = u32::read(&bytes, entry);
            for wrong in [is.wrapping_sub(1), is + 1] {
                bytes[entry..entry + 4].copy_from_slice(&wrong.to_le_bytes());
                let found = looked(&bytes, |check| check.index_is_right(BASE_POINTS, bits));
                assert!(!found, "{wrong} for {is}");
            }
            bytes[entry..entry + 4].copy_from_slice(&is.to_le_bytes());
        }
    }

    /// What is said of a file whose header and sections are sound.
    fn refused(bytes: &[u8]) -> String {
        looked(bytes, |check| records(check).unwrap_err().to_string())
    }

    #[test]
    fn a_first_by_key_has_both_bounds_of_its_cell() {
        let map = map(
            "name = 'm'\nreplicas = 2\nfirst = [{key = 'k', node = 'a'}]\n\
             node = [{name = 'a'}, {name = 'b'}, {name = 'c'}]",
        );
        let place = looked(map.bytes(), |check| check.at(FIRSTS, 0));
        for (field, by) in [
            (offset_of!(FirstRecord, first), u64::MAX),
            (offset_of!(FirstRecord, last), 1),
        ] {
            let mut bytes = map.bytes().to_vec();
            let at = place + field;
            let other = u64::read(&bytes, at).wrapping_add(by);
            bytes[at..at + 8].copy_from_slice(&other.to_le_bytes());
            let said = refused(&bytes);
            let wanted = format!("byte {place}: a first by key must cover exactly");
            assert!(said.starts_with(&wanted), "{said}");
        }
    }

    #[test]
    fn a_first_with_wrong_flags_is_named_by_them() {
        let map = map(
            "name = 'm'\nreplicas = 2\nfirst = [{key = 'k', node = 'a'}]\n\
             node = [{name = 'a'}, {name = 'b'}, {name = 'c'}]",
        );
        let place = looked(map.bytes(), |check| check.at(FIRSTS, 0));
        let place = place + offset_of!(FirstRecord, flags);
        let mut bytes = map.bytes().to_vec();
        bytes[place] |= 2;
        let said = refused(&bytes);
        assert!(
            said.starts_with(&format!("byte {place}: the flags of a first")),
            "{said}"
        );
    }

    /// Returns the bytes of a map in which one field of 32 bits is larger by `by`.
    fn patched(map: &crate::Map, place: usize, by: u32) -> Vec<u8> {
        let mut bytes = map.bytes().to_vec();
        let value = u32::read(&bytes, place).wrapping_add(by);
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    }

    #[test]
    fn the_keys_of_pins_and_firsts_are_the_last_strings_and_named_where_they_are_not() {
        let nodes = "node = [{name = 'a'}, {name = 'b'}]";
        let (offset, length) = (offset_of!(StringRef, offset), offset_of!(StringRef, length));
        let pin = map(&format!(
            "name = 'm'\n{nodes}\npin = [{{key = 'k', nodes = ['a']}}]"
        ));
        let first = map(&format!(
            "name = 'm'\nreplicas = 2\n{nodes}\nfirst = [{{key = 'k', node = 'a'}}]"
        ));
        let of_pin = looked(pin.bytes(), |check| check.at(PINS, 0)) + offset_of!(PinRecord, key);
        let of_first =
            looked(first.bytes(), |check| check.at(FIRSTS, 0)) + offset_of!(FirstRecord, key);
        for (map, place) in [(&pin, of_pin), (&first, of_first)] {
            let said = refused(&patched(map, place + offset, 1));
            let told = format!("byte {place}: the string must lie at ");
            assert!(said.starts_with(&told), "{said}");
            let said = refused(&patched(map, place + length, 1));
            let told = format!(
                "byte {}: the string reaches beyond section 1",
                place + length
            );
            assert!(said.starts_with(&told), "{said}");
        }
    }

    #[test]
    fn no_node_has_more_labels_than_there_are_left() {
        let map = map("name = 'm'\nnode = [{name = 'a', labels = {zone = 'x'}}, \
             {name = 'b', labels = {zone = 'y'}}]");
        let place = looked(map.bytes(), |check| check.at(NODES, 1));
        let count = offset_of!(crate::format::records::NodeRecord, labels)
            + offset_of!(crate::format::records::Run, count);
        let said = refused(&patched(&map, place + count, 1));
        let told = format!("byte {}: the run reaches beyond its section", place + count);
        assert!(said.starts_with(&told), "{said}");
    }

    /// Adds a record of zeros to an empty section of a map.
    fn with_record<R>(bytes: &[u8], section: Section<R>) -> Vec<u8> {
        let place = looked(bytes, |check| check.at(section, 0));
        let this = section.of(&SECTIONS);
        let size = (this.record_size as usize).next_multiple_of(8);
        let mut longer = [&bytes[..place], &vec![0; size], &bytes[place..]].concat();
        let mut add = |at: usize, more: usize| {
            let sum = u64::read(&longer, at) + more as u64;
            longer[at..at + 8].copy_from_slice(&sum.to_le_bytes());
        };
        add(offset_of!(Header, file_length), size);
        let header = header(bytes, bytes.len() as u64).unwrap();
        for number in 0..header.section_count as usize {
            let entry = size_of::<Header>() + number * size_of::<SectionEntry>();
            match SectionEntry::read(bytes, entry).number.cmp(&this.number) {
                Ordering::Less => {}
                Ordering::Equal => add(entry + offset_of!(SectionEntry, count), 1),
                Ordering::Greater => add(entry + offset_of!(SectionEntry, offset), size),
            }
        }
        longer
    }

    #[test]
    fn without_pins_there_is_no_final_slice_nor_the_policy_of_one() {
        let map = map("name = 'm'\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c'}]");
        let said = [
            refused(&with_record(map.bytes(), FINAL_POINTS)),
            refused(&with_record(map.bytes(), FINAL_POLICIES)),
        ];
        for said in said {
            let told = "without pins and firsts there must be no final slices";
            assert!(said.contains(told), "{said}");
        }
    }

    #[test]
    fn the_affixes_of_a_hash_are_the_first_strings_of_at_most_255_bytes() {
        let affixed = |prefix: usize, suffix: usize| {
            let affixes = Affixes {
                prefix: vec![b'p'; prefix],
                suffix: vec![b's'; suffix],
            };
            let parts = crate::format::Parts {
                hash: Hash::of(crate::hash::Function::Md5, false, affixes),
                ..map("name = 'm'\nnode = [{name = 'a'}]").to_parts()
            };
            super::super::encode::encode(&parts)
        };
        for (prefix, suffix) in [(255, 0), (0, 255), (255, 255)] {
            verify(&affixed(prefix, suffix)).unwrap();
        }
        let refs = offset_of!(Header, secret);
        let of_prefix = refs + offset_of!(AffixRefs, prefix);
        let of_suffix = refs + offset_of!(AffixRefs, suffix);
        let (offset, length) = (offset_of!(StringRef, offset), offset_of!(StringRef, length));
        let cases = [
            // too long, although the strings are longer
            (of_prefix + length, 256, of_prefix),
            (of_suffix + length, 256, of_suffix),
            // elsewhere
            (of_prefix + offset, 1, of_prefix),
            (of_suffix + offset, 254, of_suffix),
            // beyond the strings
            (of_suffix + length, 250, of_suffix),
        ];
        for (number, (at, value, place)) in cases.into_iter().enumerate() {
            let mut bytes = match number {
                4 => affixed(200, 1),
                _ => affixed(255, 255),
            };
            bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
            let header = header(&bytes, bytes.len() as u64).unwrap();
            let layout = sections(&bytes, &header).unwrap();
            let said = hash(&bytes, &header, &layout).unwrap_err().to_string();
            let told = format!("byte {place}: the prefix and suffix of keys must be the first");
            assert!(said.starts_with(&told), "{number}: {said}");
        }
    }

    #[test]
    fn a_newer_format_needs_a_newer_stead_and_format_0_is_none() {
        let map = map("name = 'm'\nnode = [{name = 'a'}]");
        let version = offset_of!(Header, version);
        for (number, status) in [
            (VERSION + 1, crate::Status::Version),
            (0, crate::Status::Format),
        ] {
            let mut bytes = map.bytes().to_vec();
            bytes[version..version + 4].copy_from_slice(&number.to_le_bytes());
            let error = super::header(&bytes, bytes.len() as u64).err().unwrap();
            assert_eq!(error.status(), status, "{error}");
        }
    }
}
