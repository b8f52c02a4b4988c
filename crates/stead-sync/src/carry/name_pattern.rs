//! Patterns of names: where in a name of memcached or Redis the key is.
//!
//! ```text
//! shop:{key}           shop:frank              frank
//! {any}:{key}          cart:12, wish:12        12
//! {any}:{key}:v2       cart:12:v2              12
//! sess:{key}:{any}     sess:acme:1f:03         acme
//! {any}:{key}:{any}    doc:acme:1:draft        acme
//! ```
//!
//! # How a name is split
//!
//! A placeholder stands for at least one byte. From left to right, each one takes as few bytes as
//! possible, which is up to the first place where the text stands that follows it in the pattern.
//! The last one takes the rest, up to the text at the end of the pattern.
//!
//! No placeholder has to be tried again with more bytes: the next ones would be left with less of
//! the name, and find no text there that they do not find in more of it.

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// What stands for the key.
const KEY: &str = "{key}";

/// What stands for something else.
const ANY: &str = "{any}";

/// A pattern for messages that say how one is written.
const EXAMPLE: &str = "sess:{key}:{any}";

/// A pattern of names.
#[derive(Clone, Debug)]
pub struct NamePattern {
    text: String,
    /// what names begin with
    before: Vec<u8>,
    /// at least one, and exactly one of them is the key
    places: Vec<Place>,
}

/// A placeholder.
#[derive(Clone, Debug)]
struct Place {
    is_key: bool,
    /// the text that follows it; only behind the last placeholder it may be empty
    after: Vec<u8>,
}

impl NamePattern {
    /// Parses a pattern.
    ///
    /// Errors: what is wrong with it, and how to write it.
    pub fn parse(text: &str) -> Result<NamePattern, String> {
        let wrong = |what: &str, example: &str| {
            Err(format!("pattern {text:?}: {what}, such as {example:?}"))
        };
        let lonely = || wrong("a brace stands alone; write {key} and {any}", EXAMPLE);
        let (before, mut rest) = text.split_at(text.find('{').unwrap_or(text.len()));
        let mut places: Vec<Place> = Vec::new();
        while !rest.is_empty() {
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            let (word, others) = rest.split_at(end);
            let (after, next) = others.split_at(others.find('{').unwrap_or(others.len()));
            let is_whole = word.ends_with('}') && !word[1..].contains('{');
            if !is_whole || after.contains('}') {
                return lonely();
            }
            if word != KEY && word != ANY {
                let what = "is unknown; write {key} for the key and {any} for something else";
                return wrong(&format!("{word} {what}"), EXAMPLE);
            }
            places.push(Place {
                is_key: word == KEY,
                after: after.into(),
            });
            rest = next;
        }
        if before.contains('}') {
            return lonely();
        }
        match places.iter().filter(|place| place.is_key).count() {
            0 => return wrong("it does not say where the key is; write {key}", EXAMPLE),
            1 => {}
            2 => return wrong("{key} stands twice; write it once", EXAMPLE),
            keys => {
                let what = format!("{{key}} stands {keys} times; write it once");
                return wrong(&what, EXAMPLE);
            }
        }
        let close = places.windows(2).find(|two| two[0].after.is_empty());
        if let Some([one, other]) = close {
            let (one, other) = (one.word(), other.word());
            let what = format!(
                "nothing stands between {one} and {other}, so the end of {one} is not known; write \
                 a text there"
            );
            return wrong(&what, &format!("{one}:{other}"));
        }
        Ok(NamePattern {
            text: text.to_owned(),
            before: before.into(),
            places,
        })
    }

    /// Returns the key in a name; `None` when the name does not fit.
    fn key<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = name.strip_prefix(&self.before[..])?;
        let (mut key, last) = (None, self.places.len() - 1);
        for (number, place) in self.places.iter().enumerate() {
            let is_end = |at: &usize| rest[*at..].starts_with(&place.after);
            let end = match number == last {
                true => rest.strip_suffix(&place.after[..])?.len(),
                false => (1..rest.len()).find(is_end)?,
            };
            if end == 0 {
                return None;
            }
            if place.is_key {
                key = Some(&rest[..end]);
            }
            rest = &rest[end + place.after.len()..];
        }
        key
    }
}

impl Place {
    fn word(&self) -> &'static str {
        match self.is_key {
            true => KEY,
            false => ANY,
        }
    }
}

impl<'d> Deserialize<'d> for NamePattern {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<NamePattern, D::Error> {
        let text = String::deserialize(deserializer)?;
        NamePattern::parse(&text).map_err(D::Error::custom)
    }
}

