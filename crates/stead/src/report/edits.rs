//! What changed in the fleet between two maps: nodes, weights, labels, attributes, replicas,
//! spread, policies, pins and firsts. Read from the maps, so that two maps of a history can be
//! compared too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::fleet::percentage;
use crate::map::{Map, Node, Policy};
use crate::point::{Point, Share};
use crate::policy::NodeId;

/// The longest percentage that names the bound of a pin; longer ones are shown as points.
const SHORT: usize = 12;

/// One thing of the fleet that was added, changed or removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Edit {
    /// `+` for what is new, `~` for what changed, `-` for what is gone.
    pub sign: &'static str,
    /// `node`, `policy`, `pin`, `first`, `replicas`, `spread`, `max_slices` or `tolerance`.
    pub what: &'static str,
    /// The name of the node or policy, or what the `[[pin]]` or `[[first]]` covers; `None` for the
    /// others.
    pub name: Option<String>,
    /// What is new about it, or differs. Empty for what is gone.
    pub details: Vec<Detail>,
}

/// One property that is new or differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Detail {
    /// The property: `name`, `weight`, `label zone`, `attribute address`, `nodes`, `policy`, `kind`
    /// or `short`; `node` of a first; `value` for replicas, spread, `max_slices` and `tolerance`.
    pub field: String,
    /// What it was; `None` if it was not there.
    pub old: Option<String>,
    /// What it is; `None` if it is not there any more.
    pub new: Option<String>,
}

impl Edit {
    /// Returns the details in words: `weight 1 zone=c` for what is new, `weight 1 -> 2, rack r1 ->
    /// r2` for what changed. Empty for what is gone.
    pub fn details_in_words(&self) -> String {
        let added = self.sign == "+";
        let words: Vec<String> = self.details.iter().map(|one| one.words(added)).collect();
        words.join(if added { " " } else { ", " })
    }
}

impl fmt::Display for Edit {
    /// Writes it in one line: `~ node db1 weight 1 -> 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.sign, self.what)?;
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        match self.details_in_words().as_str() {
            "" => Ok(()),
            words => write!(f, " {words}"),
        }
    }
}

impl Detail {
    fn words(&self, added: bool) -> String {
        let [old, new] = [&self.old, &self.new].map(|value| value.as_deref().unwrap_or("none"));
        let (kind, name) = self.field.split_once(' ').unwrap_or(("", &self.field));
        match (kind, name, added) {
            ("label", name, true) => format!("{name}={new}"),
            ("attribute", name, true) => format!("{name}={new:?}"),
            ("attribute", name, false) => {
                let text = |value: &Option<String>| match value {
                    Some(value) => format!("{value:?}"),
                    None => "none".to_owned(),
                };
                format!("{name} {} -> {}", text(&self.old), text(&self.new))
            }
            ("", "nodes" | "policy" | "node", true) => format!("-> {new}"),
            ("", "short", true) => "short".to_owned(),
            ("", "name", false) => format!("was {old}"),
            ("", "value", _) => format!("{old} -> {new}"),
            (_, name, true) => format!("{name} {new}"),
            (_, name, false) => format!("{name} {old} -> {new}"),
        }
    }
}

