//! Lays pins and firsts on the points: which run of cells each of them covers, and whether two
//! pins, or two firsts, cover the same point.

use std::collections::BTreeMap;

use super::model::{Fleet, Pinned};
use crate::cell::Cells;
use crate::error::{Error, Result};
use crate::hash::{Hash, KeyRule};
use crate::point::Point;

/// A pin as the points that it covers, which are whole cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaidPin {
    /// The first point, which is a cell bound.
    pub first: Point,
    /// The last point, which the pin covers. The point after it is a cell bound or the end of the
    /// space.
    pub last: Point,
    /// The index of the pin in [`Fleet::pins`], or of the first in [`Fleet::firsts`].
    pub pin: usize,
}

impl Fleet {
    /// Returns the pins as ranges of whole cells, sorted by their first points. A pin by key covers
    /// the cell of the key's hash. A pin by range has both bounds rounded up to cell bounds.
    ///
    /// Fails with [`Error::Fleet`] at the first pin of the file that covers a point of an earlier
    /// pin, or whose range covers no cell because the cells are wider. Takes O(n log n) steps for n
    /// pins.
    pub fn lay_pins(&self, hash: &Hash, key_rule: KeyRule, cells: Cells) -> Result<Vec<LaidPin>> {
        let pins = self.pins.iter().map(|pin| (&pin.what, pin.line));
        self.lay("pin", pins.collect(), hash, key_rule, cells)
    }

    /// Returns the firsts as ranges of whole cells, sorted by their first points. It lays them and
    /// fails like [`Fleet::lay_pins`]; a first and a pin may cover the same point.
    pub fn lay_firsts(&self, hash: &Hash, key_rule: KeyRule, cells: Cells) -> Result<Vec<LaidPin>> {
        let firsts = self.firsts.iter().map(|first| (&first.what, first.line));
        self.lay("first", firsts.collect(), hash, key_rule, cells)
    }

    /// Lays pins or firsts, each given by what it covers and by its line.
    fn lay(
        &self,
        word: &str,
        all: Vec<(&Pinned, usize)>,
        hash: &Hash,
        key_rule: KeyRule,
        cells: Cells,
    ) -> Result<Vec<LaidPin>> {
        let wrong = |pin: usize, problem: String| Error::Fleet {
            file: self.file.clone(),
            line: all[pin].1,
            problem,
        };
        let mut in_file: Vec<usize> = (0..all.len()).collect();
        in_file.sort_by_key(|pin| (all[*pin].1, *pin));
        // sorted by first point; as none overlap, a new pin only has to be compared with its
        // neighbours
        let mut laid: BTreeMap<Point, LaidPin> = BTreeMap::new();
        for pin in in_file {
            let (first, end) = match all[pin].0 {
                Pinned::Key(key) => {
                    let cell = hash.cell(key_rule.of(key), cells);
                    (cells.bound(cell), cells.bound(cell + 1))
                }
                Pinned::Range { first, end } => {
                    (cells.round_up(u128::from(first.0)), cells.round_up(*end))
                }
            };
            // an empty range has no last point; otherwise first < end <= 2^64, so neither cast
            // loses bits
            if first >= end {
                let problem = format!(
                    "the range covers none of the {} cells; widen it, or {} a key",
                    cells.count(),
                    if word == "pin" { "pin" } else { "name" }
                );
                return Err(wrong(pin, problem));
            }
            let new = LaidPin {
                first: Point(first as u64),
                last: Point((end - 1) as u64),
                pin,
            };
            let touched = laid
                .range(..=new.last)
                .rev()
                .map(|(_, old)| old)
                .take_while(|old| old.last >= new.first);
            // every pin that it touches is earlier in the file; this walk happens at most once,
            // because it ends in an error
            if let Some(line) = touched.map(|old| all[old.pin].1).min() {
                let why = match (all[pin].0, key_rule) {
                    (Pinned::Key(_), KeyRule::First(_)) => {
                        format!(" (of a key only the {key_rule} are hashed)")
                    }
                    (Pinned::Key(_), KeyRule::Whole) if cells != Cells::FINEST => format!(
                        " (all keys in one of the {} cells of the map have one {word}: name one \
                         of them)",
                        cells.count()
                    ),
                    _ => String::new(),
                };
                return Err(wrong(pin, overlap(word, line, &why)));
            }
            laid.insert(new.first, new);
        }
        Ok(laid.into_values().collect())
    }
}

