//! Writes one map file so that readers find the old file or the new one, never a part.
//!
//! The bytes go to a temporary file beside the target. It is made durable, read back, and renamed
//! over the target. Any number of threads, processes and hosts may do this to one target at once:
//! each creates a temporary file of its own, and the last rename wins.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::lock::try_lock;
use crate::map::Map;
use crate::refusal;

/// Writes a map to a file, replacing the file that is there, whole or not at all; for instance a
/// copy for another machine.
///
/// This keeps no history and detects no conflicts: to publish a map to readers, use
/// [`Store::publish`]. Errors: `Uncertain` when the file is in place but its directory could not be
/// synced. After any other error the old file is untouched.
///
/// [`Store::publish`]: super::Store::publish
pub fn save(map: &Map, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    refuse_symlink(path)?;
    let directory = directory_of(path);
    remove_leftovers(&directory, path);
    Temporary::write(&directory, path, map, Access::of(path, map)?)?.rename(path)?;
    sync_directory(&directory).map_err(|source| Error::Uncertain {
        file: path.to_owned(),
        epoch: map.epoch(),
        unkept: false,
        source,
    })
}

/// Writes bytes to a file, replacing the file that is there, whole or not at all. With a secret,
/// only the owner may read the file, whoever could read the one before.
pub(super) fn replace(path: &Path, epoch: u64, bytes: &[u8], secret: bool) -> Result<()> {
    let directory = directory_of(path);
    remove_leftovers(&directory, path);
    let access = Access {
        mode: if secret { 0o600 } else { 0o666 },
        owner: None,
    };
    Temporary::write_bytes(&directory, path, epoch, bytes, access)?.rename(path)?;
    sync_directory(&directory).map_err(|e| Error::io("sync", &directory, e))
}

/// Returns `Invalid` when the target is a symbolic link: renaming over it would replace the link,
/// and leave the file that it points to unchanged. A directory is `Invalid`, too.
pub(super) fn refuse_symlink(target: &Path) -> Result<()> {
    match fs::symlink_metadata(target) {
        Ok(meta) if meta.is_symlink() => Err(Error::Invalid {
            problem: format!(
                "{}: this is a symbolic link; name the file that it points to",
                target.display()
            ),
        }),
        Ok(meta) if meta.is_dir() => Err(Error::Invalid {
            problem: format!(
                "{}: this is a directory; name the map file",
                target.display()
            ),
        }),
        _ => Ok(()),
    }
}

/// Returns the directory that a file is in.
pub(super) fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Makes the renames in a directory survive a power cut.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The mode and owner of a new file.
#[derive(Clone, Copy)]
pub(super) struct Access {
    /// The nine bits of `chmod`.
    pub mode: u32,
    /// the owner of the file that is replaced; a first map has none
    owner: Option<(u32, u32)>,
}

impl Access {
    /// Returns who may read the new file: the same users as for the present file, whose mode an
    /// operator may have set by hand. A first map is readable by whom the umask says, or, if it has
    /// a secret, by its owner alone.
    pub(super) fn of(target: &Path, new: &Map) -> Result<Access> {
        match fs::metadata(target) {
            Ok(meta) => Ok(Access {
                mode: meta.mode() & 0o777,
                owner: Some((meta.uid(), meta.gid())),
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Access {
                mode: if new.hash().is_secret() { 0o600 } else { 0o666 },
                owner: None,
            }),
            Err(e) => Err(Error::io("stat", target, e)),
        }
    }

    /// For tests: the mode of a file without a file that it replaces.
    #[cfg(test)]
    pub(super) fn of_first(mode: u32) -> Access {
        Access { mode, owner: None }
    }

    /// Returns the mode of the history, less the umask: whoever may read the map may list the
    /// history, and whoever the umask lets write may publish.
    pub(super) fn directory_mode(self) -> u32 {
        let group = if self.mode & 0o040 == 0 { 0 } else { 0o070 };
        let others = if self.mode & 0o004 == 0 { 0 } else { 0o007 };
        0o700 | group | others
    }

    /// Sets both on the new file of an epoch that replaces another, whatever the umask. Only root
    /// can give files away, so a member of the group sets the group alone. If even that fails, the
    /// file stays ours; this is an error unless everybody may read it, because those who could read
    /// the map could not read it any more.
    pub(super) fn set(self, file: &File) -> io::Result<()> {
        let Some((user, group)) = self.owner else {
            return Ok(());
        };
        let meta = file.metadata()?;
        if (meta.uid(), meta.gid()) != (user, group) {
            let given =
                fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group)));
            if given.is_err() && self.mode & 0o004 == 0 {
                return given;
            }
        }
        file.set_permissions(fs::Permissions::from_mode(self.mode))
    }

    fn not_set(self, path: &Path, source: io::Error) -> Error {
        let is_denied = source.kind() == io::ErrorKind::PermissionDenied;
        let mut error = Error::io("set the owner of", path, source);
        if let (Error::Io { advice, .. }, Some((_, group)), true) =
            (&mut error, self.owner, is_denied)
        {
            *advice = refusal::not_given(group);
        }
        error
    }
}

