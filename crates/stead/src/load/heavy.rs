//! The hottest keys of a log of any length, in bounded memory: Misra and Gries (1982), with the
//! error of each key as in Lossy Counting (Manku and Motwani, 2002).
//!
//! Each key that comes gets a counter. When there are 2 * `COUNTERS` of them, the median of what
//! they have is taken off every one, and those that have nothing left are forgotten. So all purges
//! together take off at most 1 / `COUNTERS` of all accesses, and this is the most that a key can
//! have had which has no counter. A key that comes back may have lost what was taken off before it
//! came; a key that was there from the beginning has lost nothing, and its count is exact.
//!
//! Keys are told apart by their points, because keys of one point live together whatever happens.
//! Where a point has several keys, its counter keeps the bytes of one of them, and finds the key
//! with more than half of the accesses if there is one (Boyer and Moore, 1981): each access of the
//! kept key adds one to its lead, and each access of another key takes one off. When nothing is
//! left, the next other key takes its place.

use hashbrown::hash_table::Entry;
use hashbrown::HashTable;

use super::mixed::mixed;
use crate::point::Point;

/// Half of the most counters. At 10^8 accesses a key without a counter has had at most 1,525.
pub(super) const COUNTERS: usize = 1 << 16;

/// The longest key whose bytes are kept. Longer ones are known by their points only.
const KEY_MAX: usize = 255;

/// The counter of a point.
struct Counter {
    point: Point,
    /// the accesses since the counter is there, in each half of the log
    halves: [u64; 2],
    /// the most that the point can have had before
    missed: u64,
    key: Place,
    /// the accesses of this key less those of others since it was kept; it has had no fewer
    lead: u64,
}

/// Where the bytes of a key are.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    /// `None` for a key that is too long to be kept
    length: Option<u8>,
    /// how many bytes there are for it
    room: u8,
}

impl Place {
    fn of<'k>(&self, keys: &'k [u8]) -> Option<&'k [u8]> {
        keys.get(self.start..self.start + usize::from(self.length?))
    }
}

impl Counter {
    fn count(&self) -> u64 {
        self.halves.iter().sum()
    }
}

/// The counters.
pub(super) struct Heavy {
    /// whether a point may have several keys
    several: bool,
    counters: HashTable<Counter>,
    keys: Vec<u8>,
    /// all that was taken off a counter that has been there from the beginning
    taken: u64,
}

/// A point with a counter.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub point: Point,
    pub key: Option<&'a [u8]>,
    /// the accesses that were counted in each half of the log
    pub halves: [u64; 2],
    /// how many of these are certainly of the key
    pub own: u64,
    /// the most that it can have had besides
    pub missed: u64,
}

impl Heavy {
    /// `several` says whether a point may have several keys.
    pub(super) fn new(several: bool) -> Heavy {
        Heavy {
            several,
            counters: HashTable::new(),
            keys: Vec::new(),
            taken: 0,
        }
    }

    /// Counts accesses to a point in both halves of the log. `mixed` are random bits of the point,
    /// and `key` is what was hashed.
    pub(super) fn add(&mut self, point: Point, hash: u64, key: &[u8], halves: [u64; 2]) {
        let is_same = |counter: &Counter| counter.point == point;
        let counter = self
            .counters
            .entry(hash, is_same, |counter| mixed(counter.point.0));
        match counter {
            Entry::Occupied(mut counter) => {
                let counter = counter.get_mut();
                let [first, second] = &mut counter.halves;
                *first += halves[0];
                *second += halves[1];
                let count = halves[0] + halves[1];
                // keys that are not kept are taken for one
                let is_it = || match counter.key.of(&self.keys) {
                    Some(kept) => kept == key,
                    None => key.len() > KEY_MAX,
                };
                if !self.several || is_it() {
                    counter.lead += count;
                } else if counter.lead >= count {
                    counter.lead -= count;
                } else {
                    counter.lead = count - counter.lead;
                    counter.key = keep(&mut self.keys, key, Some(counter.key));
                }
            }
            Entry::Vacant(place) => {
                place.insert(Counter {
                    point,
                    halves,
                    missed: self.taken,
                    key: keep(&mut self.keys, key, None),
                    lead: halves[0] + halves[1],
                });
                if self.counters.len() >= 2 * COUNTERS {
                    self.purge();
                }
            }
        }
    }

    /// Takes the median off every counter, and forgets those that have nothing left.
    fn purge(&mut self) {
        let taken = self.taken;
        let left = |counter: &Counter| counter.count().saturating_sub(taken - counter.missed);
        let mut all: Vec<u64> = self.counters.iter().map(left).collect();
        let middle = all.len() / 2;
        let (_, median, _) = all.select_nth_unstable(middle);
        let median = *median;
        self.taken += median;
        self.counters.retain(|counter| left(counter) > median);
        let mut keys = Vec::new();
        for counter in self.counters.iter_mut() {
            let bytes = counter.key.of(&self.keys).unwrap_or_default();
            counter.key.start = keys.len();
            counter.key.room = counter.key.length.unwrap_or(0);
            keys.extend_from_slice(bytes);
        }
        self.keys = keys;
    }

