//! Decides whether a connection has lasted, where one is lost again and again, such as one to a
//! standby whose disk is full. Each reason is logged once until a connection has lasted. Otherwise
//! it would be logged five times a second. And until then, the time counts as time without the
//! other router: one that is there for moments only helps nobody.

use std::time::Duration;

use tokio::time::Instant;

/// How long a connection has to last before its end is news again, and before the time without the
/// other router ends.
pub(super) const LASTING: Duration = Duration::from_secs(10);

/// What was logged since a connection has lasted.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    said: Vec<String>,
    /// since when the present connection is joined
    joined: Option<Instant>,
    /// whether the last connection that was joined did not last
    brief: bool,
}

impl Repeats {
    /// How many reasons are remembered. Further ones are logged each time.
    const MOST: usize = 16;

    /// Returns whether a reason was not logged yet, and notes it. Two reasons that differ in their
    /// digits only are the same: the numbers of records change all the time.
    pub fn is_new(&mut self, reason: &str) -> bool {
        let words: String = reason.chars().filter(|c| !c.is_ascii_digit()).collect();
        let is_new = !self.said.contains(&words);
        if is_new && self.said.len() < Self::MOST {
            self.said.push(words);
        }
        is_new
    }

    /// Notes that a connection is joined. Returns whether that should be logged.
    pub fn joined(&mut self, now: Instant) -> bool {
        self.joined = Some(now);
        !self.brief
    }

    /// Notes that the connection has ended, or could not be made. Returns whether the reason should
    /// be logged.
    pub fn ended(&mut self, reason: &str, now: Instant) -> bool {
        self.lasts(now);
        if self
            .joined
            .take()
            .is_some_and(|since| now - since < LASTING)
        {
            self.brief = true;
        }
        self.is_new(reason)
    }

    /// Whether the last connection that was joined did not last.
    pub fn is_brief(&self) -> bool {
        self.brief
    }

    /// Notes that the present connection has lasted, if it has. Returns whether that is news: the
    /// one before it did not.
    pub fn lasts(&mut self, now: Instant) -> bool {
        if self.joined.is_none_or(|since| now - since < LASTING) {
            return false;
        }
        self.said.clear();
        std::mem::take(&mut self.brief)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_come_in_turn_are_said_once() {
        let mut repeats = Repeats::default();
        let reasons = ["reset", "broken", "reset", "broken", "refused", "reset"];
        let new: Vec<bool> = reasons
            .iter()
            .map(|reason| repeats.is_new(reason))
            .collect();
        assert_eq!(new, [true, true, false, false, true, false]);
        // a record that was added meanwhile makes no new reason
        assert!(repeats.is_new("it has records up to 99 only"));
        assert!(!repeats.is_new("it has records up to 100 only"));
        // the list has a bound
        for n in 0..100 {
            repeats.is_new(&"x".repeat(n));
        }
        assert_eq!(repeats.said.len(), Repeats::MOST);
    }

    #[test]
    fn a_connection_that_does_not_last_is_told_once() {
        let start = Instant::now();
        let at = |tenths: u64| start + Duration::from_millis(100 * tenths);
        let mut repeats = Repeats::default();
        // at the start, the other one is not there yet
        assert_eq!(
            [0, 1].map(|tenths| repeats.ended("refused", at(tenths))),
            [true, false]
        );
        assert!(repeats.joined(at(10)));
        // hours later, its disk is full
        assert!(!repeats.lasts(at(50_000)) && repeats.ended("full", at(50_000)));
        assert!(!repeats.is_brief() && repeats.joined(at(50_002)));
        for tenths in (50_010..60_000).step_by(10) {
            assert!(!repeats.lasts(at(tenths)) && !repeats.ended("full", at(tenths)));
            assert!(repeats.is_brief() && !repeats.joined(at(tenths + 2)));
        }
        // there is room again
        assert_eq!(
            [60_000, 60_100, 60_200].map(|tenths| repeats.lasts(at(tenths))),
            [false, true, false]
        );
        assert!(!repeats.is_brief() && repeats.ended("full", at(70_000)));
        // also where nobody has asked whether it lasts
        assert!(repeats.joined(at(70_002)) && !repeats.ended("full", at(70_004)));
        assert!(!repeats.joined(at(70_006)) && repeats.ended("full", at(80_000)));
        assert!(!repeats.is_brief());
    }
}
