//! Borders: pieces whose borders move, with their places in the space, and the borders of each
//! role.
//!
//! A border is named by the piece on its right. Where the sets on its two sides differ by exactly
//! one exchange, it can move: one role then gains what the other loses, nothing else changes, and
//! no piece is added.

use super::chain::Chain;
use super::holder::Role;
use super::piece::{Piece, PieceId};
use super::price::Prices;
use super::sets::{SetId, Sets};
use super::table::Table;

/// Pieces in order, and their borders.
pub(super) struct Borders<'a> {
    pub sets: &'a Sets,
    prices: Prices<'a>,
    chain: Chain<Piece>,
    /// The first cell of each piece.
    first: Table<PieceId, u128>,
    /// For the left border of each piece: the role that only its left side has, and the role that
    /// only its right side has. `None` where the border cannot move.
    exchange: Table<PieceId, Option<(Role, Role)>>,
    /// For the left border of each piece that can move: how far it can move right, and left, at one
    /// price for each cell, and that price.
    near: Table<PieceId, [(u128, i128); 2]>,
    /// The borders at which each role stands. The lists may also contain former ones.
    of: Table<Role, Vec<PieceId>>,
}

/// A border that can move so that one role loses cells and another gains them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// The piece on the right of the border.
    pub border: PieceId,
    /// Whether the border moves right: the piece on its right loses the cells.
    pub right: bool,
    /// The role that loses cells.
    pub from: Role,
    /// The role that gains them.
    pub to: Role,
}

impl Arc {
    /// The same border, moved back.
    pub(super) fn back(self) -> Arc {
        Arc {
            right: !self.right,
            from: self.to,
            to: self.from,
            ..self
        }
    }
}

impl<'a> Borders<'a> {
    /// The borders of these pieces, which are held by `holders` holders. `start` is what the
    /// rebalance started with.
    pub(super) fn new(
        start: &[Piece],
        pieces: &[Piece],
        sets: &'a Sets,
        holders: usize,
    ) -> Borders<'a> {
        let mut place = 0;
        let first = |piece: &Piece| {
            let first = place;
            place += piece.cells;
            first
        };
        let mut borders = Borders {
            sets,
            prices: Prices::new(start, sets),
            chain: Chain::new(pieces.iter().copied()),
            first: pieces.iter().map(first).collect(),
            exchange: Table::filled(pieces.len(), None),
            near: Table::filled(pieces.len(), [(0, 0); 2]),
            of: Table::filled(holders * 2, Vec::new()),
        };
        for id in borders.chain.ids() {
            borders.enter(id);
        }
        borders
    }

    /// Finds out what the left border of a piece exchanges.
    fn enter(&mut self, id: PieceId) {
        let left = self.left(id);
        let exchange =
            left.and_then(|left| self.sets.exchange(self.chain[left].set, self.chain[id].set));
        self.exchange[id] = exchange;
        if let Some((a, b)) = exchange {
            for role in [a, b] {
                let chain = &self.chain;
                let list = &mut self.of[role];
                list.retain(|border| *border != id && chain[*border].cells > 0);
                list.push(id);
            }
            self.look_around(id);
        }
    }

    /// Finds the prices beside the left border of a piece.
    fn look_around(&mut self, id: PieceId) {
        let Some(left) = self.left(id) else { return };
        let (at, left, right) = (self.first[id], self.chain[left].set, self.chain[id].set);
        self.near[id] = [
            self.prices.near(at, true, right, left),
            self.prices.near(at, false, left, right),
        ];
    }

    /// The ids of all pieces, including those that were removed.
    pub(super) fn ids(&self) -> impl Iterator<Item = PieceId> {
        self.chain.ids()
    }

    /// The number of pieces.
    pub(super) fn count(&self) -> usize {
        self.chain.count()
    }

    /// A piece; one that was removed has no cells.
    pub(super) fn piece(&self, id: PieceId) -> Piece {
        self.chain[id]
    }

    /// The price at which a piece changes its set.
    pub(super) fn price_of(&self, id: PieceId, set: SetId) -> i128 {
        let (first, piece) = (self.first[id], self.chain[id]);
        self.prices.of(first, first + piece.cells, piece.set, set)
    }

    /// The price of moving the border of an arc. `None` when the piece that loses the cells has no
    /// more than that, or when the piece `apart` is on a side of the border.
    pub(super) fn price(&self, arc: Arc, cells: u128, apart: PieceId) -> Option<i128> {
        let (loses, gains) = self.sides(arc)?;
        if loses == apart || gains == apart || self.chain[loses].cells <= cells {
            return None;
        }
        let [right, left] = self.near[arc.border];
        let (reach, each) = if arc.right { right } else { left };
        if cells <= reach {
            return Some(cells as i128 * each); // at most 2^64 cells
        }
        let at = self.first[arc.border];
        let (first, end) = if arc.right {
            (at, at + cells)
        } else {
            (at - cells, at)
        };
        let (from, to) = (self.chain[loses].set, self.chain[gains].set);
        Some(self.prices.of(first, end, from, to))
    }

    /// The pieces on both sides of a piece.
    pub(super) fn neighbours(&self, id: PieceId) -> [Option<PieceId>; 2] {
        self.chain.neighbours(id)
    }

    fn left(&self, id: PieceId) -> Option<PieceId> {
        let [left, _] = self.chain.neighbours(id);
        left
    }

    /// The borders that can move so that `role` loses cells (`gives`), or gains them.
    pub(super) fn arcs(&self, role: Role, gives: bool) -> impl Iterator<Item = Arc> + '_ {
        self.of[role].iter().filter_map(move |border| {
            if self.chain[*border].cells == 0 {
                return None;
            }
            let (left, right) = self.exchange[*border]?;
            let other = match role {
                _ if role == left => right,
                _ if role == right => left,
                _ => return None,
            };
            let (from, to) = if gives { (role, other) } else { (other, role) };
            Some(Arc {
                border: *border,
                right: from == right,
                from,
                to,
            })
        })
    }

    /// The piece that loses cells when the border of the arc moves, and the piece that gains them.
    pub(super) fn sides(&self, arc: Arc) -> Option<(PieceId, PieceId)> {
        let left = self.left(arc.border)?;
        Some(if arc.right {
            (arc.border, left)
        } else {
            (left, arc.border)
        })
    }

    /// Moves the border of an arc. The piece that loses the cells must have more than that, or
    /// nothing happens. Returns whether it did.
    pub(super) fn shift(&mut self, arc: Arc, cells: u128) -> bool {
        let Some((loses, gains)) = self.sides(arc) else {
            return false;
        };
        if self.chain[loses].cells <= cells {
            return false;
        }
        self.chain[loses].cells -= cells;
        self.chain[gains].cells += cells;
        if arc.right {
            self.first[arc.border] += cells;
        } else {
            self.first[arc.border] -= cells;
        }
        self.look_around(arc.border);
        true
    }

    /// Removes a piece and gives its cells to one of its neighbours. Neighbours that then have the
    /// same set are joined. Returns the neighbours that are left.
    pub(super) fn absorb(&mut self, id: PieceId, to_left: bool) -> [Option<PieceId>; 2] {
        let piece = self.chain[id];
        let [left, right] = self.chain.neighbours(id);
        if let (Some(right), false) = (right, to_left && left.is_some()) {
            self.first[right] = self.first[id];
        }
        let beside = self.chain.give(id, if to_left { piece.cells } else { 0 });
        if let [_, Some(right)] = beside {
            self.enter(right);
        }
        beside
    }

    /// The pieces from left to right.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        self.chain.into_pieces()
    }
}

