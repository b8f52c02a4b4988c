//! The store: one map file, its history, and how a new epoch gets there whole or not at all.
//!
//! ```text
//! MAP               the newest epoch; renaming over it is the moment of truth
//! MAP.history/7     every epoch, a copy each, the newest 32
//! MAP.lock          held while publishing, never removed
//! .MAP.8.4711.tmp   a new epoch being written; the next publish removes left-over ones
//! ```
//!
//! A published file is never written again. History has copies rather than links, so that somebody
//! who damages MAP in place does not damage the epoch in the history with it; the price is the
//! map's size once more.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{fchown, DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, Status};
use crate::format::records::Header;
use crate::format::{peek, Peeked};
use crate::lock::Lock;
use crate::map::Map;

/// How many epochs the history keeps unless told otherwise.
pub const KEEP: usize = 32;

/// A map file with its history.
#[derive(Clone, Debug)]
pub struct Store {
    map: PathBuf,
    keep: usize,
}

impl Store {
    /// The store of this map file; nothing is touched yet. `keep` epochs stay in the history, at
    /// least the newest.
    pub fn new(map: &Path, keep: usize) -> Store {
        Store {
            map: map.to_owned(),
            keep: keep.max(1),
        }
    }

    /// The newest epoch, verified; `None` when there is no file. Read into memory, so that it stays
    /// good whatever happens to the file.
    pub fn current(&self) -> Result<Option<Map>> {
        match Map::open_copy(&self.map) {
            Ok(map) => Ok(Some(map)),
            Err(error) if error.status() == Status::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Epoch and digest of the file at the map's place, from its header alone: cheap, and not
    /// verified.
    ///
    /// A reader asks this to learn whether it should open the map again.
    pub fn peek(path: &Path) -> Result<Peeked> {
        let mut header = Vec::new();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(|e| Error::io("open", path, e))?;
        let read = file
            .take(crate::format::PEEK as u64)
            .read_to_end(&mut header);
        read.map_err(|e| Error::io("read", path, e))?;
        peek(&header).map_err(|e| e.in_file(path))
    }

    /// Makes `new` the newest epoch, if `base`, on which it was built, still is (`None`: if there
    /// is no map yet).
    ///
    /// When this returns, the new epoch survives a power cut. Errors: `Invalid` when `new` was
    /// built on another map; `Conflict` when another process was faster or is publishing right now;
    /// `Uncertain` when the new epoch is in place and its directory could not be synced; otherwise
    /// nothing has changed.
    pub fn publish(&self, base: Option<&Map>, new: &Map) -> Result<()> {
        self.refuse_symlink()?;
        let _lock = self.lock()?;
        self.check_base(base)?;
        if let Some(base) = base.filter(|base| new.parent() != base.digest()) {
            let problem = format!(
                "epoch {} was not built on epoch {} that it is to follow; build it on that one",
                new.epoch(),
                base.epoch()
            );
            return Err(Error::Invalid {
                problem: format!("{}: {problem}", self.map.display()),
            });
        }
        self.remove_leftovers();
        let access = self.access(new);
        let history = self.history_dir();
        // who may read the map may list its history
        match DirBuilder::new()
            .mode(access.mode | (access.mode & 0o444) >> 2)
            .create(&history)
        {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io("create", &history, e))
            }
            _ => {}
        }
        // a crash right after the rename of MAP leaves its epoch out of the history: put it there
        // now
        if let Some(base) = base.filter(|base| !history.join(base.epoch().to_string()).exists()) {
            self.keep_copy(base, access)?;
        }
        // all that can fail for want of room comes before the rename of MAP, and all else is only a
        // rename
        let spare = history.join(self.temporary(new.epoch()));
        let temporary = self.directory().join(self.temporary(new.epoch()));
        write_whole(&spare, new, access)?;
        if let Err(error) =
            write_whole(&temporary, new, access).and_then(|()| rename(&temporary, &self.map))
        {
            // most likely the disk is full: the copy of an epoch that never came would keep it so
            let _ = fs::remove_file(&spare);
            return Err(error);
        }
        let synced = sync_directory(&self.directory());
        // MAP is in place: a history that lacks its epoch is mended by the next publish
        let _ = fs::rename(&spare, history.join(new.epoch().to_string()))
            .and_then(|()| sync_directory(&history));
        synced.map_err(|source| Error::Uncertain {
            file: self.map.clone(),
            epoch: new.epoch(),
            source,
        })?;
        self.prune(new.epoch());
        Ok(())
    }

    /// Puts a copy of a map into the history.
    fn keep_copy(&self, map: &Map, access: Access) -> Result<()> {
        let history = self.history_dir();
        let spare = history.join(self.temporary(map.epoch()));
        write_whole(&spare, map, access)?;
        rename(&spare, &history.join(map.epoch().to_string()))?;
        sync_directory(&history).map_err(|e| Error::io("sync", &history, e))
    }

