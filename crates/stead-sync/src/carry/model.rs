//! A model of one item: walks through *all* orders in which the steps of the carrier and those of
//! an application can follow each other, and kills the carrier between any two of its steps.
//!
//! The carrier is the real one; the kind is a fake one with two nodes. The application writes the
//! source first and then the target, as hosts do while data is copied, and its writes of one item
//! do not overlap. Before each step of the carrier, the walk decides how many steps the application
//! takes, and whether the process is killed. After a kill the next process begins with what was in
//! flight.
//!
//! When all is quiet, both nodes must have the same: no key that was deleted comes back, no older
//! value stays, nothing is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::kind::{About, Added, Compared, Done, Fault, Item, Kind, Node, Version};
use super::protocol::{Outcome, Protocol, Stays};

/// What the nodes have: a value and a number that no other write has.
type Value = Option<(u8, u32)>;

/// A step of the application at a node: 0 is the source.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(usize, u8),
    Delete(usize),
}

fn put(value: u8) -> [Step; 2] {
    [Step::Put(0, value), Step::Put(1, value)]
}

fn delete() -> [Step; 2] {
    [Step::Delete(0), Step::Delete(1)]
}

/// The decisions of a walk, and how many there were at each place.
#[derive(Default)]
struct Walk {
    path: Vec<(usize, usize)>,
    at: usize,
}

