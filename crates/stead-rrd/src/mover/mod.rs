//! Files on their way: from the old places to the new ones, and to backends that lack them.
//!
//! One file at a time is held: its writes are durable and wait in the router. All that was sent
//! before is answered and flushed, so the file of the source is whole; it is copied, its new places
//! are noted durably, and the writes go on, to the new places. So no value is sent to a file that
//! is being copied, and none is missing in the copy. What stops half way leaves the file where it
//! was.

mod carrying;
mod moving;
mod repairing;
mod telling;

pub use carrying::Mover;
