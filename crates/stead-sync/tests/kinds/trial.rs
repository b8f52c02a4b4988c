//! The trial that every kind goes through.
//!
//! Writers write and delete keys, first at the source and then at the target, and remember what
//! they did. The carrier is killed at random moments and begins again, a server is killed and comes
//! back, and at last the carrier comes to its end. Then each key must be at both servers as its
//! writer left it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::carrier;
use crate::servers::Server;

/// How many keys there are, for each writer.
pub const KEYS: u64 = 60;
const WRITERS: u64 = 3;
/// How many writes and deletes there are at least for each kill.
const TURNS: u64 = 30;

/// What an application does with one server. A call is tried again until the server has answered.
pub trait Client: Send {
    /// Writes a value.
    fn put(&mut self, key: &str, value: u64);
    /// Deletes a key.
    fn delete(&mut self, key: &str);
    /// Returns the values that are stored: none, one, or, where it went wrong, several.
    fn get(&mut self, key: &str) -> Vec<u64>;
}

/// A cheap source of numbers that look random.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[derive(Default, Debug)]
pub struct Count {
    pub writes: u64,
    pub deletes: u64,
    pub kills: u64,
    pub lost: u64,
    pub came_back: u64,
    pub overtaken: u64,
    pub twice: u64,
}

impl Count {
    pub fn wrong(&self) -> u64 {
        self.lost + self.came_back + self.overtaken + self.twice
    }
}

/// Stops the writers, also when a test fails: otherwise it would wait for them for ever.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs writers while `carry` runs, and then compares the target with what they remember.
pub fn with_writers(
    client: &(dyn Fn(&str) -> Box<dyn Client> + Sync),
    from: &str,
    to: &str,
    carry: impl FnOnce(&AtomicU64) -> u64,
) -> Count {
    let (stop, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut count = Count::default();
    let mut all = HashMap::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (stop, turns) = (&stop, &turns);
                scope.spawn(move || {
                    let (mut old, mut new) = (client(from), client(to));
                    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 + writer);
                    let mut known: HashMap<String, Option<u64>> = HashMap::new();
                    let (mut writes, mut deletes) = (0, 0);
                    // the keys were there before the state in which both are written
                    for number in 0..KEYS {
                        let key = format!("member {writer}-{number}");
                        old.put(&key, number);
                        known.insert(key, Some(number));
                    }
                    turns.fetch_add(1, Ordering::SeqCst);
                    while turns.load(Ordering::SeqCst) < WRITERS {
                        thread::yield_now();
                    }
                    while !stop.load(Ordering::SeqCst) {
                        let key = format!("member {writer}-{}", numbers.below(KEYS));
                        if numbers.below(3) == 0 {
                            old.delete(&key);
                            new.delete(&key);
                            known.insert(key, None);
                            deletes += 1;
                        } else {
                            let value = 1000 + writes;
                            old.put(&key, value);
                            new.put(&key, value);
                            known.insert(key, Some(value));
                            writes += 1;
                        }
                        turns.fetch_add(1, Ordering::SeqCst);
                    }
                    (known, writes, deletes)
                })
            })
            .collect();
        while turns.load(Ordering::SeqCst) < WRITERS {
            thread::yield_now();
        }
        let at_the_end = Stop(&stop);
        count.kills = carry(&turns);
        drop(at_the_end);
        for writer in writers {
            let (known, writes, deletes) = writer.join().unwrap();
            count.writes += writes;
            count.deletes += deletes;
            all.extend(known);
        }
    });
    let (mut old, mut new) = (client(from), client(to));
    for (key, value) in &all {
        let (there, here) = (old.get(key), new.get(key));
        assert_eq!(
            there,
            value.iter().copied().collect::<Vec<_>>(),
            "the source: {key}"
        );
        match (value, &here[..]) {
            (None, []) => (),
            (Some(value), [found]) if value == found => (),
            (Some(_), []) => count.lost += 1,
            (None, _) => count.came_back += 1,
            (Some(_), [_]) => count.overtaken += 1,
            (Some(_), _) => count.twice += 1,
        }
    }
    count
}

/// The trial of a kind: kills the carrier `kills` times and the source once.
pub fn run(
    kind: &str,
    client: &(dyn Fn(&str) -> Box<dyn Client> + Sync),
    from: &mut Server,
    to: &Server,
    kills: u64,
    kill_source: bool,
) -> Count {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("in-flight");
    let (source, target) = (from.address.clone(), to.address.clone());
    let count = with_writers(client, &source, &target, |turns| {
        let mut killed = 0;
        let mut numbers = Numbers(kills + 1);
        let begun = turns.load(Ordering::SeqCst);
        while killed < kills {
            // also where the servers are slow, much is written between two kills
            while turns.load(Ordering::SeqCst) < begun + killed * TURNS {
                thread::yield_now();
            }
            if kill_source && killed == kills / 2 {
                from.kill();
                from.up();
            }
            let mut child = carrier::start(kind, &source, &target, &file);
            thread::sleep(Duration::from_millis(5 + numbers.below(60)));
            // one that has come to its end was not killed: the next one is killed earlier
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                killed += 1;
            }
            child.wait().unwrap();
        }
        let before = turns.load(Ordering::SeqCst);
        let mut last = carrier::start(kind, &source, &target, &file);
        let ended = last.wait().unwrap();
        let said = std::fs::read_to_string(file.with_extension("said")).unwrap();
        assert!(ended.success(), "the carrier failed: {said}");
        assert!(
            turns.load(Ordering::SeqCst) > before,
            "nobody wrote meanwhile"
        );
        killed
    });
    eprintln!("{kind}: {count:?}");
    count
}

/// A carrier without the rules: it reads all values, and later writes what it read.
pub fn control(client: &(dyn Fn(&str) -> Box<dyn Client> + Sync), from: &str, to: &str) -> Count {
    let count = with_writers(client, from, to, |turns| {
        let (mut old, mut new) = (client(from), client(to));
        let keys = (0..WRITERS).flat_map(|w| (0..KEYS).map(move |n| format!("member {w}-{n}")));
        let mut read = |key: String| (old.get(&key), key);
        let read: Vec<_> = keys.map(&mut read).collect();
        let before = turns.load(Ordering::SeqCst);
        while turns.load(Ordering::SeqCst) < before + 10 * KEYS {
            thread::yield_now();
        }
        for (values, key) in read {
            if let [value] = values[..] {
                new.put(&key, value);
            }
        }
        0
    });
    eprintln!("control: {count:?}");
    count
}

/// Removes at the source what the target has, by compare and remove.
pub fn remove_all(kind: &str, from: &str, to: &str) -> usize {
    let (kind, from, to) = (
        carrier::kind(kind),
        carrier::node(0, from),
        carrier::node(1, to),
    );
    kind.ready(&[&from, &to]).unwrap();
    let items = carrier::items(&*kind, &from).unwrap();
    let list: Vec<_> = items.iter().collect();
    let compared = kind.compare_all(&from, &to, &list);
    let versions: Vec<_> = compared
        .into_iter()
        .map(|compared| {
            let compared = compared.unwrap();
            assert!(compared.equal);
            compared.first.unwrap()
        })
        .collect();
    let pairs: Vec<_> = list.iter().copied().zip(&versions).collect();
    for gone in kind.remove_all(&from, &pairs) {
        assert!(gone.unwrap());
    }
    assert_eq!(carrier::items(&*kind, &from).unwrap(), []);
    assert_eq!(carrier::items(&*kind, &to).unwrap().len(), items.len());
    items.len()
}
