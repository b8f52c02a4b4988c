//! Whether a change leaves data behind: it moves copies without a carry, where data is carried.
//!
//! A map moves no data. Where changes are carried, one change without a carry sends readers to
//! places where nothing is. So a change must be carried if its fleet says so. If the fleet says
//! nothing, the history decides: if the last change that moved copies was carried, the new change
//! must be carried, too.

use super::allow::Guard;
use super::dropped::Changed;
use super::finding::{share, Finding};
use super::found::room;
use crate::error::Result;
use crate::map::Map;
use crate::plan::all_copies;

/// Returns a finding for a change that moves copies without a carry, where changes are carried.
/// `older` gives the epochs before `old`, newest first; it is read only as far as needed.
///
/// Errors: `Identity` when the maps belong to different clusters; `Memory` and `MemoryLimit`. Cost:
/// one pass over the slices of each pair of epochs that is looked at.
pub(crate) fn left_behind(
    old: &Map,
    new: &Map,
    older: impl Iterator<Item = Map>,
) -> Result<Option<Finding>> {
    let says = new.permits().carry;
    if new.carry().is_some() || says == Some(false) {
        return Ok(None);
    }
    let copied = Changed::between(old, new)?.copied;
    if copied == 0 {
        return Ok(None);
    }
    let why = match says {
        Some(_) => "the fleet says carry = true".to_owned(),
        None => match last_move(old, older)?.filter(|last| last.is_carried) {
            Some(LastMove { epoch, .. }) => {
                format!("the last change that moved any was carried, up to epoch {epoch}")
            }
            None => return Ok(None),
        },
    };
    let moved = share(copied, all_copies(old, new));
    Ok(Some(Finding {
        guard: Guard::LeaveData,
        text: format!("moves {moved} of all copies without a carry, and {why}"),
    }))
}

/// The last change that moved copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastMove {
    /// The epoch that the change ended with.
    pub epoch: u64,
    /// The epoch before it, in whose places the data was.
    pub before: u64,
    /// Whether it was a carry, also one that was reversed.
    pub is_carried: bool,
    /// Which earlier epoch it took back, with those after it: the first epoch that had moved data
    /// away from the places that are there again.
    pub undone: Option<u64>,
}

impl LastMove {
    /// Says which epoch moved data without a carry: `epoch 2 moved data without a carry`, and
    /// whether it was taken back. For a change that was not carried.
    pub fn told(&self) -> String {
        let LastMove { epoch, before, .. } = self;
        match self.undone {
            None => format!("epoch {epoch} moved data without a carry"),
            Some(first) if first == *before => {
                format!("epoch {first} moved data without a carry, and epoch {epoch} took that back")
            }
            Some(first) => format!(
                "epochs {first} to {before} moved data without a carry, and epoch {epoch} took that \
                 back"
            ),
        }
    }
}

/// Returns the last change that moved copies, as far as `older` says it: the epochs before
/// `newest`, newest first, which are read only as far as needed.
///
/// Errors: those of [`left_behind`].
pub(crate) fn last_move(
    newest: &Map,
    older: impl Iterator<Item = Map>,
) -> Result<Option<LastMove>> {
    let mut later: Option<Map> = None;
    for before in older {
        let after = later.as_ref().unwrap_or(newest);
        let moved = |before: u64, is_carried| {
            Ok(Some(LastMove {
                epoch: after.epoch(),
                before,
                is_carried,
                undone: None,
            }))
        };
        if let Some(carry) = before.carry() {
            return moved(carry.from_epoch, true);
        }
        let _room = room(&before, after)?;
        if Changed::between(&before, after)?.copied > 0 {
            return moved(before.epoch(), false);
        }
        later = Some(before);
    }
    Ok(None)
}

/// Returns which epoch a change took back that was not carried, with those after it. `older` is
/// that of [`last_move`]. It is read up to a carry, or up to an epoch with the same places.
///
/// Errors: those of [`left_behind`].
pub(crate) fn undone(
    last: &LastMove,
    newest: &Map,
    older: impl Iterator<Item = Map>,
) -> Result<Option<u64>> {
    let mut later = newest.epoch();
    for map in older {
        if map.carry().is_some() {
            break;
        }
        if map.epoch() < last.before {
            let _room = room(&map, newest)?;
            if Changed::between(&map, newest)?.copied == 0 {
                return Ok(Some(later));
            }
        }
        later = map.epoch();
    }
    Ok(None)
}
