//! Trade: removes pieces, the cheapest first, and keeps every role at its number of cells.
//!
//! A neighbour absorbs a piece. Its set has other roles than the piece, so these gain cells and the
//! roles of the piece lose as many. Borders elsewhere move by the same number of cells, and give
//! back what was gained to those who lost it. No step adds a piece, and all sets are sets that were
//! there before, so the caps hold.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::borders::{Arc, Borders};
use super::holder::Role;
use super::piece::{Piece, PieceId};
use super::price::COPY;
use super::route::{Found, Load, Routes};
use super::sets::{SetId, Sets};
use super::table::Table;

/// Removes pieces until `most` are left, or until no trade is found that removes one. `start` is
/// what the rebalance started with: movement is counted against it.
pub(super) fn trade(
    start: &[Piece],
    pieces: &[Piece],
    sets: &Sets,
    holders: usize,
    most: usize,
) -> Vec<Piece> {
    let mut trading = Trading {
        borders: Borders::new(start, pieces, sets, holders),
        routes: Routes::new(holders * 2),
        heap: BinaryHeap::new(),
        known: Table::filled(pieces.len(), Known::default()),
        patience: FAILURES.max(pieces.len()),
    };
    loop {
        let before = trading.borders.count();
        trading.pass(most);
        let after = trading.borders.count();
        if after <= most || after == before || trading.patience == 0 {
            return trading.borders.into_pieces();
        }
    }
}

/// More than any price: a route moves at most 2^64 cells a few times.
const NO_LIMIT: i128 = 1 << 100;

/// How often a piece is tried at a higher price before it is dropped. The price doubles each time,
/// so the last tries have no limit in effect.
const TRIES: u32 = 16;

/// How many attempts may fail in all (one for each piece, where there are more pieces than that),
/// and how many more for each piece that is removed. In the histories of docs/rebalance.md, about
/// 25 fail for each piece. The first trade is found late: in a step of 5,000 nodes with 24,919
/// pieces, after more than 8,257 failures.
const FAILURES: usize = 8192;
const FAILURES_EACH: usize = 64;

/// A piece that may be removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// What removing the piece costs at least, as far as is known: twice the price for each piece
    /// that is saved.
    price: i128,
    id: PieceId,
    /// How often the piece was tried at a limit that was too low.
    tries: u32,
    version: u32,
}

/// What is known of a piece.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Counts the candidates, so that old ones are recognised.
    version: u32,
    /// The price and the tries of the last candidate, and how many cells the piece had then.
    price: i128,
    tries: u32,
    cells: u128,
}

struct Trading<'a> {
    borders: Borders<'a>,
    routes: Routes,
    heap: BinaryHeap<Reverse<Candidate>>,
    known: Table<PieceId, Known>,
    /// How many more attempts may fail.
    patience: usize,
}

/// How a piece can be removed.
struct Way {
    price: i128,
    to_left: bool,
    /// A route for each debt.
    routes: Vec<Vec<Arc>>,
}

