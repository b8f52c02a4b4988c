//! One client: its input, its requests that wait for answers, and its answers, in the order of the
//! requests.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{oneshot, watch};

use super::allowed::Allowed;
use super::input::{Gone, Input};
use crate::connection::Stream;
use crate::policy::Policy;
use crate::refusals::is_missing;
use crate::reply::Reply;
use crate::router::{Planned, Router, Submitted};
use crate::ticket::Failures;
use crate::verb::Verb;

/// The longest request: eight times what rrdcached reads.
const LINE_BYTES: usize = 64 << 10;

/// Answers larger than this are written in pieces, and the client must take each piece in time.
pub(super) const MUCH_BYTES: usize = 1 << 20;

const PIECE_BYTES: usize = 64 << 10;

/// The room for answers that a client keeps.
const KEPT_BYTES: usize = 16 << 10;

/// How long a client may send nothing while half of its request is missing.
const HALF: Duration = Duration::from_secs(60);

/// The answer when a task has died, which should never happen.
pub(super) const FAULT: &str = "a fault in the router";

pub(super) struct Session {
    pub(super) stream: Stream,
    pub(super) input: Input,
    pub(super) out: Vec<u8>,
    pub(super) pending: VecDeque<Pending>,
    pub(super) router: Arc<Router>,
    pub(super) allowed: Arc<Allowed>,
    pub(super) policy: Policy,
    pub(super) ending: watch::Receiver<bool>,
}

/// A write that waits for its answer.
pub(super) struct Pending {
    pub(super) verb: Verb,
    /// when the request was read
    pub(super) since: Instant,
    pub(super) planned: Planned,
    pub(super) submitted: Submitted,
}

impl Pending {
    async fn reply(&self, router: &Router, policy: Policy, outcome: Outcome) -> Reply {
        let own = self.planned.own;
        let Some(text) = failure(outcome, own) else {
            return self.planned.success.reply();
        };
        if is_missing(&text) {
            let ticket = &self.submitted.ticket;
            let lines = own..ticket.writes.len();
            match router.create_and_update(ticket, lines, policy).await {
                Some(Ok(())) => return self.planned.success.reply(),
                Some(Err(text)) => return Reply::error(text),
                None => {}
            }
        }
        Reply::error(text)
    }
}

/// The outcome of a write: the lines that failed, or `None` if the task that should have reported
/// them has died.
type Outcome = Option<Failures>;

/// The outcome of a write, when it is known.
fn arrived(answer: &mut oneshot::Receiver<Failures>) -> Option<Outcome> {
    match answer.try_recv() {
        Ok(failures) => Some(Some(failures)),
        Err(TryRecvError::Empty) => None,
        Err(TryRecvError::Closed) => Some(None),
    }
}

/// The error that the client gets, if any. The client did not send the lines before line `own`. It
/// does not hear of their failures, unless nobody knows the outcome of any line.
fn failure(outcome: Outcome, own: usize) -> Option<Vec<u8>> {
    match outcome {
        None => Some(FAULT.into()),
        Some(failures) => failures
            .into_iter()
            .find_map(|(at, text)| (at >= own).then_some(text)),
    }
}

/// Waits for a client, but not longer than the limit.
pub(super) async fn within(
    limit: Option<Duration>,
    read: impl Future<Output = Result<(), Gone>>,
) -> Result<(), Gone> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, read).await.unwrap_or(Err(Gone)),
        None => read.await,
    }
}

impl Session {
    /// Writes a large answer. A client that takes none of it for long is disconnected, because its
    /// answer keeps memory.
    pub(super) async fn put(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        let patience = self.router.shared().options.patience;
        for piece in bytes.chunks(PIECE_BYTES) {
            tokio::time::timeout(patience, self.stream.send(piece))
                .await
                .map_err(|_| Gone)?
                .map_err(|_| Gone)?;
        }
        Ok(())
    }

