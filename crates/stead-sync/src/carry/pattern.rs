//! Patterns of paths: where in a path of a tree the key is.
//!
//! ```text
//! {a}/{b}/{c}/{escaped_key}      38/37/60/frank             frank
//! {any}/{key}.jpg                2024/frank.jpg             frank
//! users/{key}/...                users/frank/a/photo.jpg    frank
//! {path}                         web1/cpu/0.rrd             web1/cpu/0.rrd
//! ```

use stead::path::{path_name, Levels};

/// A pattern, for paths relative to the root of a node.
#[derive(Clone, Debug)]
pub struct Pattern {
    parts: Vec<Part>,
    end: End,
}

/// One level of a tree.
#[derive(Clone, Debug)]
struct Part {
    before: Vec<u8>,
    after: Vec<u8>,
    hole: Hole,
}

/// What may stand in a level between its fixed beginning and end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hole {
    Nothing,
    Anything,
    Key,
    EscapedKey,
}

/// What follows the last level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Nothing: the last level is a file.
    File,
    /// `...`: everything below belongs to the key.
    Below,
    /// `{path}`: all of it is the key.
    Path,
}

/// What a walk does with a name that it finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fit {
    /// It is not in the pattern.
    No,
    /// The pattern goes on below it.
    Inside,
    /// Files here have a key.
    Whole,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// Errors: what is wrong with it.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        let wrong = |what: &str| Err(format!("the pattern {text:?} {what}"));
        let mut names: Vec<&str> = text.split('/').collect();
        let end = match names.last() {
            Some(&"...") => End::Below,
            Some(&"{path}") => End::Path,
            _ => End::File,
        };
        if end != End::File {
            names.pop();
        }
        let mut parts = Vec::new();
        for name in names {
            if matches!(name, "" | "." | ".." | "...") {
                return wrong("has an empty level, `.`, `..`, or `...` before its end");
            }
            parts.push(match Part::parse(name) {
                Some(part) => part,
                None => return wrong("has more than one {...} in a level, or a single brace"),
            });
        }
        let is_key = |part: &&Part| matches!(part.hole, Hole::Key | Hole::EscapedKey);
        let keys = parts.iter().filter(is_key).count() + usize::from(end == End::Path);
        match keys {
            1 => Ok(Pattern { parts, end }),
            0 => wrong("does not say where the key is: write {key}, {escaped_key} or {path}"),
            _ => wrong("has more than one key"),
        }
    }

    /// Says what to do with a directory, given its path from the root.
    pub fn directory(&self, path: &[&[u8]]) -> Fit {
        let (all, depth) = (self.parts.len(), path.len());
        let fits = path
            .iter()
            .zip(&self.parts)
            .all(|(name, part)| part.fits(name));
        match (fits, self.end) {
            (false, _) => Fit::No,
            (true, End::File) if depth >= all => Fit::No,
            (true, End::Below | End::Path) if depth >= all => Fit::Whole,
            (true, _) => Fit::Inside,
        }
    }

    /// Returns the key of a file, given its path from the root; `None` when it does not fit.
    pub fn key(&self, path: &[&[u8]]) -> Option<Vec<u8>> {
        let all = self.parts.len();
        let long_enough = match self.end {
            End::File => path.len() == all,
            End::Below => path.len() >= all,
            End::Path => path.len() > all,
        };
        let fits = path
            .iter()
            .zip(&self.parts)
            .all(|(name, part)| part.fits(name));
        if !long_enough || !fits {
            return None;
        }
        if self.end == End::Path {
            return Some(path[all..].join(&b'/'));
        }
        let mut parts = path.iter().zip(&self.parts);
        parts.find_map(|(name, part)| part.key(name))
    }

    /// Returns how many levels are above what belongs to one key: directories on these levels hold
    /// many keys.
    pub fn shared_levels(&self) -> usize {
        let is_key = |part: &Part| matches!(part.hole, Hole::Key | Hole::EscapedKey);
        let place = self.parts.iter().position(is_key);
        place.unwrap_or(self.parts.len())
    }
}

