//! Which file of a crate uses which, read from the sources, and what must not be: files that use
//! each other, directly or around a corner, and files that use what the order of the crate's front
//! page puts beside them or to their right.
//!
//! A file uses another when its code names something that is defined there, by whatever way: a
//! `use`, a path in the code or in a macro call, or a name that a third file re-exports. Code for
//! tests does not count; neither does the re-export of a file's own submodules, so that a `mod.rs`
//! may list what is below it. Method calls are not seen, since their types are not known here: an
//! `impl` block that stands in another file than its type counts for `Type::function` only.
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
