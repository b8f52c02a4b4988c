//! Which nodes are drawn alike. Up to 24 nodes are each drawn in their own way. More cannot be told
//! apart, so they are put into groups that mean something: when the nodes came, or their outermost
//! fault domain, or ranges of their names.

use std::cmp::Ordering;
use std::collections::HashMap;

use stead::Map;

use crate::colours::STYLES;
use crate::figures::count;

/// A node, as far as grouping is concerned.
pub(crate) struct Member {
    pub name: String,
    /// the outermost fault domain, if the map has any
    pub domain: Option<String>,
    /// the number of the first map that has the node, among those that are drawn
    pub arrival: usize,
}

/// The groups of some nodes.
pub(crate) struct Groups {
    /// The name of each group, in the order of the legend.
    pub labels: Vec<String>,
    /// For each node, the number of its group.
    pub of: Vec<usize>,
    /// Whether each group is a single node.
    pub single: bool,
    /// The first and the last name of each group, if the groups are ranges of names.
    pub ranges: Vec<[String; 2]>,
    /// What the groups are, in words; empty for single nodes.
    pub said: String,
}

/// The most groups of many nodes. More would again be hard to tell apart.
const FEW: usize = 8;

impl Groups {
    /// Groups nodes. `arrivals` names the maps by their numbers, such as `epoch 3`; it is empty if
    /// only one map is drawn.
    pub fn of(members: &[Member], arrivals: &[String]) -> Groups {
        if members.len() <= STYLES {
            return Groups::each(members);
        }
        let last = members.iter().map(|member| member.arrival).max();
        match last.filter(|last| arrivals.len() > 1 && *last > 0) {
            Some(last) => Groups::by_arrival(members, last + 1, arrivals),
            None => Groups::by_domain(members, STYLES),
        }
    }

    /// Puts nodes into at most `most` groups: each by itself, or by domain or name.
    pub fn up_to(most: usize, members: &[Member]) -> Groups {
        match members.len() <= most {
            true => Groups::each(members),
            false => Groups::by_domain(members, most),
        }
    }

    /// Groups by the outermost domain, or by name if there are none or more than `most`.
    fn by_domain(members: &[Member], most: usize) -> Groups {
        let domain = |member: &Member| member.domain.clone().unwrap_or_default();
        let mut domains: Vec<String> = members.iter().map(domain).collect();
        domains.sort_by(|a, b| natural(a, b));
        domains.dedup();
        if domains.len() < 2 || domains.len() > most {
            return Groups::by_name(members);
        }
        let of: Vec<usize> = members
            .iter()
            .map(|member| {
                let own = domain(member);
                domains.iter().position(|name| *name == own).unwrap_or(0)
            })
            .collect();
        let label = |(group, name): (usize, &String)| {
            let nodes = of.iter().filter(|of| **of == group).count();
            let name = if name.is_empty() { "no domain" } else { name };
            format!("{name} ({})", count(nodes, "node"))
        };
        Groups {
            labels: domains.iter().enumerate().map(label).collect(),
            single: false,
            ranges: Vec::new(),
            said: "A colour is a fault domain.".to_owned(),
            of,
        }
    }

    fn each(members: &[Member]) -> Groups {
        let order = ordered(members);
        let mut of = vec![0; members.len()];
        for (group, who) in order.iter().enumerate() {
            of[*who] = group;
        }
        Groups {
            labels: order.iter().map(|who| members[*who].name.clone()).collect(),
            of,
            single: true,
            ranges: Vec::new(),
            said: String::new(),
        }
    }

    /// Groups by the map in which nodes are first. If there are too many maps, neighbours share a
    /// group.
    fn by_arrival(members: &[Member], maps: usize, arrivals: &[String]) -> Groups {
        let groups = maps.min(FEW);
        let group = |arrival: usize| arrival * groups / maps;
        let of: Vec<usize> = members.iter().map(|member| group(member.arrival)).collect();
        // the rows have these names, too, so a label must read otherwise
        let row = |number: usize| match arrivals.get(number) {
            Some(name) if name.starts_with("epoch ") => name.clone(),
            // of `epochs 2 to 6`, nodes came with the first
            Some(name) if name.starts_with("epochs ") => {
                let first = name.split(' ').nth(1).unwrap_or_default();
                format!("epoch {first}")
            }
            Some(name) => format!("the row \u{201c}{name}\u{201d}"),
            None => String::new(),
        };
        let label = |own: usize| {
            let mut inside = (0..maps).filter(|arrival| group(*arrival) == own);
            let first = inside.next().unwrap_or(0);
            let last = inside.next_back().unwrap_or(first);
            let nodes = of.iter().filter(|of| **of == own).count();
            let came = match (first, last) {
                (0, 0) => format!("that were there in {}", row(0)),
                (0, last) => format!("that were there by {}", row(last)),
                (first, last) if first == last => format!("that came in {}", row(first)),
                (first, last) => format!("that came from {} to {}", row(first), row(last)),
            };
            format!("{} {came}", count(nodes, "node"))
        };
        Groups {
            labels: (0..groups).map(label).collect(),
            single: false,
            ranges: Vec::new(),
            said: "A colour says when a node came.".to_owned(),
            of,
        }
    }

