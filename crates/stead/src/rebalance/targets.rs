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

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

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
    filling.fill();
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
    for (holder, share) in split(u128::from(replicas) * cells, &all, |_, _| true) {
        shares[holder] = share;
    }
    shares
}

/// Splits `left` cells by weight: each holder gets its share rounded down, and the holders with the
/// largest remainders get one more cell each (of equal remainders the earlier). `take` takes the
/// cells of what is around a holder; a holder for which it says that nothing is left gets no cell
/// more.
fn split(
    left: u128,
    weights: &[(HolderId, u128)],
    mut take: impl FnMut(HolderId, u128) -> bool,
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
        take(*holder, share); // floors always fit
        over -= share;
        shares.push((*holder, share, rest * weight % total));
    }
    let mut by_remainder: Vec<&mut (HolderId, u128, u128)> = shares.iter_mut().collect();
    by_remainder.sort_by_key(|(_, _, remainder)| Reverse(*remainder));
    for (holder, share, _) in by_remainder {
        if over > 0 && take(*holder, 1) {
            *share += 1;
            over -= 1;
        }
    }
    let shares = shares.into_iter();
    shares.map(|(holder, share, _)| (holder, share)).collect()
}

/// The state of progressive filling: the rising level and what it has frozen so far.
struct Filling<'a> {
    domains: &'a Domains,
    /// For each domain, the rising and frozen holders in it, in ascending order.
    inside: Table<DomainId, Vec<HolderId>>,
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

/// A bound, and what it had left when this was noted. The order is the one in which bounds are
/// reached: first the one with the fewest cells for its weights; of equal ones the
/// innermost, then the earlier.
#[derive(Clone, Copy)]
struct Reached {
    left: Left,
    /// A node is deeper than every domain; the whole has depth 0.
    depth: usize,
    bound: Bound,
}

