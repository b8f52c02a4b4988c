//! Fault domains: which are new, which are gone, and what losing one costs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::map::{Map, Node};
use crate::slice::Slice;
use crate::verdict::Verdict;
use crate::weight::Weight;

/// A fault domain by its labels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct DomainName<'a> {
    /// The label of its level.
    pub level: &'a str,
    /// The values of the labels, outermost first.
    pub path: Vec<&'a str>,
    /// How many of its nodes can hold points; of a domain that is gone, how many could.
    pub nodes: usize,
}

/// What it costs to lose a domain, for the points of which the fewest copies are left: how many
/// copies of how many. Counted over the final slices, pins included. A pin with fewer copies than
/// other keys counts in `last_points` only, since somebody has asked for that.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Loss {
    /// The number of copies of one such point that the domain holds.
    pub copies: usize,
    /// How many copies such a point has in all. A pin may have more copies than other keys.
    pub of: usize,
    /// The number of these points.
    pub points: String,
    /// The points of which it holds every copy: losing the domain loses them.
    pub last_points: String,
}

/// Returns the innermost domain of each node, as its number in [`Verdict::domains`].
pub(super) fn homes(map: &Map, verdict: &Verdict) -> Vec<usize> {
    let spread: Vec<&str> = map.spread().collect();
    let numbers: HashMap<(usize, &str), usize> = verdict
        .domains
        .iter()
        .enumerate()
        .filter_map(|(number, domain)| Some(((domain.parent?, domain.name), number)))
        .collect();
    let home = |node: Node| {
        spread
            .iter()
            .map_while(|label| node.label(label))
            .try_fold(0, |at, value| numbers.get(&(at, value)).copied().ok_or(at))
            .unwrap_or_else(|at| at)
    };
    map.nodes().map(home).collect()
}

/// What one domain holds of the points.
#[derive(Clone, Default)]
struct Held {
    /// by the number of copies of such a point in all, and the number of them that are here
    points_of: BTreeMap<(usize, usize), u128>,
    last_points: u128,
}

/// Returns what losing each domain of the verdict costs, in its order. Cost: one pass over the
/// slices, and one over the nodes of each policy that holds points, for each level.
pub(super) fn losses(map: &Map, verdict: &Verdict, homes: &[usize]) -> Vec<Loss> {
    of_slices(map.slices(), map, verdict, homes)
}

/// The same, as if there were no pins.
pub(super) fn base_losses(map: &Map, verdict: &Verdict, homes: &[usize]) -> Vec<Loss> {
    of_slices(map.base_slices(), map, verdict, homes)
}

fn of_slices(
    slices: impl Iterator<Item = Slice>,
    map: &Map,
    verdict: &Verdict,
    homes: &[usize],
) -> Vec<Loss> {
    let mut points = vec![0u128; map.policies().len()];
    for slice in slices {
        if let Some(sum) = points.get_mut(slice.policy.index()) {
            *sum += slice.points();
        }
    }
    let mut held = vec![Held::default(); verdict.domains.len()];
    // used again and again, since a map may have a million policies
    let (mut nodes, mut around) = (Vec::new(), Vec::new());
    for (policy, points) in map.policies().zip(points).filter(|(_, points)| *points > 0) {
        policy.list_distinct(&mut nodes);
        around.clear();
        for node in &nodes {
            let mut at = homes.get(node.index()).copied();
            while let Some(number) = at {
                around.push(number);
                at = verdict.domains.get(number).and_then(|part| part.parent);
            }
        }
        around.sort_unstable();
        for same in around.chunk_by(|a, b| a == b) {
            let copies = same.len();
            if let Some(held) = same.first().and_then(|number| held.get_mut(*number)) {
                *held.points_of.entry((nodes.len(), copies)).or_default() += points;
                held.last_points += if copies == nodes.len() { points } else { 0 };
            }
        }
    }
    let loss = |held: Held| {
        let usual = held.points_of.keys().map(|(of, _)| *of).max();
        let usual = usual.unwrap_or(0).min(map.replicas() as usize);
        let full = held
            .points_of
            .into_iter()
            .filter(|((of, _), _)| *of >= usual);
        let left = |(of, copies): &(usize, usize)| of - copies;
        let worst = full.min_by_key(|(copies, points)| (left(copies), Reverse(*points)));
        let ((of, copies), points) = worst.unwrap_or_default();
        Loss {
            copies,
            of,
            points: points.to_string(),
            last_points: held.last_points.to_string(),
        }
    };
    held.into_iter().map(loss).collect()
}

