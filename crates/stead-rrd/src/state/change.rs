//! The changes of the directory, as a copy on another machine gets them.

use std::io;

/// A change of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Every file is where this map places it.
    Settled(Vec<u8>),
    /// Files begin to move to the places of this map.
    Target(Vec<u8>),
    /// Files have moved: their names, each with a line end.
    Moved(Vec<u8>),
    /// The repair queue, as it is stored.
    Repairs(Vec<u8>),
    /// The move that goes on by itself, as it is stored; empty if there is none.
    Moving(Vec<u8>),
}

impl Change {
    /// Returns the letter of its kind, and its bytes.
    pub fn parts(&self) -> (u8, &[u8]) {
        match self {
            Change::Settled(bytes) => (b's', bytes),
            Change::Target(bytes) => (b't', bytes),
            Change::Moved(bytes) => (b'm', bytes),
            Change::Repairs(bytes) => (b'r', bytes),
            Change::Moving(bytes) => (b'g', bytes),
        }
    }

    /// Returns the change of this letter and these bytes.
    pub fn of(kind: u8, bytes: Vec<u8>) -> Option<Change> {
        Some(match kind {
            b's' => Change::Settled(bytes),
            b't' => Change::Target(bytes),
            b'm' => Change::Moved(bytes),
            b'r' => Change::Repairs(bytes),
            b'g' => Change::Moving(bytes),
            _ => return None,
        })
    }
}

/// A copy of the directory on another machine. It has each change before this router acts on it.
pub trait Mirror: Send + Sync {
    /// Returns when the copy has the change on its disk. Blocks. After an error, the copy may have
    /// it or not. If this succeeds, [`done`](Mirror::done) has to follow.
    fn change(&self, change: &Change) -> io::Result<()>;

    /// Reports whether the change is on this machine's disk, too. If it is not, the copy is made
    /// equal again before the router goes on.
    fn done(&self, is_here: bool);

    /// Reports that the progress of the checks was stored. A copy may do without it.
    fn checked(&self);
}
