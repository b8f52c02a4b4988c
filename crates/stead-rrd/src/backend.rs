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
//! `Up`, writes wait in a queue, and one task sends what waits as one BATCH: the busier, the larger. In every other state nothing
//! waits here: the log has it. A backend that is `Behind` reads the log from what it has confirmed on, which can repeat writes that
//! it has; what it says about these ("illegal attempt") is no error.
//!
//! A write counts as confirmed when a FLUSH of its file, sent after the write was answered, has succeeded.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch, Notify};

use crate::connection::{Address, Connection, Lines};
use crate::journal::Journal;
use crate::path::{escaped, Base};
use crate::record;
use crate::reply::{rebase, Reply};
use crate::request::{words, Request, Verb};

/// Lines in one BATCH: rrdcached works on it without answering anyone else on this connection; 2,000 take it some 3 ms.
const BATCH_LINES: usize = 2000;
/// Bytes that may wait in memory; beyond, the log is read instead.
const QUEUE_BYTES: usize = 64 << 20;
/// Connections for reads that are kept open while nobody reads.
const IDLE_CONNECTIONS: usize = 8;
/// How long until the next attempt to connect, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// What a backend can do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// No connection.
    Down,
    /// Reads what it missed from the log.
    Behind,
    /// Has every write, or has it waiting in its queue: may answer reads.
    Up,
}

/// One write to one file.
#[derive(Clone, Debug)]
pub struct Write {
    /// The file's name, relative to the base.
    pub name: Vec<u8>,
    /// The request, with that name.
    pub line: Vec<u8>,
}

/// For each write of a [`Work`] its error, or `None`.
pub type Failures = Vec<Option<Vec<u8>>>;

/// The writes of one record that are for this backend.
pub struct Work {
    /// The record's number in the log.
    pub number: u64,
    /// In the record's order.
    pub writes: Vec<Write>,
    /// Dropped when the backend was not up, or is no more.
    pub answer: oneshot::Sender<Failures>,
}

/// One rrdcached.
pub struct Backend<J> {
    name: String,
    address: Address,
    journal: Arc<J>,
    /// every record up to this number was offered to those that it is for
    dispatched: Arc<AtomicU64>,
    /// how long a write may wait for its FLUSH
    flush_after: Duration,
    /// the directory that clients believe all files to be in
    clients: Base,
    inside: Mutex<Inside>,
    wake: Notify,
    /// the number of the newest record that was answered
    answered: watch::Sender<u64>,
    idle: Mutex<Vec<Connection>>,
    /// for FLUSH alone. Opened before the connection of the writes: so one that works leads to the very process that has answered
    /// the writes, and not to one that came after it and knows nothing of them
    flushing: tokio::sync::Mutex<Option<Connection>>,
}

struct Inside {
    state: State,
    /// how often the connection was lost
    losses: u64,
    /// the connection for FLUSH is lost: the one of the writes has to be made anew, too
    broken: bool,
    /// the directory of the files, as the backend says it
    base: Arc<[u8]>,
    queue: VecDeque<Work>,
    queued_bytes: usize,
    /// the newest record that was offered, whether it was taken or not
    offered: u64,
    unflushed: Unflushed,
}

/// Which files have writes that no FLUSH has confirmed.
#[derive(Default)]
struct Unflushed {
    /// by name: the first record, and when it was answered
    files: HashMap<Vec<u8>, (u64, Instant)>,
    /// the same, oldest first; a file that is being flushed stands only here
    order: BTreeSet<(u64, Vec<u8>)>,
}

impl Unflushed {
    fn wrote(&mut self, name: &[u8], number: u64, now: Instant) {
        if !self.files.contains_key(name) {
            self.files.insert(name.to_vec(), (number, now));
            self.order.insert((number, name.to_vec()));
        }
    }

    /// The oldest file, when its write is older than `age`; from now on writes to it count anew. One at a time.
    fn take(&mut self, age: Duration, now: Instant) -> Option<(u64, Vec<u8>)> {
        let taken = self.order.first()?.clone();
        self.files.get(&taken.1).filter(|(first, at)| *first == taken.0 && now.duration_since(*at) >= age)?;
        self.files.remove(&taken.1);
        Some(taken)
    }

    /// The FLUSH of what `take` gave has succeeded.
    fn flushed(&mut self, taken: &(u64, Vec<u8>)) {
        self.order.remove(taken);
    }

    /// It has not.
    fn failed(&mut self, taken: &(u64, Vec<u8>), now: Instant) {
        self.order.remove(taken);
        if let Some((number, _)) = self.files.remove(&taken.1) {
            self.order.remove(&(number, taken.1.clone()));
        }
        self.wrote(&taken.1, taken.0, now);
    }

