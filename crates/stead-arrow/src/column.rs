//! Columns of keys in Arrow's memory layouts, and how to find the key of a row.
//!
//! ```text
//! Narrow, Wide   offsets | 0 | 5 | 5 | 9 |        data  f r a n k a n n a      row i: data[offsets[i] .. offsets[i + 1]]
//! Views          views   | length, then up to 12 bytes | or length, 4 bytes of prefix, number of a data buffer, offset in it |
//! Fixed          data    | width bytes | width bytes | ...
//! Codes          codes   | 2 | 0 | 2 |            values  a column of one of the layouts above
//! ```
//!
//! Each slice ends where the structs say that its buffer ends (import.rs), and every access is
//! checked against that end. Decreasing offsets, views that point outside the data, and indices
//! outside the dictionary are errors.
//!
//! Keys are read in blocks of rows. The keys of the layouts with offsets, and those of a fixed
//! width, lie in one buffer, so a block needs only their positions in it.

use std::ops::Range;

use stead::{Keys, Span};

use crate::problem::Problem;

/// The integer type of a dictionary's codes: its width, and whether it is signed.
#[derive(Clone, Copy, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum Width {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

impl Width {
    /// The width in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Width::I8 | Width::U8 => 1,
            Width::I16 | Width::U16 => 2,
            Width::I32 | Width::U32 => 4,
            Width::I64 | Width::U64 => 8,
        }
    }
}

/// The types of columns that are read.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// All rows are null.
    Nothing,
    /// Strings and binary with offsets of 4 bytes.
    Narrow,
    /// The same with offsets of 8.
    Wide,
    /// Strings and binary as views.
    Views,
    /// Binary with this number of bytes per row.
    Fixed(usize),
    /// Indices of a dictionary, if there is one.
    Codes(Width),
    /// A record batch, if it has one column.
    Batch,
}

impl Kind {
    /// The least and the greatest number of buffers of such a column.
    pub fn buffers(self) -> (usize, usize) {
        match self {
            Kind::Nothing => (0, 1), // 1 in the format before 1.0, and in polars
            Kind::Batch => (1, 1),
            Kind::Fixed(_) | Kind::Codes(_) => (2, 2),
            Kind::Narrow | Kind::Wide => (3, 3),
            // validity, views, data buffers (numbered by an i32), sizes
            Kind::Views => (3, 3 + i32::MAX as usize),
        }
    }
}

/// The kind of column for a format string of the C Data Interface.
pub fn kind_of(format: &str) -> Option<Kind> {
    Some(match format {
        "n" => Kind::Nothing,
        "u" | "z" => Kind::Narrow,
        "U" | "Z" => Kind::Wide,
        "vu" | "vz" => Kind::Views,
        "c" => Kind::Codes(Width::I8),
        "C" => Kind::Codes(Width::U8),
        "s" => Kind::Codes(Width::I16),
        "S" => Kind::Codes(Width::U16),
        "i" => Kind::Codes(Width::I32),
        "I" => Kind::Codes(Width::U32),
        "l" => Kind::Codes(Width::I64),
        "L" => Kind::Codes(Width::U64),
        "+s" => Kind::Batch,
        _ => Kind::Fixed(format.strip_prefix("w:")?.parse().ok()?),
    })
}

/// What to do about most columns that cannot hold keys.
const AS_TEXT: &str = "cast the column to the text that other programs use as the key";
/// What to do about a column of floats: as text, they have a decimal point.
pub const FLOATS: &str = "to integers, then to text: as text, 1.0 would be another key than 1";

