//! What the operator chooses: which router begins as the primary, and what a primary does without
//! its standby.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What a router is in its pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It serves clients.
    Primary,
    /// It keeps a copy of the primary's log.
    Standby,
}

/// What the primary does without its standby.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lost {
    /// Clients wait for their answers.
    Wait,
    /// Writes are answered with an error.
    Refuse,
    /// It goes on alone.
    Alone,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lost::Wait => "wait",
            Lost::Refuse => "refuse",
            Lost::Alone => "alone",
        })
    }
}
