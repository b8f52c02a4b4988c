//! The directory on disk, which one router has locked: every change of it goes through here, first
//! to the copy on another machine if there is one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use super::change::{Change, Mirror};
use crate::dirs::{failed, hold, put, read, remove, sync_names};
use crate::lock::lock;

/// The files of the directory; the list is in `mod.rs`.
pub(super) const SETTLED: &str = "settled.map";
pub(super) const TARGET: &str = "target.map";
pub(super) const MOVED: &str = "moved";
pub(super) const REPAIRS: &str = "repairs";
pub(super) const MOVING: &str = "moving";
pub(super) const CHECKS: &str = "checks";

/// The name of the file that is written and removed.
pub(super) const TRY: &str = "try.tmp";

/// The least size of this file. It is that of a block, and the record of a promotion is smaller.
const TRY_BYTES: usize = 4096;

/// The directory, locked by one router.
pub struct StateDir(Arc<Inner>);

struct Inner {
    dir: PathBuf,
    /// the list of the files that have moved, once a name was appended
    moved: Mutex<Option<File>>,
    mirror: OnceLock<Arc<dyn Mirror>>,
    /// held while something is written only to know whether that is possible
    trying: Mutex<()>,
    /// why it could not be written when that was last tried
    unwritable: Mutex<Option<(io::ErrorKind, String)>>,
    /// why the last change could not be stored
    unstored: Mutex<Option<(io::ErrorKind, String)>>,
    _lock: File,
}

impl StateDir {
    /// Opens the directory, and makes it if it does not exist.
    pub fn open(dir: &Path) -> io::Result<StateDir> {
        fs::create_dir_all(dir).map_err(|error| failed("create", dir, error))?;
        Ok(StateDir(Arc::new(Inner {
            _lock: hold(&dir.join("lock"))?,
            dir: dir.to_owned(),
            moved: Mutex::default(),
            mirror: OnceLock::new(),
            trying: Mutex::default(),
            unwritable: Mutex::default(),
            unstored: Mutex::default(),
        })))
    }

    /// Returns its path.
    pub fn dir(&self) -> &Path {
        &self.0.dir
    }

    /// Returns the error of the last try to write to the directory, or of its last change, if that
    /// failed.
    pub fn unwritable(&self) -> Option<(io::ErrorKind, String)> {
        let tried = lock(&self.0.unwritable).clone();
        tried.or_else(|| lock(&self.0.unstored).clone())
    }

    /// Records what a try to write there has found. Returns what the one before it had found.
    pub(super) fn found_unwritable(
        &self,
        why: Option<(io::ErrorKind, String)>,
    ) -> Option<(io::ErrorKind, String)> {
        std::mem::replace(&mut *lock(&self.0.unwritable), why)
    }

    /// Lets this copy have every change from now on.
    pub fn mirror_to(&self, mirror: Arc<dyn Mirror>) {
        let _ = self.0.mirror.set(mirror);
    }

    /// Tries whether there is room for so many bytes. Blocks.
    pub(super) fn room_for(&self, bytes: usize) -> io::Result<()> {
        let _one = lock(&self.0.trying);
        let path = self.dir().join(TRY);
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| {
                file.write_all(&vec![b'\n'; bytes.max(TRY_BYTES)])?;
                file.sync_data()
            });
        // a file that could not be written whole must not keep what room there is
        let removed = fs::remove_file(&path);
        written
            .map_err(|error| failed("write", &path, error))
            .and(removed.map_err(|error| failed("remove", &path, error)))
    }

    /// Makes a change, first in the copy if there is one. It is durable when the call returns.
    /// Blocks.
    pub(super) fn make(&self, change: &Change) -> io::Result<()> {
        let Some(mirror) = self.0.mirror.get() else {
            return self.apply(change);
        };
        // what the copy has and this disk does not, it has to be given anew over a new connection
        if lock(&self.0.unstored).is_some() {
            self.room_for(change.parts().1.len())?;
        }
        mirror.change(change)?;
        let applied = self.apply(change);
        mirror.done(applied.is_ok());
        applied
    }

    /// Stores how far the checks have come. It is durable when the call returns. Blocks. A copy is
    /// told of it only afterwards, since without it, checks only begin again.
    pub fn keep_checks(&self, text: &[u8]) -> io::Result<()> {
        put(self.dir(), CHECKS, text)?;
        if let Some(mirror) = self.0.mirror.get() {
            mirror.checked();
        }
        Ok(())
    }

    /// Does work that blocks, apart from the tasks of the router.
    pub(super) async fn apart(
        &self,
        work: impl FnOnce(&StateDir) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let dir = StateDir(Arc::clone(&self.0));
        tokio::task::spawn_blocking(move || work(&dir))
            .await
            .map_err(io::Error::other)?
    }

    /// Reads a file. Returns `None` if it does not exist.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        read(&self.dir().join(name))
    }

    /// Applies a change of the directory that this one is a copy of. It is durable when the call
    /// returns.
    pub fn apply(&self, change: &Change) -> io::Result<()> {
        let stored = self.store(change);
        let why = stored.as_ref().err();
        *lock(&self.0.unstored) = why.map(|error| (error.kind(), error.to_string()));
        stored
    }

    fn store(&self, change: &Change) -> io::Result<()> {
        match change {
            Change::Settled(map) => self.settle(map),
            Change::Target(map) => put(self.dir(), TARGET, map),
            Change::Moved(lines) => self.append(lines),
            Change::Repairs(text) => put(self.dir(), REPAIRS, text),
            Change::Moving(text) if text.is_empty() => remove(self.dir(), MOVING),
            Change::Moving(text) => put(self.dir(), MOVING, text),
        }
    }

    fn settle(&self, map: &[u8]) -> io::Result<()> {
        put(self.dir(), SETTLED, map)?;
        *lock(&self.0.moved) = None;
        // in this order, because without a target the names mean nothing
        remove(self.dir(), TARGET)?;
        remove(self.dir(), MOVED)
    }

    /// Appends lines to the list of the files that have moved.
    fn append(&self, lines: &[u8]) -> io::Result<()> {
        let path = self.dir().join(MOVED);
        let mut moved = lock(&self.0.moved);
        let mut file = match moved.take() {
            Some(file) => file,
            None => {
                let file = OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&path)
                    .map_err(|error| failed("open", &path, error))?;
                sync_names(self.dir())?;
                file
            }
        };
        let length = file
            .metadata()
            .map_err(|error| failed("read", &path, error))?
            .len();
        let written = file.write_all(lines).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // a half-written name must not become the start of the next one
            let _ = file.set_len(length);
            return Err(failed("write", &path, error));
        }
        *moved = Some(file);
        Ok(())
    }
}
