//! The repair queue: copies that a backend should have and lacks, or that may lack values.
//!
//! An entry stays until it is done. The queue is kept on disk, and no position in the log is
//! confirmed before the entries that its records have caused are there. So after a crash, an entry
//! is either in the queue or found again when the log is replayed.
//!
//! A backend whose address has changed is in the queue as a whole, until all copies have been
//! compared: those at the new address may be older than what the log has. The same holds where the
//! files are in another directory than before. The queue also keeps which directory that was, so
//! that both are on disk in one step: a crash in between can lose neither.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::dirs::Place;
use crate::layout::{BackendId, Copies};
use crate::lock::lock;

/// The most entries. The others are found again by comparing the lists of all files.
const MOST: usize = 100_000;

/// The pause before an entry is tried again, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(120));

/// What is wrong with a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// It may lack values: the backend has refused some that another one took, or that clients
    /// believe stored.
    Doubtful,
    /// The backend has no such file.
    Missing,
    /// It has no such file either, and has taken updates for it that are lost now. The log keeps
    /// them until the file is back.
    Gone,
}

/// The queue.
#[derive(Default)]
pub struct Repairs {
    queue: Mutex<Queue>,
    /// how many entries need [`Need::Gone`]; it spares the writes a look into the queue
    gone: AtomicUsize,
    /// held while the queue is stored, so that no older one replaces it
    storing: Mutex<()>,
    /// Notified when there is one more entry.
    pub bell: Notify,
    /// Notified when the queue has to be stored.
    pub changed: Notify,
}

#[derive(Default)]
struct Queue {
    entries: BTreeMap<(Vec<u8>, BackendId), Entry>,
    /// how often a backend has got another address
    addresses: u64,
    /// the backends that were not compared since, and which of these changes was their last one
    uncompared: BTreeMap<BackendId, u64>,
    /// which directory has the files of each backend, as it was last seen
    directories: BTreeMap<BackendId, Place>,
    /// counts the changes
    version: u64,
    /// the version that is on disk
    stored: u64,
    /// there was no room for an entry
    overflowed: bool,
    /// refusals that no client was told
    late: BTreeMap<BackendId, u64>,
    /// when each backend last came up or got a copy: an earlier failure says nothing any more
    works: BTreeMap<BackendId, Instant>,
}

impl Queue {
    fn doubts(&self, name: &[u8], place: BackendId) -> bool {
        let queued = || self.entries.contains_key(&(name.to_vec(), place));
        self.uncompared.contains_key(&place) || (!self.entries.is_empty() && queued())
    }

    /// All copies at this backend may be older than what the log has.
    fn doubt_all(&mut self, place: BackendId) {
        self.addresses += 1;
        self.uncompared.insert(place, self.addresses);
    }
}

struct Entry {
    need: Need,
    /// when it was added
    since: Instant,
    tries: u32,
    /// when it is tried next
    due: Instant,
    /// when it could not be done last, and why
    failure: Option<(Instant, String)>,
    /// in which words the backend refused; nobody has been told
    refusal: Option<String>,
    /// how many updates the backend refused, since it has no such file, of those that clients
    /// believe stored because no server was up to judge them
    unheard: u64,
}

/// An entry whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The file.
    pub name: Vec<u8>,
    /// The backend of the copy.
    pub place: BackendId,
    /// What is wrong with it.
    pub need: Need,
    /// For how long it has been in the queue.
    pub age: Duration,
    /// The refusal that has caused the entry, when it is returned for the first time.
    pub refusal: Option<String>,
}

/// An entry as it is stored: the file, the backend of the copy, and what is wrong with it.
pub type Listed = (Vec<u8>, BackendId, Need);

/// A queue that is not on disk yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstored {
    /// Its version.
    pub version: u64,
    /// All entries.
    pub entries: Vec<Listed>,
    /// The backends that were not compared since their address or their directory changed.
    pub uncompared: Vec<BackendId>,
    /// Which directory has the files of each backend.
    pub directories: Vec<(BackendId, Place)>,
}

/// The entries of one backend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many files it lacks that another backend may have.
    pub missing: u64,
    /// How many files are gone that it has taken updates for, and one of them.
    pub gone: (u64, Option<Vec<u8>>),
    /// How many of its copies may lack values.
    pub doubtful: u64,
    /// The name of the file that was tried last and could not be done, and the reason; none if a
    /// copy was made later, or the backend came up.
    pub reason: Option<String>,
}

