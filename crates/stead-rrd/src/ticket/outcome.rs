//! Who hears the outcome of a ticket, and when.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::lines::{Failures, Lines, Refusal};
use crate::layout::BackendId;
use crate::lock::lock;
use crate::verb::Verb;
use crate::writes::Writes;

/// The answer to a line that no backend was up for, unless it is an update.
const NOBODY: &[u8] =
    b"none of its servers is up; the log has it, and it will be done when one is back";

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
    lines: Lines,
    /// the receiver of the answer, until it has it
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
        let answers = Answers {
            givers: 1,
            expected: 0,
            lines: Lines::new(writes.len()),
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
    pub fn crowd(&self) {
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
        if failures.peek().is_none() && !answers.lines.have_refusals() {
            let decides = answers.done.is_some();
            answers.lines.take_all(lines, decides);
            return self.answered(answers, unheard);
        }
        for (at, line) in lines.enumerate() {
            let failure = failures
                .next_if(|(other, _)| *other == at)
                .map(|(_, text)| text);
            let why = failure.as_deref();
            answers.lines.compare(line, place, why, &mut unheard.apart);
            if answers.done.is_some() {
                answers.lines.take(line, failure);
            }
        }
        self.answered(answers, unheard)
    }

    /// Records that an expected answer was taken.
    fn answered(&self, mut answers: MutexGuard<'_, Answers>, mut unheard: Unheard) -> Unheard {
        answers.expected = answers.expected.saturating_sub(1);
        if answers.told && answers.expected == 0 && answers.givers == 0 {
            unheard.lost = answers.lines.refused();
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
        for line in 0..answers.lines.len() {
            answers.lines.take(line, Some(text.to_vec()));
        }
        answers.givers = 0; // it is offered to nobody
        self.heard(answers);
    }

    fn heard(&self, mut answers: MutexGuard<'_, Answers>) {
        let open = !answers.lines.are_decided() && answers.expected > 0;
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
        let mut failures = answers.lines.failures();
        if !answers.lines.are_decided() {
            // no backend was up: the log has the write, which is enough for an update
            let untold = answers.lines.untold();
            let nobody = untold.filter(|line| self.writes.verb(*line) != Verb::Update);
            failures.extend(nobody.map(|line| (line, NOBODY.to_vec())));
        }
        drop(answers);
        failures.sort_unstable_by_key(|(line, _)| *line);
        let _ = done.send(failures); // fails if the client has left
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        lock(&self.answers)
    }
}
