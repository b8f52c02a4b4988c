//! The tally: reads the keys of a log, and counts the accesses of each piece of a map and of the
//! hottest keys.
//!
//! Memory does not grow with the log: 16 bytes for each piece, and the counters of `heavy`. The
//! accesses of a piece are exact. Everything depends on the log alone and not on chance, a clock or
//! the number of threads.
//!
//! Each access is given to one of two halves of the log, by the number of its line. So what is
//! learned from one half can be tried on the other.

use super::distinct::Distinct;
use super::heavy::Heavy;
use super::mixed::mixed;
use super::pieces::{Piece, Pieces};
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::kernel::{Keys, BLOCK};
use crate::map::Map;
use crate::point::Point;

/// The counted accesses of a log.
pub struct Tally<'a> {
    map: &'a Map,
    pub(super) pieces: Pieces,
    /// for each piece, the accesses in both halves of the log
    pub(super) of_piece: Vec<[u64; 2]>,
    lines: u64,
    accesses: u64,
    pub(super) heavy: Heavy,
    distinct: Distinct,
}

/// A hot key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hot<'a> {
    /// The point of the key.
    pub point: Point,
    /// The part of the key that is hashed; `None` if it is longer than 255 bytes. If several keys
    /// have this point, it is the one with more than half of the accesses, or any if there is none.
    pub key: Option<&'a [u8]>,
    /// The accesses of the point that were counted: it has no fewer.
    pub accesses: u64,
    /// How many of these are certainly of this key: all where no other key has this point.
    pub own: u64,
    /// The most accesses that it can have had besides: 0 for a key that came early.
    pub missed: u64,
}

impl<'a> Tally<'a> {
    /// Begins with 0 accesses of a map.
    pub fn of(map: &'a Map) -> Tally<'a> {
        let pieces = Pieces::of(map);
        Tally {
            map,
            of_piece: vec![[0; 2]; pieces.all.len()],
            pieces,
            lines: 0,
            accesses: 0,
            heavy: Heavy::new(map.cells() != Cells::FINEST),
            distinct: Distinct::new(),
        }
    }

    /// Returns the map.
    pub fn map(&self) -> &'a Map {
        self.map
    }

    /// Counts lines of a log: an access for each key, or as many as `counts` says. Keys without a
    /// count in the list have one access.
    ///
    /// Errors: `Invalid` if there are 2^63 accesses or more.
    pub fn add_keys(&mut self, keys: Keys<'_>, counts: Option<&[u64]>) -> Result<()> {
        let rule = self.map.key_rule();
        let mut points = [Point(0); BLOCK];
        let mut counts = counts.unwrap_or_default().iter();
        for keys in keys.parts(BLOCK) {
            let points = points.get_mut(..keys.len()).unwrap_or_default();
            self.map.points(keys, points);
            for (key, point) in keys.iter().zip(points) {
                self.add(*point, rule.of(key), counts.next().copied().unwrap_or(1))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, point: Point, key: &[u8], count: u64) -> Result<()> {
        self.lines += 1;
        let most = u64::MAX >> 1;
        let sum = self.accesses.checked_add(count).filter(|sum| *sum <= most);
        self.accesses = sum.ok_or_else(|| Error::Invalid {
            problem: format!(
                "line {}: these are 2^63 accesses or more; count in a larger unit",
                self.lines
            ),
        })?;
        if count == 0 {
            return Ok(());
        }
        let first = half(self.lines, count);
        let halves = [first, count - first];
        if let Some([a, b]) = self.of_piece.get_mut(self.pieces.find(point)) {
            *a += halves[0];
            *b += halves[1];
        }
        let hash = mixed(point.0);
        self.distinct.add(hash);
        self.heavy.add(point, hash, key, halves);
        Ok(())
    }

    /// Returns how many lines were counted.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Returns the number of all accesses.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Returns how many distinct keys there are, and whether this is exact: it is up to 131,071
    /// keys, and with more it is an estimate with a standard error of 0.8 %. Keys that have one
    /// point count as one.
    pub fn keys(&self) -> (u64, bool) {
        match self.heavy.error() {
            0 => (self.heavy.len() as u64, true),
            _ => (self.distinct.estimate(), false),
        }
    }

    /// Returns the most accesses that a key can have which [`Tally::hottest`] does not know. It is
    /// at most 1/65,536 of all accesses.
    pub fn error(&self) -> u64 {
        self.heavy.error()
    }

    /// Returns at most `most` keys, the hottest first.
    pub fn hottest(&self, most: usize) -> Vec<Hot<'_>> {
        let hottest = self.heavy.hottest(most).into_iter();
        hottest
            .map(|counted| {
                let accesses = counted.halves.iter().sum();
                Hot {
                    point: counted.point,
                    key: counted.key,
                    accesses,
                    own: counted.own,
                    missed: counted.missed.min(self.accesses - accesses),
                }
            })
            .collect()
    }

    /// Returns the pieces with their accesses, in the order of the space.
    pub fn pieces(&self) -> impl Iterator<Item = (Piece, u64)> + '_ {
        let sums = self.of_piece.iter().map(|halves| halves.iter().sum());
        self.pieces.all.iter().copied().zip(sums)
    }
}

