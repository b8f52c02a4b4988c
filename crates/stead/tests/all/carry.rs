//! A carry: its states from epoch to epoch, what is refused while it is open, its bytes, and where
//! a pair of maps reads and writes in each state.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use stead::carry::{self, State, Step};
use stead::policy::NodeId;
use stead::store::{Back, SavedPlan, KEEP};
use stead::{build, build_max_move, Allow, Fleet, Map, Pair, Plan, Share, Status, Store};
use tempfile::TempDir;

fn fleet(text: &str) -> Fleet {
    Fleet::parse(&format!("name = 'm'\n{text}"), "fleet.toml").unwrap()
}

const TWO: &str = "node = [{name = 'a'}, {name = 'b'}]";
const THREE: &str = "node = [{name = 'a'}, {name = 'b'}, {name = 'c'}]";

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("m.map");
    (directory, path)
}

/// A store whose map has two nodes, and then a carry open that brings data to a third.
fn opened(path: &Path) -> (Store, Map, Map) {
    let store = Store::new(path, KEEP);
    let old = store.apply(&fleet(TWO), None).unwrap();
    let begun = store
        .clone()
        .carrying(true)
        .apply(&fleet(THREE), None)
        .unwrap();
    (store, old, begun)
}

fn word(map: &Map) -> String {
    match map.carry() {
        None => "none".to_owned(),
        Some(carry) => format!("{} {}", carry.state.word(), carry.direction()),
    }
}

/// Takes a step from the newest map.
fn take(store: &Store, step: Step) -> stead::Result<Map> {
    store.carry(&Map::open_uncached(store.path())?, step)
}

#[test]
fn a_step_is_taken_from_the_map_that_the_hosts_have_confirmed_or_not_at_all() {
    let (_directory, path) = place();
    let (store, _, begun) = opened(&path);
    let both = store.carry(&begun, Step::Next).unwrap();
    // somebody else was asked about epoch 2, and does not know of epoch 3
    for step in [Step::Next, Step::Reverse] {
        let error = store.carry(&begun, step).unwrap_err();
        assert_eq!(error.status(), Status::Conflict, "{error}");
    }
    let now = Map::open_uncached(&path).unwrap();
    assert_eq!(now.digest(), both.digest());
}

#[test]
fn a_carry_goes_from_state_to_state_and_ends_as_the_map_that_it_carries_to() {
    let (_directory, path) = place();
    let (store, old, begun) = opened(&path);
    let plain = build(&fleet(THREE), Some(&old)).unwrap();
    let carry = begun.carry().unwrap();
    assert_eq!((carry.from_epoch, carry.from_digest), (1, old.digest()));
    assert!(begun.epoch() == 2 && begun.parent() == old.digest() && !begun.same(&plain));
    let mut words = vec![word(&begun)];
    let mut last = begun;
    for step in [Step::Next, Step::Next, Step::Next, Step::Close] {
        let next = take(&store, step).unwrap();
        assert_eq!(
            (next.epoch(), next.parent()),
            (last.epoch() + 1, last.digest())
        );
        assert!(next.slices().eq(plain.slices()));
        words.push(word(&next));
        last = next;
    }
    let states = ["old", "both_old_first", "both_new_first", "new"];
    let states = states.map(|state| format!("{state} forward"));
    assert_eq!(words[..4], states);
    assert_eq!(words[4], "none");
    assert!(last.same(&plain), "a closed carry leaves no byte");
    assert_eq!(last.features(), plain.features());
    let told: Vec<String> = store.log().into_iter().map(|entry| entry.change).collect();
    assert_eq!(
        told,
        [
            "first map, 2 nodes",
            "+c, carry: old",
            "carry: both_old_first",
            "carry: both_new_first",
            "carry: new",
            "carry: closed"
        ]
    );
}

