//! What a router says at its first start. An empty directory at --state may also be the mistake of
//! a mount that is missing, or of a mistyped name, and then files may be where an earlier map has
//! placed them.

use std::path::Path;

use stead::store::KEEP;
use stead::{Map, Store};

/// Tells that the router has no state yet, and what it assumes. `path` is that of the map.
pub(super) fn tell_of_first_start(state: &Path, path: &Path, map: &Map) {
    // a history that cannot be read tells nothing
    let moved = Store::new(path, KEEP).last_move(map).ok().flatten();
    let (state, epoch) = (state.display(), map.epoch());
    match moved {
        Some(moved) => tracing::warn!(
            epoch,
            "--state {state} is empty, so files are taken to be where epoch {epoch} places them, \
            and a log begins; but epoch {} moved files away from the places of epoch {}: if a \
            router has served them, stop this one, and give it the --state of that one",
            moved.epoch,
            moved.before
        ),
        None => tracing::info!(
            epoch,
            "--state {state} is empty, so files are taken to be where epoch {epoch} places them, \
            and a log begins"
        ),
    }
}
