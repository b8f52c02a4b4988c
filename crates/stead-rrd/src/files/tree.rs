//! A directory of RRD files. No other code touches such files, and all calls block.
//!
//! Names come over the network. They are walked part by part from the base. Each part is opened
//! relative to the one before it and never through a link. So nothing outside the base can be read,
//! written or removed, whatever is renamed meanwhile. Only an RRD can be read or removed: a regular
//! file that begins with `RRD` and a zero byte.
//!
//! A file is written under a temporary name beside its place, and renamed when it is complete and
//! on disk. Its writer holds a lock on it. A temporary file without a lock was left behind by a
//! killed process, and the next listing removes it.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::below::{
    bottom, fill, missing, named, not_walked, open_dir, open_file, open_rrd, parts, rrd_bytes,
    sum_of, Sum, DEPTH, MOST_BYTES, TEMPORARY,
};
use super::writing::Writing;
use crate::dirs::{place_of, Place};
use crate::image::Digest;

/// How often the place for a new file is looked up again when somebody removes the empty directory
/// for it at the same moment.
const TRIES: usize = 100;

/// How many bytes of a file are read at once.
const PART: usize = 1 << 20;

/// The result of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// How many RRD files there are.
    pub files: u64,
    /// How many entries were left out behind which clients may have RRDs: links to a directory or
    /// to an RRD, and directories nested deeper than 31 below the base.
    ///
    /// Names with control characters are left out and not counted: no client of rrdcached can write
    /// them.
    pub left_out: u64,
    /// One of these entries.
    pub example: Option<Vec<u8>>,
}

impl Listed {
    fn leave_out(&mut self, path: &[u8]) {
        self.left_out += 1;
        self.example.get_or_insert_with(|| path.to_vec());
    }
}

/// An entry of a listing.
pub(crate) enum Entry<'a> {
    /// An RRD: its name relative to the base, and its size in bytes.
    File(&'a [u8], u64),
    /// Something else. It shows the receiver that the listing continues.
    Other,
}

/// A directory of RRD files.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) base: PathBuf,
}

