//! The one tree that TOML and JSON are lowered to, and the way back from a byte of the text to its
//! line.

/// How deep tables and arrays may stand in one another. A fleet needs 4; the limit keeps the
/// parsers' recursion, and the freeing of what they built, far from the end of the smallest stack
/// that a host program gives a thread.
pub(super) const DEEPEST: usize = 64;

/// A value and the byte where it starts. No `Debug`: a tree may hold a secret.
pub(super) struct Tree {
    pub at: usize,
    pub value: TreeValue,
}

/// What both languages can say.
pub(super) enum TreeValue {
    Text(String),
    /// As it was written, except that the underscores of TOML are gone.
    Number(String),
    Array(Vec<Tree>),
    /// In the order of the text; no key twice.
    Table(Vec<KeyedTree>),
    Bool(bool),
    /// What no key of a fleet takes: a date, a null; in words.
    Other(&'static str),
}

/// A key, the byte where it starts, and its value.
pub(super) struct KeyedTree {
    pub key: String,
    pub at: usize,
    pub tree: Tree,
}

/// A mistake at a byte of the text, in words that fit in one line.
pub(super) struct Mistake {
    pub at: usize,
    pub problem: String,
}

impl Mistake {
    pub(super) fn new(at: usize, problem: impl Into<String>) -> Mistake {
        Mistake {
            at,
            problem: problem.into(),
        }
    }

    /// The one that stands earlier in the text; of two at the same byte this one.
    pub(super) fn or_earlier(self, other: Option<Mistake>) -> Mistake {
        other.filter(|other| other.at < self.at).unwrap_or(self)
    }
}

/// A text of the user's for a message: control characters escaped, cut after 60 characters, so that
/// the message stays one readable line.
pub(super) fn shown(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == 60 {
            out.push_str("...");
            break;
        }
        // U+2028 and U+2029 break lines too
        if c.is_control() || c == '\u{2028}' || c == '\u{2029}' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Byte to line.
///
/// Keeps the number of line ends before each block of 256 bytes and counts the rest: a table of all
/// line starts would take eight times the size of a 64 MiB file of empty lines.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    before: Vec<u32>,
}

const BLOCK: usize = 256;

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Lines<'a> {
        let text = text.as_bytes();
        let mut before = Vec::with_capacity(text.len() / BLOCK + 1);
        let mut ends = 0u32;
        for block in text.chunks(BLOCK) {
            before.push(ends);
            ends += newlines(block) as u32; // at most 64 Mi in all
        }
        Lines { text, before }
    }

    /// The line of the byte `at`, from 1. The end of the text counts to its last line.
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
        let lines = Lines::new(&text);
        for at in 0..text.len() {
            assert_eq!(
                lines.line(at),
                1 + newlines(&text.as_bytes()[..at]),
                "byte {at}"
            );
        }
        assert_eq!(lines.line(text.len()), 700);
        assert_eq!(lines.line(usize::MAX), 700);
        assert_eq!(Lines::new("").line(0), 1);
    }

    #[test]
    fn shown_text_is_one_short_line() {
        assert_eq!(shown("a\nb\u{7}"), "a\\nb\\u{7}");
        assert_eq!(shown("é\u{2028}"), "é\\u{2028}");
        assert_eq!(shown(&"x".repeat(61)), format!("{}...", "x".repeat(60)));
        assert_eq!(shown(&"x".repeat(60)), "x".repeat(60));
    }
}
