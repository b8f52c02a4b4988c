//! One rrdcached, as the router knows it: who it is, what it is offered, and how it is lost.

use std::future::Future;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use tokio::sync::{watch, Notify};

use super::standing::{Access, OwnJournal, Standing};
use super::work::Work;
use crate::connection::Connection;
use crate::files::Files;
use crate::health::Health;
use crate::layout::BackendId;
use crate::lock::lock;
use crate::shared::Shared;
use crate::unflushed::Unflushed;

/// Bytes that may wait in memory; beyond, the log is read instead.
const QUEUE_BYTES: usize = 64 << 20;

/// One rrdcached.
pub struct Backend {
    pub(super) name: String,
    pub(super) id: BackendId,
    pub(super) shared: Arc<Shared>,
    pub(super) standing: Mutex<Standing>,
    pub(super) wake: Notify,
    /// works taken out of the queue and answered, since the start
    pub(super) answered: watch::Sender<u64>,
    pub(super) idle: Mutex<Vec<Connection>>,
    /// for FLUSH alone. Opened before the connection of the writes: so one that works leads to the
    /// very process that has answered the writes, and not to one that came after it and knows
    /// nothing of them
    pub(super) flushing: tokio::sync::Mutex<Option<Connection>>,
    /// rings when it comes up
    pub(super) came_up: Arc<Notify>,
    pub(super) counters: Counters,
}

/// What was counted since the start.
#[derive(Default)]
pub struct Counters {
    /// Lines that were answered.
    pub writes: AtomicU64,
    /// Lines among them that were refused.
    pub refused: AtomicU64,
    /// How often it came up.
    pub ups: AtomicU64,
}

impl Backend {
    /// A backend that is down until [`run`](Backend::run) connects it. `came_up` rings whenever it
    /// has come up.
    pub fn new(
        name: &str,
        id: BackendId,
        access: Access,
        shared: Arc<Shared>,
        came_up: Arc<Notify>,
    ) -> Backend {
        Backend {
            name: name.to_owned(),
            id,
            shared,
            standing: Mutex::new(Standing::new(access)),
            wake: Notify::new(),
            answered: watch::Sender::new(0),
            idle: Mutex::new(Vec::new()),
            flushing: tokio::sync::Mutex::new(None),
            came_up,
            counters: Counters::default(),
        }
    }

    /// Its name in the map.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number.
    pub fn id(&self) -> BackendId {
        self.id
    }

    /// Where it is.
    pub fn access(&self) -> Access {
        self.standing().access.clone()
    }

    /// How its files can be reached.
    pub fn files(&self) -> Option<Files> {
        self.standing().access.files.clone()
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// It is somewhere else from now on.
    pub fn move_to(&self, access: Access) {
        let mut standing = self.standing();
        if standing.access.address != access.address {
            standing.broken = Some("its address has changed".to_owned());
            self.wake.notify_one();
        }
        standing.access = access;
    }

    /// What it can do now.
    pub fn health(&self) -> Health {
        self.standing().health
    }

    /// Its state, since when, and why it is down.
    pub fn condition(&self) -> (Health, SystemTime, Option<String>) {
        let standing = self.standing();
        (standing.health, standing.since, standing.error.clone())
    }

    /// Works and bytes that wait, and files that have not been flushed.
    pub fn waiting(&self) -> (usize, usize, usize) {
        let standing = self.standing();
        (
            standing.queue.iter().map(Work::count).sum(),
            standing.queued_bytes,
            standing.unflushed.len(),
        )
    }

    /// Whether it keeps a journal of its own, as far as it has shown. After a crash it takes
    /// updates that came while a file was written for written, and refuses them when they are sent
    /// again: `wrote` stands behind them in its journal.
    pub fn has_journal(&self) -> bool {
        self.standing().own_journal == OwnJournal::Kept
    }

    /// Gives it writes; the ticket hears at once when it is not up. Writes to one file come in the
    /// order of their records; `held` says that those of other files may have overtaken them.
    pub fn offer(&self, work: Work, held: bool) {
        let mut standing = self.standing();
        let number = work.ticket.number;
        standing.offered = standing.offered.max(number);
        let full = standing.queued_bytes + work.size() > QUEUE_BYTES && !standing.queue.is_empty();
        if standing.health != Health::Up || full {
            if held || standing.version != self.shared.layout().version() {
                standing.late = Some(standing.late.map_or(number, |late| late.min(number)));
            }
            if standing.health == Health::Up {
                standing.health = Health::Behind; // the task sends what waits and goes on from the log
                self.wake.notify_one();
            }
            drop(standing);
            work.ticket.lost();
            return;
        }
        standing.queued_bytes += work.size();
        standing.pushed += 1;
        standing.queue.push_back(work);
        drop(standing);
        self.wake.notify_one();
    }

    /// Waits until all that it was offered up to now is answered.
    pub async fn caught_up(&self) -> io::Result<()> {
        let (pushed, losses) = {
            let standing = self.standing();
            self.check_up(standing.health)?;
            (standing.pushed, standing.losses)
        };
        let mut answered = self.answered.subscribe();
        while *answered.borrow_and_update() < pushed {
            self.in_time(async {
                answered
                    .changed()
                    .await
                    .map_err(|_| io::ErrorKind::ConnectionReset.into())
            })
            .await?;
        }
        let standing = self.standing();
        self.check_up(standing.health)?;
        if standing.losses != losses {
            Err(io::ErrorKind::ConnectionReset.into())
        } else {
            Ok(())
        }
    }

    fn check_up(&self, health: Health) -> io::Result<()> {
        match health {
            Health::Up => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                format!("{} is not up", self.name),
            )),
        }
    }

    /// A failure that concerns all connections.
    pub(super) fn broken(&self, error: io::Error) -> io::Error {
        self.standing().broken = Some(error.to_string());
        self.wake.notify_one();
        error
    }

    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        let patience = self.shared.options.patience;
        let late = |_| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer within {} s", patience.as_secs_f64()),
            ))
        };
        tokio::time::timeout(patience, work)
            .await
            .unwrap_or_else(late)
    }

    /// It is lost, or gone for good: nobody waits for it any more.
    pub fn down(&self, error: &io::Error) {
        let mut standing = self.standing();
        if standing.health != Health::Down {
            standing.become_(Health::Down);
        }
        standing.error = Some(error.to_string());
        standing.losses += 1;
        let works = std::mem::take(&mut standing.queue);
        standing.queued_bytes = 0;
        standing.sending = None;
        standing.late = None; // what it has not confirmed is read again in any case
        standing.flushed = None;
        // it may have lost what it had in memory: all that is not confirmed comes again
        standing.unflushed = Unflushed::default();
        let pushed = standing.pushed;
        drop(standing);
        works.iter().for_each(|work| work.ticket.lost());
        lock(&self.idle).clear();
        self.answered.send_replace(pushed);
    }

    /// The directory of its files as it writes it in answers; empty before the first connection.
    pub(super) fn base(&self) -> Arc<[u8]> {
        Arc::clone(&self.standing().base)
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        lock(&self.standing)
    }
}
