//! Limit: a rebalance or a first layout with at most `max_slices` pieces, where the fleet sets that
//! limit.

use super::aim::Aim;
use super::coalesce::coalesce;
use super::exact;
use super::first_layout::{chunks, first_layout};
use super::holder::{HolderId, Role};
use super::piece::{join, moved, Piece};
use super::primaries;
use super::sets::Sets;
use super::table::Table;
use crate::error::{Error, Result};

/// The largest number of pieces that the fleet allows.
fn most(aim: &Aim) -> usize {
    aim.max_slices.map_or(usize::MAX, |most| most as usize)
}

fn too_few(aim: &Aim, least: usize) -> Error {
    let why = match aim.replicas() {
        1 => format!("{least} holders have a weight and each needs a slice"),
        r => format!("{r} copies with exact shares need {least} slices as far as is known"),
    };
    Error::Impossible {
        problem: format!(
            "max_slices = {} cannot be met: {why}; set it to {least} or more",
            most(aim)
        ),
    }
}

/// Computes the first pieces of a fleet.
pub(super) fn first(sets: &mut Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let nobody = [Piece {
        cells: aim.cells,
        set: sets.id([]),
    }];
    let mut chunks = chunks(aim.domains.holding(), aim.replicas(), most(aim));
    loop {
        let laid = first_layout(sets, aim, chunks);
        let pieces = primaries::put_right(&nobody, &laid, sets, aim)?;
        aim.prove(&pieces, sets)?;
        if pieces.len() <= most(aim) {
            return Ok(pieces);
        }
        if chunks == 1 {
            return Err(too_few(aim, pieces.len()));
        }
        chunks /= 2;
    }
}

/// Rebalances like `exact::rebalance`. Where the fleet sets `max_slices`, the result has at most
/// that many pieces, and more points may move.
///
/// Cost: about twelve times that of `exact::rebalance` when the result of that has too many pieces.
pub(super) fn rebalance(pieces: &[Piece], sets: &mut Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let made = exact::rebalance(pieces, sets, aim)?;
    if made.len() <= most(aim) {
        return Ok(made);
    }
    if aim.replicas() > 1 {
        return within_several(pieces, sets, aim);
    }
    let least = aim.targets.above_zero().count();
    if most(aim) < least {
        return Err(too_few(aim, least));
    }
    within_one(pieces, sets, aim)
}

/// Rebalances within the limit at one replica. Tries about a dozen starts, coalesced to different
/// degrees, and a few fresh layouts. Of the results within the limit, takes the one with the least
/// movement.
///
/// Binary search finds about how much must be coalesced: in nearly all cases, the fewer pieces are
/// kept, the fewer come out and the more moves. A fresh layout has few pieces and is often better
/// where the limit is tight.
fn within_one(pieces: &[Piece], sets: &mut Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let mut tried = fresh(pieces, sets, aim);
    let (mut works, mut fails) = (0, pieces.len().max(2));
    while fails - works > 1 + works / 64 {
        let keep = works + (fails - works) / 2;
        let made = exact::rebalance(&coalesce(pieces, sets, aim, keep), sets, aim)?;
        if made.len() <= most(aim) {
            works = keep;
            tried.push(made);
        } else {
            fails = keep;
        }
    }
    let fewest = tried.iter().map(Vec::len).min().unwrap_or(usize::MAX);
    // of equal results the first
    let fits = tried.into_iter().filter(|made| made.len() <= most(aim));
    fits.min_by_key(|made| moved(pieces, made, sets))
        .ok_or_else(|| too_few(aim, fewest))
}

/// Rebalances within the limit at several replicas. Tries about a dozen starts, coalesced to
/// different degrees. Of the results within the limit, takes the one with the least movement for
/// each piece of room that it leaves below the limit. A fresh layout moves nearly everything, so it
/// is taken only when nothing else fits.
///
/// Coalescing moves all holders off their targets, and correcting that takes about two cuts for
/// each holder, however little was coalesced. So coalescing should not be needed in every epoch.
/// Leaving room below the limit avoids that.
fn within_several(pieces: &[Piece], sets: &mut Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let laid = first_layout(sets, aim, 1);
    let fresh = primaries::put_right(pieces, &laid, sets, aim)?;
    let mut tried = Vec::new();
    // keep nine tenths, eight tenths, ... one tenth; then 1/16, 1/32, ... until one piece is left
    let tenths = (1..10).rev().map(|tenths| pieces.len() * tenths / 10);
    let halves = (4..)
        .map(|k| pieces.len() >> k)
        .take_while(|keep| *keep > 0);
    for keep in tenths.chain(halves) {
        tried.push(exact::rebalance(
            &coalesce(pieces, sets, aim, keep),
            sets,
            aim,
        )?);
    }
    let fewest = tried.iter().map(Vec::len).fold(fresh.len(), usize::min);
    let with_cost = |made: Vec<Piece>| {
        let room = most(aim).checked_sub(made.len())? as u128;
        Some((moved(pieces, &made, sets), 1 + room, made))
    };
    // of equal results the first; the products fit: at most 2^72 copies and 2^32 pieces
    let better = |best: (u128, u128, Vec<Piece>), next: (u128, u128, Vec<Piece>)| {
        if next.0 * best.1 < best.0 * next.1 {
            next
        } else {
            best
        }
    };
    let best = tried.into_iter().filter_map(with_cost).reduce(better);
    let best = best.map(|(_, _, made)| made);
    best.or(Some(fresh).filter(|fresh| fresh.len() <= most(aim)))
        .ok_or_else(|| too_few(aim, fewest))
}

/// Layouts of one replica with few pieces. The holders lie in the order of their longest present
/// pieces. Holders that have no piece yet are inserted together, at five different positions.
fn fresh(pieces: &[Piece], sets: &mut Sets, aim: &Aim) -> Vec<Vec<Piece>> {
    // length and middle of each holder's longest piece; of equal ones the first
    let mut longest: Table<HolderId, (u128, u128)> = Table::filled(aim.holders(), (0, 0));
    let mut start = 0;
    for piece in pieces {
        for holder in sets.holders(piece.set) {
            if longest[holder].0 < piece.cells {
                longest[holder] = (piece.cells, start + piece.cells / 2);
            }
        }
        start += piece.cells;
    }
    let (mut old, mut new): (Vec<(u128, HolderId)>, Vec<HolderId>) = (Vec::new(), Vec::new());
    for (holder, (cells, middle)) in longest.iter() {
        match cells {
            0 => new.push(holder),
            _ => old.push((*middle, holder)),
        }
    }
    old.sort_unstable();
    let old: Vec<HolderId> = old.into_iter().map(|(_, holder)| holder).collect();
    let mut layout = |quarter: usize| {
        let (before, after) = old.split_at(old.len() * quarter / 4);
        let piece = |holder: &HolderId| Piece {
            cells: aim.targets[*holder],
            set: sets.id([Role::primary(*holder)]),
        };
        let order = before.iter().chain(&new).chain(after);
        join(order.map(piece).collect::<Vec<Piece>>())
    };
    match new.iter().all(|holder| aim.targets[*holder] == 0) {
        true => vec![layout(4)],
        false => (0..=4).map(layout).collect(),
    }
}
