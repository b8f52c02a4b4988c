//! Where keys are, as a program in C asks libstead, and the answers of the Rust library.
#![allow(unsafe_code)] // `call!`, whose one block of unsafe code is in foreign.rs

use std::ffi::CString;
use std::ptr::null;

use stead::policy::NodeId;
use stead::{Pair, Point};
use stead_capi::types::stead_pair;

use crate::arguments::{
    key, number, place, Batch, Both, List, MapOf, Nulls, Record, BEHIND, INVALID, UNTOUCHED,
};
use crate::foreign::{call, said};
use crate::input::Input;

/// Calls a function of an object, a key or a point, and a list.
macro_rules! listed {
    ($name:ident, $object:expr, $input:ident, $wanted:expr, key $key:expr) => {{
        let (nulls, mut record, mut list) = (Nulls::of($input), Record::new(), List::of($input));
        // the object and the count; the key and the list where they are not empty
        let some = [true, true, !$key.is_empty(), list.capacity > 0];
        let bad = (0..4).any(|n| some[n] && nulls.or(n, &n).is_null());
        let status = call!($name(
            nulls.or(0, $object),
            nulls.or(2, $key.as_ptr()).cast(),
            $key.len(),
            nulls.or_mut(3, list.values.as_mut_ptr()),
            list.capacity,
            nulls.or_mut(1, &mut list.count),
            record.place($input),
        ));
        record.check(stringify!($name), status, if bad { INVALID } else { 0 });
        list.check(status, &$wanted.map(number).collect::<Vec<i32>>());
    }};
    ($name:ident, $object:expr, $input:ident, $wanted:expr, point $point:expr) => {{
        let (nulls, mut record, mut list) = (Nulls::of($input), Record::new(), List::of($input));
        let some = [true, true, list.capacity > 0];
        let bad = (0..3).any(|n| some[n] && nulls.or(n, &n).is_null());
        let status = call!($name(
            nulls.or(0, $object),
            $point,
            nulls.or_mut(2, list.values.as_mut_ptr()),
            list.capacity,
            nulls.or_mut(1, &mut list.count),
            record.place($input),
        ));
        record.check(stringify!($name), status, if bad { INVALID } else { 0 });
        list.check(status, &$wanted.map(number).collect::<Vec<i32>>());
    }};
}

/// Asks a map for the places of a key.
pub(crate) fn keys(map: &MapOf, input: &mut Input<'_>) {
    let (c, rust, key) = (map.c, &*map.rust, key(input));
    let point = rust.point(key);
    match input.below(7) {
        0 => listed!(stead_map_locate_all, c, input, rust.locate_all(key), key key),
        1 => {
            let all = rust.locate_all_point(point);
            listed!(stead_map_locate_all_point, c, input, all, point point.0);
        }
        2 => {
            let (nulls, mut record) = (Nulls::of(input), Record::new());
            let mut list = List::of(input);
            let wanted: Vec<i32> = rust
                .prefer(key, list.capacity)
                .into_iter()
                .map(number)
                .collect();
            let some = [true, true, !key.is_empty(), list.capacity > 0];
            let bad = (0..4).any(|n| some[n] && nulls.or(n, &n).is_null());
            let status = call!(stead_map_prefer(
                nulls.or(0, c),
                nulls.or(2, key.as_ptr()).cast(),
                key.len(),
                nulls.or_mut(3, list.values.as_mut_ptr()),
                list.capacity,
                nulls.or_mut(1, &mut list.count),
                record.place(input),
            ));
            record.check("stead_map_prefer", status, if bad { INVALID } else { 0 });
            list.check(status, &wanted);
        }
        3 => {
            let (nulls, mut record, mut found) = (Nulls::of(input), Record::new(), 77);
            let bad = nulls.any(2) || (!key.is_empty() && nulls.any(3));
            let status = call!(stead_map_point(
                nulls.or(0, c),
                nulls.or(2, key.as_ptr()).cast(),
                key.len(),
                nulls.or_mut(1, &mut found),
                record.place(input),
            ));
            record.check("stead_map_point", status, if bad { INVALID } else { 0 });
            assert_eq!(found, if status == 0 { point.0 } else { 77 });
        }
        4 => {
            let (nulls, mut record, mut found) = (Nulls::of(input), Record::new(), UNTOUCHED);
            let at = nulls.or_mut(1, &mut found);
            let status = call!(stead_map_locate_point(
                nulls.or(0, c),
                point.0,
                at,
                record.place(input)
            ));
            record.check("stead_map_locate_point", status, nulls.status(2, 0));
            let wanted = number(rust.locate_point(point));
            assert_eq!(found, if status == 0 { wanted } else { UNTOUCHED });
        }
        5 => {
            let nulls = Nulls::of(input);
            let bad = nulls.any(1) || (!key.is_empty() && nulls.any(2));
            let data = nulls.or(1, key.as_ptr()).cast();
            let found = call!(stead_map_node_of(nulls.or(0, c), data, key.len()));
            assert_eq!(found, if bad { -1 } else { number(rust.locate(key)) });
        }
        _ => {
            let (nulls, mut record, mut found) = (Nulls::of(input), Record::new(), UNTOUCHED);
            let bad = nulls.any(2) || (!key.is_empty() && nulls.any(3));
            let status = call!(stead_map_locate(
                nulls.or(0, c),
                nulls.or(2, key.as_ptr()).cast(),
                key.len(),
                nulls.or_mut(1, &mut found),
                record.place(input),
            ));
            record.check("stead_map_locate", status, if bad { INVALID } else { 0 });
            let wanted = number(rust.locate(key));
            assert_eq!(found, if status == 0 { wanted } else { UNTOUCHED });
        }
    }
}

