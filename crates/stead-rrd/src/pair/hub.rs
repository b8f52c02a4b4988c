//! The primary's side of a pair: its log as the router sees it, and what is known of the standby.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{watch, Notify};

use super::again::start_again;
use super::exchange::Serves;
use super::frame::broken;
use super::repeats::Repeats;
use super::saved::{not_stored, Saved};
use crate::clock::now;
use crate::connection::Address;
use crate::lock::lock;
use crate::log::{Durability, Durable, Frontier, Log};
use crate::role::{Lost, Role};
use crate::state::{Change, StateDir};
use crate::status::PairStatus;
use crate::term::{Claim, Term};

/// For how long after the standby or the agents were asked this router may believe that nobody
/// else is the primary.
pub(super) const LEASE: Duration = Duration::from_secs(2);

/// How long the standby must be away before a primary goes on alone.
const AWAY: Duration = Duration::from_secs(3);

/// Why this router ends a connection to a standby that has more of the state than itself.
pub(super) const UNSTORED: &str =
    "the primary cannot store a change of the state that the standby has";

/// What a pair is made of.
pub struct Facts {
    /// The state directory, which keeps the router's role.
    pub state: Arc<StateDir>,
    /// The log of this router.
    pub log: Arc<Durable>,
    /// Where the other router listens for this one.
    pub peer: Address,
    /// What the primary is to do without the standby.
    pub lost: Lost,
    /// What this router serves.
    pub serves: Serves,
}

/// The primary's side of a pair. It is the log of the router: its records count as durable when
/// the standby has them, too.
pub struct Pair {
    pub(super) state: Arc<StateDir>,
    pub(super) log: Arc<Durable>,
    pub(super) peer: Address,
    pub(super) wanted: Lost,
    pub(super) serves: Serves,
    pub(super) saved: Mutex<Saved>,
    pub(super) frontier: watch::Sender<Frontier>,
    pub(super) link: Mutex<Link>,
    pub(super) repeats: Mutex<Repeats>,
    /// held while a record is added, so that the queue has the order of the log
    pub(super) taking: Mutex<()>,
    /// notified when something has to be sent
    pub(super) bell: Notify,
    /// notified when the link or the right to go on alone has changed
    pub(super) changed: Condvar,
    pub(super) positions_changed: AtomicBool,
    pub(super) names_changed: AtomicBool,
    pub(super) checks_changed: AtomicBool,
    /// whether the router may serve clients
    open: watch::Sender<bool>,
    claim: Arc<Claim>,
    /// whether this run begins the term
    is_new: bool,
}

/// The connection to the standby.
pub(super) struct Link {
    pub joined: bool,
    /// since when it is joined or not, in seconds since 1970; one that did not last does not count
    pub since: u64,
    /// since when it was not joined before it was
    pub away: u64,
    /// since when the time counts as time without the standby, unless a connection lasts
    pub lost: tokio::time::Instant,
    /// why it is not joined
    pub reason: Option<String>,
    /// the records up to this one are on the standby's disk
    pub acked: u64,
    /// whether the standby has been told that it has everything that was answered
    pub synced: bool,
    /// the newest record that was added
    pub appended: u64,
    /// the newest of those that only have to survive a crash of this router
    pub crash: u64,
    /// whether this router goes on without the standby
    pub alone: bool,
    pub deposed: bool,
    pub queue: VecDeque<(u64, Vec<u8>)>,
    pub queued_bytes: usize,
    pub changes: VecDeque<Sent>,
    pub next_change: u64,
    /// how many changes were begun and ended while nobody had to be told
    pub begun: u64,
    pub ended: u64,
    /// why the connection must be opened again
    pub reset: Option<&'static str>,
    /// whether the last connection that was joined ended since this router could not store a
    /// change: then it is not the standby that was there for a moment only
    pub ours: bool,
    /// whether it is made again for that reason, until the standby is in sync or does not answer
    pub renewed: bool,
    pub lease: Option<Instant>,
    agents: Option<Instant>,
}