/// A file that this process created and that is not yet in its place. Dropping it removes the file.
#[must_use]
pub(super) struct Temporary {
    path: PathBuf,
    /// open and locked as long as this value lives, which shows other processes that it is not
    /// abandoned
    file: File,
    in_place: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.in_place {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Temporary {
    /// Writes a map that will replace `target` to a new file in `directory`, makes it durable, and
    /// reads it back, because a file system may report a write that it did not do. An fsync is
    /// never tried again, since a second one may succeed after the data is lost.
    pub(super) fn write(
        directory: &Path,
        target: &Path,
        map: &Map,
        access: Access,
    ) -> Result<Temporary> {
        Temporary::write_bytes(directory, target, map.epoch(), map.bytes(), access)
    }

    fn write_bytes(
        directory: &Path,
        target: &Path,
        epoch: u64,
        bytes: &[u8],
        access: Access,
    ) -> Result<Temporary> {
        let temporary = Temporary::create(directory, target, epoch, access)?;
        let (path, mut file) = (&temporary.path, &temporary.file);
        access.set(file).map_err(|e| access.not_set(path, e))?;
        file.write_all(bytes)
            .map_err(|e| not_written("write", path, directory, e))?;
        file.sync_all()
            .map_err(|e| not_written("sync", path, directory, e))?;
        match holds(path, bytes) {
            Ok(true) => Ok(temporary),
            Ok(false) => {
                let source = io::Error::other("what was read back is not what was written");
                Err(Error::io("verify", path, source))
            }
            Err(e) => Err(Error::io("read back", path, e)),
        }
    }

    fn create(directory: &Path, target: &Path, epoch: u64, access: Access) -> Result<Temporary> {
        loop {
            let path = directory.join(OsStr::from_bytes(&name(target, epoch)));
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(access.mode)
                .custom_flags(libc::O_NOFOLLOW)
                .open(&path)
                .map_err(|e| not_written("create", &path, directory, e))?;
            let temporary = Temporary {
                path,
                file,
                in_place: false,
            };
            // between the creation and the lock another process may have taken the file for
            // abandoned: it then holds the lock or has removed the file. Where locks do not work,
            // nobody removes anything
            let locked = try_lock(&temporary.file);
            let taken = locked.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock);
            let removed = matches!(temporary.path.try_exists(), Ok(false));
            if !taken && !removed {
                return Ok(temporary);
            }
        }
    }

    /// Renames the file to its place. If that fails, the old file is untouched.
    pub(super) fn rename(mut self, to: &Path) -> Result<()> {
        fs::rename(&self.path, to).map_err(|e| Error::io("replace", to, e))?;
        self.in_place = true;
        Ok(())
    }
}

/// Returns the failure to write a temporary file. Where there is no room, it names the directory
/// and not the file: nobody knows the file, and it is gone by then.
fn not_written(action: &'static str, file: &Path, directory: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Io {
            action: "write into",
            file: directory.to_owned(),
            source,
            advice: "; make room there; nothing was changed".to_owned(),
        },
        _ => Error::io(action, file, source),
    }
}

/// Whether a file holds these bytes and no others.
fn holds(path: &Path, mut bytes: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut buffer = [0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(bytes.is_empty());
        }
        match buffer.get(..read).and_then(|read| bytes.strip_prefix(read)) {
            Some(rest) => bytes = rest,
            None => return Ok(false),
        }
    }
}

/// Returns how the names of a target's temporary files begin.
fn prefix(target: &Path) -> Vec<u8> {
    let name = target.file_name().unwrap_or_default();
    [b".", name.as_bytes(), b"."].concat()
}

