//! Answers questions from one copy, from all copies of a file, or from all backends.
//!
//! A read goes to the first backend that is up to date. If that backend fails or has no such file,
//! the read goes to the next one. If it does not answer for a short while, the next one is asked as
//! well, and the first answer is taken; until the backend answers, other reads ask it last. A copy
//! that may lack values, since it was not compared with the others yet, is asked after those.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;

use super::hub::{Router, LARGE_ANSWERS};
use super::merging::{agreed, queues, summed, union};
use super::trailing::UNCOMPARED;
use crate::backend::Backend;
use crate::fetch::{Wanted, LARGE_VALUES, MOST_VALUES};
use crate::health::Health;
use crate::layout::{BackendId, Copies};
use crate::refusals::is_missing;
use crate::reply::Reply;
use crate::request::{FileLine, Listing};
use crate::verb::Verb;
use crate::words::{line_of, Split};

/// How long a backend may take to answer a read before the next one is asked as well: it may hang,
/// and a client waits.
const SHORT: Duration = Duration::from_secs(1);

impl Router {
    /// Returns the answer of one copy.
    pub async fn one_copy(&self, asked: FileLine) -> Reply {
        self.first_of(&asked.name, SHORT, Some(&asked), |backend| {
            let (name, line) = (asked.name.clone(), asked.line.clone());
            async move { backend.ask_about(&name, &line, false).await }
        })
        .await
    }

    /// Answers FETCH and FETCHBIN like [`one_copy`](Router::one_copy), but refuses too large a
    /// request. A large answer comes with a permit, which must be kept as long as the answer.
    pub async fn fetch(
        &self,
        asked: FileLine,
        wanted: Option<Wanted>,
    ) -> (Reply, Option<OwnedSemaphorePermit>) {
        let permit = match self.permit(&asked.name, wanted).await {
            Ok(permit) => permit,
            Err(reply) => return (reply, None),
        };
        let (large, binary) = (permit.is_some(), asked.verb == Verb::Fetchbin);
        // a second large answer would take as much memory again
        let short = if large { Duration::MAX } else { SHORT };
        let small = (!large).then_some(&asked);
        let reply = self.first_of(&asked.name, short, small, |backend| {
            let (name, line) = (asked.name.clone(), asked.line.clone());
            async move {
                if large {
                    backend.ask_large(&name, &line, binary).await
                } else {
                    backend.ask_about(&name, &line, binary).await
                }
            }
        });
        (reply.await, permit)
    }

    /// Checks the size of a FETCH, and returns a permit if its answer will be large. The error is
    /// the answer to send.
    async fn permit(
        &self,
        name: &[u8],
        wanted: Option<Wanted>,
    ) -> Result<Option<OwnedSemaphorePermit>, Reply> {
        let Some(wanted) = wanted else {
            return Ok(None);
        };
        let info = line_of(Verb::Info, name);
        let info = self.first_of(name, SHORT, None, |backend| {
            let (name, info) = (name.to_vec(), info.clone());
            async move { backend.ask_about(&name, &info, false).await }
        });
        match wanted.values(&info.await) {
            Some(values) if values > MOST_VALUES => {
                let (from, to) = wanted.times();
                Err(Reply::error(format!(
                    "{values} values from {from} to {to}; at most \
                    {MOST_VALUES} in one answer: ask for a shorter time"
                )))
            }
            Some(values) if values > LARGE_VALUES => {
                let permit = tokio::time::timeout(
                    self.shared().options.patience,
                    Arc::clone(&self.large).acquire_owned(),
                )
                .await;
                permit.ok().and_then(Result::ok).map(Some).ok_or_else(|| {
                    Reply::error(format!(
                        "{LARGE_ANSWERS} large answers are on their way to others; try again later"
                    ))
                })
            }
            _ => Ok(None),
        }
    }

