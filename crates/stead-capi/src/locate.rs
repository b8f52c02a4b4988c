//! Where keys live.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;

use stead_core::policy::{NodeId, PolicyId};
use stead_core::{memory, Map, Point};

use crate::batch::{Batch, Offset, BLOCK};
use crate::boundary::{status, value, Foreign};
use crate::types::{stead_error, stead_map};

/// A node's number as an int32_t: it fits, because a map has at most 65,536 nodes.
pub(crate) fn number(node: NodeId) -> i32 {
    node.0 as i32
}

/// Finds the node of a key. When a key has several nodes, this is the primary. While its data is
/// carried, this is the new place; stead_pair_reads has those to read from.
/// key, length: any bytes, taken as they are. A NUL does not end the key, and no encoding is
/// guessed. NULL with length 0 is the empty key.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_locate(
    map: Foreign<*const stead_map>,
    key: Foreign<*const c_void>,
    length: usize,
    node: Foreign<*mut i32>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate", error, |c| {
        let (map, key, node) = (c.map(map)?, c.key(key, length)?, c.out(node, "node")?);
        node.put(number(map.locate(key)));
        Ok(())
    })
}

/// Returns the node that stead_map_locate finds; -1 when an argument is wrong, or when a bug in
/// stead stops the call. Use this from languages in which every argument of a call costs time.
#[no_mangle]
pub extern "C" fn stead_map_node_of(
    map: Foreign<*const stead_map>,
    key: Foreign<*const c_void>,
    length: usize,
) -> i32 {
    value("stead_map_node_of", -1, |c| {
        let (map, key) = (c.map(map).ok()?, c.key(key, length).ok()?);
        Some(number(map.locate(key)))
    })
}

/// Finds all nodes of a key, primary first.
/// nodes, capacity: an array, and how many numbers it has room for. Nodes beyond the capacity are
/// not written.
/// count: how many nodes the key has, whatever the capacity. A call with nodes NULL and capacity 0
/// asks for this number alone.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_locate_all(
    map: Foreign<*const stead_map>,
    key: Foreign<*const c_void>,
    length: usize,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate_all", error, |c| {
        let (map, key) = (c.map(map)?, c.key(key, length)?);
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        nodes.put(map.locate_all(key).map(number));
        Ok(())
    })
}

/// Finds the nodes of many keys: for each key the one that stead_map_locate finds, in less time.
/// keys, length: the keys end to end, and their length in all.
/// offsets: count + 1 numbers. Key i begins at offsets[i] and ends before offsets[i + 1]. The
/// offsets must not decrease, and none may exceed length.
/// nodes: room for count numbers, which must not overlap the keys or the offsets. On failure
/// nothing is written.
/// Nothing is allocated, and no thread is started: a program with several threads can give each of
/// them a part of the keys.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_locate_many(
    map: Foreign<*const stead_map>,
    keys: Foreign<*const c_void>,
    length: usize,
    offsets: Foreign<*const u64>,
    count: usize,
    nodes: Foreign<*mut i32>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate_many", error, |c| {
        let (map, keys) = (c.map(map)?, c.keys(keys, length, offsets, count)?);
        locate_many(map, &keys, c.room(nodes, count, "nodes")?);
        Ok(())
    })
}

/// Finds the nodes of many keys, as stead_map_locate_many does, for offsets of 32 bits. A string
/// column of Apache Arrow has such offsets; they are int32_t there, and none is negative.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_locate_many_32(
    map: Foreign<*const stead_map>,
    keys: Foreign<*const c_void>,
    length: usize,
    offsets: Foreign<*const u32>,
    count: usize,
    nodes: Foreign<*mut i32>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate_many_32", error, |c| {
        let (map, keys) = (c.map(map)?, c.keys(keys, length, offsets, count)?);
        locate_many(map, &keys, c.room(nodes, count, "nodes")?);
        Ok(())
    })
}

fn locate_many<O: Offset>(map: &Map, keys: &Batch<'_, O>, nodes: &mut [MaybeUninit<i32>]) {
    keys.blocks(|first, keys| {
        let nodes = nodes.get_mut(first..).unwrap_or_default();
        let write = |node| MaybeUninit::new(number(node));
        map.locate_keys(keys, NonZeroUsize::MIN, nodes, write);
    });
}

