//! Files on their way: from the old places to the new ones, and to backends that lack them.
//!
//! One file at a time is held: its writes are durable and wait in the router. All that was sent
//! before is answered and flushed, so the file of the source is whole; it is copied, its new places
//! are noted durably, and the writes go on, to the new places. So no value is sent to a file that
//! is being copied, and none is missing in the copy. What stops half way leaves the file where it
//! was.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{watch, Semaphore};
use tokio::task::JoinSet;

use crate::backend::Backend;
use crate::epochs::Epochs;
use crate::files::{Files, Rate};
use crate::health::Health;
use crate::layout::{BackendId, Copies};
use crate::lock::lock;
use crate::path::escaped;
use crate::router::Router;
use crate::state::StateDir;
use crate::status::Progress;
use crate::writes::{has_no_file, is_missing};

/// Files that are on their way at the same time.
const AT_ONCE: usize = 4;
/// Reasons that are kept.
const REASONS: usize = 10;
/// Looks for files that are left, before it is said that they cannot be moved.
const PASSES: usize = 5;
/// After a backend has come up, until files are looked for that it lacks: others may come up, too.
const SETTLE: Duration = Duration::from_secs(2);

/// Moves files.
pub struct Mover {
    router: Arc<Router>,
    state: Arc<StateDir>,
    epochs: Arc<Epochs>,
    /// one at a time
    busy: Arc<tokio::sync::Mutex<()>>,
    latest: Mutex<Option<Arc<Tell>>>,
}

/// Every RRD file, and the backends that have it.
type Found = HashMap<Vec<u8>, Copies>;

impl Mover {
    /// A mover for this router.
    pub fn new(router: Arc<Router>, state: Arc<StateDir>, epochs: Arc<Epochs>) -> Arc<Mover> {
        Arc::new(Mover {
            router,
            state,
            epochs,
            busy: Arc::default(),
            latest: Mutex::default(),
        })
    }

    /// What the last move or repair has done so far.
    pub fn progress(&self) -> Option<Progress> {
        lock(&self.latest)
            .as_ref()
            .map(|tell| tell.sender.borrow().clone())
    }

    /// Begins to move the files to the places of the target, at most so many bytes a second. Stops
    /// when nobody listens any more.
    pub async fn start_move(
        self: &Arc<Self>,
        rate: Option<u64>,
    ) -> Result<watch::Receiver<Progress>, String> {
        // a map that was published a moment ago counts
        self.epochs.look().await;
        let (from_epoch, to_epoch, done) = {
            let layout = self.router.shared().layout();
            let from = layout.settled().map().epoch();
            let to = layout
                .target()
                .ok_or_else(|| format!("no file has to move: all are where epoch {from} has them"))?
                .map()
                .epoch();
            (from, to, layout.moved_count() as u64)
        };
        let tell = Tell::new(Progress {
            from_epoch,
            to_epoch,
            files: done,
            done,
            started: now(),
            ..Progress::default()
        });
        let (mover, rate) = (Arc::clone(self), Rate::new(rate));
        self.start(tell, move |tell| async move {
            mover.move_all(&rate, &tell).await
        })
    }

    /// Begins to copy to this backend every file that it should have from another that has it, also
    /// those that are there.
    pub fn start_repair(self: &Arc<Self>, node: &str) -> Result<watch::Receiver<Progress>, String> {
        let backend = self
            .router
            .backends()
            .into_iter()
            .find(|backend| backend.name() == node);
        let backend =
            backend.ok_or_else(|| format!("no backend of the map has the name {node}"))?;
        files_of(&backend)?;
        let epoch = self.router.shared().layout().settled().map().epoch();
        let progress = Progress {
            repair: Some(node.to_owned()),
            from_epoch: epoch,
            to_epoch: epoch,
            started: now(),
            ..Progress::default()
        };
        let mover = Arc::clone(self);
        self.start(Tell::new(progress), move |tell| async move {
            mover.repair(&backend, &tell).await
        })
    }

