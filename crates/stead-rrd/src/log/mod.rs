//! The durable log. It keeps every acknowledged write until every backend has confirmed it, through
//! any crash, and through a power cut if the write asked for that.
//!
//! ```text
//! DIR/lock                      held while the log is open, never removed
//! DIR/positions                 the log's identity, and up to where each backend has confirmed
//! DIR/00000000000000000001.log  a segment, named by the number of its first record
//! DIR/spare-3.tmp               the segment after the current one, ready and empty
//! ```
//!
//! [`append`](Log::append) puts a record into a buffer. The writer, a thread, takes all records
//! that wait, writes them and syncs once, so 64 clients can share a sync. A record that only has to
//! survive a crash of the router ([`Durability::Crash`]) is written by `append` itself if nothing
//! waits before it, and the writer syncs it a little later. The keeper, another thread, prepares
//! the next segment, stores positions, and removes segments that every backend has confirmed.
//!
//! After a crash, the last segment may end in records whose clients were never answered. They are
//! cut off, and [`Durable::notice`] says so. Damage anywhere else is an error that names the file
//! and the offset. After a failed sync the log takes no more records and never tries the sync
//! again: the kernel may have dropped the pages, and would report success the second time (as
//! PostgreSQL found in 2018).

mod books;
mod copying;
mod disk;
mod durable;
mod frame;
mod keeper;
mod memory;
mod opening;
mod positions;
mod promise;
mod reader;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub use books::Size;
pub use durable::Durable;
pub use memory::Memory;
pub use promise::{durable, survives, Durability, Extent, Frontier, Log, Record};
