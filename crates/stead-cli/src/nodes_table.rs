//! A table of nodes, in CSV or JSON, as the rows of a first fleet.

use std::path::Path;

use serde_json::{Map, Value};

use crate::draft::Row;
use crate::exit::{Failure, Result, FLEET};

/// Reads a table. `attributes` names the columns that are attributes; all others but `name` and
/// `weight` are labels. `file` is the name in messages.
///
/// JSON is an array of objects whose values are texts or numbers. CSV has a header, and fields
/// between commas, quoted as RFC 4180 says.
pub fn read(bytes: &[u8], file: &str, attributes: &[String]) -> Result<Vec<Row>> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| wrong(file, "this is not UTF-8; save the table as UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rows = match text.trim_start().starts_with('[') {
        true => from_json(text, file, attributes)?,
        false => from_csv(text, file, attributes)?,
    };
    let named = |name: &String| {
        let has = |pairs: &[(String, String)]| pairs.iter().any(|(column, _)| column == name);
        rows.iter().any(|row| has(&row.attributes))
    };
    match attributes.iter().find(|name| !named(name)) {
        Some(name) => Err(wrong(file, &format!("no column `{name}` has a value"))),
        None if rows.is_empty() => Err(wrong(
            file,
            "the table has no rows; write one for each node",
        )),
        None => Ok(rows),
    }
}

fn from_csv(text: &str, file: &str, attributes: &[String]) -> Result<Vec<Row>> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let header = reader
        .headers()
        .map_err(|e| in_csv(text, file, &e))?
        .clone();
    if !header.iter().any(|column| column == "name") {
        let problem = "the first line has no column `name`; write one such as name,weight,zone";
        return Err(wrong(&format!("{file}:1"), problem));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| in_csv(text, file, &e))?;
        let line = line_of(text, record.position());
        let mut row = Row {
            place: format!("{file}:{line}"),
            ..Row::default()
        };
        for (column, text) in header.iter().zip(&record) {
            row.set(column, text, attributes)?;
        }
        rows.push(row.named()?);
    }
    Ok(rows)
}

/// Returns the line of a record. The reader's own count is off by one after `\r\n`, since its
/// record begins between the two.
fn line_of(text: &str, position: Option<&csv::Position>) -> usize {
    let start = position.map_or(0, |position| position.byte() as usize);
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let blank = rest.iter().take_while(|byte| is_end(byte)).count();
    let before = text.as_bytes().get(..start + blank).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

fn in_csv(text: &str, file: &str, error: &csv::Error) -> Failure {
    let line = line_of(text, error.position());
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("the row has {len} fields, and the header has {expected_len}"),
        _ => format!("not valid CSV: {error}"),
    };
    wrong(&format!("{file}:{line}"), &problem)
}

fn from_json(text: &str, file: &str, attributes: &[String]) -> Result<Vec<Row>> {
    let rows: Vec<Map<String, Value>> = serde_json::from_str(text).map_err(|error| {
        let problem = format!("not an array of objects in JSON: {error}");
        wrong(&format!("{file}:{}", error.line()), &problem)
    })?;
    let mut read = Vec::new();
    for (number, object) in (1..).zip(rows) {
        let mut row = Row {
            place: format!("{file}, node {number}"),
            ..Row::default()
        };
        for (column, value) in object {
            let text = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Null => continue,
                _ => {
                    let problem = format!("`{column}` is not a text or a number; write one");
                    return Err(wrong(&row.place, &problem));
                }
            };
            row.set(&column, &text, attributes)?;
        }
        read.push(row.named()?);
    }
    Ok(read)
}

impl Row {
    /// Sets what a column says, without the white space around it. An empty text says nothing.
    fn set(&mut self, column: &str, text: &str, attributes: &[String]) -> Result {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        match column {
            "name" => self.name = text.to_owned(),
            "weight" => self.weight = text.to_owned(),
            "" => {
                return Err(wrong(
                    &self.place,
                    "a column has no name; name it in the header",
                ))
            }
            column => {
                let list = match attributes.iter().any(|name| name == column) {
                    true => &mut self.attributes,
                    false => &mut self.labels,
                };
                if list.iter().any(|(name, _)| name == column) {
                    let problem = format!("column `{column}` is there twice; keep one");
                    return Err(wrong(&self.place, &problem));
                }
                list.push((column.to_owned(), text.to_owned()));
            }
        }
        Ok(())
    }

