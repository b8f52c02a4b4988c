//! One rrdcached as the router knows it: its identity, what it is offered, and how it is lost.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::sync::{watch, Notify};

use super::standing::{Access, OwnJournal, Standing, BATCH_LINES};
use super::turns::Turns;
use super::work::Work;
use crate::connection::Connection;
use crate::files::Files;
use crate::health::Health;
use crate::layout::BackendId;
use crate::lock::lock;
use crate::settling::Settling;
use crate::shared::Shared;
use crate::unflushed::Unflushed;

/// The most bytes that may wait in memory; beyond them, the backend reads the log instead.
const QUEUE_BYTES: usize = 64 << 20;

/// One rrdcached.
pub struct Backend {
    pub(super) name: String,
    pub(super) id: BackendId,
    pub(super) shared: Arc<Shared>,
    pub(super) standing: Mutex<Standing>,
    pub(super) wake: Notify,
    /// how many items of work were taken out of the queue and answered since the start
    pub(super) answered: watch::Sender<u64>,
    pub(super) idle: Mutex<Vec<Connection>>,
    /// the order of what makes it write a file
    pub(super) turns: Turns,
    /// A connection that is used for FLUSH only. It is opened before the connection of the writes.
    /// So as long as it works, it leads to the process that answered the writes, and not to a later
    /// one that knows nothing of them.
    pub(super) flushing: tokio::sync::Mutex<Option<Connection>>,
    /// notified when the backend comes up
    pub(super) came_up: Arc<Notify>,
    pub(super) counters: Counters,
    /// how many reads wait for an answer longer than is usual
    overdue: AtomicU64,
}

/// A read that waits for an answer longer than is usual, until it is dropped.
pub struct Overdue<'a>(&'a AtomicU64);

impl Drop for Overdue<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counters since the start.
#[derive(Default)]
pub struct Counters {
    /// How many lines were answered.
    pub writes: AtomicU64,
    /// How many of these lines were refused.
    pub refused: AtomicU64,
    /// How often the backend came up.
    pub ups: AtomicU64,
}

