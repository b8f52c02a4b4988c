//! The content of an RRD file, as far as two copies of one file can be compared by it.
//!
//! ```text
//! head      cookie "RRD\0", version, number, columns, archives, step          128 bytes
//! columns   name, type, parameters                                       120 bytes each
//! archives  function, rows, steps per row, parameters                    120 bytes each
//! live      last time in seconds and microseconds                              16 bytes
//! columns   last value as text, unknown seconds, sum                     112 bytes each
//! archives  for each column: value and unknown steps of the row to come   80 bytes each
//! archives  the newest row                                                 8 bytes each
//! rows      of each archive, a double for each column
//! ```
//!
//! The layout is that of rrdtool on a 64-bit machine of this byte order, versions 3 to 5. rrdtool
//! chooses by chance with which row an archive begins, so equal copies may differ in their bytes.

/// The number in the head, which shows the byte order and the size of a double.
const NUMBER: f64 = 8.642135e130;

/// The sizes of the parts, in bytes.
const HEAD: usize = 128;
const COLUMN: usize = 120;
const ARCHIVE: usize = 120;
const LIVE: usize = 16;
const PREPARED: usize = 112;
const PREPARED_ROW: usize = 80;

/// The most columns and archives of a file that is compared.
const MOST: usize = 1 << 16;

/// What an RRD file contains.
#[derive(Debug, PartialEq)]
pub struct Image {
    /// the definitions of the columns and archives, as they are in the file
    definitions: Vec<u8>,
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
    rows: Vec<Vec<u64>>,
}

impl Image {
    /// Reads the content of a file. Returns `None` if this program cannot read it.
    pub fn read(bytes: &[u8]) -> Option<Image> {
        let version = bytes.get(4..8)?;
        let good = bytes.starts_with(b"RRD\0") && matches!(version, b"0003" | b"0004" | b"0005");
        if !good || f64::from_bits(number(bytes, 16)?) != NUMBER {
            return None;
        }
        let count = |at| number(bytes, at).and_then(|count| usize::try_from(count).ok());
        let few = |count: &usize| (1..MOST).contains(count);
        let (columns, archives) = (count(24).filter(few)?, count(32).filter(few)?);
        let step = number(bytes, 40)?;
        let definitions = bytes.get(HEAD..HEAD + columns * COLUMN + archives * ARCHIVE)?;
        let live = HEAD + definitions.len();
        let last = (number(bytes, live)? as i64, number(bytes, live + 8)? as i64);
        let mut prepared = Vec::new();
        let mut at = live + LIVE;
        for _ in 0..columns {
            let text = bytes.get(at..at + 30)?.split(|byte| *byte == 0).next()?;
            prepared.extend(text.iter().map(|byte| u64::from(*byte)));
            prepared.extend([number(bytes, at + 32)?, value(bytes, at + 40)?]);
            at += PREPARED;
        }
        for _ in 0..columns * archives {
            prepared.extend([value(bytes, at)?, number(bytes, at + 8)?]);
            at += PREPARED_ROW;
        }
        let mut rows_at = at + 8 * archives;
        let mut found = Vec::with_capacity(archives);
        for archive in 0..archives {
            let definition = HEAD + columns * COLUMN + archive * ARCHIVE;
            let (rows, steps) = (count(definition + 24)?, number(bytes, definition + 32)?);
            let newest = count(at + 8 * archive)?;
            let seconds = i64::try_from(step.checked_mul(steps)?).ok()?;
            let size = rows.checked_mul(columns)?.checked_mul(8)?;
            if seconds == 0 || newest >= rows {
                return None;
            }
            let values = bytes.get(rows_at..rows_at.checked_add(size)?)?;
            let row = |back: usize| {
                let row = (newest + rows - back) % rows;
                (0..columns)
                    .map(|column| value(values, 8 * (row * columns + column)))
                    .collect::<Option<Vec<u64>>>()
            };
            found.push(Archive {
                newest: last.0.div_euclid(seconds),
                rows: (0..rows).map(row).collect::<Option<_>>()?,
            });
            rows_at += size;
        }
        Some(Image {
            definitions: definitions.to_vec(),
            last,
            prepared,
            archives: found,
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
        let mut lacking = 0;
        for (ours, theirs) in self.archives.iter().zip(&other.archives) {
            let ahead = ours.newest - theirs.newest;
            for (back, row) in theirs.rows.iter().enumerate() {
                let ours = match usize::try_from(back as i64 + ahead) {
                    Ok(at) if at >= ours.rows.len() => continue, // older than what is kept here
                    Ok(at) => ours.rows.get(at),
                    Err(_) => None, // newer
                };
                lacking += row
                    .iter()
                    .enumerate()
                    .filter(|(column, value)| {
                        **value != UNKNOWN
                            && ours.is_none_or(|ours| ours.get(*column) == Some(&UNKNOWN))
                    })
                    .count();
            }
        }
        Some(lacking)
    }
}

/// The bits that stand for every unknown value.
const UNKNOWN: u64 = f64::NAN.to_bits();

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

fn value(bytes: &[u8], at: usize) -> Option<u64> {
    let value = f64::from_bits(number(bytes, at)?);
    Some(if value.is_nan() {
        UNKNOWN
    } else {
        value.to_bits()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with one column and one archive of four rows of 10 s. Its rows are given
    /// oldest first, and `turn` says in which place of the file the oldest is.
    fn file(last: u64, rows: [f64; 4], turn: usize) -> Vec<u8> {
        let mut bytes = b"RRD\x000003\0".to_vec();
        bytes.resize(16, 0);
        let put = |bytes: &mut Vec<u8>, numbers: &[u64], size: usize| {
            let end = bytes.len() + size;
            numbers
                .iter()
                .for_each(|number| bytes.extend_from_slice(&number.to_ne_bytes()));
            bytes.resize(end, 0);
        };
        put(&mut bytes, &[NUMBER.to_bits(), 1, 1, 10], HEAD - 16);
        put(&mut bytes, &[], COLUMN);
        put(&mut bytes, &[0, 0, 0, 4, 1], ARCHIVE);
        put(&mut bytes, &[last, 0], LIVE);
        put(&mut bytes, &[], PREPARED);
        put(&mut bytes, &[], PREPARED_ROW);
        put(&mut bytes, &[((turn + 3) % 4) as u64], 8);
        let mut placed = rows;
        placed.rotate_right(turn);
        put(&mut bytes, &placed.map(f64::to_bits), 32);
        bytes
    }

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
    }
}