/// What a standby was told before it is joined.
pub(super) struct Told {
    /// when the connection was begun
    pub at: Instant,
    /// how many changes of the state had begun and ended
    pub begun: u64,
    /// whether this router went on alone
    pub alone: bool,
}

/// A change that the standby has to get.
pub(super) struct Sent {
    pub number: u64,
    pub change: Change,
    pub done: mpsc::Sender<()>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pair({})", self.peer)
    }
}

impl Pair {
    /// Returns the primary's side of a pair. It begins its term on disk: a new one if an earlier
    /// run has gone on alone, since the standby may have records of that run which this router has
    /// lost.
    pub fn new(facts: Facts, mut saved: Saved) -> io::Result<Arc<Pair>> {
        let newest = facts.log.newest();
        if saved.history.is_empty() {
            saved.begin_term(0);
        } else if saved.alone.is_some() && !saved.unused {
            saved.begin_term(newest);
        }
        let is_new = std::mem::replace(&mut saved.unused, false);
        saved.store(facts.state.dir())?;
        let is_alone = saved.alone.is_some();
        let link = Link {
            joined: false,
            since: now(),
            away: now(),
            lost: tokio::time::Instant::now(),
            reason: None,
            acked: 0,
            synced: false,
            appended: newest,
            crash: 0,
            alone: is_alone,
            deposed: false,
            queue: VecDeque::new(),
            queued_bytes: 0,
            changes: VecDeque::new(),
            next_change: 0,
            begun: 0,
            ended: 0,
            reset: None,
            ours: false,
            renewed: false,
            lease: None,
            agents: None,
        };
        let claim = Arc::new(Claim::new(saved.term));
        Ok(Arc::new(Pair {
            state: facts.state,
            log: facts.log,
            peer: facts.peer,
            wanted: facts.lost,
            serves: facts.serves,
            saved: Mutex::new(saved),
            frontier: watch::Sender::new(Frontier {
                written: if is_alone { newest } else { 0 },
                newest: if is_alone { newest } else { 0 },
                ..Frontier::default()
            }),
            link: Mutex::new(link),
            repeats: Mutex::default(),
            taking: Mutex::new(()),
            bell: Notify::new(),
            changed: Condvar::new(),
            positions_changed: AtomicBool::new(false),
            names_changed: AtomicBool::new(false),
            checks_changed: AtomicBool::new(false),
            open: watch::Sender::new(is_alone),
            claim,
            is_new,
        }))
    }

    /// Returns the claim that the agents are told.
    pub fn claim(&self) -> &Arc<Claim> {
        &self.claim
    }

    /// Reports whether the router may serve clients: it has found out that nobody else is the
    /// primary.
    pub fn open(&self) -> watch::Receiver<bool> {
        self.open.subscribe()
    }

    /// Returns whether what this router reads is current: nobody else can have become the primary.
    pub fn is_current(&self) -> bool {
        let link = self.link();
        let valid = |until: Option<Instant>| until.is_some_and(|until| Instant::now() < until);
        !link.deposed && (link.alone || valid(link.lease) || valid(link.agents))
    }

    /// Returns when this router may serve clients after it has told its term to the agents. An old
    /// primary may believe for so long that it is the only one, if agents have told it so.
    pub fn serves_from(&self) -> Instant {
        Instant::now() + if self.is_new { LEASE } else { Duration::ZERO }
    }

    /// Records that most agents have confirmed the term of this router, when asked at this time.
    pub fn confirmed_by_agents(&self, asked: Instant) {
        self.link().agents = Some(asked + LEASE);
    }

