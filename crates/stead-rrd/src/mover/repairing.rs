//! Repairs: copies files to backends that should have them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::carrying::{files_of, Mover};
use super::telling::Tell;
use crate::backend::Backend;
use crate::clock::now;
use crate::health::Health;
use crate::layout::BackendId;
use crate::refusals::has_no_file;
use crate::status::Progress;
use crate::verb::Verb;
use crate::words::line_of;

/// How long to wait after a backend has come up before looking for files that it lacks, because
/// others may come up, too.
const SETTLE: Duration = Duration::from_secs(2);

impl Mover {
    /// Starts to copy to this backend every file that it should have, from another that has it.
    /// Files that the backend has already are copied, too.
    pub fn start_repair(self: &Arc<Self>, node: &str) -> Result<watch::Receiver<Progress>, String> {
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
            mover.repair(&backend, &tell).await
        })
    }

    async fn repair(
        self: &Arc<Self>,
        backend: &Arc<Backend>,
        tell: &Arc<Tell>,
    ) -> Result<(), String> {
        let id = backend.id();
        let (found, _) = self
            .found(|other| other.id() != id && other.files().is_some())
            .await?;
        let todo: BTreeMap<_, _> = {
            let layout = self.router.shared().layout();
            found
                .into_iter()
                .filter(|(name, _)| layout.now(name).contains(&id))
                .collect()
        };
        tell.change(|progress| progress.files = todo.len() as u64);
        self.each(todo, tell, |mover, name, _| {
            let tell = Arc::clone(tell);
            async move { mover.give(&name, id).await.map(|bytes| tell.carried(bytes)) }
        })
        .await;
        match (tell.nobody_listens(), tell.sender.borrow().failed) {
            (true, _) => Err("stopped; run it again to continue".to_owned()),
            (_, 0) => Ok(()),
            (_, failed) => Err(format!(
                "{failed} files could not be copied; fix the cause and run it again"
            )),
        }
    }

    /// Copies files to backends that lack them, as soon as that is known. Never returns.
    pub async fn keep_whole(self: Arc<Self>) {
        let shared = Arc::clone(self.router.shared());
        let mut said = BTreeSet::new();
        loop {
            tokio::select! {
                () = shared.lacks.bell.notified() => {}
                () = self.router.backends.came_up.notified() => {
                    tokio::time::sleep(SETTLE).await;
                    if let Err(reason) = self.look().await {
                        tracing::warn!(error = reason, "cannot find out whether backends lack \
                            files: {reason}");
                    }
                }
            }
            let _busy = self.busy.lock().await;
            let mut given: BTreeMap<BackendId, (u64, u64)> = BTreeMap::new();
            for (name, id) in shared.lacks.take() {
                let backend = self.router.backends.get(id);
                if backend.health() != Health::Up || !self.somebody_has(&name, id).await {
                    continue; // the files are looked for again when the backend comes up again
                }
                // the file may have arrived meanwhile, or nobody had made it yet
                let flush = line_of(Verb::Flush, &name);
                if backend
                    .ask(&flush, false)
                    .await
                    .is_ok_and(|reply| !has_no_file(&reply.text))
                {
                    continue;
                }
                match self.give(&name, id).await {
                    Ok(bytes) => {
                        let count = given.entry(id).or_default();
                        (count.0, count.1) = (count.0 + 1, count.1 + bytes);
                    }
                    // report it once for each backend, or the messages would be full of it
                    Err(reason) if said.insert(id) => {
                        let (backend, file) = (backend.name(), String::from_utf8_lossy(&name));
                        tracing::error!(
                            backend,
                            file = &*file,
                            error = reason,
                            "backend {backend} \
                            lacks {file} and perhaps more files, and it cannot be copied: {reason}"
                        );
                    }
                    Err(_) => {}
                }
            }
            for (id, (count, bytes)) in given {
                said.remove(&id);
                let backend = self.router.backends.get(id);
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

    /// Finds every file that a backend should have and lacks.
    async fn look(&self) -> Result<(), String> {
        let (found, listed) = self.found(|backend| backend.files().is_some()).await?;
        let shared = self.router.shared();
        for (name, at) in &found {
            let copies = shared.layout().now(name);
            if copies.iter().any(|id| at.contains(id)) {
                copies
                    .iter()
                    .filter(|id| listed.contains(id) && !at.contains(id))
                    .for_each(|id| shared.lacks.add(name, *id));
            }
        }
        Ok(())
    }

    async fn somebody_has(&self, name: &[u8], id: BackendId) -> bool {
        let copies = self.router.shared().layout().now(name);
        let line = line_of(Verb::Flush, name);
        for other in copies.into_iter().filter(|other| *other != id) {
            if self
                .router
                .backends
                .get(other)
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
