//! Fit: gives a new set to each piece whose set cannot stay, because R or the caps changed.
//!
//! Each such piece keeps as many of its copies as R and the caps allow, so a copy that is added
//! here has to move in any case. Which copies are dropped and which holders are added is a guess,
//! made from who has too much and who has too little. The guess is usually good; `copies` corrects
//! it where it was wrong.

use super::aim::Aim;
use super::holder::{ByHolder, HolderId, Role};
use super::joiners::Joiners;
use super::piece::{join, loads, Piece};
use super::sets::{SetId, Sets};
use super::table::Table;

/// Returns pieces with R copies each that keep the caps, or `None` when all pieces do so already.
pub(super) fn fit(pieces: &[Piece], sets: &mut Sets, aim: &Aim) -> Option<Vec<Piece>> {
    if sets.ids().all(|set| aim.fits(set, sets)) {
        return None;
    }
    let mut known: Table<SetId, Option<bool>> = Table::filled(sets.count(), None);
    let mut fits = |set| *known[set].get_or_insert_with(|| aim.fits(set, sets));
    let broken: Vec<bool> = pieces.iter().map(|piece| !fits(piece.set)).collect();
    if !broken.contains(&true) {
        return None;
    }
    let mut fitting = Fitting {
        aim,
        loads: loads(pieces, sets, aim.holders()),
        lacking: Joiners::new(&aim.domains, &[]),
        out: Vec::with_capacity(pieces.len()),
    };
    // first give up all copies that must go, so that all deficits are known before any is filled
    let keep = |(piece, broken): (&Piece, bool)| {
        let roles = broken.then(|| fitting.keep(piece.cells, sets.roles(piece.set)));
        (*piece, roles)
    };
    let kept: Vec<(Piece, Option<Vec<Role>>)> = pieces.iter().zip(broken).map(keep).collect();
    fitting.lacking = fitting.joiners();
    for (piece, roles) in kept {
        match roles {
            Some(roles) => fitting.complete(piece.cells, roles, sets),
            None => fitting.out.push(piece),
        }
    }
    Some(join(fitting.out))
}

struct Fitting<'a> {
    aim: &'a Aim,
    loads: ByHolder,
    /// The holders that have a deficit. They are known when all copies that must go are given up.
    lacking: Joiners<'a>,
    out: Vec<Piece>,
}

