//! Shift: holders that must grow take from the slices beside their own, which makes no new slice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::chain::{Chain, Link};
use super::piece::{join, ByHolder, HolderId, Piece};

/// Moves borders between a holder that must shrink (`surplus`) and a neighbour that must grow (`deficit`), and takes both down by
/// what moved.
///
/// First whole slices, shortest first, until none fits: each one removed is a slice less, two less where both
/// neighbours are the same holder. Then parts, shortest slice first: each uses up a surplus or a deficit.
pub(super) fn shift(pieces: Vec<Piece>, surplus: &mut ByHolder, deficit: &mut ByHolder) -> Vec<Piece> {
    if !pieces.iter().any(|p| deficit.of(p.holder) > 0) {
        return pieces; // those who grow have no slices yet
    }
    let mut pieces = take_wholes(&pieces, surplus, deficit);
    take_parts(&mut pieces, surplus, deficit);
    join(pieces)
}

/// The donors' pieces, shortest first, of equal ones the first.
fn donors(pieces: &[Piece], surplus: &ByHolder) -> Vec<usize> {
    let mut order: Vec<(u128, usize)> =
        pieces.iter().zip(0..).filter(|(p, _)| surplus.of(p.holder) > 0).map(|(p, i)| (p.cells, i)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

/// Takes donors' pieces that fit into their neighbours' deficits. What is refused once stays refused, since surpluses and deficits
/// only shrink, unless its neighbour changes: then it is tried again.
fn take_wholes(pieces: &[Piece], surplus: &mut ByHolder, deficit: &mut ByHolder) -> Vec<Piece> {
    let mut chain = Chain::new(pieces);
    let shortest = pieces.iter().zip(0..).filter(|(p, _)| surplus.of(p.holder) > 0).map(|(p, i)| Reverse((p.cells, i)));
    let mut shortest: BinaryHeap<Reverse<(u128, usize)>> = shortest.collect();
    while let Some(Reverse((cells, i))) = shortest.pop() {
        let Some(Link { piece, left, right }) = chain.get(i) else { continue };
        if piece.cells == 0 || piece.cells != cells || cells > surplus.of(piece.holder) {
            continue;
        }
        let holder = |at: Option<usize>| at.and_then(|at| chain.get(at)).map(|link| link.piece.holder);
        let (left, right) = (holder(left), holder(right));
        let room = |h: Option<HolderId>| h.map_or(0, |h| deficit.of(h));
        let all = if left == right { room(left) } else { room(left) + room(right) };
        if cells > all {
            continue;
        }
        surplus.take(piece.holder, cells);
        let to_left = left.map_or(0, |h| deficit.take(h, cells));
        if let Some(right) = right {
            deficit.take(right, cells - to_left);
        }
        let (left, right) = chain.give(i, to_left);
        // a donor's piece that stood beside the one that is gone now stands beside a receiver
        for neighbour in [left, right].into_iter().flatten() {
            if let Some(link) = chain.get(neighbour).filter(|link| surplus.of(link.piece.holder) > 0) {
                shortest.push(Reverse((link.piece.cells, neighbour)));
            }
        }
    }
    chain.into_pieces()
}

/// Adds cells to the piece `i`, which must be there.
fn grow(pieces: &mut [Piece], i: usize, cells: u128) {
    if let Some(piece) = pieces.get_mut(i) {
        piece.cells += cells;
    }
}

/// Moves each border as far as the donor's surplus and the neighbour's deficit allow.
fn take_parts(pieces: &mut [Piece], surplus: &mut ByHolder, deficit: &mut ByHolder) {
    for i in donors(pieces, surplus) {
        for neighbour in [i.checked_sub(1), i.checked_add(1)].into_iter().flatten() {
            let (Some(&from), Some(&to)) = (pieces.get(i), pieces.get(neighbour)) else { continue };
            let most = from.cells.min(surplus.of(from.holder));
            let moved = deficit.take(to.holder, most);
            surplus.take(from.holder, moved);
            grow(pieces, neighbour, moved);
            if let Some(piece) = pieces.get_mut(i) {
                piece.cells -= moved;
            }
        }
    }
}
