//! The fleet: what there is, and what is wanted, as docs/fleet.md describes it.
//!
//! ```text
//! bytes --text--> UTF-8 --from_toml, from_json--> tree --rules--> Fleet --pin--> ranges
//! ```
//!
//! Both languages are lowered to one small tree, so every rule is written once and both give the
//! same fleet and the same mistakes. Numbers travel as the text that was written; nothing here is
//! ever a floating-point number.

mod from_json;
mod from_toml;
mod model;
mod percent;
mod pin;
mod reader;
mod rules;
mod secret;
mod text;
mod tree;

pub use model::{Fleet, Node, Pin, PinTo, Pinned, Policy};
pub use percent::part;
pub use pin::LaidPin;
