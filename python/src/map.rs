//! The Python class `Map`: where keys live, and what a map contains. publishing.rs has the methods
//! that open, build and publish maps.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple, PyType};

use stead::map::Node;
use stead::policy::{NodeId, PolicyId};
use stead::report::Report;
use stead::Point;

use crate::argument::{flag, instance, text, threads};
use crate::array::{Array, Lists};
use crate::batch::answer_batch;
use crate::error::{whole, Raise};
use crate::imported::imported;
use crate::located::{All, Primary};
use crate::names::Names;
use crate::{key, records};

/// A map says where keys live. It is immutable and verified, and any number of threads may use it.
///
/// Map.build, Map.open and Map.from_bytes create maps. A key is bytes, or a str, which stands for
/// its UTF-8, or an instance of a subclass of either; anything else raises a TypeError. Two maps
/// are equal, and have the same hash, when their digests are equal. A map is pickled as the bytes
/// of its file, so unpickling it needs no file. Copying a map returns the map itself.
///
/// >>> members = stead.Map.build({"name": "members", "node": [{"name": "db1"}, {"name": "db2"}]})
/// >>> members
/// <stead.Map "members" epoch 1, 2 nodes, 2 slices, 0a311c38>
/// >>> import pickle
/// >>> pickle.loads(pickle.dumps(members)) == members
/// True
#[pyclass(frozen, module = "stead", name = "Map", weakref)]
pub struct Map {
    pub(crate) map: Arc<stead::Map>,
    names: Arc<Names>,
    /// The nodes, created when they are first read.
    nodes: PyOnceLock<Py<PyTuple>>,
    /// The policies, created when they are first read.
    policies: PyOnceLock<Py<PyTuple>>,
    /// The slices, created when they are first read.
    slices: PyOnceLock<Py<PyTuple>>,
}

impl Map {
    /// Wraps a map of the core crate.
    pub(crate) fn new(map: Arc<stead::Map>) -> Map {
        Map {
            names: Arc::new(Names::of_map(Arc::clone(&map))),
            map,
            nodes: PyOnceLock::new(),
            policies: PyOnceLock::new(),
            slices: PyOnceLock::new(),
        }
    }

