//! Opening: makes a verified map from a file or from bytes.

use std::any::Any;
use std::fmt;
#[cfg(unix)]
use std::fs::{File, Metadata, OpenOptions};
#[cfg(unix)]
use std::io::{self, Read};
use std::ops::Deref;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
#[cfg(unix)]
use std::path::Path;
use std::sync::atomic::AtomicUsize;

use once_cell::race::OnceBox;

use super::buckets::Buckets;
use super::domains::Domains;
use super::finder::Finder;
use super::permits::Permits;
use crate::error::{Error, Result};
use crate::format::{
    encode_sealed, header, hex, verify, verify_sealed, Checked, NodeLists, Parts, PEEK,
};
#[cfg(unix)]
use crate::mmap::Mapping;
use crate::point::Share;

/// A file up to this size is read into our own memory; a larger one is mapped and shared. Reading 1
/// MiB takes less than a millisecond, and no other process can truncate our own copy.
#[cfg(unix)]
pub(super) const COPY_UP_TO: u64 = 1 << 20;

/// A larger file is refused before it is read. 1 GiB is a hundred times the size of a map of 1000
/// nodes that joined one by one.
#[cfg(unix)]
const MOST_BYTES: u64 = 1 << 30;

/// How often a file is read, at most, while it keeps changing.
#[cfg(unix)]
const TRIES: u32 = 3;

/// An immutable, verified map.
///
/// Opening checks the digest and every rule of docs/map-format.md before any answer is given. Any
/// number of threads may use a `&Map` at once.
pub struct Map {
    pub(super) bytes: Bytes,
    pub(super) checked: Checked,
    pub(super) finder: Finder,
    /// computed when it is first needed; not under a lock, for the reason below
    pub(super) domains: OnceBox<Domains>,
    /// what a binding keeps with the map; this must not be a lock, because a process that forks
    /// while it is held would leave it locked in its child for ever
    kept: OnceBox<Box<dyn Any + Send + Sync>>,
    /// the same for what is computed of this map and another one
    beside: OnceBox<Box<dyn Any + Send + Sync>>,
    /// how many points were asked for in batches, as long as there is no table of buckets
    pub(super) asked: AtomicUsize,
    pub(super) buckets: OnceBox<Buckets>,
    permits: Permits,
}

/// Where the bytes of a map are.
pub(super) enum Bytes {
    Own(Vec<u8>),
    #[cfg(unix)]
    Shared(Mapping),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Own(bytes) => bytes,
            #[cfg(unix)]
            Bytes::Shared(mapping) => mapping,
        }
    }
}

/// The state of a file: if it changes, so does the stamp.
#[cfg(unix)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub device: u64,
    pub inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[cfg(unix)]
impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Stamp {
        Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether the bytes of the file are the same in both states. Replacing, linking or chmod
    /// changes the time of change, but not the bytes.
    fn same_contents(&self, other: &Stamp) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }

    /// Whether this is the same file on disk, whatever was done to it.
    pub(super) fn same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl Map {
    fn new(bytes: Bytes, checked: Checked) -> Map {
        Map {
            finder: Finder::of(&checked.layout, &bytes),
            bytes,
            checked,
            domains: OnceBox::new(),
            kept: OnceBox::new(),
            beside: OnceBox::new(),
            asked: AtomicUsize::new(0),
            buckets: OnceBox::new(),
            permits: Permits::default(),
        }
    }

    /// Opens a map file without the cache of open maps, and reads it into memory whatever its size.
    /// Cost: one SHA-256 and one pass over the file.
    #[cfg(unix)]
    pub fn open_uncached(path: impl AsRef<Path>) -> Result<Map> {
        open(path.as_ref(), MOST_BYTES).map(|(map, _, _)| map)
    }

    /// Verifies these bytes and makes a map of them.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Map> {
        let checked = verify(&bytes)?;
        Ok(Map::new(Bytes::Own(bytes), checked))
    }

    /// Makes a map of parts, whose policies the unnamed ones follow. All rules are checked, as in
    /// [`Map::from_bytes`].
    pub(crate) fn from_parts(parts: &Parts, unnamed: &NodeLists) -> Result<Map> {
        let sealed = encode_sealed(parts, unnamed);
        let checked = verify_sealed(&sealed)?;
        Ok(Map::new(Bytes::Own(sealed.into_bytes()), checked))
    }

    /// Returns how much `[guard] move` of the fleet permits one publish to move, as a part of all
    /// copies; `None` when there is no limit.
    ///
    /// Only a map that [`build`](crate::build()) made, or that was read from a saved plan, knows
    /// it: the bytes of a map do not have it, so that they depend on the placement alone.
    pub fn move_limit(&self) -> Option<Share> {
        self.permits.move_limit
    }

    /// Returns what the fleet lets publishing do. As [`Map::move_limit`], it is known only of a map
    /// that was built, or that was read from a saved plan.
    pub(crate) fn permits(&self) -> Permits {
        self.permits
    }

    /// Returns the same map, whose fleet lets publishing do this.
    pub(crate) fn with_permits(self, permits: Permits) -> Map {
        Map { permits, ..self }
    }

    /// Whether the bytes are in our own memory, where nobody can truncate them.
    pub(super) fn is_copy(&self) -> bool {
        matches!(self.bytes, Bytes::Own(_))
    }

    /// Returns the bytes of the map file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns a value that a binding keeps with this map, such as its names in the form of another
    /// language. Everybody who holds the map shares the value, also through the cache. It lives as
    /// long as the map.
    ///
    /// The first call makes the value. (If several first calls run at once, each makes one, and one
    /// of them stays. A call that fails leaves nothing.) A map keeps a single value: returns `None`
    /// if it already keeps one of another type.
    pub fn kept<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&Map) -> Result<T>,
    ) -> Result<Option<&T>> {
        let kept = self
            .kept
            .get_or_try_init(|| Ok::<_, Error>(Box::new(Box::new(make(self)?) as Box<_>)))?;
        Ok(kept.downcast_ref())
    }
}

