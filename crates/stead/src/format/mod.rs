//! The map file, format 1: the bytes in memory are the bytes on disk. Normative:
//! docs/map-format.md.
//!
//! [`Parts`] is a map as plain values, and [`encode`] writes its bytes: a map has exactly one
//! encoding. `verify` checks every rule of the format before any value is handed out, and returns
//! the `Layout`, through which records are read in place. `records` is the one description of where
//! everything lies, shared by all of them.

mod carried;
mod check;
mod encode;
mod hex;
mod layout;
mod node_rules;
mod parts;
mod peek;
pub(crate) mod records;
mod slice_rules;
mod verify;

pub use carried::{Carry, State};
pub use encode::encode;
pub(crate) use encode::encode_sealed;
pub use hex::hex;
pub(crate) use layout::Layout;
pub(crate) use parts::NodeLists;
pub use parts::{FirstPart, NodePart, Parts, PinPart, PolicyPart, TargetPart};
pub use peek::Peeked;
pub(crate) use peek::{peek, PEEK};
pub use records::{Digest, MapId};
pub(crate) use verify::{all_known, header, verify, verify_sealed, Checked};
