//! What a fleet wants: the caps of its domains and the ideal share of each node.
//!
//! The code is written from docs/placement.md alone and uses nothing of `rebalance`; only the tests
//! compare both. So stead is measured by the same independent rules as its peers.

use std::collections::{BTreeMap, HashMap};

use crate::fleet::Fleet;
use crate::point::SPACE;
use crate::weight::Weight;

/// A node over a whole history, identified by the number that its name got when it was first seen.
pub type NodeNumber = u32;

/// Maps names to numbers. A name keeps its number when its node leaves and comes back.
#[derive(Default)]
pub struct Names(HashMap<String, NodeNumber>);

impl Names {
    /// The number of a name. A new name gets the next number.
    pub fn number(&mut self, name: &str) -> NodeNumber {
        let next = self.0.len() as NodeNumber;
        self.0.get(name).copied().unwrap_or_else(|| {
            self.0.insert(name.to_owned(), next);
            next
        })
    }

    /// The names, by their numbers.
    pub fn in_order(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.count()];
        for (name, number) in &self.0 {
            if let Some(place) = names.get_mut(*number as usize) {
                name.clone_into(place);
            }
        }
        names
    }

    /// The number of names.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// A node that wants a share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The number of the node.
    pub node: NodeNumber,
    /// The name of the node.
    pub name: String,
    /// The weight of the node, which is above 0.
    pub weight: Weight,
    /// The domains that the node stands in, outermost first.
    pub domains: Vec<usize>,
}

/// What a fleet wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The number of replicas, R: how many nodes hold each point.
    pub replicas: u32,
    /// The nodes with a weight above 0, by name.
    pub holders: Vec<Holder>,
    /// The points of each holder: its weighted share, as far as the caps allow it.
    pub ideal: Vec<u128>,
    /// For each domain, how many copies of a point it may hold.
    pub caps: Vec<u32>,
}

/// An upper bound on the points of some holders together: those of a node, of a domain, or of the
/// whole.
struct Limit {
    /// The points that are not given out yet.
    left: u128,
    /// The holders under this limit, in order.
    holders: Vec<usize>,
}

impl Wanted {
    /// Computes what a fleet wants. Every holder must have all labels of the spread.
    pub fn of(fleet: &Fleet, names: &mut Names) -> Wanted {
        let mut domains: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        let mut holders = Vec::new();
        for node in fleet.nodes.iter().filter(|node| node.weight > Weight::ZERO) {
            let path: Vec<&str> = fleet
                .spread
                .iter()
                .map(|label| node.labels.get(label).map_or("", String::as_str))
                .collect();
            let within = (1..=path.len()).map(|depth| {
                let next = domains.len();
                *domains.entry(path[..depth].to_vec()).or_insert(next)
            });
            holders.push(Holder {
                node: names.number(&node.name),
                weight: node.weight,
                domains: within.collect(),
                name: node.name.clone(),
            });
        }
        let caps = caps(&domains, &holders, fleet.replicas);
        let ideal = fill(&domains, &holders, &caps, fleet.replicas);
        Wanted {
            replicas: fleet.replicas,
            holders,
            ideal,
            caps,
        }
    }
}

/// The caps of all domains. Of a parent with the cap k, whose parts d have n_d nodes: c is the
/// smallest integer with sum of min(c, n_d) >= k, and part d has the cap min(c, n_d).
fn caps(domains: &BTreeMap<Vec<&str>, usize>, holders: &[Holder], replicas: u32) -> Vec<u32> {
    let mut sizes = vec![0u32; domains.len()];
    holders
        .iter()
        .flat_map(|holder| &holder.domains)
        .for_each(|domain| sizes[*domain] += 1);
    let mut parts: BTreeMap<&[&str], Vec<usize>> = BTreeMap::new();
    for (path, domain) in domains {
        parts
            .entry(&path[..path.len() - 1])
            .or_default()
            .push(*domain);
    }
    let mut caps = vec![0; domains.len()];
    // a parent comes before its parts, since its path is shorter
    for (parent, parts) in &parts {
        let cap = domains
            .get(*parent)
            .map_or(replicas, |domain| caps[*domain]);
        let fits = |c: u32| parts.iter().map(|part| c.min(sizes[*part])).sum::<u32>() >= cap;
        let c = (0..=cap).find(|c| fits(*c)).unwrap_or(cap);
        parts
            .iter()
            .for_each(|part| caps[*part] = c.min(sizes[*part]));
    }
    caps
}

