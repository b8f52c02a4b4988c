//! What a slip of the hand leaves: a new node without the address that every other node has, two
//! nodes with one address, nodes that exchange their mount points, a new node of weight 1 beside
//! weights of 20.
//!
//! stead does not know what an attribute means. An attribute is taken for the own place of each
//! node if, in the old map, at least two nodes have it, and all with different values. Where no
//! old map says so, all but two nodes that have it have different values, and they are at least
//! four, or these two are the same server in everything that is said of them.

use std::collections::HashSet;

use super::texts::{listed, Texts};
use crate::map::{Map, Node};
use crate::policy::NodeId;
use crate::weight::Weight;

/// The attribute by which the router of stead-rrd reaches a node. It refuses a new name.
const RRDCACHED: &str = "rrdcached";

/// The fewest nodes of which two with the same value of an attribute are odd, whatever it means.
const SOME: usize = 4;
/// The least of the other weights beside which a weight of 1 is odd.
const FAR: u64 = 3;
/// The most letters of a value that a text repeats.
const LONG: usize = 40;

/// What was found, in words.
#[derive(Default)]
pub(super) struct Slips {
    /// of nodes without an attribute that every node had
    pub missing: Texts,
    /// of nodes with the same value of what was each node's own
    pub shared: Texts,
    /// of nodes with a value that another node had
    pub taken: Texts,
    /// of new nodes with the weight that a node has if none is written
    pub weight: Texts,
}

/// An attribute, its value, and the node that has it.
type Has<'a> = (&'a str, &'a str, NodeId);

/// Looks for slips in a change; `same` has the new number of each old node. What `dead` nodes had
/// may be taken.
///
/// Cost: O(a log a) for a attributes of all nodes.
pub(super) fn slips(
    old: &Map,
    new: &Map,
    same: &[Option<NodeId>],
    dead: &HashSet<NodeId>,
) -> Slips {
    let (before, after) = (attributes(old), attributes(new));
    let mut before = by_name(&before).peekable();
    let mut found = Slips::default();
    weights(new, same, &mut found.weight);
    for now in by_name(&after) {
        let Some(name) = name_of(now) else { continue };
        while before.next_if(|was| name_of(was) < Some(name)).is_some() {}
        let was = before.next_if(|was| name_of(was) == Some(name));
        let Some(was) = was.filter(|was| was.len() > 1) else {
            if let Some(pair) = odd_pair(now, new) {
                found.shared.add(|| shared(pair, new));
            }
            continue;
        };
        if was.len() == old.nodes().len() && now.len() < new.nodes().len() {
            found.missing.add(|| missing(name, now, new));
        }
        let is_own = was.windows(2).all(|pair| match pair {
            [one, other] => one.1 != other.1,
            _ => true,
        });
        if is_own {
            for nodes in by_value(now).filter(|nodes| nodes.len() > 1) {
                found.shared.add(|| shared(nodes, new));
            }
            taken(was, now, (old, new), same, dead, &mut found.taken);
        }
    }
    found
}

/// Looks for slips in a map alone: two nodes with the same value where all others have their own.
pub(super) fn slips_of(map: &Map) -> Slips {
    let mut found = Slips::default();
    let attributes = attributes(map);
    for pair in by_name(&attributes).filter_map(|has| odd_pair(has, map)) {
        found.shared.add(|| shared(pair, map));
    }
    found
}

/// Returns the two nodes with the same value of an attribute, if all others have their own.
fn odd_pair<'l, 'a>(has: &'l [Has<'a>], map: &Map) -> Option<&'l [Has<'a>]> {
    let mut alike = by_value(has).filter(|nodes| nodes.len() > 1);
    let (Some(pair @ [one, other]), None) = (alike.next(), alike.next()) else {
        return None;
    };
    let all = |node: &Has<'_>| map.node(node.2).attributes();
    let are_one = || is_server(one.1) && all(one).eq(all(other));
    (has.len() >= SOME || are_one()).then_some(pair)
}

/// Whether a value says where a server is: a host and its port, or a URL.
fn is_server(value: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let host = value.rsplit_once(':').filter(|(_, port)| is_port(port));
    host.is_some_and(|(host, _)| !host.is_empty()) || value.contains("://")
}

