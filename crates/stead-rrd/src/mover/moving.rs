//! A move of every file from the places of the settled map to those of the target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::carrying::{Held, Mover};
use super::telling::Tell;
use crate::clock::now;
use crate::health::Health;
use crate::layout::{BackendId, Copies};
use crate::status::Progress;

/// How often files that are left are tried again before they are reported as not moved.
const PASSES: u32 = 5;

/// The pause after the first attempt; each later one is twice as long. All together are half a
/// minute, in which a server that is started again answers.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSES: Duration = Duration::from_secs((1 << PASSES) - 1);

/// The result of looking at all files.
struct Left {
    /// The files that still have to move, and where they are.
    todo: BTreeMap<Vec<u8>, Copies>,
    /// Copies of files that have moved away. A crash, or a backend that was down, has left them
    /// behind.
    behind: Vec<(Vec<u8>, BackendId)>,
    /// The backends whose files were listed.
    listed: BTreeSet<BackendId>,
    /// Why there may be more files than were seen.
    hidden: Result<(), String>,
}

impl Mover {
    /// Starts to move the files to the places of the target, at most `rate` bytes a second, as the
    /// state directory has it: the move goes on until it is done or stopped, whoever listens.
    pub(super) fn begin_move(
        self: &Arc<Self>,
        rate: Option<u64>,
    ) -> Result<watch::Receiver<Progress>, String> {
        let (from_epoch, to_epoch, done) = {
            let layout = self.router.shared().layout();
            let from = layout.settled().map().epoch();
            let Some(target) = layout.target() else {
                // nothing to do, which is a success
                let (_, ended) = Tell::new(Progress {
                    from_epoch: from,
                    to_epoch: from,
                    ended: true,
                    ..Progress::default()
                });
                return Ok(ended);
            };
            (from, target.map().epoch(), layout.moved_count() as u64)
        };
        let tell = Tell::new(Progress {
            from_epoch,
            to_epoch,
            files: done,
            done,
            started: now(),
            ..Progress::default()
        });
        tell.0.limit(rate);
        let mover = Arc::clone(self);
        self.start(tell, move |tell| async move { mover.move_all(&tell).await })
    }

