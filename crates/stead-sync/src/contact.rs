//! Contact with the hub: when it was lost, what is said about it, how long to pause.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

/// The first pause after contact is lost.
const FIRST: Duration = Duration::from_millis(250);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(15);

/// Contact with the hub.
#[derive(Debug)]
pub struct Contact {
    lost: Option<Instant>,
    pause: Duration,
}

impl Default for Contact {
    fn default() -> Contact {
        Contact {
            lost: None,
            pause: FIRST,
        }
    }
}

impl Contact {
    /// Returns whether the last attempt failed.
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Notes a failure. Returns what to say, the first time.
    pub fn lose(&mut self, why: &str) -> Option<String> {
        let is_news = self.lost.is_none();
        self.lost.get_or_insert_with(Instant::now);
        is_news.then(|| {
            format!("no contact with the hub: {why}; the map here stays, and I go on trying")
        })
    }

    /// Notes a success. Returns what to say after a failure.
    pub fn find(&mut self) -> Option<String> {
        self.pause = FIRST;
        let lost = self.lost.take()?;
        Some(format!(
            "contact with the hub is back after {} s",
            lost.elapsed().as_secs()
        ))
    }

    /// Returns how long to pause before the next attempt: twice as long each time, less a random
    /// part, so that many hosts do not come back at one moment.
    pub fn pause(&mut self) -> Duration {
        let now = self.pause;
        self.pause = (now * 2).min(LONGEST);
        let random = RandomState::new().build_hasher().finish() % 1000;
        now.mul_f64(0.5 + random as f64 / 2000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_and_found_is_said_once() {
        let mut contact = Contact::default();
        assert_eq!(contact.find(), None);
        assert!(contact.lose("no").is_some());
        assert_eq!(contact.lose("no"), None);
        assert!(contact.is_lost());
        assert!(contact.find().is_some());
        assert_eq!(contact.find(), None);
    }

    #[test]
    fn pauses_grow_up_to_a_bound_and_begin_anew() {
        let mut contact = Contact::default();
        let pauses: Vec<Duration> = (0..12).map(|_| contact.pause()).collect();
        assert!(pauses[0] <= FIRST && pauses[0] >= FIRST / 2);
        assert!(pauses.iter().all(|pause| *pause <= LONGEST));
        assert!(pauses[11] >= LONGEST / 2);
        contact.find();
        assert!(contact.pause() <= FIRST);
    }
}
