//! `stead plan FLEET [MAP]`: what apply would say, without writing.

use std::path::PathBuf;

use clap::Args;
use stead::store::KEEP;
use stead::Store;

use crate::change::{Change, Pace, Show};
use crate::exit::Result;
use crate::output::Out;

/// Say what a fleet would change, and change nothing
///
/// Builds the map that the fleet asks for, as apply does, and says what would move.
#[derive(Args)]
#[command(after_help = "\
Example: what would a fourth node move?
  stead plan fleet.toml members.map
  members: epoch 1 -> 2, moves 25.000000 % (lower bound 25.000000 %), 3 slices -> 5

Exit codes: 0 done; 65 the map is damaged or of another cluster; 66 no such file; 78 the fleet is wrong")]
pub struct Plan {
    /// The fleet file, TOML or JSON
    fleet: PathBuf,
    /// The map to advance; without it, or when there is no such file, the first map is planned
    map: Option<PathBuf>,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    show: Show,
}

impl Plan {
    /// Does it.
    pub fn run(self, out: &mut Out) -> Result {
        let old = match &self.map {
            Some(map) => Store::new(map, KEEP).current()?,
            None => None,
        };
        let change = Change::of(&self.fleet, old, &self.pace)?;
        change.write(&change.report(&self.show)?, &self.show, out)
    }
}
