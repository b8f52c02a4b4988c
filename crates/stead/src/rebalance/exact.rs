//! Exact: steps 2 to 7, a rebalance with the least movement, however many pieces it makes.

use super::aim::Aim;
use super::demand::Demand;
use super::fill::fill;
use super::fit::fit;
use super::holder::ByRole;
use super::piece::{role_loads, Piece};
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
    let before = role_loads(start, sets, aim.holders());
    let (mut pieces, settled) = match fit(start, sets, aim) {
        // exchanges that move nothing come before exchanges that move copies
        Some(fitted) => {
            let pieces = copies::settle(start, &fitted, sets, aim, 0);
            let loads = role_loads(&pieces, sets, aim.holders());
            greedy(pieces, loads, sets, aim)
        }
        None => greedy(start.to_vec(), before.clone(), sets, aim),
    };
    if aim.replicas() > 1 {
        if !settled {
            pieces = copies::settle(start, &pieces, sets, aim, i64::MAX);
        }
        pieces = primaries::put_right((start, &before.by_holder()), pieces, sets, aim)?;
    }
    aim.prove(&pieces, sets)?;
    Ok(pieces)
}

/// Repeats steps 3 to 5 while they make progress. They make direct exchanges between a holder that
/// has too much and one that has too little, and find all of them or nearly all. `loads` are those
/// of the pieces. Also returns whether every holder has its target.
fn greedy(
    mut pieces: Vec<Piece>,
    mut loads: ByRole,
    sets: &mut Sets,
    aim: &Aim,
) -> (Vec<Piece>, bool) {
    let mut before = u128::MAX;
    loop {
        let mut demand = Demand::of(&loads, aim);
        let left = demand.surplus.sum();
        if left == 0 || left >= before {
            return (pieces, left == 0);
        }
        before = left;
        pieces = shift(pieces, sets, &mut demand);
        let released = release(pieces, sets, &aim.domains, &mut demand);
        pieces = fill(released, sets, &aim.domains, &mut demand);
        if demand.deficit.sum() == 0 {
            return (pieces, true);
        }
        loads = role_loads(&pieces, sets, aim.holders());
    }
}