/// One pattern or several ones, as the file of a carry has them: a text, or a list of texts. The
/// first one that fits a name decides.
#[derive(Clone, Debug)]
pub struct NamePatterns(Vec<NamePattern>);

impl NamePatterns {
    /// Parses patterns, at least one.
    ///
    /// Errors: what is wrong with the first one that is wrong.
    #[cfg(test)]
    pub fn parse(texts: &[&str]) -> Result<NamePatterns, String> {
        let all = texts.iter().map(|text| NamePattern::parse(text));
        all.collect::<Result<_, _>>().map(NamePatterns)
    }

    /// Returns the key in a name; `None` when no pattern fits.
    pub fn key<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        self.0.iter().find_map(|pattern| pattern.key(name))
    }

    /// Returns a text that is another one for other patterns: the journal keeps it. A list of one
    /// pattern is that pattern.
    pub fn text(&self) -> String {
        match &self.0[..] {
            [one] => one.text.clone(),
            // no pattern looks like that, because it would have a second {key}
            _ => format!("[{}]", self.listed()),
        }
    }

    /// Returns the patterns for a message, such as `the pattern shop:{key}`, and whether there are
    /// several.
    pub fn told(&self) -> (String, bool) {
        match &self.0[..] {
            [one] => (format!("the pattern {}", one.text), false),
            _ => (format!("the patterns {}", self.listed()), true),
        }
    }

    /// Lists them in quotes, as the file may have them.
    fn listed(&self) -> String {
        let quoted = |pattern: &NamePattern| match pattern.text.contains('\'') {
            true => format!("{:?}", pattern.text),
            false => format!("'{}'", pattern.text),
        };
        let all: Vec<String> = self.0.iter().map(quoted).collect();
        all.join(", ")
    }
}

impl<'d> Deserialize<'d> for NamePatterns {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<NamePatterns, D::Error> {
        deserializer.deserialize_any(OneOrSeveral)
    }
}

struct OneOrSeveral;

impl<'d> Visitor<'d> for OneOrSeveral {
    type Value = NamePatterns;

