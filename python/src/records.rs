//! Creates the named tuples of python/stead/_records.py, and reports.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use stead::map::Node;

use crate::error::invalid;
use crate::imported::imported;

/// Converts a report to Python objects: writes it as JSON, which Python's json reads.
pub(crate) fn json<'py>(
    py: Python<'py>,
    report: &impl serde::Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(report).map_err(|e| invalid(py, e.to_string()))?;
    imported(py, "json", "loads")?.call1((text,))
}

/// The class of a record, imported once.
fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    cell.get_or_try_init(py, || Ok(imported(py, "stead._records", name)?.unbind()))
        .map(|class| class.bind(py))
}

/// `Node(...)`.
pub(crate) fn node<'py>(py: Python<'py>, node: Node<'_>) -> PyResult<Bound<'py, PyAny>> {
    static NODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static READ_ONLY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let read_only = |pairs: &mut dyn Iterator<Item = (&str, &str)>| -> PyResult<Bound<'py, PyAny>> {
        let dict = PyDict::new(py);
        for (name, value) in pairs {
            dict.set_item(name, value)?;
        }
        class(py, &READ_ONLY, "ReadOnly")?.call1((dict,))
    };
    let weight = imported(py, "decimal", "Decimal")?.call1((node.weight().to_string(),))?;
    let (labels, attributes) = (
        read_only(&mut node.labels())?,
        read_only(&mut node.attributes())?,
    );
    class(py, &NODE, "Node")?.call1((node.name(), weight, labels, attributes, node.leaving()))
}

/// `Slice(...)`.
pub(crate) fn slice<'py>(
    py: Python<'py>,
    first: u64,
    last: u64,
    nodes: Bound<'py, PyTuple>,
    policy: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    static SLICE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    class(py, &SLICE, "Slice")?.call1((first, last, nodes, policy))
}

/// `Move(...)`.
pub(crate) fn one_move<'py>(
    py: Python<'py>,
    first: u64,
    last: u64,
    from: Option<&str>,
    to: Option<&str>,
    cause: &str,
) -> PyResult<Bound<'py, PyAny>> {
    static MOVE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    class(py, &MOVE, "Move")?.call1((first, last, from, to, cause))
}

/// `Policy(...)`.
pub(crate) fn policy<'py>(
    py: Python<'py>,
    name: Option<&str>,
    kind: &str,
    weight: Option<String>,
    nodes: Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    static POLICY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let weight = weight
        .map(|weight| imported(py, "decimal", "Decimal")?.call1((weight,)))
        .transpose()?;
    class(py, &POLICY, "Policy")?.call1((name, kind, weight, nodes))
}

/// `Affected(...)`.
pub(crate) fn affected<'py>(
    py: Python<'py>,
    key: i64,
    from: Bound<'py, PyAny>,
    to: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    static AFFECTED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    class(py, &AFFECTED, "Affected")?.call1((key, from, to))
}

/// `AffectedColumns(...)`.
pub(crate) fn affected_columns<'py>(
    py: Python<'py>,
    columns: [Bound<'py, PyAny>; 3],
) -> PyResult<Bound<'py, PyAny>> {
    let [key, from, to] = columns;
    imported(py, "stead._records", "AffectedColumns")?.call1((key, from, to))
}
