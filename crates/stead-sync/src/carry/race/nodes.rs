//! The data: what each node has, and what an application must find. The carriers have it as a kind.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::baton::Baton;
use crate::carry::kind::{About, Added, Compared, Done, Holding, Item, Kind, Node, Version};

/// What an item is, and a number that no other write has.
type Value = (u32, u32);

/// All nodes by name, and their items.
#[derive(Default)]
pub struct Nodes {
    all: BTreeMap<String, BTreeMap<Vec<u8>, Value>>,
    writes: u32,
}

impl Nodes {
    /// Returns the value of a key at a node.
    pub fn get(&self, node: &str, key: &[u8]) -> Option<u32> {
        self.at(node, key).map(|(value, _)| value)
    }

    fn at(&self, node: &str, key: &[u8]) -> Option<Value> {
        self.all.get(node)?.get(key).copied()
    }

    /// Writes or deletes a key at a node, and returns the number of the write.
    pub fn put(&mut self, node: &str, key: &[u8], value: Option<u32>) -> u32 {
        self.writes += 1;
        let items = self.all.entry(node.to_owned()).or_default();
        match value {
            Some(value) => items.insert(key.to_vec(), (value, self.writes)),
            None => items.remove(key),
        };
        self.writes
    }

    /// Returns the nodes and the keys of all copies.
    pub fn copies(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.all
            .iter()
            .flat_map(|(node, items)| items.keys().map(|key| (node.as_str(), key.as_slice())))
    }
}

/// The nodes as a kind for one carrier. Before it touches a node, others may act.
pub struct Hooked {
    pub nodes: Arc<Mutex<Nodes>>,
    pub baton: Arc<Baton>,
    pub carrier: usize,
}

impl Hooked {
    fn turn(&self) -> MutexGuard<'_, Nodes> {
        self.baton.stop(self.carrier);
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn version((_, number): Value) -> Version {
    Version(number.to_le_bytes().to_vec())
}

impl Kind for Hooked {
    fn ready(&self, _: &[&Node]) -> Done {
        Ok(())
    }

    fn about(&self) -> About {
        About::default()
    }

    /// No disk is lost in these worlds, and of so few items all may be deleted.
    fn holding(&self, _: &Node, _: bool) -> Done<Holding> {
        Ok(Holding::new())
    }

    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        _: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        let mut last = after.map(<[u8]>::to_vec);
        loop {
            let nodes = self.turn();
            let found = nodes.all.get(&node.name).and_then(|items| {
                let mut keys = items.keys();
                keys.find(|key| last.as_ref().is_none_or(|last| *key > last))
                    .cloned()
            });
            drop(nodes);
            let Some(key) = found else { return Ok(()) };
            if !each(Item::of_key(key.clone())) {
                return Ok(());
            }
            last = Some(key);
        }
    }

    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>> {
        Ok(self.turn().at(&node.name, &item.key).map(version))
    }

    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added> {
        let Some(read) = self.turn().at(&from.name, &item.key) else {
            return Ok(Added::Gone);
        };
        let mut nodes = self.turn();
        if nodes.at(&to.name, &item.key).is_some() {
            return Ok(Added::Present);
        }
        let wrote = nodes.put(&to.name, &item.key, Some(read.0));
        Ok(Added::Copied {
            read: version(read),
            wrote: version((0, wrote)),
            bytes: 1,
        })
    }

    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared> {
        let a = self.turn().at(&first.name, &item.key);
        let b = self.turn().at(&second.name, &item.key);
        Ok(Compared {
            first: a.map(version),
            second: b.map(version),
            equal: a.map(|a| a.0) == b.map(|b| b.0),
        })
    }

    fn remove(&self, node: &Node, item: &Item, wanted: &Version) -> Done<bool> {
        let mut nodes = self.turn();
        if nodes.at(&node.name, &item.key).map(version).as_ref() == Some(wanted) {
            nodes.put(&node.name, &item.key, None);
        }
        Ok(nodes.at(&node.name, &item.key).is_none())
    }
}
