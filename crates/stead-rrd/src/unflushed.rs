//! The files of a backend that have to be flushed, oldest first: it may still lose their writes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hashbrown::HashTable;

use crate::hashing::hash_of;

/// The files with writes that no FLUSH has confirmed.
#[derive(Default)]
pub struct Unflushed {
    /// by name
    files: HashTable<Waiting>,
    /// the same, oldest first; a file that is being flushed is only here
    order: BTreeSet<(u64, Vec<u8>)>,
}

/// A file that is not taken.
struct Waiting {
    name: Vec<u8>,
    hash: u64,
    /// the number of the first record
    first: u64,
    /// when it was answered
    since: Instant,
}

impl Unflushed {
    /// Records that a write to this file, whose name has this hash, was answered.
    pub fn wrote(&mut self, name: &[u8], hash: u64, first: u64, since: Instant) {
        if self.get(name, hash).is_none() {
            let name = name.to_vec();
            self.order.insert((first, name.clone()));
            let waiting = Waiting {
                name,
                hash,
                first,
                since,
            };
            self.files
                .insert_unique(hash, waiting, |waiting| waiting.hash);
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
        self.wrote(&taken.1, hash_of(&taken.1), first, now);
    }

    fn get(&self, name: &[u8], hash: u64) -> Option<&Waiting> {
        self.files.find(hash, |waiting| waiting.name == name)
    }

    /// Returns the number of the first record.
    fn remove(&mut self, name: &[u8]) -> Option<u64> {
        let same = |waiting: &Waiting| waiting.name == name;
        let entry = self.files.find_entry(hash_of(name), same).ok()?;
        Some(entry.remove().0.first)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(files: &mut Unflushed, name: &[u8], number: u64) {
        files.wrote(name, hash_of(name), number, Instant::now());
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
}
