//! The words of the guards, and the set of those that a caller lifts.

use crate::error::{Error, Result};

/// A harm that a change can do, and that a guard refuses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Guard {
    /// Points lose copies, and none comes elsewhere.
    DropCopies,
    /// Copies move without a carry, where data is carried.
    LeaveData,
    /// A fault domain that held points has no node any more.
    LoseDomain,
    /// More moves than `[guard] move` of the fleet permits.
    Move,
    /// The fleet is older than the map: it takes back what a newer epoch brought.
    TakeBack,
}

impl Guard {
    /// All guards, in the order in which they are shown.
    pub const ALL: [Guard; 5] = [
        Guard::TakeBack,
        Guard::DropCopies,
        Guard::LoseDomain,
        Guard::LeaveData,
        Guard::Move,
    ];

    /// Returns the word that lifts the guard, in every language.
    pub fn word(self) -> &'static str {
        match self {
            Guard::DropCopies => "drop-copies",
            Guard::LeaveData => "leave-data",
            Guard::LoseDomain => "lose-domain",
            Guard::Move => "move",
            Guard::TakeBack => "take-back",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Guard::DropCopies => 1,
            Guard::LoseDomain => 2,
            Guard::Move => 4,
            Guard::TakeBack => 8,
            Guard::LeaveData => 16,
        }
    }
}

/// The guards that a caller lifts; by default none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allow(u8);

impl Allow {
    /// Lifts no guard.
    pub const NONE: Allow = Allow(0);

    /// Returns the same set with one more guard in it.
    #[must_use]
    pub fn and(self, guard: Guard) -> Allow {
        Allow(self.0 | guard.bit())
    }

    /// Returns the guards of both sets.
    #[must_use]
    pub fn with(self, other: Allow) -> Allow {
        Allow(self.0 | other.0)
    }

    /// Whether the guard is lifted.
    pub fn lifts(self, guard: Guard) -> bool {
        self.0 & guard.bit() != 0
    }

    /// Parses words with commas between them, such as `drop-copies,lose-domain`. An empty text
    /// lifts nothing. Returns `Invalid` for a word that names no guard.
    pub fn parse(text: &str) -> Result<Allow> {
        if text.is_empty() {
            return Ok(Allow::NONE);
        }
        text.split(',').try_fold(Allow::NONE, |allow, word| {
            match Guard::ALL.iter().find(|guard| guard.word() == word) {
                Some(guard) => Ok(allow.and(*guard)),
                None => Err(Error::Invalid {
                    problem: format!(
                        "`{}` is not the word of a guard; write drop-copies, leave-data, \
                         lose-domain, move or take-back, and commas between them",
                        word.escape_default()
                    ),
                }),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_lifts_its_own_guard_and_no_other() {
        for guard in Guard::ALL {
            let allow = Allow::parse(guard.word()).unwrap();
            for other in Guard::ALL {
                assert_eq!(allow.lifts(other), guard == other);
            }
        }
        let two = Allow::parse("move,take-back").unwrap();
        assert_eq!(two, Allow::NONE.and(Guard::TakeBack).and(Guard::Move));
        assert_eq!(Allow::parse("").unwrap(), Allow::default());
    }

    #[test]
    fn a_word_that_is_no_guard_is_named() {
        for (text, word) in [
            ("drop", "`drop`"),
            ("move,", "``"),
            ("move, take-back", "` take-back`"),
            ("Move", "`Move`"),
            ("a\nb", "`a\\nb`"),
        ] {
            let error = Allow::parse(text).unwrap_err().to_string();
            assert!(
                error.starts_with(word) && error.contains("lose-domain"),
                "{error}"
            );
        }
    }
}
