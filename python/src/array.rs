//! The Python class `Array`: a column of nodes or of positions, for Python, Arrow and NumPy.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyInt, PyIterator, PyList, PyTuple, PyType};

use stead::policy::NodeId;
use stead_arrow::{Buffer, Export};

use crate::arrow::{array_of, schema_of};
use crate::batch::Answers;
use crate::error::{invalid, Problem};
use crate::imported::imported;
use crate::names::Names;
use crate::subscript::{places, Places};
use crate::validity::{is_null, Validity};

/// The nodes of a column of keys, in the order of the keys. It is an Arrow column of
/// dictionary-encoded node names, or of node numbers; that of Map.locate_all_many has a list of
/// these in each row. Plan.affects_many also returns positions as an Array.
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
    /// If each row is a list of numbers: where the list of each row starts, and where the last one
    /// ends.
    offsets: Option<Arc<Vec<i32>>>,
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

    /// The width of a number in bytes.
    fn width(&self) -> usize {
        match self {
            Numbers::Nodes(_) => 4,
            Numbers::Positions(_) => 8,
        }
    }

    fn to_le_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = match self {
            Numbers::Nodes(numbers) => numbers.iter().flat_map(|n| n.to_le_bytes()).collect(),
            Numbers::Positions(numbers) => numbers.iter().flat_map(|n| n.to_le_bytes()).collect(),
        };
        PyBytes::new(py, &bytes)
    }

    fn address(&self) -> usize {
        match self {
            Numbers::Nodes(numbers) => numbers.as_ptr() as usize,
            Numbers::Positions(numbers) => numbers.as_ptr() as usize,
        }
    }
}

/// Lists of the numbers of nodes; a list may be null.
pub(crate) struct Lists {
    numbers: Vec<i32>,
    offsets: Vec<i32>,
    validity: Validity,
}

impl Default for Lists {
    fn default() -> Lists {
        Lists {
            numbers: Vec::new(),
            offsets: vec![0],
            validity: Validity::default(),
        }
    }
}

impl Lists {
    /// Makes room for more lists.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), Problem> {
        let room = self.offsets.try_reserve(more);
        room.map_err(|_| Problem::Memory)
    }

    /// Appends a list; null for None.
    pub(crate) fn push(
        &mut self,
        list: Option<impl ExactSizeIterator<Item = i32>>,
    ) -> Result<(), Problem> {
        let valid: Option<&[usize]> = list.is_none().then_some(&[]);
        self.validity.extend(1, valid);
        if let Some(list) = list {
            let room = self.numbers.try_reserve(list.len());
            room.map_err(|_| Problem::Memory)?;
            self.numbers.extend(list);
        }
        let end = i32::try_from(self.numbers.len()).map_err(|_| {
            Problem::Invalid(
                "the keys of one call have more than 2**31 - 1 nodes together, which Arrow's lists \
                 cannot count; pass fewer keys at a time"
                    .to_owned(),
            )
        })?;
        self.offsets.push(end);
        Ok(())
    }
}

impl Array {
    /// Makes a column of lists of the nodes' names, or of their numbers if `names` is `None`.
    pub(crate) fn lists(lists: Lists, names: Option<Arc<Names>>) -> Array {
        Array {
            numbers: Numbers::Nodes(Arc::new(lists.numbers)),
            offsets: Some(Arc::new(lists.offsets)),
            nulls: lists.validity.nulls(),
            validity: lists.validity.into_bits().map(Arc::new),
            names,
        }
    }

    /// Makes a column of the nodes' names, or of their numbers if `names` is `None`.
    pub(crate) fn new(nodes: Answers<i32>, names: Option<Arc<Names>>) -> Array {
        Array {
            numbers: Numbers::Nodes(Arc::new(nodes.values)),
            offsets: None,
            nulls: nodes.validity.nulls(),
            validity: nodes.validity.into_bits().map(Arc::new),
            names,
        }
    }

    /// Makes a column of positions.
    pub(crate) fn positions(positions: Vec<i64>) -> Array {
        Array {
            numbers: Numbers::Positions(Arc::new(positions)),
            offsets: None,
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
        let column = Export {
            format,
            length: self.numbers.len(),
            nulls: 0,
            buffers: vec![None, Some(numbers)],
            dictionary: self.names.as_ref().map(|names| Box::new(names.column())),
            items: None,
        };
        let mut column = match &self.offsets {
            None => column,
            Some(offsets) => Export {
                format: c"+l",
                length: self.len(),
                nulls: 0,
                buffers: vec![None, Some(Arc::clone(offsets) as _)],
                dictionary: None,
                items: Some(Box::new(column)),
            },
        };
        column.nulls = self.nulls;
        column.buffers[0] = self.validity.clone().map(|bits| bits as Arc<dyn Buffer>);
        column
    }

    /// The number of rows.
    fn len(&self) -> usize {
        match &self.offsets {
            Some(offsets) => offsets.len() - 1, // there is always the end of the last list
            None => self.numbers.len(),
        }
    }

    /// A row as Python has it.
    pub(crate) fn item<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if self
            .validity
            .as_ref()
            .is_some_and(|bits| is_null(bits, row))
        {
            return Ok(py.None().into_bound(py));
        }
        match &self.offsets {
            Some(offsets) => {
                // a list of the lists starts at or after 0
                let [start, end] = [offsets[row], offsets[row + 1]].map(|at| at as usize);
                let items = (start..end).map(|place| self.number(py, place));
                Ok(PyList::new(py, items)?.into_any())
            }
            None => Ok(self.number(py, row)),
        }
    }

