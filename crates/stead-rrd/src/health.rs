//! The state of a backend.

use serde::{Deserialize, Serialize};

/// What a backend can do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It has every write, or has it waiting in its queue. It may answer reads.
    Up,
    /// It is reading from the log what it missed.
    Behind,
    /// There is no connection.
    Down,
}

impl Health {
    /// Returns the name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Health::Up => "up",
            Health::Behind => "behind",
            Health::Down => "down",
        }
    }
}
