//! The state that the router and its backends share.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::create::Templates;
use crate::known::Known;
use crate::layout::Layout;
use crate::log::Log;
use crate::pair::Pair;
use crate::path::Base;
use crate::repairs::Repairs;
use crate::suspended::Suspended;
use crate::tally::Tally;

/// The router's options, besides the map.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that clients believe all files to be in.
    pub base: Base,
    /// How long a write may wait for the FLUSH that confirms it.
    pub flush_after: Duration,
    /// How long a flushed write stays in the log, until the backend's system has surely written it
    /// to the disk.
    pub sync_after: Duration,
    /// How long a backend may take to answer before it is down.
    pub patience: Duration,
    /// How much may wait for the servers.
    pub backlog: Backlog,
    /// How long a client may send nothing.
    pub idle: Option<Duration>,
    /// Whether CREATE may replace a file that exists, as rrdcached does without -O.
    pub overwrite: bool,
    /// How to make a file that an UPDATE names and that does not exist, until other templates are
    /// loaded.
    pub create: Option<Arc<Templates>>,
    /// The other router of a pair, of which this one is the primary.
    pub pair: Option<Arc<Pair>>,
}

#[cfg(test)]
impl Options {
    /// Returns the options of a router in a test: nothing is flushed or given up while it runs.
    pub(crate) fn patient() -> Options {
        Options {
            base: Base::new(b"/rrd"),
            flush_after: Duration::from_secs(3600),
            sync_after: Duration::ZERO,
            patience: Duration::from_secs(60),
            backlog: Backlog::default(),
            idle: None,
            overwrite: false,
            create: None,
            pair: None,
        }
    }
}

/// How much may wait for every copy of a file before clients that need no answer of a server wait
/// for one.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// In bytes.
    pub bytes: usize,
    /// How old the oldest may be.
    pub age: Duration,
}

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog {
            bytes: 16 << 20,
            age: Duration::from_secs(5),
        }
    }
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
    /// Copies that have to be repaired.
    pub repairs: Repairs,
    /// What clients have suspended.
    pub suspended: Suspended,
    /// What is known of files: how their updates must look.
    pub known: Known,
    layout: RwLock<Layout>,
    templates: RwLock<Option<Arc<Templates>>>,
}

impl Shared {
    /// Returns the state before anything was written.
    pub fn new(options: Options, log: Arc<dyn Log>, layout: Layout) -> Shared {
        let offered = AtomicU64::new(log.newest());
        let templates = RwLock::new(options.create.clone());
        Shared {
            options,
            log,
            offered,
            tally: Arc::default(),
            repairs: Repairs::default(),
            suspended: Suspended::default(),
            known: Known::default(),
            layout: RwLock::new(layout),
            templates,
        }
    }

    /// Returns whether files are made that an UPDATE names and that do not exist. Loading templates
    /// again does not change that.
    pub fn makes_files(&self) -> bool {
        self.options.create.is_some()
    }

    /// Returns how to make a file that an UPDATE names and that does not exist.
    pub fn templates(&self) -> Option<Arc<Templates>> {
        let templates = self.templates.read();
        templates.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the templates.
    pub fn use_templates(&self, templates: Templates) {
        let mut now = self
            .templates
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *now = Some(Arc::new(templates));
    }

    /// Returns whether what this router reads is current: nobody else can have become the primary.
    pub fn is_current(&self) -> bool {
        self.options
            .pair
            .as_ref()
            .is_none_or(|pair| pair.is_current())
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
