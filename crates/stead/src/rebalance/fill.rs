//! Fill: gives the released cells to the roles that must still grow.

use std::collections::{BTreeMap, VecDeque};

use super::crowd::Crowd;
use super::demand::Demand;
use super::domains::Domains;
use super::holder::{ByRole, HolderId, Role};
use super::joiners::Joiners;
use super::piece::{append, Piece, PieceId};
use super::release::{Given, Released};
use super::sets::{SetId, Sets};
use super::table::{Id, Table};

/// A run of cells that lacks one copy.
struct Gap {
    /// The set of the other holders.
    rest: SetId,
    /// The roles that gave up the copy, with the number of cells of each, from left to right.
    given: VecDeque<(Role, u128)>,
    /// How many pieces lie to the left of the gap.
    from: u32,
    /// The same number, with the pieces that the gap has swallowed whole. The gap after this one
    /// touches it if its `from` is this number.
    to: u32,
}

impl Gap {
    fn cells(&self) -> u128 {
        self.given.iter().map(|(_, cells)| cells).sum()
    }

    /// Removes cells from the left end, or from the right end.
    fn shorten(&mut self, mut cells: u128, from_left: bool) {
        while cells > 0 {
            let end = if from_left {
                self.given.front_mut()
            } else {
                self.given.back_mut()
            };
            let Some((_, part)) = end else { return };
            let taken = cells.min(*part);
            *part -= taken;
            cells -= taken;
            if *part == 0 {
                let _ = if from_left {
                    self.given.pop_front()
                } else {
                    self.given.pop_back()
                };
            }
        }
    }
}

/// Fills the gaps with copies of the roles that have a deficit, reduces their deficits, and returns
/// the pieces. Cells that no such role may take go back to the role that gave them.
///
/// First the neighbours of each gap grow into it, which makes no new piece. The rest is filled from
/// left to right, one role after the other, in the order of the roles. This makes at most one piece
/// for each gap and one for each role, which is the fewest possible unless some sums happen to
/// match.
pub(super) fn fill(
    released: Released,
    sets: &mut Sets,
    domains: &Domains,
    demand: &mut Demand,
) -> Vec<Piece> {
    let deficit = &mut demand.deficit;
    let Released { mut pieces, given } = released;
    let gaps = gaps(&mut pieces, given, sets);
    let gaps = grow_into_gaps(gaps, &mut pieces, sets, deficit);
    let mut out = Vec::with_capacity(pieces.len() + gaps.len() + deficit.len());
    let mut takers = Takers::new(domains, deficit);
    let (mut pieces, mut passed) = (pieces.into_values().into_iter(), 0);
    for gap in gaps {
        let before = pieces.by_ref().take((gap.from - passed) as usize);
        before.for_each(|piece| append(&mut out, piece));
        passed = gap.from;
        takers.fill(gap, sets, &mut out);
    }
    pieces.for_each(|piece| append(&mut out, piece));
    out
}

/// The roles that must still grow.
struct Takers<'a> {
    primaries: Joiners<'a>,
    others: Joiners<'a>,
    deficit: &'a mut ByRole,
    /// The holders of the gap that is being filled.
    crowd: Crowd<'a>,
}

impl<'a> Takers<'a> {
    fn new(domains: &'a Domains, deficit: &'a mut ByRole) -> Takers<'a> {
        let (primaries, others): (Vec<Role>, Vec<Role>) =
            deficit.above_zero().partition(|role| role.is_primary());
        let joiners = |roles: Vec<Role>| {
            let holders: Vec<HolderId> = roles.into_iter().map(Role::holder).collect();
            Joiners::new(domains, &holders)
        };
        Takers {
            primaries: joiners(primaries),
            others: joiners(others),
            deficit,
            crowd: Crowd::new(domains),
        }
    }

    /// Gives a gap to the roles that may take it, and what is left back to the roles that gave it.
    fn fill(&mut self, mut gap: Gap, sets: &mut Sets, out: &mut Vec<Piece>) {
        let mut cells = gap.cells();
        while cells > 0 {
            let Some(role) = self.first_for(gap.rest, sets) else {
                break;
            };
            let taken = self.deficit.take(role, cells);
            if self.deficit[role] == 0 {
                let joiners = if role.is_primary() {
                    &mut self.primaries
                } else {
                    &mut self.others
                };
                joiners.close(role.holder());
            }
            cells -= taken;
            gap.shorten(taken, true);
            let set = sets.with(gap.rest, role);
            append(out, Piece { cells: taken, set });
        }
        for (role, cells) in gap.given {
            let set = sets.with(gap.rest, role);
            append(out, Piece { cells, set });
        }
    }

    /// The first role that may complete the set `rest`.
    fn first_for(&mut self, rest: SetId, sets: &Sets) -> Option<Role> {
        let primary = sets.primary(rest).is_none();
        let joiners = if primary {
            &self.primaries
        } else {
            &self.others
        };
        let first = |crowd: &Crowd| joiners.first_for(crowd);
        let holder = self.crowd.with(sets.holders(rest), first)?;
        Some(Role::of(holder, primary))
    }
}

