//! Lists of servers: their lines, words and weights, with errors that name the line.

use super::draw::Member;
use crate::error::{Error, Result};
use crate::name::check_node_name;
use crate::weight::Weight;

/// The largest whole weight that `Weight` can be.
pub(crate) const WEIGHT_MAX: u64 = 1_000_000;

/// A list of servers: a file's bytes, and its name for messages.
pub struct Servers<'a> {
    /// The bytes of the file.
    pub bytes: &'a [u8],
    /// Its name, as the user gave it.
    pub file: &'a str,
}

/// A line of a list that is neither empty nor a comment.
pub(crate) struct Line<'a> {
    file: &'a str,
    /// The number of the line, from 1.
    pub number: usize,
    /// The text without its comment, which starts at `#`, and without blanks at its ends.
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// An error about this line.
    pub(crate) fn wrong(&self, problem: impl Into<String>) -> Error {
        wrong(self.file, self.number, problem)
    }

    /// The words of the line.
    pub(crate) fn words(&self) -> Vec<&'a str> {
        self.text.split_whitespace().collect()
    }

    /// Reads a weight as fleets have it.
    pub(crate) fn weight(&self, text: &str) -> Result<Weight> {
        Weight::parse(text).map_err(|why| self.wrong(format!("the weight `{text}` {why}")))
    }

    /// Reads a whole number. `what` is its name in messages.
    pub(crate) fn number_of(&self, text: &str, what: &str, most: u64) -> Result<u64> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let number = text.parse().ok().filter(|n| digits && *n <= most);
        number.ok_or_else(|| {
            self.wrong(format!(
                "the {what} `{text}` is not a whole number up to {most}"
            ))
        })
    }

    /// Checks the name of a node.
    pub(crate) fn name(&self, text: &str) -> Result<String> {
        check_name(self.file, self.number, text)?;
        Ok(text.to_owned())
    }
}

/// Fails if the text cannot be the name of a node.
pub(crate) fn check_name(file: &str, line: usize, text: &str) -> Result<()> {
    check_node_name(text).map_err(|why| wrong(file, line, format!("the name `{text}` {why}")))
}

/// Writes a list of NAME WEIGHT lines, which several kinds read.
pub(crate) fn names_and_weights(members: &[Member]) -> String {
    members
        .iter()
        .map(|member| format!("{} {}\n", member.name, member.weight))
        .collect()
}

/// A server of a list of NAME [WEIGHT] lines whose weights are whole numbers.
pub(crate) struct Whole<'a> {
    pub(crate) line: Line<'a>,
    pub(crate) name: &'a str,
    /// At most `WEIGHT_MAX`; 1 where the line has none.
    pub(crate) weight: u64,
}

impl Whole<'_> {
    /// The server as a node.
    pub(crate) fn member(&self) -> Result<Member> {
        let millionths = Weight::from_millionths(self.weight * 1_000_000);
        let weight = millionths.unwrap_or(Weight::MAX);
        Ok(Member::new(self.line.name(self.name)?, weight))
    }
}

/// An error about a line of a file.
pub(crate) fn wrong(file: &str, line: usize, problem: impl Into<String>) -> Error {
    Error::Fleet {
        file: file.to_owned(),
        line,
        problem: problem.into(),
    }
}

impl<'a> Servers<'a> {
    /// The bytes as text.
    pub(crate) fn text(&self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes).map_err(|error| {
            let line = 1 + self
                .bytes
                .iter()
                .take(error.valid_up_to())
                .filter(|byte| **byte == b'\n')
                .count();
            wrong(self.file, line, "the list of servers is not UTF-8 text")
        })
    }

    /// The lines that are neither empty nor comments. Errors: the list is not UTF-8, or has no such
    /// line.
    pub(crate) fn lines(&self) -> Result<Vec<Line<'a>>> {
        let line = |(number, text): (usize, &'a str)| {
            let text = text.split('#').next().unwrap_or("").trim();
            (!text.is_empty()).then_some(Line {
                file: self.file,
                number,
                text,
            })
        };
        let lines: Vec<Line<'a>> = (1..).zip(self.text()?.lines()).filter_map(line).collect();
        if lines.is_empty() {
            return Err(wrong(self.file, 1, "there are no servers in it"));
        }
        Ok(lines)
    }

    /// The servers of NAME [WEIGHT] lines whose weights are whole numbers. Errors: those of
    /// `lines`, and a line of another form.
    pub(crate) fn whole_weights(&self) -> Result<Vec<Whole<'a>>> {
        let whole = |line: Line<'a>| {
            let (name, weight) = match line.words()[..] {
                [name] => (name, 1),
                [name, weight] => (name, line.number_of(weight, "weight", WEIGHT_MAX)?),
                _ => return Err(line.wrong("a server is written NAME or NAME WEIGHT")),
            };
            Ok(Whole { line, name, weight })
        };
        self.lines()?.into_iter().map(whole).collect()
    }
}
