//! Keys: `str` is its UTF-8, `bytes` are themselves, and nothing else is a key.
//!
//! Classes made from the two count as well: `numpy.str_`, a `StrEnum`. A number is refused rather
//! than guessed at, and so is what can change while it is read (`bytearray`) or may not lie in one
//! piece (`memoryview`); the message says what to write.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyInt, PyMemoryView, PyString};

use crate::error::type_name;

/// The bytes of a key, without a copy. A `str` with lone surrogates is a `UnicodeEncodeError`.
pub(crate) fn bytes<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
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