/// Shortens the pieces by what they give up, down to no cells, and returns the gaps from left to
/// right. Gaps that touch and lack the same copy are joined.
fn gaps(
    pieces: &mut Table<PieceId, Piece>,
    given: BTreeMap<PieceId, Given>,
    sets: &mut Sets,
) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::with_capacity(given.len());
    for (id, Given { left, right }) in given {
        let Piece { cells, set } = &mut pieces[id];
        for (given, from) in [(left, id.place()), (right, id.place() + 1)] {
            let Some((role, part)) = given else { continue };
            *cells -= part;
            let rest = sets.without(*set, role);
            let to = if *cells == 0 { id.place() + 1 } else { from };
            match gaps.last_mut() {
                Some(before) if before.rest == rest && before.to == from => {
                    before.given.push_back((role, part));
                    before.to = to;
                }
                _ => gaps.push(Gap {
                    rest,
                    given: VecDeque::from([(role, part)]),
                    from,
                    to,
                }),
            }
        }
    }
    gaps
}

/// The role that is in `set` and missing in `rest`, if they differ by that role alone.
fn completes(sets: &Sets, rest: SetId, set: SetId) -> Option<Role> {
    let (rest, all) = (sets.roles(rest), sets.roles(set));
    let extra = all
        .iter()
        .copied()
        .find(|role| rest.binary_search(role).is_err())?;
    let fits = all.len() == rest.len() + 1 && all.iter().filter(|role| **role != extra).eq(rest);
    fits.then_some(extra)
}

/// Lets the neighbours of each gap grow into it where they have a deficit, the left one first.
/// Returns the gaps that are left.
fn grow_into_gaps(
    gaps: Vec<Gap>,
    pieces: &mut Table<PieceId, Piece>,
    sets: &Sets,
    deficit: &mut ByRole,
) -> Vec<Gap> {
    let mut out: Vec<Gap> = Vec::with_capacity(gaps.len());
    // where the gap before, which its neighbours have filled, began and ended
    let (mut filled_from, mut filled_to) = (0, 0);
    let mut gaps = gaps.into_iter().peekable();
    while let Some(mut gap) = gaps.next() {
        let from = if gap.from == filled_to {
            filled_from
        } else {
            gap.from
        };
        // where another gap touches this one, there is no neighbour
        let gap_left = out.last().is_some_and(|before| before.to == from);
        let gap_right = gaps.peek().is_some_and(|after| after.from == gap.to);
        let left = from.checked_sub(1).filter(|_| !gap_left);
        let right = Some(gap.to).filter(|to| !gap_right && (*to as usize) < pieces.len());
        for (beside, from_left) in [(left, true), (right, false)] {
            let Some(beside) = beside.map(PieceId::new) else {
                continue;
            };
            if let Some(role) = completes(sets, gap.rest, pieces[beside].set) {
                let taken = deficit.take(role, gap.cells());
                pieces[beside].cells += taken;
                gap.shorten(taken, from_left);
            }
        }
        if gap.given.is_empty() {
            (filled_from, filled_to) = (from, gap.to);
        } else {
            out.push(gap);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_grows_over_a_gap_that_it_filled_and_not_over_one_that_stays() {
        // 2 gives up two pieces, in which different copies are then missing
        let filled = |of_5: u128| {
            let mut sets = Sets::default();
            let pieces = sets.pieces(&[(4, &[5, 6]), (2, &[2, 6]), (3, &[5, 2]), (4, &[7, 8])]);
            let whole = |role, cells| Given {
                left: Some((role, cells)),
                right: None,
            };
            let given = BTreeMap::from([
                (PieceId::new(1), whole(Role::primary(HolderId(2)), 2)),
                (PieceId::new(2), whole(Role::other(HolderId(2)), 3)),
            ]);
            let mut demand = Demand {
                surplus: ByRole::zeros(18),
                deficit: ByRole::zeros(18),
            };
            demand.deficit[Role::primary(HolderId(5))] = of_5;
            demand.deficit[Role::other(HolderId(6))] = 3;
            demand.deficit[Role::other(HolderId(0))] = 3;
            let pieces = pieces.into();
            let domains = Domains::new(&vec![Some(Vec::new()); 9], 2);
            let made = fill(Released { pieces, given }, &mut sets, &domains, &mut demand);
            let list = |piece: &Piece| {
                let holders: Vec<u32> = sets.holders(piece.set).map(|holder| holder.0).collect();
                (piece.cells, holders)
            };
            made.iter().map(list).collect::<Vec<_>>()
        };
        assert_eq!(filled(2), [(9, vec![5, 6]), (4, vec![7, 8])]);
        // control: a cell of the first gap stays with 2, so 6 is not beside the second
        let expected = [
            (5, vec![5, 6]),
            (1, vec![2, 6]),
            (3, vec![0, 5]),
            (4, vec![7, 8]),
        ];
        assert_eq!(filled(1), expected);
    }
}
