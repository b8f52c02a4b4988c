//! The standby's connection to its primary: it takes the log and the state, and acknowledges what
//! is on its disk.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{BufReader, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, Semaphore};

use super::exchange::{bye, introduce, say, Hello, Ready, STRANGERS};
use super::frame::{broken, kind, number, push, put, read, within};
use super::packing::records;
use super::repeats::LASTING;
use super::saved::Saved;
use super::standby::{Standby, PAUSE};
use crate::clock::now;
use crate::connection::Stream;
use crate::lock::lock;
use crate::log::{durable, Durability, Durable, Log};
use crate::role::Role;
use crate::socket::Socket;
use crate::state::Change;

/// How long the primary may be silent; it asks twice a second whether this router is there.
const SILENT: Duration = Duration::from_secs(5);

impl Standby {
    /// Takes connections of primaries. The newest one is obeyed. Never returns.
    pub async fn listen(self: Arc<Self>, socket: Socket) {
        let room = Arc::new(Semaphore::new(STRANGERS));
        loop {
            let Ok(stream) = socket.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
                continue; // strangers, who have a few seconds to say who they are
            };
            let standby = Arc::clone(&self);
            tokio::spawn(async move {
                let _permit = permit;
                let (from, mut to) = tokio::io::split(stream);
                let mut from = BufReader::new(from);
                match standby.meet(&mut from, &mut to).await {
                    Ok(hello) => standby.obey(from, to, hello).await,
                    Err(error) => {
                        standby.not_obeyed(error.to_string());
                        bye(&mut to, &error.to_string()).await;
                    }
                }
            });
        }
    }

    fn not_obeyed(&self, reason: String) {
        let mut primary = lock(&self.primary);
        if primary.repeats.is_new(&reason) {
            tracing::warn!(error = reason, "the primary is not obeyed: {reason}");
        }
        if !primary.joined {
            primary.reason = Some(reason);
        }
    }

    /// Finds out who the other side is, and whether it is a primary that this router obeys.
    async fn meet(
        &self,
        from: &mut BufReader<ReadHalf<Stream>>,
        to: &mut WriteHalf<Stream>,
    ) -> io::Result<Hello> {
        let ours = self.hello()?;
        let hello = introduce(from, to, &ours).await?;
        ours.serves.agree(&hello.serves)?;
        if hello.role != Role::Primary {
            return Err(broken(
                "the other router is a standby, too: promote one of them",
            ));
        }
        if hello.term.number < ours.term.number {
            return Err(broken(format!(
                "the other router is the primary of {}, and this one knows {}",
                hello.term, ours.term
            )));
        }
        Ok(hello)
    }

    fn hello(&self) -> io::Result<Hello> {
        let saved = lock(&self.saved);
        let log = lock(&self.log).clone();
        Ok(Hello {
            role: saved.role,
            term: saved.term,
            lost: saved.lost,
            oldest: log.as_ref().map_or(0, |log| log.extent().oldest),
            newest: log.as_ref().map_or(0, |log| log.appended()),
            published: 0,
            history: saved.history.clone(),
            met: saved.met,
            alone: false,
            digest: self.state.digest()?,
            serves: self.serves.clone(),
        })
    }

    /// Obeys this primary until the connection ends or another one comes.
    async fn obey(
        self: Arc<Self>,
        mut from: BufReader<ReadHalf<Stream>>,
        mut to: WriteHalf<Stream>,
        hello: Hello,
    ) {
        let standby = Arc::clone(&self);
        let task = tokio::spawn(async move {
            let _turn = standby.turn.lock().await;
            let error = match standby.serve(&mut from, &mut to, &hello).await {
                Ok(never) => match never {},
                Err(error) => error,
            };
            bye(&mut to, &error.to_string()).await;
            if standby.left(error.to_string()) {
                tracing::warn!(%error, "the primary is lost: {error}");
            }
        });
        let mut primary = lock(&self.primary);
        if primary.promoted {
            task.abort();
            return;
        }
        if let Some(before) = primary.obeyed.replace(task.abort_handle()) {
            before.abort();
        }
    }

    /// Records that another connection takes the place of the last one, if nobody has heard of the
    /// end of that one. Otherwise the true reason is known.
    pub(super) fn replaced(&self) {
        let was_joined = lock(&self.primary).joined;
        if was_joined {
            self.left("the primary has connected again".to_owned());
        }
    }

    /// Records that the connection has ended. Returns whether the reason should be logged.
    pub(super) fn left(&self, reason: String) -> bool {
        let mut primary = lock(&self.primary);
        let is_news = primary.repeats.ended(&reason, tokio::time::Instant::now());
        if std::mem::replace(&mut primary.joined, false) {
            primary.since = match primary.repeats.is_brief() {
                true => primary.away,
                false => now(),
            };
        }
        primary.reason = Some(reason);
        is_news
    }

    async fn serve(
        &self,
        from: &mut BufReader<ReadHalf<Stream>>,
        to: &mut WriteHalf<Stream>,
        hello: &Hello,
    ) -> io::Result<Infallible> {
        self.replaced();
        let (log, ready) = self.prepare(hello)?;
        // the primary takes everything before that for stored here
        durable(&*log, ready.next - 1).await?;
        lock(&self.primary).heard = Some(Instant::now());
        say(to, kind::READY, &ready).await?;
        let is_news = {
            let mut primary = lock(&self.primary);
            primary.away = primary.since;
            (primary.joined, primary.since, primary.reason) = (true, now(), None);
            primary.repeats.joined(tokio::time::Instant::now())
        };
        if is_news {
            tracing::info!(
                record = ready.next,
                "the primary is joined in {}, from record {} on",
                hello.term,
                ready.next
            );
        }
        let lasting = async {
            tokio::time::sleep(LASTING).await;
            if lock(&self.primary)
                .repeats
                .lasts(tokio::time::Instant::now())
            {
                tracing::info!("the primary is joined again in {}", hello.term);
            }
            std::future::pending().await
        };
        let (answers, queue) = mpsc::unbounded_channel();
        tokio::select! {
            ended = self.take(from, &log, ready.next, answers) => ended,
            ended = acknowledge(to, &log, queue) => ended,
            never = lasting => never,
        }
    }

    /// Makes the log a beginning of the primary's log, and records what the primary says. What the
    /// primary does not have is discarded.
    pub(super) fn prepare(&self, hello: &Hello) -> io::Result<(Arc<Durable>, Ready)> {
        let mut saved = lock(&self.saved);
        if lock(&self.primary).promoted || hello.term.number < saved.term.number {
            return Err(broken(format!("this router knows {}", saved.term)));
        }
        let published = lock(&self.primary).published;
        if hello.newest < published && hello.history == saved.history {
            return Err(broken(format!(
                "the primary has records up to {} only, and has answered up to {published}: its \
                log has lost records; promote the standby",
                hello.newest
            )));
        }
        {
            let mut log = lock(&self.log);
            if log.is_none() {
                // an earlier connection failed to prepare it
                *log = Some(Arc::new(Durable::open(&self.dir, self.size)?));
            }
        }
        let log = lock(&self.log).clone();
        let newest = log.as_ref().map_or(0, |log| log.appended());
        let common = saved.history.common(newest, &hello.history, hello.newest);
        let common = match common {
            Some(common) => Some(common).filter(|common| common + 1 >= hello.oldest),
            None if saved.history.is_empty() => None,
            None => return Err(broken(
                "the log of the standby is that of another pair of routers, or the primary has \
                    lost its state: promote the standby, or move its state directory away",
            )),
        };
        let gone = match common {
            Some(common) => newest.saturating_sub(common),
            None => 0,
        };
        let digest = self.state.digest()?;
        let is_whole = common.is_some_and(|common| common >= hello.published);
        let in_sync = saved.in_sync && is_whole && digest == hello.digest && !hello.alone;
        let mut next = Saved {
            term: hello.term,
            lost: hello.lost,
            in_sync,
            ..saved.clone()
        };
        if gone > 0 || common.is_none() {
            drop(log);
            // until the log is as it should be, nobody may take it for whole
            saved.in_sync = false;
            saved.store(self.state.dir())?;
            let old = lock(&self.log).take();
            if let Some(old) = old {
                // whoever still reads it, such as a status, does so for a moment only
                let old = Arc::into_inner(old).ok_or_else(|| broken("the log is in use; again"));
                match old {
                    Ok(old) => drop(old),
                    Err(error) => {
                        *lock(&self.log) = Some(Arc::new(Durable::open(&self.dir, self.size)?));
                        return Err(error);
                    }
                }
            }
            match common {
                Some(common) => {
                    let cut = Durable::cut(&self.dir, self.size, common)?;
                    next.discarded += cut;
                    tracing::warn!(
                        records = cut,
                        "discarded {cut} records after record {common} \
                        that the primary in {} does not have",
                        hello.term
                    );
                }
                None => {
                    saved.history = Default::default();
                    saved.store(self.state.dir())?;
                    Durable::begin(&self.dir, self.size, hello.oldest)?;
                    let lost = newest.saturating_sub(hello.oldest - 1);
                    tracing::info!(
                        record = hello.oldest,
                        records = lost,
                        "the log begins anew with \
                        record {}",
                        hello.oldest
                    );
                }
            }
            *lock(&self.log) = Some(Arc::new(Durable::open(&self.dir, self.size)?));
        }
        let log = lock(&self.log).clone();
        let log = log.ok_or_else(|| broken("the log of the standby is not open"))?;
        next.history = hello.history.clone();
        if *saved != next {
            next.store(self.state.dir())?;
            *saved = next;
        }
        let ready = Ready {
            next: log.appended() + 1,
            discarded: gone,
            digest,
            takes_checks: true,
        };
        Ok((log, ready))
    }

    /// Takes what the primary sends.
    async fn take(
        &self,
        from: &mut BufReader<ReadHalf<Stream>>,
        log: &Durable,
        mut next: u64,
        answers: mpsc::UnboundedSender<(u8, u64)>,
    ) -> io::Result<Infallible> {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        loop {
            let (kind, body) = read(from, SILENT).await?;
            match kind {
                kind::RECORDS => records(&body, |number, record| {
                    if number != next {
                        return Err(broken(format!("record {number} came, and not {next}")));
                    }
                    // may wait for room on the disk
                    if log.append(record, Durability::Power)? != number {
                        return Err(broken(format!("record {number} has another number here")));
                    }
                    next += 1;
                    Ok(())
                })?,
                kind::POSITIONS => {
                    let positions: BTreeMap<String, u64> = serde_json::from_slice(&body)?;
                    log.take_positions(&positions)?;
                }
                kind::CHANGE => {
                    let (id, rest) = number(&body)?;
                    let change = rest
                        .split_first()
                        .and_then(|(letter, bytes)| Change::of(*letter, bytes.to_vec()))
                        .ok_or_else(|| broken("a change of an unknown kind"))?;
                    self.state.apply(&change)?;
                    answers.send((kind::CHANGED, id)).map_err(gone)?;
                }
                kind::PING => {
                    let (id, rest) = number(&body)?;
                    let mut primary = lock(&self.primary);
                    primary.heard = Some(Instant::now());
                    primary.published = number(rest)?.0;
                    drop(primary);
                    answers.send((kind::PONG, id)).map_err(gone)?;
                }
                kind::SYNCED => {
                    let (through, _) = number(&body)?;
                    let mut saved = lock(&self.saved);
                    if log.newest() < through {
                        return Err(broken("it says that this standby has what it has not"));
                    }
                    if !saved.in_sync {
                        saved.in_sync = true;
                        saved.store(self.state.dir())?;
                        if !lock(&self.primary).repeats.is_brief() {
                            tracing::info!(record = through, "in sync with the primary");
                        }
                    }
                }
                kind::CHECKS => {
                    if let Err(error) = self.state.keep_checks(&body) {
                        // without it, this router only knows less of them
                        tracing::warn!(%error, "the last check of the primary cannot be stored: \
                            {error}");
                    }
                }
                kind => return Err(broken(format!("a frame of the unknown kind {kind}"))),
            }
        }
    }
}

