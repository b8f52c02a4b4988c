//! A chain of pieces: a doubly linked list, with its links in a table. Pieces can be removed from
//! it and inserted into it.

use super::piece::{join, Piece, PieceId};
use super::table::{Id, Table};

use std::ops::{Index, IndexMut};

/// Pieces, or other values that together cover the space, in an order that may change.
pub(super) struct Chain<T> {
    links: Table<PieceId, Link<T>>,
    first: Option<PieceId>,
    count: usize,
}

struct Link<T> {
    piece: T,
    left: Option<PieceId>,
    right: Option<PieceId>,
}

impl<T: Copy> Chain<T> {
    /// A chain of these pieces. The id of each is its position.
    pub(super) fn new(pieces: impl IntoIterator<Item = T>) -> Chain<T> {
        let link = |(place, piece): (u32, T)| Link {
            piece,
            left: place.checked_sub(1).map(PieceId::new),
            right: Some(PieceId::new(place + 1)),
        };
        let mut links: Table<PieceId, Link<T>> = (0..).zip(pieces).map(link).collect();
        if let Some(last) = links.ids().next_back() {
            links[last].right = None;
        }
        Chain {
            first: links.ids().next(),
            count: links.len(),
            links,
        }
    }

    /// The number of pieces in the chain.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The ids of all pieces, including those that were removed.
    pub(super) fn ids(&self) -> impl Iterator<Item = PieceId> {
        self.links.ids()
    }

    /// The neighbours of a piece on the left and on the right.
    pub(super) fn neighbours(&self, id: PieceId) -> [Option<PieceId>; 2] {
        let Link { left, right, .. } = &self.links[id];
        [*left, *right]
    }

    /// Inserts a new piece to the left of another.
    pub(super) fn put_left(&mut self, of: PieceId, piece: T) -> PieceId {
        self.put(piece, self.links[of].left, Some(of))
    }

    /// Inserts a new piece to the right of another.
    pub(super) fn put_right(&mut self, of: PieceId, piece: T) -> PieceId {
        self.put(piece, Some(of), self.links[of].right)
    }

    fn put(&mut self, piece: T, left: Option<PieceId>, right: Option<PieceId>) -> PieceId {
        let id = self.links.push(Link { piece, left, right });
        self.join_up(left, Some(id));
        self.join_up(Some(id), right);
        self.count += 1;
        id
    }

    /// Removes a piece. Its id is not used again.
    fn take_out(&mut self, id: PieceId) {
        let [left, right] = self.neighbours(id);
        self.join_up(left, right);
        self.count -= 1;
    }

    /// Makes two pieces neighbours. `None` stands for the end of the chain.
    fn join_up(&mut self, left: Option<PieceId>, right: Option<PieceId>) {
        match left {
            Some(left) => self.links[left].right = right,
            None => self.first = right,
        }
        if let Some(right) = right {
            self.links[right].left = left;
        }
    }

    /// The pieces from left to right.
    pub(super) fn in_order(&self) -> impl Iterator<Item = T> + '_ {
        let mut next = self.first;
        std::iter::from_fn(move || {
            let link = &self.links[next?];
            next = link.right;
            Some(link.piece)
        })
    }
}

impl<T> Index<PieceId> for Chain<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, id: PieceId) -> &T {
        &self.links[id].piece
    }
}

impl<T> IndexMut<PieceId> for Chain<T> {
    #[track_caller]
    fn index_mut(&mut self, id: PieceId) -> &mut T {
        &mut self.links[id].piece
    }
}

impl Chain<Piece> {
    /// The pieces from left to right; neighbours with the same set are joined.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        join(self.in_order())
    }

    /// Removes a piece and gives its cells to its neighbours: `to_left` of them to the left one and
    /// the rest to the right one, or all of them to the only neighbour. The removed piece keeps its
    /// id, with no cells. If both neighbours then have the same set, the left one absorbs the right
    /// one. Returns the neighbours that are left.
    ///
    /// The only piece of a chain is not removed.
    pub(super) fn give(&mut self, id: PieceId, to_left: u128) -> [Option<PieceId>; 2] {
        let [left, right] = self.neighbours(id);
        match (left, right) {
            (None, None) => {}
            (Some(one), None) | (None, Some(one)) => self.merge(id, one),
            (Some(left), Some(right)) => {
                self[left].cells += to_left;
                self[id].cells -= to_left;
                self.merge(id, right);
                if self[left].set == self[right].set {
                    self.merge(right, left);
                    return [Some(left), self.links[left].right];
                }
            }
        }
        [left, right]
    }

    /// Removes a piece and gives all its cells to another.
    fn merge(&mut self, id: PieceId, into: PieceId) {
        self[into].cells += std::mem::take(&mut self[id].cells);
        self.take_out(id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sets::Sets;
    use super::*;

    #[test]
    fn a_removed_piece_gives_its_cells_to_its_neighbours() {
        let mut sets = Sets::default();
        let start = sets.pieces(&[(5, &[0]), (3, &[1]), (4, &[0]), (2, &[2])]);
        let mut chain = Chain::new(start.iter().copied());
        let [a, b, c, d]: [PieceId; 4] = chain.ids().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(chain.give(b, 1), [Some(a), Some(d)]); // both neighbours have set 0
        assert_eq!((chain.count(), chain[a].cells), (2, 12));
        assert_eq!((chain[b].cells, chain[c].cells), (0, 0));
        assert_eq!(chain.give(d, 0), [Some(a), None]); // no right neighbour: all goes to the left
        assert_eq!(chain.give(a, 0), [None, None]); // no neighbour at all
        assert_eq!(chain.into_pieces(), sets.pieces(&[(14, &[0])]));
        let mut chain = Chain::new(start);
        assert_eq!(chain.give(c, 1), [Some(b), Some(d)]);
        assert_eq!(chain.give(a, 5), [None, Some(b)]);
        assert_eq!(chain.into_pieces(), sets.pieces(&[(9, &[1]), (5, &[2])]));
    }

    #[test]
    fn an_inserted_piece_stands_beside_its_neighbour() {
        let mut chain = Chain::new([1, 2]);
        let [one, two]: [PieceId; 2] = chain.ids().collect::<Vec<_>>().try_into().unwrap();
        let zero = chain.put_left(one, 0);
        chain.put_right(one, 10);
        chain.put_right(two, 20);
        assert_eq!(chain.in_order().collect::<Vec<_>>(), [0, 1, 10, 2, 20]);
        assert_eq!(
            (chain.neighbours(zero), chain.count()),
            ([None, Some(one)], 5)
        );
    }
}
