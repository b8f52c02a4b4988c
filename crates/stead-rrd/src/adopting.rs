//! What a new map means for the files.

use stead::map::Node;
use stead::plan::{same_nodes, Plan};
use stead::Map;

/// The attribute of a node that says where its rrdcached listens.
pub const ADDRESS: &str = "rrdcached";

/// The attribute of a node that says how its files can be reached.
pub const FILES: &str = "files";

/// Returns an attribute of a node.
pub fn attribute<'a>(node: Node<'a>, name: &str) -> Option<&'a str> {
    let mut all = node.attributes();
    all.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// What a new map means for the files.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It is the newest one that counts already.
    Known,
    /// No file has to move.
    Settles,
    /// Files have to move.
    Moves,
    /// Files still move to the places of the map before it.
    Waits,
}

/// Returns what a map means where `settled` places the files, and where they move to the places of
/// `target`, if they do. An error says why it cannot be taken up.
pub fn meaning(settled: &Map, target: Option<&Map>, map: &Map) -> Result<Meaning, String> {
    let newest = target.unwrap_or(settled);
    if newest.digest() == map.digest() {
        return Ok(Meaning::Known);
    }
    if map.name() != settled.name() {
        return Err(format!(
            "it is a map of the fleet `{}`, and this router serves `{}`; put the map of `{1}` \
             there (of two routers, copy that of the other one)",
            map.name(),
            settled.name()
        ));
    }
    let same = same_nodes(settled, map).map_err(|error| error.to_string())?;
    let now = newest.epoch();
    if map.epoch() == now {
        return Err(format!(
            "it is another map than the epoch {now} by which the router serves, so two of this \
             epoch were made; publish the fleet that you want once more (of two routers, copy the \
             map of the other one first)"
        ));
    }
    if map.epoch() < now {
        return Err(format!(
            "epoch {} is not newer than {now}, by which the router serves; copy the newest map to \
             it (of two routers, from the other one), or publish a newer one",
            map.epoch()
        ));
    }
    for (node, new) in settled.nodes().zip(same) {
        let new = new.and_then(|new| map.nodes().nth(new.index()));
        if let Some(new) = new.filter(|new| new.name() != node.name()) {
            let (old, new) = (node.name(), new.name());
            return Err(format!(
                "{new} was {old}: stead-rrd knows backends by their names; keep the name, and \
                 change its attributes"
            ));
        }
    }
    one_server_has_one_name(settled, map)?;
    if target.is_some() {
        return Ok(Meaning::Waits);
    }
    let plan = Plan::between(settled, map).map_err(|error| error.to_string())?;
    Ok(match plan.moves.is_empty() {
        true => Meaning::Settles,
        false => Meaning::Moves,
    })
}

