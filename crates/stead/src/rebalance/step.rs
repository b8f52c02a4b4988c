//! One rebalance, whole: shift, release, fill; within `max_slices` where it is set; and the proof that it came out right.

use super::coalesce::coalesce;
use super::fill::fill;
use super::piece::{join, ByHolder, HolderId, Piece};
use super::release::release;
use super::shift::shift;
use crate::error::{Error, Result};

/// What a rebalance made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rebalanced {
    /// The new pieces, in order, neighbours of different holders.
    pub pieces: Vec<Piece>,
    /// How many cells change their holder.
    pub moved: u128,
}

/// New pieces in which every holder has exactly its target, with the least movement: the sum of the gains.
///
/// `pieces` cover the space; `targets` add up to the same number of cells. Holders without a target (or with 0) lose all they have.
/// With `max_slices` there are at most so many pieces, and then movement may be above the sum of the gains.
///
/// Cost: O(s log s) for s pieces; about twelve times that when `max_slices` bites.
pub fn rebalance(pieces: &[Piece], targets: &ByHolder, max_slices: Option<u32>) -> Result<Rebalanced> {
    let made = once(pieces.to_vec(), targets)?;
    let most = max_slices.map_or(usize::MAX, |most| most as usize);
    if made.len() <= most {
        let moved = ByHolder::loads(pieces, targets.0.len());
        let moved = targets.above(&moved).sum();
        return Ok(Rebalanced { pieces: made, moved });
    }
    let least = targets.0.iter().filter(|t| **t > 0).count();
    if most < least {
        return Err(Error::Impossible {
            problem: format!(
                "max_slices = {most} cannot be met: {least} holders have a weight and each needs a slice; set it to {least} or more"
            ),
        });
    }
    within(pieces, targets, most)
}

/// One contiguous piece for each holder, in their order: the first layout.
pub(super) fn contiguous(targets: &ByHolder) -> Vec<Piece> {
    join(targets.0.iter().zip(0..).map(|(cells, i)| Piece { cells: *cells, holder: HolderId(i) }))
}

/// A rebalance without a limit.
fn once(pieces: Vec<Piece>, targets: &ByHolder) -> Result<Vec<Piece>> {
    let holders = targets.0.len();
    let loads = ByHolder::loads(&pieces, holders);
    let mut surplus = loads.above(targets);
    let mut deficit = targets.above(&loads);
    let pieces = shift(pieces, &mut surplus, &mut deficit);
    let pieces = fill(release(pieces, surplus), deficit);
    // what every later guarantee stands on; a wrong map must not leave this function
    if ByHolder::loads(&pieces, holders) != *targets {
        return Err(Error::Internal { problem: "a rebalance missed its targets".into() });
    }
    Ok(pieces)
}

/// The one with the least movement of the rebalances that stay within `most` pieces, among about twelve coalesced starts and a few
/// contiguous layouts.
///
/// Halving finds about how much must be coalesced: the fewer pieces are kept, the fewer come out and the more
/// moves, nearly. A contiguous layout always has few enough, and is often better where the limit is tight.
fn within(pieces: &[Piece], targets: &ByHolder, most: usize) -> Result<Rebalanced> {
    let mut tried: Vec<Vec<Piece>> = contiguous_in_place(pieces, targets);
    let (mut works, mut fails) = (0, pieces.len().max(2));
    while fails - works > 1 + works / 64 {
        let keep = works + (fails - works) / 2;
        let made = once(coalesce(pieces, targets, keep), targets)?;
        if made.len() <= most {
            works = keep;
            tried.push(made);
        } else {
            fails = keep;
        }
    }
    let fits = tried.into_iter().filter(|made| made.len() <= most);
    let rebalanced = fits.map(|made| Rebalanced { moved: moved_between(pieces, &made), pieces: made });
    // of equal ones the first
    rebalanced
        .reduce(|best, next| if next.moved < best.moved { next } else { best })
        .ok_or_else(|| Error::Internal { problem: "no rebalance stayed within max_slices".into() })
}

/// Layouts with one piece a holder, in the order in which the holders have their longest pieces now; those that have none come in
/// between, at five places.
fn contiguous_in_place(pieces: &[Piece], targets: &ByHolder) -> Vec<Vec<Piece>> {
    // holder -> length and middle of its longest piece, of equal ones the first
    let mut longest: Vec<(u128, u128)> = vec![(0, 0); targets.0.len()];
    let mut start = 0;
    for piece in pieces {
        if let Some(known) = longest.get_mut(piece.holder.0 as usize).filter(|known| known.0 < piece.cells) {
            *known = (piece.cells, start + piece.cells / 2);
        }
        start += piece.cells;
    }
    let (mut old, mut new): (Vec<(u128, Piece)>, Vec<Piece>) = (Vec::new(), Vec::new());
    for (((cells, middle), target), id) in longest.into_iter().zip(&targets.0).zip(0..) {
        let piece = Piece { cells: *target, holder: HolderId(id) };
        match cells {
            0 => new.push(piece),
            _ => old.push((middle, piece)),
        }
    }
    old.sort_unstable_by_key(|(middle, piece)| (*middle, piece.holder));
    let places: &[usize] = if new.iter().all(|p| p.cells == 0) { &[4] } else { &[0, 1, 2, 3, 4] };
    let layout = |quarter: &usize| {
        let (before, after) = old.split_at(old.len() * quarter / 4);
        join(before.iter().map(|o| o.1).chain(new.iter().copied()).chain(after.iter().map(|o| o.1)))
    };
    places.iter().map(layout).collect()
}

/// How many cells have another holder in `new` than in `old`; both cover the same space.
fn moved_between(old: &[Piece], new: &[Piece]) -> u128 {
    let mut moved = 0;
    let mut new = new.iter().copied();
    let mut now = new.next();
    for piece in old {
        let mut cells = piece.cells;
        while cells > 0 {
            let Some(other) = &mut now else { break };
            let both = cells.min(other.cells);
            if other.holder != piece.holder {
                moved += both;
            }
            cells -= both;
            other.cells -= both;
            if other.cells == 0 {
                now = new.next();
            }
        }
    }
    moved
}
