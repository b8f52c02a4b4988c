//! A model of operators racing carriers: two operators, each with a machine and a carrier of its
//! own, a hub, three hosts, and applications that read and write all the while. A seed decides who
//! acts next.
//!
//! Everything but the nodes is real: the stores and their histories, the hub in a directory, push,
//! pull and confirmation, the pairs by which applications read and write, and the engine with its
//! journal. The engine stops before each request to the hub and before each touch of a node, and
//! there others act, and it is killed.
//!
//! What must hold: a read finds the last write that has ended, or one under way. When all is quiet,
//! each key is where the map places it, with its last value, and nowhere else.
//!
//! The controls break one rule each, and the model must find it.

mod baton;
mod hooked;
mod hosts;
mod nodes;
mod operators;

use std::path::Path;
use std::sync::{Arc, Mutex};

use stead::store::Accept;
use stead::Map;

use baton::Baton;
use hosts::{judge, key, Found, Host, Key};
use nodes::Nodes;
use operators::{Counts, Operator};

use crate::directory::Directory;
use crate::hub::Shared;

const HOSTS: usize = 3;
const OPERATORS: usize = 2;
const KEYS: usize = 12;

/// How many steps a world takes before its operators only end what they have begun.
const STEPS: usize = 4000;

/// What begins the finding that nobody gets on.
const ENDLESS: &str = "it never ends";

/// Which rule is broken, for a control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Broken {
    Nothing,
    /// a carrier does not wait for the hosts
    NoWait,
    /// hosts confirm although what began under older epochs still runs
    NoDrain,
    /// operators push with `--allow fork`, and hosts take what was made beside their map
    Forced,
}

/// Numbers that a seed decides (SplitMix64).
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit.
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

struct World {
    hub: Directory,
    nodes: Arc<Mutex<Nodes>>,
    baton: Arc<Baton>,
    operators: Vec<Operator>,
    hosts: Vec<Host>,
    keys: Vec<Key>,
    random: Random,
    broken: Broken,
    counts: Counts,
    found: Found,
}

impl World {
    fn new(directory: &Path, seed: u64, broken: Broken) -> World {
        let mut random = Random(seed);
        let shared = directory.join("hub");
        std::fs::create_dir(&shared).unwrap();
        let shared = shared.join("m");
        let replicas = 1 + random.below(2) as u32;
        let operator = |n: usize| {
            Operator::new(
                n,
                &directory.join(format!("operator{n}")),
                &shared,
                replicas,
            )
        };
        let host = |n: usize| {
            let name = format!("web{n}");
            Host::new(&name, &directory.join(&name))
        };
        let mut world = World {
            hub: Directory::new(&shared),
            nodes: Arc::default(),
            baton: Arc::new(Baton::new(OPERATORS)),
            operators: (0..OPERATORS).map(operator).collect(),
            hosts: (0..HOSTS).map(host).collect(),
            keys: Vec::new(),
            random,
            broken,
            counts: Counts::new(),
            found: Found::default(),
        };
        let first = world.operators[0].found(&mut world.random);
        for number in 0..KEYS {
            let value = (number % 4 > 0).then_some(number as u32);
            let bytes = key(number);
            for node in first.locate_all(&bytes) {
                let node = first.node(node).name();
                world.nodes.lock().unwrap().put(node, &bytes, value);
            }
            world.keys.push(Key::of(value));
        }
        for host in &world.hosts {
            host.pull(&world.hub, Accept::default());
            host.report(&world.hub, true);
        }
        world
    }

    /// Lets somebody act.
    fn step(&mut self) {
        let at = self.random.below(100);
        let drained = self.broken != Broken::NoDrain;
        let host = self.random.below(HOSTS);
        let operator = self.random.below(OPERATORS);
        match at {
            0..=9 => self.hosts[host].begin(&mut self.keys, &mut self.random),
            10..=29 => self.serve(host),
            30..=35 => self.pull(host),
            36..=43 => self.hosts[host].report(&self.hub, drained),
            44..=45 => {
                self.operators[operator].act(&mut self.random, self.broken, &mut self.counts)
            }
            46 => self.start(operator),
            47 => {
                let kill = self.random.below(3) == 0;
                self.operators[operator].step(&self.baton, kill, &mut self.counts);
            }
            _ => self.operators[operator].step(&self.baton, false, &mut self.counts),
        }
    }

    fn serve(&mut self, host: usize) {
        let mut nodes = self.nodes.lock().unwrap();
        self.hosts[host].step(
            &mut nodes,
            &mut self.keys,
            &mut self.found,
            &mut self.random,
        );
    }

