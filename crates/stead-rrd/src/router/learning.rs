//! Judges updates by what is known of their files, and learns what is not known.
//!
//! An update passes at once if its file is known and can take it. Otherwise the servers are asked
//! about the file: one that is unknown is learnt, and one that seems to refuse the update is learnt
//! again, since somebody may have changed it. A file that no server tells anything about is not
//! judged: either it does not exist, and its servers say so, or none of them is up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::backends::Backends;
use super::hub::Router;
use crate::known::Doubt;
use crate::layout::BackendId;
use crate::shape::Shape;
use crate::shared::Shared;
use crate::writes::Writes;

/// How long a server may take to tell about files before the next one is asked: it may hang, and a
/// client waits.
const SHORT: Duration = Duration::from_secs(2);

impl Router {
    /// Returns the updates that rrdtool cannot write, in order, and why. Marks those that could not
    /// be judged because none of their servers is up.
    pub async fn refused(&self, writes: &mut Writes) -> Vec<(usize, Vec<u8>)> {
        let known = &self.shared().known;
        let doubts = known.doubts(writes);
        if doubts.is_empty() {
            return Vec::new();
        }
        let names = doubts.iter().map(|(line, _)| writes.name(*line).to_vec());
        learn(names.collect(), self.shared(), &self.backends).await;
        for (line, doubt) in &doubts {
            let name = writes.name(*line);
            if *doubt == Doubt::Unknown && known.knows(name) {
                self.ahead.beside(name, self.shared(), &self.backends);
            }
        }
        let mut refused = Vec::new();
        for (line, doubt) in known.doubts(writes) {
            match doubt {
                Doubt::Unknown if self.somebody_is_up(writes.name(line)) => {}
                Doubt::Unknown => writes.mark_unjudged(line),
                Doubt::Refused(why) => {
                    let directory = self.base().directory();
                    let text = [directory, b"/", writes.name(line), b": ", why.as_bytes()];
                    refused.push((line, text.concat()));
                }
            }
        }
        refused
    }
}

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
