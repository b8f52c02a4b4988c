//! The keys that are pinned: how many of them a change brings to other nodes. Amounts count
//! points, and a key that is pinned is one point of 2^64, however much data it has.

use serde::Serialize;

use crate::cell::Cells;
use crate::error::Result;
use crate::map::Map;
use crate::plan::pinned_keys;

/// The keys that the old or the new map pins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PinnedKeys {
    /// How many of them get other nodes.
    pub moved: usize,
    /// How many they are.
    pub of: usize,
    /// N, where a pin of a key covers one of the N cells of the map, with all keys in it; `None`
    /// if it covers one point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_in: Option<String>,
}

impl PinnedKeys {
    /// Counts the keys of two maps of one cluster; `None` if neither pins any.
    ///
    /// Cost: O(n log n) for n pins.
    pub fn between(old: &Map, new: &Map) -> Result<Option<PinnedKeys>> {
        let (moved, of) = pinned_keys(old, new)?;
        let cells = new.cells();
        let one_in = (cells != Cells::FINEST).then(|| cells.count().to_string());
        Ok((of > 0).then_some(PinnedKeys { moved, of, one_in }))
    }
}
