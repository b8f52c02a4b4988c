//! The moves of a plan with the names of their nodes, and what each pair of nodes copies in sum.

use std::collections::HashSet;

use serde::Serialize;

use super::amount::Amount;
use crate::map::Map;
use crate::plan::Move;
use crate::policy::NodeId;
use crate::ways::{sums, Way};

/// A move, with the names of its nodes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MoveReport<'a> {
    /// The first point.
    pub first: String,
    /// The last point.
    pub last: String,
    /// The node that loses a copy; if it is dead, another one to copy from. `None` when a copy is
    /// added, or when no node that has it is left.
    pub from: Option<&'a str>,
    /// The node that gets a copy; `None` when a copy is dropped.
    pub to: Option<&'a str>,
    /// `rebalance`, `pin` or `policy`.
    pub cause: &'static str,
}

/// What one node copies to another in sum.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Flow<'a> {
    /// The node that gives the copies up; `None` when copies are added, or when no node that has
    /// them is left.
    pub from: Option<&'a str>,
    /// The node at which added copies are read, the first one of their keys before the change.
    /// `None` for copies that are not added, or that no node has any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'a str>,
    /// The node that gets the copies; `None` when they are dropped.
    pub to: Option<&'a str>,
    /// The number of points, as a decimal string, and the fraction of all copies that it is.
    #[serde(flatten)]
    pub amount: Amount,
}

/// Returns the moves with the names of their nodes.
pub(super) fn named<'a>(old: &'a Map, new: &'a Map, moves: &[Move]) -> Vec<MoveReport<'a>> {
    let named = |m: &Move| MoveReport {
        first: m.first.to_string(),
        last: m.last.to_string(),
        from: m.from.map(|node| old.node(node).name()),
        to: m.to.map(|node| new.node(node).name()),
        cause: m.cause.name(),
    };
    moves.iter().map(named).collect()
}

/// Returns the sums of the moves of each way, the largest first. Nothing is read at a dead node.
/// The fractions are parts of `copies` copies of the space.
pub(super) fn flows<'a>(
    [old, new]: [&'a Map; 2],
    moves: &[Move],
    dead: &HashSet<NodeId>,
    copies: u32,
) -> Vec<Flow<'a>> {
    let mut sums: Vec<(Way, u128)> = sums(moves, old, dead).into_iter().collect();
    // a stable sort: ways of the same size stay in the order of their names
    sums.sort_by_key(|(_, points)| std::cmp::Reverse(*points));
    let flow = |(way, points): (Way, u128)| Flow {
        from: way.from.map(|node| old.node(node).name()),
        source: way.source.map(|node| old.node(node).name()),
        to: way.to.map(|node| new.node(node).name()),
        amount: Amount::of_copies(points, copies),
    };
    sums.into_iter().map(flow).collect()
}
