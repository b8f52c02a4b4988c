//! A carry in words and in JSON, and the option that begins one.

use std::path::Path;
use std::rc::Rc;

use clap::Args;
use serde::Serialize;
use stead::carry::{self, Carry, State};
use stead::format::hex;
use stead::plan::{dropped, Amounts};
use stead::Map;

use crate::exit::{note, Failure, Result, NO_INPUT};

/// The option of the verbs that make a change.
#[derive(Args)]
pub struct Begin {
    /// Begin a carry where copies move: hosts read and write the old places until
    /// `stead-sync carry`, or `stead carry` by hand, has brought the data to the new ones
    #[arg(long)]
    carry: bool,
}

impl Begin {
    /// Returns whether the option was given.
    pub fn is_given(&self) -> bool {
        self.carry
    }

    /// Fails for a first map: no data is there to be carried, so the path is likely a slip.
    /// `beside` names a map that stands beside it.
    pub fn refuse_first(&self, map: &Path, beside: Option<&str>) -> Result {
        if !self.carry {
            return Ok(());
        }
        let failure = Failure::new(
            NO_INPUT,
            format_args!(
                "{}: no map is here, so there is no data to carry; correct the path, or leave \
                 --carry out to make a first map",
                map.display()
            ),
        );
        Err(match beside {
            Some(beside) => failure.and(beside),
            None => failure,
        })
    }

    /// Returns the map to publish: with a carry where the option is given and copies move.
    pub fn on(&self, old: Option<&Map>, new: Map) -> stead::Result<Map> {
        let needed = old.is_some_and(|old| !old.same(&new));
        match self.carry && needed {
            true => Ok(carry::begin(old, &new)?.unwrap_or(new)),
            false => Ok(new),
        }
    }
}

/// Says on standard error that a carry is open, where the answers are those of the new map alone
/// and hosts still read the old places. `more` says what to do.
pub fn note_early(map: &Map, file: &Path, more: &str) {
    let is_early = |carry: &Carry| carry.state != State::New;
    if let Some(carry) = map.carry().filter(is_early) {
        note(format_args!(
            "{}: a carry is open, in the state {}: what lives at the new places may not be there \
             yet; {more}",
            file.display(),
            carry.state.word()
        ));
    }
}

/// A carry that is open, in JSON.
#[derive(Serialize)]
pub struct CarryJson {
    state: &'static str,
    direction: &'static str,
    from_epoch: u64,
    from_digest: String,
}

impl CarryJson {
    /// Returns the JSON form of the carry that is open in a map.
    pub fn of(map: &Map) -> Option<CarryJson> {
        map.carry().map(|carry| CarryJson {
            state: carry.state.word(),
            direction: carry.direction(),
            from_epoch: carry.from_epoch,
            from_digest: hex(&carry.from_digest),
        })
    }
}

/// Returns whether an epoch is a later step of the carry that is open in the epoch before it, and
/// has the same places. To close a carry that was reversed brings other places.
fn is_step(before: &Map, after: &Map) -> bool {
    let follows = before.carry().is_some() && before.epoch() + 1 == after.epoch();
    let is_still = |amounts: Amounts| amounts.moved.0 == 0 && amounts.by_hand.0 == 0;
    follows && Amounts::between(before, after).is_ok_and(is_still) && dropped(before, after) == 0
}

/// A row of a picture of a history: the map that it shows, and its last epoch.
pub type Row = (Rc<Map>, u64);

/// Returns the last rows of a history, the oldest first, at most `most`. The epochs of one carry
/// have the same places, so they share a row, which shows the first of them. `older` yields the
/// epochs before the newest map, the newest first.
pub fn rows(
    newest: &Rc<Map>,
    older: impl Iterator<Item = Result<Map>>,
    most: usize,
) -> Result<Vec<Row>> {
    let mut rows = vec![(Rc::clone(newest), newest.epoch())];
    for map in older {
        let is_full = rows.len() >= most;
        let map = match map {
            // no row would show it
            Err(_) if is_full => break,
            opened => opened?,
        };
        match rows.last_mut() {
            Some((after, _)) if is_step(&map, after) => *after = Rc::new(map),
            _ if is_full => break,
            _ => {
                let epoch = map.epoch();
                rows.push((Rc::new(map), epoch));
            }
        }
    }
    rows.reverse();
    Ok(rows)
}

/// Names the state: `both_old_first`, or `old, being reversed`.
pub fn state(carry: &Carry) -> String {
    match carry.reverse {
        true => format!("{}, being reversed", carry.state.word()),
        false => carry.state.word().to_owned(),
    }
}

/// Names a carry: `both_old_first, from epoch 7`.
pub fn in_words(carry: &Carry) -> String {
    format!("{}, from epoch {}", state(carry), carry.from_epoch)
}

/// Says what a state means for the hosts, and what is done in it before the next step.
pub fn meaning(carry: &Carry) -> [&'static str; 2] {
    match (carry.state, carry.reverse) {
        (State::Old, false) => [
            "hosts read and write the old places",
            "nothing is to be done before the next step",
        ],
        (State::BothOldFirst, false) => [
            "hosts write both places, and read the old one",
            "copy the data to the new places, and verify it, before the next step",
        ],
        (State::BothNewFirst, _) => [
            "hosts write both places, and read the new one first",
            "nothing is to be done before the next step; after it there is no way back",
        ],
        (State::New, _) => [
            "hosts read and write the new places",
            "remove the old copies, and close the carry",
        ],
        (State::BothOldFirst, true) => [
            "hosts write both places, and read the old one",
            "look for what only the new places have, which is removed after the next step",
        ],
        (State::Old, true) => [
            "hosts read and write the old places",
            "remove what was copied to the new places, and close the carry",
        ],
    }
}
