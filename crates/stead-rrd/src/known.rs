//! What the router knows of files: their shapes and last times, as far as there is room.
//!
//! The router learns a file when its first UPDATE comes, and forgets it when somebody may have
//! changed it. What is known may still be old, since the servers' files can be changed without the
//! router. So nothing is refused by it before it has been learnt again.
//!
//! There are two generations. A file that is used goes into the young one. When the young one has
//! half of the room, it becomes the old one, and what the old one still has is forgotten.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use hashbrown::HashMap;

use crate::lock::lock;
use crate::shape::Shape;
use crate::verb::Verb;
use crate::writes::Writes;

/// The most memory, roughly: that of a million files with names of 80 bytes.
const BYTES: usize = 200 << 20;

/// What one file takes besides its name: an entry of the table, at its emptiest, and the overhead
/// of the allocator.
const FILE_BYTES: usize = 120;

/// How many shapes are kept before those that no file has any more are dropped.
const SHAPES: usize = 1024;

/// What is known of files.
pub struct Known(Mutex<Kept>);

struct Kept {
    young: HashMap<Box<[u8]>, File>,
    old: HashMap<Box<[u8]>, File>,
    /// the memory of the young generation, roughly
    bytes: usize,
    room: usize,
    shapes: HashSet<Arc<Shape>>,
}

#[derive(Clone)]
struct File {
    shape: Arc<Shape>,
    /// the time of the newest value that was let through
    last: f64,
    /// whether a value was let through; else `last` is what a server told, in whole seconds
    exact: bool,
}

/// A line that has to be looked at again.
#[derive(Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Nothing is known of its file.
    Unknown,
    /// By what is known, rrdtool cannot write it, for this reason.
    Refused(String),
}

impl Default for Known {
    fn default() -> Known {
        Known::within(BYTES)
    }
}

impl Known {
    /// Returns an empty memory of this size.
    fn within(bytes: usize) -> Known {
        Known(Mutex::new(Kept {
            young: HashMap::new(),
            old: HashMap::new(),
            bytes: 0,
            room: bytes / 2,
            shapes: HashSet::new(),
        }))
    }

    /// Judges every UPDATE. Returns the lines that are in doubt, in order.
    pub fn doubts(&self, writes: &Writes) -> Vec<(usize, Doubt)> {
        let mut kept = lock(&self.0);
        let updates = (0..writes.len()).filter(|line| writes.verb(*line) == Verb::Update);
        updates
            .filter_map(|line| {
                let doubt = kept.judge(writes.name(line), writes.words(line))?;
                Some((line, doubt))
            })
            .collect()
    }

    /// Judges the values of one UPDATE. Returns `None` if there is no doubt.
    pub fn judge(&self, name: &[u8], values: &[u8]) -> Option<Doubt> {
        lock(&self.0).judge(name, values)
    }

    /// Returns whether every write is an UPDATE that its servers will take, by what is known: each
    /// value is good and newer than all before it.
    ///
    /// Only what goes into the log in the order of these calls can be relied on.
    pub fn will_be_taken(&self, writes: &Writes) -> bool {
        let mut kept = lock(&self.0);
        (0..writes.len()).all(|line| {
            writes.verb(line) == Verb::Update
                && kept
                    .file(writes.name(line))
                    .is_some_and(|file| file.takes(writes.words(line)))
        })
    }

    /// Records what a server says about a file. A last time that was let through stays.
    pub fn learn(&self, name: &[u8], (shape, last): (Shape, f64)) {
        let mut kept = lock(&self.0);
        let shape = kept.shared(shape);
        match kept.file(name) {
            Some(file) => {
                file.shape = shape;
                if last > file.last {
                    (file.last, file.exact) = (last, false);
                }
            }
            None => {
                let exact = false;
                kept.put(name.into(), File { shape, last, exact });
            }
        }
    }

    /// Forgets a file.
    pub fn forget(&self, name: &[u8]) {
        let mut kept = lock(&self.0);
        kept.old.remove(name);
        if kept.young.remove(name).is_some() {
            kept.bytes -= size(name);
        }
    }

    /// Returns how many files are known.
    pub fn count(&self) -> usize {
        let kept = lock(&self.0);
        kept.young.len() + kept.old.len()
    }
}

impl File {
    /// Returns whether the file takes these values, all of them after its last time.
    fn takes(&mut self, values: &[u8]) -> bool {
        // a server may have a newer time within the second that it told: the number before the next
        // second is no time before it
        let last = match self.exact {
            true => self.last,
            false => f64::from_bits((self.last + 1.0).to_bits() - 1),
        };
        let Some(newest) = self.shape.takes(values, last) else {
            return false;
        };
        (self.last, self.exact) = (newest, true);
        true
    }
}

impl Kept {
    /// Returns a file, which is young from now on.
    fn file(&mut self, name: &[u8]) -> Option<&mut File> {
        // mostly there is one generation only, and then one look
        if !self.old.is_empty() {
            if let Some((name, file)) = self.old.remove_entry(name) {
                self.put(name, file);
            }
        }
        self.young.get_mut(name)
    }