#[test]
fn a_carry_that_is_reversed_ends_as_the_map_that_it_began_on() {
    for steps in 0..=2 {
        let (_directory, path) = place();
        let (store, old, _) = opened(&path);
        for _ in 0..steps {
            take(&store, Step::Next).unwrap();
        }
        let mut words = vec![word(&take(&store, Step::Reverse).unwrap())];
        assert!(take(&store, Step::Reverse).is_err());
        if steps == 2 {
            let early = take(&store, Step::Close).unwrap_err().to_string();
            assert!(
                early.contains("both_old_first; it can be closed"),
                "{early}"
            );
            words.push(word(&take(&store, Step::Next).unwrap()));
        }
        let way = ["both_old_first reverse", "old reverse"];
        assert_eq!(words, way[usize::from(steps < 2)..]);
        let late = take(&store, Step::Next).unwrap_err().to_string();
        assert!(
            late.contains("old (reversed); remove what was copied"),
            "{late}"
        );
        let closed = take(&store, Step::Close).unwrap();
        assert!(closed.same(&old) && closed.carry().is_none());
        let told = store.log().pop().map(|entry| entry.change);
        assert_eq!(told.as_deref(), Some("-c, carry: closed (reversed)"));
        // the same change again undoes what was reversed, as after a rollback
        let store = store.carrying(true);
        let error = store.apply(&fleet(THREE), None).unwrap_err();
        assert!(error.to_string().contains("allow take-back"), "{error}");
        let store = store.allowing(Allow::parse("take-back").unwrap());
        let again = store.apply(&fleet(THREE), None).unwrap();
        assert_eq!(word(&again), "old forward");
        assert_eq!(again.carry().unwrap().from_epoch, closed.epoch());
    }
    let (_directory, path) = place();
    let (store, ..) = opened(&path);
    for _ in 0..3 {
        take(&store, Step::Next).unwrap();
    }
    let late = take(&store, Step::Reverse).unwrap_err().to_string();
    assert!(late.contains("too late to reverse"), "{late}");
    let next = take(&store, Step::Next).unwrap_err().to_string();
    assert!(
        next.contains("remove the old copies, and then close it"),
        "{next}"
    );
}

#[test]
fn while_a_carry_is_open_every_other_change_is_refused() {
    let (_directory, path) = place();
    let (store, old, mut now) = opened(&path);
    let four = fleet("node = [{name = 'a'}, {name = 'b'}, {name = 'c'}, {name = 'd'}]");
    let part = Share(1 << 60);
    for step in [Step::Next, Step::Next, Step::Next, Step::Reverse] {
        let state = now.carry().unwrap().state.word();
        let errors = [
            store.apply(&four, None).err(),
            store.apply(&four, Some(part)).err(),
            store.apply(&fleet(TWO), None).err(),
            store.clone().carrying(true).apply(&four, None).err(),
            store.rollback(1, None).err(),
            store.rollback(1, Some(Back::Exact)).err(),
            build(&four, Some(&now)).err(),
            build_max_move(&four, Some(&now), part).err(),
            carry::begin(Some(&now), &now).err(),
            store
                .publish(Some(&now), &old.again_after(&now).unwrap())
                .err(),
        ];
        for (number, error) in errors.into_iter().enumerate() {
            let error = error.unwrap_or_else(|| panic!("{number} in {state}"));
            let text = error.to_string();
            assert_eq!(error.status(), Status::Guarded, "{text}");
            assert!(text.contains(&format!("in the state {state}")), "{text}");
            assert!(
                text.contains("`stead-sync carry` goes on with it or reverses it"),
                "{text}"
            );
            assert!(!text.contains('\n'));
        }
        // without the carry: only in the last state
        let without = now.again_after(&now).unwrap();
        if state != "new" {
            let error = store.publish(Some(&now), &without).unwrap_err();
            assert_eq!(error.status(), Status::Guarded, "{error}");
        }
        assert_eq!(store.current().unwrap().unwrap().digest(), now.digest());
        // a fleet that changes nothing is no change
        let same = store.apply(&fleet(THREE), None).unwrap();
        assert_eq!(same.digest(), now.digest());
        assert!(build(&fleet(THREE), Some(&now)).unwrap().same(&now));
        if now.carry().unwrap().state == State::New {
            break;
        }
        now = take(&store, step).unwrap();
    }
    assert_eq!(now.carry().unwrap().state, State::New);
}

