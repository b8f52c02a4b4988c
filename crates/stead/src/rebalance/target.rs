//! Targets: the weighted shares as integers, as far as the caps allow. Normative:
//! docs/placement.md, "Targets".
//!
//! Progressive filling: one level rises for all holders until a bound (a node, a domain, the whole)
//! is reached; those under it are frozen, the others go on. Each freezing is by largest remainder,
//! so everything stays in whole cells.
//!
//! Nothing overflows: a bound is at most 255 * 2^64 < 2^72 cells, a weight at most 10^12 < 2^40
//! millionths, and 65,536 * 2 of them are less than 2^57; but a fleet of so many that all have the
//! largest weight is not more than 2^56 by nodes alone, and policies take part at one replica only.
//! So a product of a bound and a sum of weights is below 2^128.

use std::cmp::Ordering;

use super::domains::{DomainId, Domains};
use super::holder::{ByHolder, HolderId};
use crate::weight::Weight;

/// What stops a holder from getting more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// It holds one copy of every point.
    Node(HolderId),
    /// Its domain is full.
    Domain(DomainId),
    /// There is no more: it has its fair share of what others leave.
    Whole,
}

/// Targets, and what bounds each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Targets {
    /// How many cells each holder gets.
    pub cells: ByHolder,
    /// For each holder what froze it; `None` for those without a weight.
    pub bounds: Vec<Option<Bound>>,
}

/// How many cells each holder gets by its weight, of R * `cells`, as far as the caps allow.
///
/// `None` when fewer than R holders have a weight.
pub fn targets(weights: &[Weight], domains: &Domains, cells: u128) -> Option<Targets> {
    let holding = weights
        .iter()
        .filter(|weight| **weight > Weight::ZERO)
        .count();
    if holding == 0 || holding < domains.replicas() as usize {
        return None;
    }
    let mut filling = Filling::new(weights, domains, cells);
    while let Some(bound) = filling.next_bound() {
        filling.freeze(bound);
    }
    Some(filling.targets)
}

/// The share of each holder without any cap: R * `cells` by weight, by largest remainder. Zeros
/// when nobody has a weight.
pub fn wanted(weights: &[Weight], replicas: u32, cells: u128) -> ByHolder {
    let all: Vec<(HolderId, u128)> = (0..)
        .map(HolderId)
        .zip(weights)
        .map(|(h, w)| (h, u128::from(w.millionths())))
        .collect();
    let mut shares = ByHolder::zeros(weights.len());
    for (holder, share) in split(
        u128::from(replicas) * cells,
        &all,
        &Domains::default(),
        &mut [],
    ) {
        shares.add(holder, share);
    }
    shares
}

/// Splits `left` cells by weight: floors first, then one more each for the largest remainders, of
/// equal ones for the earlier. `room` is what each domain can still take; whoever is in one that
/// has none left is passed over.
fn split(
    left: u128,
    weights: &[(HolderId, u128)],
    domains: &Domains,
    room: &mut [u128],
) -> Vec<(HolderId, u128)> {
    let total: u128 = weights.iter().map(|(_, weight)| weight).sum();
    if total == 0 {
        return Vec::new();
    }
    let (whole, rest) = (left / total, left % total);
    let mut shares: Vec<(HolderId, u128)> = Vec::with_capacity(weights.len());
    let mut over = left;
    let mut order: Vec<(u128, usize)> = Vec::with_capacity(weights.len());
    for (i, (holder, weight)) in weights.iter().enumerate() {
        let share = whole * weight + rest * weight / total;
        for id in domains.of(*holder) {
            if let Some(room) = room.get_mut(*id) {
                *room = room.saturating_sub(share); // floors always fit
            }
        }
        over -= share;
        shares.push((*holder, share));
        order.push((rest * weight % total, i));
    }
    order.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, i) in order {
        let Some((holder, share)) = shares.get_mut(i).filter(|_| over > 0) else {
            break;
        };
        if domains
            .of(*holder)
            .iter()
            .all(|id| room.get(*id).is_none_or(|room| *room > 0))
        {
            *share += 1;
            over -= 1;
            for id in domains.of(*holder) {
                if let Some(room) = room.get_mut(*id) {
                    *room -= 1;
                }
            }
        }
    }
    shares
}

/// A level that rises.
struct Filling<'a> {
    domains: &'a Domains,
    weights: Vec<u128>,
    cells: u128,
    targets: Targets,
    rising: Vec<bool>,
    /// for each domain, and last for the whole: cells still to be had, and the weights that still
    /// rise
    left: Vec<(u128, u128)>,
}

