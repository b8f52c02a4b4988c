//! A percentage of the space: `6.00001%` as the point floor(x * 2^64 / 100), exactly.
//!
//! With n = x * 10^18, which is whole because x has at most 18 places, the point is
//!
//! ```text
//! floor(n * 2^64 / (100 * 10^18)) = floor(n * 2^64 / (2^20 * 5^20)) = floor(n * 2^44 / 5^20)
//! ```
//!
//! n is at most 10^20 < 2^67, so n * 2^44 is below 2^111 and fits; n * 2^64 would not.

use crate::point::{Share, SPACE};

/// 10^18: one percent, in the smallest steps that a percentage can name.
const ONE: u128 = 1_000_000_000_000_000_000;

/// Returns the share of the space that a percentage means, written as in a fleet: `part("5%")`. The
/// error says what is wrong with the text, in words that follow the text in a message.
pub fn part(text: &str) -> Result<Share, &'static str> {
    point(text).map(Share)
}

/// Returns the shortest percentage that means this share of the space, which has at most 2^64
/// points.
pub fn percentage(share: Share) -> String {
    text(share.0.min(SPACE))
}

/// Returns the point of a percentage, which is 2^64 for `100%`. The error says what is wrong with
/// the text, in words that follow the text in a message.
pub(super) fn point(text: &str) -> Result<u128, &'static str> {
    let Some(number) = text.strip_suffix('%') else {
        return Err("does not end in %; write it like \"6.25%\"");
    };
    let (whole, places) = match number.split_once('.') {
        Some((whole, places)) => (whole, Some(places)),
        None => (number, None),
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !places.is_none_or(digits) {
        return Err(
            "is not a plain percentage; write digits with at most one point, then %, \
            like \"6.25%\"",
        );
    }
    let places = places.unwrap_or("");
    if places.len() > 18 {
        return Err("has more than 18 places; leave out the rest");
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > 3 {
        return Err(ABOVE);
    }
    let number = |s: &str| s.bytes().fold(0u128, |n, b| n * 10 + u128::from(b - b'0'));
    let steps = number(whole) * ONE + number(&format!("{places:0<18}"));
    if steps > 100 * ONE {
        return Err(ABOVE);
    }
    Ok((steps << 44) / 5u128.pow(20))
}

/// Returns the shortest percentage that means this point, which is at most 2^64.
///
/// 10^20 percentages with 18 places share 2^64 points, so every point has at least five of them.
/// They are consecutive; of these, the one with the most zeros at its end is the shortest.
pub(crate) fn text(point: u128) -> String {
    // the smallest n with floor(n * 2^44 / 5^20) = point; the products are below 2^112
    let least = |point: u128| (point * 5u128.pow(20)).div_ceil(1 << 44);
    let (first, end) = (least(point), least(point + 1));
    let mut rounded = (0..=18).map(|places| first.next_multiple_of(10u128.pow(18 - places)));
    let steps = rounded.find(|n| *n < end).unwrap_or(first);
    let (whole, places) = (steps / ONE, format!("{:018}", steps % ONE));
    match places.trim_end_matches('0') {
        "" => format!("{whole}%"),
        places => format!("{whole}.{places}%"),
    }
}

const ABOVE: &str = "is above 100%; percentages go from 0% to 100%";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_become_the_points_that_python_computes() {
        // python3 -c 'from fractions import Fraction as F; print(int(F(x) * 2**64 / 100))', with x
        // as a string
        for (text, expected) in [
            ("0%", 0),
            ("0.0%", 0),
            ("000%", 0),
            ("0.000000000000000001%", 0),
            ("0.000000000000000005%", 0),
            ("0.000000000000000006%", 1),
            ("1%", 184467440737095516),
            ("6.00000%", 1106804644422573096),
            ("6.00001%", 1106806489096980467),
            ("12.5%", 2305843009213693952),
            ("25%", 4611686018427387904),
            ("33.333333333333333333%", 6148914691236517205),
            ("50%", 9223372036854775808),
            ("66.666666666666666667%", 12297829382473034410),
            ("99.999999999999999994%", 18446744073709551614),
            ("99.999999999999999995%", 18446744073709551615),
            ("99.999999999999999999%", 18446744073709551615),
            ("00100.000000000000000000%", 18446744073709551616),
            ("3.141592653589793238%", 579521556646169827),
        ] {
            assert_eq!(point(text), Ok(expected), "{text}");
        }
        assert_eq!(point("100%"), Ok(SPACE));
    }

    #[test]
    fn every_point_has_a_percentage_that_means_it() {
        for (percent, shortest) in [
            ("6.00000%", "6%"),
            ("6.00001%", "6.00001%"),
            ("33.333333333333333333%", "33.333333333333333332%"),
            ("100%", "100%"),
            ("0%", "0%"),
        ] {
            let point = point(percent).unwrap();
            assert_eq!(text(point), shortest);
        }
        let mut some = 0x0123_4567_89ab_cdefu64;
        let random = std::iter::repeat_with(|| {
            some = some
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            u128::from(some)
        });
        let edges = [0, 1, 2, SPACE / 3, SPACE / 2, SPACE - 2, SPACE - 1, SPACE];
        for place in edges.into_iter().chain(random.take(100_000)) {
            assert_eq!(point(&text(place)), Ok(place), "{}", text(place));
        }
    }

    #[test]
    fn what_is_no_percentage_is_refused_with_its_reason() {
        for (text, words) in [
            ("", "does not end in %"),
            ("6", "does not end in %"),
            ("6% ", "does not end in %"),
            ("%", "not a plain percentage"),
            (".5%", "not a plain percentage"),
            ("5.%", "not a plain percentage"),
            ("1.2.3%", "not a plain percentage"),
            (" 6%", "not a plain percentage"),
            ("+6%", "not a plain percentage"),
            ("-6%", "not a plain percentage"),
            ("1e1%", "not a plain percentage"),
            ("1_0%", "not a plain percentage"),
            ("٦%", "not a plain percentage"),
            ("6%%", "not a plain percentage"),
            ("0.0000000000000000000%", "more than 18 places"),
            ("100.000000000000000001%", "above 100%"),
            ("101%", "above 100%"),
            (
                "99999999999999999999999999999999999999999999%",
                "above 100%",
            ),
        ] {
            let why = point(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
