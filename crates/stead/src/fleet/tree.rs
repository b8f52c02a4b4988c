//! The tree that TOML and JSON are both lowered to, and the conversion of byte offsets to lines.

use crate::error::{self, Error};
use crate::memory;

/// How deep tables and arrays may be nested. A fleet needs 4. The limit keeps the recursion of the
/// parsers, and of freeing what they built, within the smallest stack that a host program gives a
/// thread.
pub(super) const DEEPEST: usize = 64;

/// The lists of tables that a fleet has.
pub(super) const LISTS: [&str; 4] = ["node", "policy", "pin", "first"];

/// A value and the byte where it starts. It has no `Debug`, because a tree may contain a secret.
pub(super) struct Tree {
    pub at: usize,
    pub value: TreeValue,
}

/// The values that both languages have.
pub(super) enum TreeValue {
    Text(String),
    /// The number as it was written, without the underscores of TOML.
    Number(String),
    Array(Vec<Tree>),
    /// The entries in the order of the text. No key occurs twice.
    Table(Vec<KeyedTree>),
    Bool(bool),
    /// A value that no key of a fleet accepts, such as a date or null, described in words.
    Other(&'static str),
}

/// A key, the byte where it starts, and its value.
pub(super) struct KeyedTree {
    pub key: String,
    pub at: usize,
    pub tree: Tree,
}

/// Takes the entries of a fleet as they are read, in the order of the text. A list of tables may
/// come in several parts, each with the same key.
///
/// Returns whether to go on: `false` after a mistake.
pub(super) type Take<'t> = dyn FnMut(KeyedTree) -> bool + 't;

/// A mistake at a byte of the text, described in one line.
#[derive(Clone)]
pub(super) struct Mistake {
    pub at: usize,
    pub problem: String,
}

/// Why a text was not read.
pub(super) enum Stopped {
    Mistake(Mistake),
    /// There is not enough memory.
    Memory(Error),
}

impl From<Mistake> for Stopped {
    fn from(mistake: Mistake) -> Stopped {
        Stopped::Mistake(mistake)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Memory(error)
    }
}

/// Collects what a parser gives into one tree.
#[cfg(test)]
pub(super) fn collected(
    read: impl FnOnce(&mut Take<'_>) -> Result<bool, Stopped>,
) -> Result<Vec<KeyedTree>, Mistake> {
    let mut all: Vec<KeyedTree> = Vec::new();
    let take = &mut |entry: KeyedTree| {
        let before = all.iter_mut().find(|before| before.key == entry.key);
        match (before.map(|before| &mut before.tree.value), entry) {
            (None, entry) => all.push(entry),
            (Some(TreeValue::Array(tables)), entry) => match entry.tree.value {
                TreeValue::Array(more) => tables.extend(more),
                _ => panic!("a part of {} is no list", entry.key),
            },
            (Some(_), entry) => panic!("{} came twice", entry.key),
        }
        true
    };
    match read(take) {
        Ok(whole) => assert!(whole, "all was taken"),
        Err(Stopped::Mistake(mistake)) => return Err(mistake),
        Err(Stopped::Memory(error)) => panic!("{error}"),
    }
    Ok(all)
}

impl Mistake {
    pub(super) fn new(at: usize, problem: impl Into<String>) -> Mistake {
        Mistake {
            at,
            problem: problem.into(),
        }
    }

    /// Returns the mistake that comes earlier in the text, or `self` when both are at the same
    /// byte.
    pub(super) fn or_earlier(self, other: Option<Mistake>) -> Mistake {
        other.filter(|other| other.at < self.at).unwrap_or(self)
    }
}

/// Prepares a user's text for a message: escapes control characters and cuts the text after 60
/// characters, so that the message stays one readable line.
pub(super) fn shown(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == 60 {
            out.push_str("...");
            break;
        }
        // U+2028 and U+2029 also break lines
        if c.is_control() || c == '\u{2028}' || c == '\u{2029}' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Converts byte offsets to lines.
///
/// It stores the number of line ends before each block of 256 bytes, and counts the rest on demand:
/// a table of all line starts would take eight times the size of a 64 MiB file of empty lines.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    before: Vec<u32>,
}

const BLOCK: usize = 256;

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> error::Result<Lines<'a>> {
        let text = text.as_bytes();
        let mut before = memory::empty(text.len() / BLOCK + 1)?;
        let mut ends = 0u32;
        for block in text.chunks(BLOCK) {
            before.push(ends);
            ends += newlines(block) as u32; // at most 64 Mi in all
        }
        Ok(Lines { text, before })
    }

    /// Returns the line of the byte `at`, from 1. The end of the text belongs to the last line.
    pub(super) fn line(&self, at: usize) -> usize {
        let at = at.min(self.text.len().saturating_sub(1));
        let block = at / BLOCK;
        let before = self.before.get(block).copied().unwrap_or(0) as usize;
        1 + before + self.text.get(block * BLOCK..at).map_or(0, newlines)
    }
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_every_byte_is_one_more_than_the_line_ends_before_it() {
        let mut text = String::new();
        for i in 0..700 {
            text.push_str(&"x".repeat(i % 7));
            text.push_str(if i % 3 == 0 { "\r\n" } else { "\n" });
        }
        let lines = Lines::new(&text).unwrap();
        for at in 0..text.len() {
            assert_eq!(
                lines.line(at),
                1 + newlines(&text.as_bytes()[..at]),
                "byte {at}"
            );
        }
        assert_eq!(lines.line(text.len()), 700);
        assert_eq!(lines.line(usize::MAX), 700);
        assert_eq!(Lines::new("").unwrap().line(0), 1);
    }

    #[test]
    fn shown_text_is_one_short_line() {
        assert_eq!(shown("a\nb\u{7}"), "a\\nb\\u{7}");
        assert_eq!(shown("é\u{2028}"), "é\\u{2028}");
        assert_eq!(shown(&"x".repeat(61)), format!("{}...", "x".repeat(60)));
        assert_eq!(shown(&"x".repeat(60)), "x".repeat(60));
    }
}
