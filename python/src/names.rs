//! The names of a map's nodes, as Python and as Arrow have them.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use stead::policy::NodeId;

use crate::arrow::Export;

/// The names of a map's nodes.
pub(crate) struct Names {
    map: Arc<stead::Map>,
    /// each is made when it is first asked for, since a server opens the map anew for a key or two
    strings: OnceLock<Box<[PyOnceLock<Py<PyString>>]>>,
    column: OnceLock<Column>,
}

/// As Arrow has them.
struct Column {
    /// Where each name starts, and where the last one ends.
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
        // a node of this map has a number below their count
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
                offsets.push(text.len() as i32); // 65,536 names of 255 bytes at most
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