/// What is wrong with a pin or a first that covers what the one of an earlier line covers.
pub(super) fn overlap(word: &str, line: usize, why: &str) -> String {
    format!("{word} covers points of the {word} in line {line}{why}; {word}s must not overlap")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Affixes;

    fn read(pins: &str) -> Result<Fleet> {
        Fleet::parse(
            &format!("name = 'm'\nnode = [{{ name = 'a' }}]\n{pins}"),
            "f",
        )
    }

    fn fleet(pins: &str) -> Fleet {
        read(pins).unwrap()
    }

    fn range(first: &str, end: &str) -> String {
        format!("[[pin]]\nrange = ['{first}', '{end}']\nnodes = ['a']\n")
    }

    fn key(key: &str) -> String {
        format!("[[pin]]\nkey = '{key}'\nnodes = ['a']\n")
    }

    #[test]
    fn a_key_covers_its_cell_and_a_range_rounds_up_to_cells() {
        let pins = range("50%", "100%") + &key("frank") + &range("0%", "10%");
        let fleet = fleet(&pins);
        let laid = fleet
            .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::FINEST)
            .unwrap();
        let shown: Vec<_> = laid
            .iter()
            .map(|l| format!("{} {} {}", l.first, l.last, fleet.pins[l.pin].line))
            .collect();
        assert_eq!(
            shown,
            [
                "0000000000000000 1999999999999998 9",
                "26253c50741faa9c 26253c50741faa9c 6",
                "8000000000000000 ffffffffffffffff 3"
            ]
        );
        // 16 cells: the first hex digit; 10% = 0x1999... rounds up to 0x2000...
        let laid = fleet
            .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::from_stored(16))
            .unwrap();
        let bounds: Vec<_> = laid
            .iter()
            .map(|l| (l.first.0 >> 60, l.last.0 >> 60, l.last.0 << 4))
            .collect();
        assert_eq!(
            bounds,
            [
                (0, 1, u64::MAX << 4),
                (2, 2, u64::MAX << 4),
                (8, 15, u64::MAX << 4)
            ]
        );
    }

    #[test]
    fn a_range_that_no_cell_starts_in_is_refused() {
        let fleet = fleet(&range("1%", "2%"));
        assert!(fleet
            .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::FINEST)
            .is_ok());
        let error = fleet
            .lay_pins(&Hash::Md5, KeyRule::Whole, Cells::from_stored(10))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "f:3: the range covers none of the 10 cells; widen it, or pin a key"
        );
    }

    #[test]
    fn two_keys_in_one_wide_cell_are_told_as_such() {
        let fleet = fleet(&(key("13") + &key("25") + &key("26")));
        let lay = |count| {
            let cells = Cells::from_stored(count);
            let hash = Hash::from_stored(24 | 256, [0; 16], Affixes::default()).unwrap();
            fleet.lay_pins(&hash, KeyRule::Whole, cells)
        };
        assert_eq!(
            lay(12).unwrap_err().to_string(),
            "f:6: pin covers points of the pin in line 3 (all keys in one of the 12 cells of the map \
             have one pin: name one of them); pins must not overlap"
        );
        assert!(lay(11).is_ok());
    }

    #[test]
    fn an_overlap_names_the_lines_of_both() {
        for (pins, expected) in [
            (
                range("0%", "1%") + &range("1%", "2%") + &range("99%", "100%"),
                None,
            ),
            (range("0%", "10%") + &range("9%", "11%"), Some((6, 3))),
            (range("9%", "11%") + &range("0%", "10%"), Some((6, 3))),
            (range("0%", "10%") + &range("2%", "3%"), Some((6, 3))),
            (range("2%", "3%") + &range("0%", "10%"), Some((6, 3))),
            (
                range("4%", "5%") + &range("2%", "3%") + &range("0%", "10%"),
                Some((9, 3)),
            ),
            (
                range("4%", "5%") + &range("0%", "1%") + &range("4%", "5%") + &range("0%", "1%"),
                Some((9, 3)),
            ),
            (key("x") + &key("y") + &key("x"), Some((9, 3))),
            (key("frank") + &range("14%", "15%"), Some((6, 3))),
            (key("frank") + &range("15%", "16%"), None),
        ] {
            // the same key twice is seen when the fleet is read, and the rest when it is laid
            let laid = read(&pins)
                .and_then(|fleet| fleet.lay_pins(&Hash::Md5, KeyRule::Whole, Cells::FINEST))
                .map_err(|error| error.to_string());
            let expected = expected.map(|(a, b)| {
                format!("f:{a}: pin covers points of the pin in line {b}; pins must not overlap")
            });
            assert_eq!(laid.err(), expected, "{pins}");
        }
    }

    #[test]
    fn a_hundred_thousand_pins_are_laid_in_their_order() {
        let pins: String = (0..100_000).map(|i| key(&i.to_string())).collect();
        let fleet = fleet(&pins);
        let laid = fleet
            .lay_pins(&Hash::Xxh3, KeyRule::Whole, Cells::FINEST)
            .unwrap();
        assert_eq!(laid.len(), 100_000);
        assert!(laid.windows(2).all(|pair| pair[0].last < pair[1].first));
    }
}
