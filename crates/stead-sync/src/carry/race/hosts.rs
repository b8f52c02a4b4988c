//! Hosts and what runs on them: reads and writes that take their steps one by one.

use std::path::Path;

use stead::format::hex;
use stead::store::{Accept, KEEP};
use stead::{Map, Pair, Store};

use super::nodes::Nodes;
use super::Random;
use crate::directory::Directory;
use crate::hub::Shared;
use crate::pull::pull;
use crate::report::Report;

/// How many operations of a host run at once.
const RUNNING: usize = 3;

/// A key as its writers know it. Its writes do not overlap.
pub struct Key {
    /// What the last write that has ended has left.
    value: Option<u32>,
    /// The write under way.
    writing: Option<Option<u32>>,
}

impl Key {
    /// Returns a key that was written before.
    pub fn of(value: Option<u32>) -> Key {
        Key {
            value,
            writing: None,
        }
    }
}

/// What applications did, and what they found wrong.
#[derive(Default, Debug)]
pub struct Found {
    pub reads: u64,
    pub writes: u64,
    pub wrong: Vec<String>,
}

enum What {
    Read,
    Write(Option<u32>),
}

/// An operation under way, with the maps that it began with.
struct Operation {
    epoch: u64,
    key: usize,
    what: What,
    /// the nodes that are left
    nodes: Vec<String>,
    /// the maps, for messages
    told: String,
}

/// A host.
pub struct Host {
    name: String,
    store: Store,
    running: Vec<Operation>,
}

/// Returns the name of a key.
pub fn key(number: usize) -> Vec<u8> {
    format!("k{number}").into_bytes()
}

impl Host {
    pub fn new(name: &str, directory: &Path) -> Host {
        std::fs::create_dir(directory).unwrap();
        Host {
            name: name.to_owned(),
            store: Store::new(directory.join("m"), KEEP),
            running: Vec::new(),
        }
    }

    /// Installs what the hub has. It is an error when it is not in the line of the map here.
    pub fn pull(&self, hub: &Directory, accept: Accept) {
        pull(hub, &self.store, KEEP, accept).unwrap_or_else(|e| panic!("{e:?}"));
    }

    /// Reports the epoch that it has, once all that began under an older one has ended.
    pub fn report(&self, hub: &Directory, drained: bool) {
        let Some(map) = self.store.current().unwrap() else {
            return;
        };
        if drained && self.running.iter().any(|one| one.epoch < map.epoch()) {
            return;
        }
        let mut report = Report::new(&self.name, &self.name, None);
        report.epoch = map.epoch();
        report.installed = map.epoch();
        report.digest = hex(&map.digest());
        hub.report(&report, false).unwrap();
    }

    /// Begins an operation on a key.
    pub fn begin(&mut self, keys: &mut [Key], random: &mut Random) {
        if self.running.len() == RUNNING {
            return;
        }
        let pair = Pair::open(self.store.path()).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let number = random.below(keys.len());
        let bytes = key(number);
        let names = |nodes: stead::pair::Nodes| -> Vec<String> {
            nodes.map(|node| pair.name(node).to_owned()).collect()
        };
        let is_free = keys[number].writing.is_none();
        let (what, mut nodes) = match random.below(4) {
            0 if is_free => (What::Write(None), names(pair.writes(&bytes))),
            1 if is_free => {
                let value = random.below(1 << 30) as u32;
                (What::Write(Some(value)), names(pair.writes(&bytes)))
            }
            _ => (What::Read, names(pair.reads(&bytes))),
        };
        if let What::Write(value) = what {
            keys[number].writing = Some(value);
        } else {
            nodes.truncate(1); // which answers
        }
        let told = match pair.state() {
            Some(state) => format!("epoch {}, {}", pair.new_map().epoch(), state.word()),
            None => format!("epoch {}", pair.new_map().epoch()),
        };
        self.running.push(Operation {
            epoch: pair.new_map().epoch(),
            key: number,
            what,
            nodes,
            told,
        });
    }

    /// Takes a step of an operation.
    pub fn step(
        &mut self,
        nodes: &mut Nodes,
        keys: &mut [Key],
        found: &mut Found,
        random: &mut Random,
    ) {
        if self.running.is_empty() {
            return;
        }
        let at = random.below(self.running.len());
        let one = &mut self.running[at];
        let (bytes, node) = (key(one.key), one.nodes.remove(0));
        let state = &mut keys[one.key];
        match one.what {
            What::Read => {
                found.reads += 1;
                let has = nodes.get(&node, &bytes);
                if has != state.value && Some(has) != state.writing {
                    found.wrong.push(format!(
                        "{} reads k{} at {node} ({}): {has:?} instead of {:?} ({:?})",
                        self.name, one.key, one.told, state.value, state.writing
                    ));
                }
            }
            What::Write(value) => {
                nodes.put(&node, &bytes, value);
                if one.nodes.is_empty() {
                    found.writes += 1;
                    *state = Key::of(value);
                }
            }
        }
        if one.nodes.is_empty() {
            self.running.remove(at);
        }
    }

    /// Whether nothing runs here, and the host has this map.
    pub fn is_quiet(&self, map: &Map) -> bool {
        let here = self.store.current().unwrap();
        self.running.is_empty() && here.is_some_and(|here| here.digest() == map.digest())
    }
}

/// Compares every copy of every key with what it must be, where a map places it.
pub fn judge(map: &Map, nodes: &Nodes, keys: &[Key], found: &mut Found) {
    let mut places = Vec::new();
    for (number, state) in keys.iter().enumerate() {
        let bytes = key(number);
        for node in map.locate_all(&bytes) {
            let node = map.node(node).name().to_owned();
            let has = nodes.get(&node, &bytes);
            if has != state.value {
                found.wrong.push(format!(
                    "at the end {node} has {has:?} of k{number} instead of {:?}",
                    state.value
                ));
            }
            places.push((node, bytes.clone()));
        }
    }
    for (node, key) in nodes.copies() {
        let is_placed = |(place, bytes): &(String, Vec<u8>)| place == node && bytes == key;
        if !places.iter().any(is_placed) {
            let key = String::from_utf8_lossy(key);
            found
                .wrong
                .push(format!("at the end {node} still has {key}"));
        }
    }
}
