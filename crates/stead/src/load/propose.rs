//! A proposal: the least change of a fleet that brings the fullest node near the floor.
//!
//! It is fitted on one half of the log and tried on the other. What costs nothing comes first:
//!
//! 1. another node answers first in whole pieces (reads at the primary only),
//! 2. another node answers first for single hot keys, first the largest and then all (the same),
//! 3. single hot keys get other nodes: pins of as many nodes as before,
//! 4. single hot keys get more nodes (reads at all nodes only).
//!
//! At each of these, the search aims at the goal, and if the other half of the log then has a node
//! above it, a little lower, since the two halves differ by chance. The first result that passes
//! on the other half is proposed, or else the best.

use super::heavy::Counted;
use super::loads::{deserved, floor, Reads};
use super::solve::{answering, Freedom, Item, Search};
use super::tally::Tally;
use crate::cell::Cells;
use crate::fleet::{First, Fleet, Pin, PinTo, Pinned};
use crate::map::Map;
use crate::point::{Point, Share};
use crate::policy::NodeId;
use crate::verdict::Verdict;

/// The most hot keys that are looked at one by one.
const KEYS: usize = 4096;
/// A hot key has at least this part of what a node deserves on average: less than chance makes.
const LEAST: f64 = 1.0 / 5000.0;
/// A large key has this part of it, so that its piece is large as well.
const LARGE: f64 = 0.1;
/// No key has this part.
const NO_KEYS: f64 = f64::INFINITY;
/// The parts of the tolerance that the search aims at, one after the other.
const AIMS: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];

/// A proposed change.
pub struct Proposal {
    /// The fleet of the map, with the firsts and pins that are proposed. Firsts that the map had
    /// are replaced; pins that it had are kept.
    pub fleet: Fleet,
    /// The proposed firsts.
    pub firsts: usize,
    /// The proposed pins, without those that the map had.
    pub pins: usize,
    /// What the fullest node then has over what it deserves, in the half of the log that was not
    /// fitted.
    pub fullest: f64,
    /// The same in the half that was fitted.
    pub fitted: f64,
    /// What the fullest node has at present, in the half that was not fitted.
    pub before: f64,
    /// The goal: the floor of that half and the tolerance above it.
    pub goal: f64,
    /// The load of each node that is expected of the whole log.
    pub loads: Vec<f64>,
    /// The part of all accesses whose first node becomes another of the nodes that hold them.
    pub reordered: f64,
    /// The part of all accesses whose keys have to be copied to a node.
    pub copied: f64,
    /// The points whose first node becomes another.
    pub reordered_points: Share,
}

impl Proposal {
    /// Returns whether the fullest node gets to the goal.
    pub fn reaches(&self) -> bool {
        self.fullest <= self.goal
    }

    /// Proposes a change that brings the fullest node within a part of the floor: 0.1 is 10 %.
    pub fn of(tally: &Tally<'_>, reads: Reads, within: f64) -> Proposal {
        let scene = Scene::of(tally, reads);
        let goal = |half: usize, part: f64| scene.floor(half) * (1.0 + within * part);
        let mut best: Option<(f64, Search<'_>, Vec<Thing<'_>>)> = None;
        let passes = |best: &Option<(f64, Search<'_>, Vec<Thing<'_>>)>| {
            best.as_ref()
                .is_some_and(|(tried, ..)| *tried <= goal(1, 1.0))
        };
        let stages: &[(f64, Freedom)] = match reads {
            Reads::Primary => &[
                (NO_KEYS, Freedom::Order),
                (LARGE, Freedom::Order),
                (LEAST, Freedom::Order),
                (LEAST, Freedom::Nodes),
            ],
            Reads::Spread => &[(LEAST, Freedom::Nodes), (LEAST, Freedom::More)],
        };
        for (keys, freedom) in stages {
            for aim in AIMS {
                let (things, mut search) = scene.search(*keys, *freedom);
                // a log that is fine as it is needs nothing
                let fine = best.is_none() && scene.tried(&search, &things) <= goal(1, 1.0);
                let reached = fine || search.run(goal(0, aim));
                let tried = scene.tried(&search, &things);
                if best.as_ref().is_none_or(|(least, ..)| tried < *least) {
                    best = Some((tried, search, things));
                }
                if passes(&best) || !reached {
                    break;
                }
            }
            if passes(&best) {
                break;
            }
        }
        let (fullest, search, things) = best.unwrap_or_else(|| {
            let (things, search) = scene.search(NO_KEYS, Freedom::Order);
            (scene.tried(&search, &things), search, things)
        });
        scene.written(fullest, goal(1, 1.0), &search, &things)
    }
}

