//! Repairs: copies files to backends that should have them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::agreeing::files_of;
use super::carrying::Mover;
use super::telling::Tell;
use crate::backend::Backend;
use crate::clock::now;
use crate::layout::BackendId;
use crate::repairs::{Due, Need};
use crate::status::Progress;

/// How long to wait after a backend has come up before looking for files that it lacks, because
/// others may come up, too.
const SETTLE: Duration = Duration::from_secs(2);

/// How often the queue is looked through for entries whose turn has come.
const AGAIN: Duration = Duration::from_secs(1);

impl Mover {
    /// Starts to compare the copies of every file that this backend should have, and to make them
    /// equal. With `replace`, the files of this backend are not looked at: all are replaced by the
    /// copies of other backends.
    pub fn start_repair(
        self: &Arc<Self>,
        node: &str,
        replace: bool,
    ) -> Result<watch::Receiver<Progress>, String> {
        let backend = self
            .router
            .backends
            .all()
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
            mover.repair(&backend, replace, &tell).await
        })
    }

    async fn repair(
        self: &Arc<Self>,
        backend: &Arc<Backend>,
        replace: bool,
        tell: &Arc<Tell>,
    ) -> Result<(), String> {
        let id = backend.id();
        let found = self
            .found(|other| other.id() != id && other.files().is_some())
            .await?;
        let hidden =
            found.is_whole(|other| Some(self.router.backends.get(other).name().to_owned()));
        let todo: BTreeMap<_, _> = {
            let layout = self.router.shared().layout();
            found
                .files
                .into_iter()
                .filter(|(name, _)| layout.now(name).contains(&id))
                .collect()
        };
        tell.change(|progress| progress.files = todo.len() as u64);
        self.each(todo, tell, |mover, name, _| {
            let tell = Arc::clone(tell);
            async move {
                let bytes = match replace {
                    true => mover.give(&name, id).await?,
                    false => mover.mend_one(&name, id).await?,
                };
                tell.carried(bytes);
                Ok(())
            }
        })
        .await;
        match (tell.is_stopped(), tell.sender.borrow().failed) {
            (true, _) => Err("stopped; run it again to continue".to_owned()),
            (_, 0) => hidden,
            (_, failed) => Err(format!(
                "{failed} files could not be copied; fix the cause and run it again"
            )),
        }
    }

    /// Works on the repair queue: copies files to backends that lack them, and compares copies that
    /// may lack values. Never returns.
    pub async fn keep_whole(self: Arc<Self>) {
        let shared = Arc::clone(self.router.shared());
        let repairs = &shared.repairs;
        let mut said = BTreeSet::new();
        loop {
            tokio::select! {
                () = repairs.bell.notified() => {}
                () = tokio::time::sleep(AGAIN), if !repairs.is_empty() => {
                    if repairs.wants_a_look() {
                        self.look_or_say().await;
                    }
                }
                () = self.router.backends.came_up.notified() => {
                    tokio::time::sleep(SETTLE).await;
                    self.look_or_say().await;
                    repairs.hurry();
                }
            }
            let due = repairs.due(Instant::now());
            if due.is_empty() {
                continue;
            }
            let _busy = self.busy.lock().await;
            self.send_again(&due).await;
            let mut done: BTreeMap<BackendId, Done> = BTreeMap::new();
            for Due {
                name,
                place,
                need,
                age,
                refusal,
            } in due
            {
                let backend = self.router.backends.get(place);
                let (backend, file) = (backend.name(), String::from_utf8_lossy(&name));
                if let Some(error) = refusal {
                    tracing::warn!(
                        backend,
                        file = &*file,
                        error,
                        "backend {backend} refused a \
                        write of {file} that was taken elsewhere; its copy is compared with the \
                        others: {error}"
                    );
                }
                let result = match need {
                    Need::Missing => self.fill(&name, place).await,
                    Need::Gone => self.bring_back(&name, place, age).await,
                    Need::Doubtful => self.mend_doubtful(&name, place).await,
                };
                match result {
                    Ok(copied) => {
                        for (target, bytes) in copied {
                            repairs.works(target);
                            let done = done.entry(target).or_default();
                            (done.files, done.bytes) = (done.files + 1, done.bytes + bytes);
                        }
                        repairs.done(&name, place);
                    }
                    Err(reason) => {
                        let is_again = repairs.failed(&name, place, reason.clone());
                        // once for each backend, or the messages would be full of it
                        if (is_again || need == Need::Gone) && said.insert(place) {
                            tracing::warn!(
                                backend,
                                file = &*file,
                                error = reason,
                                "backend {backend} \
                                lacks {file} or a part of it, and perhaps more files, and it \
                                cannot be repaired now: {reason}"
                            );
                        }
                    }
                }
            }
            for (place, Done { files, bytes }) in done {
                said.remove(&place);
                let backend = self.router.backends.get(place);
                let backend = backend.name();
                tracing::info!(
                    backend,
                    files,
                    bytes,
                    "backend {backend} lacked {files} files or parts of them, {bytes} bytes, and \
                    has them now"
                );
            }
        }
    }

    async fn look_or_say(&self) {
        if let Err(reason) = self.look().await {
            tracing::warn!(
                error = reason,
                "cannot find out whether backends lack files: {reason}"
            );
        }
    }

    /// Stores the repair queue whenever it has changed, at most once a second. Never returns.
    pub async fn store_repairs(self: Arc<Self>) {
        let shared = Arc::clone(self.router.shared());
        let mut failing = false;
        loop {
            if shared.repairs.is_stored(shared.repairs.version()) {
                shared.repairs.changed.notified().await;
                continue;
            }
            let (router, state) = (Arc::clone(&self.router), Arc::clone(&self.state));
            let stored = tokio::task::spawn_blocking(move || router.store_repairs(&state)).await;
            match stored.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    tracing::error!(%error, "the repair queue cannot be stored, so the log keeps \
                        everything until it can: {error}");
                }
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Finds every file that a backend should have and lacks.
    async fn look(&self) -> Result<(), String> {
        let found = self.found(|backend| backend.files().is_some()).await?;
        let shared = self.router.shared();
        for (name, at) in &found.files {
            let copies = shared.layout().now(name);
            if copies.iter().any(|id| at.contains(id)) {
                copies
                    .iter()
                    .filter(|id| found.listed.contains(id) && !at.contains(id))
                    .for_each(|id| {
                        shared.repairs.add(name, *id, Need::Missing);
                    });
            }
        }
        Ok(())
    }
}

/// What was done for one backend.
#[derive(Default)]
struct Done {
    files: u64,
    bytes: u64,
}
