//! Imports columns that another library made: structs of the interface -> plain slices.
//!
//! Imported structs were made by other libraries. Everything that can be checked in them is checked
//! before any data is read, and a buffer becomes a slice of exactly the length that the structs
//! promise, so all later code is safe code on slices. One thing cannot be checked: whether a
//! producer's buffers are as long as the structs say. No consumer of the interface can know that.
//! (The crates that implement this interface have a hundred dependencies.)
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void, CStr};
use std::sync::Arc;

use crate::column::{kind_of, meant_otherwise, refused, Bits, Codes, Column, Kind, Layout};
use crate::extension::extension_name;
use crate::problem::{malformed, Problem};
use crate::structs::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned, Struct};

/// More rows than any machine can hold. Below this number no size in bytes exceeds `isize::MAX`,
/// the largest size of a slice.
const MOST_ROWS: usize = isize::MAX as usize / 32;

/// One imported array of keys. It is released when dropped.
pub struct Chunk {
    schema: Arc<Owned<ArrowSchema>>,
    array: Owned<ArrowArray>,
}

impl Chunk {
    /// Takes a column over.
    pub fn new(schema: Owned<ArrowSchema>, array: Owned<ArrowArray>) -> Chunk {
        Chunk {
            schema: Arc::new(schema),
            array,
        }
    }

    /// The rows as slices, or an error that says what is wrong with them.
    pub fn column(&self) -> Result<Column<'_>, Problem> {
        read(&self.schema, &self.array, Parent::None, 0, None)
    }
}

/// A stream of chunks. It is released when dropped.
pub struct Reader {
    stream: Owned<ArrowArrayStream>,
    schema: Option<Arc<Owned<ArrowSchema>>>,
}

impl Reader {
    /// Takes a stream over.
    pub fn new(stream: Owned<ArrowArrayStream>) -> Reader {
        Reader {
            stream,
            schema: None,
        }
    }

    /// The next chunk; None at the end.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, Problem> {
        let schema = match &self.schema {
            Some(schema) => schema.clone(),
            None => {
                let get_schema = self
                    .stream
                    .get_schema
                    .ok_or_else(|| malformed("has no get_schema"))?;
                let schema = self.fill(|stream, made: *mut ArrowSchema| {
                    // SAFETY: the stream is not released, and `made` is a released schema, which
                    // may be overwritten.
                    unsafe { get_schema(stream, made) }
                })?;
                if schema.is_released() {
                    return Err(malformed("gave no schema"));
                }
                kind(&schema, Parent::None)?; // checked here because the stream may have no chunk
                Arc::clone(self.schema.insert(Arc::new(schema)))
            }
        };
        let get_next = self
            .stream
            .get_next
            .ok_or_else(|| malformed("has no get_next"))?;
        let array = self.fill(|stream, made: *mut ArrowArray| {
            // SAFETY: the stream is not released, and `made` is a released array, which may be
            // overwritten.
            unsafe { get_next(stream, made) }
        })?;
        Ok((!array.is_released()).then_some(Chunk { schema, array }))
    }

    /// Makes a call that fills a struct, and returns the struct or the reason of the failure.
    fn fill<T: Struct>(
        &mut self,
        call: impl FnOnce(*mut ArrowArrayStream, *mut T) -> c_int,
    ) -> Result<Owned<T>, Problem> {
        let mut made = T::released();
        let status = call(self.stream.place(), &mut made);
        if status == 0 {
            // SAFETY: the producer filled it in, for us alone, and keeps the rules of the interface
            // (`Owned::new` of the stream).
            return Ok(unsafe { Owned::new(made) });
        }
        // after a failure the struct is not valid, whatever it contains
        let reason = self.stream.get_last_error.and_then(|get_last_error| {
            // SAFETY: the stream is not released, and its last call failed.
            let text = unsafe { get_last_error(self.stream.place()) };
            (!text.is_null()).then(|| {
                // SAFETY: the text is not null (`then`), so it is a C string that lives until the
                // next call. It is copied immediately.
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned()
            })
        });
        Err(Problem::Stream(reason.unwrap_or_else(|| {
            format!("it gave no reason (error {status})")
        })))
    }
}

/// The parent of a column, which decides which kinds it may have.
#[derive(Clone, Copy, PartialEq)]
enum Parent {
    /// The column stands by itself.
    None,
    /// The column is the only one of a record batch.
    Batch,
    /// The column is the dictionary of a column of indices.
    Dictionary,
}

