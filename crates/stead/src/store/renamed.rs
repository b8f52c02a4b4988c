//! What nodes are called in a later epoch. A map knows one former name of each node, and only as
//! long as its fleet says it; the epochs in between know the rest.

use super::epochs::Store;
use crate::error::Result;
use crate::map::{Map, Renamed};
use crate::plan::same_nodes;
use crate::policy::NodeId;

impl Store {
    /// Lists the nodes of an older map that have another name in a newer one, by way of the epochs
    /// in between. One that is not kept, or is damaged, is passed over.
    ///
    /// Errors: `Identity` when the maps belong to different clusters.
    pub fn renamed(&self, old: &Map, new: &Map) -> Result<Vec<Renamed>> {
        let between = old.epoch().saturating_add(1)..new.epoch();
        let kept = self.history().unwrap_or_default();
        let kept = kept.into_iter().filter(|epoch| between.contains(epoch));
        let mut now: Vec<Option<NodeId>> = old.nodes().map(|node| Some(node.id)).collect();
        let mut last: Option<Map> = None;
        for epoch in kept {
            let Ok(next) = self.open_epoch(epoch) else {
                continue;
            };
            // the history beside a map may be that of another one
            if next.map_id() == new.map_id() {
                follow(&mut now, last.as_ref().unwrap_or(old), &next)?;
                last = Some(next);
            }
        }
        follow(&mut now, last.as_ref().unwrap_or(old), new)?;
        Ok(renamed(old, new, &now))
    }
}

/// Follows nodes from one map to the next.
fn follow(now: &mut [Option<NodeId>], map: &Map, next: &Map) -> Result<()> {
    let same = same_nodes(map, next)?;
    for node in now {
        *node = node.and_then(|node| same.get(node.index()).copied().flatten());
    }
    Ok(())
}

fn renamed(old: &Map, new: &Map, now: &[Option<NodeId>]) -> Vec<Renamed> {
    let pairs = old.nodes().zip(now);
    let pairs = pairs.filter_map(|(before, now)| Some((before.name(), new.node((*now)?).name())));
    // a name that both maps have is one node in them
    pairs
        .filter(|(before, now)| new.node_named(before).is_none() && old.node_named(now).is_none())
        .map(|(before, now)| Renamed {
            before: before.to_owned(),
            now: now.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Back, KEEP};
    use crate::{build, Fleet, Plan};

    /// A map of three nodes, whose second one was renamed twice and lost its former name then; and
    /// the newest epoch.
    fn renamed_twice() -> (tempfile::TempDir, Store, Map) {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path().join("m.map"), KEEP);
        let mut newest: Option<Map> = None;
        for node in ["b", "b2', formerly = 'b", "b3', formerly = 'b2", "b3"] {
            let text =
                format!("name = 'm'\nnode = [{{name = 'a'}}, {{name = '{node}'}}, {{name = 'c'}}]");
            let fleet = Fleet::parse(&text, "fleet").unwrap();
            let next = build(&fleet, newest.as_ref()).unwrap();
            store.publish(newest.as_ref(), &next).unwrap();
            newest = Some(next);
        }
        (place, store, newest.unwrap())
    }

    #[test]
    fn a_node_is_followed_through_the_epochs_in_between() {
        let (_place, store, newest) = renamed_twice();
        let first = store.open_epoch(1).unwrap();
        // the two alone do not know
        assert!(Plan::between(&first, &newest).unwrap().amounts.moved.0 > 0);
        let found = store.renamed(&first, &newest).unwrap();
        let [Renamed { before, now }] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!([before, now], ["b", "b3"]);
        let told = newest.formerly_named(&found).unwrap();
        assert_eq!(Plan::between(&first, &told).unwrap().moves, []);
    }

    #[test]
    fn going_back_over_a_forgotten_name_moves_nothing() {
        for back in [Back::Exact, Back::Least { max_move: None }] {
            let (_place, store, newest) = renamed_twice();
            let old = store.open_epoch(1).unwrap();
            let new = store.back_to(&newest, 1, Some(back)).unwrap();
            assert_eq!(Plan::between(&newest, &new).unwrap().moves, []);
            assert_eq!(new.node_named("b").unwrap().formerly(), Some("b3"));
            for key in 0..100 {
                let key = format!("key {key}");
                let name = |map: &Map| map.node(map.locate(key.as_bytes())).name().to_owned();
                assert_eq!(name(&old), name(&new));
            }
        }
    }

    #[test]
    fn a_gap_in_the_history_is_passed_over() {
        let (place, store, newest) = renamed_twice();
        std::fs::write(place.path().join("m.map.history/3"), "damaged").unwrap();
        let first = store.open_epoch(1).unwrap();
        // epoch 2 says b2, and nobody says what became of it
        assert_eq!(store.renamed(&first, &newest).unwrap(), []);
    }

    #[test]
    fn a_name_that_both_maps_have_is_one_node_whatever_the_epochs_in_between_say() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path().join("m.map"), KEEP);
        let apply = |nodes: &str| {
            let fleet = Fleet::parse(&format!("name = 'm'\nnode = [{nodes}]"), "fleet").unwrap();
            store.apply(&fleet, None).unwrap()
        };
        let first = apply("{name = 'a'}, {name = 'b'}");
        apply("{name = 'c', formerly = 'a'}, {name = 'b'}");
        // the name is given to a new node
        let newest = apply("{name = 'c'}, {name = 'b'}, {name = 'a', weight = 2}");
        assert_eq!(store.renamed(&first, &newest).unwrap(), []);
        let back = store.back_to(&newest, 1, Some(Back::Exact)).unwrap();
        assert_eq!(back.node_named("a").unwrap().formerly(), None);
        for key in 0..100 {
            let key = format!("key {key}");
            let name = |map: &Map| map.node(map.locate(key.as_bytes())).name().to_owned();
            assert_eq!(name(&first), name(&back));
        }
    }
}
