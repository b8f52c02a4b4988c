//! Aim: what a rebalance has to reach, and the check that it did.

use super::crowd::Crowd;
use super::domains::Domains;
use super::holder::{ByHolder, HolderId};
use super::piece::{loads, Piece};
use super::sets::{SetId, Sets};
use super::table::Table;
use crate::error::{Error, Result};

/// The goal of a rebalance.
pub(super) struct Aim {
    /// The fault domains with their caps, and which holders can hold.
    pub domains: Domains,
    /// How many cells each holder gets. They add up to R times `cells`.
    pub targets: ByHolder,
    /// How many cells the space has.
    pub cells: u128,
    /// The largest number of pieces, if the fleet limits it.
    pub max_slices: Option<u32>,
    /// The primaries, where a tolerance leaves a choice; `None` where they follow from the targets.
    pub chosen: Option<Chosen>,
}

/// The primaries of a step with a tolerance.
pub(super) struct Chosen {
    /// Of how many cells each holder is to be the primary.
    pub primaries: ByHolder,
    /// The least and the greatest number that the tolerance allows.
    pub ranges: Table<HolderId, (u128, u128)>,
}

impl Aim {
    /// The number of holders, including those that leave.
    pub(super) fn holders(&self) -> usize {
        self.targets.len()
    }

    /// The number of replicas, R.
    pub(super) fn replicas(&self) -> u32 {
        self.domains.replicas()
    }

    /// Whether a set has R copies that keep the caps. The crowd is empty before and afterwards.
    pub(super) fn fits(&self, set: SetId, sets: &Sets, crowd: &mut Crowd) -> bool {
        sets.roles(set).len() == self.replicas() as usize
            && (self.domains.are_apart(sets.holders(set))
                || crowd.with(sets.holders(set), |crowd| crowd.keeps_caps()))
    }

    /// The smallest and the largest number of cells of which a holder may be the primary: its
    /// target divided by R, rounded down and rounded up, or what the tolerance allows.
    pub(super) fn primary_range(&self, holder: HolderId) -> (u128, u128) {
        if let Some(chosen) = &self.chosen {
            return chosen.ranges[holder];
        }
        let (target, r) = (self.targets[holder], u128::from(self.replicas()));
        (target / r, target.div_ceil(r))
    }

    /// The number of cells of which each holder is to be the primary.
    ///
    /// A holder keeps its present number (`primaries`) if that is in its range; otherwise it gets
    /// the nearest number in the range. Where the numbers do not add up to `cells`, some are
    /// changed, without a tolerance by one. Holders whose target differs from what they held before
    /// (`loads`) come first. Among them, the largest remainder is rounded up first and the smallest
    /// is rounded down first.
    pub(super) fn primaries(&self, loads: &ByHolder, primaries: &ByHolder) -> ByHolder {
        let near = |holder| {
            let (low, high) = self.primary_range(holder);
            primaries[holder].clamp(low, high)
        };
        let mut wanted: ByHolder = self.targets.ids().map(near).collect();
        let r = u128::from(self.replicas());
        let mut order: Vec<(bool, u128, HolderId)> = self
            .targets
            .iter()
            .map(|(holder, target)| (*target == loads[holder], target % r, holder))
            .collect();
        let sum = wanted.sum();
        if sum < self.cells {
            order.sort_unstable_by(|a, b| (a.0, b.1, a.2).cmp(&(b.0, a.1, b.2)));
            let mut missing = self.cells - sum;
            for (_, _, holder) in order {
                let part = (self.primary_range(holder).1 - wanted[holder]).min(missing);
                wanted[holder] += part;
                missing -= part;
            }
        } else {
            order.sort_unstable();
            let mut over = sum - self.cells;
            for (_, _, holder) in order {
                let part = (wanted[holder] - self.primary_range(holder).0).min(over);
                wanted[holder] -= part;
                over -= part;
            }
        }
        wanted
    }

