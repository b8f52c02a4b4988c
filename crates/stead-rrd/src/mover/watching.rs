//! Watches whether the files of each backend can be reached, and are those of its rrdcached.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::agreeing::agreed;
use super::carrying::Mover;

/// How often the agents are asked.
const EVERY: Duration = Duration::from_secs(5);

/// How long an agent may take to say which directory it has.
const PATIENCE: Duration = Duration::from_secs(10);

impl Mover {
    /// Asks every agent whether it is there, again and again. Never returns.
    pub async fn watch_files(self: Arc<Self>) {
        loop {
            let mut asked = JoinSet::new();
            for backend in self.router.backends.all() {
                asked.spawn(async move {
                    backend.look_at_files(PATIENCE).await;
                    // a write may come between, since nobody holds them; then the next look decides
                    if let Some(file) = backend.proof() {
                        if agreed(&backend, &file, true).await.is_ok() {
                            backend.proven(None);
                        }
                    }
                });
            }
            while asked.join_next().await.is_some() {}
            tokio::time::sleep(EVERY).await;
        }
    }
}
