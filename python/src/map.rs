//! `Map`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple, PyType};

use stead::fleet::part;
use stead::policy::{NodeId, PolicyId};
use stead::report::Report;
use stead::{Point, Store};

use crate::array::Array;
use crate::batch::place_batch;
use crate::error::{invalid, whole, Raise};
use crate::names::Names;
use crate::{fleet, key, records};

/// Where keys live: an immutable, verified map, safe to ask from any number of threads.
///
/// Made by Map.open, Map.from_bytes or build. A key is str, which stands for its UTF-8, or bytes,
/// or of a class made from them; anything else is a TypeError. Two maps are equal when their
/// digests are, and hash so. A map pickles as its bytes, so it works where its file is not; a copy
/// is the map itself.
///
/// >>> members = stead.build({"name": "members", "node": [{"name": "db1"}, {"name": "db2"}]})
/// >>> members
/// <stead.Map "members" epoch 1, 2 nodes, 2 slices, f1c5f07a>
/// >>> import pickle
/// >>> pickle.loads(pickle.dumps(members)) == members
/// True
#[pyclass(frozen, module = "stead", name = "Map", weakref)]
pub struct Map {
    pub(crate) map: Arc<stead::Map>,
    names: Arc<Names>,
    /// the nodes
    nodes: PyOnceLock<Py<PyTuple>>,
    /// the slices
    slices: PyOnceLock<Py<PyTuple>>,
}

impl Map {
    /// The map for Python.
    pub(crate) fn new(map: Arc<stead::Map>) -> Map {
        Map {
            names: Arc::new(Names::new(Arc::clone(&map))),
            map,
            nodes: PyOnceLock::new(),
            slices: PyOnceLock::new(),
        }
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        nodes: impl ExactSizeIterator<Item = NodeId>,
    ) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, nodes.map(|node| self.names.of(py, node).bind(py)))
    }

    fn tuple_of<'py>(&self, py: Python<'py>, policy: PolicyId) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(
            py,
            self.map
                .policy(policy)
                .members()
                .map(|node| self.names.of(py, node).bind(py)),
        )
    }
}

#[pymethods]
impl Map {
    /// Opens a map file; costs one stat when this process has it open already and it is unchanged.
    ///
    /// path: str or os.PathLike. copy: read the file into memory whatever its size, so that nobody
    /// who truncates it in place can end this process. Without, files above 1 MiB are mapped, and
    /// all processes share them.
    ///
    /// A file that was replaced by renaming is opened anew, while maps that are open keep their
    /// answers: so a server may open its map for each request.
    ///
    /// Raises NotFoundError, PermissionDeniedError, IoError, FormatError, DigestError,
    /// VersionError, and ChangedError when the file was overwritten in place.
    ///
    /// >>> stead.Map.open("members.map").name
    /// 'members'
    #[staticmethod]
    #[pyo3(signature = (path, *, copy = false))]
    fn open(py: Python<'_>, path: PathBuf, copy: bool) -> PyResult<Map> {
        py.detach(|| stead::map::open_cached(&path, copy))
            .raise(py)
            .map(Map::new)
    }

