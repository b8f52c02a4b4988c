//! The cache of open maps: a process opens each map file once.
//!
//! An entry is valid while a `stat` of its path gives the same device, inode, size and times. The
//! entry holds the file open, so that its inode cannot be reused for another file. It stays in the
//! cache even after all handles of the map are dropped. Paths are compared as they were given: a
//! relative path leads to another inode after a `chdir`, which the `stat` shows. A file that stays
//! damaged is not verified again either, while a `stat` gives the same.
//!
//! A process may fork at any time. The child inherits the entries, but never a lock held by a
//! thread that does not exist in the child.

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::failures::Failures;
use super::open::{open, Map, Stamp};
use crate::error::{Error, Result};
use crate::lock;

/// The number of paths that the cache keeps. When it is full, a new path replaces the least
/// recently used one.
const PATHS: usize = 16;

struct Entries {
    /// the paths and their maps, the most recently used last
    maps: Vec<(PathBuf, Known)>,
    failures: Failures,
}

/// A map, and the state that its file had when it was opened.
#[derive(Clone)]
struct Known {
    map: Arc<Map>,
    stamp: Stamp,
    /// keeps the inode from being reused; shared, because another thread may drop the entry while
    /// this one still compares inodes
    _open: Arc<File>,
}

static ENTRIES: Mutex<Entries> = Mutex::new(Entries {
    maps: Vec::new(),
    failures: Failures::new(),
});

impl Map {
    /// Opens a map file through the cache of this process. Costs one `stat` when the file is
    /// unchanged; otherwise one SHA-256 and one pass over the file. A file up to 1 MiB is read into
    /// memory; a larger one is mapped, so that all processes share its memory.
    ///
    /// A new file at the path (published by renaming) is opened and replaces the old one in the
    /// cache. If the same file has other contents, it was overwritten in place: that is
    /// [`Error::Changed`], and open handles keep the old map. A path that cannot be opened or is
    /// not a map leaves the cache as it was. A file that has been damaged for two seconds costs one
    /// `stat`, too, until it changes.
    ///
    /// If another program truncates a mapped file in place, this process is killed (SIGBUS). Where
    /// that can happen, use [`Map::open_copy`].
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Map>> {
        cached(path.as_ref(), false)
    }

    /// Opens a map file as [`Map::open`] does, and reads it into memory whatever its size.
    pub fn open_copy(path: impl AsRef<Path>) -> Result<Arc<Map>> {
        cached(path.as_ref(), true)
    }
}

fn cached(path: &Path, copy: bool) -> Result<Arc<Map>> {
    let meta = std::fs::metadata(path).map_err(|e| Error::io("open", path, e))?;
    let now = Stamp::of(&meta);
    let (before, failure) = known(path, &now);
    if let Some(known) = &before {
        if known.stamp == now && (!copy || known.map.is_copy()) {
            return Ok(Arc::clone(&known.map));
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    // not under the lock: verifying a large file must not delay threads that ask for others
    let copy_up_to = if copy {
        u64::MAX
    } else {
        super::open::COPY_UP_TO
    };
    let opened = open(path, copy_up_to);
    if let Some(before) = &before {
        // The file may have been touched, linked or overwritten, and the digest tells which. The
        // digest of a mapped file was stored when the file was opened, so it is right even if the
        // mapping shows other bytes now.
        let overwritten = match &opened {
            Ok((new, _, found)) => {
                before.stamp.same_file(found) && new.digest() != before.map.digest()
            }
            // the contents are unknown: the file is not readable now, or no descriptor is left
            Err(Error::Io { .. }) => false,
            Err(_) => before.stamp.same_file(&now),
        };
        if overwritten {
            let changed = Error::Changed {
                file: path.to_owned(),
            };
            return Err(failed(path, now, changed));
        }
    }
    let (map, file, stamp) = opened.map_err(|error| failed(path, now, error))?;
    let known = Known {
        map: Arc::new(map),
        stamp,
        _open: Arc::new(file),
    };
    let map = Arc::clone(&known.map);
    let mut entries = entries();
    entries.failures.forget(path);
    let maps = &mut entries.maps;
    maps.retain(|(other, _)| other != path);
    if maps.len() >= PATHS {
        maps.remove(0);
    }
    maps.push((path.to_owned(), known));
    Ok(map)
}

/// Notes that the file in this state is no map, and returns the error.
fn failed(path: &Path, stamp: Stamp, error: Error) -> Error {
    let now = Instant::now();
    entries().failures.note(path, stamp, &error, now);
    error
}

/// Locks the entries. The first call registers our fork handlers, before it takes the lock, so that
/// every fork while the lock is held runs them.
///
/// This does not use `Once`: after a fork in the middle of one, the child would wait for a thread
/// that does not exist in it. So two threads may both register, and the handlers may run twice.
fn entries() -> MutexGuard<'static, Entries> {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        lock::at_fork(before_fork, after_fork);
        WATCHED.store(true, Ordering::Release);
    }
    locked()
}

/// A panic while the lock is held cannot leave half an entry: each change is one push or one
/// remove.
fn locked() -> MutexGuard<'static, Entries> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// The lock, held by this thread while it forks.
    static FORKING: RefCell<Option<MutexGuard<'static, Entries>>> = const { RefCell::new(None) };
}

/// Takes the lock, so that no thread is in the middle of a change while this one forks. No thread
/// holds it for long.
extern "C" fn before_fork() {
    let _ = FORKING.try_with(|held| {
        held.borrow_mut().get_or_insert_with(locked);
    });
}

/// Releases the lock. Runs in the parent and in the child, which each have their own copy of the
/// lock.
extern "C" fn after_fork() {
    let _ = FORKING.try_with(|held| held.borrow_mut().take());
}

/// Returns the entry of a path, which becomes the most recently used, and why the file in its
/// present state is no map, if that is known.
fn known(path: &Path, now: &Stamp) -> (Option<Known>, Option<Error>) {
    let mut entries = entries();
    let failure = entries.failures.of(path, now);
    let maps = &mut entries.maps;
    let known = maps.iter().position(|(other, _)| other == path).map(|at| {
        let entry = maps.remove(at);
        let known = entry.1.clone();
        maps.push(entry);
        known
    });
    (known, failure)
}
