//! Where each file lives now: by one map, or by two while files move from the places of one to
//! those of the other.
//!
//! The settled map says where every file is that has not moved. While there is a target, a file
//! that has moved is where the target says. Backends are known by small numbers that stay the same
//! while the router runs; a node of a map is the backend of its name.

use std::collections::HashSet;

use smallvec::SmallVec;
use stead::Map;

/// The number of a backend.
pub type BackendId = u16;

/// The backends of a file, primary first, each once.
pub type Copies = SmallVec<[BackendId; 4]>;

/// A map, and the backends of its nodes.
pub struct Placement {
    map: Map,
    /// by the node's number in the map
    places: Vec<BackendId>,
}

impl Placement {
    /// The map with the backend of each node, in the order of its nodes.
    pub fn new(map: Map, places: Vec<BackendId>) -> Placement {
        Placement { map, places }
    }

    /// The map.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// The backends of all nodes.
    pub fn all(&self) -> &[BackendId] {
        &self.places
    }

    /// The backends of a file.
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
    /// All files are where this map says.
    pub fn new(settled: Placement) -> Layout {
        Layout {
            settled,
            target: None,
            moved: HashSet::new(),
            version: 0,
        }
    }

    /// A number that changes whenever the places of some file change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The map by which files are placed that have not moved.
    pub fn settled(&self) -> &Placement {
        &self.settled
    }

    /// The map to whose places files are moving.
    pub fn target(&self) -> Option<&Placement> {
        self.target.as_ref()
    }

    /// Files move to the places of this map from now on; these have already.
    pub fn move_to(&mut self, target: Placement, moved: HashSet<Vec<u8>>) {
        (self.target, self.moved) = (Some(target), moved);
        self.version += 1;
    }

    /// The same map or the same places with other attributes: no file moves. Each node's backend,
    /// in the order of the map's nodes.
    pub fn replace(&mut self, settled: Placement) {
        self.settled = settled;
        self.version += 1;
    }

    /// This file has moved.
    pub fn moved(&mut self, name: &[u8]) {
        self.moved.insert(name.to_vec());
        self.version += 1;
    }

    /// Whether it has.
    pub fn has_moved(&self, name: &[u8]) -> bool {
        self.moved.contains(name)
    }

    /// How many have.
    pub fn moved_count(&self) -> usize {
        self.moved.len()
    }

    /// Every file is where the target says.
    pub fn settle(&mut self) {
        if let Some(target) = self.target.take() {
            self.settled = target;
            self.moved = HashSet::new();
            self.version += 1;
        }
    }

    /// The backends that have the file, or would have it.
    pub fn now(&self, name: &[u8]) -> Copies {
        match &self.target {
            Some(target) if self.moved.contains(name) => target.places(name),
            _ => self.settled.places(name),
        }
    }

    /// Those that have it, and those that may get it: what the log names.
    pub fn ever(&self, name: &[u8]) -> Copies {
        let mut places = self.settled.places(name);
        for place in self.target.iter().flat_map(|target| target.places(name)) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// The old and the new places of a file that has still to move; `None` when it has moved, or
    /// has not to.
    pub fn to_move(&self, name: &[u8]) -> Option<(Copies, Copies)> {
        let target = self
            .target
            .as_ref()
            .filter(|_| !self.moved.contains(name))?;
        let (old, new) = (self.settled.places(name), target.places(name));
        let same = old.len() == new.len() && old.iter().all(|place| new.contains(place));
        (!same).then_some((old, new))
    }

    /// The backends of both maps.
    pub fn all(&self) -> Vec<BackendId> {
        let mut all = self.settled.places.clone();
        all.extend(self.target.iter().flat_map(|target| &target.places));
        all.sort_unstable();
        all.dedup();
        all
    }
}
