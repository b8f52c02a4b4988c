//! What a kind of data must be able to do, so that the engine can carry it: [`Kind`].
//!
//! The engine decides what is done and when, keeps the journal, and tries again. A kind knows how
//! to list, read, add, compare and remove one item at one node. It keeps no state that must survive
//! the process.
//!
//! An *item* is what is copied at once: a file, a row, a value. It has a name, which only the kind
//! understands, and a key, which decides its place. Several items may have the same key.
//!
//! # What a kind must guarantee
//!
//! Applications read and write all the while. The engine takes no lock. It copies an item so:
//!
//! ```text
//! 1. the journal says that the item is in flight
//! 2. add      reads the source, and adds that to the target only if the target has no such item
//! 3. version  of the source again: the same -> done;
//!             another, or gone -> remove at the target what was added, if it is still that, and
//!             begin again
//! ```
//!
//! In the state in which items are copied, applications write the source before the target. So a
//! value that changes or goes away while it is copied is seen in step 3, and what an application
//! wrote at the target is never overwritten. This holds if each kind keeps these rules:
//!
//! - **A version changes with the value.** Two reads of one item that give the same version mean
//!   that the item was not written between them, or that it has the same value again. A version
//!   belongs to one item at one node; versions of two nodes are never compared with each other.
//! - **`add` is atomic and only adds.** The item appears whole or not at all, and never takes the
//!   place of another one, also if that one appears while `add` runs. `read` is a version that the
//!   source had while the value was read, whole. `wrote` is the version of what `add` itself wrote,
//!   even if an application has overwritten it since.
//! - **`remove` removes only that version.** What an application writes meanwhile stays, or the
//!   engine is told `false`; a value that has to be put back for this never replaces a newer one.
//! - **`add` that has returned is durable after `flush`.** Then the journal may say that it is
//!   done.
//! - **Everything can be repeated.** The process may be killed at any moment. After a start the
//!   engine compares what was in flight, and copies it again where it is not equal. What a killed
//!   `add` or `remove` leaves behind is no item, and `clear` removes it.
//! - **`keys` lists every item that was there before and after the listing.** Items that come and
//!   go meanwhile may be missing. Where [`Kind::is_ordered`], the order is the same each time, and
//!   a listing can begin after any name.
//!
//! A kind that holds writers back itself, such as by row locks at the source, returns
//! [`Added::Held`]; then there is no step 3. The last copies are removed by `compare` and `remove`
//! in the same way.
//!
//! The methods are called by several threads at once, also for one node.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

pub use super::about::About;
use super::template::{pieces, Piece};

/// A node, as the kinds see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Its number: nodes are numbered from 0, the same in the whole process.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Its attributes in the fleet.
    pub attributes: Vec<(String, String)>,
}

impl Node {
    /// Fills a [template](super::template).
    ///
    /// Errors: a node without the attribute, or a brace without its other one.
    pub fn fill(&self, template: &str) -> Result<String, Fault> {
        let mut text = String::new();
        for piece in pieces(template).map_err(Fault::of_one_that_is_there)? {
            match piece {
                Piece::Text(part) => text += part,
                Piece::Name("node") => text += &self.name,
                Piece::Name(name) => match self.attributes.iter().find(|(key, _)| key == name) {
                    Some((_, value)) => text += value,
                    None => {
                        return Err(Fault::of_one_that_is_there(format_args!(
                            "{{{name}}} stands for the attribute {name:?}, which node {} does not \
                             have; correct the file of the carry, or add the attribute to the fleet",
                            self.name
                        )))
                    }
                },
            }
        }
        Ok(text)
    }
}

/// What is copied at once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Item {
    /// What the kind calls it: the same at every node. It has at most 64 KiB.
    pub name: Vec<u8>,
    /// The key that decides where it belongs.
    pub key: Vec<u8>,
}

impl Item {
    /// Returns an item that is called by its key.
    pub fn of_key(key: impl Into<Vec<u8>>) -> Item {
        let key = key.into();
        Item {
            name: key.clone(),
            key,
        }
    }

    /// Returns the name for messages, shortened.
    pub fn told(&self) -> String {
        told(&self.name)
    }
}

