//! Learns files before their first updates come.
//!
//! The first update of a file has to wait until a server has told what kind of file it is. A client
//! that waits for each answer, such as collectd, would wait that long for every file after a start
//! of the router. But clients usually update the files of a directory one after the other. So when
//! one file had to be learnt, the others of its directory are learnt in the background.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::backends::Backends;
use super::shapes::learn;
use crate::lock::lock;
use crate::path::escaped;
use crate::shared::Shared;

/// The most files of a directory that are learnt ahead. In a larger directory, none are.
const FILES: usize = 2000;

/// How many files are learnt at a time, so that no server has many questions to answer at once.
const AT_ONCE: usize = 48;

/// The most directories whose files are learnt at the same time.
const TASKS: usize = 4;

/// How many directories are remembered, so that none is listed again and again.
const DIRECTORIES: usize = 20_000;

/// The directories that were looked at.
pub(super) struct Ahead {
    looked_at: Mutex<HashSet<Box<[u8]>>>,
    tasks: Arc<Semaphore>,
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead {
            looked_at: Mutex::default(),
            tasks: Arc::new(Semaphore::new(TASKS)),
        }
    }
}

impl Ahead {
    /// Learns the other files of this file's directory in the background, unless that was done
    /// before, or enough directories are being looked at, or there is no room for more files.
    pub(super) fn beside(&self, name: &[u8], shared: &Arc<Shared>, backends: &Arc<Backends>) {
        let Ok(task) = Arc::clone(&self.tasks).try_acquire_owned() else {
            return;
        };
        let end = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let directory = &name[..end];
        if !shared.known.has_room() || !self.is_new(directory) {
            return;
        }
        let (shared, backends) = (Arc::clone(shared), Arc::clone(backends));
        let directory = directory.to_vec();
        tokio::spawn(async move {
            learn_all(&directory, &shared, &backends).await;
            drop(task);
        });
    }

    fn is_new(&self, directory: &[u8]) -> bool {
        let mut looked_at = lock(&self.looked_at);
        if looked_at.contains(directory) {
            return false;
        }
        if looked_at.len() >= DIRECTORIES {
            looked_at.clear();
        }
        looked_at.insert(directory.into())
    }
}

async fn learn_all(directory: &[u8], shared: &Arc<Shared>, backends: &Arc<Backends>) {
    let line = [b"LIST /", &*escaped(directory)].concat();
    let mut lists = JoinSet::new();
    for id in shared.layout().all() {
        let (backend, line) = (backends.get(id), line.clone());
        lists.spawn(async move { backend.list_at_most(&line, FILES).await });
    }
    let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    let mut names = HashSet::new();
    // a server that does not answer has no part in this
    for list in lists.join_all().await.into_iter().flatten() {
        let files = list.each().filter(|file| file.ends_with(b".rrd"));
        names.extend(files.map(|file| [directory, slash, file].concat()));
    }
    if names.len() > FILES {
        return;
    }
    let unknown: Vec<Vec<u8>> = names
        .into_iter()
        .filter(|name| !shared.known.knows(name))
        .collect();
    for some in unknown.chunks(AT_ONCE) {
        learn(some.iter().cloned().collect(), shared, backends).await;
    }
}
