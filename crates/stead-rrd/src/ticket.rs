//! The outcome of the writes of one log record. There is a ticket for each request, or for each
//! part of a BATCH.
//!
//! A ticket is offered to every backend of its lines. Each backend either answers once for its own
//! lines or is lost. The caller gets the answer as soon as every line is decided. The first backend
//! that takes or refuses a line decides it; "no such file" decides only if no backend answers
//! otherwise. So a slow backend delays nobody. But no caller gets an answer before the ticket was
//! offered to all its backends, so that the caller's next request comes after it in every queue.
//!
//! An early ticket is answered as soon as it was offered. Who tells it the last answer gets the
//! lines that no backend took.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::oneshot;

use crate::layout::BackendId;
use crate::lock::lock;
use crate::refusals::is_missing;
use crate::verb::Verb;
use crate::writes::Writes;

/// The lines that failed, in ascending order, and why.
pub type Failures = Vec<(usize, Vec<u8>)>;

/// The answer of the backends to one line so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Nothing,
    Missing,
    Done,
}

/// A line that a backend refused although another one took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The line.
    pub line: usize,
    /// The backend.
    pub place: BackendId,
    /// Why.
    pub text: Vec<u8>,
}

/// Writes that wait for their answers.
pub struct Ticket {
    /// The record's number in the log.
    pub number: u64,
    /// The writes.
    pub writes: Writes,
    /// Whether the caller gets a success as soon as the writes are offered.
    pub early: bool,
    answers: Mutex<Answers>,
}

/// What an answer has shown that no caller hears of.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unheard {
    /// Refusals of lines that another backend took.
    pub apart: Vec<Refusal>,
    /// Refusals of lines that no backend took, after the caller was told of a success.
    pub lost: Vec<Refusal>,
}

struct Answers {
    /// how many callers still have to offer lines
    givers: usize,
    /// how many answers may still come
    expected: usize,
    undecided: usize,
    said: Vec<Heard>,
    failures: Failures,
    /// the lines that a backend has taken
    taken: Vec<bool>,
    /// refusals of lines that no backend has taken so far
    refused: Vec<Refusal>,
    done: Option<oneshot::Sender<Failures>>,
    /// the caller was told of a success before anybody answered
    told: bool,
    /// the caller waits for an answer although the ticket is early
    crowded: bool,
}

impl Ticket {
    /// Returns a ticket for a record, and the receiver of its answer. One caller has to offer it.
    pub fn new(number: u64, writes: Writes, early: bool) -> (Ticket, oneshot::Receiver<Failures>) {
        let (done, receiver) = oneshot::channel();
        let said = vec![Heard::Nothing; writes.len()];
        let answers = Answers {
            givers: 1,
            expected: 0,
            undecided: said.len(),
            said,
            failures: Vec::new(),
            taken: vec![false; writes.len()],
            refused: Vec::new(),
            done: Some(done),
            told: false,
            crowded: false,
        };
        (
            Ticket {
                number,
                writes,
                early,
                answers: Mutex::new(answers),
            },
            receiver,
        )
    }

    /// Announces that one more caller will offer some of the lines.
    pub fn will_be_given(&self) {
        self.answers().givers += 1;
    }

    /// Records that a caller has offered all its lines.
    pub fn given(&self) {
        let mut answers = self.answers();
        answers.givers = answers.givers.saturating_sub(1);
        self.heard(answers);
    }

    /// Lets the caller wait for an answer of a backend although the ticket is early: too much waits
    /// for every backend.
    pub fn is_crowded(&self) {
        self.answers().crowded = true;
    }

    /// Records that `more` further answers may come.
    pub fn expect(&self, more: usize) {
        self.answers().expected += more;
    }

