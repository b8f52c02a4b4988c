//! A client's request, parsed once. From here on it stays one of these types, and no code reads its
//! line again.
//!
//! Paths have become names, and every error that the words of the request show has been reported.
//! The words after the path of a question go to the backends as they came.

use std::borrow::Cow;

use crate::clock::now;
use crate::fetch::{Wanted, SHORT_SECONDS};
use crate::path::{escaped, join, Base};
use crate::reply::Reply;
use crate::values::{value_count, word_count, WORD_BYTES};
use crate::verb::Verb;
use crate::words::{field, line_of, unescaped, words};

/// The longest line that is sent to a backend. rrdcached reads 8,191 bytes, and writes 4,095 of an
/// update into its journal.
pub const LINE_BYTES: usize = 4000;
/// The most definitions in one CREATE. rrdcached has room for 128 and crashes on more.
const DEFINITIONS: usize = 127;

/// A request.
#[derive(Debug)]
pub enum Request<'a> {
    /// It is taken at once, and many writes share one sync of the log.
    Write(Write<'a>),
    /// It waits until the earlier requests of the same client are answered.
    Question(Question),
}

/// A request that changes an existing file.
#[derive(Debug)]
pub enum Write<'a> {
    /// UPDATE.
    Update {
        /// The file.
        name: Cow<'a, [u8]>,
        /// The values, as they were written.
        values: &'a [u8],
        /// How many values there are.
        count: usize,
    },
    /// FORGET.
    Forget {
        /// The file.
        name: Cow<'a, [u8]>,
    },
}

/// Any other request.
#[derive(Debug)]
pub enum Question {
    /// PING.
    Ping,
    /// HELP, about one verb or about all.
    Help(Option<Verb>),
    /// BATCH.
    Batch,
    /// QUIT.
    Quit,
    /// CREATE.
    Create(Creation),
    /// INFO, FIRST, LAST and PENDING: one copy of the file answers.
    OneCopy(FileLine),
    /// FETCH and FETCHBIN: one copy answers, and the answer may be large. Its size must be checked
    /// only if the requested time is long.
    Fetch(FileLine, Option<Wanted>),
    /// FLUSH, SUSPEND and RESUME: all copies of the file.
    AllCopies(FileLine),
    /// LIST.
    List(Listing),
    /// FLUSHALL, SUSPENDALL, RESUMEALL, STATS and QUEUE: all backends.
    Everywhere(Verb),
}

/// A question about one file.
#[derive(Debug)]
pub struct FileLine {
    /// The verb of the question.
    pub verb: Verb,
    /// The file.
    pub name: Vec<u8>,
    /// The line for a backend, without its end.
    pub line: Vec<u8>,
}

/// A file to be created.
#[derive(Debug)]
pub struct Creation {
    /// The file.
    pub name: Vec<u8>,
    /// Everything after the name, as it was written.
    pub definitions: Vec<u8>,
    /// Whether it has -O: a file that exists stays as it is.
    pub keeps: bool,
    /// Whether it has -b, which says when the file begins.
    pub begins: bool,
}

/// The arguments of a LIST.
#[derive(Debug)]
pub struct Listing {
    /// The line for a backend, without its end.
    pub line: Vec<u8>,
}

impl Write<'_> {
    /// Returns the verb of the write.
    pub fn verb(&self) -> Verb {
        match self {
            Write::Update { .. } => Verb::Update,
            Write::Forget { .. } => Verb::Forget,
        }
    }
}

impl<'a> Request<'a> {
    /// Parses the words after the verb. The error is the answer to send.
    pub fn understand(verb: Verb, rest: &'a [u8], base: &Base) -> Result<Request<'a>, Reply> {
        let question = match verb {
            Verb::Update => return update(rest, base).map(Request::Write),
            Verb::Forget => return forget(rest, base).map(Request::Write),
            Verb::Ping => Question::Ping,
            Verb::Help => Question::Help(Verb::named(&field(rest).0)),
            Verb::Batch => Question::Batch,
            Verb::Quit => Question::Quit,
            Verb::Create => Question::Create(creation(rest, base)?),
            Verb::Info | Verb::First | Verb::Last | Verb::Pending => {
                Question::OneCopy(file_line(verb, rest, base)?.0)
            }
            Verb::Fetch | Verb::Fetchbin => {
                let (line, what) = file_line(verb, rest, base)?;
                Question::Fetch(line, wanted(what))
            }
            Verb::Flush | Verb::Suspend | Verb::Resume => {
                Question::AllCopies(file_line(verb, rest, base)?.0)
            }
            Verb::List => Question::List(listing(rest, base)?),
            Verb::Flushall | Verb::Suspendall | Verb::Resumeall | Verb::Stats | Verb::Queue => {
                Question::Everywhere(verb)
            }
        };
        Ok(Request::Question(question))
    }
}

fn update<'a>(rest: &'a [u8], base: &Base) -> Result<Write<'a>, Reply> {
    let (name, values) = file(Verb::Update, rest, base)?;
    match value_count(values)? {
        0 => Err(Reply::error("No values updated.")),
        count => Ok(Write::Update {
            name,
            values,
            count,
        }),
    }
}

