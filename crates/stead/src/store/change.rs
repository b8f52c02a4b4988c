//! A change of a map file in one call: the next epoch of a fleet, or an old epoch again.

use super::back::Back;
use super::epochs::Store;
use crate::carry::{self, State, Step};
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::guard::Guard;
use crate::map::Map;
use crate::point::Share;
use crate::rebalance::{build, build_max_move};

impl Store {
    /// Builds the map that a fleet asks for on the newest epoch, or as a first map when there is no
    /// file, and publishes it. Publishes nothing when nothing would change. Returns the map that is
    /// then in place.
    ///
    /// `max_move` limits how much may move in this epoch, as in [`build_max_move`].
    ///
    /// Errors: those of [`build`](build()) and of [`Store::publish`]. After `Conflict`, call it
    /// again: it then builds on the map that is there.
    pub fn apply(&self, fleet: &Fleet, max_move: Option<Share>) -> Result<Map> {
        // checked even when there is nothing to publish: otherwise a symbolic link would be found
        // only on the day of a change
        self.refuse_symlink()?;
        let newest = self.current()?;
        let next = match max_move {
            Some(part) => build_max_move(fleet, newest.as_ref(), part),
            None => build(fleet, newest.as_ref()),
        };
        self.replace(newest, next.map_err(|error| error.in_file(self.path()))?)
    }

    /// Takes a step of the carry that is open in `newest`, and publishes it. Returns the map that
    /// is then in place.
    ///
    /// Before `Next` and `Close`, every host must have confirmed the epoch of `newest`, and must
    /// have ended what it began under an older one. This is not checked here; `stead-sync carry`
    /// does. So `newest` must be the very map that the hosts were asked about: when there is a
    /// newer one now, `Conflict` is returned, and nothing has changed.
    ///
    /// Errors: `Invalid` when no carry is open, or when this is not a step that can follow;
    /// `Identity` when the history has another map than that where the data was; those of
    /// [`Store::publish`].
    pub fn carry(&self, newest: &Map, step: Step) -> Result<Map> {
        self.refuse_symlink()?;
        let next = step.after(newest, || self.from(newest));
        let next = next.map_err(|error| match error {
            Error::Invalid { problem } => Error::Invalid {
                problem: format!("{}: {problem}", self.path().display()),
            },
            error => error,
        })?;
        self.publish(Some(newest), &next)?;
        Ok(next)
    }

    /// Returns whether the carry that is open in `map` was turned round in its first state. Then
    /// nothing was copied, and no host has written to a new place. `false` also where the history
    /// lacks an epoch that would tell.
    pub fn is_untouched(&self, map: &Map) -> bool {
        let Some(carry) = map.carry().filter(|carry| carry.reverse) else {
            return false;
        };
        let was_old = |epoch| {
            let then = self.open_epoch(epoch).ok().and_then(|then| then.carry());
            then.is_some_and(|then| then.state == State::Old)
        };
        // the first epoch of a carry is in this state
        let mut later = carry.from_epoch.saturating_add(2)..map.epoch();
        carry.state == State::Old && later.all(was_old)
    }

    /// Goes back to an old epoch in the next epoch: epoch numbers only go up, so every reader
    /// notices the change. `back` says how, as in [`Store::back_to`]. Publishes nothing when
    /// nothing would change. Returns the map that is then in place.
    ///
    /// That it takes back newer epochs needs no permission, since that is what it is for; the other
    /// guards judge it like any change.
    ///
    /// Errors: those of [`Store::back_to`] and of [`Store::publish`]; `NotFound` when there is no
    /// map.
    pub fn rollback(&self, epoch: u64, back: Option<Back>) -> Result<Map> {
        self.refuse_symlink()?;
        let newest = Map::open_uncached(self.path())?;
        let again = self.back_to(&newest, epoch, back)?;
        let store = self.clone().going_back_to(epoch);
        let store = store.allowing(self.allow.and(Guard::TakeBack));
        store.replace(Some(newest), again)
    }

    /// Publishes the next map unless it is the same as the newest, and returns the map in place.
    fn replace(&self, newest: Option<Map>, next: Map) -> Result<Map> {
        match newest {
            Some(newest) if newest.same(&next) => Ok(newest),
            newest => {
                let begun = match self.carrying {
                    true => carry::begin(newest.as_ref(), &next)?,
                    false => None,
                };
                let next = begun.unwrap_or(next);
                self.publish(newest.as_ref(), &next)?;
                Ok(next)
            }
        }
    }
}