    /// The epochs in the history, oldest first, up to the newest published one; all of them when
    /// the map's own header is damaged, since then they are needed most.
    pub fn history(&self) -> Result<Vec<u64>> {
        let newest = match Store::peek(&self.map) {
            Ok(peeked) => peeked.epoch,
            Err(Error::Format { .. }) => u64::MAX,
            Err(error) => return Err(error),
        };
        let mut epochs = self.kept()?;
        epochs.retain(|epoch| *epoch <= newest);
        epochs.sort_unstable();
        Ok(epochs)
    }

    /// An epoch of the history, verified.
    pub fn epoch(&self, epoch: u64) -> Result<Map> {
        let path = self.history_dir().join(epoch.to_string());
        let map = Map::open_copy(&path).map_err(|error| match error.status() {
            Status::NotFound => Error::Invalid {
                problem: format!(
                    "{}: epoch {epoch} is not in the history; `stead history` lists what is",
                    self.map.display()
                ),
            },
            _ => error,
        })?;
        if map.epoch() != epoch {
            let problem = format!("the file has epoch {} and is named {epoch}", map.epoch());
            return Err(Error::Format {
                file: Some(path),
                offset: offset_of!(Header, epoch) as u64,
                problem,
            });
        }
        Ok(map)
    }

    fn directory(&self) -> PathBuf {
        match self.map.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.map.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    }

    fn history_dir(&self) -> PathBuf {
        self.with_suffix(".history")
    }

    fn temporary(&self, epoch: u64) -> OsString {
        let mut name = self.temporary_prefix();
        name.push(format!("{epoch}.{}.tmp", std::process::id()));
        name
    }

    fn temporary_prefix(&self) -> OsString {
        let mut prefix = OsString::from(".");
        prefix.push(self.map.file_name().unwrap_or_default());
        prefix.push(".");
        prefix
    }

    /// `Invalid` when the map's place is a symbolic link: renaming over it would replace the link
    /// and leave its target behind, and the target's history is not beside the link. `publish` asks
    /// this itself.
    pub fn refuse_symlink(&self) -> Result<()> {
        match fs::symlink_metadata(&self.map) {
            Ok(meta) if meta.is_symlink() => Err(Error::Invalid {
                problem: format!(
                    "{}: this is a symbolic link; name the file that it points to",
                    self.map.display()
                ),
            }),
            _ => Ok(()),
        }
    }

