//! Batches of keys: recognises the kind of a batch, and answers for each of its keys: with the
//! number of its node (Map.locate_many), or with its point (Plan.affects_many).
//!
//! ```text
//! list, iterable        blocks of keys, whose objects are held ----+
//! NumPy                 blocks of 1 MiB, bytes or objects ---------+-- answer -- Answers (array.rs, plan.rs)
//! Arrow array, stream   columns, read in place (arrow.rs) ---------+
//! ```
//!
//! Answering touches no Python object, so other threads run meanwhile.

use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyDict, PyFloat, PyFrozenSet, PyList, PySet, PySlice, PyString, PyTuple,
};

use crate::arrow::{Chunk, Reader};
use crate::column::{Column, Layout};
use crate::error::{invalid, type_name, Problem};
use crate::key;

/// The number of objects that are held at a time. They take 2 MiB, and other threads can run every
/// 10 ms or so.
const OBJECTS: usize = 1 << 16;
/// The number of bytes of a NumPy array that are copied at a time.
const BYTES: usize = 1 << 20;
/// The number of rows, some 0.2 s, after which Ctrl-C is checked for.
const ROWS: usize = 1 << 20;

/// What is said of keys that are not null: a number of four or eight bytes.
pub(crate) trait Answer: Copy + Default + Send {}
impl Answer for i32 {}
impl Answer for u64 {}

/// How a key is answered.
pub(crate) trait Ask<T>: Fn(&[u8]) -> T + Sync {}
impl<T, F: Fn(&[u8]) -> T + Sync> Ask<T> for F {}

/// The answers for keys; null for a key that is null.
#[derive(Default)]
pub(crate) struct Answers<T> {
    /// The answer for each key; 0 for null.
    pub(crate) numbers: Vec<T>,
    /// A bit for each key, the lowest first: 0 for null. Empty while no key is null.
    pub(crate) validity: Vec<u8>,
    /// The number of nulls.
    pub(crate) nulls: usize,
}

impl<T: Answer> Answers<T> {
    fn reserve(&mut self, more: usize) -> Result<(), Problem> {
        self.numbers.try_reserve(more).map_err(|_| Problem::Memory)
    }

    /// Appends an answer; null for None.
    pub(crate) fn push(&mut self, answer: Option<T>) {
        let row = self.numbers.len();
        self.numbers.push(answer.unwrap_or_default());
        if answer.is_none() && self.nulls == 0 {
            self.validity = vec![0xFF; row.div_ceil(8)];
            if let Some(last) = self.validity.last_mut().filter(|_| row % 8 != 0) {
                *last = (1 << (row % 8)) - 1;
            }
        }
        self.nulls += usize::from(answer.is_none());
        if self.nulls > 0 {
            if row % 8 == 0 {
                self.validity.push(0);
            }
            if let Some(last) = self.validity.last_mut() {
                *last |= u8::from(answer.is_some()) << (row % 8);
            }
        }
    }
}

/// Appends the answers for keys, in the order of the keys. Every batch passes through this
/// function.
fn answer<'a, T: Answer>(
    ask: &impl Ask<T>,
    keys: impl Iterator<Item = Result<Option<&'a [u8]>, Problem>>,
    answers: &mut Answers<T>,
) -> Result<(), Problem> {
    for key in keys {
        answers.push(key?.map(ask));
    }
    Ok(())
}

/// Appends the answers for a column's keys. If a dictionary is not longer than its column, each of
/// its values is answered only once, which takes memory for one answer per value.
fn answer_column<T: Answer>(
    ask: &impl Ask<T>,
    column: &Column<'_>,
    answers: &mut Answers<T>,
    since: &mut usize,
) -> Result<(), Problem> {
    answers.reserve(column.length)?;
    if let Layout::Codes { codes, values } = &column.layout {
        if values.length <= column.length {
            let mut known = Answers::default();
            answer_column(ask, values, &mut known, since)?;
            for row in 0..column.length {
                let found = match (
                    column.is_null(row),
                    codes.get(row).filter(|code| *code < values.length),
                ) {
                    (true, _) => None,
                    (false, Some(code)) => item_at(&known.numbers, &known.validity, code),
                    (false, None) => return Err(column.damaged(row)),
                };
                answers.push(found);
            }
            return Ok(());
        }
    }
    for start in (0..column.length).step_by(ROWS) {
        let end = column.length.min(start + ROWS);
        answer(ask, (start..end).map(|row| column.key(row)), answers)?;
        *since += end - start;
        if *since >= ROWS {
            *since = 0;
            Python::attach(|py| py.check_signals()).map_err(Problem::Raised)?;
        }
    }
    Ok(())
}

