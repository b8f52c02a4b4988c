//! Epochs: whether two maps differ in more than their epoch, and the same content as a new epoch.

use std::mem::size_of;

use super::open::Map;
use crate::error::{Error, Result};
use crate::format::records::Header;
use crate::format::{NodeLists, Parts};

/// A node with another name than before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// Its name in the older map.
    pub before: String,
    /// Its name in the newer map.
    pub now: String,
}

impl Map {
    /// Whether the two maps differ only in what every new epoch changes: epoch, map id, parent,
    /// digest, and the version of the algorithm that made it.
    ///
    /// A map has exactly one encoding, so this compares bytes. `apply` has nothing to do if the new
    /// map is the same as the old one in this sense.
    pub fn same(&self, other: &Map) -> bool {
        // epoch 1 stores zeros as its map id, so the stored id differs between epochs 1 and 2
        let lasting = |map: &Map| Header {
            map_id: [0; 16],
            epoch: 0,
            algorithm: 0,
            parent: [0; 32],
            digest: [0; 32],
            ..map.header()
        };
        let rest = size_of::<Header>()..;
        lasting(self) == lasting(other)
            && self.bytes().get(rest.clone()) == other.bytes().get(rest)
            && self.map_id() == other.map_id()
    }

    /// Makes a map with this map's content as the epoch after `newest`: this is what a rollback
    /// publishes. A carry that is open in this map is not part of the content.
    ///
    /// Errors: `Identity` when the two are not epochs of one map; `Impossible` when no epoch can
    /// follow; `Version` when this stead does not know all features of this map.
    pub fn again_after(&self, newest: &Map) -> Result<Map> {
        self.again_after_renamed(newest, &[])
    }

    /// The same when these nodes of this map have other names in `newest`, beyond those that the
    /// two maps know. They get their old names back, marked as renamed, so that nothing seems to
    /// move.
    pub(crate) fn again_after_renamed(&self, newest: &Map, renamed: &[Renamed]) -> Result<Map> {
        self.understood()?;
        if self.map_id() != newest.map_id() {
            let problem = format!(
                "epoch {} of `{}` and epoch {} are not epochs of the same map",
                self.epoch(),
                self.name(),
                newest.epoch()
            );
            return Err(Error::Identity {
                problem: format!("{problem}; roll back to an epoch of the map's own history"),
            });
        }
        let Some(epoch) = newest.epoch().checked_add(1) else {
            return Err(Error::Impossible {
                problem: "no epoch can follow 2^64 - 1".into(),
            });
        };
        let mut parts = Parts {
            epoch,
            map_id: newest.map_id(),
            parent: newest.digest(),
            carry: None,
            ..self.to_parts()
        };
        let known = newest.nodes().filter_map(|node| {
            let before = node.formerly()?;
            let is_new = |name: &str, map: &Map| map.node_named(name).is_none();
            let (before, now) = (before.to_owned(), node.name().to_owned());
            (is_new(&now, self) && is_new(&before, newest)).then_some(Renamed { before, now })
        });
        let known: Vec<Renamed> = known.collect();
        for Renamed { before, now } in known.iter().chain(renamed) {
            if let Some(node) = parts.nodes.iter_mut().find(|node| node.name == *before) {
                node.formerly.clone_from(now);
            }
        }
        Map::from_parts(&parts, &NodeLists::default())
    }

