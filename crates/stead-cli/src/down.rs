//! Which nodes a word such as `db7`, `zone=a` or `zone=a,rack=1` names.

use std::collections::BTreeSet;

use stead::map::Node;
use stead::policy::NodeId;
use stead::Map;

use crate::exit::{Failure, Result, USAGE};
use crate::suggest::hint;

/// How an option names more than one node.
const AGAIN: &str = "give the option once for each node, or as LABEL=VALUE for all that have it";

/// Returns the node of this name. `several` says how to name more than one.
pub fn node<'a>(map: &'a Map, name: &str, several: &str) -> Result<Node<'a>> {
    map.node_named(name).ok_or_else(|| {
        let hint = match labels_of(map, name) {
            labels if !labels.is_empty() => {
                let pairs: Vec<String> = (labels.iter())
                    .map(|label| format!("{label}={name}"))
                    .collect();
                format!("; did you mean {}?", pairs.join(" or "))
            }
            // no name has a comma
            _ if name.contains(',') => format!("; {several}"),
            _ => hint(name, map.nodes().map(|node| node.name())),
        };
        wrong(format!("map `{}` has no node `{name}`{hint}", map.name()))
    })
}

/// Returns the labels that have this value at some node.
fn labels_of<'a>(map: &'a Map, value: &str) -> BTreeSet<&'a str> {
    let labels = map.nodes().flat_map(|node| node.labels());
    let having = labels.filter(|(_, of_node)| *of_node == value);
    having.map(|(label, _)| label).collect()
}

/// Returns the nodes that a word names: the node of this name, or those with the value of a label,
/// or, with commas, those with the values of several labels.
pub fn nodes(map: &Map, word: &str) -> Result<Vec<NodeId>> {
    // a node's name may contain `=`
    if !word.contains('=') || map.node_named(word).is_some() {
        return Ok(vec![node(map, word, AGAIN)?.id]);
    }
    // a label's value may contain a comma
    let whole = word.split_once('=').map(|pair| vec![pair]);
    let whole = whole.filter(|pairs| !having(map, pairs).is_empty());
    let pairs = match whole {
        Some(pairs) => pairs,
        None => parts(map, word)?,
    };
    match having(map, &pairs) {
        nodes if nodes.is_empty() => {
            let labels: BTreeSet<&str> = pairs.iter().map(|(label, _)| *label).collect();
            let hint = match labels.len() < pairs.len() {
                true => "; give the option once for each value of a label",
                false => "",
            };
            Err(wrong(format!(
                "map `{}` has no node with all of {word}{hint}",
                map.name()
            )))
        }
        nodes => Ok(nodes),
    }
}

/// Splits `zone=a,rack=1`, and makes sure that some node has each of the labels.
fn parts<'a>(map: &Map, word: &'a str) -> Result<Vec<(&'a str, &'a str)>> {
    let mut pairs = Vec::new();
    for part in word.split(',') {
        let Some((label, value)) = part.split_once('=') else {
            return Err(wrong(format!(
                "`{part}` in {word} is not LABEL=VALUE; name each node by an option of its own"
            )));
        };
        let values: BTreeSet<&str> = map.nodes().filter_map(|node| node.label(label)).collect();
        if values.is_empty() {
            let labels = map.nodes().flat_map(|node| node.labels());
            let labels: BTreeSet<&str> = labels.map(|(name, _)| name).collect();
            return Err(wrong(match labels.is_empty() {
                true => format!(
                    "map `{}` has no labels, so {word} names no node",
                    map.name()
                ),
                false => format!(
                    "map `{}` has no label `{label}`{}",
                    map.name(),
                    hint(label, labels.into_iter())
                ),
            }));
        }
        if !values.contains(value) {
            return Err(wrong(format!(
                "map `{}` has no node with {label}={value}{}",
                map.name(),
                hint(value, values.into_iter())
            )));
        }
        pairs.push((label, value));
    }
    Ok(pairs)
}

fn having(map: &Map, pairs: &[(&str, &str)]) -> Vec<NodeId> {
    let has = |node: &Node| {
        let mut pairs = pairs.iter();
        pairs.all(|(label, value)| node.label(label) == Some(*value))
    };
    map.nodes().filter(has).map(|node| node.id).collect()
}

fn wrong(problem: String) -> Failure {
    Failure::new(USAGE, problem)
}
