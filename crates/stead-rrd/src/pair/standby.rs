//! A standby: what it keeps, and how it becomes the primary.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::again::start_again;
use super::exchange::Serves;
use super::hub::LEASE;
use super::repeats::Repeats;
use super::saved::{not_stored, Saved};
use crate::clock::now;
use crate::connection::Address;
use crate::control::Operable;
use crate::exit::IO;
use crate::lock::lock;
use crate::log::{Durable, Log, Size};
use crate::role::{Lost, Role};
use crate::state::StateDir;
use crate::status::{LogStatus, PairStatus, Source, StateError, Status};
use crate::term::Term;

/// A router that keeps a copy of the primary's log and state.
pub struct Standby {
    pub(super) state: Arc<StateDir>,
    pub(super) dir: PathBuf,
    pub(super) size: Size,
    pub(super) saved: Mutex<Saved>,
    /// `None` while it is being cut or begun anew
    pub(super) log: Mutex<Option<Arc<Durable>>>,
    pub(super) primary: Mutex<Primary>,
    /// held by the one connection that is obeyed
    pub(super) turn: tokio::sync::Mutex<()>,
    pub(super) serves: Serves,
    /// the epoch at --map that would wait until files have moved, if one would; or why the map
    /// there could not be taken up after a promotion
    pub(super) looked: Mutex<Result<Option<u64>, String>>,
    peer: Address,
    started: u64,
}

/// The connection to the primary.
pub(super) struct Primary {
    pub joined: bool,
    /// since when it is joined or not, in seconds since 1970; one that did not last does not count
    pub since: u64,
    /// since when it was not joined before it was
    pub away: u64,
    pub repeats: Repeats,
    pub reason: Option<String>,
    /// when the primary was heard last
    pub heard: Option<Instant>,
    /// the newest record that it may have answered
    pub published: u64,
    /// ends the connection that is obeyed
    pub obeyed: Option<AbortHandle>,
    pub promoted: bool,
}