/// Returns what changed in the fleet. `same` has the new number of each old node.
///
/// Cost: O(n log n) for n nodes, policies and pins.
pub(super) fn edits(old: &Map, new: &Map, same: &[Option<NodeId>]) -> Vec<Edit> {
    let mut edits = of_whole(old, new);
    edits.extend(of_nodes(old, new, same));
    // nodes are compared by their new names, so that a renaming changes no list
    let name = |map: &Map, node: NodeId| -> String {
        let now = same.get(node.index()).copied().flatten();
        match now.filter(|_| std::ptr::eq(map, old)) {
            Some(now) => new.node(now).name().to_owned(),
            None => map.node(node).name().to_owned(),
        }
    };
    let names = |map: &Map, policy: Policy| -> String {
        let nodes = policy.distinct().into_iter();
        nodes
            .map(|node| name(map, node))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let policies = |map: &Map| -> BTreeMap<String, BTreeMap<String, String>> {
        let stated = map.policies().filter_map(|policy| {
            let mut facts = BTreeMap::new();
            facts.insert("nodes".to_owned(), names(map, policy));
            if !policy.kind().is_empty() {
                facts.insert("kind".to_owned(), policy.kind().to_owned());
            }
            if let Some(weight) = policy.weight() {
                facts.insert("weight".to_owned(), weight.to_string());
            }
            Some((policy.name()?.to_owned(), facts))
        });
        stated.collect()
    };
    edits.extend(compare("policy", &policies(old), &policies(new)));
    let pins = |map: &Map| -> BTreeMap<String, BTreeMap<String, String>> {
        let stated = map.pins().map(|pin| {
            let policy = map.policy(pin.slice.policy);
            let mut facts = BTreeMap::new();
            match policy.name() {
                Some(name) => facts.insert("policy".to_owned(), name.to_owned()),
                None => facts.insert("nodes".to_owned(), names(map, policy)),
            };
            if pin.short {
                facts.insert("short".to_owned(), "true".to_owned());
            }
            (covered(pin.key, pin.slice.first, pin.slice.last), facts)
        });
        stated.collect()
    };
    edits.extend(compare("pin", &pins(old), &pins(new)));
    let firsts = |map: &Map| -> BTreeMap<String, BTreeMap<String, String>> {
        let stated = map.firsts().map(|first| {
            let facts = BTreeMap::from([("node".to_owned(), name(map, first.node))]);
            (covered(first.key, first.first, first.last), facts)
        });
        stated.collect()
    };
    edits.extend(compare("first", &firsts(old), &firsts(new)));
    edits
}

/// Says what a pin or a first covers: its key in quotes, or its range.
fn covered(key: Option<&[u8]>, first: Point, last: Point) -> String {
    match key.map(std::str::from_utf8) {
        Some(Ok(key)) => format!("{key:?}"),
        _ => {
            let bounds = [u128::from(first.0), u128::from(last.0) + 1];
            let bounds = bounds.map(|point| percentage(Share(point)));
            match bounds.iter().all(|bound| bound.len() <= SHORT) {
                true => bounds.join(".."),
                false => format!("{first}..{last}"),
            }
        }
    }
}

fn of_whole(old: &Map, new: &Map) -> Vec<Edit> {
    let spread = |map: &Map| match map.spread().collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => None,
        labels => Some(labels),
    };
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let tolerance = |map: &Map| map.tolerance().map(|tolerance| tolerance.to_string());
    let values = [
        (
            "replicas",
            [old, new].map(|map| Some(map.replicas().to_string())),
        ),
        ("spread", [old, new].map(spread)),
        ("max_slices", [old, new].map(|map| number(map.max_slices()))),
        ("tolerance", [old, new].map(tolerance)),
    ];
    let changed = values.into_iter().filter(|(_, [old, new])| old != new);
    changed
        .map(|(what, [old, new])| Edit {
            sign: "~",
            what,
            name: None,
            details: vec![Detail {
                field: "value".to_owned(),
                old,
                new,
            }],
        })
        .collect()
}

