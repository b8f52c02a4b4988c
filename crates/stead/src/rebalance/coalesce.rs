//! Coalesce: fewer slices before a rebalance, bought with movement, for fleets that set `max_slices`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::piece::{join, ByHolder, HolderId, Piece};

/// Absorbs the shortest pieces into a neighbour each, until `keep` are left or only one.
///
/// Of two neighbours the one whose holder is further below its target takes the piece, so that the rebalance which follows has
/// less to take back. At most twice the absorbed length is moved in the end.
pub(super) fn coalesce(pieces: &[Piece], targets: &ByHolder, keep: usize) -> Vec<Piece> {
    let mut list = List::new(pieces);
    let mut loads = ByHolder::loads(pieces, targets.0.len());
    let mut shortest: BinaryHeap<Reverse<(u128, usize)>> =
        pieces.iter().zip(0..).map(|(p, i)| Reverse((p.cells, i))).collect();
    while list.left > keep.max(1) {
        let Some(Reverse((cells, i))) = shortest.pop() else { break };
        let Some(entry) = list.get(i) else { continue };
        if entry.piece.cells != cells {
            continue; // absorbed meanwhile (0), or grown: its new length is in the heap as well
        }
        let need = |at: Option<usize>| {
            let holder = at.and_then(|at| list.get(at)).map(|e| e.piece.holder)?;
            Some(targets.of(holder) as i128 - loads.of(holder) as i128) // both at most 2^64
        };
        let (left, right) = (entry.left, entry.right);
        let into = if need(left) >= need(right) { left } else { right };
        let Some(into) = into else { break };
        let Some(taker) = list.get(into).map(|e| e.piece.holder) else { break };
        loads.take(entry.piece.holder, cells);
        loads.add(taker, cells);
        let grown = list.absorb(i, into);
        if let Some(entry) = list.get(grown) {
            shortest.push(Reverse((entry.piece.cells, grown)));
        }
    }
    join(list.entries.into_iter().map(|e| e.piece))
}

#[derive(Clone, Copy)]
struct Entry {
    piece: Piece,
    left: Option<usize>,
    right: Option<usize>,
}

/// The pieces as a doubly linked list over their indices; absorbed ones stay behind with length 0.
struct List {
    entries: Vec<Entry>,
    left: usize,
}

impl List {
    fn new(pieces: &[Piece]) -> List {
        let last = pieces.len().saturating_sub(1);
        let entries = pieces
            .iter()
            .enumerate()
            .map(|(i, piece)| Entry { piece: *piece, left: i.checked_sub(1), right: (i < last).then_some(i + 1) })
            .collect();
        List { entries, left: pieces.len() }
    }

    fn get(&self, i: usize) -> Option<Entry> {
        self.entries.get(i).copied()
    }

    fn set(&mut self, i: usize, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(i) {
            change(entry);
        }
    }

    /// Takes entry `i` out of the chain and gives its cells to its neighbour `into`; joins what then has one holder. Returns
    /// the entry that has the cells.
    fn absorb(&mut self, i: usize, into: usize) -> usize {
        let cells = self.unlink(i);
        self.set(into, |e| e.piece.cells += cells);
        let holder = |list: &List, at: usize| list.get(at).map(|e| e.piece.holder);
        // the neighbour behind `i` may have the same holder as `into`
        let across = self.get(into).and_then(|e| if i > into { e.right } else { e.left });
        if let Some(across) = across.filter(|a| holder(self, *a) == holder(self, into)) {
            let cells = self.unlink(across);
            self.set(into, |e| e.piece.cells += cells);
        }
        into
    }

    fn unlink(&mut self, i: usize) -> u128 {
        let Some(entry) = self.get(i) else { return 0 };
        if let Some(left) = entry.left {
            self.set(left, |e| e.right = entry.right);
        }
        if let Some(right) = entry.right {
            self.set(right, |e| e.left = entry.left);
        }
        self.set(i, |e| e.piece = Piece { cells: 0, holder: HolderId(e.piece.holder.0) });
        self.left -= 1;
        entry.piece.cells
    }
}
