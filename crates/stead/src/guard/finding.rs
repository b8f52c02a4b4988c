//! What the guards find in a change: each finding is a sentence with figures.

use super::allow::Guard;
use super::dropped::Changed;
use super::lost;
use crate::error::Result;
use crate::fleet;
use crate::map::Map;
use crate::point::SPACE;

/// Fewer points than this are counted, since no percentage of 2^64 would show them.
const FEW: u128 = 10_000_000;

/// A harm that a change does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The guard that refuses it; its word lifts it.
    pub guard: Guard,
    /// What the change does, in one sentence without a full stop that starts with a verb: "drops
    /// copies of ...".
    pub text: String,
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
    let whole = u128::from(new.replicas()) * SPACE;
    let limit = new.move_limit();
    if let Some(limit) =
        limit.filter(|limit| changed.copied > u128::from(new.replicas()).saturating_mul(limit.0))
    {
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

/// Formats a part of a whole as a percentage with two decimal places. A part that would read as 0
/// is given in points.
pub(super) fn share(part: u128, whole: u128) -> String {
    // part is at most 2^80, so the product fits
    let hundredths = (part * 10_000 + whole / 2) / whole.max(1);
    match (hundredths, part) {
        (0, 1) => "1 point".to_owned(),
        (0, 1..FEW) => format!("{part} points"),
        (0, 1..) => "less than 0.01 %".to_owned(),
        _ => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_two_places_and_is_never_shown_as_nothing() {
        for (part, text) in [
            (0, "0.00 %"),
            (1, "1 point"),
            (7, "7 points"),
            (SPACE / 1_000_000, "less than 0.01 %"),
            (SPACE / 10_000, "0.01 %"),
            (SPACE / 3, "33.33 %"),
            (SPACE, "100.00 %"),
        ] {
            assert_eq!(share(part, SPACE), text);
        }
    }
}