    /// Returns this map with these former names of nodes, to compare it with an older one. It has
    /// another digest: it is no epoch.
    ///
    /// Errors: `Version` when this stead does not know all features of this map.
    pub fn formerly_named(&self, renamed: &[Renamed]) -> Result<Map> {
        self.understood()?;
        let mut parts = self.to_parts();
        for Renamed { before, now } in renamed {
            if let Some(node) = parts.nodes.iter_mut().find(|node| node.name == *now) {
                node.formerly.clone_from(before);
            }
        }
        Map::from_parts(&parts, &NodeLists::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::encode;
    use crate::{build, Fleet};

    fn fleet(nodes: &[&str]) -> Fleet {
        let nodes: String = nodes
            .iter()
            .map(|n| format!("[[node]]\nname = '{n}'\n"))
            .collect();
        Fleet::parse(&format!("name = 'm'\n{nodes}"), "fleet").unwrap()
    }

    #[test]
    fn the_same_fleet_again_differs_in_the_epoch_only() {
        let first = build(&fleet(&["a", "b"]), None).unwrap();
        let second = build(&fleet(&["b", "a"]), Some(&first)).unwrap();
        let third = build(&fleet(&["a", "b", "c"]), Some(&second)).unwrap();
        assert!(first.same(&second) && second.same(&first) && first.same(&first));
        let of_older = Parts {
            algorithm: 1,
            ..second.to_parts()
        };
        let of_older = Map::from_bytes(encode(&of_older)).unwrap();
        assert!(of_older.same(&second));
        assert!(!second.same(&third));
        // the first map of another cluster, of the same size
        assert!(!first.same(&build(&fleet(&["a", "c"]), None).unwrap()));
    }

    #[test]
    fn a_renaming_is_taken_back_without_moving_anything() {
        let text = "name = 'm'\nnode = [{name = 'a2', formerly = 'a'}, {name = 'b'}]";
        let first = build(&fleet(&["a", "b"]), None).unwrap();
        let second = build(&Fleet::parse(text, "fleet").unwrap(), Some(&first)).unwrap();
        let back = first.again_after(&second).unwrap();
        for (old, new) in [
            (&first, &second),
            (&second, &first),
            (&second, &back),
            (&back, &second),
        ] {
            let plan = crate::Plan::between(old, new).unwrap();
            assert_eq!(
                (
                    plan.amounts.moved.0,
                    plan.amounts.lower_bound.0,
                    plan.moves.len()
                ),
                (0, 0, 0),
                "{old:?} {new:?}"
            );
        }
        assert_eq!(
            back.node(back.locate(b"frank")).name(),
            first.node(first.locate(b"frank")).name()
        );
    }

    #[test]
    fn a_short_pin_is_kept_moves_nothing_and_is_a_new_epoch() {
        let pinned = |rest: &str| {
            let text =
                format!("name = 'm'\nnode = [{{name = 'a'}}, {{name = 'b'}}]\n[[pin]]\n{rest}");
            Fleet::parse(&text, "fleet").unwrap()
        };
        let key = "key = 'frank'\nnodes = ['b']\n";
        let first = build(&pinned(key), None).unwrap();
        let unsaid = pinned(&format!("{key}short = false"));
        assert!(first.same(&build(&unsaid, Some(&first)).unwrap()));

        let second = build(&pinned(&format!("{key}short = true")), Some(&first)).unwrap();
        assert!(!second.same(&first));
        let plan = crate::Plan::between(&first, &second).unwrap();
        assert_eq!((plan.amounts.moved.0, plan.moves.len()), (0, 0));

        let third = build(&unsaid, Some(&second)).unwrap();
        assert!(third.same(&first));
        let back = second.again_after(&third).unwrap();
        for (map, short) in [
            (&first, false),
            (&second, true),
            (&third, false),
            (&back, true),
        ] {
            assert_eq!(map.pins().map(|p| p.short).collect::<Vec<_>>(), [short]);
            assert_eq!(encode(&map.to_parts()), map.bytes());
        }
    }

    #[test]
    fn content_comes_again_under_the_next_number() {
        let first = build(&fleet(&["a", "b"]), None).unwrap();
        let second = build(&fleet(&["a", "b", "c"]), Some(&first)).unwrap();
        let back = first.again_after(&second).unwrap();
        assert!(back.same(&first));
        assert_eq!(
            (back.epoch(), back.parent(), back.map_id()),
            (3, second.digest(), first.digest()[..16].try_into().unwrap())
        );
        let other = build(&fleet(&["x"]), None).unwrap();
        assert!(matches!(
            first.again_after(&other),
            Err(Error::Identity { .. })
        ));
    }
}