fn forget<'a>(rest: &'a [u8], base: &Base) -> Result<Write<'a>, Reply> {
    let (name, more) = file(Verb::Forget, rest, base)?;
    word_count(more)?;
    Ok(Write::Forget { name })
}

/// Returns the file of a request, and the words after its path as they were written.
fn file<'a>(verb: Verb, rest: &'a [u8], base: &Base) -> Result<(Cow<'a, [u8]>, &'a [u8]), Reply> {
    let (path, rest) = field(rest);
    if path.is_empty() {
        return Err(Reply::error(verb.usage()));
    }
    check_path(&path)?;
    let name = match path {
        Cow::Borrowed(path) => base.name(path),
        Cow::Owned(path) => base.name(&path).map(|name| Cow::Owned(name.into_owned())),
    };
    name.map(|name| (name, rest))
        .map_err(|outside| Reply::error(outside.0))
}

fn check_path(path: &[u8]) -> Result<(), Reply> {
    match path.len() {
        long if long > WORD_BYTES => Err(Reply::error(format!(
            "a path of {long} bytes; at most {WORD_BYTES}"
        ))),
        _ => Ok(()),
    }
}

/// Returns the question, and the words after its path.
fn file_line<'a>(
    verb: Verb,
    written: &'a [u8],
    base: &Base,
) -> Result<(FileLine, &'a [u8]), Reply> {
    let (name, rest) = file(verb, written, base)?;
    let mut line = line_of(verb, &name);
    if !rest.is_empty() {
        line.push(b' ');
        line.extend_from_slice(rest);
    }
    let longest = words(rest).map(<[u8]>::len).max().unwrap_or(0);
    if longest.max(line.len() / 4) > WORD_BYTES {
        return Err(Reply::error(format!(
            "a request of {} bytes; at most {LINE_BYTES}, and {WORD_BYTES} a word",
            line.len()
        )));
    }
    if verb == Verb::First && rest.is_empty() && ends_with_a_blank(written) {
        line.push(b' '); // rrdcached takes an empty index for 0
    }
    let name = name.into_owned();
    Ok((FileLine { verb, name, line }, rest))
}

/// Returns whether the text ends in a blank that belongs to no word: one that is not escaped by a
/// backslash before it.
fn ends_with_a_blank(written: &[u8]) -> bool {
    written.strip_suffix(b" ").is_some_and(|before| {
        before
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count()
            % 2
            == 0
    })
}

/// Returns the arguments of a FETCH if it asks for a long time.
fn wanted(rest: &[u8]) -> Option<Wanted> {
    Wanted::parse(rest, now() as i64).filter(|wanted| wanted.seconds() > SHORT_SECONDS)
}

fn creation(rest: &[u8], base: &Base) -> Result<Creation, Reply> {
    let (name, rest) = file(Verb::Create, rest, base)?;
    word_count(rest)?;
    if let Some(word) = words(rest).find(|word| matches!(word, [b'-', b'r' | b't', ..])) {
        let word = String::from_utf8_lossy(word);
        return Err(Reply::error(format!(
            "{word}: it names a file of one server, which the \
            others do not have; write the definitions out"
        )));
    }
    let definitions = words(rest)
        .filter(|word| word.starts_with(b"DS:") || word.starts_with(b"RRA:"))
        .count();
    if definitions > DEFINITIONS || rest.len() + 2 * name.len() > 2 * LINE_BYTES - 100 {
        return Err(Reply::error(format!(
            "{definitions} definitions in {} bytes; at most {DEFINITIONS}, in 5,900 bytes",
            rest.len()
        )));
    }
    Ok(Creation {
        keeps: words(rest).any(|word| word == b"-O"),
        begins: words(rest).any(|word| word.starts_with(b"-b")),
        name: name.into_owned(),
        definitions: rest.to_vec(),
    })
}

