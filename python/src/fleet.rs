//! Reads a fleet from Python: its text, or a plain dict of the same shape.
//!
//! A dict is converted to JSON text, so every rule and every message is that of a fleet file. Each
//! value is on its own line of the text, and messages name the place in the dict instead of the
//! line. Numbers are written as exact decimals: integers and `Decimal`s as they are, a `float` as
//! its `repr`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple};

use stead::Fleet;

use crate::argument::wrong;
use crate::error::{raised_as, type_name};
use crate::imported::imported;

/// The greatest depth of nested lists and dicts; a fleet needs four.
const DEEPEST: usize = 32;
/// The number of decimal places of a weight.
const PLACES: usize = 6;

/// Where a fleet came from; messages name the place of a mistake accordingly.
pub(crate) enum Source {
    /// A file, or a text of several lines; messages name the line.
    Lines,
    /// A `str` of one line, which is probably meant as a path, and the call that takes one.
    OneLine(&'static str),
    /// A dict: its name, and the place in it for each line of the JSON text.
    Dict(String, Vec<String>),
}

impl Source {
    /// Converts a result of stead about this fleet to a result of Python.
    pub(crate) fn raise<T>(&self, py: Python<'_>, result: stead::Result<T>) -> PyResult<T> {
        result.map_err(|failure| {
            let message = failure.to_string();
            let message = match self {
                Source::Lines => message,
                Source::OneLine(file) => format!(
                    "{message}; this str is read as a fleet's text: to read a file, call {file}"
                ),
                Source::Dict(name, places) => placed(&message, name, places),
            };
            raised_as(py, &failure, message)
        })
    }
}

/// Replaces the line numbers of the JSON text in a message by places in the dict: `fleet:3: ` at
/// the beginning, and `in line 3` anywhere.
fn placed(message: &str, name: &str, places: &[String]) -> String {
    let place = |digits: &str| {
        digits
            .parse::<usize>()
            .ok()
            .and_then(|line| places.get(line.checked_sub(1)?))
    };
    let first = message
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(':'))
        .and_then(|rest| rest.split_once(": "));
    let (mut said, mut rest) = match first.and_then(|(line, rest)| Some((place(line)?, rest))) {
        Some((found, rest)) => (format!("{found}: "), rest),
        None => (String::new(), message),
    };
    while let Some((before, after)) = rest.split_once("in line ") {
        let digits = after
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap_or_default();
        said += before;
        said += &place(digits).map_or_else(
            || format!("in line {digits}"),
            |found| format!("in {found}"),
        );
        rest = &after[digits.len()..];
    }
    said + rest
}

/// Reads the fleet that a user passed; `name` is what messages call it, and `file` is the call that
/// takes a file instead. A `str` is always the text of a fleet: the content of a text must not
/// decide whether a file is opened.
pub(crate) fn read(
    fleet: &Bound<'_, PyAny>,
    name: &str,
    file: &'static str,
) -> PyResult<(Fleet, Source)> {
    let py = fleet.py();
    let (source, parsed) = if let Ok(text) = fleet.cast::<PyString>() {
        let text = text.to_str()?;
        let source = if text.contains(['\n', '{', '=']) {
            Source::Lines
        } else {
            Source::OneLine(file)
        };
        (source, py.detach(|| Fleet::parse(text, name)))
    } else if let Ok(text) = fleet.cast::<PyBytes>() {
        let text = text.as_bytes();
        (Source::Lines, py.detach(|| Fleet::parse_bytes(text, name)))
    } else if is_mapping(fleet)? {
        let mut json = Json {
            text: String::new(),
            places: Vec::new(),
        };
        json.line(name);
        json.mapping(fleet, name, DEEPEST)?;
        let Json { text, places } = json;
        (
            Source::Dict(name.to_owned(), places),
            py.detach(|| Fleet::parse(&text, name)),
        )
    } else {
        let remedy = if fleet.hasattr("__fspath__")? {
            format!("; a file is read by stead.{file}")
        } else {
            String::new()
        };
        return Err(wrong(
            "fleet",
            "a fleet's text (str or bytes) or a dict",
            fleet,
            &remedy,
        ));
    };
    source.raise(py, parsed).map(|fleet| (fleet, source))
}

/// Whether the value is a dict or registered as a `collections.abc.Mapping`. `cast::<PyMapping>()`
/// checks the same, but drops an exception that is raised meanwhile, so that a Ctrl-C would be
/// lost. `Display` of a Python object drops it, too.
fn is_mapping(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_instance_of::<PyDict>()
        || value.is_instance(&imported(value.py(), "collections.abc", "Mapping")?)?)
}

/// A JSON text that is being written, and the place in the dict for each of its lines.
struct Json {
    text: String,
    places: Vec<String>,
}