/// Appends the answers for a stream's keys, chunk after chunk.
fn answer_stream<T: Answer>(
    ask: &impl Ask<T>,
    mut reader: Reader,
    answers: &mut Answers<T>,
) -> Result<(), Problem> {
    let mut since = 0;
    while let Some(chunk) = reader.next()? {
        answer_chunk(ask, chunk, answers, &mut since)?;
    }
    Ok(())
}

/// Appends the answers for a chunk's keys, then releases the chunk.
fn answer_chunk<T: Answer>(
    ask: &impl Ask<T>,
    chunk: Chunk,
    answers: &mut Answers<T>,
    since: &mut usize,
) -> Result<(), Problem> {
    answer_column(ask, &chunk.column()?, answers, since)
}

/// Appends the answers for keys that are objects. None is null; in a series, so are the objects
/// that stand for a missing value.
fn answer_objects<T: Answer>(
    ask: &impl Ask<T>,
    keys: &Bound<'_, PyAny>,
    is_series: bool,
    answers: &mut Answers<T>,
) -> PyResult<()> {
    let mut objects = keys.try_iter().map_err(|_| {
        PyTypeError::new_err(format!(
            "keys are a list, an Arrow or NumPy array, or a series, not {}",
            type_name(keys)
        ))
    })?;
    loop {
        let held = objects
            .by_ref()
            .take(OBJECTS)
            .collect::<PyResult<Vec<_>>>()?;
        answer_held(ask, keys.py(), &held, is_series, answers)?;
        if held.len() < OBJECTS {
            return Ok(());
        }
    }
}

/// Appends the answers for a block of keys. The references in `held` keep the objects alive while
/// other threads run.
fn answer_held<T: Answer>(
    ask: &impl Ask<T>,
    py: Python<'_>,
    held: &[Bound<'_, PyAny>],
    is_series: bool,
    answers: &mut Answers<T>,
) -> PyResult<()> {
    let first = answers.numbers.len();
    let bytes = held
        .iter()
        .enumerate()
        .map(|(i, object)| match key::bytes(object) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) if object.is_none() || (is_series && is_missing(object)) => Ok(None),
            Err(error) if error.is_instance_of::<PyTypeError>(py) => Err(PyTypeError::new_err(
                format!("key {}: {}", first + i, error.value(py)),
            )),
            Err(error) => Err(error),
        });
    let bytes: Vec<Option<&[u8]>> = bytes.collect::<PyResult<_>>()?;
    let placed = py.detach(|| {
        answers.reserve(bytes.len())?;
        answer(ask, bytes.iter().map(|key| Ok(*key)), answers)
    });
    placed.map_err(|problem| problem.raised(py))?;
    py.check_signals()
}

/// Whether an object of a series stands for a missing value: NaN, or pandas' NA.
fn is_missing(object: &Bound<'_, PyAny>) -> bool {
    let is_nan = |number: &Bound<'_, PyFloat>| number.value().is_nan();
    object.cast::<PyFloat>().is_ok_and(is_nan) || type_name(object) == "NAType"
}

