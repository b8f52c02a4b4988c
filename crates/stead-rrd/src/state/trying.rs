//! Whether the directory can be written, which a router has to know before it has something to
//! write: a standby whose disk is full could not be promoted.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::directory::StateDir;
use crate::dirs::failed;

/// How often the router tries to write.
const EVERY: Duration = Duration::from_secs(5);

/// The name of the file that is written and removed.
const NAME: &str = "try.tmp";

/// Its size: that of a block, and more than the record of a promotion has.
const BYTES: [u8; 4096] = [b'\n'; 4096];

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
        let tried = written(self.dir());
        let now = tried.err().map(|error| (error.kind(), error.to_string()));
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

/// Writes a file into a directory and removes it.
fn written(dir: &Path) -> io::Result<()> {
    let path = dir.join(NAME);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(&BYTES).and_then(|()| file.sync_data()));
    // a file that could not be written whole must not keep what room there is
    let removed = fs::remove_file(&path);
    written
        .map_err(|error| failed("write", &path, error))
        .and(removed.map_err(|error| failed("remove", &path, error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_written_is_found_until_it_can() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDir::open(place.path()).unwrap();
        let names = || fs::read_dir(place.path()).unwrap().count();
        let before = names();
        state.try_to_write();
        assert_eq!((state.unwritable(), names()), (None, before));
        let path = place.path().join(NAME);
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
}
