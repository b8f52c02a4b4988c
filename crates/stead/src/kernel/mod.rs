//! The points of many keys at once.
//!
//! [`points`] gives exactly what [`Hash::point_of`] gives for each key. It is quicker because
//! several keys are hashed side by side in vector registers. A kernel is the code for one kind of
//! processor; [`Kernel::best`] picks one, once in a process.

mod keys;

pub use keys::{Keys, Span};

use crate::cell::Cells;
use crate::hash::{Hash, KeyRule};
use crate::point::Point;

/// The number of keys that are taken at a time. Their points fill 8 KiB, which stay in the first
/// cache until they are looked up.
pub(crate) const BLOCK: usize = 1024;

/// Computes the points of keys, in their order. `points` must be as long as `keys`.
pub(crate) fn points(
    hash: &Hash,
    rule: KeyRule,
    cells: Cells,
    keys: Keys<'_>,
    points: &mut [Point],
) {
    for (key, point) in keys.iter().zip(points) {
        *point = hash.point_of(rule, cells, key);
    }
}
