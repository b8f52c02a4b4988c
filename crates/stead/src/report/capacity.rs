//! How much of the capacity can be used, if weights are proportional to it, and which nodes are
//! full first.
//!
//! A node that gets more than its weight asks for is full before the others. When the node that
//! gets `m` times its weight is full, 1/m of the whole capacity is used.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::verdict::{Holder, Verdict};

/// Two ratios whose difference is below this are equal. Shares are whole cells, so the nodes of one
/// zone may differ in the last place.
const EQUAL: f64 = 1e-6;

/// How many names a list has at most.
const NAMED: usize = 20;

/// Domains, or nodes where no domains are meant, that share a fate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Group<'a> {
    /// The label of the domains; `None` for nodes.
    pub level: Option<&'a str>,
    /// The values of each domain's labels, outermost first, or the name of each node; at most 20.
    pub paths: Vec<Vec<&'a str>>,
    /// How many they are.
    pub count: usize,
}

/// Who gets more than the weight asks for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct More<'a> {
    /// The domains or nodes.
    #[serde(flatten)]
    pub who: Group<'a>,
    /// How many times what its weight asks for each of them gets, rounded to two decimals.
    pub times: f64,
}

/// How much of the capacity can be used.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Capacity<'a> {
    /// The part of the sum of all weights that can be used until the first node is full: 1 if every
    /// node gets what its weight asks for.
    pub usable: f64,
    /// Who is full first; `None` when all are full together.
    pub fills_first: Option<Group<'a>>,
    /// Who gets more than its weight asks for, because caps give others less. What a domain's nodes
    /// have in common is said of the domain.
    pub more: Vec<More<'a>>,
}

/// How many times its weight a node gets: its share in the slices that are judged divided by the
/// share that its weight alone would give it. `None` without a weight.
pub(super) fn over_wanted(holder: &Holder, weights: u128, cells: f64) -> Option<f64> {
    let weight = holder.weight.millionths();
    (weight > 0).then(|| holder.then.cells as f64 * weights as f64 / (cells * weight as f64))
}

/// A tree of domains with their nodes, and how many times its weight each gets.
struct Shape<'a, 'v> {
    verdict: &'v Verdict<'a>,
    over: &'v [Option<f64>],
    homes: &'v [usize],
    spread: &'v [&'a str],
}

/// Computes the usable capacity. `over` has how many times its weight each node gets, `homes` the
/// innermost domain of each node, and `spread` the labels.
pub(super) fn capacity<'a>(
    verdict: &Verdict<'a>,
    over: &[Option<f64>],
    homes: &[usize],
    spread: &[&'a str],
) -> Capacity<'a> {
    let shape = Shape {
        verdict,
        over,
        homes,
        spread,
    };
    // a share that rounding makes one cell larger fills nothing first
    let more = |node: &Holder| node.then.cells > node.wanted + 1;
    let worst = verdict.nodes.iter().zip(over);
    let worst = worst.filter_map(|(node, over)| over.filter(|_| more(node)));
    let worst = worst.fold(1.0, f64::max);
    if worst < 1.0 + EQUAL {
        return Capacity {
            usable: 1.0,
            fills_first: None,
            more: Vec::new(),
        };
    }
    Capacity {
        usable: 1.0 / worst,
        fills_first: Some(shape.first(worst)),
        more: shape.more(),
    }
}

impl<'a> Shape<'a, '_> {
    /// Returns the nodes that get this many times their weight, as domains if they are whole ones.
    fn first(&self, worst: f64) -> Group<'a> {
        let is_first = |number: &usize| {
            let over = self.over.get(*number).copied().flatten();
            over.is_some_and(|over| over > worst * (1.0 - EQUAL))
        };
        let first: Vec<usize> = (0..self.over.len()).filter(is_first).collect();
        for level in 1..=self.spread.len() {
            // how many of these nodes are in each domain of the level
            let mut inside: BTreeMap<usize, usize> = BTreeMap::new();
            for node in &first {
                if let Some(domain) = self
                    .around(*node)
                    .find(|domain| self.level(*domain) == level)
                {
                    *inside.entry(domain).or_default() += 1;
                }
            }
            let whole = |(domain, nodes): (&usize, &usize)| {
                let domain = self.verdict.domains.get(*domain);
                domain.is_some_and(|domain| domain.can_hold == *nodes)
            };
            if inside.values().sum::<usize>() == first.len() && inside.iter().all(whole) {
                return self.of_domains(level, inside.into_keys().collect());
            }
        }
        self.of_nodes(&first)
    }

    /// Returns who gets more than asked for: domains, the outermost first, and nodes that get
    /// another number of times their weight than their domain.
    fn more(&self) -> Vec<More<'a>> {
        let mut domains: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
        let of_domain = |number: usize| {
            let domain = self.verdict.domains.get(number)?;
            (domain.wanted > 0).then(|| domain.then.cells as f64 / domain.wanted as f64)
        };
        // the whole gets what it wants, so a domain of the first level has nothing to inherit
        let parts = self.verdict.domains.iter().enumerate().skip(1);
        for (number, domain) in parts {
            let times = of_domain(number).and_then(hundredths);
            let outer = domain.parent.and_then(of_domain).and_then(hundredths);
            if let Some(times) = times.filter(|_| times != outer) {
                domains
                    .entry((domain.level, times))
                    .or_default()
                    .push(number);
            }
        }
        let mut nodes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, over) in self.over.iter().enumerate() {
            let times = over.and_then(hundredths);
            let home = self.homes.get(number).copied();
            let outer = home.and_then(of_domain).and_then(hundredths);
            if let Some(times) = times.filter(|_| times != outer) {
                nodes.entry(times).or_default().push(number);
            }
        }
        let of_domains = domains.into_iter().map(|((level, times), domains)| More {
            who: self.of_domains(level, domains),
            times: times as f64 / 100.0,
        });
        let of_nodes = nodes.into_iter().map(|(times, nodes)| More {
            who: self.of_nodes(&nodes),
            times: times as f64 / 100.0,
        });
        of_domains.chain(of_nodes).collect()
    }

    fn of_domains(&self, level: usize, domains: Vec<usize>) -> Group<'a> {
        let names = domains.iter().map(|domain| self.verdict.names(*domain));
        Group {
            level: level
                .checked_sub(1)
                .and_then(|i| self.spread.get(i).copied()),
            paths: names.take(NAMED).collect(),
            count: domains.len(),
        }
    }

    fn of_nodes(&self, nodes: &[usize]) -> Group<'a> {
        let names = nodes
            .iter()
            .filter_map(|node| self.verdict.nodes.get(*node));
        Group {
            level: None,
            paths: names.map(|node| vec![node.name]).take(NAMED).collect(),
            count: nodes.len(),
        }
    }

    /// Yields the domains around a node, from the innermost to the whole.
    fn around(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let home = self.homes.get(node).copied();
        std::iter::successors(home, |domain| self.verdict.domains.get(*domain)?.parent)
    }

    fn level(&self, domain: usize) -> usize {
        self.verdict
            .domains
            .get(domain)
            .map_or(0, |domain| domain.level)
    }
}

/// Returns a number of times in hundredths, if it is noticeably above 1.
fn hundredths(times: f64) -> Option<u64> {
    let hundredths = (times * 100.0).round() as u64;
    (hundredths > 100).then_some(hundredths)
}
