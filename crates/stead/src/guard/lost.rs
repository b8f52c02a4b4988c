//! Which fault domains a change loses.
//!
//! A domain is lost when it held points and the new fleet has no node in it. These are no losses:
//!
//! - a domain whose nodes have weight 0 is still in the fleet: whoever drained it meant it, and it
//!   may then be removed, since it holds nothing;
//! - a domain whose nodes all stay, together and under another label, is renamed;
//! - a domain of a level over which the new fleet does not spread: it is no fault domain any more,
//!   and `plan` says that the spread has changed;
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
