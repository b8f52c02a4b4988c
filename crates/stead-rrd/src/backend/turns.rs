//! Lets requests that make a backend write a file come one after the other.
//!
//! rrdcached takes the waiting values of a file out of its memory and then writes them. A FETCH or
//! a FLUSH that comes during the write finds nothing that waits, so it is answered at once, from a
//! file that lacks these values. Therefore such a request waits until the one before it, for the
//! same file, has its answer. Requests for different files do not wait for each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

use crate::key::hash_of;
use crate::lock::lock;

/// The files that a backend is writing now because of a request.
#[derive(Default)]
pub(super) struct Turns {
    /// By the hash of a file's name: two files with the same hash share their turns, which does no
    /// harm.
    files: Mutex<HashMap<u64, Arc<tokio::sync::Mutex<()>>>>,
}

/// The turn of one request, until it is dropped.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    hash: u64,
    file: Option<Arc<tokio::sync::Mutex<()>>>,
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits for the turn of a request for this file.
    pub async fn take(&self, name: &[u8]) -> Turn<'_> {
        let hash = hash_of(name);
        let file = Arc::clone(lock(&self.files).entry(hash).or_default());
        // made before the wait, so that a request that is given up leaves nothing here
        let mut turn = Turn {
            turns: self,
            hash,
            file: Some(Arc::clone(&file)),
            held: None,
        };
        turn.held = Some(file.lock_owned().await);
        turn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        (self.held, self.file) = (None, None);
        let mut files = lock(&self.turns.files);
        let alone = |file: &Arc<_>| Arc::strong_count(file) == 1;
        if files.get(&self.hash).is_some_and(alone) {
            files.remove(&self.hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_file_has_one_turn_at_a_time_and_leaves_nothing_behind() {
        let turns = Turns::default();
        let first = turns.take(b"a").await;
        let other = turns.take(b"b").await;
        let given_up = tokio::time::timeout(Duration::ZERO, turns.take(b"a")).await;
        assert!(given_up.is_err());
        let mut second = Box::pin(turns.take(b"a"));
        assert!(tokio::time::timeout(Duration::ZERO, &mut second)
            .await
            .is_err());
        drop(first);
        let second = second.await;
        assert_eq!(lock(&turns.files).len(), 2);
        drop((second, other));
        assert_eq!(lock(&turns.files).len(), 0);
    }
}