/// The attributes of all nodes by their names, then by their values.
fn attributes(map: &Map) -> Vec<Has<'_>> {
    let of_node = |id: NodeId| {
        let attributes = map.node(id).attributes();
        attributes.map(move |(name, value)| (name, value, id))
    };
    let mut all: Vec<Has> = map.nodes().flat_map(|node| of_node(node.id)).collect();
    all.sort_unstable();
    all
}

/// The parts of a list that have the same name.
fn by_name<'l, 'a>(all: &'l [Has<'a>]) -> impl Iterator<Item = &'l [Has<'a>]> {
    all.chunk_by(|one, other| one.0 == other.0)
}

/// The parts of an attribute that have the same value.
fn by_value<'l, 'a>(all: &'l [Has<'a>]) -> impl Iterator<Item = &'l [Has<'a>]> {
    all.chunk_by(|one, other| one.1 == other.1)
}

fn name_of<'a>(part: &[Has<'a>]) -> Option<&'a str> {
    part.first().map(|has| has.0)
}

/// Gathers new nodes of weight 1 where the weight of every other node is far above 1, as the shares
/// of an adopted ring are.
fn weights(new: &Map, same: &[Option<NodeId>], texts: &mut Texts) {
    let kept: HashSet<NodeId> = same.iter().copied().flatten().collect();
    let others = || {
        let kept = new.nodes().filter(|node| kept.contains(&node.id));
        let weights = kept.map(|node| node.weight());
        weights.filter(|weight| *weight > Weight::ZERO)
    };
    let (Some(least), Some(most)) = (others().min(), others().max()) else {
        return;
    };
    if least.millionths() < FAR * Weight::ONE.millionths() {
        return;
    }
    let alone = |node: &Node| node.weight() == Weight::ONE && !kept.contains(&node.id);
    for node in new.nodes().filter(alone) {
        let name = node.name();
        texts.add(|| format!("{name} has weight 1, and the others have {least} to {most}"));
    }
}

fn missing(attribute: &str, now: &[Has], new: &Map) -> String {
    let have: HashSet<NodeId> = now.iter().map(|has| has.2).collect();
    let without = new.nodes().filter(|node| !have.contains(&node.id));
    let without: Vec<String> = without.map(|node| node.name().to_owned()).collect();
    let verb = if without.len() == 1 { "has" } else { "have" };
    let names = listed(without);
    format!("{names} {verb} no attribute {attribute:?}, which every node had before")
}

fn shared(nodes: &[Has], new: &Map) -> String {
    let names = nodes.iter().map(|has| new.node(has.2).name().to_owned());
    let (name, value) = nodes.first().map_or(("", ""), |has| (has.0, has.1));
    let names = listed(names.collect());
    format!(
        "{names} have the same {name}, {}: is it a slip?",
        quoted(value)
    )
}

/// Gathers the nodes that have what was another node's own.
fn taken(
    was: &[Has],
    now: &[Has],
    (old, new): (&Map, &Map),
    same: &[Option<NodeId>],
    dead: &HashSet<NodeId>,
    texts: &mut Texts,
) {
    let kept: HashSet<NodeId> = same.iter().copied().flatten().collect();
    for (name, value, node) in now {
        let place = was.binary_search_by_key(value, |has| has.1);
        let Some((_, _, owner)) = place.ok().and_then(|place| was.get(place)) else {
            continue;
        };
        let owner_now = same.get(owner.index()).copied().flatten();
        // two that have it now share it
        let shares = |owner| now.binary_search(&(*name, *value, owner)).is_ok();
        if owner_now == Some(*node) || owner_now.is_some_and(shares) || dead.contains(owner) {
            continue;
        }
        let before = old.node(*owner).name();
        let mut attributes = new.node(*node).attributes();
        let is_rrd = attributes.any(|(name, _)| name == RRDCACHED);
        let hint = || match owner_now.is_none() && !kept.contains(node) {
            true if is_rrd => {
                format!("if it is the same node, keep the name {before}: stead-rrd refuses another")
            }
            true => format!("if it is the same node, say formerly = {before:?}"),
            false => format!("what is there is data of {before}"),
        };
        let (has, value) = (new.node(*node).name(), quoted(value));
        texts.add(|| {
            format!(
                "{has} has the {name} that {before} had, {value}: {}",
                hint()
            )
        });
    }
}

