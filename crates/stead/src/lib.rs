//! stead answers "where does this key live?" with the same answer in every language, and changes the answer safely.
//!
//! ```text
//! key --hash--> point --slices--> policy --> nodes
//! ```

#![deny(missing_docs, unsafe_code)]

pub mod baseline;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod cell;
pub mod error;
pub mod fleet;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod format;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod hash;
mod lock;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod map;
mod mmap;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod name;
pub mod path;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod plan;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod point;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod policy;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod rebalance;
pub mod report;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod slice;
pub mod stats;
pub mod store;
#[deny(clippy::float_arithmetic, clippy::indexing_slicing)]
pub mod weight;

pub use error::{Error, Result, Status};
pub use fleet::Fleet;
pub use map::Map;
pub use plan::Plan;
pub use point::{Point, Share};
pub use rebalance::build;
pub use store::Store;