    /// Returns the most accesses that a point without a counter can have had.
    pub(super) fn error(&self) -> u64 {
        self.taken
    }

    /// Returns how many points have a counter. If nothing was ever taken off, these are all.
    pub(super) fn len(&self) -> usize {
        self.counters.len()
    }

    /// Returns at most `most` points, the hottest first; of equally hot ones the smallest first.
    pub(super) fn hottest(&self, most: usize) -> Vec<Counted<'_>> {
        let order = |a: &&Counter, b: &&Counter| {
            let by_count = b.count().cmp(&a.count());
            by_count.then(a.point.cmp(&b.point))
        };
        let mut all: Vec<&Counter> = self.counters.iter().collect();
        if most < all.len() {
            all.select_nth_unstable_by(most, order);
            all.truncate(most);
        }
        all.sort_unstable_by(order);
        let counted = |counter: &Counter| Counted {
            point: counter.point,
            key: counter.key.of(&self.keys),
            halves: counter.halves,
            own: counter.lead,
            missed: counter.missed,
        };
        all.into_iter().map(counted).collect()
    }
}

/// Writes a key to `keys`, at `old` if there is room for it, and returns where it is. One that
/// comes in place of a shorter one gets room for any other, so `keys` does not grow with the log.
fn keep(keys: &mut Vec<u8>, key: &[u8], old: Option<Place>) -> Place {
    let length = u8::try_from(key.len()).ok();
    let needed = length.unwrap_or(0);
    let place = match old {
        Some(place) if place.room >= needed => Place { length, ..place },
        _ => Place {
            start: keys.len(),
            length,
            room: old.map_or(needed, |_| u8::MAX),
        },
    };
    let end = place.start + usize::from(place.room);
    if keys.len() < end {
        keys.resize(end, 0);
    }
    let to = keys.get_mut(place.start..place.start + usize::from(needed));
    if let (Some(to), Some(_)) = (to, length) {
        to.copy_from_slice(key);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_lower_bounds_and_miss_no_more_than_they_say() {
        // 600,000 points of which each is seen once, and among them ten hot ones, two of which come
        // late; so counters are purged many times
        let mut heavy = Heavy::new(false);
        let mut add = |point: u64| {
            let key = point.to_string();
            heavy.add(Point(point), mixed(point), key.as_bytes(), [1, 0]);
        };
        for i in 0..600_000u64 {
            add(1_000_000 + i);
            if i % 10 == 0 {
                let hot = i / 10 % 10;
                if hot < 8 || i > 300_000 {
                    add(hot);
                }
            }
        }
        assert!(heavy.error() > 0 && heavy.error() <= 660_000 / COUNTERS as u64);
        let hottest = heavy.hottest(10);
        for counted in &hottest {
            let (count, all) = (
                counted.halves[0],
                if counted.point.0 < 8 { 6000 } else { 3000 },
            );
            assert!(count <= all && all <= count + counted.missed + 1, "{count}");
            assert!(counted.missed <= heavy.error());
            assert_eq!(counted.key, Some(counted.point.0.to_string().as_bytes()));
        }
        let points: Vec<u64> = hottest.iter().map(|counted| counted.point.0).collect();
        assert_eq!(points, (0..10).collect::<Vec<_>>());
        assert!(heavy.len() < 2 * COUNTERS);
    }

    #[test]
    fn the_key_of_a_point_is_the_one_with_most_accesses() {
        let mut heavy = Heavy::new(true);
        let mut size = 0;
        for i in 0..20_000u64 {
            // the first one to come is not the one that is hot, and others are longer and shorter
            let other = "x".repeat(i as usize % 300);
            heavy.add(Point(5), mixed(5), other.as_bytes(), [1, 0]);
            if i % 3 > 0 || i > 15_000 {
                heavy.add(Point(5), mixed(5), b"hot", [1, 1]);
            }
            if i == 1000 {
                size = heavy.keys.len();
            }
        }
        let [found] = heavy.hottest(1)[..] else {
            panic!("one point")
        };
        let hot = (0..20_000u64).filter(|i| i % 3 > 0 || *i > 15_000).count() as u64 * 2;
        assert_eq!(found.key, Some(&b"hot"[..]));
        assert_eq!(found.halves.iter().sum::<u64>(), hot + 20_000);
        assert!(
            found.own <= hot && found.own >= hot - 20_000,
            "{}",
            found.own
        );
        assert_eq!(heavy.keys.len(), size);
        // where nobody has half of them, some key is told, and how little is sure of it
        for i in 0..10u64 {
            heavy.add(Point(6), mixed(6), i.to_string().as_bytes(), [1, 0]);
        }
        let all = heavy.hottest(2);
        assert!(all[1].own <= 1 && all[1].halves == [10, 0]);
    }
}
