//! Checks of all copies: one that somebody asks for, and a slow one in the background.
//!
//! Both walk through all files in order and remember on disk where they are. What they find is in
//! the repair queue on disk before they remember that they have passed it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{watch, Semaphore};
use tokio::task::JoinSet;

use super::carrying::{files_of, Mover};
use super::comparing::Compared;
use super::telling::{Ends, Tell};
use super::walking::{Gap, Walk};
use crate::backend::Backend;
use crate::clock::now;
use crate::files::{Files, Rate};
use crate::health::Health;
use crate::layout::Copies;
use crate::lock::lock;
use crate::passes::{Pass, Passes};
use crate::status::{CheckStatus, Findings, Progress};

/// How many files are compared at the same time when somebody waits for the result.
const AT_ONCE: usize = 4;

/// How many files are compared before the place is remembered, and how often it is stored.
const PART: usize = 16;
const STORE: Duration = Duration::from_secs(2);

/// How many findings are reported to the caller. The messages of the router have all.
const LINES: usize = 100;

/// How often a backend whose files cannot be listed is tried again, after a second, two, four ...
const TRIES: u32 = 5;

/// The pause of the check in the background while it cannot go on.
const WAIT: Duration = Duration::from_secs(5);

/// The pause before it goes on after a start of the router.
const START: Duration = Duration::from_secs(60);

/// As how many bytes a file counts at least in the background, for the seeks that it costs.
const LEAST_BYTES: u64 = 128 << 10;

/// How a pass is made.
struct Course {
    rate: Rate,
    /// who has asked for it; `None` in the background
    tell: Option<Arc<Tell>>,
}

impl Mover {
    /// Takes up where the checks were when the router last stopped. A pass begins in the background
    /// `every` after the one before it; none if that is zero.
    pub fn load_checks(&self, every: Duration) -> Result<(), String> {
        self.checks
            .every
            .store(every.as_secs().max(u64::from(!every.is_zero())), Relaxed);
        let stored = self.state.checks().map_err(|error| error.to_string())?;
        match stored.map_or(Ok(Passes::default()), |text| Passes::read(&text)) {
            Ok(passes) => *lock(&self.checks.passes) = passes,
            // it would only save work
            Err(error) => tracing::warn!(
                error,
                "the file `checks` is damaged, so the checks begin again: {error}"
            ),
        }
        Ok(())
    }

