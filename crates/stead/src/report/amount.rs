//! Numbers of points: exact for programs, short for people.

use serde::Serialize;

use crate::map::Map;
use crate::point::SPACE;

/// The number of points below which [`part`] counts them. A share that reads `0.00 %` is then still
/// told from nothing, and nobody has to read many digits.
const COUNTED: u128 = 10_000;

/// A number of points, and the fraction of R * 2^64 that it is.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Amount {
    /// The number of points, as a decimal string.
    pub points: String,
    /// points / (R * 2^64).
    pub fraction: f64,
}

impl Amount {
    /// Describes a number of points of a map.
    pub fn of(points: u128, map: &Map) -> Amount {
        Amount::of_copies(points, map.replicas())
    }

    /// Describes a number of points as a fraction of this many copies of the space.
    pub fn of_copies(points: u128, copies: u32) -> Amount {
        Amount {
            points: points.to_string(),
            fraction: points as f64 / (f64::from(copies) * SPACE as f64),
        }
    }

    /// Returns the number of points.
    pub fn count(&self) -> u128 {
        self.points.parse().unwrap_or(0)
    }
}

/// Formats points as a part of `copies` * 2^64 points, for people: `33.33 %`, rounded half up to
/// two decimals. A part that is not nothing never reads as nothing: it is `4 points` or `< 0.01 %`.
pub fn part(points: u128, copies: u32) -> String {
    part_to(points, copies, 2)
}

/// Does the same with this number of decimals, 1 to 9.
pub fn part_to(points: u128, copies: u32, decimals: usize) -> String {
    // points < 2^72 and 100 * 10^9 < 2^37: the product fits
    let one = 10u128.pow(decimals.clamp(1, 9) as u32);
    let whole = u128::from(copies.max(1)) * SPACE;
    let steps = (points * 100 * one + whole / 2) / whole;
    match (points, steps) {
        (1, _) => "1 point".to_owned(),
        (2..COUNTED, 0) => format!("{points} points"),
        (COUNTED.., 0) => format!("< 0.{:0decimals$} %", 1),
        _ => format!("{}.{:0decimals$} %", steps / one, steps % one),
    }
}

/// Formats a number of bytes for people: `512 bytes`, `12.1 KiB`, `29.0 MiB`.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_two_decimals_and_reads_as_nothing_only_if_it_is_nothing() {
        assert_eq!(part(SPACE / 3, 1), "33.33 %");
        assert_eq!(part(SPACE * 2, 3), "66.67 %");
        assert_eq!(part(255 * SPACE, 255), "100.00 %");
        assert_eq!(part(0, 3), "0.00 %");
        assert_eq!(
            (part(1, 1), part(4, 3)),
            ("1 point".into(), "4 points".into())
        );
        assert_eq!(part(SPACE / 1_000_000, 1), "< 0.01 %");
        assert_eq!(part(SPACE / 10_000, 1), "0.01 %");
        assert_eq!(part_to(SPACE / 600, 3, 4), "0.0556 %");
        assert_eq!(part_to(SPACE / 1_000_000_000, 1, 6), "< 0.000001 %");
        assert_eq!(part_to(255 * SPACE, 255, 9), "100.000000000 %");
    }
}
