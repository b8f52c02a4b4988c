//! Random Slicing as public programs implement it: nodes that must shrink give up gaps, in one walk
//! over the intervals, and nodes that must grow fill the gaps in order. The programs differ in how
//! they collect the gaps.
//!
//! This file is written from descriptions of the rules (docs/simulate.md names the sources). The
//! programs themselves compute in floating point or in fractions. Here all of them get the same
//! exact integers as stead, so that rounding does not count against them.

use std::collections::HashMap;

use super::ideal::{Names, NodeNumber, Wanted};
use super::placement::Placement;
use super::system::System;
use crate::error::{Error, Result};
use crate::fleet::Fleet;
use crate::point::SPACE;

/// How gaps are collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collect {
    /// CutShift, the strategy of the paper. An interval that is shorter than what its node must
    /// still give up is taken whole. Any other interval is cut, alternately at its end and at its
    /// start, so that two consecutive cuts meet in one gap.
    CutShift,
    /// The rule of hibari and machi: the same walk, but every interval that is cut keeps its left
    /// part.
    LeftToRight,
}

/// The present intervals, and the rule.
pub struct Slicing {
    collect: Collect,
    pieces: Vec<(NodeNumber, u128)>,
}

/// An interval while gaps are collected. `None` stands for a gap.
type Interval = (Option<NodeNumber>, u128);

impl Slicing {
    /// A system that has not placed anything yet.
    pub fn new(collect: Collect) -> Slicing {
        Slicing {
            collect,
            pieces: Vec::new(),
        }
    }

    /// The intervals after each node gave up what `give` says, with gaps in these places.
    fn with_gaps(&self, mut give: HashMap<NodeNumber, u128>) -> Vec<Interval> {
        let mut pieces: Vec<Interval> = Vec::with_capacity(self.pieces.len() * 2);
        let mut at_end = true;
        for (node, points) in self.pieces.iter().copied() {
            let owes = give.entry(node).or_insert(0);
            // an interval of exactly the missing length counts as a cut that leaves nothing
            let cut = *owes > 0 && points >= *owes;
            let given = points.min(*owes);
            *owes -= given;
            let (kept, gap) = ((Some(node), points - given), (None, given));
            let gap_last = !cut || at_end || self.collect == Collect::LeftToRight;
            at_end ^= cut;
            for piece in if gap_last { [kept, gap] } else { [gap, kept] } {
                push(&mut pieces, piece);
            }
        }
        pieces
    }
}

/// Appends a piece. Drops it if it is empty, and joins it to the last one if both have the same
/// node.
fn push<T: PartialEq>(pieces: &mut Vec<(T, u128)>, piece: (T, u128)) {
    match pieces.last_mut() {
        _ if piece.1 == 0 => {}
        Some(before) if before.0 == piece.0 => before.1 += piece.1,
        _ => pieces.push(piece),
    }
}

/// Gives the gaps, from left to right, to the nodes that want points, in their order.
fn fill(
    pieces: Vec<Interval>,
    wants: impl Iterator<Item = (NodeNumber, u128)>,
) -> Result<Vec<(NodeNumber, u128)>> {
    let mut wants = wants.filter(|(_, points)| *points > 0);
    let mut filled = Vec::with_capacity(pieces.len() * 2);
    let mut next = None;
    for (node, mut points) in pieces {
        if let Some(node) = node {
            push(&mut filled, (node, points));
            continue;
        }
        while points > 0 {
            let Some((node, want)) = next.take().or_else(|| wants.next()) else {
                return Err(Error::Internal {
                    problem: "a peer gave up more points than others want".into(),
                });
            };
            let got = points.min(want);
            push(&mut filled, (node, got));
            points -= got;
            next = Some((node, want - got)).filter(|(_, rest)| *rest > 0);
        }
    }
    Ok(filled)
}

impl System for Slicing {
    fn name(&self) -> &'static str {
        match self.collect {
            Collect::CutShift => "cut-shift",
            Collect::LeftToRight => "left-to-right",
        }
    }

    fn step(&mut self, _: &Fleet, wanted: &Wanted) -> Result<()> {
        let mut has: HashMap<NodeNumber, u128> = HashMap::new();
        self.pieces
            .iter()
            .for_each(|(node, points)| *has.entry(*node).or_insert(0) += points);
        let targets = || {
            wanted
                .holders
                .iter()
                .map(|holder| holder.node)
                .zip(wanted.ideal.iter().copied())
        };
        let wants: Vec<(NodeNumber, u128)> = targets()
            .map(|(node, target)| {
                (
                    node,
                    target.saturating_sub(has.get(&node).copied().unwrap_or(0)),
                )
            })
            .collect();
        let mut give = has;
        for (node, target) in targets() {
            give.entry(node)
                .and_modify(|points| *points = points.saturating_sub(target));
        }
        let gaps = if self.pieces.is_empty() {
            vec![(None, SPACE)]
        } else {
            self.with_gaps(give)
        };
        self.pieces = fill(gaps, wants.into_iter())?;
        Ok(())
    }

    fn placement(&self, _: &mut Names) -> Placement {
        Placement::of_pieces(self.pieces.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cuts_in_a_row_meet_in_one_gap() {
        let pieces = vec![(0, 10), (1, 10), (2, 10), (3, 3)];
        let give = HashMap::from([(0, 2), (1, 3), (2, 4), (3, 3)]);
        let of = |collect| {
            Slicing {
                collect,
                pieces: pieces.clone(),
            }
            .with_gaps(give.clone())
        };
        assert_eq!(
            of(Collect::CutShift),
            [
                (Some(0), 8),
                (None, 5),
                (Some(1), 7),
                (Some(2), 6),
                (None, 7)
            ]
        );
        assert_eq!(
            of(Collect::LeftToRight),
            [
                (Some(0), 8),
                (None, 2),
                (Some(1), 7),
                (None, 3),
                (Some(2), 6),
                (None, 7)
            ]
        );
    }

    #[test]
    fn an_interval_is_taken_whole_and_its_node_gives_the_rest_elsewhere() {
        let slicing = Slicing {
            collect: Collect::CutShift,
            pieces: vec![(0, 3), (1, 10), (0, 10)],
        };
        let gaps = slicing.with_gaps(HashMap::from([(0, 5)]));
        assert_eq!(gaps, [(None, 3), (Some(1), 10), (Some(0), 8), (None, 2)]);
        let filled = fill(gaps, [(2, 4), (3, 0), (1, 1)].into_iter()).unwrap();
        assert_eq!(filled, [(2, 3), (1, 10), (0, 8), (2, 1), (1, 1)]);
    }
}
