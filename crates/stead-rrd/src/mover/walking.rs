//! Walks through all files of several backends in order. Of each backend one page of names is in
//! memory.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::backend::Backend;
use crate::files::{in_order, Files};
use crate::layout::Copies;

/// How many names of a backend are in memory.
const PAGE: u32 = 2048;

/// A walk through the files of several backends.
pub(super) struct Walk(Vec<Source>);

struct Source {
    backend: Arc<Backend>,
    files: Files,
    names: VecDeque<Vec<u8>>,
    /// where the next page begins; `None` after the last one
    next: Option<Vec<u8>>,
    /// how many entries hide files from the list, and one of them
    hidden: (u64, Option<Vec<u8>>),
}

/// A backend whose files cannot be listed now, and why.
pub(super) struct Gap {
    pub(super) backend: Arc<Backend>,
    pub(super) reason: String,
}

impl Walk {
    /// Begins behind this name.
    pub(super) fn new(backends: Vec<(Arc<Backend>, Files)>, after: &[u8]) -> Walk {
        let source = |(backend, files)| Source {
            backend,
            files,
            names: VecDeque::new(),
            next: Some(after.to_vec()),
            hidden: (0, None),
        };
        Walk(backends.into_iter().map(source).collect())
    }

    /// Leaves a backend out from now on.
    pub(super) fn leave_out(&mut self, gap: &Gap) {
        self.0
            .retain(|source| source.backend.id() != gap.backend.id());
    }

    /// Returns the backends which may have files that the walk has not seen so far, how many links
    /// and too deep directories hide them, and one of these.
    pub(super) fn hidden(&self) -> impl Iterator<Item = (&Arc<Backend>, u64, &[u8])> {
        self.0.iter().filter_map(|source| {
            let (count, example) = &source.hidden;
            Some((&source.backend, *count, example.as_deref()?))
        })
    }

    /// Returns at most `most` of the next names, each with the backends that have it. There are
    /// none after the last one. After an error the same call continues.
    pub(super) async fn take(&mut self, most: usize) -> Result<Vec<(Vec<u8>, Copies)>, Vec<Gap>> {
        let mut taken = Vec::new();
        while taken.len() < most {
            if let Err(gaps) = self.fill().await {
                // what was taken is not asked for again
                return if taken.is_empty() {
                    Err(gaps)
                } else {
                    Ok(taken)
                };
            }
            let fronts = self.0.iter().filter_map(|source| source.names.front());
            let Some(name) = fronts.min_by(|one, other| in_order(one, other)).cloned() else {
                break;
            };
            let mut at = Copies::new();
            for source in &mut self.0 {
                if source.names.front() == Some(&name) {
                    source.names.pop_front();
                    at.push(source.backend.id());
                }
            }
            taken.push((name, at));
        }
        Ok(taken)
    }

    /// Gets the next page of each backend whose names are used up.
    async fn fill(&mut self) -> Result<(), Vec<Gap>> {
        let mut tasks = JoinSet::new();
        for (index, source) in self.0.iter().enumerate() {
            if let (true, Some(next)) = (source.names.is_empty(), source.next.clone()) {
                let files = source.files.clone();
                tasks.spawn(async move {
                    let (mut next, mut hidden) = (next, (0, None));
                    loop {
                        // a page may be empty and not the last one
                        let page = match files.page(&next, PAGE).await {
                            Ok(page) => page,
                            Err(error) => return (index, Err(error.to_string())),
                        };
                        hidden = (hidden.0 + page.left_out, hidden.1.or(page.example));
                        match page.next {
                            Some(more) if page.names.is_empty() => next = more,
                            next => return (index, Ok((page.names, next, hidden))),
                        }
                    }
                });
            }
        }
        let mut gaps = Vec::new();
        while let Some(done) = tasks.join_next().await {
            let Ok((index, page)) = done else { continue };
            let source = &mut self.0[index];
            match page {
                Ok((names, next, (count, example))) => {
                    (source.names, source.next) = (names.into(), next);
                    source.hidden.0 += count;
                    source.hidden.1 = source.hidden.1.take().or(example);
                }
                Err(reason) => {
                    let backend = Arc::clone(&source.backend);
                    let reason = format!("{}: {reason}", backend.name());
                    gaps.push(Gap { backend, reason });
                }
            }
        }
        match gaps.is_empty() {
            true => Ok(()),
            false => Err(gaps),
        }
    }
}
