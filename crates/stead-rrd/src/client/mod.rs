//! Clients: what they may ask, and their answers in the order of their requests.

mod allowed;
mod batching;
mod input;
mod serving;
mod session;

pub use allowed::Allowed;
pub(crate) use serving::serve;
