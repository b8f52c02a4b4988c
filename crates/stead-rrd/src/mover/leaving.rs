//! Removes the copies that files have left behind at their old places.
//!
//! Two nodes can be one server, if somebody has given a server another name, and its address in
//! another spelling. Then the old copy is the new one. So before the first copy is removed at one
//! backend, the router puts a small file of its own at the other one, and looks whether both have
//! it. The router does not rely on what an agent says of its directory, since two machines whose
//! disks were made from one image say the same.
//!
//! A file system of another machine may show a new file late. So the router also looks whether the
//! other backend has lost its copy when the first one is removed, and then puts it back.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use twox_hash::XxHash3_128;

use super::agreeing::files_of;
use super::carrying::{remove, Mover};
use super::telling::Tell;
use crate::backend::Backend;
use crate::files::MOST_BYTES;
use crate::layout::BackendId;
use crate::lock::lock;

/// The file that is put into one directory and looked for in another one. Only what begins like an
/// RRD is seen.
const MARK: &[u8] = b".stead-rrd-mark.rrd";

impl Mover {
    pub(super) async fn remove_left_behind(&self, copies: Vec<(Vec<u8>, BackendId)>, tell: &Tell) {
        for (name, id) in copies {
            let backend = self.router.backends.get(id);
            if let Err(error) = self.remove_old(&backend, &name).await {
                tell.left_behind(id, &name, error);
            }
        }
    }

    /// Returns the backends of this file of which it is not known whether they are the same server
    /// as the old one. Fails if one of them is.
    fn perhaps_one(&self, old: &Backend, name: &[u8]) -> Result<Vec<Arc<Backend>>, String> {
        let now = self.router.shared().layout().now(name);
        let mut unknown = Vec::new();
        for id in now {
            match lock(&self.apart).get(&(old.id(), id)) {
                Some(true) => {}
                Some(false) => return Err(one_server(old, &self.router.backends.get(id))),
                None => unknown.push(self.router.backends.get(id)),
            }
        }
        Ok(unknown)
    }

    async fn remove_old(&self, old: &Backend, name: &[u8]) -> Result<(), String> {
        if self.perhaps_one(old, name)?.is_empty() {
            return remove(old, name).await;
        }
        let _turn = self.marking.lock().await;
        // somebody may have found out meanwhile
        let unknown = self.perhaps_one(old, name)?;
        if unknown.is_empty() {
            return remove(old, name).await;
        }
        for new in &unknown {
            if !has(new, name).await? {
                return Err(format!("{} does not have it", new.name()));
            }
        }
        for new in &unknown {
            if is_one(old, new).await? {
                lock(&self.apart).insert((old.id(), new.id()), false);
                return Err(one_server(old, new));
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

/// Returns whether two backends have one directory: what is put at one is at the other one, too.
async fn is_one(old: &Backend, new: &Backend) -> Result<bool, String> {
    // what an earlier run has left there is another one
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let number = since.unwrap_or_default().as_nanos();
    let content = [b"RRD\0", &number.to_le_bytes()[..]].concat();
    // not at the old one, whose disk may be full: files move away from there
    let there = files_of(new)?;
    let said = |error: std::io::Error| format!("{}: {error}", new.name());
    there.put(MARK, 0o600, &content).await.map_err(said)?;
    let seen = files_of(old)?.sum(MARK).await;
    there.remove(MARK).await.map_err(said)?;
    let seen = seen.map_err(|error| format!("{}: {error}", old.name()))?;
    Ok(seen == Some((content.len() as u64, XxHash3_128::oneshot(&content))))
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
