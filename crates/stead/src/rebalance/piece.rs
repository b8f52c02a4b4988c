//! Pieces: the slices during a rebalance, as lengths in cells.

use super::holder::{ByHolder, ByRole};
use super::sets::{SetId, Sets};
use super::table::Id;

/// A run of cells that are held by one set of roles. The pieces, in order, cover the whole space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// The number of cells; up to G, which may be 2^64.
    pub cells: u128,
    /// The set that holds them.
    pub set: SetId,
}

/// A piece, identified by its position among the pieces that a step starts with, followed by the
/// pieces that the step cuts off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct PieceId(u32);

impl Id for PieceId {
    fn new(place: u32) -> PieceId {
        PieceId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// The number of cells of each holder. There are `holders` holders.
pub(super) fn loads(pieces: &[Piece], sets: &Sets, holders: usize) -> ByHolder {
    let mut loads = ByHolder::zeros(holders);
    for piece in pieces {
        for holder in sets.holders(piece.set) {
            loads[holder] += piece.cells;
        }
    }
    loads
}

/// The number of cells that each holder has in each of its roles.
pub(super) fn role_loads(pieces: &[Piece], sets: &Sets, holders: usize) -> ByRole {
    let mut loads = ByRole::zeros(holders * 2);
    for piece in pieces {
        for role in sets.roles(piece.set) {
            loads[*role] += piece.cells;
        }
    }
    loads
}

/// Drops empty pieces and joins neighbours that have the same set.
pub(super) fn join(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let pieces = pieces.into_iter();
    let mut out: Vec<Piece> = Vec::with_capacity(pieces.size_hint().0);
    for piece in pieces {
        append(&mut out, piece);
    }
    out
}

/// Appends a piece, unless it is empty. Joins it with the last one if that has the same set.
#[inline]
pub(super) fn append(out: &mut Vec<Piece>, piece: Piece) {
    match out.last_mut() {
        _ if piece.cells == 0 => {}
        Some(before) if before.set == piece.set => before.cells += piece.cells,
        _ => out.push(piece),
    }
}

/// Cuts two lists of pieces that cover the same space at the bounds of both. Yields for each run
/// its number of cells, its set in `old` and its set in `new`.
pub(super) fn overlay<'a>(
    old: &'a [Piece],
    new: &'a [Piece],
) -> impl Iterator<Item = (u128, SetId, SetId)> + 'a {
    let (mut old, mut new) = (
        old.iter().copied().peekable(),
        new.iter().copied().peekable(),
    );
    std::iter::from_fn(move || {
        let (a, b) = (old.peek_mut()?, new.peek_mut()?);
        let cells = a.cells.min(b.cells);
        let run = (cells, a.set, b.set);
        a.cells -= cells;
        b.cells -= cells;
        let (a_ends, b_ends) = (a.cells == 0, b.cells == 0);
        if a_ends {
            old.next();
        }
        if b_ends {
            new.next();
        }
        Some(run)
    })
}

/// How many copies of each cell move when its set changes from `before` to `after`.
pub(super) fn copies_moved(sets: &Sets, before: SetId, after: SetId) -> u128 {
    if before == after {
        return 0;
    }
    sets.beyond(after, before).count() as u128
}

/// How many copies have a different holder in `new` than in `old`.
pub(super) fn moved(old: &[Piece], new: &[Piece], sets: &Sets) -> u128 {
    overlay(old, new)
        .map(|(cells, before, after)| cells * copies_moved(sets, before, after))
        .sum()
}

#[cfg(test)]
impl Sets {
    /// For tests: pieces with these numbers of cells and these holders. The first holder is the
    /// primary.
    pub(super) fn pieces(&mut self, list: &[(u128, &[u32])]) -> Vec<Piece> {
        let mut piece = |(cells, holders): &(u128, &[u32])| Piece {
            cells: *cells,
            set: self.of(holders),
        };
        list.iter().map(&mut piece).collect()
    }
}
