//! The layout of a map file: its header, its sections and the fields of their records, with the
//! names of docs/map-format.md. A test compares this file with that page.
//!
//! A record is a struct whose fields have the order of the file, so encoder, rules and reader name
//! fields and never use offsets. A [`Section`] has the type of its records, so using a field of
//! another section's record does not compile.

use std::marker::PhantomData;
use std::mem::{offset_of, size_of};

/// The digest of a map: the SHA-256 of the whole file with the digest's own 32 bytes as zeros.
pub type Digest = [u8; 32];
/// The first 16 bytes of the digest of epoch 1, which identify all epochs of one map.
pub type MapId = [u8; 16];

/// A value that is stored in `size_of::<Self>()` bytes of a map file, little-endian.
pub(crate) trait Stored: Copy {
    /// Reads the value at offset `at`. If the file ends before, reads zeros; a verified layout
    /// rules this out.
    fn read(bytes: &[u8], at: usize) -> Self;

    /// Appends the bytes of the value.
    fn write(self, out: &mut Vec<u8>);
}

impl<const N: usize> Stored for [u8; N] {
    #[inline]
    fn read(bytes: &[u8], at: usize) -> [u8; N] {
        // no slice is longer than this, so it changes nothing, but the end needs no own check
        let at = at & (usize::MAX >> 1);
        let found = bytes.get(at..at + N);
        found.and_then(|b| b.try_into().ok()).unwrap_or([0; N])
    }

    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self);
    }
}

impl Stored for u8 {
    #[inline]
    fn read(bytes: &[u8], at: usize) -> u8 {
        u8::from_le_bytes(Stored::read(bytes, at))
    }

    fn write(self, out: &mut Vec<u8>) {
        self.to_le_bytes().write(out);
    }
}

impl Stored for u32 {
    #[inline]
    fn read(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(Stored::read(bytes, at))
    }

    fn write(self, out: &mut Vec<u8>) {
        self.to_le_bytes().write(out);
    }
}

impl Stored for u64 {
    #[inline]
    fn read(bytes: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(Stored::read(bytes, at))
    }

    fn write(self, out: &mut Vec<u8>) {
        self.to_le_bytes().write(out);
    }
}

/// A field of a record. (Only the tests read the names, which they compare with the documentation;
/// and Rust 1.85 does not see the uses within `const _`, here and below.)
#[cfg_attr(not(test), allow(dead_code))]
struct Field {
    name: &'static str,
    of: &'static str,
    offset: usize,
    size: usize,
}

/// Whether the fields lie in memory as they lie in the file: in this order, without gaps.
#[cfg_attr(not(test), allow(dead_code))]
const fn without_gaps(fields: &[Field], size: usize) -> bool {
    let (mut rest, mut end) = (fields, 0);
    while let [first, others @ ..] = rest {
        if first.offset != end {
            return false;
        }
        end += first.size;
        rest = others;
    }
    end == size
}

macro_rules! record {
    ($(#[$about:meta])* $record:ident { $($(#[$says:meta])* $field:ident: $of:ty,)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) struct $record {
            $($(#[$says])* pub(crate) $field: $of,)*
        }

        impl $record {
            #[cfg_attr(not(test), allow(dead_code))]
            const FIELDS: &'static [Field] = &[$(Field {
                name: stringify!($field),
                of: stringify!($of),
                offset: offset_of!($record, $field),
                size: size_of::<$of>(),
            }),*];
        }

        const _: () = assert!(without_gaps($record::FIELDS, size_of::<$record>()));

        impl Stored for $record {
            #[inline]
            fn read(bytes: &[u8], at: usize) -> $record {
                $record {
                    $($field: Stored::read(bytes, at + offset_of!($record, $field)),)*
                }
            }

            fn write(self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }
        }
    };
}

record! {
    /// Where a string lies in the section of strings.
    StringRef { offset: u32, length: u32, }
}

record! {
    /// A run of records in another section that belong to this record.
    Run { first: u32, count: u32, }
}

record! {
    /// The header, which a map begins with.
    Header {
        magic: [u8; 8],
        version: u32,
        header_length: u32,
        file_length: u64,
        features: u64,
        map_id: MapId,
        epoch: u64,
        algorithm: u32,
        replicas: u32,
        parent: Digest,
        digest: Digest,
        hash: u32,
        max_slices: u32,
        cells: u64,
        secret: [u8; 16],
        name: StringRef,
        index_bits: u32,
        section_count: u32,
    }
}