    fn by_name(members: &[Member]) -> Groups {
        let order = ordered(members);
        let mut place = vec![0; members.len()];
        for (at, who) in order.iter().enumerate() {
            place[*who] = at;
        }
        let group = |at: usize| at * FEW / members.len();
        let range = |of: usize| {
            let mut inside = (0..members.len()).filter(|at| group(*at) == of);
            let first = inside.next().unwrap_or(0);
            let last = inside.next_back().unwrap_or(first);
            [first, last].map(|at| members[order[at]].name.clone())
        };
        let ranges: Vec<[String; 2]> = (0..FEW).map(range).collect();
        let label = |[first, last]: &[String; 2]| match first == last {
            true => first.clone(),
            false => format!("{first} to {last}"),
        };
        Groups {
            labels: ranges.iter().map(label).collect(),
            of: place.into_iter().map(group).collect(),
            single: false,
            ranges,
            said: "A colour is a range of names.".to_owned(),
        }
    }
}

/// Returns the numbers of the nodes, in the order of names as people read them.
fn ordered(members: &[Member]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|a, b| natural(&members[*a].name, &members[*b].name).then(a.cmp(b)));
    order
}

/// Returns the nodes of maps, the oldest map first, for [`Options::nodes`](crate::Options). A node
/// that was renamed is one node, under its last name.
pub fn nodes_of<'a>(maps: impl IntoIterator<Item = &'a Map>) -> Vec<String> {
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut nodes: Vec<String> = Vec::new();
    for map in maps {
        for node in map.nodes() {
            if known.contains_key(node.name()) {
                continue;
            }
            let was = node.formerly().filter(|was| map.node_named(was).is_none());
            // its old name is free for another node
            let place = was.and_then(|was| known.remove(was));
            let place = place.unwrap_or(nodes.len());
            match nodes.get_mut(place) {
                Some(name) => node.name().clone_into(name),
                None => nodes.push(node.name().to_owned()),
            }
            known.insert(node.name().to_owned(), place);
        }
    }
    nodes
}

/// Compares names in the order that people expect: `n2` before `n10`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a, b);
    loop {
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match (digits(x), digits(y)) {
            (0, 0) | (0, _) | (_, 0) => {
                let (mut before, mut after) = (x.chars(), y.chars());
                match (before.next(), after.next()) {
                    (None, None) => return a.cmp(b),
                    (one, other) if one != other => return one.cmp(&other),
                    _ => (x, y) = (before.as_str(), after.as_str()),
                }
            }
            (i, j) => {
                let (one, other) = (
                    x[..i].trim_start_matches('0'),
                    y[..j].trim_start_matches('0'),
                );
                match one.len().cmp(&other.len()).then(one.cmp(other)) {
                    Ordering::Equal => (x, y) = (&x[i..], &y[j..]),
                    order => return order,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(names: impl IntoIterator<Item = String>) -> Vec<Member> {
        let member = |name| Member {
            name,
            domain: None,
            arrival: 0,
        };
        names.into_iter().map(member).collect()
    }

    #[test]
    fn names_are_compared_as_people_read_them() {
        let mut names = ["n10", "n2", "n02", "n1", "m9", "n", "n1a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["m9", "n", "n1", "n1a", "n02", "n2", "n10"]);
    }

    #[test]
    fn few_nodes_are_each_by_themselves() {
        let groups = Groups::of(&members(["n10", "n9"].map(str::to_owned)), &[]);
        assert_eq!(
            (groups.labels, groups.of),
            (vec!["n9".into(), "n10".into()], vec![1, 0])
        );
    }

    #[test]
    fn many_nodes_are_grouped_by_when_they_came_then_by_domain_then_by_name() {
        let mut many = members((0..100).map(|i| format!("n{i}")));
        let groups = Groups::of(&many, &[]);
        assert_eq!(
            (groups.labels[0].as_str(), groups.labels[7].as_str()),
            ("n0 to n12", "n88 to n99")
        );
        for (i, member) in many.iter_mut().enumerate() {
            member.domain = Some(format!("z{}", i % 3));
        }
        let groups = Groups::of(&many, &[]);
        assert_eq!(
            groups.labels,
            ["z0 (34 nodes)", "z1 (33 nodes)", "z2 (33 nodes)"]
        );
        for (i, member) in many.iter_mut().enumerate() {
            member.arrival = i / 60;
        }
        let epochs = ["epoch 1".to_owned(), "epoch 2".to_owned()];
        let groups = Groups::of(&many, &epochs);
        let labels = [
            "60 nodes that were there in epoch 1",
            "40 nodes that came in epoch 2",
        ];
        assert_eq!(groups.labels, labels);
        // the nodes of a carry came with its first epoch
        let epochs = ["epoch 1".to_owned(), "epochs 2 to 6".to_owned()];
        assert_eq!(Groups::of(&many, &epochs).labels, labels);
    }

    #[test]
    fn many_epochs_share_groups() {
        let mut many = members((0..40).map(|i| format!("n{i}")));
        for (i, member) in many.iter_mut().enumerate() {
            member.arrival = i;
        }
        let epochs: Vec<String> = (1..=40).map(|i| i.to_string()).collect();
        let groups = Groups::of(&many, &epochs);
        assert_eq!(groups.labels.len(), 8);
        assert_eq!(
            groups.labels[0],
            "5 nodes that were there by the row \u{201c}5\u{201d}"
        );
        assert_eq!(
            groups.labels[7],
            "5 nodes that came from the row \u{201c}36\u{201d} to the row \u{201c}40\u{201d}"
        );
        assert_eq!((groups.of[0], groups.of[39]), (0, 7));
    }
}
