//! The rules of a carry: how it begins, which state follows which, and how it ends. Normative:
//! docs/placement.md, "Carry".
//!
//! ```text
//! begin          next                next                next       close
//! ----> old ----------> both_old_first ----> both_new_first ----> new ----> closed
//!        |               |                    |
//!        | reverse       | reverse            | reverse
//!        v      next     v                    |
//!       old <-------- both_old_first <--------+          (these two are being reversed)
//!        |
//!        | close
//!        v
//!      closed, with the content of the old map
//! ```
//!
//! Each function returns a map of the next epoch and publishes nothing. Before *each* step but
//! `reverse`, every host must have confirmed the epoch before, and must have ended what it began
//! under an older one: then hosts are at most one state apart. `reverse` needs no word of the
//! hosts, since it goes back to a state that they had a moment ago.
//!
//! In each state, epochs may follow in which only attributes of nodes change, such as an address.

pub use crate::format::{Carry, State};

use crate::error::{Error, Result};
use crate::format::{hex, Digest};
use crate::map::Map;
use crate::plan::{same_nodes, Plan};

/// A step of a carry that is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// To the next state, forward or back.
    Next,
    /// Turns round: one state back, and from there on `Next` goes back.
    Reverse,
    /// Ends the carry.
    Close,
}

impl Step {
    /// Returns the step that a word names: `next`, `reverse` or `close`.
    ///
    /// Errors: `Invalid` for any other text.
    pub fn named(text: &str) -> Result<Step> {
        match text {
            "next" => Ok(Step::Next),
            "reverse" => Ok(Step::Reverse),
            "close" => Ok(Step::Close),
            _ => invalid(format!(
                "{text:?} is no step of a carry; write \"next\", \"reverse\" or \"close\""
            )),
        }
    }

    /// Returns the map after this step of the carry that is open in `map`. `from` opens the map
    /// where the data was, and is called only where it is needed.
    ///
    /// Errors: those of [`next`], [`reverse`] and [`close`].
    pub fn after(self, map: &Map, from: impl FnOnce() -> Result<Map>) -> Result<Map> {
        match self {
            Step::Next => next(map),
            Step::Reverse => reverse(map),
            Step::Close if map.carry().is_some_and(|carry| carry.reverse) => {
                close(map, Some(&from()?))
            }
            Step::Close => close(map, None),
        }
    }
}

/// Begins a carry: returns `new`, the epoch after `old`, with a carry in the state `old`. Returns
/// `None` when nothing is to be carried, because there was no map before, because no copy moves, or
/// because `new` only changes attributes of nodes while a carry is open. Then `new` can be
/// published as it is.
///
/// Errors: `Carrying` when a carry is open already, and `new` changes anything else; `Invalid` when
/// `new` was not built on `old`; `Identity` when the maps belong to different clusters. Cost: that
/// of [`Plan::between`].
pub fn begin(old: Option<&Map>, new: &Map) -> Result<Option<Map>> {
    let Some(old) = old else {
        return Ok(None);
    };
    if is_renewed(old, new)? {
        return Ok(None);
    }
    old.no_carry()?;
    if new.parent() != old.digest() || new.epoch() != old.epoch().saturating_add(1) {
        return invalid(format!(
            "epoch {} was not built on the map that was given as the old one, which has epoch {}; \
             give the map that it was built on",
            new.epoch(),
            old.epoch()
        ));
    }
    if let Some(carry) = new.carry() {
        return match is_begun(old, &carry) {
            true => new.with_carry(Some(carry)).map(Some),
            false => invalid("the new map is in the middle of a carry; build it again".to_owned()),
        };
    }
    if Plan::between(old, new)?.moves.is_empty() {
        return Ok(None);
    }
    let carry = Carry {
        state: State::Old,
        reverse: false,
        from_epoch: old.epoch(),
        from_digest: old.digest(),
    };
    new.with_carry(Some(carry)).map(Some)
}

/// Returns the next epoch, with the next state: forward, or back in a carry that is being reversed.
///
/// Errors: `Invalid` when no carry is open, or when the next step is to close it.
pub fn next(map: &Map) -> Result<Map> {
    let carry = opened(map)?;
    let state = match (carry.state, carry.reverse) {
        (State::Old, false) => State::BothOldFirst,
        (State::BothOldFirst, false) => State::BothNewFirst,
        (State::BothNewFirst, false) => State::New,
        (State::BothOldFirst, true) => State::Old,
        // no map has it: a carry that is turned round goes one state back at once
        (State::BothNewFirst, true) => State::BothOldFirst,
        (State::New, _) | (State::Old, true) => {
            let copies = match carry.reverse {
                true => "what was copied to the new places",
                false => "the old copies",
            };
            return invalid(format!(
                "the carry is in its last state, {}{}; remove {copies}, and then close it",
                carry.state.word(),
                if carry.reverse { " (reversed)" } else { "" },
            ));
        }
    };
    map.followed_by(Some(Carry { state, ..carry }))
}

