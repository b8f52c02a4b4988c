//! A deliberate bug: every cap of the rebalancer is one too high. A test uses it to show that the
//! verdict does not rely on the rebalancer's own caps.

use std::cell::Cell;

thread_local! {
    static TOO_HIGH: Cell<u32> = const { Cell::new(0) };
}

/// By how much caps are too high on this thread.
pub fn too_high() -> u32 {
    TOO_HIGH.get()
}

/// Runs a function with the bug active.
pub fn with_caps_too_high<T>(run: impl FnOnce() -> T) -> T {
    TOO_HIGH.set(1);
    let result = run();
    TOO_HIGH.set(0);
    result
}
