//! What the router knows of files: their shapes, last times and places, as far as there is room.
//!
//! The router learns a file when its first UPDATE comes, and forgets it when somebody may have
//! changed it. What is known may still be old, since the servers' files can be changed without the
//! router. So nothing is refused by it before it has been learnt again.
//!
//! When there is no room, a hand goes round the files. It forgets a file that was not used since
//! the hand passed it the last time (the clock algorithm).

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::key::{hash_of, Key};
use crate::layout::{BackendId, Copies, Layout};
use crate::lock::lock;
use crate::shape::Shape;
use crate::verb::Verb;
use crate::writes::Writes;

/// The most memory, roughly: that of a million files with names of 100 bytes.
const BYTES: usize = 200 << 20;

/// What one file takes besides its name: itself, its number in the table, and the overhead of the
/// allocator and of a table and a list at their emptiest.
const FILE_BYTES: usize = 100;

/// How many shapes are kept before those that no file has any more are dropped.
const SHAPES: usize = 1024;

/// How many places of a file are remembered; those of a file with more are computed each time.
const PLACES: usize = 4;

/// What is known of files.
pub struct Known(Mutex<Kept>);

struct Kept {
    /// `None` where a file was forgotten
    files: Vec<Option<File>>,
    free: Vec<u32>,
    /// the numbers of the files in `files`, by name
    table: HashTable<u32>,
    /// the number of the file that is looked at first when there is no room
    hand: usize,
    /// the memory of all files, roughly
    bytes: usize,
    room: usize,
    shapes: HashSet<Arc<Shape>>,
    /// how many files were ever put in
    stamps: u64,
}

struct File {
    name: Box<[u8]>,
    hash: u64,
    shape: Arc<Shape>,
    /// the time of the newest value that was let through
    last: f64,
    /// the version of the layout by which `places` were found
    version: u64,
    places: [BackendId; PLACES],
    place_count: u8,
    /// whether a value was let through; else `last` is what a server told, in whole seconds
    exact: bool,
    /// whether it was used since the hand passed
    used: bool,
    stamp: u64,
}

/// A file that was found: its number, and its stamp, which no other file ever has.
#[derive(Clone, Copy)]
struct Handle {
    number: u32,
    stamp: u64,
}

/// The places of each line of some writes, and what is known of the files.
pub struct Found {
    lines: SmallVec<[(Copies, Option<Handle>); 1]>,
    /// the version of the layout
    version: u64,
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
    fn within(room: usize) -> Known {
        Known(Mutex::new(Kept {
            files: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
            hand: 0,
            bytes: 0,
            room,
            shapes: HashSet::new(),
            stamps: 0,
        }))
    }

    /// Finds the file of each line, and where the layout places it now. The lines keep which file
    /// they are of.
    pub fn find(&self, writes: &mut Writes, layout: &Layout) -> Found {
        let mut kept = lock(&self.0);
        let version = layout.version();
        let lines = (0..writes.len()).map(|line| {
            let Key { name, hash, .. } = writes.key(line);
            let number = kept.number(name, hash);
            let Some((number, file)) = number.and_then(|at| Some((at, kept.at(at)?))) else {
                return (layout.now(name), None);
            };
            let (stamp, places) = (file.stamp, file.places(version, layout));
            writes.set_file(line, stamp);
            (places, Some(Handle { number, stamp }))
        });
        Found {
            lines: lines.collect(),
            version,
        }
    }

    /// Judges every UPDATE. Returns the lines that are in doubt, in order.
    pub fn doubts(&self, writes: &Writes) -> Vec<(usize, Doubt)> {
        let mut kept = lock(&self.0);
        let updates = (0..writes.len()).filter(|line| writes.verb(*line) == Verb::Update);
        updates
            .filter_map(|line| {
                let Key { name, hash, .. } = writes.key(line);
                let doubt = kept.judge(name, hash, writes.words(line))?;
                Some((line, doubt))
            })
            .collect()
    }

    /// Judges the values of one UPDATE. Returns `None` if there is no doubt.
    pub fn judge(&self, name: &[u8], values: &[u8]) -> Option<Doubt> {
        lock(&self.0).judge(name, hash_of(name), values)
    }

