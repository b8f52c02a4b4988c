//! A model of a carry: hosts that learn of each state at their own pace, writers, readers, a copier
//! and a remover, for one key. It walks through *all* orders in which their steps can follow each
//! other, forward, and reversed at every point.
//!
//! What must hold: a reader never misses an acknowledged write, a deleted key never comes back,
//! and nothing is lost or left behind when the carry is closed.
//!
//! The states and what hosts read and write come from the core: the maps of `stead::carry` and the
//! lists of `stead::Pair`. What the application is assumed to do:
//!
//! - An operation uses one map from its start to its end.
//! - A write goes to the nodes of `writes` one after the other, in that order. It is acknowledged
//!   after the last. A delete is a write.
//! - Writes of one key do not overlap: a lock, a single writer, or a version that orders them.
//! - A reader takes the answer of the first node of `reads` that answers, also where the answer is
//!   that there is no such key. Here some node of the first map always answers.
//! - The copier reads the source, then the target, and replaces what it saw there with what it saw
//!   in the source, if the target has not changed meanwhile (compare and swap). It does so until
//!   both are equal. It may be killed at any moment and starts again.
//! - A host confirms an epoch when it has it and has ended what it began under older ones.
//!
//! Each of these rules, broken alone, must let the walk find a fault: these are the controls.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use stead::carry::{self, State};
use stead::{build, Fleet, Map, Pair};

/// The most nodes that the key has in both maps together.
const NODES: usize = 3;
/// The hosts. With three of them, one can be in each of the states that may be there at once.
const HOSTS: usize = 3;
/// How many writes there are.
const WRITES: u8 = 3;
/// What a node has that does not have the key.
const NONE: u8 = 0;
/// What the key is at the start; writes put higher numbers.
const START: u8 = 1;

/// A rule that is broken, for a control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Broken {
    Nothing,
    /// the next state does not wait for the hosts
    NoConfirmation,
    /// hosts confirm although operations of older epochs still run
    NoDrain,
    /// the copier writes what it read without a comparison
    BlindCopier,
    /// the new place is written first while the copier works
    WriteOrder,
    /// a reader looks at the next node when the first has no such key
    FallThrough,
    /// two writes of one key overlap
    NoLock,
    /// the next state does not wait for the copier
    NoCopy,
    /// copies are removed before all hosts have confirmed
    EarlyRemoval,
}

/// An epoch: what hosts that have it read and write, and which epochs can follow.
struct Epoch {
    state: Option<State>,
    reverse: bool,
    /// the nodes of which any may answer a read
    reads: Vec<usize>,
    /// all nodes in the order of reads
    falls: Vec<usize>,
    writes: Vec<usize>,
    next: Option<usize>,
    turned: Option<usize>,
    closed: Option<usize>,
}

/// All epochs that can follow a first one, by the rules of the core.
struct Epochs {
    all: Vec<Epoch>,
    /// the nodes of the old map alone, and those of the new one alone
    old_only: Vec<usize>,
    new_only: Vec<usize>,
}

impl Epochs {
    fn of(old: Arc<Map>, new: &Map, key: &[u8]) -> Epochs {
        let begun = carry::begin(Some(&old), new).unwrap().expect("moves");
        let pair = Pair::between(Arc::clone(&old), Arc::new(begun.with(None)), State::Old).unwrap();
        let mut places: Vec<String> = Vec::new();
        for map in [pair.old_map().unwrap(), pair.new_map()] {
            for node in map.locate_all(key) {
                let name = map.node(node).name().to_owned();
                if !places.contains(&name) {
                    places.push(name);
                }
            }
        }
        assert!(places.len() <= NODES);
        let place = |name: &str| places.iter().position(|other| other == name).unwrap();
        let listed = |map: &Map| -> Vec<usize> {
            let nodes = map.locate_all(key);
            nodes.map(|node| place(map.node(node).name())).collect()
        };
        let (before, after) = (listed(&old), listed(new));
        let only = |some: &[usize], others: &[usize]| {
            let mut left = some.to_vec();
            left.retain(|node| !others.contains(node));
            left
        };
        let mut epochs = Epochs {
            all: Vec::new(),
            old_only: only(&before, &after),
            new_only: only(&after, &before),
        };
        epochs.all.push(Epoch {
            state: None,
            reverse: false,
            reads: before.clone(),
            falls: before.clone(),
            writes: before.clone(),
            next: Some(1),
            turned: None,
            closed: None,
        });
        epochs.add(&old, &Arc::new(begun), key, &listed);
        epochs
    }