/// Turns a carry round: returns the next epoch, one state back (`old` stays `old`), from which
/// [`next`] goes back to `old`. What was copied is then removed from the new places, and [`close`]
/// ends the carry with the content of the old map.
///
/// Errors: `Invalid` when no carry is open, when it is being reversed already, or when it is in the
/// state `new`: old copies may be gone then.
pub fn reverse(map: &Map) -> Result<Map> {
    let carry = opened(map)?;
    let state =
        match (carry.state, carry.reverse) {
            (_, true) => {
                return invalid(format!(
                "the carry is being reversed already, and is in the state {}; go on with its next \
                 step",
                carry.state.word()
            ))
            }
            (State::New, _) => return invalid(
                "the carry is in the state new, in which the old copies are removed: it is too \
                 late to reverse it; close it, and carry the data back with a new change"
                    .to_owned(),
            ),
            (State::BothNewFirst, _) => State::BothOldFirst,
            (State::BothOldFirst | State::Old, _) => State::Old,
        };
    map.followed_by(Some(Carry {
        state,
        reverse: true,
        ..carry
    }))
}

/// Ends a carry: returns the next epoch, without a carry. It has the content of `map`, or, of a
/// carry that was reversed, that of `from`, the map where the data was (and is again). Nodes that
/// `map` has, too, have their attributes of `map` then: they may have changed meanwhile.
///
/// Errors: `Invalid` when no carry is open, when it is not in its last state, or when `from` is
/// missing where it is needed; `Identity` when `from` is another map than the carry names.
pub fn close(map: &Map, from: Option<&Map>) -> Result<Map> {
    let carry = opened(map)?;
    match (carry.state, carry.reverse, from) {
        (State::New, false, _) => map.followed_by(None),
        (State::Old, true, Some(from)) => {
            is_from(&carry, from)?;
            let same = same_nodes(from, map)?;
            from.again_after(map)?.with_attributes(|node| {
                let now = same.get(node.index()).copied().flatten()?;
                Some(map.node(now))
            })
        }
        (State::Old, true, None) => invalid(format!(
            "to close a carry that was reversed needs the map where the data was, epoch {}",
            carry.from_epoch
        )),
        _ => invalid(format!(
            "the carry is in the state {}; it can be closed in the state new, or in the state old \
             after it was reversed",
            carry.state.word()
        )),
    }
}

/// Whether `new` follows `base`, in which a carry is open, and changes attributes of nodes and
/// nothing else.
fn is_renewed(base: &Map, new: &Map) -> Result<bool> {
    if base.carry().is_none() || base.carry() != new.carry() || base.same(new) {
        return Ok(false);
    }
    Ok(base.followed_with_attributes(new)?.digest() == new.digest())
}

/// Checks that a change from `base`, the newest epoch, to `new` keeps the rules: without a carry it
/// may begin one, and while one is open it must be the carry's next step, or change attributes of
/// nodes alone. `from` opens the map where the data was.
///
/// Errors: `Carrying` for any other change; those of `from`.
pub(crate) fn check(base: &Map, new: &Map, from: impl FnOnce() -> Result<Map>) -> Result<()> {
    let steps: &[Step] =
        match (base.carry(), new.carry()) {
            (None, None) => return Ok(()),
            (None, Some(carry)) if is_begun(base, &carry) => return Ok(()),
            (None, Some(_)) => return invalid(
                "the new map is in the middle of a carry, and none is open; a carry begins in the \
                 state old"
                    .to_owned(),
            ),
            (Some(_), Some(_)) => &[Step::Next, Step::Reverse],
            (Some(_), None) => &[Step::Close],
        };
    if is_renewed(base, new)? {
        return Ok(());
    }
    let mut from = Some(from);
    for step in steps {
        let from = || match from.take() {
            Some(from) => from(),
            None => base.no_carry().and_then(|()| invalid(String::new())),
        };
        match step.after(base, from) {
            Ok(map) if map.digest() == new.digest() => return Ok(()),
            Ok(_) | Err(Error::Invalid { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    base.no_carry()
}

/// Checks that a map is the one where the data was.
pub(crate) fn is_from(carry: &Carry, from: &Map) -> Result<()> {
    if from.digest() == carry.from_digest {
        return Ok(());
    }
    let start = |digest: Digest| hex(&digest).chars().take(8).collect::<String>();
    Err(Error::Identity {
        problem: format!(
            "this map (epoch {}, digest {}) is not the one where the data was (epoch {}, digest \
             {}); give that one",
            from.epoch(),
            start(from.digest()),
            carry.from_epoch,
            start(carry.from_digest)
        ),
    })
}

/// Whether this is a carry that has just begun on a map.
fn is_begun(old: &Map, carry: &Carry) -> bool {
    let at_start = carry.state == State::Old && !carry.reverse;
    at_start && carry.from_epoch == old.epoch() && carry.from_digest == old.digest()
}

/// Returns the carry that is open in a map.
fn opened(map: &Map) -> Result<Carry> {
    map.carry().ok_or_else(|| Error::Invalid {
        problem: format!(
            "no carry is open in epoch {} of `{}`; `stead apply --carry` begins one with the next \
             change",
            map.epoch(),
            map.name()
        ),
    })
}

fn invalid<T>(problem: String) -> Result<T> {
    Err(Error::Invalid { problem })
}
