//! A request: one line of the rrdcached protocol.
//!
//! Fields are separated by one blank, and a backslash takes the next byte as it is. The verb and
//! the path are understood; what follows goes to the backends as it came.

use std::borrow::Cow;

/// What a client can ask for. The order is the one of HELP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // rrdcached(1) describes each
pub enum Verb {
    Update,
    Flush,
    Flushall,
    Pending,
    Forget,
    Queue,
    Stats,
    Help,
    Ping,
    Batch,
    Fetch,
    Fetchbin,
    Info,
    First,
    Last,
    Create,
    List,
    Suspend,
    Resume,
    Suspendall,
    Resumeall,
    Quit,
}

use Verb::*;

/// Every verb, its name and what follows it.
pub const VERBS: [(Verb, &str, &str); 22] = [
    (Update, "UPDATE", " <filename> <values> [<values> ...]"),
    (Flush, "FLUSH", " <filename>"),
    (Flushall, "FLUSHALL", ""),
    (Pending, "PENDING", " <filename>"),
    (Forget, "FORGET", " <filename>"),
    (Queue, "QUEUE", ""),
    (Stats, "STATS", ""),
    (Help, "HELP", " [<command>]"),
    (Ping, "PING", ""),
    (Batch, "BATCH", ""),
    (
        Fetch,
        "FETCH",
        " <file> <CF> [<start> [<end>] [<column>...]]",
    ),
    (
        Fetchbin,
        "FETCHBIN",
        " <file> <CF> [<start> [<end>] [<column>...]]",
    ),
    (Info, "INFO", " <filename>"),
    (First, "FIRST", " <filename> <rra index>"),
    (Last, "LAST", " <filename>"),
    (
        Create,
        "CREATE",
        " <filename> [-b start] [-s step] [-O] <DS definitions> <RRA definitions>",
    ),
    (List, "LIST", " [RECURSIVE] /[<path>]"),
    (Suspend, "SUSPEND", " <filename>"),
    (Resume, "RESUME", " <filename>"),
    (Suspendall, "SUSPENDALL", ""),
    (Resumeall, "RESUMEALL", ""),
    (Quit, "QUIT", ""),
];

impl Verb {
    /// The verb of this name, in any case.
    pub fn named(name: &[u8]) -> Option<Verb> {
        VERBS
            .iter()
            .find(|(_, known, _)| known.as_bytes().eq_ignore_ascii_case(name))
            .map(|(verb, ..)| *verb)
    }

    /// Its name, in upper case.
    pub fn name(self) -> &'static str {
        VERBS[self as usize].1
    }

    /// The line that says how to use it.
    pub fn usage(self) -> String {
        format!("Usage: {}{}", self.name(), VERBS[self as usize].2)
    }

    /// Whether it may stand in a BATCH.
    pub fn in_batch(self) -> bool {
        matches!(
            self,
            Update | Flush | Forget | Create | Suspend | Resume | Suspendall | Resumeall | Quit
        )
    }

    /// Whether its first argument is the path of a file.
    pub fn has_path(self) -> bool {
        matches!(
            self,
            Update
                | Flush
                | Pending
                | Forget
                | Fetch
                | Fetchbin
                | Info
                | First
                | Last
                | Create
                | Suspend
                | Resume
        )
    }
}

/// A line, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// `None`: no verb of ours.
    pub verb: Option<Verb>,
    /// The verb as it was written.
    pub word: Cow<'a, [u8]>,
    /// All after the verb, as it was written.
    pub rest: &'a [u8],
}

impl<'a> Request<'a> {
    /// Takes a line apart; its end (LF or CRLF) may be there or not.
    pub fn parse(line: &'a [u8]) -> Request<'a> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (word, rest) = field(line);
        Request {
            verb: Verb::named(&word),
            word,
            rest,
        }
    }

    /// The path, and what follows it as it was written; `None` when there is no path.
    pub fn path(&self) -> Option<(Cow<'a, [u8]>, &'a [u8])> {
        let (path, rest) = field(self.rest);
        (!path.is_empty()).then_some((path, rest))
    }
}

/// The first field of a line without its backslashes, and what follows the blank after it.
pub fn field(line: &[u8]) -> (Cow<'_, [u8]>, &[u8]) {
    match line.iter().position(|byte| matches!(byte, b' ' | b'\\')) {
        None => return (Cow::Borrowed(line), &[]),
        Some(at) if line[at] == b' ' => return (Cow::Borrowed(&line[..at]), &line[at + 1..]),
        Some(_) => {}
    }
    let mut text = Vec::new();
    let mut bytes = line.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => return (text.into(), &line[at + 1..]),
            b'\\' => text.extend(bytes.next().map(|(_, byte)| *byte)),
            _ => text.push(*byte),
        }
    }
    (text.into(), &[])
}

/// The words of a line, as they were written; blanks at its end or side by side make none, and one
/// behind a backslash ends none.
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

    #[test]
    fn verbs_are_known_in_any_case_and_by_either_line_end() {
        for (verb, name, _) in VERBS {
            assert_eq!(verb.name(), name);
            for line in [
                format!("{name}\n"),
                format!("{}\r\n", name.to_lowercase()),
                name.to_owned(),
            ] {
                assert_eq!(Request::parse(line.as_bytes()).verb, Some(verb), "{line:?}");
            }
        }
        for line in ["", "\n", " ping", "pin", "ping\t", "wrote a"] {
            assert_eq!(Request::parse(line.as_bytes()).verb, None, "{line:?}");
        }
    }

    #[test]
    fn a_path_may_hold_blanks_and_the_rest_stays_as_it_was() {
        let request = Request::parse(b"update c/sp\\ a\\\\ce.rrd 1:2  3:4\\ \n");
        assert_eq!(
            request.path(),
            Some((b"c/sp a\\ce.rrd"[..].into(), &b"1:2  3:4\\ "[..]))
        );
        assert_eq!(Request::parse(b"update").path(), None);
        assert_eq!(Request::parse(b"update \n").path(), None);
        assert_eq!(
            Request::parse(b"flush a\\").path(),
            Some((b"a"[..].into(), &b""[..]))
        );
        assert_eq!(words(b"1:2  3:4 ").collect::<Vec<_>>(), [b"1:2", b"3:4"]);
        assert_eq!(
            words(b"1:\\ 2 a\\\\ b").collect::<Vec<_>>(),
            [&b"1:\\ 2"[..], b"a\\\\", b"b"]
        );
    }
}
