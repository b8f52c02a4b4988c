//! How many cells every holder wants and gets: docs/placement.md, "Targets".
//!
//! The method is progressive filling. All shares rise together, in proportion to the weights. Each
//! bound (of a holder, of a domain, of the whole) knows how many cells it has left and the sum of
//! the weights that still rise in it; it is reached at the level left / weights. The bound that is
//! reached first divides what it has left among its rising holders, which freezes them. This never
//! lowers the level of another bound: what an inner bound has taken from an outer one is exactly
//! what its holders would have taken by rising to that level. So a heap is enough: when an entry
//! comes to the top, its level is computed again.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

use super::caps::Domains;
use crate::tolerance::Tolerance;

/// Returns what each holder wants: the total divided by weight, without caps. All are 0 if no
/// weight is above 0.
pub(super) fn wanted(total: u128, weights: &[u128]) -> Vec<u128> {
    let (mut parts, order, over) = divide(total, weights);
    for place in order.into_iter().take(over) {
        if let Some(part) = parts.get_mut(place) {
            *part += 1;
        }
    }
    parts
}

/// Returns how many cells a holder with this target may have: exactly its target or, with a
/// tolerance, at most that part of it more or less, and never more than the space.
pub(super) fn allowed(
    target: u128,
    tolerance: Option<Tolerance>,
    space: u128,
) -> RangeInclusive<u128> {
    let part = u128::from(tolerance.map_or(0, Tolerance::millionths));
    // the target is at most 2^64
    let least = (target * (MILLION - part)).div_ceil(MILLION);
    let most = (target * (MILLION + part) / MILLION).min(space);
    least..=most
}

/// Returns how far a holder is from its target, in millionths of the target, rounded up. Within a
/// tolerance this is never above the tolerance. It is 0 for a target of 0.
pub(super) fn off(cells: u128, target: u128) -> u128 {
    match target {
        0 => 0,
        target => (cells.abs_diff(target) * MILLION).div_ceil(target),
    }
}

/// What keeps a holder from getting more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// It has one copy of every point.
    Own,
    /// Its domain is full. The number is the domain's index in `Verdict::domains`.
    Domain(usize),
    /// Nothing is left: it has its fair share of what the other holders leave.
    Whole,
}

/// What each holder gets under the caps.
pub(super) struct Targets {
    pub cells: Vec<u128>,
    /// What froze each holder; `None` for a holder without a weight.
    pub bounds: Vec<Option<Bound>>,
}

/// Computes what each holder gets under the caps. `None` when fewer holders than replicas have a
/// weight above 0.
///
/// `weights` are the weights of the nodes by number, then of the other holders. `space` is the
/// number of cells. Cost: a few passes over holders and domains, and one over the holders of each
/// domain that reaches its bound.
pub(super) fn targets(
    weights: &[u128],
    domains: &Domains,
    replicas: usize,
    space: u128,
) -> Option<Targets> {
    if weights.iter().filter(|weight| **weight > 0).count() < replicas {
        return None;
    }
    let mut filling = Filling::new(weights, domains, space);
    let mut heap: BinaryHeap<_> = (0..filling.bounds.len())
        .filter_map(|bound| filling.entry(bound))
        .map(Reverse)
        .collect();
    while let Some(Reverse(entry)) = heap.pop() {
        match filling.entry(entry.bound) {
            Some(now) if now == entry => filling.freeze(entry.bound),
            Some(now) => heap.push(Reverse(now)), // some of its holders have frozen since
            None => {}
        }
    }
    Some(filling.targets)
}

/// A bound: a number of cells that must not be exceeded.
struct Room {
    /// The cells that the frozen holders in it leave to the others.
    left: u128,
    /// The sum of the weights of the rising holders in it.
    rising: u128,
    /// The holders in it.
    holders: Vec<usize>,
    /// The level: 0 for the whole; holders are deepest.
    depth: usize,
}