    fn start<F>(
        &self,
        (tell, progress): (Tell, watch::Receiver<Progress>),
        work: impl FnOnce(Arc<Tell>) -> F,
    ) -> Result<watch::Receiver<Progress>, String>
    where
        F: std::future::Future<Output = Result<(), String>> + Send + 'static,
    {
        let busy = Arc::clone(&self.busy)
            .try_lock_owned()
            .map_err(|_| "files are being moved or repaired already".to_owned())?;
        let tell = Arc::new(tell);
        *lock(&self.latest) = Some(Arc::clone(&tell));
        let work = work(Arc::clone(&tell));
        tokio::spawn(async move {
            if let Err(reason) = work.await {
                tell.failed(0, reason);
            }
            tell.change(|progress| progress.ended = true);
            drop(busy);
        });
        Ok(progress)
    }

    async fn move_all(self: &Arc<Self>, rate: &Rate, tell: &Arc<Tell>) -> Result<(), String> {
        for pass in 0.. {
            let (todo, behind) = self.left().await?;
            self.remove_left_behind(behind).await;
            let done = self.router.shared().layout().moved_count() as u64;
            tell.change(|progress| {
                (progress.files, progress.done, progress.failed) =
                    (done + todo.len() as u64, done, 0)
            });
            let none = todo.is_empty();
            if !none {
                self.each(todo, tell, |mover, name, _| {
                    let (rate, tell) = (rate.clone(), Arc::clone(tell));
                    async move { mover.move_one(&name, &rate, &tell).await }
                })
                .await;
            }
            if tell.nobody_listens() {
                return Err("stopped; run it again to go on".to_owned());
            }
            let failed = tell.sender.borrow().failed;
            if failed > 0 && (pass >= PASSES || failed as usize >= REASONS) {
                return Err(format!(
                    "{failed} files could not be moved and are where they were; run \
                    it again when the reason is gone"
                ));
            }
            if none && self.settle().await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Every file is at its new place, unless one has come into being meanwhile: false then.
    async fn settle(&self) -> Result<bool, String> {
        let creating = self.router.creating.write().await;
        if !self.left().await?.0.is_empty() {
            return Ok(false);
        }
        let shared = self.router.shared();
        let target = {
            let layout = shared.layout();
            let Some(target) = layout.target() else {
                return Ok(true);
            };
            stead::Map::from_bytes(target.map().bytes().to_vec())
                .map_err(|error| error.to_string())?
        };
        self.state
            .settle_on(&target)
            .map_err(|error| error.to_string())?;
        shared.layout_mut().settle();
        drop(creating);
        self.router.follow()?;
        self.router.retire();
        let epoch = target.epoch();
        tracing::info!(epoch, "every file is where epoch {epoch} has it");
        self.epochs.again.notify_one(); // a map may be waiting
        Ok(true)
    }

    /// The files that have still to move; and copies of files that have moved, where they are no
    /// more: a crash, or a backend that was down, has left them.
    async fn left(&self) -> Result<(BTreeMap<Vec<u8>, Copies>, Vec<(Vec<u8>, BackendId)>), String> {
        let (found, listed) = self.found(|_| true).await?;
        let layout = self.router.shared().layout();
        let settled = layout.settled();
        // each file has to have been seen, at one of its places at least
        for policy in settled.map().policies() {
            let places: Vec<BackendId> = policy
                .members()
                .map(|node| settled.all()[node.index()])
                .collect();
            if !places.iter().any(|place| listed.contains(place)) {
                let backends: Vec<_> = places
                    .iter()
                    .map(|place| self.router.backend(*place))
                    .collect();
                let names: BTreeSet<&str> = backends.iter().map(|backend| backend.name()).collect();
                let names: Vec<&str> = names.into_iter().collect();
                return Err(format!(
                    "none of {} is up: what they have cannot be seen, and cannot be moved",
                    names.join(", ")
                ));
            }
        }
        let (mut left, mut behind) = (BTreeMap::new(), Vec::new());
        for (name, at) in found {
            if layout.has_moved(&name) {
                let now = layout.now(&name);
                behind.extend(
                    at.iter()
                        .filter(|place| !now.contains(place))
                        .map(|place| (name.clone(), *place)),
                );
            } else if layout
                .to_move(&name)
                .is_some_and(|(old, _)| old.iter().any(|place| at.contains(place)))
            {
                // a file that is only where it should not be is nobody's
                left.insert(name, at);
            }
        }
        Ok((left, behind))
    }

    async fn remove_left_behind(&self, copies: Vec<(Vec<u8>, BackendId)>) {
        for (name, place) in copies {
            let backend = self.router.backend(place);
            if let Err(error) = remove(&backend, &name).await {
                let (file, backend) = (String::from_utf8_lossy(&name), backend.name());
                tracing::warn!(
                    backend,
                    file = &*file,
                    error,
                    "{file} has moved away from {backend}, where a copy stays: {error}"
                );
            }
        }
    }

    /// All files of the backends that are up and wanted, and those backends.
    async fn found(
        &self,
        wanted: impl Fn(&Backend) -> bool,
    ) -> Result<(Found, BTreeSet<BackendId>), String> {
        let mut found = Found::new();
        let mut listed = BTreeSet::new();
        for backend in self.router.backends() {
            if backend.state() != Health::Up || !wanted(&backend) {
                continue;
            }
            let place = backend.place();
            let files = files_of(&backend)?;
            let list = files
                .list(|name, _| found.entry(name).or_default().push(place))
                .await;
            list.map_err(|error| format!("{}: {error}", backend.name()))?;
            listed.insert(place);
        }
        Ok((found, listed))
    }

    /// Does something with each file, some at once.
    async fn each<F>(
        self: &Arc<Self>,
        todo: BTreeMap<Vec<u8>, Copies>,
        tell: &Arc<Tell>,
        work: impl Fn(Arc<Mover>, Vec<u8>, Copies) -> F,
    ) where
        F: std::future::Future<Output = Result<(), String>> + Send + 'static,
    {
        let limit = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = JoinSet::new();
        for (name, at) in todo {
            let Ok(permit) = Arc::clone(&limit).acquire_owned().await else {
                break;
            };
            while tasks.try_join_next().is_some() {}
            if tell.nobody_listens() || tell.sender.borrow().failed as usize >= REASONS {
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

    /// Moves a file from its old places to its new ones.
    async fn move_one(&self, name: &[u8], rate: &Rate, tell: &Tell) -> Result<(), String> {
        let held = Held::new(&self.router, name)?;
        let Some((old, new)) = self.router.shared().layout().to_move(name) else {
            return Ok(());
        };
        let targets: Vec<BackendId> = new
            .iter()
            .copied()
            .filter(|place| !old.contains(place))
            .collect();
        let bytes = self.carry(name, &old, &targets).await?;
        self.state
            .note_moved(name)
            .await
            .map_err(|error| error.to_string())?;
        self.router.shared().layout_mut().moved(name);
        drop(held);
        tell.carried(bytes);
        // the pause comes after the file, not while its writes are held
        if let Some(until) = rate.take(bytes) {
            tokio::time::sleep_until(until).await;
        }
        // what cannot be removed now does no harm: nobody reads it, and it is overwritten if the
        // file ever comes back
        self.remove_left_behind(
            old.into_iter()
                .filter(|place| !new.contains(place))
                .map(|place| (name.to_vec(), place))
                .collect(),
        )
        .await;
        Ok(())
    }

    /// Copies a file, whose writes are held, from the first source that has all of it to every
    /// target; the bytes of it all.
    async fn carry(
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
            let source = self.router.backend(*source);
            match flushed(&source, name).await {
                Ok(()) => {}
                Err(reason) => {
                    reasons.push(format!("{}: {reason}", source.name()));
                    continue;
                }
            }
            let mut bytes = 0;
            for target in targets {
                let target = self.router.backend(*target);
                // what it may have waiting for a file of that name from another time
                let forget = [b"FORGET ", &escaped(name)[..]].concat();
                target
                    .ask(&forget, false)
                    .await
                    .map_err(|error| format!("{}: {error}", target.name()))?;
                let copied = Files::copy(
                    &files_of(&source)?,
                    &files_of(&target)?,
                    name,
                    &Rate::default(),
                )
                .await;
                bytes += copied
                    .map_err(|error| {
                        format!("from {} to {}: {error}", source.name(), target.name())
                    })?
                    .bytes;
            }
            return Ok(bytes);
        }
        Err(reasons.join("; "))
    }

    async fn repair(
        self: &Arc<Self>,
        backend: &Arc<Backend>,
        tell: &Arc<Tell>,
    ) -> Result<(), String> {
        let place = backend.place();
        let (found, _) = self
            .found(|other| other.place() != place && other.files().is_some())
            .await?;
        let todo: BTreeMap<_, _> = {
            let layout = self.router.shared().layout();
            found
                .into_iter()
                .filter(|(name, _)| layout.now(name).contains(&place))
                .collect()
        };
        tell.change(|progress| progress.files = todo.len() as u64);
        self.each(todo, tell, |mover, name, _| {
            let tell = Arc::clone(tell);
            async move {
                mover
                    .give(&name, place)
                    .await
                    .map(|bytes| tell.carried(bytes))
            }
        })
        .await;
        match (tell.nobody_listens(), tell.sender.borrow().failed) {
            (true, _) => Err("stopped; run it again to go on".to_owned()),
            (_, 0) => Ok(()),
            (_, failed) => Err(format!(
                "{failed} files could not be copied; run it again when the reason is gone"
            )),
        }
    }

    /// Copies a file to a backend that should have it, from one that has.
    async fn give(&self, name: &[u8], place: BackendId) -> Result<u64, String> {
        let held = Held::new(&self.router, name)?;
        let places = self.router.shared().layout().now(name);
        if !places.contains(&place) {
            return Ok(0); // it has moved away meanwhile
        }
        let sources: Vec<BackendId> = places.into_iter().filter(|other| *other != place).collect();
        let bytes = self.carry(name, &sources, &[place]).await?;
        drop(held);
        Ok(bytes)
    }

    /// Gives backends the files that they lack, as soon as that is known; never ends.
    pub async fn keep_whole(self: Arc<Self>) {
        let shared = Arc::clone(self.router.shared());
        let mut said = BTreeSet::new();
        loop {
            tokio::select! {
                () = shared.lacks.bell.notified() => {}
                () = self.router.came_up.notified() => {
                    tokio::time::sleep(SETTLE).await;
                    if let Err(reason) = self.look().await {
                        tracing::warn!(error = reason, "whether a backend lacks files is not \
                            known: {reason}");
                    }
                }
            }
            let _busy = self.busy.lock().await;
            let mut given: BTreeMap<BackendId, (u64, u64)> = BTreeMap::new();
            for (name, place) in shared.lacks.take() {
                let backend = self.router.backend(place);
                if backend.state() != Health::Up || !self.somebody_has(&name, place).await {
                    continue; // when it comes up again, that is found out again
                }
                // it may have come meanwhile, or it was a file that nobody had made yet
                let flush = [b"FLUSH ", &escaped(&name)[..]].concat();
                if backend
                    .ask(&flush, false)
                    .await
                    .is_ok_and(|reply| !has_no_file(&reply.text))
                {
                    continue;
                }
                match self.give(&name, place).await {
                    Ok(bytes) => {
                        let count = given.entry(place).or_default();
                        (count.0, count.1) = (count.0 + 1, count.1 + bytes);
                    }
                    // once for each backend, or the log would be full of it
                    Err(reason) if said.insert(place) => {
                        let (backend, file) = (backend.name(), String::from_utf8_lossy(&name));
                        tracing::error!(
                            backend,
                            file = &*file,
                            error = reason,
                            "backend {backend} \
                            lacks {file}, maybe more, and cannot be given it: {reason}"
                        );
                    }
                    Err(_) => {}
                }
            }
            for (place, (count, bytes)) in given {
                said.remove(&place);
                let backend = self.router.backend(place);
                let backend = backend.name();
                tracing::info!(
                    backend,
                    count,
                    bytes,
                    "backend {backend} lacked {count} files, {bytes} bytes, and has them now"
                );
            }
        }
    }

    /// Notes every file that a backend lacks which should have it.
    async fn look(&self) -> Result<(), String> {
        let (found, listed) = self.found(|backend| backend.files().is_some()).await?;
        let shared = self.router.shared();
        for (name, at) in &found {
            let places = shared.layout().now(name);
            if places.iter().any(|place| at.contains(place)) {
                places
                    .iter()
                    .filter(|place| listed.contains(place) && !at.contains(place))
                    .for_each(|place| shared.lacks.add(name, *place));
            }
        }
        Ok(())
    }

    async fn somebody_has(&self, name: &[u8], place: BackendId) -> bool {
        let places = self.router.shared().layout().now(name);
        let line = [b"FLUSH ", &escaped(name)[..]].concat();
        for other in places.into_iter().filter(|other| *other != place) {
            if self
                .router
                .backend(other)
                .ask(&line, false)
                .await
                .is_ok_and(|reply| !reply.is_error())
            {
                return true;
            }
        }
        false
    }
}

/// Everything that was sent to the backend for this file is in the file.
async fn flushed(backend: &Backend, name: &[u8]) -> Result<(), String> {
    files_of(backend)?;
    for verb in ["FLUSH", "PENDING"] {
        let line = [verb.as_bytes(), b" ", &escaped(name)[..]].concat();
        let reply = backend
            .ask(&line, false)
            .await
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&reply.text).into_owned();
        if verb == "FLUSH" && reply.is_error() {
            return Err(text);
        }
        if reply.count > 0 {
            return Err(format!(
                "{} values wait after a FLUSH: somebody else writes, or it is suspended there",
                reply.count
            ));
        }
    }
    Ok(())
}

/// Removes a file from where it is no more.
async fn remove(backend: &Backend, name: &[u8]) -> Result<(), String> {
    let forget = [b"FORGET ", &escaped(name)[..]].concat();
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

fn files_of(backend: &Backend) -> Result<Files, String> {
    let name = backend.name();
    backend.files().ok_or_else(|| {
        format!(
            "node {name} has no attribute \"files\", so its files \
        cannot be reached: give it one, /directory or host:port of its agent"
        )
    })
}

/// The writes to a file, held until this is dropped.
struct Held<'a> {
    router: &'a Router,
    name: &'a [u8],
}

impl<'a> Held<'a> {
    fn new(router: &'a Router, name: &'a [u8]) -> Result<Held<'a>, String> {
        match router.hold(name) {
            true => Ok(Held { router, name }),
            false => Err("it is on its way already".to_owned()),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.router.release(self.name);
    }
}

/// Tells how far it is.
struct Tell {
    sender: watch::Sender<Progress>,
    began: Instant,
}

impl Tell {
    fn new(progress: Progress) -> (Tell, watch::Receiver<Progress>) {
        let (sender, receiver) = watch::channel(progress);
        (
            Tell {
                sender,
                began: Instant::now(),
            },
            receiver,
        )
    }

    fn change(&self, change: impl FnOnce(&mut Progress)) {
        self.sender.send_modify(change);
    }

    fn carried(&self, bytes: u64) {
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        self.change(|progress| {
            progress.bytes += bytes;
            progress.rate = (progress.bytes as f64 / seconds) as u64;
        });
    }

    fn failed(&self, files: u64, reason: String) {
        self.change(|progress| {
            progress.failed += files;
            if progress.reasons.len() < REASONS {
                progress.reasons.push(reason);
            }
        });
    }

    fn nobody_listens(&self) -> bool {
        self.sender.is_closed()
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}
