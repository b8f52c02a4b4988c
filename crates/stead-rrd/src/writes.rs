//! The writes of one record of the log, and what became of each: one ticket for a request, or for a
//! part of a BATCH.
//!
//! A ticket is offered to every backend of its lines; each says once what it thinks of the lines
//! that are its own, or that it is lost. Whoever waits hears as soon as every line has an answer:
//! the first backend that took or refused it decides, and "no such file" decides only when nobody
//! knows better. So one slow backend holds up nobody. But nobody hears before it was offered to
//! all: what is asked next comes after it in every queue.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::path::escape;
use crate::request::{words, Verb};

/// Lines, one after the other, in as few allocations as may be.
#[derive(Default)]
pub struct Writes {
    text: Vec<u8>,
    lines: Vec<Span>,
}

#[derive(Clone, Copy)]
struct Span {
    verb: Verb,
    /// from, to
    name: (u32, u32),
    line: (u32, u32),
}

impl Writes {
    /// Adds a write to the file of this name; `rest` is what stands behind the name, `more` too.
    pub fn push(&mut self, verb: Verb, name: &[u8], rest: &[u8], more: &[u8]) {
        let at = |text: &Vec<u8>| text.len() as u32; // a part of a BATCH is far below 4 GiB
        let start = at(&self.text);
        self.text.extend_from_slice(verb.name().as_bytes());
        self.text.push(b' ');
        let name_start = at(&self.text);
        escape(name, &mut self.text);
        let mut name_end = at(&self.text);
        for word in words(rest).chain(words(more)) {
            self.text.push(b' ');
            self.text.extend_from_slice(word);
        }
        self.text.push(b'\n');
        let end = at(&self.text);
        let mut place = (name_start, name_end);
        if (name_end - name_start) as usize != name.len() {
            self.text.extend_from_slice(name); // the name itself has to stand somewhere, too
            name_end = at(&self.text);
            place = (end, name_end);
        }
        self.lines.push(Span {
            verb,
            name: place,
            line: (start, end),
        });
    }

    /// None yet, with room for as many as these, and as long.
    pub fn another(&self) -> Writes {
        Writes {
            text: Vec::with_capacity(self.text.len()),
            lines: Vec::with_capacity(self.lines.len()),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The bytes of all lines.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The verb of a line.
    pub fn verb(&self, at: usize) -> Verb {
        self.lines[at].verb
    }

    /// The name of its file.
    pub fn name(&self, at: usize) -> &[u8] {
        let (from, to) = self.lines[at].name;
        &self.text[from as usize..to as usize]
    }

    /// The line with its end.
    pub fn line(&self, at: usize) -> &[u8] {
        let (from, to) = self.lines[at].line;
        &self.text[from as usize..to as usize]
    }
}

/// The lines that failed, ascending, and why.
pub type Failures = Vec<(usize, Vec<u8>)>;

/// What a backend says of one line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Missing,
    Done,
}

/// Writes that wait for their answers.
pub struct Ticket {
    /// The record's number in the log.
    pub number: u64,
    /// The writes.
    pub writes: Writes,
    inside: Mutex<Answers>,
}

struct Answers {
    /// who has not offered yet what he has to
    givers: usize,
    /// answers that may still come
    expected: usize,
    undecided: usize,
    said: Vec<Heard>,
    failures: Failures,
    done: Option<oneshot::Sender<Failures>>,
}

impl Ticket {
    /// A ticket of a record, and where the answer comes; there is one who has to offer it.
    pub fn new(number: u64, writes: Writes) -> (Ticket, oneshot::Receiver<Failures>) {
        let (done, receiver) = oneshot::channel();
        let said = vec![Heard::Nothing; writes.len()];
        let inside = Answers {
            givers: 1,
            expected: 0,
            undecided: said.len(),
            said,
            failures: Vec::new(),
            done: Some(done),
        };
        (
            Ticket {
                number,
                writes,
                inside: Mutex::new(inside),
            },
            receiver,
        )
    }

    /// One more will offer some of its lines.
    pub fn will_be_given(&self) {
        self.inside().givers += 1;
    }

    /// One has offered all that he had to.
    pub fn given(&self) {
        let mut inside = self.inside();
        inside.givers = inside.givers.saturating_sub(1);
        self.heard(inside);
    }

    /// So many more answers may come.
    pub fn expect(&self, more: usize) {
        self.inside().expected += more;
    }

    /// A backend's answer: which of `lines` it refused (by their place in `lines`), and why; it
    /// took all others.
    pub fn answer(
        &self,
        lines: impl Iterator<Item = usize>,
        failures: impl IntoIterator<Item = (usize, Vec<u8>)>,
    ) {
        let mut inside = self.inside();
        let mut failures = failures.into_iter().peekable();
        for (place, line) in lines.enumerate() {
            let failure = failures
                .next_if(|(at, _)| *at == place)
                .map(|(_, text)| text);
            inside.take(line, failure);
        }
        inside.expected = inside.expected.saturating_sub(1);
        self.heard(inside);
    }

    /// An answer that was expected and does not come: the backend is not up, or is lost.
    pub fn lost(&self) {
        let mut inside = self.inside();
        inside.expected = inside.expected.saturating_sub(1);
        self.heard(inside);
    }

    /// The log has not taken it: every line failed.
    pub fn fail(&self, text: &[u8]) {
        let mut inside = self.inside();
        for line in 0..inside.said.len() {
            inside.take(line, Some(text.to_vec()));
        }
        inside.givers = 0; // it is offered to nobody
        self.heard(inside);
    }