impl Need {
    /// Returns its word in the file.
    pub fn word(self) -> &'static str {
        match self {
            Need::Doubtful => "doubtful",
            Need::Missing => "missing",
            Need::Gone => "gone",
        }
    }

    /// Returns the need of this word.
    pub fn named(word: &[u8]) -> Option<Need> {
        [Need::Doubtful, Need::Missing, Need::Gone]
            .into_iter()
            .find(|need| need.word().as_bytes() == word)
    }
}

impl Repairs {
    /// Adds a copy. Returns whether it is new.
    pub fn add(&self, name: &[u8], place: BackendId, need: Need) -> bool {
        self.put(name, place, need, None)
    }

    /// Counts writes that a backend refused although another one took them, or clients were told
    /// that they are stored, and adds the copy.
    pub fn refused(&self, name: &[u8], place: BackendId, need: Need, text: &[u8], count: u64) {
        *lock(&self.queue).late.entry(place).or_default() += count;
        self.put(
            name,
            place,
            need,
            Some(String::from_utf8_lossy(text).into_owned()),
        );
    }

    /// Counts an update that the router itself refused although clients were told that it is
    /// stored. No copy has it.
    pub fn refused_by_all(&self, place: BackendId) {
        *lock(&self.queue).late.entry(place).or_default() += 1;
    }

    /// Notes an update of a copy in the queue that its client believes stored. If no server has the
    /// file, it is lost.
    pub fn unheard(&self, name: &[u8], place: BackendId) {
        let mut queue = lock(&self.queue);
        if let Some(entry) = queue.entries.get_mut(&(name.to_vec(), place)) {
            entry.unheard += 1;
        }
    }

    /// Counts the updates of a copy that are lost now, as no server has the file, and returns how
    /// many they are.
    pub fn lose_unheard(&self, name: &[u8], place: BackendId) -> u64 {
        let mut queue = lock(&self.queue);
        let entry = queue.entries.get_mut(&(name.to_vec(), place));
        let lost = entry.map_or(0, |entry| std::mem::take(&mut entry.unheard));
        *queue.late.entry(place).or_default() += lost;
        lost
    }

    fn put(&self, name: &[u8], place: BackendId, need: Need, refusal: Option<String>) -> bool {
        let mut queue = lock(&self.queue);
        let room = queue.entries.len() < MOST;
        let key = (name.to_vec(), place);
        let new = match queue.entries.get_mut(&key) {
            Some(entry) => {
                let worse = entry.need < need;
                if worse {
                    self.count(Some(entry.need), Some(need));
                    entry.need = need;
                }
                worse
            }
            None if room => {
                let entry = Entry {
                    need,
                    since: Instant::now(),
                    tries: 0,
                    due: Instant::now(),
                    failure: None,
                    refusal,
                    unheard: 0,
                };
                queue.entries.insert(key, entry);
                self.count(None, Some(need));
                true
            }
            None => {
                queue.overflowed = true;
                false
            }
        };
        if new {
            queue.version += 1;
            self.bell.notify_one();
            self.changed.notify_one();
        }
        new
    }

    /// Returns the entries whose turn it is.
    pub fn due(&self, now: Instant) -> Vec<Due> {
        let mut queue = lock(&self.queue);
        let entries = queue.entries.iter_mut();
        let due = entries.filter(|(_, entry)| entry.due <= now);
        due.map(|((name, place), entry)| Due {
            name: name.clone(),
            place: *place,
            need: entry.need,
            age: now.saturating_duration_since(entry.since),
            refusal: entry.refusal.take(),
        })
        .collect()
    }

    /// Lets all entries be tried at once: a backend has come up.
    pub fn hurry(&self) {
        let now = Instant::now();
        let mut queue = lock(&self.queue);
        queue
            .entries
            .values_mut()
            .for_each(|entry| (entry.due, entry.tries) = (now, 0));
    }

    /// Keeps the number of files that are gone up to date when an entry changes: `before` and
    /// `after` are what it needs then, `None` if there is no entry. The caller holds the queue.
    fn count(&self, before: Option<Need>, after: Option<Need>) {
        if after == Some(Need::Gone) {
            self.gone.fetch_add(1, Ordering::Relaxed);
        }
        if before == Some(Need::Gone) {
            self.gone.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns whether any file is gone.
    pub fn any_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed) > 0
    }

    /// Returns whether this copy is gone although its backend has taken updates for it.
    pub fn is_gone(&self, name: &[u8], place: BackendId) -> bool {
        if !self.any_gone() {
            return false;
        }
        let queue = lock(&self.queue);
        let entry = queue.entries.get(&(name.to_vec(), place));
        entry.is_some_and(|entry| entry.need == Need::Gone)
    }

