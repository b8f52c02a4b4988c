//! Arrow's C Data Interface: imports and exports columns without a copy, as the structs that all
//! Arrow libraries share.
//!
//! ```text
//! keys.__arrow_c_array__()   -> capsules -> Chunk  -> Column: plain slices, read by column.rs
//! keys.__arrow_c_stream__() -> capsule -> Reader -> one Chunk after the other
//! Array.__arrow_c_array__() <- capsules <- Export: the column of a result, freed by its `release`
//! ```
//!
//! This is the only file of the binding with unsafe code. Imported structs were made by other
//! libraries. Everything that can be checked in them is checked before any data is read, and a
//! buffer becomes a slice of exactly the length that the structs promise, so all later code is safe
//! code on slices. One thing cannot be checked: whether a producer's buffers are as long as the
//! structs say. No consumer of the interface can know that. (The crates that implement this
//! interface have a hundred dependencies.)
//!
//! The rules (arrow.apache.org, "The Arrow C data interface"): a struct whose `release` is null is
//! released; the consumer of a capsule moves the struct out and leaves a released one; the owner of
//! a struct calls `release` once.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;
use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::column::{kind_of, refused, Bits, Codes, Column, Kind, Layout};
use crate::error::{type_name, Problem};

/// `ARROW_FLAG_NULLABLE`.
const NULLABLE: i64 = 2;
/// More rows than any machine can hold. Below this number no size in bytes exceeds `isize::MAX`,
/// the largest size of a slice.
const MOST_ROWS: usize = isize::MAX as usize / 32;

/// `struct ArrowSchema`: the type of a column.
#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`: the rows of a column.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`: columns of one type, one after the other.
#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// A struct of the interface. It is passed in a capsule of a fixed name, may be moved, and is
/// released once.
trait Struct: Sized {
    /// The name of its capsules.
    const CAPSULE: &'static CStr;
    /// A released struct.
    fn released() -> Self;
    /// Whether the struct is released.
    fn is_released(&self) -> bool;
}

impl Struct for ArrowSchema {
    const CAPSULE: &'static CStr = c"arrow_schema";

    fn released() -> ArrowSchema {
        ArrowSchema {
            format: ptr::null(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }
}

impl Struct for ArrowArray {
    const CAPSULE: &'static CStr = c"arrow_array";

    fn released() -> ArrowArray {
        ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }
}

impl Struct for ArrowArrayStream {
    const CAPSULE: &'static CStr = c"arrow_array_stream";

    fn released() -> ArrowArrayStream {
        ArrowArrayStream {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn is_released(&self) -> bool {
        self.release.is_none()
    }
}

impl Drop for ArrowSchema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: this schema is not released (line above), and this value owns it: `take`,
            // `Reader` and `exported_schema` never make a second copy.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowArray {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: this array is not released (line above), and this value owns it: `take`,
            // `Reader` and `exported_array` never make a second copy.
            unsafe { release(self) }
        }
    }
}

impl Drop for ArrowArrayStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: this stream is not released (line above), and this value owns it: `take`
            // never makes a second copy.
            unsafe { release(self) }
        }
    }
}

// SAFETY: the interface lets a schema be moved, read and released on any thread.
unsafe impl Send for ArrowSchema {}
// SAFETY: the interface lets an array be moved, read and released on any thread, but only by one
// thread at a time, hence no `Sync`.
unsafe impl Send for ArrowArray {}
// SAFETY: the interface lets a stream be called on any thread, but only by one thread at a time,
// hence no `Sync`.
unsafe impl Send for ArrowArrayStream {}

/// Moves a struct out of its capsule, and leaves a released one there.
fn take<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<T> {
    let name = T::CAPSULE.to_string_lossy();
    let found = capsule
        .cast::<PyCapsule>()
        .ok()
        .and_then(|capsule| capsule.pointer_checked(Some(T::CAPSULE)).ok());
    let pointer = found.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "an object of Arrow gave {} for the capsule {name:?}",
            type_name(capsule)
        ))
    })?;
    // SAFETY: a capsule of this name holds a `T` that lives as long as the capsule. We hold a
    // reference to the capsule, and nobody else accesses the `T` while we hold the GIL. (A Python
    // without a GIL does not load modules of the stable ABI, which this one is.)
    let taken = unsafe { pointer.cast::<T>().replace(T::released()) };
    if taken.is_released() {
        return Err(
            Problem::Invalid(format!("the capsule {name:?} was taken already"))
                .raised(capsule.py()),
        );
    }
    Ok(taken)
}

