//! A pair: the map, and the map where the data was, as long as a carry brings it from one to the
//! other. It answers which nodes to read a key from and which to write it to.
//!
//! ```text
//!           first come the nodes of      then, where they are not yet named, those of
//! old              the old map
//! both_old_first   the old map           the new map
//! both_new_first   the new map           the old map
//! new, no carry    the new map
//! ```
//!
//! A key is hashed once for both maps. A list is read in place from both; nothing is allocated,
//! except for policies of more than 64 nodes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::carry::{is_from, Carry, State};
use crate::error::{Error, Result, Status};
use crate::map::{Map, Marks, Members, Node};
use crate::memory;
use crate::plan::same_nodes;
use crate::point::Point;
use crate::policy::{NodeId, NODES_MAX};

/// The longest list that is searched from its start. A longer one has a set beside it.
const SHORT: usize = 64;

/// A map, and the map where its data was while a carry is open.
///
/// Nodes have the numbers of the pair: the nodes of the new map have their own, and those that only
/// the old map has follow, in the order of names. A node that was renamed is one node, under its
/// new name. Any number of threads may use a `&Pair` at once; a clone shares the maps.
///
/// Take a pair at the start of a request, and use it to the end. In a program that runs for long,
/// [`Follower::get`](crate::Follower::get) gives the pair that its file has now.
///
/// # When nodes are down
///
/// [`Pair::reads`] lists every node that has a key, in the order in which they stand in for each
/// other, so data that cannot be computed again is on no other node. A cache can go on to further
/// nodes, which [`Map::prefer`] of [`Pair::new_map`] gives: their numbers are those of the pair,
/// too.
#[derive(Clone, Debug)]
pub struct Pair {
    new: Arc<Map>,
    old: Option<Arc<Old>>,
    state: Option<State>,
    /// whether a policy of the new map may name a node twice
    twice: bool,
}

/// The map where the data was.
#[derive(Debug)]
struct Old {
    map: Arc<Map>,
    /// the number in the pair of each node
    numbers: Vec<NodeId>,
    /// the nodes that the new map does not have
    gone: Vec<NodeId>,
    /// whether a policy of the map may name a node twice
    twice: bool,
}

impl Old {
    fn beside(new: &Map, map: Arc<Map>) -> Result<Old> {
        let same = same_nodes(&map, new)?;
        let (mut numbers, mut gone) = (memory::empty(same.len())?, Vec::new());
        let count = new.nodes().len() as u32;
        for (old, new) in (0..).map(NodeId).zip(same) {
            let new = match new {
                Some(new) => new,
                None => {
                    memory::push(&mut gone, old)?;
                    NodeId(count + gone.len() as u32 - 1)
                }
            };
            numbers.push(new);
        }
        Ok(Old {
            numbers,
            gone,
            twice: map.may_list_twice(),
            map,
        })
    }
}

impl Pair {
    /// Opens a map file, and, while a carry is open, the map where the data was: the file
    /// `MAP.history/EPOCH`, beside the path or beside what a symbolic link leads to. Both come from
    /// the cache of open maps, and what belongs to both is computed once for each new epoch: see
    /// [`Map::open`] for the cost.
    ///
    /// Errors: those of [`Map::open`]; `NotFound` when the history lacks the old map, and
    /// `Identity` when it has another one under its number.
    #[cfg(unix)]
    pub fn open(path: impl AsRef<Path>) -> Result<Pair> {
        let path = path.as_ref();
        Pair::of_map(Map::open(path)?, path, |path| Map::open(path))
    }

    /// Opens a pair as [`Pair::open`] does, and reads both maps into memory whatever their size, as
    /// [`Map::open_copy`].
    #[cfg(unix)]
    pub fn open_copy(path: impl AsRef<Path>) -> Result<Pair> {
        let path = path.as_ref();
        Pair::of_map(Map::open_copy(path)?, path, |path| Map::open_copy(path))
    }

