//! Two routers. The primary serves clients; the standby keeps a copy of the primary's log and
//! state, and can take its place.
//!
//! ```text
//! clients --> primary: log --> published up to what both have --> backends, answers
//!                       |  ^
//!               records |  | acknowledged up to
//!                       v  |
//!             standby: log, state
//! ```
//!
//! A record counts as durable only when the standby has it on its disk, too. So no client gets an
//! answer, and no backend gets a write, that the standby could not repeat. The changes of the state
//! directory travel in the same way: the standby has each before the primary acts on it.
//!
//! Each router keeps in `DIR/pair` which of the two it is and in which term ([`Saved`]). When that
//! changes, the program starts itself again in the same process, so that nothing of the old role
//! goes on.
//!
//! ```text
//! both:     again frame history packing repeats | exchange saved
//! primary:  hub | mirroring sending taking meeting waiting | keeping
//! standby:  standby | looking receiving
//! ```

mod again;
mod exchange;
mod frame;
mod history;
mod hub;
mod keeping;
mod looking;
mod meeting;
mod mirroring;
mod packing;
mod receiving;
mod repeats;
mod saved;
mod sending;
mod standby;
mod taking;
#[cfg(test)]
mod tests;
mod waiting;

pub use again::start_again;
pub use exchange::Serves;
pub use hub::{Facts, Pair};
pub use saved::Saved;
pub use standby::Standby;
pub use waiting::{refuse_clients, Waiting};
