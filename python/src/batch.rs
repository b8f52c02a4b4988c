//! Batches of keys: recognises the kind of a batch, and has its keys answered in blocks: with the
//! numbers of nodes (Map.locate_many), with policies (Map.locate_all_many) or with points
//! (Plan.affects_many).
//!
//! ```text
//! list, iterable        keys are copied into a block (copied.rs) --+
//! NumPy                 blocks of 1 MiB, bytes or objects ---------+-- Batch::block -- Ask::answer
//! Arrow array, stream   columns, read in place (stead-arrow) --------+
//! ```
//!
//! Answering touches no Python object, so other threads run meanwhile.

use std::ops::Range;

use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyDict, PyFloat, PyFrozenSet, PyList, PySet, PySlice, PyString, PyTuple,
};

use stead::policy::PolicyId;
use stead::{Keys, Point, Span};
use stead_arrow::column::{refused, Codes, Column, Layout, Room, Rows, FLOATS};
use stead_arrow::{Chunk, Reader};

use crate::arrow::{chunk_of, reader_of};
use crate::copied::Copied;
use crate::error::{invalid, type_name, Problem};
use crate::key;
use crate::validity::Validity;

/// The number of rows of a column that are read at a time for each thread. The positions of their
/// keys fill 64 KiB, so they are still in the cache when the keys are hashed.
const ROWS: usize = 1 << 12;
/// The same if there are several threads: few rows are not worth a thread.
const ROWS_A_THREAD: usize = 1 << 16;
/// The number of bytes of a NumPy array that are copied at a time.
const BYTES: usize = 1 << 20;
/// The number of items of a NumPy array, in lists of objects, that are held at a time.
const OBJECTS: usize = 1 << 16;
/// The number of rows, some 50 ms, after which Ctrl-C is checked for.
const PAUSE: usize = 1 << 21;

/// What is said of a key that is not null.
pub(crate) trait Answer: Copy + Send {
    /// What stands in the place of a key that is null.
    const NULL: Self;
}

impl Answer for i32 {
    const NULL: i32 = 0;
}

impl Answer for PolicyId {
    const NULL: PolicyId = PolicyId(0);
}

impl Answer for Point {
    const NULL: Point = Point(0);
}

/// How keys are answered, and what becomes of the answers.
pub(crate) trait Ask: Send {
    /// What is said of a key.
    type Answer: Answer;
    /// Whether the answers are kept until the end. If not, `take` takes those of each block.
    const KEEPS: bool;
    /// The number of threads that answer.
    fn threads(&self) -> usize;
    /// Answers keys: `answers[i]` becomes that of key `i`.
    fn answer(&self, keys: Keys<'_>, answers: &mut [Self::Answer]);
    /// Takes the answers of the next keys.
    fn take(&mut self, _answers: &Answers<Self::Answer>) -> Result<(), Problem> {
        Ok(())
    }
}

/// The answers for keys; null for a key that is null.
pub(crate) struct Answers<T> {
    /// The answer for each key; `NULL` for null.
    pub(crate) values: Vec<T>,
    /// Which keys are not null.
    pub(crate) validity: Validity,
}

impl<T> Default for Answers<T> {
    fn default() -> Answers<T> {
        Answers {
            values: Vec::new(),
            validity: Validity::default(),
        }
    }
}

impl<T: Answer> Answers<T> {
    fn reserve(&mut self, more: usize) -> Result<(), Problem> {
        self.values.try_reserve(more).map_err(|_| Problem::Memory)
    }

    /// The answers, with None for null.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<T>> + '_ {
        (0..self.values.len()).map(|row| self.get(row))
    }

    fn get(&self, row: usize) -> Option<T> {
        let value = self.values.get(row).copied();
        value.filter(|_| !self.validity.is_null(row))
    }

    /// Appends an answer; null for None.
    pub(crate) fn push(&mut self, answer: Option<T>) {
        self.values.push(answer.unwrap_or(T::NULL));
        let valid: Option<&[usize]> = answer.is_none().then_some(&[]);
        self.validity.extend(1, valid);
    }

    /// Appends the answers of `count` keys. `valid` lists the positions of the keys that are not
    /// null; it is None when no key is null. `fill` writes the answers of these keys.
    fn extend(&mut self, count: usize, valid: Option<&[usize]>, fill: impl FnOnce(&mut [T])) {
        let first = self.values.len();
        self.values.resize(first + count, T::NULL);
        let values = &mut self.values[first..];
        fill(&mut values[..valid.map_or(count, <[usize]>::len)]);
        // from the last to the first, so that no answer is overwritten before it is moved
        for (from, to) in valid.unwrap_or_default().iter().enumerate().rev() {
            let answer = std::mem::replace(&mut values[from], T::NULL);
            values[*to] = answer;
        }
        self.validity.extend(count, valid);
    }

