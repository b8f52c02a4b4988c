//! `stead locate --count`: how many keys live on each node.

use std::num::NonZeroUsize;

use serde::Serialize;
use stead::path::Fold;
use stead::policy::NodeId;
use stead::Map;

use crate::exit::Result;
use crate::output::Out;
use crate::records::Batch;

/// The number of keys of which each node is the primary.
pub struct Count<'a> {
    map: &'a Map,
    of_node: Vec<u64>,
    /// room for the nodes of many keys, and for their folded bytes
    nodes: Vec<NodeId>,
    folded: Vec<u8>,
}

/// Totals, in JSON.
#[derive(Serialize)]
struct Totals<'a> {
    name: &'a str,
    epoch: u64,
    keys: u64,
    nodes: Vec<Total<'a>>,
}

#[derive(Serialize)]
struct Total<'a> {
    name: &'a str,
    keys: u64,
}

impl<'a> Count<'a> {
    /// Begins with 0 for each node.
    pub fn new(map: &'a Map) -> Count<'a> {
        Count {
            map,
            of_node: vec![0; map.nodes().len()],
            nodes: Vec::new(),
            folded: Vec::new(),
        }
    }

    /// Counts a key whose primary is this node.
    pub fn add(&mut self, node: NodeId) {
        if let Some(keys) = self.of_node.get_mut(node.index()) {
            *keys += 1;
        }
    }

    /// Counts keys.
    pub fn add_keys(&mut self, batch: Batch<'_>, fold: Fold) {
        let keys = batch.folded(fold, &mut self.folded);
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.resize(keys.len(), NodeId(0));
        self.map
            .locate_keys(keys, NonZeroUsize::MIN, &mut nodes, |node| node);
        nodes.iter().for_each(|node| self.add(*node));
        self.nodes = nodes;
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: &Count<'_>) {
        for (sum, keys) in self.of_node.iter_mut().zip(&other.of_node) {
            *sum += keys;
        }
    }

    /// Returns the number of keys of each node, in the order of the map.
    pub fn of_nodes(&self) -> &[u64] {
        &self.of_node
    }

    /// Writes a line for each node, or with `zero` a record that ends with NUL.
    pub fn write(&self, json: bool, zero: bool, out: &mut Out) -> Result {
        let keys = self.of_node.iter().copied();
        let nodes = self.map.nodes().zip(keys).map(|(node, keys)| Total {
            name: node.name(),
            keys,
        });
        if json {
            return out.json(&Totals {
                name: self.map.name(),
                epoch: self.map.epoch(),
                keys: self.of_node.iter().sum(),
                nodes: nodes.collect(),
            });
        }
        let end = if zero { '\0' } else { '\n' };
        nodes.into_iter().try_for_each(|total| {
            out.bytes(format!("{}\t{}{end}", total.name, total.keys).as_bytes())
        })
    }
}
