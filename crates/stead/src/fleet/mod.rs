//! The fleet: the nodes you have and the placement you want, as docs/fleet.md describes it.
//!
//! ```text
//! bytes --text--> UTF-8 --from_toml, from_json--> trees --rules, draft--> Fleet --pin--> ranges
//!                                                                       Fleet --to_toml--> text
//! ```
//!
//! TOML and JSON are lowered to the same small trees: one for each entry of the fleet, and several
//! for a long list, so that the tree of a large fleet is never in memory as a whole. Every rule is
//! written once, and both languages give the same fleets and the same mistakes. Numbers are passed
//! on as the text that was written: nothing here is ever a floating-point number.

mod draft;
mod effort;
mod from_json;
mod from_toml;
mod model;
mod need;
mod percent;
mod pin;
mod reader;
mod rules;
mod secret;
mod text;
mod to_toml;
mod toml_blocks;
mod tree;
mod unknown;

pub use model::{First, Fleet, Node, Pin, PinTo, Pinned, Policy};
pub use percent::{part, percentage};
pub use pin::LaidPin;
