//! The map where the data of a carry was: whether the history of a map has it, and bringing it
//! there.
//!
//! Programs that read by a map with a carry open need this epoch. Without it they cannot open the
//! map, although the file of the map is whole.

use std::path::PathBuf;

use stead::carry::Carry;
use stead::{Map, Store};

use crate::exit::Result;
use crate::hub::{Head, Hub};

/// Whether the history has the map where the data of a carry was. The map is read and verified.
pub fn is_here(store: &Store, carry: &Carry) -> bool {
    let kept = store.open_epoch(carry.from_epoch);
    kept.is_ok_and(|kept| kept.digest() == carry.from_digest)
}

/// Returns the carry of a map, if the history lacks the map where its data was.
pub fn lacking(store: &Store, map: &Map) -> Option<Carry> {
    map.carry().filter(|carry| !is_here(store, carry))
}

/// Returns the file of the map where the data of a carry was, in the history beside the map.
pub fn file(store: &Store, carry: &Carry) -> PathBuf {
    let mut name = store.path().as_os_str().to_owned();
    name.push(format!(".history/{}", carry.from_epoch));
    PathBuf::from(name)
}

/// Fetches the map where the data of a carry was; `None` when the hub does not have it.
pub fn fetch(hub: &dyn Hub, head: &Head, carry: &Carry) -> Result<Option<Map>> {
    let map = hub.map(head, carry.from_epoch)?;
    Ok(map.filter(|map| map.digest() == carry.from_digest))
}
