//! The counters of the running router.
//!
//! Counting is a few relaxed additions, without a lock or an allocation, so every request can be
//! counted. Numbers that are read during counting may be of slightly different moments, but no
//! count is ever lost.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::verb::{Verb, VERBS};

/// The upper bounds of the buckets of durations, in microseconds. They range from the time of an
/// answer that needs only memory to the time after which a client gives up. Longer durations have a
/// bucket of their own.
pub const BOUNDS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// The name for requests whose verb is unknown.
pub const UNKNOWN: &str = "unknown";

/// All counters of the router. Any thread may count.
#[derive(Debug)]
pub struct Tally {
    accepted: AtomicU64,
    left: AtomicU64,
    refused: AtomicU64,
    /// How many reads were answered by a copy that may lack values.
    pub behind: AtomicU64,
    /// indexed by verb; the last one is for unknown verbs
    verbs: [VerbTally; VERBS.len() + 1],
}

#[derive(Debug, Default)]
struct VerbTally {
    errors: AtomicU64,
    nanoseconds: AtomicU64,
    buckets: [AtomicU64; BOUNDS.len() + 1],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            accepted: AtomicU64::new(0),
            left: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            behind: AtomicU64::new(0),
            verbs: std::array::from_fn(|_| VerbTally::default()),
        }
    }
}

/// A connected client. It counts as connected until this is dropped.
#[derive(Debug)]
pub struct Guest(Arc<Tally>);

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Relaxed);
    }
}

impl Tally {
    /// Counts a client that has connected.
    pub fn arrived(self: &Arc<Tally>) -> Guest {
        self.accepted.fetch_add(1, Relaxed);
        Guest(Arc::clone(self))
    }

    /// Counts a client that could not be accepted: no descriptor was left, or there were too many
    /// clients.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Counts an answered request and the time that it took. `None` means a request with an unknown
    /// verb.
    pub fn observe(&self, verb: Option<Verb>, took: Duration, failed: bool) {
        self.observe_many(verb, took, 1, u64::from(failed));
    }

    /// Counts lines of a BATCH that were answered together, some of them with an error.
    pub fn observe_many(&self, verb: Option<Verb>, took: Duration, requests: u64, errors: u64) {
        let Some(counters) = self
            .verbs
            .get(verb.map_or(VERBS.len(), |verb| verb as usize))
        else {
            return;
        };
        // rounded up, because a bound is the most that a request took
        let microseconds = took.as_nanos().div_ceil(1000);
        let bucket = BOUNDS.partition_point(|bound| u128::from(*bound) < microseconds);
        if let Some(bucket) = counters.buckets.get(bucket) {
            bucket.fetch_add(requests, Relaxed);
        }
        // 584 years of waiting fit
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        counters
            .nanoseconds
            .fetch_add(nanoseconds.saturating_mul(requests), Relaxed);
        if errors > 0 {
            counters.errors.fetch_add(errors, Relaxed);
        }
    }

    /// Returns the current numbers.
    pub fn read(&self) -> Clients {
        // in this order, so that a client that arrives meanwhile counts as connected
        let left = self.left.load(Relaxed);
        let accepted = self.accepted.load(Relaxed);
        let names = VERBS
            .iter()
            .map(|(_, name, _)| name.to_ascii_lowercase())
            .chain([UNKNOWN.to_owned()]);
        let verbs = names.zip(&self.verbs).map(|(verb, counters)| {
            let buckets: Vec<u64> = counters
                .buckets
                .iter()
                .map(|bucket| bucket.load(Relaxed))
                .collect();
            let seconds = Duration::from_nanos(counters.nanoseconds.load(Relaxed)).as_secs_f64();
            Requests {
                verb,
                requests: buckets.iter().sum(),
                errors: counters.errors.load(Relaxed),
                seconds,
                buckets,
            }
        });
        Clients {
            connected: accepted.saturating_sub(left),
            accepted,
            refused: self.refused.load(Relaxed),
            behind: self.behind.load(Relaxed),
            verbs: verbs.collect(),
        }
    }
}

