//! Where things are in a map file, and single records read where they lie.

/// Offsets in the header; see docs/map-format.md.
pub(crate) mod at {
    pub(crate) const VERSION: usize = 8;
    pub(crate) const HEADER_LENGTH: usize = 12;
    pub(crate) const FILE_LENGTH: usize = 16;
    pub(crate) const FEATURES: usize = 24;
    pub(crate) const MAP_ID: usize = 32;
    pub(crate) const EPOCH: usize = 48;
    pub(crate) const ALGORITHM: usize = 56;
    pub(crate) const REPLICAS: usize = 60;
    pub(crate) const PARENT: usize = 64;
    pub(crate) const DIGEST: usize = 96;
    pub(crate) const HASH: usize = 128;
    pub(crate) const MAX_SLICES: usize = 132;
    pub(crate) const CELLS: usize = 136;
    pub(crate) const SECRET: usize = 144;
    pub(crate) const NAME: usize = 160;
    pub(crate) const INDEX_BITS: usize = 168;
    pub(crate) const SECTION_COUNT: usize = 172;
    pub(crate) const SECTIONS: usize = 176;
}

/// Shows 7-bit, text-mode and newline damage, as PNG's does.
pub(super) const MAGIC: [u8; 8] = [0x89, b'S', b'T', b'D', 0x0D, 0x0A, 0x1A, 0x0A];
/// The format that this page of code reads and writes.
pub(super) const VERSION: u32 = 1;
/// Bytes of one entry of the section table.
pub(super) const ENTRY: usize = 24;
/// The required feature of bit 0: a gradual change is under way, so the map has the last three
/// sections.
pub(super) const GRADUAL: u64 = 1;
/// The required feature of bit 1: the number of the hash is above 4, one of adopted rings.
pub(super) const ADOPTED_HASH: u64 = 2;
/// The required feature of bit 2: an unnamed policy names a node twice, as adopted rings may.
pub(super) const TWICE: u64 = 4;
/// The required feature of bit 3: a pin is short.
pub(super) const SHORT_PIN: u64 = 8;
/// The features that this stead knows.
pub(super) const KNOWN_FEATURES: u64 = GRADUAL | ADOPTED_HASH | TWICE | SHORT_PIN;
/// Sections of a map without a gradual change.
const PLAIN_SECTIONS: usize = 13;

/// How many sections a map with these features has.
pub(super) fn section_count(features: u64) -> usize {
    if features & GRADUAL == 0 {
        PLAIN_SECTIONS
    } else {
        RECORD_SIZES.len()
    }
}

/// Bytes of header and section table of a map with these features.
pub(super) fn header_length(features: u64) -> usize {
    at::SECTIONS + ENTRY * section_count(features)
}

/// The index has at most 2^18 entries, 1 MiB.
pub(super) const INDEX_BITS_MAX: u32 = 18;
/// More nodes than anybody has, and few enough that products of shares and weights stay below
/// 2^128.
pub(crate) const NODES_MAX: usize = 65_536;

/// The kinds of records, in the order of their sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
#[allow(missing_docs)] // the words of docs/map-format.md
pub enum Record {
    Strings = 0,
    Spread = 1,
    Nodes = 2,
    Labels = 3,
    Attributes = 4,
    Policies = 5,
    Members = 6,
    BasePoints = 7,
    BasePolicies = 8,
    Pins = 9,
    FinalPoints = 10,
    FinalPolicies = 11,
    Index = 12,
    TargetPoints = 13,
    TargetPolicies = 14,
    Leaving = 15,
}

/// Bytes of one record of each kind.
pub(super) const RECORD_SIZES: [u32; 16] = [1, 8, 40, 16, 16, 40, 4, 8, 4, 32, 8, 4, 4, 8, 4, 4];

/// k: the smallest with 2^k >= 4 * slices, from 1 to 18.
pub(super) fn index_bits(slices: usize) -> u32 {
    (slices * 4)
        .next_power_of_two()
        .trailing_zeros()
        .clamp(1, INDEX_BITS_MAX)
}

/// One section.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Section {
    pub offset: usize,
    pub count: usize,
}

/// Where the sections of a verified map lie; those that it has not are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub(super) sections: [Section; RECORD_SIZES.len()],
    pub(super) index_bits: u32,
}

impl Layout {
    /// How many records a section has.
    pub fn count(&self, record: Record) -> usize {
        self.section(record).count
    }

    /// Where record `i` of a section starts in the file.
    pub fn offset(&self, record: Record, i: usize) -> usize {
        let size = RECORD_SIZES.get(record as usize).copied().unwrap_or(0) as usize;
        self.section(record).offset + i * size
    }

    /// The bits of a point that the search index reads.
    pub fn index_bits(&self) -> u32 {
        self.index_bits
    }

    fn section(&self, record: Record) -> Section {
        self.sections
            .get(record as usize)
            .copied()
            .unwrap_or_default()
    }
}

/// The little-endian number at `offset`; 0 where the bytes end before, which a verified layout
/// rules out.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let four = offset.checked_add(4).and_then(|end| bytes.get(offset..end));
    four.and_then(|b| b.try_into().ok())
        .map_or(0, u32::from_le_bytes)
}

/// The little-endian number at `offset`; 0 where the bytes end before.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let eight = offset.checked_add(8).and_then(|end| bytes.get(offset..end));
    eight
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

/// The bytes of N from `offset`; zeros where the file ends before.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let found = offset.checked_add(N).and_then(|end| bytes.get(offset..end));
    found.and_then(|b| b.try_into().ok()).unwrap_or([0; N])
}
