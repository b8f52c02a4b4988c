//! Where each file lives now: by one map, or by two maps while files move from the places of the
//! first map to those of the second.
//!
//! The settled map places every file that has not moved. While there is a target, a file that has
//! moved is where the target places it. Backends are identified by small numbers that stay the same
//! while the router runs; a node of a map stands for the backend of the same name.

use std::collections::HashSet;

use smallvec::SmallVec;
use stead::Map;

/// The number of a backend.
pub type BackendId = u16;

/// The backends of a file, primary first, each only once.
pub type Copies = SmallVec<[BackendId; 4]>;

/// A map with the backend of each of its nodes.
pub struct Placement {
    map: Map,
    /// indexed by the node's number in the map
    places: Vec<BackendId>,
}

impl Placement {
    /// Joins a map and the backend of each node, in the order of the map's nodes.
    pub fn new(map: Map, places: Vec<BackendId>) -> Placement {
        Placement { map, places }
    }

    /// Returns the map.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Returns the backends of all nodes.
    pub fn all(&self) -> &[BackendId] {
        &self.places
    }

    /// Returns the backends of a file.
    pub fn places(&self, name: &[u8]) -> Copies {
        let mut found = Copies::new();
        for node in self.map.locate_all(name) {
            if let Some(place) = self
                .places
                .get(node.index())
                .filter(|place| !found.contains(place))
            {
                found.push(*place);
            }
        }
        found
    }
}

/// Where each file lives.
pub struct Layout {
    settled: Placement,
    target: Option<Placement>,
    moved: HashSet<Vec<u8>>,
    version: u64,
}

impl Layout {
    /// Returns a layout in which all files are where `settled` places them.
    pub fn new(settled: Placement) -> Layout {
        Layout {
            settled,
            target: None,
            moved: HashSet::new(),
            version: 0,
        }
    }

    /// Returns a number that changes whenever the places of any file change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the map that places the files that have not moved.
    pub fn settled(&self) -> &Placement {
        &self.settled
    }

    /// Returns the map to whose places files are moving.
    pub fn target(&self) -> Option<&Placement> {
        self.target.as_ref()
    }

    /// Makes `target` the map to whose places files move from now on. The files in `moved` have
    /// moved already.
    pub fn move_to(&mut self, target: Placement, moved: HashSet<Vec<u8>>) {
        (self.target, self.moved) = (Some(target), moved);
        self.version += 1;
    }

    /// Replaces the settled map by one that has the same places, perhaps with other attributes. No
    /// file moves.
    pub fn replace(&mut self, settled: Placement) {
        self.settled = settled;
        self.version += 1;
    }

    /// Records that a file has moved.
    pub fn moved(&mut self, name: &[u8]) {
        self.moved.insert(name.to_vec());
        self.version += 1;
    }

    /// Returns whether a file has moved.
    pub fn has_moved(&self, name: &[u8]) -> bool {
        self.moved.contains(name)
    }

    /// Returns how many files have moved.
    pub fn moved_count(&self) -> usize {
        self.moved.len()
    }

    /// Makes the target the settled map: every file is where the target places it.
    pub fn settle(&mut self) {
        if let Some(target) = self.target.take() {
            self.settled = target;
            self.moved = HashSet::new();
            self.version += 1;
        }
    }

    /// Returns the backends that have the file now, or would have it if it existed.
    pub fn now(&self, name: &[u8]) -> Copies {
        match &self.target {
            Some(target) if self.moved.contains(name) => target.places(name),
            _ => self.settled.places(name),
        }
    }

    /// Returns the backends that have the file and those that may get it. The log records writes
    /// for all of them.
    pub fn ever(&self, name: &[u8]) -> Copies {
        let mut places = self.settled.places(name);
        for place in self.target.iter().flat_map(|target| target.places(name)) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Returns the old and the new places of a file that still has to move. Returns `None` if it
    /// has moved or need not move.
    pub fn to_move(&self, name: &[u8]) -> Option<(Copies, Copies)> {
        let target = self
            .target
            .as_ref()
            .filter(|_| !self.moved.contains(name))?;
        let (old, new) = (self.settled.places(name), target.places(name));
        let same = old.len() == new.len() && old.iter().all(|place| new.contains(place));
        (!same).then_some((old, new))
    }

    /// Returns the backends of both maps.
    pub fn all(&self) -> Vec<BackendId> {
        let mut all = self.settled.places.clone();
        all.extend(self.target.iter().flat_map(|target| &target.places));
        all.sort_unstable();
        all.dedup();
        all
    }
}
