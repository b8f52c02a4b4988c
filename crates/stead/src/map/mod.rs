//! The map: opened, verified, and asked.
//!
//! A [`Map`] is the bytes of a map file, checked once, and answers from them where they lie. It
//! never changes; any number of threads may ask it.

mod cache;
mod epoch;
mod inside;
mod locate;
mod open;
mod prefer;

pub use cache::open_cached;
pub use inside::{Members, Node, Pin, Policy};
pub use open::Map;
pub use prefer::mix;
