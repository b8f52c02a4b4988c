//! The router's own directory. It records by which maps the router serves. While files move from
//! the places of one map to those of another, it also records which files have moved.
//!
//! ```text
//! DIR/settled.map   places every file that has not moved
//! DIR/target.map    places the files that have moved; exists until the move is done
//! DIR/moved         the names of the files that have moved, one a line, in the order in which they did
//! DIR/moving        the move that goes on by itself: the target's epoch, and the bytes a second or -
//! DIR/repairs       the repair queue: backend, need and name of each copy, one a line
//! DIR/checks        how far the checks of all copies have come
//! DIR/log/          the durable log
//! DIR/pair          which of two routers this one is, and in which term
//! DIR/lock          held while a router runs, never removed
//! DIR/control       the socket of `stead-rrd status` and `stead-rrd move`
//! ```
//!
//! Each map is put in its place by renaming, and it is durable before the router acts on it.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use stead::Map;
use twox_hash::XxHash3_64;

use crate::dirs::{failed, hold, sync};
use crate::lock::lock;

/// The name of the file of the repair queue.
const REPAIRS: &str = "repairs";

/// The name of the file of the move that goes on by itself.
const MOVING: &str = "moving";
/// The name of the file of the checks.
const CHECKS: &str = "checks";

/// An entry of the repair queue: the backend's name, the word of the need, and the file's name.
pub type Repair = (Vec<u8>, Vec<u8>, Vec<u8>);

/// A move that goes on by itself until it is done or stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intended {
    /// The epoch of the target.
    pub epoch: u64,
    /// The most bytes to copy in a second; `None` means no limit.
    pub rate: Option<u64>,
}

/// The most bytes of names of moved files in one change.
const PART_BYTES: usize = 1 << 20;

/// A change of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Every file is where this map places it.
    Settled(Vec<u8>),
    /// Files begin to move to the places of this map.
    Target(Vec<u8>),
    /// Files have moved: their names, each with a line end.
    Moved(Vec<u8>),
    /// The repair queue, as it is stored.
    Repairs(Vec<u8>),
    /// The move that goes on by itself, as it is stored; empty if there is none.
    Moving(Vec<u8>),
}

/// A copy of the directory on another machine. It has each change before this router acts on it.
pub trait Mirror: Send + Sync {
    /// Returns when the copy has the change on its disk. Blocks. After an error, the copy may have
    /// it or not. If this succeeds, [`done`](Mirror::done) has to follow.
    fn change(&self, change: &Change) -> io::Result<()>;

    /// Reports whether the change is on this machine's disk, too. If it is not, the copy is made
    /// equal again before the router goes on.
    fn done(&self, is_here: bool);
}

/// The directory, locked by one router.
pub struct StateDir {
    dir: PathBuf,
    moved: Arc<Mutex<Option<File>>>,
    mirror: Arc<OnceLock<Arc<dyn Mirror>>>,
    _lock: File,
}

impl StateDir {
    /// Opens the directory, and makes it if it does not exist.
    pub fn open(dir: &Path) -> io::Result<StateDir> {
        fs::create_dir_all(dir).map_err(|error| failed("create", dir, error))?;
        let lock = hold(&dir.join("lock"))?;
        Ok(StateDir {
            dir: dir.to_owned(),
            moved: Arc::default(),
            mirror: Arc::default(),
            _lock: lock,
        })
    }

    /// Returns its path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Lets this copy have every change from now on.
    pub fn mirror_to(&self, mirror: Arc<dyn Mirror>) {
        let _ = self.mirror.set(mirror);
    }

    /// Applies a change of the directory that this one is a copy of. It is durable when the call
    /// returns.
    pub fn apply(&self, change: &Change) -> io::Result<()> {
        match change {
            Change::Settled(map) => self.settle(map),
            Change::Target(map) => put(&self.dir, "target.map", map),
            Change::Moved(lines) => append(&self.dir, &self.moved, lines),
            Change::Repairs(text) => put(&self.dir, REPAIRS, text),
            Change::Moving(text) => put_moving(&self.dir, text),
        }
    }