/// The fleet with these nodes, of which `a` has this address.
fn at_address(nodes: &str, address: usize) -> Fleet {
    let attributes = format!("'a', attributes = {{address = '10.0.0.{address}'}}");
    fleet(&nodes.replacen("'a'", &attributes, 1))
}

#[test]
fn while_a_carry_is_open_attributes_may_change_and_nothing_beside_them() {
    let forward = [Step::Next, Step::Next, Step::Next, Step::Close];
    let back = [
        Step::Next,
        Step::Next,
        Step::Reverse,
        Step::Next,
        Step::Close,
    ];
    let at_once = [Step::Reverse, Step::Close];
    for steps in [&forward[..], &back, &at_once] {
        let (_directory, path) = place();
        let (store, old, mut now) = opened(&path);
        let mut address = 0;
        for step in steps {
            address += 1;
            let changed = at_address(THREE, address);
            let next = store.apply(&changed, None).unwrap();
            assert_eq!((next.epoch(), next.carry()), (now.epoch() + 1, now.carry()));
            assert!(next.slices().eq(now.slices()));
            let told = store.log().pop().unwrap().change;
            assert_eq!(told, "attributes of a");
            let pair = Pair::open(&path).unwrap();
            let told = format!("10.0.0.{address}");
            assert_eq!(pair.attribute(NodeId(0), "address"), Some(&told[..]));
            // the same once more changes nothing, whether a carry was asked for or not
            for store in [store.clone(), store.clone().carrying(true)] {
                let same = store.apply(&changed, None).unwrap();
                assert_eq!(same.digest(), next.digest());
            }
            let heavier = THREE.replace("{name = 'b'}", "{name = 'b', weight = 2}");
            let labelled = THREE.replace("{name = 'b'}", "{name = 'b', labels = {zone = 'x'}}");
            let renamed = THREE.replace("{name = 'b'}", "{name = 'd', formerly = 'b'}");
            for (other, differs) in [
                (TWO, "-c"),
                (&heavier, "b"),
                (&labelled, "b"),
                (&renamed, "+d, -b"),
            ] {
                let error = store.apply(&at_address(other, 99), None).unwrap_err();
                assert_eq!(error.status(), Status::Guarded, "{error}");
                let told = format!("; this fleet would change {differs}");
                assert!(error.to_string().ends_with(&told), "{error}");
                let part = "only attributes of nodes can change, and nothing was changed";
                assert!(error.to_string().contains(part), "{error}");
            }
            // a step and another address at once are two changes
            let readdressed = build(&at_address(THREE, 98), Some(&next)).unwrap();
            if let Ok(both) = carry::next(&readdressed) {
                store.publish(Some(&next), &both).unwrap_err();
            }
            // nor may an epoch follow that changes nothing at all
            let back = build(&at_address(THREE, address - 1), Some(&next)).unwrap();
            assert!(carry::begin(Some(&next), &back).unwrap().is_none());
            assert!(carry::begin(Some(&next), &next).is_err());
            now = take(&store, *step).unwrap();
            let is_turned = matches!(now.carry(), Some(carry) if carry.reverse);
            assert_eq!(store.is_untouched(&now), is_turned && steps[..] == at_once);
        }
        let end = match steps.contains(&Step::Reverse) {
            true => build(&at_address(TWO, address), Some(&old)).unwrap(),
            false => build(&at_address(THREE, address), Some(&old)).unwrap(),
        };
        assert!(now.same(&end), "{steps:?}");
    }
}