    /// Takes a backend's answer to `lines`. `failures` has the lines that it refused, by their
    /// place in `lines`, and why; it took all others. Returns the refusals of which no caller
    /// hears, as soon as they are known for such.
    pub fn answer(
        &self,
        place: BackendId,
        lines: impl Iterator<Item = usize>,
        failures: impl IntoIterator<Item = (usize, Vec<u8>)>,
    ) -> Unheard {
        let mut unheard = Unheard::default();
        let mut answers = self.answers();
        let mut failures = failures.into_iter().peekable();
        for (at, line) in lines.enumerate() {
            let failure = failures
                .next_if(|(other, _)| *other == at)
                .map(|(_, text)| text);
            answers.compare(line, place, failure.as_deref(), &mut unheard.apart);
            answers.take(line, failure);
        }
        answers.expected = answers.expected.saturating_sub(1);
        if answers.told && answers.expected == 0 && answers.givers == 0 {
            unheard.lost = std::mem::take(&mut answers.refused);
        }
        self.heard(answers);
        unheard
    }

    /// Records that an expected answer will not come, because the backend is not up or is lost. It
    /// will get the lines from the log, so they are not lost.
    pub fn lost(&self) {
        let mut answers = self.answers();
        answers.expected = answers.expected.saturating_sub(1);
        self.heard(answers);
    }

    /// Fails every line, because the log has not taken the record.
    pub fn fail(&self, text: &[u8]) {
        let mut answers = self.answers();
        for line in 0..answers.said.len() {
            answers.take(line, Some(text.to_vec()));
        }
        answers.givers = 0; // it is offered to nobody
        self.heard(answers);
    }

    fn heard(&self, mut answers: MutexGuard<'_, Answers>) {
        let open = answers.undecided > 0 && answers.expected > 0;
        let waits = !self.early || answers.crowded;
        if answers.givers > 0 || open && waits {
            return;
        }
        let Some(done) = answers.done.take() else {
            return;
        };
        if open {
            answers.told = true;
            let _ = done.send(Failures::new()); // fails if the client has left
            return;
        }
        let mut failures = std::mem::take(&mut answers.failures);
        if answers.undecided > 0 {
            // no backend was up: the log has the write, which is enough for an update
            let nobody = |(line, said): (usize, &Heard)| {
                (*said == Heard::Nothing && self.writes.verb(line) != Verb::Update).then_some(line)
            };
            let text =
                b"none of its servers is up; the log has it, and it will be done when one is back";
            failures.extend(
                answers
                    .said
                    .iter()
                    .enumerate()
                    .filter_map(nobody)
                    .map(|line| (line, text.to_vec())),
            );
        }
        drop(answers);
        failures.sort_unstable_by_key(|(line, _)| *line);
        let _ = done.send(failures); // fails if the client has left
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        lock(&self.answers)
    }
}

