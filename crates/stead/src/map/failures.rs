//! What could not be opened lately, so that a program that asks again for each request does not
//! verify a damaged file each time.
//!
//! A file that is written in place can change twice within one tick of the clock that the file
//! system uses. So a failure is believed only when the file was found as it is twice, and the
//! second time [`SETTLED`] after the first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::open::Stamp;
use crate::error::Error;

/// How long a file must have been as it is.
const SETTLED: Duration = Duration::from_secs(2);

/// The number of paths that are kept; a new one replaces the oldest.
const PATHS: usize = 16;

pub(super) struct Failures(Vec<(PathBuf, Failure)>);

struct Failure {
    stamp: Stamp,
    since: Instant,
    error: Error,
    settled: bool,
}

impl Failures {
    pub(super) const fn new() -> Failures {
        Failures(Vec::new())
    }

    /// Returns why the file in this state is no map, if that is known for certain.
    pub(super) fn of(&self, path: &Path, stamp: &Stamp) -> Option<Error> {
        let (_, failure) = self.0.iter().find(|(other, _)| other == path)?;
        let holds = failure.settled && failure.stamp == *stamp;
        holds.then(|| of_contents(&failure.error)).flatten()
    }

    /// Notes that the file in this state is no map. What may be otherwise at the next try, such as
    /// a lack of memory, is not noted.
    pub(super) fn note(&mut self, path: &Path, stamp: Stamp, error: &Error, now: Instant) {
        let Some(error) = of_contents(error) else {
            return;
        };
        let found = self.0.iter_mut().find(|(other, _)| other == path);
        if let Some((_, failure)) = found.filter(|(_, failure)| failure.stamp == stamp) {
            failure.settled = now.saturating_duration_since(failure.since) >= SETTLED;
            failure.error = error;
            return;
        }
        self.forget(path);
        if self.0.len() >= PATHS {
            self.0.remove(0);
        }
        let failure = Failure {
            stamp,
            since: now,
            error,
            settled: false,
        };
        self.0.push((path.to_owned(), failure));
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.0.retain(|(other, _)| other != path);
    }
}

/// Returns an error once more, if it is one of the contents of a file.
fn of_contents(error: &Error) -> Option<Error> {
    Some(match error {
        Error::Format {
            file,
            offset,
            problem,
        } => Error::Format {
            file: file.clone(),
            offset: *offset,
            problem: problem.clone(),
        },
        Error::Digest { file } => Error::Digest { file: file.clone() },
        Error::Version { file, needs } => Error::Version {
            file: file.clone(),
            needs: needs.clone(),
        },
        Error::Changed { file } => Error::Changed { file: file.clone() },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_believed_when_the_file_stays_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.map");
        let stamp = |bytes: &str| {
            std::fs::write(&path, bytes).unwrap();
            Stamp::of(&std::fs::metadata(&path).unwrap())
        };
        let digest = || Error::Digest {
            file: Some(path.clone()),
        };
        let (bad, start) = (stamp("bad"), Instant::now());
        let mut failures = Failures::new();
        failures.note(&path, bad, &digest(), start);
        failures.note(&path, bad, &digest(), start + SETTLED / 2);
        assert!(failures.of(&path, &bad).is_none());
        failures.note(&path, bad, &digest(), start + SETTLED);
        let said = failures.of(&path, &bad).unwrap().to_string();
        assert_eq!(said, digest().to_string());
        // another state, which begins anew, and back
        let other = stamp("other");
        assert!(failures.of(&path, &other).is_none());
        failures.note(&path, other, &digest(), start + SETTLED);
        assert!(failures.of(&path, &bad).is_none());
        failures.note(&path, other, &digest(), start + 2 * SETTLED);
        assert!(failures.of(&path, &other).is_some());
        failures.forget(&path);
        assert!(failures.of(&path, &other).is_none());
        // what a later try may not find
        let lack = Error::Memory { bytes: 1 };
        failures.note(&path, other, &lack, start);
        failures.note(&path, other, &lack, start + SETTLED);
        assert!(failures.of(&path, &other).is_none());
    }

    #[test]
    fn the_newest_paths_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let stamp = Stamp::of(&std::fs::metadata(place.path()).unwrap());
        let (mut failures, start) = (Failures::new(), Instant::now());
        let path = |n: usize| PathBuf::from(format!("{n}.map"));
        for n in 0..=PATHS {
            for now in [start, start + SETTLED] {
                failures.note(&path(n), stamp, &Error::Digest { file: None }, now);
            }
        }
        assert!(failures.of(&path(0), &stamp).is_none());
        assert!((1..=PATHS).all(|n| failures.of(&path(n), &stamp).is_some()));
    }
}