/// Finds all nodes of many keys: for each key those that stead_map_locate_all finds, in less time.
/// keys, length, offsets, key_count: the keys, as keys, length, offsets and count in
/// stead_map_locate_many.
/// nodes, capacity: an array, and how many numbers it has room for. The nodes of key i begin at
/// nodes[starts[i]] and end before nodes[starts[i + 1]]. Nodes beyond the capacity are not written.
/// starts: room for key_count + 1 numbers, which are all written, whatever the capacity.
/// count: how many nodes the keys have, whatever the capacity. In a map with R replicas this is R
/// for each key, or another number for a key whose slice has a named policy.
/// The arrays must not overlap each other, the keys or the offsets.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_locate_all_many(
    map: Foreign<*const stead_map>,
    keys: Foreign<*const c_void>,
    length: usize,
    offsets: Foreign<*const u64>,
    key_count: usize,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    starts: Foreign<*mut u64>,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate_all_many", error, |c| {
        let (map, keys) = (c.map(map)?, c.keys(keys, length, offsets, key_count)?);
        // `keys` checked that there can be key_count + 1 offsets, so this does not overflow
        let starts = c.room(starts, key_count + 1, "starts")?;
        let mut nodes = c.counted(nodes, capacity, count, "nodes")?;
        let (mut starts, mut end) = (starts.iter_mut(), 0);
        let mut start = |at: usize| {
            if let Some(start) = starts.next() {
                start.write(at as u64);
            }
        };
        start(end);
        keys.blocks(|_, keys| {
            let mut policies = [PolicyId(0); BLOCK];
            let policies = policies.get_mut(..keys.len()).unwrap_or_default();
            map.policies_of_keys(keys, NonZeroUsize::MIN, policies);
            for policy in policies {
                for node in map.policy(*policy).members() {
                    end = nodes.push(number(node));
                }
                start(end);
            }
        });
        nodes.close();
        Ok(())
    })
}

/// Finds up to `capacity` distinct nodes for a key, best first: its own nodes, then those that take
/// over when they are down. Every client gets the same list.
/// count: the length of the list. It is less than capacity only when the map has fewer nodes, so
/// room for stead_map_node_count numbers is always enough. Capacity 0 gives an empty list.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
#[no_mangle]
pub extern "C" fn stead_map_prefer(
    map: Foreign<*const stead_map>,
    key: Foreign<*const c_void>,
    length: usize,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_prefer", error, |c| {
        let (map, key) = (c.map(map)?, c.key(key, length)?);
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        map.prepare_prefer()?;
        // a short list, as most are, is made without an allocation
        let (mut short, mut long);
        let list: &mut [NodeId] = if capacity <= 16 {
            short = [NodeId(0); 16];
            short.get_mut(..capacity).unwrap_or_default()
        } else {
            long = memory::filled(capacity.min(map.nodes().len()), NodeId(0))?;
            &mut long
        };
        let count = map.prefer_into(key, list);
        nodes.put(list.iter().take(count).copied().map(number));
        Ok(())
    })
}

/// Finds the point of a key: its hash, which decides where it lives.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_point(
    map: Foreign<*const stead_map>,
    key: Foreign<*const c_void>,
    length: usize,
    point: Foreign<*mut u64>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_point", error, |c| {
        let (map, key, point) = (c.map(map)?, c.key(key, length)?, c.out(point, "point")?);
        point.put(map.point(key).0);
        Ok(())
    })
}

/// Finds the node of a point. When a point has several nodes, this is the primary.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_locate_point(
    map: Foreign<*const stead_map>,
    point: u64,
    node: Foreign<*mut i32>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate_point", error, |c| {
        let (map, node) = (c.map(map)?, c.out(node, "node")?);
        node.put(number(map.locate_point(Point(point))));
        Ok(())
    })
}

/// Finds all nodes of a point, primary first. nodes, capacity and count are as in
/// stead_map_locate_all.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_locate_all_point(
    map: Foreign<*const stead_map>,
    point: u64,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate_all_point", error, |c| {
        let map = c.map(map)?;
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        nodes.put(map.locate_all_point(Point(point)).map(number));
        Ok(())
    })
}