    fn first(&self) -> Option<u64> {
        self.order.first().map(|(number, _)| *number)
    }
}

impl<J: Journal> Backend<J> {
    /// A backend that is down until [`run`](Backend::run) connects it.
    pub fn new(node: (&str, Address), journal: Arc<J>, dispatched: Arc<AtomicU64>, flush_after: Duration, clients: Base) -> Backend<J> {
        let (name, address) = node;
        Backend {
            name: name.to_owned(),
            address,
            journal,
            dispatched,
            flush_after,
            clients,
            inside: Mutex::new(Inside {
                state: State::Down,
                losses: 0,
                broken: false,
                base: Arc::from(&b""[..]),
                queue: VecDeque::new(),
                queued_bytes: 0,
                offered: 0,
                unflushed: Unflushed::default(),
            }),
            wake: Notify::new(),
            answered: watch::Sender::new(0),
            idle: Mutex::new(Vec::new()),
            flushing: tokio::sync::Mutex::new(None),
        }
    }

    /// Its name in the map.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it can do now.
    pub fn state(&self) -> State {
        self.inside().state
    }

    /// The directory of its files as it writes it in answers; empty before the first connection.
    pub fn base(&self) -> Arc<[u8]> {
        Arc::clone(&self.inside().base)
    }

    /// Gives it writes, in the order of their numbers; whoever waits for the answer hears at once when it is not up.
    pub fn offer(&self, work: Work) {
        let mut inside = self.inside();
        inside.offered = work.number;
        if inside.state != State::Up {
            return;
        }
        let bytes: usize = size(&work);
        if inside.queued_bytes + bytes > QUEUE_BYTES {
            inside.state = State::Behind; // the task sends what waits and goes on from the log
        } else {
            inside.queued_bytes += bytes;
            inside.queue.push_back(work);
        }
        drop(inside);
        self.wake.notify_one();
    }

    /// Asks it something that changes nothing, on a connection apart from the writes, after all that it was offered before.
    pub async fn ask(&self, line: &[u8], binary: bool) -> io::Result<Reply> {
        let offered = {
            let inside = self.inside();
            if inside.state != State::Up {
                return Err(io::Error::new(io::ErrorKind::NotConnected, format!("{} is not up", self.name)));
            }
            inside.offered
        };
        let mut answered = self.answered.subscribe();
        loop {
            if *answered.borrow_and_update() >= offered {
                break;
            }
            if self.state() != State::Up {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            answered.changed().await.map_err(|_| io::ErrorKind::ConnectionReset)?;
        }
        let kept = lock(&self.idle).pop();
        if let Some(mut connection) = kept {
            // it may have been closed meanwhile: then a new one is asked the same
            if let Ok(reply) = connection.ask(line, binary).await {
                self.keep(connection);
                return Ok(self.as_ours(reply, binary));
            }
        }
        let mut connection = Connection::open(&self.address).await?;
        let reply = connection.ask(line, binary).await?;
        self.keep(connection);
        Ok(self.as_ours(reply, binary))
    }

    /// As [`ask`](Backend::ask), on a connection of its own: rrdcached closes it after some errors of SUSPEND and RESUME.
    pub async fn ask_apart(&self, line: &[u8]) -> io::Result<Reply> {
        let reply = Connection::open(&self.address).await?.ask(line, false).await?;
        Ok(self.as_ours(reply, false))
    }

    /// A reply with the paths that clients know.
    fn as_ours(&self, reply: Reply, binary: bool) -> Reply {
        match binary {
            true => Reply { text: rebase(&reply.text, &self.base(), self.clients.directory()), ..reply },
            false => reply.rebased(&self.base(), self.clients.directory()),
        }
    }

    fn keep(&self, connection: Connection) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_CONNECTIONS {
            idle.push(connection);
        }
    }

