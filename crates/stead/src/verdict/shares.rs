//! Who wants and who gets how many cells: docs/placement.md, "Targets".
//!
//! *Progressive filling.* Each bound (a holder, a domain, the whole) knows what is left of it and the weights that still rise in it;
//! it is reached at left / weights. The bound that is reached first shares what is left of it among its rising holders, which freezes
//! them. No bound is reached earlier because another was: what an inner bound took from an outer one until then is just what its
//! holders would have taken by rising. So a heap serves whose entries are looked at again when they come up.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::domains::Domains;

/// What each holder wants: the total shared by weight, without caps. All 0 where no weight is above 0.
pub(super) fn wanted(total: u128, weights: &[u128]) -> Vec<u128> {
    let (mut parts, order, over) = divide(total, weights);
    for place in order.into_iter().take(over) {
        if let Some(part) = parts.get_mut(place) {
            *part += 1;
        }
    }
    parts
}

/// What each holder gets within the caps; `None` where fewer holders than replicas have a weight above 0.
///
/// `weights`: of the nodes by number, then of the other holders. `space`: the cells there are. Cost: a few passes over holders
/// and domains, and one over the holders of each domain that reaches its bound.
pub(super) fn targets(weights: &[u128], domains: &Domains, replicas: usize, space: u128) -> Option<Vec<u128>> {
    if weights.iter().filter(|weight| **weight > 0).count() < replicas {
        return None;
    }
    let mut filling = Filling::new(weights, domains, space);
    let mut heap: BinaryHeap<_> = (0..filling.bounds.len()).filter_map(|bound| filling.entry(bound)).map(Reverse).collect();
    while let Some(Reverse(entry)) = heap.pop() {
        match filling.entry(entry.bound) {
            Some(now) if now == entry => filling.freeze(entry.bound),
            Some(now) => heap.push(Reverse(now)), // others have frozen in it meanwhile
            None => {}
        }
    }
    Some(filling.cells)
}

/// A number of cells that may not be passed.
struct Bound {
    /// What frozen holders left of it.
    left: u128,
    /// The weights of its rising holders.
    rising: u128,
    /// Which holders are in it.
    holders: Vec<usize>,
    /// 0 for the whole; holders are deepest.
    depth: usize,
}

/// When a bound is reached, and its place among those that are reached together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    level: Fraction,
    depth: Reverse<usize>,
    bound: usize,
}

struct Filling<'a> {
    domains: &'a Domains,
    /// domains by number, then holders by number
    bounds: Vec<Bound>,
    /// weights of the holders; 0 as soon as they are frozen
    rising: Vec<u128>,
    cells: Vec<u128>,
}

impl<'a> Filling<'a> {
    fn new(weights: &[u128], domains: &'a Domains, space: u128) -> Filling<'a> {
        let outer = domains.all.iter().map(|part| (part.cap, part.level));
        let own = weights.iter().map(|_| (1, usize::MAX));
        let bound = |(cap, depth): (usize, usize)| Bound { left: cap as u128 * space, rising: 0, holders: Vec::new(), depth };
        let mut filling = Filling {
            domains,
            bounds: outer.chain(own).map(bound).collect(),
            rising: weights.to_vec(),
            cells: vec![0; weights.len()],
        };
        for (holder, weight) in weights.iter().enumerate() {
            filling.each_bound_of(holder, |bound| {
                bound.rising += weight;
                bound.holders.push(holder);
            });
        }
        filling
    }

    /// `None` for a bound in which nothing rises.
    fn entry(&self, bound: usize) -> Option<Entry> {
        let Bound { left, rising, depth, .. } = *self.bounds.get(bound)?;
        (rising > 0).then_some(Entry { level: Fraction(left, rising), depth: Reverse(depth), bound })
    }

    /// Shares what is left of a bound among its rising holders.
    fn freeze(&mut self, bound: usize) {
        let Some(Bound { left, holders, .. }) = self.bounds.get_mut(bound) else { return };
        let (left, mut holders) = (*left, std::mem::take(holders));
        holders.retain(|holder| self.rising.get(*holder).is_some_and(|weight| *weight > 0));
        let weights: Vec<u128> = holders.iter().filter_map(|holder| self.rising.get(*holder).copied()).collect();
        let (parts, order, mut over) = divide(left, &weights);
        for ((holder, part), weight) in holders.iter().zip(parts).zip(weights) {
            self.give(*holder, part);
            self.each_bound_of(*holder, |bound| bound.rising -= weight);
            if let Some(rising) = self.rising.get_mut(*holder) {
                *rising = 0;
            }
        }
        for holder in order.into_iter().filter_map(|place| holders.get(place)) {
            if over > 0 && self.has_room(*holder) {
                self.give(*holder, 1);
                over -= 1;
            }
        }
    }

    /// Never more than is left of each bound: rounded down, a part is at most what the holder's weight takes at this level, which no
    /// other bound has reached before; and one cell more is given where there is room.
    fn give(&mut self, holder: usize, cells: u128) {
        self.each_bound_of(holder, |bound| bound.left -= cells);
        if let Some(sum) = self.cells.get_mut(holder) {
            *sum += cells;
        }
    }

    fn has_room(&self, holder: usize) -> bool {
        self.domains.around(holder).all(|domain| self.bounds.get(domain).is_some_and(|bound| bound.left > 0))
    }

    fn each_bound_of(&mut self, holder: usize, mut change: impl FnMut(&mut Bound)) {
        let own = self.domains.all.len() + holder;
        for bound in self.domains.around(holder).chain([own]) {
            if let Some(bound) = self.bounds.get_mut(bound) {
                change(bound);
            }
        }
    }
}

/// The total shared by weight, rounded down; the places in the order in which the cells over go to them, one each; how many those
/// are.
fn divide(total: u128, weights: &[u128]) -> (Vec<u128>, Vec<usize>, usize) {
    let sum: u128 = weights.iter().sum();
    if sum == 0 {
        return (vec![0; weights.len()], Vec::new(), 0);
    }
    // below 2^72 cells times 2^40 millionths
    let parts: Vec<u128> = weights.iter().map(|weight| total * weight / sum).collect();
    let mut order: Vec<(Reverse<u128>, usize)> =
        weights.iter().enumerate().map(|(place, weight)| (Reverse(total * weight % sum), place)).collect();
    order.sort_unstable();
    let over = total - parts.iter().sum::<u128>();
    // less than one each
    (parts, order.into_iter().map(|(_, place)| place).collect(), usize::try_from(over).unwrap_or(usize::MAX))
}

/// A fraction, compared exactly whatever its size; the lower number is not 0.
struct Fraction(u128, u128);

impl Ord for Fraction {
    /// By continued fractions, since a product of two such numbers may need 129 bits.
    fn cmp(&self, other: &Fraction) -> Ordering {
        let (Fraction(mut a, mut b), Fraction(mut c, mut d)) = (self, other);
        loop {
            let (whole, others) = (a / b, c / d);
            (a, c) = (a % b, c % d);
            if whole != others || a == 0 || c == 0 {
                return whole.cmp(&others).then((a > 0).cmp(&(c > 0)));
            }
            // both are below 1, and a / b < c / d when d / c < b / a
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