/// One imported array of keys. It is released when dropped.
pub(crate) struct Chunk {
    schema: Arc<ArrowSchema>,
    array: ArrowArray,
}

// SAFETY: nothing writes to a schema before its release, which happens when the last `Arc` is
// dropped; chunks only read the schema that they share.
unsafe impl Sync for ArrowSchema {}

impl Chunk {
    /// Takes the result of `__arrow_c_array__`.
    pub(crate) fn of(capsules: &Bound<'_, PyAny>) -> PyResult<Chunk> {
        let pair = capsules
            .cast::<PyTuple>()
            .ok()
            .filter(|pair| pair.len() == 2);
        let pair = pair.ok_or_else(|| {
            PyTypeError::new_err(format!(
                "__arrow_c_array__ gave {}, not two capsules",
                type_name(capsules)
            ))
        })?;
        Ok(Chunk {
            schema: Arc::new(take(&pair.get_item(0)?)?),
            array: take(&pair.get_item(1)?)?,
        })
    }

    /// The rows as slices, or an error that says what is wrong with them.
    pub(crate) fn column(&self) -> Result<Column<'_>, Problem> {
        read(&self.schema, &self.array, Parent::None, 0, None)
    }
}

/// A stream of chunks. It is released when dropped.
pub(crate) struct Reader {
    stream: ArrowArrayStream,
    schema: Option<Arc<ArrowSchema>>,
}

impl Reader {
    /// Takes the result of `__arrow_c_stream__`.
    pub(crate) fn of(capsule: &Bound<'_, PyAny>) -> PyResult<Reader> {
        Ok(Reader {
            stream: take(capsule)?,
            schema: None,
        })
    }

