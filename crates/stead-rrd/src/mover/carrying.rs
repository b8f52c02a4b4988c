//! Copies a file to backends that lack it, while its writes are held.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{watch, Semaphore};
use tokio::task::JoinSet;

use super::agreeing::{copied, files_of, flush, waiting};
use super::course::Checks;
use super::telling::{Ends, Tell, REASONS};
use crate::backend::Backend;
use crate::epochs::Epochs;
use crate::files::{Files, Rate};
use crate::health::Health;
use crate::layout::{BackendId, Copies};
use crate::lock::lock;
use crate::refusals::is_missing;
use crate::router::Router;
use crate::state::{Intended, StateDir};
use crate::status::Progress;
use crate::verb::Verb;
use crate::words::line_of;

/// How many files are copied at the same time.
const AT_ONCE: usize = 4;

/// How often and after which pause a file is tried again whose writes somebody else holds.
const TRIES: u32 = 200;
const HELD: Duration = Duration::from_millis(50);

/// Moves and repairs files.
pub struct Mover {
    pub(super) router: Arc<Router>,
    pub(super) state: Arc<StateDir>,
    pub(super) epochs: Arc<Epochs>,
    /// held by the one move or repair that is running
    pub(super) busy: Arc<tokio::sync::Mutex<()>>,
    pub(super) latest: Mutex<Option<Arc<Tell>>>,
    /// the move that goes on until it is done or stopped, as the state directory has it
    pub(super) intended: Mutex<Option<Intended>>,
    /// whether two backends have been seen to be two servers: the first one is the backend that a
    /// file has left, the second one the backend where the file is now
    pub(super) apart: Mutex<BTreeMap<(BackendId, BackendId), bool>>,
    /// held by the one who finds that out
    pub(super) marking: tokio::sync::Mutex<()>,
    /// The checks of all copies.
    pub(super) checks: Checks,
}

/// The RRD files of several backends.
#[derive(Default)]
pub(super) struct Found {
    /// Every file, and the backends that have it.
    pub(super) files: HashMap<Vec<u8>, Copies>,
    /// The backends that were listed.
    pub(super) listed: BTreeSet<BackendId>,
    /// The backends that may have files which the list does not show, how many links and too deep
    /// directories hide them, and one of these.
    hidden: Vec<(BackendId, u64, Vec<u8>)>,
}

impl Found {
    /// Returns why this is not every file of these backends, if it is not. `names` are theirs.
    pub(super) fn is_whole(&self, of: impl Fn(BackendId) -> Option<String>) -> Result<(), String> {
        let hidden = |(id, count, example): &(BackendId, u64, Vec<u8>)| {
            of(*id).map(|name| hidden_on(&name, *count, example))
        };
        match self.hidden.iter().find_map(hidden) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}

impl Mover {
    /// Returns a mover for this router.
    pub fn new(router: Arc<Router>, state: Arc<StateDir>, epochs: Arc<Epochs>) -> Arc<Mover> {
        Arc::new(Mover {
            router,
            state,
            epochs,
            busy: Arc::default(),
            latest: Mutex::default(),
            intended: Mutex::default(),
            apart: Mutex::default(),
            marking: tokio::sync::Mutex::default(),
            checks: Checks::default(),
        })
    }

    /// Returns the progress of the last move or repair.
    pub fn progress(&self) -> Option<Progress> {
        lock(&self.latest)
            .as_ref()
            .map(|tell| tell.sender.borrow().clone())
    }

    /// Returns an error while a move or a repair is running.
    pub(super) fn rests(&self) -> Result<(), String> {
        may_start(&lock(&self.latest))
    }

    pub(super) fn start<F>(
        &self,
        (tell, progress): (Tell, watch::Receiver<Progress>),
        work: impl FnOnce(Arc<Tell>) -> F,
    ) -> Result<watch::Receiver<Progress>, String>
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let tell = Arc::new(tell);
        {
            let mut latest = lock(&self.latest);
            may_start(&latest)?;
            *latest = Some(Arc::clone(&tell));
        }
        let busy = Arc::clone(&self.busy);
        let work = work(Arc::clone(&tell));
        tokio::spawn(async move {
            let ends = Ends(Arc::clone(&tell));
            // the router may be working on its repair queue just now
            let busy = busy.lock_owned().await;
            if let Err(reason) = work.await {
                tell.failed(0, reason);
            }
            drop((ends, busy));
        });
        Ok(progress)
    }

    /// Returns all files of the backends that are up and wanted.
    pub(super) async fn found(&self, wanted: impl Fn(&Backend) -> bool) -> Result<Found, String> {
        let mut found = Found::default();
        for backend in self.router.backends.all() {
            if backend.health() != Health::Up || !wanted(&backend) {
                continue;
            }
            let id = backend.id();
            let files = files_of(&backend)?;
            let list = files
                .list(|name, _| found.files.entry(name).or_default().push(id))
                .await;
            let list = list.map_err(|error| format!("{}: {error}", backend.name()))?;
            if list.left_out > 0 {
                let example = list.example.unwrap_or_default();
                found.hidden.push((id, list.left_out, example));
            }
            found.listed.insert(id);
        }
        Ok(found)
    }

