//! The rules of docs/fleet.md, one after the other, from the tree to a `Fleet`.
//!
//! The reader does not stop at a mistake: it continues, and keeps the mistake that comes first in
//! the text. Some rules need the whole text (a policy's nodes, a pin's policy, `formerly`). They
//! are checked at the end, but their mistakes are still reported at their place.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::effort;
use super::model::{First, Fleet, Node, Pin, PinTo, Pinned, Policy};
use super::percent;
use super::reader::{At, Reader, Source, TOP_KEYS};
use super::secret::{self, Secrets};
use super::tree::{shown, KeyedTree, Tree, TreeValue};
use crate::error::Result;
use crate::hash::KeyRule;
use crate::name::{NAME_MAX, SPREAD_MAX, TEXT_MAX};
use crate::point::{Point, Share};
use crate::policy::{NODES_MAX, REPLICAS_MAX};
use crate::tolerance::Tolerance;
use crate::weight::Weight;

const NODE_KEYS: [&str; 5] = ["name", "weight", "labels", "attributes", "formerly"];
const POLICY_KEYS: [&str; 4] = ["name", "kind", "nodes", "weight"];
const PIN_KEYS: [&str; 5] = ["key", "range", "policy", "nodes", "short"];

const FIRST_KEYS: [&str; 3] = ["key", "range", "node"];

const MOST_POLICIES: usize = 65_536;
const MOST_PINS: usize = 1_000_000;

/// Applies every rule to the tree.
pub(super) fn fleet(tree: Tree, source: &Source) -> Result<Fleet> {
    let mut reader = Reader::new(source);
    let fleet = reader.fleet(tree);
    reader.finish(fleet)
}

