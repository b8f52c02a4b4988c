//! Finds out whether a backend's files can be reached, and in which directory they are.
//!
//! Nobody notices an agent that does not run until files are compared, repaired or moved, so the
//! router looks beforehand. Another directory than before means that a disk was mounted, taken
//! away or restored, and that the copies on it may be older than what the log has. The repair
//! queue keeps which directory it was, so this is noticed also if it happens while the router is
//! down.

use std::time::Duration;

use super::server::Backend;
use crate::dirs::Place;

impl Backend {
    /// Asks the agent, or looks at the directory, for as long as `patience`. Says when it has gone
    /// or is back, and when the files are in another directory than before.
    pub async fn look_at_files(&self, patience: Duration) {
        let Some(files) = self.files() else {
            self.files_are(None);
            return;
        };
        let reached = match tokio::time::timeout(patience, files.reach()).await {
            Ok(reached) => reached.map_err(|error| error.to_string()),
            Err(_) => Err(format!("{files}: no answer for {} s", patience.as_secs())),
        };
        let name = self.name();
        let repairs = &self.shared.repairs;
        let is_other = |place: &Place| repairs.found_in(self.id, *place);
        if reached.as_ref().is_ok_and(is_other) {
            tracing::warn!(
                backend = name,
                "the files of {name} are in another directory or on another disk than before, \
                and may be older: all copies are compared"
            );
        }
        let error = reached.err();
        if self.files_are(error.clone()) {
            match error {
                Some(error) => tracing::warn!(
                    backend = name,
                    error,
                    "the files of {name} cannot be reached: {error}"
                ),
                None => tracing::info!(backend = name, "the files of {name} can be reached again"),
            }
        }
    }
}
