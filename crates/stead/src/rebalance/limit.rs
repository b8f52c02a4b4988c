//! Limit: a rebalance or a first layout with at most `max_slices` pieces, where the fleet sets that
//! limit.

use super::aim::Aim;
use super::coalesce::coalesce;
use super::exact;
use super::first_layout::{chunks, fewer, first_layout};
use super::holder::{ByHolder, HolderId, Role};
use super::piece::{join, loads, moved, Piece};
use super::primaries;
use super::sets::Sets;
use super::table::Table;
use super::trade::trade;
use crate::error::{Error, Result};

/// The largest number of pieces that the fleet allows.
pub(super) fn most(aim: &Aim) -> usize {
    aim.max_slices.map_or(usize::MAX, |most| most as usize)
}

/// The refusal of a limit. `found` is the fewest pieces that were found.
fn too_few(aim: &Aim, found: usize) -> Error {
    let least = least(aim);
    let why = match aim.replicas() {
        1 => format!("{least} holders have a weight and each needs a slice"),
        _ if found <= least => format!("each of {least} nodes is the primary of a slice"),
        r => format!("{r} copies with exact shares need {found} slices as far as is known"),
    };
    Error::Impossible {
        problem: format!(
            "max_slices = {} cannot be met: {why}; set it to {found} or more",
            most(aim)
        ),
    }
}

/// A number of pieces that no rebalance can go below. A piece has one primary, and a holder that
/// must be a primary, because it has at least R cells, needs one. At one replica this number can be
/// met.
fn least(aim: &Aim) -> usize {
    let needs_one = |holder: &HolderId| aim.primary_range(*holder).0 > 0;
    aim.targets.ids().filter(needs_one).count()
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
        let nothing = ByHolder::zeros(aim.holders());
        let pieces = primaries::put_right((&nobody, &nothing), laid, sets, aim)?;
        aim.prove(&pieces, sets)?;
        if pieces.len() <= most(aim) {
            return Ok(pieces);
        }
        if chunks == 1 {
            let traded = traded(&nobody, &pieces, sets, aim)?;
            return match traded.len() <= most(aim) {
                true => Ok(traded),
                false => Err(too_few(aim, traded.len())),
            };
        }
        chunks = fewer(chunks, aim.replicas(), chunks);
    }
}

/// Rebalances like `exact::rebalance`. Where the fleet sets `max_slices`, the result has at most
/// that many pieces, and more points may move.
///
/// When the exact result has too many pieces, `trade` removes the cheapest ones. Other starts are
/// tried where that is not enough, and always at one replica.
pub(super) fn rebalance(pieces: &[Piece], sets: &mut Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let made = exact::rebalance(pieces, sets, aim)?;
    if made.len() <= most(aim) {
        return Ok(made);
    }
    let traded = traded(pieces, &made, sets, aim)?;
    match aim.replicas() {
        1 => within_one(pieces, traded, sets, aim),
        _ if traded.len() <= most(aim) => Ok(traded),
        _ => within_several(pieces, traded.len(), sets, aim),
    }
}

/// Removes pieces by trades, down to the limit or as far as that goes. The trades do not depend on
/// the limit, which only says where they stop: a limit that they reach once can always be reached.
/// At one replica they leave a 32nd of the limit free, which costs less over many steps.
fn traded(start: &[Piece], made: &[Piece], sets: &Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let goal = match aim.replicas() {
        1 => most(aim) - most(aim) / 32,
        _ => most(aim),
    };
    let traded = trade(start, made, sets, aim.holders(), goal);
    aim.prove(&traded, sets)?;
    Ok(traded)
}

/// Chooses the result with the least movement at one replica: the `traded` one, a fresh layout, or
/// one of about a dozen starts that are coalesced to different degrees.
///
/// Binary search finds about how much must be coalesced: in nearly all cases, the fewer pieces are
/// kept, the fewer come out and the more moves. A fresh layout has few pieces and is often better
/// where the limit is tight.
fn within_one(
    pieces: &[Piece],
    traded: Vec<Piece>,
    sets: &mut Sets,
    aim: &Aim,
) -> Result<Vec<Piece>> {
    let least = least(aim);
    if most(aim) < least {
        return Err(too_few(aim, least));
    }
    let mut tried = vec![traded];
    tried.extend(fresh(pieces, sets, aim));
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

/// Rebalances within the limit at several replicas, where trades alone did not reach it but stopped
/// at `fewest` pieces. Coalesces more and more of the pieces, with an exact rebalance and trades
/// after each, and takes the first result within the limit. A fresh layout moves nearly everything,
/// so it is the last resort.
fn within_several(
    pieces: &[Piece],
    mut fewest: usize,
    sets: &mut Sets,
    aim: &Aim,
) -> Result<Vec<Piece>> {
    // keep nine tenths, eight tenths, ... one tenth; then 1/16, 1/32, ... until one piece is left
    let tenths = (1..10).rev().map(|tenths| pieces.len() * tenths / 10);
    let halves = (4..)
        .map(|k| pieces.len() >> k)
        .take_while(|keep| *keep > 0);
    for keep in tenths.chain(halves) {
        let made = exact::rebalance(&coalesce(pieces, sets, aim, keep), sets, aim)?;
        let made = traded(pieces, &made, sets, aim)?;
        if made.len() <= most(aim) {
            return Ok(made);
        }
        fewest = fewest.min(made.len());
    }
    let laid = first_layout(sets, aim, 1);
    let before = loads(pieces, sets, aim.holders());
    let fresh = primaries::put_right((pieces, &before), laid, sets, aim)?;
    let fresh = traded(pieces, &fresh, sets, aim)?;
    if fresh.len() <= most(aim) {
        return Ok(fresh);
    }
    Err(too_few(aim, fewest.min(fresh.len())))
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