    /// Asks the first backend of the file that is up to date; copies that may lack values come
    /// last. If that one fails or has no such file, or takes longer than `short`, asks the next.
    /// The file does not exist only if each of them says so. If none is up to date, one answers
    /// `behind` that is catching up.
    ///
    /// Only the places where the file is now are asked. While it moves, its new places may have a
    /// copy that lacks updates, and after the move its old ones.
    async fn first_of<F>(
        &self,
        name: &[u8],
        short: Duration,
        behind: Option<&FileLine>,
        ask: impl Fn(Arc<Backend>) -> F,
    ) -> Reply
    where
        F: Future<Output = io::Result<Reply>> + Send + 'static,
    {
        if let Err(reply) = self.checked() {
            return reply;
        }
        let reply = loop {
            let copies = self.shared().layout().now(name);
            let reply = self.first_answer(name, &copies, short, behind, &ask).await;
            if !self.has_left(name, &copies, &reply) {
                break reply;
            }
        };
        self.checked().err().unwrap_or(reply)
    }

    async fn first_answer<F>(
        &self,
        name: &[u8],
        copies: &[BackendId],
        short: Duration,
        behind: Option<&FileLine>,
        ask: impl Fn(Arc<Backend>) -> F,
    ) -> Reply
    where
        F: Future<Output = io::Result<Reply>> + Send + 'static,
    {
        let (mut refused, mut lacking) = (None, Vec::new());
        self.wait_for_a_copy(copies).await;
        let mut backends: Vec<Arc<Backend>> =
            copies.iter().map(|id| self.backends.get(*id)).collect();
        let doubtful = self.doubtful(name, &backends);
        // a stable sort
        backends.sort_by_key(|backend| (doubtful.contains(&backend.id()), backend.is_overdue()));
        let mut backends = backends.into_iter();
        let mut asked = JoinSet::new();
        loop {
            if let Some(backend) = backends.next() {
                let id = backend.id();
                let answer = noting_delay(Arc::clone(&backend), short, ask(backend));
                asked.spawn(async move { (id, answer.await) });
            }
            let answer = match backends.len() {
                0 => asked.join_next().await,
                _ => match tokio::time::timeout(short, asked.join_next()).await {
                    Ok(answer) => answer,
                    Err(_) => continue,
                },
            };
            let Some(answer) = answer else { break };
            match answer {
                Ok((id, Ok(reply))) if reply.is_error() && is_missing(&reply.text) => {
                    lacking.push(id);
                    refused = refused.or(Some(reply))
                }
                Ok((id, Ok(mut reply))) => {
                    // one that hangs is found to be down when its time is up
                    asked.detach_all();
                    if doubtful.contains(&id) && doubtful.len() < copies.len() {
                        self.mark(&mut reply, UNCOMPARED);
                    }
                    return reply;
                }
                Ok((_, Err(error))) if error.kind() == io::ErrorKind::InvalidData => {
                    asked.detach_all();
                    return Reply::error(error.to_string());
                }
                _ => {}
            }
        }
        if let (None, Some(asked)) = (&refused, behind) {
            if let Some(reply) = self.behind(asked, copies).await {
                return reply;
            }
        }
        let silent = copies.iter().filter(|id| !lacking.contains(id));
        self.refusal(name, refused, silent.copied().collect())
    }

    /// Returns whether the file has left these places for others, and the answer may be an error
    /// for that reason only.
    fn has_left(&self, name: &[u8], copies: &[BackendId], reply: &Reply) -> bool {
        reply.is_error() && self.shared().layout().now(name)[..] != *copies
    }

    /// Returns the answer when no copy gave one: the refusal, unless the file may be on a backend
    /// that is not up.
    fn refusal(&self, name: &[u8], refused: Option<Reply>, silent: Copies) -> Reply {
        match refused {
            None => self.nobody(name),
            Some(reply) if silent.is_empty() || !is_missing(&reply.text) => reply,
            Some(_) => self.unsure(name, &silent),
        }
    }

    /// Sends FLUSH, SUSPEND or RESUME to all backends of the file that are up. Returns the first
    /// success in the file's order of backends, or else the first error.
    pub async fn all_copies(&self, asked: FileLine) -> Reply {
        loop {
            if let Err(reply) = self.checked() {
                return reply;
            }
            let copies = self.shared().layout().now(&asked.name);
            let reply = self.each_copy(&asked, &copies).await;
            if !self.has_left(&asked.name, &copies, &reply) {
                return reply;
            }
        }
    }

