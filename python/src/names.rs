//! The names of a map's nodes, as Python strings and as an Arrow column.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use stead::policy::NodeId;

use stead_arrow::Export;

/// The names of a map's nodes.
pub(crate) struct Names {
    source: Source,
    /// Each string is created when it is first needed, because a server that opens the map in each
    /// request needs only one or two.
    strings: OnceLock<Box<[PyOnceLock<Py<PyString>>]>>,
    column: OnceLock<Column>,
}

/// Where the names come from.
enum Source {
    /// A map.
    Map(Arc<stead::Map>),
    /// A list, for a column that was pickled: it needs no map.
    List(Vec<String>),
}

/// The names in Arrow's layout.
struct Column {
    /// The offset at which each name starts, and the end of the last one.
    offsets: Arc<Vec<i32>>,
    /// The names, one after the other.
    text: Arc<Vec<u8>>,
}

impl Names {
    /// The names of a map's nodes.
    pub(crate) fn of_map(map: Arc<stead::Map>) -> Names {
        Names::new(Source::Map(map))
    }

    /// The names of a list.
    pub(crate) fn of_list(names: Vec<String>) -> Names {
        Names::new(Source::List(names))
    }

    fn new(source: Source) -> Names {
        Names {
            source,
            strings: OnceLock::new(),
            column: OnceLock::new(),
        }
    }

    /// The number of names.
    pub(crate) fn count(&self) -> usize {
        match &self.source {
            Source::Map(map) => map.nodes().len(),
            Source::List(names) => names.len(),
        }
    }

    /// The name of a number, which is below `count`.
    fn name(&self, number: usize) -> &str {
        match &self.source {
            Source::Map(map) => map.node(NodeId(number as u32)).name(),
            Source::List(names) => &names[number],
        }
    }

    /// All names.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        (0..self.count()).map(|number| self.name(number))
    }

    /// A node's name.
    pub(crate) fn of<'a>(&'a self, py: Python<'_>, node: NodeId) -> &'a Py<PyString> {
        let strings = self
            .strings
            .get_or_init(|| (0..self.count()).map(|_| PyOnceLock::new()).collect());
        // the number of a node of this map is below the number of nodes
        strings[node.index()]
            .get_or_init(py, || PyString::new(py, self.name(node.index())).unbind())
    }

    /// All names, as a column of Arrow.
    pub(crate) fn column(&self) -> Export {
        let Column { offsets, text } = self.column.get_or_init(|| {
            let (mut offsets, mut text) = (vec![0], Vec::new());
            for name in self.all() {
                text.extend_from_slice(name.as_bytes());
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
            items: None,
        }
    }
}
