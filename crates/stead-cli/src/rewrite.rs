//! Writes a file whole or not at all: to a temporary file beside it, which is renamed over it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{fchown, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use stead::Error;

use crate::exit::{Failure, Result, CONFLICT};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_writers_use_the_same_temporary_file() {
        let path = Path::new("/x/m.map");
        assert_ne!(beside(path), beside(path));
        assert_eq!(beside(path).parent(), path.parent());
    }
}
