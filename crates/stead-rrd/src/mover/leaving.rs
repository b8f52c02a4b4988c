//! Removes the copies that files have left behind at their old places.
//!
//! Two nodes can be one server, if somebody has given a server another name, and its address in
//! another spelling. Then the old copy is the new one. So the first time that a copy is removed at
//! one backend because the file is at another one now, a file is made there that nobody has.

use std::collections::BTreeMap;

use super::carrying::{files_of, remove, Mover};
use super::telling::Tell;
use crate::backend::Backend;
use crate::layout::BackendId;
use crate::lock::lock;
use crate::term::random;

impl Mover {
    pub(super) async fn remove_left_behind(&self, copies: Vec<(Vec<u8>, BackendId)>, tell: &Tell) {
        for (name, id) in copies {
            let backend = self.router.backends.get(id);
            if let Err(error) = self.remove_old(&backend, &name).await {
                tell.left_behind(backend.name(), &name, error);
            }
        }
    }

    async fn remove_old(&self, old: &Backend, name: &[u8]) -> Result<(), String> {
        let (now, settled) = {
            let shared = self.router.shared();
            let layout = shared.layout();
            (layout.now(name), layout.settled().all().to_vec())
        };
        // two nodes of one map are two servers
        for id in now.into_iter().filter(|id| !settled.contains(id)) {
            let new = self.router.backends.get(id);
            if !self.are_apart(old, &new).await? {
                return Err(format!(
                    "{} and {} are one server, so this copy is the only one there, and it stays",
                    old.name(),
                    new.name()
                ));
            }
        }
        remove(old, name).await
    }

    /// Returns whether a file that is made at one backend is not found at the other one.
    async fn are_apart(&self, old: &Backend, new: &Backend) -> Result<bool, String> {
        let addresses = self.router.shared().repairs.addresses();
        let key = (old.id(), new.id());
        {
            let mut known = lock(&self.apart);
            if known.0 != addresses {
                *known = (addresses, BTreeMap::new());
            }
            if let Some(are) = known.1.get(&key) {
                return Ok(*are);
            }
        }
        let probe = format!(".stead-rrd.probe.{:016x}", random()).into_bytes();
        // not the other way round: the disk of the old one may be full
        let (made, seen) = (files_of(new)?, files_of(old)?);
        let put = made
            .put(&probe, 0o600, b"stead-rrd: may be removed\n")
            .await;
        put.map_err(|error| format!("{}: {error}", new.name()))?;
        let found = seen.sum(&probe).await;
        let removed = made.remove(&probe).await;
        removed.map_err(|error| format!("{}: {error}", new.name()))?;
        let are = found.map_err(|error| error.to_string())?.is_none();
        lock(&self.apart).1.insert(key, are);
        Ok(are)
    }
}