impl Reached {
    fn place(&self) -> u32 {
        match self.bound {
            Bound::Node(holder) => holder.0,
            Bound::Domain(domain) => domain.0,
            Bound::Whole => 0,
        }
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Reached) -> Ordering {
        // cells / weights, compared by cross-multiplication: 255 * 2^64 cells times the weights of
        // 65,536 nodes of 10^12 millionths are below 2^128
        let (mine, others) = (self.left, other.left);
        let quotients = (mine.cells * others.weights).cmp(&(others.cells * mine.weights));
        quotients
            .then(other.depth.cmp(&self.depth))
            .then(self.place().cmp(&other.place()))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Reached) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Reached {
    fn eq(&self, other: &Reached) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Reached {}

impl<'a> Filling<'a> {
    fn new(weights: &[Weight], domains: &'a Domains, cells: u128) -> Filling<'a> {
        let left = |copies: u32| Left {
            cells: u128::from(copies) * cells,
            weights: 0,
        };
        let millionths = |weight: &Weight| u128::from(weight.millionths());
        let weights: Table<HolderId, u128> = weights.iter().map(millionths).collect();
        let list = domains.list();
        let mut filling = Filling {
            domains,
            inside: Table::filled(list.len(), Vec::new()),
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
        for (holder, weight) in filling.all_rising() {
            for domain in domains.of(holder) {
                filling.inside[*domain].push(holder);
                filling.of_domain[*domain].weights += weight;
            }
            filling.of_whole.weights += weight;
        }
        filling
    }

    /// The rising holders with their weights.
    fn all_rising(&self) -> Vec<(HolderId, u128)> {
        let rising = self.weights.ids().filter(|holder| self.rising[*holder]);
        rising
            .map(|holder| (holder, self.weights[holder]))
            .collect()
    }

    /// Freezes one bound after the other, in the order in which the rising level reaches them.
    ///
    /// What a frozen bound leaves to those around it never lowers their level: it took exactly what
    /// its holders would have taken by rising to its own level, which is not above theirs. So a
    /// heap is enough: when an entry comes to the top, its level is computed again.
    fn fill(&mut self) {
        let whole = std::iter::once(Bound::Whole);
        let of_domains = self.of_domain.ids().map(Bound::Domain);
        let of_nodes = self.weights.ids().map(Bound::Node);
        let bounds = whole.chain(of_domains).chain(of_nodes);
        let entries: Vec<Reverse<Reached>> = bounds
            .filter_map(|bound| self.reached(bound))
            .map(Reverse)
            .collect();
        let mut heap = BinaryHeap::from(entries);
        while let Some(Reverse(first)) = heap.pop() {
            match self.reached(first.bound) {
                Some(now) if now == first => self.freeze(first.bound),
                Some(now) => heap.push(Reverse(now)), // some of its holders have frozen since
                None => {}
            }
        }
    }

    /// When a bound is reached, as far as is known now; `None` if nothing rises in it.
    fn reached(&self, bound: Bound) -> Option<Reached> {
        let (left, depth) = match bound {
            Bound::Node(holder) => {
                let left = Left {
                    cells: self.cells,
                    weights: match self.rising[holder] {
                        true => self.weights[holder],
                        false => 0,
                    },
                };
                (left, usize::MAX)
            }
            Bound::Domain(id) => (self.of_domain[id], self.domains.list()[id].level),
            Bound::Whole => (self.of_whole, 0),
        };
        (left.weights > 0).then_some(Reached { left, depth, bound })
    }

    fn freeze(&mut self, bound: Bound) {
        let (left, group) = match bound {
            Bound::Node(holder) => (self.cells, vec![(holder, self.weights[holder])]),
            Bound::Domain(id) => {
                let inside = std::mem::take(&mut self.inside[id]).into_iter();
                let rising = inside.filter(|holder| self.rising[*holder]);
                let group = rising.map(|holder| (holder, self.weights[holder]));
                (self.of_domain[id].cells, group.collect())
            }
            Bound::Whole => (self.of_whole.cells, self.all_rising()),
        };
        let shares = split(left, &group, |holder, cells| self.take(holder, cells));
        for (holder, share) in shares {
            let weight = self.weights[holder];
            self.targets.cells[holder] = share;
            self.targets.bounds[holder] = Some(bound);
            self.rising[holder] = false;
            for domain in self.domains.of(holder) {
                self.of_domain[*domain].weights -= weight;
            }
            self.of_whole.cells = self.of_whole.cells.saturating_sub(share);
            self.of_whole.weights -= weight;
        }
    }

    /// Takes cells of all domains of the holder. Returns `false`, and takes nothing, when one of
    /// them has too few.
    fn take(&mut self, holder: HolderId, cells: u128) -> bool {
        let domains = self.domains.of(holder);
        let fits = domains.iter().all(|id| self.of_domain[*id].cells >= cells);
        if fits {
            for id in domains {
                self.of_domain[*id].cells -= cells;
            }
        }
        fits
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

    /// The targets by the definition: all bounds are looked at again before each is frozen.
    fn by_definition(list: &[u64], domains: &Domains, cells: u128) -> Vec<u128> {
        // the holders of each bound and what is left in it, the innermost bounds first
        let alone = (0..list.len()).map(|place| (vec![place], cells));
        let mut bounds: Vec<(Vec<usize>, u128)> = alone.collect();
        let mut inwards: Vec<DomainId> = domains.list().ids().collect();
        inwards.sort_by_key(|id| Reverse(domains.list()[*id].level));
        let is_in = |id: DomainId, place: usize| domains.of(HolderId(place as u32)).contains(&id);
        for id in &inwards {
            let inside = (0..list.len()).filter(|place| is_in(*id, *place));
            bounds.push((inside.collect(), u128::from(domains.cap(*id)) * cells));
        }
        let whole = (0..list.len()).collect();
        bounds.push((whole, u128::from(domains.replicas()) * cells));
        let mut targets = vec![None; list.len()];
        targets
            .iter_mut()
            .zip(list)
            .filter(|(_, weight)| **weight == 0)
            .for_each(|(target, _)| *target = Some(0));
        loop {
            let rising = |(inside, _): &(Vec<usize>, u128)| {
                let rising = inside.iter().filter(|place| targets[**place].is_none());
                rising.copied().collect::<Vec<usize>>()
            };
            let sum = |places: &[usize]| places.iter().map(|p| u128::from(list[*p])).sum::<u128>();
            let open = bounds.iter().map(|bound| (rising(bound), bound.1));
            let open = open.filter(|(rising, _)| !rising.is_empty());
            // of equal ones the first
            let first = open.min_by(|a, b| (a.1 * sum(&b.0)).cmp(&(b.1 * sum(&a.0))));
            let Some((rising, left)) = first else {
                return targets.into_iter().flatten().collect();
            };
            let mut give = |place: usize, more: u128| {
                let mut around = bounds.iter_mut().skip(list.len());
                let fits = around.all(|(inside, left)| !inside.contains(&place) || *left >= more);
                for (inside, left) in bounds.iter_mut().skip(list.len()).filter(|_| fits) {
                    *left -= if inside.contains(&place) { more } else { 0 };
                }
                *targets[place].get_or_insert(0) += if fits { more } else { 0 };
                fits
            };
            let total = sum(&rising);
            let mut over = left;
            for place in &rising {
                let share = left * u128::from(list[*place]) / total;
                assert!(give(*place, share), "what is rounded down always fits");
                over -= share;
            }
            let mut order = rising;
            order.sort_by_key(|place| Reverse(left * u128::from(list[*place]) % total));
            for place in order {
                over -= u128::from(over > 0 && give(place, 1));
            }
        }
    }

    #[test]
    fn the_targets_are_those_of_the_definition() {
        let mut state = 0;
        let mut random = |end: u64| {
            state += 1;
            crate::map::mix(crate::point::Point(state), 0).0 % end
        };
        let mut bounded = 0;
        for _ in 0..1000 {
            let (nodes, depth, wide) = (2 + random(14), random(4), 1 + random(4));
            let heavy = [2, 10, 1_000_000][random(3) as usize];
            let list: Vec<u64> = (0..nodes).map(|_| random(heavy)).collect();
            let values = ["a", "b", "c", "d"];
            let mut path = |_: &u64| -> Vec<&str> {
                let labels = 0..random(depth + 1);
                labels.map(|_| values[random(wide) as usize]).collect()
            };
            let paths: Vec<Vec<&str>> = list.iter().map(&mut path).collect();
            let holding = list.iter().filter(|weight| **weight > 0).count() as u64;
            if holding == 0 {
                continue;
            }
            let paths: Vec<Option<Vec<&str>>> = paths
                .into_iter()
                .zip(&list)
                .map(|(path, weight)| (*weight > 0).then_some(path))
                .collect();
            let domains = Domains::new(&paths, 1 + random(holding) as u32);
            for cells in [7, 1000] {
                let found = targets(&weights(&list), &domains, cells).unwrap();
                let expected = by_definition(&list, &domains, cells);
                assert_eq!(found.cells.values(), expected, "{list:?} {paths:?}");
                let mut bounds = found.bounds.values().iter();
                bounded += usize::from(bounds.any(|b| matches!(b, Some(Bound::Domain(_)))));
            }
        }
        assert!(bounded > 100, "a domain bound only {bounded} of them");
    }
}