/// Clients and their requests since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clients {
    /// How many clients are connected now.
    pub connected: u64,
    /// How many connections were accepted.
    pub accepted: u64,
    /// How many connections could not be accepted.
    pub refused: u64,
    /// Reads that were answered by a copy that may lack values.
    #[serde(default)]
    pub behind: u64,
    /// Every verb, in the order of HELP, and [`UNKNOWN`].
    pub verbs: Vec<Requests>,
}

/// The requests of one verb since the start. A line of a BATCH counts under its own verb.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// The verb in small letters.
    pub verb: String,
    /// Answered requests.
    pub requests: u64,
    /// How many of them were answered with an error.
    pub errors: u64,
    /// The sum of the times from reading to answering, in seconds.
    pub seconds: f64,
    /// How many requests took at most each of [`BOUNDS`] and more than the bound before it. The
    /// last one is for longer times.
    pub buckets: Vec<u64>,
}

impl Requests {
    /// Returns a time that this percentage of the requests did not exceed, as far as the buckets
    /// tell. Returns `None` if it is beyond the last bound, or if there were no requests.
    pub fn within(&self, percent: u64) -> Option<Duration> {
        let wanted = (u128::from(self.requests) * u128::from(percent)).div_ceil(100);
        let mut seen = 0u128;
        let bucket = self.buckets.iter().position(|count| {
            seen += u128::from(*count);
            seen >= wanted && seen > 0
        });
        bucket
            .and_then(|bucket| BOUNDS.get(bucket))
            .map(|bound| Duration::from_micros(*bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_counted_once_under_its_verb() {
        let tally = Arc::new(Tally::default());
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let tally = Arc::clone(&tally);
                std::thread::spawn(move || {
                    for i in 0..1000 {
                        tally.observe(Some(Verb::Update), Duration::from_micros(i), i % 10 == 0);
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        tally.observe_many(Some(Verb::Update), Duration::from_secs(11), 500, 2);
        tally.observe(None, Duration::ZERO, true);
        let read = tally.read();
        let update = read.verbs.iter().find(|one| one.verb == "update").unwrap();
        assert_eq!((update.requests, update.errors), (4500, 402));
        assert_eq!(update.buckets.iter().sum::<u64>(), 4500);
        // each thread has 101 values from 0 to 100 us; the last bucket has the values beyond all
        // bounds
        assert_eq!(
            (update.buckets[0], update.buckets[1], update.buckets[16]),
            (404, 600, 500)
        );
        assert!(
            (update.seconds - (4.0 * 0.4995 + 5500.0)).abs() < 1e-6,
            "{}",
            update.seconds
        );
        assert_eq!(read.verbs.iter().map(|one| one.requests).sum::<u64>(), 4501);
        assert_eq!(
            read.verbs.last().map(|one| (&*one.verb, one.errors)),
            Some((UNKNOWN, 1))
        );
    }

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let tally = Tally::default();
        for (took, bucket) in [
            (Duration::ZERO, 0),
            (Duration::from_micros(100), 0),
            (Duration::from_nanos(100_001), 1),
            (Duration::from_secs(10), 15),
        ] {
            let before = tally.read().verbs[0].buckets[bucket];
            tally.observe(Some(Verb::Update), took, false);
            assert_eq!(
                tally.read().verbs[0].buckets[bucket],
                before + 1,
                "{took:?}"
            );
        }
    }

    #[test]
    fn a_client_is_connected_until_it_goes() {
        let tally = Arc::new(Tally::default());
        let (one, two) = (tally.arrived(), tally.arrived());
        tally.refused();
        drop(one);
        let read = tally.read();
        assert_eq!((read.connected, read.accepted, read.refused), (1, 2, 1));
        drop(two);
        assert_eq!(tally.read().connected, 0);
    }

    #[test]
    fn the_time_of_most_requests_is_a_bound() {
        let mut requests = Requests {
            requests: 100,
            buckets: vec![0; BOUNDS.len() + 1],
            ..Requests::default()
        };
        requests.buckets[3] = 98;
        requests.buckets[16] = 2;
        assert_eq!(
            (requests.within(50), requests.within(98)),
            (
                Some(Duration::from_millis(1)),
                Some(Duration::from_millis(1))
            )
        );
        assert_eq!(requests.within(99), None);
        assert_eq!(Requests::default().within(50), None);
    }
}