/// The level at which a bound is reached. Bounds that are reached together are ordered: the
/// innermost first, and within a level by name.
///
/// This is the order of docs/placement.md. Any other order would give the same cells: when an inner
/// bound is reached together with an outer one, it has room for exactly the leftover cells that are
/// its own.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    level: Fraction,
    depth: Reverse<usize>,
    bound: usize,
}

struct Filling<'a> {
    domains: &'a Domains<'a>,
    /// the domains by number, then the holders by number
    bounds: Vec<Room>,
    /// the weights of the holders; 0 once they are frozen
    rising: Vec<u128>,
    targets: Targets,
}

impl<'a> Filling<'a> {
    fn new(weights: &[u128], domains: &'a Domains<'a>, space: u128) -> Filling<'a> {
        let outer = domains.all.iter().map(|part| (part.cap, part.level));
        let own = weights.iter().map(|_| (1, usize::MAX));
        let bound = |(cap, depth): (usize, usize)| Room {
            left: cap as u128 * space,
            rising: 0,
            holders: Vec::new(),
            depth,
        };
        let mut filling = Filling {
            domains,
            bounds: outer.chain(own).map(bound).collect(),
            rising: weights.to_vec(),
            targets: Targets {
                cells: vec![0; weights.len()],
                bounds: vec![None; weights.len()],
            },
        };
        for (holder, weight) in weights.iter().enumerate() {
            filling.each_bound_of(holder, |bound| {
                bound.rising += weight;
                bound.holders.push(holder);
            });
        }
        filling
    }

    /// Returns the heap entry of a bound; `None` if nothing rises in it.
    fn entry(&self, bound: usize) -> Option<Entry> {
        let Room {
            left,
            rising,
            depth,
            ..
        } = *self.bounds.get(bound)?;
        (rising > 0).then_some(Entry {
            level: Fraction(left, rising),
            depth: Reverse(depth),
            bound,
        })
    }

    /// Divides what a bound has left among its rising holders, and freezes them.
    fn freeze(&mut self, bound: usize) {
        let Some(Room { left, holders, .. }) = self.bounds.get_mut(bound) else {
            return;
        };
        let kind = match bound {
            0 => Bound::Whole,
            domain if domain < self.domains.all.len() => Bound::Domain(domain),
            _ => Bound::Own,
        };
        let (left, mut holders) = (*left, std::mem::take(holders));
        holders.retain(|holder| self.rising.get(*holder).is_some_and(|weight| *weight > 0));
        let weights: Vec<u128> = holders
            .iter()
            .filter_map(|holder| self.rising.get(*holder).copied())
            .collect();
        let (parts, order, mut over) = divide(left, &weights);
        for ((holder, part), weight) in holders.iter().zip(parts).zip(weights) {
            self.give(*holder, part);
            self.each_bound_of(*holder, |bound| bound.rising -= weight);
            if let Some(rising) = self.rising.get_mut(*holder) {
                *rising = 0;
            }
            if let Some(place) = self.targets.bounds.get_mut(*holder) {
                *place = Some(kind);
            }
        }
        for holder in order.into_iter().filter_map(|place| holders.get(place)) {
            if over > 0 && self.has_room(*holder) {
                self.give(*holder, 1);
                over -= 1;
            }
        }
    }

    /// Gives cells to a holder. This is never more than any of its bounds has left. A part that was
    /// rounded down is at most what the holder's weight takes at this level, and no other bound was
    /// reached before this level. A leftover cell is given only where there is room.
    fn give(&mut self, holder: usize, cells: u128) {
        self.each_bound_of(holder, |bound| bound.left -= cells);
        if let Some(sum) = self.targets.cells.get_mut(holder) {
            *sum += cells;
        }
    }

    fn has_room(&self, holder: usize) -> bool {
        self.domains
            .around(holder)
            .all(|domain| self.bounds.get(domain).is_some_and(|bound| bound.left > 0))
    }

    fn each_bound_of(&mut self, holder: usize, mut change: impl FnMut(&mut Room)) {
        let own = self.domains.all.len() + holder;
        for bound in self.domains.around(holder).chain([own]) {
            if let Some(bound) = self.bounds.get_mut(bound) {
                change(bound);
            }
        }
    }
}

