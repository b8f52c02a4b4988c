//! What an audit has found: items that are at nodes where the map does not place them.

use std::collections::{BTreeMap, HashSet};
use std::str;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde::Serialize;
use twox_hash::XxHash3_64;

use super::kind::{told_place, Item, Node};

/// How many items are named.
const NAMED: usize = 1_000;

/// What the right places have of an item that is at a wrong one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Nothing: the item is only at the wrong place.
    OnlyThere,
    /// The same value.
    Same,
    /// A newer value.
    Older,
    /// An older value.
    Newer,
    /// Another value, and nobody knows which is the newer one.
    Different,
    /// Something that a server may forget: what is at the wrong place is of no use.
    Forgettable,
    /// Not its copy: the item itself is at a right place, and another one lacks it.
    Lacking,
}

/// What was done with an item at a wrong place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Nothing.
    Left,
    /// It was copied to where it belongs, and removed where it was.
    Brought,
    /// It has taken the place of an older value, and was removed where it was.
    Replaced,
    /// It was removed, since the place where it belongs has the same or something newer.
    Removed,
    /// It could not be brought.
    Failed,
}

/// An item at a node where the map does not place it, or that another node lacks.
#[derive(Clone, Debug, Serialize)]
pub struct Stray {
    /// The name, if it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The name in base64, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_base64: Option<String>,
    /// The node where it is.
    pub node: String,
    /// The nodes where it belongs; of one that is lacking, the node that lacks it.
    pub homes: Vec<String>,
    /// What these have.
    pub what: What,
    /// What was done.
    pub done: Fate,
    /// Why it is left, or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(skip)]
    told: String,
}

impl Stray {
    /// Describes an item.
    pub fn of(item: &Item, node: &Node, homes: &[&Node], what: What) -> Stray {
        let text = str::from_utf8(&item.name).ok();
        let homes: Vec<String> = homes.iter().map(|home| home.name.clone()).collect();
        Stray {
            item: text.map(str::to_owned),
            item_base64: text.is_none().then(|| STANDARD.encode(&item.name)),
            node: node.name.clone(),
            told: format!(
                "{}{} {}",
                told_place(item, &node.name),
                match what {
                    What::Lacking => ", and not at",
                    _ => ", which belongs at",
                },
                homes.join(", ")
            ),
            homes,
            what,
            done: Fate::Left,
            why: None,
        }
    }
}

/// How many items there are, and what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counted {
    /// Items that were listed.
    pub items: u64,
    /// Those that are where the map does not place them.
    pub misplaced: u64,
    /// Those of them that are only there.
    pub only_there: u64,
    /// Those of which the right place has the same value.
    pub same: u64,
    /// Those of which the right place has a newer value.
    pub older: u64,
    /// Those of which the right place has an older value.
    pub newer: u64,
    /// Those of which the right place has another value, and nobody knows which is the newer one.
    pub different: u64,
    /// Those that a server may forget.
    pub forgettable: u64,
    /// Copies that this node should have and lacks.
    pub lacking: u64,
    /// Those that were copied to where they belong.
    pub brought: u64,
    /// Those that have taken the place of an older value.
    pub replaced: u64,
    /// Those that were only removed.
    pub removed: u64,
    /// Those that could not be brought.
    pub failed: u64,
}

impl Counted {
    fn add(&mut self, stray: &Stray) {
        self.misplaced += u64::from(stray.what != What::Lacking);
        *match stray.what {
            What::OnlyThere => &mut self.only_there,
            What::Same => &mut self.same,
            What::Older => &mut self.older,
            What::Newer => &mut self.newer,
            What::Different => &mut self.different,
            What::Forgettable => &mut self.forgettable,
            What::Lacking => &mut self.lacking,
        } += 1;
        match stray.done {
            Fate::Left => {}
            Fate::Brought => self.brought += 1,
            Fate::Replaced => self.replaced += 1,
            Fate::Removed => self.removed += 1,
            Fate::Failed => self.failed += 1,
        }
    }

    /// Says what the places of the keys have.
    fn told(&self) -> String {
        let all = [
            (self.only_there, "only there"),
            (self.same, "with the same value at the right place"),
            (self.older, "older than at the right place"),
            (self.newer, "newer than at the right place"),
            (
                self.different,
                "with another value at the right place, and nobody knows which is newer",
            ),
            (self.forgettable, "that a server may forget"),
        ];
        let told = all.iter().filter(|(count, _)| *count > 0);
        let told: Vec<String> = told
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        told.join(", ")
    }
}

/// How many items are remembered of the first look.
const REMEMBERED: usize = 1 << 22;

/// What the first look of an audit found out about an item at a node.
#[derive(Clone, Copy)]
pub enum Seen {
    /// The node lacks its copy.
    Missing,
    /// It is at this node, where the map does not place it, and at a right place, too.
    Elsewhere,
}

