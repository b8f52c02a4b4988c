//! The router: chooses the backends of a request, and joins their answers into one.
//!
//! ```text
//! a write     -> writing  -> ordering -> the log -> backends
//! a question  -> answering ------------------------> backends -> merging
//! ```

mod ahead;
mod answering;
mod backends;
mod claiming;
mod hub;
mod learning;
mod merging;
mod ordering;
mod remembering;
mod shapes;
#[cfg(test)]
mod tests;
mod trailing;
mod writing;

pub use backends::{Backends, ADDRESS, FILES};
pub use hub::Router;
pub use ordering::{Sequence, Submitted};
pub use writing::{Planned, Success};
