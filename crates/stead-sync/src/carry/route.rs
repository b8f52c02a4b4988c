//! Which way each item goes: from the node where its key is read to those that gain it, and where
//! it is removed at the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use stead::carry::State;
use stead::{Map, Pair, Point};

use super::kind::Node;
use stead::guard::LastMove;

use crate::exit::{Failure, Result, USAGE};

/// The ways between the two maps of a carry. Nodes have the numbers of the pair.
pub struct Routes {
    /// All nodes.
    pub nodes: Vec<Node>,
    old: Pair,
    new: Pair,
    /// by number: whether a node is gone for good
    lost: Vec<bool>,
    /// The last change before the carry, if it moved data without one. Then data may still be
    /// where it was before that change, so counting lists the new places, too.
    pub uncarried: Option<LastMove>,
    /// The nodes of new places that were emptied or replaced, and not compared since.
    pub doubted: BTreeSet<usize>,
}

/// Where an item is copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trip {
    /// The first node of the old map that is not lost.
    pub from: usize,
    /// The nodes that only the new map names.
    pub to: Vec<usize>,
}

impl Routes {
    /// Returns the ways from the old map to the new one.
    ///
    /// Errors: maps of different clusters; a lost node that neither map has.
    pub fn new(old: Arc<Map>, new: Arc<Map>, lost: &[String]) -> Result<Routes> {
        let side = |state| Pair::between(Arc::clone(&old), Arc::clone(&new), state);
        let (old_side, new_side) = (side(State::Old)?, side(State::New)?);
        let node = |number: usize| {
            let node = new_side.node(stead::policy::NodeId(number as u32))?;
            let attributes = node.attributes();
            Ok(Node {
                number,
                name: node.name().to_owned(),
                attributes: attributes
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
                    .collect(),
            })
        };
        let nodes = (0..new_side.node_count())
            .map(node)
            .collect::<Result<Vec<_>>>()?;
        // as `stead apply --lost` has it: the name of a node, or LABEL=VALUE
        let is_meant = |word: &str, node: &Node| {
            let is_labelled = |(label, value): (&str, &str)| {
                let found = [&new, &old].into_iter();
                let found = found.filter_map(|map| map.node_named(&node.name)).next();
                found.and_then(|found| found.label(label)) == Some(value)
            };
            node.name == word || word.split_once('=').is_some_and(is_labelled)
        };
        let is_nobody = |word: &&String| !nodes.iter().any(|node| is_meant(word, node));
        if let Some(unknown) = lost.iter().find(is_nobody) {
            return Err(Failure::new(
                USAGE,
                format_args!(
                    "lost: neither map has a node {unknown:?}; write the name of a node, or \
                     LABEL=VALUE for all nodes of a domain; delete the line if it is that of an \
                     earlier carry"
                ),
            ));
        }
        let is_lost = |node: &Node| lost.iter().any(|word| is_meant(word, node));
        Ok(Routes {
            lost: nodes.iter().map(is_lost).collect(),
            uncarried: None,
            doubted: BTreeSet::new(),
            nodes,
            old: old_side,
            new: new_side,
        })
    }

    fn listed(&self, pair: &Pair, point: Point) -> Vec<usize> {
        pair.reads_point(point)
            .map(|node| node.0 as usize)
            .collect()
    }

    fn trip_of_point(&self, point: Point) -> Option<Trip> {
        let old = self.listed(&self.old, point);
        let mut to = self.listed(&self.new, point);
        to.retain(|node| !old.contains(node) && !self.lost[*node]);
        let from = old.into_iter().find(|node| !self.lost[*node])?;
        (!to.is_empty()).then_some(Trip { from, to })
    }

