//! A failure becomes the exception of its status; python/stead/_errors.py has the tree.

use std::io;
use std::path::Path;

use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTypeMethods;

use crate::records::python;

/// The exception for a failure.
pub(crate) fn raised(py: Python<'_>, failure: &stead::Error) -> PyErr {
    let os_errno = match failure {
        stead::Error::Io { source, .. } | stead::Error::Uncertain { source, .. } => source.raw_os_error().unwrap_or(0),
        _ => 0,
    };
    let made = python(py, "stead._errors", "_error").and_then(|error| error.call1((failure.status() as i32, failure.to_string(), os_errno)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The exception for a wrong argument.
pub(crate) fn invalid(py: Python<'_>, problem: String) -> PyErr {
    raised(py, &stead::Error::Invalid { problem })
}

/// What stead says, as Python says it.
pub(crate) trait Raise<T> {
    /// The value, or the exception.
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for stead::Result<T> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|failure| raised(py, &failure))
    }
}

/// What is wrong with a batch of keys, found where no Python is at hand.
pub(crate) enum Problem {
    /// Not of a type that keys have.
    Type(String),
    /// Of such a type, and damaged.
    Invalid(String),
    /// The producer of a stream failed, with this reason.
    Stream(String),
    /// There is no memory for the result.
    Memory,
    /// An exception.
    Raised(PyErr),
}

impl Problem {
    /// The exception for it.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Problem::Type(problem) => PyTypeError::new_err(problem),
            Problem::Invalid(problem) => invalid(py, problem),
            Problem::Stream(reason) => raised(py, &stead::Error::io("read", Path::new("the Arrow stream of keys"), io::Error::other(reason))),
            Problem::Memory => PyMemoryError::new_err("there is no memory for the nodes of so many keys"),
            Problem::Raised(error) => error,
        }
    }
}

/// The name of an object's type, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
