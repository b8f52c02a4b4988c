//! The record of a carry: which state it is in, and which map says where the data was before.
//!
//! ```text
//! old -> both_old_first -> both_new_first -> new -> closed
//!  ^           |                  |
//!  +-----------+------ reverse ---+
//! ```
//!
//! docs/placement.md, "Carry", has the words; docs/map-format.md has the bytes.

use std::fmt;
use std::str::FromStr;

use super::records::{CarryRecord, Digest};
use crate::error::{Error, Result};

/// Which places are read and written while a carry is open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// The old place is read and written.
    Old,
    /// Both places are written, and the old one is read first. The data is copied in this state.
    BothOldFirst,
    /// Both places are written, and the new one is read first.
    BothNewFirst,
    /// The new place is read and written. The old copies are removed in this state.
    New,
}

impl State {
    /// All states, in the order of a carry.
    pub const ALL: [State; 4] = [
        State::Old,
        State::BothOldFirst,
        State::BothNewFirst,
        State::New,
    ];

    /// Returns the word for the state, in every language.
    pub fn word(self) -> &'static str {
        match self {
            State::Old => "old",
            State::BothOldFirst => "both_old_first",
            State::BothNewFirst => "both_new_first",
            State::New => "new",
        }
    }

    /// Returns the state that a word names.
    pub fn named(word: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Returns the number of the state in a map, from 1.
    pub fn number(self) -> u32 {
        match self {
            State::Old => 1,
            State::BothOldFirst => 2,
            State::BothNewFirst => 3,
            State::New => 4,
        }
    }

    /// Returns the state with this number.
    pub fn numbered(number: u32) -> Option<State> {
        State::ALL
            .into_iter()
            .find(|state| state.number() == number)
    }
}

impl fmt::Display for State {
    /// Writes the word for the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for State {
    type Err = Error;

    /// Returns the state that a word names, as [`State::named`] does.
    ///
    /// Errors: `Invalid` for any other text.
    fn from_str(word: &str) -> Result<State> {
        State::named(word).ok_or_else(|| {
            let words = State::ALL.map(State::word).join(", ");
            Error::Invalid {
                problem: format!("{word:?} is no state of a carry; write one of {words}"),
            }
        })
    }
}

/// A carry that is open: the map places the data anew, and another map says where it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carry {
    /// The state.
    pub state: State,
    /// Whether the carry is being reversed: it goes back to `old`, and not on to `new`. Only in the
    /// states `old` and `both_old_first`.
    pub reverse: bool,
    /// The epoch of the map where the data was.
    pub from_epoch: u64,
    /// The digest of that map.
    pub from_digest: Digest,
}

impl Carry {
    /// Returns the direction in a word: `forward` or `reverse`.
    pub fn direction(&self) -> &'static str {
        match self.reverse {
            true => "reverse",
            false => "forward",
        }
    }

    /// Returns what a record says; `None` when it breaks a rule that no other field is needed for.
    pub(crate) fn of_record(record: &CarryRecord) -> Option<Carry> {
        let state = State::numbered(record.state)?;
        let reverse = record.flags & CarryRecord::REVERSE != 0;
        let may_reverse = matches!(state, State::Old | State::BothOldFirst);
        let known = record.flags & !CarryRecord::REVERSE == 0;
        (known && (may_reverse || !reverse)).then_some(Carry {
            state,
            reverse,
            from_epoch: record.from_epoch,
            from_digest: record.from_digest,
        })
    }

    /// Returns the record of the carry.
    pub(super) fn to_record(self) -> CarryRecord {
        CarryRecord {
            state: self.state.number(),
            flags: match self.reverse {
                true => CarryRecord::REVERSE,
                false => 0,
            },
            from_epoch: self.from_epoch,
            from_digest: self.from_digest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_state_is_printed_and_read() {
        for state in State::ALL {
            assert_eq!(state.to_string().parse::<State>().unwrap(), state);
        }
        assert_eq!(State::BothOldFirst.to_string(), "both_old_first");
        assert_eq!(format!("{:>5}", State::Old), "  old");
        let error = "Old".parse::<State>().unwrap_err().to_string();
        assert!(error.contains("\"Old\" is no state") && error.contains("both_new_first"));
    }
}
