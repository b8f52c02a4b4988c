//! A BATCH: many lines and one answer, which names the lines that failed.
//!
//! The router spreads a client's BATCH over backends, and each backend numbers the lines that it
//! got from 1. [`failures`] reads a backend's answer about its part, and [`Errors`] sorts the
//! failures by the client's own line numbers.

use std::ops::RangeInclusive;

use crate::reply::Reply;

/// The answer to the word BATCH itself.
pub const GO_AHEAD: &str = "Go ahead.  End with dot '.' on its own line.";

/// How many bytes of errors are kept for one BATCH, about 70,000 errors. The answer names each line
/// that failed, but beyond this it does not say why.
const MOST_BYTES: usize = 4 << 20;

/// What the answer says of a line that failed when no more errors are kept.
const MORE: &str = "an error; too many lines of this BATCH failed to keep the text of each";

/// How many errors may wait for those of earlier lines.
const MOST_OPEN: usize = 10_000;

/// The errors of a client's BATCH, by its own line numbers. However many lines fail, little memory
/// is used.
#[derive(Default, Debug)]
pub struct Errors {
    /// errors of lines after one whose answer is not there yet
    open: Vec<(u64, Vec<u8>)>,
    /// the lines of the answer, in the order of their numbers
    lines: Vec<u8>,
    /// how many these are
    count: u64,
    /// further lines that failed, ascending
    more: Vec<RangeInclusive<u64>>,
}

impl Errors {
    /// Adds the failure of line `number`, counted from 1.
    pub fn add(&mut self, number: u64, text: Vec<u8>) {
        self.open.push((number, text));
    }

    /// Returns whether [`close`](Errors::close) should be called soon.
    pub fn are_many(&self) -> bool {
        self.open.len() >= MOST_OPEN
    }

    /// Says that all failures of lines before line `number` are known.
    pub fn close(&mut self, number: u64) {
        self.open.sort_by_key(|(number, _)| *number); // a stable sort
        let known = self.open.partition_point(|(other, _)| *other < number);
        for (number, text) in self.open.drain(..known) {
            self.count += 1;
            if self.more.is_empty() && self.lines.len() + text.len() < MOST_BYTES {
                self.lines.extend_from_slice(number.to_string().as_bytes());
                self.lines.push(b' ');
                self.lines.extend_from_slice(&text);
                self.lines.push(b'\n');
                continue;
            }
            match self.more.last_mut() {
                Some(last) if last.end() + 1 == number => *last = *last.start()..=number,
                _ => self.more.push(number..=number),
            }
        }
    }

    /// Returns the answer to the dot, in pieces, so that it is never in memory as a whole.
    pub fn answer(mut self) -> impl Iterator<Item = Vec<u8>> {
        self.close(u64::MAX);
        let head = format!("{} errors\n", self.count).into_bytes();
        let more = self.more.into_iter().flatten();
        let more = more.map(|number| format!("{number} {MORE}\n").into_bytes());
        [head, self.lines].into_iter().chain(more)
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
        errors.close(3);
        errors.add(2, b"first".to_vec());
        errors.close(12);
        let answer: Vec<u8> = errors.answer().flatten().collect();
        assert_eq!(answer, b"3 errors\n2 first\n3 early\n12 late\n");
        let answer: Vec<u8> = Errors::default().answer().flatten().collect();
        assert_eq!(answer, b"0 errors\n");
    }

    #[test]
    fn many_errors_take_little_memory_and_each_line_is_named() {
        let mut errors = Errors::default();
        // every third line is good in the first part, and later all fail
        let failed = |number: &u64| number % 3 > 0 || *number > 300_000;
        for number in (1..=1_000_000).filter(failed) {
            errors.add(number, b"Unknown command: bogus".to_vec());
            if errors.are_many() {
                errors.close(number);
            }
        }
        let held = errors.lines.capacity() + errors.more.capacity() * 24;
        assert!(held < 4 * MOST_BYTES && errors.open.capacity() < 4 * MOST_OPEN);
        let answer: Vec<u8> = errors.answer().flatten().collect();
        let mut lines = answer.split(|byte| *byte == b'\n');
        assert_eq!(lines.next(), Some(&b"900000 errors"[..]));
        let (mut told, mut cut) = (0, 0);
        for number in (1..=1_000_000).filter(failed) {
            let line = std::str::from_utf8(lines.next().unwrap()).unwrap();
            let (said, text) = line.split_once(' ').unwrap();
            assert_eq!(said, number.to_string());
            match text {
                "Unknown command: bogus" if cut == 0 => told += 1,
                MORE => cut += 1,
                _ => panic!("{line}"),
            }
        }
        assert_eq!(lines.next(), Some(&b""[..]));
        assert!(told > 100_000 && cut > 100_000, "{told} {cut}");
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
