//! Locks: an advisory lock on a file, held while its guard lives, and handlers for `fork`. One of
//! the few places with unsafe code (std has file locks from 1.89 on).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A lock on a file. Dropping this releases the lock. A process that ends without dropping it also
/// releases the lock, unless a forked child still has the file open.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    /// Unlocks explicitly. Closing the file is not enough: a child that was forked in the meantime
    /// also has it open and would hold the lock as long as it lives.
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the descriptor is open while `self.0` lives; flock changes no memory of ours.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

impl Lock {
    /// Locks this file and creates it (mode 0600) if it does not exist. Fails with `WouldBlock`
    /// when another holder has the lock.
    ///
    /// The file is never removed: removing a lock file would let two processes hold "the" lock.
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
    // SAFETY: both functions are static and take no arguments; libc unregisters them when the
    // library that contains them is unloaded.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
}
