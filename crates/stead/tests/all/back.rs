//! A rollback, and the attributes of nodes: data goes back, and servers are where they are now.

use std::collections::BTreeMap;

use stead::store::Back;
use stead::{Fleet, Map, Store};
use tempfile::TempDir;

/// Publishes the fleet of these nodes.
fn applied(store: &Store, nodes: &str) -> Map {
    let fleet = Fleet::parse(&format!("name = 'm'\nnode = [{nodes}]"), "f").unwrap();
    store.apply(&fleet, None).unwrap()
}

/// Returns the address of each node.
fn addresses(map: &Map) -> BTreeMap<&str, Option<&str>> {
    map.nodes()
        .map(|node| (node.name(), node.attribute("address")))
        .collect()
}

fn at(name: &str, address: &str) -> String {
    format!("{{name = '{name}', attributes = {{address = '{address}'}}}}")
}

const EXACT: Option<Back> = Some(Back::Exact);
const LEAST: Option<Back> = Some(Back::Least { max_move: None });

#[test]
fn where_data_goes_back_the_nodes_keep_their_addresses() {
    for way in [EXACT, LEAST] {
        let dir = TempDir::new().unwrap();
        let store = Store::new(dir.path().join("m.map"), 32);
        let first = [at("a", "1"), at("b", "2"), at("gone", "3")].join(",");
        let first = applied(&store, &first);
        applied(&store, &[at("a", "1"), at("b", "2")].join(","));
        // one server has moved, one has lost its address, and one is renamed and has moved
        applied(
            &store,
            "{name = 'a'}, {name = 'b', attributes = {address = '4'}}",
        );
        let renamed = "{name = 'x', formerly = 'b', attributes = {address = '5'}}, {name = 'a'}";
        applied(&store, renamed);
        let back = store.rollback(1, way).unwrap();
        assert_eq!((back.epoch(), back.digest() != first.digest()), (5, true));
        let expected = [("a", None), ("b", Some("5")), ("gone", Some("3"))];
        assert_eq!(addresses(&back), BTreeMap::from(expected), "{way:?}");
        for key in ["some", "keys", "of", "many", "more"] {
            let node = |map: &Map| map.node(map.locate(key.as_bytes())).name().to_owned();
            assert!(way == LEAST || node(&back) == node(&first), "{key}");
        }
        // the same command again does not bring the addresses back either
        let again = store.rollback(1, way).unwrap();
        assert_eq!(addresses(&again), addresses(&back), "{way:?}");
    }
}

#[test]
fn where_only_attributes_have_changed_they_come_back() {
    for way in [EXACT, LEAST] {
        let dir = TempDir::new().unwrap();
        let store = Store::new(dir.path().join("m.map"), 32);
        for address in ["1", "2", "3"] {
            applied(&store, &[at("a", address), at("b", "9")].join(","));
        }
        let back = store.rollback(1, way).unwrap();
        assert_eq!((back.epoch(), addresses(&back)["a"]), (4, Some("1")));
        // once data has moved, those of then do not come back, even if all of it is back
        applied(
            &store,
            &[at("a", "7"), at("b", "9"), at("c", "8")].join(","),
        );
        let last = applied(&store, &[at("a", "7"), at("b", "9")].join(","));
        let back = store.rollback(4, way).unwrap();
        assert_eq!(addresses(&back)["a"], Some("7"), "{way:?}");
        assert!(back.epoch() == last.epoch() || way == EXACT);
    }
}

#[test]
fn a_pin_moves_data_too() {
    let dir = TempDir::new().unwrap();
    let store = Store::new(dir.path().join("m.map"), 32);
    let nodes = |address| [at("a", address), at("b", "9")].join(",");
    applied(&store, &nodes("1"));
    let pinned = format!(
        "name = 'm'\nnode = [{}]\npin = [{{key = 'k', nodes = ['a']}}, {{key = 'l', nodes = ['b']}}]",
        nodes("2")
    );
    let newest = store
        .apply(&Fleet::parse(&pinned, "f").unwrap(), None)
        .unwrap();
    assert_eq!(addresses(&newest)["a"], Some("2"));
    let back = store.rollback(1, EXACT).unwrap();
    assert_eq!((addresses(&back)["a"], back.pins().len()), (Some("2"), 0));
}

#[test]
fn an_epoch_that_the_history_lacks_may_have_moved_data() {
    let dir = TempDir::new().unwrap();
    let store = Store::new(dir.path().join("m.map"), 32);
    for address in ["1", "2", "3"] {
        applied(&store, &[at("a", address), at("b", "9")].join(","));
    }
    std::fs::remove_file(dir.path().join("m.map.history/2")).unwrap();
    let back = store.rollback(1, EXACT).unwrap();
    assert_eq!((back.epoch(), addresses(&back)["a"]), (3, Some("3")));
}

/// Returns what the error says that names the movement of both ways.
fn unsaid(store: &Store, epoch: u64) -> String {
    store.rollback(epoch, None).unwrap_err().to_string()
}

#[test]
fn what_moves_less_than_the_digits_show_is_not_told_as_nothing() {
    let dir = TempDir::new().unwrap();
    let store = Store::new(dir.path().join("m.map"), 32);
    for address in ["1", "3", "4"] {
        applied(&store, &[at("a", address), at("b", "2")].join(","));
    }
    let text = unsaid(&store, 1);
    let nothing = "exact (its slices again) moves 0.00 %, and least (its fleet, with the least \
                   movement) moves 0.00 %";
    assert!(text.ends_with(nothing), "{text}");
    // one of two nodes gets a quarter of a hundred-thousandth of the points
    let more = at("a", "4").replace("attributes", "weight = 1.00001, attributes");
    assert_eq!(applied(&store, &[more, at("b", "2")].join(",")).epoch(), 4);
    let text = unsaid(&store, 1);
    let little = nothing.replace("0.00 %", "less than 0.01 %");
    assert!(text.ends_with(&little), "{text}");
}

#[test]
fn the_ways_to_go_back_have_names() {
    assert_eq!(Back::named("exact").ok(), EXACT);
    assert_eq!(Back::named("least").ok(), LEAST);
    let refused = Back::named("Exact").unwrap_err().to_string();
    assert!(
        refused.contains("write \"exact\" or \"least\""),
        "{refused}"
    );
}