/// Collects what is found.
#[derive(Default)]
pub struct Audited {
    found: Mutex<(BTreeMap<String, Counted>, Vec<Stray>)>,
    /// by a hash of the item, the node and which of both it is
    seen: Mutex<HashSet<u64>>,
}

impl Audited {
    fn lock(&self) -> MutexGuard<'_, (BTreeMap<String, Counted>, Vec<Stray>)> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what is seen, unless there is too much of it.
    pub fn see(&self, seen: Seen, item: &Item, node: &Node) {
        let mut all = self.seen();
        if all.len() < REMEMBERED {
            all.insert(hash_of(seen, item, node));
        }
    }

    /// Whether this was seen.
    pub fn has_seen(&self, seen: Seen, item: &Item, node: &Node) -> bool {
        self.seen().contains(&hash_of(seen, item, node))
    }

    /// Makes an audit that goes on from this one: it knows what was seen.
    pub fn followed(&self) -> Audited {
        Audited {
            seen: Mutex::new(std::mem::take(&mut *self.seen())),
            ..Audited::default()
        }
    }

    /// Counts an item that was listed at a node.
    pub fn list(&self, node: &str) {
        let mut found = self.lock();
        match found.0.get_mut(node) {
            Some(counted) => counted.items += 1,
            None => {
                let counted = Counted {
                    items: 1,
                    ..Counted::default()
                };
                found.0.insert(node.to_owned(), counted);
            }
        }
    }

    /// Counts an item that is where the map does not place it.
    pub fn add(&self, stray: Stray) {
        let mut found = self.lock();
        let of = match (stray.what, stray.homes.first()) {
            (What::Lacking, Some(home)) => home,
            _ => &stray.node,
        };
        let counted = found.0.entry(of.clone()).or_default();
        counted.add(&stray);
        // those that need somebody are named first
        let is_open = |stray: &Stray| matches!(stray.done, Fate::Left | Fate::Failed);
        if found.1.len() < NAMED {
            found.1.push(stray);
        } else if is_open(&stray) {
            if let Some(place) = found.1.iter().position(|named| !is_open(named)) {
                found.1[place] = stray;
            }
        }
    }

    /// Returns the counts of each node, by its name.
    pub fn of_nodes(&self) -> BTreeMap<String, Counted> {
        self.lock().0.clone()
    }

    /// Returns the counts of all nodes together.
    pub fn sum(&self) -> Counted {
        let found = self.lock();
        let mut sum = Counted::default();
        for one in found.0.values() {
            sum = Counted {
                items: sum.items + one.items,
                misplaced: sum.misplaced + one.misplaced,
                only_there: sum.only_there + one.only_there,
                same: sum.same + one.same,
                older: sum.older + one.older,
                newer: sum.newer + one.newer,
                different: sum.different + one.different,
                forgettable: sum.forgettable + one.forgettable,
                lacking: sum.lacking + one.lacking,
                brought: sum.brought + one.brought,
                replaced: sum.replaced + one.replaced,
                removed: sum.removed + one.removed,
                failed: sum.failed + one.failed,
            };
        }
        sum
    }
}

fn hash_of(seen: Seen, item: &Item, node: &Node) -> u64 {
    XxHash3_64::oneshot_with_seed(2 * node.number as u64 + seen as u64, &item.name)
}

/// What an audit prints.
#[derive(Serialize)]
pub struct Found {
    /// The epoch whose places count.
    pub epoch: u64,
    /// All nodes together.
    #[serde(flatten)]
    pub sum: Counted,
    /// Each node.
    pub nodes: Vec<OfNode>,
    /// At most 1,000 of the items, those first that are left or have failed.
    pub misplaced_items: Vec<Stray>,
    /// The same of copies that are missing.
    pub lacking_items: Vec<Stray>,
    /// What the kinds have noticed.
    pub notes: Vec<String>,
    /// Why it has ended before its end.
    pub problem: Option<String>,
    /// Whether items were brought to where they belong.
    #[serde(skip)]
    pub brings: bool,
}

/// The counts of a node.
#[derive(Serialize)]
pub struct OfNode {
    node: String,
    #[serde(flatten)]
    counted: Counted,
}

impl Found {
    /// Makes the report of an audit.
    pub fn of(epoch: u64, audited: &Audited, nodes: &[&Node], brings: bool) -> Found {
        let sum = audited.sum();
        let found = audited.lock();
        let of_node = |node: &&Node| OfNode {
            node: node.name.clone(),
            counted: found.0.get(&node.name).copied().unwrap_or_default(),
        };
        let mut items = found.1.clone();
        items.sort_by_key(|stray| !matches!(stray.done, Fate::Left | Fate::Failed));
        let is_lacking = |stray: &Stray| stray.what == What::Lacking;
        let (lacking_items, items) = items.into_iter().partition(is_lacking);
        Found {
            epoch,
            sum,
            nodes: nodes.iter().map(of_node).collect(),
            misplaced_items: items,
            lacking_items,
            notes: Vec::new(),
            problem: None,
            brings,
        }
    }