    /// Adds an epoch and all that can follow it; returns its number.
    fn add(
        &mut self,
        old: &Arc<Map>,
        map: &Arc<Map>,
        key: &[u8],
        listed: &dyn Fn(&Map) -> Vec<usize>,
    ) -> usize {
        let number = self.all.len();
        let carry = map.carry();
        let (reads, falls, writes) = match carry {
            None => (listed(map), listed(map), listed(map)),
            Some(carry) => {
                let pair = Pair::between(Arc::clone(old), Arc::clone(map), carry.state).unwrap();
                assert_eq!(pair.state(), Some(carry.state));
                let places = |nodes: stead::pair::Nodes| -> Vec<usize> {
                    let name = |node| pair.name(node).to_owned();
                    let all = [&**old, &**map];
                    let place = |name: String| {
                        all.iter().find_map(|map| {
                            let at = map
                                .locate_all(key)
                                .position(|n| map.node(n).name() == name)?;
                            Some(listed(map)[at])
                        })
                    };
                    nodes.map(|node| place(name(node)).unwrap()).collect()
                };
                let falls = places(pair.reads(key));
                let first = match carry.state {
                    State::Old | State::BothOldFirst => listed(old),
                    State::BothNewFirst | State::New => listed(map),
                };
                assert_eq!(falls[..first.len()], first);
                (first, falls, places(pair.writes(key)))
            }
        };
        self.all.push(Epoch {
            state: carry.map(|carry| carry.state),
            reverse: carry.is_some_and(|carry| carry.reverse),
            reads,
            falls,
            writes,
            next: None,
            turned: None,
            closed: None,
        });
        let follow = |epochs: &mut Epochs, map: stead::Result<Map>| {
            map.ok()
                .map(|map| epochs.add(old, &Arc::new(map), key, listed))
        };
        let next = follow(self, carry::next(map));
        let turned = follow(self, carry::reverse(map));
        let closed = follow(self, carry::close(map, Some(old)));
        let epoch = &mut self.all[number];
        (epoch.next, epoch.turned, epoch.closed) = (next, turned, closed);
        number
    }
}

/// A map with another carry, for the lists of the two maps alone.
trait With {
    fn with(&self, carry: Option<stead::carry::Carry>) -> Map;
}

impl With for Map {
    fn with(&self, carry: Option<stead::carry::Carry>) -> Map {
        let parts = stead::format::Parts {
            carry,
            ..self.to_parts()
        };
        Map::from_bytes(stead::format::encode(&parts)).unwrap()
    }
}

/// A host: the number of its epoch, and whether this is the newest.
type Host = (u8, bool);

/// An operation that writes: its value, its epoch, whether this was the newest when it started,
/// and how many nodes it has written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Writer {
    value: u8,
    epoch: u8,
    fresh: bool,
    done: u8,
}

/// An operation that reads: its epoch, whether this was the newest when it started, what it may
/// return, whether no write ran since it started, and how many nodes it has asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Reader {
    epoch: u8,
    fresh: bool,
    /// a bit for each value
    allowed: u8,
    quiet: bool,
    asked: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Copier {
    Idle,
    Read(u8),
    Compared(u8, u8),
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    epoch: u8,
    hosts: [Host; HOSTS],
    nodes: [u8; NODES],
    /// a bit for each value that may be the last that was acknowledged: one, or several after
    /// writes that overlapped, until a reader has seen one of them
    acknowledged: u8,
    /// the same of the writes that overlap those that still run
    overlapping: u8,
    written: u8,
    writers: [Option<Writer>; 2],
    reader: Option<Reader>,
    copier: Copier,
    removed: bool,
}

/// The walk through all worlds.
struct Walk<'a> {
    epochs: &'a Epochs,
    broken: Broken,
}

