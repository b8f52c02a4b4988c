//! What is done with the items below one root of this machine. A carrier does it itself, or an
//! agent does it for a carrier at another machine.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::carry::base64_bytes::Bytes;
use crate::carry::kind::{Added, Dates, Disk, Done, Fault, Ground, Item, Moment, Version};
use crate::carry::pattern::Pattern;
use crate::carry::stamp::{is_absent, Stamp};
use crate::carry::walk::Walk;
use crate::carry::whole_file::{
    exchange, rename_without_replacing, write, Head, Keep, Looks, Piece, Reading,
};
use crate::carry::wire::sent;

use super::options::FilesOptions;
use super::own::{absent_is_fine, fault, Own};
use super::standing_on::ground;

/// How many bytes there are in a block, as the system counts what a file takes of its disk.
const BLOCK: u64 = 512;

/// What is at the place of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Room {
    /// Something.
    Taken,
    /// Nothing.
    Free,
    /// Nothing, and the directory is not there either.
    NoDirectory,
}

/// An item as it was seen: its version, and what its value is told by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The version.
    pub version: Bytes,
    /// A digest of the value, which is the same at every root.
    pub value: Bytes,
}

/// What travels before the pieces of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// The version that is read.
    pub read: Bytes,
    /// The looks of the directories above, from the root on, where they are needed.
    above: Vec<Option<Looks>>,
    pub head: Head,
}

/// What puts a file that travels in its place, given what stands before it and its pieces.
pub type Taking<'a> =
    dyn FnMut(&Opening, &mut dyn FnMut() -> Done<Option<Piece>>) -> Done<Added> + 'a;

/// What a listing left alone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Left {
    /// How many paths do not fit.
    pub count: u64,
    /// One of them.
    pub example: Option<Bytes>,
    /// How many directories of keys have nothing in them.
    pub empty: u64,
    /// One of them.
    pub empty_example: Option<Bytes>,
}

/// A root.
pub struct Root {
    path: PathBuf,
    pattern: Pattern,
    marker: Option<String>,
    keep: Keep,
    /// the directory of temporary files
    pub own: Own,
    /// the directories that have names which are not durable yet
    touched: Mutex<BTreeSet<PathBuf>>,
    /// what it was when it was last ready
    known: Mutex<Option<Known>>,
}

/// A root as it was when it was ready.
#[derive(Clone)]
struct Known {
    /// The name of the node.
    node: String,
    /// The device and the inode.
    place: (u64, u64),
    /// What it stood on; `None` when it was not ready.
    ground: Option<Ground>,
}

impl Root {
    /// Returns a root, with temporary files in its directory `own`.
    ///
    /// Errors: a pattern that is none.
    pub fn new(path: PathBuf, options: &FilesOptions, own: &str) -> Result<Root, String> {
        Ok(Root {
            own: Own::new(path.join(own)),
            path,
            pattern: Pattern::parse(&options.pattern)?,
            marker: options.marker.clone(),
            keep: Keep {
                owner: options.owner,
                attributes: options.attributes,
            },
            touched: Mutex::default(),
            known: Mutex::default(),
        })
    }

    fn place(&self, item: &Item) -> PathBuf {
        self.path.join(OsStr::from_bytes(&item.name))
    }

    /// Checks that this is the root of a node. Returns what tells it from all others, and what it
    /// stands on.
    pub fn ready(&self, node: &str) -> Done<(String, Ground)> {
        let (place, ground) = self.looked(node)?;
        *lock(&self.known) = Some(Known {
            node: node.to_owned(),
            place,
            ground: Some(ground.clone()),
        });
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let name = format!("{} {} {}", machine.trim(), place.0, place.1);
        Ok((name, ground))
    }

    /// Returns what the root stood on when it was last ready.
    pub fn ground(&self) -> Option<Ground> {
        lock(&self.known).as_ref()?.ground.clone()
    }

