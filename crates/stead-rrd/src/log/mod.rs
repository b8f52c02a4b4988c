//! The durable log: what was acknowledged to a client is in it until every backend has confirmed
//! it, whatever is switched off.
//!
//! ```text
//! DIR/lock                      held while the log is open, never removed
//! DIR/positions                 the log's identity, and up to where each backend has confirmed
//! DIR/00000000000000000001.log  a segment, named by the number of its first record
//! DIR/spare-3.tmp               the segment after the current one, ready and empty
//! ```
//!
//! [`append`](Log::append) puts the record into a buffer; one thread, the writer, takes all
//! that is waiting, writes it and syncs once: so 64 clients share a sync. Another, the keeper,
//! makes the next segment ready, stores positions and trims.
//!
//! What a crash leaves: the last segment may end in records of which nobody was told; they are cut
//! off, and [`Durable::notice`] says so. Damage anywhere else is an error that names file and
//! offset. A sync that failed is never tried again, since the kernel may have thrown the pages away
//! and would call the second try a success (as PostgreSQL found in 2018): the log then takes
//! nothing more.

mod books;
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
pub use promise::{durable, Extent, Frontier, Log, Record};