/// The kind of a column of keys, or an error if its type cannot hold keys. If it accepts the schema
/// of a stream, all chunks of the stream hold keys.
fn kind(schema: &ArrowSchema, parent: Parent) -> Result<Kind, Problem> {
    let (format, values) = (format(schema)?, dictionary(schema));
    let kind = kind_of(format).filter(|kind| match kind {
        Kind::Codes(_) => values.is_some() && parent != Parent::Dictionary,
        Kind::Batch => values.is_none() && parent == Parent::None,
        _ => values.is_none(),
    });
    let kind =
        kind.ok_or_else(|| refused(format, values.is_some(), parent == Parent::Dictionary))?;
    // SAFETY: the metadata of a schema are null, or as the interface says
    if let Some(name) = unsafe { extension_name(schema.metadata) } {
        // other engines hash the text of a UUID; the bytes of a text are its text
        if matches!(format.as_bytes().first(), Some(b'z' | b'Z' | b'w')) || format == "vz" {
            return Err(meant_otherwise(&name));
        }
    }
    if let Some(values) = values {
        self::kind(values, Parent::Dictionary)?;
    }
    if kind == Kind::Batch {
        if schema.n_children != 1 {
            return Err(Problem::Type(format!(
                "keys are one column, not the {} of a table: pass one of them",
                schema.n_children
            )));
        }
        self::kind(child(schema, schema.children)?, Parent::Batch)?;
    }
    Ok(kind)
}

/// The type of a dictionary's values, if a column has one.
fn dictionary(schema: &ArrowSchema) -> Option<&ArrowSchema> {
    // SAFETY: the dictionary of a schema is null, or points to a schema that lives as long as this
    // one.
    unsafe { schema.dictionary.as_ref() }
}

/// The rows `skip` to `skip + take` of an array, as slices; all rows from `skip` if `take` is None.
fn read<'a>(
    schema: &'a ArrowSchema,
    array: &'a ArrowArray,
    parent: Parent,
    skip: usize,
    take: Option<usize>,
) -> Result<Column<'a>, Problem> {
    if schema.is_released() || array.is_released() {
        return Err(malformed("was released already"));
    }
    let (length, offset) = (rows(array.length, "length")?, rows(array.offset, "offset")?);
    let take = take.unwrap_or(length.saturating_sub(skip));
    if skip + take > length {
        return Err(malformed(&format!(
            "has a column of {length} rows where its batch has {}",
            skip + take
        )));
    }
    let first = offset + skip;
    let end = first + take;
    // a batch may need fewer rows than its column has, but the last offset of all rows is the one
    // that says how long the data is
    let whole = offset + length;
    if !(-1..=array.length).contains(&array.null_count) {
        return Err(malformed(&format!(
            "has {} nulls in {length} rows",
            array.null_count
        )));
    }
    let kind = kind(schema, parent)?;
    let buffers = Buffers::of(array, kind)?;
    if take == 0 || kind == Kind::Nothing {
        return Ok(Column {
            length: take,
            validity: Vec::new(),
            layout: Layout::Nothing,
        }); // buffers may be missing if no row needs them
    }
    let mut validity = Vec::new();
    match buffers.0.first() {
        Some(bits) if array.null_count != 0 && !bits.is_null() => {
            validity.push(Bits {
                bytes: buffers.bytes(0, end.div_ceil(8), "validity")?,
                first,
            });
        }
        Some(_) if array.null_count > 0 => {
            return Err(malformed("has nulls and no validity buffer"))
        }
        _ => {}
    }
    let layout = match kind {
        Kind::Nothing => Layout::Nothing, // returned above
        Kind::Narrow => {
            let offsets = buffers.items::<4>(1, whole + 1, "offsets")?;
            let size = size(i32::from_ne_bytes(offsets[whole]).into(), "offset")?;
            Layout::Narrow {
                offsets: &offsets[first..=end],
                data: buffers.bytes(2, size, "data")?,
            }
        }
        Kind::Wide => {
            let offsets = buffers.items::<8>(1, whole + 1, "offsets")?;
            let size = size(i64::from_ne_bytes(offsets[whole]), "offset")?;
            Layout::Wide {
                offsets: &offsets[first..=end],
                data: buffers.bytes(2, size, "data")?,
            }
        }
        Kind::Views => {
            let views = buffers.items::<16>(1, end, "views")?;
            let last = buffers.0.len() - 1;
            let sizes = buffers.items::<8>(last, last - 2, "sizes")?;
            let data = (2..last).zip(sizes).map(|(number, bytes)| {
                buffers.bytes(number, size(i64::from_ne_bytes(*bytes), "size")?, "data")
            });
            Layout::Views {
                views: &views[first..],
                data: data.collect::<Result<_, _>>()?,
            }
        }
        Kind::Fixed(width) => {
            // the size of all rows: a batch may need fewer
            whole
                .checked_mul(width)
                .filter(|size| isize::try_from(*size).is_ok())
                .ok_or_else(|| malformed("is too long"))?;
            Layout::Fixed {
                width,
                data: &buffers.bytes(1, end * width, "data")?[first * width..],
            }
        }
        Kind::Codes(width) => {
            let codes = buffers.bytes(1, end * width.bytes(), "indices")?;
            // SAFETY: the dictionary of an array is null, or points to an array that lives as long
            // as this one.
            let values = unsafe { array.dictionary.as_ref() };
            let (schema, array) = dictionary(schema)
                .zip(values)
                .ok_or_else(|| malformed("has indices and no dictionary"))?;
            let codes = Codes {
                width,
                bytes: &codes[first * width.bytes()..],
            };
            Layout::Codes {
                codes,
                values: Box::new(read(schema, array, Parent::Dictionary, 0, None)?),
            }
        }
        Kind::Batch => {
            if array.n_children != 1 {
                return Err(malformed("lacks its column"));
            }
            let mut column = read(
                child(schema, schema.children)?,
                child(array, array.children)?,
                Parent::Batch,
                first,
                Some(take),
            )?;
            column.validity.append(&mut validity);
            return Ok(column);
        }
    };
    Ok(Column {
        length: take,
        validity,
        layout,
    })
}