    async fn move_all(self: &Arc<Self>, tell: &Arc<Tell>) -> Result<(), String> {
        for pass in 0u32.. {
            let Left {
                todo,
                behind,
                listed,
                hidden,
            } = self.left_in_the_end(tell).await?;
            hidden?;
            tell.forget_behind(|backend| listed.contains(&backend));
            self.remove_left_behind(behind, tell).await;
            let done = self.router.shared().layout().moved_count() as u64;
            tell.change(|progress| {
                (progress.files, progress.done, progress.failed) =
                    (done + todo.len() as u64, done, 0)
            });
            let none = todo.is_empty();
            if !none {
                self.each(todo, tell, |mover, name, _| {
                    let tell = Arc::clone(tell);
                    async move { mover.move_one(&name, &tell).await }
                })
                .await;
            }
            let is_last = tell.is_stopped() || pass >= PASSES;
            if none && !is_last && self.may_be_removed(tell) {
                tell.pause(tokio::time::sleep(PAUSE * 2u32.pow(pass))).await;
                continue;
            }
            if none || is_last {
                tell.told_behind(|backend| self.router.backends.get(backend).name().to_owned())
                    .iter()
                    .for_each(|line| tracing::warn!("{line}"));
            }
            if tell.is_stopped() {
                return Err("stopped; run it again to continue".to_owned());
            }
            let failed = tell.sender.borrow().failed;
            if failed > 0 && pass < PASSES {
                // an agent or a server may be about to start again
                tell.pause(tokio::time::sleep(PAUSE * 2u32.pow(pass))).await;
                tell.change(|progress| progress.reasons.clear());
                continue;
            }
            if failed > 0 {
                return Err(format!(
                    "{failed} files could not be moved and are where they were; fix the cause"
                ));
            }
            if none && self.settle().await? {
                // a later map may have come, and files may have to move by it
                self.epochs.look().await;
                let target = self
                    .router
                    .shared()
                    .layout()
                    .target()
                    .map(|to| to.map().epoch());
                tell.change(|progress| progress.later_epoch = target);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns whether it is worth waiting to remove the copies that could not be removed so far: a
    /// backend that has some is up, or went down only a moment ago.
    fn may_be_removed(&self, tell: &Tell) -> bool {
        tell.behind().into_iter().any(|id| {
            let (health, since, _) = self.router.backends.get(id).condition();
            let down = since.elapsed().unwrap_or_default();
            health != Health::Down || down < PAUSES
        })
    }

    /// Makes the target the settled map if every file is at its new place. Returns false if a file
    /// has been created meanwhile and still has to move.
    async fn settle(&self) -> Result<bool, String> {
        let creating = self.router.creating.write().await;
        // a server that cannot be listed now is tried again by the caller
        let all_there = |left: Left| left.todo.is_empty() && left.hidden.is_ok();
        if !self.left().await.is_ok_and(all_there) {
            return Ok(false);
        }
        let shared = self.router.shared();
        let target = {
            let layout = shared.layout();
            let Some(target) = layout.target() else {
                return Ok(true);
            };
            stead::Map::from_bytes(target.map().bytes().to_vec())
                .map_err(|error| error.to_string())?
        };
        let (state, map) = (Arc::clone(&self.state), target.bytes().to_vec());
        let settled = tokio::task::spawn_blocking(move || {
            let map = stead::Map::from_bytes(map).map_err(|error| error.to_string())?;
            state.settle_on(&map).map_err(|error| error.to_string())
        });
        settled.await.map_err(|error| error.to_string())??;
        shared.layout_mut().settle();
        drop(creating);
        // the move is done; if this fails, its epoch tells that it is no move of the next target
        let _ = self.intend(None).await;
        self.router.backends.follow()?;
        self.router.backends.retire();
        let epoch = target.epoch();
        tracing::info!(epoch, "every file is where epoch {epoch} places it");
        self.epochs.again.notify_one(); // a map may be waiting
        Ok(true)
    }

    /// Returns what is left. A server or an agent that cannot be reached is tried again for a
    /// while.
    async fn left_in_the_end(&self, tell: &Tell) -> Result<Left, String> {
        for pass in 0..PASSES {
            match self.left().await {
                Err(_) if !tell.is_stopped() => {
                    tell.pause(tokio::time::sleep(PAUSE * 2u32.pow(pass))).await;
                }
                left => return left,
            }
        }
        self.left().await
    }

    async fn left(&self) -> Result<Left, String> {
        let found = self.found(|_| true).await?;
        let layout = self.router.shared().layout();
        let settled = layout.settled();
        // at least one of the places of every file must have been listed
        for policy in settled.map().policies() {
            let copies: Vec<BackendId> = policy
                .members()
                .map(|node| settled.all()[node.index()])
                .collect();
            if !copies.iter().any(|id| found.listed.contains(id)) {
                let backends: Vec<_> = copies
                    .iter()
                    .map(|id| self.router.backends.get(*id))
                    .collect();
                let names: BTreeSet<&str> = backends.iter().map(|backend| backend.name()).collect();
                let names: Vec<&str> = names.into_iter().collect();
                return Err(format!(
                    "none of {} is up: their files cannot be listed, and cannot be moved",
                    names.join(", ")
                ));
            }
        }
        // what a server has behind a link is left behind if the map places it elsewhere
        let hidden = found.is_whole(|id| {
            let is_old = settled.all().contains(&id);
            is_old.then(|| self.router.backends.get(id).name().to_owned())
        });
        let (mut todo, mut behind) = (BTreeMap::new(), Vec::new());
        for (name, at) in found.files {
            if layout.has_moved(&name) {
                let now = layout.now(&name);
                behind.extend(
                    at.iter()
                        .filter(|id| !now.contains(id))
                        .map(|id| (name.clone(), *id)),
                );
            } else if layout
                .to_move(&name)
                .is_some_and(|(old, _)| old.iter().any(|id| at.contains(id)))
            {
                // a file that is at none of its old places is not moved: it stays where it is
                todo.insert(name, at);
            }
        }
        Ok(Left {
            todo,
            behind,
            listed: found.listed,
            hidden,
        })
    }

    /// Moves a file from its old places to its new ones.
    async fn move_one(&self, name: &[u8], tell: &Tell) -> Result<(), String> {
        let held = Held::new(&self.router, name).await?;
        let Some((old, new)) = self.router.shared().layout().to_move(name) else {
            return Ok(());
        };
        let targets: Vec<BackendId> = new.iter().copied().filter(|id| !old.contains(id)).collect();
        let bytes = self.carry(name, &old, &targets).await?;
        self.state
            .note_moved(name)
            .await
            .map_err(|error| error.to_string())?;
        self.router.shared().layout_mut().moved(name);
        self.router.shared().known.forget(name);
        drop(held);
        tell.carried(bytes);
        // pause after the file, not while its writes are held
        if let Some(until) = tell.rate().take(bytes) {
            tell.pause(tokio::time::sleep_until(until)).await;
        }
        // a copy that cannot be removed now does no harm: nobody reads it, and it is overwritten if
        // the file ever comes back
        self.remove_left_behind(
            old.into_iter()
                .filter(|id| !new.contains(id))
                .map(|id| (name.to_vec(), id))
                .collect(),
            tell,
        )
        .await;
        Ok(())
    }
}
