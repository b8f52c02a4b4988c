//! Price: what it costs, against the start of the rebalance, that cells change their set.
//!
//! A copy that moves costs `COPY` a cell. A copy that has moved already moves on for nothing, and
//! one that goes back to where it was is a refund. A cell whose primary changes while it keeps its
//! copy costs 1: that moves nothing, but between equal movements the fewer changed primaries are
//! better.

use super::piece::{copies_moved, Piece};
use super::sets::{SetId, Sets};

/// The price of one moved copy of a cell. A primary that changes place costs a quarter of that.
pub(super) const COPY: i128 = 4;

/// The sets at the start of the rebalance, by place.
pub(super) struct Prices<'a> {
    sets: &'a Sets,
    /// The first cell and the set of each piece at the start.
    runs: Vec<(u128, SetId)>,
}

impl<'a> Prices<'a> {
    /// Prices against these pieces.
    pub(super) fn new(start: &[Piece], sets: &'a Sets) -> Prices<'a> {
        let mut first = 0;
        let run = |piece: &Piece| {
            let run = (first, piece.set);
            first += piece.cells;
            run
        };
        Prices {
            sets,
            runs: start.iter().map(run).collect(),
        }
    }

    /// The price at which the cells from `first` to before `end` change their set. A negative price
    /// is a refund.
    pub(super) fn of(&self, first: u128, end: u128, from: SetId, to: SetId) -> i128 {
        let place = self.runs.partition_point(|(start, _)| *start <= first);
        let mut runs = self.runs.iter().skip(place.saturating_sub(1)).peekable();
        let (mut first, mut sum) = (first, 0);
        while first < end {
            let Some((_, old)) = runs.next() else { break };
            let until = runs.peek().map_or(end, |(start, _)| end.min(*start));
            // at most 2^64 cells
            let cells = (until - first) as i128;
            sum += cells * (self.against(*old, to) - self.against(*old, from));
            first = until;
        }
        sum
    }

    /// How many cells beside a place, to its right or to its left, had one set at the start, and
    /// the price at which each of them changes its set.
    pub(super) fn near(&self, place: u128, right: bool, from: SetId, to: SetId) -> (u128, i128) {
        let after = self.runs.partition_point(|(start, _)| match right {
            true => *start <= place,
            false => *start < place,
        });
        let Some((start, old)) = after.checked_sub(1).and_then(|run| self.runs.get(run)) else {
            return (0, 0);
        };
        let cells = match (right, self.runs.get(after)) {
            (true, Some((end, _))) => end - place,
            (true, None) => u128::MAX,
            (false, _) => place - start,
        };
        (cells, self.against(*old, to) - self.against(*old, from))
    }

    /// The price of a cell that had the set `old` and has the set `now`.
    fn against(&self, old: SetId, now: SetId) -> i128 {
        if old == now {
            return 0;
        }
        let was = self.sets.primary(old);
        let turned = was.is_some_and(|was| {
            self.sets.primary(now) != Some(was) && self.sets.role_of(now, was).is_some()
        });
        // at most R copies
        COPY * copies_moved(self.sets, old, now) as i128 + i128::from(turned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_goes_back_is_a_refund_and_one_that_moves_on_is_free() {
        let mut sets = Sets::default();
        let start = sets.pieces(&[(5, &[0, 1]), (5, &[2, 3])]);
        let [a, b, c, turned] = [[0, 1], [2, 1], [4, 1], [1, 0]].map(|set| sets.of(&set));
        let prices = Prices::new(&start, &sets);
        assert_eq!(prices.of(1, 4, a, b), 3 * COPY);
        assert_eq!(prices.of(1, 4, b, c), 0);
        assert_eq!(prices.of(1, 4, b, a), -3 * COPY);
        assert_eq!(prices.of(1, 4, a, turned), 3);
        // from 5 on, node 2 had a copy
        assert_eq!(prices.near(5, true, a, b), (u128::MAX, -COPY));
        assert_eq!(prices.near(4, true, a, b), (1, COPY));
        assert_eq!(prices.near(5, false, a, b), (5, COPY));
        // two cells on each side of the old border: there node 2 had a copy, and 0 and 1 had none
        assert_eq!(prices.of(3, 7, a, b), 2 * COPY - 2 * COPY);
        assert_eq!(prices.of(3, 7, a, c), 2 * COPY);
    }
}
