//! The progress of the work, as reported to its caller.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;

use crate::files::Rate;
use crate::lock::lock;
use crate::status::Progress;

/// How many reasons are kept.
pub(super) const REASONS: usize = 10;

/// Reports the progress.
pub(super) struct Tell {
    pub(super) sender: watch::Sender<Progress>,
    began: Instant,
    rate: Mutex<Rate>,
    /// whether somebody has told the work to stop
    stop: watch::Sender<bool>,
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
                rate: Mutex::default(),
                stop: watch::Sender::new(false),
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

    /// Returns the limit on how fast files are copied.
    pub(super) fn rate(&self) -> Rate {
        lock(&self.rate).clone()
    }

    pub(super) fn limit(&self, bytes_a_second: Option<u64>) {
        *lock(&self.rate) = Rate::new(bytes_a_second);
    }

    /// Stops the work after the files in hand.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
        self.change(|progress| progress.stopped = true);
    }

    /// Returns whether to stop. A repair or a check also stops when nobody listens any more.
    pub(super) fn is_stopped(&self) -> bool {
        let progress = self.sender.borrow();
        let listened_to = progress.repair.is_some() || progress.check.is_some();
        progress.stopped || listened_to && self.sender.is_closed()
    }

    /// Waits, but not longer than until the work is told to stop.
    pub(super) async fn pause(&self, wait: impl Future<Output = ()>) {
        let mut stop = self.stop.subscribe();
        tokio::select! {
            () = wait => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
}