    /// The map of the bytes of a map file, wherever they come from. They are verified.
    ///
    /// Raises FormatError, DigestError and VersionError.
    ///
    /// >>> stead.Map.from_bytes(members.to_bytes()) == members
    /// True
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &Bound<'_, PyBytes>) -> PyResult<Map> {
        let bytes = data.as_bytes().to_vec();
        py.detach(|| stead::Map::from_bytes(bytes))
            .raise(py)
            .map(|map| Map::new(Arc::new(map)))
    }

    /// The same as stead.build.
    ///
    /// >>> stead.Map.build({"name": "m", "node": [{"name": "a"}]}).locate("frank")
    /// 'a'
    #[staticmethod]
    #[pyo3(signature = (fleet, previous = None, *, max_move = None))]
    fn build(
        py: Python<'_>,
        fleet: &Bound<'_, PyAny>,
        previous: Option<&Bound<'_, Map>>,
        max_move: Option<&str>,
    ) -> PyResult<Map> {
        build(py, fleet, previous, max_move)
    }

    /// The name of the node that a key lives on: its primary, when there are several.
    ///
    /// Raises TypeError when the key is neither str nor bytes, and UnicodeEncodeError when it is a
    /// str with lone surrogates, which have no UTF-8; for the name of a file give
    /// os.fsencode(name).
    ///
    /// >>> members.locate("frank"), members.locate(b"bob")
    /// ('db1', 'db2')
    fn locate<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let node = self.map.locate(key::bytes(key)?);
        Ok(self.names.of(key.py(), node).bind(key.py()).clone())
    }

    /// The names of the nodes that many keys live on, in their order: `locate` for a whole batch,
    /// other threads running meanwhile.
    ///
    /// - A list, or another iterable of `str`, `bytes` and None, gives a list; None stays None.
    /// - Anything of Arrow's PyCapsule interface gives an `Array`: arrays and streams of pyarrow,
    ///   polars, pandas, DuckDB and others, of string, large_string, string_view, binary,
    ///   large_binary, binary_view, fixed_size_binary, or a dictionary of one of these; also tables
    ///   and record batches of one column. Null stays null. The keys are read where they are, not
    ///   copied: memory grows by 4 bytes a key, and a bit if one is null.
    /// - A NumPy array of S, U, StringDType or object, and a pandas or polars series of objects,
    ///   gives an `Array`. None, NaN, NA and masked are null. An item of S ends where NumPy says:
    ///   NULs at its end do not count. The array is read in blocks of 1 MiB.
    ///
    /// A key is `str`, which stands for its UTF-8, or `bytes`, also in columns. With `numbers`, the
    /// numbers of the nodes in `Map.nodes` in place of their names.
    ///
    /// Raises TypeError for what is no batch of keys, InvalidError for a column that is malformed,
    /// IoError for a stream that fails.
    ///
    /// >>> members.locate_many(["frank", b"bob", None])
    /// ['db1', 'db2', None]
    /// >>> members.locate_many(["frank", b"bob", None], numbers=True)
    /// [0, 1, None]
    #[pyo3(signature = (keys, *, numbers = false))]
    fn locate_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        numbers: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        let (nodes, is_column) = place_batch(&self.map, keys)?;
        let array = Array::new(nodes, (!numbers).then(|| Arc::clone(&self.names)));
        if is_column {
            return Ok(array.into_pyobject(py)?.into_any());
        }
        array.to_pylist(py).map(Bound::into_any)
    }

    /// The names of all nodes of a key, primary first: as many as the map has replicas, or as its
    /// policy lists.
    ///
    /// >>> members.locate_all("frank")
    /// ['db1']
    fn locate_all<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.list(key.py(), self.map.locate_all(key::bytes(key)?))
    }

    /// Up to n distinct nodes for a key, best first: its own, then those that take over when they
    /// are down.
    ///
    /// All clients get the same list; it is shorter only when the map has fewer nodes.
    ///
    /// Raises InvalidError when n is below 0.
    ///
    /// >>> members.prefer("frank", 2)
    /// ['db1', 'db2']
    fn prefer<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let n = whole("n", "a number of nodes, from 0", n)?;
        self.list(key.py(), self.map.prefer(key::bytes(key)?, n).into_iter())
    }

    /// The point of a key, from 0 to 2**64 - 1: its hash, by which it is located.
    ///
    /// >>> f"{members.point('frank'):016x}"
    /// '26253c50741faa9c'
    fn point(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.map.point(key::bytes(key)?).0)
    }

    /// The names of all nodes of a point, primary first.
    ///
    /// Raises InvalidError when the point is not from 0 to 2**64 - 1.
    ///
    /// >>> members.locate_point(0), members.locate_point(2**64 - 1)
    /// (['db1'], ['db2'])
    fn locate_point<'py>(
        &self,
        py: Python<'py>,
        point: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let point = whole("point", "a number from 0 to 2**64 - 1", point)?;
        self.list(
            py,
            self.map.policy(self.map.policy_of(Point(point))).members(),
        )
    }

    /// Publishes the map to those who open path: whole or not at all, with its history beside it.
    ///
    /// previous: the map that this one was built on, which must still be the one at path; None when
    /// there is no map yet.
    ///
    /// The history is in path + ".history", the newest 32 epochs, each a map file; `stead history`
    /// and `stead rollback` know it.
    ///
    /// Raises ConflictError when somebody was faster: nothing was changed then, build again on the
    /// map that is there now. IoError and its kin: nothing was changed either. UncertainError: the
    /// map is in place, and may be lost in a power cut. InvalidError: path is a symbolic link.
    ///
    /// >>> before = stead.Map.open("members.map")
    /// >>> fleet["node"].append({"name": "db4"})
    /// >>> after = stead.build(fleet, before)
    /// >>> after.publish("members.map", before)
    /// >>> stead.Map.open("members.map").epoch
    /// 2
    #[pyo3(signature = (path, previous = None))]
    fn publish(
        &self,
        py: Python<'_>,
        path: PathBuf,
        previous: Option<&Bound<'_, Map>>,
    ) -> PyResult<()> {
        let previous = previous.map(|map| Arc::clone(&map.get().map));
        py.detach(|| Store::new(&path, stead::store::KEEP).publish(previous.as_deref(), &self.map))
            .raise(py)
    }

    /// Writes a copy of the map to a file, whole or not at all, in place of what is there; it knows
    /// no history and no conflicts.
    ///
    /// Raises IoError and its kin, UncertainError, and InvalidError when path is a symbolic link.
    ///
    /// >>> members.save("copy.map")
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| stead::store::save(&self.map, &path)).raise(py)
    }

    /// The bytes of the map's file. A map of a fleet with a secret has the secret in them.
    ///
    /// >>> members.to_bytes()[:5]
    /// b'\x89STD\r'
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.map.bytes())
    }

    /// Whether two maps are equal but for epoch and parent, so that publishing the one over the
    /// other would change nothing.
    ///
    /// >>> again = stead.build(fleet, members)
    /// >>> again == members, again.same(members)
    /// (False, True)
    fn same(&self, other: &Bound<'_, Map>) -> bool {
        self.map.same_but_epoch(&other.get().map)
    }

    /// What is in the map as a dict, in the shape of `stead diff --json` (docs/cli.md) for a map
    /// that changes nothing: each node's weight, share and points, domains and their caps,
    /// violations.
    ///
    /// Points are decimal strings there, since 2**64 does not fit a number of JSON.
    ///
    /// >>> [(node["name"], node["points"]) for node in members.report()["nodes"]]
    /// [('db1', '9223372036854775808'), ('db2', '9223372036854775808')]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = py.detach(|| Report::of(None, &self.map, false)).raise(py)?;
        records::json(py, &report)
    }

    /// The name of the cluster, str.
    #[getter]
    fn name(&self) -> &str {
        self.map.name()
    }

    /// The number of this version, from 1.
    #[getter]
    fn epoch(&self) -> u64 {
        self.map.epoch()
    }

    /// SHA-256 of the map, 32 bytes: the identity of this version.
    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.map.digest())
    }

    /// The digest of the map that this one was built on, 32 bytes; all zero for a first map.
    #[getter]
    fn parent<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.map.parent())
    }

    /// How many nodes hold each point.
    #[getter]
    fn replicas(&self) -> u32 {
        self.map.replicas()
    }

    /// How keys become points: "md5", "sha1", "xxh3" or "siphash"; in the map of an adopted ring
    /// also the others of docs/placement.md.
    #[getter]
    fn hash(&self) -> &'static str {
        self.map.hash().name()
    }

    /// What of a key is hashed, as a fleet writes it: "whole", or "first 1 segments" and so on.
    ///
    /// >>> members.key
    /// 'whole'
    #[getter]
    fn key(&self) -> String {
        self.map.key_rule().to_string()
    }

    /// The labels over which copies are kept apart, outermost first: a tuple of str.
    #[getter]
    fn spread<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.map.spread())
    }

    /// The nodes, by name: a tuple of Node.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let made = self.nodes.get_or_try_init(py, || {
            let nodes: Vec<_> = self
                .map
                .nodes()
                .map(|node| records::node(py, node))
                .collect::<PyResult<_>>()?;
            PyTuple::new(py, nodes).map(Bound::unbind)
        });
        made.map(|nodes| nodes.bind(py).clone())
    }

    /// The slices that locate reads, pins applied, by point: a tuple of Slice, which together cover
    /// the whole space.
    #[getter]
    fn slices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let made = self.slices.get_or_try_init(py, || {
            let mut known: Vec<Option<Bound<'py, PyTuple>>> = vec![None; self.map.policies().len()];
            let mut slices = Vec::with_capacity(self.map.slice_count());
            for slice in self.map.slices() {
                let nodes = match &known[slice.policy.index()] {
                    Some(nodes) => nodes.clone(),
                    None => self.tuple_of(py, slice.policy)?,
                };
                known[slice.policy.index()] = Some(nodes.clone());
                slices.push(records::slice(
                    py,
                    slice.first.0,
                    slice.last.0,
                    nodes,
                    self.map.policy(slice.policy).name(),
                )?);
            }
            PyTuple::new(py, slices).map(Bound::unbind)
        });
        made.map(|slices| slices.bind(py).clone())
    }

    fn __repr__(&self) -> String {
        let digest: String = self
            .map
            .digest()
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let (name, epoch, nodes) = (self.map.name(), self.map.epoch(), self.map.nodes().len());
        format!(
            "<stead.Map {name:?} epoch {epoch}, {nodes} nodes, {} slices, {digest}>",
            self.map.slice_count()
        )
    }

    fn __richcmp__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let other = other.cast::<Map>().ok();
        let same = other.map(|other| other.get().map.digest() == self.map.digest());
        compared(py, same, op)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.map.digest().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((
            PyType::new::<Map>(py).getattr("from_bytes")?,
            (self.to_bytes(py),),
        ))
    }

    fn __copy__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __deepcopy__<'a>(slf: PyRef<'a, Self>, _memo: &Bound<'_, PyAny>) -> PyRef<'a, Self> {
        slf
    }
}