    /// Returns the changes that make an empty directory equal to this one.
    pub fn snapshot(&self) -> io::Result<Vec<Change>> {
        let mut changes = Vec::new();
        let Some(settled) = self.read("settled.map")? else {
            return Ok(changes);
        };
        changes.push(Change::Settled(settled));
        if let Some(target) = self.read("target.map")? {
            changes.push(Change::Target(target));
            let moved = self.read("moved")?.unwrap_or_default();
            let mut part = Vec::new();
            for line in moved.split_inclusive(|b| *b == b'\n') {
                part.extend_from_slice(line);
                if part.len() > PART_BYTES {
                    changes.push(Change::Moved(std::mem::take(&mut part)));
                }
            }
            changes.push(Change::Moved(part));
        }
        changes.push(Change::Repairs(self.read(REPAIRS)?.unwrap_or_default()));
        changes.push(Change::Moving(self.read(MOVING)?.unwrap_or_default()));
        Ok(changes)
    }

    /// Returns a checksum of everything that travels to a copy.
    pub fn digest(&self) -> io::Result<u64> {
        let mut all = Vec::new();
        for change in self.snapshot()? {
            let (kind, bytes) = change.parts();
            // parts of one file are one file
            if kind != b'm' || all.last().is_none_or(|(last, _)| *last != kind) {
                all.push((kind, Vec::new()));
            }
            if let Some((_, whole)) = all.last_mut() {
                whole.extend_from_slice(bytes);
            }
        }
        let mut text = Vec::new();
        for (kind, bytes) in all {
            text.push(kind);
            text.extend_from_slice(&XxHash3_64::oneshot(&bytes).to_le_bytes());
        }
        Ok(XxHash3_64::oneshot(&text))
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.dir.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, error)),
        }
    }

    /// Returns the map that places the files that have not moved, or `None` at the very first
    /// start.
    pub fn settled(&self) -> io::Result<Option<Map>> {
        self.map("settled.map")
    }

    /// Returns the map to whose places files move, and the names of the files that have moved.
    pub fn target(&self) -> io::Result<Option<(Map, HashSet<Vec<u8>>)>> {
        let Some(map) = self.map("target.map")? else {
            return Ok(None);
        };
        let path = self.dir.join("moved");
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed("read", &path, error)),
        };
        // a name that a crash has cut off counts as not moved; it is removed here
        let whole = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        if whole < bytes.len() {
            bytes.truncate(whole);
            let cut = OpenOptions::new()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_len(whole as u64));
            cut.map_err(|error| failed("cut", &path, error))?;
        }
        let names = bytes
            .split(|b| *b == b'\n')
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec);
        Ok(Some((map, names.collect())))
    }

    fn map(&self, name: &str) -> io::Result<Option<Map>> {
        let path = self.dir.join(name);
        match Map::open_uncached(&path) {
            Ok(map) => Ok(Some(map)),
            Err(error) if error.status() == stead::Status::NotFound => Ok(None),
            Err(error) => {
                let todo = "restore it; without it nobody knows where the files are";
                Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{error}; {todo}"),
                ))
            }
        }
    }

    /// Records that every file is where this map places it. Blocks.
    pub fn settle_on(&self, map: &Map) -> io::Result<()> {
        let change = Change::Settled(map.bytes().to_vec());
        mirrored(&self.mirror, &change, || self.settle(map.bytes()))
    }

    fn settle(&self, map: &[u8]) -> io::Result<()> {
        put(&self.dir, "settled.map", map)?;
        *lock(&self.moved) = None;
        // in this order, because without a target the names mean nothing
        for name in ["target.map", "moved"] {
            remove(&self.dir.join(name))?;
            self.sync()?;
        }
        Ok(())
    }

    /// Records that files begin to move to the places of this map. Blocks.
    pub fn move_to(&self, map: &Map) -> io::Result<()> {
        let change = Change::Target(map.bytes().to_vec());
        mirrored(&self.mirror, &change, || {
            put(&self.dir, "target.map", map.bytes())
        })
    }

    /// Records that a file has moved. This is durable when the call returns.
    pub async fn note_moved(&self, name: &[u8]) -> io::Result<()> {
        let (dir, moved) = (self.dir.clone(), Arc::clone(&self.moved));
        let mirror = Arc::clone(&self.mirror);
        let line = [name, b"\n"].concat();
        let write = move || {
            let change = Change::Moved(line.clone());
            mirrored(&mirror, &change, || append(&dir, &moved, &line))
        };
        tokio::task::spawn_blocking(write)
            .await
            .map_err(io::Error::other)?
    }

    /// Returns the stored repair queue: backend, need and name of each entry.
    pub fn repairs(&self) -> io::Result<Vec<Repair>> {
        let path = self.dir.join(REPAIRS);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed("read", &path, error)),
        };
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let entry = |line: &[u8]| {
            let mut words = line.splitn(3, |b| *b == b'\t').map(<[u8]>::to_vec);
            Some((words.next()?, words.next()?, words.next()?))
        };
        lines
            .map(|line| {
                entry(line).ok_or_else(|| {
                    let line = String::from_utf8_lossy(line).into_owned();
                    let text = format!("{}: not an entry: {line:?}", path.display());
                    io::Error::new(io::ErrorKind::InvalidData, text)
                })
            })
            .collect()
    }

    /// Stores the repair queue. It is durable when the call returns.
    pub async fn store_repairs(&self, entries: Vec<Repair>) -> io::Result<()> {
        let (dir, mirror) = (self.dir.clone(), Arc::clone(&self.mirror));
        let store = move || {
            let mut text = Vec::new();
            for (backend, need, name) in entries {
                text.extend([&backend[..], &need, &name].join(&b'\t'));
                text.push(b'\n');
            }
            let change = Change::Repairs(text.clone());
            mirrored(&mirror, &change, || put(&dir, REPAIRS, &text))
        };
        tokio::task::spawn_blocking(store)
            .await
            .map_err(io::Error::other)?
    }

    /// Returns the move that goes on by itself.
    pub fn intended(&self) -> io::Result<Option<Intended>> {
        let path = self.dir.join(MOVING);
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path, error)),
        };
        let read = || {
            let (epoch, rate) = text.strip_suffix('\n')?.split_once(' ')?;
            let rate = match rate {
                "-" => None,
                bytes => Some(bytes.parse().ok()?),
            };
            let epoch = epoch.parse().ok()?;
            Some(Intended { epoch, rate })
        };
        read().map(Some).ok_or_else(|| {
            let text = format!(
                "{}: not an epoch and a rate: {text:?}; remove the file, and run stead-rrd move \
                again",
                path.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }

    /// Stores which move goes on by itself. It is durable when the call returns.
    pub async fn intend(&self, intended: Option<Intended>) -> io::Result<()> {
        let text = intended.map_or(String::new(), |Intended { epoch, rate }| {
            let rate = rate.map_or("-".to_owned(), |bytes| bytes.to_string());
            format!("{epoch} {rate}\n")
        });
        let (dir, mirror) = (self.dir.clone(), Arc::clone(&self.mirror));
        tokio::task::spawn_blocking(move || {
            let change = Change::Moving(text.into_bytes());
            let (_, text) = change.parts();
            mirrored(&mirror, &change, || put_moving(&dir, text))
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Returns what was stored of the checks.
    pub fn checks(&self) -> io::Result<Option<Vec<u8>>> {
        let path = self.dir.join(CHECKS);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, error)),
        }
    }

    /// Stores how far the checks have come. It is durable when the call returns.
    pub async fn store_checks(&self, text: Vec<u8>) -> io::Result<()> {
        let dir = self.dir.clone();
        tokio::task::spawn_blocking(move || put(&dir, CHECKS, &text))
            .await
            .map_err(io::Error::other)?
    }

    fn sync(&self) -> io::Result<()> {
        sync_names(&self.dir)
    }
}

/// Stores the move that goes on by itself; none if the text is empty.
fn put_moving(dir: &Path, text: &[u8]) -> io::Result<()> {
    if !text.is_empty() {
        return put(dir, MOVING, text);
    }
    remove(&dir.join(MOVING))?;
    sync_names(dir)
}

/// Removes a file that may be gone.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path, error)),
        _ => Ok(()),
    }
}

