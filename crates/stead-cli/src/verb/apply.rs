//! `stead apply FLEET MAP`: the first map, or the next epoch.

use std::path::PathBuf;

use clap::Args;
use stead::store::KEEP;
use stead::Store;

use crate::change::{Change, Pace, Show};
use crate::exit::Result;
use crate::output::Out;

/// Make the map of a fleet, or its next epoch
///
/// Moves as little as is possible, and writes nothing when nothing changes. With --max-move the map
/// goes there in several epochs, one for each apply of the same fleet. The old epoch stays in
/// MAP.history. Of two at once one wins; the other ends with 75 and has changed nothing.
#[derive(Args)]
#[command(after_help = "\
Example: make a map of the fleet, or bring it up to the fleet
  stead apply fleet.toml members.map
  members: first map, epoch 1, 3 nodes, 3 slices

Exit codes: 0 done, or nothing to do; 64 MAP is a symbolic link; 65 the map is damaged or of another cluster; 66 no such \
fleet or directory; 74 writing failed, the old map is in place; 75 another process was faster; \
76 the new map is in place, but something after it failed; 77 not allowed; 78 the fleet \
is wrong")]
pub struct Apply {
    /// The fleet file, TOML or JSON
    fleet: PathBuf,
    /// The map to make or to advance
    map: PathBuf,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    show: Show,
}

impl Apply {
    /// Does it.
    pub fn run(self, out: &mut Out) -> Result {
        let store = Store::new(&self.map, KEEP);
        // also when there is nothing to publish, lest it fail only on the day of a
        // change
        store.refuse_symlink()?;
        let change = Change::of(&self.fleet, store.current()?, &self.pace)?;
        publish(&store, &change, &self.show, out)
    }
}

/// Publishes a change, when one is needed, and reports it.
pub fn publish(store: &Store, change: &Change, show: &Show, out: &mut Out) -> Result {
    let report = change.report(show)?;
    if change.needed {
        store.publish(change.old.as_ref(), &change.new)?;
    }
    let written = change.write(&report, show, out).and_then(|()| out.flush());
    // whoever reads only the exit code must learn that the map has changed all the same
    written.map_err(|failure| {
        if change.needed {
            failure.in_place(report.epoch)
        } else {
            failure
        }
    })
}
