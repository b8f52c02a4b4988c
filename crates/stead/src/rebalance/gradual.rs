//! Gradual change: computes one step from the base slices towards the target slices. Normative:
//! docs/placement.md, "Gradual change".

use super::piece::{copies_moved, join, overlay, Piece};
use super::sets::Sets;
use crate::fleet::Fleet;
use crate::map::Map;
use crate::weight::Weight;

/// Returns the base pieces after a step from `base` towards `target`. The step starts at the first
/// cell and stops where the next cell would move more copies than are left of `budget`.
pub(super) fn advance(
    base: &[Piece],
    target: &[Piece],
    sets: &Sets,
    mut budget: u128,
) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::with_capacity(base.len());
    let mut goes_on = true;
    for (cells, now, then) in overlay(base, target) {
        let copies = copies_moved(sets, now, then);
        let affordable = budget.checked_div(copies).unwrap_or(cells); // all if no copy moves
        let taken = if goes_on { cells.min(affordable) } else { 0 };
        budget -= taken * copies;
        goes_on &= taken == cells;
        out.push(Piece {
            cells: taken,
            set: then,
        });
        out.push(Piece {
            cells: cells - taken,
            set: now,
        });
    }
    join(out)
}

/// Whether the target slices of a map are what this fleet asks for: nothing that influences the
/// shares has changed.
pub(super) fn is_for(fleet: &Fleet, map: &Map) -> bool {
    let labels = |value: &dyn Fn(&str) -> Option<String>| -> Vec<Option<String>> {
        fleet.spread.iter().map(|label| value(label)).collect()
    };
    let wanted = fleet.nodes.iter().map(|node| {
        (
            node.name.as_str(),
            node.weight,
            labels(&|label| node.labels.get(label).cloned()),
        )
    });
    let there = map.nodes().filter(|node| !node.leaving()).map(|node| {
        (
            node.name(),
            node.weight(),
            labels(&|label| node.label(label).map(str::to_owned)),
        )
    });
    let policies = fleet
        .policies
        .iter()
        .filter_map(|policy| Some((policy.name.as_str(), policy.weight?)));
    let known = map
        .policies()
        .filter_map(|policy| Some((policy.name()?, policy.weight()?)));
    fn list<'a>(policies: impl Iterator<Item = (&'a str, Weight)>) -> Vec<(&'a str, Weight)> {
        policies.collect()
    }
    fleet.replicas == map.replicas()
        && fleet.max_slices == map.max_slices()
        && map.spread().eq(fleet.spread.iter().map(String::as_str))
        && wanted.eq(there)
        && list(policies) == list(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_what_the_budget_allows_and_what_costs_nothing_on_its_way() {
        let mut sets = Sets::default();
        let (ab, ba, ac, cd): (&[u32], &[u32], &[u32], &[u32]) =
            (&[0, 1], &[1, 0], &[0, 2], &[2, 3]);
        let base = sets.pieces(&[(10, ab), (10, ba)]);
        let target = sets.pieces(&[(4, ac), (4, ba), (12, cd)]);
        let mut check = |budget, expected: &[(u128, &[u32])]| {
            let expected = sets.pieces(expected);
            assert_eq!(advance(&base, &target, &sets, budget), expected);
        };
        // 4 cells that move one copy each, then 4 that move none, then 12 that move two copies each
        check(0, &[(10, ab), (10, ba)]);
        check(3, &[(3, ac), (7, ab), (10, ba)]);
        check(5, &[(4, ac), (4, ba), (2, ab), (10, ba)]);
        check(7, &[(4, ac), (4, ba), (1, cd), (1, ab), (10, ba)]);
        check(28, &[(4, ac), (4, ba), (12, cd)]);
    }
}
