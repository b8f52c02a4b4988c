//! The terms of a log, and with which record each began. Two logs are equal up to the record where
//! their histories part.

use serde::{Deserialize, Serialize};

use crate::term::Term;

/// The terms, oldest first, each with the number of its first record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct History(pub Vec<(Term, u64)>);

impl History {
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins a term after the record `newest`.
    pub fn begin(&mut self, term: Term, newest: u64) {
        self.0.push((term, newest + 1));
    }

    /// Returns the record up to which two logs, which end with these records, are equal. Returns
    /// `None` if they have nothing in common.
    pub fn common(&self, newest: u64, other: &History, others_newest: u64) -> Option<u64> {
        let same = self
            .0
            .iter()
            .zip(&other.0)
            .take_while(|(one, other)| one == other)
            .count();
        if same == 0 {
            return None;
        }
        let end = |history: &History, newest: u64| {
            let next = history.0.get(same);
            next.map_or(newest, |(_, first)| (first - 1).min(newest))
        };
        Some(end(self, newest).min(end(other, others_newest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(terms: &[(u64, u64, u64)]) -> History {
        let term = |number, owner| Term { number, owner };
        History(
            terms
                .iter()
                .map(|(number, owner, first)| (term(*number, *owner), *first))
                .collect(),
        )
    }

    #[test]
    fn logs_are_equal_up_to_the_record_where_their_terms_part() {
        let old = history(&[(1, 7, 1)]);
        let promoted = history(&[(1, 7, 1), (2, 8, 101)]);
        // the old primary has a tail that nobody else has
        assert_eq!(old.common(120, &promoted, 150), Some(100));
        assert_eq!(promoted.common(150, &old, 120), Some(100));
        // it stopped before the promotion
        assert_eq!(old.common(90, &promoted, 150), Some(90));
        assert_eq!(old.common(90, &old, 120), Some(90));
        // two forced terms of the same number
        let forced = history(&[(1, 7, 1), (2, 7, 111)]);
        assert_eq!(forced.common(200, &promoted, 150), Some(100));
        assert_eq!(old.common(9, &history(&[(1, 9, 1)]), 9), None);
        assert_eq!(old.common(9, &History::default(), 0), None);
    }
}