    /// Checks that this is the root of a node. Returns its device and inode, and what it stands on.
    fn looked(&self, node: &str) -> Done<((u64, u64), Ground)> {
        let told =
            |problem: &str| format!("node {node}: its root {} {problem}", self.path.display());
        let wrong = |problem: &str| Fault::final_one(told(problem));
        if !self.path.is_absolute() {
            return Err(wrong(
                "is not an absolute path; write it from / on, or as HOST:/PATH, in files.root or in \
                 the attribute that it names",
            ));
        }
        let meta = match fs::metadata(&self.path) {
            Ok(meta) if meta.is_dir() => meta,
            Ok(_) => return Err(wrong("is not a directory")),
            Err(error) => {
                return Err(wrong(&format!(
                    "cannot be used: {error}; mount it, or make it if the node is new"
                )))
            }
        };
        if let Some(marker) = &self.marker {
            let text = fs::read_to_string(self.path.join(marker)).map_err(|error| {
                wrong(&format!(
                    "has no marker {marker} ({error}); is it mounted? a new node needs this file, \
                     with the name of the node in it"
                ))
            })?;
            if text.trim() != node {
                let text: String = text.trim().chars().take(80).collect();
                return Err(Fault::of_one_that_is_there(told(&format!(
                    "is that of another node: its marker {marker} says {text:?}"
                ))));
            }
        }
        let ground = ground(&self.path).map_err(|error| wrong(&format!("cannot be used: {error}")));
        Ok(((meta.dev(), meta.ino()), ground?))
    }

    /// Remembers that this is the root of a node, which stood on `ground` when it was last ready.
    /// While the root is not there, or stands on something else, a write fails, and so does a look
    /// at an item that is not found.
    pub fn expect(&self, node: &str, ground: Option<Ground>) {
        let is_there = self.ready(node).is_ok_and(|(_, now)| {
            let then = ground.as_ref();
            then.is_none_or(|then| then.is_same(&now))
        });
        if !is_there {
            *lock(&self.known) = Some(Known {
                node: node.to_owned(),
                // no directory has this number
                place: (0, 0),
                ground,
            });
        }
    }

    /// Checks that the root is still the one that was ready: a mount may have gone away, and what
    /// was mounted there would look as if it were gone, or would be written below the mount point.
    /// A root that is mounted again may be another device, so its marker decides where it has one.
    fn still(&self) -> Done {
        let Some(known) = lock(&self.known).clone() else {
            return Ok(());
        };
        let node = &known.node;
        let is_other = || {
            Err(Fault::passing(format_args!(
                "node {node}: its root {} is no more the directory that it was when the state began; \
                 is it mounted?",
                self.path.display()
            )))
        };
        match fs::metadata(&self.path) {
            Ok(meta) if (meta.dev(), meta.ino()) == known.place => return Ok(()),
            Ok(_) if self.marker.is_none() => return is_other(),
            _ => {}
        }
        // the same words as when the state begins
        let (place, now) = self
            .looked(node)
            .map_err(|fault| Fault::passing(fault.line))?;
        // below a mount point, there may be a marker, too
        if known
            .ground
            .as_ref()
            .is_some_and(|then| !then.is_same(&now))
        {
            return is_other();
        }
        *lock(&self.known) = Some(Known {
            place,
            ground: Some(now),
            ..known
        });
        Ok(())
    }

    /// Returns an answer. That there is nothing counts only if the root is still there.
    fn if_still<T>(&self, found: Option<T>) -> Done<Option<T>> {
        if found.is_none() {
            self.still()?;
        }
        Ok(found)
    }

    /// Returns the mark of the root if there is any item, and `None` otherwise.
    pub fn holding(&self) -> Done<Option<String>> {
        let mut holds = false;
        let mut each = |_| {
            holds = true;
            false
        };
        self.keys(None, &AtomicBool::new(false), &mut each)?;
        holds.then(|| self.own.mark()).transpose()
    }