    pub(super) fn link(&self) -> MutexGuard<'_, Link> {
        lock(&self.link)
    }

    /// Publishes how far the log has come.
    pub(super) fn publish(&self) {
        let local = self.log.frontier().borrow().clone();
        let local_written = self.log.reached(Durability::Crash);
        let link = self.link();
        if link.deposed {
            return;
        }
        let (written, newest) = match link.alone {
            true => (local_written, local.newest),
            false => (local_written.min(link.acked), local.newest.min(link.acked)),
        };
        let unsure = (!link.joined && !link.alone && self.wanted == Lost::Refuse)
            .then(|| self.refusal(&link).into());
        self.frontier.send_if_modified(|frontier| {
            let before = frontier.clone();
            frontier.written = frontier.written.max(written);
            frontier.newest = frontier.newest.max(newest);
            frontier.broken = local.broken;
            frontier.unsure = unsure;
            *frontier != before
        });
    }

    pub(super) fn refusal(&self, link: &Link) -> String {
        let reason = link.reason.as_deref().unwrap_or("not connected yet");
        let peer = &self.peer;
        format!("the standby {peer} does not take the log ({reason}); try again later")
    }

    /// Records that the standby is joined, so that it gets everything. Returns whether that should
    /// be logged. An error says that something has changed since the standby was told of it.
    pub(super) fn join(&self, told: &Told, next: u64) -> io::Result<bool> {
        let mut link = self.link();
        if link.begun != told.begun || link.ended != told.begun {
            return Err(broken("the state has changed meanwhile; once more"));
        }
        if link.alone != told.alone {
            return Err(broken("this router has gone on alone meanwhile; once more"));
        }
        // a standby that is ready has not been promoted since this was begun
        (link.acked, link.lease) = (next - 1, Some(told.at + LEASE));
        (link.joined, link.synced, link.reason) = (true, false, None);
        (link.away, link.since, link.reset) = (link.since, now(), None);
        self.names_changed.store(true, Ordering::Relaxed);
        self.checks_changed.store(true, Ordering::Relaxed);
        drop(link);
        self.publish();
        self.changed.notify_all();
        Ok(lock(&self.repeats).joined(tokio::time::Instant::now()))
    }

    /// Records that the link is lost, or still not there.
    pub(super) fn lost(&self, reason: String) {
        let (is_news, is_brief) = {
            let mut repeats = lock(&self.repeats);
            let is_news = repeats.ended(&reason, tokio::time::Instant::now());
            (is_news, repeats.is_brief())
        };
        let mut link = self.link();
        let (peer, mode) = (&self.peer, self.wanted);
        if is_news && link.joined {
            tracing::warn!(%peer, error = reason, "the standby {peer} is lost: {reason} \
                (--standby-lost {mode})");
        } else if is_news {
            tracing::warn!(%peer, error = reason, "the standby {peer} cannot be joined: {reason}");
        }
        link.renewed = link.joined && link.reset == Some(UNSTORED);
        if link.joined {
            link.ours = link.renewed;
        }
        if link.joined && is_brief && !link.ours {
            link.since = link.away;
        } else if link.joined {
            (link.lost, link.since) = (tokio::time::Instant::now(), now());
        }
        link.joined = false;
        link.reason = Some(reason);
        link.queue.clear();
        link.queued_bytes = 0;
        link.changes.clear(); // their callers notice it
        drop(link);
        self.publish();
        self.changed.notify_all();
    }

    /// Goes on alone if that is the mode, the standby knows it, and the standby is away for long. A
    /// standby that was joined for moments only was away meanwhile, too. That is safe whenever it
    /// is not joined: it has stored that the primary may go on alone, so it is not promoted without
    /// --force, and it hears of this when it is joined the next time.
    pub(super) fn go_alone(&self) -> io::Result<()> {
        let mut saved = lock(&self.saved);
        let mut link = self.link();
        let may = self.wanted == Lost::Alone && saved.lost == Lost::Alone && saved.met;
        if !may || link.alone || link.joined || link.deposed || link.lost.elapsed() < AWAY {
            return Ok(());
        }
        if !*self.open.borrow() {
            // the standby may have records of an earlier run that this router has lost: so a new
            // term begins, in a new run
            let confirmed = self.log.positions().into_values().min();
            saved.promote(link.appended);
            saved.alone = confirmed.or(saved.alone);
            saved.store(self.state.dir())?;
            tracing::error!("the standby cannot be reached, and this router goes on alone");
            start_again();
        }
        // on disk before any backend gets a record that only this router has; a standby that was
        // joined for a moment may lack some of what this router took alone before
        let after = self.published_by(&link).min(link.acked);
        saved.alone = Some(after);
        saved.store(self.state.dir())?;
        link.alone = true;
        drop((link, saved));
        tracing::error!(
            record = after,
            "the standby is lost, and this router goes on alone: \
            whatever it takes after record {after} is on this machine only"
        );
        self.publish();
        self.open.send_replace(true);
        self.changed.notify_all();
        Ok(())
    }

    /// Stops going on alone. From then on, nothing counts as durable that the standby lacks.
    pub(super) fn not_alone(&self) -> io::Result<()> {
        let mut saved = lock(&self.saved);
        self.link().alone = false;
        if saved.alone.take().is_some() {
            saved.store(self.state.dir())?;
        }
        Ok(())
    }

    /// Records that the standby has everything that was answered.
    pub(super) fn synced(&self) {
        {
            let mut link = self.link();
            (link.synced, link.renewed) = (true, false);
        }
        self.open
            .send_if_modified(|open| !std::mem::replace(open, true));
    }

    /// Returns the newest record that may have been answered.
    pub(super) fn published(&self) -> u64 {
        self.published_by(&self.link())
    }

    pub(super) fn published_by(&self, link: &Link) -> u64 {
        let frontier = self.frontier.borrow();
        frontier.newest.max(frontier.written.min(link.crash))
    }

    /// Stops being the primary, because somebody has heard of this term. The program starts again
    /// as a standby. Never returns.
    pub fn step_down(&self, higher: Term) -> ! {
        // keep these locks: nothing is published, taken or answered any more
        let mut saved = lock(&self.saved);
        self.link().deposed = true;
        let _link = self.link();
        saved.step_down(higher);
        tracing::error!(
            term = higher.number,
            "another router is the primary since {higher}: this \
            one stops and becomes its standby"
        );
        if let Err(error) = saved.store(self.state.dir()) {
            tracing::error!(%error, "cannot record that this router is a standby: {error}");
            std::process::exit(crate::exit::IO.into());
        }
        start_again()
    }

    /// Lets this router go on alone in a new term, whatever the standby does. The caller then
    /// starts the program again.
    pub fn force(&self) -> Result<String, String> {
        let mut saved = lock(&self.saved);
        let link = self.link();
        if link.joined {
            return Err("this router is the primary, and the standby is connected".to_owned());
        }
        let mut next = saved.clone();
        next.promote(link.appended);
        if *self.open.borrow() {
            next.alone = Some(self.published_by(&link));
        }
        let stored = next.store(self.state.dir());
        stored.map_err(|error| {
            let why = not_stored(&error);
            format!("this router does not go on alone, since it cannot record that: {why}")
        })?;
        *saved = next;
        Ok(format!(
            "forced: this router goes on alone in {}; if the other one has been promoted, there \
            are two primaries until they see each other, and what one of them has taken is lost",
            saved.term
        ))
    }

    /// Returns the state of the pair.
    pub fn status(&self) -> PairStatus {
        let brief = lock(&self.repeats).is_brief();
        let saved = lock(&self.saved);
        let link = self.link();
        PairStatus {
            role: Role::Primary,
            term: saved.term.number,
            peer: self.peer.to_string(),
            lost: self.wanted,
            agreed: saved.lost == self.wanted,
            connected: link.joined,
            since: link.since,
            reason: link.reason.clone(),
            brief: brief && !link.ours,
            renewed: link.renewed,
            serving: *self.open.borrow(),
            waits: None,
            alone: saved.alone,
            in_sync: link.joined && link.synced,
            behind: match link.joined || link.acked > 0 {
                true => link.appended.saturating_sub(link.acked),
                false => 0,
            },
            discarded: saved.discarded,
        }
    }
}
