//! `stead rollback MAP EPOCH`: publishes the content of an old epoch as a new epoch.

use std::path::PathBuf;

use clap::Args;
use stead::guard::Guard;
use stead::store::KEEP;
use stead::{Allow, Map, Store};

use super::apply::publish;
use crate::change::{Change, Show};
use crate::exit::{Failure, Result};
use crate::guards::Permit;
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
  db: epoch 2 -> 3, moves 25.000000 % (lower bound 25.000000 %), 5 slices -> 3

Exit codes:
  0   done, or nothing to do
  64  the epoch is not in the history, MAP is a symbolic link or a directory, or
      wrong usage
  65  the map or the epoch is damaged
  66  the map is missing
  69  a guard refuses the change; nothing was written
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
    permit: Permit,
    #[command(flatten)]
    show: Show,
}

impl Rollback {
    pub fn run(self, out: &mut Out) -> Result {
        // taking back newer epochs is what a rollback is for
        let store = Store::new(&self.map, KEEP).allowing(Allow::NONE.and(Guard::TakeBack));
        store.refuse_symlink()?;
        let newest = Map::open_uncached(&self.map)?;
        let new = store
            .open_epoch(self.epoch)?
            .again_after(&newest)
            .map_err(|e| Failure::from(e).at(&self.map.display().to_string()))?;
        let map = self.map.display().to_string();
        self.permit.check_epoch(Some(&newest), &map)?;
        let mut change = Change::to(Some(newest), new);
        if self.dry_run {
            change.judge(&store)?;
            return change.write(&change.report(&self.show)?, &self.show, out);
        }
        publish(&store, change, &self.permit, &self.show, out)
    }
}
