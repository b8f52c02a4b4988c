//! One backend: an rrdcached, the writes that wait for it, and whether it is up to date.
//!
//! ```text
//!           connected            has all of the log
//!   Down  ------------>  Behind  ------------------>  Up
//!    ^                     ^  \                        |  |
//!    |---- lost -----------|---\------- lost ----------+  |
//!                          +-------- queue is full -------+
//! ```
//!
//! While a backend is `Up`, its writes wait in a queue. One task sends everything that waits as one
//! BATCH, so the BATCHes grow with the load. Writes whose clients have their answers wait a few
//! milliseconds for more of them. In every other state nothing waits in memory, because
//! the log has it. A backend that is `Behind` is sent the log from its last confirmed record on.
//! That can repeat writes that the backend has; when it refuses these ("illegal attempt"), that is
//! not an error.
//!
//! A write counts as confirmed when a FLUSH of its file, sent after the write was answered, has
//! succeeded. Writes to a file that the backend reports as missing are confirmed, too: they have no
//! file to go into, and the whole file will be copied from another backend.
//!
//! A backend that does not answer in time is treated like one that closed the connection.

mod asking;
mod confirming;
mod feeding;
mod fencing;
mod reaching;
mod replaying;
mod server;
mod standing;
#[cfg(test)]
mod tests;
mod turns;
mod work;

pub use feeding::{files_back, on_disk};
pub use server::{Backend, Counters};
pub use standing::Access;
pub use work::{Lines, Work};
