//! The router's own directories. Only one process holds each, a file is replaced as a whole, and an
//! error says what was tried on which path. And what tells any directory from another one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use twox_hash::XxHash3_64;

/// What a directory is, whatever its name: the device, and a number made of its inode and of the
/// time when it was made. It changes when a disk is mounted there or taken away, and when another
/// directory gets its name. The time tells two directories apart that have the same inode: the
/// roots of two disks do, and one that was removed and made again often does.
pub type Place = (u64, u64);

/// Returns what a directory is.
pub(crate) fn place_of(directory: &fs::Metadata) -> Place {
    // not every file system knows when a directory was made
    let made = directory.created().unwrap_or(UNIX_EPOCH);
    let made = made.duration_since(UNIX_EPOCH).unwrap_or_default();
    (directory.dev(), number_of(directory.ino(), made))
}

fn number_of(inode: u64, made: Duration) -> u64 {
    XxHash3_64::oneshot(&(u128::from(inode) << 64 | made.as_nanos()).to_le_bytes())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_another_one_where_only_the_time_differs_when_it_was_made() {
        let number = |made| number_of(2, Duration::from_secs(made));
        assert_eq!(number(1_700_000_000), number(1_700_000_000));
        assert_ne!(number(1_700_000_000), number(1_700_000_001));
        assert_ne!(number(0), number_of(3, Duration::ZERO));
        let place = tempfile::tempdir().unwrap();
        let found = || place_of(&fs::metadata(place.path()).unwrap());
        let before = found();
        // what happens in it does not make it another one
        fs::write(place.path().join("a"), "a").unwrap();
        assert_eq!(found(), before);
    }
}