    /// Returns how far the checks have come.
    pub fn check_status(&self) -> CheckStatus {
        let passes = lock(&self.checks.passes).clone();
        let asked = lock(&self.checks.latest)
            .as_ref()
            .map(|tell| tell.sender.borrow().clone())
            .filter(|asked| !asked.ended);
        CheckStatus {
            every: self.checks.every.load(Relaxed),
            slow: passes.slow,
            waits: lock(&self.checks.waits).clone(),
            last: passes.last,
            asked,
            compared: self.checks.compared.load(Relaxed),
            differing: self.checks.differing.load(Relaxed),
        }
    }

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
            },
        );
        tokio::spawn(async move {
            let ends = Ends(Arc::clone(&tell));
            if let Err(reason) = mover.pass(&course).await {
                tell.failed(0, reason);
            }
            drop(asked);
            drop(ends);
        });
        Ok(progress)
    }

    /// Compares all copies again and again, slowly. Never returns.
    pub async fn keep_checked(self: Arc<Self>, rate: u64) {
        let every = self.checks.every.load(Relaxed);
        if every == 0 {
            return;
        }
        let course = Course {
            rate: Rate::new(Some(rate)),
            tell: None,
        };
        // a router that was just started has more important things to do
        let mut pause = START;
        loop {
            tokio::time::sleep(pause.min(Duration::from_secs(every))).await;
            pause = WAIT;
            {
                let mut passes = lock(&self.checks.passes);
                let last = passes.last.as_ref().map(|last| last.began + every);
                if passes.slow.is_none() && last.is_some_and(|due| now() < due) {
                    continue;
                }
                passes.slow.get_or_insert_with(|| Pass {
                    began: now(),
                    ..Pass::default()
                });
            }
            let waits = self.pass(&course).await.err();
            *lock(&self.checks.waits) = waits;
        }
    }

    /// Compares all files that come after the place where the pass is.
    async fn pass(self: &Arc<Self>, course: &Course) -> Result<(), String> {
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
                Err(gap) => match self.after_gap(course, &mut walk, &gap, &mut tries).await {
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
            self.finish(course);
        }
        self.store_checks(true).await;
        ended
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

    fn files_rest(&self) -> Result<(), String> {
        match self.router.shared().layout().target() {
            Some(_) => Err("files are being moved; check them when they have moved".to_owned()),
            None => Ok(()),
        }
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
        match backends
            .iter()
            .find(|backend| backend.health() != Health::Up)
        {
            Some(backend) => Err(format!("backend {} is not up", backend.name())),
            None => Ok(()),
        }
    }

    /// Returns the backends whose files are walked through.
    fn sources(&self) -> Result<Vec<(Arc<Backend>, Files)>, String> {
        let backends = self.router.backends.all();
        let source = |backend| Ok((Arc::clone(backend), files_of(backend)?));
        backends.iter().map(source).collect()
    }

    /// Decides what to do when a backend's files cannot be listed.
    async fn after_gap(
        &self,
        course: &Course,
        walk: &mut Walk,
        gap: &Gap,
        tries: &mut u32,
    ) -> Result<(), String> {
        let Some(tell) = &course.tell else {
            return Err(gap.reason.clone());
        };
        if *tries < TRIES {
            tokio::time::sleep(Duration::from_secs(1 << *tries)).await;
            *tries += 1;
        } else {
            *tries = 0;
            walk.leave_out(gap);
            tell.failed(
                0,
                format!("{}; files that only it has are not seen", gap.reason),
            );
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
                let least = if slow { LEAST_BYTES } else { 0 };
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

    /// Counts and reports what was found of a file.
    fn note(&self, course: &Course, (name, compared): (Vec<u8>, Compared)) {
        let file = String::from_utf8_lossy(&name).into_owned();
        let (differs, skipped) = (compared.differs.is_some(), compared.skipped.is_some());
        let strays = compared.strays.len() as u64;
        self.change_pass(course, |pass| {
            pass.files += 1;
            pass.differing += u64::from(differs);
            pass.misplaced += u64::from(compared.misplaced);
            pass.skipped += u64::from(skipped);
            pass.strays += strays;
            pass.bytes += compared.bytes;
        });
        self.checks.compared.fetch_add(u64::from(!skipped), Relaxed);
        self.checks.differing.fetch_add(u64::from(differs), Relaxed);
        let mut line = None;
        if let Some(what) = &compared.differs {
            tracing::warn!(file, "the copies of {file} differ: {what}");
            line = Some(format!("{file}: {what}"));
        } else if let [_, ..] = &compared.strays[..] {
            let backends = compared.strays.join(", ");
            tracing::warn!(
                file,
                backends,
                "{backends} has a copy of {file} where the map does not place it; it may be removed"
            );
            line = Some(format!(
                "{file}: also on {backends}, where the map does not place it"
            ));
        }
        let Some(tell) = &course.tell else { return };
        tell.change(|progress| {
            if let Some(findings) = &mut progress.check {
                findings.differing += u64::from(differs);
                findings.strays += strays;
                let room = findings.lines.len() < LINES;
                findings.lines.extend(line.filter(|_| room));
            }
            progress.done += u64::from(!skipped);
            progress.files = progress.files.max(progress.done + progress.failed);
        });
        tell.carried(compared.bytes);
        if let Some(reason) = compared.skipped {
            tell.failed(1, format!("{file}: {reason}"));
        }
    }

    /// Records that the pass has come to its end.
    fn finish(&self, course: &Course) {
        let mut passes = lock(&self.checks.passes);
        let asked = course.tell.is_some();
        let pass = if asked {
            passes.asked.take()
        } else {
            passes.slow.take()
        };
        let Some(mut pass) = pass else { return };
        pass.ended = now();
        pass.after = Vec::new();
        let Pass {
            files,
            differing,
            skipped,
            ..
        } = pass;
        tracing::info!(
            files,
            differing,
            skipped,
            "the copies of {files} files were compared: {differing} differed, {skipped} could not \
            be compared"
        );
        // one that has not seen everything does not spare the next one
        if !asked || skipped == 0 {
            passes.last = Some(pass);
        }
        drop(passes);
        if let Some(tell) = &course.tell {
            tell.change(|progress| {
                progress.files = progress.done + progress.failed;
                progress
                    .check
                    .iter_mut()
                    .for_each(|check| check.whole = true);
            });
        }
    }

    fn change_pass<T: Default>(&self, course: &Course, change: impl FnOnce(&mut Pass) -> T) -> T {
        let mut passes = lock(&self.checks.passes);
        let pass = match course.tell {
            Some(_) => &mut passes.asked,
            None => &mut passes.slow,
        };
        pass.as_mut().map(change).unwrap_or_default()
    }

    /// Stores where the checks are, unless differences that they have found are not stored yet.
    /// With `wait`, waits for these for a while.
    async fn store_checks(&self, wait: bool) {
        let repairs = &self.router.shared().repairs;
        let passes = lock(&self.checks.passes).clone();
        let version = repairs.version();
        let until = Instant::now() + WAIT;
        while !repairs.is_stored(version) {
            if !wait || Instant::now() > until {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let stored = match passes.text() {
            Ok(text) => self.state.store_checks(text).await,
            Err(error) => Err(std::io::Error::other(error)),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "where the check is cannot be stored: {error}");
        }
    }
}
