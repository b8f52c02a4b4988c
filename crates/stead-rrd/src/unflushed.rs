//! The files of a backend that have to be flushed, oldest first: it may still lose their writes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::key::{hash_of, Key};

/// The files with writes that no FLUSH has confirmed.
#[derive(Default)]
pub struct Unflushed {
    /// by name
    files: HashTable<Waiting>,
    /// the numbers of those that are known files: names are far away in memory
    seen: HashTable<u64>,
    /// the same, oldest first; a file that is being flushed is only here
    order: BTreeSet<(u64, Vec<u8>)>,
}

/// A file that is not taken.
struct Waiting {
    name: Vec<u8>,
    hash: u64,
    /// what `seen` has of it: mostly one number, and more if it was learnt anew meanwhile
    seen: SmallVec<[u64; 1]>,
    /// the number of the first record
    first: u64,
    /// when it was answered
    since: Instant,
}

impl Unflushed {
    /// Records that a write to this file was answered.
    pub fn wrote(&mut self, key: Key, first: u64, since: Instant) {
        let Key { name, hash, file } = key;
        if file > 0 && self.seen.find(spread(file), |seen| *seen == file).is_some() {
            return;
        }
        if self.get(name, hash).is_none() {
            let name = name.to_vec();
            self.order.insert((first, name.clone()));
            let seen = SmallVec::new();
            let waiting = Waiting {
                name,
                hash,
                seen,
                first,
                since,
            };
            self.files
                .insert_unique(hash, waiting, |waiting| waiting.hash);
        }
        let same = |waiting: &Waiting| waiting.name == name;
        if let Some(waiting) = self.files.find_mut(hash, same).filter(|_| file > 0) {
            waiting.seen.push(file);
            self.seen
                .insert_unique(spread(file), file, |file| spread(*file));
        }
    }

    /// Takes the oldest file that is not taken, if its write is older than `age`. Later writes to
    /// that file are counted anew.
    pub fn take(&mut self, age: Duration, now: Instant) -> Option<(u64, Vec<u8>)> {
        // files that are only in `order` were taken before
        let waits = self.order.iter().find_map(|taken| {
            let waiting = self.get(&taken.1, hash_of(&taken.1))?;
            (waiting.first == taken.0).then_some((taken, waiting.since))
        });
        let (taken, _) = waits.filter(|(_, since)| now.duration_since(*since) >= age)?;
        let taken = taken.clone();
        self.remove(&taken.1);
        Some(taken)
    }

    /// Records that the FLUSH of what `take` returned has succeeded.
    pub fn flushed(&mut self, taken: &(u64, Vec<u8>)) {
        self.order.remove(taken);
    }

    /// Records that the FLUSH of what `take` returned has failed.
    pub fn failed(&mut self, taken: &(u64, Vec<u8>), now: Instant) {
        self.order.remove(taken);
        let mut first = taken.0;
        if let Some(number) = self.remove(&taken.1) {
            self.order.remove(&(number, taken.1.clone()));
            first = first.min(number);
        }
        self.wrote(Key::of(&taken.1), first, now);
    }

    fn get(&self, name: &[u8], hash: u64) -> Option<&Waiting> {
        self.files.find(hash, |waiting| waiting.name == name)
    }

    /// Returns the number of the first record.
    fn remove(&mut self, name: &[u8]) -> Option<u64> {
        let same = |waiting: &Waiting| waiting.name == name;
        let entry = self.files.find_entry(hash_of(name), same).ok()?;
        let (waiting, _) = entry.remove();
        for file in &waiting.seen {
            if let Ok(seen) = self.seen.find_entry(spread(*file), |seen| seen == file) {
                seen.remove();
            }
        }
        Some(waiting.first)
    }

    /// Returns how many files there are, without those that are taken.
    #[allow(clippy::len_without_is_empty)] // nobody needs it
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the oldest record that is not confirmed.
    pub fn first(&self) -> Option<u64> {
        self.order.first().map(|(number, _)| *number)
    }
}

/// Returns the hash of a file's number: the numbers follow each other, and a table needs bits that
/// differ at both ends. The factor is 2^64 divided by the golden ratio.
fn spread(file: u64) -> u64 {
    let product = file.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    product ^ (product >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(files: &mut Unflushed, name: &[u8], number: u64) {
        files.wrote(Key::of(name), number, Instant::now());
    }

    #[test]
    fn a_write_during_a_flush_is_not_confirmed_by_it() {
        let (now, age) = (Instant::now(), Duration::ZERO);
        let mut files = Unflushed::default();
        wrote(&mut files, b"a", 5);
        wrote(&mut files, b"a", 6);
        wrote(&mut files, b"b", 7);
        let taken = files.take(age, now).unwrap();
        assert_eq!(taken, (5, b"a".to_vec()));
        wrote(&mut files, b"a", 8);
        assert_eq!(files.first(), Some(5));
        files.flushed(&taken);
        assert_eq!(files.first(), Some(7));
        let taken = files.take(age, now).unwrap();
        files.flushed(&taken);
        assert_eq!(
            (files.first(), files.take(age, now)),
            (Some(8), Some((8, b"a".to_vec())))
        );
        assert!(files.take(Duration::from_secs(3600), now).is_none());
        // taken twice, like a file that gets writes while it cannot be flushed: the first write
        // counts, whichever FLUSH failed last
        let mut files = Unflushed::default();
        wrote(&mut files, b"a", 5);
        let first = files.take(age, now).unwrap();
        wrote(&mut files, b"a", 9);
        let second = files.take(age, now).unwrap();
        for taken in [&first, &second] {
            files.failed(taken, now);
        }
        assert_eq!(files.first(), Some(5));
    }
    #[test]
    fn a_known_file_is_noted_once_and_again_after_it_was_taken() {
        let (now, age) = (Instant::now(), Duration::ZERO);
        let mut files = Unflushed::default();
        let wrote = |files: &mut Unflushed, name, file, number| {
            files.wrote(
                Key {
                    file,
                    ..Key::of(name)
                },
                number,
                now,
            );
        };
        // learnt anew between two writes, and unknown in between
        for (file, number) in [(7, 1), (7, 2), (0, 3), (8, 4), (8, 5)] {
            wrote(&mut files, b"a", file, number);
        }
        wrote(&mut files, b"b", 9, 6);
        assert_eq!((files.len(), files.seen.len()), (2, 3));
        let taken = files.take(age, now).unwrap();
        assert_eq!((taken.0, files.len(), files.seen.len()), (1, 1, 1));
        for (file, number) in [(7, 10), (8, 11)] {
            wrote(&mut files, b"a", file, number);
        }
        files.flushed(&taken);
        assert_eq!(files.take(age, now).unwrap().0, 6);
        assert_eq!(files.take(age, now).unwrap(), (10, b"a".to_vec()));
        assert!(files.take(age, now).is_none() && files.seen.is_empty());
    }
}
