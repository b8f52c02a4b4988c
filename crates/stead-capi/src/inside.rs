//! What is in a map.

use std::ffi::{c_char, c_void};
use std::io;
use std::ptr;

use stead_core::map::{Node, Policy};
use stead_core::policy::{NodeId, PolicyId};
use stead_core::report::Report;
use stead_core::{memory, Error, Map};

use crate::boundary::{status, value, Caller, Foreign};
use crate::locate::number;
use crate::strings::MapStrings;
use crate::types::{stead_error, stead_map, stead_slice};

fn node_of(map: &Map, node: i32) -> Option<Node<'_>> {
    let id = u32::try_from(node)
        .ok()
        .filter(|id| (*id as usize) < map.nodes().len())?;
    Some(map.node(NodeId(id)))
}

fn policy_of(map: &Map, policy: i32) -> Option<Policy<'_>> {
    let id = u32::try_from(policy)
        .ok()
        .filter(|id| (*id as usize) < map.policies().len())?;
    Some(map.policy(PolicyId(id)))
}

fn no_node(c: &Caller, map: &Map, node: i32) -> Error {
    c.invalid(format_args!(
        "there is no node {node}; the map has {}, numbered from 0",
        map.nodes().len()
    ))
}

fn no_policy(c: &Caller, map: &Map, policy: i32) -> Error {
    c.invalid(format_args!(
        "there is no policy {policy}; the map has {}, numbered from 0",
        map.policies().len()
    ))
}

/// Returns the element with this number; `None` when there is none.
fn at<T>(list: &[T], number: i32) -> Option<&T> {
    list.get(usize::try_from(number).ok()?)
}

/// Returns the name of the cluster; NULL when map is NULL. The string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_name(map: Foreign<*const stead_map>) -> *const c_char {
    value("stead_map_name", ptr::null(), |c| {
        let map = c.map(map).ok()?;
        Some(MapStrings::of(map)?.name.as_ptr())
    })
}

/// Returns the epoch of the map, which is 1 for the first; 0 when map is NULL.
#[no_mangle]
pub extern "C" fn stead_map_epoch(map: Foreign<*const stead_map>) -> u64 {
    value("stead_map_epoch", 0, |c| Some(c.map(map).ok()?.epoch()))
}

/// Copies the SHA-256 digest of the map. Two maps with the same digest are the same map.
/// digest: room for STEAD_DIGEST_ROOM bytes.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_digest(
    map: Foreign<*const stead_map>,
    digest: Foreign<*mut u8>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_digest", error, |c| {
        let found = c.map(map)?.digest();
        c.outs(digest, found.len(), "digest")?.fill(found);
        Ok(())
    })
}

/// Returns 1 when the two maps differ in nothing but epoch and parent, so that publishing one over
/// the other would change nothing; otherwise 0; -1 when one of them is NULL.
#[no_mangle]
pub extern "C" fn stead_map_same(
    map: Foreign<*const stead_map>,
    other: Foreign<*const stead_map>,
) -> i32 {
    value("stead_map_same", -1, |c| {
        Some(i32::from(c.map(map).ok()?.same(c.map(other).ok()?)))
    })
}

/// Gets the bytes of the map's file, which include the secret of the hash if there is one. They
/// live as long as the map.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_bytes(
    map: Foreign<*const stead_map>,
    bytes: Foreign<*mut *const c_void>,
    length: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_bytes", error, |c| {
        let (found, bytes, length) = (
            c.map(map)?.bytes(),
            c.out(bytes, "bytes")?,
            c.out(length, "length")?,
        );
        bytes.put(found.as_ptr().cast());
        length.put(found.len());
        Ok(())
    })
}

/// Copies the digest of the map that this one was built on: zeros for a first map.
/// digest: room for STEAD_DIGEST_ROOM bytes.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_parent(
    map: Foreign<*const stead_map>,
    digest: Foreign<*mut u8>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_parent", error, |c| {
        let found = c.map(map)?.parent();
        c.outs(digest, found.len(), "digest")?.fill(found);
        Ok(())
    })
}

/// Returns the name of the map's hash, such as "md5"; NULL when map is NULL. The string lives as
/// long as the map.
#[no_mangle]
pub extern "C" fn stead_map_hash(map: Foreign<*const stead_map>) -> *const c_char {
    value("stead_map_hash", ptr::null(), |c| {
        Some(MapStrings::of(c.map(map).ok()?)?.hash.as_ptr())
    })
}

