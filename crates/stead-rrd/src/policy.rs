//! When a client of a listener gets the answer to a write.

use clap::ValueEnum;

use crate::log::Durability;

/// What must have happened to an UPDATE before its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Answer {
    /// A server has taken it.
    #[default]
    Served,
    /// The log has it, and by what is known of its file, its servers will take it.
    Logged,
}

/// The policy of a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// What must have happened to an UPDATE before its answer.
    pub answer: Answer,
    /// What the log's record of a write must survive before the answer.
    pub durability: Durability,
}