    /// Refuses a lost node that is to get copies: nothing would be copied there, and the old copies
    /// would be removed all the same.
    pub fn refuse_lost_targets(&self, epoch: u64) -> Result {
        let gains = |point: Point| {
            let old = self.listed(&self.old, point);
            let mut new = self.listed(&self.new, point).into_iter();
            new.find(|node| self.lost[*node] && !old.contains(node))
        };
        let Some(node) = self.points().find_map(gains) else {
            return Ok(());
        };
        let name = &self.nodes[node].name;
        Err(Failure::new(
            USAGE,
            format_args!(
                "lost names the node {name}, and epoch {epoch} places keys there that it did not \
                 have before; if {name} is there, remove it from lost; if it is gone, go back with \
                 `stead-sync carry reverse` and `run`, and take it out of the fleet"
            ),
        ))
    }

    /// Says which nodes count as lost, and whether that leaves keys without any copy.
    pub fn told_lost(&self) -> Option<String> {
        let lost = self.nodes.iter().filter(|node| self.lost[node.number]);
        let names: Vec<&str> = lost.map(|node| node.name.as_str()).collect();
        if names.is_empty() {
            return None;
        }
        let is_without = |first: Point| {
            self.listed(&self.old, first)
                .iter()
                .all(|node| self.lost[*node])
        };
        let old = self.old.old_map()?;
        let slices: Vec<_> = old.slices().collect();
        let points = slices
            .iter()
            .filter(|slice| is_without(slice.first))
            .map(|slice| slice.points())
            .sum::<u128>();
        let copies = match points {
            0 => "every key has another copy".to_owned(),
            points => format!(
                "{:.2} % of the keys had their copies only there, and are not copied",
                points as f64 / (1_u128 << 64) as f64 * 100.0
            ),
        };
        Some(format!(
            "counted as lost, by the file of the carry: {}: nothing is read, written or removed \
             there; {copies}",
            names.join(", ")
        ))
    }

    /// Returns where the items of a key are copied; `None` when they are not.
    pub fn trip(&self, key: &[u8]) -> Option<Trip> {
        self.trip_of_point(self.new.new_map().point(key))
    }

    /// Whether the old map or the new one places a key at a node.
    pub fn places(&self, key: &[u8], node: usize) -> bool {
        let point = self.new.new_map().point(key);
        [&self.old, &self.new]
            .iter()
            .any(|side| self.listed(side, point).contains(&node))
    }

    /// Returns the nodes where the new map places a key, without those that are lost.
    pub fn homes(&self, key: &[u8]) -> Vec<usize> {
        let mut homes = self.listed(&self.new, self.new.new_map().point(key));
        homes.retain(|node| !self.lost[*node]);
        homes
    }

    /// Returns all nodes that are not lost.
    pub fn present(&self) -> Vec<usize> {
        (0..self.nodes.len())
            .filter(|node| !self.lost[*node])
            .collect()
    }

    fn keepers_of_point(&self, point: Point, node: usize, reverse: bool) -> Option<Vec<usize>> {
        let old = self.listed(&self.old, point);
        let new = self.listed(&self.new, point);
        let (leaves, mut stays) = match reverse {
            false => (old, new),
            true => (new, old),
        };
        if self.lost[node] || !leaves.contains(&node) || stays.contains(&node) {
            return None;
        }
        stays.retain(|other| !self.lost[*other]);
        let gained: Vec<usize> = stays
            .iter()
            .copied()
            .filter(|n| !leaves.contains(n))
            .collect();
        match (reverse, gained.is_empty()) {
            // all new copies were made by the carry, so all are looked at
            (false, false) => Some(gained),
            _ => stays.first().map(|first| vec![*first]),
        }
    }

    /// Returns which nodes must have the items of a key before they are removed at a node; `None`
    /// when they are not removed there. In a carry that is reversed, the new places are left.
    pub fn keepers(&self, key: &[u8], node: usize, reverse: bool) -> Option<Vec<usize>> {
        self.keepers_of_point(self.new.new_map().point(key), node, reverse)
    }

    /// Notes which nodes were emptied or replaced. Those that are lost are not asked for anything.
    pub fn doubt(&mut self, names: &BTreeSet<String>) {
        let is_doubted = |node: &&Node| names.contains(&node.name) && !self.lost[node.number];
        let doubted = self.nodes.iter().filter(is_doubted);
        self.doubted = doubted.map(|node| node.number).collect();
    }

