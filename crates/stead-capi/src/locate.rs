//! Where keys live.

use std::ffi::c_void;

use stead_core::policy::NodeId;
use stead_core::Point;

use crate::boundary::{status, value, Foreign};
use crate::types::{stead_error, stead_map};

/// A node's number as an int32_t: it fits, because a map has at most 65,536 nodes.
pub(crate) fn number(node: NodeId) -> i32 {
    node.0 as i32
}

/// Finds the node of a key. When a key has several nodes, this is the primary.
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

/// Finds the nodes of many keys: for each key the one that stead_map_locate finds.
/// keys, length: the keys end to end, and their length in all.
/// offsets: count + 1 numbers. Key i begins at offsets[i] and ends before offsets[i + 1]. The
/// offsets must not decrease, and none may exceed length.
/// nodes: room for count numbers. On failure nothing is written.
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
        let map = c.map(map)?;
        let keys = c.keys(keys, length, offsets, count)?;
        c.outs(nodes, count, "nodes")?
            .fill(map.locate_many(keys).map(number));
        Ok(())
    })
}

/// Finds up to `capacity` distinct nodes for a key, best first: its own nodes, then those that take
/// over when they are down. Every client gets the same list.
/// count: the length of the list. It is less than capacity only when the map has fewer nodes, so
/// room for stead_map_node_count numbers is always enough. Capacity 0 gives an empty list.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
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
        let list = map.prefer(key, capacity);
        nodes.put(list.into_iter().map(number));
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
