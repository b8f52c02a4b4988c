//! Moves files from their old places to the new ones, and repairs backends that lack files.
//!
//! A file is held while it is copied: its writes become durable and wait in the router. Everything
//! that was sent before is answered and flushed, so the file at the source is complete. It is
//! copied, its new places are recorded durably, and then its writes continue at the new places. So
//! no value is sent to a file while it is copied, and the copy lacks none. If the work stops half
//! way, the file stays where it was.

mod carrying;
mod moving;
mod repairing;
mod resuming;
mod telling;
#[cfg(test)]
pub(crate) mod tests;

pub use carrying::Mover;