/// The rules, table by table.
impl Reader<'_> {
    fn fleet(&mut self, tree: Tree) -> Option<Fleet> {
        let start = tree.at;
        let TreeValue::Table(entries) = tree.value else {
            return self.wrong(start, || "a fleet is a table".to_owned());
        };
        let (mut name, mut replicas) = (None, At { at: tree.at, it: 1 });
        let (mut max_slices, mut max_slices_line) = (None, 0);
        let mut spread = Vec::new();
        let mut secrets = Secrets::default();
        let (mut key_rule, mut tolerance, mut move_limit) = (None, None, None);
        let (mut nodes, mut policies, mut pins) = (Vec::new(), Vec::new(), Vec::new());
        let mut firsts = Vec::new();
        let mut named = false;
        for KeyedTree { key, at, tree } in entries {
            match key.as_str() {
                "name" => {
                    named = true;
                    name = self.text("name", tree, 1, NAME_MAX).map(|name| name.it);
                }
                "replicas" => {
                    let number = self
                        .integer("replicas", &tree, 1, u64::from(REPLICAS_MAX))
                        .and_then(|number| u32::try_from(number).ok());
                    replicas = At {
                        at: tree.at,
                        it: number.unwrap_or(1),
                    };
                }
                "spread" => spread = self.spread(tree),
                "hash" | "secret" | "secret_file" => {
                    let text = self.any_text(&key, tree);
                    secrets.broken |= text.is_none();
                    match key.as_str() {
                        "hash" => secrets.hash = text,
                        "secret" => secrets.secret = text,
                        _ => secrets.secret_file = text,
                    }
                }
                "key" => key_rule = self.key_rule(tree),
                "max_slices" => {
                    max_slices = self.integer("max_slices", &tree, 1, u64::from(u32::MAX));
                    max_slices_line = self.line(tree.at);
                }
                "tolerance" => tolerance = self.tolerance(tree),
                "guard" => move_limit = self.guard(tree),
                "node" => nodes = self.tables("node", tree, NODES_MAX),
                "policy" => policies = self.tables("policy", tree, MOST_POLICIES),
                "pin" => pins = self.tables("pin", tree, MOST_PINS),
                "first" => firsts = self.tables("first", tree, MOST_PINS),
                _ => self.unknown(&key, at, "the fleet", &TOP_KEYS),
            }
        }
        if !named {
            self.missing(start, "name", "the fleet");
        }
        let hash = secret::hash(self, secrets);
        let nodes = self.nodes(nodes, &spread);
        let policies = self.policies(policies, &nodes, replicas.it);
        let pins = self.pins(pins, &nodes, &policies);
        let firsts = self.firsts(firsts, &nodes);
        if self.clean() {
            self.some_weight(start, &nodes, &policies);
            self.enough_nodes(&replicas, &nodes, spread.len());
        }
        Some(Fleet {
            name: name?,
            replicas: replicas.it,
            spread,
            hash,
            key_rule,
            max_slices: max_slices.and_then(|n| u32::try_from(n).ok()),
            max_slices_line,
            tolerance,
            move_limit,
            nodes,
            policies,
            pins,
            firsts,
            file: self.source.file.to_owned(),
        })
    }

    /// Returns which part of a key is hashed.
    fn key_rule(&mut self, tree: Tree) -> Option<KeyRule> {
        let text = self.any_text("key", tree)?;
        KeyRule::parse(&text.it).or_else(|| {
            self.wrong(text.at, || {
                let text = shown(&text.it);
                format!(
                    "key is `{text}`, which is not a key rule; write whole, or first N segments \
                     with N from 1 to 255"
                )
            })
        })
    }

    /// Returns how far shares may be from their targets.
    fn tolerance(&mut self, tree: Tree) -> Option<Tolerance> {
        let text = self.any_text("tolerance", tree)?;
        match Tolerance::parse(&text.it) {
            Ok(tolerance) => Some(tolerance),
            Err(why) => self.wrong(text.at, || {
                format!("tolerance \"{}\" {why}", shown(&text.it))
            }),
        }
    }

    /// Returns how much one publish may move.
    fn guard(&mut self, tree: Tree) -> Option<Share> {
        let (at, json) = (tree.at, self.source.json);
        let TreeValue::Table(entries) = tree.value else {
            return self.wrong(at, || {
                let example = if json {
                    "{\"move\": \"20%\"}"
                } else {
                    "[guard] and below it move = \"20%\""
                };
                format!("guard is not a table; write {example}")
            });
        };
        let mut limit = None;
        for KeyedTree { key, at, tree } in entries {
            if key == "move" {
                limit = self.percentage_of("move", tree).map(Share);
            } else {
                let place = if json { "`guard`" } else { "[guard]" };
                self.unknown(&key, at, place, &["move"]);
            }
        }
        limit
    }

    /// Returns the labels over which copies are kept apart, outermost first.
    fn spread(&mut self, tree: Tree) -> Vec<String> {
        let Some(labels) = self.array("spread", tree, "label names") else {
            return Vec::new();
        };
        let mut spread: Vec<String> = Vec::with_capacity(labels.len());
        let mut seen = HashSet::new();
        for label in labels {
            let at = label.at;
            let Some(label) = self.text("a label of spread", label, 1, TEXT_MAX) else {
                continue;
            };
            if spread.len() == SPREAD_MAX {
                self.wrong::<()>(at, || {
                    format!("spread names more than {SPREAD_MAX} labels; name fewer")
                });
                break;
            }
            if !seen.insert(label.it.clone()) {
                self.wrong::<()>(at, || {
                    format!(
                        "label `{}` is listed twice in spread; keep one",
                        shown(&label.it)
                    )
                });
            }
            spread.push(label.it);
        }
        spread
    }

    fn nodes(&mut self, tables: Vec<At<Vec<KeyedTree>>>, spread: &[String]) -> Vec<Node> {
        let mut nodes = Vec::with_capacity(tables.len());
        let mut lines: HashMap<String, usize> = HashMap::with_capacity(tables.len());
        let mut renamed = Vec::new();
        for table in tables {
            let (mut name, mut formerly, mut named) = (None, None, false);
            let mut node = Node {
                name: String::new(),
                weight: Weight::ONE,
                labels: BTreeMap::new(),
                attributes: BTreeMap::new(),
                formerly: None,
                line: self.line(table.at),
            };
            for KeyedTree { key, at, tree } in table.it {
                match key.as_str() {
                    "name" => {
                        named = true;
                        name = self.node_name("node name", tree);
                    }
                    "weight" => node.weight = self.weight(&tree).unwrap_or(Weight::ONE),
                    "labels" => node.labels = self.texts("labels", "label", tree, 1),
                    "attributes" => {
                        node.attributes = self.texts("attributes", "attribute", tree, 0)
                    }
                    "formerly" => formerly = self.node_name("formerly", tree),
                    _ => self.unknown_in(&key, at, "node", &NODE_KEYS),
                }
            }
            if !named {
                self.missing_in(table.at, "name", "node");
            }
            let Some(name) = name else { continue };
            let missing = spread
                .iter()
                .find(|label| node.weight > Weight::ZERO && !node.labels.contains_key(*label));
            if let Some(label) = missing {
                self.wrong::<()>(table.at, || {
                    let (node, label) = (shown(&name.it), shown(label));
                    format!(
                        "node `{node}` has no label `{label}`, which spread names; add it to \
                        its labels, or give it weight 0"
                    )
                });
            }
            self.unique("node", &name, &mut lines);
            if let Some(formerly) = formerly {
                node.formerly = Some(formerly.it.clone());
                renamed.push((formerly, name.it.clone()));
            }
            node.name = name.it;
            nodes.push(node);
        }
        self.check_formerly(renamed, &lines);
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        nodes
    }

    /// Checks the former names. `renamed` has each former name with the present one.
    fn check_formerly(
        &mut self,
        renamed: Vec<(At<String>, String)>,
        lines: &HashMap<String, usize>,
    ) {
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(renamed.len());
        for (formerly, name) in renamed {
            let At { at, it: formerly } = formerly;
            if let Some(line) = lines.get(&formerly).filter(|_| formerly != name) {
                let line = *line;
                self.wrong::<()>(at, || {
                    let formerly = shown(&formerly);
                    format!(
                        "formerly `{formerly}` is the name of the node in line {line}; rename \
                        that node, or drop formerly"
                    )
                });
            }
            let line = self.line(at);
            if let Some(before) = seen.get(&formerly).copied() {
                self.wrong::<()>(at, || {
                    let formerly = shown(&formerly);
                    format!(
                        "formerly `{formerly}` is already used in line {before}; only one node can \
                         have had this name"
                    )
                });
            }
            seen.entry(formerly).or_insert(line);
        }
    }

    fn policies(
        &mut self,
        tables: Vec<At<Vec<KeyedTree>>>,
        nodes: &[Node],
        replicas: u32,
    ) -> Vec<Policy> {
        let mut policies = Vec::with_capacity(tables.len());
        let mut lines = HashMap::with_capacity(tables.len());
        let known: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        for table in tables {
            let (mut name, mut has_name, mut has_nodes) = (None, false, false);
            let mut policy = Policy {
                name: String::new(),
                kind: String::new(),
                weight: None,
                nodes: Vec::new(),
                line: self.line(table.at),
            };
            for KeyedTree { key, at, tree } in table.it {
                match key.as_str() {
                    "name" => {
                        has_name = true;
                        name = self.node_name("policy name", tree);
                    }
                    "kind" => {
                        policy.kind = self
                            .text("kind", tree, 0, NAME_MAX)
                            .map_or_else(String::new, |kind| kind.it)
                    }
                    "nodes" => {
                        has_nodes = true;
                        policy.nodes = self.node_list(tree, &known);
                    }
                    "weight" => {
                        policy.weight = self.weight(&tree);
                        if replicas > 1 {
                            self.wrong::<()>(at, || {
                                format!(
                                    "a policy can have a weight only with replicas = 1, but \
                                     replicas is {replicas}; remove the weight"
                                )
                            });
                        }
                    }
                    _ => self.unknown_in(&key, at, "policy", &POLICY_KEYS),
                }
            }
            if !has_name {
                self.missing_in(table.at, "name", "policy");
            }
            if !has_nodes {
                self.missing_in(table.at, "nodes", "policy");
            }
            let Some(name) = name else { continue };
            self.unique("policy", &name, &mut lines);
            policy.name = name.it;
            policies.push(policy);
        }
        policies.sort_by(|a: &Policy, b| a.name.cmp(&b.name));
        policies
    }

    fn pins(
        &mut self,
        tables: Vec<At<Vec<KeyedTree>>>,
        nodes: &[Node],
        policies: &[Policy],
    ) -> Vec<Pin> {
        let mut pins = Vec::with_capacity(tables.len());
        let known: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let policies: HashSet<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        for table in tables {
            let (mut what, mut to, mut short) = (None, None, false);
            // "key" excludes "range", and "policy" excludes "nodes": the one that came first
            let (mut what_key, mut to_key): (Option<String>, Option<String>) = (None, None);
            for KeyedTree { key, at, tree } in table.it {
                let seen = match key.as_str() {
                    "key" | "range" => &mut what_key,
                    "policy" | "nodes" => &mut to_key,
                    "short" => {
                        short = self.boolean("short", &tree).unwrap_or(false);
                        continue;
                    }
                    _ => {
                        self.unknown_in(&key, at, "pin", &PIN_KEYS);
                        continue;
                    }
                };
                if let Some(first) = seen {
                    self.wrong::<()>(at, || {
                        format!("a pin has either `{first}` or `{key}`; remove one of them")
                    });
                }
                match key.as_str() {
                    "key" => {
                        what = self
                            .any_text("key", tree)
                            .map(|key| Pinned::Key(key.it.into_bytes()))
                    }
                    "range" => what = self.range(tree),
                    "policy" => to = self.policy_of_pin(tree, &policies),
                    _ => to = Some(PinTo::Nodes(self.node_list(tree, &known))),
                }
                seen.get_or_insert(key);
            }
            if what_key.is_none() {
                self.wrong::<()>(table.at, || {
                    "a pin needs `key` or `range`; add one of them".to_owned()
                });
            }
            if to_key.is_none() {
                self.wrong::<()>(table.at, || {
                    "a pin needs `policy` or `nodes`; add one of them".to_owned()
                });
            }
            if let (Some(what), Some(to)) = (what, to) {
                pins.push(Pin {
                    what,
                    to,
                    short,
                    line: self.line(table.at),
                });
            }
        }
        pins.sort_by(|a: &Pin, b| a.what.cmp(&b.what));
        pins
    }

    fn firsts(&mut self, tables: Vec<At<Vec<KeyedTree>>>, nodes: &[Node]) -> Vec<First> {
        let mut firsts = Vec::with_capacity(tables.len());
        let known: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        for table in tables {
            let (mut what, mut node, mut has_node) = (None, None, false);
            let mut what_key: Option<String> = None;
            for KeyedTree { key, at, tree } in table.it {
                match key.as_str() {
                    "key" | "range" => {
                        if let Some(first) = &what_key {
                            self.wrong::<()>(at, || {
                                format!(
                                    "a first has either `{first}` or `{key}`; remove one of them"
                                )
                            });
                        }
                        what = match key.as_str() {
                            "range" => self.range(tree),
                            _ => {
                                let text = self.any_text("key", tree);
                                text.map(|key| Pinned::Key(key.it.into_bytes()))
                            }
                        };
                        what_key.get_or_insert(key);
                    }
                    "node" => {
                        has_node = true;
                        node = self.known_node("node", tree, &known);
                    }
                    _ => self.unknown_in(&key, at, "first", &FIRST_KEYS),
                }
            }
            if what_key.is_none() {
                self.wrong::<()>(table.at, || {
                    "a first needs `key` or `range`; add one of them".to_owned()
                });
            }
            if !has_node {
                self.missing_in(table.at, "node", "first");
            }
            if let (Some(what), Some(node)) = (what, node) {
                firsts.push(First {
                    what,
                    node: node.it,
                    line: self.line(table.at),
                });
            }
        }
        firsts.sort_by(|a: &First, b| a.what.cmp(&b.what));
        firsts
    }

    /// Returns the name of a node, which must be in the fleet; it is returned even if it is not.
    fn known_node(&mut self, what: &str, tree: Tree, known: &HashSet<&str>) -> Option<At<String>> {
        let name = self.any_text(what, tree)?;
        if !known.contains(name.it.as_str()) {
            let table = self.table_name("node");
            self.wrong::<()>(name.at, || {
                format!(
                    "node `{}` is not in this fleet; add it as a {table}, or name another",
                    shown(&name.it)
                )
            });
        }
        Some(name)
    }

    fn policy_of_pin(&mut self, tree: Tree, policies: &HashSet<&str>) -> Option<PinTo> {
        let policy = self.any_text("policy", tree)?;
        if !policies.contains(policy.it.as_str()) {
            let policy_table = self.table_name("policy");
            return self.wrong(policy.at, || {
                format!(
                    "policy `{}` is not in this fleet; add it as a {policy_table}, or name another",
                    shown(&policy.it)
                )
            });
        }
        Some(PinTo::Policy(policy.it))
    }

    fn range(&mut self, tree: Tree) -> Option<Pinned> {
        let at = tree.at;
        let bounds = self.array("range", tree, "two percentages")?;
        let Ok([first, end]) = <[Tree; 2]>::try_from(bounds) else {
            return self.wrong(at, || {
                "range must hold two percentages; write it like [\"6%\", \"6.5%\"]".to_owned()
            });
        };
        let (first, end) = (self.percentage(first), self.percentage(end));
        let (first, end) = (first?, end?);
        match u64::try_from(first) {
            Ok(first) if u128::from(first) < end => Some(Pinned::Range { first: Point(first), end }),
            _ => self.wrong(at, || {
                "the first percentage of range must be at least one point (2^64 points are 100%) below the second; \
                 swap or widen them"
                    .to_owned()
            }),
        }
    }

    fn percentage(&mut self, tree: Tree) -> Option<u128> {
        self.percentage_of("a percentage of range", tree)
    }

    fn percentage_of(&mut self, what: &str, tree: Tree) -> Option<u128> {
        let text = self.any_text(what, tree)?;
        match percent::point(&text.it) {
            Ok(point) => Some(point),
            Err(why) => self.wrong(text.at, || {
                format!("percentage \"{}\" {why}", shown(&text.it))
            }),
        }
    }

    /// Returns a list of nodes: at least one, all in the fleet, none twice.
    fn node_list(&mut self, tree: Tree, known: &HashSet<&str>) -> Vec<String> {
        let at = tree.at;
        let Some(items) = self.array("nodes", tree, "node names") else {
            return Vec::new();
        };
        if items.is_empty() {
            self.wrong::<()>(at, || {
                "nodes is empty; name at least one node, the primary first".to_owned()
            });
        }
        let mut seen = HashSet::with_capacity(items.len());
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            let Some(At { at, it: name }) = self.known_node("a name in nodes", item, known) else {
                continue;
            };
            if !seen.insert(name.clone()) {
                self.wrong::<()>(at, || {
                    format!("node `{}` is listed twice in nodes; keep one", shown(&name))
                });
            }
            names.push(name);
        }
        names
    }

    fn some_weight(&mut self, start: usize, nodes: &[Node], policies: &[Policy]) {
        let table = self.table_name("node");
        if nodes.is_empty() {
            self.wrong::<()>(start, || {
                format!("the fleet has no node; add a {table} with a name")
            });
        }
        let weights = nodes
            .iter()
            .map(|node| node.weight)
            .chain(policies.iter().filter_map(|policy| policy.weight));
        if weights.max().is_none_or(|weight| weight == Weight::ZERO) {
            self.wrong::<()>(start, || {
                "no node or policy has a weight above 0; give at least one a weight".to_owned()
            });
        }
    }

    /// Checks that there are enough nodes with a weight for `replicas` copies, and not too many.
    fn enough_nodes(&mut self, replicas: &At<u32>, nodes: &[Node], labels: usize) {
        let holding = nodes
            .iter()
            .filter(|node| node.weight > Weight::ZERO)
            .count();
        let wanted = replicas.it as usize;
        if wanted > 1 && holding < wanted {
            let there = if holding == 1 { "is" } else { "are" };
            self.wrong::<()>(replicas.at, || {
                format!(
                    "replicas = {wanted} needs {wanted} nodes with a weight above 0, and there \
                     {there} {holding}; add {}, or set replicas = {}",
                    wanted - holding,
                    holding.max(1)
                )
            });
        }
        let effort = effort::effort(holding, wanted, labels);
        if effort > effort::MOST {
            let most = effort::most_copies(holding, labels);
            self.wrong::<()>(replicas.at, || {
                format!(
                    "replicas = {wanted} is too many for {holding} nodes and {labels} labels of \
                     spread: the effort of a rebalance is {effort} and may be at most {}; set \
                     replicas = {most} or less, or name fewer labels or nodes",
                    effort::MOST
                )
            });
        }
    }
}
