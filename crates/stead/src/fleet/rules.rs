//! The rules of docs/fleet.md, one after the other, from the tree to a `Fleet`.
//!
//! The reader does not stop at a mistake: it continues to the end of what the parser gave it, and
//! keeps the mistake that comes first in the text. Then the parser of a large text stops.
//!
//! Some rules need the whole text (a policy's nodes, a pin's policy, `formerly`). They are checked
//! at the end, but their mistakes are still reported at their place.

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

/// A fleet while it is read: what its entries have said so far.
///
/// The entries come one after the other, and the tables of a list in any number of parts. What a
/// part says is checked at once, as far as what came before allows.
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
    move_limit: Option<Share>,
    nodes: Vec<Node>,
    policies: Vec<Policy>,
    pins: Vec<Pin>,
    firsts: Vec<First>,
    named_before: Names,
    /// where each node begins
    places: Vec<u32>,
    /// former names, each with the present one
    renamed: Vec<(At<String>, String)>,
    /// where the first weight of a policy is
    policy_weight: Option<usize>,
}

/// The names that were given, and those that were used before they were given.
#[derive(Default)]
struct Names {
    /// the lines of the names
    nodes: HashMap<String, usize>,
    policies: HashMap<String, usize>,
    missing_nodes: Vec<At<String>>,
    missing_policies: Vec<At<String>>,
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
            move_limit: None,
            nodes: Vec::new(),
            policies: Vec::new(),
            pins: Vec::new(),
            firsts: Vec::new(),
            named_before: Names::default(),
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
            "guard" => self.move_limit = reader.guard(tree),
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
                    self.pins.extend(reader.pin(table, &mut self.named_before));
                }
            }
            "first" => {
                for table in reader.tables("first", tree, self.firsts.len(), MOST_PINS) {
                    self.firsts
                        .extend(reader.first(table, &mut self.named_before));
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
        self.reader
            .unique("node", &name, &mut self.named_before.nodes);
        if let Some(formerly) = formerly {
            node.formerly = Some(formerly.it.clone());
            self.renamed.push((formerly, name.it.clone()));
        }
        node.name = name.it;
        self.nodes.push(node);
        self.places.push(at as u32); // a text has at most 64 MiB
    }

    fn policy(&mut self, table: At<Vec<KeyedTree>>) {
        let (names, weight) = (&mut self.named_before, &mut self.policy_weight);
        if let Some((name, mut policy)) = self.reader.policy(table, names, weight) {
            self.reader.unique("policy", &name, &mut names.policies);
            policy.name = name.it;
            self.policies.push(policy);
        }
    }

    /// Applies the rules that need all entries, and returns the fleet.
    ///
    /// Fails with the mistake that comes first in the text.
    ///
    /// `whole` says whether all entries were taken. If not, a mistake was found before the end, and
    /// names that are missing may come later.
    pub(super) fn finish(self, whole: bool) -> Result<Fleet> {
        let mut reader = self.reader;
        if !whole {
            return reader.finish(None);
        }
        if !self.named {
            reader.missing(self.start, "name", "the fleet");
        }
        let hash = secret::hash(&mut reader, self.secrets);
        let (mut nodes, mut policies) = (self.nodes, self.policies);
        let (mut pins, mut firsts) = (self.pins, self.firsts);
        for (node, at) in nodes.iter().zip(self.places) {
            reader.has_spread(node, at as usize, &self.spread);
        }
        reader.check_formerly(self.renamed, &self.named_before.nodes);
        reader.check_names(&self.named_before);
        if let Some(at) = self.policy_weight.filter(|_| self.replicas.it > 1) {
            let replicas = self.replicas.it;
            reader.wrong::<()>(at, || {
                format!(
                    "a policy can have a weight only with replicas = 1, but replicas is \
                     {replicas}; remove the weight"
                )
            });
        }
        drop(self.named_before);
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
            move_limit: self.move_limit,
            nodes,
            policies,
            pins,
            firsts,
            file,
        });
        reader.finish(fleet)
    }
}

/// The rules, table by table.
impl Reader<'_> {
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

    /// Returns a node without its names, its name and its former name.
    fn node(
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
    fn has_spread(&mut self, node: &Node, at: usize, spread: &[String]) {
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

    /// Returns a policy without its name, and its name. Notes where the first weight is.
    fn policy(
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

    fn pin(&mut self, table: At<Vec<KeyedTree>>, names: &mut Names) -> Option<Pin> {
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
            self.wrong::<()>(table.at, || {
                "a pin needs `key` or `range`; add one of them".to_owned()
            });
        }
        if to_key.is_none() {
            self.wrong::<()>(table.at, || {
                "a pin needs `policy` or `nodes`; add one of them".to_owned()
            });
        }
        Some(Pin {
            what: what?,
            to: to?,
            short,
            line: self.line(table.at),
        })
    }

    fn first(&mut self, table: At<Vec<KeyedTree>>, names: &mut Names) -> Option<First> {
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
            self.wrong::<()>(table.at, || {
                "a first needs `key` or `range`; add one of them".to_owned()
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
    fn check_names(&mut self, names: &Names) {
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
