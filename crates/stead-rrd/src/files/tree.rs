//! A directory of RRD files, and the only code that touches them; all of it blocks.
//!
//! Names come from afar. They are walked part by part from the base, each part opened below the one
//! before it and never through a link, so that nothing outside of the base can be read, written or
//! removed, whatever is renamed meanwhile. Only an RRD can be read or removed: a regular file that
//! begins with `RRD` and a zero byte.
//!
//! A file is written under a temporary name beside its place and renamed when it is whole and on
//! disk. Its writer holds a lock on it: a temporary file that nobody holds is what a killed process
//! left behind, and goes with the next listing.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use twox_hash::XxHash3_128;

use crate::path::join;

/// What every RRD begins with.
const MAGIC: &[u8; 4] = b"RRD\0";
/// What our temporary names begin with.
const TEMPORARY: &str = ".stead-rrd-copy.";
/// The most parts of a name; each is an open directory while it is walked.
const DEPTH: usize = 32;
/// Bytes of a name: what a path in Linux may have.
pub(crate) const NAME_BYTES: usize = 4096;
/// How often the place for a new file is looked for again, when somebody removes the empty
/// directory for it at the same moment.
const TRIES: usize = 100;

/// What a listing found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// RRD files.
    pub files: u64,
    /// Links, directories below 32 others, and names with control characters, which no client of
    /// rrdcached can write: left out.
    pub left_out: u64,
}

/// What a file has: bytes and their XXH3-128.
pub(crate) type Sum = (u64, u128);

/// An entry of a listing.
pub(crate) enum Entry<'a> {
    /// An RRD: its name relative to the base, and its bytes.
    File(&'a [u8], u64),
    /// Something else; so that whoever waits for files hears that the listing goes on.
    Other,
}

/// A directory of RRD files.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) base: PathBuf,
}

