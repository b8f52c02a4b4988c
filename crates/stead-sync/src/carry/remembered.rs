//! What the pass that checks has seen at the old places, as long as the process lives: so the pass
//! that removes knows of a value that differs, or that the new place lacks, whether somebody has
//! written the old place since. Applications write and delete at the new places alone by then.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use twox_hash::XxHash3_64;

use super::kind::{Item, Node};

/// The most items that are remembered, each as two hashes of 8 bytes. Of further items nothing is
/// known.
const MOST: usize = 2_000_000;

/// The hashes of what was seen, by those of nodes and names.
#[derive(Default)]
pub struct Remembered(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    versions: HashMap<u64, u64>,
    /// whether all that was seen is remembered
    is_whole: bool,
}

/// What is known about an old copy: what has become of it since the check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Since {
    /// It is as it was, so the new place has changed.
    Same,
    /// Somebody has written it.
    Written,
    /// Nothing is known.
    Unknown,
}

fn place(node: &Node, item: &Item) -> u64 {
    // names of nodes have no zero bytes
    XxHash3_64::oneshot(&[node.name.as_bytes(), b"\0", &item.name].concat())
}

impl Remembered {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what was seen, as a check begins.
    pub fn begin(&self) {
        *self.seen() = Seen {
            versions: HashMap::new(),
            is_whole: true,
        };
    }

    /// Remembers the hash of the version that an old place has.
    pub fn add(&self, node: &Node, item: &Item, version: u64) {
        let mut seen = self.seen();
        match seen.versions.len() < MOST {
            true => {
                seen.versions.insert(place(node, item), version);
            }
            false => seen.is_whole = false,
        }
    }

    /// Says what is known of an old copy whose version has this hash. `was_listed` says whether the
    /// check has seen all old copies like this one.
    pub fn since(&self, node: &Node, item: &Item, version: u64, was_listed: bool) -> Since {
        let seen = self.seen();
        match seen.versions.get(&place(node, item)) {
            Some(then) if *then == version => Since::Same,
            Some(_) => Since::Written,
            None if seen.is_whole && was_listed => Since::Written,
            None => Since::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_seen_is_known() {
        let node = |number: usize| Node {
            number,
            name: format!("n{number}"),
            attributes: Vec::new(),
        };
        let (a, b) = (node(0), node(1));
        let item = |name: &str| Item::of_key(name);
        let remembered = Remembered::default();
        // another process has checked
        assert_eq!(remembered.since(&a, &item("x"), 1, true), Since::Unknown);
        remembered.begin();
        remembered.add(&a, &item("x"), 1);
        for (node, name, version, was_listed, since) in [
            (&a, "x", 1, true, Since::Same),
            (&a, "x", 2, true, Since::Written),
            (&a, "y", 1, true, Since::Written),
            (&b, "x", 1, true, Since::Written),
            (&b, "x", 1, false, Since::Unknown),
        ] {
            assert_eq!(
                remembered.since(node, &item(name), version, was_listed),
                since,
                "{name}"
            );
        }
        remembered.begin();
        assert_eq!(remembered.since(&a, &item("x"), 1, true), Since::Written);
    }
}
