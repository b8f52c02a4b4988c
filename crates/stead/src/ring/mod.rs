//! Rings: the placement rules of other programs, drawn as maps. docs/rings.md says what each does,
//! and how to add one.
//!
//! A kind of ring is one file of `kinds` and one line of its list. It reads the list of servers as
//! the original's users write it, computes the original's points, and passes them to `compile`,
//! which makes the table of cells. All kinds have such a table. The map of that table keeps the
//! original's key hash and cells for ever; only its slices evolve.
//!
//! ```text
//! servers (the list), choices (--set) --one of kinds--> points --compile--> table --draw--> Ring, Map
//!                                                       ranges, remainder --> table
//! ```
//!
//! The rules of some originals compute with floats, some of them in single precision. Floats are in
//! the files of those kinds and nowhere else: sums, products, quotients and roundings of IEEE 754,
//! which every processor computes alike. The exception is the old floating-point unit of x86, which
//! rounds to 80 bits.

#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!(
    "stead would draw other rings here than on every other machine: without SSE2, x86 computes with \
     80 bits where the rules of rings round to 32 or 64; build for i686 (or with -C \
     target-feature=+sse2) instead"
);

mod choices;
mod compile;
mod draw;
mod envoy;
mod hashkit;
mod kind;
mod kinds;
mod md5_words;
mod ranges;
mod remainder;
mod servers;

pub use choices::{Choice, Choices, Values};
pub use draw::{Member, Ring, Weights};
pub use kind::Kind;
pub use kinds::KINDS;
pub use servers::Servers;