#[cfg(test)]
mod tests {
    use super::super::holder::HolderId;
    use super::super::price::COPY;
    use super::*;

    #[test]
    fn a_border_moves_between_two_roles_and_knows_its_price() {
        let mut sets = Sets::default();
        let start = sets.pieces(&[(6, &[0, 1]), (4, &[2, 3])]);
        let now = sets.pieces(&[(4, &[0, 1]), (4, &[2, 1]), (2, &[2, 3])]);
        let [zero, two] = [0, 2].map(|holder| Role::primary(HolderId(holder)));
        let mut borders = Borders::new(&start, &now, &sets, 4);
        let [first, middle, last]: [PieceId; 3] =
            borders.ids().collect::<Vec<_>>().try_into().unwrap();
        let arcs: Vec<Arc> = borders.arcs(two, true).collect();
        let [arc] = arcs.try_into().unwrap();
        assert_eq!((arc.border, arc.from, arc.to), (middle, two, zero));
        // 0 had two of these cells at the start; 2 and 3 had the third one
        assert_eq!(borders.price(arc, 2, last), Some(-2 * COPY));
        assert_eq!(borders.price(arc, 3, last), Some(-COPY));
        assert_eq!(borders.price(arc, 3, first), None, "0 keeps its borders");
        assert_eq!(borders.price(arc, 4, last), None, "the piece would vanish");
        assert!(!borders.shift(arc, 4) && borders.shift(arc, 3));
        assert_eq!(borders.price(arc.back(), 3, last), Some(COPY));
        // the next piece absorbs the middle one; its border then exchanges two roles and is fixed
        assert_eq!(borders.absorb(middle, false), [Some(first), Some(last)]);
        assert_eq!(borders.arcs(two, true).count(), 0);
        assert_eq!(borders.price_of(last, now.first().unwrap().set), 6 * COPY);
        assert_eq!(
            borders.into_pieces(),
            sets.pieces(&[(7, &[0, 1]), (3, &[2, 3])])
        );
    }
}