/// Asks a map for the places of many keys.
pub(crate) fn many(map: &MapOf, input: &mut Input<'_>) {
    let batch = Batch::of(input);
    let (count, length) = (batch.count(), batch.bytes.len());
    let (nulls, mut record) = (Nulls::of(input), Record::new());
    let is_null = |number: usize| nulls.or(number, &number).is_null();
    let (c, bytes) = (nulls.or(0, map.c), nulls.or(2, batch.bytes.as_ptr()).cast());
    let firsts: Vec<i32> = batch
        .keys()
        .iter()
        .map(|key| number(map.rust.locate(key)))
        .collect();
    let mut nodes = vec![UNTOUCHED; count + BEHIND];
    let bad = batch.is_bad(&nulls, 1) || (count > 0 && is_null(4));
    let which = input.below(3);
    if which < 2 {
        let place = nulls.or_mut(4, nodes.as_mut_ptr());
        let at = record.place(input);
        let small: Vec<u32> = batch
            .offsets
            .iter()
            .map(|o| u32::try_from(*o).unwrap_or(u32::MAX))
            .collect();
        let (status, name) = if which == 0 {
            let offsets = nulls.or(3, batch.offsets.as_ptr());
            let status = call!(stead_map_locate_many(
                c, bytes, length, offsets, count, place, at
            ));
            (status, "stead_map_locate_many")
        } else {
            let offsets = nulls.or(3, small.as_ptr());
            let status = call!(stead_map_locate_many_32(
                c, bytes, length, offsets, count, place, at
            ));
            (status, "stead_map_locate_many_32")
        };
        record.check(name, status, if bad { INVALID } else { 0 });
        let written = if status == 0 { count } else { 0 };
        assert_eq!(nodes[..written], firsts[..written]);
        assert!(nodes[written..].iter().all(|one| *one == UNTOUCHED));
        return;
    }
    let mut list = List::of(input);
    let mut starts = vec![77; count + 1 + BEHIND];
    // the count, the starts, and the nodes where there is room for any
    let bad = batch.is_bad(&nulls, 2) || is_null(5) || (list.capacity > 0 && is_null(6));
    let status = call!(stead_map_locate_all_many(
        c,
        bytes,
        length,
        nulls.or(3, batch.offsets.as_ptr()),
        count,
        nulls.or_mut(6, list.values.as_mut_ptr()),
        list.capacity,
        nulls.or_mut(5, starts.as_mut_ptr()),
        nulls.or_mut(1, &mut list.count),
        record.place(input),
    ));
    record.check(
        "stead_map_locate_all_many",
        status,
        if bad { INVALID } else { 0 },
    );
    let (mut all, mut wanted) = (Vec::new(), vec![0]);
    for key in batch.keys() {
        all.extend(map.rust.locate_all(key).map(number));
        wanted.push(all.len() as u64);
    }
    list.check(status, &all);
    let written = if status == 0 { count + 1 } else { 0 };
    assert_eq!(starts[..written], wanted[..written]);
    assert!(starts[written..].iter().all(|one| *one == 77));
}

/// Asks where to read and to write.
pub(crate) fn pair(pair: &Both<stead_pair, Pair>, input: &mut Input<'_>) {
    let (c, rust, key) = (pair.c, &pair.rust, key(input));
    let state = rust.state().map_or(0, |state| state.number() as i32);
    assert_eq!(call!(stead_pair_state(c)), state);
    assert_eq!(call!(stead_pair_state(null())), 0);
    let point = Point(input.word());
    match input.below(6) {
        0 => listed!(stead_pair_reads, c, input, rust.reads(key), key key),
        1 => listed!(stead_pair_writes, c, input, rust.writes(key), key key),
        2 => listed!(stead_pair_reads_point, c, input, rust.reads_point(point), point point.0),
        3 => listed!(stead_pair_writes_point, c, input, rust.writes_point(point), point point.0),
        4 => {
            let moved = call!(stead_pair_moved(c, key.as_ptr().cast(), key.len()));
            assert_eq!(moved, i32::from(rust.moved(key)));
            assert_eq!(call!(stead_pair_moved(c, null(), 1)), -1);
            let moved = call!(stead_pair_moved_point(c, point.0));
            assert_eq!(moved, i32::from(rust.moved_point(point)));
            assert_eq!(call!(stead_pair_moved_point(null(), point.0)), -1);
        }
        _ => {
            let count = rust.node_count();
            assert_eq!(call!(stead_pair_node_count(c)), count as i32);
            let at = place(input, count);
            let id = usize::try_from(at).ok().filter(|at| *at < count);
            let id = id.map(|id| NodeId(id as u32));
            let name = said(call!(stead_pair_node_name(c, at)));
            assert_eq!(name.as_deref(), id.map(|id| rust.name(id)));
            let address = said(call!(stead_pair_node_attribute(c, at, c"address".as_ptr())));
            let wanted = id.and_then(|id| rust.attribute(id, "address"));
            assert_eq!(address.as_deref(), wanted);
            let sought = name.unwrap_or_else(|| "nobody".to_owned());
            let text = CString::new(sought.as_str()).expect("no NUL in a name");
            let found = call!(stead_pair_node_named(c, text.as_ptr()));
            assert_eq!(found, rust.named(&sought).map_or(-1, number));
        }
    }
}
