//! The Python class `Pair`: where to read and to write while a carry is open.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};
use pyo3::IntoPyObjectExt;

use stead::carry::State;
use stead::format::Digest;
use stead::pair::Nodes;
use stead::policy::NodeId;

use crate::argument::{flag, instance, text};
use crate::error::{invalid, raised, whole, Raise};
use crate::key;
use crate::map::{compared, point_of, Map};

/// A map, and the map where its data was while a carry is open: it says where to read and to write.
///
/// Pair.open and Pair.between create pairs. A pair is immutable, and any number of threads may use
/// it. Nodes are named as in the new map; a node that only the old map has is named as there. Two
/// pairs are equal when their maps and their states are. A pair is pickled as its maps.
///
/// >>> pair = stead.Pair.between(members, grown, "both_old_first")
/// >>> pair.reads("bob"), pair.writes("bob"), pair.moved("bob")
/// (['db2'], ['db2', 'db3'], True)
/// >>> pair.reads("frank"), pair.moved("frank")
/// (['db1'], False)
/// >>> pair
/// <stead.Pair "members" epoch 1 -> 2, both_old_first>
#[pyclass(frozen, module = "stead", name = "Pair", weakref)]
pub struct Pair {
    pair: stead::Pair,
    new: Py<Map>,
    old: Option<Py<Map>>,
}

impl Pair {
    fn of(py: Python<'_>, pair: stead::Pair) -> PyResult<Pair> {
        let map = |map: &Arc<stead::Map>| Py::new(py, Map::new(Arc::clone(map)));
        Ok(Pair {
            new: map(pair.new_map())?,
            old: pair.old_map().map(map).transpose()?,
            pair,
        })
    }

    /// The names of nodes. The maps keep each name as a Python string.
    fn list<'py>(&self, py: Python<'py>, nodes: Nodes<'_>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for node in nodes {
            list.append(self.name(py, node)?)?;
        }
        Ok(list)
    }

    fn name<'py>(&self, py: Python<'py>, node: NodeId) -> PyResult<Bound<'py, PyString>> {
        let found = self.pair.origin(node).and_then(|(map, number)| {
            let is_new = Arc::ptr_eq(map, self.pair.new_map());
            let map = if is_new {
                Some(&self.new)
            } else {
                self.old.as_ref()
            };
            Some(map?.get().names().of(py, number).bind(py).clone())
        });
        found.map_or_else(|| "".into_pyobject(py).map_err(Into::into), Ok)
    }

    fn identity(&self) -> (Digest, Option<Digest>, Option<State>) {
        let old = self.pair.old_map().map(|map| map.digest());
        (self.pair.new_map().digest(), old, self.pair.state())
    }
}

/// Converts the word of a state.
fn state_of(word: &Bound<'_, PyAny>) -> PyResult<State> {
    let found = text("state", word, "")?;
    found
        .parse()
        .map_err(|error: stead::Error| raised(word.py(), &error))
}

