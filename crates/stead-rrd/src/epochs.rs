//! Takes up new maps: watches the map's file, and decides what a new map means for the files.
//!
//! A map that leaves every file where it is takes effect at once. A map that moves files becomes
//! the target: from then on the router serves by both maps, until `stead-rrd move` has carried the
//! files over. A third map waits until then.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use stead::Map;

use crate::adopting::{meaning, Meaning};
use crate::exit::{Failure, DATA, FLEET, IO};
use crate::layout::Placement;
use crate::lock::lock;
use crate::mapfile::{put_back_from, MapFile, LOOK};
use crate::router::Router;
use crate::state::StateDir;

/// What the router did with a map.
#[derive(Debug, PartialEq, Eq)]
pub enum Adopted {
    /// The router already serves by it, or files already move to it.
    Known,
    /// It took effect: no file has to move.
    Settled,
    /// It is the target: files have to move.
    Target,
    /// It waits: files still move to the places of the map before it. Only its addresses count.
    Waits,
}

/// Takes up new maps for the router.
pub struct Epochs {
    /// held while a map is taken up, so that only one is at a time
    looking: std::sync::Mutex<()>,
    router: Arc<Router>,
    state: Arc<StateDir>,
    path: PathBuf,
    /// whether a map could not be taken up because the standby is away
    unmade: AtomicBool,
    /// the reason why the router did not take up the map when it last looked; `None` if it did
    refused: std::sync::Mutex<Option<String>>,
    /// the epoch that waits until files have moved, if one did when the router last looked
    waiting: std::sync::Mutex<Option<u64>>,
    /// notified when the router should look at the file again
    pub again: Arc<tokio::sync::Notify>,
}

impl Epochs {
    /// Watches the map file at `path`.
    pub fn new(router: Arc<Router>, state: Arc<StateDir>, path: &Path) -> Epochs {
        Epochs {
            looking: Default::default(),
            router,
            state,
            path: path.to_owned(),
            unmade: AtomicBool::new(false),
            refused: Default::default(),
            waiting: Default::default(),
            again: Arc::default(),
        }
    }

    /// Returns why the map at the path is not taken up, if it is not.
    pub fn refused(&self) -> Option<String> {
        lock(&self.refused).clone()
    }

    /// Returns the epoch that waits until files have moved to the places of the one before it.
    pub fn waiting(&self) -> Option<u64> {
        *lock(&self.waiting)
    }

    /// Continues a move that was going on when the router last stopped, and tells the log which
    /// backends to keep records for.
    pub fn resume(&self) -> Result<(), Failure> {
        let damaged = |error: std::io::Error| Failure(DATA, error.to_string());
        let failed = |line| Failure(IO, line);
        let Some((target, moved)) = self.state.target().map_err(damaged)? else {
            return self.router.backends.follow().map_err(failed);
        };
        if self.router.shared().layout().settled().map().digest() == target.digest() {
            // the move had finished and was only being tidied up
            self.state
                .settle_on(&target)
                .map_err(|error| failed(error.to_string()))?;
            return self.router.backends.follow().map_err(failed);
        }
        let placement = self.router.backends.place(target);
        let placement = placement.map_err(|line| Failure(FLEET, line))?;
        self.enter(placement, moved).map_err(failed)
    }

    /// Takes up a map. Blocks while it writes. Which backends have another address is on disk
    /// before the map is: otherwise, after a crash between the two, nobody would compare them.
    pub fn adopt(&self, map: Map) -> Result<Adopted, String> {
        let _looking = lock(&self.looking);
        let meaning = {
            let layout = self.router.shared().layout();
            let target = layout.target().map(Placement::map);
            meaning(layout.settled().map(), target, &map)?
        };
        if meaning == Meaning::Known {
            return Ok(Adopted::Known);
        }
        if meaning == Meaning::Waits {
            self.router.backends.reach_by(&map)?;
            return Ok(Adopted::Waits);
        }
        if meaning == Meaning::Settles {
            let placement = self.router.backends.place(map)?;
            self.write(&placement, |map| self.state.settle_on(map))?;
            let ids = placement.all().to_vec();
            self.router.shared().layout_mut().replace(placement);
            self.router.backends.follow()?;
            ids.into_iter()
                .for_each(|id| self.router.backends.start_one(id));
            self.router.backends.retire();
            return Ok(Adopted::Settled);
        }
        let placement = self.router.backends.place(map)?;
        self.write(&placement, |map| self.state.move_to(map))?;
        self.enter(placement, Default::default())?;
        Ok(Adopted::Target)
    }

