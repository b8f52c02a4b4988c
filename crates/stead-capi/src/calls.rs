//! The functions of the library, called as C calls them: through pointers, with places that have no
//! value yet and are as many as the call was told, and with handles that are freed in any order.
//!
//! tests/c compiles real C. These tests are for tools that see more than results and know only
//! Rust: Miri (`make miri`) and ThreadSanitizer (`make tsan`).

use std::ffi::c_char;
use std::sync::OnceLock;
use std::thread;

use crate::boundary::passing::{
    bytes, copied, nowhere, null, passed, read, text, Handle, Places, Record,
};
use crate::types::{stead_map, stead_pair, stead_plan};
use crate::{difference::*, inside::*, keys::*, locate::*, open::*, pair::*};

const FLEET: &[u8] = br#"
    name = "calls"
    replicas = 2
    spread = ["zone"]
    node = [
        { name = "a", labels = { zone = "1" }, attributes = { address = "10.0.0.1" } },
        { name = "b", labels = { zone = "2" } },
        { name = "c", labels = { zone = "3" }, weight = 1.5 },
    ]
    policy = [{ name = "p", kind = "chain", nodes = ["c", "a"] }]
    pin = [{ key = "hot", policy = "p" }]
"#;

/// Two epochs of the reference, the second of which was built on the first. (Miri takes minutes to
/// build one.)
const OLD: &[u8] = include_bytes!("../../../tests/maps/domains-1.map");
const NEW: &[u8] = include_bytes!("../../../tests/maps/domains-2.map");

/// Keys end to end, with the offsets at which they begin and end.
const KEYS: &[u8] = b"frankbobhot";
const OFFSETS: [u64; 5] = [0, 5, 8, 8, 11];
const EACH: [&[u8]; 4] = [b"frank", b"bob", b"", b"hot"];

/// The bytes of the map of the fleet. It is built once, because Miri takes a minute for it.
fn built() -> &'static [u8] {
    static BUILT: OnceLock<Vec<u8>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let (mut map, mut error) = (Places::new(1), Record::new());
        let status = stead_map_build(
            bytes(FLEET),
            FLEET.len(),
            text(c"calls.toml"),
            null(),
            null(),
            map.out(),
            error.out(),
        );
        assert_eq!((status, error.said()), (0, (0, 0, String::new())));
        let map = map.one();
        let (mut start, mut length) = (Places::new(1), Places::new(1));
        let status = stead_map_bytes(asked(map), start.out(), length.out(), error.out());
        assert_eq!(status, 0);
        let copy = copied(start.one(), length.one());
        stead_map_free(passed(map));
        copy
    })
}

fn opened(map: &[u8]) -> *mut stead_map {
    let (mut place, mut error) = (Places::new(1), Record::new());
    let status = stead_map_from_bytes(bytes(map), map.len(), place.out(), error.out());
    assert_eq!((status, error.said()), (0, (0, 0, String::new())));
    place.one()
}

fn asked(map: *mut stead_map) -> crate::boundary::Foreign<'static, *const stead_map> {
    passed(map.cast_const())
}

fn located(map: &dyn Fn() -> *mut stead_map, key: &[u8]) -> i32 {
    let (mut node, mut error) = (Places::new(1), Record::new());
    let status = stead_map_locate(asked(map()), bytes(key), key.len(), node.out(), error.out());
    assert_eq!((status, error.said().0), (0, 0));
    node.one()
}

