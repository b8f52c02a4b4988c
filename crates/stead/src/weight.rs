//! A weight: an exact decimal from 0 to 1,000,000 with at most 6 decimal places, kept as
//! millionths.

use std::fmt;

/// How much of the space a holder wants, relative to the others.
///
/// It is stored as an integer number of millionths, so 1.5 is 1,500,000 and nothing is ever
/// rounded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Weight(u64);

/// Why a text is not a weight. The message is worded to follow the text itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadWeight {
    /// The text is not digits with at most one decimal point between digits.
    NotDecimal,
    /// The text has a sign.
    Signed,
    /// The text has an exponent.
    Exponent,
    /// The text is infinity, or is "not a number".
    NotFinite,
    /// The number is greater than 1,000,000.
    TooLarge,
    /// The number has this many decimal places, not counting zeros at the end.
    Places(usize),
}

impl fmt::Display for BadWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadWeight::NotDecimal => write!(
                f,
                "is not a plain decimal number; write digits with at most one point, like 1.5"
            ),
            BadWeight::Signed => write!(f, "has a sign; weights go from 0 to 1000000"),
            BadWeight::Exponent => write!(
                f,
                "has an exponent; write it out as a plain decimal, like 1500.5"
            ),
            BadWeight::NotFinite => {
                write!(f, "is not a finite number; weights go from 0 to 1000000")
            }
            BadWeight::TooLarge => write!(
                f,
                "is above 1000000, the largest weight; divide all weights by one number"
            ),
            BadWeight::Places(n) => write!(f, "has {n} places; at most 6 are exact here"),
        }
    }
}

impl Weight {
    /// Weight 0: the holder gets no share and keeps only what policies and pins give it.
    pub const ZERO: Weight = Weight(0);
    /// Weight 1, the default.
    pub const ONE: Weight = Weight(1_000_000);
    /// The largest weight, 1,000,000.
    pub const MAX: Weight = Weight(1_000_000 * 1_000_000);

    /// The weight with this number of millionths; `None` above 1,000,000 * 1,000,000.
    pub fn from_millionths(millionths: u64) -> Option<Weight> {
        (millionths <= Self::MAX.0).then_some(Weight(millionths))
    }

    /// The weight in millionths.
    pub fn millionths(self) -> u64 {
        self.0
    }

    /// Reads a plain decimal: digits, with at most one decimal point that has digits on both sides.
    pub fn parse(text: &str) -> Result<Weight, BadWeight> {
        let lower = text.to_ascii_lowercase();
        let unsigned = lower.trim_start_matches(['+', '-']);
        if unsigned == "nan" || unsigned == "inf" || unsigned == "infinity" {
            return Err(BadWeight::NotFinite);
        }
        if lower.len() != unsigned.len() {
            return Err(BadWeight::Signed);
        }
        let (whole, fraction) = lower.split_once('.').unwrap_or((&lower, "0"));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            let exponent = lower.bytes().next().is_some_and(|b| b.is_ascii_digit())
                && lower
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b".e+-".contains(&b))
                && lower.contains('e');
            return Err(if exponent {
                BadWeight::Exponent
            } else {
                BadWeight::NotDecimal
            });
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 6 {
            return Err(BadWeight::Places(fraction.len()));
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > 7 {
            return Err(BadWeight::TooLarge);
        }
        let number = |s: &str| s.bytes().fold(0u64, |n, b| n * 10 + u64::from(b - b'0'));
        let millionths = number(whole) * 1_000_000 + number(&format!("{fraction:0<6}"));
        Weight::from_millionths(millionths).ok_or(BadWeight::TooLarge)
    }
}

impl fmt::Display for Weight {
    /// Writes the shortest exact decimal: `1.5`, `3`, `0.000001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, places) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if places == 0 {
            return write!(f, "{whole}");
        }
        let places = format!("{places:06}");
        write!(f, "{whole}.{}", places.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly_and_written_back_shortest() {
        for (text, millionths, back) in [
            ("0", 0, "0"),
            ("1", 1_000_000, "1"),
            ("1.5", 1_500_000, "1.5"),
            ("007.250", 7_250_000, "7.25"),
            ("0.000001", 1, "0.000001"),
            ("1.50000000", 1_500_000, "1.5"),
            ("1000000", 1_000_000_000_000, "1000000"),
            ("1000000.000000", 1_000_000_000_000, "1000000"),
        ] {
            let weight = Weight::parse(text).unwrap();
            assert_eq!(weight.millionths(), millionths, "{text}");
            assert_eq!(weight.to_string(), back);
        }
    }

    #[test]
    fn a_text_that_is_not_a_weight_is_refused_with_its_reason() {
        use BadWeight::*;
        for (text, why) in [
            ("", NotDecimal),
            (".5", NotDecimal),
            ("5.", NotDecimal),
            ("1.2.3", NotDecimal),
            ("0x10", NotDecimal),
            ("1,5", NotDecimal),
            ("abc", NotDecimal),
            ("-1", Signed),
            ("+1", Signed),
            ("1e3", Exponent),
            ("1.5E-3", Exponent),
            ("nan", NotFinite),
            ("-inf", NotFinite),
            ("1.0000001", Places(7)),
            ("1000000.000001", TooLarge),
            ("99999999999999999999999999", TooLarge),
        ] {
            assert_eq!(Weight::parse(text), Err(why), "{text}");
        }
    }
}