/// Appends the answers for a NumPy array's keys. The array is read in blocks: as bytes if all keys
/// have the same size, otherwise as lists of objects. NumPy makes the blocks, so its own rules for
/// strides, byte orders, masks and padding apply, in every version.
fn answer_numpy<T: Answer>(
    ask: &impl Ask<T>,
    keys: &Bound<'_, PyAny>,
    answers: &mut Answers<T>,
) -> PyResult<()> {
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
            "keys are a NumPy array of {dtype}; taken are S, U, StringDType and object"
        )));
    }
    let width: usize = dtype.getattr("itemsize")?.extract()?;
    let (rows, step) = (keys.len()?, (BYTES / width.max(1)).clamp(1, OBJECTS));
    let is_bytes = kind == "S" && !keys.hasattr("mask")?;
    answers
        .reserve(rows)
        .map_err(|problem| problem.raised(py))?;
    for start in (0..rows).step_by(step) {
        let count = step.min(rows - start);
        let block = keys.get_item(PySlice::new(
            py,
            start as isize,
            (start + count) as isize,
            1,
        ))?;
        if is_bytes {
            answer_fixed(
                ask,
                block.call_method0("tobytes")?.cast::<PyBytes>()?,
                width,
                count,
                answers,
            )?;
        } else {
            let held: Vec<_> = block
                .call_method0("tolist")?
                .cast::<PyList>()?
                .iter()
                .collect();
            answer_held(ask, py, &held, true, answers)?;
        }
    }
    Ok(())
}

/// Appends the answers for keys of one width, without the NULs at their ends: NumPy pads with NUL,
/// and does not count NULs at the end.
fn answer_fixed<T: Answer>(
    ask: &impl Ask<T>,
    block: &Bound<'_, PyBytes>,
    width: usize,
    count: usize,
    answers: &mut Answers<T>,
) -> PyResult<()> {
    let (py, bytes) = (block.py(), block.as_bytes());
    if bytes.len() != count * width {
        return Err(invalid(
            py,
            format!(
                "keys are a NumPy array that gave {} bytes for {count} keys of {width}",
                bytes.len()
            ),
        ));
    }
    let key = |i: usize| {
        let item = &bytes[i * width..(i + 1) * width];
        item.iter()
            .rposition(|byte| *byte != 0)
            .map_or(&[][..], |last| &item[..=last])
    };
    py.detach(|| answer(ask, (0..count).map(|i| Ok(Some(key(i)))), answers))
        .map_err(|problem| problem.raised(py))?;
    py.check_signals()
}

/// Returns the answers for a batch's keys, and whether the batch was a column, so that the result
/// should be one, too.
pub(crate) fn answer_batch<T: Answer>(
    ask: &impl Ask<T>,
    keys: &Bound<'_, PyAny>,
) -> PyResult<(Answers<T>, bool)> {
    let mut answers = Answers::default();
    let is_column = answer_any(ask, keys, &mut answers)?;
    Ok((answers, is_column))
}

fn answer_any<T: Answer>(
    ask: &impl Ask<T>,
    keys: &Bound<'_, PyAny>,
    answers: &mut Answers<T>,
) -> PyResult<bool> {
    let py = keys.py();
    if keys.is_exact_instance_of::<PyList>() || keys.is_exact_instance_of::<PyTuple>() {
        return answer_objects(ask, keys, false, answers).map(|()| false);
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
        return answer_numpy(ask, keys, answers).map(|()| true);
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
        return answer_objects(ask, keys, true, answers).map(|()| true);
    }
    // the stream first: an object of several chunks may have __arrow_c_array__, but it fails
    if let Some(stream) = keys.getattr_opt("__arrow_c_stream__")? {
        match stream.call0() {
            Ok(capsule) => {
                let reader = Reader::of(&capsule)?;
                return py
                    .detach(|| answer_stream(ask, reader, answers))
                    .map_err(|problem| problem.raised(py))
                    .map(|()| true);
            }
            // pandas without pyarrow
            Err(error) if dtype.is_some() && error.is_instance_of::<PyImportError>(py) => {}
            Err(error) => return Err(error),
        }
    } else if let Some(array) = keys.getattr_opt("__arrow_c_array__")? {
        let chunk = Chunk::of(&array.call0()?)?;
        return py
            .detach(|| answer_chunk(ask, chunk, answers, &mut 0))
            .map_err(|problem| problem.raised(py))
            .map(|()| true);
    }
    answer_objects(ask, keys, dtype.is_some(), answers).map(|()| dtype.is_some())
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

/// The answer of a row; None for null.
pub(crate) fn item_at<T: Copy>(numbers: &[T], validity: &[u8], row: usize) -> Option<T> {
    let is_null = validity
        .get(row / 8)
        .is_some_and(|byte| byte >> (row % 8) & 1 == 0);
    numbers.get(row).copied().filter(|_| !is_null)
}
