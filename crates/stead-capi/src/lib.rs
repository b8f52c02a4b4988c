//! libstead: the C library. `include/stead.h` is its manual and comes from the comments here, so
//! they speak of C.
//!
//! ```text
//! boundary   foreign pointers, panics, the error record: here and nowhere else
//! types      what the header declares: handles, records, numbers
//! library    versions and names       open    making, opening, saving maps
//! locate     where keys live          inside  what is in a map
//! difference what moves               keys    points, paths, folding: without a map
//! ```
//!
//! A module uses only modules to its left; a test holds that (tools/layers):
//!
//! ```text
//! types | boundary | keys library locate open | inside | difference
//! ```
//!
//! Every exported function is one call of [`boundary::status`] or [`boundary::value`]; a test reads
//! the sources and holds that, and tests/c compares the library's symbols with those that it saw go
//! through.

#![deny(missing_docs)]
// the names and the words are those of the header
#![allow(
    non_camel_case_types,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

mod boundary;
pub mod types;

// the order of the header
pub mod library;

mod open;

mod locate;

mod inside;

mod difference;

mod keys;

#[cfg(test)]
mod guarded;
