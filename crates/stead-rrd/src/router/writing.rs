//! Turns a write into the lines that its backends get. The router may put lines of its own before
//! them.
//!
//! The client gets the answer of the first backend that answers. If none is up, the log has the
//! write, which is enough to acknowledge an update.

use super::hub::Router;
use super::ordering::Submitted;
use crate::clock::now;
use crate::policy::{Answer, Policy};
use crate::refusals::is_there;
use crate::reply::Reply;
use crate::request::{Creation, Write, LINE_BYTES};
use crate::ticket::Ticket;
use crate::values::first_time;
use crate::verb::Verb;
use crate::words::words;
use crate::writes::Writes;

/// The words of a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    /// An UPDATE with this many values.
    Enqueued(usize),
    /// CREATE.
    Created,
    /// FORGET.
    Gone,
}

/// How a write was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The words of its success.
    pub success: Success,
    /// How many of its first writes the router added. The client is not told of their failures.
    pub own: usize,
}

impl Success {
    /// Returns the reply.
    pub fn reply(self) -> Reply {
        match self {
            Success::Enqueued(count) => Reply::ok(format!("errors, enqueued {count} value(s).")),
            Success::Created => Reply::ok("RRD created OK"),
            Success::Gone => Reply::ok("Gone!"),
        }
    }
}

impl Router {
    /// Adds a write to `writes`. An UPDATE that is too long for one line becomes several, and a
    /// FORGET gets a FLUSH before it.
    ///
    /// While no backend is up that could say that the file is missing, an UPDATE that matches a
    /// template gets a CREATE before it.
    pub fn plan(&self, writes: &mut Writes, write: &Write<'_>) -> Planned {
        match write {
            Write::Update {
                name,
                values,
                count,
            } => {
                let before = writes.len();
                if self.shared().makes_files() && !self.somebody_is_up(name) {
                    self.push_creation(writes, name, values);
                }
                let own = writes.len() - before;
                push_update(writes, name, values);
                Planned {
                    success: Success::Enqueued(*count),
                    own,
                }
            }
            Write::Forget { name } => {
                // rrdtool sends it before it changes the file
                self.shared().known.forget(name);
                // A read flushes one copy only. So all copies write their waiting values before
                // these are forgotten, and stay equal.
                writes.push(Verb::Flush, name, b"", b"");
                writes.push(Verb::Forget, name, b"", b"");
                Planned {
                    success: Success::Gone,
                    own: 1,
                }
            }
        }
    }

    /// Takes writes in the order of the calls, without waiting until the log has them. The answer
    /// comes when one backend has answered each line, or when only the log has it.
    pub fn submit(&self, writes: Writes, policy: Policy) -> Submitted {
        self.sequence.submit(writes, policy.durability)
    }

    /// Takes writes like [`submit`](Router::submit), but the answer comes when the log has them.
    /// Returns the writes if the policy does not allow that, or if it is not known that the
    /// backends will take them.
    pub fn submit_early(&self, writes: Writes, policy: Policy) -> Result<Submitted, Writes> {
        match policy.answer {
            Answer::Served => Err(writes),
            Answer::Logged => self.sequence.submit_early(writes, policy.durability),
        }
    }

    /// Adds the CREATE of a file that matches a template. Returns false if none matches. The CREATE
    /// has -O, so a file that exists stays as it is.
    fn push_creation(&self, writes: &mut Writes, name: &[u8], values: &[u8]) -> bool {
        let rest = self.shared().templates().and_then(|templates| {
            let first = words(values).next().unwrap_or_default();
            templates.rest(name, first_time(first))
        });
        if let Some(rest) = &rest {
            writes.push(Verb::Create, name, rest, b"");
        }
        rest.is_some()
    }

    /// Creates the file that an UPDATE named and that no backend has, if a template matches, and
    /// repeats the lines of the ticket. Returns `None` if no template matches.
    pub async fn create_and_update(
        &self,
        ticket: &Ticket,
        mut lines: impl Iterator<Item = usize>,
        policy: Policy,
    ) -> Option<Result<(), Vec<u8>>> {
        let refused = &ticket.writes;
        let first = lines
            .next()
            .filter(|first| refused.verb(*first) == Verb::Update)?;
        if !self.shared().makes_files() {
            return None;
        }
        let mut writes = Writes::default();
        let _guard = self.creating.read().await;
        if !self.push_creation(&mut writes, refused.name(first), refused.words(first)) {
            return None;
        }
        // "exists" is no failure: another client made it meanwhile, or some copies existed
        let created = self.submit(writes, policy).answer.await.ok()?;
        if let Some((_, text)) = created.into_iter().find(|(_, text)| !is_there(text)) {
            return Some(Err(text));
        }
        let mut writes = Writes::default();
        writes.push_again(refused, first);
        lines.for_each(|line| writes.push_again(refused, line));
        if let Some((_, text)) = self.refused(&mut writes).await.into_iter().next() {
            return Some(Err(text));
        }
        let failed = self
            .submit(writes, policy)
            .answer
            .await
            .ok()?
            .into_iter()
            .next();
        Some(failed.map_or(Ok(()), |(_, text)| Err(text)))
    }

    /// Creates a file. This waits while the mover has to be sure that no file is created.
    pub async fn create(&self, file: Creation, policy: Policy) -> Reply {
        let _guard = self.creating.read().await;
        let mut more = Vec::new();
        if !self.shared().options.overwrite && !file.keeps {
            more.extend_from_slice(b" -O");
        }
        if !file.begins {
            // rrdcached would take its own time, which differs from copy to copy; like rrdcached,
            // use the time ten seconds ago
            more.extend_from_slice(format!(" -b {}", now().saturating_sub(10)).as_bytes());
        }
        if !self.somebody_is_up(&file.name) {
            return self.nobody(&file.name);
        }
        let mut writes = Writes::default();
        // the router's options come first, because rrdcached takes options only before the
        // definitions
        writes.push(Verb::Create, &file.name, &more, &file.definitions);
        let answer = self.submit(writes, policy).answer.await;
        self.shared().known.forget(&file.name);
        match answer {
            Ok(failures) => failures
                .into_iter()
                .next()
                .map_or_else(|| Success::Created.reply(), |(_, text)| Reply::error(text)),
            Err(_) => Reply::error("a fault in the router"),
        }
    }
}

/// Adds an UPDATE, as several lines if it is too long for one.
fn push_update(writes: &mut Writes, name: &[u8], values: &[u8]) {
    // count the name twice: each byte may need a backslash
    let room = LINE_BYTES - 2 * name.len();
    let mut left = values;
    while left.len() > room {
        let end = left[..room]
            .iter()
            .rposition(|b| *b == b' ')
            .unwrap_or(room)
            + 1;
        let (line, behind) = left.split_at(end);
        if words(line).next().is_some() {
            writes.push(Verb::Update, name, line, b"");
        }
        left = behind;
    }
    if words(left).next().is_some() {
        writes.push(Verb::Update, name, left, b"");
    }
}