    /// Returns which doubted nodes must have the items of a key before they are removed at a node.
    pub fn doubted_keepers(&self, key: &[u8], node: usize) -> Option<Vec<usize>> {
        let mut keepers = self.keepers(key, node, false)?;
        keepers.retain(|keeper| self.doubted.contains(keeper));
        (!keepers.is_empty()).then_some(keepers)
    }

    /// Returns a point of each run of points that both maps treat alike.
    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let old = self.old.old_map().into_iter();
        let maps = old.chain([self.new.new_map()]);
        maps.flat_map(|map| map.slices().map(|slice| slice.first))
    }

    /// Returns the percentage of the keys that the old map places at a node.
    pub fn percent(&self, node: usize) -> u64 {
        let Some(old) = self.old.old_map() else {
            return 0;
        };
        let firsts: Vec<Point> = old.slices().map(|slice| slice.first).collect();
        let ends = firsts.iter().skip(1).map(|first| u128::from(first.0));
        let ends = ends.chain([1 << 64]);
        let here = |first: &Point| self.listed(&self.old, *first).contains(&node);
        let slices = firsts.iter().zip(ends).filter(|(first, _)| here(first));
        let points: u128 = slices.map(|(first, end)| end - u128::from(first.0)).sum();
        (points * 100 / (1 << 64)) as u64
    }

    /// Returns the nodes that items are copied from, and those that they are copied to.
    pub fn ends(&self) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let (mut from, mut to) = (BTreeSet::new(), BTreeSet::new());
        for trip in self.points().filter_map(|point| self.trip_of_point(point)) {
            from.insert(trip.from);
            to.extend(trip.to);
        }
        (from, to)
    }

    /// Returns the nodes at which items are removed.
    pub fn leaving(&self, reverse: bool) -> BTreeSet<usize> {
        let mut nodes = BTreeSet::new();
        for point in self.points() {
            let side = if reverse { &self.new } else { &self.old };
            for node in self.listed(side, point) {
                if self.keepers_of_point(point, node, reverse).is_some() {
                    nodes.insert(node);
                }
            }
        }
        nodes
    }

    /// Returns all nodes that a carry touches.
    pub fn touched(&self) -> BTreeSet<usize> {
        let (mut all, to) = self.ends();
        all.extend(to);
        for reverse in [false, true] {
            for node in self.leaving(reverse) {
                all.insert(node);
            }
        }
        all
    }
}

