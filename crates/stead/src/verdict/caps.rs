//! The fault domains of a map and their caps: docs/placement.md, "Fault domains and caps".
//!
//! The domains are kept in one list: level by level from the outermost, and within a level by name.
//! So parents come before their parts, and the order of the list is the order in which
//! docs/placement.md breaks ties.

use std::iter::successors;

/// A node, as far as the caps depend on it.
pub(super) struct Place<'a> {
    /// Whether its weight is above 0.
    pub can_hold: bool,
    /// Its values of the spread labels, outermost first, up to the first label that it lacks.
    pub values: Vec<&'a str>,
}

/// The nodes that share the values of the first spread labels.
pub(super) struct Part<'a> {
    /// The level: 0 for the whole, 1 for the outermost label.
    pub level: usize,
    /// The value of the label of this level; empty for the whole.
    pub value: &'a str,
    /// The index of the domain around it; `None` for the whole.
    pub parent: Option<usize>,
    /// How many of its nodes can hold points.
    pub can_hold: usize,
    /// How many copies of one point it may hold.
    pub cap: usize,
}

/// The whole, with index 0, and all domains.
pub(super) struct Domains<'a> {
    pub all: Vec<Part<'a>>,
    /// for each node, the innermost domain that it is in
    homes: Vec<usize>,
}

