//! `stead plan FLEET [MAP]`: what `apply` would do, without writing anything.

use std::path::{Path, PathBuf};

use clap::Args;
use stead::guard::Guard;
use stead::report::Report;
use stead::store::{SavedPlan, KEEP};
use stead::{Error, Status, Store};

use crate::carrying::Begin;
use crate::change::{understood, Change, Pace, Show, SAVED_NOT_CARRIED, TO_BE_CARRIED};
use crate::epochs::not_newest;
use crate::exit::{note, Failure, Result, DATA, USAGE};
use crate::guards::words;
use crate::output::Out;
use crate::text::wrapped;

/// Show what applying a fleet would change; write nothing
///
/// Builds the map that the fleet asks for, exactly as `stead apply` does. Says first what is at
/// risk, with the word that allows what a guard would refuse; then what changes in the fleet, what
/// happens to the copies, and which nodes hold more or less.
#[derive(Args)]
#[command(after_help = "\
Example: what would a fourth node move?
  stead plan fleet.toml db.map
  db: epoch 1 -> 2, moves 25.00 % (the least possible)

Exit codes:
  0   done
  64  wrong usage, or FILE is there and is no saved plan
  65  the map is damaged, of another cluster, or not the newest of its history
  66  the fleet is missing, or there is no map yet, and --carry is given
  69  a carry is open
  74  reading or writing failed
  77  permission denied
  78  the fleet is wrong, or cannot be met")]
pub struct Plan {
    /// The fleet file, TOML or JSON
    fleet: PathBuf,
    /// The present map; if it is omitted or does not exist, the first map is planned
    map: Option<PathBuf>,
    /// Save the plan to a file, for `stead apply FILE MAP` to make exactly this change
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    begin: Begin,
    #[command(flatten)]
    show: Show,
}

impl Plan {
    /// Says so if FLEET and MAP are in the wrong order.
    fn not_a_map(&self, error: Error) -> Failure {
        let Some(map) = self
            .map
            .as_deref()
            .filter(|_| error.status() == Status::Format)
        else {
            return error.into();
        };
        if Store::peek(&self.fleet).is_err() {
            return error.into();
        }
        let (fleet, map) = (self.fleet.display(), map.display());
        Failure::new(
            USAGE,
            format_args!(
                "{fleet} is a map, and {map} is none: the fleet comes first: `stead plan {map} \
                 {fleet}`"
            ),
        )
    }

    pub fn run(self, out: &mut Out) -> Result {
        let store = self.map.as_deref().map(|map| Store::new(map, KEEP));
        let old = match &store {
            Some(store) => store.current().map_err(|error| self.not_a_map(error))?,
            None => None,
        };
        if let (Some(old), Some(path)) = (&old, &self.map) {
            understood(old, path)?;
        }
        if self.map.is_none() && self.begin.is_given() {
            let problem = "--carry needs MAP, the map by which the data lives now; see --help";
            return Err(Failure::new(USAGE, problem));
        }
        let is_first = old.is_none();
        let change = Change::of(&self.fleet, old, &self.pace, &self.begin);
        let mut change = match &self.map {
            Some(map) => change.map_err(|failure| failure.of_map(map))?,
            None => change?,
        };
        if let Some(store) = &store {
            // plans on copies of a map are common, and need no history
            if change.old.is_none() {
                change.look_around(store);
            }
            if is_first {
                let around = change.around.as_deref();
                self.begin.refuse_first(store.path(), around)?;
            }
            // apply refuses these, too
            let refused = change.old.as_ref();
            if let Some(problem) = refused.and_then(|old| not_newest(store, old)) {
                let map = store.path().display();
                return Err(Failure::new(DATA, format_args!("{map}: {problem}")));
            }
            // a fleet that fits an older map, which was put back, changes nothing
            let unchanged = Some(&change.new).filter(|_| !change.needed);
            if let Some(problem) = unchanged.and_then(|map| not_newest(store, map)) {
                note(format_args!("{}: {problem}", store.path().display()));
            }
            change.progress = store.progress(&change.new);
            change.judge(store)?;
        }
        let report = change.report(&self.show)?;
        if let Some(output) = &self.output {
            SavedPlan::write(&change.new, output)?;
        }
        change.write(&report, &self.show, out)?;
        let last = last(&change, &report, self.output.as_deref());
        match last.filter(|_| !self.show.json()) {
            Some(line) => out.line(format_args!("\n{line}")),
            None => Ok(()),
        }
    }
}

/// Returns the last line: what is to be done about data that moves. A saved plan gets no carry when
/// it is applied, and waits for its permission until then.
fn last(change: &Change, report: &Report, saved: Option<&Path>) -> Option<String> {
    let refused = change.refused_by();
    let to_be_carried = change.is_to_be_carried(report);
    match saved {
        Some(file) if !refused.is_empty() => {
            let to_carry = match refused.contains(&Guard::LeaveData) {
                true => "; to carry the data, plan again with --carry",
                false => "",
            };
            let line = format!(
                "apply refuses {} without --allow {}{to_carry}",
                file.display(),
                words(&refused)
            );
            Some(wrapped(&line, "", "").join("\n"))
        }
        Some(_) if to_be_carried => Some(change.advice(SAVED_NOT_CARRIED).to_owned()),
        None if to_be_carried => Some(change.advice(TO_BE_CARRIED).to_owned()),
        _ => None,
    }
}
