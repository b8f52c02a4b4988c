//! Copies and compares one file or symbolic link: content, holes, owner, permissions, times.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{
    chownat, fchown, futimens, linkat, open, renameat_with, utimensat, AtFlags, Gid, Mode, OFlags,
    RenameFlags, Timespec, Timestamps, Uid, CWD,
};
use rustix::io::Errno;

use super::attributes::copy_attributes;

/// How much is read at once.
const PIECE: usize = 128 << 10;

/// What is kept of a file beside content, permissions and times.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Owner and group.
    pub owner: bool,
    /// Extended attributes and ACLs.
    pub attributes: bool,
}

/// A file that is written beside its place, and known until it is closed.
pub struct Fresh {
    file: File,
    /// How many bytes of content it has.
    pub bytes: u64,
}

impl Fresh {
    /// Returns what the file system says about the file now, wherever it was renamed to.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

/// Opens a regular file, and no other.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is neither a file nor a symbolic link")),
    }
}

/// Copies the file or link at `from` to `to`, where nothing may be, and makes its content durable.
pub fn copy(from: &Path, to: &Path, keep: Keep) -> io::Result<Fresh> {
    let meta = from.symlink_metadata()?;
    if meta.is_symlink() {
        return copy_link(from, to, &meta, keep.owner);
    }
    let mut source = open_regular(from)?;
    let meta = source.metadata()?;
    let mut options = OpenOptions::new();
    let mut target = options.write(true).create_new(true).mode(0o600).open(to)?;
    let bytes = copy_content(&mut source, &mut target, meta.len())?;
    if keep.owner {
        fchown(
            &target,
            Some(Uid::from_raw(meta.uid())),
            Some(Gid::from_raw(meta.gid())),
        )?;
    }
    // after the owner, whose change takes the bits setuid and setgid away
    target.set_permissions(fs::Permissions::from_mode(meta.mode() & 0o7777))?;
    if keep.attributes {
        copy_attributes(&source, &target)?;
    }
    futimens(&target, &times(&meta))?;
    target.sync_all()?;
    Ok(Fresh {
        file: target,
        bytes,
    })
}

fn copy_link(from: &Path, to: &Path, meta: &Metadata, owner: bool) -> io::Result<Fresh> {
    let text = fs::read_link(from)?;
    std::os::unix::fs::symlink(&text, to)?;
    if owner {
        let (user, group) = (Uid::from_raw(meta.uid()), Gid::from_raw(meta.gid()));
        chownat(CWD, to, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    utimensat(CWD, to, &times(meta), AtFlags::SYMLINK_NOFOLLOW)?;
    let file = open(to, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
    Ok(Fresh {
        file: File::from(file),
        bytes: text.as_os_str().len() as u64,
    })
}

/// Copies what is no hole. Returns how many bytes this is.
fn copy_content(source: &mut File, target: &mut File, length: u64) -> io::Result<u64> {
    let mut piece = vec![0; PIECE];
    let (mut at, mut bytes) = (0, 0);
    while let Some((first, end)) = next_data(source, at, length)? {
        source.seek(SeekFrom::Start(first))?;
        target.seek(SeekFrom::Start(first))?;
        at = first;
        while at < end {
            let most = piece.len().min((end - at) as usize);
            let n = match source.read(&mut piece[..most]) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            target.write_all(&piece[..n])?;
            (at, bytes) = (at + n as u64, bytes + n as u64);
        }
        if at < end {
            // the file became shorter: the version tells it
            break;
        }
    }
    target.set_len(length)?;
    Ok(bytes)
}

/// Returns the next run of bytes that is no hole, from `at` on and before `length`.
fn next_data(file: &File, at: u64, length: u64) -> io::Result<Option<(u64, u64)>> {
    if at >= length {
        return Ok(None);
    }
    let first = match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(first) => first,
        Err(Errno::NXIO) => return Ok(None),
        // the file system does not know its holes
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, length))),
        Err(error) => return Err(error.into()),
    };
    let end = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(first))?;
    Ok((first < length).then_some((first, end.min(length))))
}

