//! What ends the pauses between tries, so that a run need not wait to the end of them.

use std::sync::atomic::{AtomicBool, Ordering};

/// Something that knows when work has to end. Then nothing is tried again.
pub trait Stop {
    /// Whether the work has to end now.
    fn stops(&self) -> bool;
}

impl Stop for AtomicBool {
    fn stops(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}
