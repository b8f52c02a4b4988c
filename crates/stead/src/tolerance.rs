//! A tolerance: how far a share may be from its target, as an exact percentage.

use std::fmt;

/// How far the share of a holder may be from its target, as a part of the target: above 0% and at
/// most 10%.
///
/// It is stored as an integer number of millionths, so `1.5%` is 15,000 and nothing is ever
/// rounded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tolerance(u32);

impl Tolerance {
    /// The largest tolerance, 10%.
    pub const MAX: Tolerance = Tolerance(100_000);

    /// Returns the tolerance with this number of millionths; `None` if it is 0 or above 100,000.
    pub fn from_millionths(millionths: u32) -> Option<Tolerance> {
        (1..=Self::MAX.0)
            .contains(&millionths)
            .then_some(Tolerance(millionths))
    }

    /// Returns the tolerance in millionths.
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// Reads a percentage: digits, with at most one decimal point between digits and at most 4
    /// decimal places, then `%`. The error says what is wrong with the text, in words that follow
    /// the text in a message.
    pub fn parse(text: &str) -> Result<Tolerance, &'static str> {
        let Some(number) = text.strip_suffix('%') else {
            return Err("does not end in %; write it like \"1%\"");
        };
        let (whole, places) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(places) {
            return Err(
                "is not a plain percentage; write digits with at most one point, then %, \
                 like \"0.5%\"",
            );
        }
        // one millionth is 0.0001%
        if places.len() > 4 {
            return Err("has more than 4 places; leave out the rest");
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > 2 {
            return Err(ABOVE);
        }
        let number = |s: &str| s.bytes().fold(0u32, |n, b| n * 10 + u32::from(b - b'0'));
        match number(whole) * 10_000 + number(&format!("{places:0<4}")) {
            0 => Err("is no tolerance; leave it out for exact shares"),
            millionths => Tolerance::from_millionths(millionths).ok_or(ABOVE),
        }
    }
}

const ABOVE: &str = "is above 10%, the largest tolerance; write at most 10%";

impl fmt::Display for Tolerance {
    /// Writes the shortest percentage: `1%`, `0.5%`, `0.0001%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, places) = (self.0 / 10_000, format!("{:04}", self.0 % 10_000));
        match places.trim_end_matches('0') {
            "" => write!(f, "{whole}%"),
            places => write!(f, "{whole}.{places}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_exactly_and_written_back_shortest() {
        for (text, millionths, back) in [
            ("1%", 10_000, "1%"),
            ("1.0000%", 10_000, "1%"),
            ("0.5%", 5_000, "0.5%"),
            ("00.0001%", 1, "0.0001%"),
            ("9.9999%", 99_999, "9.9999%"),
            ("010%", 100_000, "10%"),
        ] {
            let tolerance = Tolerance::parse(text).unwrap();
            assert_eq!(tolerance.millionths(), millionths, "{text}");
            assert_eq!(tolerance.to_string(), back);
            assert_eq!(Tolerance::from_millionths(millionths), Some(tolerance));
        }
        assert_eq!(Tolerance::from_millionths(0), None);
        assert_eq!(Tolerance::from_millionths(100_001), None);
    }

    #[test]
    fn what_is_no_tolerance_is_refused_with_its_reason() {
        for (text, words) in [
            ("", "does not end in %"),
            ("1", "does not end in %"),
            ("1% ", "does not end in %"),
            ("%", "not a plain percentage"),
            (".5%", "not a plain percentage"),
            ("5.%", "not a plain percentage"),
            ("1.2.3%", "not a plain percentage"),
            ("+1%", "not a plain percentage"),
            ("-1%", "not a plain percentage"),
            ("1e0%", "not a plain percentage"),
            ("١%", "not a plain percentage"),
            ("0.00001%", "more than 4 places"),
            ("1.00000%", "more than 4 places"),
            ("0%", "is no tolerance"),
            ("000.0000%", "is no tolerance"),
            ("10.0001%", "above 10%"),
            ("100%", "above 10%"),
            ("99999999999999999999%", "above 10%"),
        ] {
            let why = Tolerance::parse(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
