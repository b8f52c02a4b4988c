//! The caps and the targets of a fleet by the words of docs/placement.md, "Fault domains and caps"
//! and "Targets", in cells.

use std::collections::BTreeMap;

use super::copies::Judged;

/// An upper bound on the cells of some holders together. Bounds are sorted by rank (nodes, the
/// deepest domains, ..., the whole), then by name.
struct Bound {
    rank: usize,
    name: Vec<String>,
    most: u128,
    nodes: Vec<usize>,
}

impl Judged {
    /// For each domain, its nodes that can hold. The whole is the domain with an empty name.
    fn domains(&self) -> BTreeMap<Vec<String>, Vec<usize>> {
        let mut domains: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        for (i, node) in self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.weight > 0)
        {
            for level in 0..=self.spread.len() {
                domains
                    .entry(node.domain[..level].to_vec())
                    .or_default()
                    .push(i);
            }
        }
        domains
    }

    /// How many copies of a point each domain may hold.
    pub fn caps(&self) -> BTreeMap<Vec<String>, usize> {
        let domains = self.domains();
        let mut caps = BTreeMap::from([(Vec::new(), self.replicas)]);
        // a parent comes before its parts
        for parent in domains.keys() {
            let part = |d: &Vec<String>| d.len() == parent.len() + 1 && d.starts_with(parent);
            let parts: Vec<(&Vec<String>, usize)> = domains
                .iter()
                .filter(|(d, _)| part(d))
                .map(|(d, n)| (d, n.len()))
                .collect();
            let k = caps[parent];
            let c = (0..=k)
                .find(|c| parts.iter().map(|(_, n)| n.min(c)).sum::<usize>() >= k)
                .unwrap_or(k);
            caps.extend(parts.into_iter().map(|(d, n)| (d.clone(), n.min(c))));
        }
        caps
    }

    /// The target of each node, in cells.
    pub fn targets(&self) -> Vec<u128> {
        let bounds = self.bounds();
        let mut target: Vec<Option<u128>> = self
            .nodes
            .iter()
            .map(|node| (node.weight == 0).then_some(0))
            .collect();
        let left = |bound: &Bound, target: &[Option<u128>]| {
            bound.most - bound.nodes.iter().filter_map(|i| target[*i]).sum::<u128>()
        };
        while target.contains(&None) {
            // the bound that is reached first: the least left / weight; of equal ones the first
            let mut first: Option<(u128, u128, Vec<usize>)> = None;
            for bound in &bounds {
                let rising: Vec<usize> = bound
                    .nodes
                    .iter()
                    .copied()
                    .filter(|i| target[*i].is_none())
                    .collect();
                let weight: u128 = rising.iter().map(|i| self.nodes[*i].weight).sum();
                let room = left(bound, &target);
                if weight > 0 && first.as_ref().is_none_or(|(r, w, _)| room * w < r * weight) {
                    first = Some((room, weight, rising));
                }
            }
            let (room, weight, mut rising) = first.expect("the whole has all that rise");
            let mut over = room;
            for i in &rising {
                let share = room * self.nodes[*i].weight / weight;
                target[*i] = Some(share);
                over -= share;
            }
            // of equal remainders the earlier
            rising.sort_by_key(|i| std::cmp::Reverse(room * self.nodes[*i].weight % weight));
            for i in rising {
                if over > 0
                    && bounds
                        .iter()
                        .all(|bound| !bound.nodes.contains(&i) || left(bound, &target) > 0)
                {
                    target[i] = target[i].map(|cells| cells + 1);
                    over -= 1;
                }
            }
            assert_eq!(over, 0, "cells are left although there is room");
        }
        target.into_iter().flatten().collect()
    }

    fn bounds(&self) -> Vec<Bound> {
        let holding = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.weight > 0);
        let node = |(i, node): (usize, &super::copies::Node)| Bound {
            rank: 0,
            name: vec![node.name.clone()],
            most: self.cells,
            nodes: vec![i],
        };
        let mut bounds: Vec<Bound> = holding.map(node).collect();
        let caps = self.caps();
        for (domain, nodes) in self.domains() {
            let (rank, most) = (
                1 + self.spread.len() - domain.len(),
                caps[&domain] as u128 * self.cells,
            );
            bounds.push(Bound {
                rank,
                name: domain,
                most,
                nodes,
            });
        }
        bounds.sort_by(|a, b| (a.rank, &a.name).cmp(&(b.rank, &b.name)));
        bounds
    }
}
