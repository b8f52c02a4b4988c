//! Gradual change: computes one step from the base slices towards the target slices. Normative:
//! docs/placement.md, "Gradual change".
//!
//! A step keeps two limits: its budget, and for each holder a *ceiling*, the larger of its cells
//! before the step and in the target. A holder that both gains and loses during a change would go
//! above its ceiling if its gains came first, and then a disk could fill in the middle of a change
//! that ends with less on it.

use std::collections::BTreeMap;

use super::holder::{ByHolder, HolderId};
use super::piece::{copies_moved, join, loads, overlay, Piece};
use super::sets::{SetId, Sets};
use super::table::Table;
use crate::fleet::Fleet;
use crate::map::Map;
use crate::weight::Weight;

/// Returns the base pieces after a step from `base` towards `target`, which moves at most `budget`
/// copies of cells. There are `holders` holders.
///
/// Cost: at most `PASSES` walks and exchanges. Holders that are almost at their ceilings can let a
/// walk take one cell after the other, so a walk that takes too little is not repeated.
pub(super) fn advance(
    base: &[Piece],
    target: &[Piece],
    sets: &Sets,
    holders: usize,
    budget: u128,
) -> Vec<Piece> {
    let mut step = Step::new(base, target, sets, holders, budget);
    let worth = step.worth();
    for _ in 0..PASSES {
        let took = step.walk();
        if step.spent || (took < step.worth() && !step.exchange()) {
            break;
        }
    }
    if !step.spent && budget - step.budget < worth || !step.took {
        // too little fits under all ceilings, or not even one cell; the change must go on
        step.ceilings = None;
        step.walk();
    }
    step.pieces()
}

/// The most walks, each with an exchange after it where it took too little, that a step makes.
const PASSES: usize = 64;

/// The most rings that an exchange takes for one run.
const RINGS: usize = 8;

/// The cells between two bounds of the base and target pieces.
struct Run {
    cells: u128,
    /// How many of its cells are replaced, counted from its start.
    taken: u128,
    now: SetId,
    then: SetId,
    /// How many copies of each cell move.
    copies: u128,
}

impl Run {
    fn left(&self) -> u128 {
        self.cells - self.taken
    }

    /// How many cells are left to replace; none where both sets are the same.
    fn to_come(&self) -> u128 {
        if self.now == self.then {
            0
        } else {
            self.left()
        }
    }
}

/// A step that is being made.
struct Step<'a> {
    sets: &'a Sets,
    runs: Vec<Run>,
    loads: ByHolder,
    /// The most cells that each holder may have; `None` when they no longer count.
    ceilings: Option<ByHolder>,
    /// How many copies may still move.
    budget: u128,
    /// Whether the next cell of a walk would have moved more copies than that.
    spent: bool,
    /// Whether it has replaced a cell.
    took: bool,
    /// For each holder, the runs in which it loses a copy. Made when it is needed.
    losses: Option<Table<HolderId, Vec<usize>>>,
}

