//! libstead as a program in C sees it: its functions by their symbols, with plain pointers.
//!
//! The only file of the targets of libstead with unsafe code. `call!` makes one call; whoever
//! writes it keeps the contract of stead.h.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void, CStr};

use stead_capi::types::{
    stead_affected, stead_amounts, stead_error, stead_map, stead_move, stead_pair, stead_plan,
    stead_slice,
};

/// Makes a call, whose pointers are NULL, or from references, slices and handles that are alive.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the contract of stead.h. Each pointer among the arguments is NULL, or points to a
        // value, or to as many values as the length beside it says, of the caller's own; each
        // handle was given by libstead and is not freed yet.
        unsafe { crate::foreign::$name($($argument),*) }
    };
}
pub(crate) use call;

type Map = *const stead_map;
type Plan = *const stead_plan;
type Pair = *const stead_pair;
type Bytes = *const c_void;
type Text = *const c_char;
type Record = *mut stead_error;

#[rustfmt::skip] // one line for each function, as in the table of a manual
#[allow(improper_ctypes)] // C, too, sees pointers to handles alone, and never what is in one
extern "C" {
    pub(crate) fn stead_status_name(status: i32) -> Text;
    pub(crate) fn stead_memory_limit(bytes: u64) -> u64;
    pub(crate) fn stead_map_open(path: Text, flags: u32, map: *mut *mut stead_map, error: Record) -> i32;
    pub(crate) fn stead_map_open_uncached(path: Text, map: *mut *mut stead_map, error: Record) -> i32;
    pub(crate) fn stead_map_peek(path: Text, epoch: *mut u64, digest: *mut u8, error: Record) -> i32;
    pub(crate) fn stead_map_from_bytes(bytes: Bytes, length: usize, map: *mut *mut stead_map, error: Record) -> i32;
    pub(crate) fn stead_map_build(fleet: Bytes, length: usize, name: Text, previous: Map, max_move: Text, map: *mut *mut stead_map, error: Record) -> i32;
    pub(crate) fn stead_map_share(map: Map) -> *mut stead_map;
    pub(crate) fn stead_map_free(map: *mut stead_map);
    pub(crate) fn stead_map_locate(map: Map, key: Bytes, length: usize, node: *mut i32, error: Record) -> i32;
    pub(crate) fn stead_map_node_of(map: Map, key: Bytes, length: usize) -> i32;
    pub(crate) fn stead_map_locate_all(map: Map, key: Bytes, length: usize, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_map_locate_many(map: Map, keys: Bytes, length: usize, offsets: *const u64, count: usize, nodes: *mut i32, error: Record) -> i32;
    pub(crate) fn stead_map_locate_many_32(map: Map, keys: Bytes, length: usize, offsets: *const u32, count: usize, nodes: *mut i32, error: Record) -> i32;
    pub(crate) fn stead_map_locate_all_many(map: Map, keys: Bytes, length: usize, offsets: *const u64, key_count: usize, nodes: *mut i32, capacity: usize, starts: *mut u64, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_map_prefer(map: Map, key: Bytes, length: usize, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_map_point(map: Map, key: Bytes, length: usize, point: *mut u64, error: Record) -> i32;
    pub(crate) fn stead_map_locate_point(map: Map, point: u64, node: *mut i32, error: Record) -> i32;
    pub(crate) fn stead_map_locate_all_point(map: Map, point: u64, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_map_name(map: Map) -> Text;
    pub(crate) fn stead_map_epoch(map: Map) -> u64;
    pub(crate) fn stead_map_digest(map: Map, digest: *mut u8, error: Record) -> i32;
    pub(crate) fn stead_map_same(map: Map, other: Map) -> i32;
    pub(crate) fn stead_map_bytes(map: Map, bytes: *mut Bytes, length: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_map_parent(map: Map, digest: *mut u8, error: Record) -> i32;
    pub(crate) fn stead_map_spread_count(map: Map) -> i32;
    pub(crate) fn stead_map_spread(map: Map, level: i32) -> Text;
    pub(crate) fn stead_map_replicas(map: Map) -> i32;
    pub(crate) fn stead_map_node_count(map: Map) -> i32;
    pub(crate) fn stead_map_node_name(map: Map, node: i32) -> Text;
    pub(crate) fn stead_map_node_named(map: Map, name: Text) -> i32;
    pub(crate) fn stead_map_node_weight(map: Map, node: i32, millionths: *mut u64, error: Record) -> i32;
    pub(crate) fn stead_map_node_leaving(map: Map, node: i32) -> i32;
    pub(crate) fn stead_map_node_attribute(map: Map, node: i32, attribute: Text) -> Text;
    pub(crate) fn stead_map_node_label(map: Map, node: i32, label: Text) -> Text;
    pub(crate) fn stead_map_node_label_count(map: Map, node: i32) -> i32;
    pub(crate) fn stead_map_node_label_name(map: Map, node: i32, label: i32) -> Text;
    pub(crate) fn stead_map_node_attribute_count(map: Map, node: i32) -> i32;
    pub(crate) fn stead_map_node_attribute_name(map: Map, node: i32, attribute: i32) -> Text;
    pub(crate) fn stead_map_policy_count(map: Map) -> i32;
    pub(crate) fn stead_map_policy_name(map: Map, policy: i32) -> Text;
    pub(crate) fn stead_map_policy_kind(map: Map, policy: i32) -> Text;
    pub(crate) fn stead_map_policy_weight(map: Map, policy: i32, millionths: *mut u64, error: Record) -> i32;
    pub(crate) fn stead_map_policy_nodes(map: Map, policy: i32, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_map_slice_count(map: Map) -> usize;
    pub(crate) fn stead_map_slice(map: Map, index: usize, slice: *mut stead_slice, error: Record) -> i32;
    pub(crate) fn stead_map_report(map: Map, json: *mut *mut c_char, error: Record) -> i32;
    pub(crate) fn stead_map_fleet(map: Map, text: *mut *mut c_char, error: Record) -> i32;
    pub(crate) fn stead_text_free(text: *mut c_char);
    pub(crate) fn stead_plan_between(old_map: Map, new_map: Map, plan: *mut *mut stead_plan, error: Record) -> i32;
    pub(crate) fn stead_plan_count(plan: Plan) -> usize;
    pub(crate) fn stead_plan_move(plan: Plan, index: usize, one: *mut stead_move, error: Record) -> i32;
    pub(crate) fn stead_plan_affects(plan: Plan, key: Bytes, length: usize, indexes: *mut usize, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_plan_affects_point(plan: Plan, point: u64, indexes: *mut usize, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_plan_affects_many(plan: Plan, keys: Bytes, length: usize, offsets: *const u64, key_count: usize, rows: *mut stead_affected, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_plan_amounts(plan: Plan, amounts: *mut stead_amounts, error: Record) -> i32;
    pub(crate) fn stead_plan_fraction(plan: Plan) -> f64;
    pub(crate) fn stead_plan_report(plan: Plan, with_moves: i32, json: *mut *mut c_char, error: Record) -> i32;
    pub(crate) fn stead_plan_free(plan: *mut stead_plan);
    pub(crate) fn stead_pair_between(old_map: Map, new_map: Map, state: i32, pair: *mut *mut stead_pair, error: Record) -> i32;
    pub(crate) fn stead_pair_state(pair: Pair) -> i32;
    pub(crate) fn stead_pair_reads(pair: Pair, key: Bytes, length: usize, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_pair_writes(pair: Pair, key: Bytes, length: usize, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_pair_reads_point(pair: Pair, point: u64, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_pair_writes_point(pair: Pair, point: u64, nodes: *mut i32, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_pair_moved(pair: Pair, key: Bytes, length: usize) -> i32;
    pub(crate) fn stead_pair_moved_point(pair: Pair, point: u64) -> i32;
    pub(crate) fn stead_pair_node_count(pair: Pair) -> i32;
    pub(crate) fn stead_pair_node_named(pair: Pair, name: Text) -> i32;
    pub(crate) fn stead_pair_node_name(pair: Pair, node: i32) -> Text;
    pub(crate) fn stead_pair_node_attribute(pair: Pair, node: i32, name: Text) -> Text;
    pub(crate) fn stead_pair_new_map(pair: Pair) -> *mut stead_map;
    pub(crate) fn stead_pair_old_map(pair: Pair) -> *mut stead_map;
    pub(crate) fn stead_pair_share(pair: Pair) -> *mut stead_pair;
    pub(crate) fn stead_pair_free(pair: *mut stead_pair);
    pub(crate) fn stead_point(hash: i32, secret: Bytes, key: Bytes, length: usize, point: *mut u64, error: Record) -> i32;
    pub(crate) fn stead_path(key: Bytes, length: usize, levels: Text, fold: i32, path: *mut c_char, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_path_name(path: Bytes, length: usize, levels: Text, name: *mut c_char, capacity: usize, count: *mut usize, error: Record) -> i32;
    pub(crate) fn stead_fold_ascii(key: Bytes, length: usize, folded: *mut c_void, error: Record) -> i32;
}

/// Returns a string that libstead gave; `None` for NULL.
pub(crate) fn said(text: *const c_char) -> Option<String> {
    // SAFETY: libstead gave it just now, so it is NULL, or a string with a NUL at its end that
    // lives as long as its object.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
    text.map(|text| text.to_str().expect("strings are UTF-8").to_owned())
}

/// Returns a copy of bytes that libstead gave.
pub(crate) fn bytes_at(bytes: *const c_void, length: usize) -> Vec<u8> {
    // SAFETY: stead_map_bytes gave both just now, so there are so many bytes there, which live as
    // long as the map.
    unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) }.to_vec()
}
