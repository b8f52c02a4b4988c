//! A judge of maps with replicas and fault domains that shares no code with what it judges. It
//! reads the bytes by docs/map-format.md alone and does its own arithmetic, in cells. It does not
//! know named policies, since they hold nothing at R > 1.

use std::collections::{BTreeMap, BTreeSet};

use super::bytes::{allowed, section, text, tolerance, u32_at, u64_at};
use super::flow::Network;

#[derive(Clone, Debug)]
pub struct Node {
    pub name: String,
    pub formerly: String,
    pub weight: u128,
    /// The values of the spread labels, outermost first.
    pub domain: Vec<String>,
}

/// The parts of a map that the judge reads.
#[derive(Clone, Debug)]
pub struct Judged {
    pub replicas: usize,
    pub cells: u128,
    pub spread: Vec<String>,
    pub nodes: Vec<Node>,
    /// The first cell of each base slice, and its nodes, the primary first.
    pub slices: Vec<(u128, Vec<usize>)>,
    /// How far a share may be from its target, in millionths.
    pub tolerance: u128,
}

/// What a step moved and reordered, and the lower bound on what it had to move, in cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub moved: u128,
    pub bound: u128,
    pub reordered: u128,
}

pub fn read(bytes: &[u8]) -> Judged {
    let text = |at: usize| text(bytes, at);
    let (spread, levels) = section(bytes, 2);
    let spread: Vec<String> = (0..levels).map(|i| text(spread + 8 * i)).collect();
    let ((nodes, node_count), (labels, _)) = (section(bytes, 3), section(bytes, 4));
    let node = |i: usize| {
        let record = nodes + 40 * i;
        let (first, count) = (u32_at(bytes, record + 24), u32_at(bytes, record + 28));
        let values: BTreeMap<String, String> = (first..first + count)
            .map(|l| (text(labels + 16 * l), text(labels + 16 * l + 8)))
            .collect();
        let domain = spread
            .iter()
            .map_while(|label| values.get(label).cloned())
            .collect();
        Node {
            name: text(record),
            formerly: text(record + 8),
            weight: u128::from(u64_at(bytes, record + 16)),
            domain,
        }
    };
    let nodes = (0..node_count).map(node).collect();
    let ((policies, _), (members, _)) = (section(bytes, 6), section(bytes, 7));
    let list = |policy: usize| {
        let record = policies + 40 * policy;
        assert_eq!(
            u32_at(bytes, record + 32),
            0,
            "this judge knows no named policies"
        );
        let (first, count) = (u32_at(bytes, record + 24), u32_at(bytes, record + 28));
        (first..first + count)
            .map(|m| u32_at(bytes, members + 4 * m))
            .collect()
    };
    let cells = match u64_at(bytes, 136) {
        0 => 1 << 64,
        some => u128::from(some),
    };
    let cell = |point: u64| {
        let v = (u128::from(point) * cells) >> 64;
        assert!(
            cells == 1 << 64 || (v << 64).div_ceil(cells) == u128::from(point),
            "{point:016x} is no bound of {cells} cells"
        );
        v
    };
    let ((points, count), (held, _)) = (section(bytes, 8), section(bytes, 9));
    let slices = (0..count)
        .map(|i| {
            (
                cell(u64_at(bytes, points + 8 * i)),
                list(u32_at(bytes, held + 4 * i)),
            )
        })
        .collect();
    Judged {
        replicas: u32_at(bytes, 60),
        cells,
        spread,
        nodes,
        slices,
        tolerance: tolerance(bytes),
    }
}

/// The number of cells, the old nodes by their new numbers, and the new nodes.
type Piece<'a> = (u128, Vec<Option<usize>>, &'a [usize]);

impl Judged {
    /// The number of cells and the nodes of each slice.
    pub fn runs(&self) -> impl Iterator<Item = (u128, &Vec<usize>)> {
        let ends = self
            .slices
            .iter()
            .skip(1)
            .map(|(first, _)| *first)
            .chain([self.cells]);
        self.slices
            .iter()
            .zip(ends)
            .map(|((first, list), end)| (end - first, list))
    }

    /// The number of cells of each node.
    pub fn loads(&self) -> Vec<u128> {
        let mut loads = vec![0; self.nodes.len()];
        self.runs()
            .for_each(|(cells, list)| list.iter().for_each(|i| loads[*i] += cells));
        loads
    }

    /// The number of cells of which each node is the primary.
    pub fn primaries(&self) -> Vec<u128> {
        let mut counts = vec![0; self.nodes.len()];
        self.runs()
            .for_each(|(cells, list)| counts[list[0]] += cells);
        counts
    }

    /// Guarantee 1: each node has exactly its target or, in a map with a tolerance, is within it of
    /// its target.
    pub fn check_targets(&self) -> Result<(), String> {
        let (loads, targets) = (self.loads(), self.targets());
        for ((node, load), target) in self.nodes.iter().zip(loads).zip(targets) {
            let (least, most) = allowed(target, self.tolerance, self.cells);
            if load < least || load > most {
                return Err(format!(
                    "{} has {load} cells, its target is {target}",
                    node.name
                ));
            }
        }
        Ok(())
    }

