//! Remainder: rings that are none, where the server of a key is its number modulo a count.
//!
//! Such a rule knows only as many places as it has servers, and places are never split, so a map
//! with one cell for each could not grow. The map therefore asks for the remainder by a multiple of
//! the count: n = q * count + r, and r says the server still. A hash of few bits needs no such
//! thing: each of its values is a cell.

use super::compile::{Table, POINTS_MAX};
use crate::cell::Cells;
use crate::hash::{Affixes, Function, Hash};

/// The cells of each remainder, when nothing is said.
pub(crate) const PARTS: u64 = 100;

/// The widest numbers whose values are cells themselves.
const NARROW: u32 = 16;

/// Hash, cells and table of the keys whose server is `server_of[number % server_of.len()]`;
/// `parts`: cells of each remainder, where the hash is wide. `None`: that would be more cells than
/// a map should have. `zero`: what a number of 0 counts as.
pub(crate) fn remainders(
    function: Function,
    affixes: Affixes,
    server_of: &[u32],
    parts: u64,
    zero: u64,
) -> Option<(Hash, Cells, Table)> {
    let count = u64::try_from(server_of.len())
        .ok()
        .filter(|count| *count > 0)?;
    let narrow = function.bits() <= NARROW;
    let cells = if narrow {
        1 << function.bits()
    } else {
        count.checked_mul(parts)?
    };
    if u128::from(cells) > POINTS_MAX {
        return None;
    }
    let server = |cell: u64| {
        let number = if cell == 0 { zero } else { cell };
        server_of
            .get((number % count) as usize)
            .copied()
            .unwrap_or(0)
    };
    let table = (0..cells)
        .map(|cell| (u128::from(cell), vec![server(cell)]))
        .collect();
    Some((
        Hash::of(function, !narrow, affixes),
        Cells::from_stored(cells),
        table,
    ))
}
