//! Strings as C wants them: with a NUL behind. A map file has none, so the first who asks makes a
//! copy of all strings at once, which lives as long as the map.

use std::ffi::CStr;

use super::open::Map;

/// The strings of a map, each with a NUL behind.
pub(super) struct Terminated {
    text: Vec<u8>,
    /// where a string lies in the map's bytes, and where in `text`; ascending
    places: Vec<(usize, usize)>,
}

impl Terminated {
    fn of(map: &Map) -> Terminated {
        let mut all = Terminated {
            text: Vec::new(),
            places: Vec::new(),
        };
        all.take(map, map.name());
        map.spread().for_each(|label| all.take(map, label));
        for node in map.nodes() {
            all.take(map, node.name());
            all.take(map, node.formerly().unwrap_or(""));
            for (name, value) in node.labels().chain(node.attributes()) {
                all.take(map, name);
                all.take(map, value);
            }
        }
        for policy in map.policies() {
            all.take(map, policy.name().unwrap_or(""));
            all.take(map, policy.kind());
        }
        all.places.sort_unstable();
        all
    }

    fn take(&mut self, map: &Map, text: &str) {
        if !text.is_empty() {
            self.places.push((place(map, text), self.text.len()));
            self.text.extend_from_slice(text.as_bytes());
            self.text.push(0);
        }
    }

    fn find(&self, place: usize) -> Option<&CStr> {
        let found = self
            .places
            .binary_search_by_key(&place, |(place, _)| *place)
            .ok()?;
        let (_, start) = self.places.get(found)?;
        CStr::from_bytes_until_nul(self.text.get(*start..)?).ok()
    }
}

/// Where in the map's bytes a string lies that was borrowed from it.
fn place(map: &Map, text: &str) -> usize {
    (text.as_ptr() as usize).wrapping_sub(map.bytes().as_ptr() as usize)
}

impl Map {
    /// A string of this map (its name, or a name, label, attribute or kind that it gave), with a
    /// NUL behind. No such string has a NUL inside. Of a string that is not from this map: empty.
    ///
    /// Cost: the first call copies all strings of the map (of several first ones at once each does,
    /// and one copy stays), the others are a binary search.
    pub fn terminated(&self, text: &str) -> &CStr {
        if text.is_empty() {
            return c""; // it lies where the next string begins
        }
        self.terminated
            .get_or_init(|| Box::new(Terminated::of(self)))
            .find(place(self, text))
            .unwrap_or(c"")
    }
}

#[cfg(test)]
mod tests {
    use crate::{build, Fleet};

    #[test]
    fn every_string_of_a_map_can_be_had_with_a_nul_behind() {
        let fleet = r#"
            name = "mü"
            spread = ["zone"]
            [[node]]
            name = "a"
            labels = { zone = "z1" }
            attributes = { address = "10.0.0.1", empty = "" }
            [[node]]
            name = "aa"
            formerly = "b"
            labels = { zone = "z1" }
            [[policy]]
            name = "p"
            kind = "chain"
            nodes = ["a"]
            [[pin]]
            key = "x\u0000y"
            policy = "p"
        "#;
        let map = build(&Fleet::parse(fleet, "fleet.toml").unwrap(), None).unwrap();
        let same = |text: &str| assert_eq!(map.terminated(text).to_bytes(), text.as_bytes());
        same(map.name());
        map.spread().for_each(same);
        for node in map.nodes() {
            same(node.name());
            same(node.formerly().unwrap_or(""));
            for (name, value) in node.labels().chain(node.attributes()) {
                same(name);
                same(value);
            }
        }
        map.policies().for_each(|policy| {
            same(policy.name().unwrap_or(""));
            same(policy.kind());
        });
        assert_eq!(map.terminated("not of this map"), c"");
    }
}