/// Writes bytes for messages: what cannot be printed is escaped, and all is shortened.
pub fn told(bytes: &[u8]) -> String {
    /// As much as fits into a line beside the words of a message.
    const MOST: usize = 200;
    let is_inside = |end: &usize| bytes.get(*end).is_some_and(|byte| byte & 0xc0 == 0x80);
    let most = bytes.len().min(MOST);
    let end = (0..=most).rev().take(4).find(|end| !is_inside(end));
    let mut text = String::new();
    for chunk in bytes[..end.unwrap_or(most)].utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                // marks that turn the direction of the line round
                '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    text.extend(char.escape_unicode());
                }
                _ if char.is_ascii() => text.extend(
                    char.to_string()
                        .bytes()
                        .flat_map(|byte| std::ascii::escape_default(byte).map(char::from)),
                ),
                _ if char.is_control() => text.extend(char.escape_unicode()),
                _ => text.push(char),
            }
        }
        text += &chunk.invalid().escape_ascii().to_string();
    }
    match bytes.len() > MOST {
        true => text + "...",
        false => text,
    }
}

/// Names an item and its node. A name with blanks is in quotes, so that they are seen.
pub fn told_place(item: &Item, node: &str) -> String {
    let name = item.told();
    match name.is_empty() || name.contains(' ') {
        true => format!("\"{name}\" at node {node}"),
        false => format!("{name} at node {node}"),
    }
}

/// The version of an item at one node. Only the kind that made it looks into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version(pub Vec<u8>);

impl Version {
    /// Returns a hash of it.
    pub fn hash(&self) -> u64 {
        XxHash3_64::oneshot(&self.0)
    }
}

/// What a node holds as a whole: for each part that is not empty, such as a table, a mark that
/// changes when the part is emptied, replaced or restored. A mark may be empty.
pub type Holding = BTreeMap<String, String>;

/// The part of a [`Holding`] whose mark is that of a process: it is another one also where the
/// server was only started again.
pub const OF_PROCESS: &str = "its keys";

/// A moment: seconds and nanoseconds since 1970.
pub type Moment = (i64, i64);

/// The times of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dates {
    /// When its content was written, by its own time, which copies keep.
    pub content: Moment,
    /// When it came to be as it is at its node.
    pub change: Moment,
}

/// Why something could not be done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// What is wrong, where, and what to do, in one line.
    pub line: String,
    /// Whether it may pass by itself, so that the engine tries again after a pause.
    pub passes: bool,
    /// Whether the node can be reached, and is wrong in another way. Advice about a node that is
    /// away would not fit then.
    pub is_there: bool,
}

impl Fault {
    /// A fault of which it is known only whether it may pass.
    pub fn new(line: impl Display, passes: bool) -> Fault {
        Fault {
            line: line.to_string(),
            passes,
            is_there: false,
        }
    }

    /// A fault that may pass by itself, such as a server that is away.
    pub fn passing(line: impl Display) -> Fault {
        Fault::new(line, true)
    }

    /// A fault that does not pass without somebody who mends it.
    pub fn final_one(line: impl Display) -> Fault {
        Fault::new(line, false)
    }

    /// The same of a node that is there, but is not what it should be.
    pub fn of_one_that_is_there(line: impl Display) -> Fault {
        Fault {
            is_there: true,
            ..Fault::final_one(line)
        }
    }

    /// Says at which node it is, unless the line does.
    pub fn at(self, node: &Node) -> Fault {
        match self.line.starts_with("node ") {
            true => self,
            false => Fault {
                line: format!("node {}: {}", node.name, self.line),
                ..self
            },
        }
    }
}

/// The result of what a kind does.
pub type Done<T = ()> = Result<T, Fault>;

/// How an [`add`](Kind::add) ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Added {
    /// The target has what the source had.
    Copied {
        /// The version at the source that was read.
        read: Version,
        /// The version at the target of what was written.
        wrote: Version,
        /// How many bytes were copied, for the limit of bytes a second.
        bytes: u64,
    },
    /// The same, and no application could write the source meanwhile: there is no step 3.
    Held {
        /// How many bytes were copied.
        bytes: u64,
        /// Whether the target had something else, which is gone.
        replaced: bool,
    },
    /// The target has such an item already; it was left as it is.
    Present,
    /// The source has no such item.
    Gone,
}

/// What two nodes have of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The version at the first node; `None` when it has no such item.
    pub first: Option<Version>,
    /// The version at the second node.
    pub second: Option<Version>,
    /// Whether these two versions have the same value. `true` when neither node has the item.
    pub equal: bool,
}

/// Something that ties an item to another one, so that they cannot be carried apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tie {
    /// What they are, in the plural: `rows of items that refer to rows of orders of another key`.
    pub what: String,
    /// One of them.
    pub example: String,
}

/// A disk, of which each node has its own, or which several share.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Disk {
    /// What tells it from all others.
    pub name: String,
    /// How many bytes can be written to it.
    pub free: u64,
}

/// What the root of a node stands on. It stays the same when a machine is started again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ground {
    /// The root.
    pub root: String,
    /// Where the file system is mounted.
    pub mount: String,
    /// What sort of file system it is, such as `ext4`.
    pub system: String,
    /// The id of the file system, where one is known.
    pub id: Option<String>,
    /// The number of the root's inode in it.
    pub inode: u64,
}

