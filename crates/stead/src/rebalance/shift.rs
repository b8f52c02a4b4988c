//! Shift: roles that must grow take from the pieces beside their own, which makes no new piece.
//!
//! A border can be shifted where the two sets differ by one exchange: the left one has `a` where
//! the right one has `b`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::chain::{Chain, Link};
use super::piece::{join, Piece};
use super::role::{ByRole, Role};
use super::sets::{SetId, Sets};

/// Moves borders between a role that must shrink (`surplus`) and one beside it that must grow
/// (`deficit`), and takes both down by what moved.
///
/// First whole pieces, shortest first, until none fits: each one removed is a piece less, two less
/// where both neighbours are the same. Then parts, shortest piece first: each uses up a surplus or
/// a deficit.
pub(super) fn shift(
    pieces: Vec<Piece>,
    sets: &Sets,
    surplus: &mut ByRole,
    deficit: &mut ByRole,
) -> Vec<Piece> {
    if !pieces.iter().any(|p| has(sets, p.set, deficit)) {
        return pieces; // those who grow have no pieces yet
    }
    let mut pieces = take_wholes(&pieces, sets, surplus, deficit);
    take_parts(&mut pieces, sets, surplus, deficit);
    join(pieces)
}

/// Whether a role of the set has a number above 0 in the table.
fn has(sets: &Sets, set: SetId, table: &ByRole) -> bool {
    sets.roles(set).iter().any(|role| table.of(*role) > 0)
}

/// Takes donors' pieces that fit into their neighbours' deficits. What is refused once stays
/// refused, since surpluses and deficits only shrink, unless its neighbour changes: then it is
/// tried again.
fn take_wholes(
    pieces: &[Piece],
    sets: &Sets,
    surplus: &mut ByRole,
    deficit: &mut ByRole,
) -> Vec<Piece> {
    let mut chain = Chain::new(pieces);
    let shortest = pieces
        .iter()
        .zip(0..)
        .filter(|(p, _)| has(sets, p.set, surplus))
        .map(|(p, i)| Reverse((p.cells, i)));
    let mut shortest: BinaryHeap<Reverse<(u128, usize)>> = shortest.collect();
    while let Some(Reverse((cells, i))) = shortest.pop() {
        let Some(Link { piece, left, right }) = chain.get(i) else {
            continue;
        };
        if piece.cells == 0 || piece.cells != cells {
            continue;
        }
        let exchange = |at: Option<usize>| {
            let beside = chain.get(at?)?.piece;
            sets.exchange(piece.set, beside.set)
                .filter(|(from, to)| surplus.of(*from) >= cells && deficit.of(*to) > 0)
        };
        let Some(Taken {
            from,
            left: to_left,
            right: to_right,
        }) = taken(cells, exchange(left), exchange(right), deficit)
        else {
            continue;
        };
        surplus.take(from, cells);
        for (to, part) in [to_left, to_right].into_iter().flatten() {
            deficit.take(to, part);
        }
        let (left, right) = chain.give(i, to_left.map_or(0, |(_, part)| part));
        // a donor's piece that stood beside the one that is gone now stands beside a receiver
        for neighbour in [left, right].into_iter().flatten() {
            if let Some(link) = chain
                .get(neighbour)
                .filter(|link| has(sets, link.piece.set, surplus))
            {
                shortest.push(Reverse((link.piece.cells, neighbour)));
            }
        }
    }
    chain.into_pieces()
}

/// Who gives up a whole piece, and who gets how much of it on either side.
struct Taken {
    from: Role,
    left: Option<(Role, u128)>,
    right: Option<(Role, u128)>,
}

/// How a whole piece goes to its neighbours: to the left one as far as it has room, the rest to the
/// right one; `None` when it does not fit.
fn taken(
    cells: u128,
    left: Option<(Role, Role)>,
    right: Option<(Role, Role)>,
    deficit: &ByRole,
) -> Option<Taken> {
    let room = |side: Option<(Role, Role)>| side.map_or(0, |(_, to)| deficit.of(to));
    if let (Some((from, to)), Some((also, other))) = (left, right) {
        let together =
            from == also && to != other && room(left) < cells && cells <= room(left) + room(right);
        if together {
            return Some(Taken {
                from,
                left: Some((to, room(left))),
                right: Some((other, cells - room(left))),
            });
        }
    }
    match (left, right) {
        (Some((from, to)), _) if cells <= room(left) => Some(Taken {
            from,
            left: Some((to, cells)),
            right: None,
        }),
        (_, Some((from, to))) if cells <= room(right) => Some(Taken {
            from,
            left: None,
            right: Some((to, cells)),
        }),
        _ => None,
    }
}

/// Moves each border as far as the donor's surplus and the neighbour's deficit allow.
fn take_parts(pieces: &mut [Piece], sets: &Sets, surplus: &mut ByRole, deficit: &mut ByRole) {
    let mut order: Vec<(u128, usize)> = pieces
        .iter()
        .zip(0..)
        .filter(|(p, _)| has(sets, p.set, surplus))
        .map(|(p, i)| (p.cells, i))
        .collect();
    order.sort_unstable();
    for (_, i) in order {
        for neighbour in [i.checked_sub(1), i.checked_add(1)].into_iter().flatten() {
            let (Some(&piece), Some(&beside)) = (pieces.get(i), pieces.get(neighbour)) else {
                continue;
            };
            let Some((from, to)) = sets.exchange(piece.set, beside.set) else {
                continue;
            };
            let moved = deficit.take(to, piece.cells.min(surplus.of(from)));
            surplus.take(from, moved);
            if let Some(beside) = pieces.get_mut(neighbour) {
                beside.cells += moved;
            }
            if let Some(piece) = pieces.get_mut(i) {
                piece.cells -= moved;
            }
        }
    }
}
