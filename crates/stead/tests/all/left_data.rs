//! The guard against changes without a carry, where changes are carried.

use stead::carry::Step;
use stead::guard::{findings, Allow};
use stead::store::{SavedPlan, KEEP};
use stead::{build, Error, Fleet, Map, Store};
use tempfile::TempDir;

/// A fleet of these nodes, with these lines before them.
fn fleet(lines: &str, names: &str) -> Fleet {
    let nodes: String = names
        .split(' ')
        .map(|name| format!("[[node]]\nname = '{name}'\n"))
        .collect();
    Fleet::parse(&format!("name = 'm'\n{lines}\n{nodes}"), "fleet").unwrap()
}

const CARRIED: &str = "[guard]\ncarry = true";
const NOT_CARRIED: &str = "[guard]\ncarry = false";

fn store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::new(directory.path().join("m.map"), KEEP);
    (directory, store)
}

fn apply(store: &Store, lines: &str, names: &str) -> stead::Result<Map> {
    store.apply(&fleet(lines, names), None)
}

/// Applies a fleet by a carry, and takes all its steps.
fn carry(store: &Store, lines: &str, names: &str) -> Map {
    let mut map = apply(&store.clone().carrying(true), lines, names).unwrap();
    assert!(map.carry().is_some());
    for step in [Step::Next, Step::Next, Step::Next, Step::Close] {
        map = store.carry(&map, step).unwrap();
    }
    map
}

/// Asserts that only this guard refuses, that it says this, and that the map stays.
fn refused(store: &Store, result: stead::Result<Map>, words: &str) {
    let before = store.current().unwrap().unwrap();
    let error = result.map(|map| map.epoch()).unwrap_err();
    assert!(
        matches!(&error, Error::Guarded { allow, .. } if allow == "leave-data"),
        "{error}"
    );
    assert!(error.to_string().contains(words), "{error}");
    let newest = store.history().unwrap().pop();
    assert_eq!(newest, Some(before.epoch()));
}

#[test]
fn after_a_carry_every_change_that_moves_copies_needs_one() {
    let (_directory, store) = store();
    apply(&store, "", "a b").unwrap();
    // nothing was carried yet
    apply(&store, "", "a b c").unwrap();
    let closed = carry(&store, "", "a b c d").epoch();
    let words = format!(
        "the change moves 20.00 % of all copies without a carry, and the last change that moved \
         any was carried, up to epoch {closed}; nothing was changed"
    );
    refused(&store, apply(&store, "", "a b c d e"), &words);
    let back = store.rollback(2, Some(stead::store::Back::Exact));
    refused(&store, back, "moves 25.00 % of all copies without a carry");
    // what moves nothing needs none, and does not make the carry forgotten
    let labels = "[[node]]\nname = 'a'\nlabels = {zone = 'z'}";
    apply(&store, labels, "b c d").unwrap();
    refused(&store, apply(&store, labels, "b c d e"), &words);
    // a fleet can say that nothing is carried
    let quiet = fleet(&format!("{NOT_CARRIED}\n{labels}"), "b c d e");
    let now = store.current().unwrap();
    let new = build(&quiet, now.as_ref()).unwrap();
    assert_eq!(store.findings(now.as_ref(), &new).unwrap(), []);
    // a carry is never refused, and neither are its steps
    carry(&store, labels, "b c d e");
    let allowing = store.clone().allowing(Allow::parse("leave-data").unwrap());
    apply(&allowing, labels, "b c d e f").unwrap();
    // the last change was none
    apply(&store, labels, "b c d e f g").unwrap();
}

#[test]
fn a_carry_that_was_reversed_counts_as_one() {
    let (_directory, store) = store();
    apply(&store, "", "a b").unwrap();
    let begun = apply(&store.clone().carrying(true), "", "a b c").unwrap();
    let back = store.carry(&begun, Step::Reverse).unwrap();
    store.carry(&back, Step::Close).unwrap();
    refused(&store, apply(&store, "", "a b d"), "without a carry");
}

