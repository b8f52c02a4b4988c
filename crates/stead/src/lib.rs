//! stead answers "where does this key live?" with the same answer in every language, and changes the answer safely.
//!
//! ```text
//! key --hash--> point --slices--> policy --> nodes
//! ```

#![deny(missing_docs)]

pub mod baseline;
pub mod cell;
pub mod error;
pub mod fleet;
pub mod format;
pub mod hash;
mod lock;
pub mod map;
mod mmap;
pub mod name;
pub mod path;
pub mod plan;
pub mod point;
pub mod policy;
pub mod rebalance;
pub mod report;
pub mod slice;
pub mod stats;
pub mod store;
pub mod weight;

pub use error::{Error, Result, Status};
pub use fleet::Fleet;
pub use map::Map;
pub use plan::Plan;
pub use point::{Point, Share};
pub use rebalance::build;
pub use store::Store;