impl Walk {
    fn choose(&mut self, of: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, of));
        }
        let (chosen, known) = self.path[self.at];
        assert_eq!(known, of, "the walk is not the same again");
        self.at += 1;
        chosen
    }

    /// Turns to the next walk; `false` when there is none.
    fn turn(&mut self) -> bool {
        self.at = 0;
        while let Some((chosen, of)) = self.path.pop() {
            if chosen + 1 < of {
                self.path.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

struct World {
    nodes: [Value; 2],
    serial: u32,
    steps: Vec<Step>,
    kills: usize,
    killed: bool,
    walk: Walk,
}

impl World {
    fn apply(&mut self, step: Step) {
        self.serial += 1;
        match step {
            Step::Put(node, value) => self.nodes[node] = Some((value, self.serial)),
            Step::Delete(node) => self.nodes[node] = None,
        }
    }

    /// Lets others take steps before one of the carrier.
    fn others(&mut self) -> Done {
        while !self.killed {
            let (steps, kills) = (!self.steps.is_empty(), self.kills > 0);
            let chosen = self
                .walk
                .choose(1 + usize::from(steps) + usize::from(kills));
            match chosen {
                0 => return Ok(()),
                1 if steps => {
                    let step = self.steps.remove(0);
                    self.apply(step);
                }
                _ => {
                    self.kills -= 1;
                    self.killed = true;
                }
            }
        }
        Err(Fault::final_one("killed"))
    }
}

struct Fake(Mutex<World>);

fn version(value: Value) -> Option<Version> {
    value.map(|(_, serial)| Version(serial.to_le_bytes().to_vec()))
}

impl Kind for Fake {
    fn ready(&self, _: &[&Node]) -> Done {
        Ok(())
    }

    fn about(&self) -> About {
        About::default()
    }

    fn keys(
        &self,
        _: &Node,
        _: Option<&[u8]>,
        _: &AtomicBool,
        _: &mut dyn FnMut(Item) -> bool,
    ) -> Done {
        Ok(())
    }

    fn version(&self, node: &Node, _: &Item) -> Done<Option<Version>> {
        let mut world = self.0.lock().unwrap();
        world.others()?;
        Ok(version(world.nodes[node.number]))
    }

    fn add(&self, from: &Node, to: &Node, _: &Item) -> Done<Added> {
        let mut world = self.0.lock().unwrap();
        world.others()?;
        let Some((value, serial)) = world.nodes[from.number] else {
            return Ok(Added::Gone);
        };
        world.others()?;
        if world.nodes[to.number].is_some() {
            return Ok(Added::Present);
        }
        world.apply(Step::Put(to.number, value));
        // what was written is there also when the process dies before it knows
        let wrote = version(world.nodes[to.number]).unwrap();
        world.others()?;
        Ok(Added::Copied {
            read: Version(serial.to_le_bytes().to_vec()),
            wrote,
            bytes: 1,
        })
    }

    fn compare(&self, first: &Node, second: &Node, _: &Item) -> Done<Compared> {
        let mut world = self.0.lock().unwrap();
        world.others()?;
        let a = world.nodes[first.number];
        world.others()?;
        let b = world.nodes[second.number];
        Ok(Compared {
            first: version(a),
            second: version(b),
            equal: a.map(|a| a.0) == b.map(|b| b.0),
        })
    }

    fn remove(&self, node: &Node, _: &Item, wanted: &Version) -> Done<bool> {
        let mut world = self.0.lock().unwrap();
        world.others()?;
        let place = &mut world.nodes[node.number];
        if version(*place).is_some_and(|now| now == *wanted) {
            *place = None;
        }
        Ok(place.is_none())
    }
}

/// Which rule is broken, for a control.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    Step3,
    Flights,
}

/// Walks all orders. Returns how many there are and how many kills there were, or what was found.
fn walk(
    start: [Value; 2],
    steps: &[Step],
    kills: usize,
    broken: Broken,
) -> Result<(u64, u64), String> {
    let node = |number: usize| Node {
        number,
        name: ["source", "target"][number].to_owned(),
        attributes: vec![],
    };
    let (source, target, item) = (node(0), node(1), Item::of_key("k"));
    // pauses are not taken when the pass is to end
    let stop = AtomicBool::new(true);
    let (mut orders, mut killed) = (0, 0);
    let mut decisions = Walk::default();
    loop {
        let fake = Fake(Mutex::new(World {
            nodes: start,
            serial: 1000,
            steps: steps.to_vec(),
            kills,
            killed: false,
            walk: decisions,
        }));
        let protocol = Protocol {
            kind: &fake,
            tries: 1,
            stop: &stop,
            without_step_3: broken == Broken::Step3,
        };
        let settle = || protocol.settle_all(&source, &target, &[&item]).remove(0);
        let mut done = protocol.copy_all(&source, &target, &[&item]).remove(0);
        while done.is_err() {
            killed += 1;
            fake.0.lock().unwrap().killed = false;
            if broken == Broken::Flights {
                break;
            }
            done = settle();
        }
        // what was there before is left alone by the copy, and mended when it is verified
        while start[1].is_some() && settle().is_err() {
            killed += 1;
            fake.0.lock().unwrap().killed = false;
        }
        let mut world = fake.0.into_inner().unwrap();
        let left = std::mem::take(&mut world.steps);
        left.into_iter().for_each(|step| world.apply(step));
        let values = world.nodes.map(|value| value.map(|(value, _)| value));
        if values[0] != values[1] {
            return Err(format!("{values:?} after {:?}, {done:?}", world.walk.path));
        }
        orders += 1;
        decisions = world.walk;
        if !decisions.turn() {
            return Ok((orders, killed));
        }
    }
}

/// What applications do meanwhile.
fn stories() -> Vec<Vec<Step>> {
    vec![
        vec![],
        put(2).to_vec(),
        delete().to_vec(),
        [delete(), put(2)].concat(),
        [put(2), delete()].concat(),
        [put(2), put(3)].concat(),
        [delete(), put(1), delete()].concat(),
    ]
}

#[test]
fn no_order_brings_back_a_deleted_key_or_an_older_value() {
    let (mut orders, mut kills) = (0, 0);
    for start in [
        [Some((1, 1)), None],
        [None, None],
        [Some((1, 1)), Some((9, 2))],
        [None, Some((9, 2))],
    ] {
        for steps in stories() {
            for most in [0, 1, 2] {
                if steps.len() * (most + 1) > 10 {
                    continue;
                }
                let (walked, killed) = walk(start, &steps, most, Broken::Nothing)
                    .unwrap_or_else(|found| panic!("{start:?} {steps:?}: {found}"));
                orders += walked;
                kills += killed;
            }
        }
    }
    println!("{orders} orders, {kills} kills");
    assert!(
        orders > 10_000 && kills > 1_000,
        "{orders} orders, {kills} kills"
    );
}

#[test]
fn without_step_3_a_deleted_key_comes_back() {
    let start = [Some((1, 1)), None];
    let found = walk(start, &delete(), 0, Broken::Step3).unwrap_err();
    assert!(found.contains("[None, Some(1)]"), "{found}");
    // and without what was in flight, a kill in the middle has the same effect
    let found = walk(start, &delete(), 1, Broken::Flights).unwrap_err();
    assert!(found.contains("[None, Some(1)]"), "{found}");
}

#[test]
fn a_copy_is_removed_only_where_the_new_place_has_one() {
    let node = |number: usize| Node {
        number,
        name: number.to_string(),
        attributes: vec![],
    };
    let (old, new, item) = (node(0), node(1), Item::of_key("k"));
    let stop = AtomicBool::new(true);
    for (nodes, stays, expected) in [
        (
            [Some((1, 1)), Some((1, 2))],
            Stays::Lacking,
            Outcome::Removed,
        ),
        // written at the new place since
        (
            [Some((1, 1)), Some((2, 2))],
            Stays::Lacking,
            Outcome::Removed,
        ),
        ([Some((1, 1)), None], Stays::Lacking, Outcome::Absent),
        ([Some((1, 1)), None], Stays::Nothing, Outcome::Removed),
        ([None, Some((1, 1))], Stays::Lacking, Outcome::Gone),
    ] {
        let fake = Fake(Mutex::new(World {
            nodes,
            serial: 1000,
            steps: vec![],
            kills: 0,
            killed: false,
            walk: Walk::default(),
        }));
        let protocol = Protocol {
            kind: &fake,
            tries: 1,
            stop: &stop,
            without_step_3: false,
        };
        let done = protocol.drop_all(&old, &[&new], &[&item], stays).remove(0);
        assert_eq!(done, Ok(expected), "{nodes:?}");
        let after = fake.0.into_inner().unwrap().nodes;
        assert_eq!(after[1], nodes[1]);
        assert_eq!(after[0].is_some(), expected == Outcome::Absent, "{nodes:?}");
    }
    assert!(stop.load(Ordering::Relaxed));
}
