//! Primaries: each holder is the primary of as many points as its share says, and the fewest points
//! change theirs. Normative: docs/placement.md, "Primaries".

use super::domains::Domains;
use super::flow::{End, Flow, Kind, Run};
use super::holder::{ByHolder, HolderId};
use super::piece::{overlay, Piece};
use super::sets::{SetId, Sets};
use crate::error::{Error, Result};

/// How many cells each holder is to be the primary of: its target / R, rounded down or up.
///
/// Whoever can stay as it is (`before`) does; the others come as near to that as they can. Where
/// that does not add up to `cells`, those whose target changed (`loads` differ) are changed first,
/// by the largest remainder.
pub(super) fn wanted(
    targets: &ByHolder,
    loads: &ByHolder,
    before: &ByHolder,
    replicas: u32,
    cells: u128,
) -> ByHolder {
    let r = u128::from(replicas);
    let range = |target: u128| (target / r, target.div_ceil(r));
    let near = |(holder, target): (HolderId, u128)| {
        let (low, high) = range(target);
        before.of(holder).clamp(low, high)
    };
    let mut wanted = ByHolder(targets.iter().map(near).collect());
    let mut order: Vec<(bool, u128, HolderId)> = targets
        .iter()
        .map(|(holder, target)| (target == loads.of(holder), target % r, holder))
        .collect();
    let sum = wanted.sum();
    if sum < cells {
        order.sort_unstable_by(|a, b| (a.0, b.1, a.2).cmp(&(b.0, a.1, b.2)));
        let mut missing = cells - sum;
        for (_, _, holder) in order {
            if missing > 0 && wanted.of(holder) < range(targets.of(holder)).1 {
                wanted.add(holder, 1);
                missing -= 1;
            }
        }
    } else {
        order.sort_unstable();
        let mut over = sum - cells;
        for (_, _, holder) in order {
            if over > 0 && wanted.of(holder) > range(targets.of(holder)).0 {
                over -= wanted.take(holder, 1);
            }
        }
    }
    wanted
}

/// The pieces with their primaries put right. `old` has the primaries as they were.
///
/// Errors: `Internal` when it could not be done, which the theory rules out.
pub(super) fn settle(
    old: &[Piece],
    now: &[Piece],
    sets: &mut Sets,
    targets: &ByHolder,
    wanted: &ByHolder,
    replicas: u32,
) -> Result<Vec<Piece>> {
    let mut counts = ByHolder::zeros(targets.0.len());
    let mut runs = Vec::with_capacity(now.len());
    let mut same = true;
    for (cells, before, after) in overlay(old, now) {
        let mut set = after;
        if let Some(primary) = sets.primary(before).filter(|_| before != after) {
            // whoever was the primary and still holds a copy is the cheapest
            if sets
                .role_of(after, primary)
                .is_some_and(|role| !role.is_primary())
            {
                set = sets.with_primary(after, primary);
                same = false;
            }
        }
        if let Some(primary) = sets.primary(set) {
            counts.add(primary, cells);
        }
        runs.push(Run::new(cells, set, before));
    }
    if same && counts == *wanted {
        return Ok(now.to_vec());
    }
    let none = Domains::default();
    let mut flow = Flow::new(
        Primaries,
        runs,
        sets,
        &none,
        counts.above(wanted),
        wanted.above(&counts),
    );
    if flow.settle(i64::MAX) == End::Stuck {
        round_otherwise(&mut flow, targets, wanted, replicas);
    }
    if flow.excess.sum() + flow.deficit.sum() > 0 {
        return Err(Error::Internal {
            problem: "the primaries could not be shared out".into(),
        });
    }
    Ok(flow.into_pieces())
}

/// When not everybody can be rounded as wanted: others are rounded up or down instead.
fn round_otherwise(
    flow: &mut Flow<Primaries>,
    targets: &ByHolder,
    wanted: &ByHolder,
    replicas: u32,
) {
    let r = u128::from(replicas);
    let (excess, deficit) = (flow.excess.clone(), flow.deficit.clone());
    // who may have one more takes what is too much
    let up = targets.iter().filter(|(holder, target)| {
        wanted.of(*holder) < target.div_ceil(r) && excess.of(*holder) == 0
    });
    flow.deficit = ByHolder::zeros(targets.0.len());
    up.for_each(|(holder, _)| flow.deficit.add(holder, 1));
    flow.settle(i64::MAX);
    // and who may have one less gives what is too little
    flow.deficit = deficit;
    let too_much = flow.excess.clone();
    let down = targets.iter().filter(|(holder, target)| {
        wanted.of(*holder) > target / r && flow.deficit.of(*holder) == 0
    });
    let mut lent = ByHolder::zeros(targets.0.len());
    down.for_each(|(holder, _)| lent.add(holder, 1));
    flow.excess = lent;
    flow.settle(i64::MAX);
    flow.excess = too_much;
}

