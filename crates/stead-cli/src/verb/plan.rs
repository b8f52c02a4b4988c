//! `stead plan FLEET [MAP]`: what `apply` would do, without writing anything.

use std::path::PathBuf;

use clap::Args;
use stead::store::KEEP;
use stead::Store;

use crate::change::{Change, Pace, Show};
use crate::exit::Result;
use crate::output::Out;

/// Show what applying a fleet would change; write nothing
///
/// Builds the map that the fleet asks for, exactly as `stead apply` does. Says first what is at risk,
/// then what changes in the fleet, what happens to the copies, and which nodes hold more or less.
#[derive(Args)]
#[command(after_help = "\
Example: what would a fourth node move?
  stead plan fleet.toml db.map
  db: epoch 1 -> 2, moves 25.00 % (the least possible)

Exit codes:
  0   done
  64  wrong usage
  65  the map is damaged or of another cluster
  66  the fleet is missing
  74  reading or writing failed
  77  permission denied
  78  the fleet is wrong, or cannot be met")]
pub struct Plan {
    /// The fleet file, TOML or JSON
    fleet: PathBuf,
    /// The present map; if it is omitted or does not exist, the first map is planned
    map: Option<PathBuf>,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    show: Show,
}

impl Plan {
    pub fn run(self, out: &mut Out) -> Result {
        let old = match &self.map {
            Some(map) => Store::new(map, KEEP).current()?,
            None => None,
        };
        let change = Change::of(&self.fleet, old, &self.pace)?;
        change.write(&change.report(&self.show)?, &self.show, out)
    }
}
