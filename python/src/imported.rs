//! Access to objects that are written in Python, in our modules or in the standard library.

use pyo3::prelude::*;

/// The object of this name in a module, which is imported if necessary.
pub(crate) fn imported<'py>(
    py: Python<'py>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(module)?.getattr(name)
}
