//! A map file and its history: publishing the next epoch, listing and reading old epochs.

use std::cell::Cell;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::mem::offset_of;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::log::{self, Entry};
use super::story::changes;
use super::trust;
use super::whole::{
    directory_of, refuse_symlink, remove_leftovers, sync_directory, Access, Temporary,
};
use crate::carry;
use crate::error::{Error, Result, Status};
use crate::format::records::Header;
use crate::format::{hex, peek, Peeked};
use crate::guard::{self, Allow, Finding, Guard, LastMove};
use crate::lock::Lock;
use crate::map::Map;
use crate::plan::Amounts;

/// How many epochs the history keeps by default.
pub const KEEP: usize = 32;

/// How many findings a refusal states; a message is one line, and `plan` states all.
const SAID: usize = 3;

/// A map file and its history.
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) map: PathBuf,
    pub(super) keep: usize,
    pub(super) allow: Allow,
    note: Option<String>,
    back_to: Option<u64>,
    pub(super) carrying: bool,
}

/// The turn of one publisher, who holds the lock. Dropping it before its end, which a panic does
/// too, removes what was not there before: a publish that failed leaves nothing.
pub(super) struct Turn<'a> {
    store: &'a Store,
    lock: Option<Lock>,
    had_history: bool,
}

impl Turn<'_> {
    /// Ends the turn of a publish that succeeded.
    pub(super) fn end(mut self) {
        self.lock = None;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            if !self.had_history {
                // an epoch in it keeps it there
                let _ = fs::remove_dir(self.store.history_dir());
            }
            lock.undo(&self.store.with_suffix(".lock"));
        }
    }
}

impl Store {
    /// Returns the store of this map file, without touching any file. The history keeps `keep`
    /// epochs, and at least the newest.
    pub fn new(map: impl AsRef<Path>, keep: usize) -> Store {
        Store {
            map: map.as_ref().to_owned(),
            keep: keep.max(1),
            allow: Allow::NONE,
            note: None,
            back_to: None,
            carrying: false,
        }
    }

    /// Returns the same store, which publishes with a note: why it is done, in one line of at most
    /// 500 bytes. The log of the history keeps it.
    ///
    /// Errors: `Invalid` for a longer note, or one with control characters.
    pub fn with_note(self, note: &str) -> Result<Store> {
        log::check_note(note)?;
        Ok(Store {
            note: Some(note.to_owned()),
            ..self
        })
    }

    /// Returns the same store, which tells in the log that it goes back to this epoch.
    #[must_use]
    pub fn going_back_to(self, epoch: u64) -> Store {
        Store {
            back_to: Some(epoch),
            ..self
        }
    }

    /// Returns the same store, which lets changes pass that these guards would refuse.
    #[must_use]
    pub fn allowing(self, allow: Allow) -> Store {
        Store { allow, ..self }
    }

    /// Returns the same store, in which [`Store::apply`] and [`Store::rollback`] begin a carry
    /// where copies move.
    #[must_use]
    pub fn carrying(self, carrying: bool) -> Store {
        Store { carrying, ..self }
    }

    /// Returns the guards that this store lifts.
    pub fn allow(&self) -> Allow {
        self.allow
    }

    /// Returns the path of the map file.
    pub fn path(&self) -> &Path {
        &self.map
    }

