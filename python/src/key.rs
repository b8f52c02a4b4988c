//! Keys: `str` is its UTF-8, `bytes` are themselves, and nothing else is a key.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::error::type_name;

/// The bytes of a key, without a copy. A `str` with lone surrogates is a `UnicodeEncodeError`.
pub(crate) fn bytes<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    if let Ok(text) = key.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    Err(PyTypeError::new_err(format!("a key is str or bytes, not {}", type_name(key))))
}
