//! The course of the checks: how far they have come, for those who watch, and how a pass is made.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use super::telling::Tell;
use crate::files::Rate;
use crate::layout::BackendId;
use crate::passes::Passes;

/// How a pass is made.
pub(super) struct Course {
    pub(super) rate: Rate,
    /// who has asked for it; `None` in the background
    pub(super) tell: Option<Arc<Tell>>,
    /// whether a copy was not compared that is at a backend whose address has changed
    pub(super) is_unsure: AtomicBool,
}

/// The checks of all copies.
#[derive(Default)]
pub(super) struct Checks {
    pub(super) passes: Mutex<Passes>,
    /// held by the check that somebody has asked for
    pub(super) asked: Arc<tokio::sync::Mutex<()>>,
    /// the progress of that check, or of the last one
    pub(super) latest: Mutex<Option<Arc<Tell>>>,
    /// how many seconds after the beginning of a pass the next one begins; 0: never
    pub(super) every: AtomicU64,
    /// the backends that the pass in the background, or the last one, has left out because they
    /// were away
    pub(super) left_out: Mutex<BTreeSet<BackendId>>,
    /// why the check in the background waits, unless it waits for other work of the router
    pub(super) waits: Mutex<Option<String>>,
    /// how many files were compared since the start
    pub(super) compared: AtomicU64,
    /// how many differences were found since the start
    pub(super) differing: AtomicU64,
}