/// Returns the key rule as a fleet writes it: "whole", or "first 2 segments"; NULL when map is
/// NULL. The string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_key_rule(map: Foreign<*const stead_map>) -> *const c_char {
    value("stead_map_key_rule", ptr::null(), |c| {
        Some(MapStrings::of(c.map(map).ok()?)?.key.as_ptr())
    })
}

/// Returns over how many levels of labels the copies are spread; 0 when map is NULL.
#[no_mangle]
pub extern "C" fn stead_map_spread_count(map: Foreign<*const stead_map>) -> i32 {
    value("stead_map_spread_count", 0, |c| {
        Some(c.map(map).ok()?.spread().len() as i32)
    })
}

/// Returns the name of the label of a level of the spread, such as "zone"; NULL when there is no
/// such level. Level 0 is the outermost. The string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_spread(map: Foreign<*const stead_map>, level: i32) -> *const c_char {
    value("stead_map_spread", ptr::null(), |c| {
        at(&MapStrings::of(c.map(map).ok()?)?.spread, level).map(|label| label.as_ptr())
    })
}

/// Returns how many nodes hold each point; 0 when map is NULL. A named policy may list more nodes,
/// or fewer.
#[no_mangle]
pub extern "C" fn stead_map_replicas(map: Foreign<*const stead_map>) -> i32 {
    value("stead_map_replicas", 0, |c| {
        Some(c.map(map).ok()?.replicas() as i32)
    })
}

/// Returns how many nodes the map has; 0 when map is NULL. Nodes are numbered from 0, in the order
/// of their names.
#[no_mangle]
pub extern "C" fn stead_map_node_count(map: Foreign<*const stead_map>) -> i32 {
    value("stead_map_node_count", 0, |c| {
        Some(c.map(map).ok()?.nodes().len() as i32)
    })
}

/// Returns the name of a node; NULL when there is no such node. The string lives as long as the
/// map.
#[no_mangle]
pub extern "C" fn stead_map_node_name(map: Foreign<*const stead_map>, node: i32) -> *const c_char {
    value("stead_map_node_name", ptr::null(), |c| {
        let map = c.map(map).ok()?;
        let node = node_of(map, node)?.id.index();
        Some(MapStrings::of(map)?.nodes.get(node)?.name.as_ptr())
    })
}

/// Returns the number of the node with this name; -1 when there is none.
#[no_mangle]
pub extern "C" fn stead_map_node_named(
    map: Foreign<*const stead_map>,
    name: Foreign<*const c_char>,
) -> i32 {
    value("stead_map_node_named", -1, |c| {
        let node = c.map(map).ok()?.node_named(c.text(name, "name").ok()?)?;
        Some(number(node.id))
    })
}

/// Gets the weight of a node, in millionths.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_node_weight(
    map: Foreign<*const stead_map>,
    node: i32,
    millionths: Foreign<*mut u64>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_node_weight", error, |c| {
        let (map, millionths) = (c.map(map)?, c.out(millionths, "millionths")?);
        let weight = node_of(map, node)
            .ok_or_else(|| no_node(c, map, node))?
            .weight();
        millionths.put(weight.millionths());
        Ok(())
    })
}

/// Returns 1 when the fleet has dropped the node and a gradual change still has to empty it, 0 when
/// not, and -1 when there is no such node.
#[no_mangle]
pub extern "C" fn stead_map_node_leaving(map: Foreign<*const stead_map>, node: i32) -> i32 {
    value("stead_map_node_leaving", -1, |c| {
        Some(i32::from(node_of(c.map(map).ok()?, node)?.leaving()))
    })
}

/// Returns an attribute of a node, such as its address; NULL when the node has no attribute of this
/// name. The string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_node_attribute(
    map: Foreign<*const stead_map>,
    node: i32,
    attribute: Foreign<*const c_char>,
) -> *const c_char {
    value("stead_map_node_attribute", ptr::null(), |c| {
        let (map, name) = (c.map(map).ok()?, c.text(attribute, "attribute").ok()?);
        let node = node_of(map, node)?;
        let place = node.attributes().position(|(found, _)| found == name)?;
        let strings = MapStrings::of(map)?.nodes.get(node.id.index())?;
        Some(strings.attributes.get(place)?.1.as_ptr())
    })
}