impl Answers {
    /// Compares what the backends say about a line. Adds to `apart` the refusals of a line that was
    /// taken.
    fn compare(
        &mut self,
        line: usize,
        place: BackendId,
        failure: Option<&[u8]>,
        apart: &mut Vec<Refusal>,
    ) {
        match failure {
            Some(text) => {
                let refusal = Refusal {
                    line,
                    place,
                    text: text.to_vec(),
                };
                if self.taken[line] {
                    apart.push(refusal);
                } else {
                    self.refused.push(refusal);
                }
            }
            None if !self.taken[line] => {
                self.taken[line] = true;
                let told = self.refused.iter().filter(|refusal| refusal.line == line);
                apart.extend(told.cloned());
                self.refused.retain(|refusal| refusal.line != line);
            }
            None => {}
        }
    }

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
                return; // it is recorded already
            }
            self.failures.retain(|(other, _)| *other != line);
        }
        self.failures.extend(failure.map(|text| (line, text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updates(count: usize) -> Writes {
        let mut writes = Writes::default();
        for line in 0..count {
            writes.push(Verb::Update, format!("c/{line}").as_bytes(), b"1:2", b"");
        }
        writes
    }

    fn ticket(count: usize) -> (Ticket, oneshot::Receiver<Failures>) {
        Ticket::new(1, updates(count), false)
    }

    fn early(count: usize) -> (Ticket, oneshot::Receiver<Failures>) {
        Ticket::new(1, updates(count), true)
    }

    #[test]
    fn the_first_that_knows_decides_and_the_others_are_not_waited_for() {
        let (ticket, mut answer) = ticket(3);
        ticket.expect(3);
        ticket.lost();
        assert!(answer.try_recv().is_err());
        ticket.given();
        assert!(answer.try_recv().is_err());
        ticket.answer(0, [0, 1, 2].into_iter(), [(1, b"illegal".to_vec())]);
        assert_eq!(answer.try_recv().unwrap(), [(1, b"illegal".to_vec())]);
        ticket.answer(0, [0, 1, 2].into_iter(), [(0, b"too late".to_vec())]);
    }

    #[test]
    fn an_early_answer_waits_for_no_backend_and_what_none_takes_is_told_at_the_end() {
        let (ticket, mut answer) = early(2);
        ticket.expect(2);
        assert!(answer.try_recv().is_err());
        ticket.given();
        assert_eq!(answer.try_recv().unwrap(), []);
        let no = |at: usize| (at, b"no".to_vec());
        let first = ticket.answer(7, [0, 1].into_iter(), [no(0), no(1)]);
        assert_eq!(first, Unheard::default());
        let second = ticket.answer(8, [0, 1].into_iter(), [no(1)]);
        let who = |refusals: &[Refusal]| -> Vec<_> {
            refusals
                .iter()
                .map(|refusal| (refusal.line, refusal.place))
                .collect()
        };
        assert_eq!(who(&second.apart), [(0, 7)]);
        assert_eq!(who(&second.lost), [(1, 7), (1, 8)]);
    }

    #[test]
    fn an_early_line_that_the_log_still_has_for_somebody_is_not_lost() {
        let (ticket, _answer) = early(1);
        ticket.expect(2);
        ticket.given();
        ticket.answer(7, [0].into_iter(), [(0, b"no".to_vec())]);
        ticket.lost();
        let (ticket, mut answer) = early(1);
        ticket.given();
        assert_eq!(answer.try_recv().unwrap(), []);
    }

    #[test]
    fn in_a_crowd_an_early_ticket_waits_like_any_other() {
        let (ticket, mut answer) = early(1);
        ticket.expect(1);
        ticket.is_crowded();
        ticket.given();
        assert!(answer.try_recv().is_err());
        let unheard = ticket.answer(7, [0].into_iter(), [(0, b"no".to_vec())]);
        assert_eq!(answer.try_recv().unwrap().len(), 1);
        assert_eq!(unheard, Unheard::default());
    }

    #[test]
    fn a_missing_file_is_the_answer_only_when_nobody_has_it() {
        let missing = || (0, b"No such file: /x".to_vec());
        let (first, mut answer) = ticket(2);
        first.expect(2);
        first.given();
        first.answer(0, [0, 1].into_iter(), [missing()]);
        assert!(answer.try_recv().is_err());
        first.answer(0, [0, 1].into_iter(), []);
        assert_eq!(answer.try_recv().unwrap(), []);
        let (second, mut answer) = ticket(1);
        second.expect(3);
        second.given();
        for _ in 0..2 {
            second.answer(0, [0].into_iter(), [missing()]);
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
        ticket.answer(0, [0].into_iter(), []);
        ticket.given();
        ticket.expect(2);
        ticket.answer(0, [1].into_iter(), []);
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
        let (ticket, mut answer) = Ticket::new(1, writes, false);
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

    #[test]
    fn a_refusal_of_what_another_took_is_returned_whoever_answers_first() {
        let (ticket, _answer) = ticket(2);
        ticket.expect(3);
        let refusal = |line, place| Refusal {
            line,
            place,
            text: b"no".to_vec(),
        };
        let no = |at: usize| (at, b"no".to_vec());
        assert_eq!(
            ticket.answer(7, [0, 1].into_iter(), [no(0), no(1)]).apart,
            []
        );
        assert_eq!(
            ticket.answer(8, [0, 1].into_iter(), [no(1)]).apart,
            [refusal(0, 7)]
        );
        assert_eq!(
            ticket.answer(9, [0, 1].into_iter(), [no(0), no(1)]).apart,
            [refusal(0, 9)]
        );
    }
}
