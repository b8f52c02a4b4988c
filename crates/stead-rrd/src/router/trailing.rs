//! Reads of files of which no copy that can be asked is known to be up to date.
//!
//! When the router starts, it sends each server what the server may lack, which can take a while.
//! The servers have most of it, and mostly all: so after a short wait, one that is not known to be
//! up to date answers as well as it can.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::Duration;

use super::hub::Router;
use crate::backend::Backend;
use crate::health::Health;
use crate::layout::{BackendId, Copies};
use crate::refusals::is_missing;
use crate::reply::Reply;
use crate::request::FileLine;
use crate::verb::Verb;

/// How long a read waits for a copy that is catching up, from when it began.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a read that waits looks again.
const LOOK: Duration = Duration::from_millis(20);

/// What stands behind the first line of an answer that may lack the newest values.
const BEHIND: &[u8] = b" (behind: the server is catching up)";

/// The same, where the copy has not been compared with a better one that did not answer.
pub(super) const UNCOMPARED: &[u8] = b" (perhaps behind: this copy was not compared yet)";

impl Router {
    /// Waits until a copy is up, if one is catching up and has begun a moment ago.
    pub(super) async fn wait_for_a_copy(&self, copies: &[BackendId]) {
        loop {
            let conditions = copies.iter().map(|id| self.backends.get(*id).condition());
            let mut worth = false;
            for (health, since, _) in conditions {
                match health {
                    Health::Up => return,
                    Health::Behind => worth |= since.elapsed().is_ok_and(|for_| for_ < PATIENCE),
                    Health::Down => {}
                }
            }
            if !worth {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the answer of a copy that is catching up. Returns `None` if there is none, or if it
    /// has no such file yet.
    pub(super) async fn behind(&self, asked: &FileLine, copies: &[BackendId]) -> Option<Reply> {
        let backends: Vec<Arc<Backend>> = copies.iter().map(|id| self.backends.get(*id)).collect();
        for backend in backends {
            if backend.health() != Health::Behind {
                continue;
            }
            let binary = asked.verb == Verb::Fetchbin;
            let Ok(mut reply) = backend.ask_at_once(&asked.line, binary).await else {
                continue;
            };
            if reply.is_error() && is_missing(&reply.text) {
                continue;
            }
            self.mark(&mut reply, BEHIND);
            return Some(reply);
        }
        None
    }

    /// Counts an answer that may lack values, and says so in its first line.
    pub(super) fn mark(&self, reply: &mut Reply, why: &[u8]) {
        self.shared().tally.behind.fetch_add(1, Relaxed);
        // to FIRST and LAST, the text itself is the answer
        if !reply.is_error() && !reply.text.iter().all(u8::is_ascii_digit) {
            reply.text.extend_from_slice(why);
        }
    }

    /// Returns the backends whose copies of a file may lack values: their address has changed, or
    /// the copy waits in the repair queue.
    pub(super) fn doubtful(&self, name: &[u8], backends: &[Arc<Backend>]) -> Copies {
        let ids = backends.iter().map(|backend| backend.id());
        self.shared().repairs.doubtful(name, ids)
    }
}