/// Returns the largest number of copies of one point that an outermost domain holds.
pub(super) fn most_copies(verdict: &Verdict, losses: &[Loss]) -> usize {
    let outer = verdict.domains.iter().zip(losses);
    let outer = outer.filter(|(domain, _)| domain.level == 1);
    outer.map(|(_, loss)| loss.copies).max().unwrap_or(0)
}

/// Returns the domains in which a node can hold points, with their number of such nodes.
fn domains<'a>(map: &'a Map, spread: &[&'a str]) -> BTreeMap<Vec<&'a str>, usize> {
    let mut all = BTreeMap::new();
    for node in map.nodes().filter(|node| node.weight() > Weight::ZERO) {
        let mut path: Vec<&str> = spread.iter().map_while(|label| node.label(label)).collect();
        while !path.is_empty() {
            *all.entry(path.clone()).or_default() += 1;
            path.pop();
        }
    }
    all
}

fn name<'a>(spread: &[&'a str], (path, nodes): (&Vec<&'a str>, &usize)) -> DomainName<'a> {
    let level = path.len().checked_sub(1).and_then(|i| spread.get(i));
    DomainName {
        level: level.copied().unwrap_or(""),
        path: path.clone(),
        nodes: *nodes,
    }
}

/// Returns the domains of the new map's spread that the old map does not have.
pub(super) fn new_domains<'a>(old: &'a Map, new: &'a Map) -> Vec<DomainName<'a>> {
    let spread: Vec<&str> = new.spread().collect();
    let (before, after) = (domains(old, &spread), domains(new, &spread));
    let fresh = after.iter().filter(|(path, _)| !before.contains_key(*path));
    fresh.map(|domain| name(&spread, domain)).collect()
}

/// Returns the domains of the old map's spread that are gone, with their labels in the old map. A
/// domain is not gone if a new domain has only nodes of it: then its label was changed.
pub(super) fn gone_domains<'a>(
    old: &'a Map,
    new: &'a Map,
    same: &[Option<crate::policy::NodeId>],
) -> Vec<DomainName<'a>> {
    let spread: Vec<&str> = old.spread().collect();
    let (before, after) = (domains(old, &spread), domains(new, &spread));
    let mut gone: BTreeMap<&Vec<&str>, &usize> = before
        .iter()
        .filter(|(path, _)| !after.contains_key(*path))
        .collect();
    if gone.is_empty() {
        return Vec::new();
    }
    // where the nodes of each domain that is gone are now
    let path_of = |node: Node<'a>| -> Vec<&'a str> {
        spread.iter().map_while(|label| node.label(label)).collect()
    };
    let mut now: HashMap<&[&str], HashSet<Vec<&str>>> = HashMap::new();
    // a domain whose nodes have lost their labels is not lost: the fleet does not name it any more
    let mut unnamed: HashSet<&[&str]> = HashSet::new();
    let paths: Vec<Vec<&str>> = old.nodes().map(path_of).collect();
    for (path, same) in paths.iter().zip(same) {
        let Some(node) = same.map(|id| new.node(id)) else {
            continue;
        };
        if node.weight() == Weight::ZERO {
            continue;
        }
        let here = path_of(node);
        unnamed.extend((here.len() + 1..=path.len()).filter_map(|depth| path.get(..depth)));
        for depth in 1..=path.len().min(here.len()) {
            if let (Some(was), Some(is)) = (path.get(..depth), here.get(..depth)) {
                now.entry(was).or_default().insert(is.to_vec());
            }
        }
    }
    gone.retain(|path, _| {
        let heirs = now.get(path.as_slice());
        !unnamed.contains(path.as_slice())
            && !heirs.is_some_and(|heirs| heirs.iter().any(|heir| !before.contains_key(heir)))
    });
    gone.into_iter()
        .map(|domain| name(&spread, domain))
        .collect()
}
