//! A fleet from Python: text, the path of a file, or a plain dict of the same shape.
//!
//! A dict becomes JSON text, so every rule and every message is that of a fleet file. Numbers are written as decimals, exactly: an
//! `int` and a `Decimal` as they are, a `float` as its `repr`.

use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use stead::Fleet;

use crate::error::{type_name, Raise};
use crate::records::python;

/// So deep may lists and dicts lie in each other; a fleet needs four.
const DEEPEST: usize = 32;

/// Reads what a user gave as a fleet. A `str` is a text when it has a `=` or a `{`, which every fleet has; otherwise a path.
pub(crate) fn read(fleet: &Bound<'_, PyAny>) -> PyResult<Fleet> {
    let py = fleet.py();
    if let Ok(text) = fleet.cast::<PyString>() {
        let text = text.to_str()?.to_owned();
        if text.contains(['=', '{']) {
            return py.detach(|| Fleet::parse(&text, "fleet")).raise(py);
        }
        return py.detach(|| Fleet::read(&PathBuf::from(text))).raise(py);
    }
    if let Ok(text) = fleet.cast::<PyBytes>() {
        return Fleet::parse_bytes(text.as_bytes(), "fleet").raise(py);
    }
    if fleet.is_instance_of::<PyDict>() {
        let mut text = String::new();
        write(fleet, &mut text, DEEPEST)?;
        return py.detach(|| Fleet::parse(&text, "fleet")).raise(py);
    }
    if fleet.hasattr("__fspath__")? {
        let path: PathBuf = fleet.extract()?;
        return py.detach(|| Fleet::read(&path)).raise(py);
    }
    Err(PyTypeError::new_err(format!("a fleet is a str, a path or a dict, not {}", type_name(fleet))))
}

/// Appends a value as JSON.
fn write(value: &Bound<'_, PyAny>, text: &mut String, depth: usize) -> PyResult<()> {
    let deeper = depth.checked_sub(1).ok_or_else(|| PyValueError::new_err("the fleet's lists and dicts lie too deep in each other"))?;
    if let Ok(dict) = value.cast::<PyDict>() {
        text.push('{');
        for (i, (key, value)) in dict.iter().enumerate() {
            text.push_str(if i == 0 { "" } else { ", " });
            let Ok(key) = key.cast::<PyString>() else {
                return Err(PyTypeError::new_err(format!("the keys of a fleet are str, not {}", type_name(&key))));
            };
            write_string(key, text)?;
            text.push_str(": ");
            write(&value, text, deeper)?;
        }
        text.push('}');
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        text.push('[');
        for (i, value) in value.try_iter()?.enumerate() {
            // a line for each, so that messages have lines to name
            text.push_str(if i == 0 { "\n" } else { ",\n" });
            write(&value?, text, deeper)?;
        }
        text.push(']');
    } else if let Ok(string) = value.cast::<PyString>() {
        write_string(string, text)?;
    } else if value.is_instance_of::<PyBool>() {
        text.push_str(if value.is_truthy()? { "true" } else { "false" });
    } else if value.is_instance_of::<PyInt>() {
        text.push_str(&value.str()?.to_cow()?);
    } else {
        text.push_str(&decimal(value)?);
    }
    Ok(())
}

fn write_string(string: &Bound<'_, PyString>, text: &mut String) -> PyResult<()> {
    let json = serde_json::to_string(string.to_str()?).map_err(|e| PyValueError::new_err(e.to_string()))?;
    text.push_str(&json);
    Ok(())
}

/// A `Decimal` as it is, a `float` as its `repr`, both without an exponent.
fn decimal(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    let class = python(py, "decimal", "Decimal")?;
    let exact = if value.is_instance_of::<PyFloat>() {
        class.call1((value.repr()?,))?
    } else if value.is_instance(&class)? {
        value.clone()
    } else {
        return Err(PyTypeError::new_err(format!("a fleet has str, int, Decimal, float, bool, list and dict, not {}", type_name(value))));
    };
    if !exact.call_method0("is_finite")?.is_truthy()? {
        return Err(PyValueError::new_err(format!("{} is not a number that a fleet can have", value.repr()?)));
    }
    Ok(exact.call_method1("__format__", ("f",))?.str()?.to_cow()?.into_owned())
}