/// The value in quotes, if it is short enough to be read.
fn quoted(value: &str) -> String {
    match value.char_indices().nth(LONG) {
        None => format!("{value:?}"),
        Some((end, _)) => format!("{:?}...", value.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::same_nodes;
    use crate::{build, Fleet};

    fn map(nodes: &str, old: Option<&Map>) -> Map {
        let nodes: String = nodes
            .split_whitespace()
            .map(|node| {
                let mut parts = node.split(',');
                let name = parts.next().unwrap();
                let mut text = format!("[[node]]\nname = '{name}'\n");
                let mut attributes = String::new();
                for part in parts {
                    let (key, value) = part.split_once('=').unwrap();
                    match key {
                        "weight" => text += &format!("weight = {value}\n"),
                        "formerly" => text += &format!("formerly = '{value}'\n"),
                        _ => attributes += &format!("{key} = '{value}'\n"),
                    }
                }
                text + "[node.attributes]\n" + &attributes
            })
            .collect();
        let fleet = Fleet::parse(&format!("name = 'm'\n{nodes}"), "fleet").unwrap();
        build(&fleet, old).unwrap()
    }

    /// The texts about a change from some nodes to others; `dead` are the first so many old nodes.
    fn told(before: &str, after: &str, dead: u32) -> Vec<String> {
        let old = map(before, None);
        let new = map(after, Some(&old));
        let dead = (0..dead).map(NodeId).collect();
        let found = slips(&old, &new, &same_nodes(&old, &new).unwrap(), &dead);
        [found.taken, found.shared, found.missing, found.weight]
            .into_iter()
            .flat_map(|texts| texts.in_all("more node"))
            .collect()
    }

    #[test]
    fn what_a_new_node_lacks_is_told_if_every_node_had_it() {
        let before = "a,address=1,mount=/a b,address=2";
        assert_eq!(
            told(before, "a,address=1,mount=/a b,address=2 c d,mount=/d", 0),
            ["c, d have no attribute \"address\", which every node had before"]
        );
        assert_eq!(
            told(before, "a,address=1 b,address=2 c", 0),
            ["c has no attribute \"address\", which every node had before"]
        );
        // one that is taken from all nodes, or is new, is meant
        assert!(told(before, "a,port=1 b c", 0).is_empty());
        assert!(told("a,address=1", "a,address=1 b", 0).is_empty());
    }

    #[test]
    fn a_value_that_two_nodes_share_is_told_if_all_were_different() {
        let before = "a,address=1,class=fast b,address=2,class=fast";
        assert_eq!(
            told(before, &format!("{before} c,address=2,class=fast"), 0),
            ["b, c have the same address, \"2\": is it a slip?"]
        );
        assert_eq!(
            told(
                before,
                &format!("{before} c,address=3,class=new d,address=3,class=old"),
                0
            ),
            ["c, d have the same address, \"3\": is it a slip?"]
        );
        assert!(told(before, &format!("{before} c,address=3,class=fast"), 0).is_empty());
    }

    #[test]
    fn a_value_that_two_nodes_share_is_told_of_a_map_alone_if_all_others_are_different() {
        let told = |nodes: &str| slips_of(&map(nodes, None)).shared.in_all("more value");
        assert_eq!(
            told("a,address=1 b,address=2 c,address=2 d,address=3"),
            ["b, c have the same address, \"2\": is it a slip?"]
        );
        // of few, only what is the same server in everything
        let few = "a,address=h:1 b,address=[::1]:2,rack=r";
        for wrong in ["c,address=h:1", "c,address=[::1]:2,rack=r"] {
            let found = told(&format!("{few} {wrong}"));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains("c have the same address, "), "{found:?}");
        }
        for right in [
            "c,address=h:1,database=c",
            "c,address=[::1]:2",
            "c,address=h:3",
        ] {
            let found = told(&format!("{few} {right}"));
            assert!(found.is_empty(), "{found:?}");
        }
        assert_eq!(told("a,url=redis://h b,url=redis://h").len(), 1);
        assert!(told("a,path=/srv b,path=/srv").is_empty());
        assert!(told("a,at=h:1 b,at=h:1 c,at=h:2 d,at=h:2").is_empty());
        // too few to tell, a class of nodes, and pairs of them
        assert!(told("a,address=1 b,address=1 c,address=2 d").is_empty());
        assert!(told("a,class=x b,class=x c,class=x d,class=y").is_empty());
        assert!(told("a,host=x b,host=x c,host=y d,host=y e,host=z").is_empty());
    }

    #[test]
    fn a_second_node_that_is_the_server_of_the_first_is_told() {
        let same = ["a, b have the same address, \"h:1\": is it a slip?"];
        assert_eq!(
            told("a,address=h:1", "a,address=h:1 b,address=h:1", 0),
            same
        );
        assert_eq!(told("a b", "a,address=h:1 b,address=h:1", 0), same);
        assert!(told("a b", "a,address=h:1 b,address=h:2", 0).is_empty());
        // it was there, and is meant
        let before = "a,address=h:1 b,address=h:1";
        assert!(told(before, &format!("{before} c,address=h:2"), 0).is_empty());
    }

    #[test]
    fn nodes_that_exchange_or_take_a_value_are_told() {
        let before = "a,mount=/a b,mount=/b c,mount=/c";
        assert_eq!(
            told(before, "a,mount=/b b,mount=/a c,mount=/c", 0),
            [
                "b has the mount that a had, \"/a\": what is there is data of a",
                "a has the mount that b had, \"/b\": what is there is data of b",
            ]
        );
        assert_eq!(
            told(before, "b,mount=/b c,mount=/c d,mount=/a", 0),
            ["d has the mount that a had, \"/a\": if it is the same node, say formerly = \"a\""]
        );
        // stead-rrd knows its servers by their names
        assert_eq!(
            told("a,rrdcached=h:1 b,rrdcached=h:2", "a,rrdcached=h:1 d,rrdcached=h:2", 0),
            ["d has the rrdcached that b had, \"h:2\": if it is the same node, keep the name b: \
              stead-rrd refuses another"]
        );
        // under a new name, at a new place, or after a loss
        assert!(told(before, "b,mount=/b c,mount=/c d,mount=/a,formerly=a", 0).is_empty());
        assert!(told(before, "a,mount=/n b,mount=/b c,mount=/c", 0).is_empty());
        assert!(told(before, "b,mount=/b c,mount=/c d,mount=/a", 1).is_empty());
    }

    #[test]
    fn a_new_node_of_weight_1_beside_large_weights_is_told() {
        let before = "a,weight=18.9 b,weight=14.5 spare,weight=0";
        assert_eq!(
            told(before, &format!("{before} c d,weight=16"), 0),
            ["c has weight 1, and the others have 14.5 to 18.9"]
        );
        // another weight is small, or all are 1 now
        assert!(told("a b,weight=20", "a b,weight=20 c", 0).is_empty());
        assert!(told(before, "a b c", 0).is_empty());
        assert!(told(before, &format!("{before} c,weight=2"), 0).is_empty());
    }

    #[test]
    fn many_slips_are_counted_and_long_values_are_cut() {
        let long = "x".repeat(50);
        let before = format!("a,mount={long} b,mount=/b c,mount=/c d,mount=/d e,mount=/e");
        let after = format!("a,mount=/b b,mount=/c c,mount=/d d,mount=/e e,mount={long}");
        let texts = told(&before, &after, 0);
        assert_eq!(texts.len(), 4);
        assert_eq!(texts[3], "2 more nodes like these");
        let cut = format!(
            "e has the mount that a had, \"{}\"...: what",
            "x".repeat(40)
        );
        let texts = told(&before, &format!("z,mount=/z e,mount={long}"), 0);
        assert!(texts[0].starts_with(&cut), "{texts:?}");
    }
}