impl Walk<'_> {
    /// Returns how many worlds there are, or the fault that was found and where.
    fn run(&self) -> Result<usize, String> {
        let mut nodes = [NONE; NODES];
        for node in &self.epochs.all[0].writes {
            nodes[*node] = START;
        }
        let start = World {
            epoch: 0,
            hosts: [(0, true); HOSTS],
            nodes,
            acknowledged: 1 << START,
            overlapping: 0,
            written: 0,
            writers: [None; 2],
            reader: None,
            copier: Copier::Idle,
            removed: false,
        };
        let mut seen = HashSet::from([start.clone()]);
        let mut ahead = VecDeque::from([start]);
        let mut ends = 0;
        while let Some(world) = ahead.pop_front() {
            let followers = self.followers(&world).map_err(|fault| {
                let state = self.epoch(world.epoch).state;
                format!("{fault} in {state:?}: {world:?}")
            })?;
            ends += usize::from(followers.is_empty());
            for mut follower in followers {
                follower.hosts.sort_unstable();
                follower.writers.sort_unstable();
                if seen.insert(follower.clone()) {
                    ahead.push_back(follower);
                }
            }
        }
        assert_eq!(ends, 0, "readers never stop");
        Ok(seen.len())
    }

    fn epoch(&self, number: u8) -> &Epoch {
        &self.epochs.all[usize::from(number)]
    }

    fn followers(&self, world: &World) -> Result<Vec<World>, String> {
        let mut all = Vec::new();
        self.hosts(world, &mut all);
        self.write(world, &mut all);
        self.read(world, &mut all)?;
        self.operate(world, &mut all)?;
        Ok(all)
    }

    /// A host takes the newest epoch.
    fn hosts(&self, world: &World, all: &mut Vec<World>) {
        for host in 0..HOSTS {
            if !world.hosts[host].1 {
                let mut after = world.clone();
                after.hosts[host] = (world.epoch, true);
                all.push(after);
            }
        }
    }

    /// The maps that hosts have now.
    fn held(&self, world: &World) -> HashSet<Host> {
        world.hosts.into_iter().collect()
    }

    fn write(&self, world: &World, all: &mut Vec<World>) {
        let at_once = 1 + usize::from(self.broken == Broken::NoLock);
        if world.written < WRITES && world.writers.iter().flatten().count() < at_once {
            for (epoch, fresh) in self.held(world) {
                for value in [NONE, START + 1 + world.written] {
                    let mut after = world.clone();
                    let free = after.writers.iter_mut().find(|w| w.is_none()).unwrap();
                    *free = Some(Writer {
                        value,
                        epoch,
                        fresh,
                        done: 0,
                    });
                    after.written += 1;
                    if let Some(reader) = &mut after.reader {
                        reader.allowed |= 1 << value;
                        reader.quiet = false;
                    }
                    all.push(after);
                }
            }
        }
        for (place, writer) in world.writers.iter().enumerate() {
            let Some(writer) = writer else { continue };
            let mut after = world.clone();
            let epoch = self.epoch(writer.epoch);
            let mut order = epoch.writes.clone();
            if self.broken == Broken::WriteOrder && epoch.state == Some(State::BothOldFirst) {
                order.reverse();
            }
            after.nodes[order[usize::from(writer.done)]] = writer.value;
            after.writers[place] = Some(Writer {
                done: writer.done + 1,
                ..*writer
            });
            if usize::from(writer.done) + 1 == order.len() {
                after.writers[place] = None;
                after.overlapping |= 1 << writer.value;
                if after.writers.iter().all(Option::is_none) {
                    after.acknowledged = std::mem::take(&mut after.overlapping);
                }
            }
            all.push(after);
        }
    }

    fn read(&self, world: &World, all: &mut Vec<World>) -> Result<(), String> {
        let Some(reader) = world.reader else {
            for (epoch, fresh) in self.held(world) {
                let running = world.writers.iter().flatten();
                let running = running.fold(world.overlapping, |bits, w| bits | 1 << w.value);
                let mut after = world.clone();
                after.reader = Some(Reader {
                    epoch,
                    fresh,
                    allowed: running | world.acknowledged,
                    quiet: running == 0,
                    asked: 0,
                });
                all.push(after);
            }
            return Ok(());
        };
        let epoch = self.epoch(reader.epoch);
        let falls = self.broken == Broken::FallThrough;
        let nodes = match falls {
            true => &epoch.falls[usize::from(reader.asked)..][..1],
            // any node of the first map may be the first that answers
            false => &epoch.reads,
        };
        for node in nodes {
            let (found, mut after) = (world.nodes[*node], world.clone());
            let last = usize::from(reader.asked) + 1 == epoch.falls.len();
            if falls && found == NONE && !last {
                after.reader = Some(Reader {
                    asked: reader.asked + 1,
                    ..reader
                });
            } else if reader.allowed & 1 << found == 0 {
                let what = match found {
                    NONE => "misses an acknowledged write",
                    _ => "finds what was overwritten or deleted",
                };
                return Err(format!("a reader of {:?} {what}", epoch.state));
            } else {
                after.reader = None;
                if reader.quiet {
                    after.acknowledged = 1 << found;
                }
            }
            all.push(after);
        }
        Ok(())
    }

    /// Whether all hosts have confirmed the newest epoch.
    fn confirmed(&self, world: &World) -> bool {
        let drained = || {
            let writers = world.writers.iter().flatten();
            writers
                .map(|w| w.fresh)
                .chain(world.reader.map(|r| r.fresh))
                .all(|fresh| fresh)
        };
        world.hosts.iter().all(|(_, newest)| *newest)
            && (self.broken == Broken::NoDrain || drained())
    }

    /// The operator, the copier and the remover.
    fn operate(&self, world: &World, all: &mut Vec<World>) -> Result<(), String> {
        let epoch = self.epoch(world.epoch);
        let confirmed = self.confirmed(world);
        let to = |number: Option<usize>, all: &mut Vec<World>| {
            if let Some(number) = number {
                let mut after = world.clone();
                after.epoch = number as u8;
                after.hosts = after.hosts.map(|(epoch, _)| (epoch, false));
                for writer in after.writers.iter_mut().flatten() {
                    writer.fresh = false;
                }
                if let Some(reader) = &mut after.reader {
                    reader.fresh = false;
                }
                (after.copier, after.removed) = (Copier::Idle, false);
                all.push(after);
            }
        };
        let copying = epoch.state == Some(State::BothOldFirst) && !epoch.reverse;
        let copied = !copying || world.copier == Copier::Done || self.broken == Broken::NoCopy;
        if copied && (confirmed || self.broken == Broken::NoConfirmation) {
            to(epoch.next, all);
        }
        to(epoch.turned, all);
        if copying && confirmed {
            self.copy(world, all);
        }
        if epoch.closed.is_some() {
            let early = self.broken == Broken::EarlyRemoval;
            if (confirmed || early) && !world.removed {
                let mut after = world.clone();
                let gone = match epoch.reverse {
                    true => &self.epochs.new_only,
                    false => &self.epochs.old_only,
                };
                gone.iter().for_each(|node| after.nodes[*node] = NONE);
                after.removed = true;
                all.push(after);
            }
            if confirmed && world.removed {
                to(epoch.closed, all);
            }
        }
        self.is_clean(world)
    }

    /// The copier takes a step, or is killed.
    fn copy(&self, world: &World, all: &mut Vec<World>) {
        let mut after = world.clone();
        let (Some(source), Some(target)) =
            (self.epochs.old_only.first(), self.epochs.new_only.first())
        else {
            unreachable!("the key moves from one node to another")
        };
        after.copier = match world.copier {
            Copier::Idle => Copier::Read(world.nodes[*source]),
            Copier::Read(value) if self.broken == Broken::BlindCopier => {
                after.nodes[*target] = value;
                Copier::Done
            }
            Copier::Read(value) => Copier::Compared(value, world.nodes[*target]),
            Copier::Compared(value, there) if value == there => Copier::Done,
            Copier::Compared(value, there) => {
                if world.nodes[*target] == there {
                    after.nodes[*target] = value;
                }
                Copier::Idle
            }
            Copier::Done => Copier::Done,
        };
        all.push(after);
        let mut killed = world.clone();
        killed.copier = Copier::Idle;
        all.push(killed);
    }

    /// Checks that nothing is lost or left behind once a carry is closed and all is quiet.
    fn is_clean(&self, world: &World) -> Result<(), String> {
        let epoch = self.epoch(world.epoch);
        let quiet = world.writers.iter().all(Option::is_none) && self.confirmed(world);
        if epoch.state.is_some() || !quiet {
            return Ok(());
        }
        for (node, value) in world.nodes.iter().enumerate() {
            if epoch.writes.contains(&node) && world.acknowledged & 1 << value == 0 {
                return Err(format!("node {node} has not what was acknowledged last"));
            }
            if !epoch.writes.contains(&node) && *value != NONE {
                return Err(format!("a copy is left behind on node {node}"));
            }
        }
        Ok(())
    }
}

