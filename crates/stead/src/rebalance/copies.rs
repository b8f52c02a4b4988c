//! Copies: what the greedy steps could not settle goes along shortest paths, so that the copies that move are the fewest there are.

use super::domains::Domains;
use super::flow::{Flow, Kind, Run};
use super::holder::{ByHolder, HolderId};
use super::piece::{loads, overlay, Piece};
use super::sets::{SetId, Sets};

/// The pieces with every exchange made that costs at most `limit` a cell and brings a holder nearer to its target. `old` is where
/// they started: there each set costs the least that it can, which keeps the graph free of negative cycles.
pub(super) fn settle(old: &[Piece], now: &[Piece], sets: &mut Sets, domains: &Domains, targets: &ByHolder, limit: i64) -> Vec<Piece> {
    let loads = loads(now, sets, targets.0.len());
    let runs = overlay(old, now).map(|(cells, before, after)| Run::new(cells, after, before)).collect();
    let mut flow = Flow::new(Copies, runs, sets, domains, loads.above(targets), targets.above(&loads));
    flow.settle(limit);
    flow.into_pieces()
}

/// Any holder may take a copy over that has none of the point and whose domains are not full.
struct Copies;

impl Copies {
    /// -1 when the copy is not where it was, so that giving it up is a refund.
    fn refund(sets: &Sets, run: &Run, from: HolderId) -> i64 {
        if sets.role_of(run.old, from).is_none() {
            -1
        } else {
            0
        }
    }
}

impl Kind for Copies {
    fn sources(&self, sets: &Sets, set: SetId) -> Vec<HolderId> {
        sets.holders(set).collect()
    }

    /// Back to where a copy was.
    fn direct(&self, sets: &Sets, domains: &Domains, run: &Run, from: HolderId) -> Vec<(HolderId, i64)> {
        if run.set == run.old {
            return Vec::new();
        }
        let rest = sets.holders(run.set).filter(|holder| *holder != from);
        let back = |holder: &HolderId| sets.role_of(run.set, *holder).is_none() && domains.may_join(*holder, rest.clone());
        sets.holders(run.old).filter(back).map(|holder| (holder, Copies::refund(sets, run, from))).collect()
    }

    fn broad(&self, sets: &Sets, run: &Run, from: HolderId) -> Option<i64> {
        Some(1 + Copies::refund(sets, run, from))
    }

    fn exchange(&self, sets: &mut Sets, set: SetId, from: HolderId, to: HolderId) -> SetId {
        match sets.role_of(set, from) {
            Some(role) => sets.swap(set, role, role.of(to)),
            None => set,
        }
    }
    fn is_sound(&self, sets: &Sets, domains: &Domains, set: SetId) -> bool {
        sets.roles(set).windows(2).all(|pair| matches!(pair, [a, b] if a.holder() != b.holder()))
            && domains.broken(sets.holders(set)).is_none()
    }
}
