//! `stead rollback MAP EPOCH`: publishes the content of an old epoch as a new epoch.

use std::path::PathBuf;

use clap::Args;
use stead::carry::State;
use stead::guard::{Guard, LastMove};
use stead::plan::Amounts;
use stead::store::{Back, KEEP};
use stead::{Allow, Error, Map, Store};

use super::apply::{publish, uncarried, Told, Why};
use crate::back;
use crate::carrying::{state, Begin};
use crate::change::{understood, Change, Pace, Show, NOT_CARRIED_BACK, TO_BE_CARRIED_BACK};
use crate::exit::{Failure, Result, USAGE};
use crate::guards::Permit;
use crate::input::whole;
use crate::output::Out;
use crate::text::{percent, wrapped};

/// Go back to an old epoch, in a new epoch
///
/// Epoch numbers only go up: the epochs in between stay in the history, and every reader notices
/// the change. To an epoch further back than the one before, say --exact or --least; --dry-run
/// shows what both move. Afterwards restore the fleet file as well, or the next apply undoes the
/// rollback.
#[derive(Args)]
#[command(after_help = "\
Example: go back to epoch 1; its content becomes epoch 3
  stead rollback db.map 1
  db: epoch 2 -> 3, moves 25.00 % (the least possible)

Exit codes:
  0   done, or nothing to do
  64  the epoch is not in the history, or is further back and neither --exact
      nor --least is there; MAP is a symbolic link or a directory; wrong usage
  65  the map or the epoch is damaged, or the map is not the newest of its
      history
  66  the map is missing
  69  a guard refuses the change, or a carry is open; nothing was written
  74  writing failed; the old map is in place
  75  another process changed the map first; nothing was written, run it again
  76  the new map is in place, but writing its report or syncing the disk failed
  77  permission denied")]
pub struct Rollback {
    /// The map file
    map: PathBuf,
    /// The epoch to go back to; `stead history` lists the epochs
    #[arg(value_parser = whole, allow_negative_numbers = true)]
    epoch: u64,
    /// Go back to the slices of the epoch: every key lives where it lived then. This is the default
    /// for the epoch before the present one, whose data may still be where it was
    #[arg(long, conflicts_with = "least")]
    exact: bool,
    /// Go back to the fleet of the epoch with the least movement; --max-move limits each step
    #[arg(long)]
    least: bool,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    begin: Begin,
    #[command(flatten)]
    why: Why,
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
        if self.pace.max_move().is_some() && !self.least {
            let problem = "--max-move needs --least; --exact goes back in one step";
            return Err(Failure::new(USAGE, problem));
        }
        let newest = Map::open_uncached(&self.map)?;
        understood(&newest, &self.map)?;
        // also where nothing is to be done
        store.check_history(&newest)?;
        let map = self.map.display().to_string();
        self.permit.check_epoch(Some(&newest), &map)?;
        let store = self.why.on(store.going_back_to(self.epoch))?;
        let new = self.new_map(&store, &newest)?;
        let both = match self.show.json() {
            true => Vec::new(),
            false => self.both(&store, &newest)?,
        };
        let new = self.begin.on(Some(&newest), new)?;
        let mut change = Change::to(Some(newest), new);
        change.progress = store.progress(&change.new);
        change.around = self.kept_attributes(&store, &change)?;
        let needed = change.needed;
        let late = match self.begin.is_given() && needed && !self.show.json() {
            true => looks_elsewhere(&store, &change),
            false => Vec::new(),
        };
        let states = match self.show.json() {
            true => Vec::new(),
            false => in_a_carry(&store, self.epoch, &change),
        };
        if self.dry_run {
            change.judge(&store)?;
            let report = change.report(&self.show)?;
            change.write(&report, &self.show, out)?;
            if change.moves_data(&report) && !self.show.json() {
                let line = change.advice(TO_BE_CARRIED_BACK);
                out.line(format_args!("\n{line}"))?;
            }
        } else {
            let told = Told::of(NOT_CARRIED_BACK);
            publish(&store, change, &self.permit, &self.show, &told, out)?;
        }
        states
            .iter()
            .chain(&late)
            .try_for_each(|line| out.line(line))?;
        // only a dry run has lines here, so that a failure to write them means nothing for the map
        if !both.is_empty() && needed {
            out.line("")?;
        }
        both.iter()
            .filter(|_| needed)
            .try_for_each(|line| out.line(line))
    }

    /// Says which nodes keep the attributes that they have now, although only those of then come
    /// back otherwise. `None` where there is nothing to say.
    fn kept_attributes(&self, store: &Store, change: &Change) -> Result<Option<String>> {
        if !change.needed {
            return Ok(None);
        }
        let old = store.open_epoch(self.epoch)?;
        let others = change.new.nodes().filter(|node| {
            let then = old.node_named(node.name());
            then.is_some_and(|then| !then.attributes().eq(node.attributes()))
        });
        let names: Vec<&str> = others.map(|node| node.name()).collect();
        let who = match names[..] {
            [] => return Ok(None),
            [one] => format!("node {one} keeps"),
            [one, other] => format!("nodes {one} and {other} keep"),
            [one, other, ref more @ ..] => {
                format!("nodes {one}, {other} and {} more keep", more.len())
            }
        };
        Ok(Some(format!(
            "{who} the attributes of now, such as an address: data has moved since epoch {}, so \
             only data goes back",
            self.epoch
        )))
    }

    /// Returns the map to go back to, in the way that the options say.
    fn new_map(&self, store: &Store, newest: &Map) -> Result<Map> {
        let back = match (self.exact, self.least) {
            (true, _) => Some(Back::Exact),
            (_, true) => Some(Back::Least {
                max_move: self.pace.max_move(),
            }),
            _ => None,
        };
        Ok(store
            .back_to(newest, self.epoch, back)
            .map_err(|error| match error {
                Error::Invalid { problem } if back.is_none() => Error::Invalid {
                    problem: problem
                        .replace(": exact (", ": --exact (")
                        .replace("and least (", "and --least (")
                        + &self.asked(store, newest),
                },
                error => error,
            })?)
    }

    /// Returns the options that guards will ask for on either way, for the end of a message that
    /// asks for the way; nothing where none will.
    fn asked(&self, store: &Store, newest: &Map) -> String {
        let ways = [
            ("--exact", Back::Exact),
            ("--least", Back::Least { max_move: None }),
        ];
        let [exact, least] = ways.map(|(option, back)| {
            let new = store.back_to(newest, self.epoch, Some(back)).ok();
            // what cannot be judged now is said by the command itself
            let found = new.and_then(|new| store.findings(Some(newest), &new).ok());
            let found = found
                .unwrap_or_default()
                .into_iter()
                .map(|found| found.guard);
            let is_asked = |guard: &Guard| match guard {
                Guard::TakeBack => false,
                Guard::LeaveData if self.begin.is_given() => false,
                guard => !self.permit.allow().lifts(*guard),
            };
            (option, found.filter(is_asked).collect::<Vec<Guard>>())
        });
        match exact.1 == least.1 {
            true => needs("either", &exact.1),
            false => needs(exact.0, &exact.1) + &needs(least.0, &least.1),
        }
    }

    /// Returns a line for each way to go back, with what it moves, for a dry run.
    fn both(&self, store: &Store, newest: &Map) -> Result<Vec<String>> {
        let ways = [
            ("--exact", "its slices again", Back::Exact),
            (
                "--least",
                "its fleet, least movement",
                Back::Least { max_move: None },
            ),
        ];
        if !self.dry_run {
            return Ok(Vec::new());
        }
        let line = |(option, what, back): (&str, &str, Back)| {
            let new = store.back_to(newest, self.epoch, Some(back));
            let moved = new.and_then(|new| {
                let moved = Amounts::between(newest, &new)?.moved.0;
                Ok(percent(moved, newest.replicas().max(new.replicas())))
            });
            match moved {
                Ok(moved) => format!("{option}  moves {moved:>12}  {what}"),
                Err(error) => format!("{option}  {error}"),
            }
        };
        let mut lines = Vec::from(ways.map(line));
        let kept = store.open_epoch(self.epoch)?.replicas();
        let copies = newest.replicas();
        if kept < copies {
            let n = copies - kept;
            lines.push(format!("either drops {n} of {copies} copies of each key"));
        }
        Ok(lines)
    }
}