impl Backend {
    /// Returns a backend that is down until [`run`](Backend::run) connects it. `came_up` is
    /// notified each time the backend comes up.
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
            turns: Turns::default(),
            flushing: tokio::sync::Mutex::new(None),
            came_up,
            counters: Counters::default(),
            overdue: AtomicU64::new(0),
        }
    }

    /// Returns the backend's name in the map.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the backend's number.
    pub fn id(&self) -> BackendId {
        self.id
    }

    /// Returns the backend's addresses.
    pub fn access(&self) -> Access {
        self.standing().access.clone()
    }

    /// Returns how the backend's files can be reached.
    pub fn files(&self) -> Option<Files> {
        self.standing().access.files.clone()
    }

    /// Returns why the backend's files cannot be reached, as it was when they were last looked at.
    pub fn files_error(&self) -> Option<String> {
        let error = self.standing().files_error.clone();
        error.or_else(|| self.proof().map(|_| self.two_directories()))
    }

    /// Records whether the backend's files can be reached. Returns whether that is news.
    pub fn files_are(&self, error: Option<String>) -> bool {
        let mut standing = self.standing();
        let news = standing.files_error.is_some() != error.is_some();
        standing.files_error = error;
        news
    }

    /// Returns the backend's counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Records that a read waits longer than is usual, until what is returned is dropped.
    pub fn overdue(&self) -> Overdue<'_> {
        self.overdue.fetch_add(1, Ordering::Relaxed);
        Overdue(&self.overdue)
    }

    /// Returns whether a read waits longer than is usual.
    pub fn is_overdue(&self) -> bool {
        self.overdue.load(Ordering::Relaxed) > 0
    }

    /// Changes the backend's addresses.
    pub fn move_to(&self, access: Access) {
        let mut standing = self.standing();
        if standing.access.address != access.address {
            standing.broken = Some("its address has changed".to_owned());
            self.shared.repairs.readdressed(self.id);
            self.wake.notify_one();
        }
        let files = |access: &Access| access.files.as_ref().map(Files::to_string);
        if standing.access.address != access.address || files(&standing.access) != files(&access) {
            standing.two_directories = None; // to be found out anew
        }
        standing.access = access;
    }

    /// Returns what the backend can do now.
    pub fn health(&self) -> Health {
        self.standing().health
    }

    /// Returns the backend's state, since when it has it, and why it is down.
    pub fn condition(&self) -> (Health, SystemTime, Option<String>) {
        let standing = self.standing();
        (standing.health, standing.since, standing.error.clone())
    }

    /// Returns how many works and bytes wait, and how many files have not been flushed.
    pub fn waiting(&self) -> (usize, usize, usize) {
        let standing = self.standing();
        (
            standing.queue.iter().map(Work::count).sum(),
            standing.queued_bytes,
            standing.unflushed.len(),
        )
    }

    /// Returns whether the server has yet to get, or to answer, writes.
    pub fn has_to_get(&self) -> bool {
        let standing = self.standing();
        match standing.health {
            Health::Up => standing.oldest().is_some(),
            // it gets them from the log, whose files are open although their names are gone
            Health::Behind | Health::Down => {
                self.shared.log.confirmed(&self.name) < self.shared.log.newest()
            }
        }
    }

    /// Returns for how long the oldest work waits for its answer.
    pub fn lag(&self) -> Duration {
        let oldest = self.standing().oldest();
        oldest.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Returns how many files the last turn of flushing could not flush, because they are suspended
    /// or because the backend refused.
    pub fn stuck(&self) -> usize {
        self.standing().stuck
    }

    /// Returns whether the backend is known to keep a journal of its own. In the journal, `wrote`
    /// stands after updates that came while their file was being written. So after a crash the
    /// backend believes that these updates were written, and refuses them when they are sent again.
    pub fn has_journal(&self) -> bool {
        self.standing().own_journal == OwnJournal::Kept
    }

    /// Offers writes to the backend. If it is not up, the ticket is told at once. Writes to one
    /// file are offered in the order of their records. `held` means that writes to other files may
    /// have overtaken these.
    ///
    /// Returns whether more waits for the backend than [`Backlog`](crate::shared::Backlog) allows,
    /// or `None` if it is not up.
    pub fn offer(&self, work: Work, held: bool) -> Option<bool> {
        let mut standing = self.standing();
        let number = work.ticket.number;
        standing.offered = standing.offered.max(number);
        let full = standing.queued_bytes + work.size() > QUEUE_BYTES && !standing.queue.is_empty();
        if standing.health != Health::Up || full {
            if held || standing.version != self.shared.layout().version() {
                standing.late = Some(standing.late.map_or(number, |late| late.min(number)));
            }
            if standing.health == Health::Up {
                standing.health = Health::Behind; // the task empties the queue, then reads the log
                self.wake.notify_one();
            }
            drop(standing);
            work.ticket.lost();
            return None;
        }
        let backlog = &self.shared.options.backlog;
        let waits = |since| work.since.saturating_duration_since(since) > backlog.age;
        let crowded = standing.queued_bytes > backlog.bytes || standing.oldest().is_some_and(waits);
        standing.queued_bytes += work.size();
        standing.queued_lines += work.count();
        standing.pushed += 1;
        // while nobody waits, the works wait for more of them, and the task need not know
        let first = standing.queue.is_empty();
        let urgent = !work.ticket.early || crowded || standing.queued_lines >= BATCH_LINES;
        let wakes = first || urgent && !standing.urgent;
        standing.urgent |= urgent;
        standing.queue.push_back(work);
        drop(standing);
        if wakes {
            self.wake.notify_one();
        }
        Some(crowded)
    }

    /// Waits until everything that the backend was offered so far is answered.
    pub async fn caught_up(&self) -> io::Result<()> {
        self.caught_up_with(None).await
    }

    /// Waits until the writes to this file that the backend was offered so far are answered, or,
    /// with `None`, all writes.
    pub(super) async fn caught_up_with(&self, name: Option<&[u8]>) -> io::Result<()> {
        let (pushed, losses) = {
            let mut standing = self.standing();
            self.check_up(standing.health)?;
            let later = name.map_or(0, |name| standing.queued_after(name));
            if !standing.urgent && later < standing.queue.len() {
                standing.urgent = true;
                self.wake.notify_one();
            }
            (standing.pushed - later as u64, standing.losses)
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

    /// Reports a failure that concerns all connections of this backend.
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

    /// Marks the backend as lost, or as gone for good: nobody waits for it any more.
    pub fn down(&self, error: &io::Error) {
        let mut standing = self.standing();
        if standing.health != Health::Down {
            standing.become_(Health::Down);
        }
        standing.error = Some(error.to_string());
        standing.losses += 1;
        let works = std::mem::take(&mut standing.queue);
        (standing.queued_bytes, standing.queued_lines) = (0, 0);
        standing.urgent = false;
        standing.sending = None;
        standing.late = None; // everything unconfirmed is read again anyway
        standing.flushed = Settling::default();
        standing.stuck = 0;
        // it may have lost what it had in memory, so everything that is not confirmed is sent again
        standing.unflushed = Unflushed::default();
        let pushed = standing.pushed;
        drop(standing);
        works.iter().for_each(|work| work.ticket.lost());
        lock(&self.idle).clear();
        self.shared.suspended.lost(self.id);
        self.answered.send_replace(pushed);
    }

    /// Returns the directory of the backend's files as the backend writes it in answers. It is
    /// empty before the first connection.
    pub(super) fn base(&self) -> Arc<[u8]> {
        Arc::clone(&self.standing().base)
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        lock(&self.standing)
    }
}