#[test]
fn a_gradual_change_takes_no_step_when_attributes_change_in_its_carry() {
    let (_directory, path) = place();
    let store = Store::new(&path, KEEP).carrying(true);
    let part = Some(stead::fleet::part("20%").unwrap());
    store.apply(&fleet(TWO), None).unwrap();
    let begun = store.apply(&fleet(THREE), part).unwrap();
    assert!(begun.carry().is_some() && begun.target_slices().is_some());
    for (address, part) in [(1, None), (2, part)] {
        let next = store.apply(&at_address(THREE, address), part).unwrap();
        assert_eq!(
            (next.epoch(), next.carry()),
            (2 + address as u64, begun.carry())
        );
        assert!(next.slices().eq(begun.slices()));
        assert!(next
            .target_slices()
            .unwrap()
            .eq(begun.target_slices().unwrap()));
        // the next step waits for the end of the carry
        let error = store.apply(&at_address(THREE, address), part).unwrap_err();
        assert_eq!(error.status(), Status::Guarded, "{error}");
    }
    for step in [Step::Next, Step::Next, Step::Next, Step::Close] {
        take(&store, step).unwrap();
    }
    let closed = store.current().unwrap().unwrap();
    let progress = store.progress(&closed).unwrap();
    assert_eq!((progress.step, progress.steps), (Some(1), Some(2)));
    let last = store.apply(&at_address(THREE, 2), part).unwrap();
    assert!(last.target_slices().is_none());
}

#[test]
fn a_state_is_not_skipped_and_none_is_taken_twice() {
    let (_directory, path) = place();
    let (store, old, begun) = opened(&path);
    let both = carry::next(&begun).unwrap();
    let skipped = carry::next(&both).unwrap();
    for map in [&skipped, &carry::reverse(&both).unwrap()] {
        assert!(store.publish(Some(&begun), map).is_err());
    }
    store.publish(Some(&begun), &both).unwrap();
    assert_eq!(
        store.publish(Some(&begun), &both).unwrap_err().status(),
        Status::Conflict
    );
    // a carry begins with a change, in the state old, and on the map that is there
    let plain = build(&fleet(TWO), None).unwrap();
    assert!(carry::begin(None, &plain).unwrap().is_none());
    assert!(carry::begin(Some(&plain), &old).is_err());
    let unchanged = build(&fleet(TWO), Some(&plain)).unwrap();
    assert!(carry::begin(Some(&plain), &unchanged).unwrap().is_none());
    let labels = "node = [{name = 'a', attributes = {dsn = 'x'}}, {name = 'b'}]";
    let labels = build(&fleet(labels), Some(&plain)).unwrap();
    assert!(carry::begin(Some(&plain), &labels).unwrap().is_none());
    for step in [Step::Next, Step::Reverse, Step::Close] {
        let error = step.after(&plain, || unreachable!()).unwrap_err();
        assert_eq!(error.status(), Status::Invalid);
        assert!(
            error.to_string().contains("no carry is open in epoch 1"),
            "{error}"
        );
    }
    assert!(Step::named("next").is_ok() && Step::named("nxt").is_err());
}

#[test]
fn the_map_where_the_data_was_stays_in_the_history_while_the_carry_is_open() {
    let (_directory, path) = place();
    let store = Store::new(&path, 1);
    let old = store.apply(&fleet(TWO), None).unwrap();
    store
        .clone()
        .carrying(true)
        .apply(&fleet(THREE), None)
        .unwrap();
    let open = take(&store, Step::Next).unwrap();
    assert_eq!(store.history().unwrap(), [1, 3]);
    // at a place without a map it is no first map
    let (_elsewhere, fresh) = place();
    let error = Store::new(&fresh, 1).publish(None, &open).unwrap_err();
    assert!(
        error.to_string().ends_with(
            ": a first map has no carry, since its data was nowhere before; publish the map that \
             it was built on first, or install it with the epochs before it"
        ),
        "{error}"
    );
    assert_eq!(
        Pair::open(&path).unwrap().old_map().unwrap().digest(),
        old.digest()
    );
    take(&store, Step::Reverse).unwrap();
    assert!(take(&store, Step::Close).unwrap().same(&old));
    assert_eq!(store.history().unwrap(), [5]);
}