impl Part {
    fn parse(text: &str) -> Option<Part> {
        let part = |before: &str, after: &str, hole| Part {
            before: before.into(),
            after: after.into(),
            hole,
        };
        let Some((before, rest)) = text.split_once('{') else {
            return (!text.contains('}')).then(|| part(text, "", Hole::Nothing));
        };
        let (name, after) = rest.split_once('}')?;
        let hole = match name {
            "key" => Hole::Key,
            "escaped_key" => Hole::EscapedKey,
            "" | "path" => return None,
            _ => Hole::Anything,
        };
        let plain = |text: &str| !text.contains(['{', '}']);
        (plain(before) && plain(name) && plain(after)).then(|| part(before, after, hole))
    }

    /// Returns what stands in the hole.
    fn inner<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        let rest = name.strip_prefix(&self.before[..])?;
        rest.strip_suffix(&self.after[..])
    }

    fn fits(&self, name: &[u8]) -> bool {
        match (self.hole, self.inner(name)) {
            (_, None) => false,
            (Hole::Nothing, Some(inner)) => inner.is_empty(),
            (Hole::Anything | Hole::Key, Some(inner)) => !inner.is_empty(),
            (Hole::EscapedKey, Some(inner)) => unescaped(inner).is_some(),
        }
    }

    fn key(&self, name: &[u8]) -> Option<Vec<u8>> {
        match self.hole {
            Hole::Key => self.inner(name).map(<[u8]>::to_vec),
            Hole::EscapedKey => self.inner(name).and_then(unescaped),
            Hole::Nothing | Hole::Anything => None,
        }
    }
}

/// Returns the key of a file name of docs/paths.md; `None` when it is none.
fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    // with one directory on one level, each name is in directory 0
    let levels = Levels::new(&[1]).ok()?;
    path_name(&[b"0/", name].concat(), &levels).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(pattern: &str, path: &str) -> Option<String> {
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        let key = Pattern::parse(pattern).unwrap().key(&names)?;
        Some(String::from_utf8(key).unwrap())
    }

    #[test]
    fn keys_are_found_where_the_pattern_says() {
        for (pattern, path, expected) in [
            ("{a}/{b}/{c}/{escaped_key}", "38/37/60/frank", Some("frank")),
            (
                "{a}/{b}/{c}/{escaped_key}",
                "57/28/119/=46rank",
                Some("Frank"),
            ),
            ("{a}/{b}/{c}/{escaped_key}", "57/28/119/Frank", None),
            ("{a}/{b}/{c}/{escaped_key}", "57/28/frank", None),
            ("{a}/{b}/{c}/{escaped_key}", "57/28/1/frank/x", None),
            ("{a}/{escaped_key}/...", "57/frank/x/y", Some("frank")),
            ("{a}/{escaped_key}/...", "57/frank", Some("frank")),
            ("{any}/{key}.jpg", "2024/frank.jpg", Some("frank")),
            ("{any}/{key}.jpg", "2024/frank.png", None),
            ("{any}/{key}.jpg", "2024/.jpg", None),
            ("users/u-{key}/...", "users/u-f r/a/b", Some("f r")),
            ("users/u-{key}/...", "user/u-f/a/b", None),
            ("{path}", "web1/cpu/0.rrd", Some("web1/cpu/0.rrd")),
            ("rrd/{path}", "rrd/web1/0.rrd", Some("web1/0.rrd")),
            ("rrd/{path}", "rrd", None),
        ] {
            assert_eq!(key(pattern, path).as_deref(), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_wrong_pattern_is_refused() {
        for text in [
            "",
            "a/b",
            "{any}",
            "{key}/{key}",
            "a//{key}",
            "../{key}",
            "{key}{x}",
            "{key",
            "k}ey",
            "{key}/{path}",
            "{}/{key}",
            "{path}/x",
            ".../{key}",
            "a{b/{key}",
        ] {
            assert!(Pattern::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_walk_goes_only_where_keys_can_be() {
        let pattern = Pattern::parse("{a}/x{b}/{key}/...").unwrap();
        assert_eq!(pattern.directory(&[b"1"]), Fit::Inside);
        assert_eq!(pattern.directory(&[b"1", b"y"]), Fit::No);
        assert_eq!(pattern.directory(&[b"1", b"x2", b"k"]), Fit::Whole);
        assert_eq!(pattern.directory(&[b"1", b"x2", b"k", b"z"]), Fit::Whole);
        assert_eq!(pattern.shared_levels(), 2);
        let files = Pattern::parse("{a}/{key}").unwrap();
        assert_eq!(files.directory(&[b"1"]), Fit::Inside);
        assert_eq!(files.directory(&[b"1", b"k"]), Fit::No);
    }
}