/// Divides the total by weight, rounding down. Returns the parts, the order in which places get one
/// leftover cell each, and the number of leftover cells.
fn divide(total: u128, weights: &[u128]) -> (Vec<u128>, Vec<usize>, usize) {
    let sum: u128 = weights.iter().sum();
    if sum == 0 {
        return (vec![0; weights.len()], Vec::new(), 0);
    }
    // the products are below 2^72 cells times 2^40 millionths
    let parts: Vec<u128> = weights.iter().map(|weight| total * weight / sum).collect();
    let mut order: Vec<(Reverse<u128>, usize)> = weights
        .iter()
        .enumerate()
        .map(|(place, weight)| (Reverse(total * weight % sum), place))
        .collect();
    order.sort_unstable();
    let over = total - parts.iter().sum::<u128>();
    // fewer than one cell for each place
    (
        parts,
        order.into_iter().map(|(_, place)| place).collect(),
        usize::try_from(over).unwrap_or(usize::MAX),
    )
}

/// A fraction that is compared exactly, whatever its size. The denominator is not 0.
struct Fraction(u128, u128);

impl Ord for Fraction {
    /// Compares by continued fractions, since a product of two such numbers may need 129 bits.
    fn cmp(&self, other: &Fraction) -> Ordering {
        let (Fraction(mut a, mut b), Fraction(mut c, mut d)) = (self, other);
        loop {
            let (whole, others) = (a / b, c / d);
            (a, c) = (a % b, c % d);
            if whole != others || a == 0 || c == 0 {
                return whole.cmp(&others).then((a > 0).cmp(&(c > 0)));
            }
            // both are below 1, and a / b < c / d exactly when d / c < b / a
            (a, b, c, d) = (d, c, b, a);
        }
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Fraction) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Fraction {}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Fraction) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

