//! `Plan`: what moves between two maps.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use stead::plan::Move;
use stead::point::SPACE;
use stead::report::Report;

use crate::error::{invalid, Raise};
use crate::map::Map;
use crate::{key, records};

/// What differs between two maps: a sequence of moves, one for each copy that has to be carried, by first point.
#[pyclass(frozen, module = "stead", name = "Plan", sequence)]
pub struct Plan {
    plan: stead::Plan,
    old: Py<Map>,
    new: Py<Map>,
}

impl Plan {
    fn record<'py>(&self, py: Python<'py>, one: &Move) -> PyResult<Bound<'py, PyAny>> {
        let (old, new) = (&self.old.get().map, &self.new.get().map);
        let (from, to) = (one.from.map(|node| old.node(node).name()), one.to.map(|node| new.node(node).name()));
        records::one_move(py, one.first.0, one.last.0, from, to, one.cause.name())
    }
}

#[pymethods]
impl Plan {
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

    /// Copies of points that rebalancing moves.
    #[getter]
    fn moved(&self) -> u128 {
        self.plan.moved.0
    }

    /// The least that any way to the new shares moves, in copies of points.
    #[getter]
    fn lower_bound(&self) -> u128 {
        self.plan.lower_bound.0
    }

    /// What pins and policies changed by hand move, in copies of points.
    #[getter]
    fn by_hand(&self) -> u128 {
        self.plan.by_hand.0
    }

    /// Points whose primary changes although the one before still holds a copy.
    #[getter]
    fn reordered(&self) -> u128 {
        self.plan.reordered.0
    }

    /// Which part of all copies rebalancing moves, from 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        self.plan.moved.0 as f64 / (f64::from(self.new.get().map.replicas()) * SPACE as f64)
    }

    /// The moves that concern a key: none for a key that stays.
    fn affects<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = key.py();
        let mut found: Vec<usize> = self.plan.at(self.new.get().map.point(key::bytes(key)?)).collect();
        found.reverse();
        let moves: Vec<_> = found.iter().map(|i| self.record(py, &self.plan.moves[*i])).collect::<PyResult<_>>()?;
        PyTuple::new(py, moves)
    }

    /// The plan as a dict, in the shape of `stead diff --json`; with `moves` every move, too.
    #[pyo3(signature = (*, moves = false))]
    fn report<'py>(&self, py: Python<'py>, moves: bool) -> PyResult<Bound<'py, PyAny>> {
        let (old, new) = (&self.old.get().map, &self.new.get().map);
        let report = py.detach(|| Report::of(Some(old), new, moves)).raise(py)?;
        let text = serde_json::to_string(&report).map_err(|e| invalid(py, e.to_string()))?;
        records::python(py, "json", "loads")?.call1((text,))
    }

    fn __len__(&self) -> usize {
        self.plan.moves.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let count = self.plan.moves.len();
        let place = if index < 0 { index.checked_add_unsigned(count) } else { Some(index) };
        let found = place.and_then(|i| usize::try_from(i).ok()).and_then(|i| self.plan.moves.get(i));
        self.record(py, found.ok_or_else(|| PyIndexError::new_err(format!("there is no move {index}; the plan has {count}")))?)
    }

    fn __iter__(slf: Py<Self>) -> Moves {
        Moves { plan: slf, next: 0.into() }
    }

    fn __repr__(&self) -> String {
        let (old, new) = (&self.old.get().map, &self.new.get().map);
        let percent = self.fraction() * 100.0;
        format!("<stead.Plan {:?} epoch {} -> {}, {} moves, {percent:.6} %>", new.name(), old.epoch(), new.epoch(), self.plan.moves.len())
    }
}

/// The moves of a plan, one after the other.
#[pyclass(frozen, module = "stead._stead")]
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
        plan.plan.moves.get(next).map(|one| plan.record(py, one)).transpose()
    }
}

/// What differs between two maps of one cluster: before anything is done, or afterwards. Raises IdentityError.
#[pyfunction]
pub fn plan(py: Python<'_>, old: Py<Map>, new: Py<Map>) -> PyResult<Plan> {
    let plan = {
        let (old, new) = (&old.get().map, &new.get().map);
        py.detach(|| stead::Plan::between(old, new)).raise(py)?
    };
    Ok(Plan { plan, old, new })
}
