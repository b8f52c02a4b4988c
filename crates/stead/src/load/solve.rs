//! The search for an order, and for pins, that bring the fullest node down to a goal.
//!
//! An item is a piece or a hot key with its accesses and its list of nodes. A step gives one item
//! another list: another node first, or for a hot key another node. Each step is the one that
//! lowers the sum over all nodes of `deserved * excess^2` the most, where the excess is what a node
//! has above a level. With the goal as the level, few large steps bring the full nodes below it.
//! Where no step helps, because the nodes around a full one are at the goal as well, a lower level
//! spreads their load further away. In the end, every item that can go back without need of it
//! does.

use super::loads::Reads;

/// The most steps of a search, and the most full nodes that are looked at for one.
const STEPS: usize = 50_000;
const FULL: usize = 64;
/// The most nodes that are considered for a pin: those with the least load.
const EMPTIEST: usize = 32;

/// What may be done with an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Freedom {
    /// Another of its nodes may answer first.
    Order,
    /// It may get other nodes as well, as many as it has.
    Nodes,
    /// It may get more nodes, too.
    More,
}

/// A piece or a hot key.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// its accesses in the half of the log that is fitted
    pub load: f64,
    /// its nodes, the one that answers first in front
    pub nodes: Vec<usize>,
    pub home: Vec<usize>,
    pub freedom: Freedom,
}

impl Item {
    pub(super) fn new(load: f64, nodes: Vec<usize>, freedom: Freedom) -> Item {
        Item {
            load,
            home: nodes.clone(),
            nodes,
            freedom,
        }
    }

    /// Whether it has other nodes than before, in whatever order.
    pub(super) fn is_pinned(&self) -> bool {
        let known = |node: &usize| self.home.contains(node);
        self.nodes.len() != self.home.len() || !self.nodes.iter().all(known)
    }

    pub(super) fn is_changed(&self) -> bool {
        self.nodes != self.home
    }
}

/// Returns the nodes that answer, of a list, and which part each has.
pub(super) fn answering(reads: Reads, nodes: &[usize]) -> (&[usize], f64) {
    let nodes = match reads {
        Reads::Primary => nodes.get(..1).unwrap_or(nodes),
        Reads::Spread => nodes,
    };
    (nodes, 1.0 / nodes.len().max(1) as f64)
}

/// The items and the nodes of a map.
#[derive(Clone)]
pub(super) struct Search<'a> {
    pub reads: Reads,
    pub items: Vec<Item>,
    /// what each node deserves; 0 for one that must not get anything
    pub deserved: &'a [f64],
    /// the domains of each node, outermost first
    pub places: &'a [Vec<String>],
    /// what each node has, with what no item can change
    pub loads: Vec<f64>,
}

