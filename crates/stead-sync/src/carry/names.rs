//! Names of items on servers. An application may ask the map about the key `frank`, and store its
//! value in Redis or memcached under the name `shop:frank`. A [pattern](super::name_pattern) finds
//! the key in such a name.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::kind::{told, Item, Node};
use super::name_pattern::NamePatterns;

/// The patterns of names, and what does not fit them.
#[derive(Debug, Default)]
pub struct Names {
    /// without any, the name is the key
    patterns: Option<NamePatterns>,
    /// by node: how many names the last listing left alone, and one of them
    left: Mutex<BTreeMap<usize, (u64, Vec<u8>)>>,
}

impl Names {
    /// Returns names that are made as the patterns say, if there are any.
    pub fn of(patterns: Option<NamePatterns>) -> Names {
        Names {
            patterns,
            ..Names::default()
        }
    }

    /// Returns the text of the patterns; empty without any.
    pub fn text(&self) -> String {
        self.patterns
            .as_ref()
            .map_or_else(String::new, NamePatterns::text)
    }

    /// Forgets what did not fit at a node, as a listing of it begins.
    pub fn begin(&self, node: &Node) {
        self.left().remove(&node.number);
    }

    /// Returns the item of a name that was listed at a node; `None` when it does not fit.
    pub fn item(&self, node: &Node, name: Vec<u8>) -> Option<Item> {
        let Some(patterns) = &self.patterns else {
            return Some(Item::of_key(name));
        };
        match patterns.key(&name).map(<[u8]>::to_vec) {
            Some(key) => Some(Item { name, key }),
            None => {
                let mut left = self.left();
                left.entry(node.number).or_insert((0, name)).0 += 1;
                None
            }
        }
    }

    /// Returns how many names did not fit.
    pub fn left_alone(&self) -> u64 {
        self.left().values().map(|(count, _)| count).sum()
    }

    /// Says what did not fit.
    pub fn notes(&self) -> Vec<String> {
        let (count, left) = (self.left_alone(), self.left());
        let (Some((_, example)), Some(patterns)) = (left.values().next(), &self.patterns) else {
            return Vec::new();
        };
        let (patterns, are_several) = patterns.told();
        let fit_not = match (count, are_several) {
            (1, false) => "key does not fit",
            (1, true) => "key fits none of",
            (_, false) => "keys do not fit",
            (_, true) => "keys fit none of",
        };
        let were = if count == 1 { "was" } else { "were" };
        vec![format!(
            "{count} {fit_not} {patterns} and {were} left alone, such as {}",
            told(example)
        )]
    }

    fn left(&self) -> MutexGuard<'_, BTreeMap<usize, (u64, Vec<u8>)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: usize) -> Node {
        Node {
            number,
            name: "a".to_owned(),
            attributes: Vec::new(),
        }
    }

    fn names(patterns: &[&str]) -> Names {
        Names::of(Some(NamePatterns::parse(patterns).unwrap()))
    }

    #[test]
    fn an_item_is_called_by_its_name_and_placed_by_its_key() {
        let found = names(&["sess:{key}:{any}"]);
        let item = found.item(&node(0), b"sess:acme:1".to_vec()).unwrap();
        assert_eq!(
            (&item.name[..], &item.key[..]),
            (&b"sess:acme:1"[..], &b"acme"[..])
        );
        assert_eq!(found.item(&node(0), b"sess:acme".to_vec()), None);
        assert_eq!(found.left_alone(), 1);
        let plain = Names::of(None);
        assert_eq!(plain.item(&node(0), b"k".to_vec()), Some(Item::of_key("k")));
        assert_eq!((&plain.text()[..], plain.notes()), ("", Vec::new()));
    }

    #[test]
    fn what_does_not_fit_is_counted_anew_with_each_listing() {
        let names = names(&["shop:{key}"]);
        for _ in 0..2 {
            names.begin(&node(0));
            names.begin(&node(1));
            for (number, name) in [(0, "tmp1"), (1, "tmp2"), (1, "shop:a")] {
                names.item(&node(number), name.into());
            }
            assert_eq!(names.left_alone(), 2);
        }
        let note = "2 keys do not fit the pattern shop:{key} and were left alone, such as tmp1";
        assert_eq!(names.notes(), [note]);
    }
    #[test]
    fn what_fits_no_pattern_is_noted_with_all_patterns() {
        for (patterns, count, note) in [
            (
                &["shop:{key}"][..],
                1,
                "1 key does not fit the pattern shop:{key} and was left alone, such as tmp0",
            ),
            (
                &["sess:{key}:{any}", "doc:{key}:{any}"],
                1,
                "1 key fits none of the patterns 'sess:{key}:{any}', 'doc:{key}:{any}' and was \
                 left alone, such as tmp0",
            ),
            (
                &["sess:{key}:{any}", "doc:{key}:{any}"],
                3,
                "3 keys fit none of the patterns 'sess:{key}:{any}', 'doc:{key}:{any}' and were \
                 left alone, such as tmp0",
            ),
        ] {
            let names = names(patterns);
            for number in 0..count {
                names.item(&node(0), format!("tmp{number}").into());
            }
            assert_eq!(names.notes(), [note]);
        }
    }
}
