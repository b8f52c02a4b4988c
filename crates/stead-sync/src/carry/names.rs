//! Patterns of names. An application may ask the map about the key `frank`, and store its value in
//! Redis or memcached under the name `shop:frank`. A pattern finds the key in such a name.
//!
//! ```text
//! shop:{key}         shop:frank                 frank
//! {any}:{key}        cart:12, wish:12           12
//! {any}:{key}:v2     cart:12:v2                 12
//! ```

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::kind::{told, Item, Node};

/// A pattern of names, and what does not fit it.
#[derive(Debug, Default)]
pub struct Names {
    /// without one, the name is the key
    pattern: Option<Pattern>,
    /// by node: how many names the last listing left alone, and one of them
    left: Mutex<BTreeMap<usize, (u64, Vec<u8>)>>,
}

#[derive(Debug)]
struct Pattern {
    text: String,
    before: Vec<u8>,
    /// what ends `{any}`, where there is one
    between: Option<Vec<u8>>,
    after: Vec<u8>,
}

impl Names {
    /// Parses a pattern.
    ///
    /// Errors: what is wrong with it.
    pub fn parse(text: Option<&str>) -> Result<Names, String> {
        let pattern = text.map(Pattern::parse).transpose()?;
        Ok(Names {
            pattern,
            ..Names::default()
        })
    }

    /// Returns the text of the pattern; empty without one.
    pub fn text(&self) -> &str {
        self.pattern.as_ref().map_or("", |pattern| &pattern.text)
    }

    /// Forgets what did not fit at a node, as a listing of it begins.
    pub fn begin(&self, node: &Node) {
        self.left().remove(&node.number);
    }

    /// Returns the item of a name that was listed at a node; `None` when it does not fit.
    pub fn item(&self, node: &Node, name: Vec<u8>) -> Option<Item> {
        let Some(pattern) = &self.pattern else {
            return Some(Item::of_key(name));
        };
        match pattern.key(&name).map(<[u8]>::to_vec) {
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
        let Some((_, example)) = left.values().next() else {
            return Vec::new();
        };
        let (keys, are) = match count {
            1 => ("key does", "was"),
            _ => ("keys do", "were"),
        };
        vec![format!(
            "{count} {keys} not fit the pattern {} and {are} left alone, such as {}",
            self.text(),
            told(example)
        )]
    }

    fn left(&self) -> MutexGuard<'_, BTreeMap<usize, (u64, Vec<u8>)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, String> {
        let wrong = |what: &str| format!("the pattern {text:?} {what}");
        let plain = |part: &str| match part.contains(['{', '}']) {
            true => Err(wrong(
                "has another {...} than {any} and {key}, each once, or a single brace",
            )),
            false => Ok(part.as_bytes().to_vec()),
        };
        let (before, after) = text
            .split_once("{key}")
            .ok_or_else(|| wrong("does not say where the key is: write {key}"))?;
        let (before, between) = match before.split_once("{any}") {
            Some((_, "")) => return Err(wrong("has nothing between {any} and {key}")),
            Some((before, between)) => (before, Some(plain(between)?)),
            None => (before, None),
        };
        Ok(Pattern {
            before: plain(before)?,
            after: plain(after)?,
            text: text.to_owned(),
            between,
        })
    }

    fn key<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = name.strip_prefix(&self.before[..])?;
        if let Some(between) = &self.between {
            let found = |at: &usize| rest[*at..].starts_with(between);
            // something stands in {any}
            let at = (1..rest.len()).find(found)?;
            rest = &rest[at + between.len()..];
        }
        rest.strip_suffix(&self.after[..])
            .filter(|key| !key.is_empty())
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

    #[test]
    fn a_pattern_finds_the_key_in_a_name() {
        for (pattern, name, key) in [
            ("shop:{key}", "shop:frank", Some("frank")),
            ("shop:{key}", "shop:a:b", Some("a:b")),
            ("shop:{key}", "cart:frank", None),
            ("shop:{key}", "shop:", None),
            ("{key}", "frank", Some("frank")),
            ("{any}:{key}", "cart:12", Some("12")),
            ("{any}:{key}", "cart:12:3", Some("12:3")),
            ("{any}:{key}", ":12", None),
            ("{any}:{key}", "cart", None),
            ("{any}:{key}", "cart:", None),
            ("s/{any}--{key}.v2", "s/a--b--12.v2", Some("b--12")),
            ("s/{any}--{key}.v2", "s/a--12.v1", None),
        ] {
            let names = Names::parse(Some(pattern)).unwrap();
            let item = names.item(&node(0), name.into());
            let found = item.map(|item| String::from_utf8(item.key).unwrap());
            assert_eq!(found.as_deref(), key, "{pattern} of {name}");
            assert_eq!(names.left_alone(), u64::from(key.is_none()));
        }
        let plain = Names::parse(None).unwrap();
        assert_eq!(plain.item(&node(0), b"k".to_vec()), Some(Item::of_key("k")));
        assert_eq!((plain.text(), plain.notes()), ("", Vec::new()));
    }

    #[test]
    fn a_wrong_pattern_is_told() {
        for (pattern, part) in [
            ("shop", "write {key}"),
            ("{any}{key}", "nothing between"),
            ("{key}:{key}", "each once"),
            ("{any}:{any}:{key}", "each once"),
            ("{user}:{key}", "another {...}"),
            ("{key}:{any}", "another {...}"),
            ("a}{key}", "single brace"),
        ] {
            let why = Names::parse(Some(pattern)).unwrap_err();
            assert!(why.contains(part) && why.contains(pattern), "{why}");
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_anew_with_each_listing() {
        let names = Names::parse(Some("shop:{key}")).unwrap();
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
}
