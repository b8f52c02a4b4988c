//! The Python class `Array`: the nodes of a column of keys, for Python and for Arrow.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyInt, PyIterator, PyList, PyType};

use stead::policy::NodeId;

use crate::arrow::{Buffer, Export};
use crate::batch::{node_at, Placed};
use crate::imported::imported;
use crate::names::Names;
use crate::subscript::{places, Places};

/// The nodes of a column of keys, in the order of the keys. It is an Arrow column of
/// dictionary-encoded node names, or of node numbers.
///
/// `pyarrow.array`, `polars.Series`, `nanoarrow.Array` and everything else that supports Arrow's
/// PyCapsule interface import it without a copy. Its indices are int32. The dictionary has the
/// names of all the map's nodes, so an index is the number of the node in `Map.nodes`.
///
/// Its rows can be read like those of a list, with None for null. (It is not registered as a
/// Sequence, because polars would then copy it item by item.)
///
/// >>> import numpy
/// >>> nodes = members.locate_many(numpy.array(["frank", "bob"]))
/// >>> nodes
/// <stead.Array of 2 node names, 0 null>
/// >>> list(nodes), nodes[-1], len(nodes), nodes[:1]
/// (['db1', 'db2'], 'db2', 2, ['db1'])
/// >>> import pyarrow
/// >>> pyarrow.array(nodes).type
/// DictionaryType(dictionary<values=string, indices=int32, ordered=0>)
#[pyclass(frozen, module = "stead", name = "Array", sequence, weakref)]
pub struct Array {
    numbers: Arc<Vec<i32>>,
    validity: Option<Arc<Vec<u8>>>,
    nulls: usize,
    /// The names of the nodes; None if the column has numbers.
    names: Option<Arc<Names>>,
}

impl Array {
    /// Makes a column of the nodes' names, or of their numbers if `names` is `None`.
    pub(crate) fn new(nodes: Placed, names: Option<Arc<Names>>) -> Array {
        Array {
            numbers: Arc::new(nodes.numbers),
            validity: (nodes.nulls > 0).then(|| Arc::new(nodes.validity)),
            nulls: nodes.nulls,
            names,
        }
    }

    fn export(&self) -> Export {
        Export {
            format: c"i",
            length: self.numbers.len(),
            nulls: self.nulls,
            buffers: vec![
                self.validity.clone().map(|bits| bits as Arc<dyn Buffer>),
                Some(self.numbers.clone()),
            ],
            dictionary: self.names.as_ref().map(|names| Box::new(names.column())),
        }
    }

    fn item<'py>(&self, py: Python<'py>, row: usize) -> Bound<'py, PyAny> {
        let validity = self.validity.as_ref().map_or(&[][..], |bits| bits);
        match (node_at(&self.numbers, validity, row), &self.names) {
            (None, _) => py.None().into_bound(py),
            (Some(node), Some(names)) => names
                .of(py, NodeId(node as u32))
                .bind(py)
                .clone()
                .into_any(),
            (Some(node), None) => PyInt::new(py, node).into_any(),
        }
    }
}

#[pymethods]
impl Array {
    /// Returns the nodes as a list, with None for null.
    ///
    /// >>> import numpy
    /// >>> members.locate_many(numpy.array(["frank", None]), numbers=True).to_pylist()
    /// [0, None]
    pub(crate) fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, (0..self.numbers.len()).map(|row| self.item(py, row)))
    }

    /// The number of null rows. A row is null if its key is null.
    #[getter]
    fn null_count(&self) -> usize {
        self.nulls
    }

    /// Arrow's PyCapsule interface: the type.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.export().schema(py)
    }

    /// Arrow's PyCapsule interface: the type and the rows. `requested_schema` is ignored: the type
    /// is always the same.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema; // the interface allows a producer to ignore it
        let export = self.export();
        Ok((export.schema(py)?, export.array(py)?))
    }

    fn __len__(&self) -> usize {
        self.numbers.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(match places(index, self.numbers.len(), "row")? {
            Places::One(row) => self.item(py, row),
            Places::Some(rows) => {
                PyList::new(py, rows.into_iter().map(|row| self.item(py, row)))?.into_any()
            }
        })
    }

    /// `Array[str | None]`, for annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        item: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        imported(class.py(), "types", "GenericAlias")?.call1((class, item))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.to_pylist(py)?.try_iter()
    }

    fn __repr__(&self) -> String {
        let what = if self.names.is_some() {
            "node names"
        } else {
            "node numbers"
        };
        format!(
            "<stead.Array of {} {what}, {} null>",
            self.numbers.len(),
            self.nulls
        )
    }
}