    fn expecting(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str("a string or a list of strings")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NamePatterns, E> {
        let one = NamePattern::parse(text).map_err(E::custom)?;
        Ok(NamePatterns(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut list: A) -> Result<NamePatterns, A::Error> {
        let mut all = Vec::new();
        while let Some(pattern) = list.next_element()? {
            all.push(pattern);
        }
        match all.is_empty() {
            true => Err(A::Error::custom(format_args!(
                "pattern is an empty list; write at least one pattern, such as [{EXAMPLE:?}], or \
                 leave it out where names are keys"
            ))),
            false => Ok(NamePatterns(all)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(toml: &str) -> Result<NamePatterns, String> {
        #[derive(Deserialize)]
        struct File {
            pattern: NamePatterns,
        }
        let file = toml::from_str::<File>(&format!("pattern = {toml}"));
        file.map(|file| file.pattern)
            .map_err(|e| e.message().to_owned())
    }

    #[test]
    fn a_pattern_finds_the_key_in_a_name() {
        for (pattern, name, key) in [
            ("shop:{key}", "shop:frank", Some("frank")),
            ("shop:{key}", "shop:a:b", Some("a:b")),
            ("shop:{key}", "cart:frank", None),
            ("shop:{key}", "shop:", None),
            ("{key}", "frank", Some("frank")),
            ("{key}", "", None),
            ("{any}:{key}", "cart:12", Some("12")),
            ("{any}:{key}", "cart:12:3", Some("12:3")),
            ("{any}:{key}", ":12", None),
            ("{any}:{key}", "::12", Some("12")),
            ("{any}:{key}", "cart", None),
            ("{any}:{key}", "cart:", None),
            ("{any}:{key}:v2", "cart:12:3:v2", Some("12:3")),
            ("s/{any}--{key}.v2", "s/a--b--12.v2", Some("b--12")),
            ("s/{any}--{key}.v2", "s/a--12.v1", None),
            // the key in the middle
            ("sess:{key}:{any}", "sess:acme:1f03", Some("acme")),
            ("sess:{key}:{any}", "sess:acme:1f:03", Some("acme")),
            ("sess:{key}:{any}", "sess:acme:", None),
            ("sess:{key}:{any}", "sess:acme", None),
            ("sess:{key}:{any}", "sess::1f03", None),
            ("sess:{key}:{any}", "sess::a:1", Some(":a")),
            ("{any}:{key}:{any}", "doc:acme:1", Some("acme")),
            ("{any}:{key}:{any}", "doc:acme:1:draft", Some("acme")),
            ("{any}:{key}:{any}", "doc:acme", None),
            ("{any}:{any}:{key}", "eu:doc:acme:1", Some("acme:1")),
            ("{key}:{any}", "acme:doc:1", Some("acme")),
            ("{key}", "a:b", Some("a:b")),
            ("{any}/{key}.{any}", "img/acme.2.jpg", Some("acme")),
            ("{any}:{key}:{any}:end", "a:b:c:d:end", Some("b")),
            ("{any}:{key}:{any}:end", "a:b:end", None),
            ("{any}<{key}>{any}", "a<é>b", Some("é")),
        ] {
            let found = NamePattern::parse(pattern).unwrap();
            let found = found.key(name.as_bytes());
            let found = found.map(|key| std::str::from_utf8(key).unwrap());
            assert_eq!(found, key, "{pattern} of {name}");
        }
    }

    /// Returns all ways in which a name is made of texts with at least one byte between two of
    /// them: of each way, the ranges between the texts.
    fn splits(texts: &[&str], name: &str, from: usize) -> Vec<Vec<(usize, usize)>> {
        let Some((text, others)) = texts.split_first() else {
            return match from == name.len() {
                true => vec![Vec::new()],
                false => Vec::new(),
            };
        };
        let mut all = Vec::new();
        for end in from + 1..=name.len() {
            if name[end..].starts_with(text) {
                for mut rest in splits(others, name, end + text.len()) {
                    rest.insert(0, (from, end));
                    all.push(rest);
                }
            }
        }
        all
    }

    /// Returns all texts of some letters, up to a length.
    fn words(letters: &[&str], most: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut begin = 0;
        for _ in 0..most {
            let end = all.len();
            for at in begin..end {
                for letter in letters {
                    all.push(format!("{}{letter}", all[at]));
                }
            }
            begin = end;
        }
        all
    }

    #[test]
    fn of_all_splits_of_a_name_it_is_that_with_the_least_from_the_left() {
        let texts = ["", ":", "a", "::", "a:", ":a"];
        let names = words(&["a", ":"], 8);
        let (mut fit, mut several) = (0, 0);
        for shape in ["k", "ak", "ka", "aka", "aak", "kaa"] {
            // texts before, between and behind, but none between placeholders that is empty
            let count = texts.len().pow(shape.len() as u32 + 1);
            for number in 0..count {
                let mut rest = number;
                let mut chosen = Vec::new();
                for _ in 0..=shape.len() {
                    chosen.push(texts[rest % texts.len()]);
                    rest /= texts.len();
                }
                if chosen[1..shape.len()].contains(&"") || number % 7 > 0 && shape.len() > 2 {
                    continue;
                }
                let mut text = chosen[0].to_owned();
                for (place, after) in shape.chars().zip(&chosen[1..]) {
                    text += if place == 'k' { KEY } else { ANY };
                    text += after;
                }
                let pattern = NamePattern::parse(&text).unwrap();
                let key_at = shape.find('k').unwrap();
                for name in &names {
                    let all = match name.starts_with(chosen[0]) {
                        true => splits(&chosen[1..], name, chosen[0].len()),
                        false => Vec::new(),
                    };
                    // ranges that begin alike are in the order of their ends
                    let least = all.iter().min().map(|split| split[key_at]);
                    let key = least.map(|(from, end)| &name.as_bytes()[from..end]);
                    assert_eq!(pattern.key(name.as_bytes()), key, "{text} of {name}");
                    fit += u64::from(key.is_some());
                    several += u64::from(all.len() > 1);
                }
            }
        }
        assert!(fit > 10_000 && several > 1000, "{fit} {several}");
    }

    /// The rule for patterns with one `{any}` at most, before the key, written for these alone.
    fn key_behind<'a>(texts: &[&str], name: &'a str) -> Option<&'a str> {
        let mut rest = name.strip_prefix(texts[0])?;
        if let [_, between, _] = texts {
            let at = (1..rest.len()).find(|at| rest[*at..].starts_with(between))?;
            rest = &rest[at + between.len()..];
        }
        rest.strip_suffix(texts[texts.len() - 1])
            .filter(|key| !key.is_empty())
    }

    #[test]
    fn a_key_behind_any_takes_the_rest_with_separators_in_it() {
        let names = words(&["a", ":"], 9);
        let texts = ["", ":", "a", "::", "a:", ":a", "a:a"];
        for before in texts {
            for after in texts {
                for between in texts {
                    let (text, texts) = match between {
                        "" => (format!("{before}{{key}}{after}"), vec![before, after]),
                        _ => (
                            format!("{before}{{any}}{between}{{key}}{after}"),
                            vec![before, between, after],
                        ),
                    };
                    let pattern = NamePattern::parse(&text).unwrap();
                    for name in &names {
                        let expected = key_behind(&texts, name).map(str::as_bytes);
                        assert_eq!(pattern.key(name.as_bytes()), expected, "{text} of {name}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_wrong_pattern_is_told_with_a_right_one() {
        for (pattern, told) in [
            (
                "shop",
                "it does not say where the key is; write {key}, such as \"sess:{key}:{any}\"",
            ),
            (
                "",
                "it does not say where the key is; write {key}, such as \"sess:{key}:{any}\"",
            ),
            (
                "{any}:x",
                "it does not say where the key is; write {key}, such as \"sess:{key}:{any}\"",
            ),
            (
                "s:{any}{key}",
                "nothing stands between {any} and {key}, so the end of {any} is not known; write \
                 a text there, such as \"{any}:{key}\"",
            ),
            (
                "{key}{any}",
                "nothing stands between {key} and {any}, so the end of {key} is not known; write \
                 a text there, such as \"{key}:{any}\"",
            ),
            (
                "{any}{any}:{key}",
                "nothing stands between {any} and {any}, so the end of {any} is not known; write \
                 a text there, such as \"{any}:{any}\"",
            ),
            (
                "{key}:{key}",
                "{key} stands twice; write it once, such as \"sess:{key}:{any}\"",
            ),
            (
                "{key}{key}",
                "{key} stands twice; write it once, such as \"sess:{key}:{any}\"",
            ),
            (
                "{key}:{key}:{key}",
                "{key} stands 3 times; write it once, such as \"sess:{key}:{any}\"",
            ),
            (
                "{user}:{key}",
                "{user} is unknown; write {key} for the key and {any} for something else, such \
                 as \"sess:{key}:{any}\"",
            ),
            (
                "a}{key}",
                "a brace stands alone; write {key} and {any}, such as \"sess:{key}:{any}\"",
            ),
            (
                "{key}}",
                "a brace stands alone; write {key} and {any}, such as \"sess:{key}:{any}\"",
            ),
            (
                "{any:{key}",
                "a brace stands alone; write {key} and {any}, such as \"sess:{key}:{any}\"",
            ),
            (
                "{key}{",
                "a brace stands alone; write {key} and {any}, such as \"sess:{key}:{any}\"",
            ),
        ] {
            let why = NamePattern::parse(pattern).unwrap_err();
            assert_eq!(why, format!("pattern {pattern:?}: {told}"));
        }
        assert!(patterns("[]").unwrap_err().contains("an empty list"));
        let why = patterns("['a:{key}', 'b']").unwrap_err();
        assert!(why.starts_with("pattern \"b\": it does not say"), "{why}");
        let why = patterns("5").unwrap_err();
        assert!(
            why.contains("expected a string or a list of strings"),
            "{why}"
        );
    }

    #[test]
    fn the_first_pattern_of_a_list_that_fits_decides() {
        let list = patterns("['sess:{key}:{any}', 'doc:{any}:{key}', '{key}']").unwrap();
        for (name, key) in [
            ("sess:acme:1", "acme"),
            ("doc:1:acme", "acme"),
            ("sess:acme", "sess:acme"),
            ("acme", "acme"),
        ] {
            assert_eq!(list.key(name.as_bytes()), Some(key.as_bytes()), "{name}");
        }
        let list = patterns("['sess:{key}:{any}', 'doc:{key}:{any}']").unwrap();
        assert_eq!(list.key(b"tmp"), None);
    }

    #[test]
    fn other_patterns_have_another_text() {
        let text = |toml: &str| patterns(toml).unwrap().text();
        assert_eq!(text("'shop:{key}'"), "shop:{key}");
        assert_eq!(text("['shop:{key}']"), "shop:{key}");
        let list = "['sess:{key}:{any}', 'doc:{key}:{any}']";
        assert_eq!(text(list), list);
        let others = [
            "['doc:{key}:{any}', 'sess:{key}:{any}']",
            r#"["{key}', 'x", '{key}']"#,
            r#"['{key}', "x', '{key}"]"#,
            r#"["{key}', 'x{any}y', 'z", '{key}']"#,
        ];
        let texts: std::collections::BTreeSet<String> = others.map(text).into();
        assert_eq!(texts.len(), others.len(), "{texts:?}");
    }
}