    /// Calls `each` for the items, until it returns `false`. Returns what was left alone, where the
    /// listing has begun at the start.
    pub fn keys(
        &self,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done<Left> {
        let mut walk = Walk::new(&self.path, &self.pattern, self.marker.as_deref(), after)
            .map_err(|error| fault("cannot list", &self.path, &error))?;
        while !stop.load(Ordering::Relaxed) {
            let item = walk
                .next()
                .map_err(|(path, error)| fault("cannot list", &path, &error))?;
            let goes_on = self.if_still(item)?.is_some_and(&mut *each);
            if !goes_on {
                break;
            }
        }
        Ok(Left {
            count: walk.left,
            example: walk.example.map(Bytes),
            empty: walk.empty,
            empty_example: walk.empty_example.map(Bytes),
        })
    }

    /// Returns the version of an item.
    pub fn version(&self, item: &Item) -> Done<Option<Bytes>> {
        let path = self.place(item);
        let stamp = Stamp::at(&path).map_err(|error| fault("cannot look at", &path, &error))?;
        self.if_still(stamp.map(|stamp| sent(&stamp.version())))
    }

    /// Returns when an item was changed last: the time of change of its inode, which no program
    /// sets, unlike the time of the content.
    pub fn written(&self, item: &Item) -> Done<Option<Moment>> {
        let path = self.place(item);
        let stamp = Stamp::at(&path).map_err(|error| fault("cannot look at", &path, &error))?;
        self.if_still(stamp.map(|stamp| stamp.changed()))
    }

    /// Returns the times of an item.
    pub fn dates(&self, item: &Item) -> Done<Option<Dates>> {
        let path = self.place(item);
        let stamp = Stamp::at(&path).map_err(|error| fault("cannot look at", &path, &error))?;
        self.if_still(stamp.map(|stamp| stamp.dates()))
    }

    /// Returns how many bytes items take of the disk. The holes of a file take none, and are copied
    /// as holes.
    pub fn sizes(&self, items: impl Iterator<Item = Item>) -> Done<Vec<u64>> {
        let size = |item: Item| match fs::symlink_metadata(self.place(&item)) {
            Ok(meta) => Ok(meta.blocks().saturating_mul(BLOCK)),
            Err(error) if is_absent(&error) => Ok(0),
            Err(error) => Err(fault("cannot look at", &self.place(&item), &error)),
        };
        items.map(size).collect()
    }

    /// Returns the disk of the root.
    pub fn disk(&self) -> Done<Disk> {
        let failed = |error| fault("cannot look at", &self.path, &error);
        let device = fs::metadata(&self.path).map_err(failed)?.dev();
        let room = rustix::fs::statvfs(&self.path).map_err(|error| failed(error.into()))?;
        Ok(Disk {
            name: device.to_string(),
            free: room.f_bavail.saturating_mul(room.f_frsize),
        })
    }

    /// Returns whether an item can be added.
    pub fn room(&self, item: &Item) -> Done<Room> {
        Ok(match self.version(item)? {
            Some(_) => Room::Taken,
            None if self.place(item).parent().is_some_and(Path::is_dir) => Room::Free,
            None => Room::NoDirectory,
        })
    }

    /// Returns the version and the digest of an item.
    pub fn look(&self, item: &Item) -> Done<Option<Seen>> {
        let path = self.place(item);
        let look = |error| fault("cannot look at", &path, &error);
        let stamp = Stamp::settled(&path).map_err(look)?;
        let Some(stamp) = self.if_still(stamp)? else {
            return Ok(None);
        };
        match Reading::open(&path, NOTHING).and_then(Reading::digest) {
            Ok(value) => Ok(Some(Seen {
                version: sent(&stamp.version()),
                value: Bytes(value),
            })),
            // gone meanwhile
            Err(error) if is_absent(&error) => self.if_still(None),
            Err(error) => Err(fault("cannot read", &path, &error)),
        }
    }

    /// Opens an item that is to travel, if there is one. With `above`, the looks of its directories
    /// come along.
    pub fn open(&self, item: &Item, above: bool) -> Done<Option<(Opening, Reading)>> {
        let path = self.place(item);
        let look = |error| fault("cannot look at", &path, &error);
        let stamp = Stamp::settled(&path).map_err(look)?;
        let Some(stamp) = self.if_still(stamp)? else {
            return Ok(None);
        };
        let reading = match Reading::open(&path, self.keep) {
            Err(error) if is_absent(&error) => return self.if_still(None),
            reading => reading.map_err(|error| fault("cannot read", &path, &error))?,
        };
        let opening = Opening {
            read: sent(&stamp.version()),
            above: match above {
                true => self.above(item),
                false => Vec::new(),
            },
            head: reading.head.clone(),
        };
        Ok(Some((opening, reading)))
    }

    /// Returns the looks of the directories above an item. One that is gone has none; then the item
    /// is gone, too.
    fn above(&self, item: &Item) -> Vec<Option<Looks>> {
        let mut directory = self.path.clone();
        let looks = |name| {
            directory.push(name);
            let file = File::open(&directory).ok();
            let meta = fs::metadata(&directory).ok()?;
            Looks::of(&meta, file.as_ref(), self.keep).ok()
        };
        levels(item).into_iter().map(looks).collect()
    }

    /// Writes an item that travels here, if nothing is in its place, or in the place of the version
    /// `over`.
    pub fn take(
        &self,
        item: &Item,
        opening: &Opening,
        next: &mut dyn FnMut() -> Done<Option<Piece>>,
        over: Option<&Version>,
        token: Option<&str>,
    ) -> Done<Added> {
        self.still()?;
        let beside = self.own.beside()?;
        let added = self.take_by(item, opening, next, over, token, &beside);
        if !matches!(added, Ok(Added::Copied { .. })) {
            // absent when it was never made
            let _ = fs::remove_file(&beside);
        }
        added
    }

    /// Writes an item to `beside`, and renames it to its place.
    fn take_by(
        &self,
        item: &Item,
        opening: &Opening,
        next: &mut dyn FnMut() -> Done<Option<Piece>>,
        over: Option<&Version>,
        token: Option<&str>,
        beside: &Path,
    ) -> Done<Added> {
        let target = self.place(item);
        let failed = |error| fault("cannot write", &target, &error);
        let fresh = write(beside, &opening.head, next, self.keep)?.map_err(failed)?;
        self.make_directories(item, &opening.above)?;
        let _passed = self.own.passed(token)?;
        let is_there = match over {
            None => rename_without_replacing(beside, &target).map_err(failed)?,
            Some(version) => take_the_place(beside, &target, version).map_err(failed)?,
        };
        if !is_there {
            return Ok(Added::Present);
        }
        self.touch(target.parent());
        let wrote = fresh.metadata().map_err(failed)?;
        Ok(Added::Copied {
            read: Version(opening.read.0.clone()),
            wrote: Stamp::of(&wrote).version(),
            bytes: fresh.bytes,
        })
    }

    /// Makes the directories above an item, like those where it comes from.
    fn make_directories(&self, item: &Item, above: &[Option<Looks>]) -> Done {
        let mut target = self.path.clone();
        for (name, looks) in levels(item).into_iter().zip(above) {
            let parent = target.clone();
            target.push(name);
            match DirBuilder::new().mode(0o700).create(&target) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(fault("cannot make", &target, &error)),
            }
            if let Some(looks) = looks {
                let given = File::open(&target).and_then(|file| looks.give(&file, self.keep));
                given.map_err(|error| {
                    fault("cannot set the owner and permissions of", &target, &error)
                })?;
            }
            self.touch(Some(&parent));
        }
        Ok(())
    }

