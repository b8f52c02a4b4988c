//! The Python class `Array`: a column of nodes or of positions, for Python, Arrow and NumPy.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyInt, PyIterator, PyList, PyTuple, PyType};

use stead::policy::NodeId;

use crate::arrow::{Buffer, Export};
use crate::batch::Answers;
use crate::error::invalid;
use crate::imported::imported;
use crate::names::Names;
use crate::subscript::{places, Places};
use crate::validity::is_null;

/// The nodes of a column of keys, in the order of the keys. It is an Arrow column of
/// dictionary-encoded node names, or of node numbers. Plan.affects_many also returns positions
/// as an Array.
///
/// `pyarrow.array`, `polars.Series`, `nanoarrow.Array` and everything else that supports Arrow's
/// PyCapsule interface import it without a copy. Its indices are int32. The dictionary has the
/// names of all the map's nodes, so an index is the number of the node in `Map.nodes`. Positions
/// are int64.
///
/// `numpy.asarray` and `to_numpy`, `pandas.Series` and `to_pandas`, and `to_arrow` convert it. A
/// column is pickled with its rows and the names of the nodes, so unpickling it needs no map.
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
    numbers: Numbers,
    validity: Option<Arc<Vec<u8>>>,
    nulls: usize,
    /// The names of the nodes; None if the column has numbers.
    names: Option<Arc<Names>>,
}

/// The numbers of a column. Those of null rows are 0.
#[derive(Clone)]
enum Numbers {
    /// Numbers of nodes.
    Nodes(Arc<Vec<i32>>),
    /// Positions in a batch.
    Positions(Arc<Vec<i64>>),
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Numbers::Nodes(numbers) => numbers.len(),
            Numbers::Positions(numbers) => numbers.len(),
        }
    }

    /// NumPy's name of the type.
    fn dtype(&self) -> &'static str {
        match (self, cfg!(target_endian = "little")) {
            (Numbers::Nodes(_), true) => "<i4",
            (Numbers::Nodes(_), false) => ">i4",
            (Numbers::Positions(_), true) => "<i8",
            (Numbers::Positions(_), false) => ">i8",
        }
    }

    fn address(&self) -> usize {
        match self {
            Numbers::Nodes(numbers) => numbers.as_ptr() as usize,
            Numbers::Positions(numbers) => numbers.as_ptr() as usize,
        }
    }
}

impl Array {
    /// Makes a column of the nodes' names, or of their numbers if `names` is `None`.
    pub(crate) fn new(nodes: Answers<i32>, names: Option<Arc<Names>>) -> Array {
        Array {
            numbers: Numbers::Nodes(Arc::new(nodes.values)),
            nulls: nodes.validity.nulls(),
            validity: nodes.validity.into_bits().map(Arc::new),
            names,
        }
    }

    /// Makes a column of positions.
    pub(crate) fn positions(positions: Vec<i64>) -> Array {
        Array {
            numbers: Numbers::Positions(Arc::new(positions)),
            validity: None,
            nulls: 0,
            names: None,
        }
    }

    fn export(&self) -> Export {
        let (format, numbers): (_, Arc<dyn Buffer>) = match &self.numbers {
            Numbers::Nodes(numbers) => (c"i", Arc::clone(numbers) as _),
            Numbers::Positions(numbers) => (c"l", Arc::clone(numbers) as _),
        };
        Export {
            format,
            length: self.numbers.len(),
            nulls: self.nulls,
            buffers: vec![
                self.validity.clone().map(|bits| bits as Arc<dyn Buffer>),
                Some(numbers),
            ],
            dictionary: self.names.as_ref().map(|names| Box::new(names.column())),
        }
    }