    fn clear(&mut self) {
        self.values.clear();
        self.validity.clear();
    }
}

/// Blocks of a column's rows.
fn blocks(length: usize, threads: usize) -> impl Iterator<Item = Range<usize>> {
    let size = match threads {
        1 => ROWS,
        _ => ROWS_A_THREAD * threads,
    };
    let starts = (0..length).step_by(size);
    starts.map(move |start| start..length.min(start + size))
}

/// A batch whose keys are being answered.
struct Batch<A: Ask> {
    ask: A,
    answers: Answers<A::Answer>,
    /// the number of rows since Ctrl-C was last checked for
    since: usize,
    /// the number of rows that were answered
    rows: usize,
}

impl<A: Ask> Batch<A> {
    /// Answers the keys of the next rows. Every batch passes through this function.
    fn block(
        &mut self,
        count: usize,
        keys: Keys<'_>,
        valid: Option<&[usize]>,
    ) -> Result<(), Problem> {
        self.answers.reserve(count)?;
        let ask = &self.ask;
        self.answers
            .extend(count, valid, |answers| ask.answer(keys, answers));
        self.took(count)
    }

    /// Hands the answers of the last rows on.
    fn took(&mut self, count: usize) -> Result<(), Problem> {
        self.rows += count;
        if !A::KEEPS {
            self.ask.take(&self.answers)?;
            self.answers.clear();
        }
        Ok(())
    }

    /// Checks for Ctrl-C now and then.
    fn pause(&mut self, count: usize) -> Result<(), Problem> {
        self.since += count;
        if self.since >= PAUSE {
            self.since = 0;
            Python::attach(|py| py.check_signals()).map_err(Problem::Raised)?;
        }
        Ok(())
    }

    /// Answers a column's keys. If a dictionary is not longer than its column, each of its values
    /// is answered only once, which takes memory for one answer per value.
    fn column(&mut self, column: &Column<'_>) -> Result<(), Problem> {
        if A::KEEPS {
            self.answers.reserve(column.length)?;
        }
        match &column.layout {
            Layout::Codes { codes, values } if values.length <= column.length => {
                let mut known = Answers::default();
                known.reserve(values.length)?;
                let mut room = Room::default();
                for rows in blocks(values.length, self.ask.threads()) {
                    let count = rows.len();
                    let Rows { keys, valid } = values.keys(rows, &mut room)?;
                    known.extend(count, valid, |answers| self.ask.answer(keys, answers));
                    self.pause(count)?;
                }
                self.codes(column, codes, &known)
            }
            _ => {
                let mut room = Room::default();
                for rows in blocks(column.length, self.ask.threads()) {
                    let count = rows.len();
                    let Rows { keys, valid } = column.keys(rows, &mut room)?;
                    self.block(count, keys, valid)?;
                    self.pause(count)?;
                }
                Ok(())
            }
        }
    }

    /// Answers the rows of a column of codes, whose values have these answers.
    fn codes(
        &mut self,
        column: &Column<'_>,
        codes: &Codes<'_>,
        known: &Answers<A::Answer>,
    ) -> Result<(), Problem> {
        for rows in blocks(column.length, self.ask.threads()) {
            let count = rows.len();
            self.answers.reserve(count)?;
            for row in rows {
                let code = codes.get(row).filter(|code| *code < known.values.len());
                let found = match (column.is_null(row), code) {
                    (true, _) => None,
                    (false, Some(code)) => known.get(code),
                    (false, None) => return Err(column.damaged(row).into()),
                };
                self.answers.push(found);
            }
            self.took(count)?;
            self.pause(count)?;
        }
        Ok(())
    }

    /// Answers a stream's keys, chunk after chunk.
    fn stream(&mut self, mut reader: Reader) -> Result<(), Problem> {
        while let Some(chunk) = reader.next_chunk()? {
            self.chunk(chunk)?;
        }
        Ok(())
    }

    /// Answers a chunk's keys, then releases the chunk.
    fn chunk(&mut self, chunk: Chunk) -> Result<(), Problem> {
        self.column(&chunk.column()?)
    }

