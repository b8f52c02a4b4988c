//! The files of a backend that have to be flushed, oldest first: it may still lose their writes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

/// The files with writes that no FLUSH has confirmed.
#[derive(Default)]
pub struct Unflushed {
    /// by name: the number of the first record, and when it was answered
    files: HashMap<Vec<u8>, (u64, Instant)>,
    /// the same, oldest first; a file that is being flushed is only here
    order: BTreeSet<(u64, Vec<u8>)>,
}

impl Unflushed {
    /// Records that a write to this file was answered.
    pub fn wrote(&mut self, name: &[u8], number: u64, now: Instant) {
        if !self.files.contains_key(name) {
            self.files.insert(name.to_vec(), (number, now));
            self.order.insert((number, name.to_vec()));
        }
    }

    /// Takes the oldest file that is not taken, if its write is older than `age`. Later writes to
    /// that file are counted anew.
    pub fn take(&mut self, age: Duration, now: Instant) -> Option<(u64, Vec<u8>)> {
        // files that are only in `order` were taken before
        let waits = self.order.iter().find_map(|taken| {
            Some((
                taken,
                self.files
                    .get(&taken.1)
                    .filter(|(first, _)| *first == taken.0)?,
            ))
        });
        let taken = waits
            .filter(|(_, (_, at))| now.duration_since(*at) >= age)?
            .0
            .clone();
        self.files.remove(&taken.1);
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
        if let Some((number, _)) = self.files.remove(&taken.1) {
            self.order.remove(&(number, taken.1.clone()));
            first = first.min(number);
        }
        self.wrote(&taken.1, first, now);
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

    #[test]
    fn a_write_during_a_flush_is_not_confirmed_by_it() {
        let (now, age) = (Instant::now(), Duration::ZERO);
        let mut files = Unflushed::default();
        files.wrote(b"a", 5, now);
        files.wrote(b"a", 6, now);
        files.wrote(b"b", 7, now);
        let taken = files.take(age, now).unwrap();
        assert_eq!(taken, (5, b"a".to_vec()));
        files.wrote(b"a", 8, now);
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
        files.wrote(b"a", 5, now);
        let first = files.take(age, now).unwrap();
        files.wrote(b"a", 9, now);
        let second = files.take(age, now).unwrap();
        for taken in [&first, &second] {
            files.failed(taken, now);
        }
        assert_eq!(files.first(), Some(5));
    }
}
