//! A kind for tests, whose items are in memory: it counts what is asked of it, and can be told to
//! fail, or to let somebody else write at the wrong moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::kind::{About, Added, Compared, Done, Fault, Item, Kind, Moment, Node, Version};

/// The items of a node: a number for each name, which is the value and the version.
type Items = BTreeMap<Vec<u8>, u8>;

type Hook = Box<dyn FnOnce(&mut [Items]) -> bool + Send>;

/// The kind.
#[derive(Default)]
pub struct Memory {
    nodes: Mutex<Vec<Items>>,
    calls: Mutex<BTreeMap<&'static str, Vec<usize>>>,
    failing: Mutex<BTreeSet<(&'static str, Vec<u8>)>>,
    away: AtomicBool,
    hooks: Mutex<BTreeMap<&'static str, Hook>>,
    written: Mutex<BTreeMap<(usize, Vec<u8>), Moment>>,
    distorted: Mutex<BTreeSet<(usize, Vec<u8>)>>,
}

impl Memory {
    /// Makes the kind and its nodes.
    pub fn new(count: usize) -> (Memory, Vec<Node>) {
        let node = |number: usize| Node {
            number,
            name: format!("n{number}"),
            attributes: vec![],
        };
        let memory = Memory::default();
        *memory.nodes.lock().unwrap() = vec![Items::new(); count];
        (memory, (0..count).map(node).collect())
    }

    /// Writes an item.
    pub fn put(&self, node: usize, item: &Item, value: u8) {
        self.nodes.lock().unwrap()[node].insert(item.name.clone(), value);
    }

    /// Deletes an item.
    pub fn delete(&self, node: usize, item: &Item) {
        self.nodes.lock().unwrap()[node].remove(&item.name);
    }

    /// Returns the names of what a node has.
    pub fn names(&self, node: usize) -> Vec<Vec<u8>> {
        self.nodes.lock().unwrap()[node].keys().cloned().collect()
    }

    /// Says when an item of a node was written.
    pub fn write_at(&self, node: usize, item: &Item, seconds: i64) {
        let mut written = self.written.lock().unwrap();
        written.insert((node, item.name.clone()), (seconds, 0));
    }

    /// Makes a node write another value of an item than the one that is copied there.
    pub fn distort(&self, node: usize, item: &Item) {
        let mut distorted = self.distorted.lock().unwrap();
        distorted.insert((node, item.name.clone()));
    }

    /// Lets a method fail once for an item, for a reason that passes.
    pub fn fail_once(&self, what: &'static str, item: &Item) {
        let mut failing = self.failing.lock().unwrap();
        failing.insert((what, item.name.clone()));
    }

    /// Lets every method fail, for a reason that passes, until this is taken back.
    pub fn is_away(&self, is: bool) {
        self.away.store(is, Ordering::Relaxed);
    }

    /// Does something before a method is called for the first time.
    pub fn before(
        &self,
        what: &'static str,
        hook: impl FnOnce(&mut [Items]) -> bool + Send + 'static,
    ) {
        self.hooks.lock().unwrap().insert(what, Box::new(hook));
    }

    /// Returns how many items each call of a method had.
    pub fn calls(&self) -> BTreeMap<&'static str, Vec<usize>> {
        self.calls.lock().unwrap().clone()
    }

    fn all<T>(
        &self,
        what: &'static str,
        items: &[&Item],
        work: impl Fn(&mut [Items], usize) -> T,
    ) -> Vec<Done<T>> {
        let mut calls = self.calls.lock().unwrap();
        calls.entry(what).or_default().push(items.len());
        let mut nodes = self.nodes.lock().unwrap();
        if let Some(hook) = self.hooks.lock().unwrap().remove(what) {
            assert!(hook(&mut nodes), "it had no effect");
        }
        let mut failing = self.failing.lock().unwrap();
        let each = items.iter().enumerate().map(|(place, item)| {
            let is_away = self.away.load(Ordering::Relaxed);
            match failing.remove(&(what, item.name.clone())) || is_away {
                true => Err(Fault::passing("away for a moment")),
                false => Ok(work(&mut nodes, place)),
            }
        });
        each.collect()
    }
}

fn version(value: Option<&u8>) -> Option<Version> {
    value.map(|value| Version(vec![*value]))
}

impl Kind for Memory {
    fn ready(&self, _: &[&Node]) -> Done {
        Ok(())
    }

    fn about(&self) -> About {
        About::default()
    }

    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        _: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let names = self.names(node.number).into_iter();
        let mut names = names.filter(|name| after.is_none_or(|after| &name[..] > after));
        names.all(|name| each(Item::of_key(name)));
        Ok(())
    }

    fn at_once(&self, _: &Item) -> usize {
        100
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        self.version_all(node, &[item]).remove(0)
    }

    fn written(&self, node: &Node, item: &Item) -> Done<Option<Moment>> {
        let place = (node.number, item.name.clone());
        Ok(self.written.lock().unwrap().get(&place).copied())
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        self.add_all(from, to, &[item]).remove(0)
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        self.compare_all(first, second, &[item]).remove(0)
    }

    fn remove(&self, node: &Node, item: &Item, wanted: &Version) -> Done<bool> {
        self.remove_all(node, &[(item, wanted)]).remove(0)
    }

    fn version_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<Version>>> {
        self.all("version", items, |nodes, place| {
            version(nodes[node.number].get(&items[place].name))
        })
    }

    fn add_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Added>> {
        self.all("add", items, |nodes, place| {
            let name = &items[place].name;
            let Some(value) = nodes[from.number].get(name).copied() else {
                return Added::Gone;
            };
            if nodes[to.number].contains_key(name) {
                return Added::Present;
            }
            let distorted = self.distorted.lock().unwrap();
            let other = u8::from(distorted.contains(&(to.number, name.clone())));
            nodes[to.number].insert(name.clone(), value + other);
            Added::Copied {
                read: Version(vec![value]),
                wrote: Version(vec![value]),
                bytes: 1,
            }
        })
    }

    fn compare_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<Compared>> {
        self.all("compare", items, |nodes, place| {
            let name = &items[place].name;
            let (one, other) = (
                nodes[first.number].get(name),
                nodes[second.number].get(name),
            );
            Compared {
                equal: one == other,
                first: version(one),
                second: version(other),
            }
        })
    }

    fn remove_all(&self, node: &Node, items: &[(&Item, &Version)]) -> Vec<Done<bool>> {
        let names: Vec<&Item> = items.iter().map(|(item, _)| *item).collect();
        self.all("remove", &names, |nodes, place| {
            let (item, wanted) = items[place];
            let of_node = &mut nodes[node.number];
            if version(of_node.get(&item.name)).as_ref() == Some(wanted) {
                of_node.remove(&item.name);
            }
            !of_node.contains_key(&item.name)
        })
    }
}