/// Any other holder of the set may become its primary.
struct Primaries;

impl Kind for Primaries {
    fn sources(&self, sets: &Sets, set: SetId) -> Vec<HolderId> {
        sets.primary(set).into_iter().collect()
    }

    fn direct(&self, sets: &Sets, _: &Domains, run: &Run, from: HolderId) -> Vec<(HolderId, i64)> {
        let was = sets
            .primary(run.old)
            .filter(|holder| sets.role_of(run.set, *holder).is_some());
        let change = |holder: HolderId| i64::from(was.is_some_and(|was| was != holder));
        let others = sets.holders(run.set).filter(|holder| *holder != from);
        others.map(|to| (to, change(to) - change(from))).collect()
    }

    fn broad(&self, _: &Sets, _: &Run, _: HolderId) -> Option<i64> {
        None
    }

    fn exchange(&self, sets: &mut Sets, set: SetId, _: HolderId, to: HolderId) -> SetId {
        sets.with_primary(set, to)
    }
    fn is_sound(&self, _: &Sets, _: &Domains, _: SetId) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(list: &[u128]) -> ByHolder {
        ByHolder(list.to_vec())
    }

    #[test]
    fn whoever_can_stay_does_and_those_that_change_anyway_are_rounded_the_other_way_first() {
        // 3, 3 and 2 cells at R = 2 are 1 or 2, 1 or 2, and 1 primaries, 4 in all
        let wanted = |loads: &[u128], before: &[u128]| {
            wanted(
                &numbers(&[3, 3, 2]),
                &numbers(loads),
                &numbers(before),
                2,
                4,
            )
            .0
        };
        assert_eq!(wanted(&[3, 3, 2], &[2, 1, 1]), [2, 1, 1]);
        assert_eq!(wanted(&[3, 3, 2], &[1, 2, 1]), [1, 2, 1]);
        // one too many: of equal remainders the earlier, but 1 has changed
        assert_eq!(wanted(&[3, 3, 2], &[4, 4, 0]), [1, 2, 1]);
        assert_eq!(wanted(&[3, 2, 2], &[4, 4, 0]), [2, 1, 1]);
        // one too few
        assert_eq!(wanted(&[3, 3, 2], &[0, 0, 0]), [2, 1, 1]);
        assert_eq!(wanted(&[3, 2, 2], &[0, 0, 0]), [1, 2, 1]);
    }

    #[test]
    fn a_primary_passes_along_the_sets_that_two_holders_share() {
        let mut sets = Sets::default();
        let start = sets.pieces(&[(4, &[0, 1]), (4, &[1, 2])]);
        let made = settle(
            &start,
            &start,
            &mut sets,
            &numbers(&[4, 8, 4]),
            &numbers(&[2, 4, 2]),
            2,
        )
        .unwrap();
        assert_eq!(
            made,
            sets.pieces(&[(2, &[1, 0]), (2, &[0, 1]), (2, &[2, 1]), (2, &[1, 2])])
        );
    }

    #[test]
    fn who_was_the_primary_and_still_holds_a_copy_stays_it() {
        let mut sets = Sets::default();
        let (old, now) = (sets.pieces(&[(4, &[0, 1])]), sets.pieces(&[(4, &[2, 0])]));
        let made = settle(
            &old,
            &now,
            &mut sets,
            &numbers(&[4, 0, 4]),
            &numbers(&[3, 0, 1]),
            2,
        )
        .unwrap();
        assert_eq!(made, sets.pieces(&[(1, &[2, 0]), (3, &[0, 2])]));
    }

    #[test]
    fn where_the_slices_do_not_allow_the_numbers_others_are_rounded() {
        // each piece has one primary, whatever is wished; every number stays 0 or 1
        let mut sets = Sets::default();
        let start = sets.pieces(&[(1, &[0, 1]), (1, &[2, 3])]);
        let made = settle(
            &start,
            &start,
            &mut sets,
            &numbers(&[1; 4]),
            &numbers(&[1, 1, 0, 0]),
            2,
        )
        .unwrap();
        assert_eq!(made, sets.pieces(&[(1, &[1, 0]), (1, &[3, 2])]));
        // control: where no rounding allows it there is an error
        assert!(settle(
            &start,
            &start,
            &mut sets,
            &numbers(&[2, 2, 0, 0]),
            &numbers(&[1, 1, 0, 0]),
            2
        )
        .is_err());
    }
}
