//! Fill: what was released goes to the roles that must still grow.

use std::collections::VecDeque;

use super::domains::Domains;
use super::piece::{join, Piece};
use super::release::Released;
use super::role::{ByRole, Role};
use super::sets::{SetId, Sets};

/// A run of cells: held by a whole set, or by one that is a copy short.
enum Run {
    Held(Piece),
    Gap(Gap),
}

/// A run that waits for a copy: who holds the others, and who gave up how much of it, from left to
/// right.
struct Gap {
    rest: SetId,
    given: VecDeque<(Role, u128)>,
}

impl Gap {
    fn cells(&self) -> u128 {
        self.given.iter().map(|(_, cells)| cells).sum()
    }

    /// Takes cells off the left end, or off the right one.
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

/// The pieces with the gaps given to those with a `deficit`, which is taken down. What nobody may
/// take goes back to who gave it.
///
/// First a gap's neighbours grow into it, which costs no piece. What is left is filled from left to
/// right, one role after the other in their order: at most one piece a gap and one a role, which is
/// the fewest unless some sums happen to fit.
pub(super) fn fill(
    released: Vec<Released>,
    sets: &mut Sets,
    domains: &Domains,
    deficit: &mut ByRole,
) -> Vec<Piece> {
    let runs = grow_into_gaps(runs(released, sets), sets, deficit);
    let mut takers: Vec<Role> = deficit.above_zero().collect();
    let mut out = Vec::with_capacity(runs.len() + deficit.len());
    for run in runs {
        match run {
            Run::Held(piece) => out.push(piece),
            Run::Gap(gap) => fill_gap(gap, sets, domains, deficit, &mut takers, &mut out),
        }
    }
    join(out)
}

fn fill_gap(
    mut gap: Gap,
    sets: &mut Sets,
    domains: &Domains,
    deficit: &mut ByRole,
    takers: &mut Vec<Role>,
    out: &mut Vec<Piece>,
) {
    let wants_primary = sets.primary(gap.rest).is_none();
    let mut cells = gap.cells();
    while cells > 0 {
        let may = |role: &&Role| {
            role.is_primary() == wants_primary
                && domains.may_join(role.holder(), sets.holders(gap.rest))
        };
        let Some(role) = takers.iter().find(may).copied() else {
            break;
        };
        let taken = deficit.take(role, cells);
        if deficit.of(role) == 0 {
            takers.retain(|other| *other != role);
        }
        cells -= taken;
        gap.shorten(taken, true);
        out.push(Piece {
            cells: taken,
            set: sets.with(gap.rest, role),
        });
    }
    for (role, cells) in gap.given {
        out.push(Piece {
            cells,
            set: sets.with(gap.rest, role),
        });
    }
}

/// What each piece keeps, with the gaps in between; gaps that touch and lack the same are one.
fn runs(released: Vec<Released>, sets: &mut Sets) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::with_capacity(released.len() + released.len() / 2);
    let gap = |runs: &mut Vec<Run>, sets: &mut Sets, set: SetId, given: Option<(Role, u128)>| {
        let Some((role, cells)) = given else { return };
        let rest = sets.without(set, role);
        match runs.last_mut() {
            Some(Run::Gap(before)) if before.rest == rest => before.given.push_back((role, cells)),
            _ => runs.push(Run::Gap(Gap {
                rest,
                given: VecDeque::from([(role, cells)]),
            })),
        }
    };
    for Released { piece, left, right } in released {
        gap(&mut runs, sets, piece.set, left);
        let given = |end: Option<(Role, u128)>| end.map_or(0, |(_, cells)| cells);
        let cells = piece.cells - given(left) - given(right);
        if cells > 0 {
            runs.push(Run::Held(Piece { cells, ..piece }));
        }
        gap(&mut runs, sets, piece.set, right);
    }
    runs
}

/// The role that completes `rest` to the set.
fn completes(sets: &Sets, rest: SetId, set: SetId) -> Option<Role> {
    let (rest, all) = (sets.roles(rest), sets.roles(set));
    let extra = all
        .iter()
        .copied()
        .find(|role| rest.binary_search(role).is_err())?;
    let fits = all.len() == rest.len() + 1 && all.iter().filter(|role| **role != extra).eq(rest);
    fits.then_some(extra)
}

/// Lets the neighbours of each gap that must grow do so: the left one first, then the right one.
fn grow_into_gaps(runs: Vec<Run>, sets: &Sets, deficit: &mut ByRole) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::with_capacity(runs.len());
    let mut runs = runs.into_iter().peekable();
    while let Some(run) = runs.next() {
        let Run::Gap(mut gap) = run else {
            out.push(run);
            continue;
        };
        let mut cells = gap.cells();
        if let Some(Run::Held(left)) = out.last_mut() {
            if let Some(role) = completes(sets, gap.rest, left.set) {
                let taken = deficit.take(role, cells);
                left.cells += taken;
                cells -= taken;
                gap.shorten(taken, true);
            }
        }
        if let Some(Run::Held(right)) = runs.peek_mut() {
            if let Some(role) = completes(sets, gap.rest, right.set) {
                let taken = deficit.take(role, cells);
                right.cells += taken;
                cells -= taken;
                gap.shorten(taken, false);
            }
        }
        if cells > 0 {
            out.push(Run::Gap(gap));
        }
    }
    out
}
