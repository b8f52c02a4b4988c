//! The state of a backend: what it can do, what waits for it, and what it has not confirmed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::work::Work;
use crate::connection::Address;
use crate::files::Files;
use crate::health::Health;
use crate::key::Key;
use crate::settling::Settling;
use crate::unflushed::Unflushed;

/// The most lines in one BATCH. rrdcached answers nobody else on this connection while it works on
/// a BATCH; 2,000 lines take it about 3 ms.
pub(super) const BATCH_LINES: usize = 2000;

/// The addresses of a node, from its attributes.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where its rrdcached listens.
    pub address: Address,
    /// How its files can be reached.
    pub files: Option<Files>,
}

/// Whether a backend keeps a journal of its own. rrdcached tells only how much it has written into
/// a journal, so nobody can tell before it has received updates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnJournal {
    Unknown,
    /// Not known yet. When the router first asked, the backend had received this many updates,
    /// perhaps some of them from a journal.
    UnknownAt(u64),
    Kept,
    None,
}

/// Everything about a backend that changes, under one lock.
pub(super) struct Standing {
    pub access: Access,
    pub health: Health,
    pub since: SystemTime,
    /// why the backend is down
    pub error: Option<String>,
    /// how often the connection was lost
    pub losses: u64,
    /// why another connection failed; then the connection of the writes has to be opened again, too
    pub broken: Option<String>,
    /// the base directory of the files, in the spelling that the backend uses
    pub base: Arc<[u8]>,
    pub queue: VecDeque<Work>,
    pub queued_bytes: usize,
    pub queued_lines: usize,
    /// somebody waits for what is in the queue
    pub urgent: bool,
    /// how many items of work were ever put into the queue
    pub pushed: u64,
    /// the number of the oldest record that is being sent, and since when it waited
    pub sending: Option<(u64, Instant)>,
    /// the number of the newest record that was offered, whether it was taken or not
    pub offered: u64,
    /// the version of the layout when the log was last read
    pub version: u64,
    /// The oldest record that must be read from the log although the backend may have read past it,
    /// because the record's file came to this backend afterwards.
    pub late: Option<u64>,
    pub unflushed: Unflushed,
    pub flushed: Settling,
    /// how many files the last turn of `flush` could not flush: they are suspended, or refused
    pub stuck: usize,
    pub own_journal: OwnJournal,
    /// why its files cannot be reached, when somebody last looked
    pub files_error: Option<String>,
    /// a file of which rrdcached and the agent say different things, so they have two directories
    pub two_directories: Option<Vec<u8>>,
}

impl Standing {
    /// Returns the state of a backend that was never connected.
    pub fn new(access: Access) -> Standing {
        Standing {
            access,
            health: Health::Down,
            since: SystemTime::now(),
            error: None,
            losses: 0,
            broken: None,
            base: Arc::from(&b""[..]),
            queue: VecDeque::new(),
            queued_bytes: 0,
            queued_lines: 0,
            urgent: false,
            pushed: 0,
            sending: None,
            offered: 0,
            version: 0,
            late: None,
            unflushed: Unflushed::default(),
            flushed: Settling::default(),
            stuck: 0,
            own_journal: OwnJournal::Unknown,
            files_error: None,
            two_directories: None,
        }
    }

    pub fn become_(&mut self, health: Health) {
        self.health = health;
        self.since = SystemTime::now();
    }

    /// Moves the next works from the queue to `works`: as many as fit in a BATCH, and at least one.
    pub fn take(&mut self, works: &mut Vec<Work>) {
        let mut lines = 0;
        while let Some(work) = self.queue.front() {
            lines += work.count();
            if lines > BATCH_LINES && !works.is_empty() {
                break;
            }
            self.queued_bytes -= work.size();
            self.queued_lines -= work.count();
            works.extend(self.queue.pop_front());
        }
        self.urgent &= !self.queue.is_empty();
        let oldest = works.iter().map(|work| (work.ticket.number, work.since));
        self.sending = oldest.min_by_key(|(number, _)| *number);
    }

    /// Returns how many works the queue has after the last one that writes to this file; if there
    /// is none, the length of the queue.
    pub fn queued_after(&self, name: &[u8]) -> usize {
        let key = Key::of(name);
        let writes_to_it = |work: &Work| {
            let writes = &work.ticket.writes;
            let mut keys = work.lines().map(|line| writes.key(line));
            keys.any(|other| other.hash == key.hash && other.name == key.name)
        };
        let last = self.queue.iter().rev().position(writes_to_it);
        last.unwrap_or(self.queue.len())
    }

    /// Returns since when the oldest work waits for its answer.
    pub fn oldest(&self) -> Option<Instant> {
        let queued = self.queue.front().map(|work| work.since);
        self.sending.map(|(_, since)| since).or(queued)
    }
}