    /// Removes an item if it has this version. Returns whether it is gone.
    pub fn remove(&self, item: &Item, version: &Version, token: Option<&str>) -> Done<bool> {
        let path = self.place(item);
        let look = |error| fault("cannot look at", &path, &error);
        let stamp = Stamp::at(&path).map_err(look)?;
        let Some(stamp) = self.if_still(stamp)? else {
            return Ok(true);
        };
        if stamp.version() != *version {
            return Ok(false);
        }
        let away = self.own.beside()?;
        let _passed = self.own.passed(token)?;
        match fs::rename(&path, &away) {
            Ok(()) => {}
            Err(error) if is_absent(&error) => return self.still().map(|()| true),
            Err(error) => return Err(fault("cannot rename", &path, &error)),
        }
        let taken = Stamp::at(&away).map_err(|error| fault("cannot look at", &away, &error))?;
        let is_that = taken.is_none_or(|taken| taken.is_renamed(&stamp));
        if !is_that {
            // an application wrote another one in between: it goes back, unless a newer one is
            // there
            rename_without_replacing(&away, &path)
                .map_err(|error| fault("cannot put back", &path, &error))?;
        }
        let removed = fs::remove_file(&away).or_else(absent_is_fine);
        removed.map_err(|error| fault("cannot remove", &away, &error))?;
        self.touch(path.parent());
        Ok(is_that)
    }

    fn touch(&self, directory: Option<&Path>) {
        lock(&self.touched).extend(directory.map(Path::to_owned));
    }

    /// Makes durable what was added and removed.
    pub fn flush(&self) -> Done {
        let directories = std::mem::take(&mut *lock(&self.touched));
        for directory in directories {
            let synced = File::open(&directory).and_then(|file| file.sync_all());
            let synced = synced.or_else(absent_is_fine);
            synced.map_err(|error| fault("cannot sync", &directory, &error))?;
        }
        Ok(())
    }

