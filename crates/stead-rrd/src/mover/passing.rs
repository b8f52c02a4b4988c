//! A pass: it walks through all files in order and compares the copies of each.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::agreeing::files_of;
use super::carrying::{hidden_on, Mover};
use super::course::Course;
use super::walking::{Gap, Walk};
use crate::backend::Backend;
use crate::files::Files;
use crate::health::Health;
use crate::layout::{BackendId, Copies, Placement};
use crate::lock::lock;

/// How many files are compared at the same time when somebody waits for the result.
const AT_ONCE: usize = 4;

/// How many files are compared before the place is remembered, and how often it is stored.
const PART: usize = 16;
const STORE: Duration = Duration::from_secs(2);

/// How often a backend whose files cannot be listed is tried again, after a second, two, four ...
const TRIES: u32 = 5;

/// For how long a backend has to be down before the check in the background goes on without it,
/// when all copies of another one are in doubt. One that was only started again is back sooner.
const AWAY: Duration = Duration::from_secs(20);

/// The same when nothing is in doubt, and each file has two other copies to compare. What the pass
/// leaves out costs a second pass, so it is better to wait for a machine that is started again.
const LONG_AWAY: Duration = Duration::from_secs(3600);

/// As how many bytes a file counts at least in the background, for the seeks that it costs.
const LEAST_BYTES: u64 = 128 << 10;

impl Mover {
    /// Compares all files that come after the place where the pass is.
    pub(super) async fn pass(self: &Arc<Self>, course: &Course) -> Result<(), String> {
        let after = self.change_pass(course, |pass| pass.after.clone());
        let mut walk = Walk::new(self.sources()?, &after);
        let (mut tries, mut stored) = (0, Instant::now());
        let ended = loop {
            if let Err(reason) = self.may_go_on(course).await {
                break Err(reason);
            }
            let files = match walk.take(PART).await {
                Ok(files) if files.is_empty() => break Ok(()),
                Ok(files) => files,
                Err(gaps) => match self.after_gaps(course, &mut walk, &gaps, &mut tries).await {
                    Ok(()) => continue,
                    Err(reason) => break Err(reason),
                },
            };
            tries = 0;
            if !self.compare_all(course, files).await {
                // the walk is beyond those that are left
                let reason = self.may_go_on(course).await.err();
                break Err(reason.unwrap_or_else(|| "interrupted".to_owned()));
            }
            if stored.elapsed() >= STORE {
                self.store_checks(false).await;
                stored = Instant::now();
            }
        };
        if ended.is_ok() {
            self.tell_hidden(course, &walk);
            self.finish(course);
        }
        self.store_checks(true).await;
        ended
    }

    /// Says which backends may have files that were not compared, because their lists do not show
    /// them.
    fn tell_hidden(&self, course: &Course, walk: &Walk) {
        for (backend, count, example) in walk.hidden() {
            let reason = hidden_on(backend.name(), count, example);
            self.change_pass(course, |pass| pass.leave_out_backend(&reason));
            match &course.tell {
                Some(tell) => tell.failed(0, reason),
                None => tracing::warn!("{reason}, so they were not compared"),
            }
        }
    }