fn of_nodes(old: &Map, new: &Map, same: &[Option<NodeId>]) -> Vec<Edit> {
    // a node that is leaving is not part of the fleet any more
    let stated = |id: NodeId| !new.node(id).leaving();
    let mut before = vec![None; new.nodes().len()];
    let mut gone = Vec::new();
    for (node, now) in old.nodes().zip(same).filter(|(node, _)| !node.leaving()) {
        match now.filter(|now| stated(*now)) {
            Some(now) => {
                if let Some(place) = before.get_mut(now.index()) {
                    *place = Some(node.id);
                }
            }
            None => gone.push(Edit {
                sign: "-",
                what: "node",
                name: Some(node.name().to_owned()),
                details: Vec::new(),
            }),
        }
    }
    let mut added = Vec::new();
    let mut changed = Vec::new();
    for (node, before) in new.nodes().zip(before).filter(|(node, _)| !node.leaving()) {
        if before.is_some_and(|before| is_same(old.node(before), node)) {
            continue; // nearly all nodes
        }
        let facts = facts(node);
        let (sign, list, details) = match before.map(|before| old.node(before)) {
            None => ("+", &mut added, differ(&BTreeMap::new(), &facts)),
            Some(before) => {
                let mut details = differ(&self::facts(before), &facts);
                if before.name() != node.name() {
                    details.insert(
                        0,
                        Detail {
                            field: "name".to_owned(),
                            old: Some(before.name().to_owned()),
                            new: Some(node.name().to_owned()),
                        },
                    );
                }
                ("~", &mut changed, details)
            }
        };
        if sign == "+" || !details.is_empty() {
            list.push(Edit {
                sign,
                what: "node",
                name: Some(node.name().to_owned()),
                details,
            });
        }
    }
    added.into_iter().chain(changed).chain(gone).collect()
}

/// Whether two nodes have the same name and the same properties.
fn is_same(a: Node, b: Node) -> bool {
    a.name() == b.name()
        && a.weight() == b.weight()
        && a.labels().eq(b.labels())
        && a.attributes().eq(b.attributes())
}

/// The properties of a node under their names; the weight is the first.
fn facts(node: Node) -> BTreeMap<(u8, String), String> {
    let weight = ((0, "weight".to_owned()), node.weight().to_string());
    let labels = node.labels();
    let labels = labels.map(|(name, value)| ((1, format!("label {name}")), value.to_owned()));
    let others = node.attributes();
    let others = others.map(|(name, value)| ((2, format!("attribute {name}")), value.to_owned()));
    std::iter::once(weight)
        .chain(labels)
        .chain(others)
        .collect()
}

/// Returns what differs between two lists of properties, in the order of their keys.
fn differ(
    old: &BTreeMap<(u8, String), String>,
    new: &BTreeMap<(u8, String), String>,
) -> Vec<Detail> {
    let fields: BTreeSet<&(u8, String)> = old.keys().chain(new.keys()).collect();
    let details = fields.into_iter().map(|field| Detail {
        field: field.1.clone(),
        old: old.get(field).cloned(),
        new: new.get(field).cloned(),
    });
    details.filter(|detail| detail.old != detail.new).collect()
}

