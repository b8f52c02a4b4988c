//! One backend: an rrdcached, what waits for it, and whether it is up to date.
//!
//! ```text
//!           connected            has all of the log
//!   Down  ------------>  Behind  ------------------>  Up
//!    ^                     ^  \                        |  |
//!    |---- lost -----------|---\------- lost ----------+  |
//!                          +-------- queue is full -------+
//! ```
//!
//! `Up`, writes wait in a queue, and one task sends what waits as one BATCH: the busier, the
//! larger. In every other state nothing waits here: the log has it. A backend that is `Behind`
//! reads the log from what it has confirmed on, which can repeat writes that it has; what it says
//! about these ("illegal attempt") is no error.
//!
//! A write counts as confirmed when a FLUSH of its file, sent after the write was answered, has
//! succeeded. Writes to a file that the backend says it has not are confirmed, too: there is
//! nothing to keep them in, and the file comes whole, from a replica.
//!
//! A backend that does not answer in time is lost as one that closed the connection is.

mod asking;
mod confirming;
mod feeding;
mod replaying;
mod server;
mod standing;
#[cfg(test)]
mod tests;
mod work;

pub use server::{Backend, Counters};
pub use standing::Access;
pub use work::{Lines, Work};
