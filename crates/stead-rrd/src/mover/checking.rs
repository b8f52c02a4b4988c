//! Checks of all copies: one that somebody asks for, and a slow one in the background. A check is a
//! pass over all files.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::carrying::Mover;
use super::course::Course;
use super::telling::{Ends, Tell};
use crate::clock::now;
use crate::files::Rate;
use crate::health::Health;
use crate::layout::BackendId;
use crate::lock::lock;
use crate::passes::Pass;
use crate::status::{Findings, Progress};

/// The pause before the check in the background goes on after a start of the router.
const START: Duration = Duration::from_secs(60);

/// How often an address that has changed is looked for meanwhile.
const LOOK: Duration = Duration::from_secs(1);

/// The pause of the check in the background while it cannot go on.
const PAUSE: Duration = Duration::from_secs(5);

impl Mover {
    /// Starts to compare the copies of every file, at most `rate` bytes a second. Continues the
    /// check that was stopped last, unless `restart` is set. Stops when nobody listens any more.
    pub fn start_check(
        self: &Arc<Self>,
        rate: Option<u64>,
        restart: bool,
    ) -> Result<watch::Receiver<Progress>, String> {
        let asked = Arc::clone(&self.checks.asked)
            .try_lock_owned()
            .map_err(|_| "a check is already running".to_owned())?;
        self.sources()?;
        self.files_rest()?;
        // a check that continues has compared some files before
        let addresses = self.router.shared().repairs.addresses();
        let (epoch, continued, pass, files) = {
            let mut passes = lock(&self.checks.passes);
            let old = passes.asked.take().filter(|_| !restart);
            let continued = old.as_ref().map(|pass| pass.began);
            let pass = old.unwrap_or_else(|| Pass {
                began: now(),
                ..Pass::default()
            });
            passes.asked = Some(pass.clone());
            let files = passes.last.as_ref().map_or(0, |last| last.files);
            let epoch = self.router.shared().layout().settled().map().epoch();
            (epoch, continued, pass, files)
        };
        let (tell, progress) = Tell::new(Progress {
            from_epoch: epoch,
            to_epoch: epoch,
            files: files.max(pass.files),
            done: pass.files - pass.skipped,
            failed: pass.skipped,
            started: now(),
            check: Some(Findings {
                differing: pass.differing,
                strays: pass.strays,
                needed: pass.needed,
                continued,
                ..Findings::default()
            }),
            ..Progress::default()
        });
        let tell = Arc::new(tell);
        *lock(&self.checks.latest) = Some(Arc::clone(&tell));
        let (mover, course) = (
            Arc::clone(self),
            Course {
                rate: Rate::new(rate),
                tell: Some(Arc::clone(&tell)),
                is_unsure: AtomicBool::default(),
            },
        );
        tokio::spawn(async move {
            let ends = Ends(Arc::clone(&tell));
            match mover.pass(&course).await {
                Ok(()) if continued.is_none() => mover.compared(&course, addresses),
                Ok(()) => {}
                Err(reason) => tell.failed(0, reason),
            }
            drop(asked);
            drop(ends);
        });
        Ok(progress)
    }

    /// Compares all copies again and again, slowly; at once when a backend has another address,
    /// since the copies there may be older than what the log still has. Never returns.
    pub async fn keep_checked(self: Arc<Self>, rate: u64) {
        let every = self.checks.every.load(Relaxed);
        if every == 0 {
            return;
        }
        let course = Course {
            rate: Rate::new(Some(rate)),
            tell: None,
            is_unsure: AtomicBool::default(),
        };
        // a router that was just started has more important things to do
        let mut pause = START;
        let repairs = &self.router.shared().repairs;
        // A move that goes on after a start may have changed some before, and a backend may not
        // have been compared since a change in an earlier run. Of that one it is not known whether
        // it was before the pass that goes on, so the pass begins anew.
        let mut seen = 0;
        loop {
            let end = Instant::now() + pause.min(Duration::from_secs(every));
            while Instant::now() < end && repairs.addresses() == seen {
                tokio::time::sleep(LOOK.min(end.saturating_duration_since(Instant::now()))).await;
            }
            pause = PAUSE;
            {
                let is_back = self.left_out_is_back();
                let mut passes = lock(&self.checks.passes);
                let last = passes.last.as_ref().map(|last| last.began + every);
                let is_due = is_back.unwrap_or_else(|| last.is_none_or(|due| now() >= due));
                if repairs.addresses() != seen {
                    seen = repairs.addresses();
                    passes.slow = None;
                    tracing::info!(
                        "a backend has another address or another directory of files, and the \
                         copies there may be older: all copies are compared"
                    );
                } else if passes.slow.is_none() && !is_due {
                    continue;
                }
                passes.slow.get_or_insert_with(|| {
                    course.is_unsure.store(false, Relaxed);
                    lock(&self.checks.left_out).clear();
                    Pass {
                        began: now(),
                        ..Pass::default()
                    }
                });
            }
            *lock(&self.checks.waits) = None;
            let waits = self.pass(&course).await.err();
            if waits.is_none() {
                self.compared(&course, seen);
            }
            *lock(&self.checks.waits) = waits.filter(|_| self.must_wait().is_none());
        }
    }

    /// Returns whether a backend is up again that the last pass has left out, or the map has none
    /// of these any more. Returns `None` if nothing was left out.
    fn left_out_is_back(&self) -> Option<bool> {
        let left_out = lock(&self.checks.left_out).clone();
        let all = self.router.backends.all();
        let mut states = all
            .iter()
            .filter(|backend| left_out.contains(&backend.id()))
            .map(|backend| backend.health())
            .peekable();
        let is_back = states.peek().is_none() || states.any(|health| health == Health::Up);
        (!left_out.is_empty()).then_some(is_back)
    }

    /// Goes on without this backend. Returns whether the pass has not left it out before.
    pub(super) fn leave_out(&self, id: BackendId) -> bool {
        let is_new = lock(&self.checks.left_out).insert(id);
        if is_new {
            let backend = self.router.backends.get(id);
            let name = backend.name();
            tracing::info!(
                backend = name,
                "the check in the background goes on without {name}, which is not up, and is made \
                again when it is"
            );
        }
        is_new
    }

    /// Notes that a pass has come to its end that began after so many changes of an address.
    fn compared(&self, course: &Course, addresses: u64) {
        if !course.is_unsure.load(Relaxed) {
            self.router.shared().repairs.compared(addresses);
        }
    }
}
