//! Operations on a file below an open directory. No link is followed, and a file that is not an RRD
//! is never taken for one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use twox_hash::XxHash3_128;

use crate::path::join;

/// The first bytes of every RRD.
const MAGIC: &[u8; 4] = b"RRD\0";

/// The prefix of the temporary names.
pub(super) const TEMPORARY: &str = ".stead-rrd-copy.";

/// The most parts of a name. While a name is walked, each part is an open directory.
pub(super) const DEPTH: usize = 32;

/// The most bytes of a name: those that a path in Linux may have.
pub(crate) const NAME_BYTES: usize = 4096;

/// The largest file whose content is compared.
pub const MOST_BYTES: usize = 256 << 20;

/// A summary of a file's content: its size in bytes and its XXH3-128.
pub(crate) type Sum = (u64, u128);

/// Splits a name into its directories and its last part. The error says what is wrong with the
/// name.
pub(crate) fn parts(name: &[u8]) -> io::Result<(Vec<&[u8]>, &[u8])> {
    let parts: Vec<&[u8]> = name.split(|b| *b == b'/').collect();
    let wrong = if name.is_empty() || name.len() > NAME_BYTES || join(name).as_deref() != Some(name)
    {
        Some("not the name of a file below the base")
    } else if name.iter().any(u8::is_ascii_control) {
        Some("a name with control characters")
    } else if parts.len() > DEPTH {
        Some("a name of more than 32 parts")
    } else if parts
        .iter()
        .any(|part| part.starts_with(TEMPORARY.as_bytes()))
    {
        Some("a name that is reserved for unfinished files")
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

pub(super) fn bottom(dirs: &[OwnedFd]) -> io::Result<BorrowedFd<'_>> {
    dirs.last()
        .map(AsFd::as_fd)
        .ok_or_else(|| io::Error::other("no directory is open"))
}

pub(super) fn open_dir(above: BorrowedFd<'_>, part: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(above, part, flags, Mode::empty())
}

pub(super) fn open_file(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<File, Errno> {
    // NONBLOCK: do not wait for the other end of a pipe
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).map(File::from)
}

/// Opens an RRD, and nothing else.
pub(super) fn open_rrd(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<File> {
    // check before opening, since opening a device can have an effect
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(invalid("a link; links are not followed")),
        FileType::Directory => return Err(invalid("a directory, not an RRD")),
        _ => return Err(invalid("neither a file nor a directory")),
    }
    let file = open_file(dir, name, OFlags::RDONLY)?;
    rrd_bytes(&file)?.map(|_| file).ok_or_else(no_rrd)
}

/// Returns the size of a file that is an RRD, and `None` for any other file.
pub(super) fn rrd_bytes(file: &File) -> io::Result<Option<u64>> {
    let stat = file.metadata()?;
    let mut magic = [0; MAGIC.len()];
    let is = stat.is_file() && fill(file, &mut magic, 0)? == magic.len() && magic == *MAGIC;
    Ok(is.then_some(stat.len()))
}

pub(super) fn sum_of(file: &File) -> io::Result<Sum> {
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

/// Reads until `bytes` is full or the file ends. Returns how many bytes were read.
pub(super) fn fill(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
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

/// Checks that a file can be put at this place: there is a regular file, or nothing.
pub(super) fn replaceable(dir: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Ok(()),
        Ok(_) => Err(invalid(
            "something that is not a file has this name; remove it",
        )),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Turns the error that a file does not exist into `None`.
pub(super) fn missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

pub(super) fn no_rrd() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a file that is not an RRD")
}

/// Returns the error for a part of a name that could not be walked.
pub(super) fn not_walked(part: &[u8], error: Errno) -> io::Error {
    let part = String::from_utf8_lossy(part);
    match error {
        Errno::NOTDIR | Errno::LOOP => invalid(&format!(
            "{part} is a link or not a directory; links are not followed"
        )),
        error => error.into(),
    }
}

/// Gives one kind to all errors that mean a lack of space.
pub(super) fn no_room(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            io::Error::new(io::ErrorKind::StorageFull, error.to_string())
        }
        _ => error,
    }
}

/// Puts the name before the error.
pub(crate) fn named(name: &[u8], error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", name.escape_ascii()))
}