    /// Removes the directories that only held an item that is gone.
    pub fn tidy(&self, item: &Item) -> Done {
        let mut names: Vec<&[u8]> = item.name.split(|b| *b == b'/').collect();
        // the directories above hold other keys
        while names.len() > self.pattern.shared_levels() + 1 {
            names.pop();
            let path = self.path.join(OsStr::from_bytes(&names.join(&b'/')));
            if fs::remove_dir(path).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// For digests, which need no looks.
const NOTHING: Keep = Keep {
    owner: false,
    attributes: false,
};

/// Puts the file `beside` in the place of a version, which is then removed. Returns whether it has:
/// another version stays.
fn take_the_place(beside: &Path, target: &Path, version: &Version) -> io::Result<bool> {
    let ours = Stamp::at(beside)?;
    let Some(before) = Stamp::at(target)?.filter(|stamp| stamp.version() == *version) else {
        return Ok(false);
    };
    if !exchange(beside, target)? {
        return Ok(false);
    }
    let is_that = |stamp: &Option<Stamp>, other: &Option<Stamp>| match (stamp, other) {
        (Some(stamp), Some(other)) => stamp.is_renamed(other),
        (stamp, other) => stamp.is_none() && other.is_none(),
    };
    let mut out = Stamp::at(beside)?;
    if is_that(&out, &Some(before)) {
        fs::remove_file(beside)?;
        return Ok(true);
    }
    // an application wrote another one in between: it goes back, unless it wrote again, or deleted
    // it
    let mut put = ours;
    while exchange(beside, target)? {
        let now = Stamp::at(beside)?;
        if is_that(&now, &put) {
            break;
        }
        (put, out) = (out, now);
    }
    Ok(false)
}

/// Returns the names of the directories above an item.
fn levels(item: &Item) -> Vec<&OsStr> {
    let parent = Path::new(OsStr::from_bytes(&item.name)).parent();
    parent.map_or_else(Vec::new, |parent| parent.iter().collect())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(path: &Path) -> Root {
        let options = FilesOptions {
            root: String::new(),
            pattern: "{key}".to_owned(),
            marker: None,
            owner: false,
            attributes: false,
            ssh: vec![],
            agent: String::new(),
        };
        Root::new(path.to_owned(), &options, ".stead-carry.1").unwrap()
    }

    #[test]
    fn a_root_that_goes_away_is_no_root_without_items() {
        let directory = tempfile::tempdir().unwrap();
        let (mounted, away) = (directory.path().join("r"), directory.path().join("away"));
        fs::create_dir(&mounted).unwrap();
        fs::write(mounted.join("k"), "value").unwrap();
        for marker in [None, Some(".node")] {
            fs::write(mounted.join(".node"), "n").unwrap();
            let mut root = root(&mounted);
            root.marker = marker.map(str::to_owned);
            root.ready("n").unwrap();
            root.own.clear(Some("one"), false).unwrap();
            let (item, none) = (Item::of_key("k"), Item::of_key("none"));
            let listed = || root.keys(None, &AtomicBool::new(false), &mut |_| true);
            let version = Version(root.version(&item).unwrap().unwrap().0);
            let (opening, _) = root.open(&item, true).unwrap().unwrap();
            assert_eq!(root.version(&none), Ok(None));
            // the file system goes away, and leaves an empty mount point
            fs::rename(&mounted, &away).unwrap();
            fs::create_dir(&mounted).unwrap();
            let faults = [
                root.version(&item).map(drop),
                root.look(&item).map(drop),
                root.open(&item, false).map(drop),
                root.remove(&item, &version, Some("one")).map(drop),
                root.take(&none, &opening, &mut || Ok(None), None, Some("one"))
                    .map(drop),
                listed().map(drop),
            ];
            for fault in faults {
                let fault = fault.unwrap_err();
                assert!(
                    fault.passes && fault.line.contains("is it mounted?"),
                    "{}",
                    fault.line
                );
            }
            assert_eq!(fs::read_dir(&mounted).unwrap().count(), 0);
            // and comes back
            fs::remove_dir(&mounted).unwrap();
            fs::rename(&away, &mounted).unwrap();
            assert_eq!(root.version(&none), Ok(None));
            listed().unwrap();
        }
    }

    #[test]
    fn a_root_has_a_mark_of_its_own_until_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r");
        let own = path.join(".stead-carry.1");
        fs::create_dir(&path).unwrap();
        let root = root(&path);
        // one without items gets none
        assert_eq!((root.holding(), own.exists()), (Ok(None), false));
        fs::write(path.join("k"), "value").unwrap();
        let mark = root.holding().unwrap();
        assert!(mark.as_ref().is_some_and(|mark| !mark.is_empty()));
        for token in [None, Some("one")] {
            fs::write(own.join("17-0"), "left").unwrap();
            root.own.clear(token, false).unwrap();
            assert!(!own.join("17-0").exists());
            assert_eq!(root.holding().unwrap(), mark);
        }
        root.own.clear(None, true).unwrap();
        assert!(!own.exists());
        let other = root.holding().unwrap();
        assert!(other.is_some() && other != mark);
    }

    #[test]
    fn an_agent_that_nobody_listens_to_any_more_does_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("k"), "old").unwrap();
        let (source, target) = (root(&from), root(&to));
        let item = Item::of_key("k");
        let take = |token: &str| {
            let (opening, mut reading) = source.open(&item, true).unwrap().unwrap();
            let mut next = || Ok(reading.piece().unwrap());
            target.take(&item, &opening, &mut next, None, Some(token))
        };
        // nobody has cleared the way
        assert!(take("one").is_err());
        target.own.clear(Some("one"), false).unwrap();
        assert!(matches!(take("one"), Ok(Added::Copied { .. })));
        let version = Version(target.version(&item).unwrap().unwrap().0);
        // the line is lost, the carrier opens another one, and the agent goes on
        target.own.fence("two").unwrap();
        assert!(target.remove(&item, &version, Some("one")).is_err());
        assert!(to.join("k").exists());
        assert_eq!(target.remove(&item, &version, Some("two")), Ok(true));
        assert!(take("one").unwrap_err().passes);
        assert!(!to.join("k").exists());
        // a new carrier throws away what was arriving, and so does the end
        target.own.clear(Some("three"), false).unwrap();
        assert_eq!(fs::read_dir(to.join(".stead-carry.1")).unwrap().count(), 1);
        target.own.clear(None, true).unwrap();
        assert!(!to.join(".stead-carry.1").exists() && take("three").is_err());
    }

