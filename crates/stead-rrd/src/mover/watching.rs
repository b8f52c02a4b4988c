//! Watches whether the files of each backend can be reached. An agent that does not run hinders
//! nobody until files are compared, repaired or moved, and by then it is late to learn of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::carrying::Mover;
use crate::backend::Backend;

/// How often the agents are asked.
const EVERY: Duration = Duration::from_secs(5);

/// How long an agent may take to say that it has no such file.
const PATIENCE: Duration = Duration::from_secs(10);

impl Mover {
    /// Asks every agent whether it is there, again and again. Never returns.
    pub async fn watch_files(self: Arc<Self>) {
        loop {
            let mut asked = JoinSet::new();
            for backend in self.router.backends.all() {
                asked.spawn(async move { look(&backend).await });
            }
            while asked.join_next().await.is_some() {}
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// Asks one agent, and says when it has gone or is back.
async fn look(backend: &Backend) {
    let Some(files) = backend.files() else {
        backend.files_are(None);
        return;
    };
    let error = match tokio::time::timeout(PATIENCE, files.reach()).await {
        Ok(reached) => reached.err().map(|error| error.to_string()),
        Err(_) => Some(format!("{files}: no answer for {} s", PATIENCE.as_secs())),
    };
    let name = backend.name();
    if backend.files_are(error.clone()) {
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