impl<'a> Filling<'a> {
    fn new(weights: &[Weight], domains: &'a Domains, cells: u128) -> Filling<'a> {
        let weights: Vec<u128> = weights
            .iter()
            .map(|weight| u128::from(weight.millionths()))
            .collect();
        let mut left: Vec<(u128, u128)> = domains
            .list()
            .iter()
            .map(|domain| (u128::from(domain.cap) * cells, 0))
            .collect();
        left.push((u128::from(domains.replicas()) * cells, 0));
        let mut filling = Filling {
            domains,
            cells,
            targets: Targets {
                cells: ByHolder::zeros(weights.len()),
                bounds: vec![None; weights.len()],
            },
            rising: weights.iter().map(|weight| *weight > 0).collect(),
            weights,
            left,
        };
        for (holder, weight) in filling.weights_of(|_| true) {
            filling.each_bound(holder, |(_, rising)| *rising += weight);
        }
        filling
    }

    /// The rising holders among those that `wanted` takes, with their weights.
    fn weights_of(&self, wanted: impl Fn(HolderId) -> bool) -> Vec<(HolderId, u128)> {
        let all = (0..)
            .map(HolderId)
            .zip(self.weights.iter().zip(&self.rising));
        all.filter(|(holder, (_, rising))| **rising && wanted(*holder))
            .map(|(holder, (weight, _))| (holder, *weight))
            .collect()
    }

    /// Changes the numbers of every domain of a holder, and of the whole.
    fn each_bound(&mut self, holder: HolderId, mut change: impl FnMut(&mut (u128, u128))) {
        for domain in self.domains.of(holder) {
            if let Some(left) = self.left.get_mut(*domain) {
                change(left);
            }
        }
        if let Some(left) = self.left.last_mut() {
            change(left);
        }
    }

    /// The bound that is reached first, of equal ones the innermost, then the earlier; `None` when
    /// nobody rises.
    fn next_bound(&self) -> Option<Bound> {
        let (whole, inner) = self.left.split_last()?;
        let mut best = (*whole, Bound::Whole);
        let mut try_bound = |level: (u128, u128), bound: Bound, on_tie: bool| {
            // left / weights, compared by cross-multiplication
            let order = (level.0 * best.0 .1).cmp(&(best.0 .0 * level.1));
            if level.1 > 0 && (order == Ordering::Less || (on_tie && order == Ordering::Equal)) {
                best = (level, bound);
            }
        };
        // from the outermost level inwards and, within a level, from the last to the first, so that
        // a tie goes to the right one
        let depth = |id: &DomainId| {
            self.domains
                .list()
                .get(*id)
                .map_or(0, |domain| domain.path.len())
        };
        let mut order: Vec<DomainId> = (0..inner.len()).collect();
        order.sort_by_key(|id| (depth(id), std::cmp::Reverse(*id)));
        for id in order {
            if let Some(level) = inner.get(id) {
                try_bound(*level, Bound::Domain(id), true);
            }
        }
        for (holder, weight) in self.weights_of(|_| true).into_iter().rev() {
            try_bound((self.cells, weight), Bound::Node(holder), true);
        }
        (whole.1 > 0).then_some(best.1)
    }

    fn freeze(&mut self, bound: Bound) {
        let (left, group) = match bound {
            Bound::Node(holder) => (self.cells, self.weights_of(|other| other == holder)),
            Bound::Domain(id) => {
                let left = self.left.get(id).map_or(0, |left| left.0);
                (
                    left,
                    self.weights_of(|holder| self.domains.of(holder).contains(&id)),
                )
            }
            Bound::Whole => (
                self.left.last().map_or(0, |left| left.0),
                self.weights_of(|_| true),
            ),
        };
        let mut room: Vec<u128> = self.left.iter().map(|left| left.0).collect();
        for (holder, share) in split(left, &group, self.domains, &mut room) {
            let weight = self.weights.get(holder.index()).copied().unwrap_or(0);
            self.targets.cells.add(holder, share);
            self.each_bound(holder, |(left, rising)| {
                *left = left.saturating_sub(share);
                *rising -= weight;
            });
            if let Some(place) = self.targets.bounds.get_mut(holder.index()) {
                *place = Some(bound);
            }
            if let Some(rising) = self.rising.get_mut(holder.index()) {
                *rising = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::SPACE;

    fn weights(millionths: &[u64]) -> Vec<Weight> {
        millionths
            .iter()
            .map(|m| Weight::from_millionths(*m).unwrap())
            .collect()
    }

    /// `a/1=5` is a node of weight 5 millionths in rack 1 of zone a.
    fn fill(nodes: &[&str], replicas: u32, cells: u128) -> Option<Vec<u128>> {
        let split: Vec<(&str, u64)> = nodes
            .iter()
            .map(|n| {
                n.split_once('=')
                    .map(|(p, w)| (p, w.parse().unwrap()))
                    .unwrap()
            })
            .collect();
        let paths: Vec<Option<Vec<&str>>> = split
            .iter()
            .map(|(p, w)| (*w > 0).then(|| p.split('/').collect()))
            .collect();
        let list: Vec<u64> = split.iter().map(|(_, w)| *w).collect();
        targets(&weights(&list), &Domains::new(&paths, replicas), cells)
            .map(|targets| targets.cells.0)
    }

    fn flat(list: &[u64], cells: u128) -> Vec<u128> {
        let none: Vec<Option<Vec<&str>>> = list.iter().map(|w| (*w > 0).then(Vec::new)).collect();
        targets(&weights(list), &Domains::new(&none, 1), cells)
            .unwrap()
            .cells
            .0
    }

    #[test]
    fn targets_add_up_and_are_within_one_cell_of_the_share() {
        for list in [
            vec![1],
            vec![1, 1, 1],
            vec![1_000_000, 1_500_000, 0, 3],
            vec![7; 1000],
            vec![1_000_000_000_000; 65_536],
        ] {
            let total: u128 = list.iter().map(|w| u128::from(*w)).sum();
            for cells in [SPACE, 16_384, 7, 1] {
                let targets = flat(&list, cells);
                assert_eq!(targets.iter().sum::<u128>(), cells);
                for (weight, target) in list.iter().zip(&targets) {
                    // |target - cells * w / W| < 1, without fractions: |target * W - cells * w| < W; split as in the code
                    let w = u128::from(*weight);
                    let floor = cells / total * w + cells % total * w / total;
                    assert!(*target == floor || *target == floor + 1);
                }
            }
        }
    }

    #[test]
    fn left_over_cells_go_to_the_largest_remainders_then_to_the_earlier_holder() {
        assert_eq!(flat(&[1, 1, 1], 16), [6, 5, 5]);
        // shares 2.5, 5, 2.5
        assert_eq!(flat(&[1, 2, 1], 10), [3, 5, 2]);
        // shares 1.2, 2.4, 8.4
        assert_eq!(flat(&[1, 2, 7], 12), [1, 3, 8]);
    }

    #[test]
    fn scaling_all_weights_alike_changes_nothing() {
        for list in [vec![1, 2, 3], vec![5, 7, 11, 13], vec![999_999, 1]] {
            let scaled: Vec<u64> = list.iter().map(|w| w * 1000).collect();
            assert_eq!(flat(&list, SPACE), flat(&scaled, SPACE));
        }
    }

    #[test]
    fn without_enough_holders_there_are_no_targets() {
        assert_eq!(fill(&["a=0", "b=0"], 1, 10), None);
        assert_eq!(fill(&[], 1, 10), None);
        assert_eq!(fill(&["a=1", "b=0"], 2, 10), None);
    }

    #[test]
    fn zones_as_many_as_replicas_hold_one_copy_each_whatever_their_weights() {
        assert_eq!(
            fill(&["a=1", "a=3", "b=5", "c=1", "c=1"], 3, 100).unwrap(),
            [25, 75, 100, 50, 50]
        );
    }

    #[test]
    fn what_a_full_domain_cannot_take_goes_to_the_others_by_weight() {
        // two copies over three zones: a wants 2 * 100 * 8 / 12 = 133, and can hold 100; b and c
        // share the rest 3 : 1
        assert_eq!(
            fill(&["a=4", "a=4", "b=3", "c=1"], 2, 100).unwrap(),
            [50, 50, 75, 25]
        );
        // and a node that may hold one copy of everything, inside a zone that may hold two
        assert_eq!(
            fill(&["a=100", "a=1", "a=1", "b=1"], 3, 100).unwrap(),
            [100, 50, 50, 100]
        );
    }

    #[test]
    fn a_tie_freezes_the_innermost_bound_and_no_bound_is_passed() {
        // both zones are reached together with the whole; each zone's odd cells stay in it
        assert_eq!(
            fill(&["a=1", "a=1", "a=1", "b=1", "b=1", "b=1"], 2, 100).unwrap(),
            [34, 33, 33, 34, 33, 33]
        );
    }

    #[test]
    fn a_remainder_passes_over_a_domain_that_is_full() {
        // 3 * 10 cells over a (cap 1), b, c, d (cap 1 each): a is just not tight, its nodes have
        // the largest remainders
        let filled = fill(
            &["a=332", "a=332", "a=332", "b=668", "c=668", "d=668"],
            3,
            10,
        )
        .unwrap();
        assert_eq!(filled.iter().sum::<u128>(), 30);
        assert!(
            filled.iter().take(3).sum::<u128>() <= 10 && filled.iter().all(|cells| *cells <= 10),
            "{filled:?}"
        );
    }
}
