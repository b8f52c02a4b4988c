//! The control socket of a running router: `DIR/control`, which only the router's user can open.
//!
//! ```text
//! >  status                      <  {"status":{...}}
//! >  move {"rate":1048576}       <  {"progress":{...}}   again and again, and at the end {"end":{...}}
//! >  repair b1                   <  the same
//! >  replace b1                  <  the same
//! >  check {"rate":1048576}      <  the same
//! >  promote                     <  {"promoted":"..."}
//! ```
//!
//! A connection carries one request, and each answer is one line of JSON. `{"error":"..."}` can
//! come at any time and is the last line. When a client sends `stop` while it gets the progress,
//! the work stops after the files in hand, and `"stopped"` is the last line; the same request
//! continues it later. When a client leaves without that, a repair stops and a move goes on.

mod caller;
mod command;
mod desk;
#[cfg(test)]
mod tests;

pub use caller::Asked;
pub use command::{Answer, Command};
pub use desk::{Control, Operable};
