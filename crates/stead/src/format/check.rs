//! Shared by the rules of the format: a map whose header and section table are sound, and the error
//! for a broken rule.

use std::mem::size_of;
use std::ops::Range;

use super::layout::Layout;
use super::records::{Header, Section, Stored};
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Hash, KeyRule};

/// A map whose header and section table are sound.
pub(super) struct Check<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) header: Header,
    pub(super) layout: Layout,
    pub(super) hash: &'a Hash,
    pub(super) key_rule: KeyRule,
    pub(super) cells: Cells,
}

impl Check<'_> {
    pub(super) fn count<R>(&self, section: Section<R>) -> usize {
        self.layout.count(section)
    }

    /// Returns the offset in the file of record `i` of a section.
    pub(super) fn at<R>(&self, section: Section<R>, i: usize) -> usize {
        self.layout.offset(section, i)
    }

    pub(super) fn read<R: Stored>(&self, section: Section<R>, i: usize) -> R {
        self.layout.read(self.bytes, section, i)
    }

    /// Reads all records of a section, one after the other. This costs less than a `read` of each.
    pub(super) fn all<R: Stored>(&self, section: Section<R>) -> impl Iterator<Item = R> + '_ {
        self.some(section, 0..self.count(section))
    }

    /// Reads some records of a section, one after the other.
    pub(super) fn some<R: Stored>(
        &self,
        section: Section<R>,
        numbers: Range<usize>,
    ) -> impl Iterator<Item = R> + '_ {
        let range = self.at(section, numbers.start)..self.at(section, numbers.end);
        let records = self.bytes.get(range).unwrap_or(&[]);
        let records = records.chunks_exact(size_of::<R>());
        records.map(|record| R::read(record, 0))
    }

    /// Returns the bytes of a section.
    pub(super) fn bytes_of<R>(&self, section: Section<R>) -> &[u8] {
        let range = self.at(section, 0)..self.at(section, self.count(section));
        self.bytes.get(range).unwrap_or(&[])
    }

    pub(super) fn has(&self, feature: u64) -> bool {
        self.header.features & feature != 0
    }
}

/// Returns the error for a broken rule at an offset of the file.
pub(super) fn broken<T>(offset: usize, problem: impl Into<String>) -> Result<T> {
    Err(Error::Format {
        file: None,
        offset: offset as u64,
        problem: problem.into(),
    })
}
