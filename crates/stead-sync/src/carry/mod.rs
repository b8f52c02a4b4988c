//! A carry: brings the data from where the old map places it to where the new one does, while hosts
//! read and write it.
//!
//! ```text
//! kind        what a kind of data can do: files, or any command
//! protocol    one item: copied, compared, removed
//! route       which way each item goes
//! pass        all items: in batches, by several workers, with the journal
//! machine     from state to state
//! ```
//!
//! docs/carry.md is the user's manual.

pub mod files;
pub mod journal;
pub mod kind;
pub mod machine;
#[cfg(test)]
mod model;
pub mod outcome;
pub mod pass;
mod pattern;
pub mod protocol;
pub mod route;
pub mod settings;
pub mod shell;
mod stamp;
pub mod standing;
pub mod tally;
pub mod throttle;
mod walk;
mod whole_file;
