//! The map file, format 1: the bytes in memory are the bytes on disk. Normative:
//! docs/map-format.md.
//!
//! [`Parts`] is a map as plain values; [`encode`] writes the one byte string that it has. `verify`
//! checks every rule of the format before anything is handed out and returns the `Layout`, with
//! which single records are read where they lie. `records` says what lies where, for all of them.

mod check;
mod encode;
mod layout;
mod node_rules;
mod parts;
mod peek;
pub(crate) mod records;
mod slice_rules;
mod verify;

pub use encode::encode;
pub use parts::{NodePart, Parts, PinPart, PolicyPart, TargetPart};
pub use peek::Peeked;
pub(crate) use peek::{peek, PEEK};
pub use records::{Digest, MapId};
pub(crate) use verify::{header, verify, Checked};
