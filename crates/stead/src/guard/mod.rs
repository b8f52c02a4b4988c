//! Guards: they refuse a change that does harm unless its author allows the harm by name.
//! Normative: docs/guards.md.
//!
//! ```text
//! old map, new map --dropped, lost--> findings <--stale, left-- the epochs before
//!                                         |
//!                                      allowed?  --> publish, or Error::Guarded
//! ```
//!
//! [`Store::publish`](crate::Store::publish) asks the guards, so every language has them. They
//! judge what the maps answer: the final slices, with the pins applied. A first map is never
//! refused.

mod allow;
mod dropped;
mod facts;
mod finding;
mod found;
mod left;
mod lost;
mod reader;
mod stale;

pub use allow::{Allow, Guard};
pub use finding::Finding;
pub use found::findings;
pub(crate) use found::room;
pub use left::LastMove;
pub(crate) use left::{last_move, left_behind, undone};
pub use reader::{needs, readable, Need, Release};
pub use stale::taken_back;
