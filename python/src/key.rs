//! Keys: a `str` stands for its UTF-8, `bytes` are used as they are, and nothing else is a key.
//!
//! Instances of subclasses are keys as well: `numpy.str_`, a `StrEnum`. A number is refused,
//! because its spelling would be a guess. A `bytearray` is refused because it can change while it
//! is read, and a `memoryview` because it may not be contiguous. The message says what to write
//! instead.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyMemoryView, PyString};

use crate::error::type_name;

/// The bytes of a key, without a copy. A `str` with lone surrogates raises a `UnicodeEncodeError`.
pub(crate) fn bytes<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    // asked first, because a cast that fails costs as much as the rest of this function
    if key.is_instance_of::<PyBytes>() {
        return Ok(key.cast::<PyBytes>()?.as_bytes());
    }
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    let instead = if key.is_instance_of::<PyInt>() {
        "; write str(key), its decimal digits, as other languages do"
    } else if key.is_instance_of::<PyByteArray>() || key.is_instance_of::<PyMemoryView>() {
        "; write bytes(key)"
    } else {
        ""
    };
    Err(PyTypeError::new_err(format!(
        "a key is str or bytes, not {}{instead}",
        type_name(key)
    )))
}
