//! Where the sections of a map lie, and reading single records in place.

use std::mem::size_of;

use super::records::{Section, Stored, StringRef, SECTIONS, STRINGS};

/// Where one section lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extent {
    pub offset: usize,
    /// the number of records, not of bytes
    pub count: usize,
}

/// Where the sections of a verified map lie. A section that the map does not have is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(super) extents: [Extent; SECTIONS.len()],
    pub(super) index_bits: u32,
}

impl Layout {
    /// Returns how many records a section has.
    #[inline]
    pub(crate) fn count<R>(&self, section: Section<R>) -> usize {
        section.of(&self.extents).count
    }

    /// Returns the offset in the file of record `i` of a section.
    #[inline]
    pub(crate) fn offset<R>(&self, section: Section<R>, i: usize) -> usize {
        section.of(&self.extents).offset + i * size_of::<R>()
    }

    /// Reads record `i` of a section.
    #[inline]
    pub(crate) fn read<R: Stored>(&self, bytes: &[u8], section: Section<R>, i: usize) -> R {
        R::read(bytes, self.offset(section, i))
    }

    /// Returns the bytes of a string; empty if they are not inside the file, which a verified map
    /// rules out.
    pub(crate) fn string<'a>(&self, bytes: &'a [u8], string: StringRef) -> &'a [u8] {
        let start = self.offset(STRINGS, string.offset as usize);
        start
            .checked_add(string.length as usize)
            .and_then(|end| bytes.get(start..end))
            .unwrap_or(&[])
    }

    /// Returns how many high bits of a point the search index uses.
    #[inline]
    pub(crate) fn index_bits(&self) -> u32 {
        self.index_bits
    }
}