#[pymethods]
impl Pair {
    /// Opens a map file and, while a carry is open, the map where the data was. Without a carry the
    /// pair has the new map alone, and answers like it. This costs two stats if the process has the
    /// files open already and they are unchanged, so a server should open its pair in each request.
    ///
    /// path and copy: as in Map.open. epoch and state: take this epoch of the history as the old
    /// map, and this state, instead of those of the carry.
    ///
    /// Raises the exceptions of Map.open; also NotFoundError if the history lacks the old map, and
    /// IdentityError if it has another one under its number.
    ///
    /// >>> pair = stead.Pair.open("members.map")
    /// >>> pair.state is None, pair.old is None
    /// (True, True)
    /// >>> pair.reads("frank") == stead.Map.open("members.map").locate_all("frank")
    /// True
    #[staticmethod]
    #[pyo3(
        signature = (path, *, copy = None, epoch = None, state = None),
        text_signature = "(path, *, copy=False, epoch=None, state=None)"
    )]
    fn open(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        copy: Option<&Bound<'_, PyAny>>,
        epoch: Option<&Bound<'_, PyAny>>,
        state: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Pair> {
        let (path, copy) = (crate::argument::path("path", path)?, flag("copy", copy)?);
        let opened = match (epoch, state) {
            (Some(epoch), Some(state)) => {
                let epoch = whole("epoch", "an epoch, from 1 to 2**64 - 1", epoch)?;
                let state = state_of(state)?;
                py.detach(|| stead::Pair::open_from(&path, epoch, state))
            }
            (None, None) if copy => py.detach(|| stead::Pair::open_copy(&path)),
            (None, None) => py.detach(|| stead::Pair::open(&path)),
            _ => {
                let problem = "epoch and state belong together; give both, or none";
                return Err(invalid(py, problem.to_owned()));
            }
        };
        Pair::of(py, opened.raise(py)?)
    }

    /// Makes a pair of two maps of one cluster, as if a carry from the old one to the new one were
    /// open in this state: old, both_old_first, both_new_first or new.
    ///
    /// Raises IdentityError if the maps are of two clusters or have two hashes, and InvalidError if
    /// there is no such state.
    ///
    /// >>> [stead.Pair.between(members, grown, state).reads("bob")
    /// ...  for state in ("old", "both_old_first", "both_new_first", "new")]
    /// [['db2'], ['db2'], ['db3', 'db2'], ['db3']]
    #[staticmethod]
    fn between(
        py: Python<'_>,
        old: &Bound<'_, PyAny>,
        new: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
    ) -> PyResult<Pair> {
        let (old, new) = (instance::<Map>("old", old)?, instance::<Map>("new", new)?);
        let state = state_of(state)?;
        let maps = [old, new].map(|map| Arc::clone(&map.get().map));
        let [old_map, new_map] = maps;
        let pair = stead::Pair::between(old_map, new_map, state).raise(py)?;
        Ok(Pair {
            pair,
            new: new.clone().unbind(),
            old: Some(old.clone().unbind()),
        })
    }

    /// The state of the carry: "old", "both_old_first", "both_new_first" or "new"; None if no carry
    /// is open.
    ///
    /// >>> stead.Pair.between(members, grown, "old").state
    /// 'old'
    #[getter]
    fn state(&self) -> Option<&'static str> {
        self.pair.state().map(State::word)
    }

    /// The map where the data will be, or is.
    #[getter(new)]
    fn new_map(&self, py: Python<'_>) -> Py<Map> {
        self.new.clone_ref(py)
    }

    /// The map where the data was; None if no carry is open.
    #[getter]
    fn old(&self, py: Python<'_>) -> Option<Py<Map>> {
        self.old.as_ref().map(|map| map.clone_ref(py))
    }

    /// Returns the names of the nodes to read a key from, in this order. The first node that
    /// answers decides, also when it answers that there is no such key. Go on to the next node only
    /// if one does not answer at all. A new place is not among them while data is copied to it.
    ///
    /// Raises TypeError if the key is neither str nor bytes.
    ///
    /// >>> stead.Pair.between(members, grown, "both_new_first").reads("bob")
    /// ['db3', 'db2']
    fn reads<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.list(key.py(), self.pair.reads(key::bytes(key)?))
    }

    /// Returns the names of the nodes to write a key to, or to delete it from, in this order. The
    /// write is done when all of them have it.
    ///
    /// Raises TypeError if the key is neither str nor bytes.
    ///
    /// >>> stead.Pair.between(members, grown, "both_old_first").writes("bob")
    /// ['db2', 'db3']
    fn writes<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.list(key.py(), self.pair.writes(key::bytes(key)?))
    }

    /// Returns whether the two maps answer differently for a key: with other nodes, or with the
    /// same in another order. Where they do not, every state reads and writes the same nodes.
    ///
    /// Raises TypeError if the key is neither str nor bytes.
    ///
    /// >>> pair = stead.Pair.between(members, grown, "old")
    /// >>> [key for key in ("alice", "bob", "frank") if pair.moved(key)]
    /// ['alice', 'bob']
    fn moved(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.pair.moved(key::bytes(key)?))
    }

    /// Returns for a point what reads returns for a key.
    ///
    /// Raises InvalidError if the point is not from 0 to 2**64 - 1.
    ///
    /// >>> pair = stead.Pair.between(members, grown, "old")
    /// >>> pair.reads_point(grown.point("bob")) == pair.reads("bob")
    /// True
    fn reads_point<'py>(&self, point: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.list(point.py(), self.pair.reads_point(point_of(point)?))
    }

    /// Returns for a point what writes returns for a key.
    ///
    /// Raises InvalidError if the point is not from 0 to 2**64 - 1.
    ///
    /// >>> pair = stead.Pair.between(members, grown, "both_old_first")
    /// >>> pair.writes_point(grown.point("bob"))
    /// ['db2', 'db3']
    fn writes_point<'py>(&self, point: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.list(point.py(), self.pair.writes_point(point_of(point)?))
    }

    /// Returns for a point what moved returns for a key.
    ///
    /// Raises InvalidError if the point is not from 0 to 2**64 - 1.
    ///
    /// >>> pair = stead.Pair.between(members, grown, "old")
    /// >>> pair.moved_point(grown.point("frank"))
    /// False
    fn moved_point(&self, point: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.pair.moved_point(point_of(point)?))
    }

    /// Returns an attribute of a node, such as its address; None if there is no such node, or if it
    /// has no such attribute. The node is one of the new map, or one that only the old map has.
    ///
    /// >>> pair = stead.Pair.between(members, grown, "old")
    /// >>> pair.attribute("db1", "address") is None
    /// True
    fn attribute<'a>(
        &'a self,
        node: &Bound<'_, PyAny>,
        name: &Bound<'_, PyAny>,
    ) -> PyResult<Option<&'a str>> {
        let node = text("node", node, "; a node is looked up by its name")?;
        let name = text("name", name, "")?;
        Ok(self
            .pair
            .named(node)
            .and_then(|node| self.pair.attribute(node, name)))
    }

    /// Makes the pair that was pickled.
    #[staticmethod]
    fn _of(
        py: Python<'_>,
        old: Option<&Bound<'_, Map>>,
        new: &Bound<'_, Map>,
        state: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Pair> {
        match (old, state) {
            (Some(old), Some(state)) => Pair::between(py, old.as_any(), new.as_any(), state),
            _ => Pair::of(py, stead::Pair::alone(Arc::clone(&new.get().map))),
        }
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let old = self.old.as_ref().map(|old| old.clone_ref(py));
        let parts = [
            old.into_bound_py_any(py)?,
            self.new.clone_ref(py).into_bound_py_any(py)?,
            self.state().into_bound_py_any(py)?,
        ];
        Ok((
            PyType::new::<Pair>(py).getattr("_of")?,
            PyTuple::new(py, parts)?,
        ))
    }

    fn __richcmp__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let other = other.cast::<Pair>().ok();
        compared(
            py,
            other.map(|other| other.get().identity() == self.identity()),
            op,
        )
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.identity().hash(&mut hasher);
        hasher.finish()
    }

    fn __copy__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __deepcopy__<'a>(slf: PyRef<'a, Self>, _memo: &Bound<'_, PyAny>) -> PyRef<'a, Self> {
        slf
    }

    fn __repr__(&self) -> String {
        let new = self.pair.new_map();
        match (self.pair.old_map(), self.state()) {
            (Some(old), Some(state)) => format!(
                "<stead.Pair {:?} epoch {} -> {}, {state}>",
                new.name(),
                old.epoch(),
                new.epoch()
            ),
            _ => format!("<stead.Pair {:?} epoch {}>", new.name(), new.epoch()),
        }
    }
}
