//! A pull: fetches the newest map and its ancestors from a hub, and installs them.

use stead::store::{Accept, Arrival, Standing};
use stead::{Map, Store};

use crate::exit::{Failure, Result, CONFLICT};
use crate::hub::{Head, Hub};

/// How often a pull begins anew because the head has changed meanwhile.
const TRIES: usize = 5;

/// What a pull has installed.
#[derive(Debug)]
pub struct Pulled {
    /// How the map stood to the one that was there.
    pub standing: Standing,
    /// What the hub said about it.
    pub head: Head,
    /// How many ancestors came with it.
    pub older: usize,
}

/// Fetches the newest map of a hub, whose history keeps `keep` epochs here, and installs it. `None`
/// when nothing was pushed yet.
///
/// After a failure the map that was there is untouched.
pub fn pull(hub: &dyn Hub, store: &Store, keep: usize, accept: Accept) -> Result<Option<Pulled>> {
    for _ in 0..TRIES {
        let Some(head) = hub.head()? else {
            return Ok(None);
        };
        if let Some(pulled) = pull_head(hub, &head, store, keep, accept)? {
            return Ok(Some(pulled));
        }
    }
    Err(Failure::new(
        CONFLICT,
        "the hub's map changes faster than it can be fetched; pull again",
    ))
}

/// Fetches and installs the map of a head; `None` when the head has changed meanwhile.
pub fn pull_head(
    hub: &dyn Hub,
    head: &Head,
    store: &Store,
    keep: usize,
    accept: Accept,
) -> Result<Option<Pulled>> {
    let Some(map) = hub.map(head, head.epoch)? else {
        return Ok(None);
    };
    let older = missing(hub, head, store, keep, &map)?;
    let arrival = Arrival {
        map: &map,
        older: &older,
        log: &head.log,
    };
    let standing = store.install(arrival, accept)?;
    Ok(Some(Pulled {
        standing,
        head: head.clone(),
        older: older.len(),
    }))
}

/// Fetches the ancestors that the history here lacks, newest first, as far as the hub has them. It
/// stops at the first one that is here: what is before it was fetched when it was.
fn missing(hub: &dyn Hub, head: &Head, store: &Store, keep: usize, map: &Map) -> Result<Vec<Map>> {
    let (mut at, mut parent) = (map.epoch(), map.parent());
    let mut older = Vec::new();
    while at > 1 && older.len() + 1 < keep {
        at -= 1;
        let here = store.open_epoch(at);
        if here.is_ok_and(|here| here.digest() == parent) {
            break;
        }
        let Some(map) = hub.map(head, at)?.filter(|map| map.digest() == parent) else {
            break;
        };
        parent = map.parent();
        older.push(map);
    }
    Ok(older)
}