    /// Returns why the pass cannot go on now. Waits while the repair queue is long.
    async fn may_go_on(&self, course: &Course) -> Result<(), String> {
        loop {
            self.files_rest()?;
            match &course.tell {
                Some(tell) if tell.is_stopped() => {
                    return Err("stopped; run it again to continue".to_owned())
                }
                Some(_) => {}
                None => self.may_disturb()?,
            }
            if self.router.shared().repairs.has_room() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    pub(super) fn files_rest(&self) -> Result<(), String> {
        match self.router.shared().layout().target() {
            Some(_) => Err("files are being moved; check them when they have moved".to_owned()),
            None => Ok(()),
        }
    }

    /// Returns why the check in the background has to wait now, for what else the router does.
    pub(super) fn must_wait(&self) -> Option<String> {
        self.files_rest().and_then(|()| self.may_disturb()).err()
    }

    /// Returns why the check in the background has to wait.
    fn may_disturb(&self) -> Result<(), String> {
        if self.progress().is_some_and(|progress| !progress.ended) {
            return Err("files are being moved or repaired".to_owned());
        }
        let asked = lock(&self.checks.latest).clone();
        if asked.is_some_and(|tell| !tell.sender.borrow().ended) {
            return Err("a check that somebody has asked for is running".to_owned());
        }
        let backends = self.router.backends.all();
        let holds_up =
            |backend: &&Arc<Backend>| backend.health() != Health::Up && !self.goes_without(backend);
        match backends.iter().find(holds_up) {
            Some(backend) => Err(format!("backend {} is not up", backend.name())),
            None => Ok(()),
        }
    }

    /// Returns whether the check in the background goes on without this backend. It does while the
    /// backend is away, in two cases: all copies of another backend are in doubt until they have
    /// been compared; or this one has been away for an hour, and the other copies of all its files
    /// can be compared.
    pub(super) fn goes_without(&self, backend: &Backend) -> bool {
        let (health, since, _) = backend.condition();
        let down = since.elapsed().unwrap_or_default();
        health == Health::Down && self.goes_without_after(backend.id(), down)
    }

    /// The same of a backend that has been down for so long.
    pub(super) fn goes_without_after(&self, id: BackendId, down: Duration) -> bool {
        let repairs = &self.router.shared().repairs;
        let is_in_doubt = |other: &Arc<Backend>| {
            other.health() == Health::Up && repairs.is_uncompared(other.id())
        };
        let any_in_doubt = || self.router.backends.all().iter().any(is_in_doubt);
        let has_others = || two_others(self.router.shared().layout().settled(), id);
        down >= AWAY && any_in_doubt() || down >= LONG_AWAY && has_others()
    }

    /// Returns the backends whose files are walked through.
    pub(super) fn sources(&self) -> Result<Vec<(Arc<Backend>, Files)>, String> {
        let backends = self.router.backends.all();
        let source = |backend| Ok((Arc::clone(backend), files_of(backend)?));
        backends.iter().map(source).collect()
    }

    /// Decides what to do when the files of backends cannot be listed.
    async fn after_gaps(
        &self,
        course: &Course,
        walk: &mut Walk,
        gaps: &[Gap],
        tries: &mut u32,
    ) -> Result<(), String> {
        if course.tell.is_none() {
            if let Some(gap) = gaps.iter().find(|gap| !self.goes_without(&gap.backend)) {
                return Err(gap.reason.clone());
            }
        } else if *tries < TRIES {
            tokio::time::sleep(Duration::from_secs(1 << *tries)).await;
            *tries += 1;
            return Ok(());
        }
        *tries = 0;
        for gap in gaps {
            walk.leave_out(gap);
            course.is_unsure.store(true, Relaxed);
            // one that goes on after it had to wait has counted it before
            let is_new = course.tell.is_some() || self.leave_out(gap.backend.id());
            let reason = format!("{}; files that only it has are not seen", gap.reason);
            if is_new {
                self.change_pass(course, |pass| pass.leave_out_backend(&reason));
            }
            if let Some(tell) = &course.tell {
                tell.failed(0, reason);
            }
        }
        Ok(())
    }

    /// Compares these files, and moves the place of the pass behind those that were compared.
    /// Returns whether all of them were.
    async fn compare_all(self: &Arc<Self>, course: &Course, files: Vec<(Vec<u8>, Copies)>) -> bool {
        let at_once = course.tell.as_ref().map_or(1, |_| AT_ONCE);
        let limit = Arc::new(Semaphore::new(at_once));
        let (mut tasks, mut last, mut all) = (JoinSet::new(), None, true);
        for (name, at) in files {
            let Ok(permit) = Arc::clone(&limit).acquire_owned().await else {
                break;
            };
            let stop = match &course.tell {
                Some(tell) => tell.is_stopped(),
                None => self.may_disturb().is_err(),
            };
            if stop || self.files_rest().is_err() {
                all = false;
                break;
            }
            last = Some(name.clone());
            let (mover, rate, slow) =
                (Arc::clone(self), course.rate.clone(), course.tell.is_none());
            tasks.spawn(async move {
                let compared = mover.compare(&name, &at).await;
                let is_seek = slow && (compared.away.is_none() || compared.bytes > 0);
                let least = if is_seek { LEAST_BYTES } else { 0 };
                if let Some(until) = rate.take(compared.bytes.max(least)) {
                    tokio::time::sleep_until(until).await;
                }
                drop(permit);
                (name, compared)
            });
            while let Some(done) = tasks.try_join_next() {
                done.into_iter().for_each(|done| self.note(course, done));
            }
        }
        while let Some(done) = tasks.join_next().await {
            done.into_iter().for_each(|done| self.note(course, done));
        }
        if let Some(last) = last {
            self.change_pass(course, |pass| pass.after = last);
        }
        all
    }
}

/// Returns whether each file that has a copy at this backend has at least two others.
fn two_others(placement: &Placement, id: BackendId) -> bool {
    placement.map().policies().all(|policy| {
        let members = || policy.members().map(|node| placement.all()[node.index()]);
        members().count() > 2 || members().all(|member| member != id)
    })
}
