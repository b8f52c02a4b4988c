//! How far the checks have come: passes over all files, in which the copies of each are compared.
//! They are kept on disk, so that a pass continues after a restart.

use serde::{Deserialize, Serialize};

/// One pass over all files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// When it ended; 0 while it goes on.
    pub ended: u64,
    /// How many files it has looked at.
    pub files: u64,
    /// How many of these have copies that differ, lack a copy, or are only where the map does not
    /// place them.
    pub differing: u64,
    /// How many of these are only where the map does not place them.
    pub misplaced: u64,
    /// How many could not be compared.
    pub skipped: u64,
    /// How many backends have not listed their files, so that files which only they have are not
    /// seen.
    #[serde(default)]
    pub unlisted: u64,
    /// How many copies there are where the map does not place them, besides the right ones.
    pub strays: u64,
    /// How many of these have values that the right ones lack, or could not be compared with them.
    #[serde(default)]
    pub needed: u64,
    /// The size of all copies that were compared.
    pub bytes: u64,
    /// Why the first of these files could not be compared, or the first of these backends was not
    /// listed.
    #[serde(default)]
    pub reason: Option<String>,
    /// The last name that it has looked at. Empty at the beginning.
    #[serde(default)]
    pub after: Vec<u8>,
}

impl Pass {
    /// Counts a file that could not be compared.
    pub fn skip(&mut self, reason: impl FnOnce() -> String) {
        self.skipped += 1;
        self.reason.get_or_insert_with(reason);
    }

    /// Counts a backend whose files, or some of them, are not listed.
    pub fn leave_out_backend(&mut self, reason: &str) {
        self.unlisted += 1;
        self.reason.get_or_insert_with(|| reason.to_owned());
    }
}

/// All passes that are worth remembering.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// The one that somebody has asked for and that has not ended.
    pub asked: Option<Pass>,
    /// The slow one in the background.
    pub slow: Option<Pass>,
    /// The last one that has ended. One that somebody has asked for counts only if it has compared
    /// everything.
    pub last: Option<Pass>,
    /// The last one that has ended, whoever has asked for it, if it has not compared everything.
    #[serde(default)]
    pub incomplete: Option<Pass>,
}

impl Passes {
    /// Returns what another router is told that may take the place of this one. It knows the last
    /// checks, and begins a pass of its own: after a promotion by force, copies may differ.
    pub fn handed_over(self) -> Passes {
        Passes {
            asked: None,
            slow: Some(Pass::default()),
            ..self
        }
    }

    /// Lets a pass in the background begin `now` that has not begun. If there are to be none, it is
    /// forgotten, or what is left of it.
    pub fn taken_up(mut self, now: u64, is_checked: bool) -> Passes {
        self.slow = self.slow.filter(|_| is_checked);
        if let Some(slow) = self.slow.as_mut().filter(|slow| slow.began == 0) {
            slow.began = now;
        }
        self
    }

    /// Reads what [`text`](Passes::text) has written.
    pub fn read(text: &[u8]) -> Result<Passes, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// Returns the text for the disk.
    pub fn text(&self) -> Result<Vec<u8>, String> {
        serde_json::to_vec(self).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_come_back_with_any_name() {
        let pass = Pass {
            began: 7,
            after: b"c/\xff \"x\"".to_vec(),
            ..Pass::default()
        };
        let passes = Passes {
            slow: Some(pass),
            ..Passes::default()
        };
        assert_eq!(Passes::read(&passes.text().unwrap()), Ok(passes));
        assert!(Passes::read(b"{").is_err());
    }

    #[test]
    fn another_router_knows_the_last_checks_and_begins_anew() {
        let pass = |began| Pass {
            began,
            after: b"c".to_vec(),
            ..Pass::default()
        };
        let passes = Passes {
            asked: Some(pass(1)),
            slow: Some(pass(2)),
            last: Some(pass(3)),
            incomplete: Some(pass(4)),
        };
        let there = passes.clone().handed_over();
        assert_eq!(
            (&there.last, &there.incomplete),
            (&passes.last, &passes.incomplete)
        );
        assert_eq!(there.asked, None);
        let begun = there.clone().taken_up(9, true).slow.unwrap();
        assert_eq!(
            (begun.began, begun.files, &begun.after[..]),
            (9, 0, &b""[..])
        );
        assert_eq!(there.taken_up(9, false).slow, None);
        // after a restart, the pass goes on
        assert_eq!(passes.clone().taken_up(9, true), passes);
    }
}
