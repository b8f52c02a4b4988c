//! Reads one file or symbolic link to the end, and writes it anew: content, holes, owner,
//! permissions, times, attributes. In between it may travel to another machine.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{symlink, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{
    chownat, fchown, futimens, linkat, open, renameat_with, utimensat, AtFlags, Gid, Mode, OFlags,
    RenameFlags, Timespec, Timestamps, Uid, CWD,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::attributes::{attributes, set_attributes, Attribute};
use super::base64_bytes::Bytes;

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

/// What a file or directory is, beside its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Looks {
    /// Permissions, with setuid and its like.
    mode: u32,
    owner: u32,
    group: u32,
    /// Of the last access, and of the last change of the content: seconds and nanoseconds.
    times: [(i64, i64); 2],
    attributes: Vec<Attribute>,
}

impl Looks {
    /// Takes the looks of a file or directory that is open, or of a link, which has no attributes.
    pub fn of(meta: &Metadata, file: Option<&File>, keep: Keep) -> io::Result<Looks> {
        Ok(Looks {
            mode: meta.mode() & 0o7777,
            owner: meta.uid(),
            group: meta.gid(),
            times: [
                (meta.atime(), meta.atime_nsec()),
                (meta.mtime(), meta.mtime_nsec()),
            ],
            attributes: match file {
                Some(file) if keep.attributes => attributes(file)?,
                _ => Vec::new(),
            },
        })
    }

    /// Gives a new file or directory these looks, but for the times.
    pub fn give(&self, file: &File, keep: Keep) -> io::Result<()> {
        if keep.owner {
            let (owner, group) = (Uid::from_raw(self.owner), Gid::from_raw(self.group));
            fchown(file, Some(owner), Some(group)).map_err(|error| self.not_given(error))?;
        }
        // after the owner, whose change takes the bits setuid and setgid away
        file.set_permissions(fs::Permissions::from_mode(self.mode))?;
        match keep.attributes {
            true => set_attributes(file, &self.attributes),
            false => Ok(()),
        }
    }

    /// The failure to give a copy to whom the source belongs to: only root may.
    fn not_given(&self, error: Errno) -> io::Error {
        match error {
            Errno::PERM => io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "only root may give it to user {} and group {}: carry as root, or set owner = \
                     false, and copies belong to who carries",
                    self.owner, self.group
                ),
            ),
            error => error.into(),
        }
    }

    fn times(&self) -> Timestamps {
        let [last_access, last_modification] = self.times.map(|(tv_sec, nanos)| Timespec {
            tv_sec,
            tv_nsec: nanos as _,
        });
        Timestamps {
            last_access,
            last_modification,
        }
    }
}

/// What stands before the content of a file that travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    looks: Looks,
    /// The text of a symbolic link; a file has none.
    link: Option<Bytes>,
    length: u64,
}

impl Head {
    /// Returns the text of a symbolic link that is relative.
    pub fn relative_link(&self) -> Option<&[u8]> {
        let text = self.link.as_ref()?;
        (!text.0.starts_with(b"/")).then_some(&text.0)
    }
}

/// A piece of a file that is no hole: where it begins, and its bytes.
pub type Piece = (u64, Vec<u8>);

/// A file that is read.
pub struct Reading {
    /// What stands before the content.
    pub head: Head,
    file: Option<File>,
    at: u64,
    /// Where the present run of data ends, behind which a hole is.
    end: u64,
}

impl Reading {
    /// Opens a file or link.
    pub fn open(path: &Path, keep: Keep) -> io::Result<Reading> {
        let meta = path.symlink_metadata()?;
        if meta.is_symlink() {
            let text = fs::read_link(path)?.into_os_string().into_vec();
            return Ok(Reading {
                head: Head {
                    looks: Looks::of(&meta, None, keep)?,
                    length: text.len() as u64,
                    link: Some(Bytes(text)),
                },
                file: None,
                at: 0,
                end: 0,
            });
        }
        let file = open_regular(path)?;
        let meta = file.metadata()?;
        Ok(Reading {
            head: Head {
                looks: Looks::of(&meta, Some(&file), keep)?,
                link: None,
                length: meta.len(),
            },
            file: Some(file),
            at: 0,
            end: 0,
        })
    }

    /// Returns the next piece; `None` at the end.
    pub fn piece(&mut self) -> io::Result<Option<Piece>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        if self.at >= self.end {
            let Some((first, end)) = next_data(file, self.at, self.head.length)? else {
                return Ok(None);
            };
            (self.at, self.end) = (first, end);
            file.seek(SeekFrom::Start(first))?;
        }
        let most = PIECE.min((self.end - self.at) as usize);
        let mut bytes = vec![0; most];
        let n = fill(file, &mut bytes)?;
        if n < most {
            // the file became shorter: the version tells it
            self.file = None;
        }
        bytes.truncate(n);
        let first = self.at;
        self.at += n as u64;
        Ok((n > 0).then_some((first, bytes)))
    }

    /// Returns the digest of a file or link, of its type and its whole content.
    pub fn digest(mut self) -> io::Result<Vec<u8>> {
        let mut digest = Sha256::new();
        match (&self.head.link, &mut self.file) {
            (Some(text), _) => digest.update([&b"link"[..], &text.0].concat()),
            (None, Some(file)) => {
                digest.update(b"file");
                let mut piece = vec![0; PIECE];
                loop {
                    match fill(file, &mut piece)? {
                        0 => break,
                        n => digest.update(&piece[..n]),
                    }
                }
            }
            (None, None) => {}
        }
        Ok(digest.finalize().to_vec())
    }
}

