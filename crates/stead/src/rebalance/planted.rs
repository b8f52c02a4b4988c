//! A bug on purpose: every cap of the rebalancer is one too high. So a test can tell that the
//! verdict does not take the rebalancer's word for it.

use std::cell::Cell;

thread_local! {
    static TOO_HIGH: Cell<u32> = const { Cell::new(0) };
}

/// By how much caps are too high on this thread.
pub fn too_high() -> u32 {
    TOO_HIGH.get()
}

/// Runs something with the bug in place.
pub fn with_caps_too_high<T>(run: impl FnOnce() -> T) -> T {
    TOO_HIGH.set(1);
    let result = run();
    TOO_HIGH.set(0);
    result
}