#[test]
fn each_step_of_a_gradual_change_has_a_carry_of_its_own() {
    let (_directory, path) = place();
    let store = Store::new(&path, KEEP).carrying(true);
    let part = stead::fleet::part("20%").unwrap();
    store.apply(&fleet(TWO), None).unwrap();
    let mut steps = Vec::new();
    loop {
        let step = store.apply(&fleet(THREE), Some(part)).unwrap();
        let Some(carry) = step.carry() else { break };
        let progress = store.progress(&step).unwrap();
        steps.push((carry.from_epoch, progress.step, progress.steps));
        if step.target_slices().is_some() {
            let error = store.apply(&fleet(THREE), Some(part)).unwrap_err();
            assert_eq!(error.status(), Status::Guarded);
        }
        for step in [Step::Next, Step::Next, Step::Next, Step::Close] {
            take(&store, step).unwrap();
        }
    }
    assert_eq!(steps, [(1, Some(1), Some(2)), (6, Some(2), Some(2))]);
    // one that was reversed counts as no step
    let (_directory, path) = place();
    let store = Store::new(&path, KEEP).carrying(true);
    store.apply(&fleet(TWO), None).unwrap();
    store.apply(&fleet(THREE), Some(part)).unwrap();
    for step in [Step::Next, Step::Next, Step::Next, Step::Close] {
        take(&store, step).unwrap();
    }
    store.apply(&fleet(THREE), Some(part)).unwrap();
    take(&store, Step::Reverse).unwrap();
    let closed = take(&store, Step::Close).unwrap();
    let progress = store.progress(&closed).unwrap();
    assert_eq!((progress.step, progress.steps), (Some(1), Some(2)));
}

#[test]
fn a_saved_plan_may_begin_a_carry() {
    let (directory, path) = place();
    let store = Store::new(&path, KEEP);
    let old = store.apply(&fleet(TWO), None).unwrap();
    let new = build(&fleet(THREE), Some(&old)).unwrap();
    let begun = carry::begin(Some(&old), &new).unwrap().unwrap();
    let file = directory.path().join("plan");
    SavedPlan::write(&begun, &file).unwrap();
    store
        .publish(Some(&old), &SavedPlan::read(&file).unwrap().new)
        .unwrap();
    assert_eq!(word(&store.current().unwrap().unwrap()), "old forward");
}

/// The offset of the record of the carry: 48 bytes, in the last section.
fn record(map: &Map) -> usize {
    map.bytes().len() - 48
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[96..128].fill(0);
    let digest = Sha256::digest(&bytes);
    bytes[96..128].copy_from_slice(&digest);
    bytes
}

