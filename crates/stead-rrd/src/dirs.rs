//! The router's own directories: one process holds each, and an error says what was tried on which
//! path.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Takes the lock of a directory; the end of the process lets go of it. The file stays: removing it
/// would let two hold "the" lock.
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

/// The names in a directory survive a power cut.
pub(crate) fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// An error of the system with what was tried on which file; a lack of room in whatever form is
/// `StorageFull`.
pub(crate) fn failed(verb: &str, path: &Path, error: io::Error) -> io::Error {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let kind = match error.kind() {
        FileTooLarge | QuotaExceeded | StorageFull => StorageFull,
        kind => kind,
    };
    io::Error::new(kind, format!("cannot {verb} {}: {error}", path.display()))
}
