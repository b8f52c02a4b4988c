//! The built-in scenarios: the figures of the article on Random Slicing, growth, and random
//! histories with zones and racks.

use super::draft::{Draft, Shape};
use super::scenario::Scenario;
use super::system::Sizes;

/// A scenario that needs no file.
pub struct BuiltIn {
    /// The name of the scenario.
    pub name: &'static str,
    /// What the scenario does, in one line.
    pub about: &'static str,
    /// The number of partitions of Riak's ring, if the source of the scenario uses another number
    /// than [`Sizes::of`].
    partitions: Option<u32>,
    make: fn(&mut Draft),
}

/// All built-in scenarios, in the order in which they are listed to users.
pub const BUILT_INS: [BuiltIn; 19] = [
    entry(
        "figure-5",
        "1 node to 4, one by one (the article's figure 5)",
        |s| s.batches(1, 1, 4),
    ),
    entry(
        "figure-6",
        "1 node to 4, one by one, then n3 x 1.5 (figure 6)",
        |s| {
            s.batches(1, 1, 4);
            s.reweight("n3", 1_500_000);
        },
    ),
    BuiltIn {
        partitions: Some(16),
        ..entry(
            "figure-7",
            "4 nodes to 7, 10, 13 and 16; Riak with 16 partitions (figure 7)",
            |s| s.batches(4, 3, 16),
        )
    },
    entry("one-by-one", "1 node to 100, one at a time", |s| {
        s.batches(1, 1, 100)
    }),
    entry("batches", "30 nodes to 300, 30 at a time", |s| {
        s.batches(30, 30, 300)
    }),
    entry("batches-10", "10 nodes to 300, 10 at a time", |s| {
        s.batches(10, 10, 300)
    }),
    entry("batches-100", "100 nodes to 1000, 100 at a time", |s| {
        s.batches(100, 100, 1000)
    }),
    entry(
        "zones",
        "3 zones x 10 racks x 20 nodes of weights 100 to 300, R = 3, 200 random changes",
        |s| {
            s.random(
                &Shape {
                    replicas: 3,
                    zones: 3,
                    racks: 10,
                    nodes: 20,
                    most: usize::MAX,
                    weights: 100..=300,
                },
                200,
            );
        },
    ),
    entry(
        "five-zones",
        "5 zones x 4 racks x 5 nodes of weights 100 to 300, R = 3, 60 random changes",
        |s| {
            s.random(
                &Shape {
                    replicas: 3,
                    zones: 5,
                    racks: 4,
                    nodes: 5,
                    most: usize::MAX,
                    weights: 100..=300,
                },
                60,
            );
        },
    ),
    entry(
        "tight-1-1-1-12",
        "tight: R = 1, 1 zone of 1 rack of up to 12 nodes, 60 random changes",
        |s| s.tight(1, 1, 1, 12),
    ),
    entry(
        "tight-2-2-2-3",
        "tight: R = 2, 2 zones of 2 racks of up to 3 nodes, 60 random changes",
        |s| s.tight(2, 2, 2, 3),
    ),
    entry(
        "tight-3-3-2-3",
        "tight: R = 3, 3 zones of 2 racks of up to 3 nodes, 60 random changes",
        |s| s.tight(3, 3, 2, 3),
    ),
    entry(
        "tight-2-3-2-3",
        "tight: R = 2, 3 zones of 2 racks of up to 3 nodes, 60 random changes",
        |s| s.tight(2, 3, 2, 3),
    ),
    entry(
        "tight-3-5-2-2",
        "tight: R = 3, 5 zones of 2 racks of up to 2 nodes, 60 random changes",
        |s| s.tight(3, 5, 2, 2),
    ),
    entry(
        "tight-3-2-3-3",
        "tight: R = 3, 2 zones of 3 racks of up to 3 nodes, 60 random changes",
        |s| s.tight(3, 2, 3, 3),
    ),
    entry(
        "tight-3-4-2-2",
        "tight: R = 3, 4 zones of 2 racks of up to 2 nodes, 60 random changes",
        |s| s.tight(3, 4, 2, 2),
    ),
    entry(
        "tight-2-1-4-2",
        "tight: R = 2, 1 zone of 4 racks of up to 2 nodes, 60 random changes",
        |s| s.tight(2, 1, 4, 2),
    ),
    entry(
        "tight-3-1-4-1",
        "tight: R = 3, 1 zone of 4 racks of up to 1 node, 60 random changes",
        |s| s.tight(3, 1, 4, 1),
    ),
    entry(
        "tight-4-3-2-2",
        "tight: R = 4, 3 zones of 2 racks of up to 2 nodes, 60 random changes",
        |s| s.tight(4, 3, 2, 2),
    ),
];

const fn entry(name: &'static str, about: &'static str, make: fn(&mut Draft)) -> BuiltIn {
    BuiltIn {
        name,
        about,
        partitions: None,
        make,
    }
}

