//! `stead locate --attribute NAME`: what is printed for a node is its attribute of this name.

use std::path::PathBuf;

use stead::map::Node;

use crate::exit::{Failure, Result, DATA, USAGE};
use crate::suggest::hint;

/// What `locate` prints for a node: its name, or one of its attributes.
pub struct Printed {
    /// the map file, for messages
    pub map: PathBuf,
    /// the name of the attribute; without one, the name of the node is printed
    pub attribute: Option<String>,
}

impl Printed {
    /// Fails if no node of a map has the attribute: its name is likely misspelt.
    pub fn check<'a>(&self, nodes: impl Iterator<Item = Node<'a>>) -> Result {
        let Some(wanted) = &self.attribute else {
            return Ok(());
        };
        let known: Vec<&str> = nodes
            .flat_map(|node| node.attributes())
            .map(|(name, _)| name)
            .collect();
        if known.contains(&wanted.as_str()) {
            return Ok(());
        }
        let hint = match known.is_empty() {
            true => format!("; {}", to_set("NODE", wanted)),
            false => hint(wanted, known.into_iter()),
        };
        Err(Failure::new(
            USAGE,
            format_args!(
                "{}: no node has an attribute {wanted}{hint}",
                self.map.display()
            ),
        ))
    }

    /// Returns the attribute of each node, if one is asked for. Fails if a node does not have it.
    pub fn values<'a>(
        &self,
        nodes: impl Iterator<Item = Node<'a>>,
    ) -> Result<Option<Vec<&'a str>>> {
        let asked = self.attribute.is_some();
        let values = || nodes.map(|node| self.of(node)).collect();
        asked.then(values).transpose()
    }

    /// Returns what is printed for nodes, joined by commas. No name of a node has a comma. The
    /// value of an attribute may have one; then it is refused, unless there is only one node.
    pub fn joined<'a>(&self, nodes: impl Iterator<Item = Node<'a>>) -> Result<String> {
        let mut with_comma = None;
        let mut printed = Vec::new();
        for node in nodes {
            let text = self.of(node)?;
            if text.contains(',') {
                with_comma = Some((node.name(), text));
            }
            printed.push(text);
        }
        match (&self.attribute, with_comma) {
            (Some(wanted), Some((node, text))) if printed.len() > 1 => Err(Failure::new(
                DATA,
                format_args!(
                    "{}: the attribute {wanted} of node {node} is `{text}`, and commas stand \
                     between nodes here; use --json",
                    self.map.display()
                ),
            )),
            _ => Ok(printed.join(",")),
        }
    }

    fn of<'a>(&self, node: Node<'a>) -> Result<&'a str> {
        let Some(wanted) = &self.attribute else {
            return Ok(node.name());
        };
        node.attribute(wanted).ok_or_else(|| {
            Failure::new(
                DATA,
                format_args!(
                    "{}: node {} has no attribute {wanted}; {}",
                    self.map.display(),
                    node.name(),
                    to_set(node.name(), wanted)
                ),
            )
        })
    }
}

/// Says how a node gets an attribute.
fn to_set(node: &str, attribute: &str) -> String {
    format!(
        "set it with `stead fleet set-attribute FLEET {node} {attribute}=VALUE`, and apply the \
         fleet"
    )
}
