//! Shift: roles that must grow take cells from pieces beside their own, which makes no new piece.
//!
//! A border can move where the sets on its two sides differ by one exchange: the left one has role
//! `a` where the right one has role `b`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::chain::Chain;
use super::demand::Demand;
use super::holder::{ByRole, Role};
use super::piece::{join, Piece, PieceId};
use super::sets::{SetId, Sets};
use super::table::Table;

/// Moves borders between a role that must shrink and a role beside it that must grow, and reduces
/// the demand by what moved.
///
/// First takes whole pieces, shortest first, until none fits. Each one saves a piece, or two where
/// both its neighbours have the same set. Then takes parts of pieces, shortest piece first. Each
/// part uses up a surplus or a deficit.
pub(super) fn shift(pieces: Vec<Piece>, sets: &Sets, demand: &mut Demand) -> Vec<Piece> {
    let pieces: Table<PieceId, Piece> = pieces.into();
    let beside = beside_takers(&pieces, sets, demand);
    if beside.is_empty() {
        return pieces.into_values();
    }
    let before = pieces.len();
    let pieces = take_wholes(pieces, &beside, sets, demand);
    let beside = if pieces.len() == before {
        beside // none was taken
    } else {
        beside_takers(&pieces, sets, demand)
    };
    take_parts(pieces, beside, sets, demand)
}

/// Whether a role of the set has a number above 0 in the table.
fn has(sets: &Sets, set: SetId, table: &ByRole) -> bool {
    sets.roles(set).iter().any(|role| table[*role] > 0)
}

/// The pieces of donors that lie beside a piece of a role that must grow. No other piece can give
/// anything.
fn beside_takers(pieces: &Table<PieceId, Piece>, sets: &Sets, demand: &Demand) -> Vec<PieceId> {
    let takes: Table<PieceId, bool> = pieces
        .values()
        .iter()
        .map(|piece| has(sets, piece.set, &demand.deficit))
        .collect();
    let is_beside = |(id, piece): &(PieceId, &Piece)| {
        let mut beside = takes.neighbours(*id).into_iter().flatten();
        beside.any(|beside| takes[beside]) && has(sets, piece.set, &demand.surplus)
    };
    let beside = pieces.iter().filter(is_beside);
    beside.map(|(id, _)| id).collect()
}

/// Takes pieces of donors that fit into the deficits of their neighbours. Surpluses and deficits
/// only shrink, so a piece that did not fit is tried again only after one of its neighbours has
/// changed.
fn take_wholes(
    pieces: Table<PieceId, Piece>,
    beside: &[PieceId],
    sets: &Sets,
    demand: &mut Demand,
) -> Table<PieceId, Piece> {
    let mut shortest: BinaryHeap<Reverse<(u128, PieceId)>> = beside
        .iter()
        .map(|id| Reverse((pieces[*id].cells, *id)))
        .collect();
    let mut chain = Chain::new(pieces.into_values());
    let gives = |demand: &Demand, piece: Piece| has(sets, piece.set, &demand.surplus);
    while let Some(Reverse((cells, id))) = shortest.pop() {
        let piece = chain[id];
        if piece.cells == 0 || piece.cells != cells {
            continue; // it is gone, or it changed and is in the heap a second time
        }
        let exchange = |beside: Option<PieceId>| {
            sets.exchange(piece.set, chain[beside?].set)
                .filter(|(from, to)| demand.surplus[*from] >= cells && demand.deficit[*to] > 0)
        };
        let [left, right] = chain.neighbours(id).map(exchange);
        let Some(taken) = Taken::of(cells, left, right, &demand.deficit) else {
            continue;
        };
        demand.surplus[taken.from] -= cells;
        for (to, part) in [taken.left, taken.right].into_iter().flatten() {
            demand.deficit[to] -= part;
        }
        let to_left = taken.left.map_or(0, |(_, part)| part);
        // the neighbours of the piece now stand beside another piece: try those of donors again
        for beside in chain.give(id, to_left).into_iter().flatten() {
            if gives(demand, chain[beside]) {
                shortest.push(Reverse((chain[beside].cells, beside)));
            }
        }
    }
    chain.into_pieces().into()
}

/// Which role gives up a whole piece, and which roles get how much of it on either side.
struct Taken {
    from: Role,
    left: Option<(Role, u128)>,
    right: Option<(Role, u128)>,
}

impl Taken {
    /// Decides how a whole piece goes to its neighbours, given the exchanges with them: the left
    /// one gets as much as it has room for, the right one the rest. `None` when the piece does not
    /// fit.
    fn of(
        cells: u128,
        left: Option<(Role, Role)>,
        right: Option<(Role, Role)>,
        deficit: &ByRole,
    ) -> Option<Taken> {
        let room = |side: Option<(Role, Role)>| side.map_or(0, |(_, to)| deficit[to]);
        let (left_room, right_room) = (room(left), room(right));
        match (left, right) {
            (Some((from, to)), Some((also, other)))
                if from == also
                    && to != other
                    && left_room < cells
                    && cells <= left_room + right_room =>
            {
                Some(Taken {
                    from,
                    left: Some((to, left_room)),
                    right: Some((other, cells - left_room)),
                })
            }
            (Some((from, to)), _) if cells <= left_room => Some(Taken {
                from,
                left: Some((to, cells)),
                right: None,
            }),
            (_, Some((from, to))) if cells <= right_room => Some(Taken {
                from,
                left: None,
                right: Some((to, cells)),
            }),
            _ => None,
        }
    }
}

/// Moves each border as far as the donor's surplus and the neighbour's deficit allow.
fn take_parts(
    mut pieces: Table<PieceId, Piece>,
    mut order: Vec<PieceId>,
    sets: &Sets,
    demand: &mut Demand,
) -> Vec<Piece> {
    order.sort_unstable_by_key(|id| (pieces[*id].cells, *id));
    for id in order {
        for beside in pieces.neighbours(id).into_iter().flatten() {
            let piece = pieces[id];
            let Some((from, to)) = sets.exchange(piece.set, pieces[beside].set) else {
                continue;
            };
            let moved = demand
                .deficit
                .take(to, piece.cells.min(demand.surplus[from]));
            demand.surplus[from] -= moved;
            pieces[beside].cells += moved;
            pieces[id].cells -= moved;
        }
    }
    join(pieces.into_values())
}