impl<'a> Fitting<'a> {
    /// The holders that have a deficit now.
    fn joiners(&self) -> Joiners<'a> {
        let lacks = |holder: &HolderId| self.excess(*holder) < 0;
        let lacking: Vec<HolderId> = self.loads.ids().filter(lacks).collect();
        Joiners::new(&self.aim.domains, &lacking)
    }

    /// By how much a holder has too much; negative when it has too little.
    fn excess(&self, holder: HolderId) -> i128 {
        self.loads[holder] as i128 - self.aim.targets[holder] as i128 // both at most 2^64
    }

    /// The roles that stay: as many as possible, but at most R and within the caps. A copy that is
    /// dropped from an inner domain also leaves the domains around it, so the innermost broken
    /// domain comes first.
    fn keep(&mut self, cells: u128, roles: &[Role]) -> Vec<Role> {
        let domains = &self.aim.domains;
        let mut kept = roles.to_vec();
        loop {
            let full = domains.broken(kept.iter().map(|role| role.holder()));
            if full.is_none() && kept.len() <= domains.replicas() as usize {
                return kept;
            }
            let inside = |role: &&Role| {
                full.is_none_or(|domain| domains.of(role.holder()).contains(&domain))
            };
            // drop holders that cannot hold first, then other copies before the primary, then the
            // holder with the largest surplus
            let rank = |role: &&Role| {
                (
                    !domains.can_hold(role.holder()),
                    !role.is_primary(),
                    self.excess(role.holder()),
                    role.holder(),
                )
            };
            let Some(dropped) = kept.iter().filter(inside).max_by_key(rank).copied() else {
                return kept;
            };
            kept.retain(|role| *role != dropped);
            self.loads[dropped.holder()] -= cells;
        }
    }

    /// Adds the missing roles. Holders with a deficit come first, in their order, each for as many
    /// cells as it lacks. When no holder that may join has a deficit, the one with the smallest
    /// surplus gets all cells.
    fn complete(&mut self, cells: u128, mut kept: Vec<Role>, sets: &mut Sets) {
        let has_primary = kept.iter().any(|role| role.is_primary());
        let is_whole = kept.len() >= self.aim.replicas() as usize;
        let joining = if is_whole { None } else { self.joining(&kept) };
        let Some(holder) = joining else {
            if let Some(first) = kept.first_mut().filter(|_| is_whole && !has_primary) {
                *first = Role::primary(first.holder());
            }
            // if no holder could join a set that is not whole, `Aim::prove` will report it
            let set = sets.id(kept);
            self.out.push(Piece { cells, set });
            return;
        };
        let lacks = self.excess(holder).min(0).unsigned_abs();
        let taken = if lacks == 0 { cells } else { cells.min(lacks) };
        let mut more = kept.clone();
        more.push(Role::of(holder, !has_primary));
        self.loads[holder] += taken;
        if lacks > 0 && taken == lacks {
            self.lacking.close(holder);
        }
        self.complete(taken, more, sets);
        if taken < cells {
            self.complete(cells - taken, kept, sets);
        }
    }

    /// The holder that joins these roles, if any may.
    fn joining(&self, kept: &[Role]) -> Option<HolderId> {
        let others = kept.iter().map(|role| role.holder());
        self.lacking.first_for(others.clone()).or_else(|| {
            let may = |holder: &HolderId| self.aim.domains.may_join(*holder, others.clone());
            let all = self.loads.ids().filter(may);
            all.min_by_key(|holder| (self.excess(*holder), *holder))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type List<'a> = &'a [(u128, &'a [u32])];

    /// Checks what `fit` makes of pieces of holders in these zones ("-" cannot hold) with these
    /// targets.
    fn fitted(
        zones: &[&str],
        replicas: u32,
        targets: &[u128],
        pieces: List,
        expected: Option<List>,
    ) {
        let mut sets = Sets::default();
        let pieces = sets.pieces(pieces);
        let made = fit(&pieces, &mut sets, &Aim::zoned(zones, replicas, targets));
        assert_eq!(made, expected.map(|list| sets.pieces(list)));
    }

    #[test]
    fn sets_that_fit_stay() {
        fitted(&["a", "b"], 2, &[4, 4], &[(4, &[0, 1])], None);
        // a holder that leaves gives up cells like any other donor: it breaks no cap
        fitted(&["-", "a", "b"], 2, &[0, 4, 4], &[(4, &[0, 1])], None);
    }

    #[test]
    fn a_missing_copy_goes_to_holders_with_a_deficit_in_their_order() {
        fitted(
            &["a", "b", "c"],
            2,
            &[2, 3, 3],
            &[(4, &[0])],
            Some(&[(3, &[0, 1]), (1, &[0, 2])]),
        );
        // no holder that may join has a deficit, so the one with the smallest surplus joins
        fitted(
            &["a", "b", "c"],
            2,
            &[8, 0, 0],
            &[(4, &[0]), (4, &[0, 1])],
            Some(&[(4, &[0, 2]), (4, &[0, 1])]),
        );
    }

    #[test]
    fn a_surplus_copy_leaves_the_full_domain_and_is_not_the_primary() {
        fitted(
            &["a", "a", "b"],
            2,
            &[2, 2, 4],
            &[(4, &[0, 1])],
            Some(&[(4, &[0, 2])]),
        );
        fitted(
            &["a", "a", "b"],
            2,
            &[2, 2, 4],
            &[(4, &[1, 0])],
            Some(&[(4, &[1, 2])]),
        );
        fitted(&["a", "b"], 1, &[2, 2], &[(4, &[1, 0])], Some(&[(4, &[1])]));
    }

    #[test]
    fn a_holder_that_cannot_hold_is_dropped_first_and_another_becomes_primary() {
        fitted(
            &["-", "a", "b"],
            2,
            &[0, 4, 4],
            &[(4, &[0, 1, 2])],
            Some(&[(4, &[1, 2])]),
        );
    }
}
