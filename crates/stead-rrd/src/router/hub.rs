//! The router's parts, and what all of its rooms ask of them.

use std::sync::Arc;

use stead::Map;
use tokio::sync::Semaphore;

use super::backends::Backends;
use super::ordering::Sequence;
use crate::health::Health;
use crate::layout::{Layout, Placement};
use crate::log::Log;
use crate::path::Base;
use crate::reply::Reply;
use crate::shared::{Options, Shared};

/// Large answers that are kept in memory at the same time, for however many clients.
pub(super) const LARGE_ANSWERS: usize = 4;

/// Routes requests by the map, or by two while files move.
pub struct Router {
    shared: Arc<Shared>,
    /// The backends of the map, or of both.
    pub backends: Arc<Backends>,
    /// The order of all writes.
    pub sequence: Arc<Sequence>,
    /// Held by whoever creates files, and exclusively while it has to be sure that nobody does.
    pub creating: tokio::sync::RwLock<()>,
    /// for those who fetch much
    pub(super) large: Arc<Semaphore>,
}

impl Router {
    /// A router whose backends are down until [`start`](Router::start); the error says which node
    /// lacks what. The log is told for whom to keep records by [`follow`](Backends::follow), when
    /// all backends are known: whoever is left out once has lost its place.
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
        })
    }

    /// Starts the tasks.
    pub fn start(&self) {
        self.backends.start();
        tokio::spawn(Arc::clone(&self.sequence).dispatch());
    }

    /// What router and backends have in common.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The base that clients see.
    pub fn base(&self) -> &Base {
        &self.shared.options.base
    }

    pub(super) fn somebody_is_up(&self, name: &[u8]) -> bool {
        let copies = self.shared.layout().now(name);
        copies
            .iter()
            .any(|id| self.backends.get(*id).health() == Health::Up)
    }

    /// The answer when none of the file's backends is up.
    pub(super) fn nobody(&self, name: &[u8]) -> Reply {
        let copies = self.shared.layout().now(name);
        let backends: Vec<_> = copies.iter().map(|id| self.backends.get(*id)).collect();
        let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
        let mut text = [self.base().directory(), b"/", name].concat();
        text.extend_from_slice(
            format!(
                ": none of its servers is up ({}); try again later",
                names.join(", ")
            )
            .as_bytes(),
        );
        Reply::error(text)
    }
}
