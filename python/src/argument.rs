//! Arguments that Python passes: each is converted with a message that names the argument, its type
//! and what to write instead.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use pyo3::PyTypeInfo;

use stead::fleet::part;
use stead::point::Share;
use stead::Allow;

use crate::error::{invalid, type_name, whole};
use crate::imported::imported;

/// The TypeError for an argument. `is` says what it has to be, and `remedy` begins with a
/// punctuation mark or is empty.
pub(crate) fn wrong(name: &str, is: &str, value: &Bound<'_, PyAny>, remedy: &str) -> PyErr {
    PyTypeError::new_err(format!("{name} is {is}, not {}{remedy}", type_name(value)))
}

/// An instance of one of our classes, such as a map.
pub(crate) fn instance<'a, 'py, T: PyTypeInfo>(
    name: &str,
    value: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, T>> {
    if let Ok(found) = value.cast::<T>() {
        return Ok(found);
    }
    let remedy = if value.is_instance_of::<PyString>() || value.hasattr("__fspath__")? {
        "; open the file first: stead.Map.open(path)"
    } else if value.is_instance_of::<PyBytes>() {
        "; make a map of the bytes first: stead.Map.from_bytes(data)"
    } else if value.hasattr("keys")? {
        "; build the map of a fleet first: stead.Map.build(fleet)"
    } else {
        ""
    };
    Err(wrong(name, "a stead.Map", value, remedy))
}

/// An instance, or None.
pub(crate) fn optional<'a, 'py, T: PyTypeInfo>(
    name: &str,
    value: Option<&'a Bound<'py, PyAny>>,
) -> PyResult<Option<&'a Bound<'py, T>>> {
    value.map(|value| instance(name, value)).transpose()
}

/// The path of a file.
pub(crate) fn path(name: &str, value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let found = imported(value.py(), "os", "fspath")?.call1((value,));
    match found {
        Ok(path) if path.is_instance_of::<PyString>() => path.extract(),
        Ok(_) => Err(wrong(
            name,
            "a str or an os.PathLike of str",
            value,
            "; write os.fsdecode(path). The bytes of a map are read by stead.Map.from_bytes",
        )),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
            Err(wrong(name, "a str or an os.PathLike", value, ""))
        }
        Err(error) => Err(error),
    }
}

/// A text.
pub(crate) fn text<'a>(name: &str, value: &'a Bound<'_, PyAny>, remedy: &str) -> PyResult<&'a str> {
    match value.cast::<PyString>() {
        Ok(text) => text.to_str(),
        Err(_) => Err(wrong(name, "a str", value, remedy)),
    }
}

/// True or False.
pub(crate) fn flag(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    let Some(value) = value else { return Ok(false) };
    match value.cast::<PyBool>() {
        Ok(flag) => Ok(flag.is_true()),
        Err(_) => Err(wrong(name, "True or False", value, "")),
    }
}

/// The number of threads that a call may use, not more than the machine has processors; 1 by
/// default.
pub(crate) fn threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<NonZeroUsize> {
    let Some(value) = value else {
        return Ok(NonZeroUsize::MIN);
    };
    let range = "a number of threads, from 1";
    let most = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let wanted: usize = match value.is_instance_of::<PyInt>() {
        true => whole("threads", range, value)?,
        false => return Err(wrong("threads", "an int", value, "")),
    };
    let wanted = NonZeroUsize::new(wanted);
    let wanted = wanted.ok_or_else(|| invalid(value.py(), format!("threads is not {range}")))?;
    Ok(wanted.min(most))
}

/// The guards that are lifted; none by default.
pub(crate) fn allow(value: Option<&Bound<'_, PyAny>>) -> PyResult<Allow> {
    let Some(value) = value else {
        return Ok(Allow::NONE);
    };
    let remedy = "; write words with commas between them, such as allow=\"drop-copies\"";
    let words = text("allow", value, remedy)?;
    Allow::parse(words).map_err(|error| invalid(value.py(), error.to_string()))
}

/// The part of all copies that may move in an epoch.
pub(crate) fn max_move(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Share>> {
    let Some(value) = value else { return Ok(None) };
    let py = value.py();
    let is_number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    let number = value.extract::<f64>().ok().filter(|_| is_number);
    let remedy = match number.map(|number| number * 100.0) {
        // a number up to 1 is probably a fraction
        Some(percent) if percent > 0.0 && percent <= 100.0 => {
            let digits = format!("{percent:.6}");
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("; for {digits} percent, write max_move=\"{digits}%\"")
        }
        _ => "; write a percentage, such as max_move=\"5%\"".to_owned(),
    };
    let text = text("max_move", value, &remedy)?;
    let most = part(text).map_err(|why| invalid(py, format!("max_move {text:?} {why}")))?;
    Ok(Some(most))
}
