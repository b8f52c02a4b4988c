//! A BATCH: many lines and one answer, which names the lines that failed.
//!
//! The router spreads a client's BATCH over backends, and each backend numbers the lines that it
//! got from 1. [`failures`] reads a backend's answer about its part, and [`Errors`] sorts the
//! failures by the client's own line numbers.

use crate::reply::Reply;

/// The answer to the word BATCH itself.
pub const GO_AHEAD: &str = "Go ahead.  End with dot '.' on its own line.";

/// The errors of a client's BATCH, by its own line numbers.
#[derive(Default, Debug)]
pub struct Errors(Vec<(u64, Vec<u8>)>);

impl Errors {
    /// Adds the failure of line `number`, counted from 1.
    pub fn add(&mut self, number: u64, text: Vec<u8>) {
        self.0.push((number, text));
    }

    /// Returns the answer to the dot.
    pub fn reply(mut self) -> Reply {
        self.0.sort_by_key(|(number, _)| *number);
        let lines = self
            .0
            .into_iter()
            .map(|(number, text)| [number.to_string().as_bytes(), b" ", &text].concat());
        Reply::list("errors", lines)
    }
}

/// Returns which lines failed, counted from 0 and ascending, and why, according to a backend's
/// answer to a BATCH of `count` lines. Returns `None` if the reply is not an answer to a BATCH.
pub fn failures(reply: &Reply, count: usize) -> Option<Vec<(usize, Vec<u8>)>> {
    if reply.is_error() || reply.text != b"errors" {
        return None;
    }
    let mut failures = Vec::new();
    for line in reply.each() {
        let at = line.iter().position(|b| *b == b' ')?;
        let number: usize = std::str::from_utf8(&line[..at]).ok()?.parse().ok()?;
        let index = number.checked_sub(1).filter(|index| *index < count)?;
        failures.push((index, line[at + 1..].to_vec()));
    }
    failures.is_sorted_by(|a, b| a.0 < b.0).then_some(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_the_clients_and_in_order() {
        let mut errors = Errors::default();
        errors.add(12, b"late".to_vec());
        errors.add(3, b"early".to_vec());
        assert_eq!(errors.reply().bytes(), b"2 errors\n3 early\n12 late\n");
        assert_eq!(Errors::default().reply().bytes(), b"0 errors\n");
    }

    #[test]
    fn a_backends_answer_says_which_lines_failed() {
        let reply = Reply::list("errors", ["2 No such file: x", "3 "]);
        assert_eq!(
            failures(&reply, 3),
            Some(vec![(1, b"No such file: x".to_vec()), (2, Vec::new())])
        );
        for bad in [
            Reply::list("errors", ["4 x"]),
            Reply::list("errors", ["0 x"]),
            Reply::list("errors", ["2 x", "1 x"]),
            Reply::ok("PONG"),
            Reply::error("errors"),
        ] {
            assert_eq!(failures(&bad, 3), None, "{bad:?}");
        }
    }
}