impl<'a> Domains<'a> {
    /// Returns the domains of these nodes, with their caps for this number of replicas. Cost: one
    /// sort of the nodes per level.
    ///
    /// A node that lacks a label is in no domain of that level or below. The caps count it as a
    /// part of its own.
    pub fn of(places: &[Place<'a>], replicas: usize) -> Domains<'a> {
        let can_hold = places.iter().filter(|place| place.can_hold).count();
        let mut all = vec![Part {
            level: 0,
            value: "",
            parent: None,
            can_hold,
            cap: replicas,
        }];
        let mut homes = vec![0; places.len()];
        let deepest = places
            .iter()
            .map(|place| place.values.len())
            .max()
            .unwrap_or(0);
        for level in 1..=deepest {
            let nodes = places.iter().zip(&homes).enumerate();
            let mut rows: Vec<(usize, &'a str, usize, bool)> = nodes
                .filter_map(|(node, (place, home))| {
                    Some((*home, *place.values.get(level - 1)?, node, place.can_hold))
                })
                .collect();
            rows.sort_unstable();
            for (parent, value, node, can_hold) in rows {
                match all.last_mut() {
                    Some(last)
                        if (last.level, last.parent, last.value)
                            == (level, Some(parent), value) =>
                    {
                        last.can_hold += usize::from(can_hold);
                    }
                    _ => all.push(Part {
                        level,
                        value,
                        parent: Some(parent),
                        can_hold: usize::from(can_hold),
                        cap: 0,
                    }),
                }
                if let Some(home) = homes.get_mut(node) {
                    *home = all.len() - 1;
                }
            }
        }
        let mut domains = Domains { all, homes };
        domains.set_caps();
        domains
    }

    /// Yields the domains that a node is in, from the innermost to the whole. A holder that is not
    /// a node is only in the whole.
    pub fn around(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let home = self.homes.get(node).copied().unwrap_or(0);
        successors(Some(home), |domain| self.all.get(*domain)?.parent)
    }

    /// Returns the values of a domain's labels, outermost first. The whole has none.
    pub fn names(&self, domain: usize) -> Vec<&'a str> {
        let around = successors(self.all.get(domain), |part| self.all.get(part.parent?));
        let mut names: Vec<&str> = around
            .filter(|part| part.level > 0)
            .map(|part| part.value)
            .collect();
        names.reverse();
        names
    }

    fn set_caps(&mut self) {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new(); self.all.len()];
        for (number, part) in self.all.iter().enumerate() {
            if let Some(siblings) = part.parent.and_then(|parent| parts.get_mut(parent)) {
                siblings.push(number);
            }
        }
        // parents come first, so the cap of a parent is known when its parts need it
        for (parent, parts) in parts.into_iter().enumerate() {
            let Some(&Part { can_hold, cap, .. }) = self.all.get(parent) else {
                continue;
            };
            let sizes: Vec<usize> = parts
                .iter()
                .filter_map(|part| Some(self.all.get(*part)?.can_hold))
                .collect();
            let alone = can_hold - sizes.iter().sum::<usize>();
            let most = cap_of_parts(cap, &sizes, alone);
            for (part, size) in parts.into_iter().zip(sizes) {
                if let Some(part) = self.all.get_mut(part) {
                    part.cap = most.min(size);
                }
            }
        }
    }
}

/// Returns the smallest c for which the sum of min(c, size) over all parts, plus the number of
/// single nodes, is at least `copies`. Returns the largest size if there is none.
fn cap_of_parts(copies: usize, sizes: &[usize], single: usize) -> usize {
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let room = |c: usize| sizes.iter().map(|size| c.min(*size)).sum::<usize>() + c.min(1) * single;
    (0..largest).find(|c| room(*c) >= copies).unwrap_or(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes are written as `a/r1`, or `!a/r1` with weight 0. Caps are written as `level:value
    /// cap`.
    fn caps(nodes: &[&str], replicas: usize) -> Vec<String> {
        let places: Vec<Place> = nodes
            .iter()
            .map(|node| Place {
                can_hold: !node.starts_with('!'),
                values: node
                    .trim_start_matches('!')
                    .split('/')
                    .filter(|value| !value.is_empty())
                    .collect(),
            })
            .collect();
        let domains = Domains::of(&places, replicas);
        domains
            .all
            .iter()
            .skip(1)
            .map(|part| format!("{}:{} {}", part.level, part.value, part.cap))
            .collect()
    }

    #[test]
    fn caps_are_as_even_as_the_nodes_allow() {
        assert_eq!(caps(&["a", "b", "c"], 3), ["1:a 1", "1:b 1", "1:c 1"]);
        assert_eq!(caps(&["a", "a", "b", "b"], 3), ["1:a 2", "1:b 2"]);
        assert_eq!(caps(&["a", "b", "b"], 3), ["1:a 1", "1:b 2"]); // a has one node
        assert_eq!(
            caps(&["e", "d", "c", "b", "a"], 3),
            ["1:a 1", "1:b 1", "1:c 1", "1:d 1", "1:e 1"]
        );
        assert_eq!(
            caps(&["a", "a", "a", "b", "c"], 4),
            ["1:a 2", "1:b 1", "1:c 1"]
        );
        assert_eq!(caps(&["a", "a", "b", "c"], 1), ["1:a 1", "1:b 1", "1:c 1"]);
    }

    #[test]
    fn caps_go_from_the_outside_to_the_inside() {
        // zone a may hold 2: one in each rack; zone b has one rack, which may hold both
        let racks = caps(&["a/1", "a/1", "a/2", "b/1", "b/1"], 3);
        assert_eq!(racks, ["1:a 2", "1:b 2", "2:1 1", "2:2 1", "2:1 2"]);
        // rack 1 of zone a is not rack 1 of zone b
        assert_eq!(
            caps(&["a/1", "b/1", "c/1"], 2),
            ["1:a 1", "1:b 1", "1:c 1", "2:1 1", "2:1 1", "2:1 1"]
        );
    }

    #[test]
    fn nodes_that_cannot_hold_do_not_count() {
        assert_eq!(caps(&["a", "b", "!c"], 2), ["1:a 1", "1:b 1", "1:c 0"]);
        assert_eq!(caps(&["a", "a", "b", "!b"], 3), ["1:a 2", "1:b 1"]);
    }

    #[test]
    fn a_node_without_a_label_is_a_part_by_itself() {
        assert_eq!(caps(&["a", "a", "", ""], 3), ["1:a 1"]);
        assert_eq!(caps(&["a", "a", ""], 3), ["1:a 2"]);
    }

    #[test]
    fn too_few_nodes_leave_every_part_what_it_has() {
        assert_eq!(caps(&["a", "b", "b"], 5), ["1:a 1", "1:b 2"]);
    }
}