record! {
    /// References to the two affixes, stored in the place of the header's secret if the hash has
    /// affixes.
    AffixRefs { prefix: StringRef, suffix: StringRef, }
}

record! {
    /// An entry of the section table.
    SectionEntry { number: u32, record_size: u32, offset: u64, count: u64, }
}

record! {
    /// A node.
    NodeRecord {
        name: StringRef,
        formerly: StringRef,
        /// in millionths
        weight: u64,
        labels: Run,
        attributes: Run,
    }
}

record! {
    /// A label or an attribute.
    PairRecord { name: StringRef, value: StringRef, }
}

record! {
    /// A policy.
    PolicyRecord {
        name: StringRef,
        kind: StringRef,
        /// in millionths
        weight: u64,
        members: Run,
        flags: u32,
        zero: u32,
    }
}

impl PolicyRecord {
    /// The flag of a policy that the fleet names.
    pub(crate) const NAMED: u32 = 1;
    /// The flag of a named policy that has a weight.
    pub(crate) const WEIGHTED: u32 = 2;

    pub(crate) fn is_named(&self) -> bool {
        self.flags & PolicyRecord::NAMED != 0
    }

    pub(crate) fn is_weighted(&self) -> bool {
        self.flags & PolicyRecord::WEIGHTED != 0
    }
}

record! {
    /// A pin.
    PinRecord { first: u64, last: u64, policy: u32, flags: u32, key: StringRef, }
}

impl PinRecord {
    /// The flag of a pin by key.
    pub(crate) const BY_KEY: u32 = 1;
    /// The flag of a short pin.
    pub(crate) const SHORT: u32 = 2;

    pub(crate) fn is_by_key(&self) -> bool {
        self.flags & PinRecord::BY_KEY != 0
    }

    pub(crate) fn is_short(&self) -> bool {
        self.flags & PinRecord::SHORT != 0
    }
}

record! {
    /// A first: a node that answers first in a range of points.
    FirstRecord { first: u64, last: u64, node: u32, flags: u32, key: StringRef, }
}

impl FirstRecord {
    /// The flag of a first by key.
    pub(crate) const BY_KEY: u32 = 1;

    pub(crate) fn is_by_key(&self) -> bool {
        self.flags & FirstRecord::BY_KEY != 0
    }
}

record! {
    /// A carry that is open.
    CarryRecord { state: u32, flags: u32, from_epoch: u64, from_digest: Digest, }
}

impl CarryRecord {
    /// The flag of a carry that is being reversed.
    pub(crate) const REVERSE: u32 = 1;
}

record! {
    /// How far shares may be from their targets, in millionths of the target.
    ToleranceRecord { millionths: u32, zero: u32, }
}

/// A section, typed by its records.
pub(crate) struct Section<R> {
    /// from 0
    index: usize,
    records: PhantomData<fn() -> R>,
}

impl<R> Clone for Section<R> {
    fn clone(&self) -> Section<R> {
        *self
    }
}

impl<R> Copy for Section<R> {}

impl<R> Section<R> {
    /// Makes a section. A number that is not in the table of sections does not compile.
    const fn new(number: usize) -> Section<R> {
        assert!(1 <= number && number <= SECTIONS.len());
        Section {
            index: number - 1,
            records: PhantomData,
        }
    }

    /// Returns the section's item of a list that has one item per section.
    #[allow(clippy::indexing_slicing)] // `new` bounds the index
    pub(super) fn of<T>(self, all: &[T; SECTIONS.len()]) -> &T {
        &all[self.index]
    }
}

/// An entry of the table of sections below.
pub(super) struct Described {
    pub(super) number: u32,
    pub(super) record_size: u32,
    #[cfg_attr(not(test), allow(dead_code))] // compared with the documentation
    name: &'static str,
    #[cfg_attr(not(test), allow(dead_code))] // as above
    record: &'static str,
}

macro_rules! sections {
    ($($number:literal $section:ident $name:literal $record:ty,)*) => {
        $(pub(crate) const $section: Section<$record> = Section::new($number);)*

        /// All sections, in the order of the file.
        pub(super) const SECTIONS: [Described; [$($number),*].len()] = [$(Described {
            number: $number,
            record_size: size_of::<$record>() as u32,
            name: $name,
            record: stringify!($record),
        }),*];
    };
}

