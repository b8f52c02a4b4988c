//! Cells: a cell is the set of points of one value of a coarse hash.
//!
//! A hash with only G values splits the space into G cells; value v starts at ceil(v * 2^64 / G).
//! Slice bounds are cell bounds and shares are counted in cells, so keys of an adopted ring that
//! have the same value are never separated. stead's own hashes have G = 2^64, so each of their
//! cells is a single point.

use crate::point::{Point, SPACE};

/// The number of cells in the space, G.
#[derive(Clone, Copy, Eq, Debug)]
pub struct Cells {
    count: u128,
    /// 2^64 / G as a whole number, and the rest of this division over G as a part of 2^64: with
    /// them, bounds are found without a division
    whole: u64,
    rest: u64,
}

/// The rest follows from the number; every lookup compares it.
impl PartialEq for Cells {
    #[inline]
    fn eq(&self, other: &Cells) -> bool {
        self.count == other.count
    }
}

/// The most cells of which bounds are found without a division.
const QUICK: u128 = 1 << 32;

impl Cells {
    /// G = 2^64: every point is a cell.
    pub const FINEST: Cells = Cells::new(SPACE);

    const fn new(count: u128) -> Cells {
        let quick = count <= QUICK;
        Cells {
            count,
            // 0 for a single cell, whose first point is 0
            whole: if quick { (SPACE / count) as u64 } else { 0 },
            rest: if quick {
                (((SPACE % count) << 64) / count) as u64
            } else {
                0
            },
        }
    }

    /// Reads the number as a map stores it: 0 means 2^64.
    pub fn from_stored(stored: u64) -> Cells {
        Cells::new(if stored == 0 {
            SPACE
        } else {
            u128::from(stored)
        })
    }

    /// One cell for each number of `bits` bits, where `bits` is 1 to 64.
    pub fn of_bits(bits: u32) -> Cells {
        Cells::new(1 << bits)
    }

    /// The number as a map stores it: 0 for 2^64.
    pub fn stored(self) -> u64 {
        u64::try_from(self.count).unwrap_or(0)
    }

    /// The number of cells, G.
    pub fn count(self) -> u128 {
        self.count
    }

    /// The first point of cell `v`, or 2^64 if `v` = G. `v` must not be greater than G.
    #[inline]
    pub fn bound(self, v: u128) -> u128 {
        if self.count <= QUICK && v < self.count {
            // v * 2^64 / G = v * whole + v * r / G, rounded up. `rest` is less than 2^-64 too
            // small, so v times it is less than 1/G too small, and v * r / G is a multiple of 1/G:
            // both are rounded to the same number.
            let rest = v * u128::from(self.rest);
            let up = (rest >> 64) as u64 + u64::from(rest as u64 != 0);
            return u128::from((v as u64).wrapping_mul(self.whole).wrapping_add(up));
        }
        self.divided(v)
    }

    /// The same with a division.
    fn divided(self, v: u128) -> u128 {
        if self == Cells::FINEST {
            return v; // v * 2^64 would not fit when v = 2^64
        }
        // v <= G < 2^64, so the product is below 2^128
        (v * SPACE).div_ceil(self.count)
    }

    /// The cell of a point.
    pub fn of(self, point: Point) -> u128 {
        if self == Cells::FINEST {
            return u128::from(point.0);
        }
        // the largest v with ceil(v * 2^64 / G) <= p; since p is an integer, that means v * 2^64 <=
        // p * G
        (u128::from(point.0) * self.count) >> 64
    }

    /// The first point of the cell of a point.
    pub fn first_point_of(self, point: Point) -> Point {
        // the bound of a cell that exists is below 2^64
        Point(self.bound(self.of(point)) as u64)
    }

    /// Whether a slice may start at this point.
    pub fn is_bound(self, point: Point) -> bool {
        self == Cells::FINEST || self.bound(self.of(point)) == u128::from(point.0)
    }

    /// The smallest cell bound that is at least `point`, which may be 2^64.
    pub fn round_up(self, point: u128) -> u128 {
        let Ok(p) = u64::try_from(point) else {
            return SPACE;
        };
        if self.is_bound(Point(p)) {
            return point;
        }
        self.bound(self.of(Point(p)) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_same_without_a_division() {
        let most = 1u64 << 32;
        let counts = [1, 2, 3, 7, 12, 1000, 12_000, 16_384, 65_537, 999_999_937];
        let large = [most - 5, most - 1, most, most + 1, u64::MAX];
        for count in counts.into_iter().chain(large) {
            let cells = Cells::from_stored(count);
            let ends = (0..count.min(3000)).chain(count.saturating_sub(3000)..=count);
            let spread = (0..3000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % count);
            for v in ends.chain(spread).map(u128::from) {
                assert_eq!(cells.bound(v), cells.divided(v), "G {count}, value {v}");
            }
        }
    }

    #[test]
    fn every_cell_starts_where_its_value_does_and_ends_before_the_next() {
        for g in [1u64, 2, 3, 7, 255, 1000, 16_384, 65_537] {
            let cells = Cells::from_stored(g);
            assert_eq!(cells.count(), u128::from(g));
            for v in (0..u128::from(g)).take(3000) {
                let (first, next) = (cells.bound(v), cells.bound(v + 1));
                let point = Point(first as u64);
                assert_eq!(cells.of(point), v, "G {g}, value {v}");
                assert!(cells.is_bound(point));
                assert_eq!(cells.of(Point((next - 1) as u64)), v);
                assert!(next - first == 1 || !cells.is_bound(Point((next - 1) as u64)));
                assert_eq!(cells.round_up(first), first);
                assert_eq!(cells.round_up(first + 1), next);
            }
            assert_eq!(cells.bound(u128::from(g)), SPACE);
        }
    }

    #[test]
    fn in_the_finest_division_a_cell_is_a_point() {
        for point in [0, 1, u64::MAX] {
            assert_eq!(Cells::FINEST.of(Point(point)), u128::from(point));
            assert!(Cells::FINEST.is_bound(Point(point)));
        }
        assert_eq!(Cells::FINEST.stored(), 0);
        assert_eq!(Cells::from_stored(0), Cells::FINEST);
        assert_eq!(Cells::of_bits(64), Cells::FINEST);
        assert_eq!(Cells::of_bits(14), Cells::from_stored(16_384));
        assert_eq!(Cells::FINEST.round_up(SPACE), SPACE);
    }
}