    /// Removes the entry of a copy that was made equal to the others, unless it was gone: then it
    /// lacks what the log has.
    pub fn made_equal(&self, name: &[u8], place: BackendId) {
        if !self.is_gone(name, place) {
            self.done(name, place);
        }
    }

    /// Removes an entry: the copy is whole, or it is no copy any more.
    pub fn done(&self, name: &[u8], place: BackendId) {
        let mut queue = lock(&self.queue);
        if let Some(entry) = queue.entries.remove(&(name.to_vec(), place)) {
            self.count(Some(entry.need), None);
            queue.version += 1;
            self.changed.notify_one();
        }
    }

    /// Records that a copy in the queue needs something else: the backend has the file after all,
    /// though perhaps not all values, or another backend has it.
    pub fn turns(&self, name: &[u8], place: BackendId, need: Need) {
        let mut queue = lock(&self.queue);
        if let Some(entry) = queue.entries.get_mut(&(name.to_vec(), place)) {
            self.count(Some(entry.need), Some(need));
            entry.need = need;
            queue.version += 1;
            self.changed.notify_one();
        }
    }

    /// Records that an entry could not be done, and tries it again later. Returns whether it had
    /// failed before: a server that has just come back may not be ready for a moment.
    pub fn failed(&self, name: &[u8], place: BackendId, reason: String) -> bool {
        let mut queue = lock(&self.queue);
        let Some(entry) = queue.entries.get_mut(&(name.to_vec(), place)) else {
            return false;
        };
        let pause = RETRY.0 * 2u32.saturating_pow(entry.tries.min(16));
        entry.due = Instant::now() + pause.min(RETRY.1);
        entry.failure = Some((Instant::now(), reason));
        entry.tries += 1;
        entry.tries > 1
    }

    /// Notes that a backend has come up, or has got a copy.
    pub fn works(&self, place: BackendId) {
        lock(&self.queue).works.insert(place, Instant::now());
    }

    /// Notes that a backend has got another address.
    pub fn readdressed(&self, place: BackendId) {
        let mut queue = lock(&self.queue);
        queue.doubt_all(place);
        queue.version += 1;
        self.changed.notify_one();
    }

    /// Notes which directory had the files of a backend at the end of the last run.
    pub fn was_in(&self, place: BackendId, directory: Place) {
        lock(&self.queue).directories.insert(place, directory);
    }

    /// Notes which directory has the files of a backend now. Returns whether it was another one
    /// before. Then the copies there may be older than what the log has.
    pub fn found_in(&self, place: BackendId, directory: Place) -> bool {
        let mut queue = lock(&self.queue);
        let before = queue.directories.insert(place, directory);
        if before == Some(directory) {
            return false;
        }
        if before.is_some() {
            queue.doubt_all(place);
        }
        queue.version += 1;
        self.changed.notify_one();
        before.is_some()
    }

    /// Returns how often a backend has got another address.
    pub fn addresses(&self) -> u64 {
        lock(&self.queue).addresses
    }

    /// Notes that a comparison of all copies has come to its end. So often had a backend got
    /// another address when it began.
    pub fn compared(&self, addresses: u64) {
        let mut queue = lock(&self.queue);
        let before = queue.uncompared.len();
        queue.uncompared.retain(|_, number| *number > addresses);
        if queue.uncompared.len() < before {
            queue.version += 1;
            self.changed.notify_one();
        }
    }

    /// Returns whether this backend was not compared since its address changed.
    pub fn is_uncompared(&self, place: BackendId) -> bool {
        lock(&self.queue).uncompared.contains_key(&place)
    }

    /// Returns which of these copies of a file may lack values: those in the queue, and those at a
    /// backend that was not compared since its address changed.
    pub fn doubtful(&self, name: &[u8], places: impl Iterator<Item = BackendId>) -> Copies {
        let queue = lock(&self.queue);
        places.filter(|place| queue.doubts(name, *place)).collect()
    }

    /// Returns whether this copy of a file may lack values.
    pub fn doubts(&self, name: &[u8], place: BackendId) -> bool {
        lock(&self.queue).doubts(name, place)
    }

    /// Returns whether there is room for many more entries.
    pub fn has_room(&self) -> bool {
        lock(&self.queue).entries.len() < MOST / 2
    }

    /// Returns whether entries were left out and there is room for them now. Then the lists of all
    /// files have to be compared.
    pub fn wants_a_look(&self) -> bool {
        let mut queue = lock(&self.queue);
        let wants = queue.overflowed && queue.entries.len() < MOST / 2;
        queue.overflowed &= !wants;
        wants
    }