    /// The next chunk; None at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>, Problem> {
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
    ) -> Result<T, Problem> {
        let mut made = T::released();
        let status = call(&mut self.stream, &mut made);
        if status == 0 {
            return Ok(made);
        }
        std::mem::forget(made); // after a failure the struct is not valid, whatever it contains
        let reason = self.stream.get_last_error.and_then(|get_last_error| {
            // SAFETY: the stream is not released, and its last call failed.
            let text = unsafe { get_last_error(&mut self.stream) };
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

fn malformed(what: &str) -> Problem {
    Problem::Invalid(format!(
        "the Arrow keys are malformed: the stream or array {what}"
    ))
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
            let offsets = buffers.items::<4>(1, end + 1, "offsets")?;
            let size = size(i32::from_ne_bytes(offsets[end]).into(), "offset")?;
            Layout::Narrow {
                offsets: &offsets[first..],
                data: buffers.bytes(2, size, "data")?,
            }
        }
        Kind::Wide => {
            let offsets = buffers.items::<8>(1, end + 1, "offsets")?;
            let size = size(i64::from_ne_bytes(offsets[end]), "offset")?;
            Layout::Wide {
                offsets: &offsets[first..],
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
            let size = end
                .checked_mul(width)
                .filter(|size| isize::try_from(*size).is_ok())
                .ok_or_else(|| malformed("is too long"))?;
            Layout::Fixed {
                width,
                data: &buffers.bytes(1, size, "data")?[first * width..],
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

/// Memory that is exported.
///
/// # Safety
///
/// While it is in an `Arc`, it must neither move nor change: `address` returns the same items each
/// time.
pub(crate) unsafe trait Buffer: Send + Sync {
    /// The address of the memory.
    fn address(&self) -> *const c_void;
}

// SAFETY: a Vec that is only read does not move its items. They do not change either, because what
// can change behind a shared reference (an atomic number) is not `Copy`.
unsafe impl<T: Copy + Send + Sync> Buffer for Vec<T> {
    fn address(&self) -> *const c_void {
        self.as_ptr().cast()
    }
}

/// A column to export.
pub(crate) struct Export {
    /// The format string of its type, such as "i".
    pub(crate) format: &'static CStr,
    /// The number of rows.
    pub(crate) length: usize,
    /// The number of rows that are null.
    pub(crate) nulls: usize,
    /// The buffers in the order of the type; None for the validity of a column without nulls.
    pub(crate) buffers: Vec<Option<Arc<dyn Buffer>>>,
    /// The values that the rows are indices of.
    pub(crate) dictionary: Option<Box<Export>>,
    /// The items of all rows, if the rows are lists.
    pub(crate) items: Option<Box<Export>>,
}

impl Export {
    /// A capsule with the type.
    pub(crate) fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, self.exported_schema(), ArrowSchema::CAPSULE)
    }

    /// A capsule with the rows.
    pub(crate) fn array<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, self.exported_array(), ArrowArray::CAPSULE)
    }

    fn exported_schema(&self) -> ArrowSchema {
        ArrowSchema {
            format: self.format.as_ptr(),
            name: c"item".as_ptr(), // Arrow's own name for the items of lists; others need none
            flags: NULLABLE,
            n_children: self.items.iter().len() as i64, // 0 or 1
            children: children(self.items.as_ref().map(|items| items.exported_schema())),
            dictionary: boxed(self.dictionary.as_ref().map(|it| it.exported_schema())),
            release: Some(release_schema),
            ..ArrowSchema::released()
        }
    }

    fn exported_array(self) -> ArrowArray {
        let addresses = self
            .buffers
            .iter()
            .map(|buffer| {
                buffer
                    .as_ref()
                    .map_or(ptr::null(), |buffer| buffer.address())
            })
            .collect();
        let held = Box::new(Held {
            addresses,
            _buffers: self.buffers,
        });
        ArrowArray {
            // a Vec has no more than `isize::MAX` items
            length: self.length as i64,
            null_count: self.nulls as i64,
            n_buffers: held.addresses.len() as i64,
            buffers: held.addresses.as_ptr(),
            n_children: self.items.iter().len() as i64, // 0 or 1
            children: children(self.items.map(|items| items.exported_array())),
            dictionary: boxed(self.dictionary.map(|values| values.exported_array())),
            release: Some(release_array),
            private_data: Box::into_raw(held).cast(),
            ..ArrowArray::released()
        }
    }
}

/// The memory that an exported array points to.
struct Held {
    addresses: Vec<*const c_void>,
    _buffers: Vec<Option<Arc<dyn Buffer>>>,
}

/// A struct in a box that only `drop_box` frees; null for None.
fn boxed<T>(inner: Option<T>) -> *mut T {
    inner.map_or(ptr::null_mut(), |inner| Box::into_raw(Box::new(inner)))
}

/// The children of a struct that has one child or none. Only `drop_children` frees them.
fn children<T>(only: Option<T>) -> *mut *mut T {
    boxed(only.map(|only| boxed(Some(only))))
}

/// Frees what `boxed` made.
///
/// # Safety
///
/// `inner` is from `boxed`, and is not used again.
unsafe fn drop_box<T>(inner: *mut T) {
    if !inner.is_null() {
        // SAFETY: it is not null, so `boxed` made it from a box. Dropping a struct of the interface
        // releases it, unless it was moved out.
        drop(unsafe { Box::from_raw(inner) });
    }
}

/// Frees what `children` made.
///
/// # Safety
///
/// `only` is from `children`, and is not used again.
unsafe fn drop_children<T>(only: *mut *mut T) {
    // SAFETY: it is null, or `boxed` made it, which nobody else frees.
    if let Some(child) = unsafe { only.as_ref() } {
        // SAFETY: `children` made the child with `boxed`.
        unsafe { drop_box(*child) };
        // SAFETY: `children` made the list of one with `boxed`.
        unsafe { drop_box(only) };
    }
}

/// The `release` of `exported_schema`.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the interface guarantees that a schema's release is called with that schema, by its
    // only owner.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: `exported_schema` made them, and release runs once.
    unsafe { drop_children(schema.children) };
    // SAFETY: `exported_schema` made it, and release runs once.
    unsafe { drop_box(schema.dictionary) };
}

/// The `release` of `exported_array`.
unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the interface guarantees that an array's release is called with that array, by its
    // only owner.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: `exported_array` made them, and release runs once.
    unsafe { drop_children(array.children) };
    // SAFETY: `exported_array` made it, and release runs once.
    unsafe { drop_box(array.dictionary) };
    // SAFETY: `exported_array` made it from a box of a `Held`, and the interface guarantees that
    // release is called only once.
    drop(unsafe { Box::from_raw(array.private_data.cast::<Held>()) });
}

#[cfg(test)]
mod tests;
