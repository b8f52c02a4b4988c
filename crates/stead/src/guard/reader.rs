//! Which release of stead a host needs to read a map.
//!
//! A map sets a bit of its required features for each thing that a reader must know, and a reader
//! refuses a bit that it does not know. So the bits alone decide who can read a map.

use std::fmt;

use crate::format::records::{FOR_EVERY_READER, KNOWN_FEATURES};
use crate::map::Map;

/// A release of stead: major, minor, patch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Release(pub u32, pub u32, pub u32);

impl Release {
    /// Parses `1.2.3`, `1.2` or `1`; what is left out is 0. `None` for anything else.
    pub fn parse(text: &str) -> Option<Release> {
        let mut numbers = [0; 3];
        let mut parts = text.split('.');
        for (i, number) in numbers.iter_mut().enumerate() {
            match parts.next() {
                Some(part) if part.bytes().all(|byte| byte.is_ascii_digit()) => {
                    *number = part.parse().ok()?;
                }
                None if i > 0 => {}
                _ => return None,
            }
        }
        let [major, minor, patch] = numbers;
        parts
            .next()
            .is_none()
            .then_some(Release(major, minor, patch))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A thing that a reader of a map must know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Need {
    /// The number of the feature bit; `None` for the map format itself.
    pub feature: Option<u32>,
    /// The first release that reads it.
    pub since: Release,
    /// What it is, such as "a pin that is short".
    pub what: &'static str,
}

/// Every feature that a reader must know, and the first release that reads it. docs/map-format.md
/// describes the bits. Bits 32 to 63 are not here: no lookup needs them.
const TABLE: [Need; 7] = [
    need(None, Release(0, 1, 0), "map format 1"),
    need(Some(0), Release(0, 1, 0), "a gradual change"),
    need(Some(1), Release(0, 1, 0), "the hash of an adopted ring"),
    need(
        Some(2),
        Release(0, 1, 0),
        "a list of nodes that names one twice",
    ),
    need(Some(3), Release(0, 1, 0), "a pin that is short"),
    need(Some(4), Release(0, 1, 0), "who answers first"),
    need(Some(5), Release(0, 1, 0), "a carry"),
];

const fn need(feature: Option<u32>, since: Release, what: &'static str) -> Need {
    Need {
        feature,
        since,
        what,
    }
}

/// Returns what a reader of this map must know.
pub fn needs(map: &Map) -> Vec<Need> {
    needed(&TABLE, map.features())
}

/// Returns the feature bits that a reader must know and that this stead knows.
pub fn readable() -> u64 {
    KNOWN_FEATURES & FOR_EVERY_READER
}

fn needed(table: &[Need], features: u64) -> Vec<Need> {
    let is_set = |need: &&Need| need.feature.is_none_or(|bit| features >> bit & 1 == 1);
    table.iter().filter(is_set).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_that_this_stead_reads_has_a_release() {
        let bits: u64 = TABLE
            .iter()
            .filter_map(|need| need.feature)
            .map(|bit| 1 << bit)
            .sum();
        assert_eq!(bits, readable());
        let here = Release::parse(env!("CARGO_PKG_VERSION")).unwrap();
        assert!(TABLE.iter().all(|need| need.since <= here));
    }

    #[test]
    fn only_the_bits_that_are_set_are_needed() {
        let table = [
            need(None, Release(0, 1, 0), "format"),
            need(Some(0), Release(0, 1, 0), "a"),
            need(Some(5), Release(1, 2, 0), "b"),
        ];
        let said = |features| -> Vec<&str> {
            needed(&table, features)
                .iter()
                .map(|need| need.what)
                .collect()
        };
        assert_eq!(said(0), ["format"]);
        assert_eq!(said(1), ["format", "a"]);
        assert_eq!(said(1 << 5), ["format", "b"]);
    }

    #[test]
    fn a_release_is_one_to_three_numbers() {
        for (text, release) in [
            ("1", Some(Release(1, 0, 0))),
            ("0.1", Some(Release(0, 1, 0))),
            ("0.1.12", Some(Release(0, 1, 12))),
            ("", None),
            ("1.", None),
            (".1", None),
            ("1.2.3.4", None),
            ("v1", None),
            ("1.x", None),
            ("+1", None),
            ("99999999999", None),
        ] {
            assert_eq!(Release::parse(text), release, "{text}");
        }
        assert!(Release(0, 9, 9) < Release(0, 10, 0) && Release(0, 10, 0) < Release(1, 0, 0));
    }
}
