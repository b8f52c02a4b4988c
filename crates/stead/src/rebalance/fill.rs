//! Fill: gives the released cells to the roles that must still grow.

use std::collections::VecDeque;

use super::demand::Demand;
use super::domains::Domains;
use super::holder::{ByRole, HolderId, Role};
use super::joiners::Joiners;
use super::piece::{join, Piece};
use super::release::Released;
use super::sets::{SetId, Sets};

/// A run of cells that either a whole set holds, or a set that is one copy short.
enum Stretch {
    Held(Piece),
    Gap(Gap),
}

/// A run of cells that lacks one copy: the set of the other holders, and the roles that gave up the
/// copy, with the number of cells of each, from left to right.
struct Gap {
    rest: SetId,
    given: VecDeque<(Role, u128)>,
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
    released: Vec<Released>,
    sets: &mut Sets,
    domains: &Domains,
    demand: &mut Demand,
) -> Vec<Piece> {
    let deficit = &mut demand.deficit;
    let stretches = grow_into_gaps(stretches(released, sets), sets, deficit);
    let mut out = Vec::with_capacity(stretches.len() + deficit.len());
    let mut takers = Takers::new(domains, deficit);
    for stretch in stretches {
        match stretch {
            Stretch::Held(piece) => out.push(piece),
            Stretch::Gap(gap) => takers.fill(gap, sets, &mut out),
        }
    }
    join(out)
}

/// The roles that must still grow.
struct Takers<'a> {
    primaries: Joiners<'a>,
    others: Joiners<'a>,
    deficit: &'a mut ByRole,
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
            out.push(Piece {
                cells: taken,
                set: sets.with(gap.rest, role),
            });
        }
        for (role, cells) in gap.given {
            let set = sets.with(gap.rest, role);
            out.push(Piece { cells, set });
        }
    }

    /// The first role that may complete the set `rest`.
    fn first_for(&self, rest: SetId, sets: &Sets) -> Option<Role> {
        let primary = sets.primary(rest).is_none();
        let joiners = if primary {
            &self.primaries
        } else {
            &self.others
        };
        let holder = joiners.first_for(sets.holders(rest))?;
        Some(Role::of(holder, primary))
    }
}

/// The kept part of each piece, with the gaps in between. Gaps that touch and lack the same copy
/// are joined.
fn stretches(released: Vec<Released>, sets: &mut Sets) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::with_capacity(released.len() + released.len() / 2);
    for Released { piece, left, right } in released {
        let given = |end: Option<(Role, u128)>| end.map_or(0, |(_, cells)| cells);
        let kept = piece.cells - given(left) - given(right);
        push_gap(&mut out, sets, piece.set, left);
        if kept > 0 {
            out.push(Stretch::Held(Piece {
                cells: kept,
                ..piece
            }));
        }
        push_gap(&mut out, sets, piece.set, right);
    }
    out
}

/// Adds a gap for the cells that a role of the set gave up, if any.
fn push_gap(out: &mut Vec<Stretch>, sets: &mut Sets, set: SetId, given: Option<(Role, u128)>) {
    let Some(given) = given else { return };
    let rest = sets.without(set, given.0);
    match out.last_mut() {
        Some(Stretch::Gap(before)) if before.rest == rest => before.given.push_back(given),
        _ => out.push(Stretch::Gap(Gap {
            rest,
            given: VecDeque::from([given]),
        })),
    }
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
fn grow_into_gaps(stretches: Vec<Stretch>, sets: &Sets, deficit: &mut ByRole) -> Vec<Stretch> {
    let mut out: Vec<Stretch> = Vec::with_capacity(stretches.len());
    let mut stretches = stretches.into_iter().peekable();
    while let Some(stretch) = stretches.next() {
        let Stretch::Gap(mut gap) = stretch else {
            out.push(stretch);
            continue;
        };
        let mut cells = gap.cells();
        if let Some(Stretch::Held(left)) = out.last_mut() {
            if let Some(role) = completes(sets, gap.rest, left.set) {
                let taken = deficit.take(role, cells);
                left.cells += taken;
                cells -= taken;
                gap.shorten(taken, true);
            }
        }
        if let Some(Stretch::Held(right)) = stretches.peek_mut() {
            if let Some(role) = completes(sets, gap.rest, right.set) {
                let taken = deficit.take(role, cells);
                right.cells += taken;
                cells -= taken;
                gap.shorten(taken, false);
            }
        }
        if cells > 0 {
            out.push(Stretch::Gap(gap));
        }
    }
    out
}
