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

    /// Returns a file of which the backend's rrdcached and its agent say different things, if there
    /// is one.
    pub fn proof(&self) -> Option<Vec<u8>> {
        self.standing().two_directories.clone()
    }

    /// Records that rrdcached and the agent say different things of this file, or that they agree.
    pub fn proven(&self, file: Option<&[u8]>) {
        let is_news = {
            let mut standing = self.standing();
            let news = standing.two_directories.is_some() != file.is_some();
            if news {
                standing.two_directories = file.map(<[u8]>::to_vec);
            }
            news
        };
        let name = self.name();
        match file {
            Some(file) if is_news => {
                let (file, error) = (String::from_utf8_lossy(file), self.two_directories());
                tracing::error!(backend = name, file = &*file, "{error}");
            }
            None if is_news => tracing::info!(
                backend = name,
                "the rrdcached of {name} and its files are the same ones again"
            ),
            _ => {}
        }
    }

    /// Says that rrdcached and the agent do not have the same directory, and what to do.
    pub fn two_directories(&self) -> String {
        let (name, access) = (self.name(), self.access());
        let files = access
            .files
            .map_or_else(String::new, |files| files.to_string());
        format!(
            "the rrdcached of {name} ({}) and its files ({files}) are not the same ones: correct \
            the attribute \"rrdcached\" or \"files\" of this node, or the directory of one of \
            the two",
            access.address
        )
    }
}