impl Trading<'_> {
    /// Tries all pieces, the cheapest first, until `most` are left.
    fn pass(&mut self, most: usize) {
        for id in self.borders.ids().collect::<Vec<PieceId>>() {
            self.propose(id);
        }
        while self.borders.count() > most && self.patience > 0 {
            let Some(Reverse(candidate)) = self.heap.pop() else {
                break;
            };
            let id = candidate.id;
            if candidate.version != self.known[id].version || self.borders.piece(id).cells == 0 {
                continue; // it has changed, or it is gone
            }
            let next = self.heap.peek().map_or(i128::MAX, |next| next.0.price);
            let before = self.borders.count();
            self.attempt(candidate, next);
            if self.borders.count() < before {
                self.patience += FAILURES_EACH;
            } else {
                self.patience -= 1;
            }
        }
        self.heap.clear();
    }

    /// Enters a piece as a candidate, at the price of absorbing it alone.
    fn propose(&mut self, id: PieceId) {
        match self.alone(id) {
            Some(price) => self.enter(id, price, 0),
            None => self.known[id].version += 1,
        }
    }

    /// Enters a piece again whose border has moved. What its routes cost is taken to be the same
    /// for each cell.
    fn propose_again(&mut self, id: PieceId) {
        let Known {
            price,
            tries,
            cells,
            ..
        } = self.known[id];
        let now = self.borders.piece(id).cells;
        let Some(alone) = self.alone(id) else {
            self.known[id].version += 1;
            return;
        };
        let price = if now < cells && price > 0 {
            price / cells as i128 * now as i128
        } else {
            price
        };
        self.enter(id, price.max(alone), tries);
    }

    /// Twice the price of absorbing a piece, for each piece that is saved, without the routes.
    fn alone(&self, id: PieceId) -> Option<i128> {
        if self.borders.piece(id).cells == 0 {
            return None;
        }
        let sides = self.sides(id);
        let price = sides.map(|(_, set)| self.borders.price_of(id, set)).min()?;
        Some(2 * price / self.saves(id))
    }

    fn enter(&mut self, id: PieceId, price: i128, tries: u32) {
        let known = &mut self.known[id];
        *known = Known {
            version: known.version + 1,
            price,
            tries,
            cells: self.borders.piece(id).cells,
        };
        self.heap.push(Reverse(Candidate {
            price,
            id,
            tries,
            version: known.version,
        }));
    }

    /// The sides that can absorb a piece, and their sets. Where both have the same set, the left
    /// one stands for both.
    fn sides(&self, id: PieceId) -> impl Iterator<Item = (bool, SetId)> {
        let [left, right] = self
            .borders
            .neighbours(id)
            .map(|beside| Some(self.borders.piece(beside?).set));
        let right = right.filter(|set| Some(*set) != left);
        left.map(|set| (true, set))
            .into_iter()
            .chain(right.map(|set| (false, set)))
    }

    /// How many pieces are saved when a piece is absorbed.
    fn saves(&self, id: PieceId) -> i128 {
        match self.borders.neighbours(id) {
            [Some(left), Some(right)]
                if self.borders.piece(left).set == self.borders.piece(right).set =>
            {
                2
            }
            _ => 1,
        }
    }

    /// Tries to remove a piece at a price that no other candidate can beat. Where that fails, the
    /// candidate is entered again at a higher price, or dropped when no way was found at all.
    fn attempt(&mut self, candidate: Candidate, next: i128) {
        let Candidate {
            id, price, tries, ..
        } = candidate;
        let cells = self.borders.piece(id).cells as i128;
        let limit = price.saturating_add((cells * 2 * COPY) << tries.min(8));
        let saves = self.saves(id);
        // a limit for the whole trade
        let whole = if saves == 2 { limit } else { limit / 2 };
        let (mut best, mut dear): (Option<Way>, bool) = (None, false);
        for (to_left, set) in self.sides(id).collect::<Vec<_>>() {
            match self.way(id, to_left, set, whole) {
                Ok(way) => {
                    if best.as_ref().is_none_or(|best| way.price < best.price) {
                        best = Some(way);
                    }
                }
                Err(too_dear) => dear |= too_dear,
            }
        }
        let again = match best {
            Some(way) => {
                let found = 2 * way.price / saves;
                if found <= price.max(next) {
                    if self.remove(id, way) {
                        return;
                    }
                    limit + 1
                } else {
                    found
                }
            }
            None if dear => limit + 1,
            None => return,
        };
        if tries < TRIES {
            self.enter(id, again, tries + 1);
        }
    }

    /// The price of removing a piece to one side. `Err(true)` when it costs more than the limit,
    /// `Err(false)` when no way was found.
    fn way(&mut self, id: PieceId, to_left: bool, set: SetId, limit: i128) -> Result<Way, bool> {
        let mut price = self.borders.price_of(id, set);
        let mut routes = Vec::new();
        for load in self.debts(id, set) {
            match self.routes.find(&self.borders, load, limit - price) {
                Found::Route(more, route) => {
                    price += more;
                    routes.push(route);
                }
                Found::TooDear => return Err(true),
                Found::Nothing => return Err(false),
            }
        }
        if price > limit {
            return Err(true);
        }
        Ok(Way {
            price,
            to_left,
            routes,
        })
    }

    /// Which roles gain cells when a neighbour with this set absorbs a piece, and to which roles
    /// they owe them.
    fn debts(&self, id: PieceId, set: SetId) -> Vec<Load> {
        let sets = self.borders.sets;
        let Piece { cells, set: own } = self.borders.piece(id);
        let beyond = |set: SetId, other: SetId| {
            let others = sets.roles(other);
            let roles = sets.roles(set).iter().copied();
            let mut roles: Vec<Role> = roles
                .filter(|role| others.binary_search(role).is_err())
                .collect();
            roles.sort_by_key(|role| !role.is_primary());
            roles
        };
        let (gain, lose) = (beyond(set, own), beyond(own, set));
        let load = |(from, to): (Role, Role)| Load {
            from,
            to,
            cells,
            apart: id,
        };
        gain.into_iter().zip(lose).map(load).collect()
    }

    /// Removes a piece and settles the debts. Returns whether that was possible; otherwise nothing
    /// has changed.
    fn remove(&mut self, id: PieceId, way: Way) -> bool {
        let cells = self.borders.piece(id).cells;
        let [left, right] = self.borders.neighbours(id);
        let Some(taker) = (if way.to_left { left } else { right }) else {
            return false;
        };
        let set = self.borders.piece(taker).set;
        let mut made: Vec<Arc> = Vec::new();
        for (load, route) in self.debts(id, set).into_iter().zip(way.routes) {
            // the route of a debt before may have taken the cells of this one
            let moved = self.pass_along(route, cells).or_else(|| {
                match self.routes.find(&self.borders, load, NO_LIMIT) {
                    Found::Route(_, route) => self.pass_along(route, cells),
                    _ => None,
                }
            });
            let Some(moved) = moved else {
                self.undo(&made, cells);
                return false;
            };
            made.extend(moved);
        }
        let beside = self.borders.absorb(id, way.to_left);
        for arc in &made {
            if let Some((loses, gains)) = self.borders.sides(*arc) {
                self.propose_again(loses);
                self.propose_again(gains);
            }
        }
        for id in beside.into_iter().flatten() {
            self.propose(id);
        }
        true
    }

    /// Moves all borders of a route and returns them; or none, when one of them cannot move.
    fn pass_along(&mut self, route: Vec<Arc>, cells: u128) -> Option<Vec<Arc>> {
        let mut made = Vec::with_capacity(route.len());
        for arc in route {
            if !self.borders.shift(arc, cells) {
                self.undo(&made, cells);
                return None;
            }
            made.push(arc);
        }
        Some(made)
    }

    fn undo(&mut self, made: &[Arc], cells: u128) {
        for arc in made.iter().rev() {
            self.borders.shift(arc.back(), cells);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::piece::{join, moved, role_loads};
    use super::*;

    #[test]
    fn a_short_piece_is_absorbed_and_its_cells_come_back_elsewhere() {
        let mut sets = Sets::default();
        let start = sets.pieces(&[(10, &[0]), (1, &[1]), (10, &[0]), (7, &[1]), (9, &[2])]);
        let made = trade(&start, &start, &sets, 3, 3);
        assert_eq!(
            made,
            sets.pieces(&[(20, &[0]), (8, &[1]), (9, &[2])]),
            "1 took a cell back at its other border with 0"
        );
        assert_eq!(moved(&start, &made, &sets), 2);
    }

    #[test]
    fn cells_come_back_through_a_third_holder() {
        let mut sets = Sets::default();
        let start = sets.pieces(&[(9, &[0]), (1, &[1]), (9, &[0]), (9, &[2]), (9, &[1])]);
        let made = trade(&start, &start, &sets, 3, 3);
        assert_eq!(made, sets.pieces(&[(18, &[0]), (9, &[2]), (10, &[1])]));
        // control: where no border leads back, nothing changes
        let start = sets.pieces(&[(9, &[0]), (1, &[1]), (9, &[0])]);
        assert_eq!(trade(&start, &start, &sets, 3, 1), start);
    }

    #[test]
    fn cells_that_have_moved_already_move_on_for_nothing() {
        // all cells of 3 moved there in this rebalance. 3 takes one more from 0, and gives one to
        // 1, which had it at the start
        let mut sets = Sets::default();
        let start = sets.pieces(&[(10, &[0]), (1, &[1]), (9, &[0]), (20, &[1])]);
        let exact = sets.pieces(&[(10, &[0]), (1, &[1]), (6, &[0]), (8, &[3]), (15, &[1])]);
        let made = trade(&start, &exact, &sets, 4, 3);
        assert_eq!(made, sets.pieces(&[(16, &[0]), (8, &[3]), (16, &[1])]));
        assert_eq!(
            (moved(&start, &exact, &sets), moved(&start, &made, &sets)),
            (8, 9)
        );
    }

    /// Pieces of two copies among six holders.
    fn pieces() -> impl Strategy<Value = Vec<(u128, u32, u32)>> {
        prop::collection::vec((1u128..50, 0u32..6, 1u32..6), 1..80)
    }

    fn made(list: &[(u128, u32, u32)], sets: &mut Sets) -> Vec<Piece> {
        join(list.iter().map(|(cells, primary, step)| Piece {
            cells: *cells,
            set: sets.of(&[*primary, (*primary + step) % 6]),
        }))
    }

    proptest! {
        #[test]
        fn a_trade_keeps_every_role_at_its_cells(start in pieces(), now in pieces(), most in 1usize..80) {
            let mut sets = Sets::default();
            let (start, now) = (made(&start, &mut sets), made(&now, &mut sets));
            let fewest = trade(&start, &now, &sets, 6, 1);
            prop_assert_eq!(role_loads(&fewest, &sets, 6), role_loads(&now, &sets, 6));
            prop_assert!(fewest.iter().all(|piece| now.iter().any(|other| other.set == piece.set)));
            // the limit decides only where the trades stop
            let within = trade(&start, &now, &sets, 6, most);
            prop_assert_eq!(role_loads(&within, &sets, 6), role_loads(&now, &sets, 6));
            prop_assert!(within.len() <= most.max(fewest.len()));
            if most >= now.len() {
                prop_assert_eq!(within, now);
            }
        }
    }
}