/// The error for a column whose type cannot hold keys.
pub fn refused(format: &str, is_coded: bool, in_dictionary: bool) -> Problem {
    let name = match format.split(':').next().unwrap_or("") {
        _ if is_coded => "dictionary".to_owned(),
        "b" => "bool".to_owned(),
        "c" => "int8".to_owned(),
        "C" => "uint8".to_owned(),
        "s" => "int16".to_owned(),
        "S" => "uint16".to_owned(),
        "i" => "int32".to_owned(),
        "I" => "uint32".to_owned(),
        "l" => "int64".to_owned(),
        "L" => "uint64".to_owned(),
        "e" => "float16".to_owned(),
        "f" => "float32".to_owned(),
        "g" => "float64".to_owned(),
        "d" => "decimal".to_owned(),
        "+s" => "struct".to_owned(),
        "+l" | "+L" | "+vl" | "+vL" | "+w" => "lists".to_owned(),
        "+m" => "map".to_owned(),
        "+r" => "run-end encoded".to_owned(),
        other if other.starts_with("td") => "dates".to_owned(),
        other if other.starts_with("ts") => "timestamps".to_owned(),
        _ => format!("of format {format:?}"),
    };
    let remedy = match format {
        _ if is_coded => AS_TEXT.to_owned(),
        "e" | "f" | "g" => format!("cast the column {FLOATS}"),
        "+s" => "pass one of its fields".to_owned(),
        _ => AS_TEXT.to_owned(),
    };
    let dictionary = if in_dictionary { "dictionary of " } else { "" };
    Problem::Type(format!(
        "keys are Arrow {dictionary}{name}, and stead takes string, binary (also large, view, \
        fixed-size) and a dictionary of these; {remedy}"
    ))
}

/// The error for bytes of an extension type: they are not the text that people see.
pub fn meant_otherwise(extension: &str) -> Problem {
    Problem::Type(format!(
        "keys are Arrow of the extension type {}, whose bytes are not the text that other programs \
        see; {AS_TEXT}, or to its storage type if these bytes are the keys",
        extension.escape_debug()
    ))
}

/// The rows that are not null: one bit per row, the lowest first.
pub struct Bits<'a> {
    /// The buffer.
    pub bytes: &'a [u8],
    /// The bit of row 0.
    pub first: usize,
}

impl Bits<'_> {
    fn is_set(&self, row: usize) -> bool {
        let bit = self.first + row;
        self.bytes
            .get(bit / 8)
            .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// The bits of eight rows, the lowest first; 0 behind the end of the buffer.
    fn eight(&self, row: usize) -> u8 {
        let (place, shift) = ((self.first + row) / 8, (self.first + row) % 8);
        let byte = |i: usize| u16::from(self.bytes.get(i).copied().unwrap_or_default());
        ((byte(place) | byte(place + 1) << 8) >> shift) as u8 // the low byte is meant
    }
}

/// Indices of a dictionary.
pub struct Codes<'a> {
    /// The type of each index.
    pub width: Width,
    /// The buffer, from row 0 on.
    pub bytes: &'a [u8],
}

impl Codes<'_> {
    /// The index of a row; None if the row is out of range or the index is negative.
    pub fn get(&self, row: usize) -> Option<usize> {
        let code = match self.width {
            Width::I8 => i64::from(i8::from_ne_bytes(item(self.bytes, row)?)),
            Width::U8 => i64::from(u8::from_ne_bytes(item(self.bytes, row)?)),
            Width::I16 => i64::from(i16::from_ne_bytes(item(self.bytes, row)?)),
            Width::U16 => i64::from(u16::from_ne_bytes(item(self.bytes, row)?)),
            Width::I32 => i64::from(i32::from_ne_bytes(item(self.bytes, row)?)),
            Width::U32 => i64::from(u32::from_ne_bytes(item(self.bytes, row)?)),
            Width::I64 => i64::from_ne_bytes(item(self.bytes, row)?),
            // an index that does not fit into i64 is outside of any dictionary
            Width::U64 => i64::try_from(u64::from_ne_bytes(item(self.bytes, row)?)).ok()?,
        };
        usize::try_from(code).ok()
    }
}

/// Item number `row` of a buffer of N-byte items.
fn item<const N: usize>(bytes: &[u8], row: usize) -> Option<[u8; N]> {
    bytes.get(row * N..(row + 1) * N)?.try_into().ok()
}