impl Ground {
    /// Whether a root still stands on the same.
    pub fn is_same(&self, now: &Ground) -> bool {
        let is_one_disk = self.id.is_some() && self.id == now.id;
        let is_other_disk = self.id.is_some() && now.id.is_some() && self.id != now.id;
        let is_there = self.mount == now.mount && self.system == now.system && !is_other_disk;
        is_there || (is_one_disk && self.inode == now.inode)
    }
}

/// A kind of data: see the head of this module for what it must guarantee.
pub trait Kind: Send + Sync {
    /// Checks that the nodes can be used: reachable, permitted, alike. It changes nothing, and is
    /// called at each start, before anything else.
    fn ready(&self, nodes: &[&Node]) -> Done;

    /// Returns what the root of a node stood on when the node was last ready; `None` where a kind
    /// has no roots.
    fn ground(&self, _node: &Node) -> Option<Ground> {
        None
    }

    /// Clears away what the kind itself needs at a node: what a process that was killed left there,
    /// and at the end of a carry, with `last`, everything.
    fn clear(&self, _node: &Node, _last: bool) -> Done {
        Ok(())
    }

    /// Calls `each` for the items of a node, until `each` returns `false`. Where
    /// [`Kind::is_ordered`], the listing begins after the item of the name `after`, which need not
    /// exist any more. It uses bounded memory, and looks at `stop` when it takes long.
    fn keys(
        &self,
        node: &Node,
        after: Option<&[u8]>,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Item) -> bool,
    ) -> Done;

    /// Whether `keys` has a stable order. Otherwise an interrupted pass begins anew.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Whether nodes forget such an item by themselves, as caches do. Then it is no loss when the
    /// new place lacks it.
    fn may_forget(&self, _item: &Item) -> bool {
        false
    }

    /// How many items like this one the engine gives at once to the methods that take many. They
    /// are handled one after the other by default, so more than 1 is only of use to kinds that
    /// have own ones.
    fn at_once(&self, _item: &Item) -> usize {
        1
    }

    /// Returns the version of an item at a node; `None` when there is no such item.
    fn version(&self, node: &Node, item: &Item) -> Done<Option<Version>>;

    /// Whether the kind knows the times of such an item.
    fn has_times(&self, _item: &Item) -> bool {
        false
    }

    /// Returns when an item came to be as it is, by the clock of its node; `None` when the kind
    /// does not know such times, or when there is no such item.
    fn written(&self, _node: &Node, _item: &Item) -> Done<Option<Moment>> {
        Ok(None)
    }

    /// Returns the times of an item; `None` when the kind does not know them, or when there is no
    /// such item.
    fn dates(&self, _node: &Node, _item: &Item) -> Done<Option<Dates>> {
        Ok(None)
    }

    /// Reads an item at `from`, and puts it in the place of this version at `to`, so that readers
    /// find one of the two at any moment, and no other version is lost. Returns whether it has;
    /// `None` when the kind cannot do so.
    fn replace(
        &self,
        _from: &Node,
        _to: &Node,
        _item: &Item,
        _version: &Version,
    ) -> Done<Option<bool>> {
        Ok(None)
    }

    /// Reads an item at `from`, and adds it at `to` if there is none.
    fn add(&self, from: &Node, to: &Node, item: &Item) -> Done<Added>;

    /// Compares an item at two nodes.
    fn compare(&self, first: &Node, second: &Node, item: &Item) -> Done<Compared>;

    /// Removes an item at a node if it still has this version. Returns whether the node has no such
    /// item now.
    fn remove(&self, node: &Node, item: &Item, version: &Version) -> Done<bool>;

    /// Makes durable what was added to a node.
    fn flush(&self, _node: &Node) -> Done {
        Ok(())
    }

    /// Clears away what only held an item that is gone for good, such as its directory. No
    /// application uses this node for this key any more.
    fn tidy(&self, _node: &Node, _item: &Item) -> Done {
        Ok(())
    }

    /// Returns how many bytes each of these items takes of the disk of its node, about; `None` when
    /// the kind does not know. An item that is gone takes none.
    fn size_all(&self, _node: &Node, items: &[&Item]) -> Vec<Done<Option<u64>>> {
        items.iter().map(|_| Ok(None)).collect()
    }

    /// Returns the disk of a node; `None` when the kind does not know it.
    fn disk(&self, _node: &Node) -> Done<Option<Disk>> {
        Ok(None)
    }

    /// [`Kind::add`] for several items from one node to another.
    fn add_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Added>> {
        items.iter().map(|item| self.add(from, to, item)).collect()
    }

    /// [`Kind::version`] for several items of one node.
    fn version_all(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<Version>>> {
        items.iter().map(|item| self.version(node, item)).collect()
    }

    /// [`Kind::compare`] for several items of the same two nodes.
    fn compare_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<Compared>> {
        let compare = |item: &&Item| self.compare(first, second, item);
        items.iter().map(compare).collect()
    }

    /// [`Kind::remove`] for several items of one node.
    fn remove_all(&self, node: &Node, items: &[(&Item, &Version)]) -> Vec<Done<bool>> {
        let remove = |(item, version): &(&Item, &Version)| self.remove(node, item, version);
        items.iter().map(remove).collect()
    }

    /// Says in one line what lies at the nodes although no item does, and what to do: then it is
    /// likely that the options name other data than the data to be carried. `None` when a node has
    /// an item, or none has anything. It ends at the first item.
    fn overlooked(&self, _nodes: &[&Node]) -> Done<Option<String>> {
        Ok(None)
    }

    /// Says in a few words what the kind noticed and left alone, for the report.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Says what else than a program that breaks the rules makes two places differ, for messages
    /// that name such programs: it follows them after a comma.
    fn differs_also(&self) -> &'static str {
        ""
    }

    /// Returns what the options say about which items there are. It is known after
    /// [`Kind::ready`] was called with at least one node.
    fn about(&self) -> About;

    /// Returns what a node holds as a whole. It may leave a mark at the node, which
    /// [`Kind::clear`] removes at the end. What a node may forget by itself is not in it. With
    /// `doubts`, marks change also where it is only possible that something is lost.
    fn holding(&self, node: &Node, _doubts: bool) -> Done<Holding> {
        let mut holds = false;
        let mut each = |item: Item| {
            holds = !self.may_forget(&item);
            false
        };
        self.keys(node, None, &AtomicBool::new(false), &mut each)?;
        let part = holds.then(|| ("its items".to_owned(), String::new()));
        Ok(part.into_iter().collect())
    }

    /// Returns what ties items of a node to others.
    fn ties(&self, _node: &Node, _items: &[&Item]) -> Done<Vec<Tie>> {
        Ok(Vec::new())
    }

    /// Says why nothing more may be done in this run, such as a table that was changed.
    fn halted(&self) -> Option<String> {
        None
    }

    /// Returns how many of the things it has listed are no items, so that they are left alone.
    fn left_alone(&self) -> u64 {
        0
    }
}

