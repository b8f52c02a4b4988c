//! One backend: an rrdcached, what waits for it, and whether it is up to date.
//!
//! ```text
//!           connected            has all of the log
//!   Down  ------------>  Behind  ------------------>  Up
//!    ^                     ^  \                        |  |
//!    |---- lost -----------|---\------- lost ----------+  |
//!                          +-------- queue is full -------+
//! ```
//!
//! `Up`, writes wait in a queue, and one task sends what waits as one BATCH: the busier, the
//! larger. In every other state nothing waits here: the log has it. A backend that is `Behind`
//! reads the log from what it has confirmed on, which can repeat writes that it has; what it says
//! about these ("illegal attempt") is no error.
//!
//! A write counts as confirmed when a FLUSH of its file, sent after the write was answered, has
//! succeeded. Writes to a file that the backend says it has not are confirmed, too: there is
//! nothing to keep them in, and the file comes whole, from a replica.
//!
//! A backend that does not answer in time is lost as one that closed the connection is.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{watch, Notify};

use crate::connection::{Address, Connection};
use crate::files::Files;
use crate::health::Health;
use crate::layout::BackendId;
use crate::lock::lock;
use crate::record;
use crate::reply::{rebase, Reply};
use crate::request::{words, Request, Verb};
use crate::shared::Shared;
use crate::unflushed::Unflushed;
use crate::writes::{has_no_file, Ticket};

/// Lines in one BATCH: rrdcached works on it without answering anyone else on this connection;
/// 2,000 take it some 3 ms.
const BATCH_LINES: usize = 2000;
/// Bytes that may wait in memory; beyond, the log is read instead.
const QUEUE_BYTES: usize = 64 << 20;
/// Connections for reads that are kept open while nobody reads.
const IDLE_CONNECTIONS: usize = 8;
/// How many times as long a large answer may take.
const LARGE_PATIENCE: u32 = 6;
/// How long until the next attempt to connect, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// Lines of one ticket that are for this backend.
pub struct Work {
    /// The ticket, which hears of the answer, or that there is none.
    pub ticket: Arc<Ticket>,
    /// Which of its lines.
    pub lines: Lines,
}

/// Some lines of a ticket.
pub enum Lines {
    /// All of them.
    All,
    /// These, ascending.
    These(Vec<u32>),
}

impl Work {
    fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        let (all, these) = match &self.lines {
            Lines::All => (0..self.ticket.writes.len(), &[][..]),
            Lines::These(these) => (0..0, &these[..]),
        };
        all.chain(these.iter().map(|line| *line as usize))
    }

    fn count(&self) -> usize {
        match &self.lines {
            Lines::All => self.ticket.writes.len(),
            Lines::These(these) => these.len(),
        }
    }

    /// The memory that it keeps, roughly; a ticket is counted by each backend that has it.
    fn size(&self) -> usize {
        self.ticket.writes.bytes() + 100 * self.count()
    }
}

/// Where a node is: what its attributes say.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where its rrdcached listens.
    pub address: Address,
    /// How its files can be reached.
    pub files: Option<Files>,
}

/// One rrdcached.
pub struct Backend {
    name: String,
    place: BackendId,
    shared: Arc<Shared>,
    inside: Mutex<Inside>,
    wake: Notify,
    /// works taken out of the queue and answered, since the start
    answered: watch::Sender<u64>,
    idle: Mutex<Vec<Connection>>,
    /// for FLUSH alone. Opened before the connection of the writes: so one that works leads to the
    /// very process that has answered the writes, and not to one that came after it and knows
    /// nothing of them
    flushing: tokio::sync::Mutex<Option<Connection>>,
    /// rings when it comes up
    came_up: Arc<Notify>,
    counters: Counters,
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

struct Inside {
    site: Access,
    state: Health,
    since: SystemTime,
    /// why it is down
    error: Option<String>,
    /// how often the connection was lost
    losses: u64,
    /// something went wrong on another connection: the one of the writes has to be made anew, too
    broken: Option<String>,
    /// the directory of the files, as the backend says it
    base: Arc<[u8]>,
    queue: VecDeque<Work>,
    queued_bytes: usize,
    /// works ever put into the queue
    pushed: u64,
    /// the oldest record of the works that are being sent
    sending: Option<u64>,
    /// the newest record that was offered, whether it was taken or not
    offered: u64,
    /// the version of the layout by which the log was read last
    version: u64,
    /// the oldest record that it has to read, though it may have read on: its file has come to be
    /// here since
    late: Option<u64>,
    unflushed: Unflushed,
    /// everything up to this record was found flushed at the last turn
    flushed: Option<u64>,
    own_journal: OwnJournal,
}

/// Whether a backend keeps a journal of its own. It tells no more than how much it has written into
/// one, so it has to get updates first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnJournal {
    Unknown,
    /// not known when it had got so many updates, of which some came from a journal
    UnknownAt(u64),
    Kept,
    None,
}