    fn heard(&self, mut inside: MutexGuard<'_, Answers>) {
        if inside.givers > 0 || inside.undecided > 0 && inside.expected > 0 {
            return;
        }
        let Some(done) = inside.done.take() else {
            return;
        };
        let mut failures = std::mem::take(&mut inside.failures);
        if inside.undecided > 0 {
            // nobody was there: the log has it, which is enough for an update
            let nobody = |(line, said): (usize, &Heard)| {
                (*said == Heard::Nothing && self.writes.verb(line) != Verb::Update).then_some(line)
            };
            let text =
                b"none of its servers is up; the log has it, and it will be done when one is back";
            failures.extend(
                inside
                    .said
                    .iter()
                    .enumerate()
                    .filter_map(nobody)
                    .map(|line| (line, text.to_vec())),
            );
        }
        drop(inside);
        failures.sort_unstable_by_key(|(line, _)| *line);
        let _ = done.send(failures); // a client that has gone does not wait
    }

    fn inside(&self) -> MutexGuard<'_, Answers> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    fn take(&mut self, line: usize, failure: Option<Vec<u8>>) {
        if self.done.is_none() || self.said[line] == Heard::Done {
            return;
        }
        let was = self.said[line];
        self.said[line] = match &failure {
            Some(text) if is_missing(text) => Heard::Missing,
            _ => Heard::Done,
        };
        if self.said[line] == Heard::Done {
            self.undecided -= 1;
        }
        if was == Heard::Missing {
            if self.said[line] == Heard::Missing {
                return; // it was said before
            }
            self.failures.retain(|(other, _)| *other != line);
        }
        self.failures.extend(failure.map(|text| (line, text)));
    }
}

/// Whether rrdcached says so of an UPDATE or a FLUSH. Of a FORGET it says the other: that it has
/// nothing in memory.
pub fn has_no_file(text: &[u8]) -> bool {
    text.starts_with(b"No such file: ")
}

/// Whether rrdcached says that there is no such file.
pub fn is_missing(text: &[u8]) -> bool {
    text.ends_with(b"No such file or directory") || text.starts_with(b"No such file")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(count: usize) -> (Ticket, oneshot::Receiver<Failures>) {
        let mut writes = Writes::default();
        for line in 0..count {
            writes.push(Verb::Update, format!("c/{line}").as_bytes(), b"1:2", b"");
        }
        Ticket::new(1, writes)
    }

    #[test]
    fn lines_and_names_come_back_as_they_were_put_in() {
        let mut writes = Writes::default();
        writes.push(Verb::Update, b"c/sp a\\ce", b"1:2  3:4", b"");
        writes.push(Verb::Create, b"plain", b"-s 60", b"-O -b 5");
        assert_eq!(writes.line(0), b"UPDATE c/sp\\ a\\\\ce 1:2 3:4\n");
        assert_eq!(writes.name(0), b"c/sp a\\ce");
        assert_eq!(
            (writes.line(1), writes.name(1)),
            (&b"CREATE plain -s 60 -O -b 5\n"[..], &b"plain"[..])
        );
        assert_eq!(writes.len(), 2);
    }

    #[test]
    fn the_first_that_knows_decides_and_the_others_are_not_waited_for() {
        let (ticket, mut answer) = ticket(3);
        ticket.expect(3);
        ticket.lost();
        assert!(answer.try_recv().is_err());
        ticket.given();
        assert!(answer.try_recv().is_err());
        ticket.answer([0, 1, 2].into_iter(), [(1, b"illegal".to_vec())]);
        assert_eq!(answer.try_recv().unwrap(), [(1, b"illegal".to_vec())]);
        ticket.answer([0, 1, 2].into_iter(), [(0, b"too late".to_vec())]);
    }

    #[test]
    fn a_missing_file_is_the_answer_only_when_nobody_has_it() {
        let missing = || (0, b"No such file: /x".to_vec());
        let (first, mut answer) = ticket(2);
        first.expect(2);
        first.given();
        first.answer([0, 1].into_iter(), [missing()]);
        assert!(answer.try_recv().is_err());
        first.answer([0, 1].into_iter(), []);
        assert_eq!(answer.try_recv().unwrap(), []);
        let (second, mut answer) = ticket(1);
        second.expect(3);
        second.given();
        for _ in 0..2 {
            second.answer([0].into_iter(), [missing()]);
        }
        assert!(answer.try_recv().is_err());
        second.lost();
        assert_eq!(answer.try_recv().unwrap(), [missing()]);
    }

    #[test]
    fn nobody_hears_before_it_was_offered_to_all() {
        let (ticket, mut answer) = ticket(2);
        ticket.will_be_given(); // the second line is held
        ticket.expect(2);
        ticket.answer([0].into_iter(), []);
        ticket.given();
        ticket.expect(2);
        ticket.answer([1].into_iter(), []);
        assert!(answer.try_recv().is_err());
        ticket.given();
        assert_eq!(answer.try_recv().unwrap(), []);
    }

    #[test]
    fn with_nobody_there_an_update_is_taken_and_nothing_else_is() {
        let (ticket, mut answer) = ticket(1);
        ticket.given();
        assert_eq!(answer.try_recv().unwrap(), []);
        let mut writes = Writes::default();
        writes.push(Verb::Create, b"a", b"", b"");
        let (ticket, mut answer) = Ticket::new(1, writes);
        ticket.expect(1);
        ticket.given();
        assert!(answer.try_recv().is_err());
        ticket.lost();
        assert_eq!(answer.try_recv().unwrap().len(), 1);
    }

    #[test]
    fn what_the_log_did_not_take_has_failed() {
        let (ticket, mut answer) = ticket(2);
        ticket.fail(b"full");
        assert_eq!(
            answer.try_recv().unwrap(),
            [(0, b"full".to_vec()), (1, b"full".to_vec())]
        );
    }
}
