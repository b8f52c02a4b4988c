//! The control socket of a running router: `DIR/control`, which only the router's user can open.
//!
//! ```text
//! >  status                      <  {"status":{...}}
//! >  move {"rate":1048576}       <  {"progress":{...}}   again and again, and at the end {"end":{...}}
//! >  repair b1                   <  the same
//! >  promote                     <  {"promoted":"..."}
//! ```
//!
//! A connection carries one request, and each answer is one line of JSON. `{"error":"..."}` can
//! come at any time and is the last line. When a client leaves, the work that it started stops
//! after the files in hand; the same request continues it later.

mod caller;
mod command;
mod desk;
#[cfg(test)]
mod tests;

pub use caller::Asked;
pub use command::{Answer, Command};
pub use desk::{Control, Operable};