impl Standby {
    /// Opens the log and state of a standby. `peer` is the address of the other router, and
    /// `serves` what this one would serve.
    pub fn open(
        state: Arc<StateDir>,
        size: Size,
        saved: Saved,
        peer: Address,
        serves: Serves,
    ) -> io::Result<Arc<Standby>> {
        let dir = state.dir().join("log");
        let log = Durable::open(&dir, size)?;
        if let Some(notice) = log.notice() {
            tracing::warn!("{notice}");
        }
        let (oldest, newest) = (log.extent().oldest, log.newest());
        // one that has known a primary may have been stopped before its log was begun anew
        let is_new = saved.history.is_empty() && saved.term == Term::default();
        if is_new && newest >= oldest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the log there is that of a router that was no standby, and a standby would begin \
                it anew: start this router with --role primary, or give it an empty --state",
            ));
        }
        Ok(Arc::new(Standby {
            state,
            dir,
            size,
            saved: Mutex::new(saved),
            log: Mutex::new(Some(Arc::new(log))),
            primary: Mutex::new(Primary {
                joined: false,
                since: now(),
                away: now(),
                repeats: Repeats::default(),
                reason: None,
                heard: None,
                published: 0,
                obeyed: None,
                promoted: false,
            }),
            turn: tokio::sync::Mutex::new(()),
            serves,
            looked: Mutex::new(Ok(None)),
            peer,
            started: now(),
        }))
    }

    /// Returns why this router must not become the primary, unless it is forced to.
    fn risk(&self, saved: &Saved) -> Option<String> {
        if saved.history.is_empty() {
            return Some(
                "it has never been in sync with a primary, so everything that waits in the log of \
                the primary would be lost"
                    .to_owned(),
            );
        }
        if saved.lost == Lost::Alone {
            return Some(
                "the primary may go on alone (--standby-lost alone), so what it has taken alone \
                would be lost, and there may be two primaries"
                    .to_owned(),
            );
        }
        (!saved.in_sync).then(|| {
            "it does not have everything that the primary may have answered, so that would be lost"
                .to_owned()
        })
    }

    pub(super) async fn promoted(&self, force: bool) -> Result<String, String> {
        {
            let saved = lock(&self.saved);
            if saved.role == Role::Primary {
                return Ok(already(saved.term));
            }
            if let Some(risk) = self.risk(&saved).filter(|_| !force) {
                return Err(format!(
                    "this standby does not become the primary: {risk}; stop the other router, and \
                    use --force if that is acceptable"
                ));
            }
            let mut primary = lock(&self.primary);
            primary.promoted = true;
            primary.obeyed.take().inspect(AbortHandle::abort);
        }
        // nothing of the primary is obeyed or acknowledged any more
        let turn = self.turn.lock().await;
        let settled = self.settled_log().await;
        let appended = settled.inspect_err(|_| lock(&self.primary).promoted = false)?;
        let text = self.begin_term(appended)?;
        tracing::warn!(record = appended, "{text}");
        // until then, the old primary may believe that it is the only one, and answer reads
        let heard = lock(&self.primary).heard;
        if let Some(heard) = heard {
            tokio::time::sleep((heard + LEASE).saturating_duration_since(Instant::now())).await;
        }
        drop(turn);
        Ok(text)
    }

    /// Returns the last record of the log, when all are on disk.
    async fn settled_log(&self) -> Result<u64, String> {
        let log = lock(&self.log).clone();
        let log = log.ok_or("the log of this standby is not open; its messages say why")?;
        let appended = log.appended();
        let durable = crate::log::durable(&*log, appended).await;
        durable
            .map(|()| appended)
            .map_err(|error| error.to_string())
    }

    /// Records on disk that this router is the primary, unless another command has done so.
    fn begin_term(&self, appended: u64) -> Result<String, String> {
        let mut saved = lock(&self.saved);
        if saved.role == Role::Primary {
            return Ok(already(saved.term));
        }
        let risk = self.risk(&saved);
        let mut next = saved.clone();
        next.promote(appended);
        if let Err(error) = next.store(self.state.dir()) {
            return Err(self.not_recorded(&saved, &error));
        }
        *saved = next;
        // another command may have failed meanwhile
        lock(&self.primary).promoted = true;
        let term = saved.term;
        Ok(match risk {
            Some(risk) => {
                format!("promoted by force: this router is the primary in {term}, although {risk}")
            }
            None => format!("promoted: this router is the primary in {term}"),
        })
    }

    /// Returns why this router stays a standby: its disk did not record the promotion. If the
    /// record has changed nevertheless, the router ends, and its next start reads what counts.
    fn not_recorded(&self, saved: &Saved, error: &io::Error) -> String {
        tracing::error!(%error, "cannot record that this router is the primary: {error}");
        match Saved::load(self.state.dir()) {
            Ok(Some(found)) if found == *saved => {}
            _ => std::process::exit(IO.into()),
        }
        lock(&self.primary).promoted = false;
        format!(
            "this standby does not become the primary, since it cannot record that: {}",
            not_stored(error)
        )
    }

    fn pair(&self) -> PairStatus {
        let saved = lock(&self.saved);
        let primary = lock(&self.primary);
        let newest = lock(&self.log).as_ref().map_or(0, |log| log.newest());
        PairStatus {
            role: Role::Standby,
            term: saved.term.number,
            peer: self.peer.to_string(),
            lost: saved.lost,
            agreed: true,
            connected: primary.joined,
            since: primary.since,
            reason: primary.reason.clone(),
            brief: primary.repeats.is_brief(),
            renewed: false,
            serving: false,
            waits: None,
            alone: None,
            // a primary that may go on alone has perhaps done so
            in_sync: saved.in_sync && (saved.lost != Lost::Alone || primary.joined),
            behind: primary.published.saturating_sub(newest),
            discarded: saved.discarded,
        }
    }
}

/// What a second command to promote this router is told, which came while it starts again.
fn already(term: Term) -> String {
    format!("promoted by another command: this router is the primary in {term}")
}

impl Source for Standby {
    async fn status(&self) -> Status {
        let log = lock(&self.log).clone();
        let mut unsaved = None;
        let log = log.map(|log| {
            let frontier = log.frontier().borrow().clone();
            let extent = log.extent();
            unsaved = extent.unsaved;
            LogStatus {
                bytes: extent.bytes,
                bound: extent.bound,
                oldest: extent.oldest,
                newest: frontier.newest,
                short: extent.short,
                refuses: extent.refuses,
                failed: frontier.broken.as_deref().map(str::to_owned),
            }
        });
        let map = self.state.settled().ok().flatten();
        let target = self.state.target_map().ok().flatten();
        let looked = lock(&self.looked).clone();
        Status {
            fleet: map
                .as_ref()
                .map_or_else(String::new, |map| map.name().to_owned()),
            epoch: map.as_ref().map_or(0, stead::Map::epoch),
            next_epoch: target.as_ref().map(stead::Map::epoch),
            waiting_epoch: looked.as_ref().ok().copied().flatten(),
            map_refused: looked.err(),
            log: Some(log.unwrap_or_default()),
            state_error: StateError::of(self.state.unwritable(), unsaved),
            pair: Some(self.pair()),
            ..Status::empty(self.started)
        }
    }
}

impl Operable for Standby {
    async fn promote(&self, force: bool) -> Result<String, String> {
        self.promoted(force).await
    }

    fn start_again(&self) {
        start_again()
    }

    fn refusal(&self) -> Option<String> {
        Some("this router is the standby; ask the primary".to_owned())
    }
}

/// How often a standby looks whether it may serve connections again.
pub(super) const PAUSE: Duration = Duration::from_millis(100);