/// Finds a built-in scenario by its name.
pub fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_INS.iter().find(|built_in| built_in.name == name)
}

impl BuiltIn {
    /// Builds the scenario. Every call returns the same one.
    pub fn scenario(&self) -> Scenario {
        let mut draft = Draft::new(self.name);
        (self.make)(&mut draft);
        draft.done()
    }

    /// The sizes that the peers get in this scenario.
    pub fn sizes(&self, scenario: &Scenario) -> Sizes {
        let sizes = Sizes::of(scenario.largest());
        Sizes {
            partitions: self.partitions.unwrap_or(sizes.partitions),
            ..sizes
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_built_in_scenario_can_be_written_and_read_back() {
        let names: BTreeSet<&str> = BUILT_INS.iter().map(|built_in| built_in.name).collect();
        assert_eq!(names.len(), BUILT_INS.len());
        for built_in in &BUILT_INS {
            let scenario = built_in.scenario();
            assert_eq!(scenario, built_in.scenario());
            assert_eq!(
                (scenario.name.as_str(), scenario.file.as_str()),
                (built_in.name, built_in.name)
            );
            let json = scenario.to_json();
            let mut read = Scenario::parse(&json, built_in.name).unwrap();
            assert_eq!(read.to_json(), json);
            read.steps.iter_mut().for_each(|step| step.line = 1);
            assert_eq!(read, scenario, "{}", built_in.name);
            assert!(
                built_in.sizes(&scenario).check().is_ok()
                    && super::built_in(built_in.name).is_some()
            );
        }
        assert!(super::built_in("figure-8").is_none());
    }

    #[test]
    fn built_in_scenarios_have_the_sizes_that_their_descriptions_name() {
        let sizes = |name: &str| {
            let scenario = built_in(name).unwrap().scenario();
            (
                scenario.replicas,
                scenario.nodes.len(),
                scenario.steps.len(),
                scenario.largest(),
            )
        };
        assert_eq!(sizes("figure-5"), (1, 1, 3, 4));
        assert_eq!(sizes("figure-6"), (1, 1, 4, 4));
        assert_eq!(sizes("figure-7"), (1, 4, 4, 16));
        assert_eq!(sizes("one-by-one"), (1, 1, 99, 100));
        assert_eq!(sizes("batches"), (1, 30, 9, 300));
        assert_eq!(sizes("batches-10"), (1, 10, 29, 300));
        assert_eq!(sizes("batches-100"), (1, 100, 9, 1000));
        let (replicas, nodes, steps, largest) = sizes("zones");
        assert_eq!((replicas, nodes, steps), (3, 600, 200));
        assert!((590..650).contains(&largest), "{largest}");
        assert_eq!(sizes("five-zones").1, 100);
        assert_eq!(sizes("tight-3-1-4-1"), (3, 4, 60, 4));
    }

    #[test]
    fn a_tight_scenario_keeps_its_shape_and_has_every_kind_of_change() {
        for built_in in BUILT_INS
            .iter()
            .filter(|built_in| built_in.name.starts_with("tight"))
        {
            let scenario = built_in.scenario();
            let shape: Vec<usize> = built_in
                .name
                .split('-')
                .skip(1)
                .map(|n| n.parse().unwrap())
                .collect();
            let mut racks = std::collections::BTreeMap::new();
            let mut rack_of = std::collections::BTreeMap::new();
            let mut add =
                |nodes: &[super::super::scenario::ScenarioNode],
                 racks: &mut std::collections::BTreeMap<(String, String), usize>| {
                    for node in nodes {
                        let rack = (node.labels[0].1.clone(), node.labels[1].1.clone());
                        *racks.entry(rack.clone()).or_insert(0) += 1;
                        rack_of.insert(node.name.clone(), rack);
                    }
                    rack_of.clone()
                };
            let mut known = add(&scenario.nodes, &mut racks);
            for step in &scenario.steps {
                assert_eq!(step.add.len() + step.remove.len() + step.reweight.len(), 1);
                for name in &step.remove {
                    *racks.get_mut(&known[name]).unwrap() -= 1;
                }
                known = add(&step.add, &mut racks);
                assert!(
                    racks.values().all(|count| *count <= shape[3]),
                    "{}",
                    built_in.name
                );
                let zones: BTreeSet<&String> = racks
                    .iter()
                    .filter(|(_, count)| **count > 0)
                    .map(|((zone, _), _)| zone)
                    .collect();
                assert_eq!(zones.len(), shape[1]);
                assert!(racks.values().sum::<usize>() >= shape[0]);
            }
            let of = |count: fn(&super::super::scenario::Step) -> usize| {
                scenario.steps.iter().map(count).sum::<usize>()
            };
            assert!(
                of(|s| s.reweight.len()) > 5
                    && of(|s| s.add.len()) > 2
                    && of(|s| s.remove.len()) > 2,
                "{}",
                built_in.name
            );
        }
    }
}