    /// Returns the entries of each backend.
    pub fn counts(&self) -> BTreeMap<BackendId, Counts> {
        let mut counts: BTreeMap<BackendId, Counts> = BTreeMap::new();
        let mut newest: BTreeMap<BackendId, Instant> = BTreeMap::new();
        let queue = lock(&self.queue);
        for ((name, place), entry) in &queue.entries {
            let counts = counts.entry(*place).or_default();
            match entry.need {
                Need::Missing => counts.missing += 1,
                Need::Gone => {
                    counts.gone.0 += 1;
                    counts.gone.1.get_or_insert_with(|| name.clone());
                }
                Need::Doubtful => counts.doubtful += 1,
            }
            let Some((at, reason)) = &entry.failure else {
                continue;
            };
            let before = newest.get(place).max(queue.works.get(place));
            if before.is_none_or(|before| at > before) {
                counts.reason = Some(format!("{}: {reason}", String::from_utf8_lossy(name)));
                newest.insert(*place, *at);
            }
        }
        counts
    }

    /// Returns how many writes this backend has refused late: after another one took them, or after
    /// clients were told that they are stored.
    pub fn late(&self, place: BackendId) -> u64 {
        lock(&self.queue).late.get(&place).copied().unwrap_or(0)
    }

    /// Returns whether nothing is left to repair, neither in the queue nor left out of it.
    pub fn is_empty(&self) -> bool {
        let queue = lock(&self.queue);
        queue.entries.is_empty() && !queue.overflowed
    }

    /// Returns a number that grows with every change.
    pub fn version(&self) -> u64 {
        lock(&self.queue).version
    }

    /// Returns whether everything up to this version is on disk.
    pub fn is_stored(&self, version: u64) -> bool {
        lock(&self.queue).stored >= version
    }

    /// Returns what has to be stored, or `None` if it is on disk.
    pub fn unstored(&self) -> Option<Unstored> {
        let queue = lock(&self.queue);
        let entries = queue.entries.iter();
        let all = entries.map(|((name, place), entry)| (name.clone(), *place, entry.need));
        (queue.stored < queue.version).then(|| Unstored {
            version: queue.version,
            entries: all.collect(),
            uncompared: queue.uncompared.keys().copied().collect(),
            directories: queue
                .directories
                .iter()
                .map(|(at, is)| (*at, *is))
                .collect(),
        })
    }