impl Backend {
    /// A backend that is down until [`run`](Backend::run) connects it. `came_up` rings whenever it
    /// has come up.
    pub fn new(
        name: &str,
        place: BackendId,
        site: Access,
        shared: Arc<Shared>,
        came_up: Arc<Notify>,
    ) -> Backend {
        Backend {
            name: name.to_owned(),
            place,
            shared,
            inside: Mutex::new(Inside {
                site,
                state: Health::Down,
                since: SystemTime::now(),
                error: None,
                losses: 0,
                broken: None,
                base: Arc::from(&b""[..]),
                queue: VecDeque::new(),
                queued_bytes: 0,
                pushed: 0,
                sending: None,
                offered: 0,
                version: 0,
                late: None,
                unflushed: Unflushed::default(),
                flushed: None,
                own_journal: OwnJournal::Unknown,
            }),
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
    pub fn place(&self) -> BackendId {
        self.place
    }

    /// Where it is.
    pub fn site(&self) -> Access {
        self.inside().site.clone()
    }

    /// How its files can be reached.
    pub fn files(&self) -> Option<Files> {
        self.inside().site.files.clone()
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// It is somewhere else from now on.
    pub fn move_to(&self, site: Access) {
        let mut inside = self.inside();
        if inside.site.address != site.address {
            inside.broken = Some("its address has changed".to_owned());
            self.wake.notify_one();
        }
        inside.site = site;
    }

    /// What it can do now.
    pub fn state(&self) -> Health {
        self.inside().state
    }

    /// Its state, since when, and why it is down.
    pub fn condition(&self) -> (Health, SystemTime, Option<String>) {
        let inside = self.inside();
        (inside.state, inside.since, inside.error.clone())
    }

    /// Works and bytes that wait, and files that have not been flushed.
    pub fn waiting(&self) -> (usize, usize, usize) {
        let inside = self.inside();
        (
            inside.queue.iter().map(Work::count).sum(),
            inside.queued_bytes,
            inside.unflushed.len(),
        )
    }

    /// Whether it keeps a journal of its own, as far as it has shown. After a crash it takes
    /// updates that came while a file was written for written, and refuses them when they are sent
    /// again: `wrote` stands behind them in its journal.
    pub fn has_journal(&self) -> bool {
        self.inside().own_journal == OwnJournal::Kept
    }

    /// The directory of its files as it writes it in answers; empty before the first connection.
    fn base(&self) -> Arc<[u8]> {
        Arc::clone(&self.inside().base)
    }

    /// Gives it writes; the ticket hears at once when it is not up. Writes to one file come in the
    /// order of their records; `held` says that those of other files may have overtaken them.
    pub fn offer(&self, work: Work, held: bool) {
        let mut inside = self.inside();
        let number = work.ticket.number;
        inside.offered = inside.offered.max(number);
        let full = inside.queued_bytes + work.size() > QUEUE_BYTES && !inside.queue.is_empty();
        if inside.state != Health::Up || full {
            if held || inside.version != self.shared.layout().version() {
                inside.late = Some(inside.late.map_or(number, |late| late.min(number)));
            }
            if inside.state == Health::Up {
                inside.state = Health::Behind; // the task sends what waits and goes on from the log
                self.wake.notify_one();
            }
            drop(inside);
            work.ticket.lost();
            return;
        }
        inside.queued_bytes += work.size();
        inside.pushed += 1;
        inside.queue.push_back(work);
        drop(inside);
        self.wake.notify_one();
    }

    /// Waits until all that it was offered up to now is answered.
    pub async fn caught_up(&self) -> io::Result<()> {
        let (pushed, losses) = {
            let inside = self.inside();
            self.check_up(inside.state)?;
            (inside.pushed, inside.losses)
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
        let inside = self.inside();
        self.check_up(inside.state)?;
        if inside.losses != losses {
            Err(io::ErrorKind::ConnectionReset.into())
        } else {
            Ok(())
        }
    }

    fn check_up(&self, state: Health) -> io::Result<()> {
        match state {
            Health::Up => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                format!("{} is not up", self.name),
            )),
        }
    }

    /// Asks it something that changes nothing, on a connection apart from the writes, after all
    /// that it was offered before.
    pub async fn ask(&self, line: &[u8], binary: bool) -> io::Result<Reply> {
        self.caught_up().await?;
        let kept = lock(&self.idle).pop();
        if let Some(mut connection) = kept {
            // it may have been closed meanwhile: then a new one is asked the same
            match self.in_time(connection.ask(line, binary)).await {
                Ok(reply) => {
                    self.keep(connection, &reply);
                    return Ok(self.as_ours(reply, binary));
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    return Err(self.broken(error))
                }
                Err(_) => {}
            }
        }
        let (connection, reply) = self.ask_new(line, binary).await?;
        self.keep(connection, &reply);
        Ok(self.as_ours(reply, binary))
    }

    /// As [`ask`](Backend::ask), on a connection of its own and with more patience: what has a
    /// large answer. The paths in its lines stay.
    pub async fn ask_large(&self, line: &[u8], binary: bool) -> io::Result<Reply> {
        self.caught_up().await?;
        let address = self.site().address;
        let mut connection = self
            .in_time(Connection::open(&address))
            .await
            .map_err(|error| self.broken(error))?;
        let patience = LARGE_PATIENCE * self.shared.options.patience;
        let reply = tokio::time::timeout(patience, connection.ask(line, binary)).await;
        reply
            .map_err(|_| {
                io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("no answer within {} s", patience.as_secs_f64()),
                )
            })?
            .map(|reply| self.as_ours(reply, true))
    }

    /// As [`ask`](Backend::ask), on a connection of its own: rrdcached closes it after some errors
    /// of SUSPEND and RESUME.
    pub async fn ask_apart(&self, line: &[u8]) -> io::Result<Reply> {
        self.caught_up().await?;
        let (_, reply) = self.ask_new(line, false).await?;
        Ok(self.as_ours(reply, false))
    }

    async fn ask_new(&self, line: &[u8], binary: bool) -> io::Result<(Connection, Reply)> {
        let address = self.site().address;
        let mut connection = self
            .in_time(Connection::open(&address))
            .await
            .map_err(|error| self.broken(error))?;
        match self.in_time(connection.ask(line, binary)).await {
            Ok(reply) => Ok((connection, reply)),
            // it stands still; anything else may be this request's fault
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(self.broken(error)),
            Err(error) => Err(error),
        }
    }

    /// A failure that concerns all connections.
    fn broken(&self, error: io::Error) -> io::Error {
        self.inside().broken = Some(error.to_string());
        self.wake.notify_one();
        error
    }

    async fn in_time<T>(&self, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
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

    /// A reply with the paths that clients know.
    fn as_ours(&self, reply: Reply, binary: bool) -> Reply {
        let ours = self.shared.options.base.directory();
        match binary {
            true => Reply {
                text: rebase(&reply.text, &self.base(), ours),
                ..reply
            },
            false => reply.rebased(&self.base(), ours),
        }
    }

    /// Keeps a connection for the next read. After an error it may be out of step: of an unknown
    /// column rrdcached answers with memory that it has freed, line ends and all.
    fn keep(&self, connection: Connection, reply: &Reply) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_CONNECTIONS && !reply.is_error() {
            idle.push(connection);
        }
    }

    /// Keeps it connected and up to date; never ends.
    pub async fn run(self: Arc<Self>) {
        let mut pause = RETRY.0;
        let mut said = false;
        loop {
            let error = match self.in_time(self.connect()).await {
                Ok(connection) => {
                    pause = RETRY.0;
                    said = false;
                    self.serve(connection).await
                }
                Err(error) => error,
            };
            self.down(&error);
            if !said {
                let (name, address) = (&self.name, self.site().address);
                tracing::warn!(backend = %name, %address, state = "down", %error, "backend {name} \
                    ({address}) is down: {error}");
                said = true;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
    }

    async fn connect(&self) -> io::Result<Connection> {
        let address = self.site().address;
        *self.flushing.lock().await = Some(Connection::open(&address).await?);
        let mut connection = Connection::open(&address).await?;
        let base = connection.base().await?;
        let mut inside = self.inside();
        inside.base = base.into();
        inside.broken = None;
        inside.own_journal = OwnJournal::Unknown;
        inside.become_(Health::Behind);
        Ok(connection)
    }

    /// It is lost, or gone for good: nobody waits for it any more.
    pub fn down(&self, error: &io::Error) {
        let mut inside = self.inside();
        if inside.state != Health::Down {
            inside.become_(Health::Down);
        }
        inside.error = Some(error.to_string());
        inside.losses += 1;
        let works = std::mem::take(&mut inside.queue);
        inside.queued_bytes = 0;
        inside.sending = None;
        inside.late = None; // what it has not confirmed is read again in any case
        inside.flushed = None;
        // it may have lost what it had in memory: all that is not confirmed comes again
        inside.unflushed = Unflushed::default();
        let pushed = inside.pushed;
        drop(inside);
        works.iter().for_each(|work| work.ticket.lost());
        lock(&self.idle).clear();
        self.answered.send_replace(pushed);
    }

    /// Serves until the connection is lost.
    async fn serve(&self, mut connection: Connection) -> io::Error {
        let mut has = self.shared.log.confirmed(&self.name);
        loop {
            let caught_up = match self.replay(&mut connection, has).await {
                Ok(through) => through,
                Err(error) => return error,
            };
            self.counters.ups.fetch_add(1, Ordering::Relaxed);
            let (name, address) = (&self.name, self.site().address);
            tracing::info!(backend = %name, %address, state = "up", record = caught_up, "backend {name} ({address}) is up");
            self.came_up.notify_one();
            has = match self.drain(&mut connection, caught_up).await {
                Ok(through) => through,
                Err(error) => return error,
            };
            tracing::warn!(backend = %name, %address, state = "behind", record = has, "backend {name} ({address}) is too slow: it goes on from the log");
        }
    }

    /// Sends what the log has after `has`, until there is no more; it is up then. Returns the
    /// number of the last record.
    async fn replay(&self, connection: &mut Connection, has: u64) -> io::Result<u64> {
        let mut through = has;
        loop {
            {
                let version = self.shared.layout().version();
                let mut inside = self.inside();
                inside.version = version;
                through = inside
                    .late
                    .take()
                    .map_or(through, |late| through.min(late - 1));
            }
            let part = self.part(through)?;
            through = part.through;
            if part.names.is_empty() {
                let mut inside = self.inside();
                if inside.offered <= through && inside.late.is_none() {
                    inside.become_(Health::Up);
                    inside.error = None;
                    return Ok(through);
                }
                // what was offered is durable, so that the log has it by now
                continue;
            }
            let failures = self
                .in_time(connection.batch(&part.text, part.names.len()))
                .await?;
            for (at, text) in failures {
                if has_no_file(&text) {
                    self.shared.lacks.add(&part.names[at].1, self.place);
                }
            }
            let now = Instant::now();
            let mut inside = self.inside();
            for (number, name) in &part.names {
                inside.unflushed.wrote(name, *number, now);
            }
        }
    }

    /// The next writes of the log that are for this backend.
    fn part(&self, after: u64) -> io::Result<Part> {
        let mut part = Part {
            through: after,
            ..Part::default()
        };
        let damaged = |number| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("record {number} of the log is damaged"),
            )
        };
        // the iterator may touch the disk: short reads, from files that were written a moment ago
        // in most cases
        for record in self.shared.log.read(after) {
            let (number, bytes) = record?;
            for entry in record::entries(&bytes) {
                let entry = entry.ok_or_else(|| damaged(number))?;
                if entry.names().any(|name| name == self.name) {
                    let (name, _) = Request::parse(entry.line)
                        .path()
                        .ok_or_else(|| damaged(number))?;
                    // a file that has moved away, or has not come yet, is none of its own
                    if self.shared.layout().now(&name).contains(&self.place) {
                        pieces(entry.line, &mut part.text, || {
                            part.names.push((number, name.to_vec()))
                        });
                    }
                }
            }
            part.through = number;
            if part.names.len() >= BATCH_LINES {
                break;
            }
        }
        Ok(part)
    }

    /// Sends what waits, while it is up. Ends with the number of the last record when the queue was
    /// too long and is empty now.
    async fn drain(&self, connection: &mut Connection, caught_up: u64) -> io::Result<u64> {
        let mut through = caught_up;
        let (mut works, mut text) = (Vec::new(), Vec::new());
        loop {
            {
                let mut inside = self.inside();
                if let Some(why) = inside.broken.take() {
                    return Err(io::Error::new(io::ErrorKind::ConnectionReset, why));
                }
                inside.take(&mut works);
                if works.is_empty() && inside.state == Health::Behind {
                    return Ok(through);
                }
            }
            if works.is_empty() {
                tokio::select! {
                    () = self.wake.notified() => continue,
                    error = connection.closed() => return Err(error),
                }
            }
            text.clear();
            let mut count = 0;
            for work in &works {
                through = through.max(work.ticket.number);
                work.lines()
                    .for_each(|line| text.extend_from_slice(work.ticket.writes.line(line)));
                count += work.count();
            }
            let failures = match self.in_time(connection.batch(&text, count)).await {
                Ok(failures) => failures,
                Err(error) => {
                    works.iter().for_each(|work| work.ticket.lost());
                    return Err(error);
                }
            };
            self.heard(&works, failures, caught_up);
            self.counters
                .writes
                .fetch_add(count as u64, Ordering::Relaxed);
            let done = works.len() as u64;
            works.clear();
            self.inside().sending = None;
            self.answered.send_modify(|answered| *answered += done);
        }
    }

    /// Passes the answers on, and notes what has to be flushed.
    fn heard(&self, works: &[Work], failures: Vec<(usize, Vec<u8>)>, caught_up: u64) {
        let now = Instant::now();
        let base = self.base();
        let mut failures = failures.into_iter().peekable();
        let mut start = 0;
        for work in works {
            let end = start + work.count();
            let mut own = Vec::new();
            while let Some((at, mut text)) = failures.next_if(|(at, _)| *at < end) {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                if work.ticket.number <= caught_up && is_repeated(&text) {
                    // it was in the log when that was read, and came again
                    // through the queue
                    continue;
                }
                if let Some(line) = work.lines().nth(at - start).filter(|_| has_no_file(&text)) {
                    self.shared
                        .lacks
                        .add(work.ticket.writes.name(line), self.place);
                }
                text = rebase(&text, &base, self.shared.options.base.directory());
                if text.ends_with(b": ") {
                    text.extend_from_slice(
                        format!("a failure on {}, of which it says no more", self.name).as_bytes(),
                    );
                }
                own.push((at - start, text));
            }
            // also what was refused: of several values it may have taken the first
            let mut inside = self.inside();
            for line in work.lines() {
                inside
                    .unflushed
                    .wrote(work.ticket.writes.name(line), work.ticket.number, now);
            }
            drop(inside);
            work.ticket.answer(work.lines(), own);
            start = end;
        }
    }

    /// Flushes what has waited long enough and confirms what was flushed; never ends.
    pub async fn confirm(self: Arc<Self>) {
        let age = self.shared.options.flush_after;
        let pause = (age / 10).clamp(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            tokio::time::sleep(pause).await;
            if self.state() == Health::Up {
                // a backend that fails here is found down by its own task
                let _ = self.flush(age).await;
                let _ = self.look_for_a_journal().await;
            }
        }
    }

    /// Asks for its counters, until they tell whether it keeps a journal of its own.
    async fn look_for_a_journal(&self) -> io::Result<()> {
        let before = self.inside().own_journal;
        if matches!(before, OwnJournal::Kept | OwnJournal::None) {
            return Ok(());
        }
        let reply = self.ask(b"STATS", false).await?;
        let Some((updates, bytes)) =
            number(&reply, "UpdatesReceived").zip(number(&reply, "JournalBytes"))
        else {
            return Ok(());
        };
        self.inside().own_journal = match before {
            _ if bytes > 0 => OwnJournal::Kept,
            OwnJournal::UnknownAt(few) if updates > few => OwnJournal::None,
            OwnJournal::UnknownAt(few) => OwnJournal::UnknownAt(few),
            _ => OwnJournal::UnknownAt(updates),
        };
        if bytes > 0 {
            let (name, address) = (&self.name, self.site().address);
            tracing::warn!(backend = %name, %address, "backend {name} ({address}) keeps a journal \
                of its own, by which it can lose updates when it crashes: start it without -j");
        }
        Ok(())
    }

    /// Flushes every file whose oldest write is older than `age`, and confirms.
    pub async fn flush(&self, age: Duration) -> io::Result<()> {
        let mut flushing = self.flushing.lock().await;
        // what cannot be flushed now holds up no other
        let mut aside = Vec::new();
        let losses_before = self.inside().losses;
        loop {
            let (taken, losses) = {
                let mut inside = self.inside();
                (inside.unflushed.take(age, Instant::now()), inside.losses)
            };
            let Some(taken) = taken else { break };
            let flushed = match flushing.as_mut() {
                Some(connection) => self.in_time(connection.flush(&taken.1)).await,
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            let mut inside = self.inside();
            if inside.losses != losses {
                return Ok(()); // what was taken is not known here any more
            }
            match flushed {
                Ok(Ok(true)) => inside.unflushed.flushed(&taken),
                Ok(Err(reply)) if has_no_file(&reply.text) => {
                    inside.unflushed.flushed(&taken);
                    self.shared.lacks.add(&taken.1, self.place);
                }
                Ok(_) => aside.push(taken), // suspended, or refused: again at the next turn
                Err(error) => {
                    inside.unflushed.failed(&taken, Instant::now());
                    drop(inside);
                    *flushing = None;
                    return Err(self.broken(error));
                }
            }
        }
        let through = {
            // before the queue is looked at: all up to here was in the queue or went out of it
            let offered = self.shared.offered.load(Ordering::Acquire);
            let mut inside = self.inside();
            if inside.state != Health::Up || inside.losses != losses_before {
                return Ok(());
            }
            let now = Instant::now();
            aside
                .iter()
                .for_each(|taken| inside.unflushed.failed(taken, now));
            let waiting = inside.queue.iter().map(|work| work.ticket.number).min();
            let first = [inside.unflushed.first(), waiting, inside.sending]
                .into_iter()
                .flatten()
                .min();
            let through = first.map_or(offered, |first| offered.min(first - 1));
            // a turn later: a file that rrdcached is just writing has nothing that waits, and is
            // not written yet
            inside.flushed.replace(through)
        };
        through.map_or(Ok(()), |through| {
            self.shared.log.confirm(&self.name, through)
        })
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }
}

impl Inside {
    fn become_(&mut self, state: Health) {
        self.state = state;
        self.since = SystemTime::now();
    }

    /// What goes out next: works from the queue, as many as fit in a BATCH, and one in any case.
    fn take(&mut self, works: &mut Vec<Work>) {
        let mut lines = 0;
        while let Some(work) = self.queue.front() {
            lines += work.count();
            if lines > BATCH_LINES && !works.is_empty() {
                break;
            }
            self.queued_bytes -= work.size();
            works.extend(self.queue.pop_front());
        }
        self.sending = works.iter().map(|work| work.ticket.number).min();
    }
}

/// Writes of the log, ready to be sent.
#[derive(Default)]
struct Part {
    text: Vec<u8>,
    /// for each line its record and its file
    names: Vec<(u64, Vec<u8>)>,
    /// the last record that was looked at
    through: u64,
}

/// Appends a write of the log, an update with several values as one update each: rrdcached stops at
/// the first value that it has already, and of a repeated line it may have the first values only.
/// `each` is called for every line.
fn pieces(line: &[u8], to: &mut Vec<u8>, mut each: impl FnMut()) {
    let request = Request::parse(line);
    let values = request
        .path()
        .filter(|_| request.verb == Some(Verb::Update))
        .map_or(&b""[..], |(_, values)| values);
    if words(values).count() < 2 {
        to.extend_from_slice(line);
        to.push(b'\n');
        return each();
    }
    let head = &line[..line.len() - values.len()];
    for value in words(values) {
        to.extend_from_slice(head);
        to.extend_from_slice(value);
        to.push(b'\n');
        each();
    }
}

/// One of the counters that STATS gives.
fn number(reply: &Reply, name: &str) -> Option<u64> {
    reply.each().find_map(|line| {
        std::str::from_utf8(line)
            .ok()?
            .strip_prefix(name)?
            .strip_prefix(": ")?
            .parse()
            .ok()
    })
}

/// Whether a backend says that it has this value, or a later one, already.
pub fn is_repeated(text: &[u8]) -> bool {
    text.starts_with(b"illegal attempt to update using time ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_of_the_log_goes_out_value_by_value() {
        let lines = |line: &str| {
            let (mut text, mut count) = (Vec::new(), 0);
            pieces(line.as_bytes(), &mut text, || count += 1);
            (String::from_utf8(text).unwrap(), count)
        };
        assert_eq!(
            lines("update c/x\\ y 1:2 3:4"),
            ("update c/x\\ y 1:2\nupdate c/x\\ y 3:4\n".to_owned(), 2)
        );
        assert_eq!(lines("update a 1:2"), ("update a 1:2\n".to_owned(), 1));
        assert_eq!(
            lines("create a -s 60 DS:a"),
            ("create a -s 60 DS:a\n".to_owned(), 1)
        );
    }

    /// A backend that has read the log past a write before the write's file came to it.
    #[tokio::test]
    async fn a_write_that_was_held_reaches_a_backend_that_has_read_on() {
        use crate::layout::{Layout, Placement};
        use crate::writes::Writes;
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

        let build = |names: &[&str], before: Option<&stead::Map>| {
            let nodes: String = names
                .iter()
                .map(|name| format!("[[node]]\nname = \"{name}\"\n"))
                .collect();
            let fleet =
                stead::Fleet::parse(&format!("name = \"rrd\"\n{nodes}"), "fleet.toml").unwrap();
            stead::build(&fleet, before).unwrap()
        };
        let old = build(&["a"], None);
        let new = build(&["a", "b"], Some(&old));
        let moves = |name: &String| new.locate(name.as_bytes()).index() == 1;
        let name = (0..)
            .map(|number| format!("f{number}"))
            .find(moves)
            .unwrap();
        let mut layout = Layout::new(Placement::new(old, vec![0]));
        layout.move_to(Placement::new(new, vec![0, 1]), Default::default());

        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (reading, mut writing) = stream.into_split();
            let mut lines = BufReader::new(reading).lines();
            let mut got = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                got.push(line);
                writing
                    .write_all(b"0 errors, enqueued 1 value(s).\n")
                    .await
                    .unwrap();
            }
            got
        });