    /// Returns how many items are still where they do not belong, and copies still missing.
    pub fn left(&self) -> u64 {
        self.sum.misplaced + self.sum.lacking
            - self.sum.brought
            - self.sum.replaced
            - self.sum.removed
    }

    /// Returns it as text.
    pub fn text(&self) -> String {
        let Counted {
            items, misplaced, ..
        } = self.sum;
        let nodes = self.nodes.len();
        let mut text = format!("epoch {}: {items} items at {nodes} nodes", self.epoch);
        text += &match misplaced {
            0 => ", all where the map places them\n".to_owned(),
            1 => ", 1 of them where the map does not place it\n".to_owned(),
            _ => format!(", {misplaced} of them where the map does not place them\n"),
        };
        for OfNode { node, counted } in &self.nodes {
            if counted.misplaced > 0 {
                let (misplaced, items) = (counted.misplaced, counted.items);
                let told = counted.told();
                text += &format!("  {node}: {misplaced} of {items} items: {told}\n");
            }
            match counted.lacking {
                0 => {}
                1 => text += &format!("  {node}: lacks 1 copy that it should have\n"),
                lacking => {
                    text += &format!("  {node}: lacks {lacking} copies that it should have\n")
                }
            }
        }
        let mut named: BTreeMap<What, &Stray> = BTreeMap::new();
        for stray in self.misplaced_items.iter().chain(&self.lacking_items) {
            named.entry(stray.what).or_insert(stray);
        }
        for (what, stray) in named {
            let what = match what {
                What::OnlyThere => "only there",
                What::Same => "with the same value at the right place",
                What::Older => "older",
                What::Newer => "newer",
                What::Different => "with another value",
                What::Forgettable => "that a server may forget",
                What::Lacking => "lacking",
            };
            text += &format!("{what}, such as {}\n", stray.told);
        }
        if self.brings {
            let sum = &self.sum;
            text += &format!(
                "brought: {}; in the place of an older value: {}; only removed: {}; left: {}; \
                 failed: {}\n",
                sum.brought,
                sum.replaced,
                sum.removed,
                self.left() - sum.failed,
                sum.failed
            );
        }
        let open = self.misplaced_items.iter().chain(&self.lacking_items);
        let mut whys: BTreeMap<&str, (&Stray, u64)> = BTreeMap::new();
        for (stray, why) in open.filter_map(|stray| Some((stray, stray.why.as_deref()?))) {
            let why = why.strip_prefix(&*stray.told).unwrap_or(why);
            whys.entry(why).or_insert((stray, 0)).1 += 1;
        }
        for (why, (stray, count)) in whys {
            let word = match stray.done {
                Fate::Failed => "failed",
                _ => "left",
            };
            text += &format!("{word}: {}: {why}\n", stray.told);
            if count > 1 {
                text += &format!("... and {} more for this reason\n", count - 1);
            }
        }
        for note in &self.notes {
            text += &format!("note: {note}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> Node {
        Node {
            number: 0,
            name: name.to_owned(),
            attributes: Vec::new(),
        }
    }

    #[test]
    fn what_needs_somebody_is_named_although_much_was_brought() {
        let (a, b) = (node("a"), node("b"));
        let audited = Audited::default();
        for n in 0..1500 {
            let item = Item::of_key(format!("k{n}"));
            audited.list("a");
            let mut stray = Stray::of(&item, &a, &[&b], What::OnlyThere);
            stray.done = Fate::Brought;
            if n == 1400 {
                stray = Stray::of(&item, &a, &[&b], What::Different);
                stray.why = Some("look at it".to_owned());
            }
            audited.add(stray);
        }
        let found = Found::of(7, &audited, &[&a, &b], true);
        assert_eq!((found.sum.items, found.left()), (1500, 1));
        assert_eq!(found.misplaced_items.len(), NAMED);
        assert_eq!(found.misplaced_items[0].item.as_deref(), Some("k1400"));
        let text = found.text();
        assert!(
            text.starts_with(
                "epoch 7: 1500 items at 2 nodes, 1500 of them where the map does not place them\n  \
                 a: 1500 of 1500 items: 1499 only there, 1 with another value at the right place, \
                 and nobody knows which is newer\n"
            ),
            "{text}"
        );
        assert!(
            text.contains("left: k1400 at node a, which belongs at b: look at it\n"),
            "{text}"
        );
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(json["nodes"][0]["brought"], 1499);
        assert_eq!(json["misplaced_items"][0]["what"], "different");
    }

    #[test]
    fn a_name_that_is_no_text_fits_json() {
        let stray = Stray::of(
            &Item::of_key(*b"\xff"),
            &node("a"),
            &[&node("b")],
            What::Same,
        );
        let json = serde_json::to_string(&stray).unwrap();
        assert_eq!(
            json,
            r#"{"item_base64":"/w==","node":"a","homes":["b"],"what":"same","done":"left"}"#
        );
    }
}
