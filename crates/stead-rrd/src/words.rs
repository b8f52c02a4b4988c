//! Splits a line of the rrdcached protocol into its parts.
//!
//! One blank separates two fields, and a backslash escapes the next byte. A verb or a path that
//! ends with a backslash that escapes nothing is no field.

use std::borrow::Cow;

use crate::path::escape;
use crate::verb::Verb;

/// The parts of a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Split<'a> {
    /// `None` if the verb is unknown.
    pub verb: Option<Verb>,
    /// The verb as it was written.
    pub word: Cow<'a, [u8]>,
    /// Everything after the verb, as it was written.
    pub rest: &'a [u8],
}

impl<'a> Split<'a> {
    /// Splits a line. Its end (LF or CRLF) may be present or not.
    pub fn of(line: &'a [u8]) -> Split<'a> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (word, rest) = field(line);
        Split {
            verb: Verb::named(&word),
            word,
            rest,
        }
    }

    /// Returns the path, and the text after it as it was written. Returns `None` if there is no
    /// path.
    pub fn path(&self) -> Option<(Cow<'a, [u8]>, &'a [u8])> {
        let (path, rest) = field(self.rest);
        (!path.is_empty()).then_some((path, rest))
    }
}

/// Returns the line, without its end, that asks one thing about one file.
pub fn line_of(verb: Verb, name: &[u8]) -> Vec<u8> {
    let mut line = [verb.name().as_bytes(), b" "].concat();
    escape(name, &mut line);
    line
}

/// Returns the first field of a line without its backslashes, and the text after the blank that
/// ends it. The field is empty if there is none.
pub fn field(line: &[u8]) -> (Cow<'_, [u8]>, &[u8]) {
    match line.iter().position(|byte| matches!(byte, b' ' | b'\\')) {
        None => return (Cow::Borrowed(line), &[]),
        Some(at) if line[at] == b' ' => return (Cow::Borrowed(&line[..at]), &line[at + 1..]),
        Some(_) => {}
    }
    match unescaped(line) {
        (text, Some(rest)) => (text.into(), rest),
        (_, None) => (Cow::Borrowed(&[]), &[]),
    }
}

/// Returns the text up to the first blank without its backslashes, and what follows the blank, or
/// `None` if the text ends with a backslash that escapes nothing.
pub fn unescaped(line: &[u8]) -> (Vec<u8>, Option<&[u8]>) {
    let mut text = Vec::new();
    let mut bytes = line.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => return (text, Some(&line[at + 1..])),
            b'\\' => match bytes.next() {
                Some((_, byte)) => text.push(*byte),
                None => return (text, None),
            },
            _ => text.push(*byte),
        }
    }
    (text, Some(&[]))
}

/// Returns the words of a line, as they were written. Blanks at the end or several blanks in a row
/// make no word, and an escaped blank ends none.
pub fn words(rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut left = rest;
    std::iter::from_fn(move || loop {
        if left.is_empty() {
            return None;
        }
        let mut end = left.iter().position(|byte| matches!(byte, b' ' | b'\\'));
        if end.is_some_and(|at| left[at] == b'\\') {
            let mut escaped = false;
            end = left.iter().position(|byte| {
                let ends = *byte == b' ' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                ends
            });
        }
        let word = &left[..end.unwrap_or(left.len())];
        left = end.map_or(&[], |end| &left[end + 1..]);
        if !word.is_empty() {
            return Some(word);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::VERBS;

    #[test]
    fn a_line_may_end_either_way() {
        for (verb, name, _) in VERBS {
            for line in [
                format!("{name}\n"),
                format!("{}\r\n", name.to_lowercase()),
                name.to_owned(),
            ] {
                assert_eq!(Split::of(line.as_bytes()).verb, Some(verb), "{line:?}");
            }
        }
        for line in ["", "\n", " ping", "pin", "ping\t", "wrote a"] {
            assert_eq!(Split::of(line.as_bytes()).verb, None, "{line:?}");
        }
    }

    #[test]
    fn a_path_may_hold_blanks_and_the_rest_stays_as_it_was() {
        let split = Split::of(b"update c/sp\\ a\\\\ce.rrd 1:2  3:4\\ \n");
        assert_eq!(
            split.path(),
            Some((b"c/sp a\\ce.rrd"[..].into(), &b"1:2  3:4\\ "[..]))
        );
        assert_eq!(Split::of(b"update").path(), None);
        assert_eq!(Split::of(b"update \n").path(), None);
        assert_eq!(words(b"1:2  3:4 ").collect::<Vec<_>>(), [b"1:2", b"3:4"]);
        assert_eq!(
            words(b"1:\\ 2 a\\\\ b").collect::<Vec<_>>(),
            [&b"1:\\ 2"[..], b"a\\\\", b"b"]
        );
    }

    #[test]
    fn what_ends_with_a_lone_backslash_is_no_field() {
        for line in [&b"flush a\\"[..], b"flush a\\\n", b"flush \\ a\\\r\n"] {
            assert_eq!(Split::of(line).path(), None);
        }
        let split = Split::of(b"flush a\\\\");
        assert_eq!(split.path(), Some((b"a\\"[..].into(), &b""[..])));
    }
}
