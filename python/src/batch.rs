//! Batches of keys: recognises the kind of a batch, and locates its keys.
//!
//! ```text
//! list, iterable        blocks of keys, whose objects are held ----+
//! NumPy                 blocks of 1 MiB, bytes or objects ---------+-- place -- Placed (array.rs: for Python)
//! Arrow array, stream   columns, read in place (arrow.rs) ---------+
//! ```
//!
//! Locating keys touches no Python object, so other threads run meanwhile.

use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PySlice, PyString, PyTuple};

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

/// The numbers of the nodes that keys live on; null for a key that is null.
#[derive(Default)]
pub(crate) struct Placed {
    /// The number of each key's node; 0 for null.
    pub(crate) numbers: Vec<i32>,
    /// A bit for each key, the lowest first: 0 for null. Empty while no key is null.
    pub(crate) validity: Vec<u8>,
    /// The number of nulls.
    pub(crate) nulls: usize,
}

impl Placed {
    fn reserve(&mut self, more: usize) -> Result<(), Problem> {
        self.numbers.try_reserve(more).map_err(|_| Problem::Memory)
    }

    fn push(&mut self, node: Option<i32>) {
        let row = self.numbers.len();
        self.numbers.push(node.unwrap_or(0));
        if node.is_none() && self.nulls == 0 {
            self.validity = vec![0xFF; row.div_ceil(8)];
            if let Some(last) = self.validity.last_mut().filter(|_| row % 8 != 0) {
                *last = (1 << (row % 8)) - 1;
            }
        }
        self.nulls += usize::from(node.is_none());
        if self.nulls > 0 {
            if row % 8 == 0 {
                self.validity.push(0);
            }
            if let Some(last) = self.validity.last_mut() {
                *last |= u8::from(node.is_some()) << (row % 8);
            }
        }
    }
}

/// Appends the nodes of keys, in the order of the keys. Every batch passes through this function.
fn place<'a>(
    map: &stead::Map,
    keys: impl Iterator<Item = Result<Option<&'a [u8]>, Problem>>,
    nodes: &mut Placed,
) -> Result<(), Problem> {
    for key in keys {
        // a map has at most 65,536 nodes
        nodes.push(key?.map(|key| map.locate(key).0 as i32));
    }
    Ok(())
}

/// Appends the nodes of a column's keys. If a dictionary is not longer than its column, each of its
/// values is located only once, which takes 4 bytes of memory per value.
fn place_column(
    map: &stead::Map,
    column: &Column<'_>,
    nodes: &mut Placed,
    since: &mut usize,
) -> Result<(), Problem> {
    nodes.reserve(column.length)?;
    if let Layout::Codes { codes, values } = &column.layout {
        if values.length <= column.length {
            let mut known = Placed::default();
            place_column(map, values, &mut known, since)?;
            for row in 0..column.length {
                let node = match (
                    column.is_null(row),
                    codes.get(row).filter(|code| *code < values.length),
                ) {
                    (true, _) => None,
                    (false, Some(code)) => node_at(&known.numbers, &known.validity, code),
                    (false, None) => return Err(column.damaged(row)),
                };
                nodes.push(node);
            }
            return Ok(());
        }
    }
    for start in (0..column.length).step_by(ROWS) {
        let end = column.length.min(start + ROWS);
        place(map, (start..end).map(|row| column.key(row)), nodes)?;
        *since += end - start;
        if *since >= ROWS {
            *since = 0;
            Python::attach(|py| py.check_signals()).map_err(Problem::Raised)?;
        }
    }
    Ok(())
}

/// Appends the nodes of a stream's keys, chunk after chunk.
fn place_stream(map: &stead::Map, mut reader: Reader, nodes: &mut Placed) -> Result<(), Problem> {
    let mut since = 0;
    while let Some(chunk) = reader.next()? {
        place_chunk(map, chunk, nodes, &mut since)?;
    }
    Ok(())
}

/// Appends the nodes of a chunk's keys, then releases the chunk.
fn place_chunk(
    map: &stead::Map,
    chunk: Chunk,
    nodes: &mut Placed,
    since: &mut usize,
) -> Result<(), Problem> {
    place_column(map, &chunk.column()?, nodes, since)
}

/// Appends the nodes of keys that are objects. None is null; in a series, so are the objects that
/// stand for a missing value.
fn place_objects(
    map: &stead::Map,
    keys: &Bound<'_, PyAny>,
    is_series: bool,
    nodes: &mut Placed,
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
        place_held(map, keys.py(), &held, is_series, nodes)?;
        if held.len() < OBJECTS {
            return Ok(());
        }
    }
}