    /// Guarantee 2: every slice has R different nodes, and no domain holds more copies of a point
    /// than its cap.
    pub fn check_caps(&self) -> Result<(), String> {
        let caps = self.caps();
        for (first, list) in &self.slices {
            let mut copies: BTreeMap<&[String], usize> = BTreeMap::new();
            for node in list.iter().map(|i| &self.nodes[*i]) {
                (1..=node.domain.len())
                    .for_each(|level| *copies.entry(&node.domain[..level]).or_default() += 1);
            }
            if let Some((domain, n)) = copies
                .into_iter()
                .find(|(domain, n)| caps.get(*domain).is_none_or(|cap| n > cap))
            {
                return Err(format!(
                    "cell {first}: {n} copies in {domain:?}, whose cap is {:?}",
                    caps.get(domain)
                ));
            }
            let distinct: BTreeSet<&usize> = list.iter().collect();
            if list.len() != self.replicas || distinct.len() != list.len() {
                return Err(format!(
                    "cell {first}: {list:?} are not {} nodes",
                    self.replicas
                ));
            }
        }
        Ok(())
    }

    /// Checks the primaries: a node with the target T is the primary of T / R cells, rounded down
    /// or up, and the nodes after the primary are in the order of their names. In a map with a
    /// tolerance and several replicas, the band around T takes the place of T.
    pub fn check_primaries(&self) -> Result<(), String> {
        let r = self.replicas as u128;
        let tolerance = if r > 1 { self.tolerance } else { 0 };
        let ranges: Vec<(u128, u128)> = match tolerance {
            0 => self.loads().into_iter().map(|load| (load, load)).collect(),
            part => self
                .targets()
                .into_iter()
                .map(|target| allowed(target, part, self.cells))
                .collect(),
        };
        let found = self.nodes.iter().zip(self.loads()).zip(self.primaries());
        for (((node, load), first), (least, most)) in found.zip(ranges) {
            if first < least / r || first > most.div_ceil(r) {
                return Err(format!(
                    "{} is the primary of {first} cells of {load} at {r} replicas",
                    node.name
                ));
            }
        }
        match self.slices.iter().find(|(_, list)| !list[1..].is_sorted()) {
            Some((first, list)) => Err(format!(
                "cell {first}: {list:?} do not stand by name behind the primary"
            )),
            None => Ok(()),
        }
    }

    /// For each node of this map, its number in a later map.
    fn in_later(&self, new: &Judged) -> Vec<Option<usize>> {
        let named =
            |judged: &Judged, name: &str| judged.nodes.iter().position(|node| node.name == name);
        let later = |node: &Node| {
            let renamed = || {
                new.nodes
                    .iter()
                    .position(|n| n.formerly == node.name && named(self, &n.name).is_none())
            };
            named(new, &node.name).or_else(renamed)
        };
        self.nodes.iter().map(later).collect()
    }

    /// Cuts the space at the bounds of both maps.
    fn pieces<'a>(&'a self, new: &'a Judged) -> Vec<Piece<'a>> {
        let later = self.in_later(new);
        let mut cuts: Vec<u128> = self
            .slices
            .iter()
            .chain(&new.slices)
            .map(|(first, _)| *first)
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let ends: Vec<u128> = cuts.iter().skip(1).copied().chain([self.cells]).collect();
        fn list(judged: &Judged, at: u128) -> &Vec<usize> {
            &judged.slices[judged.slices.partition_point(|(first, _)| *first <= at) - 1].1
        }
        let old = |at: u128| list(self, at).iter().map(|i| later[*i]).collect();
        cuts.iter()
            .zip(ends)
            .map(|(at, end)| (end - at, old(*at), list(new, *at).as_slice()))
            .collect()
    }

    pub fn step(&self, new: &Judged) -> Step {
        let (mut moved, mut reordered) = (0, 0);
        for (cells, old, now) in self.pieces(new) {
            moved += cells * now.iter().filter(|i| !old.contains(&Some(**i))).count() as u128;
            let lost = |first: usize| first != now[0] && now.contains(&first);
            reordered += if old[0].is_some_and(lost) { cells } else { 0 };
        }
        let mut had = vec![0; new.nodes.len()];
        self.in_later(new)
            .iter()
            .zip(self.loads())
            .for_each(|(to, load)| to.iter().for_each(|to| had[*to] += load));
        Step {
            moved,
            bound: new
                .loads()
                .iter()
                .zip(had)
                .map(|(now, had)| now.saturating_sub(had))
                .sum(),
            reordered,
        }
    }

