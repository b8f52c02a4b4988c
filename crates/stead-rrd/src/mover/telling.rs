//! The progress of the work, as reported to its caller.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use crate::status::Progress;

/// How many reasons are kept.
pub(super) const REASONS: usize = 10;

/// Reports the progress.
pub(super) struct Tell {
    pub(super) sender: watch::Sender<Progress>,
    began: Instant,
}

/// Reports the end of the work when it is dropped, even after a fault.
pub(super) struct Ends(pub(super) Arc<Tell>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.change(|progress| progress.ended = true);
    }
}

impl Tell {
    pub(super) fn new(progress: Progress) -> (Tell, watch::Receiver<Progress>) {
        let (sender, receiver) = watch::channel(progress);
        (
            Tell {
                sender,
                began: Instant::now(),
            },
            receiver,
        )
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Progress)) {
        self.sender.send_modify(change);
    }

    pub(super) fn carried(&self, bytes: u64) {
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        self.change(|progress| {
            progress.bytes += bytes;
            progress.rate = (progress.bytes as f64 / seconds) as u64;
        });
    }

    pub(super) fn failed(&self, files: u64, reason: String) {
        self.change(|progress| {
            progress.failed += files;
            if progress.reasons.len() < REASONS {
                progress.reasons.push(reason);
            }
        });
    }

    pub(super) fn nobody_listens(&self) -> bool {
        self.sender.is_closed()
    }
}