    /// Waits until nobody else stores the queue. Nobody does until what is returned is dropped.
    pub fn storing(&self) -> MutexGuard<'_, ()> {
        lock(&self.storing)
    }

    /// Records that this version is on disk.
    pub fn stored(&self, version: u64) {
        let mut queue = lock(&self.queue);
        queue.stored = queue.stored.max(version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stays_until_it_is_done_and_is_tried_ever_less_often() {
        let repairs = Repairs::default();
        assert!(repairs.add(b"a", 1, Need::Doubtful));
        assert!(!repairs.add(b"a", 1, Need::Doubtful));
        // what is worse replaces what is not
        assert!(repairs.add(b"a", 1, Need::Missing));
        assert!(!repairs.add(b"a", 1, Need::Doubtful));
        let now = Instant::now();
        let due = repairs.due(now);
        assert_eq!(
            (&due[0].name[..], due[0].place, due[0].need, due.len()),
            (&b"a"[..], 1, Need::Missing, 1)
        );
        assert_eq!(due[0].refusal, None);
        for pause in [2, 4, 8, 16, 32, 64, 120, 120] {
            assert_eq!(repairs.failed(b"a", 1, "full".to_owned()), pause > 2);
            let soon = Instant::now() + Duration::from_secs(pause);
            assert!(repairs.due(soon - Duration::from_secs(1)).is_empty());
            assert_eq!(repairs.due(soon).len(), 1);
        }
        let counts = Counts {
            missing: 1,
            reason: Some("a: full".to_owned()),
            ..Counts::default()
        };
        assert_eq!(repairs.counts(), BTreeMap::from([(1, counts)]));
        repairs.turns(b"a", 1, Need::Doubtful);
        let found = &repairs.counts()[&1];
        assert_eq!((found.missing, found.doubtful), (0, 1));
        repairs.hurry();
        assert_eq!(repairs.due(Instant::now()).len(), 1);
        repairs.done(b"a", 1);
        repairs.turns(b"a", 1, Need::Doubtful);
        assert!(repairs.counts().is_empty() && !repairs.doubts(b"a", 1));
    }

    #[test]
    fn a_failure_is_told_until_its_backend_works_again() {
        let repairs = Repairs::default();
        let told = || repairs.counts()[&1].reason.clone();
        // an instant may be as coarse as the clock of the system
        let later = || std::thread::sleep(Duration::from_millis(2));
        for name in [b"a", b"b"] {
            repairs.add(name, 1, Need::Missing);
        }
        repairs.failed(b"b", 1, "not up".to_owned());
        repairs.works(2);
        assert_eq!(told().as_deref(), Some("b: not up"));
        later();
        repairs.works(1);
        assert_eq!(told(), None);
        later();
        repairs.failed(b"b", 1, "full".to_owned());
        later();
        repairs.failed(b"a", 1, "no route".to_owned());
        assert_eq!(told().as_deref(), Some("a: no route"));
        repairs.done(b"a", 1);
        assert_eq!(told().as_deref(), Some("b: full"));
    }

    #[test]
    fn a_late_refusal_is_counted_and_told_once() {
        let repairs = Repairs::default();
        for _ in 0..3 {
            repairs.refused(b"a", 1, Need::Doubtful, b"no", 1);
        }
        let told = |due: Vec<Due>| due[0].refusal.clone();
        assert_eq!(told(repairs.due(Instant::now())).as_deref(), Some("no"));
        assert_eq!(told(repairs.due(Instant::now())), None);
        repairs.refused_by_all(1);
        assert_eq!((repairs.late(1), repairs.late(2)), (4, 0));
    }

    #[test]
    fn what_is_not_on_disk_is_known() {
        let repairs = Repairs::default();
        assert!(repairs.unstored().is_none() && repairs.is_stored(repairs.version()));
        repairs.add(b"a", 1, Need::Doubtful);
        let Unstored {
            version, entries, ..
        } = repairs.unstored().unwrap();
        assert_eq!(entries, [(b"a".to_vec(), 1, Need::Doubtful)]);
        repairs.add(b"b", 1, Need::Missing);
        repairs.stored(version);
        assert!(repairs.is_stored(version) && !repairs.is_stored(repairs.version()));
    }

    #[test]
    fn a_backend_with_another_address_is_doubted_until_all_is_compared() {
        let repairs = Repairs::default();
        let doubtful = || repairs.doubtful(b"a", 1..=3).to_vec();
        let unstored = || {
            let found = repairs.unstored()?;
            repairs.stored(found.version);
            Some(found.uncompared)
        };
        repairs.readdressed(1);
        repairs.add(b"a", 3, Need::Doubtful);
        repairs.add(b"b", 2, Need::Doubtful);
        assert_eq!((doubtful(), unstored()), (vec![1, 3], Some(vec![1])));
        let began = repairs.addresses();
        // these changes are too late for the comparison that goes on
        repairs.readdressed(2);
        repairs.readdressed(1);
        repairs.compared(began);
        assert_eq!((doubtful(), unstored()), (vec![1, 2, 3], Some(vec![1, 2])));
        repairs.compared(began);
        assert_eq!(unstored(), None);
        repairs.compared(repairs.addresses());
        assert_eq!((doubtful(), unstored()), (vec![3], Some(vec![])));
    }

    #[test]
    fn a_backend_with_another_directory_is_doubted_and_one_that_is_new_is_not() {
        let repairs = Repairs::default();
        let unstored = || {
            let found = repairs.unstored()?;
            repairs.stored(found.version);
            Some((found.uncompared, found.directories))
        };
        repairs.was_in(1, (7, 8));
        assert_eq!(unstored(), None);
        assert!(!repairs.found_in(1, (7, 8)) && unstored().is_none());
        assert!(!repairs.found_in(2, (7, 9)));
        let known = vec![(1, (7, 8)), (2, (7, 9))];
        assert_eq!(unstored(), Some((vec![], known)));
        assert!(repairs.found_in(1, (7, 10)) && repairs.is_uncompared(1));
        let known = vec![(1, (7, 10)), (2, (7, 9))];
        assert_eq!(unstored(), Some((vec![1], known.clone())));
        assert!(!repairs.found_in(1, (7, 10)));
        repairs.compared(repairs.addresses());
        assert_eq!(unstored(), Some((vec![], known)));
    }

    #[test]
    fn the_queue_is_bounded_and_knows_that_it_left_out_entries() {
        let repairs = Repairs::default();
        for number in 0..=MOST {
            repairs.add(format!("{number}").as_bytes(), 0, Need::Missing);
        }
        assert_eq!(repairs.counts()[&0].missing, MOST as u64);
        assert!(!repairs.wants_a_look());
        for number in 0..=MOST / 2 {
            repairs.done(format!("{number}").as_bytes(), 0);
        }
        assert!(repairs.wants_a_look() && !repairs.wants_a_look());
    }
}
