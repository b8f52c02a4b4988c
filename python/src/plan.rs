//! The Python class `Plan`: the moves between two maps.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};

use stead::format::Digest;
use stead::plan::{all_copies, Move};
use stead::report::Report;
use stead::{Keys, Point};

use crate::argument::{flag, instance};
use crate::array::Array;
use crate::batch::{answer_batch, Answers, Ask};
use crate::error::{Problem, Raise};
use crate::imported::imported;
use crate::map::{compared, point_of, Map};
use crate::subscript::{places, Places};
use crate::{key, records};

/// The difference between two maps: a sequence of Move, sorted by first point. There is one Move
/// for each run of points of which a copy moves, is added or is dropped.
///
/// Plan.between creates plans. Two plans are equal when their maps are. A plan is pickled as
/// its two maps.
///
/// >>> plan = stead.Plan.between(members, grown)
/// >>> plan
/// <stead.Plan "members" epoch 1 -> 2, 2 moves, 33.333333 %>
/// >>> plan[0].from_, plan[0].to, len(plan), plan[-1] in plan
/// ('db1', 'db3', 2, True)
/// >>> sum(move.last - move.first + 1 for move in plan) == plan.moved
/// True
#[pyclass(frozen, module = "stead", name = "Plan", sequence, weakref)]
pub struct Plan {
    plan: stead::Plan,
    old: Py<Map>,
    new: Py<Map>,
}

/// Asks for the copies of keys that move: the position of the key, and the numbers of its nodes.
struct Affected<'a> {
    plan: &'a stead::Plan,
    new: &'a stead::Map,
    /// the number of keys that were asked about
    count: usize,
    key: Vec<i64>,
    from: Answers<i32>,
    to: Answers<i32>,
}

impl Ask for Affected<'_> {
    type Answer = Point;
    const KEEPS: bool = false;

    fn threads(&self) -> usize {
        1
    }

    fn answer(&self, keys: Keys<'_>, points: &mut [Point]) {
        self.new.points(keys, points);
    }

    fn take(&mut self, points: &Answers<Point>) -> Result<(), Problem> {
        for (row, point) in (self.count..).zip(points.iter()) {
            let Some(point) = point else { continue };
            for number in self.plan.affects_point(point) {
                let Move { from, to, .. } = self.plan.moves[number];
                self.key.push(row as i64); // there are no more than `isize::MAX` keys
                self.from.push(from.map(|node| node.0 as i32)); // a map has at most 65,536 nodes
                self.to.push(to.map(|node| node.0 as i32));
            }
        }
        self.count += points.values.len();
        Ok(())
    }
}

impl Plan {
    fn record<'py>(&self, py: Python<'py>, one: &Move) -> PyResult<Bound<'py, PyAny>> {
        let (old, new) = (&self.old.get().map, &self.new.get().map);
        let (from, to) = (
            one.from.map(|node| old.node(node).name()),
            one.to.map(|node| new.node(node).name()),
        );
        records::one_move(py, one.first.0, one.last.0, from, to, one.cause.name())
    }

    fn moves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(
            py,
            self.plan
                .moves
                .iter()
                .map(|one| self.record(py, one))
                .collect::<PyResult<Vec<_>>>()?,
        )
    }

    /// The moves of these numbers, as a list of Move.
    fn records<'py>(&self, py: Python<'py>, moves: &[usize]) -> PyResult<Bound<'py, PyList>> {
        let moves: Vec<_> = moves
            .iter()
            .map(|i| self.record(py, &self.plan.moves[*i]))
            .collect::<PyResult<_>>()?;
        PyList::new(py, moves)
    }

    /// The old and the new map.
    pub(crate) fn maps(&self) -> (&stead::Map, &stead::Map) {
        (&self.old.get().map, &self.new.get().map)
    }

    fn digests(&self) -> [Digest; 2] {
        [self.old.get().map.digest(), self.new.get().map.digest()]
    }
}

