//! Locks: an advisory lock on a file, held while its guard lives, and what is to be done around
//! `fork`. One of the few places with unsafe code (std has file locks from 1.89 on).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A lock; dropping it, or the end of the process, lets go.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    /// Closing is not enough: a child forked meanwhile has the file open, too, and would hold the
    /// lock as long as it lives.
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the descriptor is open, since the file lives; flock changes no memory of ours.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

impl Lock {
    /// Takes the lock of this file, creating the file (mode 0600) when it is not there.
    /// `WouldBlock` when somebody has it.
    ///
    /// The file is never removed: removing a lock file lets two processes hold "the" lock.
    pub(crate) fn try_exclusive(path: &Path) -> io::Result<Lock> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        try_lock(&file)?;
        Ok(Lock(file))
    }
}

/// Locks an open file until it is closed, here and in every child that was forked meanwhile.
/// `WouldBlock` when somebody has it.
#[allow(unsafe_code)]
pub(crate) fn try_lock(file: &File) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open, since `file` lives; flock changes no memory of ours.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Has `before` called in a process that is about to fork, and `after` in both when it is done. Out
/// of memory leaves it undone.
#[allow(unsafe_code)]
pub(crate) fn at_fork(before: extern "C" fn(), after: extern "C" fn()) {
    // libc wants them unsafe
    let (before, after): (unsafe extern "C" fn(), unsafe extern "C" fn()) = (before, after);
    // SAFETY: the functions are static and take nothing; libc forgets them when the library that
    // they are in is unloaded.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
}
