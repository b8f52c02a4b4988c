//! The router's own directories. Only one process holds each, a file is replaced as a whole, and an
//! error says what was tried on which path.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Takes the lock of a directory. The lock lasts until the process ends. The file is never removed:
/// otherwise two processes could both hold "the" lock.
pub(crate) fn hold(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path);
    let file = file.map_err(|e| failed("open", path, e))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let text = format!(
                "{}: another stead-rrd has this open; each needs a directory of its own",
                path.display()
            );
            Err(io::Error::new(io::ErrorKind::WouldBlock, text))
        }
        Err(error) => Err(failed("lock", path, error.into())),
    }
}

/// Syncs a directory, so that the names in it survive a power cut.
pub(crate) fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Syncs a directory. The error names it.
pub(crate) fn sync_names(dir: &Path) -> io::Result<()> {
    sync(dir).map_err(|error| failed("sync the directory", dir, error))
}

/// Reads a file. Returns `None` if it does not exist.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path, error)),
    }
}

/// Puts a file in its place by renaming. It is durable when the call returns.
pub(crate) fn put(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (path, new) = (dir.join(name), dir.join(format!("{name}.tmp")));
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &path)
    };
    write().map_err(|error| failed("write", &path, error))?;
    sync_names(dir)
}

/// Removes a file that may be gone. This is durable when the call returns.
pub(crate) fn remove(dir: &Path, name: &str) -> io::Result<()> {
    let path = dir.join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", &path, error))
        }
        _ => sync_names(dir),
    }
}

/// Adds to an error of the system what was tried on which file. Every kind of missing space becomes
/// `StorageFull`.
pub(crate) fn failed(verb: &str, path: &Path, error: io::Error) -> io::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let kind = match error.kind() {
        FileTooLarge | QuotaExceeded | StorageFull => StorageFull,
        kind => kind,
    };
    io::Error::new(kind, format!("cannot {verb} {}: {error}", path.display()))
}