fn times(meta: &Metadata) -> Timestamps {
    let time = |tv_sec, tv_nsec: i64| Timespec {
        tv_sec,
        tv_nsec: tv_nsec as _,
    };
    Timestamps {
        last_access: time(meta.atime(), meta.atime_nsec()),
        last_modification: time(meta.mtime(), meta.mtime_nsec()),
    }
}

/// Renames a file to a place where nothing is. Returns whether it did; otherwise something is
/// there, and the file is where it was.
pub fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<bool> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // NFS and others do not have this; a link does not replace anything either
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match linkat(CWD, from, CWD, to, AtFlags::empty()) {
                Ok(()) => fs::remove_file(from).map(|()| true),
                Err(Errno::EXIST) => Ok(false),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether two files have the same content, or two links the same text.
pub fn equal(first: &Path, second: &Path) -> io::Result<bool> {
    let (a, b) = (first.symlink_metadata()?, second.symlink_metadata()?);
    if a.is_symlink() || b.is_symlink() {
        let both = a.is_symlink() && b.is_symlink();
        return Ok(both && fs::read_link(first)? == fs::read_link(second)?);
    }
    let (mut one, mut other) = (open_regular(first)?, open_regular(second)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut here, mut there) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let n = fill(&mut one, &mut here)?;
        let m = fill(&mut other, &mut there)?;
        if here[..n] != there[..m] {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut full = 0;
    while full < buffer.len() {
        match file.read(&mut buffer[full..]) {
            Ok(0) => break,
            Ok(n) => full += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Keep = Keep {
        owner: true,
        attributes: true,
    };

    #[test]
    fn content_holes_mode_and_times_are_copied() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("1"), directory.path().join("2"));
        let mut file = File::create(&one).unwrap();
        // a hole at the start, data, a hole at the end
        file.seek(SeekFrom::Start(8 << 20)).unwrap();
        file.write_all(&[7; 1000]).unwrap();
        file.set_len(16 << 20).unwrap();
        file.set_permissions(fs::Permissions::from_mode(0o640))
            .unwrap();
        let time = Timespec {
            tv_sec: 1_000_000_000,
            tv_nsec: 5,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        futimens(&file, &times).unwrap();
        let fresh = copy(&one, &other, ALL).unwrap();
        assert!(fresh.bytes < 1 << 20, "{} bytes", fresh.bytes);
        assert!(equal(&one, &other).unwrap());
        let meta = fs::metadata(&other).unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o640);
        assert_eq!((meta.mtime(), meta.mtime_nsec()), (1_000_000_000, 5));
        assert!(meta.blocks() * 512 < 1 << 20, "{} blocks", meta.blocks());
        assert!(copy(&one, &other, ALL).is_err(), "nothing is replaced");
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("1"), directory.path().join("2"));
        std::os::unix::fs::symlink("nowhere/at all", &one).unwrap();
        copy(&one, &other, ALL).unwrap();
        assert_eq!(fs::read_link(&other).unwrap(), Path::new("nowhere/at all"));
        assert!(equal(&one, &other).unwrap());
        fs::remove_file(&other).unwrap();
        fs::write(&other, "nowhere/at all").unwrap();
        assert!(!equal(&one, &other).unwrap());
    }

    #[test]
    fn a_rename_never_replaces() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("1"), directory.path().join("2"));
        fs::write(&one, "1").unwrap();
        assert!(rename_without_replacing(&one, &other).unwrap());
        fs::write(&one, "new").unwrap();
        assert!(!rename_without_replacing(&one, &other).unwrap());
        assert_eq!(fs::read_to_string(&other).unwrap(), "1");
        assert_eq!(fs::read_to_string(&one).unwrap(), "new");
    }

    #[test]
    fn contents_are_compared_byte_by_byte() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("1"), directory.path().join("2"));
        let mut bytes = vec![3; 3 * PIECE + 17];
        fs::write(&one, &bytes).unwrap();
        fs::write(&other, &bytes).unwrap();
        assert!(equal(&one, &other).unwrap());
        *bytes.last_mut().unwrap() = 4;
        fs::write(&other, &bytes).unwrap();
        assert!(!equal(&one, &other).unwrap());
    }
}
