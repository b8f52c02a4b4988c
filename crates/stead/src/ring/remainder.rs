//! Remainder: rules without a ring, in which the server of a key is its number modulo a count.
//!
//! Such a rule knows only as many places as it has servers, and cells are never split, so a map
//! with one cell for each server could not grow. The map therefore takes the remainder by a
//! multiple of the count, which still determines the remainder by the count. A hash of few bits
//! needs no multiple: each of its values is a cell.

use super::compile::{Table, POINTS_MAX};
use crate::cell::Cells;
use crate::hash::{Affixes, Function, Hash};

/// The default number of cells of each remainder.
pub(crate) const PARTS: u64 = 100;

/// The largest width, in bits, of hashes whose values are cells themselves.
const NARROW: u32 = 16;

/// The hash, cells and table of keys whose server is `server_of[number % server_of.len()]`. `parts`
/// is the number of cells of each remainder, if the hash is wide. A number of 0 counts as `zero`.
/// Returns `None` if there would be more cells than a map should have.
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
    // one entry for neighbours of one server: a list of one server may have millions of cells
    let mut table = Table::new();
    for cell in 0..cells {
        let holders = [server(cell)];
        if table.last().is_none_or(|(_, last)| *last != holders) {
            table.push((u128::from(cell), holders.to_vec()));
        }
    }
    Some((
        Hash::of(function, !narrow, affixes),
        Cells::from_stored(cells),
        table,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_server_are_one_entry() {
        let drawn = |server_of: &[u32], parts| {
            let drawn = remainders(Function::Md5, Affixes::default(), server_of, parts, 0);
            let (_, cells, table) = drawn.unwrap();
            (cells.count(), table)
        };
        // a hundred thousand of one server are no hundred thousand entries
        assert_eq!(drawn(&[0; 1000], 100), (100_000, vec![(0, vec![0])]));
        let entry = |cell, server| (cell, vec![server]);
        let table = vec![entry(0, 0), entry(2, 1), entry(3, 0), entry(5, 1)];
        assert_eq!(drawn(&[0, 0, 1], 2), (6, table));
    }
}