impl<'a> Step<'a> {
    fn new(
        base: &[Piece],
        target: &[Piece],
        sets: &'a Sets,
        holders: usize,
        budget: u128,
    ) -> Step<'a> {
        let runs = overlay(base, target).map(|(cells, now, then)| Run {
            cells,
            taken: 0,
            now,
            then,
            copies: copies_moved(sets, now, then),
        });
        let before = loads(base, sets, holders);
        let after = loads(target, sets, holders);
        let larger = before.values().iter().zip(after.values());
        let ceilings = larger.map(|(before, after)| *before.max(after)).collect();
        Step {
            sets,
            runs: runs.collect(),
            loads: before,
            ceilings: Some(ceilings),
            budget,
            spent: false,
            took: false,
            losses: None,
        }
    }

    /// Walks over all runs once and takes what the ceilings allow, until the next cell would move
    /// more copies than are left of the budget. Returns how many copies it moved.
    fn walk(&mut self) -> u128 {
        let budget = self.budget;
        for number in 0..self.runs.len() {
            let Some(run) = self.runs.get(number).filter(|run| run.to_come() > 0) else {
                continue;
            };
            let wanted = run.to_come().min(self.room(run));
            let affordable = self.budget.checked_div(run.copies).unwrap_or(wanted);
            let cells = wanted.min(affordable);
            self.take(number, cells);
            if affordable < wanted {
                self.spent = true;
                break;
            }
        }
        budget - self.budget
    }

    /// The least number of copies that makes a walk worth repeating, and a step worth publishing: a
    /// 64th of those that are left to move, or that the budget allows, and at least one.
    fn worth(&self) -> u128 {
        let left = self.runs.iter().map(|run| run.to_come() * run.copies);
        (left.sum::<u128>().min(self.budget) / 64).max(1)
    }

    /// How many cells of a run can be taken before a holder that gains them reaches its ceiling.
    fn room(&self, run: &Run) -> u128 {
        let Some(ceilings) = &self.ceilings else {
            return u128::MAX;
        };
        let gains = self.sets.beyond(run.then, run.now);
        let room = gains.map(|holder| ceilings[holder].saturating_sub(self.loads[holder]));
        room.min().unwrap_or(u128::MAX)
    }

    /// Replaces cells of a run.
    fn take(&mut self, number: usize, cells: u128) {
        if let Some(run) = self.runs.get_mut(number) {
            run.taken += cells;
            self.took |= cells > 0;
            self.budget -= cells * run.copies;
            for holder in self.sets.beyond(run.then, run.now) {
                self.loads[holder] += cells;
            }
            for holder in self.sets.beyond(run.now, run.then) {
                self.loads[holder] -= cells;
            }
        }
    }

    /// Takes the same number of cells of several runs together, where every run that is left gives
    /// cells to a holder at its ceiling: what such a holder gains in one run, it loses in the next,
    /// and the last run gives to holders that have room once the first is taken. Returns whether it
    /// took a cell.
    ///
    /// Goes over all runs once. As long as a ring begins with a run, and at most `RINGS` times,
    /// takes as many cells of it as the budget, the runs and the ceilings allow.
    fn exchange(&mut self) -> bool {
        let mut took = false;
        for first in 0..self.runs.len() {
            for _ in 0..RINGS {
                let Some(ring) = self.ring(first) else {
                    break;
                };
                let (most, copies) = self.most_of_ring(&ring);
                let affordable = self.budget.checked_div(copies).unwrap_or(most);
                let cells = most.min(affordable);
                for number in ring {
                    self.take(number, cells);
                }
                took |= cells > 0;
                if affordable < most {
                    self.spent = true;
                    return took;
                }
                if cells == 0 {
                    break;
                }
            }
        }
        took
    }

    /// Finds a shortest ring of runs that begins with this one.
    fn ring(&mut self, first: usize) -> Option<Vec<usize>> {
        if self.losses.is_none() {
            self.losses = Some(self.find_losses());
        }
        let losses = self.losses.as_ref()?;
        let run = self.runs.get(first).filter(|run| run.to_come() > 0)?;
        // when the first run is taken, those that lose there have room
        let freed: Vec<HolderId> = self.sets.beyond(run.now, run.then).collect();
        let mut found: Table<HolderId, bool> = Table::filled(self.loads.len(), false);
        // runs, each with the place of the run before it and the holder that it fills
        let mut queue = vec![(first, None, self.only_full(run, &[])??)];
        let mut next = 0;
        while let Some((_, _, full)) = queue.get(next).copied() {
            if !std::mem::replace(&mut found[full], true) {
                for number in &losses[full] {
                    let run = self.runs.get(*number).filter(|run| run.to_come() > 0);
                    match run.and_then(|run| self.only_full(run, &freed)) {
                        None => {}
                        Some(Some(other)) => queue.push((*number, Some(next), other)),
                        Some(None) => {
                            let mut ring = vec![*number];
                            let mut at = Some(next);
                            while let Some((number, before, _)) = at.and_then(|at| queue.get(at)) {
                                ring.push(*number);
                                at = *before;
                            }
                            return Some(ring);
                        }
                    }
                }
            }
            next += 1;
        }
        None
    }

    /// The only holder at its ceiling that gains in a run, or `Some(None)` when there is none.
    /// `None` when there are several. The holders in `freed` have room.
    fn only_full(&self, run: &Run, freed: &[HolderId]) -> Option<Option<HolderId>> {
        let ceilings = self.ceilings.as_ref()?;
        let is_full =
            |holder: &HolderId| self.loads[*holder] >= ceilings[*holder] && !freed.contains(holder);
        let mut full = self.sets.beyond(run.then, run.now).filter(is_full);
        let only = full.next();
        full.next().is_none().then_some(only)
    }

    /// How many cells of each run of a ring the runs and the ceilings allow, and how many copies
    /// one cell of each moves.
    fn most_of_ring(&self, ring: &[usize]) -> (u128, u128) {
        let mut sums: BTreeMap<HolderId, i128> = BTreeMap::new();
        let (mut most, mut copies) = (u128::MAX, 0);
        for number in ring {
            let Some(run) = self.runs.get(*number) else {
                continue;
            };
            let times = ring.iter().filter(|other| *other == number).count() as u128;
            most = most.min(run.to_come() / times);
            copies += run.copies;
            for holder in self.sets.beyond(run.then, run.now) {
                *sums.entry(holder).or_default() += 1;
            }
            for holder in self.sets.beyond(run.now, run.then) {
                *sums.entry(holder).or_default() -= 1;
            }
        }
        for (holder, sum) in sums {
            let ceiling = self.ceilings.as_ref().map_or(u128::MAX, |all| all[holder]);
            if sum > 0 {
                let room = ceiling.saturating_sub(self.loads[holder]);
                most = most.min(room / sum.unsigned_abs());
            }
        }
        (most, copies)
    }

    /// For each holder, the runs in which it loses a copy.
    fn find_losses(&self) -> Table<HolderId, Vec<usize>> {
        let mut losses = Table::filled(self.loads.len(), Vec::new());
        for (number, run) in self.runs.iter().enumerate() {
            for holder in self.sets.beyond(run.now, run.then) {
                losses[holder].push(number);
            }
        }
        losses
    }

    /// The base pieces after the step.
    fn pieces(&self) -> Vec<Piece> {
        let both = |run: &Run| {
            let taken = Piece {
                cells: run.taken,
                set: run.then,
            };
            let left = Piece {
                cells: run.left(),
                set: run.now,
            };
            [taken, left]
        };
        join(self.runs.iter().flat_map(both).collect::<Vec<_>>())
    }
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
        && fleet.tolerance == map.tolerance()
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
            assert_eq!(advance(&base, &target, &sets, 4, budget), expected);
        };
        // 4 cells that move one copy each, then 4 that move none, then 12 that move two copies each
        check(0, &[(10, ab), (10, ba)]);
        check(3, &[(3, ac), (7, ab), (10, ba)]);
        check(5, &[(4, ac), (4, ba), (2, ab), (10, ba)]);
        check(7, &[(4, ac), (4, ba), (1, cd), (1, ab), (10, ba)]);
        check(28, &[(4, ac), (4, ba), (12, cd)]);
    }

    #[test]
    fn a_full_holder_loses_before_it_gains() {
        let mut sets = Sets::default();
        let (a, b, c): (&[u32], &[u32], &[u32]) = (&[0], &[1], &[2]);
        // b gives 4 cells to c and gets 3 from a: it gains nothing before it has lost as much
        let base = sets.pieces(&[(3, a), (4, b), (5, a), (2, b)]);
        let target = sets.pieces(&[(3, b), (4, c), (5, a), (2, b)]);
        let mut check = |budget, expected: &[(u128, &[u32])]| {
            let expected = sets.pieces(expected);
            assert_eq!(advance(&base, &target, &sets, 3, budget), expected);
        };
        check(2, &[(3, a), (2, c), (2, b), (5, a), (2, b)]);
        check(5, &[(1, b), (2, a), (4, c), (5, a), (2, b)]);
        check(7, &[(3, b), (4, c), (5, a), (2, b)]);
    }

    #[test]
    fn holders_with_room_for_one_cell_exchange_many_at_once() {
        let mut sets = Sets::default();
        let (a, b): (&[u32], &[u32]) = (&[0], &[1]);
        // b ends with one cell more: one walk takes one cell each way, and so would 2^60 walks
        let many = 1 << 60;
        let base = sets.pieces(&[(many, a), (many - 1, b)]);
        let target = sets.pieces(&[(many, b), (many - 1, a)]);
        let half = many / 2;
        let (first, second) = (advance(&base, &target, &sets, 2, many), target.clone());
        let expected = [(half, b), (many, a), (half - 1, b)];
        assert_eq!(first, sets.pieces(&expected));
        assert_eq!(advance(&first, &target, &sets, 2, many), second);
    }

    #[test]
    fn full_holders_exchange_their_cells_in_rings() {
        let mut sets = Sets::default();
        let (a, b, c): (&[u32], &[u32], &[u32]) = (&[0], &[1], &[2]);
        // a gives to b, b to c, and c to a; each has as much after the change as before
        let base = sets.pieces(&[(4, a), (4, b), (4, c)]);
        let target = sets.pieces(&[(4, b), (4, c), (4, a)]);
        let mut check = |budget, expected: &[(u128, &[u32])]| {
            let expected = sets.pieces(expected);
            assert_eq!(advance(&base, &target, &sets, 3, budget), expected);
        };
        check(3, &[(1, b), (3, a), (1, c), (3, b), (1, a), (3, c)]);
        // what is left of the budget does not suffice for a ring
        check(8, &[(2, b), (2, a), (2, c), (2, b), (2, a), (2, c)]);
        check(12, &[(4, b), (4, c), (4, a)]);
        // not even one ring: a holder goes above its ceiling, since the change must go on
        check(2, &[(2, b), (2, a), (4, b), (4, c)]);
    }
}
