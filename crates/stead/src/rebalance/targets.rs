//! Targets: the weighted shares as integers, as far as the caps allow. Normative:
//! docs/placement.md, "Targets".
//!
//! The method is progressive filling. One level rises for all holders until it reaches a bound (of
//! a node, of a domain or of the whole). The holders under that bound are frozen, and the level of
//! the others rises further. Each freezing rounds by largest remainder, so all numbers are whole
//! cells.
//!
//! Nothing overflows. A bound is at most 255 * 2^64 < 2^72 cells. A weight is at most 10^12 < 2^40
//! millionths, so 65,536 weights add up to at most 2^56. Policies can double that sum, but they
//! take part only at one replica, where a bound is at most 2^64. So the product of a bound and a
//! sum of weights is below 2^128.

use std::cmp::Reverse;

use super::domains::{DomainId, Domains};
use super::holder::{ByHolder, HolderId};
use super::table::Table;
use crate::weight::Weight;

/// What keeps a holder from getting more cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The holder already has one copy of every point.
    Node(HolderId),
    /// A domain of the holder is full.
    Domain(DomainId),
    /// Nothing is left: the holder has its fair share of what the others leave.
    Whole,
}

/// The targets of all holders, and what bounds each of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Targets {
    /// How many cells each holder gets.
    pub cells: ByHolder,
    /// For each holder, the bound that froze it; `None` for a holder without a weight.
    pub bounds: Table<HolderId, Option<Bound>>,
}

/// Divides R * `cells` cells among the holders by weight, as far as the caps allow.
///
/// Returns `None` when fewer than R holders have a weight, or none has.
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

/// Divides R * `cells` cells among the holders by weight and largest remainder, without any caps.
/// All shares are 0 when no holder has a weight.
pub fn wanted(weights: &[Weight], replicas: u32, cells: u128) -> ByHolder {
    let weights: Table<HolderId, Weight> = weights.to_vec().into();
    let all: Vec<(HolderId, u128)> = weights
        .iter()
        .map(|(holder, weight)| (holder, u128::from(weight.millionths())))
        .collect();
    let mut shares = ByHolder::zeros(weights.len());
    for (holder, share) in split(u128::from(replicas) * cells, &all, None) {
        shares[holder] = share;
    }
    shares
}

/// Splits `left` cells by weight: each holder gets its share rounded down, and the holders with the
/// largest remainders get one more cell each (of equal remainders the earlier). A holder in a
/// domain that has no room left is skipped.
fn split(
    left: u128,
    weights: &[(HolderId, u128)],
    mut room: Option<Room>,
) -> Vec<(HolderId, u128)> {
    let total: u128 = weights.iter().map(|(_, weight)| weight).sum();
    if total == 0 {
        return Vec::new();
    }
    let (whole, rest) = (left / total, left % total);
    let mut over = left;
    let mut shares: Vec<(HolderId, u128, u128)> = Vec::with_capacity(weights.len());
    for (holder, weight) in weights {
        let share = whole * weight + rest * weight / total;
        if let Some(room) = &mut room {
            room.take(*holder, share); // floors always fit
        }
        over -= share;
        shares.push((*holder, share, rest * weight % total));
    }
    let mut by_remainder: Vec<&mut (HolderId, u128, u128)> = shares.iter_mut().collect();
    by_remainder.sort_by_key(|(_, _, remainder)| Reverse(*remainder));
    for (holder, share, _) in by_remainder {
        if over > 0 && room.as_mut().is_none_or(|room| room.take(*holder, 1)) {
            *share += 1;
            over -= 1;
        }
    }
    let shares = shares.into_iter();
    shares.map(|(holder, share, _)| (holder, share)).collect()
}

/// How many more cells each domain can take.
struct Room<'a> {
    domains: &'a Domains,
    cells: Table<DomainId, u128>,
}

impl Room<'_> {
    /// Takes room for these cells in all domains of the holder. Returns `false`, and takes nothing,
    /// when one of them has too little.
    fn take(&mut self, holder: HolderId, cells: u128) -> bool {
        let domains = self.domains.of(holder);
        let fits = domains.iter().all(|id| self.cells[*id] >= cells);
        if fits {
            for id in domains {
                self.cells[*id] -= cells;
            }
        }
        fits
    }
}

/// The state of progressive filling: the rising level and what it has frozen so far.
struct Filling<'a> {
    domains: &'a Domains,
    /// The domains from the outermost level inwards; within a level, from the last to the first.
    inwards: Vec<DomainId>,
    weights: Table<HolderId, u128>,
    cells: u128,
    targets: Targets,
    rising: Table<HolderId, bool>,
    of_domain: Table<DomainId, Left>,
    of_whole: Left,
}

/// What a domain, or the whole, still has to give.
#[derive(Clone, Copy)]
struct Left {
    /// The cells that are left.
    cells: u128,
    /// The sum of the weights of the holders that still rise.
    weights: u128,
}

impl Left {
    /// Whether the rising level reaches this bound before it reaches `other`.
    fn is_before(self, other: Left) -> bool {
        // cells / weights, compared by cross-multiplication
        self.cells * other.weights < other.cells * self.weights
    }
}