const MILLION: u128 = 1_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::caps::Place;
    use super::*;

    /// Parses nodes written as `a/r1 2`: the names of their domains and their weight.
    fn nodes<'a>(texts: &[&'a str]) -> Vec<(Vec<&'a str>, u128)> {
        let node = |text: &'a str| {
            let (path, weight) = text.rsplit_once(' ').unwrap();
            (
                path.split('/').filter(|value| !value.is_empty()).collect(),
                weight.parse().unwrap(),
            )
        };
        texts.iter().copied().map(node).collect()
    }

    fn domains<'a>(nodes: &[(Vec<&'a str>, u128)], replicas: usize) -> Domains<'a> {
        let places: Vec<Place> = nodes
            .iter()
            .map(|(values, weight)| Place {
                can_hold: *weight > 0,
                values: values.clone(),
            })
            .collect();
        Domains::of(&places, replicas)
    }

    fn filled(texts: &[&str], replicas: usize, space: u128) -> Vec<u128> {
        let nodes = nodes(texts);
        let weights: Vec<u128> = nodes.iter().map(|(_, weight)| *weight).collect();
        targets(&weights, &domains(&nodes, replicas), replicas, space)
            .unwrap()
            .cells
    }

    #[test]
    fn at_one_replica_the_largest_remainders_get_the_cells_over() {
        // 10 * 1/6 = 1 4/6, 10 * 2/6 = 3 2/6, 10 * 3/6 = 5: one leftover cell, for the first
        assert_eq!(filled(&[" 1", " 2", " 3"], 1, 10), [2, 3, 5]);
        assert_eq!(filled(&[" 1", " 1", " 1"], 1, 10), [4, 3, 3]); // among equals the earlier
        assert_eq!(filled(&[" 1", " 0"], 1, 10), [10, 0]);
        assert_eq!(wanted(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(wanted(10, &[0, 0]), [0, 0]);
    }

    #[test]
    fn a_tolerance_allows_a_part_of_the_target_more_or_less() {
        let within = |target, millionths, space| {
            let range = allowed(target, Tolerance::from_millionths(millionths), space);
            (*range.start(), *range.end())
        };
        assert_eq!(within(1000, 0, 5000), (1000, 1000)); // none
        assert_eq!(within(1000, 10_000, 5000), (990, 1010));
        // 990.99 to 1011.01: never more than the tolerance
        assert_eq!(within(1001, 10_000, 5000), (991, 1011));
        assert_eq!(within(99, 10_000, 5000), (99, 99));
        assert_eq!(within(0, 100_000, 5000), (0, 0));
        // no holder has more than one copy of each point
        assert_eq!(within(1000, 10_000, 1005), (990, 1005));
        let all = 1 << 64;
        assert_eq!(within(all, 100_000, all), (all - all / 10, all));
        assert_eq!(
            (off(990, 1000), off(1010, 1000), off(0, 0)),
            (10_000, 10_000, 0)
        );
        assert_eq!(off(1000, 1001), 1000); // 999.0 and a bit, rounded up
    }

    #[test]
    fn three_zones_at_three_replicas_hold_one_copy_each_whatever_they_weigh() {
        // each zone has the cap 1, and the whole needs all three; inside, by weight: 100 * 1/4 and
        // 100 * 3/4
        assert_eq!(
            filled(&["a 1", "a 3", "b 10", "c 500"], 3, 100),
            [25, 75, 100, 100]
        );
    }

    #[test]
    fn two_zones_at_three_replicas_hold_up_to_two_copies() {
        // caps 2 and 2: by weight 1 : 1 : 2 : 2 of 300 the zones have 100 and 200, which is
        // exactly the cap of b
        assert_eq!(
            filled(&["a 1", "a 1", "b 2", "b 2"], 3, 100),
            [50, 50, 100, 100]
        );
        // a heavier b stays at 200, each of its nodes at 100; a takes the rest, which is less than
        // its cap
        assert_eq!(
            filled(&["a 1", "a 1", "b 9", "b 9", "b 9"], 3, 100),
            [50, 50, 67, 67, 66]
        );
    }

    #[test]
    fn a_node_reaches_its_bound_inside_a_zone_that_reaches_its_own() {
        // R = 3, caps 2 and 2. The node of weight 8 is reached first, at level 100/8: it has 100
        // and holds each point once. Then zone a, at 200: 100 are left for its weights 1 and 1.
        // Zone b takes the last 100.
        assert_eq!(
            filled(&["a 8", "a 1", "a 1", "b 1", "b 1"], 3, 100),
            [100, 50, 50, 50, 50]
        );
        // if b weighs more, a does not reach its bound: 200 divided by 1 : 1 : 2 : 3 is 28 4/7,
        // 28 4/7, 57 1/7 and 85 5/7
        assert_eq!(
            filled(&["a 8", "a 1", "a 1", "b 2", "b 3"], 3, 100),
            [100, 29, 28, 57, 86]
        );
    }

    #[test]
    fn bounds_that_are_reached_together_freeze_from_the_inside() {
        // both zones (cap 1 each) and the whole are reached at level 10/3: 10 = 4 + 3 + 3 in each
        // zone. Of 20 cells shared by six, 3 2/6 each, the two leftover cells would both go to zone
        // a.
        assert_eq!(
            filled(&["a 1", "a 1", "a 1", "b 1", "b 1", "b 1"], 2, 10),
            [4, 3, 3, 4, 3, 3]
        );
        // with R = 4 zone a has the cap 2 and its racks 1 each, all reached at level 10/3
        let texts = [
            "a/1 1", "a/1 1", "a/1 1", "a/2 1", "a/2 1", "a/2 1", "b/3 9", "b/4 9",
        ];
        assert_eq!(filled(&texts, 4, 10), [4, 3, 3, 4, 3, 3, 10, 10]);
    }

    #[test]
    fn a_node_whose_domain_is_full_is_passed_over() {
        // R = 2, G = 10, caps 1 each. The whole is reached first, at level 20/200: a has 2.6 + 2.6
        // + 4.6 = 9.8 of its 10, the others 3.4 each. Three cells are left over, and the largest
        // remainders are all in a; it has room for two, so the third goes to b.
        assert_eq!(
            filled(&["a 26", "a 26", "a 46", "b 34", "c 34", "d 34"], 2, 10),
            [3, 3, 4, 4, 3, 3]
        );
    }

    #[test]
    fn each_holder_knows_what_keeps_it_from_more() {
        let bounds = |texts: &[&str], replicas| {
            let nodes = nodes(texts);
            let weights: Vec<u128> = nodes.iter().map(|(_, weight)| *weight).collect();
            targets(&weights, &domains(&nodes, replicas), replicas, 100)
                .unwrap()
                .bounds
        };
        let [own, whole] = [Bound::Own, Bound::Whole].map(Some);
        // zone a is the first domain after the whole
        let a = Some(Bound::Domain(1));
        assert_eq!(
            bounds(&["a 8", "a 1", "a 1", "b 1", "b 1"], 3),
            [own, a, a, whole, whole]
        );
        assert_eq!(bounds(&[" 1", " 0", " 3"], 1), [whole, None, whole]);
    }

    #[test]
    fn weight_0_holds_nothing_and_too_few_that_can_hold_have_no_targets() {
        assert_eq!(filled(&["a 0", "a 1", "b 1"], 2, 10), [0, 10, 10]);
        let few = nodes(&["a 1", "b 0"]);
        assert!(targets(&[1, 0], &domains(&few, 2), 2, 10).is_none());
        assert!(targets(&[0, 0], &domains(&few, 1), 1, 10).is_none());
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let space = 1u128 << 64;
        let heaviest = 1_000_000 * 1_000_000;
        let nodes: Vec<(Vec<&str>, u128)> = (0..65_536).map(|_| (vec!["a"], heaviest)).collect();
        let weights: Vec<u128> = nodes.iter().map(|(_, weight)| *weight).collect();
        let cells = targets(&weights, &domains(&nodes, 255), 255, space)
            .unwrap()
            .cells;
        assert_eq!(cells.iter().sum::<u128>(), 255 * space);
        assert!(cells.iter().all(|c| c.abs_diff(255 * space / 65_536) <= 1));
    }

    #[test]
    fn fractions_are_compared_exactly() {
        let (big, less) = (u128::MAX, u128::MAX - 1);
        for ((a, b), (c, d), wanted) in [
            ((1, 2), (2, 4), Ordering::Equal),
            ((1, 3), (33, 100), Ordering::Greater),
            ((0, 7), (0, 9), Ordering::Equal),
            ((0, 7), (1, 9), Ordering::Less),
            ((7, 2), (3, 1), Ordering::Greater),
            ((less, big), (less - 1, less), Ordering::Greater),
            ((big, less), (less, less - 1), Ordering::Less),
        ] {
            assert_eq!(
                Fraction(a, b).cmp(&Fraction(c, d)),
                wanted,
                "{a}/{b} and {c}/{d}"
            );
            assert_eq!(Fraction(c, d).cmp(&Fraction(a, b)), wanted.reverse());
        }
    }

    /// Computes the exact shares in another way: each part of the tree is a function of the level,
    /// and has a level at which it reaches its bound.
    mod exact {
        use super::super::super::caps::Domains;

        /// At level x, and a little above it, this part has `fixed` + `slope` * x cells.
        type Line = (u128, u128);

        pub struct Tree<'a> {
            pub domains: &'a Domains<'a>,
            pub weights: &'a [u128],
            pub space: u128,
        }

        impl Tree<'_> {
            /// Returns `fixed` + `slope` * `x`, as long as that is below the bound.
            fn below(bound: u128, (fixed, slope): Line, (p, q): Line) -> Line {
                if fixed * q + slope * p >= bound * q {
                    (bound, 0)
                } else {
                    (fixed, slope)
                }
            }

            /// Returns what the parts of a domain have together, ignoring the domain's own bound.
            fn inside(&self, domain: usize, x: Line) -> Line {
                let parts = (0..self.domains.all.len())
                    .filter(|d| self.domains.all[*d].parent == Some(domain));
                let holders = (0..self.weights.len())
                    .filter(|h| self.domains.around(*h).next() == Some(domain));
                let parts = parts.map(|d| {
                    Self::below(
                        self.domains.all[d].cap as u128 * self.space,
                        self.inside(d, x),
                        x,
                    )
                });
                parts
                    .chain(holders.map(|h| Self::below(self.space, (0, self.weights[h]), x)))
                    .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
            }

            /// Returns the level at which a domain reaches its bound, by Newton's method, which is
            /// exact on a line that bends down at a few places.
            fn reached(&self, domain: usize) -> Option<Line> {
                let bound = self.domains.all[domain].cap as u128 * self.space;
                let mut x = (0, 1);
                loop {
                    let (fixed, slope) = self.inside(domain, x);
                    if slope == 0 {
                        return (fixed >= bound && bound > 0).then_some(x);
                    }
                    let next = (bound - fixed, slope);
                    if next.0 * x.1 == x.0 * next.1 {
                        return Some(x);
                    }
                    x = next;
                }
            }

            /// Returns the exact share of a holder, as a fraction.
            pub fn share(&self, holder: usize) -> Line {
                let weight = self.weights[holder];
                if weight == 0 {
                    return (0, 1);
                }
                let own = (self.space, weight);
                let around = self
                    .domains
                    .around(holder)
                    .filter_map(|domain| self.reached(domain));
                let (p, q) = around.fold(own, |a, b| if b.0 * a.1 < a.0 * b.1 { b } else { a });
                (weight * p, q)
            }
        }
    }

    fn weight() -> impl Strategy<Value = u128> {
        prop_oneof![3 => Just(1_000_000u128), 3 => 1u128..20, 2 => 1u128..=1_000_000_000_000, 1 => Just(0u128)]
    }

    fn fleet() -> impl Strategy<Value = Vec<(Vec<&'static str>, u128)>> {
        let value = || prop_oneof![Just("a"), Just("b"), Just("c"), Just("d")];
        let path = (value(), value(), 0usize..20).prop_map(|(zone, rack, lacks)| match lacks {
            0 => vec![],
            1 => vec![zone],
            _ => vec![zone, rack],
        });
        prop::collection::vec((path, weight()), 1..24)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn targets_are_whole_keep_every_cap_and_are_less_than_a_cell_from_the_exact_shares(
            nodes in fleet(),
            replicas in 1usize..7,
            space in prop_oneof![1u128..40, Just(16_384u128), Just(1u128 << 64)],
        ) {
            let weights: Vec<u128> = nodes.iter().map(|(_, weight)| *weight).collect();
            let domains = domains(&nodes, replicas);
            let Some(Targets { cells, .. }) = targets(&weights, &domains, replicas, space) else {
                prop_assert!(weights.iter().filter(|weight| **weight > 0).count() < replicas);
                return Ok(());
            };
            prop_assert_eq!(cells.iter().sum::<u128>(), replicas as u128 * space);
            let tree = exact::Tree { domains: &domains, weights: &weights, space };
            for (holder, cells) in cells.iter().enumerate() {
                prop_assert!(*cells <= space);
                let (p, q) = tree.share(holder);
                prop_assert!((cells * q).abs_diff(p) < q, "holder {} has {}, its share is {}/{}", holder, cells, p, q);
            }
            for (number, part) in domains.all.iter().enumerate() {
                let inside: u128 = (0..cells.len()).filter(|h| domains.around(*h).any(|d| d == number)).map(|h| cells[h]).sum();
                prop_assert!(inside <= part.cap as u128 * space, "{} {}", part.level, part.value);
            }
        }
    }
}
