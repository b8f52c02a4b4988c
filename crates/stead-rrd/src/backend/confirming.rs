//! Confirms writes. A write is on a backend's disk when a FLUSH of its file, sent after the write
//! was answered, has succeeded, and the backend's system has had the time to write it to the disk.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::Backend;
use super::standing::OwnJournal;
use crate::connection::{Connection, Flushed};
use crate::health::Health;
use crate::refusals::has_no_file;
use crate::repairs::Need;
use crate::reply::Reply;
use crate::verb::Verb;
use crate::words::line_of;

impl Backend {
    /// Flushes files whose writes have waited long enough and confirms what was flushed. Never
    /// returns.
    pub async fn confirm(self: Arc<Self>) {
        let age = self.shared.options.flush_after;
        let pause = (age / 10).clamp(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            tokio::time::sleep(pause).await;
            if self.health() == Health::Up {
                // errors are ignored here: the backend's own task finds out that it is down
                let _ = self.flush(age).await;
                let _ = self.look_for_a_journal().await;
            }
        }
    }

    /// Asks for the backend's counters until they show whether it keeps a journal of its own.
    async fn look_for_a_journal(&self) -> io::Result<()> {
        let before = self.standing().own_journal;
        if matches!(before, OwnJournal::Kept | OwnJournal::None) {
            return Ok(());
        }
        let reply = self.ask(b"STATS", false).await?;
        let Some((updates, bytes)) =
            number(&reply, "UpdatesReceived").zip(number(&reply, "JournalBytes"))
        else {
            return Ok(());
        };
        self.standing().own_journal = match before {
            _ if bytes > 0 => OwnJournal::Kept,
            OwnJournal::UnknownAt(few) if updates > few => OwnJournal::None,
            OwnJournal::UnknownAt(few) => OwnJournal::UnknownAt(few),
            _ => OwnJournal::UnknownAt(updates),
        };
        if bytes > 0 {
            let (name, address) = (&self.name, self.access().address);
            tracing::warn!(backend = %name, %address, "backend {name} ({address}) keeps a journal \
                of its own, by which it can lose updates when it crashes: start it without -j");
        }
        Ok(())
    }

    /// Flushes every file whose oldest write is older than `age`, and confirms.
    pub async fn flush(&self, age: Duration) -> io::Result<()> {
        let mut flushing = self.flushing.lock().await;
        // files that cannot be flushed now; they do not hold up the others
        let mut aside = Vec::new();
        // files that are gone, and what waited for them is lost: the log keeps their records
        let mut gone = Vec::new();
        let losses_before = self.standing().losses;
        loop {
            let (taken, losses) = {
                let mut standing = self.standing();
                (
                    standing.unflushed.take(age, Instant::now()),
                    standing.losses,
                )
            };
            let Some(taken) = taken else { break };
            let flushed = match flushing.as_mut() {
                Some(connection) => self.in_time(self.flush_one(connection, &taken.1)).await,
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            let is_here = self.shared.layout().now(&taken.1).contains(&self.id);
            let mut standing = self.standing();
            if standing.losses != losses {
                return Ok(()); // the connection was lost: the list that this file came from is gone
            }
            let repairs = &self.shared.repairs;
            match flushed {
                // it was flushed before it has moved away
                Ok(Ok(Flushed::Gone)) if !is_here => standing.unflushed.flushed(&taken),
                Ok(Err(reply)) if !is_here && has_no_file(&reply.text) => {
                    standing.unflushed.flushed(&taken);
                }
                Ok(Ok(Flushed::Gone)) => {
                    repairs.add(&taken.1, self.id, Need::Gone);
                    gone.push(taken);
                }
                // also when it is back: what it has lost must be sent again first
                Ok(_) if repairs.is_gone(&taken.1, self.id) => gone.push(taken),
                Ok(Ok(Flushed::Written)) => standing.unflushed.flushed(&taken),
                Ok(Err(reply)) if has_no_file(&reply.text) => {
                    standing.unflushed.flushed(&taken);
                    repairs.add(&taken.1, self.id, Need::Missing);
                }
                Ok(_) => aside.push(taken), // suspended or refused: try again at the next turn
                Err(error) => {
                    standing.unflushed.failed(&taken, Instant::now());
                    drop(standing);
                    *flushing = None;
                    return Err(self.broken(error));
                }
            }
        }
        let through = {
            // This must be read before the queue: then every record up to here is in the queue or
            // has left it.
            let offered = self.shared.offered.load(Ordering::Acquire);
            let mut standing = self.standing();
            if standing.losses != losses_before {
                return Ok(());
            }
            let now = Instant::now();
            let stuck = aside.len();
            aside
                .iter()
                .chain(&gone)
                .for_each(|taken| standing.unflushed.failed(taken, now));
            if standing.health != Health::Up || standing.broken.is_some() {
                return Ok(());
            }
            let waiting = standing.queue.iter().map(|work| work.ticket.number).min();
            let sending = standing.sending.map(|(number, _)| number);
            let first = [standing.unflushed.first(), waiting, sending]
                .into_iter()
                .flatten()
                .min();
            let through = first.map_or(offered, |first| offered.min(first - 1));
            standing.stuck = stuck;
            let found = (through, self.shared.repairs.version());
            let age = self.shared.options.sync_after;
            standing.flushed.settled(found, age, now)
        };
        // a copy that needs a repair because of these records must not be forgotten by a crash
        match through {
            Some((through, version)) if self.shared.repairs.is_stored(version) => {
                self.shared.log.confirm(&self.name, through)
            }
            _ => Ok(()),
        }
    }
}

impl Backend {
    /// Flushes a file. One that is gone is forgotten: rrdcached would take more updates for it, and
    /// lose them, too.
    async fn flush_one(
        &self,
        connection: &mut Connection,
        name: &[u8],
    ) -> io::Result<Result<Flushed, Reply>> {
        // A read that is answered during this FLUSH would lack what the FLUSH writes. The wait ends
        // long before the backend counts as silent: many may read this file.
        let turn = tokio::time::timeout(self.shared.options.patience / 4, self.turns.take(name));
        let _turn = turn.await;
        let flushed = connection.flush(name).await?;
        if matches!(flushed, Ok(Flushed::Gone)) && self.fenced().await.is_ok() {
            connection.ask(&line_of(Verb::Forget, name), false).await?;
        }
        Ok(flushed)
    }

    /// Sends everything again that the backend has not confirmed: a file is back that was gone, and
    /// lacks what it was sent meanwhile.
    pub fn send_again(&self, why: String) {
        self.standing().broken = Some(why);
        self.wake.notify_one();
    }
}

/// Returns one of the counters that STATS gives.
fn number(reply: &Reply, name: &str) -> Option<u64> {
    reply.each().find_map(|line| {
        std::str::from_utf8(line)
            .ok()?
            .strip_prefix(name)?
            .strip_prefix(": ")?
            .parse()
            .ok()
    })
}