    /// Refuses a line that does not end, and disconnects its client.
    pub(super) async fn check_length(&mut self) -> Result<(), Gone> {
        if self.input.bytes.len() < LINE_BYTES {
            return Ok(());
        }
        self.answer_all().await;
        self.say(&Reply::error("a request of more than 64 KiB"));
        self.flush().await?;
        Err(Gone)
    }

    /// Gives an answer that is known at once, after the answers to earlier requests.
    pub(super) async fn in_turn(
        &mut self,
        reply: Reply,
        verb: Option<Verb>,
        since: Instant,
    ) -> Result<(), Gone> {
        self.answer_all().await;
        self.count(verb, since, reply.is_error());
        self.say(&reply);
        Ok(())
    }

    pub(super) fn say(&mut self, reply: &Reply) {
        reply.write(&mut self.out);
    }

    /// Answers a write.
    pub(super) async fn answer(&mut self, pending: &Pending, outcome: Outcome) {
        let reply = pending.reply(&self.router, self.policy, outcome).await;
        self.count(Some(pending.verb), pending.since, reply.is_error());
        self.say(&reply);
    }

    pub(super) fn count(&self, verb: Option<Verb>, since: Instant, failed: bool) {
        self.router
            .shared()
            .tally
            .observe(verb, since.elapsed(), failed);
    }

    /// Writes the answers that have arrived, in order.
    pub(super) async fn answer_finished(&mut self) {
        while let Some(first) = self.pending.front_mut() {
            let Some(outcome) = arrived(&mut first.submitted.answer) else {
                return;
            };
            if let Some(pending) = self.pending.pop_front() {
                self.answer(&pending, outcome).await;
            }
        }
    }

    pub(super) async fn answer_next(&mut self) {
        if let Some(mut pending) = self.pending.pop_front() {
            let outcome = (&mut pending.submitted.answer).await.ok();
            self.answer(&pending, outcome).await;
        }
    }

    pub(super) async fn answer_all(&mut self) {
        while !self.pending.is_empty() {
            self.answer_next().await;
        }
    }

    pub(super) async fn flush(&mut self) -> Result<(), Gone> {
        if self.out.is_empty() {
            return Ok(());
        }
        if self.out.len() > MUCH_BYTES {
            let out = std::mem::take(&mut self.out);
            return self.put(&out).await; // what was large is freed, not kept for the next answer
        }
        self.stream.send(&self.out).await.map_err(|_| Gone)?;
        self.out.clear();
        self.out.shrink_to(KEPT_BYTES);
        Ok(())
    }

    /// Waits for more input from the client.
    pub(super) async fn read(&mut self) -> Result<(), Gone> {
        let limit = self.silence();
        within(limit, self.input.read(&mut self.stream)).await
    }

    /// Returns how long the client may send nothing now. A request that has begun must go on.
    pub(super) fn silence(&self) -> Option<Duration> {
        let idle = self.router.shared().options.idle?;
        Some(match self.input.bytes.is_empty() {
            true => idle,
            false => idle.min(HALF),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_of_which_nobody_knows_what_became_is_no_success() {
        // the client's own lines begin behind a line that the router put before them
        for own in [0, 1] {
            let (sender, mut answer) = oneshot::channel::<Failures>();
            assert!(arrived(&mut answer).is_none());
            drop(sender);
            let outcome = arrived(&mut answer).unwrap();
            assert_eq!(failure(outcome, own), Some(FAULT.into()));
        }
    }

    #[test]
    fn a_client_hears_of_the_first_failure_of_its_own_lines() {
        let outcome = |at| {
            Some(vec![
                (0, b"not its own".to_vec()),
                (at, b"its own".to_vec()),
            ])
        };
        assert_eq!(failure(outcome(1), 1), Some(b"its own".to_vec()));
        assert_eq!(failure(outcome(1), 2), None);
        assert_eq!(failure(Some(vec![]), 0), None);
    }
}