    /// The number of primaries that the steps before the last one work towards.
    pub(super) fn wanted(&self, loads: &ByHolder, primaries: &ByHolder) -> ByHolder {
        match &self.chosen {
            Some(chosen) => chosen.primaries.clone(),
            None => self.primaries(loads, primaries),
        }
    }

    /// Checks that every holder has its target and that every set keeps the caps. All later
    /// guarantees rest on this, so a wrong map must not leave this module.
    pub(super) fn prove(&self, pieces: &[Piece], sets: &Sets) -> Result<()> {
        let wrong = |problem: &str| {
            Err(Error::Internal {
                problem: problem.to_owned(),
            })
        };
        if loads(pieces, sets, self.holders()) != self.targets
            || pieces.iter().map(|p| p.cells).sum::<u128>() != self.cells
        {
            return wrong("a rebalance missed its targets");
        }
        if self.replicas() == 1 {
            return Ok(());
        }
        let mut seen: Table<SetId, bool> = Table::filled(sets.count(), false);
        let mut crowd = Crowd::new(&self.domains);
        for piece in pieces {
            if std::mem::replace(&mut seen[piece.set], true) {
                continue;
            }
            let primaries = sets.roles(piece.set).iter().filter(|r| r.is_primary());
            if primaries.count() != 1 || !self.fits(piece.set, sets, &mut crowd) {
                return wrong("a rebalance put too many copies into one domain");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Aim {
    /// For tests: whether all pieces fit.
    pub(super) fn all_fit(&self, pieces: &[Piece], sets: &Sets) -> bool {
        let mut crowd = Crowd::new(&self.domains);
        let mut all = pieces.iter();
        all.all(|piece| self.fits(piece.set, sets, &mut crowd))
    }

    /// For tests: an aim with these targets, for holders in these zones, or zones and racks ("-":
    /// cannot hold).
    pub(super) fn zoned(zones: &[&str], replicas: u32, targets: &[u128]) -> Aim {
        let paths: Vec<Option<Vec<&str>>> = zones
            .iter()
            .map(|zone| (*zone != "-").then(|| zone.split('/').collect()))
            .collect();
        Aim::of(Domains::new(&paths, replicas), targets)
    }

    /// For tests: an aim with these targets, for holders without domains.
    pub(super) fn free(replicas: u32, targets: &[u128]) -> Aim {
        let free = vec![Some(Vec::new()); targets.len()];
        Aim::of(Domains::new(&free, replicas), targets)
    }

    fn of(domains: Domains, targets: &[u128]) -> Aim {
        let cells = targets.iter().sum::<u128>() / u128::from(domains.replicas());
        Aim {
            domains,
            targets: targets.to_vec().into(),
            cells,
            max_slices: None,
            chosen: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primaries_stay_in_range_and_changed_holders_are_rounded_first() {
        // 3, 3 and 2 cells at R = 2 are 1 or 2, 1 or 2, and 1 primaries, 4 in all
        let wanted = |loads: &[u128], before: &[u128]| {
            let (loads, before) = (loads.to_vec().into(), before.to_vec().into());
            Aim::free(2, &[3, 3, 2])
                .primaries(&loads, &before)
                .into_values()
        };
        assert_eq!(wanted(&[3, 3, 2], &[2, 1, 1]), [2, 1, 1]);
        assert_eq!(wanted(&[3, 3, 2], &[1, 2, 1]), [1, 2, 1]);
        // one too many: of equal remainders the earlier holder loses it; but where only 1 has
        // changed, 1 loses it
        assert_eq!(wanted(&[3, 3, 2], &[4, 4, 0]), [1, 2, 1]);
        assert_eq!(wanted(&[3, 2, 2], &[4, 4, 0]), [2, 1, 1]);
        // one too few
        assert_eq!(wanted(&[3, 3, 2], &[0, 0, 0]), [2, 1, 1]);
        assert_eq!(wanted(&[3, 2, 2], &[0, 0, 0]), [1, 2, 1]);
    }
}