/// Refuses a map in which the server of a node that leaves has another name. Its files would be
/// moved onto themselves, and then removed at the place that they have left.
fn one_server_has_one_name(settled: &Map, map: &Map) -> Result<(), String> {
    let has = |map: &Map, name: &str| map.nodes().any(|node| node.name() == name);
    let leave = || settled.nodes().filter(|node| !has(map, node.name()));
    for new in map.nodes().filter(|node| !has(settled, node.name())) {
        for key in [ADDRESS, FILES] {
            let Some(place) = attribute(new, key) else {
                continue;
            };
            let same = |old: &Node<'_>| attribute(*old, key) == Some(place);
            if let Some(old) = leave().find(same) {
                let (new, old) = (new.name(), old.name());
                return Err(format!(
                    "{new} has the attribute {key}={place}, which is that of {old}: files \
                     would be moved onto themselves and removed; keep the name {old}, or remove \
                     {old} and move the files before you add {new}"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fleet: &str, names: &[&str], before: Option<&Map>) -> Map {
        let node = |name: &&str| format!("[[node]]\nname = \"{name}\"\n");
        let nodes: String = names.iter().map(node).collect();
        let fleet = stead::Fleet::parse(&format!("name = \"{fleet}\"\n{nodes}"), "t").unwrap();
        stead::build(&fleet, before).unwrap()
    }

    #[test]
    fn a_map_is_known_settles_moves_waits_or_is_refused() {
        let first = map("rrd", &["a", "b"], None);
        let second = map("rrd", &["a", "b", "c"], Some(&first));
        let third = map("rrd", &["a", "b", "c", "d"], Some(&second));
        let of = meaning;
        assert_eq!(of(&first, None, &first), Ok(Meaning::Known));
        assert_eq!(of(&first, None, &second), Ok(Meaning::Moves));
        assert_eq!(of(&first, Some(&second), &second), Ok(Meaning::Known));
        assert_eq!(of(&first, Some(&second), &third), Ok(Meaning::Waits));
        let attribute = "name = 'rrd'\nnode = [{name = 'a', attributes = {x = '1'}}, {name = 'b'}]";
        let same = stead::Fleet::parse(attribute, "t").unwrap();
        let same = stead::build(&same, Some(&first)).unwrap();
        assert_eq!(of(&first, None, &same), Ok(Meaning::Settles));

        let refused =
            |settled: &Map, target: Option<&Map>, map: &Map| of(settled, target, map).unwrap_err();
        let old = refused(&second, None, &first);
        assert!(old.contains("epoch 1 is not newer than 2"), "{old}");
        let old = refused(&first, Some(&second), &first);
        assert!(old.contains("epoch 1 is not newer than 2"), "{old}");
        // two operators have made a map with one epoch
        let twin = map("rrd", &["a", "b", "d"], Some(&first));
        for (settled, target) in [(&second, None), (&first, Some(&second))] {
            let why = refused(settled, target, &twin);
            assert!(
                why.starts_with("it is another map than the epoch 2 by which")
                    && why.contains("two of this epoch were made"),
                "{why}"
            );
        }
        // another fleet, also while files move, whatever its epoch
        let other = map("other", &["a", "b"], None);
        let other = map(
            "other",
            &["a"],
            Some(&map("other", &["a", "c"], Some(&other))),
        );
        for target in [None, Some(&second)] {
            let foreign = refused(&first, target, &other);
            assert!(
                foreign
                    .starts_with("it is a map of the fleet `other`, and this router serves `rrd`;"),
                "{foreign}"
            );
        }
        let renamed = "name = 'rrd'\nnode = [{name = 'z', formerly = 'a'}, {name = 'b'}]";
        let renamed = stead::Fleet::parse(renamed, "t").unwrap();
        let renamed = stead::build(&renamed, Some(&first)).unwrap();
        assert!(refused(&first, None, &renamed).contains("z was a"));
        // one server under two names; and a server that leaves, whose address nobody gets
        let at = |nodes: &[(&str, &str, &str)], before: Option<&Map>| {
            let node = |(name, address, files): &(&str, &str, &str)| {
                format!(
                    "[[node]]\nname = '{name}'\n\
                     attributes = {{rrdcached = '{address}', files = '{files}'}}\n"
                )
            };
            let nodes: String = nodes.iter().map(node).collect();
            let fleet = stead::Fleet::parse(&format!("name = 'rrd'\n{nodes}"), "t").unwrap();
            stead::build(&fleet, before).unwrap()
        };
        let first = at(&[("a", "h:1", "/a"), ("b", "h:2", "/b")], None);
        for (address, files, word) in [
            (
                "h:2",
                "/c",
                "c has the attribute rrdcached=h:2, which is that of b",
            ),
            (
                "h:3",
                "/b",
                "c has the attribute files=/b, which is that of b",
            ),
        ] {
            let map = at(&[("a", "h:1", "/a"), ("c", address, files)], Some(&first));
            for target in [None, Some(&first)] {
                let why = refused(&first, target, &map);
                assert!(
                    why.contains(word) && why.contains("keep the name b"),
                    "{why}"
                );
            }
        }
        let map = at(&[("a", "h:1", "/a"), ("c", "h:3", "/c")], Some(&first));
        assert_eq!(of(&first, None, &map), Ok(Meaning::Moves));
        let map = at(
            &[("a", "h:4", "/d"), ("b", "h:2", "/b"), ("c", "h:1", "/a")],
            Some(&first),
        );
        assert_eq!(of(&first, None, &map), Ok(Meaning::Moves));
    }
}
