//! Reads from the sources which file of a crate uses which. Two things are forbidden: files that
//! use each other, directly or through others; and files that use a module that the order on the
//! crate's front page puts beside them or to their right.
//!
//! A file uses another when its code names something that is defined there: in a `use`, in a path
//! in the code or in a macro call, or by a name that a third file re-exports. Code for tests does
//! not count. Neither does the re-export of a file's own submodules, so a `mod.rs` may list the
//! modules below it. Method calls are not seen, since their types are not known here: when an
//! `impl` block is in another file than its type, only `Type::function` counts as a use of it.
//!
//! A module uses only modules to its left:
//!
//! ```text
//! circles code files | uses | order
//! ```

#![forbid(unsafe_code)]

pub mod circles;
mod code;
pub mod files;
pub mod order;
pub mod uses;

pub use uses::Crate;