#[pymethods]
impl Plan {
    /// Returns the difference between two maps of one cluster, before the new one is published or
    /// afterwards.
    ///
    /// Any two maps of one cluster can be compared. A new map that was built without a previous one
    /// has epoch 1 again, and more moves than needs to: `moved` is far above `lower_bound`.
    ///
    /// The cost is one pass over the slices of both maps. Other threads run meanwhile.
    ///
    /// Raises IdentityError if the maps are of two clusters or have two hashes.
    ///
    /// >>> plan = stead.Plan.between(members, grown)
    /// >>> plan.moved == plan.lower_bound
    /// True
    #[staticmethod]
    fn between(py: Python<'_>, old: &Bound<'_, PyAny>, new: &Bound<'_, PyAny>) -> PyResult<Plan> {
        let (old, new) = (instance::<Map>("old", old)?, instance::<Map>("new", new)?);
        let plan = {
            let (old, new) = (&old.get().map, &new.get().map);
            py.detach(|| stead::Plan::between(old, new)).raise(py)?
        };
        Ok(Plan {
            plan,
            old: old.clone().unbind(),
            new: new.clone().unbind(),
        })
    }

    /// The map before.
    #[getter(old)]
    fn old_map(&self, py: Python<'_>) -> Py<Map> {
        self.old.clone_ref(py)
    }

    /// The map after.
    #[getter(new)]
    fn new_map(&self, py: Python<'_>) -> Py<Map> {
        self.new.clone_ref(py)
    }

    /// The number of copies of points that rebalancing moves, an int up to replicas * 2**64.
    #[getter]
    fn moved(&self) -> u128 {
        self.plan.amounts.moved.0
    }

    /// The lower bound on moved: the least that any rebalancing to the new shares moves, in copies
    /// of points.
    #[getter]
    fn lower_bound(&self) -> u128 {
        self.plan.amounts.lower_bound.0
    }

    /// The number of copies of points that move because pins or policies were changed by hand.
    #[getter]
    fn by_hand(&self) -> u128 {
        self.plan.amounts.by_hand.0
    }

    /// The number of points whose primary changes although the old primary still holds a copy.
    #[getter]
    fn reordered(&self) -> u128 {
        self.plan.amounts.reordered.0
    }

    /// The part of all copies that rebalancing moves, from 0 to 1. All copies are those of the map
    /// that has more of them, as in `stead plan`.
    #[getter]
    fn fraction(&self) -> f64 {
        let all = all_copies(&self.old.get().map, &self.new.get().map);
        self.plan.amounts.moved.0 as f64 / all as f64
    }

