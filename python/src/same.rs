//! Functions for the part of the module that is written in Python: `_same_nodes` finds the nodes of
//! an old map in a new one, and `_check_map` says what is wrong with an argument that is no map.

use pyo3::prelude::*;
use stead::policy::NodeId;

use crate::argument::instance;
use crate::error::Raise;
use crate::map::Map;

/// Returns, for each node of the old map in the order of `nodes`, the number of the same node in
/// the new map, found by name or by `formerly`; None for a node that is gone. Raises IdentityError.
#[pyfunction]
pub fn _same_nodes(
    py: Python<'_>,
    old: &Bound<'_, PyAny>,
    new: &Bound<'_, PyAny>,
) -> PyResult<Vec<Option<usize>>> {
    let (old, new) = (instance::<Map>("old", old)?, instance::<Map>("new", new)?);
    let same = stead::plan::same_nodes(&old.get().map, &new.get().map).raise(py)?;
    Ok(same
        .into_iter()
        .map(|node| node.map(NodeId::index))
        .collect())
}

/// Raises a TypeError that names the argument if its value is no map.
#[pyfunction]
pub fn _check_map(name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    instance::<Map>(name, value).map(|_| ())
}
