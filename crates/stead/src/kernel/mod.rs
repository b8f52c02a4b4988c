//! The points of many keys at once.
//!
//! [`points`] gives exactly what `Hash::point_of` gives for each key. It is quicker because
//! several keys are hashed side by side in vector registers. A [`Kernel`] is the code for one kind
//! of processor.
//!
//! ```text
//! keys -- blocks of 1,024, in one buffer --+-- up to 55 bytes: registers of keys --+-- points
//!                                          +-- longer: in lanes, block by block ---+
//! ```

mod choice;
#[allow(clippy::indexing_slicing)] // arrays and slices of known lengths; see each type
mod isa;
mod keys;
#[allow(clippy::indexing_slicing)] // words 0 to 15 of arrays of 16, groups of arrays of GROUPS
mod md5;
#[allow(clippy::indexing_slicing)] // ranges that were computed from the lengths
mod message;
#[allow(clippy::indexing_slicing)] // as in md5
mod sha1;
mod stage;
#[cfg(test)]
mod tests;

pub use choice::Kernel;
pub(crate) use keys::BLOCK;
pub use keys::{Keys, Span};

use crate::cell::Cells;
use crate::hash::{Hash, KeyRule};
use crate::point::Point;

/// Computes the points of keys, in their order: `points[i]` becomes that of key `i`. Points without
/// a key are left alone.
///
/// All kernels give the same points; [`Kernel::chosen`] is the quickest one.
pub fn points(
    kernel: Kernel,
    hash: &Hash,
    rule: KeyRule,
    cells: Cells,
    keys: Keys<'_>,
    points: &mut [Point],
) {
    for (keys, points) in keys.parts(BLOCK).zip(points.chunks_mut(BLOCK)) {
        let keys = keys.part(0..points.len());
        let points = points.get_mut(..keys.len()).unwrap_or_default();
        if stage::in_lanes(kernel, hash, rule, keys, points) {
            if cells != Cells::FINEST {
                for point in points {
                    *point = cells.first_point_of(*point);
                }
            }
            continue;
        }
        if cells != Cells::FINEST {
            // what `point_of` does, without its question and its call for each key
            for (key, point) in keys.iter().zip(points) {
                *point = Point(cells.bound(hash.cell(rule.of(key), cells)) as u64);
            }
            continue;
        }
        for (key, point) in keys.iter().zip(points) {
            *point = hash.point_of(rule, cells, key);
        }
    }
}