    /// Keeps it connected and up to date; never ends.
    pub async fn run(self: Arc<Self>) {
        let mut pause = RETRY.0;
        let mut said = false;
        loop {
            let error = match self.connect().await {
                Ok(connection) => {
                    pause = RETRY.0;
                    said = false;
                    self.serve(connection).await
                }
                Err(error) => error,
            };
            self.down();
            if !said {
                eprintln!("stead-rrd: backend {} ({}) is down: {error}", self.name, self.address);
                said = true;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
    }

    async fn connect(&self) -> io::Result<Connection> {
        *self.flushing.lock().await = Some(Connection::open(&self.address).await?);
        let mut connection = Connection::open(&self.address).await?;
        let base = connection.base().await?;
        let mut inside = self.inside();
        inside.base = base.into();
        inside.broken = false;
        inside.state = State::Behind;
        Ok(connection)
    }

    fn down(&self) {
        let mut inside = self.inside();
        inside.state = State::Down;
        inside.losses += 1;
        inside.queue.clear(); // those who wait for an answer hear of it
        inside.queued_bytes = 0;
        inside.unflushed = Unflushed::default(); // it may have lost what it had in memory: all that is not confirmed comes again
        drop(inside);
        lock(&self.idle).clear();
        self.answered.send_modify(|_| ()); // those who wait look at the state
    }

    /// Serves until the connection is lost.
    async fn serve(&self, mut connection: Connection) -> io::Error {
        let mut has = self.journal.confirmed(&self.name);
        loop {
            let caught_up = match self.replay(&mut connection, has).await {
                Ok(through) => through,
                Err(error) => return error,
            };
            eprintln!("stead-rrd: backend {} ({}) is up", self.name, self.address);
            has = match self.drain(&mut connection, caught_up).await {
                Ok(through) => through,
                Err(error) => return error,
            };
            eprintln!("stead-rrd: backend {} ({}) is too slow: it goes on from the log", self.name, self.address);
        }
    }

    /// Sends what the log has after `has`, until there is no more; it is up then. Returns the number of the last record.
    async fn replay(&self, connection: &mut Connection, has: u64) -> io::Result<u64> {
        let mut through = has;
        loop {
            let mut part: Vec<(u64, Write)> = Vec::new();
            let mut records = self.journal.read(through);
            // the iterator may touch the disk: short reads, from files that were written a moment ago in most cases
            for record in records.by_ref() {
                let (number, bytes) = record?;
                let entries = record::entries(&bytes).collect::<Option<Vec<_>>>();
                let entries = entries.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("record {number} of the log")))?;
                for entry in entries.iter().filter(|entry| entry.names.contains(&self.name.as_str())) {
                    let one_by_one = pieces(entry.line);
                    part.extend(one_by_one.into_iter().map(|write| (number, write)));
                }
                through = number;
                if part.len() >= BATCH_LINES {
                    break;
                }
            }
            drop(records);
            if part.is_empty() {
                let mut inside = self.inside();
                if inside.offered <= through {
                    inside.state = State::Up;
                    drop(inside);
                    self.answered.send_replace(through);
                    return Ok(through);
                }
                // what was offered is durable, so that the log has it by now
                continue;
            }
            let lines: Lines = part.iter().map(|(_, write)| &write.line[..]).collect();
            connection.batch(&lines).await?;
            let now = Instant::now();
            let mut inside = self.inside();
            for (number, write) in &part {
                inside.unflushed.wrote(&write.name, *number, now);
            }
        }
    }

