//! The state that the router and its backends share.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::sync::Notify;

use crate::create::Templates;
use crate::layout::{BackendId, Layout};
use crate::lock::lock;
use crate::log::Log;
use crate::path::Base;
use crate::tally::Tally;

/// The router's options, besides the map.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that clients believe all files to be in.
    pub base: Base,
    /// How long a write may wait for the FLUSH that confirms it.
    pub flush_after: Duration,
    /// How long a backend may take to answer before it is down.
    pub patience: Duration,
    /// Whether CREATE may replace a file that exists, as rrdcached does without -O.
    pub overwrite: bool,
    /// How to make a file that an UPDATE names and that does not exist.
    pub create: Option<Arc<Templates>>,
}

/// The shared state.
pub struct Shared {
    /// The options.
    pub options: Options,
    /// The log.
    pub log: Arc<dyn Log>,
    /// Every record up to this number was offered to the backends that it is for.
    pub offered: AtomicU64,
    /// The counters.
    pub tally: Arc<Tally>,
    /// Files that a backend should have and reports as missing.
    pub lacks: Lacks,
    layout: RwLock<Layout>,
}

impl Shared {
    /// Returns the state before anything was written.
    pub fn new(options: Options, log: Arc<dyn Log>, layout: Layout) -> Shared {
        let offered = AtomicU64::new(log.newest());
        Shared {
            options,
            log,
            offered,
            tally: Arc::default(),
            lacks: Lacks::default(),
            layout: RwLock::new(layout),
        }
    }

    /// Returns the layout: where files live.
    pub fn layout(&self) -> RwLockReadGuard<'_, Layout> {
        self.layout.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the layout, to change it.
    pub fn layout_mut(&self) -> RwLockWriteGuard<'_, Layout> {
        self.layout.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files that a backend should have and reports as missing.
#[derive(Default)]
pub struct Lacks {
    known: Mutex<BTreeSet<(Vec<u8>, BackendId)>>,
    /// Notified when there is one more.
    pub bell: Notify,
}

/// The most names that are kept. Comparing the lists of all files finds the others.
const MOST_LACKS: usize = 100_000;

impl Lacks {
    /// Adds a file that this backend lacks.
    pub fn add(&self, name: &[u8], place: BackendId) {
        let mut known = lock(&self.known);
        if known.len() < MOST_LACKS && known.insert((name.to_vec(), place)) {
            self.bell.notify_one();
        }
    }

    /// Removes and returns the known ones.
    pub fn take(&self) -> BTreeSet<(Vec<u8>, BackendId)> {
        std::mem::take(&mut lock(&self.known))
    }

    /// Returns how many are known of this backend.
    pub fn count_of(&self, place: BackendId) -> usize {
        lock(&self.known)
            .iter()
            .filter(|(_, other)| *other == place)
            .count()
    }
}
