//! How a backend is.

use serde::{Deserialize, Serialize};

/// What a backend can do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Has every write, or has it waiting in its queue: may answer reads.
    Up,
    /// Reads from the log what it missed.
    Behind,
    /// No connection.
    Down,
}

impl Health {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Health::Up => "up",
            Health::Behind => "behind",
            Health::Down => "down",
        }
    }
}