impl Search<'_> {
    fn over(&self, node: usize) -> f64 {
        match (self.loads.get(node), self.deserved.get(node)) {
            (Some(load), Some(deserved)) if *deserved > 0.0 => load / deserved,
            _ => 0.0,
        }
    }

    /// Returns what the fullest node has over what it deserves.
    pub(super) fn fullest(&self) -> f64 {
        (0..self.loads.len())
            .map(|node| self.over(node))
            .fold(0.0, f64::max)
    }

    /// Changes items until no node is above the goal, or no step helps. Returns whether it is
    /// reached.
    pub(super) fn run(&mut self, goal: f64) -> bool {
        let before = self.items.clone();
        let loads = self.loads.clone();
        let mut steps = STEPS;
        let mut best: Option<(f64, Vec<Item>, Vec<f64>)> = None;
        for level in [goal, (1.0 + goal) / 2.0, 1.0, 0.0] {
            self.descend(level, goal, &mut steps);
            let fullest = self.fullest();
            if best.as_ref().is_none_or(|(least, ..)| fullest < *least) {
                best = Some((fullest, self.items.clone(), self.loads.clone()));
            }
            if fullest <= goal {
                break;
            }
        }
        let (fullest, items, now) = best.unwrap_or((f64::MAX, before, loads));
        (self.items, self.loads) = (items, now);
        self.prune(goal.max(fullest));
        self.fullest() <= goal
    }

    /// Takes the best step again and again, from the fullest nodes.
    fn descend(&mut self, level: f64, goal: f64, steps: &mut usize) {
        while *steps > 0 && self.fullest() > goal {
            *steps -= 1;
            let mut full: Vec<usize> = (0..self.loads.len())
                .filter(|node| self.over(*node) > level)
                .collect();
            full.sort_by(|a, b| self.over(*b).total_cmp(&self.over(*a)));
            let best = full
                .into_iter()
                .take(FULL)
                .find_map(|node| self.best(node, level));
            match best {
                Some((item, nodes)) => self.give(item, nodes),
                None => return,
            }
        }
    }

    /// Returns the best step that takes load off a node, if any helps.
    fn best(&self, node: usize, level: f64) -> Option<(usize, Vec<usize>)> {
        let mut best: Option<(f64, usize, Vec<usize>)> = None;
        let emptiest = self.emptiest_of(self.able());
        for (number, item) in self.items.iter().enumerate() {
            let (from, part) = answering(self.reads, &item.nodes);
            if item.load <= 0.0 || !from.contains(&node) {
                continue;
            }
            // no step can gain more than taking all of it off the node
            let most = self.excess(node, 0.0, level) - self.excess(node, -item.load * part, level);
            if best.as_ref().is_some_and(|(gain, ..)| most <= *gain) {
                continue;
            }
            for nodes in self.lists(item, node, &emptiest) {
                let gain = self.gain(item, &nodes, level);
                if gain > 1e-9 && best.as_ref().is_none_or(|(most, ..)| gain > *most) {
                    best = Some((gain, number, nodes));
                }
            }
        }
        best.map(|(_, item, nodes)| (item, nodes))
    }

    fn emptiest_of(&self, mut nodes: Vec<usize>) -> Vec<usize> {
        nodes.sort_by(|a, b| self.over(*a).total_cmp(&self.over(*b)));
        nodes.truncate(EMPTIEST);
        nodes
    }

    /// Returns the lists that an item may get in one step, to take load off a node.
    fn lists(&self, item: &Item, node: usize, emptiest: &[usize]) -> Vec<Vec<usize>> {
        let mut lists = Vec::new();
        if self.reads == Reads::Primary {
            for (place, to) in item.nodes.iter().enumerate().skip(1) {
                if self
                    .deserved
                    .get(*to)
                    .is_some_and(|deserved| *deserved > 0.0)
                {
                    let mut list = item.nodes.clone();
                    list.remove(place);
                    list.insert(0, *to);
                    lists.push(list);
                }
            }
        }
        if item.freedom == Freedom::Order {
            return lists;
        }
        for to in emptiest.iter().filter(|to| !item.nodes.contains(to)) {
            // the node that goes: at the primary it is one whose place the new one can take
            let goes = match self.reads {
                Reads::Spread => Some(node).filter(|goes| self.may_take(item, *goes, *to)),
                Reads::Primary => {
                    let mut all = item.nodes.iter().rev().copied();
                    all.find(|goes| self.may_take(item, *goes, *to))
                }
            };
            if let Some(goes) = goes {
                let mut list: Vec<usize> = item.nodes.clone();
                match self.reads {
                    Reads::Spread => list
                        .iter_mut()
                        .filter(|n| **n == goes)
                        .for_each(|n| *n = *to),
                    Reads::Primary => {
                        list.retain(|n| *n != goes);
                        list.insert(0, *to);
                    }
                }
                lists.push(list);
            }
        }
        if item.freedom == Freedom::More && self.reads == Reads::Spread {
            for to in self.apart(item) {
                let mut list = item.nodes.clone();
                list.push(to);
                lists.push(list);
            }
        }
        lists
    }

    /// Returns the nodes that an item may get as one more, the emptiest first: those in the
    /// outermost domains that have the fewest of its nodes.
    fn apart(&self, item: &Item) -> Vec<usize> {
        let domain = |node: usize| self.places.get(node).and_then(|place| place.first());
        let copies = |node: &usize| {
            let same = item
                .nodes
                .iter()
                .filter(|one| domain(**one) == domain(*node));
            same.count()
        };
        let mut able = self.able();
        able.retain(|node| !item.nodes.contains(node));
        let fewest = able.iter().map(copies).min();
        able.retain(|node| Some(copies(node)) == fewest);
        self.emptiest_of(able)
    }

    /// Returns the nodes that may get load at all.
    fn able(&self) -> Vec<usize> {
        let able = |node: &usize| self.deserved.get(*node).is_some_and(|d| *d > 0.0);
        (0..self.loads.len()).filter(able).collect()
    }

    /// Whether a node may take the place of another without breaking a cap: it is in the same
    /// domains, or its outermost domain has no other node of the item.
    fn may_take(&self, item: &Item, goes: usize, to: usize) -> bool {
        let place = |node: usize| self.places.get(node).map_or(&[][..], Vec::as_slice);
        if place(goes) == place(to) {
            return true;
        }
        let others = item.nodes.iter().filter(|node| **node != goes);
        let outermost = place(to).first();
        others
            .map(|node| place(*node).first())
            .all(|other| other != outermost)
    }

    fn excess(&self, node: usize, more: f64, level: f64) -> f64 {
        let deserved = self.deserved.get(node).copied().unwrap_or(0.0);
        if deserved <= 0.0 {
            return 0.0;
        }
        let load = self.loads.get(node).copied().unwrap_or(0.0) + more;
        let excess = (load / deserved - level).max(0.0);
        deserved * excess * excess
    }

    /// Returns by how much the sum of squares falls if an item gets a list.
    fn gain(&self, item: &Item, nodes: &[usize], level: f64) -> f64 {
        let (old, old_part) = answering(self.reads, &item.nodes);
        let (new, new_part) = answering(self.reads, nodes);
        let mut gain = 0.0;
        for node in old {
            let now = if new.contains(node) { new_part } else { 0.0 };
            let more = item.load * (now - old_part);
            gain += self.excess(*node, 0.0, level) - self.excess(*node, more, level);
        }
        for node in new.iter().filter(|node| !old.contains(node)) {
            gain +=
                self.excess(*node, 0.0, level) - self.excess(*node, item.load * new_part, level);
        }
        gain
    }

    fn add(&mut self, nodes: &[usize], load: f64) {
        let (nodes, part) = answering(self.reads, nodes);
        for node in nodes {
            if let Some(sum) = self.loads.get_mut(*node) {
                *sum += load * part;
            }
        }
    }

    fn give(&mut self, number: usize, nodes: Vec<usize>) {
        let Some(item) = self.items.get_mut(number) else {
            return;
        };
        let load = item.load;
        let old = std::mem::replace(&mut item.nodes, nodes.clone());
        self.add(&old, -load);
        self.add(&nodes, load);
    }

    /// Gives items their lists back where no node gets above the goal by it: first the pinned ones,
    /// then those with the least load.
    fn prune(&mut self, goal: f64) {
        let changed = |(_, item): &(usize, &Item)| item.is_changed();
        let mut order: Vec<(bool, f64, usize)> = self
            .items
            .iter()
            .enumerate()
            .filter(changed)
            .map(|(number, item)| (!item.is_pinned(), item.load, number))
            .collect();
        order.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for (_, _, number) in order {
            let Some(item) = self.items.get(number) else {
                continue;
            };
            let (now, home) = (item.nodes.clone(), item.home.clone());
            self.give(number, home.clone());
            let above = answering(self.reads, &home)
                .0
                .iter()
                .any(|n| self.over(*n) > goal);
            if above {
                self.give(number, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_flows_over_full_neighbours_to_those_that_have_room() {
        // node 0 is too full, its neighbour 1 is full, and only 2 has room: two steps in a chain
        let places = vec![Vec::new(); 3];
        let items = (0..30).map(|i| match i {
            0..20 => Item::new(1.0, vec![0, 1], Freedom::Order),
            _ => Item::new(1.0, vec![1, 2], Freedom::Order),
        });
        let mut search = Search {
            reads: Reads::Primary,
            items: items.collect(),
            deserved: &[10.0; 3],
            places: &places,
            loads: vec![20.0, 10.0, 0.0],
        };
        // steps of single items end within one item of the goal
        assert!(search.run(1.1 + 1e-9), "{:?}", search.loads);
        assert!(
            search.loads.iter().all(|load| *load <= 11.0),
            "{:?}",
            search.loads
        );
        assert_eq!(search.loads.iter().sum::<f64>(), 30.0);
        // no item was changed that need not be: at least 9 left node 0, and 8 came to node 2
        let changed = search.items.iter().filter(|item| item.is_changed()).count();
        assert!((17..=20).contains(&changed), "{changed}");
    }

    #[test]
    fn a_pin_keeps_the_domains_apart() {
        let zone = |name: &str| vec![name.to_owned()];
        let places = [zone("a"), zone("a"), zone("b"), zone("b")];
        let mut search = Search {
            reads: Reads::Spread,
            items: vec![Item::new(10.0, vec![0, 2], Freedom::Nodes); 2],
            deserved: &[5.0; 4],
            places: &places,
            loads: vec![10.0, 0.0, 10.0, 0.0],
        };
        assert!(search.run(1.0 + 1e-9));
        for item in &search.items {
            assert_ne!(places[item.nodes[0]], places[item.nodes[1]]);
        }
        assert_eq!(search.loads, [5.0; 4]);
    }

    #[test]
    fn a_hot_key_gets_its_copies_in_different_domains() {
        let zone = |name: &str| vec![name.to_owned()];
        let places = ["a", "a", "a", "b", "b", "b", "c", "c", "c"].map(zone);
        let mut search = Search {
            reads: Reads::Spread,
            items: vec![Item::new(90.0, vec![0], Freedom::More)],
            deserved: &[22.5; 9],
            places: &places,
            // the other nodes of its own zone are the emptiest
            loads: vec![90.0, 0.0, 0.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0],
        };
        search.run(1.5);
        let nodes = &search.items[0].nodes;
        let in_zone = |name: &str| nodes.iter().filter(|n| places[**n] == [name]).count();
        let counts = ["a", "b", "c"].map(in_zone);
        assert!(nodes.len() > 1, "{nodes:?}");
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(most - least <= 1, "{nodes:?}");
    }
}
