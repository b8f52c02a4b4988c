//! How a backend stands: what it can do, what waits for it, and what it has not confirmed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use super::work::Work;
use crate::connection::Address;
use crate::files::Files;
use crate::health::Health;
use crate::unflushed::Unflushed;

/// Lines in one BATCH: rrdcached works on it without answering anyone else on this connection;
/// 2,000 take it some 3 ms.
pub(super) const BATCH_LINES: usize = 2000;

/// Where a node is: what its attributes say.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where its rrdcached listens.
    pub address: Address,
    /// How its files can be reached.
    pub files: Option<Files>,
}

/// Whether a backend keeps a journal of its own. It tells no more than how much it has written into
/// one, so it has to get updates first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnJournal {
    Unknown,
    /// not known when it had got so many updates, of which some came from a journal
    UnknownAt(u64),
    Kept,
    None,
}

/// All that changes about a backend, under one lock.
pub(super) struct Standing {
    pub access: Access,
    pub health: Health,
    pub since: SystemTime,
    /// why it is down
    pub error: Option<String>,
    /// how often the connection was lost
    pub losses: u64,
    /// something went wrong on another connection: the one of the writes has to be made anew, too
    pub broken: Option<String>,
    /// the base directory of the files, in the spelling that the backend uses
    pub base: Arc<[u8]>,
    pub queue: VecDeque<Work>,
    pub queued_bytes: usize,
    /// works ever put into the queue
    pub pushed: u64,
    /// the oldest record of the works that are being sent
    pub sending: Option<u64>,
    /// the newest record that was offered, whether it was taken or not
    pub offered: u64,
    /// the version of the layout by which the log was read last
    pub version: u64,
    /// the oldest record that it has to read, though it may have read on: its file has come to be
    /// here since
    pub late: Option<u64>,
    pub unflushed: Unflushed,
    /// everything up to this record was found flushed at the last turn
    pub flushed: Option<u64>,
    pub own_journal: OwnJournal,
}

impl Standing {
    /// Of a backend that was never connected.
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
            pushed: 0,
            sending: None,
            offered: 0,
            version: 0,
            late: None,
            unflushed: Unflushed::default(),
            flushed: None,
            own_journal: OwnJournal::Unknown,
        }
    }

    pub fn become_(&mut self, health: Health) {
        self.health = health;
        self.since = SystemTime::now();
    }

    /// What goes out next: works from the queue, as many as fit in a BATCH, and one in any case.
    pub fn take(&mut self, works: &mut Vec<Work>) {
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
