//! libstead: the C library. `include/stead.h` is its manual. It is generated from the comments in
//! this crate, which therefore address users of C.
//!
//! ```text
//! boundary   the only place for foreign pointers, panics and the error record
//! types      what the header declares: handles, records, numbers
//! library    versions and names       open    making, opening, saving and freeing maps
//! store      map files and histories  locate  where keys live
//! inside     what is in a map         difference what moves
//! pair       where to read and to write while data is carried
//! keys       points, paths, folding, surveys: without a map
//! batch      many keys: bytes and offsets, as blocks of the core's keys
//! strings    the strings of a map, each with a NUL at its end
//! message    the message of an error, cut to the room that the record has
//! ```
//!
//! Bars separate groups of modules. A module uses only modules of the groups to the left of its
//! own; a test checks this (tools/layers):
//!
//! ```text
//! types strings message batch | boundary | library locate open | inside store | difference keys pair
//! ```
//!
//! Every exported function is a single call of [`boundary::status`] or [`boundary::value`], and all
//! unsafe code is in `boundary`. A test reads the sources and checks both. tests/c compares the
//! symbols that the library exports with the functions that it saw pass through the boundary.

#![deny(missing_docs)]
// the header decides the names and how many arguments there are
#![allow(non_camel_case_types, clippy::too_many_arguments)]

#[global_allocator]
static ALLOCATOR: stead_core::memory::Reserving = stead_core::memory::Reserving::of_system();

mod batch;
mod boundary;
mod message;
mod strings;
pub mod types;

// from here on in the order of the header
pub mod library;

mod open;

mod store;

mod locate;

mod inside;

mod difference;

mod pair;

mod keys;

#[cfg(test)]
mod guarded;

#[cfg(test)]
mod calls;
