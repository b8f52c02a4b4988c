//! The primary's connection to its standby. It has a thread of its own, so that no other work of
//! the router can delay it.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};

use tokio::io::{BufReader, ReadHalf, WriteHalf};
use tokio::sync::Semaphore;

use super::exchange::{bye, hear, introduce, Hello, Ready, STRANGERS};
use super::frame::{broken, kind, number, push, put, read, within};
use super::hub::{Pair, LEASE};
use crate::connection::{Address, Stream};
use crate::lock::lock;
use crate::log::Log;
use crate::role::Role;
use crate::socket::Socket;

/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(2);

/// The pause before the next attempt.
const RETRY: Duration = Duration::from_millis(200);

/// How often the standby is asked whether it is there.
const PING: Duration = Duration::from_millis(500);

/// How long the standby may be silent, and how long it may take what it is sent.
const SILENT: Duration = Duration::from_secs(3);

/// How long the standby may take to prepare its log: it reads all of it.
const PREPARE: Duration = Duration::from_secs(120);

/// How many records the standby may lack when the primary stops going on alone. It then waits for
/// these records.
const NEAR: u64 = 10_000;

impl Pair {
    /// Keeps the standby connected, in a thread of its own, and listens for a router that is the
    /// primary of a later term.
    pub fn start(self: &Arc<Self>, socket: Socket) -> io::Result<()> {
        let pair = Arc::clone(self);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        // the socket belongs to the runtime that has made it
        tokio::spawn(Arc::clone(self).listen(socket));
        std::thread::Builder::new()
            .name("pair".to_owned())
            .spawn(move || runtime.block_on(pair.keep()))?;
        let pair = Arc::clone(self);
        tokio::spawn(async move {
            let mut higher = pair.claim().higher();
            let found = higher
                .wait_for(Option::is_some)
                .await
                .ok()
                .and_then(|it| *it);
            if let Some(term) = found {
                pair.step_down(term);
            }
        });
        Ok(())
    }

