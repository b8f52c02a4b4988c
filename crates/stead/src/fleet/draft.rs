//! A fleet while it is read: what its entries have said so far, and the rules that need all of
//! them.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use hashbrown::hash_table::{Entry, HashTable};

use super::model::{First, Fleet, Node, Pin, Pinned, Policy};
use super::pin;
use super::reader::{missing, At, Reader, Source};
use super::rules::{Guard, Names};
use super::secret::{self, Secrets};
use super::tree::KeyedTree;
use super::unknown::TOP_KEYS;
use crate::error::Result;
use crate::hash::KeyRule;
use crate::name::NAME_MAX;
use crate::policy::{NODES_MAX, REPLICAS_MAX};
use crate::tolerance::Tolerance;

const MOST_POLICIES: usize = 65_536;
const MOST_PINS: usize = 1_000_000;

/// A fleet while it is read.
///
/// The entries come one after the other, and the tables of a list in any number of parts. Each part
/// is checked when it comes; names that may be given later are checked at the end.
pub(super) struct Draft<'a> {
    reader: Reader<'a>,
    start: usize,
    named: bool,
    name: Option<String>,
    replicas: At<u32>,
    spread: Vec<String>,
    secrets: Secrets,
    key_rule: Option<KeyRule>,
    max_slices: Option<u64>,
    max_slices_line: usize,
    tolerance: Option<Tolerance>,
    guard: Guard,
    nodes: Vec<Node>,
    policies: Vec<Policy>,
    pins: Vec<Pin>,
    firsts: Vec<First>,
    pin_keys: Keys,
    first_keys: Keys,
    names: Names,
    /// where each node begins
    places: Vec<u32>,
    /// former names, each with the present one
    renamed: Vec<(At<String>, String)>,
    /// where the first weight of a policy is
    policy_weight: Option<usize>,
}

/// The keys of the pins or firsts that were read, so that a text that repeats them is read no
/// further. What else must not overlap is seen when all of them are laid.
#[derive(Default)]
struct Keys {
    /// the index of each pin or first by key
    indices: HashTable<u32>,
    state: RandomState,
}

impl Keys {
    /// Takes what the pin or first `next` covers; `of` returns what an earlier one covers. Returns
    /// the earlier one that has the same key.
    fn earlier<'b>(
        &mut self,
        next: usize,
        what: &'b Pinned,
        of: impl Fn(usize) -> &'b Pinned,
    ) -> Option<usize> {
        let Pinned::Key(_) = what else {
            return None;
        };
        let hash = |what: &Pinned| match what {
            Pinned::Key(key) => self.state.hash_one(key),
            Pinned::Range { .. } => 0, // none is in the table
        };
        match self.indices.entry(
            hash(what),
            |n| of(*n as usize) == what,
            |n| hash(of(*n as usize)),
        ) {
            Entry::Occupied(earlier) => Some(*earlier.get() as usize),
            Entry::Vacant(entry) => {
                entry.insert(next as u32); // at most MOST_PINS
                None
            }
        }
    }
}