impl Tree {
    /// Calls `each` with every RRD, in no particular order, until `each` breaks off. Removes stale
    /// temporary files if `clean` is set.
    pub(crate) fn list(
        &self,
        clean: bool,
        mut each: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> io::Result<Listed> {
        let mut listed = Listed::default();
        let mut path = Vec::new();
        let mut open = vec![(Dir::new(self.open_base()?)?, 0)];
        loop {
            let depth = open.len();
            let Some((dir, length)) = open.last_mut() else {
                break;
            };
            path.truncate(*length);
            let Some(entry) = dir.read() else {
                open.pop();
                continue;
            };
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
            let failed = |error: Errno| named(&path, error.into());
            let dir = dir.fd()?;
            let Some(kind) = kind_of(dir, &entry).map_err(failed)? else {
                continue;
            };
            let found = match kind {
                FileType::RegularFile => {
                    let file = file_of(dir, name, clean).map_err(failed)?;
                    file.map_or(Ok(None), |file| rrd_bytes(&file))?
                }
                FileType::Directory if name.iter().any(u8::is_ascii_control) => None,
                FileType::Directory if depth == DEPTH => {
                    listed.leave_out(&path);
                    None
                }
                FileType::Directory => {
                    match open_dir(dir, name) {
                        Ok(below) => open.push((Dir::new(below)?, path.len())),
                        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                        // it belongs to the file system and to root
                        Err(Errno::ACCESS) if path == b"lost+found" => {}
                        Err(error) => return Err(failed(error)),
                    }
                    None
                }
                FileType::Symlink => {
                    if leads_to_rrds(dir, name) {
                        listed.leave_out(&path);
                    }
                    None
                }
                _ => None,
            };
            let entry = match found {
                Some(_) if name.iter().any(u8::is_ascii_control) => Entry::Other,
                Some(bytes) => {
                    listed.files += 1;
                    Entry::File(&path, bytes)
                }
                None => Entry::Other,
            };
            if each(entry).is_break() {
                break;
            }
        }
        Ok(listed)
    }

    /// Opens an RRD for reading. Returns `None` if it does not exist.
    pub(crate) fn open(&self, name: &[u8]) -> io::Result<Option<Reading>> {
        let (parents, last) = parts(name)?;
        missing(self.open_at(&parents, last)).map_err(|error| named(name, error))
    }

    fn open_at(&self, parents: &[&[u8]], last: &[u8]) -> io::Result<Reading> {
        let dirs = self.walk(parents)?;
        let file = open_rrd(bottom(&dirs)?, last)?;
        let mode = rustix::fs::fstat(&file)?.st_mode & 0o777;
        Ok(Reading { file, mode, at: 0 })
    }

    /// Returns which directory this is.
    pub(crate) fn place(&self) -> io::Result<Place> {
        let directory = rustix::fs::open(
            &self.base,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(place_of(&File::from(directory).metadata()?))
    }

    /// Returns the size and the checksum of a file, or `None` if it does not exist.
    pub(crate) fn sum(&self, name: &[u8]) -> io::Result<Option<Sum>> {
        let Some(reading) = self.open(name)? else {
            return Ok(None);
        };
        sum_of(&reading.file)
            .map(Some)
            .map_err(|error| named(name, error))
    }

    /// Returns a summary of the content of a file, or `None` if it does not exist. A file that is
    /// not an RRD has the summary of an empty file.
    pub(crate) fn digest(&self, name: &[u8]) -> io::Result<Option<Digest>> {
        let mut reading = match self.open(name) {
            Ok(Some(reading)) => reading,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Ok(Some(Digest::of(b"")))
            }
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        loop {
            let part = reading.more(PART).map_err(|error| named(name, error))?;
            bytes.extend_from_slice(&part);
            if bytes.len() > MOST_BYTES {
                let text = format!("more than {MOST_BYTES} bytes: too large to be compared");
                return Err(named(name, io::Error::other(text)));
            }
            if part.len() < PART {
                return Ok(Some(Digest::of(&bytes)));
            }
        }
    }

    /// Begins to write a file of this name, and makes its directories.
    pub(crate) fn create(&self, name: &[u8], mode: u32) -> io::Result<Writing> {
        let (parents, last) = parts(name)?;
        let parents: Vec<Vec<u8>> = parents.into_iter().map(<[u8]>::to_vec).collect();
        for _ in 0..TRIES {
            let begun = self
                .open_base()
                .and_then(|base| Writing::begin(base, &parents, last, mode));
            if let Some(writing) = begun.map_err(|error| named(name, error))? {
                return Ok(writing);
            }
        }
        Err(named(
            name,
            io::Error::new(
                io::ErrorKind::ResourceBusy,
                "somebody keeps removing its directory",
            ),
        ))
    }

    /// Removes an RRD and the directories that become empty. Returns false if the file does not
    /// exist.
    pub(crate) fn remove(&self, name: &[u8]) -> io::Result<bool> {
        let (parents, last) = parts(name)?;
        let removed =
            missing(self.remove_at(&parents, last)).map_err(|error| named(name, error))?;
        Ok(removed.is_some())
    }

    fn remove_at(&self, parents: &[&[u8]], last: &[u8]) -> io::Result<()> {
        let mut dirs = self.walk(parents)?;
        open_rrd(bottom(&dirs)?, last)?;
        rustix::fs::unlinkat(bottom(&dirs)?, last, AtFlags::empty())?;
        for part in parents.iter().rev() {
            let above = bottom(&dirs[..dirs.len() - 1])?;
            if rustix::fs::unlinkat(above, *part, AtFlags::REMOVEDIR).is_err() {
                break; // not empty
            }
            dirs.pop();
        }
        // the removals are synced with the deepest directory that is left; the others are gone
        rustix::fs::fsync(bottom(&dirs)?)?;
        Ok(())
    }

    pub(super) fn open_base(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&self.base, flags, Mode::empty())
            .map_err(|error| at(&self.base, error.into()))
    }

    /// Opens the base and the directories below it, each relative to the one before it.
    fn walk(&self, parents: &[&[u8]]) -> io::Result<Vec<OwnedFd>> {
        let mut dirs = vec![self.open_base().map_err(|error| match error.kind() {
            // a missing base does not mean that the file is missing
            io::ErrorKind::NotFound => {
                io::Error::new(io::ErrorKind::NotADirectory, error.to_string())
            }
            _ => error,
        })?];
        for part in parents {
            let dir = open_dir(bottom(&dirs)?, part).map_err(|error| not_walked(part, error))?;
            dirs.push(dir);
        }
        Ok(dirs)
    }
}

/// An RRD that is being read.
pub(crate) struct Reading {
    file: File,
    /// Its mode bits.
    pub(crate) mode: u32,
    at: u64,
}

impl Reading {
    /// Reads the next `want` bytes, and fewer only at the end.
    pub(crate) fn more(&mut self, want: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; want];
        let length = fill(&self.file, &mut bytes, self.at)?;
        bytes.truncate(length);
        self.at += length as u64;
        Ok(bytes)
    }
}

/// Returns the type of a directory entry, or `None` if the entry is gone.
pub(super) fn kind_of(dir: BorrowedFd<'_>, entry: &DirEntry) -> Result<Option<FileType>, Errno> {
    if entry.file_type() != FileType::Unknown {
        return Ok(Some(entry.file_type()));
    }
    match rustix::fs::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a file of a listing. Returns `None` if it is gone or temporary; a stale temporary file is
/// removed if `clean` is set.
pub(super) fn file_of(
    dir: BorrowedFd<'_>,
    name: &[u8],
    clean: bool,
) -> Result<Option<File>, Errno> {
    if name.starts_with(TEMPORARY.as_bytes()) {
        if clean {
            remove_stale(dir, name);
        }
        return Ok(None);
    }
    match open_file(dir, name, OFlags::RDONLY) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT | Errno::LOOP) => Ok(None), // gone, or now something else
        Err(error) => Err(error),
    }
}

/// Returns whether rrdcached, which follows links, may have RRDs behind this one: it leads to a
/// directory or to an RRD. Where it leads is not known if that may not be seen.
pub(super) fn leads_to_rrds(dir: BorrowedFd<'_>, name: &[u8]) -> bool {
    // check before opening, since opening a device can have an effect
    match rustix::fs::statat(dir, name, AtFlags::empty()).map(|stat| stat.st_mode) {
        Ok(mode) if FileType::from_raw_mode(mode) == FileType::RegularFile => {}
        Ok(mode) => return FileType::from_raw_mode(mode) == FileType::Directory,
        Err(error) => return !matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name, flags, Mode::empty()).map(File::from);
    file.is_ok_and(|file| !matches!(rrd_bytes(&file), Ok(None)))
}

/// Removes a temporary file if nobody is writing it. If it cannot be removed, it stays.
fn remove_stale(dir: BorrowedFd<'_>, name: &[u8]) {
    let Ok(file) = open_file(dir, name, OFlags::RDONLY) else {
        return;
    };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
    }
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
