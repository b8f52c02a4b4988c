//! Gradual change: one step of the way from the base slices to the target slices. Normative:
//! docs/placement.md, "Gradual change".

use super::piece::{join, overlay, Piece};
use super::sets::{SetId, Sets};
use crate::fleet::Fleet;
use crate::map::Map;
use crate::weight::Weight;

/// How many of the cells of a run can be taken over, when each of them moves so many copies.
fn affordable(cells: u128, copies: u128, budget: u128) -> u128 {
    budget
        .checked_div(copies)
        .map_or(cells, |most| cells.min(most))
}

/// The base pieces after a step from `base` towards `target`, from the first cell on until the next
/// cell would move more copies than `budget`.
pub(super) fn step(base: &[Piece], target: &[Piece], sets: &Sets, mut budget: u128) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::with_capacity(base.len());
    let mut goes_on = true;
    for (cells, now, then) in overlay(base, target) {
        let copies = copies(sets, now, then);
        let taken = if goes_on {
            affordable(cells, copies, budget)
        } else {
            0
        };
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

/// How many holders `then` has that `now` has not.
fn copies(sets: &Sets, now: SetId, then: SetId) -> u128 {
    if now == then {
        return 0;
    }
    sets.holders(then)
        .filter(|holder| sets.role_of(now, *holder).is_none())
        .count() as u128
}

/// Whether a map's target slices are what this fleet asks for: everything that decides about shares
/// is as it was.
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
    use super::super::holder::HolderId;
    use super::super::role::Role;
    use super::*;

    #[test]
    fn a_step_takes_what_the_budget_allows_and_what_costs_nothing_on_its_way() {
        let mut sets = Sets::default();
        let mut set = |holders: &[u32]| {
            let role = |(i, h): (usize, &u32)| {
                if i == 0 {
                    Role::primary(HolderId(*h))
                } else {
                    Role::other(HolderId(*h))
                }
            };
            sets.id(holders.iter().enumerate().map(role))
        };
        let (ab, ba, ac, cd) = (set(&[0, 1]), set(&[1, 0]), set(&[0, 2]), set(&[2, 3]));
        let pieces = |list: &[(u128, SetId)]| -> Vec<Piece> {
            list.iter()
                .map(|(cells, set)| Piece {
                    cells: *cells,
                    set: *set,
                })
                .collect()
        };
        let base = pieces(&[(10, ab), (10, ba)]);
        let target = pieces(&[(4, ac), (4, ba), (12, cd)]);
        // 4 copies, then a new order for nothing, then two copies a cell
        assert_eq!(step(&base, &target, &sets, 0), base);
        assert_eq!(
            step(&base, &target, &sets, 3),
            pieces(&[(3, ac), (7, ab), (10, ba)])
        );
        assert_eq!(
            step(&base, &target, &sets, 5),
            pieces(&[(4, ac), (4, ba), (2, ab), (10, ba)])
        );
        assert_eq!(
            step(&base, &target, &sets, 7),
            pieces(&[(4, ac), (4, ba), (1, cd), (1, ab), (10, ba)])
        );
        assert_eq!(step(&base, &target, &sets, 28), target);
    }
}
