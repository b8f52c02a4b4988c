//! Need: how many bytes of memory a build takes at most, estimated before it begins.
//!
//! A build holds pieces of the space and the sets of holders that they have, in a few lists at a
//! time. So the estimate counts pieces, holders and levels of labels. tests/memory.rs compares it
//! with the memory that builds really use.

use crate::fleet::{Fleet, PinTo, Pinned};
use crate::map::Map;

/// What a piece of a first map takes with its set, and what each of its copies takes.
const FIRST_PIECE: u64 = 250;
const FIRST_COPY: u64 = 30;

/// The same for a piece of a later map. The search for shortest paths makes sets of holders that it
/// gives up again, and it makes more of them when there are more copies. So, with R copies, each
/// copy takes `COPY` bytes and R times `COPY_TENTHS` tenths of a byte.
const PIECE: u64 = 400;
const COPY: u64 = 50;
const COPY_TENTHS: u64 = 14;

/// What a piece and each of its copies take in addition where pins or firsts are laid over it.
const UNDER_PIECE: u64 = 350;
const UNDER_COPY: u64 = 10;

/// What a holder takes, and what it takes for each level of labels.
const HOLDER: u64 = 400;
const LEVEL: u64 = 150;

/// What a pin or a first takes, without its texts.
const BY_HAND: u64 = 600;

/// A first map has at most this many pieces, or this many for each holder (`first_layout`).
const FIRST: u64 = 16_384;
const FIRST_EACH: u64 = 4;

/// The most bytes that building the next map of a fleet takes.
pub(super) fn need(fleet: &Fleet, previous: Option<&Map>) -> u64 {
    let before = previous.map_or(0, |map| map.nodes().len() as u64);
    let nodes = fleet.nodes.len() as u64 + before;
    let holders = nodes + fleet.policies.len() as u64;
    let replicas = u64::from(fleet.replicas.max(previous.map_or(1, Map::replicas)));
    let (pieces, each) = match previous {
        None if replicas == 1 => (holders, FIRST_PIECE + FIRST_COPY),
        None => {
            let pieces = FIRST.min(64 * holders) + (FIRST_EACH + 1) * holders + replicas;
            (pieces, FIRST_PIECE + FIRST_COPY * replicas)
        }
        Some(map) => {
            let target = map.target_slices().map_or(0, Iterator::count);
            let slices = (map.base_count() + target) as u64;
            let copy = COPY + COPY_TENTHS * replicas / 10;
            // with a tolerance, the shares may be made exact in a second attempt
            let attempts = 1 + u64::from(fleet.tolerance.is_some() && replicas > 1);
            (slices + holders, attempts * (PIECE + copy * replicas))
        }
    };
    let by_hand = (fleet.pins.len() + fleet.firsts.len()) as u64;
    let under = match by_hand {
        0 => 0,
        _ => UNDER_PIECE + UNDER_COPY * replicas,
    };
    pieces * (each + under)
        + holders * (HOLDER + LEVEL * fleet.spread.len() as u64)
        + by_hand * BY_HAND
        + 4 * texts(fleet)
        + (1 << 18)
}

/// The bytes of all texts of a fleet, and of the records around them.
fn texts(fleet: &Fleet) -> u64 {
    let nodes = fleet.nodes.iter().map(|node| {
        let pairs = node.labels.iter().chain(&node.attributes);
        let pairs = pairs.map(|(name, value)| name.len() + value.len() + 64);
        node.name.len() + pairs.sum::<usize>()
    });
    let list = |nodes: &[String]| nodes.iter().map(|node| node.len() + 32).sum::<usize>();
    let policies = fleet.policies.iter();
    let policies = policies.map(|p| p.name.len() + p.kind.len() + list(&p.nodes));
    let key = |what: &Pinned| match what {
        Pinned::Key(key) => key.len(),
        Pinned::Range { .. } => 0,
    };
    let pins = fleet.pins.iter().map(|pin| {
        let to = match &pin.to {
            PinTo::Policy(_) => 0,
            PinTo::Nodes(nodes) => list(nodes),
        };
        key(&pin.what) + to
    });
    let firsts = fleet.firsts.iter().map(|first| key(&first.what));
    nodes
        .chain(policies)
        .chain(pins)
        .chain(firsts)
        .sum::<usize>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tests/memory.rs compares the bound with what is used; this finds a part that is missing.
    #[test]
    fn pieces_holders_and_what_is_set_by_hand_add_up() {
        let fleet = |top: &str| {
            let nodes: String = (0..100)
                .map(|i| format!("[[node]]\nname = 'n{i}'\n"))
                .collect();
            Fleet::parse(&format!("name = 'm'\n{top}\n{nodes}"), "fleet").unwrap()
        };
        let of_nodes = 100 * (FIRST_PIECE + FIRST_COPY + HOLDER);
        let none = need(&fleet(""), None);
        assert!(none >= of_nodes + (1 << 18), "{none}");
        let pinned = need(&fleet("pin = [{key = 'k', nodes = ['n0']}]"), None);
        let by_hand = 100 * (UNDER_PIECE + UNDER_COPY) + BY_HAND;
        assert!(pinned >= none + by_hand, "{pinned}, {none}");
        // no more than the pin's own texts on top
        assert!(pinned < none + by_hand + 1000, "{pinned}, {none}");
    }
}
