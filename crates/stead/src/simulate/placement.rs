//! Placement: the table of a system, in one form for all systems, and what is measured on it.

use super::ideal::{NodeNumber, Wanted};
use crate::point::SPACE;

/// Which nodes hold which points: runs of points in order, each with the nodes that hold a copy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// The first point of each run. The first run starts at 0.
    firsts: Vec<u64>,
    /// For each run, the end of its nodes in `nodes`.
    ends: Vec<usize>,
    nodes: Vec<NodeNumber>,
    /// The number of entries in the system's own table: slices, partitions or ring points.
    pub entries: usize,
}

/// The points that break a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Breaches {
    /// The number of runs of such points.
    pub runs: usize,
    /// The number of points in these runs.
    pub points: u128,
}

impl Placement {
    /// Appends the run that starts at `first`. Runs must come in order and cover the space.
    pub fn push(&mut self, first: u64, nodes: impl IntoIterator<Item = NodeNumber>) {
        self.firsts.push(first);
        self.nodes.extend(nodes);
        self.ends.push(self.nodes.len());
    }

    /// A placement of pieces, each with one node and its number of points. Each piece is an entry.
    pub fn of_pieces(pieces: impl IntoIterator<Item = (NodeNumber, u128)>) -> Placement {
        let mut placement = Placement::default();
        let mut first = 0u128;
        for (node, points) in pieces {
            // below 2^64, since no piece is empty and all pieces add up to 2^64
            placement.push(first as u64, [node]);
            first += points;
        }
        placement.entries = placement.firsts.len();
        placement
    }

    /// The runs: the first point, the first point after the run (up to 2^64), and the nodes.
    pub fn runs(&self) -> impl Iterator<Item = (u128, u128, &[NodeNumber])> {
        let behind = self
            .firsts
            .iter()
            .skip(1)
            .map(|first| u128::from(*first))
            .chain([SPACE]);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let nodes = starts
            .zip(&self.ends)
            .map(|(start, end)| self.nodes.get(start..*end).unwrap_or_default());
        self.firsts
            .iter()
            .map(|first| u128::from(*first))
            .zip(behind)
            .zip(nodes)
            .map(|((first, behind), nodes)| (first, behind, nodes))
    }

    /// The number of copies of points that each node holds. A point that a node holds twice counts
    /// twice.
    pub fn loads(&self, count: usize) -> Vec<u128> {
        let mut loads = vec![0; count];
        for (first, behind, nodes) in self.runs() {
            for node in nodes {
                loads[*node as usize] += behind - first;
            }
        }
        loads
    }

    /// The number of copies that `new` places on a node that does not have as many of the same
    /// point here.
    pub fn moved(&self, new: &Placement) -> u128 {
        let (mut old, mut moved) = (self.runs().peekable(), 0);
        for (first, behind, nodes) in new.runs() {
            while let Some((start, end, before)) =
                old.peek().copied().filter(|(start, _, _)| *start < behind)
            {
                moved += new_copies(before, nodes) * (behind.min(end) - first.max(start));
                if end > behind {
                    break;
                }
                old.next();
            }
        }
        moved
    }

    /// Counts the runs that do not have R nodes, name a node twice or one that wants nothing, or
    /// have more copies in a domain than its cap.
    pub fn violations(&self, wanted: &Wanted) -> Breaches {
        let count = wanted
            .holders
            .iter()
            .map(|holder| holder.node as usize + 1)
            .max()
            .unwrap_or(0);
        let mut domains: Vec<Option<&[usize]>> = vec![None; count];
        wanted
            .holders
            .iter()
            .for_each(|holder| domains[holder.node as usize] = Some(&holder.domains));
        let domains_of = |node: &NodeNumber| domains.get(*node as usize).copied().flatten();
        let mut copies = vec![0; wanted.caps.len()];
        let mut found = Breaches::default();
        for (first, behind, nodes) in self.runs() {
            let mut broken = nodes.len() != wanted.replicas as usize;
            for (node, i) in nodes.iter().zip(1..) {
                // a node that wants nothing, or that has left, must hold nothing
                broken |= nodes[i..].contains(node) || domains_of(node).is_none();
                for domain in domains_of(node).unwrap_or_default() {
                    copies[*domain] += 1;
                    broken |= copies[*domain] > wanted.caps[*domain];
                }
            }
            for domain in nodes.iter().filter_map(domains_of).flatten() {
                copies[*domain] = 0;
            }
            if broken {
                found.runs += 1;
                found.points += behind - first;
            }
        }
        found
    }
}

