//! The router and its parts, which the other files of this module use.

use std::sync::Arc;

use stead::Map;
use tokio::sync::Semaphore;

use super::ahead::Ahead;
use super::backends::Backends;
use super::ordering::Sequence;
use crate::health::Health;
use crate::layout::{BackendId, Layout, Placement};
use crate::log::Log;
use crate::path::Base;
use crate::reply::Reply;
use crate::shared::{Options, Shared};

/// How many large answers are in memory at the same time, for all clients together.
pub(super) const LARGE_ANSWERS: usize = 4;

/// Routes requests by the map, or by two maps while files move.
pub struct Router {
    shared: Arc<Shared>,
    /// The backends of the map, or of both maps.
    pub backends: Arc<Backends>,
    /// The order of all writes.
    pub sequence: Arc<Sequence>,
    /// Held for reading while a file is created, and for writing while no file may be created.
    pub creating: tokio::sync::RwLock<()>,
    /// limits the large answers
    pub(super) large: Arc<Semaphore>,
    pub(super) ahead: Ahead,
}

impl Router {
    /// Returns a router whose backends are down until [`start`](Router::start) is called. The error
    /// says which node lacks which attribute.
    ///
    /// Then call [`follow`](Backends::follow), which tells the log which backends to keep records
    /// for, but not before all backends are known: a backend that is left out once loses its
    /// position.
    pub fn new(map: Map, log: Arc<dyn Log>, options: Options) -> Result<Router, String> {
        let empty = Placement::new(
            Map::from_bytes(map.bytes().to_vec()).map_err(|error| error.to_string())?,
            Vec::new(),
        );
        let shared = Arc::new(Shared::new(options, log, Layout::new(empty)));
        let backends = Arc::new(Backends::new(Arc::clone(&shared)));
        let placement = backends.place(map)?;
        shared.layout_mut().replace(placement);
        Ok(Router {
            sequence: Arc::new(Sequence::new(Arc::clone(&shared), Arc::clone(&backends))),
            shared,
            backends,
            creating: tokio::sync::RwLock::new(()),
            large: Arc::new(Semaphore::new(LARGE_ANSWERS)),
            ahead: Ahead::default(),
        })
    }

    /// Starts the tasks.
    pub fn start(&self) {
        self.backends.start();
        tokio::spawn(Arc::clone(&self.sequence).dispatch());
    }

    /// Returns the state that the router and its backends share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Returns the base that clients see.
    pub fn base(&self) -> &Base {
        &self.shared.options.base
    }

    pub(super) fn somebody_is_up(&self, name: &[u8]) -> bool {
        let copies = self.shared.layout().now(name);
        copies
            .iter()
            .any(|id| self.backends.get(*id).health() == Health::Up)
    }

    /// Returns the answer when none of the file's backends is up.
    pub(super) fn nobody(&self, name: &[u8]) -> Reply {
        let copies = self.shared.layout().now(name);
        let names = self.names(&copies);
        self.try_again(name, &format!("none of its servers is up ({names})"))
    }

    /// Returns the answer when the backends that are up do not have the file, and others, which may
    /// have it, are not up.
    pub(super) fn unsure(&self, name: &[u8], silent: &[BackendId]) -> Reply {
        let names = self.names(silent);
        let why = format!("not all of its servers are up ({names}), and the others lack it");
        self.try_again(name, &why)
    }

    fn names(&self, ids: &[BackendId]) -> String {
        let backends: Vec<_> = ids.iter().map(|id| self.backends.get(*id)).collect();
        let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
        names.join(", ")
    }

    fn try_again(&self, name: &[u8], why: &str) -> Reply {
        let words = format!(": {why}; try again later");
        Reply::error([self.base().directory(), b"/", name, words.as_bytes()].concat())
    }
}