/// A file that was written beside its place, and is known until it is closed.
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

/// Writes a file or link, where nothing may be, and makes it durable.
///
/// Errors: the first one is one of `next`, the second one of the writing.
pub fn write<E>(
    path: &Path,
    head: &Head,
    next: &mut dyn FnMut() -> Result<Option<Piece>, E>,
    keep: Keep,
) -> Result<io::Result<Fresh>, E> {
    if let Some(text) = &head.link {
        return Ok(write_link(path, text, head, keep));
    }
    let mut options = OpenOptions::new();
    let mut written = options.write(true).create_new(true).mode(0o600).open(path);
    let mut bytes = 0;
    // what travels is taken to its end, also after a failure
    while let Some((first, piece)) = next()? {
        bytes += piece.len() as u64;
        if let Ok(file) = &written {
            if let Err(error) = file.write_all_at(&piece, first) {
                written = Err(error);
            }
        }
    }
    Ok(written.and_then(|file| {
        file.set_len(head.length)?;
        head.looks.give(&file, keep)?;
        futimens(&file, &head.looks.times())?;
        file.sync_all()?;
        Ok(Fresh { file, bytes })
    }))
}

fn write_link(path: &Path, text: &Bytes, head: &Head, keep: Keep) -> io::Result<Fresh> {
    symlink(std::ffi::OsStr::from_bytes(&text.0), path)?;
    let looks = &head.looks;
    if keep.owner {
        let (owner, group) = (Uid::from_raw(looks.owner), Gid::from_raw(looks.group));
        chownat(
            CWD,
            path,
            Some(owner),
            Some(group),
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .map_err(|error| looks.not_given(error))?;
    }
    utimensat(CWD, path, &looks.times(), AtFlags::SYMLINK_NOFOLLOW)?;
    let file = open(path, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
    Ok(Fresh {
        file: File::from(file),
        bytes: text.0.len() as u64,
    })
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

/// Exchanges two files in one step. Returns whether both were there.
///
/// Errors: a file system that cannot do so, such as NFS.
pub fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(io::Error::other(
            "this file system cannot exchange two files in one step; copy the newer value by hand",
        )),
        Err(error) => Err(error.into()),
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
    use std::io::Write;

    const ALL: Keep = Keep {
        owner: true,
        attributes: true,
    };

    fn copy(from: &Path, to: &Path) -> io::Result<Fresh> {
        let mut reading = Reading::open(from, ALL)?;
        let head = reading.head.clone();
        write(to, &head, &mut || reading.piece(), ALL)?
    }

    fn equal(one: &Path, other: &Path) -> bool {
        let digest = |path| Reading::open(path, ALL).unwrap().digest().unwrap();
        digest(one) == digest(other)
    }

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
        let fresh = copy(&one, &other).unwrap();
        assert!(fresh.bytes < 1 << 20, "{} bytes", fresh.bytes);
        assert!(equal(&one, &other));
        let meta = fs::metadata(&other).unwrap();
        assert_eq!(meta.mode() & 0o7777, 0o640);
        assert_eq!((meta.mtime(), meta.mtime_nsec()), (1_000_000_000, 5));
        assert!(meta.blocks() * 512 < 1 << 20, "{} blocks", meta.blocks());
        assert!(copy(&one, &other).is_err(), "nothing is replaced");
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("1"), directory.path().join("2"));
        symlink("nowhere/at all", &one).unwrap();
        copy(&one, &other).unwrap();
        assert_eq!(fs::read_link(&other).unwrap(), Path::new("nowhere/at all"));
        assert!(equal(&one, &other));
        fs::remove_file(&other).unwrap();
        fs::write(&other, "nowhere/at all").unwrap();
        assert!(!equal(&one, &other));
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
    fn contents_of_several_pieces_are_copied_and_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("1"), directory.path().join("2"));
        let mut bytes = vec![3; 3 * PIECE + 17];
        fs::write(&one, &bytes).unwrap();
        assert_eq!(copy(&one, &other).unwrap().bytes, bytes.len() as u64);
        assert!(equal(&one, &other) && fs::read(&other).unwrap() == bytes);
        *bytes.last_mut().unwrap() = 4;
        fs::write(&other, &bytes).unwrap();
        assert!(!equal(&one, &other));
    }
}
