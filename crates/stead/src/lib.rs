//! stead answers "where does this key live?" with the same answer in every language, and changes the answer safely.
//!
//! ```text
//! key --hash--> point --slices--> policy --> nodes
//! ```

#![deny(missing_docs)]

pub mod cell;
pub mod error;
pub mod fleet;
pub mod hash;
pub mod point;
pub mod weight;

pub use error::{Error, Result, Status};
pub use point::{Point, Share};