    fn lock(&self) -> Result<Lock> {
        let path = self.with_suffix(".lock");
        Lock::try_exclusive(&path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                self.conflict("another stead is publishing right now; run it again".into())
            }
            // the lock is made when it is not there, so it is the directory that is missing
            io::ErrorKind::NotFound => Error::io("open", &self.directory(), error),
            _ => Error::io("lock", &path, error),
        })
    }

    fn conflict(&self, problem: String) -> Error {
        Error::Conflict {
            file: self.map.clone(),
            problem,
        }
    }

    /// Who may read the new file: those who may read the present one, which an operator may have
    /// set by hand; of a first map everybody, or with a secret the owner alone.
    fn access(&self, new: &Map) -> Access {
        match fs::metadata(&self.map) {
            Ok(meta) => Access {
                mode: meta.mode() & 0o777,
                owner: Some((meta.uid(), meta.gid())),
            },
            Err(_) => Access {
                mode: if new.hash().is_secret() { 0o600 } else { 0o644 },
                owner: None,
            },
        }
    }

    /// Whether the file is what the new epoch was built on.
    fn check_base(&self, base: Option<&Map>) -> Result<()> {
        match (base, self.current()?) {
            (None, None) => {
                let kept = self.kept().unwrap_or_default();
                if let Some(newest) = kept.iter().max() {
                    let history = self.history_dir();
                    return Err(self.conflict(format!(
                        "the map is missing, but {} has its epochs up to {newest}; copy the newest \
                         back, or move the history away",
                        history.display()
                    )));
                }
                Ok(())
            }
            (None, Some(now)) => Err(self.conflict(format!(
                "somebody made this map meanwhile (epoch {}); nothing was changed, run it again",
                now.epoch()
            ))),
            (Some(_), None) => Err(self.conflict(
                "the map was removed meanwhile; nothing was \
                changed"
                    .into(),
            )),
            (Some(base), Some(now)) if base.digest() == now.digest() => self.check_history(&now),
            (Some(base), Some(now)) => Err(self.conflict(format!(
                "this was planned on epoch {}, and epoch {} is there now; nothing was changed, \
                 plan again",
                base.epoch(),
                now.epoch()
            ))),
        }
    }

    /// Whether the history belongs to this map and holds nothing newer than it: otherwise
    /// publishing would write over epochs that somebody may still need.
    fn check_history(&self, now: &Map) -> Result<()> {
        let kept = self.kept().unwrap_or_default();
        let history = self.history_dir();
        let newest = kept.iter().copied().max().unwrap_or(0);
        if newest > now.epoch() {
            return Err(self.conflict(format!(
                "the map has epoch {}, and {} has epoch {newest}: an old map was put back; copy the newest one back and use \
                 `stead rollback`, or move the newer ones away",
                now.epoch(),
                history.display()
            )));
        }
        // unreadable epochs are not judged; `stead history` tells of them
        let before = kept
            .into_iter()
            .filter(|epoch| *epoch <= now.epoch())
            .max()
            .and_then(|epoch| self.epoch(epoch).ok());
        match before {
            Some(before) if before.map_id() != now.map_id() => Err(self.conflict(format!(
                "the map is not the one of {}: somebody put another map here; move one of the two \
                 away",
                history.display()
            ))),
            _ => Ok(()),
        }
    }

    /// The numbers of the files in the history.
    fn kept(&self) -> Result<Vec<u64>> {
        let directory = self.history_dir();
        let entries = fs::read_dir(&directory).map_err(|e| Error::io("list", &directory, e))?;
        let mut epochs = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| Error::io("list", &directory, e))?;
            let name = entry.file_name();
            // `parse` would take "+7" and "007" as well
            let number = name
                .to_str()
                .and_then(|n| n.parse::<u64>().ok().filter(|epoch| epoch.to_string() == n));
            epochs.extend(number);
        }
        Ok(epochs)
    }

    /// Removes what killed processes left behind: regular files of our pattern. Failing to is no
    /// reason to fail.
    fn remove_leftovers(&self) {
        for directory in [self.directory(), self.history_dir()] {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let ours = name
                    .as_bytes()
                    .strip_prefix(self.temporary_prefix().as_bytes())
                    .and_then(|rest| rest.strip_suffix(b".tmp"));
                // just EPOCH.PID: `.m.8.9.4711.tmp` is the file of a map `m.8`, which has a lock of
                // its own
                let numbers = ours
                    .and_then(|middle| std::str::from_utf8(middle).ok())
                    .and_then(|middle| middle.split_once('.'));
                let numbers = numbers.is_some_and(|(epoch, pid)| {
                    epoch.parse::<u64>().is_ok() && pid.parse::<u32>().is_ok()
                });
                if numbers && entry.file_type().is_ok_and(|t| t.is_file()) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Removes the oldest epochs. The new epoch is in place, so failing to is no reason to fail.
    fn prune(&self, newest: u64) {
        for epoch in self.kept().unwrap_or_default() {
            if newest.saturating_sub(epoch) >= self.keep as u64 {
                let _ = fs::remove_file(self.history_dir().join(epoch.to_string()));
            }
        }
    }
}

/// Writes a map to a file, whole or not at all, in place of what is there: a copy for another
/// machine, say.
///
/// It knows no history and no conflicts: where a map is published to readers, [`Store::publish`] is
/// the way. Errors: `Uncertain` when the file is in place and its directory could not be synced;
/// otherwise what was there is untouched.
pub fn save(map: &Map, path: &Path) -> Result<()> {
    let store = Store::new(path, KEEP);
    store.refuse_symlink()?;
    let temporary = store.directory().join(store.temporary(map.epoch()));
    write_whole(&temporary, map, store.access(map))?;
    rename(&temporary, path)?;
    let synced = sync_directory(&store.directory());
    synced.map_err(|source| Error::Uncertain {
        file: path.to_owned(),
        epoch: map.epoch(),
        source,
    })
}

/// Mode and owner for a new file.
#[derive(Clone, Copy)]
struct Access {
    mode: u32,
    /// of the file that is replaced; a first map has none
    owner: Option<(u32, u32)>,
}

impl Access {
    /// Sets both on a new file, whatever the umask. Only root can give files away: where it cannot
    /// be done and matters not, the owner stays.
    fn set(self, file: &File) -> io::Result<()> {
        let Some((user, group)) = self.owner else {
            return Ok(());
        };
        let meta = file.metadata()?;
        if (meta.uid(), meta.gid()) != (user, group) {
            let given =
                fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
            if given.is_err() && self.mode & 0o077 == 0 {
                return given; // nobody but the old owner could read it, and now could not
            }
        }
        file.set_permissions(fs::Permissions::from_mode(self.mode))
    }
}

/// Writes a map to a new file, makes it durable, and reads it back: a file system that lies about a
/// write must not be believed. After any error the file is gone; an fsync is never tried again,
/// since a second one may succeed after the data is lost.
fn write_whole(path: &Path, map: &Map, access: Access) -> Result<()> {
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(access.mode)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map_err(|e| Error::io("create", path, e))?;
        access
            .set(&file)
            .map_err(|e| Error::io("set the owner of", path, e))?;
        file.write_all(map.bytes())
            .map_err(|e| Error::io("write", path, e))?;
        file.sync_all().map_err(|e| Error::io("sync", path, e))?;
        drop(file);
        let back = Map::open_copy(path)?;
        if back.digest() != map.digest() {
            let source = io::Error::other("what was read back is not what was written");
            return Err(Error::io("verify", path, source));
        }
        Ok(())
    })();
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| {
        let _ = fs::remove_file(from);
        Error::io("replace", to, e)
    })
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