    /// The names of the map's nodes, which columns share.
    pub(crate) fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// The node of a name, if the map has it. A name is a `str`: anything else is a mistake.
    fn named(&self, argument: &str, name: &Bound<'_, PyAny>) -> PyResult<Option<Node<'_>>> {
        let name = text(argument, name, "; a node is looked up by its name")?;
        Ok(self.map.node_named(name))
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
    /// Returns the name of the node that a key lives on; with several replicas, of the primary.
    ///
    /// Raises TypeError if the key is neither str nor bytes, and UnicodeEncodeError if it is a str
    /// with lone surrogates, which have no UTF-8. For the name of a file, pass os.fsencode(name).
    ///
    /// >>> members.locate("frank"), members.locate(b"bob")
    /// ('db1', 'db2')
    fn locate<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let node = self.map.locate(key::bytes(key)?);
        Ok(self.names.of(key.py(), node).bind(key.py()).clone())
    }

    /// Returns the names of the nodes that many keys live on, in the order of the keys. Other
    /// threads run meanwhile.
    ///
    /// - A list, or another iterable of `str`, `bytes` and None, gives a list; None stays None.
    /// - An object with Arrow's PyCapsule interface gives an `Array`. It may be an array or a
    ///   stream of pyarrow, polars, pandas, DuckDB and others, of type string, large_string,
    ///   string_view, binary, large_binary, binary_view, fixed_size_binary, or a dictionary of one
    ///   of these; or a table or record batch of one column. A column of structs is refused: pass
    ///   one of its fields. Null stays null. The keys are read in place and not copied. The result
    ///   needs 4 bytes per key, and one bit more per key if any key is null.
    /// - A NumPy array of S, U, StringDType or object, and a pandas or polars series of objects,
    ///   gives an `Array`. None, NaN, NA and masked items are null. As in NumPy, NULs at the end of
    ///   an item of S do not count. The array is read in blocks of 1 MiB.
    ///
    /// A key is `bytes`, or a `str`, which stands for its UTF-8, also in columns. With `numbers`,
    /// the result has the index of each node in `Map.nodes` instead of its name. The numbers are
    /// those of this map alone: in another epoch, a node may have another number. So store names.
    ///
    /// threads: the number of threads that locate keys, from 1; more than the machine has
    /// processors are not started. They help with columns of Arrow from some 100,000 keys on; much
    /// of the time of a list goes into reading and making Python objects, which one thread does.
    ///
    /// Raises TypeError if the argument is not a batch of keys, InvalidError if a column is
    /// malformed or if threads is wrong, and IoError if a stream fails.
    ///
    /// >>> members.locate_many(["frank", b"bob", None])
    /// ['db1', 'db2', None]
    /// >>> members.locate_many(["frank", b"bob", None], numbers=True)
    /// [0, 1, None]
    #[pyo3(
        signature = (keys, *, numbers = None, threads = None),
        text_signature = "($self, keys, *, numbers=False, threads=1)"
    )]
    fn locate_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        numbers: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, numbers) = (keys.py(), flag("numbers", numbers)?);
        let (map, threads) = (&*self.map, self::threads(threads)?);
        let (_, nodes, is_column) = answer_batch(Primary { map, threads }, keys)?;
        let array = Array::new(nodes, (!numbers).then(|| Arc::clone(&self.names)));
        if is_column {
            return Ok(array.into_pyobject(py)?.into_any());
        }
        array.to_pylist(py).map(Bound::into_any)
    }

    /// Returns the names of all nodes of a key, primary first. There are as many as the map has
    /// replicas, or as many as a named policy lists.
    ///
    /// >>> members.locate_all("frank")
    /// ['db1']
    fn locate_all<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.list(key.py(), self.map.locate_all(key::bytes(key)?))
    }

    /// Returns the names of all nodes of many keys, primary first, in the order of the keys. Other
    /// threads run meanwhile.
    ///
    /// keys, numbers and threads are those of locate_many. A list of keys gives a list of lists;
    /// None stays None. A column gives an `Array` of lists: Arrow's type list, with int32 offsets,
    /// of dictionary-encoded names or of int32. Null stays null.
    ///
    /// Raises the exceptions of locate_many, and InvalidError if the lists of one call would have
    /// more than 2**31 - 1 nodes together.
    ///
    /// >>> fleet.update(replicas=2, node=[{"name": f"db{i}"} for i in range(1, 4)])
    /// >>> copies = stead.Map.build(fleet)
    /// >>> copies.locate_all_many(["frank", None])
    /// [['db3', 'db2'], None]
    /// >>> import numpy, pyarrow
    /// >>> nodes = copies.locate_all_many(numpy.array(["frank", "alice"]), numbers=True)
    /// >>> pyarrow.array(nodes).type, nodes.to_pylist()
    /// (ListType(list<item: int32>), [[2, 1], [1, 0]])
    #[pyo3(
        signature = (keys, *, numbers = None, threads = None),
        text_signature = "($self, keys, *, numbers=False, threads=1)"
    )]
    fn locate_all_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        numbers: Option<&Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, numbers) = (keys.py(), flag("numbers", numbers)?);
        let asked = All {
            map: &self.map,
            threads: self::threads(threads)?,
            nodes: Lists::default(),
        };
        let (All { nodes, .. }, _, is_column) = answer_batch(asked, keys)?;
        let array = Array::lists(nodes, (!numbers).then(|| Arc::clone(&self.names)));
        if is_column {
            return Ok(array.into_pyobject(py)?.into_any());
        }
        array.to_pylist(py).map(Bound::into_any)
    }

    /// Returns up to n distinct nodes for a key, best first: those that hold the key, then those
    /// that take over when these are down.
    ///
    /// All clients get the same list. It is shorter than n only if the map has fewer nodes.
    ///
    /// Raises InvalidError if n is below 0.
    ///
    /// >>> members.prefer("frank", 2)
    /// ['db1', 'db2']
    fn prefer<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let n = whole("n", "a number of nodes, from 0", n)?;
        // a short list, as most are, is made without an allocation
        let mut short = [NodeId(0); 16];
        let Some(list) = short.get_mut(..n) else {
            let list = self.map.prefer(key::bytes(key)?, n);
            return self.list(key.py(), list.into_iter());
        };
        let count = self.map.prefer_into(key::bytes(key)?, list);
        self.list(key.py(), list.iter().take(count).copied())
    }

    /// Returns the point of a key, from 0 to 2**64 - 1. It is the hash by which the key is located.
    ///
    /// >>> f"{members.point('frank'):016x}"
    /// '26253c50741faa9c'
    fn point(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.map.point(key::bytes(key)?).0)
    }

    /// Returns the name of the node that a point lives on, the primary.
    ///
    /// Raises InvalidError if the point is not from 0 to 2**64 - 1.
    ///
    /// >>> members.locate_point(0), members.locate_point(2**64 - 1)
    /// ('db1', 'db2')
    fn locate_point<'py>(&self, point: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let node = self.map.locate_point(point_of(point)?);
        Ok(self.names.of(point.py(), node).bind(point.py()).clone())
    }

    /// Returns the names of all nodes of a point, primary first.
    ///
    /// Raises InvalidError if the point is not from 0 to 2**64 - 1.
    ///
    /// >>> members.locate_all_point(0)
    /// ['db1']
    fn locate_all_point<'py>(&self, point: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.list(point.py(), self.map.locate_all_point(point_of(point)?))
    }

    /// Returns the node of a name; None if the map has no such node.
    ///
    /// >>> members.node("db1").weight, members.node("db9")
    /// (Decimal('1'), None)
    fn node<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(node) = self.named("name", name)? else {
            return Ok(None);
        };
        self.nodes(name.py())?.get_item(node.id.index()).map(Some)
    }

    /// Returns an attribute of a node, such as its address; None if there is no such node, or if it
    /// has no such attribute.
    ///
    /// >>> fleet["node"][0]["attributes"] = {"address": "10.0.0.1:3306"}
    /// >>> stead.Map.build(fleet).attribute("db1", "address")
    /// '10.0.0.1:3306'
    fn attribute(
        &self,
        node: &Bound<'_, PyAny>,
        name: &Bound<'_, PyAny>,
    ) -> PyResult<Option<&str>> {
        let (node, name) = (self.named("node", node)?, text("name", name, "")?);
        Ok(node.and_then(|node| node.attribute(name)))
    }

    /// Returns a label of a node, such as its zone; None if there is no such node, or if it has no
    /// such label.
    ///
    /// >>> fleet["node"][0]["labels"] = {"zone": "a"}
    /// >>> stead.Map.build(fleet).label("db1", "zone")
    /// 'a'
    fn label(&self, node: &Bound<'_, PyAny>, name: &Bound<'_, PyAny>) -> PyResult<Option<&str>> {
        let (node, name) = (self.named("node", node)?, text("name", name, "")?);
        Ok(node.and_then(|node| node.label(name)))
    }

    /// Returns the bytes of the map's file. If the fleet has a secret, they contain it.
    ///
    /// >>> members.to_bytes()[:5]
    /// b'\x89STD\r'
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.map.bytes())
    }

    /// Returns whether two maps are equal except for epoch and parent, so that publishing one over
    /// the other would change nothing.
    ///
    /// >>> again = stead.Map.build(fleet, members)
    /// >>> again == members, again.same(members)
    /// (False, True)
    fn same(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.map.same(&instance::<Map>("other", other)?.get().map))
    }

    /// Returns the fleet of the map as TOML: its nodes, policies and pins, with everything that
    /// placement depends on. Building this text on the map changes nothing, except that a gradual
    /// change which is under way is completed, and that the map of an adopted ring gets exact
    /// shares. A secret is never part of the text; a build keeps the hash and the secret of the
    /// map.
    ///
    /// >>> stead.Map.build(members.fleet(), members).same(members)
    /// True
    fn fleet(&self, py: Python<'_>) -> String {
        py.detach(|| self.map.fleet().to_toml())
    }

    /// Returns the content of the map as a dict: each node's weight, share and points, the domains
    /// and their caps, and violations. It has the shape of `stead diff --json` (docs/cli.md) for a
    /// map that changes nothing.
    ///
    /// Counts of points are decimal strings in it, because many readers of JSON round integers
    /// as large as 2**64.
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

    /// The SHA-256 of the map, 32 bytes, which identifies this version.
    #[getter]
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.map.digest())
    }

    /// The digest of the map that this one was built on, 32 bytes; all zeros for a first map.
    #[getter]
    fn parent<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.map.parent())
    }

    /// The number of nodes that hold each point.
    #[getter]
    fn replicas(&self) -> u32 {
        self.map.replicas()
    }

    /// The hash that turns keys into points: "md5", "sha1", "xxh3" or "siphash"; in the map of an
    /// adopted ring also one of the others in docs/placement.md.
    #[getter]
    fn hash(&self) -> &'static str {
        self.map.hash().name()
    }

    /// The part of a key that is hashed, as in a fleet file: "whole", "first 1 segments" and so on.
    ///
    /// >>> members.key_rule
    /// 'whole'
    #[getter]
    fn key_rule(&self) -> String {
        self.map.key_rule().to_string()
    }

    /// The labels over which copies are kept apart, outermost first: a tuple of str.
    #[getter]
    fn spread<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.map.spread())
    }

    /// The nodes, a tuple of Node sorted by name.
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

    /// The policies, a tuple of Policy: the lists of nodes that slices refer to. Those that the
    /// fleet names have a name, and may have a kind and a weight.
    #[getter]
    fn policies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let made = self.policies.get_or_try_init(py, || {
            let policies: Vec<_> = self
                .map
                .policies()
                .map(|policy| {
                    let weight = policy.weight().map(|weight| weight.to_string());
                    let nodes = self.tuple_of(py, policy.id)?;
                    records::policy(py, policy.name(), policy.kind(), weight, nodes)
                })
                .collect::<PyResult<_>>()?;
            PyTuple::new(py, policies).map(Bound::unbind)
        });
        made.map(|policies| policies.bind(py).clone())
    }

    /// The slices that locate reads, with pins applied: a tuple of Slice sorted by point. Together
    /// they cover the whole space.
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

    /// A picture of the map and a table of the nodes and their shares, which notebooks show.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        imported(slf.py(), "stead._html", "of_map")?.call1((slf,))
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

/// The point that an integer stands for.
pub(crate) fn point_of(point: &Bound<'_, PyAny>) -> PyResult<Point> {
    whole("point", "a number from 0 to 2**64 - 1", point).map(Point)
}

/// The result of `==` and `!=` for objects that have no order. `same` says whether they are equal;
/// it is `None` if they are of two kinds.
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
