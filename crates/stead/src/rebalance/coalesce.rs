//! Coalesce: fewer slices before a rebalance, bought with movement, for fleets that set `max_slices`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::chain::{Chain, Link};
use super::piece::{ByHolder, Piece};

/// Absorbs the shortest pieces into a neighbour each, until `keep` are left or only one.
///
/// Of two neighbours the one whose holder is further below its target takes the piece, so that the rebalance which follows has
/// less to take back. At most twice the absorbed length is moved in the end.
pub(super) fn coalesce(pieces: &[Piece], targets: &ByHolder, keep: usize) -> Vec<Piece> {
    let mut chain = Chain::new(pieces);
    let mut loads = ByHolder::loads(pieces, targets.0.len());
    let mut shortest: BinaryHeap<Reverse<(u128, usize)>> = pieces.iter().zip(0..).map(|(p, i)| Reverse((p.cells, i))).collect();
    while chain.count() > keep.max(1) {
        let Some(Reverse((cells, i))) = shortest.pop() else { break };
        let Some(Link { piece, left, right }) = chain.get(i) else { continue };
        if piece.cells != cells {
            continue; // absorbed meanwhile (0), or grown: its new length is in the heap as well
        }
        let holder = |at: Option<usize>| at.and_then(|at| chain.get(at)).map(|link| link.piece.holder);
        let need = |at| holder(at).map(|h| targets.of(h) as i128 - loads.of(h) as i128); // both at most 2^64
        let goes_left = need(left) >= need(right);
        let Some(taker) = holder(if goes_left { left } else { right }) else { break };
        loads.take(piece.holder, cells);
        loads.add(taker, cells);
        let (left, right) = chain.give(i, if goes_left { cells } else { 0 });
        for grown in [left, right].into_iter().flatten() {
            if let Some(link) = chain.get(grown) {
                shortest.push(Reverse((link.piece.cells, grown)));
            }
        }
    }
    chain.into_pieces()
}
