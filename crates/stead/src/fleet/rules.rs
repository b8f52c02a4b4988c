//! The rules of docs/fleet.md, one after the other, from the tree to a `Fleet`.
//!
//! The reader does not stop at a mistake: it goes on and keeps the one that stands first in the text. What can be judged
//! only when all is read (a policy's nodes, a pin's policy, `formerly`) is checked at the end, and still reported in its place.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::model::{Fleet, Node, Pin, PinTo, Pinned, Policy};
use super::percent;
use super::secret::{self, Secrets};
use super::tree::{shown, Entry, Lines, Tree, Value};
use crate::error::{Error, Result};
use crate::point::Point;
use crate::weight::Weight;

const TOP_KEYS: [&str; 10] =
    ["name", "replicas", "spread", "hash", "secret", "secret_file", "max_slices", "node", "policy", "pin"];
const NODE_KEYS: [&str; 5] = ["name", "weight", "labels", "attributes", "formerly"];
const POLICY_KEYS: [&str; 4] = ["name", "kind", "nodes", "weight"];
const PIN_KEYS: [&str; 4] = ["key", "range", "policy", "nodes"];

const MOST_NODES: usize = 65_536;
const MOST_POLICIES: usize = 65_536;
const MOST_PINS: usize = 1_000_000;
/// The longest name, in bytes.
const LONGEST_NAME: usize = 255;
/// The longest label or attribute, in bytes: the map's strings end there.
const LONGEST_TEXT: usize = 4_095;

/// Where a tree came from.
pub(super) struct Source<'a> {
    /// The file's name, for messages.
    pub file: &'a str,
    /// Where a relative `secret_file` is looked for.
    pub directory: &'a Path,
    pub lines: &'a Lines<'a>,
    pub json: bool,
}

/// Applies every rule to the tree.
pub(super) fn fleet(tree: Tree, source: &Source) -> Result<Fleet> {
    let mut reader = Reader { source, first: None };
    let fleet = reader.fleet(tree);
    let file = source.file.to_owned();
    match reader.first {
        Some((at, Kind::Wrong(problem))) => Err(Error::Fleet { file, line: source.lines.line(at), problem }),
        Some((at, Kind::NotYet(feature))) => {
            Err(Error::NotYet { place: Some((file, source.lines.line(at))), feature: feature.to_owned() })
        }
        None => fleet.ok_or_else(|| Error::Internal { problem: "a fleet without mistakes was not read".to_owned() }),
    }
}

enum Kind {
    Wrong(String),
    NotYet(&'static str),
}

/// Reads trees and remembers the mistake that stands first in the text.
///
/// Its methods give `None` exactly where they noted a mistake.
pub(super) struct Reader<'a> {
    pub source: &'a Source<'a>,
    first: Option<(usize, Kind)>,
}

/// A text and the byte where it stands.
pub(super) struct At<T> {
    pub at: usize,
    pub it: T,
}