    /// Runs `work` for each file, for some at the same time.
    pub(super) async fn each<F>(
        self: &Arc<Self>,
        todo: BTreeMap<Vec<u8>, Copies>,
        tell: &Arc<Tell>,
        work: impl Fn(Arc<Mover>, Vec<u8>, Copies) -> F,
    ) where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let limit = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = JoinSet::new();
        for (name, at) in todo {
            let Ok(permit) = Arc::clone(&limit).acquire_owned().await else {
                break;
            };
            while tasks.try_join_next().is_some() {}
            if tell.is_stopped() || tell.sender.borrow().failed as usize >= REASONS {
                break;
            }
            let (work, tell) = (work(Arc::clone(self), name.clone(), at), Arc::clone(tell));
            tasks.spawn(async move {
                match work.await {
                    Ok(()) => tell.change(|progress| progress.done += 1),
                    Err(reason) => {
                        tell.failed(1, format!("{}: {reason}", String::from_utf8_lossy(&name)))
                    }
                }
                drop(permit);
            });
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Copies a file, whose writes are held, from the first source that has all of it to every
    /// target. Returns how many bytes were copied.
    pub(super) async fn carry(
        &self,
        name: &[u8],
        sources: &[BackendId],
        targets: &[BackendId],
    ) -> Result<u64, String> {
        if targets.is_empty() {
            return Ok(0);
        }
        let mut reasons = Vec::new();
        for source in sources {
            let source = self.router.backends.get(*source);
            match flushed(&source, name).await {
                Ok(()) => {}
                Err(reason) => {
                    reasons.push(format!("{}: {reason}", source.name()));
                    continue;
                }
            }
            let mut bytes = 0;
            for target in targets {
                let target = self.router.backends.get(*target);
                forget(&target, name).await?;
                let sent = Files::copy(
                    &files_of(&source)?,
                    &files_of(&target)?,
                    name,
                    &Rate::default(),
                )
                .await;
                bytes += sent
                    .map_err(|error| {
                        format!("from {} to {}: {error}", source.name(), target.name())
                    })?
                    .bytes;
                copied(&source, &target, name).await?;
            }
            return Ok(bytes);
        }
        Err(reasons.join("; "))
    }

    /// Copies a file to a backend that should have it, from one that has it.
    pub(super) async fn give(&self, name: &[u8], id: BackendId) -> Result<u64, String> {
        let held = Held::new(&self.router, name).await?;
        let copies = self.router.shared().layout().now(name);
        if !copies.contains(&id) {
            return Ok(0); // the file has moved away meanwhile
        }
        let mut sources: Vec<BackendId> = copies.into_iter().filter(|other| *other != id).collect();
        // a copy that may lack values is the last choice
        sources.sort_by_key(|other| self.router.shared().repairs.doubts(name, *other));
        let bytes = self.carry(name, &sources, &[id]).await?;
        self.router.shared().known.forget(name);
        drop(held);
        Ok(bytes)
    }
}

/// Says that a list does not show all files of a backend: how many links and too deep directories
/// hide some, and one of these.
pub(super) fn hidden_on(name: &str, count: u64, example: &[u8]) -> String {
    let example = example.escape_ascii();
    let what = match count {
        1 => format!(
            "{example} is a link or a directory that is nested too deep, and the files behind it \
            are"
        ),
        count => format!(
            "{count} entries, such as {example}, are links or directories that are nested too \
            deep, and the files behind them are"
        ),
    };
    format!(
        "on {name}, {what} not seen: put the files where the link is (a directory of another disk \
        can be mounted there), or remove it"
    )
}

/// Lets a backend drop what it has in memory for a file that is replaced: values, and the last
/// time.
pub(super) async fn forget(backend: &Backend, name: &[u8]) -> Result<(), String> {
    let said = |error| format!("{}: {error}", backend.name());
    backend.fenced().await.map_err(said)?;
    let asked = backend.ask(&line_of(Verb::Forget, name), false).await;
    asked.map(drop).map_err(said)
}

/// Checks that everything that was sent to the backend for this file is in the file.
pub(super) async fn flushed(backend: &Backend, name: &[u8]) -> Result<(), String> {
    files_of(backend)?;
    match flush(backend, name).await? {
        true => waiting(backend, name).await,
        false => Err("no such file".to_owned()),
    }
}

/// Removes a file from a backend where it does not live any more.
pub(super) async fn remove(backend: &Backend, name: &[u8]) -> Result<(), String> {
    let forget = line_of(Verb::Forget, name);
    backend.fenced().await.map_err(|error| error.to_string())?;
    let reply = backend
        .ask(&forget, false)
        .await
        .map_err(|error| error.to_string())?;
    if reply.is_error() && !is_missing(&reply.text) {
        return Err(String::from_utf8_lossy(&reply.text).into_owned());
    }
    files_of(backend)?
        .remove(name)
        .await
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// Returns an error while this move or repair is running.
fn may_start(latest: &Option<Arc<Tell>>) -> Result<(), String> {
    match latest {
        Some(tell) if !tell.sender.borrow().ended => {
            Err("files are already being moved or repaired".to_owned())
        }
        _ => Ok(()),
    }
}

/// Holds the writes to a file until this is dropped.
pub(super) struct Held<'a> {
    router: &'a Router,
    name: &'a [u8],
}

impl<'a> Held<'a> {
    /// Waits for a while if somebody else holds them, who works on this one file.
    pub(super) async fn new(router: &'a Router, name: &'a [u8]) -> Result<Held<'a>, String> {
        for _ in 0..TRIES {
            if router.sequence.hold(name) {
                return Ok(Held { router, name });
            }
            tokio::time::sleep(HELD).await;
        }
        Err("it is already being moved or copied".to_owned())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.router.sequence.release(self.name);
    }
}
