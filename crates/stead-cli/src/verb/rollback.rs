//! `stead rollback MAP EPOCH`: old content as a new epoch.

use std::path::PathBuf;

use clap::Args;
use stead::store::KEEP;
use stead::{Map, Store};

use super::apply::publish;
use crate::change::{Change, Show};
use crate::exit::{Failure, Result};
use crate::input::whole;
use crate::output::Out;

/// Make an old epoch's content the newest epoch
///
/// Epochs only go up: nothing is forgotten, and every reader sees it. Afterwards bring the fleet
/// file back to that state as well; else the next apply undoes the rollback.
#[derive(Args)]
#[command(after_help = "\
Example: back to what epoch 1 was; it becomes epoch 3
  stead rollback members.map 1
  members: epoch 2 -> 3, moves 25.000000 % (lower bound 25.000000 %), 5 slices -> 3

Exit codes: 0 done, or nothing to do; 64 this epoch is not in the history, or MAP is a symbolic link; 65 the map or the epoch \
is damaged; 66 no such map; 74 writing failed, the old map is in place; 75 another process was faster; \
76 the new map is in place, but something after it failed; 77 not allowed")]
pub struct Rollback {
    /// The map
    map: PathBuf,
    /// The epoch whose content comes back; `stead history` lists them
    #[arg(value_parser = whole)]
    epoch: u64,
    /// Say what would move, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    show: Show,
}

impl Rollback {
    /// Does it.
    pub fn run(self, out: &mut Out) -> Result {
        let store = Store::new(&self.map, KEEP);
        store.refuse_symlink()?;
        let newest = Map::open_copy(&self.map)?;
        let new = store
            .epoch(self.epoch)?
            .again_after(&newest)
            .map_err(|e| Failure::from(e).at(&self.map.display().to_string()))?;
        let change = Change::to(Some(newest), new);
        if self.dry_run {
            return change.write(&change.report(&self.show)?, &self.show, out);
        }
        publish(&store, &change, &self.show, out)
    }
}