    /// Answers keys that are objects. None is null; in a series, so are the objects that stand for
    /// a missing value.
    fn objects<'py>(
        &mut self,
        py: Python<'py>,
        objects: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
        is_series: bool,
    ) -> PyResult<()> {
        let mut copied = Copied::default();
        for object in objects {
            let object = object?;
            match key::bytes(&object) {
                Ok(key) if Copied::is_long(key) => {
                    self.copied(py, &mut copied)?;
                    // `object` keeps the key alive while other threads run
                    py.detach(|| self.block(1, Keys::each(&[key]), None))
                        .map_err(|problem| problem.raised(py))?;
                }
                Ok(key) => copied.push(Some(key)),
                Err(_) if object.is_none() || (is_series && is_missing(&object)) => {
                    copied.push(None);
                }
                Err(error) => {
                    let row = self.rows + copied.count();
                    return Err(key::at(py, &format!("key {row}"), error));
                }
            }
            if copied.is_full() {
                self.copied(py, &mut copied)?;
            }
        }
        self.copied(py, &mut copied)
    }

    /// Answers keys that were copied, and empties the block.
    fn copied(&mut self, py: Python<'_>, copied: &mut Copied) -> PyResult<()> {
        py.detach(|| self.block(copied.count(), copied.keys(), copied.valid()))
            .map_err(|problem| problem.raised(py))?;
        copied.clear();
        py.check_signals()
    }

    /// Answers a NumPy array's keys. The array is read in blocks: as bytes if all keys have the
    /// same size, otherwise as lists of objects. NumPy makes the blocks, so its own rules for
    /// strides, byte orders, masks and padding apply, in every version.
    fn numpy(&mut self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = keys.py();
        let dtype = keys.getattr("dtype")?;
        let dimensions: usize = keys.getattr("ndim")?.extract()?;
        if dimensions != 1 {
            return Err(invalid(
                py,
                format!("keys are a NumPy array of {dimensions} dimensions, not of one"),
            ));
        }
        let kind: String = dtype.getattr("kind")?.extract()?;
        if !matches!(kind.as_str(), "S" | "U" | "T" | "O") {
            return Err(PyTypeError::new_err(format!(
                "keys are a NumPy array of {dtype}, and stead takes S, U, StringDType and object; \
                 convert the array {}",
                match kind.as_str() {
                    "f" => FLOATS,
                    _ => "to the text that other programs use as the key",
                }
            )));
        }
        let width: usize = dtype.getattr("itemsize")?.extract()?;
        let (rows, step) = (keys.len()?, (BYTES / width.max(1)).clamp(1, OBJECTS));
        let is_plain = !keys.hasattr("mask")? && dtype.getattr("isnative")?.extract()?;
        let mut copied = Copied::default();
        for start in (0..rows).step_by(step) {
            let count = step.min(rows - start);
            let slice = PySlice::new(py, start as isize, (start + count) as isize, 1);
            let block = keys.get_item(slice)?;
            if is_plain && matches!(kind.as_str(), "S" | "U") {
                let block = block.call_method0("tobytes")?;
                let bytes = block.cast::<PyBytes>()?.as_bytes();
                if bytes.len() != count * width {
                    let found = bytes.len();
                    return Err(invalid(
                        py,
                        format!(
                            "keys are a NumPy array that gave {found} bytes for {count} keys of \
                             {width}"
                        ),
                    ));
                }
                if kind == "S" {
                    self.padded(py, bytes, width, count)?;
                    continue;
                }
                if py.detach(|| copied.push_utf32(bytes, width, count)) {
                    self.copied(py, &mut copied)?;
                    continue;
                }
                copied.clear(); // an item is no text, and NumPy or the key says so
            }
            let items = block.call_method0("tolist")?;
            self.objects(py, items.cast::<PyList>()?.iter().map(Ok), true)?;
        }
        Ok(())
    }

    /// Answers keys of one width, without the NULs at their ends: NumPy pads with NUL, and does not
    /// count NULs at the end.
    fn padded(&mut self, py: Python<'_>, block: &[u8], width: usize, count: usize) -> PyResult<()> {
        let answered = py.detach(|| {
            let span = |i: usize| {
                let item = block.get(i * width..(i + 1) * width).unwrap_or_default();
                let last = item.iter().rposition(|byte| *byte != 0);
                Span {
                    start: i * width,
                    length: last.map_or(0, |last| last + 1),
                }
            };
            let spans: Vec<Span> = (0..count).map(span).collect();
            // every span is inside the block
            let keys = Keys::spans(block, &spans).unwrap_or(Keys::each(&[]));
            self.block(count, keys, None)
        });
        answered.map_err(|problem| problem.raised(py))?;
        py.check_signals()
    }

    /// Answers the keys of any batch, and returns whether it was a column, so that the result
    /// should be one, too.
    fn any(&mut self, keys: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = keys.py();
        if let Ok(keys) = keys.cast_exact::<PyList>() {
            return self.objects(py, keys.iter().map(Ok), false).map(|()| false);
        }
        if let Ok(keys) = keys.cast_exact::<PyTuple>() {
            return self.objects(py, keys.iter().map(Ok), false).map(|()| false);
        }
        if keys.is_instance_of::<PyString>() || keys.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(format!(
                "keys are a list or an array of keys, not one {}: write [key]",
                type_name(keys)
            )));
        }
        // the answers are in the order of the keys, which a set does not have
        if keys.is_instance_of::<PySet>() || keys.is_instance_of::<PyFrozenSet>() {
            return Err(PyTypeError::new_err(format!(
                "keys are a list or an array of keys, not {}, which has no order: write sorted(keys)",
                type_name(keys)
            )));
        }
        if is_numpy(keys)? {
            return self.numpy(keys).map(|()| true);
        }
        let dtype = keys
            .getattr_opt("dtype")?
            .map(|dtype| dtype.str())
            .transpose()?;
        // through Arrow, pandas would copy the objects, and polars would export their addresses
        let has_objects = dtype.as_ref().is_some_and(|dtype| {
            dtype
                .to_str()
                .is_ok_and(|name| name.eq_ignore_ascii_case("object"))
        });
        if has_objects {
            return self.iterable(keys, true).map(|()| true);
        }
        // through Arrow, a column of structs is the same as a table, whose only column has the keys
        let is_struct = match &dtype {
            Some(dtype) => is_struct(dtype),
            None => match keys.getattr_opt("type")? {
                Some(kind) => is_struct(&kind.str()?),
                None => false,
            },
        };
        if is_struct {
            return Err(Problem::from(refused("+s", false, false)).raised(py));
        }
        // the stream first: an object of several chunks may have __arrow_c_array__, but it fails
        if let Some(stream) = keys.getattr_opt("__arrow_c_stream__")? {
            match stream.call0() {
                Ok(capsule) => {
                    let reader = reader_of(&capsule)?;
                    return py
                        .detach(|| self.stream(reader))
                        .map_err(|problem| problem.raised(py))
                        .map(|()| true);
                }
                // pandas without pyarrow
                Err(error) if dtype.is_some() && error.is_instance_of::<PyImportError>(py) => {}
                Err(error) => return Err(error),
            }
        } else if let Some(array) = keys.getattr_opt("__arrow_c_array__")? {
            let chunk = chunk_of(&array.call0()?)?;
            return py
                .detach(|| self.chunk(chunk))
                .map_err(|problem| problem.raised(py))
                .map(|()| true);
        }
        let is_series = dtype.is_some();
        self.iterable(keys, is_series).map(|()| is_series)
    }

    /// Answers the keys that an iterable yields.
    fn iterable(&mut self, keys: &Bound<'_, PyAny>, is_series: bool) -> PyResult<()> {
        let no_batch = |remedy| {
            PyTypeError::new_err(format!(
                "keys are a list, an Arrow or NumPy array, or a series, not {}{remedy}",
                type_name(keys)
            ))
        };
        // a LazyFrame has items, but they are not its rows
        if keys.hasattr("collect")? && !keys.hasattr("__iter__")? {
            return Err(no_batch("; write keys.collect()"));
        }
        let objects = keys.try_iter().map_err(|_| no_batch(""))?;
        self.objects(keys.py(), objects, is_series)
    }
}

