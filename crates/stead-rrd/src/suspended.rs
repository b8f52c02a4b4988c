//! What clients have suspended on the backends through the router.
//!
//! rrdcached does not tell what is suspended. So this is what the router has seen: it does not know
//! what was suspended before its start, or without it. A backend that is lost has forgotten it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::layout::BackendId;
use crate::lock::lock;

/// The most names that are kept for a backend.
const MOST: usize = 10_000;

/// What is suspended.
#[derive(Default)]
pub struct Suspended(Mutex<BTreeMap<BackendId, At>>);

#[derive(Default)]
struct At {
    all: bool,
    names: BTreeSet<Vec<u8>>,
}

impl Suspended {
    /// Records that a file was suspended or resumed.
    pub fn one(&self, place: BackendId, name: &[u8], suspended: bool) {
        let mut places = lock(&self.0);
        let at = places.entry(place).or_default();
        if !suspended {
            at.names.remove(name);
        } else if at.names.len() < MOST {
            at.names.insert(name.to_vec());
        }
    }

    /// Records that all files in the memory of a backend were suspended or resumed.
    pub fn all(&self, place: BackendId, suspended: bool) {
        let at = At {
            all: suspended,
            names: BTreeSet::new(),
        };
        lock(&self.0).insert(place, at);
    }

    /// Records that a backend was lost. It does not come back with suspended files.
    pub fn lost(&self, place: BackendId) {
        lock(&self.0).remove(&place);
    }

    /// Returns in words what is suspended.
    pub fn at(&self, place: BackendId) -> Option<String> {
        let places = lock(&self.0);
        let at = places.get(&place)?;
        match at.names.len() {
            _ if at.all => Some("the files that were suspended all at once (SUSPENDALL)".into()),
            0 => None,
            1 => Some("1 file that was suspended (SUSPEND)".into()),
            count => Some(format!("{count} files that were suspended (SUSPEND)")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_suspended_is_known_until_it_is_resumed() {
        let suspended = Suspended::default();
        suspended.one(1, b"a", true);
        suspended.one(1, b"b", true);
        assert!(suspended.at(1).unwrap().starts_with("2 files"));
        assert_eq!(suspended.at(0), None);
        suspended.one(1, b"a", false);
        suspended.one(1, b"b", false);
        assert_eq!(suspended.at(1), None);
        suspended.all(1, true);
        assert!(suspended.at(1).unwrap().contains("SUSPENDALL"));
        suspended.all(1, false);
        assert_eq!(suspended.at(1), None);
        suspended.one(1, b"a", true);
        suspended.lost(1);
        assert_eq!(suspended.at(1), None);
    }
}
