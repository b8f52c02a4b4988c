//! Connections to nodes that are kept for the next use, so that several threads can work at once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::carry::kind::{Done, Node};

/// The connections of one kind that nobody uses at the moment, by the number of the node.
pub struct Pool<C> {
    idle: Mutex<HashMap<usize, Vec<C>>>,
}

impl<C> Default for Pool<C> {
    fn default() -> Pool<C> {
        Pool {
            idle: Mutex::default(),
        }
    }
}

impl<C> Pool<C> {
    /// Calls `work` with a connection to a node, which `open` makes if none is idle. After a fault
    /// the connection is closed: it may be in the middle of something. All idle ones are closed
    /// with it, since a server that was started again has closed them too.
    pub fn with<T>(
        &self,
        node: &Node,
        open: impl FnOnce() -> Done<C>,
        work: impl FnOnce(&mut C) -> Done<T>,
    ) -> Done<T> {
        let mut connection = self.take(node, open)?;
        let end = work(&mut connection);
        match end {
            Ok(_) => self.keep(node, connection),
            Err(_) => self.close(node),
        }
        end
    }

    /// Takes a connection out, or opens one.
    pub fn take(&self, node: &Node, open: impl FnOnce() -> Done<C>) -> Done<C> {
        let idle = self.lock().get_mut(&node.number).and_then(Vec::pop);
        idle.map_or_else(open, Ok)
    }

    /// Takes a connection back that works.
    pub fn keep(&self, node: &Node, connection: C) {
        self.lock().entry(node.number).or_default().push(connection);
    }

    /// Closes what is idle.
    pub fn close(&self, node: &Node) {
        self.lock().remove(&node.number);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Vec<C>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
