//! What the primary sends to its standby, and what comes back: records and their acknowledgements,
//! changes of the state, positions, and questions whether the standby is there.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{mpsc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{BufReader, ReadHalf, WriteHalf};

use super::exchange::Ready;
use super::frame::{broken, kind, number, push, put, read, within};
use super::hub::{Pair, LEASE};
use crate::connection::Stream;
use crate::lock::lock;
use crate::passes::Passes;

/// How often the standby is asked whether it is there.
const PING: Duration = Duration::from_millis(500);

/// How long the standby may be silent, and how long it may take what it is sent.
pub(super) const SILENT: Duration = Duration::from_secs(3);

/// How many records the standby may lack when the primary stops going on alone. It then waits for
/// these records.
const NEAR: u64 = 10_000;

/// What the standby has not answered yet.
#[derive(Default)]
pub(super) struct Asked {
    changes: Mutex<HashMap<u64, mpsc::Sender<()>>>,
    pings: Mutex<Pings>,
}

#[derive(Default)]
struct Pings {
    number: u64,
    sent: HashMap<u64, Instant>,
}

impl Pair {
    /// Sends everything that the standby has to get.
    pub(super) async fn feed(
        &self,
        to: &mut WriteHalf<Stream>,
        ready: &Ready,
        asked: &Asked,
    ) -> io::Result<Infallible> {
        let (mut next, mut told_checks) = (ready.next, Vec::new());
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
            if ready.takes_checks && self.checks_changed.swap(false, Ordering::AcqRel) {
                let checks = self.last_checks();
                // a check that goes on is stored again and again
                if checks != told_checks {
                    push(&mut buffer, kind::CHECKS, &[&checks]);
                    told_checks = checks;
                }
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

    /// Returns what the standby is told of the checks.
    fn last_checks(&self) -> Vec<u8> {
        let stored = self.state.checks().ok().flatten().unwrap_or_default();
        // where nothing can be read, nothing is known
        let passes = Passes::read(&stored).unwrap_or_default();
        passes.handed_over().text().unwrap_or_default()
    }

    /// Finds out whether the standby has everything that was answered, and returns the record when
    /// the standby is to be told.
    pub(super) fn is_synced(&self, target: &mut Option<u64>) -> io::Result<Option<u64>> {
        let (acked, is_alone, appended, synced) = {
            let link = self.link();
            (link.acked, link.alone, link.appended, link.synced)
        };
        if synced {
            return Ok(None);
        }
        // The last connection did not last, so this one may not last either: clients wait for the
        // standby again only when it has lasted.
        let is_brief = lock(&self.repeats).is_brief();
        if target.is_none() && acked + NEAR >= appended && !(is_alone && is_brief) {
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
                if !is_brief {
                    tracing::info!(%peer, record, "the standby {peer} is in sync");
                }
                Ok(Some(*through))
            }
            _ => Ok(None),
        }
    }

    /// Takes what the standby says.
    pub(super) async fn hear(
        &self,
        from: &mut BufReader<ReadHalf<Stream>>,
        asked: &Asked,
    ) -> io::Result<Infallible> {
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
}
