//! New copies that answer first: programs ask the first node of a key, which then has no data yet.

use std::collections::HashMap;

use super::amount::Amount;
use crate::map::Map;
use crate::policy::{NodeId, PolicyId};
use crate::slice::overlay;

/// Returns the points whose first node did not hold them before, although the node that answered
/// first before still does, as a part of all points; `None` unless there are more copies than
/// before. `same` is for each old node the same node in the new map. Pins count.
///
/// Cost: one pass over the slices of both maps.
pub(super) fn new_first(old: &Map, new: &Map, same: &[Option<NodeId>]) -> Option<Amount> {
    if old.replicas() >= new.replicas() {
        return None;
    }
    let now = |node: NodeId| same.get(node.index()).copied().flatten();
    let is_fresh = |before: PolicyId, after: PolicyId| {
        let (was, is) = (old.policy(before).members(), new.policy(after).members());
        let (Some(answered), Some(first)) = (was.clone().next(), is.clone().next()) else {
            return false;
        };
        let stays = now(answered).is_some_and(|node| is.into_iter().any(|other| other == node));
        stays && was.into_iter().all(|node| now(node) != Some(first))
    };
    let mut known: HashMap<[PolicyId; 2], bool> = HashMap::new();
    let parts = overlay([old.slices().collect(), new.slices().collect()]);
    let points = parts.map(|(first, last, policies)| {
        let [before, after] = policies;
        let fresh = *known
            .entry(policies)
            .or_insert_with(|| is_fresh(before, after));
        u128::from(fresh) * first.count_to(last)
    });
    Some(Amount::of_copies(points.sum(), 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use crate::plan::same_nodes;
    use crate::rebalance::build;

    fn map(replicas: u32, nodes: &[&str], more: &str, old: Option<&Map>) -> Map {
        let node = |n: &&str| format!("{{name = '{n}', labels = {{z = '{}'}}}}", &n[..1]);
        let nodes: Vec<String> = nodes.iter().map(node).collect();
        let nodes = nodes.join(",");
        let text =
            format!("name = 'm'\nreplicas = {replicas}\nspread = ['z']\nnode = [{nodes}]\n{more}");
        build(&Fleet::parse(&text, "f").unwrap(), old).unwrap()
    }

    /// Returns the part of the keys for which a new copy answers first, in hundredths of a percent.
    fn part(old: &Map, new: &Map) -> Option<u64> {
        let amount = new_first(old, new, &same_nodes(old, new).unwrap())?;
        Some((amount.fraction * 10_000.0).round() as u64)
    }

    #[test]
    fn a_backup_of_all_keys_answers_first_for_half_of_them() {
        let stores = ["a1", "a2", "a3"];
        let all = ["a1", "a2", "a3", "b1"];
        let old = map(1, &stores, "", None);
        let new = map(2, &all, "", Some(&old));
        assert_eq!(part(&old, &new), Some(5_000));
        // counted again, by asking both maps for many points
        let keys = 4_000_u64;
        let fresh = (0..keys).filter(|i| {
            let key = i.to_string();
            let first = new.locate(key.as_bytes());
            let was = old.locate_all(key.as_bytes());
            let name = new.node(first).name();
            was.into_iter().all(|node| old.node(node).name() != name)
        });
        let fresh = fresh.count() as f64 / keys as f64;
        assert!((fresh - 0.5).abs() < 0.03, "{fresh}");
    }

    #[test]
    fn where_the_old_copies_stay_first_nothing_is_said() {
        let nodes = ["a1", "b1", "c1"];
        let [one, two] = [1, 2].map(|replicas| map(replicas, &nodes, "", None));
        // each node has a third of the keys, and keeps them as their first node
        assert_eq!(part(&one, &map(2, &nodes, "", Some(&one))), Some(0));
        // a pinned key is a point
        let pin = "[[pin]]\nkey = 'k'\nnodes = ['c1', 'a1', 'b1']\n";
        let pinned = map(2, &nodes, pin, Some(&one));
        let amount = new_first(&one, &pinned, &same_nodes(&one, &pinned).unwrap()).unwrap();
        let is_moved = one.locate(b"k") != pinned.locate(b"k");
        assert_eq!(amount.count(), u128::from(is_moved));
        // only where there are more copies than before
        assert_eq!(part(&two, &map(2, &nodes, "", Some(&two))), None);
        assert_eq!(part(&two, &map(1, &nodes, "", Some(&two))), None);
    }
}