    /// A name or a number.
    fn number<'py>(&self, py: Python<'py>, place: usize) -> Bound<'py, PyAny> {
        match (&self.numbers, &self.names) {
            (Numbers::Nodes(numbers), Some(names)) => {
                let name = names.of(py, NodeId(numbers[place] as u32));
                name.bind(py).clone().into_any()
            }
            (Numbers::Nodes(numbers), None) => PyInt::new(py, numbers[place]).into_any(),
            (Numbers::Positions(numbers), _) => PyInt::new(py, numbers[place]).into_any(),
        }
    }

    /// Rows as a list.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        if self.offsets.is_none() && self.validity.is_none() {
            return PyList::new(py, rows.map(|row| self.number(py, row)));
        }
        let rows = rows.map(|row| self.item(py, row));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
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
        self.rows(py, 0..self.len())
    }

    /// Returns the column as a NumPy array. Numbers without null are not copied: the array is
    /// read-only and shares their memory. Numbers of which some are null give a masked array. Names
    /// give an array of str objects, with None for null, and lists an array of list objects.
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
    /// if some are null; positions are int64, and lists are objects.
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
    /// which keeps them alive; a list of bits, the lowest first, which are 0 for null, or None; the
    /// names of the nodes, or None; and, if the rows are lists, where each starts and the last one
    /// ends, as int32, or None.
    fn _parts<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        let bits = self.validity.as_ref().map(|bits| PyBytes::new(py, bits));
        let names = self.names.as_ref().map(|names| {
            PyTuple::new(
                py,
                (0..names.count()).map(|i| names.of(py, NodeId(i as u32)).bind(py)),
            )
        });
        let offsets = self.offsets.clone();
        let offsets = offsets.map(|offsets| Numbered(Numbers::Nodes(offsets)));
        let numbers = Numbered(self.numbers.clone());
        Ok((numbers, bits, names.transpose()?, offsets))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let (numbers, bits, names, offsets) = self._parts(py)?;
        let offsets = offsets.map(|offsets| offsets.0.to_le_bytes(py));
        let numbers = (numbers.0.width(), numbers.0.to_le_bytes(py));
        Ok((
            imported(py, "stead._stead", "_array")?,
            (numbers.0, numbers.1, bits, names, offsets),
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
        schema_of(py, &self.export())
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
        Ok((schema_of(py, &export)?, array_of(py, export)?))
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match places(index, self.len(), "row")? {
            Places::One(row) => self.item(py, row),
            Places::Some(rows) => self.rows(py, rows.into_iter()).map(Bound::into_any),
        }
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
        let lists = if self.offsets.is_some() {
            "lists of "
        } else {
            ""
        };
        let (rows, nulls) = (self.len(), self.nulls);
        format!("<stead.Array of {rows} {lists}{what}, {nulls} null>")
    }
}

/// The numbers, the bits of the rows that are not null, the names of the nodes, and the offsets of
/// lists.
type Parts<'py> = (
    Numbered,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyTuple>>,
    Option<Numbered>,
);

/// The arguments of `_array`.
type Pickled<'py> = (
    usize,
    Bound<'py, PyBytes>,
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyTuple>>,
    Option<Bound<'py, PyBytes>>,
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
#[pyo3(signature = (width, numbers, bits, names, offsets = None))]
pub fn _array(
    py: Python<'_>,
    width: usize,
    numbers: &[u8],
    bits: Option<Vec<u8>>,
    names: Option<Vec<String>>,
    offsets: Option<&[u8]>,
) -> PyResult<Array> {
    let damaged = || invalid(py, "the pickle of a stead.Array is damaged".to_owned());
    let sure = |is_sound: bool| is_sound.then_some(()).ok_or_else(damaged);
    let numbers = match width {
        4 => Numbers::Nodes(Arc::new(
            items(numbers, i32::from_le_bytes).ok_or_else(damaged)?,
        )),
        8 => Numbers::Positions(Arc::new(
            items(numbers, i64::from_le_bytes).ok_or_else(damaged)?,
        )),
        _ => return Err(damaged()),
    };
    let offsets = match offsets {
        Some(offsets) => Some(items(offsets, i32::from_le_bytes).ok_or_else(damaged)?),
        None => None,
    };
    if let Some(offsets) = &offsets {
        let ends = (offsets.first(), offsets.last());
        let length = i32::try_from(numbers.len()).ok();
        sure(ends.0 == Some(&0) && ends.1 == length.as_ref() && offsets.is_sorted())?;
    }
    let column = Array {
        numbers,
        offsets: offsets.map(Arc::new),
        validity: bits.map(Arc::new),
        nulls: 0,
        names: names.map(|names| Arc::new(Names::of_list(names))),
    };
    let length = column.len();
    let bits = column.validity.as_deref();
    sure(bits.is_none_or(|bits| bits.len() == length.div_ceil(8)))?;
    let nulls = bits.map_or(0, |bits| {
        (0..length).filter(|row| is_null(bits, *row)).count()
    });
    if let Some(names) = &column.names {
        let Numbers::Nodes(numbers) = &column.numbers else {
            return Err(damaged());
        };
        let is_node = |number: &i32| usize::try_from(*number).is_ok_and(|n| n < names.count());
        // the numbers of null rows are 0, and there may be no name
        let is_all_null = column.offsets.is_none() && nulls == length;
        sure(is_all_null || numbers.iter().all(is_node))?;
    }
    Ok(Array { nulls, ..column })
}

/// The numbers that these bytes are; None if there are some bytes too many.
fn items<const N: usize, T>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
    let items = bytes.chunks_exact(N);
    let is_whole = items.remainder().is_empty();
    let items = items.filter_map(|item| item.try_into().ok()).map(number);
    is_whole.then(|| items.collect())
}
