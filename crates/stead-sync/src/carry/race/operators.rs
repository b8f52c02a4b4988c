//! Operators, each on a machine of its own: they change the map, push, pull, turn a carry round,
//! and start carriers, at any moment and without asking each other.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use stead::guard::Guard;
use stead::point::SPACE;
use stead::store::{Accept, Back, KEEP};
use stead::{Allow, Error, Fleet, Map, Share, Store};

use super::baton::Baton;
use super::hooked::HookedHub;
use super::nodes::{Hooked, Nodes};
use super::{Broken, Random};
use crate::carry::machine::{reverse, Machine};
use crate::carry::settings::Settings;
use crate::confirm::{followers, lacking};
use crate::directory::Directory;
use crate::exit::{Failure, Result, CONFLICT, REFUSED, USAGE};
use crate::hub::Shared;
use crate::pull::pull;
use crate::push::{push, Allowed};

/// The nodes that a fleet may have.
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// How often something happened.
pub type Counts = BTreeMap<&'static str, u64>;

/// A carrier: what its thread ends with, or `None` when it was killed.
struct Carrier {
    thread: JoinHandle<Option<Result>>,
    has_ended: Arc<AtomicBool>,
}

pub struct Operator {
    number: usize,
    settings: Settings,
    store: Store,
    hub: Directory,
    carrier: Option<Carrier>,
    replicas: u32,
    /// What a carrier failed with last.
    pub failure: Option<String>,
}

/// Returns a fleet of some nodes with some weights.
fn fleet(replicas: u32, random: &mut Random) -> Fleet {
    let mut text = format!("name = 'm'\nreplicas = {replicas}\n");
    let least = replicas as usize + 1;
    let mut names = NAMES.to_vec();
    while names.len() > least && random.below(3) > 0 {
        names.remove(random.below(names.len()));
    }
    for name in names {
        let weight = [1, 1, 1, 2][random.below(4)];
        text += &format!("[[node]]\nname = '{name}'\nweight = {weight}\n");
    }
    Fleet::parse(&text, "fleet").unwrap()
}

impl Operator {
    pub fn new(number: usize, directory: &Path, hub: &Path, replicas: u32) -> Operator {
        fs::create_dir(directory).unwrap();
        // of a dozen keys, a node may have none by chance
        let text = format!(
            "map = 'm'\nurl = 'file://{}'\ngrace = 0\n[limits]\nnodes = 1\nworkers = 1\nempty = 9\n\
             [files]\nroot = '/nowhere/{{node}}'\npattern = '{{key}}'\n", // the kind is replaced
            hub.display()
        );
        let file = directory.join("carry.toml");
        fs::write(&file, text).unwrap();
        let settings = Settings::read(&file).unwrap();
        let all = Guard::ALL
            .iter()
            .fold(Allow::NONE, |all, guard| all.and(*guard));
        let store = Store::new(&settings.map, KEEP);
        Operator {
            number,
            store: store.carrying(true).allowing(all),
            hub: Directory::new(hub),
            settings,
            carrier: None,
            replicas,
            failure: None,
        }
    }

    /// Makes the first map, and pushes it.
    pub fn found(&self, random: &mut Random) -> Map {
        let map = self
            .store
            .apply(&fleet(self.replicas, random), None)
            .unwrap();
        self.push(false, &mut Counts::new());
        map
    }

    /// Does something, or nothing where it is refused.
    pub fn act(&mut self, random: &mut Random, broken: Broken, counts: &mut Counts) {
        if self.store.current().unwrap().is_none() {
            return self.pull(counts);
        }
        match random.below(12) {
            0 => self.apply(None, random, counts),
            1 => self.apply(Some(SPACE / [20, 7, 3][random.below(3)]), random, counts),
            2 => self.rollback(random, counts),
            3..=5 => self.push(broken == Broken::Forced, counts),
            6..=8 => self.pull(counts),
            9 => match reverse(&self.settings, &self.hub) {
                Ok(_) => *counts.entry("reversed").or_default() += 1,
                Err(failure) => refused(&failure, counts),
            },
            10 => self.readdress(random, broken, counts),
            _ => self.apply(None, random, counts),
        }
    }

    fn apply(&self, part: Option<u128>, random: &mut Random, counts: &mut Counts) {
        let share = part.map(Share);
        let word = match part {
            Some(_) => "gradual steps",
            None => "applied",
        };
        self.changed(
            self.store.apply(&fleet(self.replicas, random), share),
            word,
            counts,
        );
    }

    fn rollback(&self, random: &mut Random, counts: &mut Counts) {
        let epochs = self.store.history().unwrap();
        let epoch = epochs[random.below(epochs.len())];
        let back = match random.below(2) {
            0 => Back::Exact,
            _ => Back::Least { max_move: None },
        };
        self.changed(
            self.store.rollback(epoch, Some(back)),
            "rolled back",
            counts,
        );
    }

    /// Changes an attribute, which moves nothing, needs no carry, and is allowed while one is open.
    ///
    /// In a world with a broken rule, no attribute is changed while a carry is open: more epochs of
    /// one state make it rarer that hosts are two states apart, so such a world is found later.
    fn readdress(&self, random: &mut Random, broken: Broken, counts: &mut Counts) {
        let now = self.store.current().unwrap().unwrap();
        let word = match now.carry() {
            Some(_) => "attributes in a carry",
            None => "attributes",
        };
        let mut fleet = now.fleet();
        let at = random.below(fleet.nodes.len());
        let port = random.below(1 << 16).to_string();
        fleet.nodes[at].attributes.insert("port".into(), port);
        if broken == Broken::Nothing || now.carry().is_none() {
            self.changed(self.store.apply(&fleet, None), word, counts);
        }
    }