impl Reader<'_> {
    /// Notes a mistake at a byte; returns `None` for the caller to hand on.
    pub(super) fn wrong<T>(&mut self, at: usize, problem: impl FnOnce() -> String) -> Option<T> {
        if self.comes_first(at) {
            self.first = Some((at, Kind::Wrong(problem())));
        }
        None
    }

    fn not_yet(&mut self, at: usize, feature: &'static str) {
        if self.comes_first(at) {
            self.first = Some((at, Kind::NotYet(feature)));
        }
    }

    fn comes_first(&self, at: usize) -> bool {
        self.first.as_ref().is_none_or(|(first, _)| at < *first)
    }

    fn line(&self, at: usize) -> usize {
        self.source.lines.line(at)
    }

    /// How the file's language writes one of `node`, `policy` or `pin`.
    fn table_name(&self, what: &str) -> String {
        if self.source.json {
            format!("`{what}`")
        } else {
            format!("[[{what}]]")
        }
    }

    fn fleet(&mut self, tree: Tree) -> Option<Fleet> {
        let start = tree.at;
        let Value::Table(entries) = tree.value else { return self.wrong(start, || "a fleet is a table".to_owned()) };
        let (mut name, mut replicas, mut max_slices) = (None, 1, None);
        let mut secrets = Secrets::default();
        let (mut nodes, mut policies, mut pins) = (Vec::new(), Vec::new(), Vec::new());
        let mut named = false;
        for Entry { key, at, tree } in entries {
            match key.as_str() {
                "name" => {
                    named = true;
                    name = self.text("name", tree, 1, LONGEST_NAME).map(|name| name.it);
                }
                "replicas" => replicas = self.replicas(&tree).unwrap_or(1),
                "spread" => self.spread(tree),
                "hash" | "secret" | "secret_file" => {
                    let text = self.any_text(&key, tree);
                    secrets.broken |= text.is_none();
                    match key.as_str() {
                        "hash" => secrets.hash = text,
                        "secret" => secrets.secret = text,
                        _ => secrets.secret_file = text,
                    }
                }
                "max_slices" => max_slices = self.integer("max_slices", &tree, 1, u64::from(u32::MAX)),
                "node" => nodes = self.tables("node", tree, MOST_NODES),
                "policy" => policies = self.tables("policy", tree, MOST_POLICIES),
                "pin" => pins = self.tables("pin", tree, MOST_PINS),
                _ => self.unknown(&key, at, "the fleet", &TOP_KEYS),
            }
        }
        if !named {
            self.missing(start, "name", "the fleet");
        }
        let hash = secret::hash(self, secrets);
        let nodes = self.nodes(nodes);
        let policies = self.policies(policies, &nodes);
        let pins = self.pins(pins, &nodes, &policies);
        if self.first.is_none() {
            self.some_weight(start, &nodes, &policies);
        }
        Some(Fleet {
            name: name?,
            replicas,
            spread: Vec::new(),
            hash,
            max_slices: max_slices.and_then(|n| u32::try_from(n).ok()),
            nodes,
            policies,
            pins,
            file: self.source.file.to_owned(),
        })
    }

    fn replicas(&mut self, tree: &Tree) -> Option<u32> {
        let replicas = self.integer("replicas", tree, 1, 255)?;
        if replicas > 1 {
            self.not_yet(tree.at, "replicas above 1");
        }
        u32::try_from(replicas).ok()
    }

    /// Checks `spread`; as only the empty one is built, there is nothing to return.
    fn spread(&mut self, tree: Tree) {
        let at = tree.at;
        let Some(labels) = self.array("spread", tree, "label names") else { return };
        let mut seen = HashSet::new();
        let some = !labels.is_empty();
        for label in labels {
            let Some(label) = self.text("a label of spread", label, 1, LONGEST_TEXT) else { continue };
            if let Some(twice) = seen.replace(label.it) {
                self.wrong::<()>(label.at, || format!("label `{}` stands twice in spread; keep one", shown(&twice)));
            }
        }
        if some {
            self.not_yet(at, "spread");
        }
    }

    fn nodes(&mut self, tables: Vec<At<Vec<Entry>>>) -> Vec<Node> {
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
            for Entry { key, at, tree } in table.it {
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
            let Some(name) = name else { continue };
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

    /// `renamed`: each former name and the present one.
    fn check_formerly(&mut self, renamed: Vec<(At<String>, String)>, lines: &HashMap<String, usize>) {
        let mut seen: HashMap<String, usize> = HashMap::with_capacity(renamed.len());
        for (formerly, name) in renamed {
            let At { at, it: formerly } = formerly;
            if let Some(line) = lines.get(&formerly).filter(|_| formerly != name) {
                let line = *line;
                self.wrong::<()>(at, || {
                    let formerly = shown(&formerly);
                    format!("formerly `{formerly}` is the name of the node in line {line}; rename that node, or drop formerly")
                });
            }
            let line = self.line(at);
            if let Some(before) = seen.get(&formerly).copied() {
                self.wrong::<()>(at, || {
                    let formerly = shown(&formerly);
                    format!("formerly `{formerly}` is used in line {before} already; only one node can be the same node")
                });
            }
            seen.entry(formerly).or_insert(line);
        }
    }

    fn policies(&mut self, tables: Vec<At<Vec<Entry>>>, nodes: &[Node]) -> Vec<Policy> {
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
            for Entry { key, at, tree } in table.it {
                match key.as_str() {
                    "name" => {
                        has_name = true;
                        name = self.node_name("policy name", tree);
                    }
                    "kind" => policy.kind = self.text("kind", tree, 0, LONGEST_NAME).map_or_else(String::new, |kind| kind.it),
                    "nodes" => {
                        has_nodes = true;
                        policy.nodes = self.node_list(tree, &known);
                    }
                    "weight" => policy.weight = self.weight(&tree),
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

    fn pins(&mut self, tables: Vec<At<Vec<Entry>>>, nodes: &[Node], policies: &[Policy]) -> Vec<Pin> {
        let mut pins = Vec::with_capacity(tables.len());
        let known: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let policies: HashSet<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        for table in tables {
            let (mut what, mut to) = (None, None);
            // the key that was there first, of either pair
            let (mut what_key, mut to_key): (Option<String>, Option<String>) = (None, None);
            for Entry { key, at, tree } in table.it {
                let seen = match key.as_str() {
                    "key" | "range" => &mut what_key,
                    "policy" | "nodes" => &mut to_key,
                    _ => {
                        self.unknown_in(&key, at, "pin", &PIN_KEYS);
                        continue;
                    }
                };
                if let Some(first) = seen {
                    self.wrong::<()>(at, || format!("a pin has either `{first}` or `{key}`; remove one of them"));
                }
                match key.as_str() {
                    "key" => what = self.any_text("key", tree).map(|key| Pinned::Key(key.it.into_bytes())),
                    "range" => what = self.range(tree),
                    "policy" => to = self.policy_of_pin(tree, &policies),
                    _ => to = Some(PinTo::Nodes(self.node_list(tree, &known))),
                }
                seen.get_or_insert(key);
            }
            if what_key.is_none() {
                self.wrong::<()>(table.at, || "a pin needs `key` or `range`; add one of them".to_owned());
            }
            if to_key.is_none() {
                self.wrong::<()>(table.at, || "a pin needs `policy` or `nodes`; add one of them".to_owned());
            }
            if let (Some(what), Some(to)) = (what, to) {
                pins.push(Pin { what, to, line: self.line(table.at) });
            }
        }
        pins.sort_by(|a: &Pin, b| a.what.cmp(&b.what));
        pins
    }

    fn policy_of_pin(&mut self, tree: Tree, policies: &HashSet<&str>) -> Option<PinTo> {
        let policy = self.any_text("policy", tree)?;
        if !policies.contains(policy.it.as_str()) {
            let policy_table = self.table_name("policy");
            return self.wrong(policy.at, || {
                format!("policy `{}` is not in this fleet; add it as a {policy_table}, or name another", shown(&policy.it))
            });
        }
        Some(PinTo::Policy(policy.it))
    }

    fn range(&mut self, tree: Tree) -> Option<Pinned> {
        let at = tree.at;
        let bounds = self.array("range", tree, "two percentages")?;
        let Ok([first, end]) = <[Tree; 2]>::try_from(bounds) else {
            return self.wrong(at, || "range must hold two percentages; write it like [\"6%\", \"6.5%\"]".to_owned());
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
        let text = self.any_text("a percentage of range", tree)?;
        match percent::point(&text.it) {
            Ok(point) => Some(point),
            Err(why) => self.wrong(text.at, || format!("percentage \"{}\" {why}", shown(&text.it))),
        }
    }

    /// At least one node, all of them in the fleet, none twice.
    fn node_list(&mut self, tree: Tree, known: &HashSet<&str>) -> Vec<String> {
        let at = tree.at;
        let Some(items) = self.array("nodes", tree, "node names") else { return Vec::new() };
        if items.is_empty() {
            self.wrong::<()>(at, || "nodes is empty; name at least one node, the primary first".to_owned());
        }
        let mut seen = HashSet::with_capacity(items.len());
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            let Some(At { at, it: name }) = self.any_text("a name in nodes", item) else { continue };
            if !known.contains(name.as_str()) {
                let table = self.table_name("node");
                self.wrong::<()>(at, || {
                    format!("node `{}` is not in this fleet; add it as a {table}, or name another", shown(&name))
                });
            }
            if !seen.insert(name.clone()) {
                self.wrong::<()>(at, || format!("node `{}` stands twice in nodes; keep one", shown(&name)));
            }
            names.push(name);
        }
        names
    }

    fn some_weight(&mut self, start: usize, nodes: &[Node], policies: &[Policy]) {
        let table = self.table_name("node");
        if nodes.is_empty() {
            self.wrong::<()>(start, || format!("the fleet has no node; add a {table} with a name"));
        }
        let weights = nodes.iter().map(|node| node.weight).chain(policies.iter().filter_map(|policy| policy.weight));
        if weights.max().is_none_or(|weight| weight == Weight::ZERO) {
            self.wrong::<()>(start, || "no node or policy has a weight above 0; give at least one a weight".to_owned());
        }
    }
}

/// The parts that tables are made of.
impl Reader<'_> {
    fn unknown(&mut self, key: &str, at: usize, place: &str, known: &[&str]) {
        // a key of the top that slipped below a header is the commonest of these in TOML
        let misplaced = !self.source.json && known.len() < TOP_KEYS.len() && TOP_KEYS.contains(&key);
        self.wrong::<()>(at, || {
            let hint = if misplaced { "; keys of the fleet itself stand above the first [[...]]" } else { "" };
            format!("unknown key `{}` in {place}; known keys: {}{hint}", shown(key), known.join(", "))
        });
    }

    fn unknown_in(&mut self, key: &str, at: usize, what: &str, known: &[&str]) {
        let place = self.table_name(what);
        self.unknown(key, at, &place, known);
    }

    fn missing(&mut self, at: usize, key: &str, place: &str) {
        self.wrong::<()>(at, || format!("required key `{key}` is missing in {place}; add it"));
    }

    fn missing_in(&mut self, at: usize, key: &str, what: &str) {
        let place = self.table_name(what);
        self.missing(at, key, &place);
    }

    /// Notes a name that stood before; `lines` holds where.
    fn unique(&mut self, what: &str, name: &At<String>, lines: &mut HashMap<String, usize>) {
        if let Some(line) = lines.get(&name.it).copied() {
            self.wrong::<()>(name.at, || {
                format!("{what} name `{}` is used in line {line} already; names must be unique", shown(&name.it))
            });
            return;
        }
        let line = self.line(name.at);
        lines.insert(name.it.clone(), line);
    }

    /// The tables of `node`, `policy` or `pin`.
    fn tables(&mut self, what: &str, tree: Tree, most: usize) -> Vec<At<Vec<Entry>>> {
        let json = self.source.json;
        let how = move || if json { "an array of objects, like [{...}]".to_owned() } else { format!("written as [[{what}]]") };
        let (at, kind) = (tree.at, tree.value.kind());
        let Value::Array(items) = tree.value else {
            self.wrong::<()>(at, || format!("{what} must be {}, and is {kind}", how()));
            return Vec::new();
        };
        let mut tables = Vec::with_capacity(items.len().min(most));
        for (i, item) in items.into_iter().enumerate() {
            let (at, kind) = (item.at, item.value.kind());
            if i == most {
                self.wrong::<()>(at, || format!("the fleet has more than {most} of {what}, the most there may be; leave some out"));
                break;
            }
            match item.value {
                Value::Table(entries) => tables.push(At { at, it: entries }),
                _ => {
                    self.wrong::<()>(at, || format!("{what} must be {}, and holds {kind}", how()));
                }
            }
        }
        tables
    }

    fn array(&mut self, what: &str, tree: Tree, of: &str) -> Option<Vec<Tree>> {
        let kind = tree.value.kind();
        match tree.value {
            Value::Array(items) => Some(items),
            _ => self.wrong(tree.at, || format!("{what} must be an array of {of}, and is {kind}; write it in brackets")),
        }
    }

    /// A string of any length and content; says its kind and never its content when it is none.
    fn any_text(&mut self, what: &str, tree: Tree) -> Option<At<String>> {
        let (at, kind) = (tree.at, tree.value.kind());
        match tree.value {
            Value::Text(it) => Some(At { at, it }),
            _ => self.wrong(at, || format!("{what} must be a string, and is {kind}; write it in quotes")),
        }
    }

    /// A string of `least` to `most` bytes without control characters.
    fn text(&mut self, what: &str, tree: Tree, least: usize, most: usize) -> Option<At<String>> {
        let text = self.any_text(what, tree)?;
        self.check_text(what, &text.it, text.at, least, most)?;
        Some(text)
    }

    fn check_text(&mut self, what: &str, text: &str, at: usize, least: usize, most: usize) -> Option<()> {
        if text.len() < least {
            return self.wrong(at, || format!("{what} is empty; write {least} to {most} bytes"));
        }
        if text.len() > most {
            return self.wrong(at, || format!("{what} has {} bytes; at most {most} are allowed", text.len()));
        }
        if let Some(c) = text.chars().find(|c| c.is_control()) {
            let code = u32::from(c);
            return self.wrong(at, || format!("{what} `{}` has the control character U+{code:04X}; remove it", shown(text)));
        }
        Some(())
    }

    /// The name of a node or policy.
    fn node_name(&mut self, what: &str, tree: Tree) -> Option<At<String>> {
        let name = self.text(what, tree, 1, LONGEST_NAME)?;
        if name.it.contains(',') {
            return self.wrong(name.at, || format!("{what} `{}` has a comma; choose a name without", shown(&name.it)));
        }
        Some(name)
    }

    /// A table of strings: names of at least 1 byte, values of at least `least`.
    fn texts(&mut self, what: &str, one: &str, tree: Tree, least: usize) -> BTreeMap<String, String> {
        let (at, kind) = (tree.at, tree.value.kind());
        let mut texts = BTreeMap::new();
        let Value::Table(entries) = tree.value else {
            self.wrong::<()>(at, || format!("{what} must be a table of strings, and is {kind}; write {{ name = \"value\" }}"));
            return texts;
        };
        for Entry { key, at, tree } in entries {
            self.check_text(&format!("{one} name"), &key, at, 1, LONGEST_TEXT);
            if let Some(value) = self.text(&format!("{one} `{}`", shown(&key)), tree, least, LONGEST_TEXT) {
                texts.insert(key, value.it);
            }
        }
        texts
    }

    fn weight(&mut self, tree: &Tree) -> Option<Weight> {
        let (Value::Number(text) | Value::Text(text)) = &tree.value else {
            let kind = tree.value.kind();
            return self.wrong(tree.at, || format!("weight must be a number, and is {kind}; write digits, like 1.5"));
        };
        match Weight::parse(text) {
            Ok(weight) => Some(weight),
            Err(why) => {
                let quote = if matches!(tree.value, Value::Text(_)) { "\"" } else { "" };
                self.wrong(tree.at, || format!("weight {quote}{}{quote} {why}", shown(text)))
            }
        }
    }

    /// A whole number, written in plain decimal digits.
    fn integer(&mut self, what: &str, tree: &Tree, least: u64, most: u64) -> Option<u64> {
        let Value::Number(text) = &tree.value else {
            let kind = tree.value.kind();
            return self.wrong(tree.at, || format!("{what} must be a whole number, and is {kind}; write {least} to {most}"));
        };
        let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
        match number {
            Some(number) if (least..=most).contains(&number) => Some(number),
            _ => self.wrong(tree.at, || {
                format!("{what} {} is not a whole number from {least} to {most}; write it in plain digits", shown(text))
            }),
        }
    }
}