    /// Opens a map file and an epoch of its history, as if a carry from that epoch were open in
    /// this state. It does not matter whether one is.
    ///
    /// Errors: those of [`Map::open`]; `NotFound` when the history lacks the epoch; `Identity` when
    /// its file is another map's.
    #[cfg(unix)]
    pub fn open_from(path: impl AsRef<Path>, epoch: u64, state: State) -> Result<Pair> {
        let path = path.as_ref();
        let new = Map::open(path)?;
        if new.epoch() == epoch {
            return Pair::between(Arc::clone(&new), new, state);
        }
        let (file, old) = of_history(path, epoch, |path| Map::open(path));
        let old = old?;
        if old.epoch() != epoch || old.map_id() != new.map_id() {
            return Err(Error::Identity {
                problem: format!(
                    "{}: this is not epoch {epoch} of `{}`, but epoch {} of `{}`; copy the right \
                     one there",
                    file.display(),
                    new.name(),
                    old.epoch(),
                    old.name()
                ),
            });
        }
        Pair::between(old, new, state)
    }

    /// Makes a pair of two maps, as if a carry from the old one to the new one were open in this
    /// state.
    ///
    /// Errors: `Identity` when the maps belong to different clusters. Cost: one pass over the nodes
    /// of both maps.
    pub fn between(old: Arc<Map>, new: Arc<Map>, state: State) -> Result<Pair> {
        let old = Old::beside(&new, old)?;
        Ok(Pair::of(new, Some((Arc::new(old), state))))
    }

    fn of(new: Arc<Map>, old: Option<(Arc<Old>, State)>) -> Pair {
        let (old, state) = old.unzip();
        Pair {
            twice: new.may_list_twice(),
            new,
            old,
            state,
        }
    }

    fn of_map(
        new: Arc<Map>,
        path: &Path,
        open: impl Fn(&Path) -> Result<Arc<Map>>,
    ) -> Result<Pair> {
        let Some(carry) = new.carry() else {
            return Ok(Pair::of(new, None));
        };
        // the old map is kept beside the new one, which the cache holds
        let old = new.beside(|| {
            let old = old_map(&new, &carry, path, &open)?;
            Old::beside(&new, old).map(Arc::new)
        })?;
        let old = Arc::clone(old);
        Ok(Pair::of(new, Some((old, carry.state))))
    }

    /// Makes a pair of one map, as if no carry were open: it answers like the map.
    pub fn alone(map: Arc<Map>) -> Pair {
        Pair::of(map, None)
    }

    /// Returns the node with this name: of the new map, or one that only the old map has.
    pub fn named(&self, name: &str) -> Option<NodeId> {
        if let Some(node) = self.new.node_named(name) {
            return Some(node.id);
        }
        let old = self.old.as_ref()?;
        let number = old.map.node_named(name)?.id;
        // a node that was renamed has its new name alone
        old.gone.contains(&number).then_some(())?;
        old.numbers.get(number.index()).copied()
    }

    /// Returns the state; `None` when no carry is open.
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// Returns the map where the data will be, or is.
    pub fn new_map(&self) -> &Arc<Map> {
        &self.new
    }

    /// Returns the map where the data was; `None` when no carry is open.
    pub fn old_map(&self) -> Option<&Arc<Map>> {
        self.old.as_ref().map(|old| &old.map)
    }