/// Progressive filling: a level rises for all holders, and the limit that is reached first freezes
/// the holders under it.
///
/// Nothing overflows: left <= 255 * 2^64 < 2^72, and all weights together are at most 65,536 *
/// 10^12 < 2^55.9.
fn fill(
    domains: &BTreeMap<Vec<&str>, usize>,
    holders: &[Holder],
    caps: &[u32],
    replicas: u32,
) -> Vec<u128> {
    // limits that are reached together freeze in this order: nodes, domains from the deepest level
    // outwards, the whole; within a level, by name
    let mut limits: Vec<Limit> = (0..holders.len())
        .map(|i| Limit {
            left: SPACE,
            holders: vec![i],
        })
        .collect();
    let mut by_depth: Vec<(&Vec<&str>, usize)> = domains
        .iter()
        .map(|(path, domain)| (path, *domain))
        .collect();
    by_depth.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    for (_, domain) in by_depth {
        let inside = holders
            .iter()
            .zip(0..)
            .filter(|(holder, _)| holder.domains.contains(&domain))
            .map(|(_, i)| i);
        limits.push(Limit {
            left: u128::from(caps[domain]) * SPACE,
            holders: inside.collect(),
        });
    }
    limits.push(Limit {
        left: u128::from(replicas) * SPACE,
        holders: (0..holders.len()).collect(),
    });
    let mut within: Vec<Vec<usize>> = vec![Vec::new(); holders.len()];
    for (limit, b) in limits.iter().zip(0..) {
        limit.holders.iter().for_each(|i| within[*i].push(b));
    }

    let weight = |i: usize| u128::from(holders[i].weight.millionths());
    let mut rising: Vec<u128> = limits
        .iter()
        .map(|limit| limit.holders.iter().map(|i| weight(*i)).sum())
        .collect();
    let mut ideal: Vec<Option<u128>> = vec![None; holders.len()];
    while let Some(first) = reached_first(&limits, &rising) {
        let (left, weights) = (limits[first].left, rising[first]);
        let rise: Vec<usize> = limits[first]
            .holders
            .iter()
            .copied()
            .filter(|i| ideal[*i].is_none())
            .collect();
        let mut over = left;
        for i in &rise {
            let points = left * weight(*i) / weights;
            over -= points;
            ideal[*i] = Some(points);
            for b in &within[*i] {
                limits[*b].left -= points;
                rising[*b] -= weight(*i);
            }
        }
        let mut order = rise;
        // a stable sort, so of equal remainders the earlier holder comes first
        order.sort_by_key(|i| std::cmp::Reverse(left * weight(*i) % weights));
        for i in order {
            if over > 0 && within[i].iter().all(|b| limits[*b].left > 0) {
                over -= 1;
                ideal[i] = ideal[i].map(|points| points + 1);
                within[i].iter().for_each(|b| limits[*b].left -= 1);
            }
        }
    }
    ideal
        .into_iter()
        .map(|points| points.unwrap_or(0))
        .collect()
}