    /// Returns the moves that concern a key: a list of Move, empty for a key that stays.
    ///
    /// Raises TypeError if the key is neither str nor bytes.
    ///
    /// >>> plan = stead.Plan.between(members, grown)
    /// >>> [(move.from_, move.to) for move in plan.affects("frank")]
    /// []
    /// >>> [(move.from_, move.to) for move in plan.affects("bob")]
    /// [('db2', 'db3')]
    fn affects<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let moves = self.plan.affects(key::bytes(key)?);
        self.records(key.py(), &moves)
    }

    /// Returns the moves that contain a point: a list of Move, empty for a point that stays.
    ///
    /// Raises InvalidError if the point is not from 0 to 2**64 - 1.
    ///
    /// >>> plan = stead.Plan.between(members, grown)
    /// >>> plan.affects_point(grown.point("bob")) == plan.affects("bob")
    /// True
    fn affects_point<'py>(&self, point: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let moves = self.plan.affects_point(point_of(point)?);
        self.records(point.py(), &moves)
    }

    /// Returns what moves of many keys: one row for each copy that moves, in the order of the keys,
    /// and none for a key that stays where it is. Each key is hashed once, and other threads run
    /// meanwhile.
    ///
    /// keys: a batch of keys, as for Map.locate_many. A list, or another iterable, gives a list of
    /// Affected, which are tuples (key, from_, to): the position of the key in the batch, from 0,
    /// and the names of the nodes. A column gives one AffectedColumns, which has the same as three
    /// Arrays. from_ is None or null if a copy is added, and to is if a copy is dropped. A key that
    /// is None or null has no node and does not move.
    ///
    /// Raises the exceptions of Map.locate_many.
    ///
    /// >>> plan, keys = stead.Plan.between(members, grown), ["frank", "bob"]
    /// >>> for key, from_, to in plan.affects_many(keys):
    /// ...     print(keys[key], from_, to)
    /// bob db2 db3
    /// >>> import numpy
    /// >>> moved = plan.affects_many(numpy.array(keys))
    /// >>> moved.key.to_pylist(), moved.from_.to_pylist(), moved.to.to_pylist()
    /// ([1], ['db2'], ['db3'])
    fn affects_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = keys.py();
        let (old, new) = (self.old.get(), self.new.get());
        let asked = Affected {
            plan: &self.plan,
            new: &new.map,
            count: 0,
            key: Vec::new(),
            from: Answers::default(),
            to: Answers::default(),
        };
        let (Affected { key, from, to, .. }, _, is_column) = answer_batch(asked, keys)?;
        let [from, to] = [(from, old), (to, new)]
            .map(|(nodes, map)| Array::new(nodes, Some(Arc::clone(map.names()))));
        if is_column {
            let key = Bound::new(py, Array::positions(key))?.into_any();
            let (from, to) = (Bound::new(py, from)?, Bound::new(py, to)?);
            return records::affected_columns(py, [key, from.into_any(), to.into_any()]);
        }
        let rows = key.iter().enumerate();
        let rows =
            rows.map(|(i, key)| records::affected(py, *key, from.item(py, i)?, to.item(py, i)?));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?).map(Bound::into_any)
    }

    /// Returns the plan as a dict, in the shape of `stead diff --json` (docs/cli.md).
    ///
    /// moves: whether the dict also lists every move.
    ///
    /// >>> report = stead.Plan.between(members, grown).report()
    /// >>> report["moved"] == report["lower_bound"], report["by_hand"]["points"]
    /// (True, '0')
    #[pyo3(signature = (*, moves = None), text_signature = "($self, *, moves=False)")]
    fn report<'py>(
        &self,
        py: Python<'py>,
        moves: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let moves = flag("moves", moves)?;
        let (old, new) = (&self.old.get().map, &self.new.get().map);
        let report = py
            .detach(|| Report::of_plan(&self.plan, old, new, moves))
            .raise(py)?;
        records::json(py, &report)
    }

    /// Returns the index of a move in the plan. Raises ValueError if it is not in the plan.
    ///
    /// >>> plan = stead.Plan.between(members, grown)
    /// >>> plan.index(plan[1])
    /// 1
    #[pyo3(signature = (value, start = 0, stop = isize::MAX))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
        start: isize,
        stop: isize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.moves(py)?.call_method1("index", (value, start, stop))
    }

    /// Returns how often a move is in the plan: 0 or 1.
    ///
    /// >>> stead.Plan.between(members, grown).count("db3")
    /// 0
    fn count<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.moves(py)?.call_method1("count", (value,))
    }

    fn __len__(&self) -> usize {
        self.plan.moves.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = |place: usize| self.record(py, &self.plan.moves[place]);
        match places(index, self.plan.moves.len(), "move")? {
            Places::One(number) => at(number),
            Places::Some(numbers) => PyTuple::new(
                py,
                numbers.into_iter().map(at).collect::<PyResult<Vec<_>>>()?,
            )
            .map(Bound::into_any),
        }
    }

    fn __iter__(slf: Py<Self>) -> Moves {
        Moves {
            plan: slf,
            next: 0.into(),
        }
    }

    fn __contains__<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        self.moves(py)?.contains(value)
    }

    fn __richcmp__<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let other = other.cast::<Plan>().ok();
        compared(
            py,
            other.map(|other| other.get().digests() == self.digests()),
            op,
        )
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.digests().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((
            PyType::new::<Plan>(py).getattr("between")?,
            PyTuple::new(py, [&self.old, &self.new])?,
        ))
    }

    fn __copy__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __deepcopy__<'a>(slf: PyRef<'a, Self>, _memo: &Bound<'_, PyAny>) -> PyRef<'a, Self> {
        slf
    }

    /// A picture and a table of what moves between each pair of nodes, which notebooks show.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        imported(slf.py(), "stead._html", "of_plan")?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        let (old, new) = (&self.old.get().map, &self.new.get().map);
        let percent = self.fraction() * 100.0;
        format!(
            "<stead.Plan {:?} epoch {} -> {}, {} moves, {percent:.6} %>",
            new.name(),
            old.epoch(),
            new.epoch(),
            self.plan.moves.len()
        )
    }
}

/// The iterator over the moves of a plan.
#[pyclass(frozen, module = "stead._stead", name = "_Moves")]
pub struct Moves {
    plan: Py<Plan>,
    next: std::sync::atomic::AtomicUsize,
}

#[pymethods]
impl Moves {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let plan = self.plan.get();
        let next = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        plan.plan
            .moves
            .get(next)
            .map(|one| plan.record(py, one))
            .transpose()
    }
}
