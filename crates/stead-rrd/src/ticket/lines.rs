//! What the backends have said about each line of a ticket, and what that decides.

use crate::layout::BackendId;
use crate::refusals::is_missing;

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

/// The lines of a ticket.
pub(super) struct Lines {
    heard: Vec<Heard>,
    undecided: usize,
    failures: Failures,
    /// the lines that a backend has taken
    taken: Vec<bool>,
    /// refusals of lines that no backend has taken so far
    refused: Vec<Refusal>,
}

impl Lines {
    /// Returns this many lines of which nothing is known.
    pub(super) fn new(count: usize) -> Lines {
        Lines {
            heard: vec![Heard::Nothing; count],
            undecided: count,
            failures: Failures::new(),
            taken: vec![false; count],
            refused: Vec::new(),
        }
    }

    /// Returns how many lines there are.
    pub(super) fn len(&self) -> usize {
        self.heard.len()
    }

    /// Returns whether every line is decided.
    pub(super) fn are_decided(&self) -> bool {
        self.undecided == 0
    }

    /// Returns the lines of which no backend has said anything.
    pub(super) fn untold(&self) -> impl Iterator<Item = usize> + '_ {
        let lines = self.heard.iter().enumerate();
        lines.filter_map(|(line, heard)| (*heard == Heard::Nothing).then_some(line))
    }

    /// Takes the lines that have failed, in any order.
    pub(super) fn failures(&mut self) -> Failures {
        std::mem::take(&mut self.failures)
    }

    /// Takes the refusals of lines that no backend has taken so far.
    pub(super) fn refused(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.refused)
    }

    /// Returns whether a line was refused that no backend has taken so far.
    pub(super) fn have_refusals(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Does what [`compare`](Lines::compare) and, if the answer `decides`, [`take`](Lines::take) do
    /// for lines that a backend has taken, while nothing is refused: nearly always, and for each
    /// line of each copy.
    pub(super) fn take_all(&mut self, lines: impl Iterator<Item = usize>, decides: bool) {
        lines.for_each(|line| {
            self.taken[line] = true;
            if decides {
                self.take(line, None);
            }
        });
    }

    /// Compares what the backends say about a line. Adds to `apart` the refusals of a line that was
    /// taken.
    pub(super) fn compare(
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

    /// Lets the answer of one backend decide the line, unless it is decided: `failure` says why it
    /// was refused.
    pub(super) fn take(&mut self, line: usize, failure: Option<Vec<u8>>) {
        let was = self.heard[line];
        if was == Heard::Done {
            return;
        }
        let is = match &failure {
            Some(text) if is_missing(text) => Heard::Missing,
            _ => Heard::Done,
        };
        self.heard[line] = is;
        if is == Heard::Done {
            self.undecided -= 1;
        }
        if was == Heard::Missing {
            if is == Heard::Missing {
                return; // it is recorded already
            }
            self.failures.retain(|(other, _)| *other != line);
        }
        self.failures.extend(failure.map(|text| (line, text)));
    }
}
