//! Exact: steps 2 to 7, a rebalance with the least movement, however many pieces it makes.

use super::aim::Aim;
use super::demand::Demand;
use super::fill::fill;
use super::fit::fit;
use super::piece::{loads, Piece};
use super::release::release;
use super::sets::Sets;
use super::shift::shift;
use super::{copies, primaries};
use crate::error::Result;

/// Returns new pieces in which every holder has exactly its target, with the least movement
/// possible.
///
/// `start` covers the space. Holders without a target lose all their cells.
///
/// Cost: O(s log s) for s pieces, where steps 3 to 5 reach every target.
pub(super) fn rebalance(start: &[Piece], sets: &mut Sets, aim: &Aim) -> Result<Vec<Piece>> {
    let mut pieces = match fit(start, sets, aim) {
        // exchanges that move nothing come before exchanges that move copies
        Some(fitted) => copies::settle(start, &fitted, sets, aim, 0),
        None => start.to_vec(),
    };
    pieces = greedy(pieces, sets, aim);
    if aim.replicas() > 1 {
        if loads(&pieces, sets, aim.holders()) != aim.targets {
            pieces = copies::settle(start, &pieces, sets, aim, i64::MAX);
        }
        pieces = primaries::put_right(start, &pieces, sets, aim)?;
    }
    aim.prove(&pieces, sets)?;
    Ok(pieces)
}

/// Repeats steps 3 to 5 while they make progress. They make direct exchanges between a holder that
/// has too much and one that has too little, and find all of them or nearly all.
fn greedy(mut pieces: Vec<Piece>, sets: &mut Sets, aim: &Aim) -> Vec<Piece> {
    let mut before = u128::MAX;
    loop {
        let mut demand = Demand::of(&pieces, sets, aim);
        let left = demand.surplus.sum();
        if left == 0 || left >= before {
            return pieces;
        }
        before = left;
        pieces = shift(pieces, sets, &mut demand);
        let released = release(pieces, sets, &aim.domains, &mut demand);
        pieces = fill(released, sets, &aim.domains, &mut demand);
        if demand.deficit.sum() == 0 {
            return pieces;
        }
    }
}