    async fn each_copy(&self, asked: &FileLine, copies: &[BackendId]) -> Reply {
        let apart = asked.verb != Verb::Flush;
        let replies = self.ask_all(copies, asked.line.clone(), apart).await;
        let (mut refused, mut silent) = (None, Copies::from(copies));
        for (at, reply) in replies {
            if !reply.is_error() {
                return reply;
            }
            silent.retain(|id| *id != copies[at]);
            refused = refused.or(Some(reply));
        }
        self.refusal(&asked.name, refused, silent)
    }

    /// Sends FLUSHALL, SUSPENDALL, RESUMEALL, STATS or QUEUE to every backend that is up, and joins
    /// their answers into one.
    pub async fn everywhere(&self, verb: Verb) -> Reply {
        if let Err(reply) = self.checked() {
            return reply;
        }
        let replies = self.ask_every(verb.name().as_bytes().to_vec()).await;
        match verb {
            Verb::Stats => summed(&replies),
            Verb::Queue => queues(&replies),
            _ => agreed(&replies),
        }
    }

    /// Returns the union of the lists of all backends.
    pub async fn list(&self, asked: Listing) -> Reply {
        if let Err(reply) = self.checked() {
            return reply;
        }
        union(&self.ask_every(asked.line).await)
    }

    /// Returns the error if what the backends say may not be current.
    fn checked(&self) -> Result<(), Reply> {
        match self.shared().is_current() {
            true => Ok(()),
            false => Err(not_current()),
        }
    }

    async fn ask_every(&self, line: Vec<u8>) -> Vec<Reply> {
        let all = self.shared().layout().all();
        let replies = self.ask_all(&all, line, false).await;
        replies.into_values().collect()
    }

    /// Asks several backends at once. Returns the replies by their places in `ids`, without those
    /// that did not answer.
    async fn ask_all(
        &self,
        ids: &[BackendId],
        line: Vec<u8>,
        apart: bool,
    ) -> BTreeMap<usize, Reply> {
        let line: Arc<[u8]> = line.into();
        let mut tasks = JoinSet::new();
        for (at, id) in ids.iter().enumerate() {
            let (backend, line) = (self.backends.get(*id), Arc::clone(&line));
            if backend.health() == Health::Up {
                tasks.spawn(async move {
                    let asked = if apart {
                        backend.ask_apart(&line).await
                    } else {
                        backend.ask(&line, false).await
                    };
                    (at, asked)
                });
            }
        }
        let mut replies = BTreeMap::new();
        while let Some(done) = tasks.join_next().await {
            if let Ok((at, Ok(reply))) = done {
                if !reply.is_error() {
                    self.note_suspended(ids[at], &line);
                }
                replies.insert(at, reply);
            }
        }
        replies
    }

    /// Records what a line that a backend has carried out suspends or resumes there.
    fn note_suspended(&self, place: BackendId, line: &[u8]) {
        let split = Split::of(line);
        let (one, suspended) = match split.verb {
            Some(Verb::Suspend) => (true, true),
            Some(Verb::Resume) => (true, false),
            Some(Verb::Suspendall) => (false, true),
            Some(Verb::Resumeall) => (false, false),
            _ => return,
        };
        match split.path() {
            Some((name, _)) if one => self.shared().suspended.one(place, &name, suspended),
            _ => self.shared().suspended.all(place, suspended),
        }
    }
}

/// The answer of a primary that has lost its standby and cannot ask the agents, either.
fn not_current() -> Reply {
    Reply::error(
        "this router has lost the other one, which may be the primary now; try again later",
    )
}

/// Returns the answer, and lets other reads ask the backend last while it takes longer than
/// `short`.
async fn noting_delay(
    backend: Arc<Backend>,
    short: Duration,
    answer: impl Future<Output = io::Result<Reply>>,
) -> io::Result<Reply> {
    let mut answer = std::pin::pin!(answer);
    match tokio::time::timeout(short, &mut answer).await {
        Ok(answer) => answer,
        Err(_) => {
            let _overdue = backend.overdue();
            answer.await
        }
    }
}
