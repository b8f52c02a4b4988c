//! The socket on which a running router is asked and told: `DIR/control`, for its own user alone.
//!
//! ```text
//! >  status                      <  {"status":{...}}
//! >  move {"rate":1048576}       <  {"progress":{...}}   again and again, and at the end {"end":{...}}
//! >  repair b1                   <  the same
//! ```
//!
//! One request a connection; an answer is one line of JSON. `{"error":"..."}` can come at any time
//! and is the last. A client that goes ends what it started: the work stops after the files in
//! hand, and the same request goes on with it later.

mod caller;
mod command;
mod desk;
#[cfg(test)]
mod tests;

pub use caller::Asked;
pub use command::{Answer, Command};
pub use desk::{Control, Operable};