impl Change {
    /// Returns the letter of its kind, and its bytes.
    pub fn parts(&self) -> (u8, &[u8]) {
        match self {
            Change::Settled(bytes) => (b's', bytes),
            Change::Target(bytes) => (b't', bytes),
            Change::Moved(bytes) => (b'm', bytes),
            Change::Repairs(bytes) => (b'r', bytes),
            Change::Moving(bytes) => (b'g', bytes),
        }
    }

    /// Returns the change of this letter and these bytes.
    pub fn of(kind: u8, bytes: Vec<u8>) -> Option<Change> {
        Some(match kind {
            b's' => Change::Settled(bytes),
            b't' => Change::Target(bytes),
            b'm' => Change::Moved(bytes),
            b'r' => Change::Repairs(bytes),
            b'g' => Change::Moving(bytes),
            _ => return None,
        })
    }
}

/// Makes a change, first in the copy if there is one.
fn mirrored(
    mirror: &OnceLock<Arc<dyn Mirror>>,
    change: &Change,
    write: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let Some(mirror) = mirror.get() else {
        return write();
    };
    mirror.change(change)?;
    let written = write();
    mirror.done(written.is_ok());
    written
}

/// Appends lines to the list of the files that have moved.
fn append(dir: &Path, moved: &Mutex<Option<File>>, lines: &[u8]) -> io::Result<()> {
    let path = dir.join("moved");
    let mut moved = lock(moved);
    let mut file = match moved.take() {
        Some(file) => file,
        None => {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(&path)
                .map_err(|error| failed("open", &path, error))?;
            sync_names(dir)?;
            file
        }
    };
    let length = file
        .metadata()
        .map_err(|error| failed("read", &path, error))?
        .len();
    let written = file.write_all(lines).and_then(|()| file.sync_data());
    if let Err(error) = written {
        // a half-written name must not become the start of the next one
        let _ = file.set_len(length);
        return Err(failed("write", &path, error));
    }
    *moved = Some(file);
    Ok(())
}