/// The limit that is reached first: of those with rising holders, the one with the least left /
/// weights, and of equal ones the first.
fn reached_first(limits: &[Limit], rising: &[u128]) -> Option<usize> {
    let mut first: Option<usize> = None;
    for (b, limit) in limits.iter().enumerate().filter(|(b, _)| rising[*b] > 0) {
        if first.is_none_or(|f| limit.left * rising[f] < limits[f].left * rising[b]) {
            first = Some(b);
        }
    }
    first
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::rebalance::{targets, Domains};

    /// A fleet of nodes that are written as `zone/rack/name=weight`.
    pub(in crate::simulate) fn fleet(replicas: u32, spread: &[&str], nodes: &[&str]) -> Fleet {
        let mut text = String::from("name = 'f'\n");
        for node in nodes {
            let (place, weight) = node.split_once('=').unwrap_or((node, "1"));
            let parts: Vec<&str> = place.split('/').collect();
            text += &format!(
                "[[node]]\nname = '{place}'\nweight = {weight}\nlabels = \
                {{ zone = '{}', rack = '{}' }}\n",
                parts[0],
                parts[parts.len() - 2]
            );
        }
        let mut fleet = Fleet::parse(&text, "f").unwrap();
        fleet.replicas = replicas;
        fleet.spread = spread.iter().map(|label| (*label).to_owned()).collect();
        fleet
    }

    fn ideal(replicas: u32, spread: &[&str], nodes: &[&str]) -> (Vec<u128>, Vec<u32>) {
        let wanted = Wanted::of(&fleet(replicas, spread, nodes), &mut Names::default());
        assert_eq!(
            wanted.ideal.iter().sum::<u128>(),
            u128::from(replicas) * SPACE
        );
        assert!(wanted.ideal.iter().all(|points| *points <= SPACE));
        let mut caps = vec![0; wanted.caps.len()];
        for (holder, points) in wanted.holders.iter().zip(&wanted.ideal) {
            holder
                .domains
                .iter()
                .for_each(|domain| caps[*domain] += points);
        }
        assert!(caps
            .iter()
            .zip(&wanted.caps)
            .all(|(points, cap)| *points <= u128::from(*cap) * SPACE));
        (wanted.ideal, wanted.caps)
    }

    #[test]
    fn at_one_replica_shares_are_rounded_by_largest_remainder() {
        for weights in [
            vec!["1"],
            vec!["1"; 3],
            vec!["1", "1", "1", "1.5"],
            vec!["100", "0.000001", "3", "0", "7"],
        ] {
            let nodes: Vec<String> = weights
                .iter()
                .zip(0..)
                .map(|(weight, i)| format!("z/r/n{i}={weight}"))
                .collect();
            let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
            let list: Vec<Weight> = weights
                .iter()
                .map(|w| Weight::parse(w).unwrap())
                .filter(|w| *w > Weight::ZERO)
                .collect();
            let domains = Domains::new(&vec![Some(Vec::new()); list.len()], 1);
            let targets = targets(&list, &domains, SPACE).unwrap().cells.into_values();
            assert_eq!(ideal(1, &[], &nodes).0, targets);
            assert_eq!(ideal(1, &["zone", "rack"], &nodes).0, targets);
        }
    }

    #[test]
    fn a_node_holds_at_most_every_point_once_and_the_others_share_the_rest() {
        assert_eq!(
            ideal(2, &[], &["z/r/a=10", "z/r/b", "z/r/c"]).0,
            [SPACE, SPACE / 2, SPACE / 2]
        );
        assert_eq!(ideal(2, &[], &["z/r/a=10", "z/r/b"]).0, [SPACE, SPACE]);
    }

    #[test]
    fn with_as_many_zones_as_replicas_each_zone_holds_one_copy() {
        let nodes = ["a/1/x=5", "b/1/x=1", "b/2/y=3", "c/1/x=1", "c/1/y=1"];
        let (points, caps) = ideal(3, &["zone"], &nodes);
        assert_eq!(
            points,
            [SPACE, SPACE / 4, SPACE / 4 * 3, SPACE / 2, SPACE / 2]
        );
        assert_eq!(caps, [1, 1, 1]);
    }

    #[test]
    fn caps_go_from_the_outside_to_the_inside() {
        // zones a and b with 3 nodes and 1 node at R = 3: c = 2; in zone a, racks of 1 and 2 nodes
        // under the cap 2
        let (_, caps) = ideal(3, &["zone", "rack"], &["a/1/x", "a/2/x", "a/2/y", "b/1/x"]);
        assert_eq!(caps, [2, 1, 1, 1, 1]);
        let (_, caps) = ideal(3, &["zone", "rack"], &["a/1/x", "a/1/y", "a/1/z", "b/1/x"]);
        assert_eq!(caps, [2, 2, 1, 1]);
        assert_eq!(
            ideal(3, &["zone"], &["a/1/x", "b/1/x", "c/1/x", "d/1/x", "e/1/x"]).1,
            [1; 5]
        );
    }

    #[test]
    fn on_a_tie_the_inner_bound_freezes_first() {
        // zone a reaches its cap exactly when the whole is reached; its remainders must stay in the
        // zone
        let nodes = [
            "a/1/u", "a/1/v", "a/1/w", "b/1/u", "b/1/v", "b/1/w", "c/1/u", "c/1/v", "c/1/w",
        ];
        let (points, _) = ideal(3, &["zone"], &nodes);
        for zone in points.chunks(3) {
            assert_eq!(zone.iter().sum::<u128>(), SPACE);
        }
    }
}
