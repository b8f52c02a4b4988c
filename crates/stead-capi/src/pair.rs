//! Where to read and to write while a carry brings data from one map to the next.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use stead_core::carry::State;
use stead_core::policy::NodeId;
use stead_core::{Error, Map, Pair, Point};

use crate::boundary::{status, value, Caller, Foreign};
use crate::locate::number;
use crate::open::is_copy;
use crate::strings::{MapStrings, NodeStrings};
use crate::types::{stead_error, stead_map, stead_pair, stead_state};

/// Returns the state with this number.
fn state_of(c: &Caller, state: i32) -> Result<State, Error> {
    let found = u32::try_from(state).ok().and_then(State::numbered);
    found.ok_or_else(|| {
        c.invalid(format_args!(
            "there is no state {state}; use STEAD_STATE_OLD to STEAD_STATE_NEW"
        ))
    })
}

/// Returns the strings of a node.
fn strings(pair: &Pair, node: i32) -> Option<&NodeStrings> {
    let (map, node) = pair.origin(NodeId(u32::try_from(node).ok()?))?;
    MapStrings::of(map)?.nodes.get(node.index())
}

fn shared(c: &Caller, map: Option<&Arc<Map>>) -> Option<*mut stead_map> {
    Some(c.handle(Arc::clone(map?)))
}

/// Opens a map file, and, while a carry is open, the map where the data was: PATH.history/EPOCH. It
/// costs two calls of stead_map_open, so open a pair anew for each request.
/// flags: STEAD_OPEN_SHARED or STEAD_OPEN_COPY.
/// pair: where the handle goes; free it with stead_pair_free.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
/// STEAD_VERSION when a file is not a map, is damaged, or needs a newer stead; STEAD_IDENTITY when
/// the history has another map under the number of the old one; STEAD_CHANGED; STEAD_NOT_FOUND,
/// also when the history lacks the old map; STEAD_PERMISSION or STEAD_IO from the operating system;
/// STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_pair_open(
    path: Foreign<*const c_char>,
    flags: u32,
    pair: Foreign<*mut *mut stead_pair>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_pair_open", error, |c| {
        let (path, place) = (c.path(path)?, c.out(pair, "pair")?);
        let pair = match is_copy(c, flags)? {
            true => Pair::open_copy(path),
            false => Pair::open(path),
        };
        c.give_pair(stead_pair { pair: pair? }, place);
        Ok(())
    })
}

/// Opens a map file and an epoch of its history, as if a carry from that epoch were open in this
/// state. It does not matter whether one is.
/// state: STEAD_STATE_OLD to STEAD_STATE_NEW.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_FORMAT, STEAD_DIGEST or
/// STEAD_VERSION when a file is not a map, is damaged, or needs a newer stead; STEAD_IDENTITY when
/// the history has another map under this number; STEAD_CHANGED; STEAD_NOT_FOUND, also when the
/// history lacks the epoch; STEAD_PERMISSION or STEAD_IO from the operating system; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_pair_open_from(
    path: Foreign<*const c_char>,
    epoch: u64,
    state: i32,
    pair: Foreign<*mut *mut stead_pair>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_pair_open_from", error, |c| {
        let (path, place) = (c.path(path)?, c.out(pair, "pair")?);
        let pair = Pair::open_from(path, epoch, state_of(c, state)?)?;
        c.give_pair(stead_pair { pair }, place);
        Ok(())
    })
}

/// Makes a pair of two maps, as if a carry from old_map to new_map were open in this state. The
/// pair keeps both maps alive: you may free your handles of them first.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_IDENTITY when the maps are of two
/// clusters, or have other hashes or key rules; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_pair_between(
    old_map: Foreign<*const stead_map>,
    new_map: Foreign<*const stead_map>,
    state: i32,
    pair: Foreign<*mut *mut stead_pair>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_pair_between", error, |c| {
        let (old, new, place) = (
            c.share(old_map, "old_map")?,
            c.share(new_map, "new_map")?,
            c.out(pair, "pair")?,
        );
        let pair = Pair::between(old, new, state_of(c, state)?)?;
        c.give_pair(stead_pair { pair }, place);
        Ok(())
    })
}

/// Returns the state, a number of stead_state: STEAD_STATE_NONE when no carry is open, and also
/// when pair is NULL.
#[no_mangle]
pub extern "C" fn stead_pair_state(pair: Foreign<*const stead_pair>) -> i32 {
    value(
        "stead_pair_state",
        stead_state::STEAD_STATE_NONE as i32,
        |c| Some(c.pair(pair).ok()?.pair.state()?.number() as i32),
    )
}

/// Finds the nodes to read a key from, in this order. The first node that answers decides, also
/// when it answers that there is no such key. Ask the next node only when one does not answer at
/// all. A new place is not among them while data is copied to it.
/// nodes, capacity, count: as in stead_map_locate_all. The numbers are those of the pair.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_pair_reads(
    pair: Foreign<*const stead_pair>,
    key: Foreign<*const c_void>,
    length: usize,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_pair_reads", error, |c| {
        let (pair, key) = (&c.pair(pair)?.pair, c.key(key, length)?);
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        nodes.put(pair.reads(key).map(number));
        Ok(())
    })
}

/// Finds the nodes to write a key to, or to delete it from, in this order. The write is done when
/// all of them have it, also those for which `nodes` had no room: while a carry is open, there are
/// up to twice as many as the copies of the key. nodes, capacity, count: as in stead_pair_reads.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_pair_writes(
    pair: Foreign<*const stead_pair>,
    key: Foreign<*const c_void>,
    length: usize,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_pair_writes", error, |c| {
        let (pair, key) = (&c.pair(pair)?.pair, c.key(key, length)?);
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        nodes.put(pair.writes(key).map(number));
        Ok(())
    })
}