fn listing(rest: &[u8], base: &Base) -> Result<Listing, Reply> {
    let mut parts = words(rest).peekable();
    let recursive = parts.next_if(|word| *word == b"RECURSIVE").is_some();
    // rrdcached takes what stands before a backslash at the end
    let (path, _) = unescaped(parts.next().unwrap_or_default());
    if path.first() != Some(&b'/') {
        return Err(Reply::error(Verb::List.usage()));
    }
    check_path(&path)?;
    let Some(below) = join(&path) else {
        return Err(Reply::error(
            [base.directory(), &path, b": Permission denied"].concat(),
        ));
    };
    let verb: &[u8] = if recursive {
        b"LIST RECURSIVE /"
    } else {
        b"LIST /"
    };
    Ok(Listing {
        line: [verb, &escaped(&below)].concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(line: &'static str) -> Result<Request<'static>, String> {
        let split = crate::words::Split::of(line.as_bytes());
        Request::understand(split.verb.unwrap(), split.rest, &Base::new(b"/rrd"))
            .map_err(|reply| String::from_utf8(reply.text).unwrap())
    }

    #[test]
    fn an_update_is_a_name_and_its_values() {
        let Ok(Request::Write(Write::Update {
            name,
            values,
            count,
        })) = understood("update /rrd//c/sp\\ a.rrd 1:2  3:4\n")
        else {
            panic!()
        };
        assert_eq!(
            (&*name, values, count),
            (&b"c/sp a.rrd"[..], &b"1:2  3:4"[..], 2)
        );
        assert!(matches!(
            understood("FORGET c/a"),
            Ok(Request::Write(Write::Forget { name })) if *name == *b"c/a"
        ));
    }

    #[test]
    fn a_question_has_the_line_for_a_backend() {
        for (line, name, asked) in [
            ("info /rrd/./c/a\\ b", "c/a b", "INFO c/a\\ b"),
            ("first a", "a", "FIRST a"),
            ("first a ", "a", "FIRST a "),
            ("first a 1", "a", "FIRST a 1"),
            ("first a\\ ", "a ", "FIRST a\\ "),
        ] {
            let Ok(Request::Question(Question::OneCopy(found))) = understood(line) else {
                panic!("{line}")
            };
            assert_eq!(
                (&found.name[..], &found.line[..]),
                (name.as_bytes(), asked.as_bytes())
            );
        }
        for (line, asked) in [
            ("list RECURSIVE /rrd//a b", "LIST RECURSIVE /rrd/a"),
            ("LIST /", "LIST /"),
        ] {
            assert!(matches!(
                understood(line),
                Ok(Request::Question(Question::List(Listing { line }))) if line == asked.as_bytes()
            ));
        }
    }

    #[test]
    fn only_a_fetch_of_a_long_time_has_to_be_looked_at() {
        for (line, long) in [
            ("FETCH a AVERAGE 5 6", false),
            ("FETCH a AVERAGE -10001", true),
            ("FETCHBIN a AVERAGE", true),
            ("FETCH a", false),
        ] {
            let Ok(Request::Question(Question::Fetch(_, wanted))) = understood(line) else {
                panic!("{line}")
            };
            assert_eq!(wanted.is_some(), long, "{line}");
        }
    }

    #[test]
    fn a_create_is_looked_through() {
        let Ok(Request::Question(Question::Create(found))) =
            understood("create a -O -b 5 DS:v:GAUGE:1:U:U RRA:LAST:0:1:5")
        else {
            panic!()
        };
        assert!(found.keeps && found.begins);
        for (line, said) in [
            ("create a -r b", "-r: it names a file of one server"),
            ("create", "Usage: CREATE"),
            ("update a", "No values updated."),
            ("update a 5:x", "5:x: a value that no RRD can take"),
            ("update ../a 5:1", "/rrd/../a: Permission denied"),
            ("list a", "Usage: LIST"),
            ("list /a/../..", "/rrd/a/../..: Permission denied"),
        ] {
            let error = understood(line).unwrap_err();
            assert!(error.starts_with(said), "{line}: {error}");
        }
    }

    #[test]
    fn a_blank_at_the_end_may_belong_to_the_name() {
        for (written, ends) in [
            ("a ", true),
            ("a\\ ", false),
            ("a\\\\ ", true),
            ("a", false),
            (" ", true),
            ("", false),
        ] {
            assert_eq!(ends_with_a_blank(written.as_bytes()), ends, "{written}");
        }
    }
}