impl Tree {
    /// Gives every RRD to `each`, in no order, until that breaks off; removes stale temporary files
    /// if `clean`.
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
            let kind = match entry.file_type() {
                FileType::Unknown => match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(failed(error)),
                },
                kind => kind,
            };
            let found = match kind {
                FileType::RegularFile if name.starts_with(TEMPORARY.as_bytes()) => {
                    if clean {
                        remove_stale(dir, name);
                    }
                    None
                }
                FileType::RegularFile => match open_file(dir, name, OFlags::RDONLY) {
                    Ok(file) => rrd_bytes(&file)?,
                    Err(Errno::NOENT | Errno::LOOP) => None, // gone, or another thing by now
                    Err(error) => return Err(failed(error)),
                },
                FileType::Directory if depth == DEPTH || name.iter().any(u8::is_ascii_control) => {
                    listed.left_out += 1;
                    None
                }
                FileType::Directory => {
                    match open_dir(dir, name) {
                        Ok(below) => open.push((Dir::new(below)?, path.len())),
                        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                        // of the file system, and root's
                        Err(Errno::ACCESS) if path == b"lost+found" => {}
                        Err(error) => return Err(failed(error)),
                    }
                    None
                }
                FileType::Symlink => {
                    listed.left_out += 1;
                    None
                }
                _ => None,
            };
            let entry = match found {
                Some(_) if name.iter().any(u8::is_ascii_control) => {
                    listed.left_out += 1;
                    Entry::Other
                }
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

    /// Opens an RRD to be read; `None` when there is no such file.
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

    /// What the file has; `None` when there is no such file.
    pub(crate) fn sum(&self, name: &[u8]) -> io::Result<Option<Sum>> {
        let Some(reading) = self.open(name)? else {
            return Ok(None);
        };
        sum_of(&reading.file)
            .map(Some)
            .map_err(|error| named(name, error))
    }

    /// Begins a file that will stand at this name, with its directories.
    pub(crate) fn create(&self, name: &[u8], mode: u32) -> io::Result<Writing> {
        let (parents, last) = parts(name)?;
        let parents: Vec<Vec<u8>> = parents.into_iter().map(<[u8]>::to_vec).collect();
        for _ in 0..TRIES {
            if let Some(writing) = self
                .try_create(&parents, last, mode)
                .map_err(|error| named(name, error))?
            {
                return Ok(writing);
            }
        }
        Err(named(
            name,
            io::Error::new(
                io::ErrorKind::ResourceBusy,
                "somebody removes its directory again and again",
            ),
        ))
    }

    fn try_create(
        &self,
        parents: &[Vec<u8>],
        last: &[u8],
        mode: u32,
    ) -> io::Result<Option<Writing>> {
        let mut place = Branch {
            dirs: vec![self.open_base()?],
            parents: parents.to_vec(),
            new: Vec::new(),
        };
        for (depth, part) in parents.iter().enumerate() {
            match rustix::fs::mkdirat(place.bottom()?, &part[..], Mode::from_raw_mode(0o777)) {
                Ok(()) => place.new.push(depth),
                Err(Errno::EXIST) => {}
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(no_room(error.into())),
            }
            match open_dir(place.bottom()?, part) {
                Ok(dir) => place.dirs.push(dir),
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(not_walked(part, error)),
            }
        }
        replaceable(place.bottom()?, last)?;
        let temporary = temporary_name();
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(
            place.bottom()?,
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
            place,
        };
        // a listing that came in between holds the lock, or has removed the file: it took it for
        // stale. Where there are no locks, nobody takes it for stale
        let locked = rustix::fs::flock(&writing.file, FlockOperation::NonBlockingLockExclusive)
            != Err(Errno::WOULDBLOCK);
        if !locked || rustix::fs::fstat(&writing.file)?.st_nlink == 0 {
            return Ok(None);
        }
        rustix::fs::fchmod(&writing.file, Mode::from_raw_mode(mode & 0o777))?;
        Ok(Some(writing))
    }

    /// Removes an RRD and the directories that became empty; false when there is no such file.
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
        // whatever was removed below is in none of the directories that are left
        rustix::fs::fsync(bottom(&dirs)?)?;
        Ok(())
    }

    fn open_base(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&self.base, flags, Mode::empty())
            .map_err(|error| at(&self.base, error.into()))
    }

    /// The base and the directories below it, each in the one before it.
    fn walk(&self, parents: &[&[u8]]) -> io::Result<Vec<OwnedFd>> {
        let mut dirs = vec![self.open_base().map_err(|error| match error.kind() {
            // that the base is missing is no answer to where a file is
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
    /// The next bytes: so many, and fewer only at the end.
    pub(crate) fn more(&mut self, want: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; want];
        let length = fill(&self.file, &mut bytes, self.at)?;
        bytes.truncate(length);
        self.at += length as u64;
        Ok(bytes)
    }
}

/// A file that is being written; until it is committed, nothing of it stays when this is dropped.
pub(crate) struct Writing {
    /// Until it has its name.
    temporary: Option<Vec<u8>>,
    last: Vec<u8>,
    file: File,
    bytes: u64,
    /// In a box: half a kilobyte.
    hash: Box<XxHash3_128>,
    place: Branch,
}

/// The directories down to a file that will be, of which the new ones go with it if it never is.
struct Branch {
    /// From the base on.
    dirs: Vec<OwnedFd>,
    parents: Vec<Vec<u8>>,
    /// Which of the parents are new.
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
                // unless another file has come there
                let _ = rustix::fs::unlinkat(above, &part[..], AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Writing {
    /// Appends.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file
            .write_all_at(bytes, self.bytes)
            .map_err(|error| self.named(no_room(error)))?;
        self.bytes += bytes.len() as u64;
        self.hash.write(bytes);
        Ok(())
    }

    /// Brings it to the disk, reads it back, and gives what it has.
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
            let text = "reads back other than it was written; look after this disk";
            return Err(self.named(io::Error::new(io::ErrorKind::InvalidData, text)));
        }
        Ok(read)
    }

    /// Puts it in its place, instead of the file that is there.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.try_commit()
            .map_err(|error| self.named(no_room(error)))
    }

    fn try_commit(&mut self) -> io::Result<()> {
        let dir = self.place.bottom()?;
        replaceable(dir, &self.last)?;
        if let Some(temporary) = &self.temporary {
            rustix::fs::renameat(dir, &temporary[..], dir, &self.last[..])?;
            self.temporary = None;
            self.place.new.clear();
        }
        // all of them: who made one of them at the same time may not have come so far
        self.place
            .dirs
            .iter()
            .rev()
            .try_for_each(rustix::fs::fsync)
            .map_err(io::Error::from)
    }

    fn named(&self, error: io::Error) -> io::Error {
        let mut name = self.place.parents.join(&b'/');
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(&self.last);
        named(&name, error)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let (Some(temporary), Ok(dir)) = (self.temporary.take(), self.place.bottom()) {
            let _ = rustix::fs::unlinkat(dir, &temporary[..], AtFlags::empty());
        }
    }
}

