//! `stead rollback MAP EPOCH`: publishes the content of an old epoch as a new epoch.

use std::path::PathBuf;

use clap::Args;
use stead::store::KEEP;
use stead::{Map, Store};

use super::apply::publish;
use crate::change::{Change, Show};
use crate::exit::{Failure, Result};
use crate::input::whole;
use crate::output::Out;

/// Go back to an old epoch: publish its content as a new epoch
///
/// Epoch numbers only go up: the epochs in between stay in the history, and every reader notices
/// the change. Afterwards restore the fleet file as well, or the next apply undoes the rollback.
#[derive(Args)]
#[command(after_help = "\
Example: go back to epoch 1; its content becomes epoch 3
  stead rollback db.map 1
  db: epoch 2 -> 3, moves 25.00 % (the least possible)

Exit codes:
  0   done, or nothing to do
  64  the epoch is not in the history, MAP is a symbolic link or a directory, or
      wrong usage
  65  the map or the epoch is damaged
  66  the map is missing
  74  writing failed; the old map is in place
  75  another process changed the map first; nothing was written, run it again
  76  the new map is in place, but writing its report or syncing the disk failed
  77  permission denied")]
pub struct Rollback {
    /// The map file
    map: PathBuf,
    /// The epoch to go back to; `stead history` lists the epochs
    #[arg(value_parser = whole)]
    epoch: u64,
    /// Show what would move; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    show: Show,
}

impl Rollback {
    pub fn run(self, out: &mut Out) -> Result {
        let store = Store::new(&self.map, KEEP);
        store.refuse_symlink()?;
        let newest = Map::open_uncached(&self.map)?;
        let new = store
            .open_epoch(self.epoch)?
            .again_after(&newest)
            .map_err(|e| Failure::from(e).at(&self.map.display().to_string()))?;
        let change = Change::to(Some(newest), new);
        if self.dry_run {
            return change.write(&change.report(&self.show)?, &self.show, out);
        }
        publish(&store, &change, &self.show, out)
    }
}