    /// Returns the nodes to read a key from, in this order. The first node that answers decides,
    /// also when it answers that there is no such key. Go on to the next node only when one does
    /// not answer at all: docs/placement.md, "Carry", says why. A new place is not among them while
    /// data is copied to it. Their numbers are those of the pair: ask [`Pair::node`],
    /// [`Pair::name`] or [`Pair::attribute`], and not one of its maps.
    #[inline]
    pub fn reads(&self, key: &[u8]) -> Nodes<'_> {
        self.reads_point(self.new.point(key))
    }

    /// Returns the nodes to write a key to, or to delete it from, in this order. The write is done
    /// when all of them have it. Their numbers are those of the pair, as with [`Pair::reads`].
    #[inline]
    pub fn writes(&self, key: &[u8]) -> Nodes<'_> {
        self.writes_point(self.new.point(key))
    }

    /// Returns the nodes to read the keys of a point from, as [`Pair::reads`].
    #[inline]
    pub fn reads_point(&self, point: Point) -> Nodes<'_> {
        match (&self.old, self.state) {
            // what is not copied yet would be missed at the new places
            (Some(old), Some(State::BothOldFirst)) => Nodes::of(Side::old(old, point), None),
            _ => self.nodes_of(point),
        }
    }

    /// Returns the nodes to write the keys of a point to, as [`Pair::writes`].
    #[inline]
    pub fn writes_point(&self, point: Point) -> Nodes<'_> {
        self.nodes_of(point)
    }

    /// Whether the two maps answer differently for a key: other nodes, or the same in another
    /// order. Where they do not, every state reads and writes the same nodes. `false` when no carry
    /// is open.
    #[inline]
    pub fn moved(&self, key: &[u8]) -> bool {
        self.moved_point(self.new.point(key))
    }

    /// Whether the two maps answer differently for the keys of a point, as [`Pair::moved`].
    pub fn moved_point(&self, point: Point) -> bool {
        let Some(old) = &self.old else {
            return false;
        };
        let (before, after) = (Side::old(old, point), Side::new(self, point));
        let differs = |place| before.get(place) != after.get(place);
        before.len() != after.len() || (0..after.len()).any(differs)
    }

    /// Returns the nodes of many keys, each with its position, in the order of the keys. It calls
    /// `row` once for each key. Cost: that of locating the keys in both maps.
    pub fn reads_many<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut row: impl FnMut(usize, Nodes<'_>),
    ) {
        for (place, key) in keys.into_iter().enumerate() {
            row(place, self.reads(key.as_ref()));
        }
    }

    /// Returns the number of nodes, those of both maps.
    pub fn node_count(&self) -> usize {
        let gone = self.old.as_ref().map_or(0, |old| old.gone.len());
        self.new.nodes().len() + gone
    }

    /// Returns the map that has a node, and the number of the node in it: the new map, or the old
    /// one where only this has the node. `None` when there is no node with this number.
    pub fn origin(&self, node: NodeId) -> Option<(&Arc<Map>, NodeId)> {
        let own = self.new.nodes().len();
        match node.index().checked_sub(own) {
            None => Some((&self.new, node)),
            Some(place) => {
                let old = self.old.as_ref()?;
                Some((&old.map, *old.gone.get(place)?))
            }
        }
    }

    /// Returns a node: that of the new map, or that of the old map where only this one has it. The
    /// field `id` of the node is its number in that map.
    ///
    /// Errors: `Invalid` when there is no node with this number, where [`Map::node`] panics. A
    /// number that the pair itself gave has a node.
    pub fn node(&self, node: NodeId) -> Result<Node<'_>> {
        let (map, number) = self.origin(node).ok_or_else(|| Error::Invalid {
            problem: format!(
                "there is no node {}; the pair has {} nodes, numbered from 0",
                node.0,
                self.node_count()
            ),
        })?;
        Ok(map.node(number))
    }

    /// Returns the name of a node; empty when there is no node with this number, where
    /// [`Pair::node`] returns an error.
    pub fn name(&self, node: NodeId) -> &str {
        self.node(node).map_or("", |node| node.name())
    }

    /// Returns an attribute of a node; `None` when it has none of this name, or when there is no
    /// node with this number.
    pub fn attribute(&self, node: NodeId, name: &str) -> Option<&str> {
        self.node(node).ok()?.attribute(name)
    }

    #[inline]
    fn nodes_of(&self, point: Point) -> Nodes<'_> {
        let new = Side::new(self, point);
        let (Some(old), Some(state)) = (&self.old, self.state) else {
            return Nodes::of(new, None);
        };
        let old = || Side::old(old, point);
        match state {
            State::Old => Nodes::of(old(), None),
            State::BothOldFirst => Nodes::of(old(), Some(new)),
            State::BothNewFirst => Nodes::of(new, Some(old())),
            State::New => Nodes::of(new, None),
        }
    }
}

