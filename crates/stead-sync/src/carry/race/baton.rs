//! Lets one actor act at a time: the world, or one of the carriers, each of which is a thread. So a
//! seed decides all that happens.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What a carrier unwinds with when it is killed: nothing that it would have done is done any more.
pub struct Killed;

/// Who may act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    World,
    /// The carrier of this number may go on.
    Given(usize),
    /// It does.
    Taken,
}

/// The right to act.
pub struct Baton {
    turn: Mutex<(Turn, Vec<bool>)>,
    changed: Condvar,
}

impl Baton {
    /// Returns the baton of a world with so many carriers. The world has it.
    pub fn new(carriers: usize) -> Baton {
        Baton {
            turn: Mutex::new((Turn::World, vec![false; carriers])),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Turn, Vec<bool>)> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a carrier go on until it stops again, or ends. With `kill` it does nothing more.
    pub fn give(&self, carrier: usize, kill: bool) {
        let mut now = self.lock();
        *now = (Turn::Given(carrier), std::mem::take(&mut now.1));
        now.1[carrier] = kill;
        self.changed.notify_all();
        while now.0 != Turn::World {
            now = self
                .changed
                .wait(now)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Called by a carrier where others may act: gives the baton back, and waits for it.
    pub fn stop(&self, carrier: usize) {
        self.end();
        self.start(carrier);
    }

    /// Waits for the baton.
    pub fn start(&self, carrier: usize) {
        let mut now = self.lock();
        while now.0 != Turn::Given(carrier) {
            now = self
                .changed
                .wait(now)
                .unwrap_or_else(PoisonError::into_inner);
        }
        now.0 = Turn::Taken;
        let is_killed = now.1[carrier];
        drop(now);
        if is_killed {
            resume_unwind(Box::new(Killed)); // says nothing
        }
    }

    /// Gives the baton back for good.
    pub fn end(&self) {
        self.lock().0 = Turn::World;
        self.changed.notify_all();
    }
}
