//! Turns a failure into the exception of its status. python/stead/_errors.py has the exceptions.

use std::ffi::OsStr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTypeMethods};

use stead::Status;

use crate::imported::imported;

/// The exception for a failure.
pub(crate) fn raised(py: Python<'_>, failure: &stead::Error) -> PyErr {
    raised_as(py, failure, failure.to_string())
}

/// The exception for a failure, with another message.
pub(crate) fn raised_as(py: Python<'_>, failure: &stead::Error, message: String) -> PyErr {
    let (os_errno, file) = match failure {
        stead::Error::Io { source, file, .. } | stead::Error::Uncertain { source, file, .. } => {
            (source.raw_os_error().unwrap_or(0), Some(file.as_os_str()))
        }
        _ => (0, None),
    };
    made(py, failure.status(), message, os_errno, file)
}

fn made(
    py: Python<'_>,
    status: Status,
    message: String,
    os_errno: i32,
    file: Option<&OsStr>,
) -> PyErr {
    let made = imported(py, "stead._errors", "_error")
        .and_then(|error| error.call1((status as i32, message, os_errno, file)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The exception for a wrong argument.
pub(crate) fn invalid(py: Python<'_>, problem: String) -> PyErr {
    raised(py, &stead::Error::Invalid { problem })
}

/// Converts an integer to `T`. Out of range raises InvalidError, where Python itself would raise
/// OverflowError, and what is no integer raises a TypeError with the name.
pub(crate) fn whole<'py, T: TryFrom<i128>>(
    name: &str,
    range: &str,
    number: &Bound<'py, PyAny>,
) -> PyResult<T> {
    let py = number.py();
    // nearly always an int of a few bits, which needs no call
    if let Some(small) = number
        .cast::<PyInt>()
        .ok()
        .and_then(|n| n.extract::<i64>().ok())
    {
        let fits = T::try_from(i128::from(small)).ok();
        return fits.ok_or_else(|| invalid(py, format!("{name} is not {range}")));
    }
    let index = imported(py, "operator", "index")?.call1((number,));
    let index = index.map_err(|error| {
        if !error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        let remedy = match number.is_instance_of::<PyString>() {
            true => "; convert it with int()",
            false => "",
        };
        let found = type_name(number);
        PyTypeError::new_err(format!("{name} is an int, not {found}{remedy}"))
    })?;
    let fits = index
        .extract::<i128>()
        .ok()
        .and_then(|n| T::try_from(n).ok());
    fits.ok_or_else(|| invalid(py, format!("{name} is not {range}")))
}

/// Converts a result of stead to a result of Python.
pub(crate) trait Raise<T> {
    /// The value, or the exception.
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for stead::Result<T> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|failure| raised(py, &failure))
    }
}

/// What is wrong with a batch of keys, for code that runs without the GIL and so cannot create an
/// exception.
pub(crate) enum Problem {
    /// The batch has a type that keys cannot have.
    Type(String),
    /// The batch has a valid type, but is malformed.
    Invalid(String),
    /// The producer of a stream failed, with this reason.
    Stream(String),
    /// There is no memory for the result.
    Memory,
    /// An exception was raised.
    Raised(PyErr),
}

impl From<stead_arrow::Problem> for Problem {
    fn from(problem: stead_arrow::Problem) -> Problem {
        match problem {
            stead_arrow::Problem::Type(problem) => Problem::Type(problem),
            stead_arrow::Problem::Invalid(problem) => Problem::Invalid(problem),
            stead_arrow::Problem::Stream(reason) => Problem::Stream(reason),
        }
    }
}

impl Problem {
    /// The exception for the problem.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Problem::Type(problem) => PyTypeError::new_err(problem),
            Problem::Invalid(problem) => invalid(py, problem),
            Problem::Stream(reason) => {
                let message = format!("cannot read the Arrow stream of keys: {reason}");
                made(py, Status::Io, message, 0, None)
            }
            Problem::Memory => {
                let message = "there is no memory for the nodes of so many keys".to_owned();
                made(py, Status::Memory, message, 0, None)
            }
            Problem::Raised(error) => error,
        }
    }
}

/// The name of an object's type, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name().ok();
    // not to_string(), which would lose a Ctrl-C that Python notices meanwhile
    name.and_then(|name| Some(name.to_cow().ok()?.into_owned()))
        .unwrap_or_else(|| "object".to_owned())
}
