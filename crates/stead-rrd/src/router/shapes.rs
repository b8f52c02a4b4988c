//! Asks servers about files, and records what they tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::backends::Backends;
use crate::layout::BackendId;
use crate::shape::Shape;
use crate::shared::Shared;

/// How long a server may take to tell about files before the next one is asked: it may hang, and a
/// client waits.
const SHORT: Duration = Duration::from_secs(2);

/// Asks the servers about these files: of each file the first copy, then the next one if that
/// one does not tell.
pub(super) async fn learn(
    mut names: BTreeSet<Vec<u8>>,
    shared: &Arc<Shared>,
    backends: &Arc<Backends>,
) {
    for copy in 0.. {
        let mut asked: BTreeMap<BackendId, Vec<Vec<u8>>> = BTreeMap::new();
        {
            let layout = shared.layout();
            for name in &names {
                if let Some(id) = layout.now(name).get(copy) {
                    asked.entry(*id).or_default().push(name.clone());
                }
            }
        }
        if asked.is_empty() {
            return;
        }
        let mut tasks = JoinSet::new();
        for (id, names) in asked {
            let backend = backends.get(id);
            tasks.spawn(async move {
                let infos = tokio::time::timeout(SHORT, backend.infos(&names)).await;
                (names, infos.ok().and_then(Result::ok).unwrap_or_default())
            });
        }
        while let Some(done) = tasks.join_next().await {
            let Ok((asked, infos)) = done else { continue };
            for (name, [info, last]) in asked.iter().zip(&infos) {
                if let Some(found) = Shape::read(info, last) {
                    shared.known.learn(name, found);
                    names.remove(name);
                }
            }
        }
    }
}