/// A key that moves, at one and at two replicas.
fn scenes() -> [(&'static str, Epochs); 2] {
    ["replicas = 1", "replicas = 2"].map(|replicas| {
        let fleet = |nodes: &[&str]| {
            let nodes: String = nodes
                .iter()
                .map(|n| format!("[[node]]\nname = '{n}'\n"))
                .collect();
            Fleet::parse(&format!("name = 'm'\n{replicas}\n{nodes}"), "fleet").unwrap()
        };
        let old = build(&fleet(&["a", "b", "c"]), None).unwrap();
        let new = build(&fleet(&["a", "b", "c", "d"]), Some(&old)).unwrap();
        let old = Arc::new(old);
        let pair = Pair::between(Arc::clone(&old), Arc::new(new.with(None)), State::Old).unwrap();
        let moves = |key: &String| {
            let (was, is) = (
                old.locate_all(key.as_bytes()),
                new.locate_all(key.as_bytes()),
            );
            let was: Vec<&str> = was.map(|n| old.node(n).name()).collect();
            let is: Vec<&str> = is.map(|n| new.node(n).name()).collect();
            pair.moved(key.as_bytes()) && is.iter().any(|name| !was.contains(name))
        };
        let key = (0..1000).map(|i| format!("key{i}")).find(moves).unwrap();
        (replicas, Epochs::of(old, &new, key.as_bytes()))
    })
}

#[test]
fn no_order_of_steps_misses_a_write_or_brings_back_a_deleted_key() {
    for (replicas, epochs) in scenes() {
        let (epochs, broken) = (&epochs, Broken::Nothing);
        let worlds = Walk { epochs, broken }
            .run()
            .unwrap_or_else(|fault| panic!("{fault}"));
        assert!(worlds > 10_000, "{replicas}: only {worlds} worlds");
        println!("{replicas}: {worlds} worlds, {} epochs", epochs.all.len());
        // all states were there, forward and reversed
        for (state, reverse) in [
            (State::Old, false),
            (State::BothOldFirst, false),
            (State::BothNewFirst, false),
            (State::New, false),
            (State::BothOldFirst, true),
            (State::Old, true),
        ] {
            let found = |epoch: &Epoch| epoch.state == Some(state) && epoch.reverse == reverse;
            assert!(epochs.all.iter().any(found), "{state:?} {reverse}");
        }
    }
}

#[test]
fn each_rule_that_is_broken_is_found_out() {
    let (_, epochs) = &scenes()[0];
    for (broken, fault) in [
        (Broken::NoConfirmation, "misses an acknowledged write"),
        (Broken::NoDrain, ""),
        (Broken::BlindCopier, ""),
        (Broken::WriteOrder, "finds what was overwritten or deleted"),
        (Broken::FallThrough, "finds what was overwritten or deleted"),
        (Broken::NoLock, ""),
        (Broken::NoCopy, "misses an acknowledged write"),
        (Broken::EarlyRemoval, "left behind"),
    ] {
        let found = Walk { epochs, broken }
            .run()
            .expect_err(&format!("{broken:?} is not noticed"));
        assert!(found.contains(fault), "{broken:?}: {found}");
        println!("{broken:?}: {}", found.split(" in ").next().unwrap());
    }
}