/// Puts a file in its place by renaming.
pub(crate) fn put(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (path, new) = (dir.join(name), dir.join(format!("{name}.tmp")));
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, &path)
    };
    write().map_err(|error| failed("write", &path, error))?;
    sync_names(dir)
}

fn sync_names(dir: &Path) -> io::Result<()> {
    sync(dir).map_err(|error| failed("sync the directory", dir, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map([a, b]: [u32; 2]) -> Map {
        let node = |name, weight| format!("[[node]]\nname = \"{name}\"\nweight = {weight}\n");
        let fleet = ["name = \"t\"\n".to_owned(), node("a", a), node("b", b)].concat();
        stead::build(&stead::Fleet::parse(&fleet, "t").unwrap(), None).unwrap()
    }

    #[tokio::test]
    async fn what_has_moved_is_known_after_a_crash_and_a_torn_name_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("new")).unwrap();
        assert!(state.settled().unwrap().is_none() && state.target().unwrap().is_none());
        state.settle_on(&map([1, 1])).unwrap();
        state.move_to(&map([1, 2])).unwrap();
        state.note_moved(b"c/a b").await.unwrap();
        state.note_moved(b"c/\xff").await.unwrap();
        let file = state.dir().join("moved");
        let mut bytes = fs::read(&file).unwrap();
        bytes.extend_from_slice(b"c/tor");
        fs::write(&file, bytes).unwrap();
        let dir = state.dir().to_owned();
        drop(state);
        let state = StateDir::open(&dir).unwrap();
        let (target, moved) = state.target().unwrap().unwrap();
        assert_eq!(target.digest(), map([1, 2]).digest());
        assert_eq!(
            moved,
            HashSet::from([b"c/a b".to_vec(), b"c/\xff".to_vec()])
        );
        state.note_moved(b"d").await.unwrap();
        assert_eq!(state.target().unwrap().unwrap().1.len(), 3);
        state.settle_on(&target).unwrap();
        assert!(state.target().unwrap().is_none());
        assert_eq!(state.settled().unwrap().unwrap().digest(), target.digest());
    }

    #[tokio::test]
    async fn the_repair_queue_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.repairs().unwrap(), []);
        let entry = |name: &[u8]| (b"a".to_vec(), b"missing".to_vec(), name.to_vec());
        let entries = vec![entry(b"c/a b"), entry(b"c/\xff")];
        state.store_repairs(entries.clone()).await.unwrap();
        assert_eq!(state.repairs().unwrap(), entries);
        state.store_repairs(Vec::new()).await.unwrap();
        assert_eq!(state.repairs().unwrap(), []);
        fs::write(dir.path().join(REPAIRS), "a\tmissing\n").unwrap();
        assert!(state.repairs().is_err());
    }

    #[tokio::test]
    async fn the_move_that_goes_on_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.intended().unwrap(), None);
        for rate in [None, Some(1 << 40)] {
            let intended = Some(Intended { epoch: 7, rate });
            state.intend(intended.clone()).await.unwrap();
            assert_eq!(state.intended().unwrap(), intended);
        }
        for _ in 0..2 {
            state.intend(None).await.unwrap();
            assert_eq!(state.intended().unwrap(), None);
        }
        for bad in ["", "7\n", "7 8", "7 x\n", "x -\n", "7 - \n", "7 -\n\n"] {
            fs::write(dir.path().join(MOVING), bad).unwrap();
            let error = state.intended().unwrap_err().to_string();
            assert!(error.contains("moving: not an epoch"), "{error}");
        }
    }

    #[tokio::test]
    async fn the_place_of_a_check_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        assert_eq!(state.checks().unwrap(), None);
        state.store_checks(b"{}".to_vec()).await.unwrap();
        assert_eq!(state.checks().unwrap().as_deref(), Some(&b"{}"[..]));
    }

    #[tokio::test]
    async fn a_copy_becomes_equal_by_a_snapshot_and_stays_equal_by_the_changes() {
        /// A copy that can be unreachable.
        struct Copy(StateDir, std::sync::atomic::AtomicBool);

        impl Mirror for Copy {
            fn change(&self, change: &Change) -> io::Result<()> {
                if self.1.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(io::ErrorKind::NotConnected.into());
                }
                let (kind, bytes) = change.parts();
                self.0.apply(&Change::of(kind, bytes.to_vec()).unwrap())
            }

            fn done(&self, is_here: bool) {
                assert!(is_here);
            }
        }

        let place = tempfile::tempdir().unwrap();
        let state = StateDir::open(&place.path().join("one")).unwrap();
        state.settle_on(&map([1, 1])).unwrap();
        state.move_to(&map([1, 2])).unwrap();
        let lines: String = (0..50_000)
            .map(|n| format!("a/file/with/a/name/of/some/length/{n}\n"))
            .collect();
        append(state.dir(), &state.moved, lines.as_bytes()).unwrap();
        let copy = StateDir::open(&place.path().join("two")).unwrap();
        let changes = state.snapshot().unwrap();
        assert!(changes.len() > 4, "the names come in parts");
        assert_ne!(copy.digest().unwrap(), state.digest().unwrap());
        changes.iter().for_each(|c| copy.apply(c).unwrap());
        let same = |copy: &StateDir| copy.digest().unwrap() == state.digest().unwrap();
        assert!(same(&copy));
        assert_eq!(copy.target().unwrap().unwrap().1.len(), 50_000);
        let copy = Arc::new(Copy(copy, Default::default()));
        state.mirror_to(copy.clone());
        state.note_moved(b"c/a b").await.unwrap();
        assert!(same(&copy.0));
        let entry = (b"a".to_vec(), b"missing".to_vec(), b"c/x".to_vec());
        state.store_repairs(vec![entry]).await.unwrap();
        assert!(same(&copy.0));
        // a change that the copy does not have is not made here, either
        let before = state.digest().unwrap();
        copy.1.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(state.note_moved(b"c/never").await.is_err());
        assert!(state.settle_on(&map([1, 2])).is_err());
        assert_eq!(state.digest().unwrap(), before);
        copy.1.store(false, std::sync::atomic::Ordering::Relaxed);
        state.settle_on(&map([1, 2])).unwrap();
        assert!(same(&copy.0) && copy.0.target().unwrap().is_none());
    }

    #[test]
    fn a_damaged_map_is_an_error_and_not_a_first_start() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        state.settle_on(&map([1, 1])).unwrap();
        let path = dir.path().join("settled.map");
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(state
            .settled()
            .unwrap_err()
            .to_string()
            .contains("settled.map"));
    }
}
