//! The index in `sequence[...]`: a number, which may count from the end, or a slice.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::imported::imported;

/// Places in a sequence, all of them within bounds.
pub(crate) enum Places {
    /// `sequence[3]`
    One(usize),
    /// `sequence[3:8]`
    Some(Vec<usize>),
}

/// The places that `index` means in a sequence of `length` items. `what` is what the error message
/// calls an item.
pub(crate) fn places(index: &Bound<'_, PyAny>, length: usize, what: &str) -> PyResult<Places> {
    let py = index.py();
    if let Ok(slice) = index.cast::<PySlice>() {
        let found = slice.indices(isize::try_from(length)?)?;
        let places = (0..found.slicelength).map(|i| {
            (found.start + isize::try_from(i).unwrap_or_default() * found.step).unsigned_abs()
        });
        return Ok(Places::Some(places.collect()));
    }
    let index = imported(py, "operator", "index")?.call1((index,))?;
    let place = index.extract::<isize>().ok().and_then(|i| {
        if i < 0 {
            i.checked_add_unsigned(length)
        } else {
            Some(i)
        }
    });
    match place
        .and_then(|i| usize::try_from(i).ok())
        .filter(|i| *i < length)
    {
        Some(place) => Ok(Places::One(place)),
        None => Err(PyIndexError::new_err(format!(
            "there is no {what} {}; there are {length}",
            index.str()?.to_cow()?
        ))),
    }
}
