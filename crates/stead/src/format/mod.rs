//! The map file, format 1: the bytes in memory are the bytes on disk. Normative:
//! docs/map-format.md.
//!
//! [`Parts`] is a map as plain values; [`encode`] writes the one byte string that it has.
//! [`verify`] checks every rule of the format before anything is handed out and returns the
//! [`Layout`], with which single records are read where they lie.

mod encode;
mod layout;
mod parts;
mod peek;
mod rules;
mod slice_rules;
mod verify;

pub use encode::encode;
pub(crate) use layout::{array_at, at, u32_at, u64_at, NODES_MAX};
pub use layout::{Layout, Record};
pub use parts::{NodePart, Parts, PinPart, PolicyPart, TargetPart};
pub use peek::Peeked;
pub(crate) use peek::{peek, PEEK};
pub(crate) use verify::header;
pub use verify::{verify, Checked};

/// The digest of a map: SHA-256 of the whole file with the digest's own 32 bytes zero.
pub type Digest = [u8; 32];
/// The first 16 bytes of the digest of epoch 1: which cluster's map this is.
pub type MapId = [u8; 16];
