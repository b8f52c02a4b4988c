//! A chain of pieces from which single ones are taken out: a doubly linked list over their indices.

use super::piece::{join, Piece};

/// A piece with its neighbours in the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The piece; without cells when it was taken out.
    pub piece: Piece,
    /// The neighbour on the left, by its index.
    pub left: Option<usize>,
    /// The neighbour on the right.
    pub right: Option<usize>,
}

/// The pieces in their order; what is taken out stays behind without cells.
pub(super) struct Chain {
    links: Vec<Link>,
    count: usize,
}

impl Chain {
    pub(super) fn new(pieces: &[Piece]) -> Chain {
        let last = pieces.len().saturating_sub(1);
        let link = |(i, piece): (usize, &Piece)| Link {
            piece: *piece,
            left: i.checked_sub(1),
            right: (i < last).then_some(i + 1),
        };
        Chain {
            links: pieces.iter().enumerate().map(link).collect(),
            count: pieces.len(),
        }
    }

    /// How many pieces are in the chain.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, i: usize) -> Option<Link> {
        self.links.get(i).copied()
    }

    pub(super) fn into_pieces(self) -> Vec<Piece> {
        join(self.links.into_iter().map(|link| link.piece))
    }

    /// Takes piece `i` out and gives its cells to its neighbours: `to_left` to the left one, the
    /// rest to the right one. When both have one set then, the left one becomes both. Returns the
    /// neighbours that are left.
    pub(super) fn give(&mut self, i: usize, to_left: u128) -> (Option<usize>, Option<usize>) {
        let Some(Link { left, right, .. }) = self.get(i) else {
            return (None, None);
        };
        let cells = self.unlink(i);
        let to_left = if right.is_none() {
            cells
        } else if left.is_none() {
            0
        } else {
            to_left.min(cells)
        };
        self.add(left, to_left);
        self.add(right, cells - to_left);
        let set = |at: Option<usize>| at.and_then(|at| self.get(at)).map(|link| link.piece.set);
        match right.filter(|_| left.is_some() && set(left) == set(right)) {
            Some(joined) => {
                let cells = self.unlink(joined);
                self.add(left, cells);
                (
                    left,
                    left.and_then(|left| self.get(left))
                        .and_then(|link| link.right),
                )
            }
            None => (left, right),
        }
    }

    fn add(&mut self, i: Option<usize>, cells: u128) {
        if let Some(link) = i.and_then(|i| self.links.get_mut(i)) {
            link.piece.cells += cells;
        }
    }

    /// Takes piece `i` out of the chain and returns its cells.
    fn unlink(&mut self, i: usize) -> u128 {
        let Some(link) = self.links.get_mut(i) else {
            return 0;
        };
        let cells = std::mem::take(&mut link.piece.cells);
        let (left, right) = (link.left, link.right);
        if let Some(link) = left.and_then(|left| self.links.get_mut(left)) {
            link.right = right;
        }
        if let Some(link) = right.and_then(|right| self.links.get_mut(right)) {
            link.left = left;
        }
        self.count -= 1;
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::super::holder::HolderId;
    use super::super::role::Role;
    use super::super::sets::Sets;
    use super::*;

    fn pieces(list: &[(u128, u32)]) -> Vec<Piece> {
        let mut sets = Sets::default();
        // so that the same holder is the same set in every list
        for h in 0..10 {
            sets.id([Role::primary(HolderId(h))]);
        }
        list.iter()
            .map(|(cells, h)| Piece {
                cells: *cells,
                set: sets.id([Role::primary(HolderId(*h))]),
            })
            .collect()
    }

    #[test]
    fn what_is_taken_out_goes_to_its_neighbours() {
        let start = pieces(&[(5, 0), (3, 1), (4, 0), (2, 2)]);
        let mut chain = Chain::new(&start);
        assert_eq!(chain.give(1, 1), (Some(0), Some(3))); // both neighbours have set 0
        assert_eq!((chain.count(), chain.get(0).unwrap().piece.cells), (2, 12));
        assert_eq!(chain.give(3, 0), (Some(0), None)); // no right neighbour: all goes to the left
        assert_eq!(chain.into_pieces(), pieces(&[(14, 0)]));
        let mut chain = Chain::new(&start);
        assert_eq!(chain.give(2, 1), (Some(1), Some(3)));
        assert_eq!(chain.give(0, 5), (None, Some(1)));
        assert_eq!(chain.into_pieces(), pieces(&[(9, 1), (5, 2)]));
    }
}
