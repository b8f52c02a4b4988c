//! Shift: holders that must grow take from the slices beside their own, which makes no new slice.

use super::piece::{join, ByHolder, HolderId, Piece};

/// Moves borders between a holder that must shrink (`surplus`) and a neighbour that must grow (`deficit`), and takes both down by
/// what moved.
///
/// First whole slices, shortest first, again and again until none fits: each one removed is a slice less, two less where both
/// neighbours are the same holder. Then parts, shortest slice first: each uses up a surplus or a deficit.
pub(super) fn shift(mut pieces: Vec<Piece>, surplus: &mut ByHolder, deficit: &mut ByHolder) -> Vec<Piece> {
    if !pieces.iter().any(|p| deficit.of(p.holder) > 0) {
        return pieces; // those who grow have no slices yet
    }
    loop {
        let before = pieces.len();
        take_wholes(&mut pieces, surplus, deficit);
        pieces = join(pieces);
        if pieces.len() == before {
            break;
        }
    }
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

/// Adds cells to the piece `i`, which must be there.
fn grow(pieces: &mut [Piece], i: usize, cells: u128) {
    if let Some(piece) = pieces.get_mut(i) {
        piece.cells += cells;
    }
}

/// One pass over the donors' pieces that fit into their neighbours' deficits. A piece that is taken stays with length 0.
fn take_wholes(pieces: &mut [Piece], surplus: &mut ByHolder, deficit: &mut ByHolder) {
    for i in donors(pieces, surplus) {
        let Some(&Piece { cells, holder: donor }) = pieces.get(i) else { continue };
        if cells > surplus.of(donor) {
            continue;
        }
        // the nearest neighbours that are not taken yet
        let (head, tail) = pieces.split_at(i);
        let left = head.iter().rposition(|p| p.cells > 0);
        let right = tail.iter().skip(1).position(|p| p.cells > 0).map(|k| i + 1 + k);
        let holder = |at: Option<usize>| at.and_then(|at| pieces.get(at)).map(|p| p.holder);
        let (left_holder, right_holder) = (holder(left), holder(right));
        let room = |h: Option<HolderId>| h.map_or(0, |h| deficit.of(h));
        let same = left_holder == right_holder;
        let all = if same { room(left_holder) } else { room(left_holder) + room(right_holder) };
        if cells > all {
            continue;
        }
        surplus.take(donor, cells);
        let to_left = left_holder.map_or(0, |h| deficit.take(h, cells));
        let to_right = right_holder.map_or(0, |h| deficit.take(h, cells - to_left));
        if let Some(left) = left {
            grow(pieces, left, to_left);
        }
        if let Some(right) = right {
            grow(pieces, right, to_right);
        }
        if let Some(piece) = pieces.get_mut(i) {
            piece.cells = 0;
        }
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
