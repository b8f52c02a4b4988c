//! Random fleets with replicas and fault domains, and random changes of them.

use proptest::prelude::*;
use stead::Fleet;

pub const MILLION: u64 = 1_000_000;
const SPREADS: [&[&str]; 6] = [
    &[],
    &["zone"],
    &["zone", "rack"],
    &["zone", "rack", "shelf"],
    &["rack"],
    &["shelf", "zone"],
];

/// The numbers of a zone, a rack and a shelf.
pub type Place = [usize; 3];

#[derive(Clone, Debug)]
pub enum Change {
    Add(u64, Place),
    AddZone(usize, Vec<(u64, Place)>),
    Remove(usize),
    LoseZone(usize),
    LoseRack(usize),
    Drain(usize),
    Reweight(usize, u64),
    Relabel(usize, Place),
    MoveRack(usize, usize),
    Rename(usize),
    Replicas(usize),
    Spread(usize),
}

/// Weights in millionths: usual ones, random ones, very small ones, the largest.
pub fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(MILLION), 2 => Just(2 * MILLION), 4 => 1u64..10 * MILLION, 1 => 1u64..10, 1 => Just(1_000_000_000_000u64)]
}

pub fn place() -> impl Strategy<Value = Place> {
    (0usize..5, 0usize..3, 0usize..2).prop_map(|(zone, rack, shelf)| [zone, rack, shelf])
}

pub fn replicas() -> impl Strategy<Value = usize> {
    1usize..6
}

/// All kinds of changes.
pub fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => inside_zones(),
        1 => (0usize..5, nodes(1..4)).prop_map(|(zone, nodes)| Change::AddZone(zone, nodes)),
        1 => any::<usize>().prop_map(Change::LoseZone),
        2 => (any::<usize>(), place()).prop_map(|(i, place)| Change::Relabel(i, place)),
        1 => (any::<usize>(), 0usize..5).prop_map(|(i, zone)| Change::MoveRack(i, zone)),
        1 => replicas().prop_map(Change::Replicas),
        1 => (0..SPREADS.len()).prop_map(Change::Spread),
    ]
}

/// Changes that leave the zones and all labels as they are.
pub fn inside_zones() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (weight(), place()).prop_map(|(weight, place)| Change::Add(weight, place)),
        2 => any::<usize>().prop_map(Change::Remove),
        1 => any::<usize>().prop_map(Change::LoseRack),
        1 => any::<usize>().prop_map(Change::Drain),
        4 => (any::<usize>(), weight()).prop_map(|(i, weight)| Change::Reweight(i, weight)),
        1 => any::<usize>().prop_map(Change::Rename),
    ]
}

pub fn nodes(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<(u64, Place)>> {
    prop::collection::vec((weight(), place()), count)
}

/// `steps` plans of one to three changes each.
pub fn plans(steps: usize) -> impl Strategy<Value = Vec<Vec<Change>>> {
    prop::collection::vec(prop::collection::vec(change(), 1..4), steps)
}

/// A random fleet to start with.
pub fn wanted(most: usize) -> impl Strategy<Value = Wanted> {
    (replicas(), 0..SPREADS.len(), nodes(0..6)).prop_map(move |(replicas, spread, nodes)| {
        let mut wanted = Wanted {
            replicas,
            spread,
            most,
            zones: 5,
            ..Wanted::default()
        };
        nodes
            .into_iter()
            .for_each(|(weight, place)| wanted.add(weight, place));
        wanted.change(&[]);
        wanted
    })
}

#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub weight: u64,
    place: Place,
    formerly: Option<String>,
}

/// A fleet in the form of the test, with everything that its text needs.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub replicas: usize,
    spread: usize,
    pub nodes: Vec<Node>,
    pub max_slices: Option<usize>,
    /// The tolerance, in millionths.
    pub tolerance: Option<u32>,
    /// No nodes are added beyond this number.
    most: usize,
    /// The zones are numbered below this.
    zones: usize,
    /// This many nodes, the first ones, always stay as they are.
    fixed: usize,
    next: usize,
}

impl Wanted {
    /// A fleet with as many zones as replicas and, in each zone, one node that always stays. Copies
    /// are spread over zones and racks.
    pub fn with_a_zone_for_each_copy(replicas: usize, most: usize) -> Wanted {
        let mut wanted = Wanted {
            replicas,
            spread: 2,
            most,
            zones: replicas,
            ..Wanted::default()
        };
        (0..replicas).for_each(|zone| wanted.add(MILLION, [zone, 0, 0]));
        wanted.fixed = replicas;
        wanted
    }

    fn add(&mut self, weight: u64, [zone, rack, shelf]: Place) {
        if self.nodes.len() < self.most {
            // names whose order is not the order of age
            let name = format!("n{}-{}", (self.next * 7919) % 1000, self.next);
            self.next += 1;
            self.nodes.push(Node {
                name,
                weight,
                place: [zone % self.zones, rack, shelf],
                formerly: None,
            });
        }
    }

