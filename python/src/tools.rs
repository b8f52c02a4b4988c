//! The Python functions `path`, `path_name` and `survey`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use stead::path::{Fold, Levels};
use stead::stats::{Projection, Survey};
use stead::{Keys, Span};

use crate::argument::text;
use crate::error::{invalid, type_name, whole, Raise};
use crate::imported::imported;
use crate::key;

fn fold_of(fold: Option<&Bound<'_, PyAny>>) -> PyResult<Fold> {
    let Some(fold) = fold else {
        return Ok(Fold::default());
    };
    let (py, fold) = (
        fold.py(),
        text("fold", fold, "; write \"none\" or \"ascii\"")?,
    );
    fold.parse().map_err(|_| {
        invalid(
            py,
            format!("fold {fold:?} is neither \"none\" nor \"ascii\""),
        )
    })
}

fn levels_of(levels: Option<&Bound<'_, PyAny>>) -> PyResult<Levels> {
    let Some(levels) = levels else {
        return Ok(Levels::default());
    };
    let py = levels.py();
    if let Ok(text) = levels.cast::<PyString>() {
        return Levels::parse(text.to_str()?).raise(py);
    }
    let numbers = levels.try_iter().map_err(|_| {
        PyTypeError::new_err(format!(
            "levels are an iterable of int or a str such as \"64,64,128\", not {}",
            type_name(levels)
        ))
    })?;
    let numbers: Vec<u16> = numbers
        .map(|number| whole("a level", "a number of directories from 1 to 256", &number?))
        .collect::<PyResult<_>>()?;
    Levels::new(&numbers).raise(py)
}

/// Returns the relative path of a key: directories and a file name, as docs/paths.md defines them.
///
/// key: bytes, or a str, which stands for its UTF-8. levels: the number of directories on each
/// level, 1 to 16 numbers from 1 to 256; an iterable of int, or a str such as "64,64,128", which is
/// the default. fold: with "ascii" A-Z becomes a-z first, for sites whose names ignore case; "none"
/// is the default.
///
/// The parts of the path are separated by "/", and have only the characters a-z, 0-9, _ and =.
///
/// Raises PathNameError if the file name would have more than 255 bytes, and InvalidError if levels
/// or fold are wrong.
///
/// >>> stead.path("frank")
/// '38/37/60/frank'
/// >>> stead.path("Frank", levels=[16, 16])
/// '9/12/=46rank'
/// >>> stead.path("Frank", levels=[16, 16], fold="ascii")
/// '6/5/frank'
#[pyfunction]
#[pyo3(
    signature = (key, *, levels = None, fold = None),
    text_signature = "(key, *, levels=None, fold='none')"
)]
pub fn path(
    key: &Bound<'_, PyAny>,
    levels: Option<&Bound<'_, PyAny>>,
    fold: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let py = key.py();
    stead::path::path(key::bytes(key)?, &levels_of(levels)?, fold_of(fold)?).raise(py)
}

/// Returns the name of a path, as bytes: the inverse of path without fold.
///
/// path: str or bytes. Its last parts are the directories and the file name that stead.path makes;
/// what comes before them is ignored, so an absolute path is fine. levels: as in path.
///
/// Raises PathNameError if no name has this path, and InvalidError if levels are wrong.
///
/// >>> stead.path_name("/srv/members/38/37/60/frank")
/// b'frank'
#[pyfunction]
#[pyo3(signature = (path, *, levels = None))]
pub fn path_name<'py>(
    path: &Bound<'py, PyAny>,
    levels: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = path.py();
    let bytes = if let Ok(path) = path.cast::<PyBytes>() {
        path.as_bytes().to_vec()
    } else {
        use std::os::unix::ffi::OsStringExt;
        crate::argument::path("path", path)?
            .into_os_string()
            .into_vec()
    };
    let name = stead::path::path_name(&bytes, &levels_of(levels)?).raise(py)?;
    Ok(PyBytes::new(py, &name))
}

/// The number of bytes of names that are collected while Python runs; then they are read while
/// other threads may run.
const BATCH: usize = 1 << 20;

/// Measures how evenly the schemes of "Evenly distributing members by MD5" spread names.
///
/// names: an iterable of keys. The lines of a file that is opened with "rb" keep their line ends,
/// so strip them. members: a number of members; if given, the result also has a projection of
/// that many members onto the directories. levels: the number of these directories on each level,
/// as in path.
///
/// Returns a dict in the shape of `stead survey --json` (docs/cli.md). Ctrl-C interrupts it.
///
/// Raises TypeError if a name is neither str nor bytes, and InvalidError if members or levels are
/// wrong.
///
/// >>> report = stead.survey(["frank", "bob", "justin"], members=1_188_968)
/// >>> report["names"], [scheme["scheme"] for scheme in report["schemes"]]
/// (3, ['D1', 'D2', 'D3', 'N1', 'N2', 'M1', 'M2', 'M3'])
/// >>> round(report["projection"]["levels"][-1]["members"], 2)
/// 2.27
#[pyfunction]
#[pyo3(signature = (names, *, members = None, levels = None))]
pub fn survey<'py>(
    names: &Bound<'py, PyAny>,
    members: Option<&Bound<'py, PyAny>>,
    levels: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = names.py();
    if names.is_instance_of::<PyString>() || names.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!(
            "names are an iterable of keys, not one {}",
            type_name(names)
        )));
    }
    let levels = levels_of(levels)?;
    let members: Option<u64> = members
        .map(|n| whole("members", "a number from 0 to 2**64 - 1", n))
        .transpose()?;
    let projection = members
        .map(|members| Projection::new(members, &levels).raise(py))
        .transpose()?;
    let mut survey = Survey::new();
    let (mut batch, mut spans) = (Vec::new(), Vec::new());
    let mut read = |batch: &mut Vec<u8>, spans: &mut Vec<Span>| {
        py.detach(|| {
            if let Some(names) = Keys::spans(batch, spans) {
                survey.add_keys(names);
            }
            batch.clear();
            spans.clear();
        });
        py.check_signals()
    };
    for name in names.try_iter()? {
        let name = name?;
        let name = key::bytes(&name)?;
        spans.push(Span {
            start: batch.len(),
            length: name.len(),
        });
        batch.extend_from_slice(name);
        // spans.len(), so that a batch of empty names is limited as well
        if batch.len() + spans.len() >= BATCH {
            read(&mut batch, &mut spans)?;
        }
    }
    read(&mut batch, &mut spans)?;
    let mut report =
        serde_json::to_value(survey.finish()).map_err(|e| invalid(py, e.to_string()))?;
    if let (Some(projection), Some(report)) = (projection, report.as_object_mut()) {
        let projection =
            serde_json::to_value(projection).map_err(|e| invalid(py, e.to_string()))?;
        report.insert("projection".to_owned(), projection);
    }
    imported(py, "json", "loads")?.call1((report.to_string(),))
}
