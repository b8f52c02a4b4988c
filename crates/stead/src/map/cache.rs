//! The open cache: a process opens each map file once.
//!
//! An entry is good while one `stat` of its path gives the same device, inode, size and times. It
//! holds the file open, so that its inode cannot be given to another file, and it outlives the
//! handles that were given out. Paths are kept as they were given: after a `chdir` a relative one
//! leads to another inode, which the `stat` shows.
//!
//! A process may fork at any time. The child gets the entries, and never a lock that a thread which
//! it does not have would hold.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::open::{open, Map, Stamp};
use crate::error::{Error, Result};
use crate::lock;

/// The least recently used path goes out when a new one comes in.
const PATHS: usize = 16;

/// The paths and what is known of them, most recently used last.
type Entries = Vec<(PathBuf, Known)>;

/// A map and the state of its file when it was opened.
#[derive(Clone)]
struct Known {
    map: Arc<Map>,
    stamp: Stamp,
    /// also where another thread takes the entry out meanwhile: whoever compares inodes must hold
    /// the one it compares with
    _open: Arc<File>,
}

static ENTRIES: Mutex<Entries> = Mutex::new(Vec::new());

/// Opens a map through the cache of this process: costs one `stat` when the file is unchanged.
///
/// A new file at the path (published by renaming) is opened and takes the old one's place. The same
/// file with other contents was overwritten in place: that is an error, and the handles that are
/// out keep the old map. A path that cannot be opened or is no map leaves the cache as it was.
/// `copy`: read the file into memory, whatever its size.
pub fn open_cached(path: &Path, copy: bool) -> Result<Arc<Map>> {
    let meta = std::fs::metadata(path).map_err(|e| Error::io("stat", path, e))?;
    let now = Stamp::of(&meta);
    let before = known(path);
    if let Some(known) = &before {
        if known.stamp == now && (!copy || known.map.is_copy()) {
            return Ok(Arc::clone(&known.map));
        }
    }
    // not under the lock: verifying a large file must not hold up those who ask for others
    let copy_up_to = if copy {
        u64::MAX
    } else {
        super::open::COPY_UP_TO
    };
    let opened = open(path, copy_up_to);
    if let Some(before) = &before {
        // touched, linked or overwritten? the contents tell; what is mapped shows the new bytes,
        // but its digest is kept
        let overwritten = match &opened {
            Ok((new, _, found)) => {
                before.stamp.same_file(found) && new.digest() != before.map.digest()
            }
            // nobody saw the contents: unreadable now, or no descriptor left
            Err(Error::Io { .. }) => false,
            Err(_) => before.stamp.same_file(&now),
        };
        if overwritten {
            return Err(Error::Changed {
                file: path.to_owned(),
            });
        }
    }
    let (map, file, stamp) = opened?;
    let known = Known {
        map: Arc::new(map),
        stamp,
        _open: Arc::new(file),
    };
    let map = Arc::clone(&known.map);
    let mut entries = entries();
    entries.retain(|(other, _)| other != path);
    if entries.len() >= PATHS {
        entries.remove(0);
    }
    entries.push((path.to_owned(), known));
    Ok(map)
}

/// Locks the entries. Before that it registers our fork handlers with the system, so that a fork
/// finds them whenever the lock is held.
///
/// A `Once` would not do: a fork in the middle of one leaves the child waiting for a thread that
/// it does not have. Without one, two threads may both register, and the handlers may run twice.
fn entries() -> MutexGuard<'static, Entries> {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        lock::at_fork(before_fork, after_fork);
        WATCHED.store(true, Ordering::Release);
    }
    locked()
}

/// A panic while the lock is held leaves whole entries behind: each change is one push or one
/// remove.
fn locked() -> MutexGuard<'static, Entries> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The lock, while this thread forks.
    static FORKING: RefCell<Option<MutexGuard<'static, Entries>>> = const { RefCell::new(None) };
}

/// Waits until nobody is in the middle of a change; nobody stays there long.
extern "C" fn before_fork() {
    let _ = FORKING.try_with(|held| {
        held.borrow_mut().get_or_insert_with(locked);
    });
}

/// In the parent and in the child, which each have a lock of their own now.
extern "C" fn after_fork() {
    let _ = FORKING.try_with(|held| held.borrow_mut().take());
}

/// The entry of a path, which becomes the most recently used.
fn known(path: &Path) -> Option<Known> {
    let mut entries = entries();
    let found = entries.iter().position(|(other, _)| other == path)?;
    let entry = entries.remove(found);
    let known = entry.1.clone();
    entries.push(entry);
    Some(known)
}