/// Returns how many of `count` accesses belong to the first half of the log: each of them does with
/// a chance of one half, which the number of the line decides.
fn half(line: u64, count: u64) -> u64 {
    /// The most accesses that are decided one by one.
    const EACH: u64 = 4096;
    let mut random = mixed(line);
    if count > EACH {
        // as good as normal, with half of the count as its mean: the sum of 12 uniform numbers has
        // a mean of 6 and a deviation of 1
        let mut sum = 0.0;
        for _ in 0..12 {
            random = mixed(random);
            sum += (random >> 11) as f64 / (1u64 << 53) as f64;
        }
        let away = (sum - 6.0) * (count as f64).sqrt() / 2.0;
        return (count / 2).saturating_add_signed(away as i64).min(count);
    }
    let mut first = 0;
    let mut left = count;
    while left > 0 {
        let bits = left.min(64);
        first += u64::from((random >> (64 - bits)).count_ones());
        left -= bits;
        random = mixed(random);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, Fleet};

    fn map() -> Map {
        let text = "name = 'm'\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c'}]";
        build(&Fleet::parse(text, "f").unwrap(), None).unwrap()
    }

    #[test]
    fn a_line_with_a_count_is_as_many_accesses() {
        let map = map();
        let mut tally = Tally::of(&map);
        let keys: [&[u8]; 4] = [b"x", b"y", b"x", b"z"];
        tally
            .add_keys(Keys::each(&keys), Some(&[5, 1_000_000, 2, 0]))
            .unwrap();
        assert_eq!(
            (tally.lines(), tally.accesses(), tally.keys()),
            (4, 1_000_007, (2, true))
        );
        let hottest = tally.hottest(9);
        let found: Vec<_> = hottest
            .iter()
            .map(|hot| (hot.key.unwrap(), hot.accesses))
            .collect();
        assert_eq!(found, [(&b"y"[..], 1_000_000), (b"x", 7)]);
        assert_eq!(
            tally.pieces().map(|(_, accesses)| accesses).sum::<u64>(),
            1_000_007
        );
        let too_many = tally.add_keys(Keys::each(&[b"x"]), Some(&[u64::MAX - 3]));
        let told = too_many.unwrap_err().to_string();
        assert!(
            told.contains("line 5: these are 2^63 accesses or more"),
            "{told}"
        );
    }

    #[test]
    fn the_halves_are_halves_within_chance() {
        for count in [1, 3, 64, 100, 4096, 4097, 1_000_000] {
            let lines = 2000;
            let firsts: Vec<u64> = (0..lines).map(|line| half(line, count)).collect();
            assert!(firsts.iter().all(|first| *first <= count));
            let (n, mean) = (lines as f64, count as f64 / 2.0);
            let sum: f64 = firsts.iter().map(|first| *first as f64 - mean).sum();
            let deviation = (n * count as f64).sqrt() / 2.0;
            assert!(sum.abs() < 4.0 * deviation, "{count}: {sum}");
            let squares: f64 = firsts
                .iter()
                .map(|first| (*first as f64 - mean).powi(2))
                .sum();
            let variance = squares / n / (count as f64 / 4.0);
            assert!((0.85..1.15).contains(&variance), "{count}: {variance}");
        }
    }
}
