//! Feeds the connection of the writes. One task sends everything that waits as one BATCH, so the
//! BATCHes grow with the load.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::Backend;
use super::standing::OwnJournal;
use super::work::Work;
use crate::connection::Connection;
use crate::health::Health;
use crate::layout::BackendId;
use crate::refusals::{has_no_file, is_missing, is_repeated, is_there};
use crate::repairs::Need;
use crate::reply::rebase;
use crate::ticket::{Refusal, Unheard};
use crate::verb::Verb;
use crate::words::line_of;

/// How long writes wait for more of them, while nobody waits for their answers.
const REST: Duration = Duration::from_millis(10);

/// The first pause before the next attempt to connect, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// How long a new connection waits for the backend's agent to answer. Then it goes on without the
/// answer, since the agent may also be started later.
const LOOK: Duration = Duration::from_secs(2);

impl Backend {
    /// Keeps the backend connected and up to date. Never returns.
    pub async fn run(self: Arc<Self>) {
        let mut pause = RETRY.0;
        let mut said = false;
        loop {
            let error = match self.in_time(self.connect()).await {
                Ok(connection) => {
                    pause = RETRY.0;
                    said = false;
                    // a server that was down may be back with an older disk: see so before reads
                    self.look_at_files(LOOK).await;
                    self.serve(connection).await
                }
                Err(error) => error,
            };
            self.down(&error);
            if !said {
                let (name, address) = (&self.name, self.access().address);
                tracing::warn!(backend = %name, %address, state = "down", %error, "backend {name} \
                    ({address}) is down: {error}");
                said = true;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY.1);
        }
    }

