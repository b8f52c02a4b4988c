//! The integers of placement: a point of the hash space, and a share of it.
//!
//! The space is [0, 2^64). A point fits into `u64`. A share has up to R * 2^64 points, so it needs
//! `u128`. All products stay below 2^128, so no step needs wider integers: 2^64 cells * 10^12
//! millionths are less than 2^104, and `rebalance::targets` bounds the larger products.

use std::fmt;

/// A point of the hash space. Of `md5` and `sha1` it is the first 8 bytes of the digest,
/// big-endian.
///
/// It is displayed as 16 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Point(pub u64);

/// A number of points, from 0 to R * 2^64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(pub u128);

/// The number of points in the space, 2^64.
pub const SPACE: u128 = 1 << 64;

impl Point {
    /// The last point, 2^64 - 1.
    pub const LAST: Point = Point(u64::MAX);

    /// Reads 16 hex digits, as `Display` writes them. `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Point> {
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if !digits {
            return None;
        }
        u64::from_str_radix(text, 16).ok().map(Point)
    }

    /// The number of points from this one to `last`, both included: 1 to 2^64. `last` must not be
    /// less than this point.
    pub fn count_to(self, last: Point) -> u128 {
        u128::from(last.0) - u128::from(self.0) + 1
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Point({self})")
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_written_as_16_hex_digits_and_read_back() {
        for value in [0, 1, 0x26253c50741faa9c, u64::MAX] {
            let text = Point(value).to_string();
            assert_eq!(text.len(), 16);
            assert_eq!(Point::from_hex(&text), Some(Point(value)));
        }
    }

    #[test]
    fn other_spellings_of_a_point_are_refused() {
        for text in [
            "",
            "0",
            "+000000000000001",
            "0x00000000000001",
            "00000000000000000",
            "000000000000000g",
        ] {
            assert_eq!(Point::from_hex(text), None, "{text}");
        }
    }
}