    /// A row as Python has it.
    pub(crate) fn item<'py>(&self, py: Python<'py>, row: usize) -> Bound<'py, PyAny> {
        let validity = self.validity.as_ref().map_or(&[][..], |bits| bits);
        if is_null(validity, row) {
            return py.None().into_bound(py);
        }
        let number = match &self.numbers {
            Numbers::Nodes(numbers) => numbers.get(row).copied().map(i64::from),
            Numbers::Positions(numbers) => numbers.get(row).copied(),
        };
        match (number, &self.names) {
            (None, _) => py.None().into_bound(py),
            (Some(node), Some(names)) => names
                .of(py, NodeId(node as u32))
                .bind(py)
                .clone()
                .into_any(),
            (Some(number), None) => PyInt::new(py, number).into_any(),
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

    /// Returns the column as a NumPy array. Numbers without null are not copied: the array is
    /// read-only and shares their memory. Numbers of which some are null give a masked array. Names
    /// give an array of str objects, with None for null.
    ///
    /// >>> import numpy
    /// >>> nodes = members.locate_many(numpy.array(["frank", "bob"]), numbers=True)
    /// >>> nodes.to_numpy()
    /// array([0, 1], dtype=int32)
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        imported(slf.py(), "stead._columns", "to_numpy")?.call1((slf,))
    }

    /// Returns the column as an array of pyarrow, without a copy.
    ///
    /// >>> import numpy
    /// >>> members.locate_many(numpy.array(["frank", "bob"])).to_arrow().indices.to_pylist()
    /// [0, 1]
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        imported(slf.py(), "stead._columns", "to_arrow")?.call1((slf,))
    }

    /// Returns the column as a series of pandas: names as categories, numbers as int32, or as Int32
    /// if some are null; positions are int64.
    ///
    /// >>> import numpy
    /// >>> members.locate_many(numpy.array(["frank", "bob"])).to_pandas().tolist()
    /// ['db1', 'db2']
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        imported(slf.py(), "stead._columns", "to_pandas")?.call1((slf,))
    }

    /// NumPy's interface: a new array, or the numbers themselves.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        imported(slf.py(), "stead._columns", "array")?.call1((slf, dtype, copy))
    }

    /// What stead._columns makes arrays of: the numbers, as an object with NumPy's array interface,
    /// which keeps them alive; a list of bits, the lowest first, which are 0 for null, or None; and
    /// the names of the nodes, or None.
    fn _parts<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        let bits = self.validity.as_ref().map(|bits| PyBytes::new(py, bits));
        let names = self.names.as_ref().map(|names| {
            PyTuple::new(
                py,
                (0..names.count()).map(|i| names.of(py, NodeId(i as u32)).bind(py)),
            )
        });
        Ok((Numbered(self.numbers.clone()), bits, names.transpose()?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let (numbers, bits, names) = self._parts(py)?;
        let bytes = match &numbers.0 {
            Numbers::Nodes(numbers) => numbers.iter().flat_map(|n| n.to_le_bytes()).collect(),
            Numbers::Positions(numbers) => numbers.iter().flat_map(|n| n.to_le_bytes()).collect(),
        };
        let bytes: Vec<u8> = bytes;
        let width = bytes.len().checked_div(numbers.0.len()).unwrap_or(4);
        Ok((
            imported(py, "stead._stead", "_array")?,
            (width, PyBytes::new(py, &bytes), bits, names),
        ))
    }

    fn __copy__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __deepcopy__<'a>(slf: PyRef<'a, Self>, _memo: &Bound<'_, PyAny>) -> PyRef<'a, Self> {
        slf
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
        let what = match (&self.numbers, &self.names) {
            (Numbers::Positions(_), _) => "positions",
            (_, Some(_)) => "node names",
            (_, None) => "node numbers",
        };
        format!(
            "<stead.Array of {} {what}, {} null>",
            self.numbers.len(),
            self.nulls
        )
    }
}

/// The numbers, the bits of those that are not null, and the names of the nodes.
type Parts<'py> = (
    Numbered,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyTuple>>,
);

/// The arguments of `_array`.
type Pickled<'py> = (
    usize,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyTuple>>,
);

/// The numbers of an Array, for NumPy, which reads them in place and holds this object meanwhile.
#[pyclass(frozen, module = "stead._stead", name = "_Numbers")]
pub struct Numbered(Numbers);

#[pymethods]
impl Numbered {
    /// NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.0.len(),))?;
        interface.set_item("typestr", self.0.dtype())?;
        // the second item says that the memory is read-only
        interface.set_item("data", (self.0.address(), true))?;
        Ok(interface)
    }
}

/// Makes an Array again of what its pickle has. Raises InvalidError if the pickle is damaged.
#[pyfunction]
pub fn _array(
    py: Python<'_>,
    width: usize,
    numbers: &[u8],
    bits: Option<Vec<u8>>,
    names: Option<Vec<String>>,
) -> PyResult<Array> {
    let damaged = || invalid(py, "the pickle of a stead.Array is damaged".to_owned());
    let length = match width {
        4 | 8 if numbers.len() % width == 0 => numbers.len() / width,
        _ => return Err(damaged()),
    };
    if bits
        .as_ref()
        .is_some_and(|bits| bits.len() != length.div_ceil(8))
    {
        return Err(damaged());
    }
    let nulls = bits.as_ref().map_or(0, |bits| {
        (0..length).filter(|row| is_null(bits, *row)).count()
    });
    let count = names.as_ref().map_or(i32::MAX as usize, Vec::len);
    let numbers = if width == 8 {
        let numbers = numbers.chunks_exact(8).map(|bytes| {
            let mut number = [0; 8];
            number.copy_from_slice(bytes);
            i64::from_le_bytes(number)
        });
        if names.is_some() {
            return Err(damaged());
        }
        Numbers::Positions(Arc::new(numbers.collect()))
    } else {
        let numbers = numbers.chunks_exact(4).map(|bytes| {
            let mut number = [0; 4];
            number.copy_from_slice(bytes);
            i32::from_le_bytes(number)
        });
        let numbers: Vec<i32> = numbers.collect();
        let is_node = |number: &i32| usize::try_from(*number).is_ok_and(|number| number < count);
        if nulls < length && !numbers.iter().all(is_node) {
            return Err(damaged());
        }
        Numbers::Nodes(Arc::new(numbers))
    };
    Ok(Array {
        numbers,
        validity: bits.map(Arc::new),
        nulls,
        names: names.map(|names| Arc::new(Names::of_list(names))),
    })
}
