//! Limits how fast a carry reads from each node and writes to it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest sleep before the end of the process is looked for again.
const NAP: Duration = Duration::from_millis(100);

/// The limits of each node. A node that was idle may do a second's work at once.
pub struct Throttle {
    items: u64,
    bytes: u64,
    /// of each node, when what it has done would be over at the limit
    busy: Mutex<BTreeMap<usize, Instant>>,
}

impl Throttle {
    /// Returns a throttle; 0 is no limit.
    pub fn new(items_per_second: u64, bytes_per_second: u64) -> Throttle {
        Throttle {
            items: items_per_second,
            bytes: bytes_per_second,
            busy: Mutex::default(),
        }
    }

    /// Notes what was done between two nodes, and waits as long as that takes at the limits.
    pub fn done(&self, nodes: [usize; 2], items: u64, bytes: u64, stop: &AtomicBool) {
        let Some(until) = self.note(nodes, items, bytes, Instant::now()) else {
            return;
        };
        while !stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            sleep(left.min(NAP));
        }
    }

    /// Returns when the nodes may go on.
    fn note(&self, nodes: [usize; 2], items: u64, bytes: u64, now: Instant) -> Option<Instant> {
        let seconds = |amount: u64, limit: u64| match limit {
            0 => 0.0,
            limit => amount as f64 / limit as f64,
        };
        let cost = seconds(items, self.items).max(seconds(bytes, self.bytes));
        if cost <= 0.0 {
            return None;
        }
        let idle = now.checked_sub(Duration::from_secs(1)).unwrap_or(now);
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let until = nodes.map(|node| {
            let until = busy.entry(node).or_insert(idle);
            *until = (*until).max(idle) + Duration::from_secs_f64(cost);
            *until
        });
        until.into_iter().max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_its_own_limit() {
        let throttle = Throttle::new(10, 1000);
        let now = Instant::now();
        let after = |nodes, items, bytes| {
            let until = throttle.note(nodes, items, bytes, now).unwrap();
            until
                .checked_duration_since(now)
                .unwrap_or_default()
                .as_secs_f64()
        };
        // the first second is free
        assert_eq!(after([0, 1], 10, 0), 0.0);
        assert!((after([0, 1], 10, 0) - 1.0).abs() < 1e-6);
        // another pair of nodes has done nothing yet
        assert_eq!(after([2, 3], 1, 1000), 0.0);
        assert!((after([2, 1], 0, 500) - 1.5).abs() < 1e-6);
        assert_eq!(Throttle::new(0, 0).note([0, 1], 9, 9, now), None);
    }
}