/// Where the bytes of the rows are.
#[allow(missing_docs)] // the head of this file draws the fields
pub enum Layout<'a> {
    /// All rows are null.
    Nothing,
    /// Offsets of 4 bytes into the data.
    Narrow {
        offsets: &'a [[u8; 4]],
        data: &'a [u8],
    },
    /// Offsets of 8 bytes into the data.
    Wide {
        offsets: &'a [[u8; 8]],
        data: &'a [u8],
    },
    /// Views of any of several data buffers.
    Views {
        views: &'a [[u8; 16]],
        data: Vec<&'a [u8]>,
    },
    /// The same number of bytes for each row.
    Fixed { width: usize, data: &'a [u8] },
    /// Indices of values.
    Codes {
        codes: Codes<'a>,
        values: Box<Column<'a>>,
    },
}

/// Rows of keys.
pub struct Column<'a> {
    /// The number of rows.
    pub length: usize,
    /// A row is valid (not null) if all of these say so.
    pub validity: Vec<Bits<'a>>,
    /// The bytes of the rows.
    pub layout: Layout<'a>,
}

/// The keys of a block of rows.
pub struct Rows<'b> {
    /// The keys of the rows that are not null.
    pub keys: Keys<'b>,
    /// The places of these rows in the block, ascending; None if no row is null.
    pub valid: Option<&'b [usize]>,
}

/// Room for a block of rows, which is used again for the next block.
#[derive(Default)]
pub struct Room<'a> {
    spans: Vec<Span>,
    each: Vec<&'a [u8]>,
    valid: Vec<usize>,
}

impl<'a> Room<'a> {
    /// Notes where the keys of the rows that are not null begin and end.
    fn offsets<const N: usize>(
        &mut self,
        offsets: &[[u8; N]],
        has_null: bool,
        offset: impl Fn([u8; N]) -> usize,
    ) {
        // where the end is before the start, the length is longer than any buffer
        let span = |pair: &[[u8; N]]| match *pair {
            [start, end] => Span {
                start: offset(start),
                length: offset(end).wrapping_sub(offset(start)),
            },
            _ => Span::default(), // pairs have two items
        };
        if has_null {
            let pairs = self.valid.iter().filter_map(|i| offsets.get(*i..i + 2));
            self.spans.extend(pairs.map(span));
        } else {
            self.spans.extend(offsets.windows(2).map(span));
        }
    }
}

impl<'a> Column<'a> {
    /// The keys of a block of rows, which are inside the column.
    pub fn keys<'b>(&self, rows: Range<usize>, room: &'b mut Room<'a>) -> Result<Rows<'b>, Problem>
    where
        'a: 'b,
    {
        let (first, count) = (rows.start, rows.len());
        room.spans.clear();
        room.each.clear();
        let mut has_null = self.find_valid(rows.clone(), &mut room.valid);
        let data = match &self.layout {
            Layout::Narrow { offsets, data } => {
                let offset = |bytes| usize::try_from(i32::from_ne_bytes(bytes));
                let offset = |bytes| offset(bytes).unwrap_or(usize::MAX);
                room.offsets(&offsets[first..=rows.end], has_null, offset);
                Some(*data)
            }
            Layout::Wide { offsets, data } => {
                let offset = |bytes| usize::try_from(i64::from_ne_bytes(bytes));
                let offset = |bytes| offset(bytes).unwrap_or(usize::MAX);
                room.offsets(&offsets[first..=rows.end], has_null, offset);
                Some(*data)
            }
            Layout::Fixed { width, data } => {
                let span = |i: usize| Span {
                    start: (first + i) * width,
                    length: *width,
                };
                if has_null {
                    room.spans.extend(room.valid.iter().map(|i| span(*i)));
                } else {
                    room.spans.extend((0..count).map(span));
                }
                Some(*data)
            }
            Layout::Nothing | Layout::Views { .. } | Layout::Codes { .. } => None,
        };
        let keys = match data {
            Some(data) => match Keys::spans(data, &room.spans) {
                Some(keys) => keys,
                // one of them is outside: `key` finds it
                None => {
                    let bad = rows.clone().find_map(|row| self.key(row).err());
                    return Err(bad.unwrap_or_else(|| self.damaged(first)));
                }
            },
            None => {
                room.valid.clear();
                for (i, row) in rows.enumerate() {
                    if let Some(key) = self.key(row)? {
                        room.each.push(key);
                        room.valid.push(i);
                    }
                }
                has_null = room.valid.len() < count;
                Keys::each(&room.each)
            }
        };
        Ok(Rows {
            keys,
            valid: has_null.then_some(&room.valid),
        })
    }

