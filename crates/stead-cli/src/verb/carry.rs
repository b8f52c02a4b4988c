//! `stead carry MAP [STEP]`: takes a carry on by hand.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use stead::carry::{self, State, Step};
use stead::store::KEEP;
use stead::{Error, Map, Store};

use super::apply::Why;
use crate::carrying::{in_words, meaning, state, CarryJson};
use crate::change::understood;
use crate::epochs::{note_untold, visible};
use crate::exit::{Failure, Result, REFUSED, USAGE};
use crate::journaled;
use crate::output::Out;
use crate::text::wrapped;

/// Take a carry on by hand, for data that your own tools move
///
/// A carry brings data to its new nodes while hosts read and write it. `stead apply --carry` begins
/// one. Its states are old, both_old_first (copy the data in this one), both_new_first, and new
/// (remove the old copies in this one). Each step is an epoch of its own. Without STEP this prints
/// the state, and what is to be done.
///
/// Before next and close, every host must have the present epoch, and must have ended what it began
/// under an older one: only then are hosts at most one state apart. This program does not know the
/// hosts, so --confirmed says which epoch they have. `stead-sync carry` does all this, and copies
/// the data, by itself: where it has begun (its journal is MAP.carry), next and close wait until it
/// has done the work of the state.
#[derive(Args)]
#[command(after_help = "\
Example: add a node, and copy the data before it is read there
  stead apply --carry fleet.toml db.map
  stead carry db.map next --confirmed 2   # both places are written
  ...                                     # copy, and verify
  stead carry db.map next --confirmed 3   # the new place is read first
  stead carry db.map next --confirmed 4   # only the new place is used
  ...                                     # remove the old copies
  stead carry db.map close --confirmed 5

Exit codes:
  0   done
  64  no carry is open, or --confirmed is missing or says another epoch
  65  the map is damaged or not the newest of its history, or the history lacks
      the map where the data was
  66  the map is missing
  69  the step cannot follow on the state, or a run of stead-sync carry has not
      done the work of the state; nothing was written
  74  writing failed; the old map is in place
  75  another process changed the map first; nothing was written, run it again
  76  the new map is in place, but writing its report or syncing the disk failed
  77  permission denied")]
pub struct Carry {
    /// The map file
    map: PathBuf,
    /// The step to take
    step: Option<StepArg>,
    /// Say that every host has this epoch, the present one, and has ended what it began under an
    /// older one
    #[arg(long, value_name = "EPOCH")]
    confirmed: Option<u64>,
    #[command(flatten)]
    why: Why,
    /// Print JSON for programs; docs/cli.md describes it
    #[arg(long)]
    json: bool,
}

/// A step of a carry.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StepArg {
    /// To the next state, forward or back
    Next,
    /// Turn round, one state back; possible before the state new
    Reverse,
    /// End the carry, after the last copies were removed
    Close,
}

impl StepArg {
    fn step(self) -> Step {
        match self {
            StepArg::Next => Step::Next,
            StepArg::Reverse => Step::Reverse,
            StepArg::Close => Step::Close,
        }
    }
}

#[derive(Serialize)]
struct CarriedJson<'a> {
    name: &'a str,
    epoch: u64,
    /// null when no carry is open
    carry: Option<CarryJson>,
}

impl Carry {
    pub fn run(self, out: &mut Out) -> Result {
        let store = Store::new(&self.map, KEEP);
        store.refuse_symlink()?;
        let before = Map::open_uncached(&self.map)?;
        understood(&before, &self.map)?;
        let Some(step) = self.step else {
            return self.report(None, &before, out);
        };
        match step {
            _ if before.carry().is_none() => {}
            StepArg::Reverse => self.refuse_other(before.epoch())?,
            StepArg::Next | StepArg::Close => {
                self.confirm(before.epoch())?;
                journaled::refuse_unfinished(&before, &self.map)?;
            }
        }
        let after = self.why.on(store.clone())?.carry(&before, step.step());
        let after = after.map_err(|error| match error {
            // the words are right, and the state forbids it
            Error::Invalid { .. } if before.carry().is_some() => Failure::new(REFUSED, error),
            error => error.into(),
        })?;
        note_untold(&store, &after);
        let written = self
            .report(Some(&before), &after, out)
            .and_then(|()| out.flush());
        written.map_err(|failure| failure.in_place(after.epoch()))
    }