/// The directories of a name, and its last part; the error says what is wrong with it.
pub(crate) fn parts(name: &[u8]) -> io::Result<(Vec<&[u8]>, &[u8])> {
    let parts: Vec<&[u8]> = name.split(|b| *b == b'/').collect();
    let wrong = if name.is_empty() || name.len() > NAME_BYTES || join(name).as_deref() != Some(name)
    {
        Some("no name of a file below the base")
    } else if name.iter().any(u8::is_ascii_control) {
        Some("a name with control characters")
    } else if parts.len() > DEPTH {
        Some("a name of more than 32 parts")
    } else if parts
        .iter()
        .any(|part| part.starts_with(TEMPORARY.as_bytes()))
    {
        Some("a name that is kept for files in the making")
    } else {
        None
    };
    match (wrong, parts.split_last()) {
        (None, Some((last, parents))) => Ok((parents.to_vec(), last)),
        (wrong, _) => Err(named(
            name,
            io::Error::new(io::ErrorKind::InvalidInput, wrong.unwrap_or("no name")),
        )),
    }
}

fn bottom(dirs: &[OwnedFd]) -> io::Result<BorrowedFd<'_>> {
    dirs.last()
        .map(AsFd::as_fd)
        .ok_or_else(|| io::Error::other("no directory is open"))
}

fn open_dir(above: BorrowedFd<'_>, part: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, part, flags, Mode::empty())
}

fn open_file(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<File, Errno> {
    // not to wait for the other end of a pipe
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).map(File::from)
}

/// Opens an RRD, and nothing else.
fn open_rrd(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<File> {
    // before it is opened, since to open a device can have an effect
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(invalid("a link, and links are not followed")),
        FileType::Directory => return Err(invalid("a directory, and no RRD")),
        _ => return Err(invalid("neither a file nor a directory")),
    }
    let file = open_file(dir, name, OFlags::RDONLY)?;
    rrd_bytes(&file)?.map(|_| file).ok_or_else(no_rrd)
}

/// The bytes of a file that is an RRD.
fn rrd_bytes(file: &File) -> io::Result<Option<u64>> {
    let stat = file.metadata()?;
    let mut magic = [0; MAGIC.len()];
    let is = stat.is_file() && fill(file, &mut magic, 0)? == magic.len() && magic == *MAGIC;
    Ok(is.then_some(stat.len()))
}

fn sum_of(file: &File) -> io::Result<Sum> {
    let (mut hash, mut at) = (XxHash3_128::new(), 0);
    let mut bytes = vec![0; 1 << 18];
    loop {
        let length = fill(file, &mut bytes, at)?;
        hash.write(bytes.get(..length).unwrap_or_default());
        at += length as u64;
        if length < bytes.len() {
            return Ok((at, hash.finish_128()));
        }
    }
}

/// Reads until there is no room or no more; gives how much was read.
fn fill(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A file can go to this place: there is a file, or nothing.
fn replaceable(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Ok(()),
        Ok(_) => Err(invalid("something that is no file stands there; remove it")),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes a temporary file if nobody writes it; if that cannot be, it stays.
fn remove_stale(dir: BorrowedFd<'_>, name: &[u8]) {
    let Ok(file) = open_file(dir, name, OFlags::RDONLY) else {
        return;
    };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        let _ = rustix::fs::unlinkat(dir, name, AtFlags::empty());
    }
}

/// A name that no other file has; should it be there after all, another one is asked for.
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

/// `None` instead of the error that there is no such file.
fn missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn no_rrd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a file that is no RRD")
}

/// Why a part of a name could not be walked.
fn not_walked(part: &[u8], error: Errno) -> io::Error {
    let part = String::from_utf8_lossy(part);
    match error {
        Errno::NOTDIR | Errno::LOOP => invalid(&format!(
            "{part} is a link or no directory, and links are not followed"
        )),
        error => error.into(),
    }
}

/// One kind for whatever it is that leaves no room.
fn no_room(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            io::Error::new(io::ErrorKind::StorageFull, error.to_string())
        }
        _ => error,
    }
}

/// The error, with the name before it.
pub(crate) fn named(name: &[u8], error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", name.escape_ascii()))
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