#[test]
fn the_record_of_a_carry_is_the_one_of_the_page_and_keeps_its_rules() {
    let (_directory, path) = place();
    let (store, old, begun) = opened(&path);
    assert_eq!(begun.features(), 32);
    let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    expected.extend(old.digest());
    assert_eq!(begun.bytes()[record(&begun)..], expected);
    let both = take(&store, Step::Next).unwrap();
    let turned = carry::reverse(&both).unwrap();
    assert_eq!(
        turned.bytes()[record(&turned)..][..8],
        [1, 0, 0, 0, 1, 0, 0, 0]
    );
    let mut refused = 0;
    for (map, at, value, what) in [
        (&both, 0, 0u32, "states 1 to 4"),
        (&both, 0, 5, "states 1 to 4"),
        (&both, 4, 2, "no flag"),
        (&both, 4, 3, "no flag"),
        (&both, 8, 0, "earlier epoch"),
        (&both, 8, 3, "earlier epoch"),
        (&both, 12, 1, "earlier epoch"),
        (&both, 16, 0, "the digest"), // epoch 1 gives the map id
        (&both, 8, 2, "the digest"),  // epoch 2 is the parent
        (&begun, 40, 0, "the digest"),
    ] {
        let mut bytes = map.bytes().to_vec();
        let at = record(map) + at;
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let error = Map::from_bytes(sealed(bytes)).unwrap_err();
        assert_eq!(error.status(), Status::Format);
        assert!(error.to_string().contains(what), "{at} {value}: {error}");
        refused += 1;
    }
    assert_eq!(refused, 10);
    // only the first two states may be reversed
    for (state, good) in [(1u8, true), (2, true), (3, false), (4, false)] {
        let mut bytes = both.bytes().to_vec();
        bytes[record(&both)] = state;
        bytes[record(&both) + 4] = 1;
        assert_eq!(Map::from_bytes(sealed(bytes)).is_ok(), good);
    }
    // every byte of the record counts
    for at in record(&both)..both.bytes().len() {
        let mut bytes = both.bytes().to_vec();
        bytes[at] ^= 0x40;
        assert_eq!(Map::from_bytes(bytes).unwrap_err().status(), Status::Digest);
    }
    assert_eq!(stead::format::encode(&both.to_parts()), both.bytes());
    // no page of the fleet knows of a carry
    assert!(build(&both.fleet(), Some(&both)).unwrap().same(&both));
}

/// Returns the names that a pair reads a key from, and those that it writes it to.
fn lists(pair: &Pair, key: &str) -> [Vec<String>; 2] {
    let names = |nodes: stead::pair::Nodes| nodes.map(|node| pair.name(node).to_owned()).collect();
    [
        names(pair.reads(key.as_bytes())),
        names(pair.writes(key.as_bytes())),
    ]
}

fn located(map: &Map, key: &str) -> Vec<String> {
    let nodes = map
        .policy(map.policy_of(map.point(key.as_bytes())))
        .distinct();
    nodes
        .into_iter()
        .map(|node| map.node(node).name().to_owned())
        .collect()
}

/// Joins two lists; what the first names already is left out of the second.
fn joined(first: &[String], then: &[String]) -> Vec<String> {
    let more = then.iter().filter(|name| !first.contains(name));
    first.iter().chain(more).cloned().collect()
}

#[test]
fn a_pair_names_the_nodes_of_both_maps_in_the_order_of_the_state() {
    let grown = ["replicas = 1", "replicas = 2", "replicas = 3"].map(|replicas| {
        let nodes = |names: &str| {
            let list: Vec<String> = names.chars().map(|n| format!("{{name = '{n}'}}")).collect();
            fleet(&format!("{replicas}\nnode = [{}]", list.join(", ")))
        };
        let old = build(&nodes("abcd"), None).unwrap();
        // a node goes, and two come: one of them sorts before all others
        let new = build(&nodes("Xbcde"), Some(&old)).unwrap();
        (old, new)
    });
    for (old, new) in grown {
        let (old, new) = (Arc::new(old), Arc::new(new));
        let plan = Plan::between(&old, &new).unwrap();
        let mut moved = 0;
        for state in State::ALL {
            let pair = Pair::between(Arc::clone(&old), Arc::clone(&new), state).unwrap();
            assert_eq!(pair.node_count(), 6);
            assert_eq!(pair.name(NodeId(5)), "a", "only the old map has it");
            assert!(pair.node(NodeId(6)).is_err() && pair.name(NodeId(6)).is_empty());
            for i in 0..2000 {
                let key = format!("key{i}");
                let (was, is) = (located(&old, &key), located(&new, &key));
                let [reads, writes] = match state {
                    State::Old => [was.clone(), was.clone()],
                    State::BothOldFirst => [was.clone(), joined(&was, &is)],
                    State::BothNewFirst => [joined(&is, &was), joined(&is, &was)],
                    State::New => [is.clone(), is.clone()],
                };
                assert_eq!(lists(&pair, &key), [reads, writes]);
                assert_eq!(pair.moved(key.as_bytes()), was != is);
                if !plan.affects(key.as_bytes()).is_empty() {
                    assert!(pair.moved(key.as_bytes()));
                    moved += 1;
                }
                let point = new.point(key.as_bytes());
                assert!(pair.reads_point(point).eq(pair.reads(key.as_bytes())));
                assert!(pair.writes_point(point).eq(pair.writes(key.as_bytes())));
                assert_eq!(pair.moved_point(point), pair.moved(key.as_bytes()));
            }
        }
        assert!(moved > 1000, "{moved}");
    }
}