    /// Whether docs/placement.md promises that the least movement is the lower bound. That is so at
    /// one replica; and when there are as many outermost domains as replicas, with one copy each
    /// before and after, and no label, number of replicas or spread has changed.
    pub fn bound_can_be_reached(&self, new: &Judged) -> bool {
        let one_each = |judged: &Judged| {
            let caps: Vec<usize> = judged
                .caps()
                .into_iter()
                .filter(|(domain, _)| domain.len() == 1)
                .map(|(_, cap)| cap)
                .collect();
            caps.len() == judged.replicas && caps.iter().all(|cap| *cap == 1)
        };
        let stays = |(old, later): (&Node, Option<usize>)| {
            later.is_none_or(|i| new.nodes[i].domain == old.domain)
        };
        let same = self.replicas == new.replicas && self.spread == new.spread;
        self.replicas == 1 && new.replicas == 1
            || same
                && one_each(self)
                && one_each(new)
                && self.nodes.iter().zip(self.in_later(new)).all(stays)
    }

    /// The smallest number of cells that can move from these slices to the targets of `new`, or to
    /// the shares of `new` if it has a tolerance. This is a flow from each set of old nodes through
    /// the domains to the nodes, in which a copy that stays costs nothing.
    pub fn least_moved(&self, new: &Judged) -> u128 {
        let targets = match new.tolerance {
            0 => new.targets(),
            _ => new.loads(),
        };
        let (caps, later) = (new.caps(), self.in_later(new));
        let mut groups: BTreeMap<BTreeSet<usize>, u128> = BTreeMap::new();
        for (cells, list) in self.runs() {
            let kept = list
                .iter()
                .filter_map(|i| later[*i])
                .filter(|i| targets[*i] > 0)
                .collect();
            *groups.entry(kept).or_default() += cells;
        }
        let mut network = Network::default();
        let (source, sink) = (network.vertex(), network.vertex());
        let holders: Vec<usize> = targets.iter().map(|_| network.vertex()).collect();
        holders
            .iter()
            .zip(&targets)
            .for_each(|(holder, target)| network.add(*holder, sink, *target, 0));
        for (kept, cells) in groups {
            // a parent comes before its parts
            let mut vertices: BTreeMap<&[String], usize> = BTreeMap::new();
            for (domain, cap) in &caps {
                let vertex = network.vertex();
                let outer = domain
                    .split_last()
                    .map_or(source, |(_, parent)| vertices[parent]);
                network.add(outer, vertex, cells * *cap as u128, 0);
                vertices.insert(domain, vertex);
            }
            for (i, node) in new
                .nodes
                .iter()
                .enumerate()
                .filter(|(i, _)| targets[*i] > 0)
            {
                network.add(
                    vertices[node.domain.as_slice()],
                    holders[i],
                    cells,
                    i64::from(!kept.contains(&i)),
                );
            }
        }
        let (amount, cost) = network.send(source, sink);
        assert_eq!(
            amount,
            new.replicas as u128 * new.cells,
            "the targets cannot be met under the caps"
        );
        cost
    }

    /// The smallest number of cells that can be reordered when the slices of `new` keep their nodes
    /// and each node keeps its number of primaries.
    pub fn least_reordered(&self, new: &Judged) -> u128 {
        let mut groups: BTreeMap<(Option<usize>, Vec<usize>), u128> = BTreeMap::new();
        for (cells, old, now) in self.pieces(new) {
            let mut set = now.to_vec();
            set.sort_unstable();
            *groups
                .entry((old[0].filter(|first| now.contains(first)), set))
                .or_default() += cells;
        }
        let mut network = Network::default();
        let (source, sink) = (network.vertex(), network.vertex());
        let nodes: Vec<usize> = new.nodes.iter().map(|_| network.vertex()).collect();
        nodes
            .iter()
            .zip(new.primaries())
            .for_each(|(node, cells)| network.add(*node, sink, cells, 0));
        for ((first, set), cells) in groups {
            let group = network.vertex();
            network.add(source, group, cells, 0);
            set.iter().for_each(|i| {
                network.add(
                    group,
                    nodes[*i],
                    cells,
                    i64::from(first.is_some_and(|first| first != *i)),
                )
            });
        }
        network.send(source, sink).1
    }

    /// Checks guarantees 1 and 2, and the primaries.
    pub fn check(&self) -> Result<(), String> {
        self.check_targets()
            .and_then(|()| self.check_caps())
            .and_then(|()| self.check_primaries())
    }

    /// Checks guarantee 3, and that no more primaries change than necessary. `exact` also computes
    /// the least movement.
    pub fn check_step(&self, new: &Judged, exact: bool) -> Result<(), String> {
        let Step {
            moved,
            bound,
            reordered,
        } = self.step(new);
        if moved < bound || moved > bound && self.bound_can_be_reached(new) {
            return Err(format!("{moved} cells moved, the bound is {bound}"));
        }
        if exact {
            let (least, fewest) = (self.least_moved(new), self.least_reordered(new));
            if moved != least || reordered != fewest {
                return Err(format!(
                    "{moved} cells moved, {least} would do; {reordered} reordered, \
                    {fewest} would do"
                ));
            }
        }
        Ok(())
    }
}
