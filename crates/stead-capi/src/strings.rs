//! The strings of a map as C wants them: each with a NUL at its end.
//!
//! Strings in a map file have no NUL. So the first call that returns a string copies all strings
//! that C can ask for, and the map keeps the copies. Handles that are opened through the cache
//! later, typically one per request, find them there.

use std::ffi::CString;

use stead_core::map::{Node, Policy};
use stead_core::{memory, Map, Result};

/// The strings of a map.
pub(crate) struct MapStrings {
    /// The name of the cluster.
    pub(crate) name: CString,
    /// The name of the hash.
    pub(crate) hash: CString,
    /// The key rule, as a fleet writes it.
    pub(crate) key: CString,
    /// The labels of the spread, outermost first.
    pub(crate) spread: Vec<CString>,
    /// Indexed by the number of the node.
    pub(crate) nodes: Vec<NodeStrings>,
    /// Indexed by the number of the policy.
    pub(crate) policies: Vec<PolicyStrings>,
}

/// The strings of a node.
pub(crate) struct NodeStrings {
    pub(crate) name: CString,
    /// The names and values of the labels, in the order of the map.
    pub(crate) labels: Vec<(CString, CString)>,
    /// The names and values of the attributes, in the order of the map.
    pub(crate) attributes: Vec<(CString, CString)>,
}

/// The strings of a policy.
pub(crate) struct PolicyStrings {
    /// `None` when stead chose it.
    pub(crate) name: Option<CString>,
    pub(crate) kind: CString,
}

impl MapStrings {
    /// Returns the strings of a map. The first call for a map copies them all. `None` when there is
    /// no memory for them.
    pub(crate) fn of(map: &Map) -> Option<&MapStrings> {
        let copied = |map: &Map| {
            let _room = memory::room(need(map))?;
            Ok(MapStrings {
                name: terminated(map.name()),
                hash: terminated(map.hash().name()),
                key: terminated(&map.key_rule().to_string()),
                spread: memory::collected(map.spread().map(terminated))?,
                nodes: all(map.nodes().map(NodeStrings::of))?,
                policies: memory::collected(map.policies().map(PolicyStrings::of))?,
            })
        };
        map.kept(copied).ok().flatten()
    }
}

/// The most bytes that the strings of a map take: each is a block of its own.
fn need(map: &Map) -> u64 {
    const STRING: usize = 48; // its place in a list, and what malloc adds
    let pairs = |node: &Node| node.labels().count() + node.attributes().count();
    let strings =
        map.nodes().map(|node| 2 * pairs(&node) + 3).sum::<usize>() + 2 * map.policies().len() + 20;
    (map.bytes().len() + STRING * strings) as u64
}

/// Collects what can be made, unless one cannot.
fn all<T>(values: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = memory::empty(values.len())?;
    for value in values {
        list.push(value?);
    }
    Ok(list)
}

impl NodeStrings {
    fn of(node: Node<'_>) -> Result<NodeStrings> {
        Ok(NodeStrings {
            name: terminated(node.name()),
            labels: memory::collected(node.labels().map(pair))?,
            attributes: memory::collected(node.attributes().map(pair))?,
        })
    }
}

impl PolicyStrings {
    fn of(policy: Policy<'_>) -> PolicyStrings {
        PolicyStrings {
            name: policy.name().map(terminated),
            kind: terminated(policy.kind()),
        }
    }
}

fn pair((name, value): (&str, &str)) -> (CString, CString) {
    (terminated(name), terminated(value))
}

/// Returns a text with a NUL at its end. A string of a verified map has no NUL inside. If somebody
/// overwrites a mapped file in place, one may appear; the result is then empty.
fn terminated(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::sync::Arc;

    use super::{need, MapStrings};
    use stead_core::{build, store, Fleet, Map};

    const FLEET: &str = r#"
        name = "mü"
        spread = ["zone"]
        [[node]]
        name = "a"
        labels = { zone = "z1" }
        attributes = { address = "10.0.0.1", empty = "" }
        [[node]]
        name = "aa"
        formerly = "b"
        labels = { zone = "z1" }
        [[policy]]
        name = "p"
        kind = "chain"
        nodes = ["a"]
        [[pin]]
        key = "x\u0000y"
        policy = "p"
    "#;

    #[test]
    fn every_string_of_a_map_can_be_had_with_a_nul_behind() {
        let map = build(&Fleet::parse(FLEET, "fleet.toml").unwrap(), None).unwrap();
        let strings = MapStrings::of(&map).unwrap();
        assert_eq!(strings.name.to_str().unwrap(), "mü");
        assert_eq!(strings.nodes.len(), map.nodes().len());
        for (strings, node) in strings.nodes.iter().zip(map.nodes()) {
            assert_eq!(strings.name.to_str().unwrap(), node.name());
            let same = |strings: &[(CString, CString)], pairs: Vec<(&str, &str)>| {
                let strings = strings
                    .iter()
                    .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()));
                assert!(strings.eq(pairs));
            };
            same(&strings.labels, node.labels().collect());
            same(&strings.attributes, node.attributes().collect());
        }
        assert_eq!(strings.nodes[0].attributes.len(), 2);
        assert_eq!(strings.policies.len(), map.policies().len());
        for (strings, policy) in strings.policies.iter().zip(map.policies()) {
            let name = strings.name.as_ref().map(|name| name.to_str().unwrap());
            assert_eq!(name, policy.name());
            assert_eq!(strings.kind.to_str().unwrap(), policy.kind());
        }
        assert_eq!(strings.policies[0].kind.to_str().unwrap(), "chain");
        assert_eq!(
            map.kept(|_| Ok(1_u8)).unwrap(),
            None,
            "a map keeps one value"
        );
    }

    /// Each label and attribute has two strings, a node at most three more, a policy two, and the
    /// map has at most 20.
    #[test]
    fn memory_is_asked_for_once_for_all_strings() {
        let map = build(&Fleet::parse(FLEET, "fleet.toml").unwrap(), None).unwrap();
        let strings = (3 + 2 * 3) + (3 + 2) + 2 * map.policies().len() + 20;
        assert_eq!(need(&map), (map.bytes().len() + 48 * strings) as u64);
    }

    #[test]
    fn a_map_that_is_opened_again_has_its_strings_already() {
        let file = std::env::temp_dir().join(format!("stead-strings-{}", std::process::id()));
        let built = build(&Fleet::parse(FLEET, "fleet.toml").unwrap(), None).unwrap();
        store::save(&built, &file).unwrap();
        let open = || Map::open(&file).unwrap();
        let first = open();
        let name = MapStrings::of(&first).unwrap().name.as_ptr();
        drop(first);
        let (second, third) = (open(), open());
        assert_eq!(MapStrings::of(&second).unwrap().name.as_ptr(), name);
        assert!(Arc::ptr_eq(&second, &third));
        std::fs::remove_file(&file).unwrap();
    }
}