impl Json {
    /// Begins a new line, for the value at `place`.
    fn line(&mut self, place: &str) {
        if !self.places.is_empty() {
            self.text.push('\n');
        }
        self.places.push(place.to_owned());
    }

    /// Appends a value.
    fn value(&mut self, value: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<()> {
        let py = value.py();
        let deeper = depth
            .checked_sub(1)
            .ok_or_else(|| mistake(py, place, "lists and dicts lie too deep in each other"))?;
        if let Ok(string) = value.cast::<PyString>() {
            self.string(string)
        } else if value.is_instance_of::<PyBool>() {
            self.text
                .push_str(if value.is_truthy()? { "true" } else { "false" });
            Ok(())
        } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            self.list(value, place, deeper)
        } else if is_mapping(value)? {
            self.mapping(value, place, deeper)
        } else {
            self.text.push_str(&decimal(value, place)?);
            Ok(())
        }
    }

    fn list(&mut self, list: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<()> {
        self.text.push('[');
        for (i, value) in list.try_iter()?.enumerate() {
            self.text.push_str(if i == 0 { "" } else { "," });
            let place = format!("{place}[{i}]");
            self.line(&place);
            self.value(&value?, &place, depth)?;
        }
        self.text.push(']');
        Ok(())
    }

    fn mapping(&mut self, mapping: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<()> {
        self.text.push('{');
        // a plain copy, because the items() of another mapping may return anything
        let dict = mapping
            .py()
            .get_type::<PyDict>()
            .call1((mapping,))?
            .cast_into::<PyDict>()?;
        for (i, (key, value)) in dict.iter().enumerate() {
            self.text.push_str(if i == 0 { "" } else { "," });
            let Ok(key) = key.cast::<PyString>() else {
                return Err(PyTypeError::new_err(format!(
                    "{place}: the keys of a fleet are str, not {}",
                    type_name(&key)
                )));
            };
            let place = format!("{place}[{}]", key.repr()?.to_cow()?);
            self.line(&place);
            self.string(key)?;
            self.text.push_str(": ");
            self.value(&value, &place, depth)?;
        }
        self.text.push('}');
        Ok(())
    }

    fn string(&mut self, string: &Bound<'_, PyString>) -> PyResult<()> {
        let json = serde_json::to_string(string.to_str()?)
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        self.text.push_str(&json);
        Ok(())
    }
}

/// A FleetError that names the place in the dict.
fn mistake(py: Python<'_>, place: &str, problem: &str) -> PyErr {
    let failure = stead::Error::Fleet {
        file: String::new(), // the message below replaces it
        line: 1,
        problem: String::new(),
    };
    raised_as(py, &failure, format!("{place}: {problem}"))
}

/// The decimal of a number, without an exponent: an integer or a `Decimal` as it is, a `float` as
/// its `repr`. NumPy's integers are integers, and its `float64` is a `float`. Its shorter floats
/// are refused, because their exact values (0.100000001490116... for 0.1) are not the decimals that
/// their users mean.
fn decimal(value: &Bound<'_, PyAny>, place: &str) -> PyResult<String> {
    let py = value.py();
    if value.hasattr("__index__")? {
        // not str(value), which is the name of an enum's member
        let whole = imported(py, "operator", "index")?.call1((value,))?;
        return Ok(whole.str()?.to_cow()?.into_owned());
    }
    let class = imported(py, "decimal", "Decimal")?;
    let exact = if value.is_instance_of::<PyFloat>() {
        // not repr(value), which is np.float64(...) for NumPy's
        class.call1((py
            .get_type::<PyFloat>()
            .call_method1("__repr__", (value,))?,))?
    } else if value.is_instance(&class)? {
        value.clone()
    } else {
        return Err(PyTypeError::new_err(format!(
            "{place}: a fleet has str, int, Decimal, float, bool, list and dict, not {}",
            type_name(value)
        )));
    };
    if !exact.call_method0("is_finite")?.is_truthy()? {
        return Err(mistake(
            py,
            place,
            &format!(
                "{} is not a number that a fleet can have",
                value.repr()?.to_cow()?
            ),
        ));
    }
    let said = |number: &Bound<'_, PyAny>, form: &str| -> PyResult<String> {
        let text = number.call_method1("__format__", (form,))?;
        Ok(text.str()?.to_cow()?.into_owned())
    };
    let digits = said(&exact, "f")?;
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    if value.is_instance_of::<PyFloat>() && places > PLACES && place.ends_with("['weight']") {
        let nearest = said(&exact, ".6f")?;
        let nearest = nearest.trim_end_matches('0').trim_end_matches('.');
        // a quotient such as 1/3; the message of the fleet's reader knows no value to write instead
        if nearest != "0" {
            return Err(mistake(
                py,
                place,
                &format!("weight {digits} has {places} places; at most {PLACES}: write {nearest}"),
            ));
        }
    }
    Ok(digits)
}