#[rustfmt::skip]
sections! {
    1  STRINGS         "strings"         u8,
    2  SPREAD          "spread"          StringRef,
    3  NODES           "nodes"           NodeRecord,
    4  LABELS          "labels"          PairRecord,
    5  ATTRIBUTES      "attributes"      PairRecord,
    6  POLICIES        "policies"        PolicyRecord,
    7  MEMBERS         "members"         u32,
    8  BASE_POINTS     "base points"     u64,
    9  BASE_POLICIES   "base policies"   u32,
    10 PINS            "pins"            PinRecord,
    11 FINAL_POINTS    "final points"    u64,
    12 FINAL_POLICIES  "final policies"  u32,
    13 INDEX           "index"           u32,
    14 TARGET_POINTS   "target points"   u64,
    15 TARGET_POLICIES "target policies" u32,
    16 LEAVING         "leaving"         u32,
    17 FIRSTS          "firsts"          FirstRecord,
    18 CARRY           "carry"           CarryRecord,
    19 TOLERANCE       "tolerance"       ToleranceRecord,
}

/// Returns the sections that a map with these features has, of those that this stead knows, in the
/// order of the file. Each comes with its place in [`SECTIONS`].
pub(super) fn sections_of(features: u64) -> impl Iterator<Item = (usize, &'static Described)> {
    const ALL: &[Described] = &SECTIONS;
    let is_there = move |section: &Described| match section.number {
        ..=13 => true,
        14..=16 => features & GRADUAL != 0,
        17 => features & FIRST != 0,
        18 => features & CARRYING != 0,
        _ => features & TOLERANT != 0,
    };
    let all = ALL.iter().enumerate();
    all.filter(move |(_, section)| is_there(section))
}

/// Returns how many of the sections that this stead knows a map with these features has.
pub(super) fn section_count(features: u64) -> usize {
    sections_of(features).count()
}

/// Returns how many bytes header and section table take in a map with this many sections.
pub(super) fn header_length(sections: usize) -> usize {
    size_of::<SectionEntry>()
        .saturating_mul(sections)
        .saturating_add(size_of::<Header>())
}

/// Detects damage by 7-bit channels, text mode and newline conversion, as the magic bytes of PNG
/// do.
pub(super) const MAGIC: [u8; 8] = [0x89, b'S', b'T', b'D', 0x0D, 0x0A, 0x1A, 0x0A];
/// Whether bytes begin as a saved plan does, or as one that a text conversion damaged.
pub(crate) fn is_saved_plan(bytes: &[u8]) -> bool {
    bytes.get(1..4) == Some(b"STP")
}

/// The format that this stead reads and writes.
pub(super) const VERSION: u32 = 1;
/// Required feature, bit 0: a gradual change is under way, so the map has sections 14 to 16.
pub(super) const GRADUAL: u64 = 1;
/// Required feature, bit 1: the number of the hash is above 4, which means a hash of adopted rings.
pub(super) const ADOPTED_HASH: u64 = 2;
/// Required feature, bit 2: an unnamed policy names a node twice, as adopted rings may.
pub(crate) const TWICE: u64 = 4;
/// Required feature, bit 3: a pin is short.
pub(super) const SHORT_PIN: u64 = 8;
/// Required feature, bit 4: the map has firsts, which are section 17.
pub(super) const FIRST: u64 = 16;
/// Required feature, bit 5: a carry is open, which is section 18.
pub(super) const CARRYING: u64 = 32;
/// Feature for judges, bit 32: the map has a tolerance, which is section 19.
pub(super) const TOLERANT: u64 = 1 << 32;
/// The features that this stead knows.
pub(crate) const KNOWN_FEATURES: u64 =
    GRADUAL | ADOPTED_HASH | TWICE | SHORT_PIN | FIRST | CARRYING | TOLERANT;
/// The features that every reader must know. The others, bits 32 to 63, must be known only by a
/// program that computes the next map or judges a map.
pub(crate) const FOR_EVERY_READER: u64 = u32::MAX as u64;

/// The index has at most 2^18 entries, 1 MiB.
const INDEX_BITS_MAX: u32 = 18;

