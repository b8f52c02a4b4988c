//! Builds the built-in scenarios: growth, and random histories from an integer generator with a
//! fixed seed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::scenario::{Scenario, ScenarioNode, Step};
use crate::map::mix;
use crate::point::Point;
use crate::weight::Weight;

/// The scenario as far as it is built.
pub struct Draft {
    scenario: Scenario,
    /// How many numbers were drawn so far. The generator is SplitMix64 from state 0, whose j-th
    /// number is `mix(0, j)`.
    draws: u64,
    /// The present nodes of a random history: name and place, in the order in which they were
    /// added.
    there: Vec<(String, ZoneAndRack)>,
    /// The number of nodes that were ever created, which gives the next name.
    named: usize,
}

/// The numbers of a zone and of a rack in it, counted from 0.
type ZoneAndRack = (usize, usize);

/// The shape of the fleets of a random history.
pub struct Shape {
    /// The number of replicas, R.
    pub replicas: u32,
    /// The number of zones.
    pub zones: usize,
    /// The number of racks in each zone.
    pub racks: usize,
    /// The number of nodes in each rack at the start.
    pub nodes: usize,
    /// The largest number of nodes that a rack may have.
    pub most: usize,
    /// The range of the weights, which are whole numbers. All are equally likely.
    pub weights: RangeInclusive<u64>,
}

impl Draft {
    /// An empty scenario with this name.
    pub fn new(name: &str) -> Draft {
        let (name, file) = (name.to_owned(), name.to_owned());
        let scenario = Scenario {
            name,
            replicas: 1,
            spread: Vec::new(),
            nodes: Vec::new(),
            steps: Vec::new(),
            file,
        };
        Draft {
            scenario,
            draws: 0,
            there: Vec::new(),
            named: 0,
        }
    }

    /// Returns the finished scenario.
    pub fn done(self) -> Scenario {
        self.scenario
    }

    /// Starts with `first` nodes of weight 1 and grows to `last` nodes, `batch` at a time. The
    /// names are n0, n1, ..., padded so that they sort in the order of their numbers.
    pub fn batches(&mut self, first: usize, batch: usize, last: usize) {
        let width = (last - 1).to_string().len();
        let nodes = |from: usize, to: usize| {
            let node = |i| ScenarioNode {
                name: format!("n{i:0width$}"),
                weight: Weight::ONE,
                labels: Vec::new(),
            };
            (from..to).map(node).collect::<Vec<_>>()
        };
        self.scenario.nodes = nodes(0, first);
        for there in (first..last).step_by(batch) {
            self.push(Step {
                add: nodes(there, (there + batch).min(last)),
                ..Step::default()
            });
        }
    }

    /// Adds a step that gives a node another weight.
    pub fn reweight(&mut self, name: &str, millionths: u64) {
        let weight = Weight::from_millionths(millionths).unwrap_or(Weight::ONE);
        self.push(Step {
            reweight: vec![(name.to_owned(), weight)],
            ..Step::default()
        });
    }

    /// A small fleet whose caps bind, and 60 random changes of it. Racks have up to `most` nodes;
    /// weights are 1 to 9.
    pub fn tight(&mut self, replicas: u32, zones: usize, racks: usize, most: usize) {
        self.random(
            &Shape {
                replicas,
                zones,
                racks,
                nodes: most.div_ceil(2),
                most,
                weights: 1..=9,
            },
            60,
        );
    }

    /// A fleet of this shape and `steps` random changes of it. With equal probability, a node is
    /// added to a random rack, a node is removed, or a node gets another weight. A change that is
    /// not possible (the rack is full, the node is the last of its zone, there would be fewer nodes
    /// than replicas) is drawn again.
    pub fn random(&mut self, shape: &Shape, steps: usize) {
        self.scenario.replicas = shape.replicas;
        if shape.replicas > 1 {
            self.scenario.spread = vec!["zone".into(), "rack".into()];
        }
        // zones take turns, so that a peer which deals by name starts with neighbours in different
        // zones
        for i in 0..shape.nodes * shape.racks * shape.zones {
            let node = self.node((i % shape.zones, i / shape.zones % shape.racks), shape);
            self.scenario.nodes.push(node);
        }
        while self.scenario.steps.len() < steps {
            let step = match self.below(3) {
                0 => self.coming(shape),
                1 => self.leaving(shape),
                _ => {
                    let (i, weight) = (
                        self.below(self.there.len() as u64) as usize,
                        self.weight(shape),
                    );
                    Some(Step {
                        reweight: vec![(self.there[i].0.clone(), weight)],
                        ..Step::default()
                    })
                }
            };
            if let Some(step) = step {
                self.push(step);
            }
        }
    }

    fn coming(&mut self, shape: &Shape) -> Option<Step> {
        let place = (
            self.below(shape.zones as u64) as usize,
            self.below(shape.racks as u64) as usize,
        );
        let inside = self.there.iter().filter(|(_, p)| *p == place).count();
        (inside < shape.most).then(|| Step {
            add: vec![self.node(place, shape)],
            ..Step::default()
        })
    }

    fn leaving(&mut self, shape: &Shape) -> Option<Step> {
        let i = self.below(self.there.len() as u64) as usize;
        let mut zones: BTreeMap<usize, usize> = BTreeMap::new();
        self.there
            .iter()
            .for_each(|(_, place)| *zones.entry(place.0).or_insert(0) += 1);
        let zone = self.there[i].1 .0;
        let can = self.there.len() > shape.replicas as usize
            && zones.get(&zone).is_some_and(|nodes| *nodes > 1);
        can.then(|| Step {
            remove: vec![self.there.remove(i).0],
            ..Step::default()
        })
    }

    /// Creates a new node. Zones are named a, b, ..., and the racks of zone a are a1, a2, ...
    fn node(&mut self, place: ZoneAndRack, shape: &Shape) -> ScenarioNode {
        let zone = char::from(b'a' + place.0 as u8).to_string();
        let rack = format!("{zone}{}", place.1 + 1);
        let name = format!("n{:03}", self.named);
        self.named += 1;
        self.there.push((name.clone(), place));
        ScenarioNode {
            name,
            weight: self.weight(shape),
            labels: vec![("zone".into(), zone), ("rack".into(), rack)],
        }
    }

    fn weight(&mut self, shape: &Shape) -> Weight {
        let whole =
            shape.weights.start() + self.below(shape.weights.end() - shape.weights.start() + 1);
        Weight::from_millionths(whole * 1_000_000).unwrap_or(Weight::ONE)
    }

    fn push(&mut self, step: Step) {
        self.scenario.steps.push(Step { line: 1, ..step });
    }

    /// A random number below `end`: the upper half of a product. The relative bias is at most end /
    /// 2^64.
    fn below(&mut self, end: u64) -> u64 {
        self.draws += 1;
        ((u128::from(mix(Point(0), self.draws).0) * u128::from(end)) >> 64) as u64
    }
}