    async fn connect(&self) -> io::Result<Connection> {
        let address = self.access().address;
        *self.flushing.lock().await = Some(Connection::open(&address).await?);
        let mut connection = Connection::open(&address).await?;
        let base = connection.base().await?;
        let mut standing = self.standing();
        if standing.access.address != address {
            let text = "its address has changed meanwhile";
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, text));
        }
        standing.base = base.into();
        standing.broken = None;
        standing.own_journal = OwnJournal::Unknown;
        standing.become_(Health::Behind);
        Ok(connection)
    }

    /// Serves until the connection is lost.
    async fn serve(&self, mut connection: Connection) -> io::Error {
        let mut has = self.shared.log.confirmed(&self.name);
        loop {
            let caught_up = match self.replay(&mut connection, has).await {
                Ok(through) => through,
                Err(error) => return error,
            };
            self.counters.ups.fetch_add(1, Ordering::Relaxed);
            let (name, address) = (&self.name, self.access().address);
            tracing::info!(backend = %name, %address, state = "up", record = caught_up, "backend {name} ({address}) is up");
            self.shared.repairs.works(self.id);
            self.came_up.notify_one();
            has = match self.drain(&mut connection, caught_up).await {
                Ok(through) => through,
                Err(error) => return error,
            };
            tracing::warn!(backend = %name, %address, state = "behind", record = has, "backend \
                {name} ({address}) is too slow: it continues from the log");
        }
    }

    /// Sends what waits in the queue, as long as the backend is up. When the queue has become too
    /// long, sends all of it and returns the number of the last record.
    async fn drain(&self, connection: &mut Connection, caught_up: u64) -> io::Result<u64> {
        let mut through = caught_up;
        let (mut works, mut text) = (Vec::new(), Vec::new());
        loop {
            let rest = {
                let mut standing = self.standing();
                if let Some(why) = standing.broken.take() {
                    return Err(io::Error::new(io::ErrorKind::ConnectionReset, why));
                }
                let behind = standing.health == Health::Behind;
                let rest = standing.oldest().filter(|_| !standing.urgent && !behind);
                let rest = rest.map(|since| REST.saturating_sub(since.elapsed()));
                if rest.is_none_or(|rest| rest.is_zero()) {
                    standing.take(&mut works);
                }
                if works.is_empty() && behind {
                    return Ok(through);
                }
                rest
            };
            if works.is_empty() {
                tokio::select! {
                    () = self.wake.notified() => continue,
                    () = tokio::time::sleep(rest.unwrap_or_default()), if rest.is_some() => continue,
                    error = connection.closed() => return Err(error),
                }
            }
            if works.iter().any(Work::is_risky) {
                if let Err(error) = self.fenced().await {
                    works.iter().for_each(|work| work.ticket.lost());
                    return Err(error);
                }
            }
            text.clear();
            let mut count = 0;
            for work in &works {
                through = through.max(work.ticket.number);
                work.lines()
                    .for_each(|line| text.extend_from_slice(work.ticket.writes.line(line)));
                count += work.count();
            }
            let failures = match self.in_time(connection.batch(&text, count)).await {
                Ok(failures) => failures,
                Err(error) => {
                    works.iter().for_each(|work| work.ticket.lost());
                    return Err(error);
                }
            };
            let back = match self.are_back(connection, &works, &failures).await {
                Ok(back) => back,
                Err(error) => {
                    works.iter().for_each(|work| work.ticket.lost());
                    return Err(error);
                }
            };
            self.heard(&works, failures, caught_up);
            if !back.is_empty() {
                self.standing().broken = Some(files_back(back.iter().map(Vec::as_slice)));
                let repairs = &self.shared.repairs;
                back.iter()
                    .for_each(|name| repairs.turns(name, self.id, Need::Doubtful));
            }
            self.counters
                .writes
                .fetch_add(count as u64, Ordering::Relaxed);
            let done = works.len() as u64;
            works.clear();
            self.standing().sending = None;
            self.answered.send_modify(|answered| *answered += done);
        }
    }

    /// Returns the files that were gone and are back, as the backend has taken writes for them just
    /// now. These came before what the log has kept for the files, so the backend drops them: it
    /// gets all in the right order from the log.
    async fn are_back(
        &self,
        connection: &mut Connection,
        works: &[Work],
        failures: &[(usize, Vec<u8>)],
    ) -> io::Result<Vec<Vec<u8>>> {
        let mut back = Vec::new();
        for name in self.taken_though_gone(works, failures) {
            let found = self.in_time(connection.ask(&on_disk(&name), false)).await?;
            if found.is_error() && is_missing(&found.text) {
                continue;
            }
            self.fenced().await?;
            let forget = line_of(Verb::Forget, &name);
            self.in_time(connection.ask(&forget, false)).await?;
            back.push(name);
        }
        Ok(back)
    }

    /// Returns the files that are gone and of which the backend has taken a write nevertheless.
    fn taken_though_gone(
        &self,
        works: &[Work],
        failures: &[(usize, Vec<u8>)],
    ) -> BTreeSet<Vec<u8>> {
        let repairs = &self.shared.repairs;
        let mut taken = BTreeSet::new();
        if !repairs.any_gone() {
            return taken;
        }
        let refused: HashSet<usize> = failures.iter().map(|(at, _)| *at).collect();
        let mut at = 0;
        for work in works {
            let writes = &work.ticket.writes;
            for line in work.lines() {
                let is_write = matches!(writes.verb(line), Verb::Create | Verb::Update);
                let name = writes.name(line);
                if is_write && !refused.contains(&at) && repairs.is_gone(name, self.id) {
                    taken.insert(name.to_vec());
                }
                at += 1;
            }
        }
        taken
    }

    /// Passes the answers on to the tickets, and notes which files have to be flushed.
    fn heard(&self, works: &[Work], failures: Vec<(usize, Vec<u8>)>, caught_up: u64) {
        let now = Instant::now();
        let base = self.base();
        let mut failures = failures.into_iter().peekable();
        let mut start = 0;
        for work in works {
            let end = start + work.count();
            let mut own = Vec::new();
            while let Some((at, mut text)) = failures.next_if(|(at, _)| *at < end) {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                if work.ticket.number <= caught_up && is_repeated(&text) {
                    // the backend got this record from the log, and now again from the queue
                    continue;
                }
                if let Some(line) = work.lines().nth(at - start).filter(|_| has_no_file(&text)) {
                    let name = work.ticket.writes.name(line);
                    self.shared.repairs.add(name, self.id, Need::Missing);
                }
                text = rebase(&text, &base, self.shared.options.base.directory());
                if text.ends_with(b": ") {
                    text.extend_from_slice(
                        format!("a failure on {}, of which it says no more", self.name).as_bytes(),
                    );
                }
                own.push((at - start, text));
            }
            // refused lines count, too: of several values the backend may have taken the first ones
            let mut standing = self.standing();
            let (writes, number) = (&work.ticket.writes, work.ticket.number);
            work.lines()
                .for_each(|line| standing.unflushed.wrote(writes.key(line), number, now));
            drop(standing);
            let Unheard { apart, lost } = work.ticket.answer(self.id, work.lines(), own);
            for Refusal { line, place, text } in apart {
                if let Some(need) = needed(writes.verb(line), &text) {
                    let name = writes.name(line);
                    self.shared.repairs.refused(name, place, need, &text, 1);
                }
            }
            for Refusal { line, place, text } in lost {
                self.lost(writes.name(line), place, &text);
            }
            start = end;
        }
    }

    /// Counts and reports an update that no server took after its client was told of a success.
    fn lost(&self, name: &[u8], place: BackendId, text: &[u8]) {
        self.shared.repairs.refused_by_all(place);
        // somebody has changed the file: it has to be learnt again
        self.shared.known.forget(name);
        let (file, error) = (String::from_utf8_lossy(name), String::from_utf8_lossy(text));
        tracing::error!(
            file = &*file,
            error = &*error,
            "an update of {file} that was answered when the log had it is refused by its servers: \
            {error}"
        );
    }
}

