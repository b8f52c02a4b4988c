//! Moves files from their old places to the new ones, and repairs backends that lack files.
//!
//! A file is held while it is copied: its writes become durable and wait in the router. Everything
//! that was sent before is answered and flushed, so the file at the source is complete. It is
//! copied, its new places are recorded durably, and then its writes continue at the new places. So
//! no value is sent to a file while it is copied, and the copy lacks none. If the work stops half
//! way, the file stays where it was.
//!
//! A check compares the copies of every file, in order, and puts what differs into the repair
//! queue. Where it is, is kept on disk.
//!
//! A file uses only files to the left of the bar before it:
//!
//! ```text
//! agreeing judging telling walking | course | carrying | leaving looking resuming | mending moving
//! straying | comparing filling | noting returning watching | passing | checking repairing
//! ```

mod agreeing;
mod carrying;
mod checking;
mod comparing;
mod course;
mod filling;
mod judging;
mod leaving;
mod looking;
mod mending;
mod moving;
mod noting;
mod passing;
mod repairing;
mod resuming;
mod returning;
mod straying;
mod telling;
#[cfg(test)]
pub(crate) mod tests;
mod walking;
mod watching;

pub use carrying::Mover;
