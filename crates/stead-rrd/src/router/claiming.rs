//! Two routers: the agents are told which one is the primary.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::hub::Router;

/// How often the agents are told.
const EVERY: Duration = Duration::from_millis(500);

/// How long an agent may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

impl Router {
    /// Tells all agents the term of this router, again and again. An agent that knows a higher one
    /// ends this router's time as the primary. Never returns.
    pub async fn keep_claim(self: Arc<Self>) {
        loop {
            self.claim().await;
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Tells all agents the term of this router, if it is one of two.
    pub async fn claim(&self) {
        let Some(pair) = &self.shared().options.pair else {
            return;
        };
        let asked = Instant::now();
        let mut tasks = JoinSet::new();
        for backend in self.backends.all() {
            if let Some(files) = backend.files() {
                tasks.spawn(async move {
                    let said = tokio::time::timeout(PATIENCE, files.claim()).await;
                    match said {
                        Ok(Ok(has_agent)) => (has_agent, has_agent),
                        _ => (true, false),
                    }
                });
            }
        }
        let (mut agents, mut confirmed) = (0, 0);
        while let Some(done) = tasks.join_next().await {
            let (is_agent, has_confirmed) = done.unwrap_or((true, false));
            agents += usize::from(is_agent);
            confirmed += usize::from(has_confirmed);
        }
        if 2 * confirmed > agents {
            pair.confirmed_by_agents(asked);
        }
    }
}
