//! The router's own directories. Only one process holds each, and an error says what was tried on
//! which path.

use std::fs::{File, OpenOptions};
use std::io;
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
