//! A file that is being written under a temporary name beside its place, and renamed when it is
//! complete and on disk. Its writer holds a lock on it.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use twox_hash::XxHash3_128;

use super::below::{
    bottom, named, no_room, no_rrd, not_walked, open_dir, replaceable, rrd_bytes, sum_of, Sum,
    TEMPORARY,
};

/// A file that is being written. If this is dropped before it is committed, nothing of the file
/// remains.
pub(crate) struct Writing {
    /// The temporary name; `None` once the file has its final name.
    temporary: Option<Vec<u8>>,
    last: Vec<u8>,
    file: File,
    bytes: u64,
    /// Boxed, because it has half a kilobyte.
    hash: Box<XxHash3_128>,
    branch: Branch,
}

/// The directories on the way to a new file. If the file is never finished, the new ones among them
/// are removed.
struct Branch {
    /// The base and the directories below it.
    dirs: Vec<OwnedFd>,
    parents: Vec<Vec<u8>>,
    /// The indices of the parents that are new.
    new: Vec<usize>,
}

impl Branch {
    fn bottom(&self) -> io::Result<BorrowedFd<'_>> {
        bottom(&self.dirs)
    }
}

impl Drop for Branch {
    fn drop(&mut self) {
        for depth in self.new.drain(..).rev() {
            if let (Some(above), Some(part)) = (self.dirs.get(depth), self.parents.get(depth)) {
                // this fails, as it should, if another file has been put there
                let _ = rustix::fs::unlinkat(above, &part[..], AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Writing {
    /// Begins to write a file. Returns `None` if somebody removes its directory at the same moment.
    pub(super) fn begin(
        base: OwnedFd,
        parents: &[Vec<u8>],
        last: &[u8],
        mode: u32,
    ) -> io::Result<Option<Writing>> {
        let mut branch = Branch {
            dirs: vec![base],
            parents: parents.to_vec(),
            new: Vec::new(),
        };
        for (depth, part) in parents.iter().enumerate() {
            match rustix::fs::mkdirat(branch.bottom()?, &part[..], Mode::from_raw_mode(0o777)) {
                Ok(()) => branch.new.push(depth),
                Err(Errno::EXIST) => {}
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(no_room(error.into())),
            }
            match open_dir(branch.bottom()?, part) {
                Ok(dir) => branch.dirs.push(dir),
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(not_walked(part, error)),
            }
        }
        replaceable(branch.bottom()?, last)?;
        let temporary = temporary_name();
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(
            branch.bottom()?,
            &temporary[..],
            flags,
            Mode::from_raw_mode(0o600),
        ) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::EXIST) => return Ok(None),
            Err(error) => return Err(no_room(error.into())),
        };
        let writing = Writing {
            temporary: Some(temporary),
            last: last.to_vec(),
            file,
            bytes: 0,
            hash: Box::default(),
            branch,
        };
        // A listing that came in between may hold the lock, or may have removed the file as stale.
        // On file systems without locks, no file is ever taken for stale.
        let locked = rustix::fs::flock(&writing.file, FlockOperation::NonBlockingLockExclusive)
            != Err(Errno::WOULDBLOCK);
        if !locked || rustix::fs::fstat(&writing.file)?.st_nlink == 0 {
            return Ok(None);
        }
        rustix::fs::fchmod(&writing.file, Mode::from_raw_mode(mode & 0o777))?;
        Ok(Some(writing))
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file
            .write_all_at(bytes, self.bytes)
            .map_err(|error| self.named(no_room(error)))?;
        self.bytes += bytes.len() as u64;
        self.hash.write(bytes);
        Ok(())
    }

    /// Syncs the file to disk, reads it back, and returns its size and checksum.
    pub(crate) fn verify(&mut self) -> io::Result<Sum> {
        let read =
            self.file
                .sync_all()
                .map_err(no_room)
                .and_then(|()| match rrd_bytes(&self.file)? {
                    None => Err(no_rrd()),
                    Some(_) => sum_of(&self.file),
                });
        let read = read.map_err(|error| self.named(error))?;
        if read != (self.bytes, self.hash.finish_128()) {
            let text = "reads back different from what was written; check this disk";
            return Err(self.named(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        Ok(read)
    }

    /// Puts the file in its place, replacing any file there.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.try_commit()
            .map_err(|error| self.named(no_room(error)))
    }

    fn try_commit(&mut self) -> io::Result<()> {
        let dir = self.branch.bottom()?;
        replaceable(dir, &self.last)?;
        if let Some(temporary) = &self.temporary {
            rustix::fs::renameat(dir, &temporary[..], dir, &self.last[..])?;
            self.temporary = None;
            self.branch.new.clear();
        }
        // sync all of them: another process that made one of them just now may not have synced it
        // yet
        self.branch
            .dirs
            .iter()
            .rev()
            .try_for_each(rustix::fs::fsync)
            .map_err(io::Error::from)
    }

    fn named(&self, error: io::Error) -> io::Error {
        let mut name = self.branch.parents.join(&b'/');
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(&self.last);
        named(&name, error)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let (Some(temporary), Ok(dir)) = (self.temporary.take(), self.branch.bottom()) {
            let _ = rustix::fs::unlinkat(dir, &temporary[..], AtFlags::empty());
        }
    }
}

/// Returns a name that no other file has. Should the name exist after all, the caller tries another
/// one.
fn temporary_name() -> Vec<u8> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    format!(
        "{TEMPORARY}{}.{}.{now:x}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
    .into_bytes()
}