#[test]
fn a_map_tells_what_is_in_it_as_long_as_it_lives() {
    let map = opened(built());
    assert_eq!(read(stead_map_name(asked(map))).unwrap(), "calls");
    assert_eq!(read(stead_map_hash(asked(map))).unwrap(), "md5");
    assert_eq!(read(stead_map_key_rule(asked(map))).unwrap(), "whole");
    assert_eq!(read(stead_map_spread(asked(map), 0)).unwrap(), "zone");
    assert_eq!(read(stead_map_spread(asked(map), 1)), None);
    assert_eq!(read(stead_map_spread(asked(map), -1)), None);
    let nodes = stead_map_node_count(asked(map));
    let names: Vec<_> = (-1..=nodes)
        .map(|node| read(stead_map_node_name(asked(map), node)))
        .collect();
    assert_eq!(
        names,
        [None, Some("a"), Some("b"), Some("c"), None].map(|name| name.map(str::to_owned))
    );
    assert_eq!(stead_map_node_named(asked(map), text(c"b")), 1);
    let address = stead_map_node_attribute(asked(map), 0, text(c"address"));
    assert_eq!(read(address).unwrap(), "10.0.0.1");
    let label = stead_map_node_label_name(asked(map), 2, 0);
    assert_eq!(read(label).unwrap(), "zone");
    assert_eq!(read(stead_map_policy_name(asked(map), 0)).unwrap(), "p");
    assert_eq!(read(stead_map_policy_kind(asked(map), 0)).unwrap(), "chain");

    let (mut digest, mut weight, mut error) =
        (Places::<u8>::new(32), Places::new(1), Record::new());
    assert_eq!(stead_map_digest(asked(map), digest.out(), error.out()), 0);
    let status = stead_map_node_weight(asked(map), 2, weight.out(), error.out());
    assert_eq!((status, weight.one()), (0, 1_500_000));
    assert_eq!(
        stead_map_node_weight(asked(map), 3, weight.out(), error.out()),
        1
    );
    assert_eq!(
        error.said(),
        (
            1,
            0,
            "there is no node 3; the map has 3, numbered from 0".to_owned()
        )
    );

    // the slices follow each other from the first point to the last
    let (mut slice, mut next) = (Places::<crate::types::stead_slice>::new(1), 0);
    for index in 0..stead_map_slice_count(asked(map)) {
        assert_eq!(
            stead_map_slice(asked(map), index, slice.out(), error.out()),
            0
        );
        let (first, last) = slice.with(|slice| (slice.first, slice.last));
        assert_eq!(first, next);
        next = last.wrapping_add(1);
    }
    assert_eq!(next, 0);

    let mut fleet = Places::<*mut c_char>::new(1);
    assert_eq!(stead_map_fleet(asked(map), fleet.out(), error.out()), 0);
    assert!(read(fleet.one()).unwrap().contains("name = \"calls\""));
    stead_text_free(passed(fleet.one()));

    // the bytes of a map are a map, with the same digest
    let copy = opened(built());
    assert_eq!(stead_map_same(asked(map), asked(copy)), 1);
    stead_map_free(passed(map));
    let mut again = Places::<u8>::new(32);
    assert_eq!(stead_map_digest(asked(copy), again.out(), error.out()), 0);
    assert_eq!(again.first(32), digest.first(32));
    stead_map_free(passed(copy));
    stead_map_free(nowhere());
}

#[test]
fn batches_fill_the_places_that_they_were_given_and_no_more() {
    let map = opened(built());
    let single: Vec<i32> = EACH.iter().map(|key| located(&|| map, key)).collect();
    let mut error = Record::new();
    let (mut nodes, mut narrow) = (Places::new(4), Places::new(4));
    let status = stead_map_locate_many(
        asked(map),
        bytes(KEYS),
        KEYS.len(),
        passed(OFFSETS.as_ptr()),
        4,
        nodes.out(),
        error.out(),
    );
    assert_eq!((status, nodes.first(4)), (0, single.clone()));
    let offsets = OFFSETS.map(|offset| offset as u32);
    let status = stead_map_locate_many_32(
        asked(map),
        bytes(KEYS),
        KEYS.len(),
        passed(offsets.as_ptr()),
        4,
        narrow.out(),
        error.out(),
    );
    assert_eq!((status, narrow.first(4)), (0, single.clone()));

    // room for five of eight nodes: the count says how many there are, and the rest is not written
    for capacity in [0, 5, 8] {
        let (mut nodes, mut starts, mut count) =
            (Places::new(capacity), Places::new(5), Places::new(1));
        let status = stead_map_locate_all_many(
            asked(map),
            bytes(KEYS),
            KEYS.len(),
            passed(OFFSETS.as_ptr()),
            4,
            nodes.out(),
            capacity,
            starts.out(),
            count.out(),
            error.out(),
        );
        assert_eq!((status, count.one()), (0, 8));
        assert_eq!(starts.first(5), [0, 2, 4, 6, 8]);
        let primaries: Vec<i32> = nodes.first(capacity).into_iter().step_by(2).collect();
        assert!(single.starts_with(&primaries));
    }
    for capacity in [0, 1, 3, 40] {
        let (mut nodes, mut count) = (Places::new(capacity), Places::new(1));
        let status = stead_map_prefer(
            asked(map),
            bytes(b"bob"),
            3,
            nodes.out(),
            capacity,
            count.out(),
            error.out(),
        );
        assert_eq!((status, count.one()), (0, capacity.min(3)));
        assert!(nodes
            .first(count.one())
            .iter()
            .take(1)
            .all(|node| *node == single[1]));
    }
    let falling = [0_u64, 4, 2];
    let status = stead_map_locate_many(
        asked(map),
        bytes(KEYS),
        KEYS.len(),
        passed(falling.as_ptr()),
        2,
        nodes.out(),
        error.out(),
    );
    assert_eq!((status, error.said().0), (1, 1));
    // no key needs no place, no bytes and no offsets
    let status = stead_map_locate_many(asked(map), null(), 0, null(), 0, nowhere(), error.out());
    assert_eq!(status, 0);
    stead_map_free(passed(map));
}

