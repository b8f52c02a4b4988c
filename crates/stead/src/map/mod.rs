//! The map: opening it, verifying it, and asking it for keys.
//!
//! A [`Map`] is the bytes of a map file. It is checked once, and answers are then read from the
//! bytes in place. It never changes, and any number of threads may use it at once.

mod as_fleet;
mod batch;
mod buckets;
#[cfg(unix)]
mod cache;
mod domains;
mod epoch;
#[cfg(unix)]
mod failures;
mod finder;
mod in_carry;
mod inside;
mod locate;
mod marks;
mod open;
mod permits;
mod prefer;

pub use epoch::Renamed;
pub use inside::{First, Members, Node, Pin, Policy};
pub(crate) use marks::Marks;
pub use open::Map;
pub(crate) use permits::Permits;
pub use prefer::mix;