#[test]
fn the_last_change_that_moved_copies_is_known() {
    let (_directory, store) = store();
    let last = |map: &Map| {
        let last = store.last_move(map).unwrap();
        last.map(|last| (last.before, last.epoch, last.is_carried))
    };
    assert_eq!(last(&apply(&store, "", "a b").unwrap()), None);
    assert_eq!(
        last(&apply(&store, "", "a b c").unwrap()),
        Some((1, 2, false))
    );
    let labels = "[[node]]\nname = 'a'\nlabels = {zone = 'z'}";
    assert_eq!(
        last(&apply(&store, labels, "b c").unwrap()),
        Some((1, 2, false))
    );
    let begun = apply(&store.clone().carrying(true), labels, "b c d").unwrap();
    assert_eq!(
        last(&begun),
        Some((1, 2, false)),
        "what is open is not done"
    );
    let mut map = begun;
    for step in [Step::Next, Step::Next, Step::Next, Step::Close] {
        map = store.carry(&map, step).unwrap();
    }
    assert_eq!(last(&map), Some((3, 8, true)));
}

#[test]
fn a_change_that_took_another_one_back_is_told_with_that() {
    let (_directory, store) = store();
    let told = |map: &Map| {
        let last = store.last_move(map).unwrap().unwrap();
        (last.undone, last.told())
    };
    apply(&store, "", "a b").unwrap();
    let moved = apply(&store, "", "a b c").unwrap();
    let said = "epoch 2 moved data without a carry";
    assert_eq!(told(&moved), (None, said.to_owned()));
    let back = store.rollback(1, Some(stead::store::Back::Exact)).unwrap();
    let said = format!("{said}, and epoch 3 took that back");
    assert_eq!(told(&back), (Some(2), said.clone()));
    // what a new carry would take its data from
    let allowing = |words| store.clone().allowing(Allow::parse(words).unwrap());
    let begun = apply(&allowing("take-back").carrying(true), "", "a b c").unwrap();
    assert_eq!(told(&begun), (Some(2), said));
    let reversed = store.carry(&begun, Step::Reverse).unwrap();
    store.carry(&reversed, Step::Close).unwrap();
    // of several changes the first one is named
    apply(&allowing("leave-data"), "", "a b d").unwrap();
    let before = apply(&store, "", "a b d e").unwrap().epoch();
    let back = store.rollback(before - 2, Some(stead::store::Back::Exact));
    let said = format!(
        "epochs {} to {before} moved data without a carry, and epoch {} took that back",
        before - 1,
        before + 1
    );
    assert_eq!(told(&back.unwrap()), (Some(before - 1), said));
}

#[test]
fn a_fleet_can_say_that_its_changes_are_carried() {
    let (directory, store) = store();
    apply(&store, CARRIED, "a b").unwrap();
    apply(&store, CARRIED, "a b").unwrap();
    let words = "moves 33.33 % of all copies without a carry, and the fleet says carry = true";
    refused(&store, apply(&store, CARRIED, "a b c"), words);
    let step = store.apply(&fleet(CARRIED, "a b c"), Some(stead::Share((1 << 64) / 10)));
    refused(&store, step, "moves 10.00 % of all copies without a carry");
    // a saved plan keeps what the fleet says
    for (lines, is_refused) in [(CARRIED, true), (NOT_CARRIED, false), ("", false)] {
        let now = store.current().unwrap();
        let new = build(&fleet(lines, "a b c"), now.as_ref()).unwrap();
        let file = directory.path().join("c.plan");
        SavedPlan::write(&new, &file).unwrap();
        let read = SavedPlan::read(&file).unwrap().new;
        let found = store.findings(now.as_ref(), &read).unwrap();
        assert_eq!(!found.is_empty(), is_refused, "{lines}");
        // the maps alone do not know of it
        assert_eq!(findings(now.as_ref().unwrap(), &read).unwrap(), []);
    }
    carry(&store, CARRIED, "a b c");
}

#[test]
fn the_line_of_a_fleet_is_kept_in_its_text() {
    for (lines, says) in [
        (CARRIED, Some(true)),
        (NOT_CARRIED, Some(false)),
        ("", None),
    ] {
        let fleet = fleet(lines, "a");
        assert_eq!(fleet.carry, says);
        let again = Fleet::parse(&fleet.to_toml(), "fleet").unwrap();
        assert_eq!(again.carry, says);
    }
    let json = r#"{"name": "m", "guard": {"carry": true}, "node": [{"name": "a"}]}"#;
    assert_eq!(Fleet::parse(json, "fleet").unwrap().carry, Some(true));
    let wrong = Fleet::parse("name = 'm'\n[guard]\ncarry = 1\nnode = []", "fleet").unwrap_err();
    assert!(
        wrong
            .to_string()
            .contains("fleet:3: carry must be true or false"),
        "{wrong}"
    );
}
