//! Fit: pieces whose sets cannot stay as they are, because R or the caps changed, get sets that
//! can.
//!
//! Each such piece keeps as many of its copies as R and the caps allow, so what is added here has
//! to move in any way. Who is dropped and who is added is a good guess by who has too much and who
//! too little; `copies` puts right what it got wrong.

use super::domains::Domains;
use super::holder::{ByHolder, HolderId};
use super::piece::{join, loads, Piece};
use super::role::Role;
use super::sets::{SetId, Sets};

/// The pieces with R copies each that keep the caps; `None` when all of them do already.
pub(super) fn fit(
    pieces: &[Piece],
    sets: &mut Sets,
    domains: &Domains,
    targets: &ByHolder,
) -> Option<Vec<Piece>> {
    let fits = |set: SetId| {
        sets.roles(set).len() == domains.replicas() as usize
            && domains.broken(sets.holders(set)).is_none()
    };
    let mut known: Vec<Option<bool>> = vec![None; sets.count()];
    let is_broken = |piece: &Piece| {
        known
            .get_mut(piece.set.index())
            .is_some_and(|known| *known.get_or_insert_with(|| !fits(piece.set)))
    };
    let broken: Vec<bool> = pieces.iter().map(is_broken).collect();
    if !broken.contains(&true) {
        return None;
    }
    let mut fitting = Fitting {
        domains,
        targets,
        loads: loads(pieces, sets, targets.0.len()),
    };
    let mut out = Vec::with_capacity(pieces.len());
    // all that is given up first, so that what is missing is known before it is given out
    let kept: Vec<Vec<Role>> = pieces
        .iter()
        .zip(&broken)
        .map(|(piece, broken)| {
            if *broken {
                fitting.keep(piece.cells, sets.roles(piece.set))
            } else {
                Vec::new()
            }
        })
        .collect();
    for ((piece, broken), kept) in pieces.iter().zip(broken).zip(kept) {
        if broken {
            fitting.complete(piece.cells, kept, sets, &mut out);
        } else {
            out.push(*piece);
        }
    }
    Some(join(out))
}

struct Fitting<'a> {
    domains: &'a Domains,
    targets: &'a ByHolder,
    loads: ByHolder,
}

impl Fitting<'_> {
    /// By how much a holder has too much.
    fn excess(&self, holder: HolderId) -> i128 {
        self.loads.of(holder) as i128 - self.targets.of(holder) as i128 // both at most 2^64
    }

    /// The roles that stay: at most R, within the caps, and as many as can. What is dropped for an
    /// inner domain counts for those around it, so the innermost comes first.
    fn keep(&mut self, cells: u128, roles: &[Role]) -> Vec<Role> {
        let mut kept = roles.to_vec();
        loop {
            let holders = || kept.iter().map(|role| role.holder());
            let full = self.domains.broken(holders());
            if full.is_none() && kept.len() <= self.domains.replicas() as usize {
                break;
            }
            let inside = |role: &&Role| {
                full.is_none_or(|domain| self.domains.of(role.holder()).contains(&domain))
            };
            // those that cannot hold first, then others before primaries, then who has most too
            // much
            let rank = |role: &Role| {
                (
                    !self.domains.can_hold(role.holder()),
                    !role.is_primary(),
                    self.excess(role.holder()),
                    role.holder(),
                )
            };
            let Some(dropped) = kept
                .iter()
                .filter(inside)
                .max_by_key(|role| rank(role))
                .copied()
            else {
                break;
            };
            kept.retain(|role| *role != dropped);
            self.loads.take(dropped.holder(), cells);
        }
        kept
    }

    /// Adds the roles that are missing: those with too little, in their order, as much as they
    /// lack; when nobody who may join lacks any, whoever has least too much.
    fn complete(
        &mut self,
        cells: u128,
        mut kept: Vec<Role>,
        sets: &mut Sets,
        out: &mut Vec<Piece>,
    ) {
        if !kept.iter().any(|role| role.is_primary())
            && kept.len() == self.domains.replicas() as usize
        {
            if let Some(first) = kept.first_mut() {
                *first = Role::primary(first.holder());
            }
        }
        if kept.len() >= self.domains.replicas() as usize {
            out.push(Piece {
                cells,
                set: sets.id(kept),
            });
            return;
        }
        let may = |holder: &HolderId| {
            self.domains
                .may_join(*holder, kept.iter().map(|role| role.holder()))
        };
        let all = || (0..self.targets.0.len() as u32).map(HolderId).filter(may);
        let lacking = all().find(|holder| self.excess(*holder) < 0);
        let Some(holder) =
            lacking.or_else(|| all().min_by_key(|holder| (self.excess(*holder), *holder)))
        else {
            out.push(Piece {
                cells,
                set: sets.id(kept),
            }); // the final check of the rebalance reports it
            return;
        };
        let lacks = self.excess(holder).min(0).unsigned_abs();
        let taken = if lacks == 0 { cells } else { cells.min(lacks) };
        let role = if kept.iter().any(|role| role.is_primary()) {
            Role::other(holder)
        } else {
            Role::primary(holder)
        };
        let mut more = kept.clone();
        more.push(role);
        self.loads.add(holder, taken);
        self.complete(taken, more, sets, out);
        if taken < cells {
            self.complete(cells - taken, kept, sets, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type List<'a> = &'a [(u128, &'a [u32])];

    /// What `fit` makes of pieces of holders in these zones ("-" cannot hold) with these targets.
    fn fitted(
        zones: &[&str],
        replicas: u32,
        targets: &[u128],
        pieces: List,
        expected: Option<List>,
    ) {
        let paths: Vec<Option<Vec<&str>>> = zones
            .iter()
            .map(|zone| (*zone != "-").then(|| vec![*zone]))
            .collect();
        let mut sets = Sets::default();
        let pieces = sets.pieces(pieces);
        let made = fit(
            &pieces,
            &mut sets,
            &Domains::new(&paths, replicas),
            &ByHolder(targets.to_vec()),
        );
        assert_eq!(made, expected.map(|list| sets.pieces(list)));
    }

    #[test]
    fn sets_that_fit_stay() {
        fitted(&["a", "b"], 2, &[4, 4], &[(4, &[0, 1])], None);
        // a holder that leaves is a donor like any other: it breaks no cap
        fitted(&["-", "a", "b"], 2, &[0, 4, 4], &[(4, &[0, 1])], None);
    }

    #[test]
    fn a_copy_too_few_goes_to_those_who_lack_some_in_their_order() {
        fitted(
            &["a", "b", "c"],
            2,
            &[2, 3, 3],
            &[(4, &[0])],
            Some(&[(3, &[0, 1]), (1, &[0, 2])]),
        );
        // nobody who may join lacks any: whoever has least too much
        fitted(
            &["a", "b", "c"],
            2,
            &[8, 0, 0],
            &[(4, &[0]), (4, &[0, 1])],
            Some(&[(4, &[0, 2]), (4, &[0, 1])]),
        );
    }

    #[test]
    fn a_copy_too_many_goes_from_the_full_domain_and_not_from_the_primary() {
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
    fn who_cannot_hold_goes_first_and_then_another_is_the_primary() {
        fitted(
            &["-", "a", "b"],
            2,
            &[0, 4, 4],
            &[(4, &[0, 1, 2])],
            Some(&[(4, &[1, 2])]),
        );
    }
}
