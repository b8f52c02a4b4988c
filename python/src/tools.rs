//! `path` and `survey`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use stead::path::{Fold, Levels};
use stead::stats::{Projection, Survey};

use crate::error::{invalid, type_name, Raise};
use crate::{key, records};

fn fold_of(py: Python<'_>, fold: &str) -> PyResult<Fold> {
    fold.parse().map_err(|_| invalid(py, format!("fold {fold:?} is neither \"none\" nor \"ascii\"")))
}

fn levels_of(levels: Option<&Bound<'_, PyAny>>) -> PyResult<Levels> {
    let Some(levels) = levels else { return Ok(Levels::default()) };
    let py = levels.py();
    if let Ok(text) = levels.cast::<PyString>() {
        return Levels::parse(text.to_str()?).raise(py);
    }
    let numbers: Vec<i64> = levels
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("levels are a list of int or a str such as \"64,64,128\", not {}", type_name(levels))))?;
    let numbers: Vec<u16> = numbers.into_iter().map(|n| u16::try_from(n).unwrap_or(u16::MAX)).collect();
    Levels::new(&numbers).raise(py)
}

/// The directories and the file name of a key, such as "38/37/60/frank", by docs/paths.md.
///
/// `levels`: the number of directories on each level, a list or a str, by default "64,64,128". `fold`: "ascii" makes A-Z a-z first.
/// Raises PathNameError when the file name would have more than 255 bytes, InvalidError for wrong levels.
#[pyfunction]
#[pyo3(signature = (key, levels = None, *, fold = "none"))]
pub fn path(key: &Bound<'_, PyAny>, levels: Option<&Bound<'_, PyAny>>, fold: &str) -> PyResult<String> {
    let py = key.py();
    stead::path::path(key::bytes(key)?, &levels_of(levels)?, fold_of(py, fold)?).raise(py)
}

/// How evenly the schemes of "Evenly distributing members by MD5" spread names: a dict in the shape of `stead survey --json`.
///
/// `names` is any iterable of keys. With `members` also a projection of so many members onto the directories of `levels`.
#[pyfunction]
#[pyo3(signature = (names, members = None, levels = None))]
pub fn survey<'py>(
    names: &Bound<'py, PyAny>,
    members: Option<u64>,
    levels: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = names.py();
    let projection = members.map(|members| Projection::new(members, &levels_of(levels)?).raise(py)).transpose()?;
    let mut survey = Survey::new();
    for name in names.try_iter()? {
        survey.add(key::bytes(&name?)?);
    }
    let mut report = serde_json::to_value(survey.finish()).map_err(|e| invalid(py, e.to_string()))?;
    if let (Some(projection), Some(report)) = (projection, report.as_object_mut()) {
        let projection = serde_json::to_value(projection).map_err(|e| invalid(py, e.to_string()))?;
        report.insert("projection".to_owned(), projection);
    }
    records::python(py, "json", "loads")?.call1((report.to_string(),))
}
