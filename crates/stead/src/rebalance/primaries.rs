//! Primaries: makes each holder the primary of as many points as its share says, and changes the
//! primary of as few points as possible. Normative: docs/placement.md, "Primaries".

use super::aim::Aim;
use super::flow::{Flow, Outcome};
use super::graph::{Costs, Exchange, Run, COSTS};
use super::holder::{ByHolder, HolderId, Role};
use super::piece::{overlay, Piece};
use super::room::Room;
use super::sets::{SetId, Sets};
use crate::error::{Error, Result};

/// Returns the pieces with corrected primaries. `old` is where the rebalance started. Where it has
/// fewer than R copies (before a first map it has none), the missing copies belonged to no holder.
pub(super) fn put_right(
    (old, before): (&[Piece], &ByHolder),
    now: Vec<Piece>,
    sets: &mut Sets,
    aim: &Aim,
) -> Result<Vec<Piece>> {
    if aim.replicas() == 1 {
        return Ok(now);
    }
    let mut primaries = ByHolder::zeros(aim.holders());
    for piece in &now {
        if let Some(primary) = sets.primary(piece.set) {
            primaries[primary] += piece.cells;
        }
    }
    let wanted = aim.primaries(before, &primaries);
    let stays = |(_, old, set)| former_primary(old, set, sets).is_none();
    if primaries == wanted && overlay(old, &now).all(stays) {
        return Ok(now);
    }
    settle(old, &now, sets, aim, &wanted)
}

/// Returns the pieces with `wanted` cells for each primary or, where the slices do not allow these
/// numbers, with others that are rounded differently. `old` has the former primaries.
///
/// Errors: `Internal` when no rounding is possible, which the theory rules out.
fn settle(
    old: &[Piece],
    now: &[Piece],
    sets: &mut Sets,
    aim: &Aim,
    wanted: &ByHolder,
) -> Result<Vec<Piece>> {
    let mut counts = ByHolder::zeros(aim.holders());
    let mut runs = Vec::with_capacity(now.len());
    for (cells, old, after) in overlay(old, now) {
        // a former primary that still holds a copy costs nothing
        let set = match former_primary(old, after, sets) {
            Some(primary) => sets.with_primary(after, primary),
            None => after,
        };
        if let Some(primary) = sets.primary(set) {
            counts[primary] += cells;
        }
        runs.push(Run { cells, set, old });
    }
    let mut flow = Flow::new(Primaries, runs, sets, &aim.domains, (&counts, wanted));
    if flow.settle(i64::MAX) == Outcome::Stuck {
        round_otherwise(&mut flow, aim, wanted);
    }
    if flow.excess.sum() + flow.deficit.sum() > 0 {
        return Err(Error::Internal {
            problem: "the primaries could not be shared out".into(),
        });
    }
    Ok(flow.into_pieces())
}

/// The primary of `old`, if it still holds a copy in `set` but is not the primary any more.
fn former_primary(old: SetId, set: SetId, sets: &Sets) -> Option<HolderId> {
    if old == set {
        return None;
    }
    let primary = sets.primary(old)?;
    let role = sets.role_of(set, primary)?;
    (!role.is_primary()).then_some(primary)
}

/// Takes other numbers from the ranges of the holders, when not every holder can have the wanted
/// one.
fn round_otherwise(flow: &mut Flow<Primaries>, aim: &Aim, wanted: &ByHolder) {
    // a holder keeps what it has too much, as far as its range allows, and others take the rest
    let mut up = ByHolder::zeros(wanted.len());
    for (holder, wanted) in wanted.iter() {
        up[holder] = aim.primary_range(holder).1.saturating_sub(*wanted);
        let kept = flow.excess.take(holder, up[holder]);
        up[holder] -= kept;
        if flow.excess[holder] > 0 {
            up[holder] = 0;
        }
    }
    let mut too_little = std::mem::replace(&mut flow.deficit, up);
    flow.settle(i64::MAX);
    // and it goes without what it has too little, and others give the rest
    let mut down = ByHolder::zeros(wanted.len());
    for (holder, wanted) in wanted.iter() {
        down[holder] = wanted.saturating_sub(aim.primary_range(holder).0);
        down[holder] -= too_little.take(holder, down[holder]);
        if too_little[holder] > 0 {
            down[holder] = 0;
        }
    }
    let too_much = std::mem::replace(&mut flow.excess, down);
    flow.deficit = too_little;
    flow.settle(i64::MAX);
    flow.excess = too_much;
}

