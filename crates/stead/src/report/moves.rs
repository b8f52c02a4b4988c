//! The moves of a plan with the names of their nodes, and what each pair of nodes copies in sum.

use std::collections::BTreeMap;

use serde::Serialize;

use super::amount::Amount;
use crate::map::Map;
use crate::plan::Move;
use crate::policy::NodeId;

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
    /// The node that the copies come from. `None` when copies are added: then any node that has
    /// one can give it, unless no node has one.
    pub from: Option<&'a str>,
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

/// Returns the sums of the moves of each pair of nodes, the largest first. The fractions are parts
/// of `copies` copies of the space.
pub(super) fn flows<'a>(old: &'a Map, new: &'a Map, moves: &[Move], copies: u32) -> Vec<Flow<'a>> {
    let mut sums: BTreeMap<(Option<NodeId>, Option<NodeId>), u128> = BTreeMap::new();
    for m in moves {
        *sums.entry((m.from, m.to)).or_default() += m.points();
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    // a stable sort: pairs of the same size stay in the order of their names
    sums.sort_by_key(|(_, points)| std::cmp::Reverse(*points));
    let flow = |((from, to), points): ((Option<NodeId>, Option<NodeId>), u128)| Flow {
        from: from.map(|node| old.node(node).name()),
        to: to.map(|node| new.node(node).name()),
        amount: Amount::of_copies(points, copies),
    };
    sums.into_iter().map(flow).collect()
}
