//! Which fault domains a change loses, and over which of them copies are not kept apart any more.
//!
//! A domain is lost when it held points and the new fleet has no node in it. These are no losses:
//!
//! - a domain whose nodes have weight 0 is still in the fleet: whoever drained it meant it, and it
//!   may then be removed, since it holds nothing;
//! - a domain whose nodes all stay, together and under another label, is renamed;
//! - a domain of a level over which the new fleet does not spread: what is found then is the level.
//!   It is none if the new fleet spreads over another label that groups the nodes in the same way;
//! - a domain of one node is that node, as long as the domains that are left suffice for R copies.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::allow::Guard;
use super::dropped::Changed;
use super::finding::{share, Finding};
use crate::error::Result;
use crate::map::{Map, Node};
use crate::point::SPACE;
use crate::weight::Weight;

/// The values of a node's labels, outermost first.
type Path<'a> = Vec<&'a str>;

/// Returns a finding for each domain that a change loses. Of a domain and those inside it, only the
/// outermost is found.
pub(super) fn domains(old: &Map, new: &Map, changed: &Changed) -> Result<Vec<Finding>> {
    let spread: Vec<&str> = old.spread().collect();
    let mut lost: HashSet<Path> = HashSet::new();
    let mut found = Vec::new();
    let is_kept = |label: &&&str| new.spread().any(|kept| kept == **label);
    for depth in 1..=spread.iter().take_while(is_kept).count() {
        let labels = spread.get(..depth).unwrap_or_default();
        let before = Level::of(old, labels);
        let after = Level::of(new, labels);
        for (path, nodes) in &before.nodes {
            let is_inside = (1..depth).any(|n| path.get(..n).is_some_and(|p| lost.contains(p)));
            if is_inside || after.nodes.contains_key(path) {
                continue;
            }
            let held: u128 = nodes
                .iter()
                .filter_map(|n| changed.held.get(n.id.index()))
                .sum();
            if held == 0 || is_renamed(nodes, new, labels, changed, &before) {
                continue;
            }
            let holding = |node: &&Node| changed.held.get(node.id.index()).is_some_and(|h| *h > 0);
            let count = nodes.iter().filter(holding).count();
            let left = after.holding();
            let suffice = left >= new.replicas() as usize || left >= before.holding();
            if count == 1 && suffice {
                continue;
            }
            lost.insert(path.clone());
            found.push(Finding {
                guard: Guard::LoseDomain,
                text: format!(
                    "loses {} {} with {} of all copies on {count} {}, and leaves {left} {}",
                    labels.last().unwrap_or(&"domain"),
                    path.join("/"),
                    share(held, u128::from(old.replicas()) * SPACE),
                    if count == 1 { "node" } else { "nodes" },
                    if left == 1 { "other" } else { "others" },
                ),
            });
        }
    }
    Ok(found)
}

/// Returns a finding for the labels over which copies are not kept apart any more.
pub(super) fn levels(old: &Map, new: &Map, changed: &Changed) -> Option<Finding> {
    if old.replicas() < 2 || new.replicas() < 2 {
        return None;
    }
    let spread: Vec<&str> = old.spread().collect();
    let now: Vec<&str> = new.spread().collect();
    let at = |label: &str| spread.iter().position(|one| *one == label);
    let is_gone = |label: &&&str| {
        let labels = at(label).and_then(|at| spread.get(..=at));
        let labels = labels.unwrap_or_default();
        let is_another = |end| groups_alike((old, labels), (new, now.get(..end)), changed);
        !now.contains(*label)
            && Level::of(old, labels).holding() > 1
            && !(1..=now.len()).any(is_another)
    };
    let gone: Vec<&str> = spread.iter().filter(is_gone).copied().collect();
    (!gone.is_empty()).then(|| Finding {
        guard: Guard::LoseDomain,
        text: format!(
            "keeps copies no longer apart by {}: spread had it and has it no more",
            gone.join(" and ")
        ),
    })
}

/// Whether labels of the new map group the nodes that both have as labels of the old one do.
fn groups_alike(
    (old, before): (&Map, &[&str]),
    (new, after): (&Map, Option<&[&str]>),
    changed: &Changed,
) -> bool {
    let after = after.unwrap_or_default();
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    old.nodes().filter(|node| !node.leaving()).all(|node| {
        let Some(same) = changed.same.get(node.id.index()).copied().flatten() else {
            return true;
        };
        let (was, is) = (path(node, before), path(new.node(same), after));
        *there.entry(was.clone()).or_insert_with(|| is.clone()) == is
            && *back.entry(is).or_insert_with(|| was.clone()) == was
    })
}

/// The nodes of each domain of one level, without those that are leaving.
struct Level<'a> {
    nodes: BTreeMap<Path<'a>, Vec<Node<'a>>>,
}

impl<'a> Level<'a> {
    fn of(map: &'a Map, labels: &[&str]) -> Level<'a> {
        let mut nodes: BTreeMap<Path, Vec<Node>> = BTreeMap::new();
        for node in map.nodes().filter(|node| !node.leaving()) {
            if let Some(path) = path(node, labels) {
                nodes.entry(path).or_default().push(node);
            }
        }
        Level { nodes }
    }

    /// Returns how many domains have a node that can hold.
    fn holding(&self) -> usize {
        let can_hold = |nodes: &&Vec<Node>| nodes.iter().any(|node| node.weight() > Weight::ZERO);
        self.nodes.values().filter(can_hold).count()
    }
}

fn path<'a>(node: Node<'a>, labels: &[&str]) -> Option<Path<'a>> {
    labels.iter().map(|label| node.label(label)).collect()
}

/// Whether all nodes of a domain are still there, all in one domain that is new.
fn is_renamed(
    nodes: &[Node],
    new: &Map,
    labels: &[&str],
    changed: &Changed,
    before: &Level,
) -> bool {
    let mut now = BTreeSet::new();
    for node in nodes {
        match changed.same.get(node.id.index()).copied().flatten() {
            Some(same) if !new.node(same).leaving() => now.insert(path(new.node(same), labels)),
            _ => return false,
        };
    }
    now.len() == 1
        && now
            .iter()
            .flatten()
            .all(|path| !before.nodes.contains_key(path))
}