    fn named(self) -> Result<Row> {
        match self.name.is_empty() {
            true => Err(wrong(&self.place, "the node has no name; write one")),
            false => Ok(self),
        }
    }
}

/// Adds to the failure to read a fleet how a fleet is made of the table that was named instead.
pub fn instead_of_fleet(path: &Path, failure: Failure) -> Failure {
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) && path.is_file() {
        true => failure.and(&format!(
            "a table becomes a fleet with `stead init --from {}`",
            path.display()
        )),
        false => failure,
    }
}

fn wrong(place: &str, problem: &str) -> Failure {
    Failure::new(FLEET, format!("{place}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
        pairs
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect()
    }

    #[test]
    fn csv_and_json_give_the_same_rows() {
        let csv = "\u{feff}name, weight,zone,address\r\ndb1,1.5,a,10.0.0.1\r\n\"db,2\",,\"b \"\"c\"\"\",\r\n";
        let json = r#"[{"name": "db1", "weight": 1.5, "zone": "a", "address": "10.0.0.1"},
            {"name": " db,2 ", "weight": null, "zone": "b \"c\"", "address": ""}]"#;
        let attributes = ["address".to_owned()];
        for (text, places) in [(csv, ["t:2", "t:3"]), (json, ["t, node 1", "t, node 2"])] {
            let rows = read(text.as_bytes(), "t", &attributes).unwrap();
            assert_eq!(rows.len(), 2);
            for (row, place) in rows.iter().zip(places) {
                assert_eq!(row.place, place);
            }
            assert_eq!(
                (rows[0].name.as_str(), rows[0].weight.as_str()),
                ("db1", "1.5")
            );
            assert_eq!(pairs(&rows[0].labels), [("zone", "a")]);
            assert_eq!(pairs(&rows[0].attributes), [("address", "10.0.0.1")]);
            assert_eq!(
                (rows[1].name.as_str(), rows[1].weight.as_str()),
                ("db,2", "")
            );
            assert_eq!(pairs(&rows[1].labels), [("zone", "b \"c\"")]);
            assert!(rows[1].attributes.is_empty());
        }
    }

    #[test]
    fn a_table_that_is_wrong_is_refused_where_it_is_wrong() {
        for (text, words) in [
            ("", "t:1: the first line has no column `name`"),
            (
                "node,zone\na,b\n",
                "t:1: the first line has no column `name`",
            ),
            ("name,zone\n", "t: the table has no rows"),
            (
                "name,zone\na\n",
                "t:2: the row has 1 fields, and the header has 2",
            ),
            ("name,zone\n,b\n", "t:2: the node has no name"),
            (
                "name,zone,zone\na,b,c\n",
                "t:2: column `zone` is there twice",
            ),
            ("name,\na,b\n", "t:2: a column has no name"),
            ("[]", "t: the table has no rows"),
            (
                "[{\"name\": \"a\"},\n 3]",
                "t:2: not an array of objects in JSON",
            ),
            (
                "[{\"name\": \"a\", \"labels\": {}}]",
                "t, node 1: `labels` is not a text",
            ),
            ("[{\"zone\": \"a\"}]", "t, node 1: the node has no name"),
        ] {
            let failure = format!("{:?}", read(text.as_bytes(), "t", &[]).unwrap_err());
            assert!(failure.contains(words), "{text}: {failure}");
        }
        let failure = read(b"name\na\n", "t", &["x".to_owned()]).unwrap_err();
        assert!(format!("{failure:?}").contains("no column `x` has a value"));
        assert!(format!("{:?}", read(b"\xff", "t", &[]).unwrap_err()).contains("not UTF-8"));
    }
}
