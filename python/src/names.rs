//! The names of a map's nodes, as Python strings and as an Arrow column.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use stead::policy::NodeId;

use crate::arrow::Export;

/// The names of a map's nodes.
pub(crate) struct Names {
    map: Arc<stead::Map>,
    /// Each string is created when it is first needed, because a server that opens the map in each
    /// request needs only one or two.
    strings: OnceLock<Box<[PyOnceLock<Py<PyString>>]>>,
    column: OnceLock<Column>,
}

/// The names in Arrow's layout.
struct Column {
    /// The offset at which each name starts, and the end of the last one.
    offsets: Arc<Vec<i32>>,
    /// The names, one after the other.
    text: Arc<Vec<u8>>,
}

impl Names {
    pub(crate) fn new(map: Arc<stead::Map>) -> Names {
        Names {
            map,
            strings: OnceLock::new(),
            column: OnceLock::new(),
        }
    }

    /// A node's name.
    pub(crate) fn of<'a>(&'a self, py: Python<'_>, node: NodeId) -> &'a Py<PyString> {
        let strings = self.strings.get_or_init(|| {
            let nodes = self.map.nodes();
            nodes.map(|_| PyOnceLock::new()).collect()
        });
        // the number of a node of this map is below the number of nodes
        strings[node.index()].get_or_init(py, || {
            PyString::new(py, self.map.node(node).name()).unbind()
        })
    }

    /// All names, as a column of Arrow.
    pub(crate) fn column(&self) -> Export {
        let Column { offsets, text } = self.column.get_or_init(|| {
            let (mut offsets, mut text) = (vec![0], Vec::new());
            for node in self.map.nodes() {
                text.extend_from_slice(node.name().as_bytes());
                offsets.push(text.len() as i32); // at most 65,536 names of at most 255 bytes
            }
            Column {
                offsets: Arc::new(offsets),
                text: Arc::new(text),
            }
        });
        Export {
            format: c"u",
            length: offsets.len() - 1,
            nulls: 0,
            buffers: vec![None, Some(offsets.clone()), Some(text.clone())],
            dictionary: None,
        }
    }
}