/// Returns the line that asks whether a backend has a file on its disk, and not only in its memory:
/// the answer to it is an error if it does not.
pub fn on_disk(name: &[u8]) -> Vec<u8> {
    [&line_of(Verb::First, name)[..], b" 0"].concat()
}

/// Says why everything that was not confirmed is sent again: these files are there again.
pub fn files_back<'a>(
    names: impl IntoIterator<Item = &'a [u8], IntoIter: ExactSizeIterator>,
) -> String {
    let mut names = names.into_iter();
    let count = names.len();
    let example = String::from_utf8_lossy(names.next().unwrap_or_default());
    match count {
        1 => format!("{example} is back that was gone, and lacks updates"),
        _ => format!("{count} files are back that were gone, such as {example}, and lack updates"),
    }
}

/// Returns what a copy needs after its backend has refused a write that another one took.
pub(super) fn needed(verb: Verb, text: &[u8]) -> Option<Need> {
    match verb {
        Verb::Update if is_missing(text) => Some(Need::Missing),
        Verb::Update => Some(Need::Doubtful),
        Verb::Create if is_there(text) => None,
        Verb::Create => Some(Need::Missing),
        // the answers to FORGET and FLUSH depend on what a server has in memory
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_update_or_create_makes_copies_differ() {
        let exists = b"RRD Error: creating '/b/x': File exists";
        for (verb, text, need) in [
            (
                Verb::Update,
                &b"illegal attempt to update"[..],
                Some(Need::Doubtful),
            ),
            (Verb::Update, b"No such file: /b/x", Some(Need::Missing)),
            (
                Verb::Create,
                b"No space left on device",
                Some(Need::Missing),
            ),
            (Verb::Create, exists, None),
            (Verb::Forget, b"No such file or directory", None),
            (Verb::Flush, b"No such file: /b/x", None),
        ] {
            assert_eq!(needed(verb, text), need, "{verb:?} {text:?}");
        }
    }
}
