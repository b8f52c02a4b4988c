//! What is written in Python: names of modules, ours or the standard library's.

use pyo3::prelude::*;

/// A name of a module, which is imported if it is not yet.
pub(crate) fn imported<'py>(
    py: Python<'py>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(module)?.getattr(name)
}
