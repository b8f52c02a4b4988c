//! The rules of docs/fleet.md, table by table: from trees to the parts of a `Fleet`.
//!
//! After a mistake, the rules go on with the rest of what the parser gave them, and keep the
//! mistake that comes first in the text. A small text is read to its end; of a large one, nothing
//! more is parsed.
//!
//! Some rules need the whole text (a policy's nodes, a pin's policy, `formerly`). They are checked
//! at the end, but their mistakes are still reported at their place.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::effort;
use super::model::{First, Node, Pin, PinTo, Pinned, Policy};
use super::percent;
use super::reader::{At, Reader};
use super::tree::{shown, KeyedTree, Tree, TreeValue};
use super::unknown::NODE_KEYS;
use crate::hash::KeyRule;
use crate::name::{NAME_MAX, SPREAD_MAX, TEXT_MAX};
use crate::point::{Point, Share};
use crate::tolerance::Tolerance;
use crate::weight::Weight;

const POLICY_KEYS: [&str; 4] = ["name", "kind", "nodes", "weight"];
/// The table `[guard]`.
#[derive(Default)]
pub(super) struct Guard {
    pub(super) move_limit: Option<Share>,
    pub(super) carry: Option<bool>,
    pub(super) first_map: Option<bool>,
    pub(super) first_map_line: usize,
}

const PIN_KEYS: [&str; 5] = ["key", "range", "policy", "nodes", "short"];

const FIRST_KEYS: [&str; 3] = ["key", "range", "node"];

/// The names that were given, and those that were used before they were given.
#[derive(Default)]
pub(super) struct Names {
    /// the lines of the names
    pub nodes: HashMap<String, usize>,
    pub policies: HashMap<String, usize>,
    missing_nodes: Vec<At<String>>,
    missing_policies: Vec<At<String>>,
}

