//! What a pass has found, and how far it has come: counted, reported, and kept on disk.
//!
//! What differs is in the repair queue on disk before the place behind it is.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::carrying::Mover;
use super::comparing::Compared;
use super::course::Course;
use super::straying::Stray;
use crate::clock::now;
use crate::lock::lock;
use crate::passes::{Pass, Passes};
use crate::status::CheckStatus;

/// How many findings are reported to the caller. The messages of the router have all.
const LINES: usize = 100;

/// How long the place waits at the end of a pass until what was found before it is stored.
const WAIT: Duration = Duration::from_secs(5);

impl Mover {
    /// Takes up where the checks were when the router last stopped. A pass begins in the background
    /// `every` after the one before it; none if that is zero.
    pub fn load_checks(&self, every: Duration) -> Result<(), String> {
        self.checks
            .every
            .store(every.as_secs().max(u64::from(!every.is_zero())), Relaxed);
        let stored = self.state.checks().map_err(|error| error.to_string())?;
        match stored.map_or(Ok(Passes::default()), |text| Passes::read(&text)) {
            Ok(passes) => {
                *lock(&self.checks.passes) = passes.taken_up(now(), !every.is_zero());
            }
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
        let waits = passes.slow.as_ref().and_then(|_| {
            let other = || lock(&self.checks.waits).clone();
            self.must_wait().or_else(other)
        });
        let left_out = lock(&self.checks.left_out).clone();
        let backends = self.router.backends.all().into_iter();
        let left_out = backends
            .filter(|backend| left_out.contains(&backend.id()))
            .map(|backend| backend.name().to_owned())
            .collect();
        CheckStatus {
            every: self.checks.every.load(Relaxed),
            slow: passes.slow,
            waits,
            last: passes.last,
            incomplete: passes.incomplete,
            left_out,
            asked,
            compared: self.checks.compared.load(Relaxed),
            differing: self.checks.differing.load(Relaxed),
        }
    }

    /// Counts and reports what was found of a file.
    pub(super) fn note(&self, course: &Course, (name, compared): (Vec<u8>, Compared)) {
        let file = String::from_utf8_lossy(&name).into_owned();
        let (differs, skipped) = (compared.differs.is_some(), compared.skipped.is_some());
        let strays = compared.strays.len() as u64;
        let (spare, needed): (Vec<&Stray>, Vec<&Stray>) =
            compared.strays.iter().partition(|stray| stray.is_spare());
        self.change_pass(course, |pass| {
            pass.files += 1;
            pass.differing += u64::from(differs);
            pass.misplaced += u64::from(compared.misplaced);
            if let Some(reason) = &compared.skipped {
                pass.skip(|| format!("{file}: {reason}"));
            }
            pass.strays += strays;
            pass.needed += needed.len() as u64;
            pass.bytes += compared.bytes;
        });
        if skipped {
            let shared = self.router.shared();
            let mut copies = shared.layout().now(&name).into_iter();
            let is_unsure = copies.any(|id| shared.repairs.is_uncompared(id));
            if is_unsure {
                course.is_unsure.store(true, Relaxed);
            }
            let goes_without = |id| self.goes_without(&self.router.backends.get(id));
            let away = compared.away.filter(|_| course.tell.is_none());
            if let Some(away) = away.filter(|id| is_unsure || differs || goes_without(*id)) {
                self.leave_out(away);
            }
        }
        self.checks.compared.fetch_add(u64::from(!skipped), Relaxed);
        self.checks.differing.fetch_add(u64::from(differs), Relaxed);
        let mut lines = Vec::new();
        if let Some(what) = &compared.differs {
            tracing::warn!(file, "the copies of {file} differ: {what}");
            lines.push(format!("{file}: {what}"));
        } else if let [_, ..] = &spare[..] {
            let backends: Vec<&str> = spare.iter().map(|stray| &*stray.backend).collect();
            let backends = backends.join(", ");
            tracing::warn!(
                file,
                backends,
                "{backends} has a copy of {file} where the map does not place it, with nothing \
                that the right copies lack; it may be removed"
            );
            lines.push(format!(
                "{file}: also on {backends}, where the map does not place it"
            ));
        }
        for stray in &needed {
            let (backend, what) = (&stray.backend, stray.described());
            tracing::warn!(
                file,
                backend,
                "{file} is {what}: keep it until it is merged"
            );
            lines.push(format!("{file}: {what}"));
        }
        let Some(tell) = &course.tell else { return };
        tell.change(|progress| {
            if let Some(findings) = &mut progress.check {
                findings.differing += u64::from(differs);
                findings.strays += strays;
                findings.needed += needed.len() as u64;
                let room = LINES.saturating_sub(findings.lines.len());
                findings.lines.extend(lines.into_iter().take(room));
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
    pub(super) fn finish(&self, course: &Course) {
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
            unlisted,
            ..
        } = pass;
        tracing::info!(
            files,
            differing,
            skipped,
            "the copies of {files} files were compared: {differing} differed, {skipped} could not \
            be compared"
        );
        let is_whole = skipped == 0 && unlisted == 0;
        passes.incomplete = Some(pass.clone()).filter(|_| !is_whole);
        let mut left_out = lock(&self.checks.left_out);
        if is_whole && passes.slow.is_none() {
            left_out.clear();
        }
        // one that has not seen everything does not spare the next one
        if is_whole || (!asked && left_out.is_empty()) {
            passes.last = Some(pass);
        }
        drop((passes, left_out));
        if let Some(tell) = &course.tell {
            if unlisted > 0 && tell.sender.borrow().reasons.is_empty() {
                let before =
                    "an earlier part of this check has not seen all files: begin it again \
                    with --restart";
                tell.failed(0, before.to_owned());
            }
            tell.change(|progress| {
                progress.files = progress.done + progress.failed;
                progress
                    .check
                    .iter_mut()
                    .for_each(|check| check.whole = true);
            });
        }
    }

    /// Changes the pass of this course.
    pub(super) fn change_pass<T: Default>(
        &self,
        course: &Course,
        change: impl FnOnce(&mut Pass) -> T,
    ) -> T {
        let mut passes = lock(&self.checks.passes);
        let pass = match course.tell {
            Some(_) => &mut passes.asked,
            None => &mut passes.slow,
        };
        pass.as_mut().map(change).unwrap_or_default()
    }

    /// Stores where the checks are, unless differences that they have found are not stored yet.
    /// With `wait`, waits for these for a while.
    pub(super) async fn store_checks(&self, wait: bool) {
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