/// How many entries of `after` are not in `before`. A node that is listed twice counts twice.
fn new_copies(before: &[NodeNumber], after: &[NodeNumber]) -> u128 {
    let count = |list: &[NodeNumber], node: NodeNumber| list.iter().filter(|n| **n == node).count();
    let is_new = |i: usize| count(&after[..=i], after[i]) > count(before, after[i]);
    (0..after.len()).filter(|i| is_new(*i)).count() as u128
}

#[cfg(test)]
mod tests {
    use super::super::ideal::{Holder, Names};
    use super::*;
    use crate::fleet::Fleet;

    const QUARTER: u64 = 1 << 62;

    fn placement(runs: &[(u64, &[NodeNumber])]) -> Placement {
        let mut placement = Placement::default();
        runs.iter()
            .for_each(|(first, nodes)| placement.push(*first, nodes.iter().copied()));
        placement
    }

    #[test]
    fn a_copy_moves_when_another_node_holds_it() {
        let before = placement(&[(0, &[0, 1]), (2 * QUARTER, &[1, 2])]);
        assert_eq!(before.moved(&before), 0);
        // a new order moves nothing; in the third quarter, 0 replaces 2
        let after = placement(&[(0, &[1, 0]), (2 * QUARTER, &[0, 1]), (3 * QUARTER, &[1, 2])]);
        assert_eq!(before.moved(&after), u128::from(QUARTER));
        assert_eq!(after.moved(&before), u128::from(QUARTER));
        assert_eq!(before.moved(&placement(&[(0, &[2, 2])])), 3 * (SPACE / 2));
        assert_eq!(before.loads(3), [SPACE / 2, SPACE, SPACE / 2]);
    }

    #[test]
    fn one_point_at_either_end_counts() {
        let before = placement(&[(0, &[0])]);
        assert_eq!(before.moved(&placement(&[(0, &[1]), (1, &[0])])), 1);
        assert_eq!(before.moved(&placement(&[(0, &[0]), (u64::MAX, &[1])])), 1);
        let pieces = Placement::of_pieces([(0, 1), (1, SPACE - 2), (2, 1)]);
        assert_eq!(
            (pieces.loads(3), pieces.entries),
            (vec![1, SPACE - 2, 1], 3)
        );
        assert_eq!(pieces.runs().map(|r| r.1).last(), Some(SPACE));
    }

    /// The control: every kind of broken run is detected, and a correct run is not.
    #[test]
    fn violations_are_seen() {
        let holder = |node, domain| Holder {
            node,
            name: String::new(),
            weight: crate::weight::Weight::ONE,
            domains: vec![domain],
        };
        let holders = vec![holder(0, 0), holder(1, 0), holder(2, 1)];
        let wanted = Wanted {
            replicas: 2,
            holders,
            ideal: vec![0; 3],
            caps: vec![1, 1],
        };
        let found = |nodes: &[NodeNumber]| {
            placement(&[(0, &[0, 2]), (QUARTER, nodes), (2 * QUARTER, &[2, 1])]).violations(&wanted)
        };
        assert_eq!(found(&[1, 2]), Breaches::default());
        let one = Breaches {
            runs: 1,
            points: u128::from(QUARTER),
        };
        for broken in [&[0, 1][..], &[2, 2], &[2], &[], &[0, 1, 2], &[2, 3]] {
            assert_eq!(found(broken), one, "{broken:?}");
        }
        let fleet = Fleet::parse(
            "name = 'f'\nnode = [{name = 'a'}, {name = 'b', weight = 0}]",
            "f",
        )
        .unwrap();
        let mut names = Names::default();
        let wanted = Wanted::of(&fleet, &mut names);
        assert_eq!(placement(&[(0, &[0])]).violations(&wanted).runs, 0);
        assert_eq!(placement(&[(0, &[1])]).violations(&wanted).runs, 1);
    }
}
