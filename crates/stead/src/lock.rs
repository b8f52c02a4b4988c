//! Locks: an advisory lock on a file, held while its guard lives, and handlers for `fork`. One of
//! the few places with unsafe code (std has file locks from 1.89 on).

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// A lock on a file. Dropping this releases the lock. A process that ends without dropping it also
/// releases the lock, unless a forked child still has the file open.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    /// whether this lock created its file
    created: bool,
}

impl Drop for Lock {
    /// Unlocks explicitly. Closing the file is not enough: a child that was forked in the meantime
    /// also has it open and would hold the lock as long as it lives.
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the descriptor is open while `self.file` lives; flock changes no memory of ours.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }
}

impl Lock {
    /// Locks this file, and creates it if it does not exist. Fails with `WouldBlock` when another
    /// holder has the lock.
    ///
    /// Whoever can open the file can hold the lock and so stop all others. Therefore the file has
    /// no permissions for others, and has those for its group only if the umask lets the group
    /// write: users who share a directory that way may then publish in turns.
    pub(crate) fn try_exclusive(path: &Path) -> io::Result<Lock> {
        loop {
            let (file, created) = match open(path, true) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => match open(path, false) {
                    Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                    opened => (opened?, false),
                },
                opened => (opened?, true),
            };
            let meta = file.metadata()?;
            if !meta.is_file() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "not a regular file",
                ));
            }
            let narrowed = match created && meta.mode() & 0o020 == 0 {
                true => file.set_permissions(Permissions::from_mode(0o600)),
                false => Ok(()),
            };
            try_lock(&file)?;
            let lock = Lock { file, created };
            if let Err(e) = narrowed {
                lock.undo(path);
                return Err(e);
            }
            // between the opening and the lock, its last holder may have removed the file
            if lock.is_at(path) {
                return Ok(lock);
            }
        }
    }

    /// Removes the file of a lock that created it. Nobody else can hold the lock then: whoever
    /// opened the file before waits for nothing, and finds after locking it that it is gone.
    pub(crate) fn undo(self, path: &Path) {
        if self.created && self.is_at(path) {
            let _ = fs::remove_file(path);
        }
    }

    /// Whether the locked file is still at this path.
    fn is_at(&self, path: &Path) -> bool {
        let same = |there: &fs::Metadata, ours: &fs::Metadata| {
            (there.dev(), there.ino()) == (ours.dev(), ours.ino())
        };
        match (fs::symlink_metadata(path), self.file.metadata()) {
            (Ok(there), Ok(ours)) => same(&there, &ours),
            (Err(e), _) => e.kind() != io::ErrorKind::NotFound,
            (_, Err(_)) => true,
        }
    }
}

/// Opens the file of a lock, or creates it.
fn open(path: &Path, create: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(create)
        .mode(0o660)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
}

/// Locks an open file. The lock lasts until the file is closed here and in every child that was
/// forked in the meantime. Fails with `WouldBlock` when another holder has the lock.
#[allow(unsafe_code)]
pub(crate) fn try_lock(file: &File) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open while `file` lives; flock changes no memory of ours.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Registers `before`, to be called in a process that is about to fork, and `after`, to be called
/// after the fork in both processes. If memory is exhausted, nothing is registered.
#[allow(unsafe_code)]
pub(crate) fn at_fork(before: extern "C" fn(), after: extern "C" fn()) {
    // libc requires unsafe functions
    let (before, after): (unsafe extern "C" fn(), unsafe extern "C" fn()) = (before, after);
    // SAFETY: both functions are there as long as libc may call them: glibc forgets them when it
    // unloads the library that contains them, and musl never unloads one. They take no arguments,
    // and a panic in them ends the process instead of unwinding into libc (`extern "C"`).
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
}
