//! From which node to which the copies of a change go. A move says which node gives a copy up; a
//! copy that is added comes from a node that does not. It is read at the first node of its keys in
//! the old map, where programs and `stead-sync carry` look first.

use std::collections::{BTreeMap, HashSet};

use crate::map::Map;
use crate::plan::{Move, Plan};
use crate::point::Point;
use crate::policy::NodeId;

/// From which node to which a copy goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Way {
    /// The node that gives the copy up, by its number in the old map; `None` when a copy is added.
    pub from: Option<NodeId>,
    /// The node at which an added copy is read, by its number in the old map; `None` when the copy
    /// is not added, or no node has it.
    pub source: Option<NodeId>,
    /// The node that gets the copy, by its number in the new map; `None` when a copy is dropped.
    pub to: Option<NodeId>,
}

/// Where added copies are read: the first node of each point in a map.
#[derive(Clone, Debug)]
pub struct Sources {
    /// the last point of each slice, in order, and its first node
    slices: Vec<(Point, Option<NodeId>)>,
}

impl Sources {
    /// Returns the first nodes of an old map. A node in `dead` is passed over for the next one of
    /// its policy.
    ///
    /// Cost: one pass over the slices of the map.
    pub fn of(old: &Map, dead: &HashSet<NodeId>) -> Sources {
        let first = |policy| {
            let mut nodes = old.policy(policy).members();
            nodes.find(|node| !dead.contains(node))
        };
        let slices = old.slices();
        Sources {
            slices: slices
                .map(|slice| (slice.last, first(slice.policy)))
                .collect(),
        }
    }

    /// Returns the way of a copy of this point.
    ///
    /// Cost: a binary search where a copy is added.
    pub fn way(&self, point: Point, from: Option<NodeId>, to: Option<NodeId>) -> Way {
        let source = match (from, to) {
            (None, Some(_)) => self.after(point).first().and_then(|(_, node)| *node),
            _ => None,
        };
        Way { from, source, to }
    }

    /// Returns the ways of a move, each with its number of points.
    ///
    /// Cost: a binary search, and one step for each slice of the move, where copies are added.
    pub fn ways(&self, step: &Move) -> Vec<(Way, u128)> {
        let Move { from, to, .. } = *step;
        let whole = |source| Way { from, source, to };
        if from.is_some() || to.is_none() {
            return vec![(whole(None), step.points())];
        }
        let mut ways: Vec<(Way, u128)> = Vec::new();
        let mut first = step.first;
        for (last, source) in self.after(first) {
            let end = step.last.min(*last);
            ways.push((whole(*source), first.count_to(end)));
            match end.0.checked_add(1) {
                Some(next) if end < step.last => first = Point(next),
                _ => break,
            }
        }
        ways
    }

    /// The slices from that of a point on.
    fn after(&self, point: Point) -> &[(Point, Option<NodeId>)] {
        let start = self.slices.partition_point(|(last, _)| *last < point);
        self.slices.get(start..).unwrap_or_default()
    }
}

/// Adds up the points of moves by their ways. `old` is the map before them.
pub fn sums(moves: &[Move], old: &Map, dead: &HashSet<NodeId>) -> BTreeMap<Way, u128> {
    let sources = Sources::of(old, dead);
    let mut sums: BTreeMap<Way, u128> = BTreeMap::new();
    for (way, points) in moves.iter().flat_map(|step| sources.ways(step)) {
        *sums.entry(way).or_default() += points;
    }
    sums
}