/// Returns `.TARGET.EPOCH.PID.RANDOM.tmp`. The process id alone is not unique: threads share it,
/// and processes of different containers or hosts that write into one directory may have the same.
fn name(target: &Path, epoch: u64) -> Vec<u8> {
    // std seeds each of these hashers at random
    let random = RandomState::new().build_hasher().finish();
    let unique = format!("{epoch}.{}.{random:016x}.tmp", std::process::id());
    [prefix(target), unique.into_bytes()].concat()
}

/// Whether `name` made this file name for this target. `.m.8.9.4711.0123456789abcdef.tmp` belongs
/// to the map `m.8`, not to the map `m`.
fn is_name(file: &OsStr, target: &Path) -> bool {
    let middle = file
        .as_bytes()
        .strip_prefix(prefix(target).as_slice())
        .and_then(|rest| rest.strip_suffix(b".tmp"))
        .and_then(|middle| std::str::from_utf8(middle).ok());
    let parts: Vec<&str> = middle.map_or(vec![], |middle| middle.split('.').collect());
    match parts[..] {
        [epoch, process, random] => {
            epoch.parse::<u64>().is_ok()
                && process.parse::<u32>().is_ok()
                && random.len() == 16
                && u64::from_str_radix(random, 16).is_ok()
        }
        _ => false,
    }
}

/// Removes the temporary files of a target that killed processes left in a directory. A file that
/// cannot be removed is not an error.
pub(super) fn remove_leftovers(directory: &Path, target: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && is_name(&entry.file_name(), target) {
            remove_abandoned(&entry.path());
        }
    }
}

/// Removes a temporary file whose writer is gone: a live writer holds its lock. We hold the lock
/// until the file is removed, so that a writer that is about to lock the file notices that it is
/// gone.
fn remove_abandoned(path: &Path) {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    if let Ok(file) = opened {
        if try_lock(&file).is_ok() {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_room_the_directory_is_named_and_what_to_do() {
        let (file, directory) = (Path::new("d/.m.2.3.0123.tmp"), Path::new("d"));
        let said =
            |kind: io::ErrorKind| not_written("write", file, directory, kind.into()).to_string();
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let line = said(kind);
            assert!(
                line.starts_with("cannot write into d: ")
                    && line.ends_with("; make room there; nothing was changed"),
                "{line}"
            );
        }
        assert!(said(io::ErrorKind::TimedOut).starts_with("cannot write d/.m.2.3.0123.tmp: "));
    }

    #[test]
    fn what_is_read_back_must_be_every_byte_and_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        // longer than the buffer
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        assert!(holds(&path, &bytes).unwrap());
        assert!(!holds(&path, &bytes[..bytes.len() - 1]).unwrap());
        assert!(!holds(&path, &[&bytes[..], &[0]].concat()).unwrap());
        assert!(!holds(&path, &[]).unwrap());
        for at in [0, 65_535, 65_536, bytes.len() - 1] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(!holds(&path, &other).unwrap(), "byte {at}");
        }
        fs::write(&path, "").unwrap();
        assert!(holds(&path, &[]).unwrap());
        assert!(!holds(&path, &bytes).unwrap());
    }

    #[test]
    fn who_may_read_a_map_may_list_its_history() {
        for (of_map, of_history) in [
            (0o600, 0o700),
            (0o640, 0o770),
            (0o604, 0o707),
            (0o644, 0o777),
            (0o666, 0o777),
        ] {
            assert_eq!(Access::of_first(of_map).directory_mode(), of_history);
        }
    }

    #[test]
    fn only_names_that_this_store_gives_are_those_of_temporary_files() {
        let map = Path::new("d/m.map");
        let ours = name(map, 7);
        assert!(is_name(OsStr::from_bytes(&ours), map));
        for (text, is_ours) in [
            (".m.map.2.4711.0123456789abcdef.tmp", true),
            ("m.map.2.4711.0123456789abcdef.tmp", false),
            (".m.map.2.4711.0123456789abcdef", false),
            (".n.map.2.4711.0123456789abcdef.tmp", false),
            (".m.map.8.2.4711.0123456789abcdef.tmp", false),
            (".m.map.two.4711.0123456789abcdef.tmp", false),
            (".m.map.2.process.0123456789abcdef.tmp", false),
            (".m.map.2.4711.0123456789abcde.tmp", false),
            (".m.map.2.4711.0123456789abcdeg.tmp", false),
        ] {
            assert_eq!(is_name(OsStr::new(text), map), is_ours, "{text}");
        }
    }
}
