//! The places of all parts in the bytes of an RRD file.

use std::ops::Range;

/// The number in the head, which shows the byte order and the size of a double.
pub(super) const NUMBER: f64 = 8.642135e130;

/// The sizes of the parts, in bytes.
pub(super) const HEAD: usize = 128;
pub(super) const COLUMN: usize = 120;
pub(super) const ARCHIVE: usize = 120;
pub(super) const LIVE: usize = 16;
pub(super) const PREPARED: usize = 112;
pub(super) const PREPARED_ROW: usize = 80;

/// The size of the text in the prepared part of a column: its last value.
const TEXT: usize = 30;

/// The most columns and archives of a file that is compared.
const MOST: usize = 1 << 16;

/// All times and periods of a file are below this: four million years.
const MOST_SECONDS: i64 = 1 << 47;

/// The bits that stand for every unknown value.
pub(super) const UNKNOWN: u64 = f64::NAN.to_bits();

/// An RRD file whose parts are all there.
pub(super) struct Parts<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) columns: usize,
    /// the last time, in seconds and microseconds
    pub(super) last: (i64, i64),
    /// where the prepared parts begin
    prepared: usize,
    pub(super) archives: Vec<Extent>,
}

/// The place of the rows of one archive.
pub(super) struct Extent {
    /// its function as text, such as AVERAGE
    pub(super) function: Range<usize>,
    pub(super) rows: usize,
    /// how many steps of the file one row stands for
    pub(super) steps: i64,
    /// which fraction of these may be unknown
    pub(super) may_lack: f64,
    /// the number of the newest row since 1970
    pub(super) newest: i64,
    /// where the newest row is among the rows
    newest_at: usize,
    /// where the rows begin in the file
    at: usize,
}

impl<'a> Parts<'a> {
    /// Returns `None` if this program cannot read the file.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Parts<'a>> {
        let good = has_known_version(bytes) && f64::from_bits(number(bytes, 16)?) == NUMBER;
        if !good {
            return None;
        }
        let count = |at| number(bytes, at).and_then(|count| usize::try_from(count).ok());
        let few = |count: &usize| (1..MOST).contains(count);
        let (columns, count_of_archives) = (count(24).filter(few)?, count(32).filter(few)?);
        let step = number(bytes, 40)?;
        let live = HEAD + columns * COLUMN + count_of_archives * ARCHIVE;
        let last = (number(bytes, live)? as i64, number(bytes, live + 8)? as i64);
        if !(-MOST_SECONDS..MOST_SECONDS).contains(&last.0) {
            return None;
        }
        let prepared = live + LIVE;
        let newest = prepared + columns * PREPARED + columns * count_of_archives * PREPARED_ROW;
        let mut rows_at = newest + 8 * count_of_archives;
        let mut archives = Vec::with_capacity(count_of_archives);
        for archive in 0..count_of_archives {
            let definition = HEAD + columns * COLUMN + archive * ARCHIVE;
            let (rows, steps) = (count(definition + 24)?, number(bytes, definition + 32)?);
            let newest_at = count(newest + 8 * archive)?;
            let seconds = i64::try_from(step.checked_mul(steps)?).ok()?;
            let size = rows.checked_mul(columns)?.checked_mul(8)?;
            if !(1..MOST_SECONDS).contains(&seconds) || newest_at >= rows {
                return None;
            }
            bytes.get(rows_at..rows_at.checked_add(size)?)?;
            archives.push(Extent {
                function: definition..definition + 20,
                rows,
                steps: i64::try_from(steps).ok()?,
                may_lack: f64::from_bits(number(bytes, definition + 40)?),
                newest: last.0.div_euclid(seconds),
                newest_at,
                at: rows_at,
            });
            rows_at += size;
        }
        Some(Parts {
            bytes,
            columns,
            last,
            prepared,
            archives,
        })
    }

    /// Returns what must be equal in all copies of a file: version, step, and the definitions of
    /// columns and archives.
    pub(super) fn definitions(&self) -> [&'a [u8]; 3] {
        [
            &self.bytes[4..8],
            &self.bytes[24..48],
            &self.bytes[HEAD..self.prepared - LIVE],
        ]
    }

    /// Returns everything that goes into rows to come, as bits.
    pub(super) fn prepared(&self) -> Vec<u64> {
        let mut prepared = Vec::new();
        let mut at = self.prepared;
        for _ in 0..self.columns {
            let text = self.bytes[at..at + TEXT].split(|byte| *byte == 0).next();
            prepared.extend(text.into_iter().flatten().map(|byte| u64::from(*byte)));
            prepared.extend([self.number(at + 32), self.value(at + 40)]);
            at += PREPARED;
        }
        for _ in 0..self.columns * self.archives.len() {
            prepared.extend([self.value(at), self.number(at + 8)]);
            at += PREPARED_ROW;
        }
        prepared
    }

    /// Returns where the row is in the file that is this many rows older than the newest one.
    pub(super) fn row_at(&self, archive: &Extent, back: usize) -> usize {
        let row = (archive.newest_at + archive.rows - back) % archive.rows;
        archive.at + 8 * self.columns * row
    }

    /// Returns the bits of the value at this place. All unknown values have the same bits.
    pub(super) fn value(&self, at: usize) -> u64 {
        let bits = self.number(at);
        if f64::from_bits(bits).is_nan() {
            UNKNOWN
        } else {
            bits
        }
    }

    fn number(&self, at: usize) -> u64 {
        number(self.bytes, at).unwrap_or_default() // `of` has looked that it is there
    }
}

/// Returns whether this is an RRD file of a machine with another byte order or other sizes.
pub fn is_foreign(bytes: &[u8]) -> bool {
    has_known_version(bytes) && number(bytes, 16).is_some_and(|n| f64::from_bits(n) != NUMBER)
}

fn has_known_version(bytes: &[u8]) -> bool {
    let version = bytes.get(4..8);
    bytes.starts_with(b"RRD\0") && matches!(version, Some(b"0003" | b"0004" | b"0005"))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}