#[test]
fn plans_and_pairs_outlive_the_handles_of_their_maps() {
    let (old, new) = (opened(OLD), opened(NEW));
    let (mut plan, mut pair, mut error) = (Places::new(1), Places::new(1), Record::new());
    let status = stead_plan_between(asked(old), asked(new), plan.out(), error.out());
    assert_eq!(status, 0);
    let status = stead_pair_between(asked(old), asked(new), 2, pair.out(), error.out());
    assert_eq!(status, 0, "{:?}", error.said());
    let gone = located(&|| old, b"hot");
    stead_map_free(passed(old));
    stead_map_free(passed(new));

    let plan: *mut stead_plan = plan.one();
    let moves = stead_plan_count(passed(plan.cast_const()));
    assert!(moves > 0);
    let mut one = Places::<crate::types::stead_move>::new(1);
    for index in [0, moves - 1, moves] {
        let status = stead_plan_move(passed(plan.cast_const()), index, one.out(), error.out());
        assert_eq!(status, i32::from(index == moves));
    }
    let (mut rows, mut count) = (
        Places::<crate::types::stead_affected>::new(1),
        Places::new(1),
    );
    let status = stead_plan_affects_many(
        passed(plan.cast_const()),
        bytes(KEYS),
        KEYS.len(),
        passed(OFFSETS.as_ptr()),
        4,
        rows.out(),
        1,
        count.out(),
        error.out(),
    );
    assert_eq!(status, 0);
    if count.one() > 0 {
        rows.with(|row| assert!(row.key < 4));
    }
    assert!(stead_plan_fraction(passed(plan.cast_const())) > 0.0);
    stead_plan_free(passed(plan));

    let pair: *mut stead_pair = pair.one();
    let shared = stead_pair_share(passed(pair.cast_const()));
    stead_pair_free(passed(pair));
    let (mut nodes, mut count) = (Places::new(1), Places::new(1));
    let status = stead_pair_writes(
        passed(shared.cast_const()),
        bytes(b"hot"),
        3,
        nodes.out(),
        1,
        count.out(),
        error.out(),
    );
    assert_eq!(status, 0);
    assert!(count.one() >= 1 && nodes.one() >= 0);
    let old = stead_pair_old_map(passed(shared.cast_const()));
    stead_pair_free(passed(shared));
    assert_eq!(located(&|| old, b"hot"), gone);
    stead_map_free(passed(old));
}

#[test]
fn keys_are_folded_in_place_and_paths_need_their_room() {
    let (mut key, mut error) = (Places::<u8>::new(3), Record::new());
    let status = stead_fold_ascii(bytes(b"FRaNK"), 3, passed(key.place().cast()), error.out());
    assert_eq!((status, key.first(3)), (0, b"fra".to_vec()));
    let mut own = *b"FRaNK";
    let place = own.as_mut_ptr();
    let status = stead_fold_ascii(
        passed(place.cast_const().cast()),
        5,
        passed(place.cast()),
        error.out(),
    );
    assert_eq!((status, &own), (0, b"frank"));

    let (mut path, mut name, mut count) =
        (Places::<c_char>::new(15), Places::new(5), Places::new(1));
    for (room, wanted) in [(15, 0), (14, 1)] {
        let status = stead_path(
            bytes(b"frank"),
            5,
            null(),
            0,
            path.out(),
            room,
            count.out(),
            error.out(),
        );
        assert_eq!(status, wanted, "{:?}", error.said());
    }
    assert_eq!(count.one(), 14);
    let path = read(path.place()).unwrap();
    for (room, wanted) in [(5, 0), (4, 1)] {
        let status = stead_path_name(
            bytes(path.as_bytes()),
            path.len(),
            null(),
            name.out(),
            room,
            count.out(),
            error.out(),
        );
        assert_eq!(status, wanted);
    }
    let name: Vec<u8> = name
        .first(5)
        .into_iter()
        .map(|byte: c_char| byte as u8)
        .collect();
    assert_eq!(name, b"frank");
}

#[test]
fn threads_share_a_map_and_free_their_own_handles() {
    let map = Handle::new(opened(built()));
    let wanted = located(&|| map.get_mut(), b"frank");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let own = stead_map_share(map.get());
                for _ in 0..5 {
                    // the first one to ask makes the strings, the table of buckets and the domains
                    let node = located(&|| own, b"frank");
                    assert_eq!(node, wanted);
                    let name = read(stead_map_node_name(asked(own), node));
                    assert!(name.is_some());
                    let (mut nodes, mut count) = (Places::new(3), Places::new(1));
                    let status = stead_map_prefer(
                        asked(own),
                        bytes(b"frank"),
                        5,
                        nodes.out(),
                        3,
                        count.out(),
                        Record::new().out(),
                    );
                    assert_eq!((status, nodes.one()), (0, wanted));
                }
                stead_map_free(passed(own));
            });
        }
    });
    stead_map_free(map.freed());
}
