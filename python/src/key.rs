//! Keys: a `str` stands for its UTF-8, `bytes` are used as they are, and nothing else is a key.
//!
//! Instances of subclasses are keys as well: `numpy.str_`, a `StrEnum`. A number is refused,
//! because its spelling would be a guess. A `bytearray` is refused because it can change while it
//! is read, and a `memoryview` because it may not be contiguous. The message says what to write
//! instead.

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString};

use crate::error::type_name;
use crate::imported::imported;

/// The bytes of a key, without a copy. A `str` with lone surrogates raises a `UnicodeEncodeError`.
pub(crate) fn bytes<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    // asked first, because a cast that fails costs as much as the rest of this function
    if key.is_instance_of::<PyBytes>() {
        return Ok(key.cast::<PyBytes>()?.as_bytes());
    }
    if let Ok(text) = key.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(text.as_bytes()),
            Err(error) => Err(said(key.py(), error, |reason| {
                format!("{reason}; for the name of a file, write os.fsencode(name)")
            })),
        };
    }
    Err(PyTypeError::new_err(format!(
        "a key is str or bytes, not {}{}",
        type_name(key),
        instead(key)
    )))
}

/// The same error with the place of the key in a batch, such as "key 3", in its message.
pub(crate) fn at(py: Python<'_>, place: &str, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyTypeError>(py) {
        return PyTypeError::new_err(format!("{place}: {}", error.value(py)));
    }
    said(py, error, |reason| format!("{place}: {reason}"))
}

/// Changes the reason that a `UnicodeEncodeError` says. Other errors stay as they are.
fn said(py: Python<'_>, error: PyErr, change: impl Fn(&str) -> String) -> PyErr {
    if error.is_instance_of::<PyUnicodeEncodeError>(py) {
        let value = error.value(py);
        let reason = value.getattr("reason").and_then(|reason| reason.extract());
        let changed = reason.and_then(|reason: String| value.setattr("reason", change(&reason)));
        if let Err(failed) = changed {
            return failed;
        }
    }
    error
}

/// What to write instead of an object that is no key; empty, or begins with a semicolon.
fn instead(key: &Bound<'_, PyAny>) -> &'static str {
    const MISSING: &str =
        "; it is a missing value: leave it out, or write None in a list for locate_many";
    const FLOAT: &str = "; if it is a whole number, write str(int(key)): as text, 1.0 would be \
                         another key than 1";
    // asked first, because lists of keys may have many of them
    if key.is_none() {
        return MISSING;
    }
    if let Ok(number) = key.cast::<PyFloat>() {
        return if number.value().is_nan() {
            MISSING
        } else {
            FLOAT
        };
    }
    let name = type_name(key);
    if key.is_instance_of::<PyBool>() || name == "bool" || name == "bool_" {
        return "; write the text that other programs use as the key: str(key) is \"True\" or \
                \"False\" in Python alone";
    }
    if key.is_instance_of::<PyInt>() || is_integer(key) {
        return "; write str(key), its decimal digits, as other languages do";
    }
    if name == "NAType" || name == "NaTType" {
        return MISSING;
    }
    if key.is_instance_of::<PyByteArray>() || key.is_instance_of::<PyMemoryView>() {
        return "; write bytes(key)";
    }
    if has(key, "__iter__") {
        return "; it holds several keys: pass one of them, or pass all of them to locate_many";
    }
    // float16 and float32 of NumPy
    if name.starts_with("float") && has(key, "__float__") {
        return FLOAT;
    }
    ""
}

/// Whether an object is an integer of another library, such as NumPy.
fn is_integer(key: &Bound<'_, PyAny>) -> bool {
    has(key, "__index__")
        && imported(key.py(), "operator", "index").is_ok_and(|index| index.call1((key,)).is_ok())
}

fn has(key: &Bound<'_, PyAny>, name: &str) -> bool {
    key.hasattr(name).unwrap_or(false)
}