/// The only child of a struct.
fn child<T>(_parent: &T, children: *mut *mut T) -> Result<&T, Problem> {
    // SAFETY: if a struct has children, `children` is null, or points to an array of pointers that
    // lives as long as the struct.
    let first = unsafe { children.as_ref() };
    // SAFETY: each of these pointers is null, or points to a struct that lives as long as its
    // parent.
    first
        .and_then(|first| unsafe { first.as_ref() })
        .ok_or_else(|| malformed("lacks its column"))
}

/// Checks a number of rows.
fn rows(number: i64, what: &str) -> Result<usize, Problem> {
    let number = usize::try_from(number).map_err(|_| malformed(&format!("has {what} {number}")))?;
    if number > MOST_ROWS / 2 {
        return Err(malformed(&format!(
            "has {what} {number}, which no memory holds"
        )));
    }
    Ok(number)
}

/// The format string of a column's type.
fn format(schema: &ArrowSchema) -> Result<&str, Problem> {
    if schema.format.is_null() {
        return Err(malformed("has no format"));
    }
    // SAFETY: `format` is not null (above), so it is a C string that lives as long as the schema.
    unsafe { CStr::from_ptr(schema.format) }
        .to_str()
        .map_err(|_| malformed("has a format that is no text"))
}

/// The addresses of an array's buffers.
struct Buffers<'a>(&'a [*const c_void]);

impl<'a> Buffers<'a> {
    /// The buffers of an array. Fails if their number is wrong for its kind.
    fn of(array: &'a ArrowArray, kind: Kind) -> Result<Buffers<'a>, Problem> {
        let (least, most) = kind.buffers();
        let count = usize::try_from(array.n_buffers)
            .ok()
            .filter(|count| (least..=most.min(MOST_ROWS)).contains(count));
        let count = count.ok_or_else(|| {
            malformed(&format!(
                "has {} buffers, its type {least}",
                array.n_buffers
            ))
        })?;
        if count == 0 {
            return Ok(Buffers(&[]));
        }
        if array.buffers.is_null() {
            return Err(malformed("has no buffers"));
        }
        // SAFETY: `buffers` is not null (above), so it points to `n_buffers` addresses that live as
        // long as the array. `MOST_ROWS` keeps their size below `isize::MAX`.
        Ok(Buffers(unsafe {
            std::slice::from_raw_parts(array.buffers, count)
        }))
    }

    /// A buffer as `count` items of N bytes.
    fn items<const N: usize>(
        &self,
        number: usize,
        count: usize,
        what: &str,
    ) -> Result<&'a [[u8; N]], Problem> {
        if count == 0 {
            return Ok(&[]);
        }
        if self.0[number].is_null() {
            return Err(malformed(&format!("has no {what} buffer")));
        }
        // SAFETY: the buffer is not null (above), and belongs to the array, which lives for 'a.
        // Bytes need no alignment. The layout of the array's type promises `count` items (`read`),
        // and their size is below `isize::MAX` (`rows`, `size`).
        Ok(unsafe { std::slice::from_raw_parts(self.0[number].cast::<[u8; N]>(), count) })
    }

    /// A buffer of bytes.
    fn bytes(&self, number: usize, count: usize, what: &str) -> Result<&'a [u8], Problem> {
        self.items::<1>(number, count, what)
            .map(<[[u8; 1]]>::as_flattened)
    }
}

/// Checks a size in bytes.
fn size(number: i64, what: &str) -> Result<usize, Problem> {
    isize::try_from(number)
        .ok()
        .and_then(|size| usize::try_from(size).ok())
        .ok_or_else(|| malformed(&format!("has {what} {number}")))
}

#[cfg(test)]
mod tests;