impl Map {
    /// Returns what is kept beside this map: what a pair needs of the map where the data was. The
    /// first call makes it, as in [`Map::kept`]; a call that fails leaves nothing.
    pub(crate) fn beside<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<&T> {
        let beside = self
            .beside
            .get_or_try_init(|| Ok::<_, Error>(Box::new(Box::new(make()?) as Box<_>)))?;
        beside.downcast_ref().ok_or_else(|| Error::Internal {
            problem: "a map keeps something of another type beside it".into(),
        })
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = hex(&self.digest());
        let start = digest.get(..16).unwrap_or_default();
        write!(f, "Map({} epoch {} {start}..)", self.name(), self.epoch())
    }
}

/// Opens and verifies a map. Also returns the open file and its stamp, for callers that watch the
/// file.
#[cfg(unix)]
pub(super) fn open(path: &Path, copy_up_to: u64) -> Result<(Map, File, Stamp)> {
    for _ in 0..TRIES {
        // O_NONBLOCK: opening a FIFO must not wait for a writer; the check below then refuses it
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(|e| Error::io("open", path, e))?;
        let meta = file.metadata().map_err(|e| Error::io("stat", path, e))?;
        if !meta.is_file() {
            let what = if meta.is_dir() {
                "a directory"
            } else {
                "not a regular file"
            };
            return Err(Error::NoFile {
                file: path.to_owned(),
                what,
            });
        }
        if meta.size() > MOST_BYTES {
            return Err(format_error(
                path,
                format!(
                    "the file has {} bytes; a map has at most {MOST_BYTES}",
                    meta.size()
                ),
            ));
        }
        let bytes = if meta.size() <= copy_up_to {
            copied(&mut file, path, meta.size()).map(Bytes::Own)
        } else {
            Mapping::of(&file)
                .map(Bytes::Shared)
                .map_err(|e| Error::io("map", path, e))
        };
        let verified = bytes.and_then(|bytes| Ok((verify(&bytes)?, bytes)));
        let after = file.metadata().map_err(|e| Error::io("stat", path, e))?;
        let stamp = Stamp::of(&after);
        if !stamp.same_contents(&Stamp::of(&meta)) {
            continue; // written while we read: our bytes may mix old and new
        }
        let (checked, bytes) = verified.map_err(|e| e.in_file(path))?;
        return Ok((Map::new(bytes, checked), file, stamp));
    }
    Err(Error::Changed {
        file: path.to_owned(),
    })
}

/// Reads a file into our own memory. Checks the header before it allocates memory for the rest: a
/// large file that is not a map takes no memory, and a lack of memory is an error.
#[cfg(unix)]
fn copied(file: &mut File, path: &Path, size: u64) -> Result<Vec<u8>> {
    let read = |e| Error::io("read", path, e);
    let mut bytes = Vec::with_capacity(PEEK);
    file.take(PEEK as u64)
        .read_to_end(&mut bytes)
        .map_err(read)?;
    header(&bytes, size)?;
    // one byte more than stat said, to notice a file that grows
    let rest = (size + 1).saturating_sub(bytes.len() as u64);
    bytes
        .try_reserve_exact(rest as usize)
        .map_err(|_| read(io::Error::from_raw_os_error(libc::ENOMEM)))?;
    file.take(rest).read_to_end(&mut bytes).map_err(read)?;
    Ok(bytes)
}

#[cfg(unix)]
fn format_error(path: &Path, problem: String) -> Error {
    Error::Format {
        file: Some(path.to_owned()),
        offset: 0,
        problem,
    }
}
