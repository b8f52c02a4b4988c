//! Demand: how much each role has too much or too little. Steps 3 to 5 reduce it to zero.

use super::aim::Aim;
use super::holder::{ByRole, Role};

/// By how much each role must shrink, and by how much it must grow.
pub(super) struct Demand {
    /// How many cells a role has too many.
    pub surplus: ByRole,
    /// How many cells a role has too few.
    pub deficit: ByRole,
}

impl Demand {
    /// The demand of the holders with these loads. The two roles of a holder together never have
    /// more surplus (or deficit) than the holder itself, so all of the surplus has to move.
    pub(super) fn of(now: &ByRole, aim: &Aim) -> Demand {
        let loads = now.by_holder();
        let wanted = aim.wanted(&loads, &now.primaries());
        let mut demand = Demand {
            surplus: ByRole::zeros(now.len()),
            deficit: ByRole::zeros(now.len()),
        };
        for (holder, target) in aim.targets.iter() {
            let mut too_much = loads[holder].saturating_sub(*target);
            let mut too_little = target.saturating_sub(loads[holder]);
            let aims = [
                (Role::primary(holder), wanted[holder]),
                (Role::other(holder), target - wanted[holder]),
            ];
            for (role, aim) in aims {
                let gives = now[role].saturating_sub(aim).min(too_much);
                let takes = aim.saturating_sub(now[role]).min(too_little);
                too_much -= gives;
                too_little -= takes;
                demand.surplus[role] = gives;
                demand.deficit[role] = takes;
            }
        }
        demand
    }
}