    /// Refuses to reverse another epoch than the one that was named. To reverse needs no word of
    /// the hosts, so none has to be named.
    fn refuse_other(&self, epoch: u64) -> Result {
        match self.confirmed.filter(|confirmed| *confirmed != epoch) {
            None => Ok(()),
            Some(confirmed) => Err(Failure::new(
                USAGE,
                format_args!(
                    "{map}: this is epoch {epoch} now, and not {confirmed}: look at it, by `stead \
                     carry {map}`, before you reverse it with --confirmed {epoch}",
                    map = self.map.display()
                ),
            )),
        }
    }

    /// Refuses a step before the hosts have the present epoch. Somebody may have taken a step since
    /// they were asked.
    fn confirm(&self, epoch: u64) -> Result {
        let line = match self.confirmed {
            Some(confirmed) if confirmed == epoch => return Ok(()),
            Some(confirmed) => {
                format!("this is epoch {epoch} now, and not {confirmed}; every host")
            }
            None => "every host".to_owned(),
        };
        Err(Failure::new(
            USAGE,
            format!(
                "{}: {line} must have epoch {epoch} before this step, and must have ended what it \
                 began under an older one; add --confirmed {epoch} when it is so",
                self.map.display()
            ),
        ))
    }

    /// Writes where the carry is, after a step from the epoch before if there was one.
    fn report(&self, before: Option<&Map>, map: &Map, out: &mut Out) -> Result {
        if self.json {
            return out.json(&CarriedJson {
                name: map.name(),
                epoch: map.epoch(),
                carry: CarryJson::of(map),
            });
        }
        let start = match before {
            None => format!("{}: epoch {}", map.name(), map.epoch()),
            Some(before) => format!(
                "{}: epoch {} -> {}",
                map.name(),
                before.epoch(),
                map.epoch()
            ),
        };
        let Some(carry) = map.carry() else {
            return match before.and_then(Map::carry) {
                None => out.line(format_args!("{start}, no carry is open")),
                Some(was) if was.reverse => out.line(format_args!(
                    "{start}, the carry is closed: all keys are placed as in epoch {}",
                    was.from_epoch
                )),
                Some(_) => out.line(format_args!("{start}, the carry is closed")),
            };
        };
        match before.and_then(Map::carry) {
            None => out.line(format_args!("{start}, carry {}", in_words(&carry)))?,
            Some(was) => out.line(format_args!(
                "{start}, carry {} -> {}",
                was.state.word(),
                state(&carry)
            ))?,
        }
        let [hosts, then] = meaning(&carry);
        let mut told = vec![format!("{hosts}; {then}")];
        let was_copied = |was: carry::Carry| was.state == State::BothOldFirst;
        if carry.reverse && before.and_then(Map::carry).is_some_and(was_copied) {
            told.push(
                "nobody has looked for what only the new places have: `stead-sync carry ahead` \
                 lists it, and what was copied is removed there at the end"
                    .to_owned(),
            );
        }
        let journal = journaled::path(&self.map);
        if journal.exists() {
            let by = journaled::file_of(&journal);
            told.push(format!(
                "{} is the journal of `stead-sync carry`: leave the steps to its run, which \
                 knows what is copied{}",
                journal.display(),
                by.map_or(String::new(), |file| format!(
                    "; the file of the carry is {}",
                    visible(&file)
                ))
            ));
        }
        let lines = told.iter().flat_map(|text| wrapped(text, "  ", "  "));
        lines.into_iter().try_for_each(|line| out.line(line))
    }
}
