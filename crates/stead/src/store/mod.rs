//! The store: one map file, its history, and how a new epoch gets there whole or not at all.
//!
//! ```text
//! MAP                      the newest epoch; renaming over it is the moment of truth
//! MAP.history/7            every epoch, a copy each, the newest 32
//! MAP.lock                 held while publishing, never removed
//! .MAP.8.4711.RANDOM.tmp   epoch 8 while process 4711 writes it; 16 digits tell its writers apart.
//!                          What a killed process left is removed by the next one that writes
//! ```
//!
//! A published file is never written again. History has copies rather than links, so that somebody
//! who damages MAP in place does not damage the epoch in the history with it; the price is the
//! map's size once more.

mod epochs;
mod whole;

pub use epochs::{Store, KEEP};
pub use whole::save;