    /// Sends what waits, while it is up. Ends with the number of the last record when the queue was too long and is empty now.
    async fn drain(&self, connection: &mut Connection, caught_up: u64) -> io::Result<u64> {
        let mut through = caught_up;
        loop {
            let works = {
                let mut inside = self.inside();
                if inside.broken {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                let works = next(&mut inside);
                if works.is_empty() && inside.state == State::Behind {
                    return Ok(through);
                }
                works
            };
            if works.is_empty() {
                tokio::select! {
                    () = self.wake.notified() => continue,
                    error = connection.closed() => return Err(error),
                }
            }
            let lines: Lines = works.iter().flat_map(|work| work.writes.iter().map(|write| &write.line[..])).collect();
            let mut failures = connection.batch(&lines).await?.into_iter();
            let now = Instant::now();
            let base = self.base();
            let mut inside = self.inside();
            for work in works {
                through = work.number;
                let mut own: Failures = failures.by_ref().take(work.writes.len()).collect();
                for (write, failure) in work.writes.iter().zip(&mut own) {
                    if work.number <= caught_up && failure.as_ref().is_some_and(|text| is_repeated(text)) {
                        *failure = None; // it was in the log when that was read, and came again through the queue
                    }
                    match failure {
                        None => inside.unflushed.wrote(&write.name, work.number, now),
                        Some(text) => *text = rebase(text, &base, self.clients.directory()),
                    }
                }
                let _ = work.answer.send(own); // a client that has gone does not wait
            }
            drop(inside);
            self.answered.send_replace(through);
        }
    }

    /// Flushes what has waited long enough and confirms what was flushed; never ends.
    pub async fn confirm(self: Arc<Self>) {
        let pause = (self.flush_after / 10).clamp(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            tokio::time::sleep(pause).await;
            if self.state() == State::Up {
                // a backend that fails here is found down by its own task
                let _ = self.flush(self.flush_after).await;
            }
        }
    }

    /// Flushes every file whose oldest write is older than `age`, and confirms.
    pub async fn flush(&self, age: Duration) -> io::Result<()> {
        let mut flushing = self.flushing.lock().await;
        loop {
            let (taken, losses) = {
                let mut inside = self.inside();
                (inside.unflushed.take(age, Instant::now()), inside.losses)
            };
            let Some(taken) = taken else { break };
            let line = [b"FLUSH ", &escaped(&taken.1)[..]].concat();
            let reply = match flushing.as_mut() {
                Some(connection) => connection.ask(&line, false).await,
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            let mut inside = self.inside();
            if inside.losses != losses {
                return Ok(()); // what was taken is not known here any more
            }
            match reply {
                // a file that is not there has nothing that could be kept
                Ok(reply) if !reply.is_error() || reply.text.starts_with(b"No such file") => inside.unflushed.flushed(&taken),
                Ok(_) => {
                    inside.unflushed.failed(&taken, Instant::now());
                    break; // it refused: again at the next turn
                }
                Err(error) => {
                    inside.unflushed.failed(&taken, Instant::now());
                    inside.broken = true;
                    drop(inside);
                    *flushing = None;
                    self.wake.notify_one();
                    return Err(error);
                }
            }
        }
        let through = {
            // before the queue is looked at: all up to here was in the queue or went out of it
            let dispatched = self.dispatched.load(Ordering::Acquire);
            let inside = self.inside();
            if inside.state != State::Up {
                return Ok(());
            }
            let waiting = inside.offered > *self.answered.borrow();
            match inside.unflushed.first() {
                Some(first) => first - 1,
                None if waiting => *self.answered.borrow(),
                None => dispatched,
            }
        };
        self.journal.confirm(&self.name, through)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        lock(&self.inside)
    }
}

/// What goes out next: works from the queue, as many as fit in a BATCH, and one in any case.
fn next(inside: &mut Inside) -> Vec<Work> {
    let mut works: Vec<Work> = Vec::new();
    let mut lines = 0;
    while let Some(work) = inside.queue.front() {
        lines += work.writes.len();
        if lines > BATCH_LINES && !works.is_empty() {
            break;
        }
        inside.queued_bytes -= size(work);
        works.extend(inside.queue.pop_front());
    }
    works
}

fn size(work: &Work) -> usize {
    work.writes.iter().map(|write| write.line.len() + write.name.len() + std::mem::size_of::<Write>()).sum()
}

/// A write of the log, an update with several values as one update each: rrdcached stops at the first value that it has already,
/// and of a repeated line it may have the first values only.
fn pieces(line: &[u8]) -> Vec<Write> {
    let request = Request::parse(line);
    let Some((name, rest)) = request.path() else { return Vec::new() };
    let values: Vec<&[u8]> = words(rest).collect();
    if request.verb != Some(Verb::Update) || values.len() < 2 {
        return vec![Write { name, line: line.to_vec() }];
    }
    let head = &line[..line.len() - rest.len()];
    values.into_iter().map(|value| Write { name: name.clone(), line: [head, value].concat() }).collect()
}

/// Whether a backend says that it has this value, or a later one, already.
pub fn is_repeated(text: &[u8]) -> bool {
    text.starts_with(b"illegal attempt to update using time ")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_of_the_log_goes_out_value_by_value() {
        let lines = |line: &str| pieces(line.as_bytes()).iter().map(|w| String::from_utf8(w.line.clone()).unwrap()).collect::<Vec<_>>();
        assert_eq!(lines("update c/x\\ y 1:2 3:4"), ["update c/x\\ y 1:2", "update c/x\\ y 3:4"]);
        assert_eq!(lines("update a 1:2"), ["update a 1:2"]);
        assert_eq!(lines("create a -s 60 DS:a"), ["create a -s 60 DS:a"]);
    }

    #[test]
    fn a_write_during_a_flush_is_not_confirmed_by_it() {
        let (now, age) = (Instant::now(), Duration::ZERO);
        let mut files = Unflushed::default();
        files.wrote(b"a", 5, now);
        files.wrote(b"a", 6, now);
        files.wrote(b"b", 7, now);
        let taken = files.take(age, now).unwrap();
        assert_eq!(taken, (5, b"a".to_vec()));
        files.wrote(b"a", 8, now);
        assert_eq!(files.first(), Some(5));
        files.flushed(&taken);
        assert_eq!(files.first(), Some(7));
        let taken = files.take(age, now).unwrap();
        files.flushed(&taken);
        assert_eq!((files.first(), files.take(age, now)), (Some(8), Some((8, b"a".to_vec()))));
        assert!(files.take(Duration::from_secs(3600), now).is_none());
    }
}
