//! The thread that keeps house: makes the next segment ready, stores positions, removes segments
//! that every backend has confirmed.
//!
//! Positions are stored when that lets a segment go, else at most once a second: one that is lost
//! costs a repetition, and storing it competes with the writer for the disk.

use std::fs;
use std::io;
use std::sync::PoisonError;
use std::time::Duration;

use super::positions::{failed, Trouble};
use super::segment::prepare;
use super::{Inside, Shared};

/// How long positions may wait, and after what time something that failed for want of room is tried
/// again.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn run(log: &Shared) {
    let mut inside = log.inside();
    let mut due = false;
    while !inside.closing && inside.broken.is_none() {
        let spare = inside.spare.is_none()
            && inside.no_spare.is_none()
            && inside.total + log.options.segment <= log.options.bound;
        let save = due && inside.unsaved || inside.trimmable() && inside.not_saved.is_none();
        if spare {
            inside = make_spare(log, inside);
        } else if save {
            due = false;
            drop(inside);
            let _ = log.save(); // who needs the room is told why
            inside = log.inside();
        } else if inside.unsaved || inside.no_spare.is_some() || inside.not_saved.is_some() {
            let (guard, waited) = log
                .chores
                .wait_timeout(inside, PAUSE)
                .unwrap_or_else(PoisonError::into_inner);
            inside = guard;
            if waited.timed_out() {
                due = true;
                (inside.no_spare, inside.not_saved) = (None, None);
            }
        } else {
            inside = log
                .chores
                .wait(inside)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn make_spare<'a>(
    log: &'a Shared,
    mut inside: std::sync::MutexGuard<'a, Inside>,
) -> std::sync::MutexGuard<'a, Inside> {
    let path = log.dir.join(format!("spare-{}.tmp", inside.spares));
    inside.spares += 1;
    drop(inside);
    let made = prepare(&path, log.options.segment, &*log.disk);
    let mut inside = log.inside();
    match made {
        Ok(file) => {
            inside.total += log.options.segment;
            inside.spare = Some((path, file));
        }
        Err(error) => inside.no_spare = Some((error.kind(), error.to_string())),
    }
    log.ready.notify_all();
    inside
}

impl Shared {
    /// Stores the positions, then removes what they say nobody needs: never the other way round.
    pub(super) fn save(&self) -> io::Result<()> {
        let _pen = self.pen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inside = self.inside();
        inside.positions.durable = inside.newest;
        inside.unsaved = false;
        let positions = inside.positions.clone();
        drop(inside);
        let saved = positions
            .store(&self.dir, &*self.disk)
            .and_then(|()| self.trim(positions.floor()).map_err(Trouble::Final));
        if let Err(Trouble::Final(error)) = &saved {
            self.give_up(error);
        }
        let mut inside = self.inside();
        inside.unsaved |= saved.is_err();
        inside.not_saved = saved.as_ref().err().map(ToString::to_string);
        self.ready.notify_all();
        self.chores.notify_all();
        saved.map_err(Trouble::error)
    }

    /// Removes the segments whose records are all at or below `floor`, oldest first; the last one
    /// stays.
    fn trim(&self, floor: Option<u64>) -> io::Result<()> {
        let Some(floor) = floor else { return Ok(()) };
        loop {
            let inside = self.inside();
            let Some(oldest) = inside
                .segments
                .front()
                .filter(|_| {
                    inside
                        .segments
                        .get(1)
                        .is_some_and(|next| next.base <= floor + 1)
                })
                .cloned()
            else {
                return Ok(());
            };
            drop(inside);
            fs::remove_file(&oldest.path).map_err(|e| failed("remove", &oldest.path, e))?;
            let mut inside = self.inside();
            inside.segments.pop_front();
            inside.total -= oldest.size;
            inside.no_spare = None;
        }
    }
}