/// Returns k, the smallest number from 1 to 18 with 2^k >= 4 * slices; 18 if there is none.
pub(super) fn index_bits(slices: usize) -> u32 {
    (slices * 4)
        .next_power_of_two()
        .trailing_zeros()
        .clamp(1, INDEX_BITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/map-format.md");

    /// Returns the lines between two headings of the page, split into words.
    fn rows(heading: &str) -> impl Iterator<Item = Vec<&'static str>> {
        let (_, after) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
        let (text, _) = after.split_once("\n## ").unwrap();
        text.lines().map(|line| line.split_whitespace().collect())
    }

    /// Returns the page's name for a type of this file.
    fn documented(of: &str) -> &str {
        match of {
            "StringRef" => "string",
            "Run" => "run",
            "AffixRefs" => "affixes",
            "SectionEntry" => "entry",
            "NodeRecord" => "node",
            "PairRecord" => "pair",
            "PolicyRecord" => "policy",
            "PinRecord" => "pin",
            "FirstRecord" => "first",
            "CarryRecord" => "carry",
            "ToleranceRecord" => "tolerance",
            "Digest" => "u8[32]",
            number => number,
        }
    }

    #[test]
    fn the_header_is_that_of_the_page() {
        let described: Vec<_> = rows("Header")
            .filter_map(|row| match row[..] {
                [offset, size, name, ..] => Some((offset.parse().ok()?, size.parse().ok()?, name)),
                _ => None,
            })
            .collect();
        let fields: Vec<_> = Header::FIELDS
            .iter()
            .map(|field| (field.offset, field.size, field.name))
            .collect();
        assert_eq!(described, fields);
    }

    #[test]
    fn the_sections_are_those_of_the_page() {
        let described: Vec<_> = rows("Section table")
            .filter(|row| row.len() > 8 && row[0] == "|" && row[1].parse::<u32>().is_ok())
            .map(|row| {
                let cells: Vec<_> = row
                    .split(|word| *word == "|")
                    .map(|c| c.join(" "))
                    .collect();
                (
                    cells[1].clone(),
                    cells[2].clone(),
                    cells[3].clone(),
                    cells[4].clone(),
                )
            })
            .collect();
        let sections = SECTIONS.map(|section| {
            (
                section.number.to_string(),
                section.name.to_owned(),
                section.record_size.to_string(),
                documented(section.record).to_owned(),
            )
        });
        assert_eq!(described, sections);
    }

    #[test]
    fn the_records_are_those_of_the_page() {
        let mut record = "";
        let mut described = Vec::new();
        for row in rows("Records") {
            let row = match row[..] {
                [name, offset, ..] if offset.parse::<usize>().is_ok() => {
                    record = name;
                    &row[1..]
                }
                _ => &row[..],
            };
            if let [offset, of, name, ..] = row {
                if let Ok(offset) = offset.parse::<usize>() {
                    described.push((record, offset, *of, *name));
                }
            }
        }
        let fields: Vec<_> = [
            ("entry", SectionEntry::FIELDS),
            ("string", StringRef::FIELDS),
            ("run", Run::FIELDS),
            ("affixes", AffixRefs::FIELDS),
            ("node", NodeRecord::FIELDS),
            ("pair", PairRecord::FIELDS),
            ("policy", PolicyRecord::FIELDS),
            ("pin", PinRecord::FIELDS),
            ("first", FirstRecord::FIELDS),
            ("carry", CarryRecord::FIELDS),
            ("tolerance", ToleranceRecord::FIELDS),
        ]
        .into_iter()
        .flat_map(|(record, fields)| {
            let field = move |f: &Field| (record, f.offset, documented(f.of), f.name);
            fields.iter().map(field)
        })
        .collect();
        assert_eq!(described, fields);
    }

    #[test]
    fn sections_are_numbered_as_they_lie() {
        let numbers = SECTIONS.map(|section| section.number);
        assert!(numbers.iter().copied().eq(1..=19));
    }

    #[test]
    fn a_map_has_the_sections_of_its_features() {
        for (features, count) in [
            (0, 13),
            (GRADUAL, 16),
            (FIRST, 14),
            (TOLERANT, 14),
            (GRADUAL | FIRST, 17),
            (CARRYING, 14),
            (KNOWN_FEATURES, 19),
        ] {
            assert_eq!(section_count(features), count);
        }
        let places = sections_of(FIRST).map(|(place, _)| place);
        assert!(places.eq((0..13).chain([FIRSTS.index])));
    }
}