/// Adds up the points of a plan by their ways. `old` is the map before it.
pub fn of_plan(plan: &Plan, old: &Map) -> BTreeMap<Way, u128> {
    sums(&plan.moves, old, &HashSet::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use crate::rebalance::build;

    fn map(replicas: u32, nodes: &[&str], more: &str, old: Option<&Map>) -> Map {
        let nodes: Vec<String> = nodes.iter().map(|n| format!("{{name = '{n}'}}")).collect();
        let nodes = nodes.join(",");
        let text = format!("name = 'm'\nreplicas = {replicas}\nnode = [{nodes}]\n{more}");
        build(&Fleet::parse(&text, "f").unwrap(), old).unwrap()
    }

    /// The names of a way: who gives the copy up, where it is read, who gets it.
    fn named<'m>(way: Way, old: &'m Map, new: &'m Map) -> [&'m str; 3] {
        let name = |map: &'m Map, node: Option<NodeId>| node.map_or("-", |n| map.node(n).name());
        [
            name(old, way.from),
            name(old, way.source),
            name(new, way.to),
        ]
    }

    #[test]
    fn an_added_copy_is_read_at_the_first_node_of_its_keys() {
        let old = map(2, &["a", "b", "c"], "", None);
        // a third copy, and a node that comes at the same time
        let new = map(3, &["a", "b", "c", "d"], "", Some(&old));
        let plan = Plan::between(&old, &new).unwrap();
        let sums = of_plan(&plan, &old);
        let whole = |sums: &BTreeMap<Way, u128>| sums.values().sum::<u128>();
        let moved: u128 = plan.moves.iter().map(Move::points).sum();
        assert_eq!(whole(&sums), moved);
        // counted again, point for point, from what `locate_all` says
        let mut again: BTreeMap<[&str; 3], u128> = BTreeMap::new();
        let mut bounds: Vec<Point> = old.slices().map(|slice| slice.first).collect();
        bounds.extend(new.slices().map(|slice| slice.first));
        bounds.sort_unstable();
        bounds.dedup();
        for (i, first) in bounds.iter().enumerate() {
            let last = match bounds.get(i + 1) {
                Some(next) => Point(next.0 - 1),
                None => Point::LAST,
            };
            let was: Vec<&str> = names(&old, *first);
            let is: Vec<&str> = names(&new, *first);
            let lost = was.iter().filter(|name| !is.contains(name)).count();
            let gained: Vec<&&str> = is.iter().filter(|name| !was.contains(name)).collect();
            // whatever is gained beyond what is lost is added
            assert!(gained.len() > lost);
            let added = (gained.len() - lost) as u128 * first.count_to(last);
            *again.entry(["-", was[0], "*"]).or_default() += added;
        }
        let mut added: BTreeMap<[&str; 3], u128> = BTreeMap::new();
        for (way, points) in &sums {
            let [from, source, _] = named(*way, &old, &new);
            assert_eq!(from == "-", source != "-");
            if from == "-" {
                *added.entry(["-", source, "*"]).or_default() += points;
            }
        }
        assert_eq!(added, again);
        assert!(added.len() == 3, "{added:?}");
        // point by point it is the same
        let sources = Sources::of(&old, &HashSet::new());
        for step in plan.moves.iter().filter(|step| step.from.is_none()) {
            for point in [step.first, step.last] {
                let way = sources.way(point, None, step.to);
                assert_eq!(named(way, &old, &new)[1], names(&old, point)[0]);
            }
        }
    }

    fn names(map: &Map, point: Point) -> Vec<&str> {
        let nodes = map.locate_all_point(point);
        nodes.map(|node| map.node(node).name()).collect()
    }

    #[test]
    fn a_dead_node_is_not_read() {
        let old = map(2, &["a", "b"], "", None);
        let new = map(3, &["a", "b", "c"], "", Some(&old));
        let plan = Plan::between(&old, &new).unwrap();
        let dead = |names: &[&str]| -> HashSet<NodeId> {
            let ids = names.iter().map(|name| old.node_named(name).unwrap().id);
            ids.collect()
        };
        let read = |lost: &[&str]| -> Vec<String> {
            let ways = sums(&plan.moves, &old, &dead(lost));
            let named = ways.into_keys().map(|way| named(way, &old, &new));
            named
                .map(|[_, source, to]| format!("{source}>{to}"))
                .collect()
        };
        assert_eq!(read(&[]), ["a>c", "b>c"]);
        assert_eq!(read(&["a"]), ["b>c"]);
        assert_eq!(read(&["a", "b"]), ["->c"]);
    }

    #[test]
    fn what_is_moved_or_dropped_has_no_other_source() {
        let old = map(2, &["a", "b", "c"], "", None);
        let new = map(1, &["a", "b", "d"], "", Some(&old));
        let plan = Plan::between(&old, &new).unwrap();
        let ways = of_plan(&plan, &old);
        assert!(ways.keys().all(|way| way.source.is_none()));
        assert!(ways.keys().any(|way| way.to.is_none()));
    }
}