/// Compares policies, pins or firsts by their names.
fn compare(
    what: &'static str,
    old: &BTreeMap<String, BTreeMap<String, String>>,
    new: &BTreeMap<String, BTreeMap<String, String>>,
) -> Vec<Edit> {
    let keyed = |facts: &BTreeMap<String, String>| -> BTreeMap<(u8, String), String> {
        let keyed = facts.iter().map(|(field, value)| {
            let last = u8::from(!matches!(field.as_str(), "nodes" | "policy" | "node"));
            ((last, field.clone()), value.clone())
        });
        keyed.collect()
    };
    let none = BTreeMap::new();
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let edit = |name: &String| {
        let (before, after) = (old.get(name), new.get(name));
        let sign = match (before, after) {
            (None, _) => "+",
            (_, None) => "-",
            _ => "~",
        };
        let details = match after {
            None => Vec::new(),
            Some(after) => differ(&keyed(before.unwrap_or(&none)), &keyed(after)),
        };
        (sign == "-" || !details.is_empty()).then(|| Edit {
            sign,
            what,
            name: Some(name.clone()),
            details,
        })
    };
    names.into_iter().filter_map(edit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::same_nodes;
    use crate::{build, Fleet};

    fn edited(before: &str, after: &str) -> Vec<String> {
        let fleet = |text: &str| Fleet::parse(&format!("name = 'm'\n{text}"), "fleet").unwrap();
        let old = build(&fleet(before), None).unwrap();
        let new = build(&fleet(after), Some(&old)).unwrap();
        let same = same_nodes(&old, &new).unwrap();
        edits(&old, &new, &same)
            .iter()
            .map(Edit::to_string)
            .collect()
    }

    #[test]
    fn nodes_are_added_changed_renamed_and_removed() {
        let before = "node = [{name = 'a'}, {name = 'b', labels = {zone = 'x'}}, {name = 'c'}]";
        let after = "node = [{name = 'a', weight = 2}, {name = 'd', formerly = 'b', \
            labels = {zone = 'y', rack = 'r'}}, {name = 'e', labels = {zone = 'z'}, \
            attributes = {address = 'h:1'}}]";
        assert_eq!(
            edited(before, after),
            [
                "+ node e weight 1 zone=z address=\"h:1\"",
                "~ node a weight 1 -> 2",
                "~ node d was b, rack none -> r, zone x -> y",
                "- node c",
            ]
        );
        assert!(edited(before, before).is_empty());
    }

    #[test]
    fn replicas_spread_policies_and_pins_are_compared() {
        let nodes = "node = [{name = 'a', labels = {zone = 'x', rack = '1'}}, \
            {name = 'b', labels = {zone = 'y', rack = '2'}}]\n";
        let before = format!(
            "spread = ['zone']\n{nodes}[[pin]]\nkey = 'k'\nnodes = ['a']\n[[pin]]\n\
            range = ['10%', '12%']\nnodes = ['b']"
        );
        let after = format!(
            "replicas = 2\nmax_slices = 100\ntolerance = '1%'\nspread = ['zone', 'rack']\n{nodes}[[policy]]\n\
            name = 'p'\nnodes = ['b', 'a']\nkind = 'archive'\n[[pin]]\nkey = 'k'\n\
            nodes = ['b', 'a']\n[[pin]]\nkey = 'l'\npolicy = 'p'"
        );
        assert_eq!(
            edited(&before, &after),
            [
                "~ replicas 1 -> 2",
                "~ spread zone -> zone, rack",
                "~ max_slices none -> 100",
                "~ tolerance none -> 1%",
                "+ policy p -> b, a kind archive",
                "~ pin \"k\" nodes a -> b, a",
                "+ pin \"l\" -> p",
                "- pin 10%..12%",
            ]
        );
    }

    #[test]
    fn firsts_are_compared() {
        let nodes = "replicas = 2\nnode = [{name = 'a'}, {name = 'b'}, {name = 'c'}]\n";
        let before = format!(
            "{nodes}[[first]]\nkey = 'k'\nnode = 'a'\n[[first]]\nrange = ['10%', '12%']\nnode = 'b'"
        );
        let after = format!(
            "{nodes}[[first]]\nkey = 'k'\nnode = 'b'\n[[first]]\nrange = ['20%', '25%']\nnode = 'b'"
        );
        assert_eq!(
            edited(&before, &after),
            [
                "~ first \"k\" node a -> b",
                "- first 10%..12%",
                "+ first 20%..25% -> b"
            ]
        );
    }

    #[test]
    fn a_renaming_changes_no_pin_and_a_node_that_is_leaving_is_gone() {
        let before = "node = [{name = 'a'}, {name = 'b'}]\n[[pin]]\nkey = 'k'\nnodes = ['b']";
        let after =
            "node = [{name = 'a'}, {name = 'c', formerly = 'b'}]\n[[pin]]\nkey = 'k'\nnodes = ['c']";
        assert_eq!(edited(before, after), ["~ node c was b"]);

        let fleet =
            |names: &str| Fleet::parse(&format!("name = 'm'\nnode = [{names}]"), "f").unwrap();
        let old = build(&fleet("{name = 'a'}, {name = 'b'}"), None).unwrap();
        let part = crate::fleet::part("10%").unwrap();
        let one = fleet("{name = 'a'}");
        let step = crate::build_max_move(&one, Some(&old), part).unwrap();
        let told = |old: &Map, new: &Map| edits(old, new, &same_nodes(old, new).unwrap());
        assert_eq!(told(&old, &step)[0].to_string(), "- node b");
        let last = build(&one, Some(&step)).unwrap();
        assert!(told(&step, &last).is_empty());
    }
}
