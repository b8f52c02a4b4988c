//! The load of each node and domain, and why the fullest node has so much.
//!
//! What a node **deserves** is its target (docs/placement.md, "Targets") as a part of all targets,
//! times all accesses. A node's load over what it deserves is 1 where the log is spread as the
//! weights say. Since all nodes together deserve all accesses, no placement can have less than 1
//! everywhere; and at the primary, the hottest key is a load of one node, wherever it is. So the
//! larger of the two is a lower bound for every placement of the log: the floor.

use super::tally::Tally;
use crate::map::{Map, Policy};
use crate::point::{Point, SPACE};
use crate::policy::NodeId;
use crate::verdict::Verdict;

/// Which nodes answer reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// The primary answers all of them.
    Primary,
    /// All nodes of the key answer, each the same part.
    Spread,
}

impl Reads {
    /// Returns the word for it in commands and reports: `primary` or `spread`.
    pub fn name(self) -> &'static str {
        match self {
            Reads::Primary => "primary",
            Reads::Spread => "spread",
        }
    }

    /// Returns which nodes of a policy have which part of its accesses.
    pub(super) fn parts(self, policy: Policy<'_>) -> Vec<(NodeId, f64)> {
        let mut nodes = policy.distinct();
        if self == Reads::Primary {
            nodes.truncate(1);
        }
        let part = 1.0 / nodes.len().max(1) as f64;
        nodes.into_iter().map(|node| (node, part)).collect()
    }
}

/// The load of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NodeLoad {
    /// The node.
    pub node: NodeId,
    /// The accesses that it answers. With reads at all nodes this is no whole number.
    pub load: f64,
    /// The accesses that its target deserves.
    pub deserved: f64,
    /// Load / deserved; `None` for a node that deserves nothing.
    pub over_mean: Option<f64>,
}

impl NodeLoad {
    fn new(node: NodeId, load: f64, deserved: f64) -> NodeLoad {
        NodeLoad {
            node,
            load,
            deserved,
            over_mean: (deserved > 0.0).then(|| load / deserved),
        }
    }
}

/// The load of a domain.
#[derive(Clone, PartialEq, Debug)]
pub struct DomainLoad {
    /// The values of its labels, outermost first.
    pub names: Vec<String>,
    /// The accesses that its nodes answer.
    pub load: f64,
    /// The accesses that the targets of its nodes deserve.
    pub deserved: f64,
}

/// The load of every node.
pub struct Loads {
    /// The nodes, in the order of the map.
    pub nodes: Vec<NodeLoad>,
    /// The domains, from the outermost in; empty without spread labels.
    pub domains: Vec<DomainLoad>,
    /// No placement of the log has a fullest node below this, over what it deserves.
    pub floor: f64,
    /// Who answers.
    pub reads: Reads,
}

/// What the load of a node is made of, each part over what the node deserves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Why {
    /// The node.
    pub node: NodeId,
    /// The hottest key of the node: its point and its load.
    pub hottest: Option<(Point, f64)>,
    /// The next nine keys.
    pub next: f64,
    /// All other keys.
    pub others: f64,
    /// What the node would have if every point had equally many accesses.
    pub shares: f64,
    /// The standard deviation if every access were another key: what chance alone makes.
    pub chance: f64,
}

impl Loads {
    /// Adds up the load of each node. Cost: one pass over the pieces and policies.
    pub fn of(tally: &Tally<'_>, reads: Reads) -> Loads {
        let map = tally.map();
        let verdict = Verdict::of(map, 0);
        let deserved = deserved(map, &verdict, reads, tally.accesses() as f64);
        let mut loads = vec![0.0; map.nodes().len()];
        let mut of_policy = vec![0u64; map.policies().len()];
        for (piece, accesses) in tally.pieces() {
            if let Some(sum) = of_policy.get_mut(piece.policy.index()) {
                *sum += accesses;
            }
        }
        for (policy, accesses) in map.policies().zip(of_policy) {
            for (node, part) in reads.parts(policy) {
                if let Some(load) = loads.get_mut(node.index()) {
                    *load += accesses as f64 * part;
                }
            }
        }
        let hottest = tally.hottest(1).first().map_or(0, |hot| hot.accesses);
        let nodes = (0..).map(NodeId).zip(loads).zip(&deserved);
        Loads {
            nodes: nodes
                .map(|((node, load), deserved)| NodeLoad::new(node, load, *deserved))
                .collect(),
            floor: floor(reads, hottest as f64, &deserved),
            domains: domains(map, &verdict),
            reads,
        }
        .with_domains(map)
    }

