//! Limits on a request: how long its words may be, and which values an RRD can take.

use crate::reply::Reply;
use crate::words::{unescaped, words};

/// The longest path and the longest value. Answers that contain them fit into the 4,095 bytes that
/// rrdcached has for one answer.
pub const WORD_BYTES: usize = 1000;

/// Returns the number of words. It is an error if one of them is too long.
pub fn word_count(rest: &[u8]) -> Result<usize, Reply> {
    words(rest).try_fold(0, |count, word| is_short(word).map(|()| count + 1))
}

/// Returns the number of values. It is an error if one of them is too long, or if no RRD can take
/// it.
pub fn value_count(rest: &[u8]) -> Result<usize, Reply> {
    words(rest).try_fold(0, |count, word| {
        is_short(word)?;
        match can_be_written(word) {
            true => Ok(count + 1),
            false => {
                let word = String::from_utf8_lossy(word);
                Err(Reply::error(format!(
                    "{word}: a value that no RRD can take; write seconds:value, and U for unknown"
                )))
            }
        }
    })
}

fn is_short(word: &[u8]) -> Result<(), Reply> {
    match word.len() > WORD_BYTES {
        true => Err(Reply::error(format!(
            "a word of {} bytes; at most {WORD_BYTES}",
            word.len()
        ))),
        false => Ok(()),
    }
}

/// Returns whether an RRD can take `seconds:value...`. rrdcached accepts anything that begins with
/// a number. When it comes to write a value that no RRD can take, it silently drops that one and
/// all after it.
fn can_be_written(word: &[u8]) -> bool {
    is_plain(word) || is_parsed(word)
}

fn is_parsed(word: &[u8]) -> bool {
    let mut parts = word.split(|b| *b == b':');
    let number = |part: &[u8]| {
        std::str::from_utf8(part)
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
    };
    let Some(time) = parts.next() else {
        return false;
    };
    // rrdcached itself refuses a text that does not begin with a number, in its own words; before a
    // number it reads over blanks and a sign
    let (plain, _) = unescaped(time);
    // all that isspace of C knows, which is one more than is_ascii_whitespace: 0x0b
    let blanks = |byte: &&u8| byte.is_ascii_whitespace() || **byte == 0x0b;
    let plain = &plain[plain.iter().take_while(blanks).count()..];
    let unsigned = plain.strip_prefix(b"+").unwrap_or(plain);
    if !matches!(unsigned, [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..]) {
        return true;
    }
    // 2^40 s is the year 36,812; after a value of such a time, the file would refuse all others for
    // ever
    let good = |time: f64| time.is_finite() && time < (1u64 << 40) as f64;
    let mut values = parts.peekable();
    number(time).is_some_and(good)
        && (values.peek().is_none() || values.all(|value| value == b"U" || number(value).is_some()))
}

/// Returns whether the text is short and consists of digits, colons and decimal points between
/// digits. Most values are, and they need no parser.
fn is_plain(word: &[u8]) -> bool {
    let (mut digits, mut points, mut colons) = (0, 0, 0);
    for byte in word {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' if digits > 0 && points == 0 && colons > 0 => (digits, points) = (0, 1),
            b':' if digits > 0 => (digits, points, colons) = (0, 0, colons + 1),
            _ => return false,
        }
        if digits > 11 {
            return false;
        }
    }
    digits > 0
}

/// Returns the time of the first value of an UPDATE, such as `1700000000.25:1:2 ...`. It is rounded
/// to the nearest second, as collectd does when it makes a file.
pub fn first_time(values: &[u8]) -> Option<i64> {
    let digits = values
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (seconds, rest) = values.split_at(digits);
    let up = match rest {
        [b':', ..] => 0,
        [b'.', tenths, ..] => i64::from(matches!(tenths, b'5'..=b'9')),
        _ => return None,
    };
    std::str::from_utf8(seconds)
        .ok()?
        .parse::<i64>()
        .ok()?
        .checked_add(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_looks_plain_can_be_written() {
        let parts = [
            "",
            "0",
            "12",
            "1.5",
            "1.",
            ".5",
            "1..5",
            "1.5.5",
            "U",
            "-1",
            "1e3",
            "123456789012",
            "nan",
        ];
        let mut plain = 0;
        for time in parts {
            for value in parts {
                for word in [
                    time.to_owned(),
                    format!("{time}:{value}"),
                    format!("{time}:{value}:7"),
                ] {
                    plain += usize::from(is_plain(word.as_bytes()));
                    assert!(
                        !is_plain(word.as_bytes()) || is_parsed(word.as_bytes()),
                        "{word}"
                    );
                }
            }
        }
        assert_eq!(plain, 2 * (parts.len() + 3 + 3));
        for (word, good) in [
            ("5:1.5:U", true),
            ("5:1.5:", false),
            ("5:x", false),
            ("5", true),
            ("9999999999999:1", false),
            ("x:1", true),
            ("5:-1e3", true),
            ("+5:1", true),
            ("+5:x", false),
            (".5:1", true),
            (".9e13:1", false),
            ("\t5:1", false),
            ("\x0b5:1", false),
            ("\x0b+5:1", false),
            (" \x0bx:1", true),
            ("\\ 5:1", false),
            ("-5:x", true),
        ] {
            assert_eq!(can_be_written(word.as_bytes()), good, "{word}");
        }
    }

    #[test]
    fn an_escaped_colon_makes_no_value_that_can_be_written() {
        for value in ["17\\:1:2", "1\\7:1", "17:1\\:2", "17\\\\:1"] {
            assert!(!can_be_written(value.as_bytes()), "{value}");
        }
        // rrdcached refuses what does not begin with a number
        assert!(can_be_written(b"\\x:1"));
    }

    #[test]
    fn the_time_of_a_first_value_is_the_nearest_second() {
        for (values, time) in [
            ("17:1", 17),
            ("17.:1", 17),
            ("17.49:1 18:2", 17),
            ("17.5:1 19:2", 18),
            ("17.999999:1", 18),
        ] {
            assert_eq!(first_time(values.as_bytes()), Some(time), "{values}");
        }
        for values in [
            "",
            "N:1",
            "17",
            "17.",
            "17 1:1",
            ":1",
            "-5:1",
            "99999999999999999999:1",
            "9223372036854775807.5:1",
        ] {
            assert_eq!(first_time(values.as_bytes()), None, "{values}");
        }
    }
}