impl<'a> Draft<'a> {
    /// Begins a fleet whose text starts at this byte.
    pub(super) fn new(source: &'a Source<'a>, start: usize) -> Draft<'a> {
        Draft {
            reader: Reader::new(source),
            start,
            named: false,
            name: None,
            replicas: At { at: start, it: 1 },
            spread: Vec::new(),
            secrets: Secrets::default(),
            key_rule: None,
            max_slices: None,
            max_slices_line: 0,
            tolerance: None,
            guard: Guard::default(),
            nodes: Vec::new(),
            policies: Vec::new(),
            pins: Vec::new(),
            firsts: Vec::new(),
            pin_keys: Keys::default(),
            first_keys: Keys::default(),
            names: Names::default(),
            places: Vec::new(),
            renamed: Vec::new(),
            policy_weight: None,
        }
    }

    /// Applies the rules to an entry of the fleet, or to a part of it: some tables of a list.
    /// Returns whether no mistake was found so far.
    pub(super) fn take(&mut self, entry: KeyedTree) -> bool {
        let KeyedTree { key, at, tree } = entry;
        let reader = &mut self.reader;
        match key.as_str() {
            "name" => {
                self.named = true;
                self.name = reader.text("name", tree, 1, NAME_MAX).map(|name| name.it);
            }
            "replicas" => {
                let number = reader
                    .integer("replicas", &tree, 1, u64::from(REPLICAS_MAX))
                    .and_then(|number| u32::try_from(number).ok());
                self.replicas = At {
                    at: tree.at,
                    it: number.unwrap_or(1),
                };
            }
            "spread" => self.spread = reader.spread(tree),
            "hash" | "secret" | "secret_file" => {
                let text = reader.any_text(&key, tree);
                self.secrets.broken |= text.is_none();
                match key.as_str() {
                    "hash" => self.secrets.hash = text,
                    "secret" => self.secrets.secret = text,
                    _ => self.secrets.secret_file = text,
                }
            }
            "key" => self.key_rule = reader.key_rule(tree),
            "max_slices" => {
                self.max_slices = reader.integer("max_slices", &tree, 1, u64::from(u32::MAX));
                self.max_slices_line = reader.line(tree.at);
            }
            "tolerance" => self.tolerance = reader.tolerance(tree),
            "guard" => self.guard = reader.guard(tree),
            "node" => {
                let tables = reader.tables("node", tree, self.nodes.len(), NODES_MAX);
                tables.into_iter().for_each(|table| self.node(table));
            }
            "policy" => {
                let tables = reader.tables("policy", tree, self.policies.len(), MOST_POLICIES);
                tables.into_iter().for_each(|table| self.policy(table));
            }
            "pin" => {
                for table in reader.tables("pin", tree, self.pins.len(), MOST_PINS) {
                    let at = table.at;
                    if let Some(pin) = reader.pin(table, &mut self.names) {
                        let (pins, what) = (&self.pins, &pin.what);
                        let earlier = self.pin_keys.earlier(pins.len(), what, |n| &pins[n].what);
                        if let Some(n) = earlier {
                            reader.wrong::<()>(at, || pin::overlap("pin", pins[n].line, ""));
                        }
                        self.pins.push(pin);
                    }
                }
            }
            "first" => {
                for table in reader.tables("first", tree, self.firsts.len(), MOST_PINS) {
                    let at = table.at;
                    if let Some(first) = reader.first(table, &mut self.names) {
                        let (firsts, what) = (&self.firsts, &first.what);
                        let keys = &mut self.first_keys;
                        let earlier = keys.earlier(firsts.len(), what, |n| &firsts[n].what);
                        if let Some(n) = earlier {
                            reader.wrong::<()>(at, || pin::overlap("first", firsts[n].line, ""));
                        }
                        self.firsts.push(first);
                    }
                }
            }
            _ => reader.unknown(&key, at, "the fleet", &TOP_KEYS),
        }
        self.reader.clean()
    }

    fn node(&mut self, table: At<Vec<KeyedTree>>) {
        let at = table.at;
        let Some((name, formerly, mut node)) = self.reader.node(table) else {
            return;
        };
        self.reader.unique("node", &name, &mut self.names.nodes);
        if let Some(formerly) = formerly {
            node.formerly = Some(formerly.it.clone());
            self.renamed.push((formerly, name.it.clone()));
        }
        node.name = name.it;
        self.nodes.push(node);
        self.places.push(at as u32); // a text has at most 64 MiB
    }

    fn policy(&mut self, table: At<Vec<KeyedTree>>) {
        let (names, weight) = (&mut self.names, &mut self.policy_weight);
        if let Some((name, mut policy)) = self.reader.policy(table, names, weight) {
            self.reader.unique("policy", &name, &mut names.policies);
            policy.name = name.it;
            self.policies.push(policy);
        }
    }

    /// Ends the reading: returns the fleet, after the rules that need all of its entries.
    ///
    /// Fails with the first mistake of what was read. `whole` says whether all entries were taken.
    /// If not, one of them had a mistake, and nothing is said of names that may have come later.
    pub(super) fn finish(self, whole: bool) -> Result<Fleet> {
        let mut reader = self.reader;
        if !whole {
            return reader.finish(None);
        }
        if !self.named {
            reader.lacks(self.start, || missing("name", "the fleet"));
        }
        let hash = secret::hash(&mut reader, self.secrets);
        let (mut nodes, mut policies) = (self.nodes, self.policies);
        let (mut pins, mut firsts) = (self.pins, self.firsts);
        for (node, at) in nodes.iter().zip(self.places) {
            reader.has_spread(node, at as usize, &self.spread);
        }
        reader.check_formerly(self.renamed, &self.names.nodes);
        reader.check_names(&self.names);
        if let Some(at) = self.policy_weight.filter(|_| self.replicas.it > 1) {
            let replicas = self.replicas.it;
            reader.wrong::<()>(at, || {
                format!(
                    "a policy can have a weight only with replicas = 1, but replicas is \
                     {replicas}; remove the weight"
                )
            });
        }
        drop(self.names);
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        policies.sort_by(|a, b| a.name.cmp(&b.name));
        pins.sort_by(|a, b| a.what.cmp(&b.what));
        firsts.sort_by(|a, b| a.what.cmp(&b.what));
        if reader.clean() {
            reader.some_weight(self.start, &nodes, &policies);
            reader.enough_nodes(&self.replicas, &nodes, self.spread.len());
        }
        let file = reader.source.file.to_owned();
        let fleet = self.name.map(|name| Fleet {
            name,
            replicas: self.replicas.it,
            spread: self.spread,
            hash,
            key_rule: self.key_rule,
            max_slices: self.max_slices.and_then(|n| u32::try_from(n).ok()),
            max_slices_line: self.max_slices_line,
            tolerance: self.tolerance,
            move_limit: self.guard.move_limit,
            carry: self.guard.carry,
            first_map: self.guard.first_map.unwrap_or(true),
            first_map_line: self.guard.first_map_line,
            nodes,
            policies,
            pins,
            firsts,
            file,
        });
        reader.finish(fleet)
    }
}