/// The rules, table by table.
impl Reader<'_> {
    /// Returns which part of a key is hashed.
    pub(super) fn key_rule(&mut self, tree: Tree) -> Option<KeyRule> {
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
    pub(super) fn tolerance(&mut self, tree: Tree) -> Option<Tolerance> {
        let text = self.any_text("tolerance", tree)?;
        match Tolerance::parse(&text.it) {
            Ok(tolerance) => Some(tolerance),
            Err(why) => self.wrong(text.at, || {
                format!("tolerance \"{}\" {why}", shown(&text.it))
            }),
        }
    }

    /// Returns what publishing may not do.
    pub(super) fn guard(&mut self, tree: Tree) -> Guard {
        let (at, json) = (tree.at, self.source.json);
        let mut guard = Guard::default();
        let TreeValue::Table(entries) = tree.value else {
            self.wrong::<()>(at, || {
                let example = if json {
                    "{\"move\": \"20%\"}"
                } else {
                    "[guard] and below it move = \"20%\""
                };
                format!("guard is not a table; write {example}")
            });
            return guard;
        };
        for KeyedTree { key, at, tree } in entries {
            match key.as_str() {
                "move" => guard.move_limit = self.percentage_of("move", tree).map(Share),
                "carry" => guard.carry = self.boolean("carry", &tree),
                "first_map" => {
                    guard.first_map_line = self.line(tree.at);
                    guard.first_map = self.boolean("first_map", &tree);
                }
                _ => {
                    let place = if json { "`guard`" } else { "[guard]" };
                    self.unknown(&key, at, place, &["move", "carry", "first_map"]);
                }
            }
        }
        guard
    }

    /// Returns the labels over which copies are kept apart, outermost first.
    pub(super) fn spread(&mut self, tree: Tree) -> Vec<String> {
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

    /// Returns a node without its names, its name and its former name.
    pub(super) fn node(
        &mut self,
        table: At<Vec<KeyedTree>>,
    ) -> Option<(At<String>, Option<At<String>>, Node)> {
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
                "attributes" => node.attributes = self.texts("attributes", "attribute", tree, 0),
                "formerly" => formerly = self.node_name("formerly", tree),
                _ => self.unknown_in(&key, at, "node", &NODE_KEYS),
            }
        }
        if !named {
            self.missing_in(table.at, "name", "node");
        }
        name.map(|name| (name, formerly, node))
    }

    /// Checks that a node has the labels over which copies are kept apart.
    pub(super) fn has_spread(&mut self, node: &Node, at: usize, spread: &[String]) {
        let missing = spread
            .iter()
            .find(|label| node.weight > Weight::ZERO && !node.labels.contains_key(*label));
        if let Some(label) = missing {
            self.wrong::<()>(at, || {
                let (node, label) = (shown(&node.name), shown(label));
                format!(
                    "node `{node}` has no label `{label}`, which spread names; add it to its \
                     labels, or give it weight 0"
                )
            });
        }
    }

    /// Checks the former names. `renamed` has each former name with the present one.
    pub(super) fn check_formerly(
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

    /// Returns a policy without its name, and its name. Notes where the first weight is.
    pub(super) fn policy(
        &mut self,
        table: At<Vec<KeyedTree>>,
        names: &mut Names,
        weight: &mut Option<usize>,
    ) -> Option<(At<String>, Policy)> {
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
                    policy.nodes = self.node_list(tree, names);
                }
                "weight" => {
                    policy.weight = self.weight(&tree);
                    weight.get_or_insert(at);
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
        name.map(|name| (name, policy))
    }

    pub(super) fn pin(&mut self, table: At<Vec<KeyedTree>>, names: &mut Names) -> Option<Pin> {
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
                "policy" => to = self.policy_of_pin(tree, names),
                _ => to = Some(PinTo::Nodes(self.node_list(tree, names))),
            }
            seen.get_or_insert(key);
        }
        if what_key.is_none() {
            self.lacks(table.at, || {
                "a pin needs `key` or `range`; add one of them, such as the key \"justin\""
                    .to_owned()
            });
        }
        if to_key.is_none() {
            self.lacks(table.at, || {
                "a pin needs `policy` or `nodes`; add one of them, such as the nodes [\"db1\"]"
                    .to_owned()
            });
        }
        Some(Pin {
            what: what?,
            to: to?,
            short,
            line: self.line(table.at),
        })
    }

    pub(super) fn first(&mut self, table: At<Vec<KeyedTree>>, names: &mut Names) -> Option<First> {
        let (mut what, mut node, mut has_node) = (None, None, false);
        let mut what_key: Option<String> = None;
        for KeyedTree { key, at, tree } in table.it {
            match key.as_str() {
                "key" | "range" => {
                    if let Some(first) = &what_key {
                        self.wrong::<()>(at, || {
                            format!("a first has either `{first}` or `{key}`; remove one of them")
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
                    node = self.known_node("node", tree, names);
                }
                _ => self.unknown_in(&key, at, "first", &FIRST_KEYS),
            }
        }
        if what_key.is_none() {
            self.lacks(table.at, || {
                "a first needs `key` or `range`; add one of them, such as the key \"justin\""
                    .to_owned()
            });
        }
        if !has_node {
            self.missing_in(table.at, "node", "first");
        }
        Some(First {
            what: what?,
            node: node?,
            line: self.line(table.at),
        })
    }

    /// Returns the name of a node, which must be in the fleet; it may come later.
    fn known_node(&mut self, what: &str, tree: Tree, names: &mut Names) -> Option<String> {
        let name = self.any_text(what, tree)?;
        if !names.nodes.contains_key(&name.it) {
            names.missing_nodes.push(name.clone());
        }
        Some(name.it)
    }

    fn policy_of_pin(&mut self, tree: Tree, names: &mut Names) -> Option<PinTo> {
        let policy = self.any_text("policy", tree)?;
        if !names.policies.contains_key(&policy.it) {
            names.missing_policies.push(policy.clone());
        }
        Some(PinTo::Policy(policy.it))
    }

    /// Checks the names that were used before they were given.
    pub(super) fn check_names(&mut self, names: &Names) {
        for (what, missing, given) in [
            ("node", &names.missing_nodes, &names.nodes),
            ("policy", &names.missing_policies, &names.policies),
        ] {
            for name in missing.iter().filter(|name| !given.contains_key(&name.it)) {
                let table = self.table_name(what);
                self.wrong::<()>(name.at, || {
                    format!(
                        "{what} `{}` is not in this fleet; add it as a {table}, or name another",
                        shown(&name.it)
                    )
                });
            }
        }
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
    fn node_list(&mut self, tree: Tree, names: &mut Names) -> Vec<String> {
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
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            let at = item.at;
            let Some(name) = self.known_node("a name in nodes", item, names) else {
                continue;
            };
            if !seen.insert(name.clone()) {
                self.wrong::<()>(at, || {
                    format!("node `{}` is listed twice in nodes; keep one", shown(&name))
                });
            }
            list.push(name);
        }
        list
    }

    pub(super) fn some_weight(&mut self, start: usize, nodes: &[Node], policies: &[Policy]) {
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
    pub(super) fn enough_nodes(&mut self, replicas: &At<u32>, nodes: &[Node], labels: usize) {
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
