//! Coalesce: reduces the number of pieces before a rebalance, at the cost of more movement, for
//! fleets that set `max_slices`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::aim::Aim;
use super::chain::Chain;
use super::holder::{ByHolder, HolderId};
use super::piece::{loads, Piece, PieceId};
use super::sets::{SetId, Sets};

/// Absorbs the cheapest pieces, each into one of its neighbours, until `keep` pieces are left or
/// only one. The cost of a piece is its length times the number of roles that the neighbour has and
/// the piece has not. A set is legal at every place of the space, so a neighbour's set may cover
/// the piece.
///
/// Of two neighbours with the same cost, the one whose holders are further below their targets
/// takes the piece, so that the following rebalance has less to undo. In all, coalescing increases
/// the movement by at most twice the absorbed length times the holders that the neighbours add.
pub(super) fn coalesce(pieces: &[Piece], sets: &Sets, aim: &Aim, keep: usize) -> Vec<Piece> {
    let mut work = Coalescing {
        chain: Chain::new(pieces.iter().copied()),
        sets,
        aim,
        loads: loads(pieces, sets, aim.holders()),
    };
    let mut cheapest: BinaryHeap<Reverse<(u128, PieceId)>> = work
        .chain
        .ids()
        .filter_map(|id| Some(Reverse((work.cost(id)?, id))))
        .collect();
    while work.chain.count() > keep.max(1) {
        let Some(Reverse((cost, id))) = cheapest.pop() else {
            break;
        };
        let Some(now) = work.cost(id) else { continue };
        if now != cost {
            cheapest.push(Reverse((now, id))); // a neighbour has changed
            continue;
        }
        for changed in work.absorb(id).into_iter().flatten() {
            if let Some(cost) = work.cost(changed) {
                cheapest.push(Reverse((cost, changed)));
            }
        }
    }
    work.chain.into_pieces()
}

struct Coalescing<'a> {
    chain: Chain<Piece>,
    sets: &'a Sets,
    aim: &'a Aim,
    loads: ByHolder,
}

impl Coalescing<'_> {
    /// The number of roles that `set` has and `other` has not. A changed primary counts like a
    /// changed holder, since both must be corrected later.
    fn roles_beyond(&self, set: SetId, other: SetId) -> usize {
        let others = self.sets.roles(other);
        self.sets
            .roles(set)
            .iter()
            .filter(|role| others.binary_search(role).is_err())
            .count()
    }

    /// The cost of absorbing a piece: its length times the roles that the cheaper neighbour adds.
    /// `None` for a piece that was absorbed, and for the last piece.
    fn cost(&self, id: PieceId) -> Option<u128> {
        let piece = self.chain[id];
        let added = |beside: PieceId| self.roles_beyond(self.chain[beside].set, piece.set);
        let both = self.chain.neighbours(id).into_iter().flatten();
        let fewest = both.map(added).min().filter(|_| piece.cells > 0)?;
        Some(piece.cells * fewest as u128)
    }

    /// Gives a piece to the better neighbour and returns the neighbours that are left.
    fn absorb(&mut self, id: PieceId) -> [Option<PieceId>; 2] {
        let piece = self.chain[id];
        let worth = |beside: Option<PieceId>| {
            let set = self.chain[beside?].set;
            // both numbers are at most 2^64
            let need =
                |holder: HolderId| self.aim.targets[holder] as i128 - self.loads[holder] as i128;
            let gained: i128 = self.sets.beyond(set, piece.set).map(need).sum();
            let lost: i128 = self.sets.beyond(piece.set, set).map(need).sum();
            Some((
                Reverse(self.roles_beyond(set, piece.set)),
                gained - lost,
                set,
            ))
        };
        let [left, right] = self.chain.neighbours(id).map(worth);
        let rank = |(roles, need, _): (Reverse<usize>, i128, SetId)| (roles, need);
        let goes_left = left.map(rank) >= right.map(rank);
        if let Some((_, _, taker)) = if goes_left { left } else { right } {
            for holder in self.sets.beyond(piece.set, taker) {
                self.loads[holder] -= piece.cells;
            }
            for holder in self.sets.beyond(taker, piece.set) {
                self.loads[holder] += piece.cells;
            }
        }
        self.chain.give(id, if goes_left { piece.cells } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pieces: &[(u128, &[u32])], targets: &[u128], keep: usize, expected: &[(u128, &[u32])]) {
        let mut sets = Sets::default();
        let (pieces, expected) = (sets.pieces(pieces), sets.pieces(expected));
        let aim = Aim::free(1, targets);
        assert_eq!(coalesce(&pieces, &sets, &aim, keep), expected);
    }

    #[test]
    fn the_shortest_piece_goes_to_the_neighbour_that_lacks_more() {
        let pieces: [(u128, &[u32]); 4] = [(5, &[0]), (2, &[1]), (3, &[2]), (6, &[1])];
        made(&pieces, &[9, 4, 3], 3, &[(7, &[0]), (3, &[2]), (6, &[1])]);
        made(&pieces, &[5, 4, 7], 3, &[(5, &[0]), (5, &[2]), (6, &[1])]);
        made(&pieces, &[5, 4, 7], 4, &pieces);
    }

    #[test]
    fn neighbours_of_one_set_become_one_piece_and_the_last_piece_stays() {
        made(
            &[(5, &[0]), (1, &[1]), (4, &[0])],
            &[9, 1],
            2,
            &[(10, &[0])],
        );
        made(
            &[(5, &[0]), (1, &[1]), (4, &[2])],
            &[5, 1, 4],
            0,
            &[(10, &[0])],
        );
    }

    #[test]
    fn the_cost_is_length_times_the_roles_that_change() {
        // two cells of two roles cost 4; three cells of one role cost 3
        made(
            &[(2, &[0, 1]), (9, &[2, 3]), (3, &[2, 4])],
            &[2, 2, 12, 9, 3],
            2,
            &[(2, &[0, 1]), (12, &[2, 3])],
        );
        // a changed primary counts as a changed role: four cells where only the primary changes
        // cost 8, three cells with another holder cost 3
        made(
            &[(3, &[0, 3]), (9, &[0, 1]), (4, &[1, 0])],
            &[16, 13, 0, 3],
            2,
            &[(12, &[0, 1]), (4, &[1, 0])],
        );
    }
}