#[test]
fn a_node_that_was_renamed_is_one_node_under_its_new_name() {
    let old = build(
        &fleet("node = [{name = 'a', attributes = {dsn = 'old'}}, {name = 'z'}]"),
        None,
    );
    let old = Arc::new(old.unwrap());
    let text = "node = [{name = 'm', formerly = 'a', attributes = {dsn = 'new'}}, {name = 'z'}, {name = 'b'}]";
    let new = Arc::new(build(&fleet(text), Some(&old)).unwrap());
    let mut seen = 0;
    for state in State::ALL {
        let pair = Pair::between(Arc::clone(&old), Arc::clone(&new), state).unwrap();
        assert_eq!(pair.node_count(), 3);
        for i in 0..500 {
            let key = format!("key{i}");
            let reads = &lists(&pair, &key)[0];
            assert!(!reads.contains(&"a".to_owned()));
            if located(&old, &key) == ["a"] && located(&new, &key) == ["m"] {
                assert_eq!(*reads, ["m"]);
                assert!(!pair.moved(key.as_bytes()));
                let node = pair.reads(key.as_bytes()).next().unwrap();
                assert_eq!(pair.attribute(node, "dsn"), Some("new"));
                assert_eq!(pair.attribute(node, "none"), None);
                seen += 1;
            }
        }
    }
    assert!(seen > 100);
    // two clusters are no pair
    let other = Fleet::parse("name = 'other'\nnode = [{name = 'a'}]", "fleet").unwrap();
    let other = Arc::new(build(&other, None).unwrap());
    let error = Pair::between(other, new, State::Old).unwrap_err();
    assert_eq!(error.status(), Status::Identity);
}

#[test]
fn many_nodes_of_a_policy_are_named_once() {
    let nodes = |from: usize, to: usize| -> String {
        (from..to)
            .map(|i| format!("[[node]]\nname = 'n{i:03}'\n"))
            .collect()
    };
    let list = |from: usize, to: usize| -> Vec<String> {
        (from..to).map(|i| format!("n{i:03}")).collect()
    };
    let map = |from: usize, to: usize, old: Option<&Map>| {
        let names = list(from, to).join("', '");
        let policy = format!(
            "[[policy]]\nname = 'all'\nnodes = ['{names}']\n[[pin]]\nkey = 'k'\npolicy = 'all'\n"
        );
        build(&fleet(&format!("{}{policy}", nodes(0, 200))), old).unwrap()
    };
    let old = map(0, 150, None);
    let new = Arc::new(map(50, 200, Some(&old)));
    let pair = Pair::between(Arc::new(old), new, State::BothNewFirst).unwrap();
    assert_eq!(lists(&pair, "k")[1], joined(&list(50, 200), &list(0, 150)));
}

