//! Arrow's C Data Interface in Python: the capsules in which the structs travel.
//!
//! ```text
//! keys.__arrow_c_array__()   -> capsules -> Chunk  -> Column: plain slices
//! keys.__arrow_c_stream__() -> capsule -> Reader -> one Chunk after the other
//! Array.__arrow_c_array__() <- capsules <- Export: the column of a result, freed by its `release`
//! ```
//!
//! The crate stead-arrow reads and makes the structs. This is the only file of the binding with
//! unsafe code: it takes them out of their capsules.
#![allow(unsafe_code)]

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use stead_arrow::structs::Struct;
use stead_arrow::{ArrowArray, ArrowSchema, Chunk, Export, Owned, Reader};

use crate::error::{type_name, Problem};

/// Moves a struct out of its capsule, and leaves a released one there.
fn take<T: Struct>(capsule: &Bound<'_, PyAny>) -> PyResult<Owned<T>> {
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
    // SAFETY: it is ours alone, since a released struct was left in the capsule (above). The other
    // rules are a promise of whoever gives out a capsule of this name.
    Ok(unsafe { Owned::new(taken) })
}

/// Takes the result of `__arrow_c_array__`.
pub(crate) fn chunk_of(capsules: &Bound<'_, PyAny>) -> PyResult<Chunk> {
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
    let schema = take::<ArrowSchema>(&pair.get_item(0)?)?;
    Ok(Chunk::new(schema, take::<ArrowArray>(&pair.get_item(1)?)?))
}

/// Takes the result of `__arrow_c_stream__`.
pub(crate) fn reader_of(capsule: &Bound<'_, PyAny>) -> PyResult<Reader> {
    Ok(Reader::new(take(capsule)?))
}

/// A capsule with the type of a column.
pub(crate) fn schema_of<'py>(py: Python<'py>, column: &Export) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, column.schema(), ArrowSchema::CAPSULE)
}

/// A capsule with the rows of a column.
pub(crate) fn array_of(py: Python<'_>, column: Export) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, column.array(), ArrowArray::CAPSULE)
}
