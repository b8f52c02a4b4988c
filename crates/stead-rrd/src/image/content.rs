//! What an RRD file contains, as far as two copies of one file can be compared by it.

use super::parts::{Extent, Parts, UNKNOWN};

/// What an RRD file contains.
#[derive(Debug, PartialEq)]
pub struct Image {
    /// the version and the step, and the definitions of the columns and archives
    definitions: Vec<u8>,
    columns: usize,
    /// the last time, in seconds and microseconds
    last: (i64, i64),
    /// everything that goes into rows to come, as bits
    prepared: Vec<u64>,
    archives: Vec<Archive>,
}

#[derive(Debug, PartialEq)]
struct Archive {
    /// the number of the newest row since 1970
    newest: i64,
    /// the bits of the rows, newest first; every unknown value has the same bits
    values: Vec<u64>,
}

impl Image {
    /// Reads the content of a file. Returns `None` if this program cannot read it.
    pub fn read(bytes: &[u8]) -> Option<Image> {
        let parts = Parts::of(bytes)?;
        let values = |archive: &Extent| {
            let rows = (0..archive.rows).map(|back| parts.row_at(archive, back));
            let columns = |at: usize| (0..parts.columns).map(move |column| at + 8 * column);
            rows.flat_map(columns).map(|at| parts.value(at)).collect()
        };
        let archives = parts.archives.iter().map(|archive| Archive {
            newest: archive.newest,
            values: values(archive),
        });
        Some(Image {
            definitions: parts.definitions().concat(),
            columns: parts.columns,
            last: parts.last,
            prepared: parts.prepared(),
            archives: archives.collect(),
        })
    }

    /// Returns the last time, in seconds and microseconds.
    pub fn last(&self) -> (i64, i64) {
        self.last
    }

    /// Returns how many values another copy knows that are unknown here, of the time that this copy
    /// still remembers. Returns `None` if the two are not copies of one file.
    pub fn lacks(&self, other: &Image) -> Option<usize> {
        if self.definitions != other.definitions {
            return None;
        }
        let lacks = |value: &Known| value.ours == UNKNOWN && value.theirs != UNKNOWN;
        Some(self.beside(other).filter(lacks).count())
    }

    /// Counts the rows and columns in which both copies know a value, the two values differ, and
    /// this copy has the same value in its next row. rrdtool fills the rows between two updates
    /// with the value of the second one, so a copy that has lost updates repeats itself there.
    pub fn repeats(&self, other: &Image) -> usize {
        let repeats = |value: &Known| {
            ![value.ours, value.theirs].contains(&UNKNOWN)
                && value.ours != value.theirs
                && value.after == Some(value.ours)
        };
        self.beside(other).filter(repeats).count()
    }

    /// Returns the values of another copy of the file beside those of this one, as far as this one
    /// still remembers their time.
    fn beside<'a>(&'a self, other: &'a Image) -> impl Iterator<Item = Known> + 'a {
        let columns = self.columns;
        let archives = self.archives.iter().zip(&other.archives);
        archives.flat_map(move |(ours, theirs)| {
            let ahead = ours.newest - theirs.newest;
            let rows = ours.values.len() / columns;
            let places = theirs.values.iter().enumerate();
            places.filter_map(move |(at, value)| {
                let back = (at / columns) as i64 + ahead;
                if back >= rows as i64 {
                    return None; // not kept here any more
                }
                let ours = |back: i64| {
                    let back = usize::try_from(back).ok()?; // newer
                    ours.values.get(back * columns + at % columns).copied()
                };
                Some(Known {
                    ours: ours(back).unwrap_or(UNKNOWN),
                    after: ours(back - 1),
                    theirs: *value,
                })
            })
        })
    }
}

/// The bits of the values that two copies have for one time.
struct Known {
    ours: u64,
    /// what this copy has one row later
    after: Option<u64>,
    theirs: u64,
}

#[cfg(test)]
mod tests {
    use super::super::parts::{ARCHIVE, COLUMN, HEAD};
    use super::super::samples::file;
    use super::*;

    const NAN: f64 = f64::NAN;

    #[test]
    fn where_an_archive_begins_makes_no_difference() {
        let whole = Image::read(&file(1000, [1.0, 2.0, 3.0, 4.0], 0)).unwrap();
        for turn in 1..4 {
            let other = Image::read(&file(1000, [1.0, 2.0, 3.0, 4.0], turn)).unwrap();
            assert_eq!(whole, other);
        }
        assert_ne!(
            whole,
            Image::read(&file(1000, [1.0, 2.0, 3.0, 5.0], 0)).unwrap()
        );
        assert_ne!(
            whole,
            Image::read(&file(1001, [1.0, 2.0, 3.0, 4.0], 0)).unwrap()
        );
    }

    #[test]
    fn what_another_copy_knows_is_counted_by_its_time() {
        let read = |last, rows| Image::read(&file(last, rows, 1)).unwrap();
        let whole = read(1000, [1.0, 2.0, 3.0, 4.0]);
        let holes = read(1000, [NAN, 2.0, NAN, 4.0]);
        assert_eq!(
            (holes.lacks(&whole), whole.lacks(&holes)),
            (Some(2), Some(0))
        );
        // two rows behind: it lacks these, and what it keeps longer is not missed by the other
        let late = read(980, [9.0, 9.0, 1.0, 2.0]);
        assert_eq!((late.lacks(&whole), whole.lacks(&late)), (Some(2), Some(0)));
        // each has what the other lacks
        let crossed = read(1000, [1.0, NAN, 3.0, NAN]);
        assert_eq!(
            (crossed.lacks(&holes), holes.lacks(&crossed)),
            (Some(2), Some(2))
        );
    }

    #[test]
    fn a_copy_that_has_lost_updates_repeats_what_came_after_them() {
        let read = |last, rows| Image::read(&file(last, rows, 1)).unwrap();
        let whole = read(1000, [1.0, 2.0, 3.0, 4.0]);
        let filled = read(1000, [1.0, 4.0, 4.0, 4.0]);
        assert_eq!((filled.repeats(&whole), whole.repeats(&filled)), (2, 0));
        // a value that has not changed is one, too, but the gap is filled with the later one
        let steady = read(1000, [1.0, 1.0, 1.0, 4.0]);
        assert_eq!((filled.repeats(&steady), steady.repeats(&filled)), (2, 1));
        // where one knows nothing, the other cannot be wrong
        let holes = read(1000, [1.0, NAN, NAN, 4.0]);
        assert_eq!((filled.repeats(&holes), holes.repeats(&filled)), (0, 0));
        // of one time, although one copy is a row behind
        let late = read(990, [0.0, 1.0, 4.0, 4.0]);
        assert_eq!((late.repeats(&whole), whole.repeats(&late)), (1, 0));
    }

    #[test]
    fn what_is_no_such_file_is_not_read() {
        let good = file(1000, [1.0; 4], 0);
        for size in 0..good.len() {
            assert_eq!(Image::read(&good[..size]), None, "{size}");
        }
        for (at, byte) in [(0, b'X'), (7, b'9'), (16, 1), (24, 255), (39, 255)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(Image::read(&bad), None, "{at}");
        }
        // times and periods beyond all reason, whose differences would overflow
        for (at, number) in [(40, u64::MAX >> 1), (HEAD + COLUMN + ARCHIVE, 1 << 63)] {
            let mut bad = good.clone();
            bad[at..at + 8].copy_from_slice(&number.to_ne_bytes());
            assert_eq!(Image::read(&bad), None, "{at}");
        }
    }
}