/// Sends the answers, and up to which record the log is on disk whenever that changes.
async fn acknowledge(
    to: &mut WriteHalf<Stream>,
    log: &Durable,
    mut queue: mpsc::UnboundedReceiver<(u8, u64)>,
) -> io::Result<Infallible> {
    let mut frontier = log.frontier();
    let (mut acked, mut buffer) = (0, Vec::new());
    loop {
        buffer.clear();
        let now = frontier.borrow_and_update().clone();
        if let Some(why) = now.broken {
            return Err(io::Error::other(format!("the log of the standby: {why}")));
        }
        if now.newest > acked {
            acked = now.newest;
            push(&mut buffer, kind::ACK, &[&acked.to_le_bytes()]);
        }
        while let Ok((kind, id)) = queue.try_recv() {
            push(&mut buffer, kind, &[&id.to_le_bytes()]);
        }
        if !buffer.is_empty() {
            within(SILENT, put(to, &buffer)).await?;
            continue;
        }
        let (kind, id) = tokio::select! {
            changed = frontier.changed() => {
                changed.map_err(|_| io::ErrorKind::BrokenPipe)?;
                continue;
            }
            answer = queue.recv() => answer.ok_or(io::ErrorKind::BrokenPipe)?,
        };
        push(&mut buffer, kind, &[&id.to_le_bytes()]);
        within(SILENT, put(to, &buffer)).await?;
    }
}