/// Appends the nodes of a block of keys. The references in `held` keep the objects alive while
/// other threads run.
fn place_held(
    map: &stead::Map,
    py: Python<'_>,
    held: &[Bound<'_, PyAny>],
    is_series: bool,
    nodes: &mut Placed,
) -> PyResult<()> {
    let first = nodes.numbers.len();
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
        nodes.reserve(bytes.len())?;
        place(map, bytes.iter().map(|key| Ok(*key)), nodes)
    });
    placed.map_err(|problem| problem.raised(py))?;
    py.check_signals()
}

/// Whether an object of a series stands for a missing value: NaN, or pandas' NA.
fn is_missing(object: &Bound<'_, PyAny>) -> bool {
    let is_nan = |number: &Bound<'_, PyFloat>| number.value().is_nan();
    object.cast::<PyFloat>().is_ok_and(is_nan) || type_name(object) == "NAType"
}

/// Appends the nodes of a NumPy array's keys. The array is read in blocks: as bytes if all keys
/// have the same size, otherwise as lists of objects. NumPy makes the blocks, so its own rules for
/// strides, byte orders, masks and padding apply, in every version.
fn place_numpy(map: &stead::Map, keys: &Bound<'_, PyAny>, nodes: &mut Placed) -> PyResult<()> {
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
    nodes.reserve(rows).map_err(|problem| problem.raised(py))?;
    for start in (0..rows).step_by(step) {
        let count = step.min(rows - start);
        let block = keys.get_item(PySlice::new(
            py,
            start as isize,
            (start + count) as isize,
            1,
        ))?;
        if is_bytes {
            place_fixed(
                map,
                block.call_method0("tobytes")?.cast::<PyBytes>()?,
                width,
                count,
                nodes,
            )?;
        } else {
            let held: Vec<_> = block
                .call_method0("tolist")?
                .cast::<PyList>()?
                .iter()
                .collect();
            place_held(map, py, &held, true, nodes)?;
        }
    }
    Ok(())
}

/// Appends the nodes of keys of one width, without the NULs at their ends: NumPy pads with NUL, and
/// does not count NULs at the end.
fn place_fixed(
    map: &stead::Map,
    block: &Bound<'_, PyBytes>,
    width: usize,
    count: usize,
    nodes: &mut Placed,
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
    py.detach(|| place(map, (0..count).map(|i| Ok(Some(key(i)))), nodes))
        .map_err(|problem| problem.raised(py))?;
    py.check_signals()
}

/// Returns the nodes of a batch's keys, and whether the batch was a column, so that the result
/// should be one, too.
pub(crate) fn place_batch(map: &stead::Map, keys: &Bound<'_, PyAny>) -> PyResult<(Placed, bool)> {
    let mut nodes = Placed::default();
    let is_column = place_any(map, keys, &mut nodes)?;
    Ok((nodes, is_column))
}

fn place_any(map: &stead::Map, keys: &Bound<'_, PyAny>, nodes: &mut Placed) -> PyResult<bool> {
    let py = keys.py();
    if keys.is_exact_instance_of::<PyList>() || keys.is_exact_instance_of::<PyTuple>() {
        return place_objects(map, keys, false, nodes).map(|()| false);
    }
    if keys.is_instance_of::<PyString>() || keys.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!(
            "keys are a list or an array of keys, not one {}: locate takes one key",
            type_name(keys)
        )));
    }
    if is_numpy(keys)? {
        return place_numpy(map, keys, nodes).map(|()| true);
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
        return place_objects(map, keys, true, nodes).map(|()| true);
    }
    // the stream first: an object of several chunks may have __arrow_c_array__, but it fails
    if let Some(stream) = keys.getattr_opt("__arrow_c_stream__")? {
        match stream.call0() {
            Ok(capsule) => {
                let reader = Reader::of(&capsule)?;
                return py
                    .detach(|| place_stream(map, reader, nodes))
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
            .detach(|| place_chunk(map, chunk, nodes, &mut 0))
            .map_err(|problem| problem.raised(py))
            .map(|()| true);
    }
    place_objects(map, keys, dtype.is_some(), nodes).map(|()| dtype.is_some())
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

/// The node of a row; None for null.
pub(crate) fn node_at(numbers: &[i32], validity: &[u8], row: usize) -> Option<i32> {
    let is_null = validity
        .get(row / 8)
        .is_some_and(|byte| byte >> (row % 8) & 1 == 0);
    numbers.get(row).copied().filter(|_| !is_null)
}