    #[test]
    fn an_agent_knows_what_the_root_stood_on_before_it_was_started() {
        let directory = tempfile::tempdir().unwrap();
        let none = Item::of_key("none");
        let (_, now) = root(directory.path()).ready("n").unwrap();
        let disk = Ground {
            mount: "/no/such/mount".to_owned(),
            id: None,
            ..now.clone()
        };
        for (then, is_found) in [(None, true), (Some(now), true), (Some(disk), false)] {
            let root = root(directory.path());
            root.expect("n", then.clone());
            assert_eq!(root.version(&none).is_ok(), is_found, "{then:?}");
            // when a state begins, the carrier decides about it
            root.ready("n").unwrap();
            assert_eq!(root.version(&none), Ok(None));
        }
    }

    #[test]
    fn an_exchange_loses_nothing_that_is_written_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let (target, beside, fresh) = (path("target"), path("beside"), path("fresh"));
        let version = || Stamp::at(&target).unwrap().unwrap().version();
        fs::write(&target, "old").unwrap();
        fs::write(&beside, "ours").unwrap();
        let other = Version(b"another".to_vec());
        assert!(!take_the_place(&beside, &target, &other).unwrap());
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert!(take_the_place(&beside, &target, &version()).unwrap());
        assert_eq!(fs::read_to_string(&target).unwrap(), "ours");
        assert!(!beside.exists());
        // an application writes all the while: each of its values stays until its next one
        let stop = AtomicBool::new(false);
        let (mut taken, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut number: u64 = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    // another size each time, since times have steps
                    fs::write(&fresh, "x".repeat(number as usize % 4000 + 10)).unwrap();
                    fs::rename(&fresh, &target).unwrap();
                }
                number
            });
            for _ in 0..3000 {
                fs::write(&beside, "ours").unwrap();
                let seen = version();
                match take_the_place(&beside, &target, &seen).unwrap() {
                    true => taken += 1,
                    false => refused += 1,
                }
                assert!(target.exists());
            }
            stop.store(true, Ordering::Relaxed);
            let last = writer.join().unwrap();
            let found = fs::read_to_string(&target).unwrap();
            let is_last = found.len() == last as usize % 4000 + 10;
            assert!(is_last || found == "ours", "{} of {last}", found.len());
        });
        assert!(taken + refused == 3000 && refused > 0, "{taken} {refused}");
    }
}