/// Returns the ways from a cluster of these nodes to another one, for tests.
#[cfg(test)]
pub fn routes(replicas: u32, before: &[&str], after: &[&str], lost: &[&str]) -> Routes {
    use stead::{build, Fleet};
    let fleet = |nodes: &[&str]| {
        let nodes: String = nodes
            .iter()
            .map(|n| format!("[[node]]\nname = '{n}'\n"))
            .collect();
        let text = format!("name = 'm'\nreplicas = {replicas}\n{nodes}");
        Fleet::parse(&text, "fleet").unwrap()
    };
    let old = build(&fleet(before), None).unwrap();
    let new = build(&fleet(after), Some(&old)).unwrap();
    let lost: Vec<String> = lost.iter().map(|n| (*n).to_owned()).collect();
    Routes::new(Arc::new(old), Arc::new(new), &lost).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead::{build, Fleet};

    fn names(routes: &Routes, nodes: &BTreeSet<usize>) -> Vec<String> {
        nodes
            .iter()
            .map(|n| routes.nodes[*n].name.clone())
            .collect()
    }

    #[test]
    fn every_copy_that_is_gained_is_brought_and_every_one_that_is_left_is_removed() {
        let routes = routes(2, &["a", "b", "c"], &["a", "b", "d"], &[]);
        let (from, to) = routes.ends();
        assert!(names(&routes, &to).contains(&"d".to_owned()), "{to:?}");
        let mut moved = 0;
        for key in (0..2000).map(|i| format!("key{i}").into_bytes()) {
            let point = routes.new.new_map().point(&key);
            let old = routes.listed(&routes.old, point);
            let new = routes.listed(&routes.new, point);
            let trip = routes.trip(&key);
            let gained: Vec<usize> = new.iter().copied().filter(|n| !old.contains(n)).collect();
            assert_eq!(trip.as_ref().map_or(vec![], |t| t.to.clone()), gained);
            if let Some(trip) = trip {
                moved += 1;
                assert_eq!(trip.from, old[0]);
                assert!(from.contains(&trip.from));
            }
            for node in 0..routes.nodes.len() {
                let leaves = old.contains(&node) && !new.contains(&node);
                assert_eq!(routes.keepers(&key, node, false).is_some(), leaves);
                let back = routes.keepers(&key, node, true);
                assert_eq!(back.is_some(), gained.contains(&node));
            }
        }
        assert!(moved > 500);
        let left = names(&routes, &routes.leaving(false));
        assert!(left.contains(&"c".to_owned()), "{left:?}");
    }

    #[test]
    fn a_node_that_is_lost_is_never_used() {
        let routes = routes(2, &["a", "b", "c"], &["a", "b", "d"], &["c"]);
        let lost = routes.nodes.iter().position(|n| n.name == "c").unwrap();
        assert!(!routes.touched().contains(&lost));
        for key in (0..500).map(|i| format!("key{i}").into_bytes()) {
            assert!(routes.trip(&key).is_none_or(|trip| trip.from != lost));
        }
        let (old, new) = (
            Arc::clone(routes.old.old_map().unwrap()),
            routes.new.new_map(),
        );
        let wrong = Routes::new(old, Arc::clone(new), &["x".to_owned()]);
        assert!(wrong.is_err_and(|failure| failure.line.contains("\"x\"")));
    }

    #[test]
    fn a_lost_node_that_is_to_get_copies_is_refused() {
        // as after an earlier death of d, when d is there again
        let stale = routes(2, &["a", "b", "c"], &["a", "b", "c", "d"], &["d"]);
        let failure = stale.refuse_lost_targets(7).unwrap_err();
        assert_eq!(failure.code, USAGE);
        let part = "lost names the node d, and epoch 7 places keys there";
        assert!(failure.line.starts_with(part), "{}", failure.line);
        // the controls: a node that leaves, and one that keeps what it has
        let gone = routes(2, &["a", "b", "c"], &["a", "b", "d"], &["c"]);
        gone.refuse_lost_targets(7).unwrap();
        let stays = routes(1, &["a", "b"], &["a", "b", "c"], &["b"]);
        stays.refuse_lost_targets(7).unwrap();
        let told = stays.told_lost().unwrap();
        assert!(told.contains(": b: nothing is read"), "{told}");
        assert!(
            told.ends_with("50.00 % of the keys had their copies only there, and are not copied"),
            "{told}"
        );
        let told = gone.told_lost().unwrap();
        assert!(told.ends_with("every key has another copy"), "{told}");
        let none = routes(1, &["a", "b"], &["a", "b", "c"], &[]);
        assert_eq!(none.told_lost(), None);
    }

    #[test]
    fn a_domain_can_be_lost() {
        let text = |d: &str| {
            format!(
                "name = 'm'\nnode = [{{name = 'a', labels = {{zone = '1'}}}}, \
                 {{name = 'b', labels = {{zone = '2'}}}}, {{name = 'c', labels = {{zone = '2'}}}}{d}]"
            )
        };
        let fleet = |text: &str| Fleet::parse(text, "fleet").unwrap();
        let old = build(&fleet(&text("")), None).unwrap();
        let new = build(&fleet(&text(", {name = 'd'}")), Some(&old)).unwrap();
        let routes = |lost: &str| {
            let (old, new) = (
                Map::from_bytes(old.bytes().to_vec()),
                Map::from_bytes(new.bytes().to_vec()),
            );
            Routes::new(
                Arc::new(old.unwrap()),
                Arc::new(new.unwrap()),
                &[lost.to_owned()],
            )
        };
        let told = routes("zone=2").unwrap().told_lost().unwrap();
        assert!(told.contains(": b, c: nothing"), "{told}");
        assert!(routes("zone=3").is_err());
    }
}
