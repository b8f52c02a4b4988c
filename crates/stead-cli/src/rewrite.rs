//! Writes a file whole or not at all: to a temporary file beside it, which is renamed over it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use stead::Error;

use crate::exit::{Failure, Result, CONFLICT};

/// A temporary file that is older belongs to no writer any more.
const ABANDONED: Duration = Duration::from_secs(600);

/// Writes a new file. Fails if there is one of this name.
pub fn create(path: &Path, bytes: impl AsRef<[u8]>) -> Result {
    let wrong = |e| Error::io("write", path, e);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(wrong)?;
    let written = file
        .write_all(bytes.as_ref())
        .and_then(|()| file.sync_all());
    written.map_err(|e| {
        let _ = fs::remove_file(path);
        Error::io("write", path, e).into()
    })
}

/// Writes a file that others may read, whether there is one of this name or not. What is no file,
/// such as a pipe, is written to.
pub fn create_or_replace(path: &Path, bytes: impl AsRef<[u8]>) -> Result {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => {
            let before = fs::read(path).map_err(|e| Error::io("read", path, e))?;
            replace(path, &before, bytes)
        }
        Ok(_) => Ok(fs::write(path, bytes).map_err(|e| Error::io("write", path, e))?),
        Err(error) if error.kind() == ErrorKind::NotFound => create(path, bytes),
        Err(error) => Err(Error::io("read", path, error).into()),
    }
}

/// Replaces a file that had these bytes when it was read, and keeps its mode and, if it may, its
/// owner. A symbolic link stays; the file that it points to is replaced.
pub fn replace(path: &Path, before: &[u8], bytes: impl AsRef<[u8]>) -> Result {
    let real = fs::canonicalize(path).map_err(|e| Error::io("open", path, e))?;
    let meta = fs::metadata(&real).map_err(|e| Error::io("stat", path, e))?;
    remove_leftovers(&real);
    let temporary = Temporary(beside(&real));
    let wrong = |e| Error::io("write", &temporary.0, e);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary.0)
        .map_err(wrong)?;
    file.write_all(bytes.as_ref()).map_err(wrong)?;
    // only root can give files away; a file of ours is better than none
    let _ = fchown(&file, Some(meta.uid()), Some(meta.gid()));
    let mode = fs::Permissions::from_mode(meta.mode() & 0o777);
    file.set_permissions(mode).map_err(wrong)?;
    file.sync_all().map_err(wrong)?;
    if fs::read(&real).map_err(|e| Error::io("read", path, e))? != before {
        return Err(Failure::new(
            CONFLICT,
            format!(
                "{}: somebody else changed it meanwhile; nothing was written, run it again",
                path.display()
            ),
        ));
    }
    fs::rename(&temporary.0, &real).map_err(|e| Error::io("replace", path, e))?;
    std::mem::forget(temporary);
    let directory = real.parent().unwrap_or(Path::new("/"));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|e| Error::io("sync", directory, e).into())
}

/// Removes what writers that were killed have left beside a file. What is younger may belong to one
/// that works; if it needs longer, its rename fails, and the file stays as it is.
fn remove_leftovers(path: &Path) {
    let directory = path.parent().unwrap_or(Path::new("/"));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_old = || {
            let changed = entry.metadata().ok()?.modified().ok()?;
            Some(changed.elapsed().ok()? > ABANDONED)
        };
        if is_beside(&entry.file_name(), path) && is_old() == Some(true) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file that is removed unless it was renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns `.NAME.PID.RANDOM.tmp` in the directory of a file. Processes of different containers may
/// have the same process id.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    // std seeds each of these hashers at random
    let random = RandomState::new().build_hasher().finish();
    name.push(format!(".{}.{random:016x}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Whether a name is one that [`beside`] gives.
fn is_beside(name: &OsStr, path: &Path) -> bool {
    let is = || {
        let rest = name.as_bytes().strip_prefix(b".")?;
        let rest = rest.strip_prefix(path.file_name()?.as_bytes())?;
        let rest = rest.strip_prefix(b".")?.strip_suffix(b".tmp")?;
        let dot = rest.iter().position(|byte| *byte == b'.')?;
        let (process, random) = (rest.get(..dot)?, rest.get(dot + 1..)?);
        let digits = !process.is_empty() && process.iter().all(u8::is_ascii_digit);
        Some(digits && random.len() == 16 && random.iter().all(u8::is_ascii_hexdigit))
    };
    is() == Some(true)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_killed_writers_left_is_removed_after_a_while() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("fleet.toml");
        let (young, old) = (beside(&path), beside(&path));
        // names that are nearly like these
        let others = [
            "x",
            ".tmp",
            ".1.tmp",
            ".1.0123456789abcdeg.tmp",
            ".a.0123456789abcdef.tmp",
        ];
        let others = others.map(|end| place.path().join(format!(".fleet.toml{end}")));
        let others = others.iter().chain([&path]);
        for file in others.clone().chain([&young, &old]) {
            fs::write(file, "before").unwrap();
            let time = SystemTime::now() - 2 * ABANDONED;
            let file = File::options().write(true).open(file).unwrap();
            file.set_modified(time).unwrap();
        }
        fs::write(&young, "of a writer").unwrap();
        replace(&path, b"before", "after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
        assert!(others.clone().all(|file| file.exists()));
        assert_eq!((young.exists(), old.exists()), (true, false));
    }

    #[test]
    fn no_two_writers_use_the_same_temporary_file() {
        let path = Path::new("/x/m.map");
        assert_ne!(beside(path), beside(path));
        assert_eq!(beside(path).parent(), path.parent());
    }
}
