//! Times as used in the protocol, the status and the metrics: whole seconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in seconds since 1970.
pub fn now() -> u64 {
    seconds(SystemTime::now())
}

/// Converts a time to seconds since 1970.
pub fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
