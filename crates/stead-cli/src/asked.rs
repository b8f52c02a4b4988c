//! What weights ask for, and how near to it shares can be where a map has few cells, such as the
//! buckets of `hash % n`. A cell is never divided, so a target is a number of whole cells. Whether
//! a share is its target says nothing then of how far it is from what the weight asks for.

use stead::point::SPACE;
use stead::verdict::{Holder, Verdict};
use stead::Map;
use stead_plot::MANY_CELLS;

/// A part of all copies below which a difference is none: it is far less than a key.
const NONE: u128 = 1_000_000_000;

/// Names the cells of a map, if they are so few that each has many keys: `whole buckets of 1/60 of
/// all keys`.
pub fn whole_cells(map: &Map) -> Option<String> {
    let cells = map.cells().count();
    (cells < MANY_CELLS).then(|| format!("{} of 1/{cells} of all keys", in_whole(map)))
}

/// Says in what the shares of a map with few cells are counted.
pub fn in_whole(map: &Map) -> &'static str {
    match map.hash().is_modulo() {
        true => "whole buckets",
        false => "whole cells",
    }
}

/// Returns the points that the weight of each node and then of each policy asks for, whatever the
/// cells of the map are.
pub fn asked(verdict: &Verdict, replicas: u32) -> Vec<u128> {
    let holders = || verdict.nodes.iter().chain(&verdict.policies);
    let weight = |holder: &Holder| u128::from(holder.weight.millionths());
    let all: u128 = holders().map(weight).sum();
    // a weight is below 2^40, and all copies are below 2^72: the product fits
    let points = u128::from(replicas) * SPACE;
    holders()
        .map(|holder| points * weight(holder) / all.max(1))
        .collect()
}

/// Whether a share differs from what is asked for by as much as anybody could notice.
pub fn differs(share: u128, asked: u128, copies: u32) -> bool {
    share.abs_diff(asked) > u128::from(copies) * SPACE / NONE
}

/// Says how near the shares of a map are to what the weights ask for, where its cells are few and
/// every share is its target: `as near to its target as whole buckets of 1/60 of all keys allow
/// (at most 9524 keys of a million off)`. `None` where each has what its weight asks for, and under
/// caps, where something else asks.
pub fn nearness(map: &Map, verdict: &Verdict) -> Option<String> {
    let cells = whole_cells(map)?;
    let holders = || verdict.nodes.iter().chain(&verdict.policies);
    if holders().any(|holder| holder.target != Some(holder.wanted)) {
        return None;
    }
    let off = holders()
        .zip(asked(verdict, map.replicas()))
        .map(|(holder, asked)| verdict.in_points(holder.then.cells).abs_diff(asked))
        .max()
        .filter(|off| differs(*off, 0, map.replicas()))?;
    let off = (off * 1_000_000).div_ceil(SPACE);
    Some(format!(
        "as near to its target as {cells} allow (at most {off} keys of a million off)"
    ))
}