/// Does something with many items at once; when that fails, with one after the other, so that one
/// item does not hold the others back.
pub fn each_or_all<T>(
    count: usize,
    mut work: impl FnMut(std::ops::Range<usize>) -> Done<Vec<T>>,
) -> Vec<Done<T>> {
    match work(0..count) {
        Ok(all) => all.into_iter().map(Ok).collect(),
        Err(fault) if count == 1 => vec![Err(fault)],
        Err(_) => (0..count)
            .map(|place| work(place..place + 1).map(|mut one| one.remove(0)))
            .collect(),
    }
}

/// Returns the one result of a method for many items that was given one.
pub fn only<T>(mut list: Vec<Done<T>>) -> Done<T> {
    list.remove(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_where_they_can_be_printed() {
        assert_eq!(told("Grüße 🙂".as_bytes()), "Grüße 🙂");
        assert_eq!(told(b"a\n\xff\x1b[1m"), "a\\n\\xff\\x1b[1m");
        assert_eq!(told("a\u{202e}b\u{85}".as_bytes()), "a\\u{202e}b\\u{85}");
        // it is cut between two characters
        for blanks in 0..4 {
            let name = " ".repeat(blanks) + &"ü🙂".repeat(60);
            let text = told(name.as_bytes());
            let kept = text.strip_suffix("...").unwrap();
            assert!(name.starts_with(kept) && kept.len() > 196, "{text}");
        }
    }

    #[test]
    fn a_template_takes_the_name_and_the_attributes() {
        let node = Node {
            number: 0,
            name: "a".into(),
            attributes: vec![("mount".into(), "/srv/1".into())],
        };
        let fill = |text: &str| node.fill(text);
        assert_eq!(fill("{mount}/x/{node}").unwrap(), "/srv/1/x/a");
        assert_eq!(fill("{{{node}}}").unwrap(), "{a}");
        assert_eq!(fill("plain").unwrap(), "plain");
        for (text, part) in [
            ("{port}", "attribute \"port\""),
            ("{node", "brace"),
            ("x}", "brace"),
        ] {
            let fault = fill(text).unwrap_err();
            assert!(!fault.passes && fault.line.contains(part), "{fault:?}");
            // the node is not away
            assert!(fault.is_there);
        }
    }
}