    async fn keep(self: Arc<Self>) {
        let local = Arc::clone(&self);
        tokio::spawn(async move {
            let mut frontier = local.log.frontier();
            while frontier.changed().await.is_ok() {
                frontier.borrow_and_update();
                local.publish();
                local.bell.notify_one();
            }
        });
        let mut said = String::new();
        loop {
            let error = match self.session().await {
                Ok(never) => match never {},
                Err(error) => error.to_string(),
            };
            let was_joined = self.link().joined;
            if !was_joined && error != said {
                let peer = &self.peer;
                tracing::warn!(%peer, error, "the standby {peer} cannot be joined: {error}");
            }
            said = error.clone();
            self.lost(error);
            if let Err(error) = self.go_alone() {
                tracing::error!(%error, "cannot go on alone: {error}");
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Connects the standby and feeds it until the connection is lost.
    async fn session(&self) -> io::Result<std::convert::Infallible> {
        let begun_at = Instant::now();
        let stream = within(CONNECT, Stream::connect(&self.peer)).await?;
        let (from, mut to) = tokio::io::split(stream);
        let mut from = BufReader::new(from);
        let (begun, digest) = {
            let link = self.link();
            if link.begun != link.ended {
                return Err(broken("the state is being changed; once more"));
            }
            (link.begun, self.state.digest()?)
        };
        let hello = self.hello(digest);
        let other = introduce(&mut from, &mut to, &hello).await?;
        self.compare(&hello, &other)?;
        let ready: Ready = hear(&mut from, kind::READY, PREPARE).await?;
        {
            let mut saved = lock(&self.saved);
            if saved.lost != self.wanted || !saved.met {
                (saved.lost, saved.met) = (self.wanted, true);
                saved.store(self.state.dir())?;
            }
        }
        if ready.digest != digest {
            self.send_state(&mut from, &mut to).await?;
        }
        {
            let link = self.link();
            if link.begun != begun || link.ended != begun {
                return Err(broken("the state has changed meanwhile; once more"));
            }
        }
        {
            let mut link = self.link();
            link.acked = ready.next - 1;
            // a standby that is ready has not been promoted since this was begun
            link.lease = Some(begun_at + LEASE);
        }
        self.joined();
        let peer = &self.peer;
        tracing::info!(%peer, record = ready.next, "the standby {peer} takes the log from record \
            {} on", ready.next);
        if ready.discarded > 0 {
            tracing::warn!(%peer, records = ready.discarded, "the standby {peer} has discarded {} \
                records that this router does not have", ready.discarded);
        }
        let asked = Asked::default();
        let fed = self.feed(&mut to, ready.next, &asked);
        let heard = self.hear(&mut from, &asked);
        let ended = tokio::select! {
            ended = fed => ended,
            ended = heard => ended,
        };
        if let Err(error) = &ended {
            bye(&mut to, &error.to_string()).await;
        }
        ended
    }

    /// Steps down if the other router is the primary of a later term, or obeys one. An error says
    /// why it does not take the log.
    fn compare(&self, ours: &Hello, other: &Hello) -> io::Result<()> {
        let is_primary = other.role == Role::Primary;
        if is_primary && !(ours.met && other.met) && (ours.newest > 0 || !other.met) {
            return Err(broken(
                "the other router is a primary, too: start the one that is to be the standby with \
                an empty --state and --role standby",
            ));
        }
        // a standby of this term obeys this router, or refuses it by itself; a router that is new
        // yields to any primary
        let is_later = match is_primary {
            true => other.term > ours.term || !ours.met,
            false => other.term.number > ours.term.number,
        };
        if is_later {
            self.step_down(other.term);
        }
        match is_primary {
            true => Err(broken(
                "the other router is the primary of an older term; it becomes a standby now",
            )),
            false => Ok(()),
        }
    }

    /// Returns who this router is.
    fn hello(&self, digest: u64) -> Hello {
        let saved = lock(&self.saved);
        let link = self.link();
        Hello {
            role: Role::Primary,
            term: saved.term,
            lost: self.wanted,
            oldest: self.log.extent().oldest,
            newest: link.appended,
            published: self.published_by(&link),
            history: saved.history.clone(),
            met: saved.met,
            alone: link.alone,
            digest,
        }
    }

    async fn send_state(
        &self,
        from: &mut BufReader<ReadHalf<Stream>>,
        to: &mut WriteHalf<Stream>,
    ) -> io::Result<()> {
        for change in self.state.snapshot()? {
            let mut buffer = Vec::new();
            let (letter, bytes) = change.parts();
            push(
                &mut buffer,
                kind::CHANGE,
                &[&0u64.to_le_bytes(), &[letter], bytes],
            );
            within(SILENT * 10, put(to, &buffer)).await?;
            let (found, _) = read(from, PREPARE).await?;
            if found != kind::CHANGED {
                return Err(broken(format!("a frame of the unexpected kind {found}")));
            }
        }
        Ok(())
    }

    /// Sends everything that the standby has to get.
    async fn feed(
        &self,
        to: &mut WriteHalf<Stream>,
        mut next: u64,
        asked: &Asked,
    ) -> io::Result<std::convert::Infallible> {
        let mut pinged = Instant::now() - PING;
        let mut synced = None;
        let mut told_positions = Instant::now() - PING;
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            if let Some(why) = self.link().reset {
                return Err(broken(why));
            }
            let (count, body) = self.take(next)?;
            // after the records were taken: backends that these may name must be known before
            let names = self.names_changed.swap(false, Ordering::AcqRel);
            if names
                || told_positions.elapsed() >= PING
                    && self.positions_changed.swap(false, Ordering::AcqRel)
            {
                let positions = serde_json::to_vec(&self.positions())?;
                push(&mut buffer, kind::POSITIONS, &[&positions]);
                told_positions = Instant::now();
            }
            let changes: Vec<_> = self.link().changes.drain(..).collect();
            for sent in changes {
                let (letter, bytes) = sent.change.parts();
                let number = sent.number.to_le_bytes();
                push(&mut buffer, kind::CHANGE, &[&number, &[letter], bytes]);
                lock(&asked.changes).insert(sent.number, sent.done);
            }
            if count > 0 {
                push(&mut buffer, kind::RECORDS, &[&next.to_le_bytes(), &body]);
                next += count;
            }
            if pinged.elapsed() >= PING {
                pinged = Instant::now();
                let mut pings = lock(&asked.pings);
                pings.number += 1;
                let number = pings.number;
                pings.sent.insert(number, pinged);
                push(
                    &mut buffer,
                    kind::PING,
                    &[&number.to_le_bytes(), &self.published().to_le_bytes()],
                );
            }
            if let Some(through) = self.is_synced(&mut synced)? {
                push(&mut buffer, kind::SYNCED, &[&through.to_le_bytes()]);
            }
            if buffer.is_empty() {
                let _ = tokio::time::timeout(PING, self.bell.notified()).await;
                continue;
            }
            within(SILENT, put(to, &buffer)).await?;
        }
    }

    /// Finds out whether the standby has everything that was answered, and returns the record when
    /// the standby is to be told.
    fn is_synced(&self, target: &mut Option<u64>) -> io::Result<Option<u64>> {
        let (acked, is_alone, appended, synced) = {
            let link = self.link();
            (link.acked, link.alone, link.appended, link.synced)
        };
        if synced {
            return Ok(None);
        }
        if target.is_none() && acked + NEAR >= appended {
            if is_alone {
                self.not_alone()?;
            }
            // nothing after this counts as durable before the standby has it; before this router
            // serves anybody, the standby gets everything that an earlier run has left
            *target = Some(match *self.open().borrow() {
                true => self.published(),
                false => appended,
            });
        }
        match target {
            Some(through) if acked >= *through => {
                self.publish();
                self.synced();
                let (peer, record) = (&self.peer, *through);
                tracing::info!(%peer, record, "the standby {peer} is in sync");
                Ok(Some(*through))
            }
            _ => Ok(None),
        }
    }

    /// Takes what the standby says.
    async fn hear(
        &self,
        from: &mut BufReader<ReadHalf<Stream>>,
        asked: &Asked,
    ) -> io::Result<std::convert::Infallible> {
        loop {
            let (kind, body) = read(from, SILENT).await?;
            let (number, _) = number(&body)?;
            match kind {
                kind::ACK => {
                    let mut link = self.link();
                    if number > link.appended {
                        return Err(broken(format!(
                            "it has record {number}, which does not exist yet"
                        )));
                    }
                    link.acked = link.acked.max(number);
                    let synced = link.synced;
                    drop(link);
                    self.publish();
                    if !synced {
                        self.bell.notify_one();
                    }
                }
                kind::CHANGED => {
                    if let Some(done) = lock(&asked.changes).remove(&number) {
                        let _ = done.send(()); // the caller may have given up
                    }
                }
                kind::PONG => {
                    let sent = {
                        let mut pings = lock(&asked.pings);
                        let sent = pings.sent.remove(&number);
                        pings.sent.retain(|other, _| *other > number);
                        sent
                    };
                    if let Some(sent) = sent {
                        self.link().lease = Some(sent + LEASE);
                    }
                }
                kind => return Err(broken(format!("a frame of the unknown kind {kind}"))),
            }
        }
    }

    /// Listens for another primary. The one of the older term stops.
    async fn listen(self: Arc<Self>, socket: Socket) {
        let room = Arc::new(Semaphore::new(STRANGERS));
        loop {
            let Ok(stream) = socket.accept().await else {
                tokio::time::sleep(RETRY).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
                continue; // strangers, who have a few seconds to say who they are
            };
            let pair = Arc::clone(&self);
            tokio::spawn(async move {
                let _permit = permit;
                let (from, mut to) = tokio::io::split(stream);
                let hello = pair.hello(0);
                let other = introduce(&mut BufReader::new(from), &mut to, &hello).await;
                match other.and_then(|other| pair.compare(&hello, &other)) {
                    Ok(()) => {}
                    Err(error) => {
                        tracing::debug!(%error, "a connection to --pair is refused: {error}");
                        bye(&mut to, &error.to_string()).await;
                    }
                }
            });
        }
    }

    /// Returns where the other router listens.
    pub fn peer(&self) -> &Address {
        &self.peer
    }
}

/// What the standby has not answered yet.
#[derive(Default)]
struct Asked {
    changes: std::sync::Mutex<HashMap<u64, mpsc::Sender<()>>>,
    pings: std::sync::Mutex<Pings>,
}

#[derive(Default)]
struct Pings {
    number: u64,
    sent: HashMap<u64, Instant>,
}
