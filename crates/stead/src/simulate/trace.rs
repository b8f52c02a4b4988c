//! The trace of a run: which node has which points after each step, for pictures.

use super::placement::Placement;

/// Where a system places what: the first point of a run, the first point after it (up to 2^64), and
/// the number of the node that answers first.
pub type Placed = Vec<(u128, u128, usize)>;

/// What the systems of a simulation place where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The names of all nodes that there ever were, by their numbers.
    pub names: Vec<String>,
    /// For each system, in the order of the report, its placement after each step.
    pub systems: Vec<Vec<Placed>>,
}

/// Returns the runs of a placement with the first node of each; neighbours with one node are one.
pub(super) fn placed_first(placement: &Placement) -> Placed {
    let mut placed: Placed = Vec::new();
    for (first, end, nodes) in placement.runs() {
        let Some(node) = nodes.first().map(|node| *node as usize) else {
            continue;
        };
        match placed.last_mut() {
            Some(last) if last.2 == node && last.1 == first => last.1 = end,
            _ => placed.push((first, end, node)),
        }
    }
    placed
}