    fn changed(&self, changed: stead::Result<Map>, word: &'static str, counts: &mut Counts) {
        let word = match changed {
            Ok(_) => word,
            Err(Error::Carrying { .. }) => "refused: a carry is open",
            Err(error) => panic!("{word}: {error}"),
        };
        *counts.entry(word).or_default() += 1;
    }

    fn push(&self, fork: bool, counts: &mut Counts) {
        let allowed = Allowed {
            fork,
            ..Allowed::default()
        };
        let path = self.store.path();
        match push(&self.hub, &self.hub, "the hub", path, allowed, KEEP) {
            Ok(_) => *counts.entry("pushed").or_default() += 1,
            Err(failure) => refused(&failure, counts),
        }
    }

    /// Pulls, and gives up what was made here beside the hub's map.
    pub fn pull(&self, counts: &mut Counts) {
        let pulled = pull(&self.hub, &self.store, KEEP, Accept::default());
        let word = match pulled {
            Ok(_) => "pulled",
            Err(_) => {
                let accept = Accept {
                    back: true,
                    fork: true,
                };
                pull(&self.hub, &self.store, KEEP, accept).unwrap_or_else(|e| panic!("{e:?}"));
                "set aside"
            }
        };
        *counts.entry(word).or_default() += 1;
    }

    /// Whether there is work for a carrier, or some was begun.
    pub fn has_work(&self) -> bool {
        let map = self.store.current().unwrap();
        map.is_some_and(|map| map.carry().is_some()) || self.settings.journal().exists()
    }

    /// Says where the operator is.
    pub fn told(&self) -> String {
        let map = self.map();
        let carry = map.as_ref().and_then(|map| map.carry());
        format!(
            "epoch {:?}, {carry:?}, is carrying: {}, has a journal: {}, failed before: {:?}",
            map.map(|map| map.epoch()),
            self.is_carrying(),
            self.settings.journal().exists(),
            self.failure
        )
    }

    /// Returns the map here.
    pub fn map(&self) -> Option<Map> {
        self.store.current().unwrap()
    }

    /// Whether a carrier runs here.
    pub fn is_carrying(&self) -> bool {
        self.carrier.is_some()
    }

    /// Whether nothing is under way here, and the map is the hub's.
    pub fn is_quiet(&self, map: &Map) -> bool {
        let here = self.store.current().unwrap();
        let is_same = here.is_some_and(|here| here.digest() == map.digest());
        !self.is_carrying() && !self.has_work() && is_same
    }

    /// Starts a carrier.
    pub fn start(
        &mut self,
        nodes: &Arc<Mutex<Nodes>>,
        baton: &Arc<Baton>,
        broken: Broken,
        counts: &mut Counts,
    ) {
        *counts.entry("carriers").or_default() += 1;
        let has_ended = Arc::new(AtomicBool::new(false));
        let (number, settings) = (self.number, self.settings.clone());
        let (nodes, baton) = (Arc::clone(nodes), Arc::clone(baton));
        let ended = Arc::clone(&has_ended);
        let thread = thread::spawn(move || {
            let carry = || {
                baton.start(number);
                carry(&settings, number, &nodes, &baton, broken)
            };
            let end = catch_unwind(AssertUnwindSafe(carry)).ok();
            ended.store(true, Ordering::Relaxed);
            baton.end();
            end
        });
        self.carrier = Some(Carrier { thread, has_ended });
    }

    /// Lets the carrier do its next step, or kills it.
    pub fn step(&mut self, baton: &Baton, kill: bool, counts: &mut Counts) {
        let Some(carrier) = &self.carrier else {
            return;
        };
        baton.give(self.number, kill);
        if !carrier.has_ended.load(Ordering::Relaxed) {
            assert!(!kill);
            return;
        }
        let Some(carrier) = self.carrier.take() else {
            return;
        };
        let word = match carrier.thread.join().unwrap() {
            None if kill => "carriers killed",
            None => panic!("a carrier has panicked"),
            Some(Ok(())) => "carries ended",
            Some(Err(failure)) => {
                eprintln!("a carrier gave up: {}", failure.line);
                self.failure = Some(failure.line);
                "carriers gave up"
            }
        };
        *counts.entry(word).or_default() += 1;
    }
}

/// The real engine, on the nodes of this world.
fn carry(
    settings: &Settings,
    number: usize,
    nodes: &Arc<Mutex<Nodes>>,
    baton: &Arc<Baton>,
    broken: Broken,
) -> Result {
    let map = settings.url.strip_prefix("file://").unwrap_or_default();
    let hub = HookedHub::new(Path::new(map), Arc::clone(baton), number);
    let mut machine = Machine::new(settings, &hub, None)?;
    machine.host = format!("carry.operator{number}");
    let (nodes, baton) = (Arc::clone(nodes), Arc::clone(baton));
    machine.kinds = Box::new(move || {
        Ok(Box::new(Hooked {
            nodes: Arc::clone(&nodes),
            baton: Arc::clone(&baton),
            carrier: number,
        }))
    });
    machine.kind = (machine.kinds)()?;
    machine.wait = Box::new(|hub, _, patience| loop {
        let head = hub.head()?;
        let hosts = hub.shared().map_or(Ok(Vec::new()), Shared::hosts)?;
        if broken == Broken::NoWait || lacking(&hosts, head.as_ref(), patience.epoch).is_empty() {
            return Ok(followers(&hosts));
        }
    });
    machine.run().1
}

fn refused(failure: &Failure, counts: &mut Counts) {
    assert!(
        [CONFLICT, REFUSED, USAGE].contains(&failure.code),
        "{failure:?}"
    );
    *counts.entry("refused").or_default() += 1;
}