/// The exchange of primaries: any other holder of the set may become the primary.
struct Primaries;

impl Exchange for Primaries {
    fn sources<'a>(&self, sets: &'a Sets, set: SetId) -> &'a [Role] {
        sets.primary_role(set).map_or(&[], std::slice::from_ref)
    }

    fn direct(
        &self,
        sets: &Sets,
        _: &Room,
        run: &Run,
        from: HolderId,
        list: &mut Vec<(HolderId, i64)>,
    ) {
        let was = if run.old == run.set {
            Some(from) // most runs; the sets need not be read
        } else {
            let was = sets.primary(run.old);
            was.filter(|holder| sets.role_of(run.set, *holder).is_some())
        };
        let change = |holder: HolderId| i64::from(was.is_some_and(|was| was != holder));
        let others = sets.holders(run.set).filter(|holder| *holder != from);
        list.clear();
        list.extend(others.map(|to| (to, change(to) - change(from))));
    }

    fn costs(&self, _: &Sets, run: &Run, _: HolderId) -> Costs {
        // most runs have the primary that they had
        let direct = if run.old == run.set { 1..=1 } else { COSTS };
        Costs {
            direct,
            broad: None,
        }
    }

    fn exchanged(&self, sets: &mut Sets, set: SetId, _: HolderId, to: HolderId) -> SetId {
        sets.with_primary(set, to)
    }

    fn is_sound(&self, _: &Sets, _: SetId) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `settle` on the pieces with these targets and these wanted numbers of primaries.
    fn settled(
        sets: &mut Sets,
        (old, now): (&[Piece], &[Piece]),
        targets: &[u128],
        wanted: &[u128],
    ) -> Result<Vec<Piece>> {
        let aim = Aim::free(2, targets);
        settle(old, now, sets, &aim, &wanted.to_vec().into())
    }

    #[test]
    fn a_primary_passes_along_the_sets_that_two_holders_share() {
        let mut sets = Sets::default();
        let start = sets.pieces(&[(4, &[0, 1]), (4, &[1, 2])]);
        let made = settled(&mut sets, (&start, &start), &[4, 8, 4], &[2, 4, 2]).unwrap();
        assert_eq!(
            made,
            sets.pieces(&[(2, &[1, 0]), (2, &[0, 1]), (2, &[2, 1]), (2, &[1, 2])])
        );
    }

    #[test]
    fn the_former_primary_stays_primary_if_it_still_holds_a_copy() {
        let mut sets = Sets::default();
        let (old, now) = (sets.pieces(&[(4, &[0, 1])]), sets.pieces(&[(4, &[2, 0])]));
        let made = settled(&mut sets, (&old, &now), &[4, 0, 4], &[3, 0, 1]).unwrap();
        assert_eq!(made, sets.pieces(&[(1, &[2, 0]), (3, &[0, 2])]));
    }

    #[test]
    fn other_holders_are_rounded_when_the_slices_do_not_allow_the_wanted_numbers() {
        // each piece has one primary, whatever is wanted; every number stays 0 or 1, and none of
        // them has to change
        let mut sets = Sets::default();
        let start = sets.pieces(&[(1, &[0, 1]), (1, &[2, 3])]);
        let made = settled(&mut sets, (&start, &start), &[1; 4], &[1, 1, 0, 0]).unwrap();
        assert_eq!(made, start);
        // control: where no rounding helps, there is an error
        assert!(settled(&mut sets, (&start, &start), &[2, 2, 0, 0], &[1, 1, 0, 0]).is_err());
    }
}
