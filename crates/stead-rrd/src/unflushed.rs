//! What a backend has got and may still lose: which files have to be flushed, oldest first.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

/// Which files have writes that no FLUSH has confirmed.
#[derive(Default)]
pub struct Unflushed {
    /// by name: the first record, and when it was answered
    files: HashMap<Vec<u8>, (u64, Instant)>,
    /// the same, oldest first; a file that is being flushed stands only here
    order: BTreeSet<(u64, Vec<u8>)>,
}

impl Unflushed {
    /// A write to this file was answered.
    pub fn wrote(&mut self, name: &[u8], number: u64, now: Instant) {
        if !self.files.contains_key(name) {
            self.files.insert(name.to_vec(), (number, now));
            self.order.insert((number, name.to_vec()));
        }
    }

    /// The oldest file that was not taken, when its write is older than `age`; from now on writes
    /// to it count anew.
    pub fn take(&mut self, age: Duration, now: Instant) -> Option<(u64, Vec<u8>)> {
        // those that stand only here were taken before
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

    /// The FLUSH of what `take` gave has succeeded.
    pub fn flushed(&mut self, taken: &(u64, Vec<u8>)) {
        self.order.remove(taken);
    }

    /// It has not.
    pub fn failed(&mut self, taken: &(u64, Vec<u8>), now: Instant) {
        self.order.remove(taken);
        let mut first = taken.0;
        if let Some((number, _)) = self.files.remove(&taken.1) {
            self.order.remove(&(number, taken.1.clone()));
            first = first.min(number);
        }
        self.wrote(&taken.1, first, now);
    }

    /// How many files.
    #[allow(clippy::len_without_is_empty)] // nobody asks
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// The oldest record that has to be confirmed.
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
        // taken twice, as a file is that is written to while it cannot be flushed: the first write
        // counts, whichever failed last
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
