//! The running router's report about itself. It fills a [`Status`] from the router, its backends
//! and its log.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::SystemTime;

use stead::map::Node;
use tokio::sync::watch;

use crate::backend::Backend;
use crate::clock::{now, seconds};
use crate::control::Operable;
use crate::health::Health;
use crate::layout::{BackendId, Layout};
use crate::mover::Mover;
use crate::pair::start_again;
use crate::repairs::Counts;
use crate::router::Router;
use crate::status::{BackendStatus, Exposed, LogStatus, Progress, Source, StateError, Status};

/// A router, and the facts about it that the router itself does not know.
pub struct Report {
    router: Arc<Router>,
    mover: Arc<Mover>,
    started: SystemTime,
    /// whether the log is on disk
    durable: bool,
}

impl Report {
    /// Returns the report of a router that starts now. `durable` says whether its log is on disk.
    pub fn new(router: Arc<Router>, mover: Arc<Mover>, durable: bool) -> Report {
        Report {
            router,
            mover,
            started: SystemTime::now(),
            durable,
        }
    }

    /// Returns the status of now. The caller supplies the move, if there is one.
    pub fn status(&self, moving: Option<Progress>) -> Status {
        let shared = self.router.shared();
        // before the layout is held: it must not be asked for twice, as a change may wait between
        let move_goes_on = self.mover.wanted().is_some();
        let check = self.mover.check_status();
        let layout = shared.layout();
        let settled = layout.settled();
        let health = |node: usize| {
            let id = settled.all().get(node);
            id.map_or(Health::Down, |id| self.router.backends.get(*id).health())
        };
        let counts = shared.repairs.counts();
        let frontier = shared.log.frontier().borrow().clone();
        let extent = shared.log.extent();
        let log = LogStatus {
            bytes: extent.bytes,
            bound: extent.bound,
            oldest: extent.oldest,
            newest: frontier.newest,
            short: extent.short,
            refuses: extent.refuses,
            failed: frontier.broken.as_deref().map(str::to_owned),
        };
        let state_error = StateError::of(self.mover.unwritable(), extent.unsaved);
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: now(),
            started: seconds(self.started),
            fleet: settled.map().name().to_owned(),
            epoch: settled.map().epoch(),
            known_files: shared.known.count() as u64,
            next_epoch: layout.target().map(|target| target.map().epoch()),
            waiting_epoch: self.mover.waiting_epoch(),
            map_refused: self.mover.map_refused(),
            carry: layout
                .target()
                .unwrap_or(settled)
                .map()
                .carry()
                .map(|carry| carry.state.word().to_owned()),
            exposed: Exposed::of(settled.map(), health),
            backends: layout
                .all()
                .into_iter()
                .map(|id| {
                    let backend = self.router.backends.get(id);
                    self.backend(&backend, &layout, &counts, frontier.newest)
                })
                .collect(),
            log: self.durable.then_some(log),
            state_error,
            clients: shared.tally.read(),
            moving,
            move_goes_on,
            check,
            pair: shared.options.pair.as_ref().map(|pair| pair.status()),
        }
    }

    fn backend(
        &self,
        backend: &Backend,
        layout: &Layout,
        counts: &BTreeMap<BackendId, Counts>,
        newest: u64,
    ) -> BackendStatus {
        let shared = self.router.shared();
        let counts = counts.get(&backend.id()).cloned().unwrap_or_default();
        let (health, since, error) = backend.condition();
        let (queued_lines, queued_bytes, unflushed_files) = backend.waiting();
        let confirmed = shared.log.confirmed(backend.name());
        let counters = backend.counters();
        let node = layout.settled().map().node_named(backend.name());
        let node = node.or_else(|| {
            layout
                .target()
                .and_then(|target| target.map().node_named(backend.name()))
        });
        let labels = |node: Node<'_>| {
            node.labels()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect()
        };
        BackendStatus {
            name: backend.name().to_owned(),
            address: backend.access().address.to_string(),
            labels: node.map(labels).unwrap_or_default(),
            state: health,
            since: seconds(since),
            reason: error.filter(|_| health != Health::Up),
            queued_lines: queued_lines as u64,
            queued_bytes: queued_bytes as u64,
            lag_ms: backend.lag().as_millis() as u64,
            behind: if health == Health::Up {
                0
            } else {
                newest.saturating_sub(confirmed)
            },
            unflushed_files: unflushed_files as u64,
            confirmed,
            answered: counters.writes.load(Relaxed),
            errors: counters.refused.load(Relaxed),
            reconnects: counters.ups.load(Relaxed).saturating_sub(1),
            lacking: counts.missing,
            gone: counts.gone.0,
            gone_example: counts
                .gone
                .1
                .map(|name| String::from_utf8_lossy(&name).into_owned()),
            doubtful: counts.doubtful,
            uncompared: shared.repairs.is_uncompared(backend.id()),
            repair_error: counts.reason,
            late_errors: shared.repairs.late(backend.id()),
            stuck: backend.stuck() as u64,
            suspended: shared.suspended.at(backend.id()),
            files_error: backend.files_error(),
            journal: backend.has_journal(),
        }
    }
}

impl Source for Report {
    async fn status(&self) -> Status {
        Report::status(
            self,
            self.mover
                .progress()
                .filter(|moving| !moving.ended || !moving.reasons.is_empty()),
        )
    }
}

impl Operable for Report {
    async fn start_move(&self, rate: Option<u64>) -> Result<watch::Receiver<Progress>, String> {
        self.mover.start_move(rate).await
    }

    async fn stop(&self) -> Result<(), String> {
        self.mover.stop().await
    }

    async fn start_repair(
        &self,
        node: &str,
        replace: bool,
    ) -> Result<watch::Receiver<Progress>, String> {
        self.mover.start_repair(node, replace)
    }

    async fn start_check(
        &self,
        rate: Option<u64>,
        restart: bool,
    ) -> Result<watch::Receiver<Progress>, String> {
        self.mover.start_check(rate, restart)
    }

    async fn promote(&self, force: bool) -> Result<String, String> {
        match (&self.router.shared().options.pair, force) {
            (Some(pair), true) => pair.force(),
            (Some(_), false) => Err(
                "this router is the primary already; --force lets it go on without its standby"
                    .to_owned(),
            ),
            (None, _) => {
                Err("this router has no other one beside it: it runs without --standby".to_owned())
            }
        }
    }

    fn start_again(&self) {
        start_again()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::mover::tests::mover;

    #[test]
    fn a_status_is_made_while_the_layout_changes() {
        let place = tempfile::tempdir().unwrap();
        let (router, mover) = mover(place.path());
        let shared = Arc::clone(router.shared());
        let report = Report::new(router, mover, false);
        let (sender, receiver) = mpsc::channel();
        let changes = sender.clone();
        std::thread::spawn(move || {
            (0..100_000).for_each(|_| drop(shared.layout_mut()));
            changes.send(()).unwrap();
        });
        std::thread::spawn(move || {
            (0..10_000).for_each(|_| assert_eq!(report.status(None).epoch, 1));
            sender.send(()).unwrap();
        });
        // much more than both need: they have waited for each other
        let limit = Duration::from_secs(60);
        assert_eq!(
            [receiver.recv_timeout(limit), receiver.recv_timeout(limit)],
            [Ok(()), Ok(())]
        );
    }
}
