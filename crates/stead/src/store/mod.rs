//! The store: one map file and its history, and how a new epoch is published whole or not at all.
//!
//! ```text
//! MAP                      the newest epoch; renaming a new file over it publishes an epoch
//! MAP.history/7            a copy of epoch 7; the newest 32 epochs are kept
//! MAP.history/7.1a2b3c4d   an epoch 7 that is no ancestor of MAP: it was there before a fork or a
//!                          step back was installed on purpose
//! MAP.history/log          when, by whom and why each epoch was published; not needed to read maps
//! MAP.lock                 locked while publishing; only a failed first publish removes it again
//! .MAP.8.4711.RANDOM.tmp   epoch 8 while process 4711 writes it; RANDOM is 16 hex digits that tell
//!                          writers apart. If a process is killed, the next writer removes its file
//! ```
//!
//! A published file is never written again. The history has copies rather than links, so that
//! damaging MAP in place does not damage the same epoch in the history. The price is the size of
//! one more map on disk.

mod back;
mod change;
mod descent;
mod epochs;
mod install;
mod log;
mod progress;
mod renamed;
mod saved;
mod story;
mod trust;
mod whole;

pub use back::Back;
pub use descent::{descent, Descent, Link};
pub use epochs::{Store, KEEP};
pub use install::{Accept, Arrival, Standing};
pub use log::{line, now, who, Entry};
pub use progress::Progress;
pub use saved::{Planned, SavedPlan};
pub use story::changes;
pub use whole::save;
