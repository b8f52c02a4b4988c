//! What happens to the copies: how many are copied, dropped, reordered and pinned.

use serde::Serialize;

use super::amount::Amount;

/// What happens to the copies. All fractions are parts of the same whole, the copies of the map
/// that has more of them, so that they can be compared when R changes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Turnover {
    /// All copies: how many each point has in the map that has more of them, the larger R.
    pub of_replicas: u32,
    /// The copies that rebalancing makes.
    pub copied: Amount,
    /// The copies that are dropped and not made elsewhere, because a point has fewer than before.
    pub dropped: Amount,
    /// The points that get another first node although the old first node still holds a copy.
    /// Nothing is copied for them. Rebalancing reorders these.
    pub reordered: Amount,
    /// The same, where pins, firsts and changed policies reorder.
    pub reordered_by_hand: Amount,
    /// The copies that pins and changed policies move.
    pub pinned: Amount,
}

impl Turnover {
    /// Describes numbers of points: copied, dropped, reordered, reordered by hand
    /// and pinned.
    pub(super) fn of(counts: [u128; 5], of_replicas: u32) -> Turnover {
        let [copied, dropped, reordered, reordered_by_hand, pinned] =
            counts.map(|points| Amount::of_copies(points, of_replicas));
        Turnover {
            of_replicas,
            copied,
            dropped,
            reordered,
            reordered_by_hand,
            pinned,
        }
    }
}
