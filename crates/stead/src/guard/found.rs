//! What the guards find in a change by its two maps alone.

use super::allow::Guard;
use super::dropped::Changed;
use super::finding::{share, Finding, FEW};
use super::lost;
use crate::error::Result;
use crate::fleet;
use crate::map::Map;
use crate::memory;
use crate::plan::all_copies;
use crate::point::SPACE;

/// Holds memory for what the guards look at, in two maps and in those before them.
///
/// Errors: `Memory` and `MemoryLimit`, see [`memory`].
pub(crate) fn room(old: &Map, new: &Map) -> Result<memory::Room> {
    let need = |map: &Map| {
        let by_hand = map.pins().len() + map.firsts().len();
        256 * (map.base_count() + map.slice_count() + by_hand + map.policies().len())
            + (1024 + 256 * map.spread().len()) * map.nodes().len()
            + map.bytes().len()
    };
    memory::room((need(old) + need(new)) as u64)
}

/// Returns what a change from one map to the next does that needs permission: dropped copies, lost
/// domains, and more movement than the new map's fleet permits ([`Map::move_limit`]). Whether the
/// fleet is older than the map needs the history; see [`taken_back`](super::taken_back).
///
/// Errors: `Identity` when the maps belong to different clusters. Cost: one pass over the slices of
/// both maps.
pub fn findings(old: &Map, new: &Map) -> Result<Vec<Finding>> {
    let changed = Changed::between(old, new)?;
    let mut found = Vec::new();
    if changed.dropped_points > 0 {
        found.push(Finding {
            guard: Guard::DropCopies,
            text: dropped(old, new, &changed),
        });
    }
    found.extend(lost::domains(old, new, &changed)?);
    found.extend(lost::levels(old, new, &changed));
    let whole = all_copies(old, new);
    let limit = new.move_limit();
    // a limit is at most 2^64 and R at most 255, so the product fits
    if let Some(limit) = limit.filter(|limit| changed.copied > whole / SPACE * limit.0) {
        found.push(Finding {
            guard: Guard::Move,
            text: format!(
                "moves {} of all copies, and the fleet permits {} in one step",
                share(changed.copied, whole),
                fleet::percentage(limit)
            ),
        });
    }
    Ok(found)
}

fn dropped(old: &Map, new: &Map, changed: &Changed) -> String {
    let (before, after) = (old.replicas(), new.replicas());
    let replicas = if after < before {
        format!(", because replicas goes from {before} to {after}")
    } else {
        String::new()
    };
    let (points, copies) = (changed.dropped_points, changed.dropped_copies);
    if points < FEW {
        let one = |count: u128, word: &str, words: &str| match count {
            1 => format!("1 {word}"),
            count => format!("{count} {words}"),
        };
        let (copies, points) = (
            one(copies, "copy", "copies"),
            one(points, "point", "points"),
        );
        return format!("drops {copies} of {points}{replicas}");
    }
    format!(
        "drops copies of {} of the points, {} of all copies{replicas}",
        share(points, SPACE),
        share(copies, u128::from(before) * SPACE)
    )
}