    /// Writes what a map changes. If that fails, such as while the standby is away, its backends
    /// are forgotten: each try would take numbers of its own.
    fn write(
        &self,
        placement: &Placement,
        change: impl FnOnce(&Map) -> io::Result<()>,
    ) -> Result<(), String> {
        let stored = self.router.store_repairs(&self.state);
        stored
            .and_then(|()| change(placement.map()))
            .map_err(|error| {
                self.router.backends.forget(placement);
                let is_away = error.kind() == io::ErrorKind::NotConnected;
                self.unmade.store(is_away, Ordering::Relaxed);
                error.to_string()
            })
    }

    fn enter(
        &self,
        target: Placement,
        moved: std::collections::HashSet<Vec<u8>>,
    ) -> Result<(), String> {
        let mut all = self.router.shared().layout().all();
        all.extend(target.all());
        all.sort_unstable();
        all.dedup();
        // tell the log first: it keeps no record for a backend that it does not follow
        self.router.backends.follow_these(&all)?;
        let ids = target.all().to_vec();
        self.router.shared().layout_mut().move_to(target, moved);
        ids.into_iter()
            .for_each(|id| self.router.backends.start_one(id));
        Ok(())
    }

    /// Looks at the file whenever it has changed, and when `again` is notified. Never returns.
    pub async fn watch(self: Arc<Self>) {
        let mut file = MapFile::new(&self.path);
        loop {
            match file.has_changed() {
                Ok(false) => {}
                Ok(true) => {
                    self.look().await;
                    if self.unmade.swap(false, Ordering::Relaxed) {
                        file.forget(); // try again
                    }
                }
                Err(error) => *lock(&self.refused) = Some(self.unreadable(&error)),
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.again.notified() => file.forget(),
            }
        }
    }

    /// Returns why nobody can look at the file, and what to do if it is gone.
    fn unreadable(&self, error: &io::Error) -> String {
        let layout = self.router.shared().layout();
        let newest = layout.target().unwrap_or(layout.settled());
        let todo = match error.kind() {
            io::ErrorKind::NotFound => {
                let is_target = layout.target().is_some();
                put_back_from(self.state.dir(), is_target, newest.map().epoch())
            }
            _ => String::new(),
        };
        format!("{}: {error}{todo}", self.path.display())
    }

    /// Takes up the map that is at the path now.
    pub async fn look(self: &Arc<Self>) {
        let this = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || {
            fs::metadata(&this.path).map_err(|error| this.unreadable(&error))?;
            let map = Map::open_uncached(&this.path).map_err(|error| error.to_string())?;
            let epoch = map.epoch();
            this.adopt(map).map(|adopted| (adopted, epoch))
        });
        let looked = looked.await;
        *lock(&self.refused) = match &looked {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error.clone()),
            Err(error) => Some(error.to_string()),
        };
        *lock(&self.waiting) = match &looked {
            Ok(Ok((Adopted::Waits, epoch))) => Some(*epoch),
            _ => None,
        };
        let path = self.path.display();
        match looked {
            Ok(Ok((Adopted::Known, _))) => {}
            Ok(Ok((Adopted::Settled, epoch))) => tracing::info!(
                epoch,
                "{path}: serving by epoch {epoch}; no file has to move"
            ),
            Ok(Ok((Adopted::Target, epoch))) => {
                let dir = self.state.dir().display();
                tracing::warn!(
                    epoch,
                    "{path}: files have to move to the places of epoch {epoch}; \
                    run: stead-rrd move {dir}"
                );
            }
            Ok(Ok((Adopted::Waits, epoch))) => {
                tracing::warn!(
                    epoch,
                    "{path}: epoch {epoch} waits until the files have moved to the places of the \
                    epoch before it"
                );
            }
            Ok(Err(error)) => tracing::error!(error, "{path}: the map was not taken up: {error}"),
            Err(error) => tracing::error!(%error, "{path}: {error}"),
        }
    }
}
