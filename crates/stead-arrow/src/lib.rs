//! Arrow's C data interface, without Python: reads columns of keys that another library made, and
//! gives columns to it. Nothing is copied.
//!
//! ```text
//! structs   the structs that all Arrow libraries share, and who releases them
//! import    structs of a producer -> Chunk -> Column; a stream of them -> Reader
//! extension the name of a column's extension type
//! column    rows of keys in Arrow's memory layouts, as plain slices
//! export    a column of a result, freed by its `release`
//! problem   what is wrong with a batch
//! ```
//!
//! The Python module (`python/src/arrow.rs`) gets the structs in capsules. It is a crate of its own
//! so that it can be fuzzed (tools/fuzz), which needs neither Python nor a producer.
//!
//! Bars separate groups of modules. A module uses only modules of the groups to the left of its
//! own; a test checks this (tools/layers):
//!
//! ```text
//! extension problem structs | column | export import
//! ```

#![deny(unsafe_code)]

pub mod column;
pub mod export;
mod extension;
pub mod import;
pub mod problem;
pub mod structs;

pub use export::{Buffer, Export};
pub use import::{Chunk, Reader};
pub use problem::Problem;
pub use structs::{ArrowArray, ArrowArrayStream, ArrowSchema, Owned};
