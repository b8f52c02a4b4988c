//! What a backend has flushed, until its system has surely written it to the disk. FLUSH makes
//! rrdcached write a file, and not sync it, so a power cut may take back the last writes of a file.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Up to which records everything was found flushed, oldest first: when, the record, and the
/// version of the repair queue then.
#[derive(Default)]
pub struct Settling(VecDeque<(Instant, u64, u64)>);

impl Settling {
    /// Notes what this turn found flushed. Returns the newest of what an earlier turn found, at
    /// least `age` ago.
    ///
    /// It is never what this turn found: while rrdcached is writing a file, it says that nothing
    /// waits for the file, although the file is not written yet.
    pub fn settled(
        &mut self,
        (through, version): (u64, u64),
        age: Duration,
        now: Instant,
    ) -> Option<(u64, u64)> {
        let mut settled = None;
        while let Some((at, through, version)) = self.0.front().copied() {
            if now.duration_since(at) < age {
                break;
            }
            settled = Some((through, version));
            self.0.pop_front();
        }
        let newest = self
            .0
            .back()
            .map(|(_, through, version)| (*through, *version));
        if newest != Some((through, version)) {
            self.0.push_back((now, through, version));
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_flushed_settles_for_a_time_and_never_in_its_own_turn() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let age = Duration::from_secs(60);
        let mut flushed = Settling::default();
        assert_eq!(flushed.settled((5, 1), age, start), None);
        // nothing new: the first time counts
        assert_eq!(flushed.settled((5, 1), age, after(30)), None);
        assert_eq!(flushed.settled((7, 1), age, after(31)), None);
        assert_eq!(flushed.settled((9, 2), age, after(59)), None);
        assert_eq!(flushed.settled((9, 2), age, after(60)), Some((5, 1)));
        assert_eq!(flushed.settled((9, 2), age, after(130)), Some((9, 2)));
        // and again, since it may not have been confirmed
        assert_eq!(flushed.settled((9, 2), age, after(190)), Some((9, 2)));
        let mut at_once = Settling::default();
        let none = Duration::ZERO;
        assert_eq!(at_once.settled((5, 1), none, start), None);
        assert_eq!(at_once.settled((6, 1), none, start), Some((5, 1)));
    }
}