impl<'a> Filling<'a> {
    fn new(weights: &[Weight], domains: &'a Domains, cells: u128) -> Filling<'a> {
        let left = |copies: u32| Left {
            cells: u128::from(copies) * cells,
            weights: 0,
        };
        let millionths = |weight: &Weight| u128::from(weight.millionths());
        let weights: Table<HolderId, u128> = weights.iter().map(millionths).collect();
        let list = domains.list();
        let mut inwards: Vec<DomainId> = list.ids().rev().collect();
        inwards.sort_by_key(|id| list[*id].level);
        let mut filling = Filling {
            domains,
            inwards,
            cells,
            targets: Targets {
                cells: ByHolder::zeros(weights.len()),
                bounds: Table::filled(weights.len(), None),
            },
            rising: weights.values().iter().map(|weight| *weight > 0).collect(),
            weights,
            of_domain: list
                .values()
                .iter()
                .map(|domain| left(domain.cap))
                .collect(),
            of_whole: left(domains.replicas()),
        };
        for (holder, weight) in filling.rising(|_| true) {
            filling.each_left(holder, |left| left.weights += weight);
        }
        filling
    }

    /// The rising holders for which `wanted` is true, with their weights.
    fn rising(&self, wanted: impl Fn(HolderId) -> bool) -> Vec<(HolderId, u128)> {
        let rising = |holder: &HolderId| self.rising[*holder] && wanted(*holder);
        let holders = self.weights.ids().filter(rising);
        holders
            .map(|holder| (holder, self.weights[holder]))
            .collect()
    }

    /// Applies `change` to what is left in each domain of a holder and in the whole.
    fn each_left(&mut self, holder: HolderId, change: impl Fn(&mut Left)) {
        for domain in self.domains.of(holder) {
            change(&mut self.of_domain[*domain]);
        }
        change(&mut self.of_whole);
    }

    /// The bound that is reached first. Of equal ones, the innermost, then the earlier. `None` when
    /// no holder rises any more.
    fn next_bound(&self) -> Option<Bound> {
        if self.of_whole.weights == 0 {
            return None;
        }
        let of_domain = |id: &DomainId| (self.of_domain[*id], Bound::Domain(*id));
        let of_node = |(holder, weights): (HolderId, u128)| {
            let left = Left {
                cells: self.cells,
                weights,
            };
            (left, Bound::Node(holder))
        };
        let nodes = self.rising(|_| true);
        // on a tie the later one in this order wins
        let bounds = self.inwards.iter().map(of_domain);
        let bounds = bounds.chain(nodes.into_iter().rev().map(of_node));
        let first = bounds.filter(|(left, _)| left.weights > 0).fold(
            (self.of_whole, Bound::Whole),
            |best, next| {
                if best.0.is_before(next.0) {
                    best
                } else {
                    next
                }
            },
        );
        Some(first.1)
    }

    fn freeze(&mut self, bound: Bound) {
        let (left, group) = match bound {
            Bound::Node(holder) => (self.cells, vec![(holder, self.weights[holder])]),
            Bound::Domain(id) => {
                let inside = |holder| self.domains.of(holder).contains(&id);
                (self.of_domain[id].cells, self.rising(inside))
            }
            Bound::Whole => (self.of_whole.cells, self.rising(|_| true)),
        };
        let room = Room {
            domains: self.domains,
            cells: self
                .of_domain
                .values()
                .iter()
                .map(|left| left.cells)
                .collect(),
        };
        for (holder, share) in split(left, &group, Some(room)) {
            let weight = self.weights[holder];
            self.targets.cells[holder] = share;
            self.targets.bounds[holder] = Some(bound);
            self.rising[holder] = false;
            self.each_left(holder, |left| {
                left.cells = left.cells.saturating_sub(share);
                left.weights -= weight;
            });
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
            .map(|targets| targets.cells.into_values())
    }

    fn flat(list: &[u64], cells: u128) -> Vec<u128> {
        let none: Vec<Option<Vec<&str>>> = list.iter().map(|w| (*w > 0).then(Vec::new)).collect();
        targets(&weights(list), &Domains::new(&none, 1), cells)
            .unwrap()
            .cells
            .into_values()
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
                    // |target - cells * w / W| < 1 without fractions:
                    // |target * W - cells * w| < W; the product is split as in the code
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
    fn with_as_many_zones_as_replicas_each_zone_holds_one_copy_whatever_the_weights() {
        assert_eq!(
            fill(&["a=1", "a=3", "b=5", "c=1", "c=1"], 3, 100).unwrap(),
            [25, 75, 100, 50, 50]
        );
    }

    #[test]
    fn cells_that_a_full_domain_cannot_take_go_to_the_others_by_weight() {
        // two copies over three zones: a wants 2 * 100 * 8 / 12 = 133 and can hold 100; b and c
        // share the rest 3 : 1
        assert_eq!(
            fill(&["a=4", "a=4", "b=3", "c=1"], 2, 100).unwrap(),
            [50, 50, 75, 25]
        );
        // a node may hold only one copy of everything, even in a zone that may hold two
        assert_eq!(
            fill(&["a=100", "a=1", "a=1", "b=1"], 3, 100).unwrap(),
            [100, 50, 50, 100]
        );
    }

    #[test]
    fn a_tie_freezes_the_innermost_bound_and_no_bound_is_passed() {
        // both zones are reached at the same level as the whole; the odd cells of a zone stay in it
        assert_eq!(
            fill(&["a=1", "a=1", "a=1", "b=1", "b=1", "b=1"], 2, 100).unwrap(),
            [34, 33, 33, 34, 33, 33]
        );
    }

    #[test]
    fn a_remainder_passes_over_a_domain_that_is_full() {
        // 3 * 10 cells over a, b, c and d (cap 1 each): a is just below its bound, and its nodes
        // have the largest remainders
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