    /// Adds the nodes to their domains.
    fn with_domains(mut self, map: &Map) -> Loads {
        for node in map.nodes() {
            let values: Option<Vec<&str>> = map.spread().map(|label| node.label(label)).collect();
            let (Some(values), Some(load)) = (values, self.nodes.get(node.id.index())) else {
                continue;
            };
            for domain in &mut self.domains {
                let depth = domain.names.len();
                if values.iter().take(depth).eq(domain.names.iter()) {
                    domain.load += load.load;
                    domain.deserved += load.deserved;
                }
            }
        }
        self
    }

    /// Returns the fullest node: the one with the most load over what it deserves.
    pub fn fullest(&self) -> Option<&NodeLoad> {
        let known = self.nodes.iter().filter(|node| node.over_mean.is_some());
        // of equally full ones the first
        known.reduce(|a, b| if b.over_mean > a.over_mean { b } else { a })
    }

    /// Says what the load of a node is made of; `None` if it deserves nothing.
    pub fn why(&self, tally: &Tally<'_>, node: NodeId) -> Option<Why> {
        let map = tally.map();
        let found = self
            .nodes
            .get(node.index())
            .filter(|node| node.deserved > 0.0)?;
        let deserved = found.deserved;
        let part_of = |policy| {
            let parts = self.reads.parts(map.policy(policy)).into_iter();
            parts
                .filter(|(other, _)| *other == node)
                .map(|(_, part)| part)
                .sum::<f64>()
        };
        let mut own: Vec<(Point, f64)> = tally
            .hottest(usize::MAX)
            .into_iter()
            .map(|hot| {
                (
                    hot.point,
                    part_of(map.policy_of(hot.point)) * hot.accesses as f64,
                )
            })
            .filter(|(_, load)| *load > 0.0)
            .take(100) // enough for the ten hottest, although parts of keys are not in order
            .collect();
        own.sort_by(|a, b| b.1.total_cmp(&a.1));
        let hottest = own.first().map(|(point, load)| (*point, load / deserved));
        let next = own
            .iter()
            .skip(1)
            .take(9)
            .map(|(_, load)| load / deserved)
            .sum();
        let space: f64 = tally
            .pieces()
            .map(|(piece, _)| piece.points() as f64 / SPACE as f64 * part_of(piece.policy))
            .sum();
        let accesses = tally.accesses() as f64;
        let share = (deserved / accesses).min(1.0);
        Some(Why {
            node,
            hottest,
            next,
            others: found.load / deserved - next - hottest.map_or(0.0, |(_, load)| load),
            shares: space * accesses / deserved,
            chance: ((1.0 - share) / deserved).sqrt(),
        })
    }
}

/// Returns what each node deserves of so many accesses.
pub(super) fn deserved(map: &Map, verdict: &Verdict<'_>, reads: Reads, accesses: f64) -> Vec<f64> {
    let all = f64::from(map.replicas()) * SPACE as f64;
    let of = |target: Option<u128>, wanted: u128| {
        verdict.in_points(target.unwrap_or(wanted)) as f64 / all * accesses
    };
    let holders = verdict.nodes.iter();
    let mut deserved: Vec<f64> = holders.map(|node| of(node.target, node.wanted)).collect();
    for holder in &verdict.policies {
        let named = map
            .policies()
            .find(|policy| policy.name() == Some(holder.name));
        let parts = named.map(|policy| reads.parts(policy)).unwrap_or_default();
        for (node, part) in parts {
            if let Some(sum) = deserved.get_mut(node.index()) {
                *sum += of(holder.target, holder.wanted) * part;
            }
        }
    }
    deserved
}

/// Returns the lower bound of the fullest node over what it deserves.
pub(super) fn floor(reads: Reads, hottest: f64, deserved: &[f64]) -> f64 {
    let most = deserved.iter().copied().fold(0.0, f64::max);
    match reads {
        Reads::Primary if most > 0.0 => (hottest / most).max(1.0),
        // a pin may name every node
        _ => 1.0,
    }
}

fn domains(map: &Map, verdict: &Verdict<'_>) -> Vec<DomainLoad> {
    if map.spread().len() == 0 {
        return Vec::new();
    }
    // the first domain is the whole
    let numbers = 1..verdict.domains.len();
    let empty = |domain| DomainLoad {
        names: verdict
            .names(domain)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        load: 0.0,
        deserved: 0.0,
    };
    numbers.map(empty).collect()
}
