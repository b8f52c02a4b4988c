//! What the router and its backends know in common.

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

/// What the router is told besides the map.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that clients believe all files to be in.
    pub base: Base,
    /// How long a write may wait for the FLUSH that confirms it.
    pub flush_after: Duration,
    /// How long a backend may take for an answer; beyond, it is down.
    pub patience: Duration,
    /// CREATE may replace a file that is there, as rrdcached does when -O is not said.
    pub overwrite: bool,
    /// How to make a file that an UPDATE names and that is not there.
    pub create: Option<Arc<Templates>>,
}

/// What all have in common.
pub struct Shared {
    /// As told.
    pub options: Options,
    /// The log.
    pub log: Arc<dyn Log>,
    /// Every record up to this number was offered to the backends that it is for.
    pub offered: AtomicU64,
    /// What is counted.
    pub tally: Arc<Tally>,
    /// Files that a backend should have and says that it has not.
    pub lacks: Lacks,
    layout: RwLock<Layout>,
}

impl Shared {
    /// Before anything was written.
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

    /// Where files live.
    pub fn layout(&self) -> RwLockReadGuard<'_, Layout> {
        self.layout.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, to change it.
    pub fn layout_mut(&self) -> RwLockWriteGuard<'_, Layout> {
        self.layout.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files that a backend should have and says that it has not.
#[derive(Default)]
pub struct Lacks {
    known: Mutex<BTreeSet<(Vec<u8>, BackendId)>>,
    /// Rings when there is one more.
    pub bell: Notify,
}

/// Names kept at most: beyond, a look through all files finds them.
const MOST_LACKS: usize = 100_000;

impl Lacks {
    /// This backend lacks this file.
    pub fn add(&self, name: &[u8], place: BackendId) {
        let mut known = lock(&self.known);
        if known.len() < MOST_LACKS && known.insert((name.to_vec(), place)) {
            self.bell.notify_one();
        }
    }

    /// Those known; they are taken out.
    pub fn take(&self) -> BTreeSet<(Vec<u8>, BackendId)> {
        std::mem::take(&mut lock(&self.known))
    }

    /// How many of this backend are known.
    pub fn count_of(&self, place: BackendId) -> usize {
        lock(&self.known)
            .iter()
            .filter(|(_, other)| *other == place)
            .count()
    }
}