/// What `==` and `!=` give of things that have no order, when they are the same, are not, or
/// (`None`) are of two kinds.
pub(crate) fn compared(
    py: Python<'_>,
    same: Option<bool>,
    op: CompareOp,
) -> PyResult<Bound<'_, PyAny>> {
    let answer = match (same, op) {
        (Some(same), CompareOp::Eq) => same,
        (Some(same), CompareOp::Ne) => !same,
        _ => return Ok(py.NotImplemented().into_bound(py)),
    };
    Ok(answer.into_pyobject(py)?.to_owned().into_any())
}

/// Builds the map of a fleet: the first one, or the next epoch of a map, from which as little as is
/// possible moves.
///
/// fleet: the text of a fleet file, TOML or JSON (str or bytes); the file itself (pathlib.Path); or
/// a dict of the same shape (docs/fleet.md). In a dict, weights are int, Decimal, str, or float,
/// which counts as its repr: 0.1 is exactly a tenth. At most 6 places are exact.
///
/// previous: the map to build on. It must be of the same cluster. max_move: how much of all copies
/// may move in this epoch, such as "5%". The map then carries its target, and building the same
/// fleet on it takes the next step, until nothing is left to do (same).
///
/// Nothing is written; the same fleet, previous map and options give the same map everywhere. Other
/// threads run meanwhile.
///
/// Raises FleetError, whose text begins with the line or the place in the dict; ImpossibleError
/// when the fleet is well written and cannot be met; IdentityError when previous is of another
/// cluster or hash; InvalidError for another max_move; NotFoundError and its kin for a file.
///
/// >>> fleet = {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
/// >>> before = stead.build(fleet)
/// >>> fleet["node"].append({"name": "db3", "labels": {"zone": "b"}})
/// >>> after = stead.build(fleet, before)
/// >>> after.epoch, f"{stead.plan(before, after).fraction:.4f}"
/// (2, '0.2857')
/// >>> stead.build(fleet, before, max_move="10%").slices == after.slices
/// False
/// >>> wrong = {"name": "members", "node": [{"name": "db1", "wieght": 2}]}
/// >>> stead.build(wrong)  # doctest: +ELLIPSIS
/// Traceback (most recent call last):
/// stead.FleetError: fleet['node'][0]['wieght']: unknown key `wieght` in `node`; known keys: ...
#[pyfunction]
#[pyo3(signature = (fleet, previous = None, *, max_move = None))]
pub fn build(
    py: Python<'_>,
    fleet: &Bound<'_, PyAny>,
    previous: Option<&Bound<'_, Map>>,
    max_move: Option<&str>,
) -> PyResult<Map> {
    let most = max_move
        .map(|text| part(text).map_err(|why| invalid(py, format!("max_move {text:?} {why}"))))
        .transpose()?;
    let (fleet, source) = fleet::read(fleet)?;
    let previous = previous.map(|map| Arc::clone(&map.get().map));
    let built = py.detach(|| match most {
        Some(most) => stead::build_step(&fleet, previous.as_deref(), most),
        None => stead::build(&fleet, previous.as_deref()),
    });
    source.raise(py, built).map(|map| Map::new(Arc::new(map)))
}
