//! Coalesce: fewer pieces before a rebalance, bought with movement, for fleets that set
//! `max_slices`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::chain::{Chain, Link};
use super::holder::{ByHolder, HolderId};
use super::piece::{loads, Piece};
use super::sets::{SetId, Sets};

/// Absorbs the pieces that cost least (length times the roles that a neighbour has and the piece
/// has not) into a neighbour each, until `keep` are left or only one. A neighbour's set is legal
/// wherever it stands.
///
/// Of two neighbours that cost the same the one whose holders are further below their targets takes
/// the piece, so that the rebalance which follows has less to take back. At most twice the absorbed
/// length times those holders is moved in the end.
pub(super) fn coalesce(
    pieces: &[Piece],
    sets: &Sets,
    targets: &ByHolder,
    keep: usize,
) -> Vec<Piece> {
    let mut work = Work {
        chain: Chain::new(pieces),
        sets,
        targets,
        loads: loads(pieces, sets, targets.0.len()),
    };
    let mut cheapest: BinaryHeap<Reverse<(u128, usize)>> = (0..pieces.len())
        .filter_map(|i| Some(Reverse((work.cost(i)?, i))))
        .collect();
    while work.chain.count() > keep.max(1) {
        let Some(Reverse((cost, i))) = cheapest.pop() else {
            break;
        };
        let Some(now) = work.cost(i) else { continue };
        if now != cost {
            cheapest.push(Reverse((now, i))); // a neighbour has changed
            continue;
        }
        for changed in work.absorb(i).into_iter().flatten() {
            if let Some(cost) = work.cost(changed) {
                cheapest.push(Reverse((cost, changed)));
            }
        }
    }
    work.chain.into_pieces()
}

struct Work<'a> {
    chain: Chain,
    sets: &'a Sets,
    targets: &'a ByHolder,
    loads: ByHolder,
}

impl Work<'_> {
    fn set(&self, at: Option<usize>) -> Option<SetId> {
        Some(self.chain.get(at?)?.piece.set)
    }

    /// The holders that `set` has and `other` has not.
    fn beyond(&self, set: SetId, other: SetId) -> impl Iterator<Item = HolderId> + '_ {
        self.sets
            .holders(set)
            .filter(move |holder| self.sets.role_of(other, *holder).is_none())
    }

    /// How many roles `set` has that `other` has not: another primary has to be put right as
    /// another holder has.
    fn roles_beyond(&self, set: SetId, other: SetId) -> usize {
        let others = self.sets.roles(other);
        self.sets
            .roles(set)
            .iter()
            .filter(|role| others.binary_search(role).is_err())
            .count()
    }

    /// Length times the roles that the cheaper neighbour adds; `None` for what is absorbed, or the
    /// last piece.
    fn cost(&self, i: usize) -> Option<u128> {
        let Link { piece, left, right } = self.chain.get(i).filter(|link| link.piece.cells > 0)?;
        let added = |at| self.set(at).map(|set| self.roles_beyond(set, piece.set));
        let fewest = [added(left), added(right)].into_iter().flatten().min()?;
        Some(piece.cells * fewest as u128)
    }

    /// Gives piece `i` to the better neighbour; returns the neighbours that are left.
    fn absorb(&mut self, i: usize) -> [Option<usize>; 2] {
        let Some(Link { piece, left, right }) = self.chain.get(i) else {
            return [None, None];
        };
        let worth = |at| {
            let set = self.set(at)?;
            // both at most 2^64
            let need = |holder| self.targets.of(holder) as i128 - self.loads.of(holder) as i128;
            let gained: i128 = self.beyond(set, piece.set).map(need).sum();
            let lost: i128 = self.beyond(piece.set, set).map(need).sum();
            Some((Reverse(self.roles_beyond(set, piece.set)), gained - lost))
        };
        let goes_left = worth(left) >= worth(right);
        let Some(taker) = self.set(if goes_left { left } else { right }) else {
            return [None, None];
        };
        let gone: Vec<HolderId> = self.beyond(piece.set, taker).collect();
        let new: Vec<HolderId> = self.beyond(taker, piece.set).collect();
        for holder in gone {
            self.loads.take(holder, piece.cells);
        }
        for holder in new {
            self.loads.add(holder, piece.cells);
        }
        let (left, right) = self.chain.give(i, if goes_left { piece.cells } else { 0 });
        [left, right]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pieces: &[(u128, &[u32])], targets: &[u128], keep: usize, expected: &[(u128, &[u32])]) {
        let mut sets = Sets::default();
        let (pieces, expected) = (sets.pieces(pieces), sets.pieces(expected));
        assert_eq!(
            coalesce(&pieces, &sets, &ByHolder(targets.to_vec()), keep),
            expected
        );
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
    fn what_counts_is_length_times_the_roles_that_change() {
        // two cells of two roles cost 4, three cells of one role 3
        made(
            &[(2, &[0, 1]), (9, &[2, 3]), (3, &[2, 4])],
            &[2, 2, 12, 9, 3],
            2,
            &[(2, &[0, 1]), (12, &[2, 3])],
        );
        // another primary is a role as well: four cells that only change theirs cost 8, three with
        // another holder 3
        made(
            &[(3, &[0, 3]), (9, &[0, 1]), (4, &[1, 0])],
            &[16, 13, 0, 3],
            2,
            &[(12, &[0, 1]), (4, &[1, 0])],
        );
    }
}
