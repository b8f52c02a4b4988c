//! A new map: what it means for the files, and the watch for one.
//!
//! A map by which every file stays where it is takes effect at once. One by which some have to move
//! becomes the target: from then on the router serves by both, until `stead-rrd move` has carried
//! the files over. A third map waits until then.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stead::plan::{same_nodes, Plan};
use stead::Map;

use crate::layout::Placement;
use crate::router::Router;
use crate::state::StateDir;

/// What became of a map.
#[derive(Debug, PartialEq, Eq)]
pub enum Adopted {
    /// It is the one by which the router serves, or files move.
    Known,
    /// No file has to move.
    Settled,
    /// Files have to move.
    Target,
    /// Files still move to the places of the one before.
    Waits,
}

/// How often the map's file is looked at: as a file that is replaced by renaming, also over NFS,
/// which tells nobody.
const LOOK: Duration = Duration::from_secs(1);

/// What the router does with maps.
pub struct Epochs {
    /// one look at a time
    looking: std::sync::Mutex<()>,
    router: Arc<Router>,
    state: Arc<StateDir>,
    path: PathBuf,
    /// rings when the file should be looked at again
    pub again: Arc<tokio::sync::Notify>,
}

impl Epochs {
    /// The maps that come to this path.
    pub fn new(router: Arc<Router>, state: Arc<StateDir>, path: &Path) -> Epochs {
        Epochs {
            looking: Default::default(),
            router,
            state,
            path: path.to_owned(),
            again: Arc::default(),
        }
    }

    /// Takes up what was going on when the router ended, and tells the log for whom to keep
    /// records.
    pub fn resume(&self) -> Result<(), String> {
        let Some((target, moved)) = self.state.target().map_err(|error| error.to_string())? else {
            return self.router.backends.follow();
        };
        if self.router.shared().layout().settled().map().digest() == target.digest() {
            // it had settled, and was just tidying up
            self.state
                .settle_on(&target)
                .map_err(|error| error.to_string())?;
            return self.router.backends.follow();
        }
        let placement = self.router.backends.place(target)?;
        self.enter(placement, moved)
    }

    /// Takes a map up. Blocks while it writes.
    pub fn adopt(&self, map: Map) -> Result<Adopted, String> {
        let _looking = crate::lock::lock(&self.looking);
        let plan = {
            let layout = self.router.shared().layout();
            let settled = layout.settled().map();
            if let Some(target) = layout.target() {
                let known = target.map().digest() == map.digest();
                return Ok(if known {
                    Adopted::Known
                } else {
                    Adopted::Waits
                });
            }
            if settled.digest() == map.digest() {
                return Ok(Adopted::Known);
            }
            if map.epoch() <= settled.epoch() {
                let now = settled.epoch();
                return Err(format!(
                    "epoch {} is not newer than {now}, by which the router serves; \
                    publish a newer one",
                    map.epoch()
                ));
            }
            let same = same_nodes(settled, &map).map_err(|error| error.to_string())?;
            for (node, new) in settled.nodes().zip(same) {
                let new = new.and_then(|new| map.nodes().nth(new.index()));
                if let Some(new) = new.filter(|new| new.name() != node.name()) {
                    let (old, new) = (node.name(), new.name());
                    return Err(format!(
                        "{new} was {old}: stead-rrd knows backends by their names; \
                        keep the name, and change its attributes"
                    ));
                }
            }
            Plan::between(settled, &map).map_err(|error| error.to_string())?
        };
        if plan.moves.is_empty() {
            let placement = self.router.backends.place(map)?;
            self.state
                .settle_on(placement.map())
                .map_err(|error| error.to_string())?;
            let ids = placement.all().to_vec();
            self.router.shared().layout_mut().replace(placement);
            self.router.backends.follow()?;
            ids.into_iter()
                .for_each(|id| self.router.backends.start_one(id));
            self.router.backends.retire();
            return Ok(Adopted::Settled);
        }
        let placement = self.router.backends.place(map)?;
        self.state
            .move_to(placement.map())
            .map_err(|error| error.to_string())?;
        self.enter(placement, Default::default())?;
        Ok(Adopted::Target)
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
        // first the log: a record for a backend that it does not follow would not be kept
        self.router.backends.follow_these(&all)?;
        let ids = target.all().to_vec();
        self.router.shared().layout_mut().move_to(target, moved);
        ids.into_iter()
            .for_each(|id| self.router.backends.start_one(id));
        Ok(())
    }

    /// Looks at the file whenever it is another one, and when told; never ends.
    pub async fn watch(self: Arc<Self>) {
        let mut seen = None;
        loop {
            let found = fs::metadata(&self.path).ok().map(|meta| {
                (
                    meta.dev(),
                    meta.ino(),
                    meta.size(),
                    meta.mtime(),
                    meta.mtime_nsec(),
                )
            });
            if found.is_some() && found != seen {
                seen = found;
                self.look().await;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.again.notified() => seen = None,
            }
        }
    }

    /// Takes up the map that is there now.
    pub async fn look(self: &Arc<Self>) {
        let this = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || {
            let map = Map::open_copy(&this.path).map_err(|error| error.to_string())?;
            let epoch = map.epoch();
            this.adopt(map).map(|adopted| (adopted, epoch))
        });
        let path = self.path.display();
        match looked.await {
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
                    "{path}: epoch {epoch} waits until the files have moved to \
                    the places of the one before"
                );
            }
            Ok(Err(error)) => tracing::error!(error, "{path}: the map was not taken up: {error}"),
            Err(error) => tracing::error!(%error, "{path}: {error}"),
        }
    }
}