    /// Returns whether every write is an UPDATE that its servers will take, by what is known: each
    /// value is good and newer than all before it. `found` is what was found for these writes.
    ///
    /// Only what goes into the log in the order of these calls can be relied on.
    pub fn will_be_taken(&self, writes: &Writes, found: &Found) -> bool {
        if !writes.are_updates() {
            return false;
        }
        let mut kept = lock(&self.0);
        (0..writes.len()).all(|line| {
            let file = kept.found(writes, line, found.lines[line].1);
            file.is_some_and(|file| file.takes(writes.words(line)))
        })
    }

    /// Records what a server says about a file. A last time that was let through stays.
    pub fn learn(&self, name: &[u8], (shape, last): (Shape, f64)) {
        let mut kept = lock(&self.0);
        let shape = kept.shared(shape);
        let hash = hash_of(name);
        match kept.file(name, hash) {
            Some(file) => {
                file.shape = shape;
                if last > file.last {
                    (file.last, file.exact) = (last, false);
                }
            }
            None => kept.put(name, hash, shape, last),
        }
    }

    /// Forgets a file.
    pub fn forget(&self, name: &[u8]) {
        let mut kept = lock(&self.0);
        if let Some(number) = kept.number(name, hash_of(name)) {
            kept.remove(number);
        }
    }

    /// Returns whether this file is known.
    pub fn knows(&self, name: &[u8]) -> bool {
        lock(&self.0).number(name, hash_of(name)).is_some()
    }

    /// Returns whether there is room for files that nobody has asked for yet.
    pub fn has_room(&self) -> bool {
        let kept = lock(&self.0);
        kept.bytes < kept.room / 4 * 3
    }

    /// Returns how many files are known.
    pub fn count(&self) -> usize {
        lock(&self.0).table.len()
    }
}

impl Found {
    /// Returns the places of a line.
    pub fn places(&self, line: usize) -> &Copies {
        &self.lines[line].0
    }

    /// Returns the version of the layout by which the places were found.
    pub fn version(&self) -> u64 {
        self.version
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

    /// Returns where the layout, which has this version, places the file.
    fn places(&mut self, version: u64, layout: &Layout) -> Copies {
        if self.place_count > 0 && self.version == version {
            return Copies::from_slice(&self.places[..usize::from(self.place_count)]);
        }
        let copies = layout.now(&self.name);
        if copies.len() <= PLACES {
            self.places[..copies.len()].copy_from_slice(&copies);
            (self.version, self.place_count) = (version, copies.len() as u8);
        }
        copies
    }
}

impl Kept {
    fn number(&self, name: &[u8], hash: u64) -> Option<u32> {
        let same = |number: &u32| {
            let file = self.files.get(*number as usize).and_then(Option::as_ref);
            file.is_some_and(|file| file.hash == hash && *file.name == *name)
        };
        self.table.find(hash, same).copied()
    }

    /// Returns the file of this number, which counts as used.
    fn at(&mut self, number: u32) -> Option<&mut File> {
        let file = self.files.get_mut(number as usize)?.as_mut()?;
        file.used = true;
        Some(file)
    }

    fn file(&mut self, name: &[u8], hash: u64) -> Option<&mut File> {
        let number = self.number(name, hash)?;
        self.at(number)
    }

    /// Returns the file of a line, which was found before, or has become known since.
    fn found(&mut self, writes: &Writes, line: usize, handle: Option<Handle>) -> Option<&mut File> {
        let number = match handle {
            Some(handle) if self.is_still(handle) => handle.number,
            _ => {
                let Key { name, hash, .. } = writes.key(line);
                self.number(name, hash)?
            }
        };
        self.at(number)
    }

    fn is_still(&self, Handle { number, stamp }: Handle) -> bool {
        let file = self.files.get(number as usize).and_then(Option::as_ref);
        file.is_some_and(|file| file.stamp == stamp)
    }

