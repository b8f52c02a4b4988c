//! Pins by the words of docs/placement.md, "Pins": which pins break a rule, and what pins give to
//! nodes.

use std::collections::BTreeSet;

use super::bytes::{section, u32_at, u64_at};
use super::copies::Judged;

#[derive(Clone, Debug)]
pub struct Pin {
    pub first: u64,
    pub last: u64,
    pub nodes: Vec<usize>,
    pub short: bool,
}

/// Reads the pins of a map, in the order of their first points.
pub fn read(bytes: &[u8]) -> Vec<Pin> {
    let ((pins, count), (policies, _), (members, _)) =
        (section(bytes, 10), section(bytes, 6), section(bytes, 7));
    let pin = |i: usize| {
        let record = pins + 32 * i;
        let policy = policies + 40 * u32_at(bytes, record + 16);
        let (first, count) = (u32_at(bytes, policy + 24), u32_at(bytes, policy + 28));
        Pin {
            first: u64_at(bytes, record),
            last: u64_at(bytes, record + 8),
            nodes: (first..first + count)
                .map(|m| u32_at(bytes, members + 4 * m))
                .collect(),
            short: u32_at(bytes, record + 20) & 2 == 2,
        }
    };
    (0..count).map(pin).collect()
}

impl Judged {
    /// Whether a pin has fewer nodes than R, lists a node twice, or can lose more copies with a
    /// domain than a slice that keeps the caps. A single copy may be anywhere.
    pub fn breaks(&self, pin: &Pin) -> bool {
        let (caps, nodes) = (self.caps(), pin.nodes.iter().collect::<BTreeSet<_>>());
        let inside = |domain: &[String]| {
            let all = nodes.iter().map(|i| &self.nodes[**i].domain);
            all.filter(|other| other.starts_with(domain)).count()
        };
        let crowded = |domain: &[String]| {
            let cap = caps.get(domain).map_or(1, |cap| *cap.max(&1));
            let copies = inside(domain);
            copies > cap && nodes.len() - copies + cap < self.replicas
        };
        nodes.len() < self.replicas
            || nodes.len() < pin.nodes.len()
            || nodes.iter().any(|i| {
                let domain = &self.nodes[**i].domain;
                (1..=domain.len()).any(|level| crowded(&domain[..level]))
            })
    }

    /// For each node, the points that pins give it and its base slices do not have.
    pub fn pinned(&self, pins: &[Pin]) -> Vec<u128> {
        let mut points = vec![0; self.nodes.len()];
        let bound = |cell: u128| match self.cells {
            all if all == 1 << 64 => cell,
            all => (cell << 64).div_ceil(all),
        };
        let mut first = 0;
        for (cells, list) in self.runs() {
            let (from, to) = (bound(first), bound(first + cells));
            first += cells;
            for pin in pins {
                let (from, to) = (from.max(pin.first.into()), to.min(u128::from(pin.last) + 1));
                let nodes: BTreeSet<&usize> = pin.nodes.iter().collect();
                for node in nodes.iter().filter(|node| !list.contains(node)) {
                    points[**node] += to.saturating_sub(from);
                }
            }
        }
        points
    }
}
