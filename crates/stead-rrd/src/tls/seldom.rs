//! Messages about strangers, so few that nobody can fill the disk with them.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock::lock;

/// The least time between two messages.
const PAUSE: Duration = Duration::from_secs(10);

/// Says when a message may be printed, and counts those that were not.
#[derive(Debug)]
pub struct Seldom(Mutex<(Option<Instant>, u64)>);

impl Seldom {
    /// Returns a counter of which nothing was printed yet.
    pub const fn new() -> Seldom {
        Seldom(Mutex::new((None, 0)))
    }

    /// Returns `None` if a message was printed a moment ago. Otherwise returns what to append to
    /// this one: how many were left out before it.
    pub fn now(&self) -> Option<String> {
        let (said, left_out) = &mut *lock(&self.0);
        if said.is_some_and(|said| said.elapsed() < PAUSE) {
            *left_out += 1;
            return None;
        }
        *said = Some(Instant::now());
        Some(match std::mem::take(left_out) {
            0 => String::new(),
            count => format!(" (and {count} more since the last such message)"),
        })
    }
}

impl Default for Seldom {
    fn default() -> Seldom {
        Seldom::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_is_printed_and_the_others_are_counted() {
        let seldom = Seldom::new();
        assert_eq!(seldom.now().as_deref(), Some(""));
        for _ in 0..5 {
            assert_eq!(seldom.now(), None);
        }
        lock(&seldom.0).0 = Instant::now().checked_sub(PAUSE);
        assert!(seldom.now().unwrap().contains("5 more"));
        assert_eq!(seldom.now(), None);
    }
}
