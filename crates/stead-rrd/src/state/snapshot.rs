//! A snapshot of the directory: the changes that make a new copy equal to it, and their checksum.

use std::io;

use twox_hash::XxHash3_64;

use super::change::Change;
use super::directory::{StateDir, MOVED, MOVING, REPAIRS, SETTLED, TARGET};

/// The most bytes of names of moved files in one change.
const PART_BYTES: usize = 1 << 20;

impl StateDir {
    /// Returns the changes that make an empty directory equal to this one.
    pub fn snapshot(&self) -> io::Result<Vec<Change>> {
        let mut changes = Vec::new();
        let Some(settled) = self.read(SETTLED)? else {
            return Ok(changes);
        };
        changes.push(Change::Settled(settled));
        if let Some(target) = self.read(TARGET)? {
            changes.push(Change::Target(target));
            let moved = self.read(MOVED)?.unwrap_or_default();
            let mut part = Vec::new();
            for line in moved.split_inclusive(|b| *b == b'\n') {
                part.extend_from_slice(line);
                if part.len() > PART_BYTES {
                    changes.push(Change::Moved(std::mem::take(&mut part)));
                }
            }
            changes.push(Change::Moved(part));
        }
        changes.push(Change::Repairs(self.read(REPAIRS)?.unwrap_or_default()));
        changes.push(Change::Moving(self.read(MOVING)?.unwrap_or_default()));
        Ok(changes)
    }

    /// Returns a checksum of everything that travels to a copy.
    pub fn digest(&self) -> io::Result<u64> {
        let mut all = Vec::new();
        for change in self.snapshot()? {
            let (kind, bytes) = change.parts();
            // parts of one file are one file
            if kind != b'm' || all.last().is_none_or(|(last, _)| *last != kind) {
                all.push((kind, Vec::new()));
            }
            if let Some((_, whole)) = all.last_mut() {
                whole.extend_from_slice(bytes);
            }
        }
        let mut text = Vec::new();
        for (kind, bytes) in all {
            text.push(kind);
            text.extend_from_slice(&XxHash3_64::oneshot(&bytes).to_le_bytes());
        }
        Ok(XxHash3_64::oneshot(&text))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::change::Mirror;
    use super::super::placing::tests::map;
    use super::*;

    #[tokio::test]
    async fn a_copy_becomes_equal_by_a_snapshot_and_stays_equal_by_the_changes() {
        /// A copy that can be unreachable.
        struct Copy(StateDir, std::sync::atomic::AtomicBool);

        impl Mirror for Copy {
            fn change(&self, change: &Change) -> io::Result<()> {
                if self.1.load(std::sync::atomic::Ordering::Relaxed) {
                    return Err(io::ErrorKind::NotConnected.into());
                }
                let (kind, bytes) = change.parts();
                self.0.apply(&Change::of(kind, bytes.to_vec()).unwrap())
            }

            fn done(&self, is_here: bool) {
                assert!(is_here);
            }

            fn checked(&self) {}
        }

        let place = tempfile::tempdir().unwrap();
        let state = StateDir::open(&place.path().join("one")).unwrap();
        state.settle_on(&map([1, 1])).unwrap();
        state.move_to(&map([1, 2])).unwrap();
        let lines: String = (0..50_000)
            .map(|n| format!("a/file/with/a/name/of/some/length/{n}\n"))
            .collect();
        state.apply(&Change::Moved(lines.into_bytes())).unwrap();
        let copy = StateDir::open(&place.path().join("two")).unwrap();
        let changes = state.snapshot().unwrap();
        assert!(changes.len() > 4, "the names come in parts");
        assert_ne!(copy.digest().unwrap(), state.digest().unwrap());
        changes.iter().for_each(|c| copy.apply(c).unwrap());
        let same = |copy: &StateDir| copy.digest().unwrap() == state.digest().unwrap();
        assert!(same(&copy));
        assert_eq!(copy.target().unwrap().unwrap().1.len(), 50_000);
        let copy = Arc::new(Copy(copy, Default::default()));
        state.mirror_to(copy.clone());
        state.note_moved(b"c/a b").await.unwrap();
        assert!(same(&copy.0));
        let entry = (b"a".to_vec(), b"missing".to_vec(), b"c/x".to_vec());
        state.store_repairs(vec![entry]).unwrap();
        assert!(same(&copy.0));
        // a change that the copy does not have is not made here, either
        let before = state.digest().unwrap();
        copy.1.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(state.note_moved(b"c/never").await.is_err());
        assert!(state.settle_on(&map([1, 2])).is_err());
        assert_eq!(state.digest().unwrap(), before);
        copy.1.store(false, std::sync::atomic::Ordering::Relaxed);
        state.settle_on(&map([1, 2])).unwrap();
        assert!(same(&copy.0) && copy.0.target().unwrap().is_none());
    }
}