/// Says which options a way to go back needs because of these guards; nothing without guards.
fn needs(way: &str, guards: &[Guard]) -> String {
    if guards.is_empty() {
        return String::new();
    }
    let rest: Vec<Guard> = guards
        .iter()
        .copied()
        .filter(|guard| *guard != Guard::LeaveData)
        .collect();
    let carry = match rest.len() == guards.len() {
        true => String::new(),
        false => format!(" --carry{}, or", back::allowing(&rest)),
    };
    format!("; {way} needs{carry}{}", back::allowing(guards))
}

/// Says, if the last change moved data without a carry, that a carry back takes its places for
/// those where the data is, and which command goes back.
fn looks_elsewhere(store: &Store, change: &Change) -> Vec<String> {
    let last = change.old.as_ref().and_then(|old| uncarried(store, old));
    let Some(LastMove { before, .. }) = last else {
        return Vec::new();
    };
    let told = last.map_or(String::new(), |last| last.told());
    let text = format!(
        "{told}. If the data is still where epoch {before} had \
         it, this carry looks for it at the wrong places: then reverse it, close it, and go back by"
    );
    let old = change.old.as_ref().unwrap_or(&change.new);
    // the carry that was reversed is then the last change
    let command = back::rollback(store, old, before, "", Some(Guard::LeaveData));
    let lines = wrapped(&text, "", "").into_iter();
    lines.chain([format!("  {command}")]).collect()
}

/// Says, if the epoch is a state of a carry, which epoch has the places from before the carry. Such
/// an epoch has the new map in it, whichever places hosts read in that state.
fn in_a_carry(store: &Store, epoch: u64, change: &Change) -> Vec<String> {
    let asked = store.open_epoch(epoch).ok();
    let Some(carry) = asked.and_then(|map| map.carry()) else {
        return Vec::new();
    };
    let from = store.open_epoch(carry.from_epoch).ok();
    let Some(from) = from.filter(|from| from.digest() == carry.from_digest) else {
        return Vec::new();
    };
    let reads_new = matches!(carry.state, State::BothNewFirst | State::New);
    if change.needed && reads_new {
        return Vec::new();
    }
    let (state, before) = (state(&carry), carry.from_epoch);
    let text = format!(
        "epoch {epoch} is in the state {state} of the carry from epoch {before}, and has the \
         places to which that carry brought the data. Those from before the carry are in epoch \
         {before}"
    );
    let (text, command) = match change.needed {
        true => (text, None),
        false if from.same(&change.new) => (text, None),
        false => (
            format!("{text}: to go back to them"),
            Some(back::rollback(store, &change.new, before, " --carry", None)),
        ),
    };
    let command = command.map(|command| format!("  {command}"));
    let lines = wrapped(&text, "", "").into_iter();
    lines.chain(command).collect()
}