/// Returns a label of a node, such as its zone; NULL when the node has no label of this name. The
/// string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_node_label(
    map: Foreign<*const stead_map>,
    node: i32,
    label: Foreign<*const c_char>,
) -> *const c_char {
    value("stead_map_node_label", ptr::null(), |c| {
        let (map, name) = (c.map(map).ok()?, c.text(label, "label").ok()?);
        let node = node_of(map, node)?;
        let place = node.labels().position(|(found, _)| found == name)?;
        let strings = MapStrings::of(map)?.nodes.get(node.id.index())?;
        Some(strings.labels.get(place)?.1.as_ptr())
    })
}

/// Returns how many labels a node has; -1 when there is no such node.
#[no_mangle]
pub extern "C" fn stead_map_node_label_count(map: Foreign<*const stead_map>, node: i32) -> i32 {
    value("stead_map_node_label_count", -1, |c| {
        Some(node_of(c.map(map).ok()?, node)?.labels().count() as i32)
    })
}

/// Returns the name of a label of a node; NULL when there is no such node or label. Labels are
/// numbered from 0, in the order of their names. stead_map_node_label has the value. The string
/// lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_node_label_name(
    map: Foreign<*const stead_map>,
    node: i32,
    label: i32,
) -> *const c_char {
    value("stead_map_node_label_name", ptr::null(), |c| {
        let strings = MapStrings::of(c.map(map).ok()?)?;
        at(&at(&strings.nodes, node)?.labels, label).map(|(name, _)| name.as_ptr())
    })
}

/// Returns how many attributes a node has; -1 when there is no such node.
#[no_mangle]
pub extern "C" fn stead_map_node_attribute_count(map: Foreign<*const stead_map>, node: i32) -> i32 {
    value("stead_map_node_attribute_count", -1, |c| {
        Some(node_of(c.map(map).ok()?, node)?.attributes().count() as i32)
    })
}

/// Returns the name of an attribute of a node; NULL when there is no such node or attribute.
/// Attributes are numbered from 0, in the order of their names. stead_map_node_attribute has the
/// value. The string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_node_attribute_name(
    map: Foreign<*const stead_map>,
    node: i32,
    attribute: i32,
) -> *const c_char {
    value("stead_map_node_attribute_name", ptr::null(), |c| {
        let strings = MapStrings::of(c.map(map).ok()?)?;
        at(&at(&strings.nodes, node)?.attributes, attribute).map(|(name, _)| name.as_ptr())
    })
}

/// Returns how many policies the map has; 0 when map is NULL. Policies are numbered from 0.
#[no_mangle]
pub extern "C" fn stead_map_policy_count(map: Foreign<*const stead_map>) -> i32 {
    value("stead_map_policy_count", 0, |c| {
        Some(c.map(map).ok()?.policies().len() as i32)
    })
}

/// Returns the name of a policy that the fleet names; NULL for a policy that stead chose, and when
/// there is no such policy. The string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_policy_name(
    map: Foreign<*const stead_map>,
    policy: i32,
) -> *const c_char {
    value("stead_map_policy_name", ptr::null(), |c| {
        let map = c.map(map).ok()?;
        let policy = policy_of(map, policy)?.id.index();
        let strings = MapStrings::of(map)?.policies.get(policy)?;
        Some(strings.name.as_ref()?.as_ptr())
    })
}

/// Returns the kind that the fleet gave to a policy, or "" when it gave none; NULL when there is no
/// such policy. The string lives as long as the map.
#[no_mangle]
pub extern "C" fn stead_map_policy_kind(
    map: Foreign<*const stead_map>,
    policy: i32,
) -> *const c_char {
    value("stead_map_policy_kind", ptr::null(), |c| {
        let map = c.map(map).ok()?;
        let policy = policy_of(map, policy)?.id.index();
        Some(MapStrings::of(map)?.policies.get(policy)?.kind.as_ptr())
    })
}

/// Gets the weight of a policy, in millionths: what a named policy takes as if it were a node; 0
/// when it takes no share of its own.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_policy_weight(
    map: Foreign<*const stead_map>,
    policy: i32,
    millionths: Foreign<*mut u64>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_policy_weight", error, |c| {
        let (map, millionths) = (c.map(map)?, c.out(millionths, "millionths")?);
        let found = policy_of(map, policy).ok_or_else(|| no_policy(c, map, policy))?;
        millionths.put(found.weight().map_or(0, |weight| weight.millionths()));
        Ok(())
    })
}

