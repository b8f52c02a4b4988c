//! `stead apply FLEET MAP`: makes the first map, or its next epoch.

use std::path::PathBuf;

use clap::Args;
use stead::store::KEEP;
use stead::Store;

use crate::change::{Change, Pace, Show};
use crate::exit::Result;
use crate::output::Out;

/// Make the first map of a fleet, or update the map to the fleet
///
/// Publishes the next epoch of the map, moves as little as possible, and writes nothing when
/// nothing changes. With --max-move the change takes several epochs, one for each apply of the same
/// fleet. The old epoch stays in MAP.history. When two processes apply at once, one wins; the other
/// exits with 75 and has changed nothing.
#[derive(Args)]
#[command(after_help = "\
Example: make the first map
  stead apply fleet.toml members.map
  members: first map, epoch 1, 3 nodes, 3 slices

Exit codes:
  0   done, or nothing to do
  64  wrong usage, or MAP is a symbolic link or a directory
  65  the map is damaged or of another cluster
  66  the fleet or the directory of MAP is missing
  74  writing failed; the old map is in place
  75  another process changed the map first; nothing was written, run it again
  76  the new map is in place, but writing its report or syncing the disk failed
  77  permission denied
  78  the fleet is wrong, or cannot be met")]
pub struct Apply {
    /// The fleet file, TOML or JSON
    fleet: PathBuf,
    /// The map to create or to update
    map: PathBuf,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    why: Why,
    #[command(flatten)]
    show: Show,
}

/// The option that says why a change is made.
#[derive(Args)]
pub struct Why {
    /// Say why, in one line; `stead history` shows it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl Why {
    /// Returns the store, which publishes with the note if there is one.
    pub fn on(&self, store: Store) -> Result<Store> {
        match &self.note {
            Some(note) => Ok(store.with_note(note)?),
            None => Ok(store),
        }
    }
}

impl Apply {
    pub fn run(self, out: &mut Out) -> Result {
        let store = Store::new(&self.map, KEEP);
        // checked even when there is nothing to publish: otherwise a symbolic link would be found
        // only on the day of a change
        store.refuse_symlink()?;
        let mut change = Change::of(&self.fleet, store.current()?, &self.pace)?;
        change.progress = store.progress(&change.new);
        let store = self.why.on(store)?;
        publish(&store, &change, &self.show, out)
    }
}

/// Publishes a change if it is needed, and reports it.
pub fn publish(store: &Store, change: &Change, show: &Show, out: &mut Out) -> Result {
    let report = change.report(show)?;
    if change.needed {
        store.publish(change.old.as_ref(), &change.new)?;
    }
    let written = change.write(&report, show, out).and_then(|()| out.flush());
    // a script that reads only the exit code must learn that the map has changed
    written.map_err(|failure| {
        if change.needed {
            failure.in_place(report.epoch)
        } else {
            failure
        }
    })
}
