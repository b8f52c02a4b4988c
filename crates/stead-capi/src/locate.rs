//! Where keys live.

use std::ffi::c_void;

use stead_core::policy::NodeId;
use stead_core::Point;

use crate::boundary::{status, value, Foreign};
use crate::types::{stead_error, stead_map};

/// A node's number, as C has it: a map has at most 65,536 nodes.
pub(crate) fn number(node: NodeId) -> i32 {
    node.0 as i32
}

/// The node of a key: its primary, when there are several.
/// key, length: any bytes, taken as they are: no NUL ends them, no encoding is guessed. NULL with
/// length 0 is the empty key.
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

/// The node of a key as stead_map_locate gives it, as the value; -1 when map or key is NULL, and at
/// a fault of stead's own. For languages in which a call costs time for each argument.
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

/// All nodes of a key, primary first.
/// nodes, capacity: where they go; those that there is no room for are not written.
/// count: how many there are, so that a call with NULL and 0 asks how much room is needed.
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

/// The nodes of many keys: of each the one that stead_map_locate gives.
/// keys, length: the keys end to end.
/// offsets: count + 1 numbers, of which key i lies from offsets[i] to before offsets[i + 1]; they
/// may not fall, and the last may not be above length.
/// nodes: count numbers. All or nothing is written.
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
        let (map, keys, nodes) = (
            c.map(map)?,
            c.bytes(keys, length, "keys")?,
            c.outs(nodes, count, "nodes")?,
        );
        if count == 0 {
            return Ok(());
        }
        let room = count
            .checked_add(1)
            .ok_or_else(|| c.invalid("count is too large"))?;
        let offsets = c.many(offsets, room, "offsets")?;
        let key = |pair: &[u64]| match pair {
            [from, to] if from <= to && *to <= length as u64 => {
                keys.get(*from as usize..*to as usize)
            }
            _ => None,
        };
        if let Some(i) = offsets.windows(2).position(|pair| key(pair).is_none()) {
            let (from, to) = (offsets[i], offsets[i + 1]);
            return Err(c.invalid(format_args!(
                "offsets {i} and {} are {from} and {to}, of {length} bytes",
                i + 1
            )));
        }
        nodes.fill(
            offsets
                .windows(2)
                .filter_map(key)
                .map(|key| number(map.locate(key))),
        );
        Ok(())
    })
}

/// Up to `capacity` distinct nodes for a key, best first: its own nodes, then those that take over
/// when they are down. All clients get the same list.
/// count: how many there are in it: fewer than capacity only when the map has fewer nodes.
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

/// The point of a key: its hash, by which it is located.
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

/// All nodes of a point, as stead_map_locate_all gives them for a key of this point.
#[no_mangle]
pub extern "C" fn stead_map_locate_point(
    map: Foreign<*const stead_map>,
    point: u64,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_locate_point", error, |c| {
        let map = c.map(map)?;
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        let policy = map.policy(map.policy_of(Point(point)));
        nodes.put(policy.members().map(number));
        Ok(())
    })
}