    /// Reads and verifies the newest epoch; `None` when there is no file. The map is read into
    /// memory, so that it stays valid whatever happens to the file.
    pub fn current(&self) -> Result<Option<Map>> {
        match Map::open_uncached(&self.map) {
            Ok(map) => Ok(Some(map)),
            Err(error) if error.status() == Status::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the epoch and digest from the header of a map file. This is cheap, and nothing is
    /// verified.
    ///
    /// A reader uses it to learn whether it should open the map again.
    pub fn peek(path: impl AsRef<Path>) -> Result<Peeked> {
        let path = path.as_ref();
        let mut header = Vec::new();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map_err(|e| Error::io("open", path, e))?;
        let read = file
            .take(crate::format::PEEK as u64)
            .read_to_end(&mut header);
        read.map_err(|e| Error::io("read", path, e))?;
        peek(&header).map_err(|e| e.in_file(path))
    }

    /// Makes `new` the newest epoch, if the file is still `base`, the map that `new` was built on.
    /// `base` is `None` for a first map.
    ///
    /// When this returns `Ok`, the new epoch survives a power cut. Errors: `Invalid` when `new` was
    /// built on another map than `base`, or was built on the map that is there and `base` is
    /// `None`; `Conflict` when another process was faster or is publishing right now; `Identity`
    /// when the file is not the newest epoch of its history; `Guarded` when the change does harm
    /// that the store does not allow ([`Store::allowing`]); `Carrying` when a carry is open and
    /// this is not its next step; `Uncertain` when the new epoch is in place but its directory
    /// could not be synced, or the history lacks it. After any error but `Uncertain` nothing has
    /// changed.
    pub fn publish(&self, base: Option<&Map>, new: &Map) -> Result<()> {
        self.refuse_symlink()?;
        let turn = self.turn()?;
        let published = self.publish_locked(base, new);
        if matches!(published, Ok(()) | Err(Error::Uncertain { .. })) {
            turn.end();
        }
        published
    }

    /// Waits for nobody: takes the lock of the map, or says that somebody else has it.
    pub(super) fn turn(&self) -> Result<Turn<'_>> {
        Ok(Turn {
            lock: Some(self.lock()?),
            had_history: self.history_dir().exists(),
            store: self,
        })
    }

    fn publish_locked(&self, base: Option<&Map>, new: &Map) -> Result<()> {
        self.check_base(base, new)?;
        self.check_carry(base, new)?;
        self.guard(base, new)?;
        let (directory, history) = (directory_of(&self.map), self.history_dir());
        remove_leftovers(&directory, &self.map);
        remove_leftovers(&history, &self.map);
        let access = Access::of(&self.map, new)?;
        self.make_history(access)?;
        // after a crash right after the rename of MAP, its epoch is missing in the history: add it
        // now
        if let Some(base) = base.filter(|base| !history.join(base.epoch().to_string()).exists()) {
            self.keep_copy(base, access)?;
        }
        // listed before the rename, because std panics when closing a directory fails
        let outdated = self.outdated(new);
        // everything that can fail for lack of space comes before the rename of MAP; what follows
        // is only renames
        let spare = Temporary::write(&history, &self.map, new, access)?;
        Temporary::write(&directory, &self.map, new, access)?.rename(&self.map)?;
        // MAP is in place: from here on every error is `Uncertain`. The next publish repairs a
        // history that lacks its epoch, and removes epochs that should be gone
        let synced = sync_directory(&directory);
        let kept = spare.rename(&history.join(new.epoch().to_string()));
        if kept.is_ok() {
            let _ = sync_directory(&history);
        }
        // the map is in place without its story, too
        let _ = self.tell(base, new, access);
        self.certain(new, synced, kept)?;
        for path in outdated {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    /// Returns `Uncertain` for a map that is in place when its directory was not synced, or when
    /// the history lacks it.
    pub(super) fn certain(
        &self,
        new: &Map,
        synced: io::Result<()>,
        kept: Result<()>,
    ) -> Result<()> {
        let (unkept, source) = match (synced, kept) {
            (Ok(()), Ok(())) => return Ok(()),
            (Err(source), _) => (false, source),
            (Ok(()), Err(Error::Io { source, .. })) => (true, source),
            (Ok(()), Err(error)) => (true, io::Error::other(error.to_string())),
        };
        Err(Error::Uncertain {
            file: self.map.clone(),
            epoch: new.epoch(),
            unkept,
            source,
        })
    }

    /// Returns what a change from `base`, the newest epoch, to `new` does that a guard refuses,
    /// whether this store allows it or not: first the epochs that it takes back, in the order of
    /// their numbers. A first map does no harm. Epochs of the history that cannot be read are left
    /// out.
    ///
    /// Errors: `Identity` when the maps belong to different clusters; `Memory` or `MemoryLimit`
    /// when there may not be enough memory, also for an epoch of the history.
    pub fn findings(&self, base: Option<&Map>, new: &Map) -> Result<Vec<Finding>> {
        let Some(base) = base else {
            return Ok(Vec::new());
        };
        let refused = Cell::new(None);
        let _room = guard::room(base, new)?;
        let mut found = guard::taken_back(base, new, self.earlier(base, &refused))?;
        found.reverse();
        found.extend(guard::findings(base, new)?);
        found.extend(guard::left_behind(base, new, self.earlier(base, &refused))?);
        found.sort_by_key(|finding| Guard::ALL.iter().position(|guard| *guard == finding.guard));
        match refused.take() {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    /// Returns the last change up to `newest` that moved copies, as far as the history has it. If a
    /// carry is open in `newest`, the change that it carries does not count yet.
    ///
    /// Errors: `Memory` or `MemoryLimit` when there may not be enough memory; `NotFound` or
    /// `Identity` when a carry is open and the history lacks the map where the data was.
    pub fn last_move(&self, newest: &Map) -> Result<Option<LastMove>> {
        if newest.carry().is_some() {
            return self.last_move(&self.from(newest)?);
        }
        let refused = Cell::new(None);
        let mut found = guard::last_move(newest, self.earlier(newest, &refused))?;
        if let Some(last) = found.as_mut().filter(|last| !last.is_carried) {
            last.undone = guard::undone(last, newest, self.earlier(newest, &refused))?;
        }
        match refused.take() {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    /// Returns the epochs before `base`, newest first, without those that cannot be read. It ends
    /// where memory lacks, and then `refused` says so: no guard may fail to see something for that.
    fn earlier<'a>(
        &'a self,
        base: &'a Map,
        refused: &'a Cell<Option<Error>>,
    ) -> impl Iterator<Item = Map> + 'a {
        let read = |epoch| match self.open_epoch(epoch) {
            Err(error) if error.status() == Status::Memory => {
                refused.set(Some(error));
                None
            }
            read => Some(read.ok()),
        };
        let older = self.history().unwrap_or_default().into_iter().rev();
        older
            .filter(|epoch| *epoch < base.epoch())
            .map_while(read)
            .flatten()
            .filter(|map| map.map_id() == base.map_id())
    }

    /// Refuses a change that is not the next step of the carry that is open.
    fn check_carry(&self, base: Option<&Map>, new: &Map) -> Result<()> {
        let Some(base) = base else {
            return match new.carry() {
                Some(_) => Err(self.wrong_base(
                    "a first map has no carry, since its data was nowhere before; publish the map \
                     that it was built on first, or install it with the epochs before it"
                        .to_owned(),
                )),
                None => Ok(()),
            };
        };
        carry::check(base, new, || self.from(base)).map_err(|error| error.in_file(&self.map))
    }

    /// Opens the map where the data was before the carry that is open in `map`.
    pub(super) fn from(&self, map: &Map) -> Result<Map> {
        let Some(carry) = map.carry() else {
            return Err(Error::Internal {
                problem: "the map has no carry open".into(),
            });
        };
        let from = self.open_epoch(carry.from_epoch)?;
        match carry::is_from(&carry, &from) {
            Ok(()) => Ok(from),
            Err(error) => Err(Error::Identity {
                problem: format!("{}: {error}", self.map.display()),
            }),
        }
    }

    /// Refuses a change with a finding that this store does not allow. The steps of a carry do no
    /// harm that was not judged when it began, but a stale fleet may bring back an old address.
    fn guard(&self, base: Option<&Map>, new: &Map) -> Result<()> {
        let is_step = |base: &Map| base.carry().is_some() && base.carry() != new.carry();
        if base.is_some_and(is_step) {
            return Ok(());
        }
        let mut refused = self.findings(base, new)?;
        refused.retain(|finding| !self.allow.lifts(finding.guard));
        if refused.is_empty() {
            return Ok(());
        }
        let mut words: Vec<&str> = refused.iter().map(|finding| finding.guard.word()).collect();
        words.dedup();
        let texts: Vec<&str> = refused
            .iter()
            .map(|finding| &*finding.text)
            .take(SAID)
            .collect();
        let more = match refused.len().saturating_sub(SAID) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Err(Error::Guarded {
            file: self.map.clone(),
            problem: format!("the change {}{more}", texts.join("; it ")),
            allow: words.join(","),
        })
    }

    /// Appends what is known about the new epoch to the log.
    pub(super) fn tell(&self, base: Option<&Map>, new: &Map, access: Access) -> Result<()> {
        let moved = match base {
            Some(base) => Amounts::between(base, new)?.moved.0,
            None => 0,
        };
        let change = changes(base, new)?;
        let entry = Entry {
            epoch: new.epoch(),
            digest: hex(&new.digest()),
            parent: hex(&new.parent()),
            time: log::now(),
            who: log::who(),
            note: self.note.clone(),
            change: match self.back_to {
                Some(epoch) => format!("back to epoch {epoch}: {change}"),
                None => change,
            },
            moved_points: moved.to_string(),
            replicas: base.map_or(0, Map::replicas).max(new.replicas()),
        };
        let file = self.history_dir().join(log::FILE);
        log::append(&file, &entry, access).map_err(|e| Error::io("write", &file, e))
    }

    /// Returns what the log of the history says, in the order in which the epochs were published.
    /// It may lack epochs and have epochs that are no longer kept. Without a log that can be read
    /// it is empty.
    pub fn log(&self) -> Vec<Entry> {
        log::read(&self.history_dir().join(log::FILE))
    }

    /// Makes the directory of the history, if it is not there yet.
    pub(super) fn make_history(&self, access: Access) -> Result<()> {
        let history = self.history_dir();
        match DirBuilder::new()
            .mode(access.directory_mode())
            .create(&history)
        {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::io("create", &history, e))
            }
            _ => Ok(()),
        }
    }

    /// Puts a copy of a map into the history.
    pub(super) fn keep_copy(&self, map: &Map, access: Access) -> Result<()> {
        let history = self.history_dir();
        Temporary::write(&history, &self.map, map, access)?
            .rename(&history.join(map.epoch().to_string()))?;
        sync_directory(&history).map_err(|e| Error::io("sync", &history, e))
    }

    /// Returns the epochs that can be read, oldest first: those of the history up to the newest
    /// published one, and that one itself. A map that was copied here without its history has one
    /// epoch. If the map's own header is damaged, all epochs of the history are returned, because
    /// then they are needed most.
    pub fn history(&self) -> Result<Vec<u64>> {
        let newest = match Store::peek(&self.map) {
            Ok(peeked) => Some(peeked.epoch),
            Err(Error::Format { .. }) => None,
            Err(error) => return Err(error),
        };
        let mut epochs = match self.kept() {
            Err(error) if error.status() == Status::NotFound => Vec::new(),
            kept => kept?,
        };
        epochs.retain(|epoch| newest.is_none_or(|newest| *epoch < newest));
        epochs.extend(newest);
        epochs.sort_unstable();
        Ok(epochs)
    }

    /// Reads and verifies an epoch of the history, or the map itself when its epoch is asked for
    /// and the history does not have it.
    ///
    /// Errors: `Invalid` when there is no such epoch; `NotFound` when there is no map either.
    pub fn open_epoch(&self, epoch: u64) -> Result<Map> {
        let path = self.history_dir().join(epoch.to_string());
        let map = match Map::open_uncached(&path) {
            Err(error) if error.status() == Status::NotFound => return self.outside_history(epoch),
            opened => opened?,
        };
        if map.epoch() != epoch {
            let problem = format!("the file is named {epoch} but has epoch {}", map.epoch());
            return Err(Error::Format {
                file: Some(path),
                offset: offset_of!(Header, epoch) as u64,
                problem,
            });
        }
        Ok(map)
    }

    /// Returns the map itself if it has this epoch, which the history does not have.
    fn outside_history(&self, epoch: u64) -> Result<Map> {
        if Store::peek(&self.map)?.epoch == epoch {
            return Map::open_uncached(&self.map);
        }
        let epochs = self.history()?;
        let kept = match &epochs[..] {
            [] => "none".to_owned(),
            [one] => format!("only epoch {one}"),
            several => format!("the epochs {}", ranges(several)),
        };
        Err(Error::Invalid {
            problem: format!(
                "{}: epoch {epoch} is not in the history, which has {kept}",
                self.map.display()
            ),
        })
    }

    pub(super) fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.map.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    }

    /// Returns the directory of the history: beside the map, or, if there is none and the map is a
    /// symbolic link, beside the file that it leads to. Only readers come to the latter, since
    /// whoever writes refuses a link first.
    pub(super) fn history_dir(&self) -> PathBuf {
        let beside = self.with_suffix(".history");
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        if !is_link(&self.map) || beside.symlink_metadata().is_ok() {
            return beside;
        }
        match self.map.canonicalize() {
            Ok(target) => Store::new(target, self.keep).with_suffix(".history"),
            Err(_) => beside,
        }
    }

    /// Returns `Invalid` when the path of the map is a directory or a symbolic link: renaming over
    /// a link would replace the link and leave its target unchanged. The history must be a
    /// directory, too, of somebody who may replace the map. `publish` checks this itself.
    pub fn refuse_symlink(&self) -> Result<()> {
        refuse_symlink(&self.map)?;
        trust::check_history(&self.history_dir(), &self.map)
    }

    fn lock(&self) -> Result<Lock> {
        let path = self.with_suffix(".lock");
        Lock::try_exclusive(&path).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                self.conflict("another stead is publishing right now; run it again".into())
            }
            // the lock file is created if it is missing, so what is missing is its directory
            io::ErrorKind::NotFound => Error::io("open", &directory_of(&self.map), error),
            _ => Error::io("lock", &path, error),
        })
    }

    /// Returns the error for a map that does not fit its history. Trying again would not help.
    fn not_of_history(&self, problem: String) -> Error {
        Error::Identity {
            problem: format!("{}: {problem}", self.map.display()),
        }
    }

    fn conflict(&self, problem: String) -> Error {
        Error::Conflict {
            file: self.map.clone(),
            problem,
        }
    }

    /// Checks that the file is still the map that the new epoch was built on.
    fn check_base(&self, base: Option<&Map>, new: &Map) -> Result<()> {
        let (base, now) =
            match (base, self.current()?) {
                (None, None) => return self.check_absence(),
                (None, Some(now)) => return Err(self.no_base(new, &now)),
                (Some(_), None) => return Err(self.conflict(
                    "the map was removed in the meantime; nothing was changed, build a first map, \
                     or put the map back"
                        .into(),
                )),
                (Some(base), Some(now)) => (base, now),
            };
        if base.digest() != now.digest() {
            let named = |map: &Map| match base.epoch() == now.epoch() {
                true => name_in_full(map),
                false => format!("epoch {}", map.epoch()),
            };
            return Err(self.conflict(format!(
                "this was planned on {}, and {} is there now; nothing was changed, build it again \
                 on the map that is there",
                named(base),
                named(&now)
            )));
        }
        self.check_history(&now)?;
        if new.parent() == base.digest() {
            return Ok(());
        }
        let (was_built, give) = match new.parent() {
            parent if parent == [0; 32] => ("no map".to_owned(), ""),
            parent => (
                format!("the map with the digest {}", short(&parent)),
                "give that one, or ",
            ),
        };
        // short, since C's record cuts the middle out of what has more than 255 bytes with the path
        Err(self.wrong_base(format!(
            "the new map (epoch {}) was not built on the previous map ({}), but on {was_built}; \
             {give}build it again",
            new.epoch(),
            name_in_full(base)
        )))
    }

    /// Returns the error for a new map that was given without a previous map although `now` is
    /// there.
    fn no_base(&self, new: &Map, now: &Map) -> Error {
        if new.digest() == now.digest() {
            return self.conflict("this very map is there already; nothing was changed".into());
        }
        if new.parent() == now.digest() {
            return self.wrong_base(format!(
                "epoch {} was built on epoch {}, which is there; give that map as the previous map",
                new.epoch(),
                now.epoch()
            ));
        }
        self.conflict(format!(
            "somebody made this map in the meantime (epoch {}), or the previous map was not given; \
             nothing was changed, build on the map that is there and give it as the previous map",
            now.epoch()
        ))
    }

    /// Checks that a first map may be published: that the history has no epochs of a lost map.
    fn check_absence(&self) -> Result<()> {
        match self.kept().unwrap_or_default().iter().max() {
            Some(newest) => Err(self.not_of_history(format!(
                "the map is missing, but {} has its epochs up to {newest}; copy the newest back, \
                 or move the history away",
                self.history_dir().display()
            ))),
            None => Ok(()),
        }
    }

    fn wrong_base(&self, problem: String) -> Error {
        Error::Invalid {
            problem: format!("{}: {problem}", self.map.display()),
        }
    }

    /// Checks that the history belongs to this map and has no newer epoch: otherwise publishing
    /// would overwrite epochs that somebody may still need. `publish` checks this itself.
    ///
    /// Errors: `Identity` when the map does not fit its history.
    pub fn check_history(&self, now: &Map) -> Result<()> {
        let kept = self.kept().unwrap_or_default();
        let history = self.history_dir();
        let newest = self.newest_kept().unwrap_or(0);
        if newest > now.epoch() {
            return Err(self.not_of_history(format!(
                "the map has epoch {}, and {dir} has epoch {newest}: an old map was put back, or \
                 stead-sync was stopped while it brought the newer one, which it does when it runs \
                 again; copy {dir}/{newest} to a name beside the map and rename that over it (`stead \
                 rollback` goes back from there), or move the newer epochs away",
                now.epoch(),
                dir = history.display()
            )));
        }
        // epochs that cannot be read are ignored here; `stead history` reports them
        let before = kept
            .into_iter()
            .filter(|epoch| *epoch <= now.epoch())
            .max()
            .and_then(|epoch| self.open_epoch(epoch).ok());
        match before {
            Some(before) if before.map_id() != now.map_id() => Err(self.not_of_history(format!(
                "the map does not belong to the history {}: somebody put another map here; move \
                 one of the two away",
                history.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the newest epoch that the history has a file of, even if the map is older; `None` if
    /// there is no history that can be listed, or if it is empty.
    pub fn newest_kept(&self) -> Option<u64> {
        self.kept().unwrap_or_default().into_iter().max()
    }

    /// Returns the numbers of the files in the history.
    pub(super) fn kept(&self) -> Result<Vec<u64>> {
        let directory = self.history_dir();
        let entries = fs::read_dir(&directory).map_err(|e| Error::io("list", &directory, e))?;
        let mut epochs = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| Error::io("list", &directory, e))?;
            let name = entry.file_name();
            // `parse` would also accept "+7" and "007"
            let number = name
                .to_str()
                .and_then(|n| n.parse::<u64>().ok().filter(|epoch| epoch.to_string() == n));
            epochs.extend(number);
        }
        Ok(epochs)
    }

    /// Whether the history keeps this epoch once `newest` is published. The map where the data was
    /// stays as long as the carry is open.
    pub(super) fn keeps(&self, newest: &Map, epoch: u64) -> bool {
        let from = newest.carry().map(|carry| carry.from_epoch);
        newest.epoch().saturating_sub(epoch) < self.keep as u64 || Some(epoch) == from
    }

    /// Returns the files of the epochs that the history drops once `newest` is published.
    pub(super) fn outdated(&self, newest: &Map) -> Vec<PathBuf> {
        let mut epochs = self.kept().unwrap_or_default();
        epochs.retain(|epoch| !self.keeps(newest, *epoch));
        let history = self.history_dir();
        epochs
            .iter()
            .map(|epoch| history.join(epoch.to_string()))
            .collect()
    }
}

/// Names a map so that it cannot be confused with another one of the same epoch.
fn name_in_full(map: &Map) -> String {
    format!(
        "epoch {} with the digest {}",
        map.epoch(),
        short(&map.digest())
    )
}

/// Shows the start of a digest, which suffices to tell two maps apart.
pub(super) fn short(digest: &[u8; 32]) -> String {
    hex(digest).chars().take(8).collect()
}

/// Writes numbers in rising order: `1 to 4, 7, 9, 10`.
fn ranges(numbers: &[u64]) -> String {
    let follow = |a: &u64, b: &u64| a.checked_add(1) == Some(*b);
    let told = numbers.chunk_by(follow).map(|range| match range {
        [first, _, .., last] => format!("{first} to {last}"),
        few => few
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 4, 7, 9, 10]), "1 to 4, 7, 9, 10");
        assert_eq!(ranges(&[u64::MAX]), u64::MAX.to_string());
        assert_eq!(ranges(&[]), "");
    }
    use crate::{build, Fleet};

    #[test]
    fn a_map_in_place_is_uncertain_until_it_is_synced_and_kept() {
        let fleet = Fleet::parse("name = 'm'\nnode = [{name = 'a'}]", "fleet").unwrap();
        let map = build(&fleet, None).unwrap();
        let store = Store::new(Path::new("m.map"), KEEP);
        let failed = || io::Error::other("no sync");
        let unreadable = || Err(Error::io("write", Path::new("history"), failed()));
        let wrong = || {
            Err(Error::Invalid {
                problem: "no history".to_owned(),
            })
        };
        store.certain(&map, Ok(()), Ok(())).unwrap();
        for (synced, kept, wanted) in [
            (Err(failed()), Ok(()), (false, "no sync")),
            (Err(failed()), wrong(), (false, "no sync")),
            (Ok(()), unreadable(), (true, "no sync")),
            (Ok(()), wrong(), (true, "no history")),
        ] {
            match store.certain(&map, synced, kept) {
                Err(Error::Uncertain {
                    file,
                    epoch: 1,
                    unkept,
                    source,
                }) => {
                    assert_eq!(file, Path::new("m.map"));
                    assert_eq!((unkept, source.to_string().as_str()), wanted);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
