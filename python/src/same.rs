//! `_same_nodes`: finds the nodes of an old map in a new one, for `stead.spark`, which compares
//! nodes by number.

use pyo3::prelude::*;
use stead::policy::NodeId;

use crate::error::Raise;
use crate::map::Map;

/// Returns, for each node of the old map in the order of `nodes`, the number of the same node in
/// the new map, found by name or by `formerly`; None for a node that is gone. Raises IdentityError.
#[pyfunction]
pub fn _same_nodes(
    py: Python<'_>,
    old: &Bound<'_, Map>,
    new: &Bound<'_, Map>,
) -> PyResult<Vec<Option<usize>>> {
    let same = stead::plan::same_nodes(&old.get().map, &new.get().map).raise(py)?;
    Ok(same
        .into_iter()
        .map(|node| node.map(NodeId::index))
        .collect())
}