#[test]
fn a_pair_follows_the_map_file_from_state_to_state() {
    let (_directory, path) = place();
    let (store, old, begun) = opened(&path);
    let key = (0..)
        .map(|i| format!("key{i}"))
        .find(|key| located(&begun, key) == ["c"])
        .unwrap();
    let was = located(&old, &key);
    let new = vec!["c".to_owned()];
    let pair = Pair::open(&path).unwrap();
    assert_eq!(
        (pair.state(), lists(&pair, &key)[0].clone()),
        (Some(State::Old), was.clone())
    );
    let again = Pair::open(&path).unwrap();
    assert!(Arc::ptr_eq(pair.new_map(), again.new_map()));
    assert!(Arc::ptr_eq(
        pair.old_map().unwrap(),
        again.old_map().unwrap()
    ));
    let (before, both) = (joined(&was, &new), joined(&new, &was));
    for (step, state, reads, writes) in [
        (Step::Next, Some(State::BothOldFirst), &was, &before),
        (Step::Next, Some(State::BothNewFirst), &both, &both),
        (Step::Next, Some(State::New), &new, &new),
        (Step::Close, None, &new, &new),
    ] {
        take(&store, step).unwrap();
        for pair in [Pair::open(&path).unwrap(), Pair::open_copy(&path).unwrap()] {
            assert_eq!(pair.state(), state);
            assert_eq!(lists(&pair, &key), [reads.clone(), writes.clone()]);
            assert_eq!(pair.moved(key.as_bytes()), state.is_some());
        }
    }
    // an open pair does not change
    assert_eq!(pair.state(), Some(State::Old));
    // any two epochs can be compared in any state
    let named = Pair::open_from(&path, 1, State::BothOldFirst).unwrap();
    assert_eq!(lists(&named, &key), [was.clone(), before]);
    let itself = Pair::open_from(&path, 6, State::Old).unwrap();
    assert_eq!(lists(&itself, &key)[0], new);
    assert!(Pair::open_from(&path, 9, State::Old).is_err());
}

#[test]
fn a_pair_is_opened_by_a_link_to_its_map() {
    let (directory, path) = place();
    let (_store, old, _) = opened(&path);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let kept = directory.path().join("m.map.history/1");
    let away = directory.path().join("away");
    fs::rename(&kept, &away).unwrap();
    let error = Pair::open(&link).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    assert!(error.to_string().contains("m.map.history/1"), "{error}");
    fs::rename(&away, &kept).unwrap();
    for pair in [
        Pair::open(&link),
        Pair::open_copy(&link),
        Pair::open_from(&link, 1, State::Old),
    ] {
        assert_eq!(pair.unwrap().old_map().unwrap().digest(), old.digest());
    }
}

#[test]
fn a_pair_without_the_right_old_map_says_how_to_get_it() {
    let (directory, path) = place();
    let (_store, _, _) = opened(&path);
    let kept = directory.path().join("m.map.history/1");
    let away = directory.path().join("away");
    fs::rename(&kept, &away).unwrap();
    let error = Pair::open(&path).unwrap_err();
    assert_eq!(error.status(), Status::NotFound);
    let text = error.to_string();
    assert!(text.contains("m.map.history/1"), "{text}");
    assert!(
        text.contains("epoch 2 of `m` has a carry open, and this is the map where its data was")
    );
    assert!(
        text.contains("; `stead-sync pull` or a watch brings it") && !text.contains('\n'),
        "{text}"
    );
    // another map of that number
    let (_other_directory, other) = place();
    Store::new(&other, KEEP).apply(&fleet(THREE), None).unwrap();
    fs::copy(&other, &kept).unwrap();
    let error = Pair::open(&path).unwrap_err();
    assert_eq!(error.status(), Status::Identity);
    assert!(
        error
            .to_string()
            .contains("is not the one where the data was (epoch 1"),
        "{error}"
    );
    fs::write(&kept, "no map").unwrap();
    assert!(Pair::open(&path).is_err());
    // what failed is not kept: the right file helps at once
    fs::remove_file(&kept).unwrap();
    fs::rename(&away, &kept).unwrap();
    assert_eq!(Pair::open(&path).unwrap().state(), Some(State::Old));
    // a map without a carry needs no history
    let plain = Pair::open(&other).unwrap();
    assert!(plain.state().is_none() && plain.old_map().is_none() && !plain.moved(b"k"));
    assert_eq!(lists(&plain, "k")[0], located(plain.new_map(), "k"));
}
