//! Whether the directory can be written, which a router has to know before it has something to
//! write: a standby whose disk is full could not be promoted.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::directory::StateDir;

/// How often the router tries to write.
const EVERY: Duration = Duration::from_secs(5);

impl StateDir {
    /// Tries again and again whether the directory can be written. Never returns.
    pub async fn keep_trying(self: Arc<Self>) {
        loop {
            let this = Arc::clone(&self);
            // it ends early only together with the router
            let _ = tokio::task::spawn_blocking(move || this.try_to_write()).await;
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Tries whether the directory can be written.
    pub(super) fn try_to_write(&self) {
        let now = self
            .room_for(0)
            .err()
            .map(|error| (error.kind(), error.to_string()));
        let before = self.found_unwritable(now.clone());
        match (&before, &now) {
            (None, Some((kind, error))) => {
                let todo = match kind {
                    io::ErrorKind::StorageFull => "make room on that disk",
                    _ => "see to that disk",
                };
                tracing::error!(error, "nothing can be recorded: {error}; {todo}");
            }
            (Some(_), None) => tracing::info!("the state directory can be written again"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::change::{Change, Mirror};
    use super::super::directory::TRY;
    use super::*;
    use crate::lock::lock;

    #[test]
    fn a_directory_that_cannot_be_written_is_found_until_it_can() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::open(place.path()).unwrap();
        let names = || fs::read_dir(place.path()).unwrap().count();
        let before = names();
        state.try_to_write();
        assert_eq!((state.unwritable(), names()), (None, before));
        let path = place.path().join(TRY);
        fs::create_dir(&path).unwrap();
        state.try_to_write();
        let (_, error) = state.unwritable().unwrap();
        let begins = format!("cannot write {}: ", path.display());
        assert!(error.starts_with(&begins), "{error}");
        fs::remove_dir(&path).unwrap();
        state.try_to_write();
        assert_eq!((state.unwritable(), names()), (None, before));
    }

    #[test]
    fn a_change_that_cannot_be_stored_is_told_until_one_can() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::open(place.path()).unwrap();
        let in_the_way = place.path().join("repairs.tmp");
        fs::create_dir(&in_the_way).unwrap();
        assert!(state.store_repairs(Vec::new()).is_err());
        // although less can be written
        state.try_to_write();
        let (_, error) = state.unwritable().unwrap();
        assert!(error.contains("/repairs: "), "{error}");
        fs::remove_dir(&in_the_way).unwrap();
        state.store_repairs(Vec::new()).unwrap();
        assert_eq!(state.unwritable(), None);
    }

    /// Counts what it is told.
    #[derive(Default)]
    struct Told(std::sync::Mutex<u32>);

    impl Mirror for Told {
        fn change(&self, _: &Change) -> io::Result<()> {
            *lock(&self.0) += 1;
            Ok(())
        }

        fn done(&self, _: bool) {}

        fn checked(&self) {}
    }

    /// Whatever it is told and this disk does not have, it has to be given anew.
    #[test]
    fn a_copy_is_told_of_no_change_while_this_disk_is_full() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::open(place.path()).unwrap();
        let told = Arc::new(Told::default());
        state.mirror_to(Arc::clone(&told) as Arc<dyn Mirror>);
        let in_the_way = ["repairs.tmp", TRY].map(|name| place.path().join(name));
        in_the_way
            .iter()
            .for_each(|path| fs::create_dir(path).unwrap());
        for _ in 0..3 {
            assert!(state.store_repairs(Vec::new()).is_err());
            assert!(state.unwritable().is_some());
        }
        assert_eq!(*lock(&told.0), 1);
        in_the_way
            .iter()
            .for_each(|path| fs::remove_dir(path).unwrap());
        // as soon as there is room
        state.store_repairs(Vec::new()).unwrap();
        assert_eq!((*lock(&told.0), state.unwritable()), (2, None));
    }
}