/// The log, the map and what does not change.
struct Scene<'a> {
    tally: &'a Tally<'a>,
    map: &'a Map,
    reads: Reads,
    /// what each node deserves of each half
    deserved: [Vec<f64>; 2],
    places: Vec<Vec<String>>,
    hot: Vec<Counted<'a>>,
}

/// What an item of the search stands for.
#[derive(Clone)]
struct Thing<'a> {
    /// its accesses in both halves
    halves: [f64; 2],
    /// its points
    first: Point,
    last: Point,
    /// the key and the number of its piece; `None` for a piece
    key: Option<(Option<&'a [u8]>, usize)>,
    /// the node that would answer first without any first
    base: usize,
}

impl<'a> Scene<'a> {
    fn of(tally: &'a Tally<'a>, reads: Reads) -> Scene<'a> {
        let map = tally.map();
        let verdict = Verdict::of(map, 0);
        let all = |half: usize| -> f64 {
            let halves = tally.of_piece.iter();
            halves
                .filter_map(|halves| halves.get(half))
                .map(|n| *n as f64)
                .sum()
        };
        let deserved = [0, 1].map(|half| {
            let mut list = deserved(map, &verdict, reads, all(half));
            for node in map.nodes().filter(|node| node.leaving()) {
                if let Some(deserved) = list.get_mut(node.id.index()) {
                    *deserved = 0.0;
                }
            }
            list
        });
        let least = LEAST * tally.accesses() as f64 / map.nodes().len() as f64;
        let mut hot = tally.heavy.hottest(KEYS);
        hot.retain(|counted| counted.halves.iter().sum::<u64>() as f64 >= least);
        let places = map
            .nodes()
            .map(|node| {
                let values = map.spread().map(|label| node.label(label));
                values.map(|value| value.unwrap_or("").to_owned()).collect()
            })
            .collect();
        Scene {
            tally,
            map,
            reads,
            deserved,
            places,
            hot,
        }
    }

    fn of_half(&self, half: usize) -> &[f64] {
        self.deserved.get(half).map_or(&[], Vec::as_slice)
    }

    /// Returns the floor of a half.
    fn floor(&self, half: usize) -> f64 {
        let counts = self.hot.iter().filter_map(|hot| hot.halves.get(half));
        let hottest = counts.max().map_or(0.0, |count| *count as f64);
        floor(self.reads, hottest, self.of_half(half))
    }

    /// Returns the pieces and keys that may change, and a search in which nothing has changed yet.
    /// Keys are those that have at least the part `keys` of what a node deserves.
    fn search(&self, keys: f64, freedom: Freedom) -> (Vec<Thing<'a>>, Search<'_>) {
        let pieces = &self.tally.pieces;
        let pinned = |point: Point| {
            let mut pins = self.map.pins();
            pins.any(|pin| pin.slice.first <= point && point <= pin.slice.last)
        };
        let mut things: Vec<Thing<'a>> = Vec::new();
        let mut items = Vec::new();
        let mut loads = vec![0.0; self.map.nodes().len()];
        let mut number_of: Vec<Option<usize>> = vec![None; pieces.all.len()];
        for ((number, piece), halves) in pieces.all.iter().enumerate().zip(&self.tally.of_piece) {
            let base = self.map.policy(piece.base);
            let policy = self.map.policy(piece.policy);
            let nodes: Vec<usize> = policy.distinct().into_iter().map(NodeId::index).collect();
            let halves = halves.map(|count| count as f64);
            if base.name().is_some() || pinned(piece.first) {
                let (nodes, part) = answering(self.reads, &nodes);
                for node in nodes {
                    if let Some(load) = loads.get_mut(*node) {
                        *load += halves[0] * part;
                    }
                }
                continue;
            }
            if let Some(place) = number_of.get_mut(number) {
                *place = Some(things.len());
            }
            things.push(Thing {
                halves,
                first: piece.first,
                last: piece.last,
                key: None,
                base: base.members().next().map_or(0, NodeId::index),
            });
            items.push(Item::new(halves[0], nodes, Freedom::Order));
        }
        let least = keys * self.tally.accesses() as f64 / self.map.nodes().len() as f64;
        let is_hot = |hot: &&Counted<'_>| hot.halves.iter().sum::<u64>() as f64 >= least;
        for hot in self.hot.iter().filter(is_hot) {
            let place = number_of.get(pieces.find(hot.point)).copied().flatten();
            let Some(place) = place else { continue };
            let halves = hot.halves.map(|count| count as f64);
            let (Some(thing), Some(item)) = (things.get_mut(place), items.get_mut(place)) else {
                continue;
            };
            for (all, own) in thing.halves.iter_mut().zip(halves) {
                *all -= own;
            }
            item.load -= halves[0];
            let (nodes, base) = (item.nodes.clone(), thing.base);
            let (first, last) = cell(self.map.cells(), hot.point);
            things.push(Thing {
                halves,
                first,
                last,
                key: Some((hot.key, place)),
                base,
            });
            items.push(Item::new(halves[0], nodes, freedom));
        }
        for item in &items {
            let (nodes, part) = answering(self.reads, &item.nodes);
            for node in nodes {
                if let Some(load) = loads.get_mut(*node) {
                    *load += item.load * part;
                }
            }
        }
        let search = Search {
            reads: self.reads,
            items,
            deserved: self.of_half(0),
            places: &self.places,
            loads,
        };
        (things, search)
    }

    /// Returns the loads of a half of the log under what the search has found; of both with `None`.
    fn loads(&self, half: Option<usize>, search: &Search<'_>, things: &[Thing<'_>]) -> Vec<f64> {
        let of = |halves: &[f64; 2]| match half {
            Some(half) => halves.get(half).copied().unwrap_or(0.0),
            None => halves.iter().sum(),
        };
        let mut loads = vec![0.0; self.map.nodes().len()];
        let mut add = |nodes: &[usize], load: f64| {
            let (nodes, part) = answering(self.reads, nodes);
            for node in nodes {
                if let Some(sum) = loads.get_mut(*node) {
                    *sum += load * part;
                }
            }
        };
        // all pieces as they are, and then what changes
        for (piece, halves) in self.tally.pieces.all.iter().zip(&self.tally.of_piece) {
            let nodes = self.map.policy(piece.policy).distinct();
            let nodes: Vec<usize> = nodes.into_iter().map(NodeId::index).collect();
            add(&nodes, of(&halves.map(|count| count as f64)));
        }
        for (thing, item) in things.iter().zip(&search.items) {
            if item.is_changed() {
                add(&item.home, -of(&thing.halves));
                add(&item.nodes, of(&thing.halves));
            }
        }
        loads
    }

    /// Returns what the fullest node has in the half that was not fitted.
    fn tried(&self, search: &Search<'_>, things: &[Thing<'_>]) -> f64 {
        self.fullest(&self.loads(Some(1), search, things), 1)
    }

    fn fullest(&self, loads: &[f64], half: usize) -> f64 {
        let pairs = loads.iter().zip(self.of_half(half));
        let over = pairs.filter(|(_, deserved)| **deserved > 0.0);
        over.map(|(load, deserved)| load / deserved)
            .fold(0.0, f64::max)
    }

    /// Writes what was found as a fleet.
    fn written(
        &self,
        fullest: f64,
        goal: f64,
        search: &Search<'_>,
        things: &[Thing<'_>],
    ) -> Proposal {
        let mut fleet = self.map.fleet();
        let before = fleet.pins.len();
        fleet.firsts = self.firsts(search, things);
        fleet.pins.extend(self.pins(search, things));
        fleet.pins.sort_by(|a, b| a.what.cmp(&b.what));
        let (mut reordered, mut copied, mut points) = (0.0, 0.0, 0);
        for (thing, item) in things.iter().zip(&search.items) {
            let accesses: f64 = thing.halves.iter().sum();
            if item.is_pinned() {
                copied += accesses;
            } else if item.is_changed() {
                reordered += accesses;
                if thing.key.is_none() {
                    points += thing.first.count_to(thing.last);
                }
            }
        }
        let all = self.tally.accesses() as f64;
        let (nothing, unchanged) = self.search(NO_KEYS, Freedom::Order);
        Proposal {
            firsts: fleet.firsts.len(),
            pins: fleet.pins.len() - before,
            fleet,
            fullest,
            fitted: self.fullest(&self.loads(Some(0), search, things), 0),
            before: self.tried(&unchanged, &nothing),
            goal,
            loads: self.loads(None, search, things),
            reordered: reordered / all,
            copied: copied / all,
            reordered_points: Share(points),
        }
    }

    fn name(&self, node: usize) -> String {
        self.map.node(NodeId(node as u32)).name().to_owned()
    }

    /// Returns the pins of keys that have other nodes than before.
    fn pins(&self, search: &Search<'_>, things: &[Thing<'_>]) -> Vec<Pin> {
        let all = things.iter().zip(&search.items);
        let pinned = all.filter(|(_, item)| item.is_pinned());
        pinned
            .map(|(thing, item)| Pin {
                what: what(thing),
                to: PinTo::Nodes(item.nodes.iter().map(|node| self.name(*node)).collect()),
                short: false,
                line: 0,
            })
            .collect()
    }

    /// Returns the firsts: ranges of neighbouring pieces with the same node, without the cells of
    /// keys that another node answers, and these keys.
    fn firsts(&self, search: &Search<'_>, things: &[Thing<'_>]) -> Vec<First> {
        let answers = |number: usize| search.items.get(number)?.nodes.first().copied();
        // keys that a pin takes from their piece need no entry
        let mut apart: Vec<(Point, Point)> = Vec::new();
        let mut firsts = Vec::new();
        let mut ranges: Vec<(Point, Point, usize)> = Vec::new();
        for (number, (thing, item)) in things.iter().zip(&search.items).enumerate() {
            let Some(node) = answers(number) else {
                continue;
            };
            match thing.key {
                None if node != thing.base => match ranges.last_mut() {
                    Some((_, last, same))
                        if *same == node && last.0.checked_add(1) == Some(thing.first.0) =>
                    {
                        *last = thing.last;
                    }
                    _ => ranges.push((thing.first, thing.last, node)),
                },
                Some((_, piece)) if !item.is_pinned() && answers(piece) != Some(node) => {
                    apart.push((thing.first, thing.last));
                    if node != thing.base {
                        firsts.push(First {
                            what: what(thing),
                            node: self.name(node),
                            line: 0,
                        });
                    }
                }
                _ => {}
            }
        }
        apart.sort();
        for (first, last, node) in ranges {
            let mut start = Some(first);
            let inside = apart.iter().filter(|(a, b)| first <= *a && *b <= last);
            let mut parts = Vec::new();
            for (from, to) in inside {
                if let Some(start) = start.filter(|start| start < from) {
                    parts.push((start, Point(from.0 - 1)));
                }
                start = to.0.checked_add(1).map(Point);
            }
            parts.extend(
                start
                    .filter(|start| *start <= last)
                    .map(|start| (start, last)),
            );
            firsts.extend(parts.into_iter().map(|(first, last)| First {
                what: Pinned::Range {
                    first,
                    end: u128::from(last.0) + 1,
                },
                node: self.name(node),
                line: 0,
            }));
        }
        firsts.sort_by(|a, b| a.what.cmp(&b.what));
        firsts
    }
}

/// Returns what an entry about a thing covers. A key that no fleet can state is written by its
/// range.
fn what(thing: &Thing<'_>) -> Pinned {
    let key = thing.key.and_then(|(key, _)| key);
    match key.filter(|key| std::str::from_utf8(key).is_ok()) {
        Some(key) => Pinned::Key(key.to_vec()),
        None => Pinned::Range {
            first: thing.first,
            end: u128::from(thing.last.0) + 1,
        },
    }
}

/// Returns the first and the last point of the cell of a point.
fn cell(cells: Cells, point: Point) -> (Point, Point) {
    let number = cells.of(point);
    let last = cells.bound(number + 1) - 1;
    (Point(cells.bound(number) as u64), Point(last as u64))
}