/// Opens the map where the data was.
fn old_map(
    new: &Map,
    carry: &Carry,
    path: &Path,
    open: impl Fn(&Path) -> Result<Arc<Map>>,
) -> Result<Arc<Map>> {
    let why = format!(
        "epoch {} of `{}` has a carry open, and this is the map where its data was",
        new.epoch(),
        new.name()
    );
    let help = format!(
        "{why}; `stead-sync pull` or a watch brings it; else copy it from the host that published it"
    );
    let (file, old) = of_history(path, carry.from_epoch, open);
    let old = old.map_err(|error| match error {
        Error::Io {
            action,
            file,
            source,
            advice,
        } => {
            // the file is there, and its own advice says whose it is
            let advice = match source.kind() {
                ErrorKind::PermissionDenied => {
                    format!("; {why}: let the readers of the map read its history{advice}")
                }
                _ => format!("; {help}"),
            };
            Error::Io {
                action,
                file,
                source,
                advice,
            }
        }
        error => error,
    })?;
    match is_from(carry, &old) {
        Err(error) if error.status() == Status::Identity => Err(Error::Identity {
            problem: format!(
                "{}: {error}, from the host that published it",
                file.display()
            ),
        }),
        other => other.map(|()| old),
    }
}

/// Opens an epoch of the history of a map, which is beside the path, or beside the file that a
/// symbolic link leads to. Returns where that is, too.
fn of_history(
    path: &Path,
    epoch: u64,
    open: impl Fn(&Path) -> Result<Arc<Map>>,
) -> (PathBuf, Result<Arc<Map>>) {
    let file = in_history(path, epoch);
    let opened = open(&file);
    let is_missing = matches!(&opened, Err(error) if error.status() == Status::NotFound);
    let is_link = is_missing
        && path
            .symlink_metadata()
            .is_ok_and(|found| found.is_symlink());
    match is_link.then(|| path.canonicalize()) {
        Some(Ok(target)) => {
            let file = in_history(&target, epoch);
            let opened = open(&file);
            (file, opened)
        }
        _ => (file, opened),
    }
}

/// The file of an epoch in the history of a map.
fn in_history(path: &Path, epoch: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".history/{epoch}"));
    PathBuf::from(name)
}

/// The nodes of one map for a point, under their numbers in the pair.
#[derive(Clone)]
struct Side<'a> {
    members: Members<'a>,
    /// the numbers in the pair, if they are not those of the map
    numbers: Option<&'a [NodeId]>,
    /// whether a policy of the map may name a node twice
    twice: bool,
}

