//! The key rule: what of a key is hashed, the whole of it or its first segments, by
//! docs/placement.md.

use std::fmt;
use std::num::NonZeroU8;

/// What of a key is hashed. A map keeps its key rule for ever, like its hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KeyRule {
    /// All of it, as it is.
    #[default]
    Whole,
    /// Its first segments, so many of them: keys that have these in common live together.
    First(NonZeroU8),
}

/// Where the number of segments stands in the number that a map stores for its hash: bits 16 to 23.
const SHIFT: u32 = 16;

impl KeyRule {
    /// The bits of the stored number that belong to the key rule and not to the hash.
    const BITS: u32 = 0xff << SHIFT;

    /// Splits the number that a map stores: the rule, and the number of the hash.
    pub(crate) fn from_stored(stored: u32) -> (KeyRule, u32) {
        let [_, segments, _, _] = stored.to_be_bytes();
        (
            NonZeroU8::new(segments).map_or(KeyRule::Whole, KeyRule::First),
            stored & !KeyRule::BITS,
        )
    }

    /// What the number that a map stores has for the rule, beside the number of the hash.
    pub(crate) fn stored(self) -> u32 {
        match self {
            KeyRule::Whole => 0,
            KeyRule::First(segments) => u32::from(segments.get()) << SHIFT,
        }
    }

    /// Reads what a fleet says: `whole`, or `first N segments` with N from 1 to 255 (`first 1
    /// segment` is right, too).
    pub fn parse(text: &str) -> Option<KeyRule> {
        if text == "whole" {
            return Some(KeyRule::Whole);
        }
        let (number, unit) = text.strip_prefix("first ")?.split_once(' ')?;
        // the number's own parser takes a sign and zeros before, and one rule is to be written in
        // one way
        if !number.bytes().all(|digit| digit.is_ascii_digit()) || number.starts_with('0') {
            return None;
        }
        let right = unit == "segments" || (unit == "segment" && number == "1");
        number.parse().ok().filter(|_| right).map(KeyRule::First)
    }

    /// What of a key is hashed. The bytes are taken as they are; only `/` means something.
    #[inline]
    pub fn of(self, key: &[u8]) -> &[u8] {
        match self {
            KeyRule::Whole => key,
            KeyRule::First(segments) => first_segments(key, segments),
        }
    }
}

impl fmt::Display for KeyRule {
    /// As a fleet writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyRule::Whole => f.write_str("whole"),
            KeyRule::First(segments) => write!(f, "first {segments} segments"),
        }
    }
}

/// The key from its first byte that is no slash up to the slash that ends the last segment, or to
/// its end.
///
/// Slashes at the start are skipped: otherwise all absolute paths would have the same first
/// segment, the empty one, and live in one place.
fn first_segments(key: &[u8], segments: NonZeroU8) -> &[u8] {
    let start = key.iter().take_while(|byte| **byte == b'/').count();
    let key = key.get(start..).unwrap_or(&[]);
    let mut slashes = key.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let end = slashes
        .nth(usize::from(segments.get()) - 1)
        .map_or(key.len(), |(at, _)| at);
    key.get(..end).unwrap_or(key)
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
