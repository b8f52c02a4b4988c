//! Where the sections of one map lie, and single records read where they lie.

use std::mem::size_of;

use super::records::{Section, Stored, StringRef, SECTIONS, STRINGS};

/// The bytes of one section.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extent {
    pub offset: usize,
    /// records, not bytes
    pub count: usize,
}

/// Where the sections of a verified map lie; those that it does not have are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(super) extents: [Extent; SECTIONS.len()],
    pub(super) index_bits: u32,
}

impl Layout {
    /// How many records a section has.
    #[inline]
    pub(crate) fn count<R>(&self, section: Section<R>) -> usize {
        section.of(&self.extents).count
    }

    /// Where record `i` of a section starts in the file.
    #[inline]
    pub(crate) fn offset<R>(&self, section: Section<R>, i: usize) -> usize {
        section.of(&self.extents).offset + i * size_of::<R>()
    }

    /// Record `i` of a section.
    #[inline]
    pub(crate) fn read<R: Stored>(&self, bytes: &[u8], section: Section<R>, i: usize) -> R {
        R::read(bytes, self.offset(section, i))
    }

    /// The bytes of a string; none where they do not lie in the file, which is verified.
    pub(crate) fn string<'a>(&self, bytes: &'a [u8], string: StringRef) -> &'a [u8] {
        let start = self.offset(STRINGS, string.offset as usize);
        start
            .checked_add(string.length as usize)
            .and_then(|end| bytes.get(start..end))
            .unwrap_or(&[])
    }

    /// The bits of a point that the search index reads.
    #[inline]
    pub(crate) fn index_bits(&self) -> u32 {
        self.index_bits
    }
}