        let log = Arc::new(crate::log::Memory::default());
        let options = crate::shared::Options {
            base: crate::path::Base::new(b"/rrd"),
            flush_after: Duration::from_secs(3600),
            patience: Duration::from_secs(60),
            overwrite: false,
            create: None,
        };
        let shared = Arc::new(Shared::new(options, log.clone(), layout));
        let address = Address::Unix(path);
        let backend = Backend::new(
            "b",
            1,
            Access {
                address: address.clone(),
                files: None,
            },
            shared.clone(),
            Arc::default(),
        );
        let mut writes = Writes::default();
        writes.push(Verb::Update, name.as_bytes(), b"1:2", b"");
        let mut bytes = Vec::new();
        record::push(&mut bytes, ["a", "b"].into_iter(), writes.line(0));
        let number = crate::log::Log::append(&*log, &bytes).unwrap();

        let mut connection = Connection::open(&address).await.unwrap();
        let through = backend.replay(&mut connection, 0).await.unwrap();
        assert_eq!((through, backend.state()), (number, Health::Up));
        // it is lost, and reads on from here; the file comes to it, and with it what was held
        backend.inside().become_(Health::Behind);
        shared.layout_mut().moved(name.as_bytes());
        let (ticket, mut answer) = Ticket::new(number, writes);
        ticket.expect(1);
        ticket.given();
        backend.offer(
            Work {
                ticket: Arc::new(ticket),
                lines: Lines::All,
            },
            true,
        );
        assert_eq!(answer.try_recv().unwrap(), []);
        assert_eq!(
            backend.replay(&mut connection, through).await.unwrap(),
            number
        );
        drop(connection);
        assert_eq!(server.await.unwrap(), [format!("UPDATE {name} 1:2")]);
        assert_eq!(backend.inside().unflushed.first(), Some(number));
    }
}