/// Has a batch's keys answered. Returns what asked, the answers that it left, and whether the batch
/// was a column, so that the result should be one, too.
pub(crate) fn answer_batch<A: Ask>(
    ask: A,
    keys: &Bound<'_, PyAny>,
) -> PyResult<(A, Answers<A::Answer>, bool)> {
    let mut batch = Batch {
        ask,
        answers: Answers::default(),
        since: 0,
        rows: 0,
    };
    let is_column = batch.any(keys)?;
    Ok((batch.ask, batch.answers, is_column))
}

/// Whether an object of a series stands for a missing value: NaN, or pandas' NA.
fn is_missing(object: &Bound<'_, PyAny>) -> bool {
    let is_nan = |number: &Bound<'_, PyFloat>| number.value().is_nan();
    object.cast::<PyFloat>().is_ok_and(is_nan) || type_name(object) == "NAType"
}

/// Whether a type is a struct by its name: `Struct(...)` in polars, `struct<...>` in pyarrow and in
/// pandas.
fn is_struct(kind: &Bound<'_, PyString>) -> bool {
    let is_so = |name: &str| name.starts_with("struct<") || name.starts_with("Struct(");
    kind.to_str().is_ok_and(is_so)
}

/// Whether an object is a NumPy array. NumPy is not imported for this: if the object is one, NumPy
/// is imported already.
fn is_numpy(keys: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = keys.py().import("sys")?.getattr("modules")?;
    let numpy = modules.cast::<PyDict>()?.get_item("numpy")?;
    match numpy
        .map(|numpy| numpy.getattr_opt("ndarray"))
        .transpose()?
        .flatten()
    {
        Some(ndarray) => keys.is_instance(&ndarray),
        None => Ok(false),
    }
}