/// Finds the nodes of a policy, primary first. nodes, capacity and count are as in
/// stead_map_locate_all.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_policy_nodes(
    map: Foreign<*const stead_map>,
    policy: i32,
    nodes: Foreign<*mut i32>,
    capacity: usize,
    count: Foreign<*mut usize>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_policy_nodes", error, |c| {
        let map = c.map(map)?;
        let nodes = c.counted(nodes, capacity, count, "nodes")?;
        let found = policy_of(map, policy).ok_or_else(|| no_policy(c, map, policy))?;
        nodes.put(found.members().map(number));
        Ok(())
    })
}

/// Returns how many slices the map has, with its pins applied; 0 when map is NULL.
#[no_mangle]
pub extern "C" fn stead_map_slice_count(map: Foreign<*const stead_map>) -> usize {
    value("stead_map_slice_count", 0, |c| {
        Some(c.map(map).ok()?.slice_count())
    })
}

/// Gets a slice of the map, with its pins applied. Slices are numbered from 0 in the order of
/// their points. Together they cover all points.
/// Returns STEAD_OK, or STEAD_INVALID for a wrong argument.
#[no_mangle]
pub extern "C" fn stead_map_slice(
    map: Foreign<*const stead_map>,
    index: usize,
    slice: Foreign<*mut stead_slice>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_slice", error, |c| {
        let (map, slice) = (c.map(map)?, c.out(slice, "slice")?);
        let found = map.slice(index).ok_or_else(|| {
            c.invalid(format_args!(
                "there is no slice {index}; the map has {}, numbered from 0",
                map.slice_count()
            ))
        })?;
        slice.put(stead_slice {
            first: found.first.0,
            last: found.last.0,
            policy: found.policy.0 as i32,
            reserved: 0,
        });
        Ok(())
    })
}

/// Describes a map as JSON, in the form of `stead diff --json` (docs/cli.md): every node with its
/// weight and share. Free the text with stead_text_free.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_VERSION when the map needs a newer
/// stead than this one to judge it; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_report(
    map: Foreign<*const stead_map>,
    json: Foreign<*mut *mut c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_report", error, |c| {
        let (map, json) = (c.map(map)?, c.out(json, "json")?);
        c.give_text(text_of(&Report::of(None, map, false)?)?, json)
    })
}

/// Writes the fleet of a map as TOML: its nodes, policies and pins, with everything that placement
/// depends on. Building the text on this map changes nothing, except that a gradual change which is
/// under way is completed, and that the map of an adopted ring gets exact shares. A secret is never
/// part of the text; a build keeps the hash and the secret of the map. Free the text with
/// stead_text_free.
/// Returns STEAD_OK; STEAD_INVALID for a wrong argument; STEAD_MEMORY.
#[no_mangle]
#[must_use]
pub extern "C" fn stead_map_fleet(
    map: Foreign<*const stead_map>,
    text: Foreign<*mut *mut c_char>,
    error: Foreign<*mut stead_error>,
) -> i32 {
    status("stead_map_fleet", error, |c| {
        let (map, text) = (c.map(map)?, c.out(text, "text")?);
        let _room = map.prepare_fleet()?;
        c.give_text(map.fleet().to_toml().into_bytes(), text)
    })
}

/// Returns a report as JSON.
///
/// Errors: `Memory` and `MemoryLimit`.
pub(crate) fn text_of(report: &impl serde::Serialize) -> stead_core::Result<Vec<u8>> {
    let mut text = Text::default();
    match (serde_json::to_writer(&mut text, report), text.refused) {
        (Ok(()), _) => Ok(text.bytes),
        (Err(_), Some(refused)) => Err(refused),
        (Err(error), None) => Err(Error::Internal {
            problem: error.to_string(),
        }),
    }
}

/// A text that grows as it is written, and stops when there is no memory.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    refused: Option<Error>,
}

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match memory::append(&mut self.bytes, bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(refused) => {
                self.refused = Some(refused);
                Err(io::ErrorKind::OutOfMemory.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Frees a text that a function of this library made. The text must be unchanged. NULL is allowed
/// and does nothing.
#[no_mangle]
pub extern "C" fn stead_text_free(text: Foreign<*mut c_char>) {
    value("stead_text_free", (), |c| {
        c.take_text(text);
        Some(())
    });
}
