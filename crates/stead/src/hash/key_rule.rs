//! The key rule, which says what part of a key is hashed: all of it, or its first segments.
//! docs/placement.md defines it.

use std::fmt;
use std::num::NonZeroU8;
use std::ops::Range;

/// The part of a key that is hashed. A map keeps its key rule for ever, like its hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KeyRule {
    /// The whole key, unchanged.
    #[default]
    Whole,
    /// The first segments of the key, this many: keys that have them in common live together.
    First(NonZeroU8),
}

/// The position of the number of segments in the number that a map stores for its hash: bits 16 to
/// 23.
const SHIFT: u32 = 16;

impl KeyRule {
    /// The bits of the stored number that belong to the key rule and not to the hash.
    const BITS: u32 = 0xff << SHIFT;

    /// Splits the number that a map stores into the rule and the number of the hash.
    pub(crate) fn from_stored(stored: u32) -> (KeyRule, u32) {
        let [_, segments, _, _] = stored.to_be_bytes();
        (
            NonZeroU8::new(segments).map_or(KeyRule::Whole, KeyRule::First),
            stored & !KeyRule::BITS,
        )
    }

    /// The bits of the rule in the number that a map stores, without those of the hash.
    pub(crate) fn stored(self) -> u32 {
        match self {
            KeyRule::Whole => 0,
            KeyRule::First(segments) => u32::from(segments.get()) << SHIFT,
        }
    }

    /// Reads the rule as a fleet writes it: `whole`, or `first N segments` with N from 1 to 255
    /// (`first 1 segment` is accepted, too).
    pub fn parse(text: &str) -> Option<KeyRule> {
        if text == "whole" {
            return Some(KeyRule::Whole);
        }
        let (number, unit) = text.strip_prefix("first ")?.split_once(' ')?;
        // the parser of numbers accepts a sign and leading zeros, but a rule has one spelling only
        if !number.bytes().all(|digit| digit.is_ascii_digit()) || number.starts_with('0') {
            return None;
        }
        let right = unit == "segments" || (unit == "segment" && number == "1");
        number.parse().ok().filter(|_| right).map(KeyRule::First)
    }

    /// Returns the part of a key that is hashed. Only the byte `/` has a meaning.
    #[inline]
    pub fn of(self, key: &[u8]) -> &[u8] {
        match self {
            KeyRule::Whole => key,
            KeyRule::First(segments) => key.get(first_segments(key, segments)).unwrap_or(key),
        }
    }

    /// Returns where in a key that part lies.
    #[inline]
    pub(crate) fn range_of(self, key: &[u8]) -> Range<usize> {
        match self {
            KeyRule::Whole => 0..key.len(),
            KeyRule::First(segments) => first_segments(key, segments),
        }
    }
}

impl fmt::Display for KeyRule {
    /// Writes the rule as a fleet does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyRule::Whole => f.write_str("whole"),
            KeyRule::First(segments) => write!(f, "first {segments} segments"),
        }
    }
}

/// Returns the bytes from the first that is not a slash up to the slash that ends the last segment,
/// or to the end of the key.
///
/// Slashes at the start are skipped: otherwise all absolute paths would have the same first
/// segment, the empty one, and live in one place.
fn first_segments(key: &[u8], segments: NonZeroU8) -> Range<usize> {
    let start = key.iter().take_while(|byte| **byte == b'/').count();
    let mut slashes = key
        .iter()
        .enumerate()
        .skip(start)
        .filter(|(_, byte)| **byte == b'/');
    let end = slashes
        .nth(usize::from(segments.get()) - 1)
        .map_or(key.len(), |(at, _)| at);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> KeyRule {
        KeyRule::parse(text).unwrap()
    }

    #[test]
    fn what_is_hashed_of_a_key() {
        // the table of docs/placement.md
        for (key, one, two) in [
            (&b"web1/cpu/0.rrd"[..], &b"web1"[..], &b"web1/cpu"[..]),
            (b"/web1/cpu/0.rrd", b"web1", b"web1/cpu"),
            (b"//web1/cpu.rrd", b"web1", b"web1/cpu.rrd"),
            (b"web1", b"web1", b"web1"),
            (b"web1/", b"web1", b"web1/"),
            (b"web1//cpu.rrd", b"web1", b"web1/"),
            (b"./web1/cpu.rrd", b".", b"./web1"),
            (b"Web1/cpu.rrd", b"Web1", b"Web1/cpu.rrd"),
            (b"\xff\0/\xfe\n/x", b"\xff\0", b"\xff\0/\xfe\n"),
            (b"a\\b/c", b"a\\b", b"a\\b/c"),
            (b"/", b"", b""),
            (b"///", b"", b""),
            (b"", b"", b""),
        ] {
            let shown = String::from_utf8_lossy(key);
            assert_eq!(rule("first 1 segments").of(key), one, "{shown}");
            assert_eq!(rule("first 2 segments").of(key), two, "{shown}");
            assert_eq!(rule("whole").of(key), key);
        }
        let long = [b'/'; 3]
            .iter()
            .chain(b"ab/".iter().cycle().take(3 * 300))
            .copied()
            .collect::<Vec<u8>>();
        assert_eq!(
            rule("first 255 segments").of(&long),
            &long[3..3 + 3 * 255 - 1]
        );
    }

    #[test]
    fn as_a_fleet_writes_it() {
        for text in [
            "whole",
            "first 1 segments",
            "first 2 segments",
            "first 10 segments",
            "first 255 segments",
        ] {
            assert_eq!(rule(text).to_string(), text);
        }
        assert_eq!(rule("first 1 segment"), rule("first 1 segments"));
        for text in [
            "",
            "Whole",
            "whole ",
            " whole",
            "all",
            "first",
            "first segments",
            "first 0 segments",
            "first 256 segments",
            "first 01 segments",
            "first +1 segments",
            "first -1 segments",
            "first 1.0 segments",
            "first  1 segments",
            "first 1  segments",
            "first 1 segments ",
            "first 2 segment",
            "First 1 segments",
            "first 1 Segments",
            "first 1segments",
            "first one segments",
            "1",
            "first ١ segments",
            "first 99999999999999999999 segments",
        ] {
            assert_eq!(KeyRule::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_map_stores_it_beside_the_number_of_its_hash() {
        assert_eq!(
            (
                rule("whole").stored(),
                rule("first 1 segments").stored(),
                rule("first 255 segments").stored()
            ),
            (0, 0x1_0000, 0xff_0000)
        );
        for text in ["whole", "first 1 segments", "first 255 segments"] {
            for hash in [1, 4, 0x218, 0x8000_ffff] {
                assert_eq!(
                    KeyRule::from_stored(rule(text).stored() | hash),
                    (rule(text), hash & !KeyRule::BITS)
                );
            }
        }
    }
}
