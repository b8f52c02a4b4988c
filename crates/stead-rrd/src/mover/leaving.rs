//! Removes the copies that files have left behind at their old places.
//!
//! Two nodes can be one server, if somebody has given a server another name, and its address in
//! another spelling. Then the old copy is the new one. So the first time that a copy is removed at
//! one backend, the router looks whether another backend has lost the file by it, and then puts the
//! file back.

use std::sync::Arc;

use super::agreeing::files_of;
use super::carrying::{remove, Mover};
use super::telling::Tell;
use crate::backend::Backend;
use crate::files::MOST_BYTES;
use crate::layout::BackendId;
use crate::lock::lock;

impl Mover {
    pub(super) async fn remove_left_behind(&self, copies: Vec<(Vec<u8>, BackendId)>, tell: &Tell) {
        for (name, id) in copies {
            let backend = self.router.backends.get(id);
            if let Err(error) = self.remove_old(&backend, &name).await {
                tell.left_behind(id, &name, error);
            }
        }
    }

    async fn remove_old(&self, old: &Backend, name: &[u8]) -> Result<(), String> {
        let now = self.router.shared().layout().now(name);
        let mut unknown = Vec::new();
        for id in now {
            match lock(&self.apart).get(&(old.id(), id)) {
                Some(true) => {}
                Some(false) => return Err(one_server(old, &self.router.backends.get(id))),
                None => unknown.push(self.router.backends.get(id)),
            }
        }
        if unknown.is_empty() {
            return remove(old, name).await;
        }
        for new in &unknown {
            if !has(new, name).await? {
                return Err(format!("{} does not have it", new.name()));
            }
        }
        let files = files_of(old)?;
        let sum = files.sum(name).await.map_err(|error| error.to_string())?;
        if sum.is_none() {
            return remove(old, name).await; // nothing is there
        }
        let kept = files.read(name, MOST_BYTES).await;
        let (bytes, mode) = kept.map_err(|error| error.to_string())?;
        remove(old, name).await?;
        let mut one = None;
        for new in unknown {
            let is_apart = has(&new, name).await?;
            lock(&self.apart).insert((old.id(), new.id()), is_apart);
            if !is_apart {
                let put = files_of(&new)?.put(name, mode, &bytes).await;
                put.map_err(|error| format!("{}: {error}", new.name()))?;
                one = Some(new);
            }
        }
        one.map_or(Ok(()), |new| Err(one_server(old, &new)))
    }
}

/// Returns whether a backend has a file.
async fn has(backend: &Arc<Backend>, name: &[u8]) -> Result<bool, String> {
    let sum = files_of(backend)?.sum(name).await;
    sum.map(|sum| sum.is_some())
        .map_err(|error| format!("{}: {error}", backend.name()))
}

fn one_server(old: &Backend, new: &Backend) -> String {
    format!(
        "{} and {} are one server, so this copy is the only one there, and it stays",
        old.name(),
        new.name()
    )
}