/// Finds the nodes to read the keys of a point from, as stead_pair_reads does for a key.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_pair_reads_point(
    pair: Foreign<*const stead_pair>,
    point: u64,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_pair_reads_point", error, |c| {
        let pair = &c.pair(pair)?.pair;
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        nodes.put(pair.reads_point(Point(point)).map(number));
        Ok(())
    })
}

/// Finds the nodes to write the keys of a point to, as stead_pair_writes does for a key.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_pair_writes_point(
    pair: Foreign<*const stead_pair>,
    point: u64,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_pair_writes_point", error, |c| {
        let pair = &c.pair(pair)?.pair;
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        nodes.put(pair.writes_point(Point(point)).map(number));
        Ok(())
    })
}

/// Returns 1 when the two maps answer differently for a key, by other nodes or by another order;
/// otherwise 0, and also when no carry is open; -1 when an argument is wrong. Where it is 0, every
/// state reads and writes the same nodes: a cheap test for most keys.
#[no_mangle]
pub extern "C" fn stead_pair_moved(
    pair: Foreign<*const stead_pair>,
    key: Foreign<*const c_void>,
    length: usize,
) -> i32 {
    value("stead_pair_moved", -1, |c| {
        let (pair, key) = (&c.pair(pair).ok()?.pair, c.key(key, length).ok()?);
        Some(i32::from(pair.moved(key)))
    })
}

/// Returns for a point what stead_pair_moved returns for a key; -1 when pair is NULL.
#[no_mangle]
pub extern "C" fn stead_pair_moved_point(pair: Foreign<*const stead_pair>, point: u64) -> i32 {
    value("stead_pair_moved_point", -1, |c| {
        Some(i32::from(c.pair(pair).ok()?.pair.moved_point(Point(point))))
    })
}

/// Returns how many nodes the pair has; 0 when pair is NULL. First come the nodes of the new map,
/// under their numbers there, then those that only the old map has. A node that was renamed is one
/// node, under its new name.
#[no_mangle]
pub extern "C" fn stead_pair_node_count(pair: Foreign<*const stead_pair>) -> i32 {
    value("stead_pair_node_count", 0, |c| {
        Some(c.pair(pair).ok()?.pair.node_count() as i32)
    })
}

/// Returns the number of the node with this name; -1 when neither map has it.
#[no_mangle]
pub extern "C" fn stead_pair_node_named(
    pair: Foreign<*const stead_pair>,
    name: Foreign<*const c_char>,
) -> i32 {
    value("stead_pair_node_named", -1, |c| {
        let (pair, name) = (&c.pair(pair).ok()?.pair, c.text(name, "name").ok()?);
        Some(number(pair.named(name)?))
    })
}

/// Returns the name of a node; NULL when there is no such node. The string lives as long as the
/// pair.
#[no_mangle]
pub extern "C" fn stead_pair_node_name(
    pair: Foreign<*const stead_pair>,
    node: i32,
) -> *const c_char {
    value("stead_pair_node_name", ptr::null(), |c| {
        Some(strings(&c.pair(pair).ok()?.pair, node)?.name.as_ptr())
    })
}

/// Returns the value of an attribute of a node; NULL when the node has none of this name, or when
/// there is no such node. The string lives as long as the pair.
#[no_mangle]
pub extern "C" fn stead_pair_node_attribute(
    pair: Foreign<*const stead_pair>,
    node: i32,
    name: Foreign<*const c_char>,
) -> *const c_char {
    value("stead_pair_node_attribute", ptr::null(), |c| {
        let (pair, name) = (&c.pair(pair).ok()?.pair, c.text(name, "name").ok()?);
        let mut attributes = strings(pair, node)?.attributes.iter();
        let found = attributes.find(|(key, _)| key.as_bytes() == name.as_bytes());
        found.map(|(_, value)| value.as_ptr())
    })
}

/// Returns a handle of the new map, to be freed with stead_map_free; NULL when pair is NULL.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_pair_new_map(pair: Foreign<*const stead_pair>) -> *mut stead_map {
    value("stead_pair_new_map", ptr::null_mut(), |c| {
        shared(c, Some(c.pair(pair).ok()?.pair.new_map()))
    })
}

/// Returns a handle of the map where the data was, to be freed with stead_map_free; NULL when no
/// carry is open, and also when pair is NULL.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_pair_old_map(pair: Foreign<*const stead_pair>) -> *mut stead_map {
    value("stead_pair_old_map", ptr::null_mut(), |c| {
        shared(c, c.pair(pair).ok()?.pair.old_map())
    })
}

/// Returns another handle of the same pair, to be freed on its own; NULL when pair is NULL. Nothing
/// is copied.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_pair_share(pair: Foreign<*const stead_pair>) -> *mut stead_pair {
    value("stead_pair_share", ptr::null_mut(), |c| {
        let pair = c.pair(pair).ok()?.pair.clone();
        Some(c.handle_of_pair(stead_pair { pair }))
    })
}

/// Frees a handle. NULL is allowed and does nothing.
#[no_mangle]
pub extern "C" fn stead_pair_free(pair: Foreign<*mut stead_pair>) {
    value("stead_pair_free", (), |c| {
        c.take_pair(pair);
        Some(())
    });
}
