//! The progress of the work, as reported to its caller.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;

use crate::files::Rate;
use crate::layout::BackendId;
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
    /// by backend: the copies that could not be removed there
    behind: Mutex<BTreeMap<BackendId, Behind>>,
}

/// Copies of files that have moved away, and could not be removed.
pub(super) struct Behind {
    files: u64,
    /// one of the files, and why its copy could not be removed
    example: String,
    error: String,
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
                behind: Mutex::default(),
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

    /// Notes that the copy of a file that has moved away could not be removed from a backend.
    pub(super) fn left_behind(&self, backend: BackendId, file: &[u8], error: String) {
        let mut behind = lock(&self.behind);
        let noted = behind.entry(backend).or_insert_with(|| Behind {
            files: 0,
            example: String::from_utf8_lossy(file).into_owned(),
            error,
        });
        noted.files += 1;
    }

    /// Returns the backends with such copies.
    pub(super) fn behind(&self) -> Vec<BackendId> {
        lock(&self.behind).keys().copied().collect()
    }

    /// Forgets such copies at these backends: it is seen again which are left.
    pub(super) fn forget_behind(&self, seen: impl Fn(BackendId) -> bool) {
        lock(&self.behind).retain(|backend, _| !seen(*backend));
    }

    /// Returns a line for each backend with such copies, and forgets them.
    pub(super) fn told_behind(&self, name: impl Fn(BackendId) -> String) -> Vec<String> {
        let behind = std::mem::take(&mut *lock(&self.behind));
        let line = |(backend, noted): (BackendId, Behind)| {
            let backend = name(backend);
            let Behind {
                files,
                example,
                error,
            } = noted;
            match files {
                1 => format!(
                    "{example} has moved away from {backend}, but its copy there could not be \
                     removed: {error}"
                ),
                _ => format!(
                    "{files} files have moved away from {backend}, but their copies there could \
                     not be removed, such as {example}: {error}"
                ),
            }
        };
        behind.into_iter().map(line).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_stay_behind_are_told_in_one_line_for_each_backend() {
        let (tell, _) = Tell::new(Progress::default());
        for file in ["x.rrd", "y.rrd", "z.rrd"] {
            tell.left_behind(1, file.as_bytes(), "b is not up".to_owned());
        }
        tell.left_behind(0, b"x.rrd", "Permission denied".to_owned());
        assert_eq!(tell.behind(), [0, 1]);
        tell.left_behind(2, b"x.rrd", "seen again".to_owned());
        tell.forget_behind(|backend| backend == 2);
        let name = |backend: BackendId| ["a", "b", "c"][usize::from(backend)].to_owned();
        assert_eq!(
            tell.told_behind(name),
            [
                "x.rrd has moved away from a, but its copy there could not be removed: Permission \
                 denied",
                "3 files have moved away from b, but their copies there could not be removed, such \
                 as x.rrd: b is not up",
            ]
        );
        assert_eq!(tell.told_behind(name), [""; 0]);
    }
}