    fn judge(&mut self, name: &[u8], values: &[u8]) -> Option<Doubt> {
        let Some(file) = self.file(name) else {
            return Some(Doubt::Unknown);
        };
        match file.shape.judge(values, file.last) {
            Ok(last) => {
                if last > file.last {
                    (file.last, file.exact) = (last, true);
                }
                None
            }
            Err(why) => Some(Doubt::Refused(why)),
        }
    }

    fn put(&mut self, name: Box<[u8]>, file: File) {
        if self.bytes + size(&name) > self.room {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += size(&name);
        self.young.insert(name, file);
    }

    /// Returns the one copy of an equal shape: most files have one of a few.
    fn shared(&mut self, shape: Shape) -> Arc<Shape> {
        if let Some(known) = self.shapes.get(&shape) {
            return Arc::clone(known);
        }
        if self.shapes.len() >= SHAPES {
            self.shapes.retain(|shape| Arc::strong_count(shape) > 1);
        }
        let shape = Arc::new(shape);
        self.shapes.insert(Arc::clone(&shape));
        shape
    }
}

fn size(name: &[u8]) -> usize {
    FILE_BYTES + name.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Reply;

    fn shape(kind: &str) -> (Shape, f64) {
        let info = Reply::list("Info", [format!("ds[v].type 2 {kind}")]);
        Shape::read(&info, &Reply::ok("100")).unwrap()
    }

    fn updates(lines: &[(&str, &str)]) -> Writes {
        let mut writes = Writes::default();
        for (name, values) in lines {
            writes.push(Verb::Update, name.as_bytes(), values.as_bytes(), b"");
        }
        writes
    }

    #[test]
    fn only_what_is_unknown_or_bad_is_in_doubt() {
        let known = Known::default();
        known.learn(b"a", shape("COUNTER"));
        let mut writes = updates(&[("a", "101:1"), ("b", "101:1"), ("a", "102:1.5")]);
        writes.push(Verb::Forget, b"c", b"", b"");
        let why = "not a simple unsigned integer: '1.5'".to_owned();
        let doubts = [(1, Doubt::Unknown), (2, Doubt::Refused(why))];
        assert_eq!(known.doubts(&writes), doubts);
        // somebody has changed the file
        known.learn(b"a", shape("GAUGE"));
        assert_eq!(known.doubts(&writes), [(1, Doubt::Unknown)]);
        known.forget(b"a");
        assert_eq!(known.doubts(&writes).len(), 3);
    }

    #[test]
    fn what_will_be_taken_is_newer_than_all_that_a_server_may_have() {
        let known = Known::default();
        let taken = |lines: &[(&str, &str)]| known.will_be_taken(&updates(lines));
        assert!(!taken(&[("a", "200:1")]));
        known.learn(b"a", shape("GAUGE"));
        // the server has told whole seconds
        assert!(!taken(&[("a", "100.5:1")]) && taken(&[("a", "101:1")]));
        assert!(!taken(&[("a", "101:1")]) && taken(&[("a", "101.25:1"), ("a", "101.5:1")]));
        assert!(!taken(&[("a", "101.5:1")]) && !taken(&[("a", "102:1"), ("b", "102:1")]));
        let mut forget = Writes::default();
        forget.push(Verb::Forget, b"a", b"", b"");
        assert!(!known.will_be_taken(&forget));
        // what was let through without this question counts, too
        assert_eq!(known.doubts(&updates(&[("a", "300:1")])), []);
        assert!(!taken(&[("a", "300:1")]) && taken(&[("a", "300.5:1")]));
        known.learn(b"a", shape("GAUGE"));
        assert!(taken(&[("a", "300.6:1")]));
    }

    #[test]
    fn a_last_time_that_was_let_through_stays() {
        let known = Known::default();
        known.learn(b"a", shape("GAUGE"));
        assert_eq!(known.doubts(&updates(&[("a", "200.1234561:1")])), []);
        known.learn(b"a", shape("GAUGE"));
        assert_eq!(known.doubts(&updates(&[("a", "200.1234565:1")])).len(), 1);
    }

    #[test]
    fn the_memory_is_bounded_and_keeps_what_is_used() {
        let known = Known::within(200 * (FILE_BYTES + 4));
        let busy = updates(&[("0000", "101:1")]);
        for number in 0..10_000 {
            known.learn(format!("{number:04}").as_bytes(), shape("GAUGE"));
            assert_eq!(known.doubts(&busy), [], "{number}");
            assert!(known.count() <= 201, "{}", known.count());
        }
        assert!(known.count() >= 100);
        assert_eq!(known.doubts(&updates(&[("0001", "101:1")])).len(), 1);
        assert_eq!(lock(&known.0).shapes.len(), 1);
    }
}
