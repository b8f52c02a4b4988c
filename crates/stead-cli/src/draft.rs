//! A first fleet: its text with comments, made of rows that each describe a node.

use stead::{build, Error, Fleet};
use toml_edit::{InlineTable, Key, Value};

use crate::exit::{Failure, Result, FLEET};

/// What a first fleet is made of.
pub struct Draft {
    pub name: String,
    pub replicas: u32,
    pub spread: Vec<String>,
    pub rows: Vec<Row>,
}

/// A node, and where it was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// where the node was read, as messages begin: `nodes.csv:3`
    pub place: String,
    pub name: String,
    /// the weight as it was written; empty for none
    pub weight: String,
    pub labels: Vec<(String, String)>,
    pub attributes: Vec<(String, String)>,
}

impl Draft {
    /// Returns the text of the fleet, which has been read and built. What is wrong with a node is
    /// reported at the place of its row.
    pub fn text(&self) -> Result<String> {
        let (text, starts) = self.written();
        let fleet = Fleet::parse(&text, "the fleet").map_err(|error| match error {
            Error::Fleet { line, problem, .. } => {
                let row = starts.iter().rposition(|start| *start <= line);
                let place = row
                    .and_then(|row| self.rows.get(row))
                    .map(|row| row.place.as_str());
                let place = place.unwrap_or("the fleet");
                Failure::new(FLEET, format!("{place}: {problem}"))
            }
            other => other.into(),
        })?;
        build(&fleet, None)?;
        Ok(text)
    }

    /// Returns the text, and the line where each node starts.
    fn written(&self) -> (String, Vec<usize>) {
        let mut text = format!("{HEAD}name = {}\n\n", Value::from(self.name.as_str()));
        let spread: toml_edit::Array = self.spread.iter().map(String::as_str).collect();
        text += match (self.replicas, spread.is_empty()) {
            (1, true) => ONE_COPY,
            (_, true) => COPIES,
            (_, false) => SPREAD,
        };
        if self.replicas != 1 || !spread.is_empty() {
            text += &format!("replicas = {}\n", self.replicas);
        }
        if !spread.is_empty() {
            text += &format!("spread = {spread}\n");
        }
        text += NODES;
        let mut starts = Vec::new();
        for row in &self.rows {
            text.push('\n');
            starts.push(1 + text.matches('\n').count());
            text += &format!("[[node]]\nname = {}\n", Value::from(row.name.as_str()));
            if !row.weight.is_empty() {
                // what is no number is written as a text, and the reader says what is wrong with it
                let weight: Value = row
                    .weight
                    .parse()
                    .unwrap_or_else(|_| row.weight.as_str().into());
                text += &format!("weight = {weight}\n");
            }
            for (key, pairs) in [("labels", &row.labels), ("attributes", &row.attributes)] {
                if !pairs.is_empty() {
                    text += &format!("{key} = {}\n", table(pairs));
                }
            }
        }
        (text, starts)
    }
}

fn table(pairs: &[(String, String)]) -> InlineTable {
    let pair = |(name, value): &(String, String)| (Key::new(name), Value::from(value.as_str()));
    pairs.iter().map(pair).collect()
}

const HEAD: &str = "\
# The fleet: the nodes, and how keys are placed on them. docs/fleet.md describes
# every key.
#
#   stead plan THIS_FILE MAP     shows what it would place where, writes nothing
#   stead apply THIS_FILE MAP    makes the map, or its next epoch

# The map keeps this name for ever.
";

const ONE_COPY: &str = "\
# Each key is on one node. With copies, and nodes that have labels, write for
# example:
#
#   replicas = 3
#   spread = [\"zone\", \"rack\"]
";

const COPIES: &str = "\
# `replicas` is how many nodes hold each key. If the nodes have labels, the
# copies can be kept in different zones, and within a zone in different racks:
#
#   spread = [\"zone\", \"rack\"]
";

const SPREAD: &str = "\
# `replicas` is how many nodes hold each key. The copies of a key are kept apart
# over the labels of `spread`, outermost first.
";

const NODES: &str = "
# A node without a weight has weight 1; one with weight 2 gets twice as much. To
# remove a node, set its weight to 0, apply, copy what moves, and then delete it
# here (`stead fleet` edits this file).
";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(place: &str, name: &str, weight: &str) -> Row {
        Row {
            place: place.to_owned(),
            name: name.to_owned(),
            weight: weight.to_owned(),
            labels: vec![
                ("zone".to_owned(), "z \"1\"".to_owned()),
                ("a b".to_owned(), "1".to_owned()),
            ],
            attributes: vec![("address".to_owned(), "10.0.0.1".to_owned())],
        }
    }

    fn draft(replicas: u32, spread: &[&str], rows: Vec<Row>) -> Draft {
        Draft {
            name: "a \"name\"".to_owned(),
            replicas,
            spread: spread.iter().map(|label| (*label).to_owned()).collect(),
            rows,
        }
    }

    #[test]
    fn the_text_is_a_fleet_with_what_the_rows_say() {
        for (replicas, spread) in [
            (1, &[][..]),
            (2, &[]),
            (2, &["zone", "a b"]),
            (1, &["zone"]),
        ] {
            let rows = vec![row("t:2", "n2", "1.50"), row("t:3", "n1", "")];
            let draft = draft(replicas, spread, rows);
            let text = draft.text().unwrap();
            let fleet = Fleet::parse(&text, "f").unwrap();
            assert_eq!(
                (fleet.name.as_str(), fleet.replicas),
                ("a \"name\"", replicas)
            );
            assert_eq!(fleet.spread, spread);
            assert!(text.lines().all(|line| line.chars().count() <= 80));
            let node = &fleet.nodes[1];
            assert_eq!(
                (node.name.as_str(), node.weight.to_string()),
                ("n2", "1.5".to_owned())
            );
            assert_eq!(node.labels["zone"], "z \"1\"");
            assert_eq!(node.attributes["address"], "10.0.0.1");
        }
    }

    #[test]
    fn a_mistake_is_reported_where_the_row_was_read() {
        for (rows, words) in [
            (
                vec![
                    row("t:2", "a", "1"),
                    row("t:3", "b", "x"),
                    row("t:4", "c", ""),
                ],
                "t:3: weight",
            ),
            (vec![row("t:2", "a", "1"), row("t:3", "a", "1")], "t:3: "),
            (vec![row("t:2", "a,b", "1"), row("t:3", "b", "1")], "t:2: "),
            (vec![row("t:2", "a", "1e3"), row("t:3", "b", "1")], "t:2: "),
            (vec![row("t:2", "a", "1 # x")], "t:2: "),
            (vec![row("t:2", "a", "0")], "the fleet: "),
            (vec![], "the fleet: "),
        ] {
            let failure = format!("{:?}", draft(1, &[], rows).text().unwrap_err());
            assert!(failure.contains(words), "{words}: {failure}");
        }
        let failure = draft(3, &[], vec![row("t:2", "a", "")]).text().unwrap_err();
        assert!(
            format!("{failure:?}").contains("the fleet: replicas"),
            "{failure:?}"
        );
    }
}