    fn pull(&self, host: usize) {
        let follows = self.broken == Broken::Forced;
        let accept = Accept {
            back: follows,
            fork: follows,
        };
        self.hosts[host].pull(&self.hub, accept);
    }

    fn start(&mut self, operator: usize) {
        let operator = &mut self.operators[operator];
        if !operator.is_carrying() && operator.has_work() {
            operator.start(&self.nodes, &self.baton, self.broken, &mut self.counts);
        }
    }

    /// Lets everybody end what they have begun, and judges what is left.
    fn end(&mut self) {
        let mut map = None;
        for turn in 0..5_000 {
            for operator in 0..OPERATORS {
                if self.operators[operator].is_carrying() {
                    self.operators[operator].step(&self.baton, false, &mut self.counts);
                } else if turn % 10 == 0 {
                    self.operators[operator].pull(&mut self.counts);
                    self.start(operator);
                }
            }
            for host in 0..HOSTS {
                self.serve(host);
                if turn % 5 == 0 {
                    self.pull(host);
                    self.hosts[host].report(&self.hub, true);
                }
            }
            if turn % 10 == 9 {
                map = self.quiet();
                if map.is_some() {
                    break;
                }
            }
        }
        let Some(map) = map else {
            let hosts = self.hub.hosts().unwrap();
            let hosts = hosts.iter().map(|one| (&one.report.host, one.report.epoch));
            let hosts: Vec<_> = hosts.collect();
            let operators: Vec<_> = self.operators.iter().map(Operator::told).collect();
            let told = format!("{ENDLESS}: {operators:#?}, hosts {hosts:?}");
            self.found.wrong.push(told);
            return;
        };
        let nodes = self.nodes.lock().unwrap();
        judge(&map, &nodes, &self.keys, &mut self.found);
    }

    /// Ends the carriers that run.
    fn kill(&mut self) {
        for operator in &mut self.operators {
            operator.step(&self.baton, true, &mut self.counts);
        }
    }

    /// Returns the map of all, when nothing is under way.
    fn quiet(&self) -> Option<Map> {
        let map = self.operators[0].map()?;
        let is_quiet = map.carry().is_none()
            && self.operators.iter().all(|one| one.is_quiet(&map))
            && self.hosts.iter().all(|one| one.is_quiet(&map));
        is_quiet.then_some(map)
    }
}

/// Plays a world to its end.
fn play(seed: u64, broken: Broken, counts: &mut Counts) -> Found {
    eprintln!("world {seed}, {broken:?}");
    let memory = Path::new("/dev/shm");
    let directory = match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    };
    let mut world = World::new(directory.path(), seed, broken);
    world.counts = std::mem::take(counts);
    for _ in 0..STEPS {
        world.step();
        if !world.found.wrong.is_empty() {
            break;
        }
    }
    if world.found.wrong.is_empty() {
        world.end();
    }
    world.kill();
    *counts = std::mem::take(&mut world.counts);
    world.found
}

/// Returns how many worlds to play: more with `STEAD_WORLDS`.
fn worlds() -> u64 {
    let asked = std::env::var("STEAD_WORLDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(8)
}

#[test]
fn no_race_of_operators_and_carriers_loses_anything() {
    let (mut counts, mut reads, mut writes) = (Counts::new(), 0, 0);
    let first = std::env::var("STEAD_SEED").map_or(0, |text| text.parse().unwrap());
    for seed in first..first + worlds() {
        let found = play(seed, Broken::Nothing, &mut counts);
        assert!(found.wrong.is_empty(), "seed {seed}: {:#?}", found.wrong);
        (reads, writes) = (reads + found.reads, writes + found.writes);
    }
    for word in [
        "reversed",
        "carriers killed",
        "carries ended",
        "set aside",
        "attributes in a carry",
    ] {
        assert!(worlds() < 8 || counts[word] > 0, "{counts:?}");
    }
    println!("{reads} reads, {writes} writes; {counts:?}");
}

#[test]
fn each_broken_rule_is_found() {
    // where the search begins, so that it does not take long
    for (broken, seed) in [
        (Broken::NoWait, 2),
        (Broken::NoDrain, 57),
        (Broken::Forced, 12),
    ] {
        let mut counts = Counts::new();
        let mut is_lost = |seed: &u64| {
            let found = play(*seed, broken, &mut counts).wrong;
            found.iter().any(|wrong| !wrong.starts_with(ENDLESS))
        };
        let first = (seed..seed + 100).find(&mut is_lost);
        println!("{broken:?}: found in world {first:?}");
        assert!(first.is_some(), "{broken:?} was not found");
    }
}