    /// Makes all changes of one plan, and then adds as many nodes as the copies need.
    pub fn change(&mut self, changes: &[Change]) {
        self.nodes.iter_mut().for_each(|node| node.formerly = None);
        for change in changes {
            self.change_once(change);
        }
        while self.nodes.iter().filter(|node| node.weight > 0).count() < self.replicas {
            self.add(MILLION, [self.next % 5, self.next % 3, 0]);
            if self.nodes.len() == self.most {
                self.nodes
                    .iter_mut()
                    .filter(|node| node.weight == 0)
                    .for_each(|node| node.weight = MILLION);
            }
        }
    }

    /// The index of one of the nodes that may change.
    fn some(&self, i: usize) -> Option<usize> {
        i.checked_rem(self.nodes.len() - self.fixed)
            .map(|i| self.fixed + i)
    }

    /// Drops the nodes that are in the same domain as the node `i`, at this number of levels.
    fn lose(&mut self, i: usize, levels: usize) {
        let (lost, fixed) = (self.nodes[i].place, self.fixed);
        let mut number = 0..;
        self.nodes
            .retain(|node| number.next() < Some(fixed) || node.place[..levels] != lost[..levels]);
    }

    fn change_once(&mut self, change: &Change) {
        match change {
            Change::Add(weight, place) => self.add(*weight, *place),
            Change::AddZone(zone, nodes) => nodes
                .iter()
                .for_each(|(weight, place)| self.add(*weight, [*zone, place[1], place[2]])),
            Change::Replicas(replicas) => self.replicas = *replicas,
            Change::Spread(spread) => self.spread = *spread,
            Change::Remove(i)
            | Change::LoseZone(i)
            | Change::LoseRack(i)
            | Change::Drain(i)
            | Change::Reweight(i, _)
            | Change::Relabel(i, _)
            | Change::MoveRack(i, _)
            | Change::Rename(i) => {
                let Some(i) = self.some(*i) else { return };
                self.change_node(change, i);
            }
        }
    }

    fn change_node(&mut self, change: &Change, i: usize) {
        let node = &mut self.nodes[i];
        match change {
            Change::Remove(_) => drop(self.nodes.remove(i)),
            Change::LoseZone(_) => self.lose(i, 1),
            Change::LoseRack(_) => self.lose(i, 2),
            Change::Drain(_) => node.weight = 0,
            Change::Reweight(_, weight) => node.weight = *weight,
            Change::Relabel(_, place) => node.place = *place,
            Change::MoveRack(_, zone) => {
                let rack = node.place;
                let moves = self
                    .nodes
                    .iter_mut()
                    .filter(|node| node.place[..2] == rack[..2]);
                moves.for_each(|node| node.place[0] = *zone);
            }
            Change::Rename(_) if node.formerly.is_none() => {
                let name = format!("{}-renamed-{}", ["a", "m", "z"][self.next % 3], self.next);
                node.formerly = Some(std::mem::replace(&mut node.name, name));
                self.next += 1;
            }
            _ => {}
        }
    }

    /// The text of the fleet. `scale` multiplies all weights; `turned` reverses the order of
    /// everything.
    pub fn text(&self, scale: u64, turned: bool) -> String {
        let spread: Vec<String> = SPREADS[self.spread]
            .iter()
            .map(|label| format!("\"{label}\""))
            .collect();
        let mut head = vec![
            "name = \"test\"".into(),
            format!("replicas = {}", self.replicas),
            format!("spread = [{}]", spread.join(", ")),
        ];
        head.extend(self.max_slices.map(|most| format!("max_slices = {most}")));
        head.extend(self.tolerance.map(|part| {
            let (whole, places) = (part / 10_000, part % 10_000);
            format!("tolerance = \"{whole}.{places:04}%\"")
        }));
        let mut blocks: Vec<String> = Vec::new();
        for Node {
            name,
            weight,
            place: [zone, rack, shelf],
            formerly,
        } in &self.nodes
        {
            let weight = weight * scale;
            let mut labels = [
                format!("zone = \"{zone}\""),
                format!("rack = \"{rack}\""),
                format!("shelf = \"{shelf}\""),
            ];
            let mut lines = vec![
                format!("name = \"{name}\""),
                format!("weight = {}.{:06}", weight / MILLION, weight % MILLION),
            ];
            lines.extend(
                formerly
                    .as_ref()
                    .map(|former| format!("formerly = \"{former}\"")),
            );
            if turned {
                labels.reverse();
                lines.reverse();
            }
            blocks.push(format!(
                "[[node]]\nlabels = {{ {} }}\n{}\n",
                labels.join(", "),
                lines.join("\n")
            ));
        }
        if turned {
            head.reverse();
            blocks.reverse();
        }
        format!("{}\n{}", head.join("\n"), blocks.concat())
    }

    pub fn fleet(&self) -> Fleet {
        Fleet::parse(&self.text(1, false), "test.toml").unwrap()
    }
}