    fn judge(&mut self, name: &[u8], hash: u64, values: &[u8]) -> Option<Doubt> {
        let Some(file) = self.file(name, hash) else {
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

    fn put(&mut self, name: &[u8], hash: u64, shape: Arc<Shape>, last: f64) {
        self.bytes += size(name);
        self.make_room();
        self.stamps += 1;
        let file = File {
            name: name.into(),
            hash,
            shape,
            last,
            version: 0,
            places: [0; PLACES],
            place_count: 0,
            exact: false,
            used: false,
            stamp: self.stamps,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.files[number as usize] = Some(file);
                number
            }
            None => {
                self.files.push(Some(file));
                (self.files.len() - 1) as u32
            }
        };
        let files = &self.files;
        let hash_at = |number: &u32| files[*number as usize].as_ref().map_or(0, |file| file.hash);
        self.table.insert_unique(hash, number, hash_at);
    }

    /// Forgets files until there is room.
    fn make_room(&mut self) {
        while self.bytes > self.room && !self.table.is_empty() {
            let number = self.hand;
            self.hand = (self.hand + 1) % self.files.len();
            match &mut self.files[number] {
                Some(file) if file.used => file.used = false,
                Some(_) => self.remove(number as u32),
                None => {}
            }
        }
    }

    fn remove(&mut self, number: u32) {
        let Some(file) = self.files[number as usize].take() else {
            return;
        };
        self.bytes -= size(&file.name);
        if let Ok(entry) = self.table.find_entry(file.hash, |other| *other == number) {
            entry.remove();
        }
        self.free.push(number);
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
    use crate::layout::Placement;
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

    /// Returns a map that places every file on one of these nodes.
    fn placement(nodes: &[&str]) -> Placement {
        let lines = nodes
            .iter()
            .map(|name| format!("[[node]]\nname = '{name}'\n"));
        let text = format!("name = 'x'\n{}", lines.collect::<String>());
        let fleet = stead::Fleet::parse(&text, "fleet.toml").unwrap();
        let places = (0..nodes.len() as BackendId).collect();
        Placement::new(stead::build(&fleet, None).unwrap(), places)
    }

    fn layout(nodes: &[&str]) -> Layout {
        Layout::new(placement(nodes))
    }

    #[test]
    fn the_places_of_a_known_file_follow_the_layout() {
        let known = Known::default();
        let mut layout = layout(&["a", "b"]);
        let names: Vec<String> = (0..100).map(|number| format!("file{number}")).collect();
        let lines: Vec<(&str, &str)> = names.iter().map(|name| (&**name, "101:1")).collect();
        let mut writes = updates(&lines);
        for name in &names[..50] {
            known.learn(name.as_bytes(), shape("GAUGE"));
        }
        let mut check = |layout: &Layout| {
            for _ in 0..2 {
                let found = known.find(&mut writes, layout);
                assert_eq!(found.version(), layout.version());
                for (line, name) in names.iter().enumerate() {
                    assert_eq!(*found.places(line), layout.now(name.as_bytes()), "{name}");
                }
            }
        };
        check(&layout);
        layout.move_to(placement(&["c", "d", "a"]), Default::default());
        check(&layout);
        for name in &names[25..75] {
            layout.moved(name.as_bytes());
        }
        check(&layout);
        layout.settle();
        check(&layout);
    }

    #[test]
    fn a_file_that_is_forgotten_after_it_was_found_is_looked_up_again() {
        let known = Known::default();
        let layout = layout(&["a"]);
        known.learn(b"a", shape("GAUGE"));
        let mut writes = updates(&[("a", "200:1")]);
        let found = known.find(&mut writes, &layout);
        known.forget(b"a");
        assert!(!known.will_be_taken(&writes, &found));
        // another file has its number
        known.learn(b"b", shape("GAUGE"));
        assert!(!known.will_be_taken(&writes, &found));
        assert_eq!(known.doubts(&updates(&[("b", "150:1")])), []);
        known.learn(b"a", shape("GAUGE"));
        assert!(known.will_be_taken(&writes, &found));
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
        let layout = layout(&["a"]);
        let taken_all = |mut writes: Writes| {
            let found = known.find(&mut writes, &layout);
            known.will_be_taken(&writes, &found)
        };
        let taken = |lines: &[(&str, &str)]| taken_all(updates(lines));
        assert!(!taken(&[("a", "200:1")]));
        known.learn(b"a", shape("GAUGE"));
        // the server has told whole seconds
        assert!(!taken(&[("a", "100.5:1")]) && taken(&[("a", "101:1")]));
        assert!(!taken(&[("a", "101:1")]) && taken(&[("a", "101.25:1"), ("a", "101.5:1")]));
        assert!(!taken(&[("a", "101.5:1")]) && !taken(&[("a", "102:1"), ("b", "102:1")]));
        let mut forget = Writes::default();
        forget.push(Verb::Forget, b"a", b"", b"");
        assert!(!taken_all(forget));
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
