//! Fit: gives a new set to each piece whose set cannot stay, because R or the caps changed.
//!
//! Each such piece keeps as many of its copies as R and the caps allow, so a copy that is added
//! here has to move in any case. Which copies are dropped and which holders are added is a guess,
//! made from who has too much and who has too little. The guess is usually good; `copies` corrects
//! it where it was wrong.

use std::cmp::Reverse;

use super::aim::Aim;
use super::crowd::Crowd;
use super::holder::{ByHolder, HolderId, Role};
use super::joiners::Joiners;
use super::piece::{join, loads, Piece};
use super::sets::{SetId, Sets};
use super::table::Table;

/// Returns pieces with R copies each that keep the caps, or `None` when all pieces do so already.
pub(super) fn fit(pieces: &[Piece], sets: &mut Sets, aim: &Aim) -> Option<Vec<Piece>> {
    let mut crowd = Crowd::new(&aim.domains);
    if sets.ids().all(|set| aim.fits(set, sets, &mut crowd)) {
        return None;
    }
    let mut known: Table<SetId, Option<bool>> = Table::filled(sets.count(), None);
    let mut fits = |set| *known[set].get_or_insert_with(|| aim.fits(set, sets, &mut crowd));
    let broken: Vec<bool> = pieces.iter().map(|piece| !fits(piece.set)).collect();
    if !broken.contains(&true) {
        return None;
    }
    let mut fitting = Fitting {
        aim,
        loads: loads(pieces, sets, aim.holders()),
        lacking: Joiners::new(&aim.domains, &[]),
        crowd,
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
            Some(mut roles) => {
                let holders = || roles.iter().map(|role| role.holder());
                holders().for_each(|holder| fitting.crowd.enter(holder, |_| {}));
                fitting.complete(piece.cells, &mut roles, sets);
                let holders = roles.iter().map(|role| role.holder());
                holders.for_each(|holder| fitting.crowd.leave(holder));
            }
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
    /// The holders of the piece that is looked at.
    crowd: Crowd<'a>,
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
    /// domains come first.
    fn keep(&mut self, cells: u128, roles: &[Role]) -> Vec<Role> {
        let domains = &self.aim.domains;
        for role in roles {
            self.crowd.enter(role.holder(), |_| {});
        }
        // drop holders that cannot hold first, then other copies before the primary, then the
        // holder with the largest surplus
        let rank = |role: &Role| {
            Reverse((
                !domains.can_hold(role.holder()),
                !role.is_primary(),
                self.excess(role.holder()),
                role.holder(),
            ))
        };
        let mut order = roles.to_vec();
        order.sort_by_cached_key(rank);
        let order: Vec<HolderId> = order.iter().map(|role| role.holder()).collect();
        let mut count = roles.len();
        for level in (0..domains.levels()).rev() {
            if self.crowd.keeps_caps() {
                break;
            }
            for holder in &order {
                let domain = domains.of(*holder).get(level);
                let is_above = domain.is_some_and(|domain| self.crowd.is_above(*domain));
                if is_above && self.crowd.has(*holder) {
                    self.crowd.leave(*holder);
                    count -= 1;
                }
            }
        }
        for holder in order {
            if count > domains.replicas() as usize && self.crowd.has(holder) {
                self.crowd.leave(holder);
                count -= 1;
            }
        }
        let stays = |role: &&Role| self.crowd.has(role.holder());
        let kept: Vec<Role> = roles.iter().filter(stays).copied().collect();
        for role in roles {
            if self.crowd.has(role.holder()) {
                self.crowd.leave(role.holder());
            } else {
                self.loads[role.holder()] -= cells;
            }
        }
        kept
    }

    /// Adds the missing roles. Holders with a deficit come first, in their order, each for as many
    /// cells as it lacks. When no holder that may join has a deficit, the one with the smallest
    /// surplus gets all cells. The holders of `kept` are the crowd, before and afterwards.
    fn complete(&mut self, mut cells: u128, kept: &mut Vec<Role>, sets: &mut Sets) {
        let has_primary = kept.iter().any(|role| role.is_primary());
        let is_whole = kept.len() >= self.aim.replicas() as usize;
        while cells > 0 {
            let joining = if is_whole { None } else { self.joining() };
            let Some(holder) = joining else {
                // without a primary the first one becomes it; if no holder could join a set that
                // is not whole, `Aim::prove` will report it
                let first = kept.first().filter(|_| is_whole && !has_primary).copied();
                let becomes = |role: &Role| match first {
                    Some(first) if first == *role => Role::primary(role.holder()),
                    _ => *role,
                };
                let set = sets.id(kept.iter().map(becomes));
                self.out.push(Piece { cells, set });
                return;
            };
            let lacks = self.excess(holder).min(0).unsigned_abs();
            let taken = if lacks == 0 { cells } else { cells.min(lacks) };
            self.loads[holder] += taken;
            if lacks > 0 && taken == lacks {
                self.lacking.close(holder);
            }
            kept.push(Role::of(holder, !has_primary));
            self.crowd.enter(holder, |_| {});
            self.complete(taken, kept, sets);
            self.crowd.leave(holder);
            kept.pop();
            cells -= taken;
        }
    }

    /// The holder that joins the crowd, if any may.
    fn joining(&self) -> Option<HolderId> {
        self.lacking.first_for(&self.crowd).or_else(|| {
            let may = |holder: &HolderId| self.crowd.may_join(*holder);
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