    /// Whether a row of a block is null by its own validity bit. If so, `valid` gets the places of
    /// the others.
    fn find_valid(&self, rows: Range<usize>, valid: &mut Vec<usize>) -> bool {
        valid.clear();
        let eights = || {
            rows.clone().step_by(8).map(|row| {
                let bits = self.validity.iter().map(|bits| bits.eight(row));
                let inside = 0xFF >> (8 - (rows.end - row).min(8));
                (
                    row - rows.start,
                    bits.fold(inside, |all, bits| all & bits),
                    inside,
                )
            })
        };
        if self.validity.is_empty() || eights().all(|(_, bits, inside)| bits == inside) {
            return false;
        }
        for (place, bits, _) in eights() {
            let set = (0..8).filter(|i| bits >> i & 1 == 1);
            valid.extend(set.map(|i| place + i));
        }
        true
    }

    /// Whether a row is null by its own validity bit. A row is also null if its value in the
    /// dictionary is null, which this does not check.
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.iter().any(|bits| !bits.is_set(row))
    }

    /// The key of a row; None for null.
    pub fn key(&self, row: usize) -> Result<Option<&'a [u8]>, Problem> {
        if self.is_null(row) {
            return Ok(None);
        }
        let key = match &self.layout {
            Layout::Nothing => return Ok(None),
            Layout::Narrow { offsets, data } => {
                let at = |i: usize| {
                    offsets
                        .get(i)
                        .and_then(|bytes| usize::try_from(i32::from_ne_bytes(*bytes)).ok())
                };
                at(row)
                    .zip(at(row + 1))
                    .and_then(|(start, end)| data.get(start..end))
            }
            Layout::Wide { offsets, data } => {
                let at = |i: usize| {
                    offsets
                        .get(i)
                        .and_then(|bytes| usize::try_from(i64::from_ne_bytes(*bytes)).ok())
                };
                at(row)
                    .zip(at(row + 1))
                    .and_then(|(start, end)| data.get(start..end))
            }
            Layout::Views { views, data } => views.get(row).and_then(|view| viewed(view, data)),
            Layout::Fixed { width, data } => data.get(row * width..(row + 1) * width),
            Layout::Codes { codes, values } => {
                match codes.get(row).filter(|code| *code < values.length) {
                    Some(code) => return values.key(code),
                    None => None,
                }
            }
        };
        key.map(Some).ok_or_else(|| self.damaged(row))
    }

    /// The error for a row whose offsets, view or index point outside.
    pub fn damaged(&self, row: usize) -> Problem {
        let what = match self.layout {
            Layout::Codes { .. } => "index is not in the dictionary",
            _ => "bytes are not in the data",
        };
        Problem::Invalid(format!(
            "the Arrow keys are malformed: row {row} of {}: its {what}",
            self.length
        ))
    }
}

/// The bytes that a view refers to.
fn viewed<'a>(view: &'a [u8; 16], data: &[&'a [u8]]) -> Option<&'a [u8]> {
    let part =
        |i: usize| item(view, i).and_then(|bytes| usize::try_from(i32::from_ne_bytes(bytes)).ok());
    let length = part(0)?;
    if length <= 12 {
        return view.get(4..4 + length);
    }
    let start = part(3)?;
    data.get(part(2)?)?.get(start..start.checked_add(length)?)
}