impl<'a> Side<'a> {
    #[inline]
    fn new(pair: &'a Pair, point: Point) -> Side<'a> {
        Side {
            members: pair.new.locate_all_point(point),
            numbers: None,
            twice: pair.twice,
        }
    }

    #[inline]
    fn old(old: &'a Old, point: Point) -> Side<'a> {
        Side {
            members: old.map.locate_all_point(point),
            numbers: Some(&old.numbers),
            twice: old.twice,
        }
    }

    /// Returns how many nodes the list has, doubles included.
    #[inline]
    fn len(&self) -> usize {
        self.members.len()
    }

    #[inline]
    fn get(&self, place: usize) -> Option<NodeId> {
        let node = self.members.get(place)?;
        match self.numbers {
            None => Some(node),
            // the bytes of a mapped file may have been overwritten
            Some(numbers) => numbers.get(node.index()).copied(),
        }
    }

    /// Whether one of the first nodes of the list is this one.
    #[inline]
    fn names(&self, node: NodeId, before: usize) -> bool {
        (0..before).any(|place| self.get(place) == Some(node))
    }
}

/// Nodes to read from or to write to, in order, each once.
#[derive(Clone)]
pub struct Nodes<'a> {
    first: Side<'a>,
    then: Option<Side<'a>>,
    /// the place in both lists together
    place: usize,
    /// the nodes that were named, where there may be many
    named: Option<Marks>,
}

impl<'a> Nodes<'a> {
    #[inline]
    fn of(first: Side<'a>, then: Option<Side<'a>>) -> Nodes<'a> {
        let many = first.len() > SHORT && (first.twice || then.is_some());
        Nodes {
            first,
            then,
            place: 0,
            // the numbers of a pair are those of the nodes of two maps
            named: many.then(|| Marks::new(2 * NODES_MAX)),
        }
    }

    /// Whether the node at this place was named before.
    #[inline]
    fn is_double(&mut self, place: usize, node: NodeId) -> bool {
        if let Some(named) = &mut self.named {
            return !named.mark(node.0);
        }
        let own = self.first.len();
        if place < own {
            return self.first.twice && self.first.names(node, place);
        }
        let then = self.then.as_ref();
        self.first.names(node, own)
            || then.is_some_and(|then| then.twice && then.names(node, place - own))
    }
}

impl Iterator for Nodes<'_> {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        loop {
            let (place, own) = (self.place, self.first.len());
            let node = match place.checked_sub(own) {
                None => self.first.get(place)?,
                Some(place) => self.then.as_ref()?.get(place)?,
            };
            self.place += 1;
            if !self.is_double(place, node) {
                return Some(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, carry, Fleet};

    #[test]
    fn a_history_that_may_not_be_read_is_not_told_as_missing() {
        let fleet = |node: &str| {
            let text = format!("name = 'm'\nnode = [{{name = 'a'}}, {{name = '{node}'}}]");
            Fleet::parse(&text, "fleet").unwrap()
        };
        let old = build(&fleet("b"), None).unwrap();
        let new = build(&fleet("c"), Some(&old)).unwrap();
        let new = carry::begin(Some(&old), &new).unwrap().unwrap();
        let open = new.carry().unwrap();
        let told = |kind: ErrorKind| {
            let fails = |path: &Path| Err(Error::io("open", path, kind.into()));
            let error = old_map(&new, &open, Path::new("/x/m.map"), fails).unwrap_err();
            error.to_string()
        };
        let denied = told(ErrorKind::PermissionDenied);
        assert!(denied.contains("let the readers of the map read its history"));
        assert!(!denied.contains("copy it"), "{denied}");
        assert!(told(ErrorKind::NotFound).contains("copy it from the host"));
    }

    #[test]
    fn a_number_of_no_node_has_no_name_and_a_node_has_its_attributes_by_name() {
        let text = "name = 'm'\nnode = [{name = 'a', attributes = {address = '::1', z = '1'}}]";
        let map = build(&Fleet::parse(text, "fleet").unwrap(), None).unwrap();
        let pair = Pair::alone(Arc::new(map));
        let (node, none) = (pair.reads(b"frank").next().unwrap(), NodeId(1));
        let found = pair.node(node).unwrap();
        assert_eq!(found.attribute("address"), Some("::1"));
        assert_eq!(
            (found.attribute("z"), found.attribute("y")),
            (Some("1"), None)
        );
        assert_eq!(format!("{found:?}"), "Node(0 \"a\")");
        assert_eq!(pair.attribute(node, "address"), Some("::1"));
        assert_eq!(pair.node(none).unwrap_err().status(), Status::Invalid);
        assert_eq!(
            (pair.name(none), pair.attribute(none, "address")),
            ("", None)
        );
    }
}
