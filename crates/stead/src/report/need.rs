//! The memory that a report takes.

use crate::map::Map;

/// What a move of the list takes, with its part of the sums.
const MOVE: u64 = 400;

/// The most bytes that a report takes; `moves` is how many moves it lists. tests/memory.rs compares
/// this with the memory that is really used.
pub(super) fn need(old: Option<&Map>, new: &Map, moves: usize) -> u64 {
    let maps = || old.into_iter().chain([new]);
    // the slices of one map are looked at after those of the other
    let slices = |map: &Map| {
        let slices = map.base_count() + map.slice_count();
        96 * slices as u64 + 200 * map.policies().len() as u64
    };
    let stated = maps().map(need_of).sum::<u64>();
    maps().map(slices).max().unwrap_or(0) + stated + MOVE * moves as u64 + (1 << 16)
}

/// The most bytes that what a report says of the nodes, domains, pins and policies of a map takes.
/// A report names each domain by its whole path, so the bytes of a label are counted for every
/// domain inside it.
fn need_of(map: &Map) -> u64 {
    let spread: Vec<&str> = map.spread().collect();
    let paths = map.nodes().map(|node| {
        let (mut path, mut all) = (0, node.name().len());
        for label in &spread {
            path += node.label(label).map_or(0, str::len) + 16;
            all += path;
        }
        all as u64
    });
    let by_hand = map.pins().len() + map.firsts().len();
    let attributes: usize = map.nodes().map(|node| node.attributes().count()).sum();
    let named = map.policies().filter(|policy| policy.name().is_some());
    let listed = named.map(|policy| policy.members().len()).sum::<usize>();
    8 * paths.sum::<u64>()
        + (map.nodes().len() * (1 + spread.len())) as u64 * 1024
        + 900 * by_hand as u64
        + 80 * listed as u64
        + 80 * attributes as u64
}
