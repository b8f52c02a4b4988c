//! Ranges: a table of cells that a list itself gives, range by range. Together the ranges cover
//! every cell once.

use super::compile::Table;
use super::servers::wrong;
use crate::cell::Cells;
use crate::error::Result;

/// The cells from the first to the last, their holders, and the line of the list that says so.
pub(crate) struct Range {
    pub(crate) first: u128,
    pub(crate) last: u128,
    pub(crate) holders: Vec<u32>,
    pub(crate) line: usize,
}

/// The table of ranges. `what` is the word for a cell in messages.
///
/// Errors: a cell that is in no range, or in two.
pub(crate) fn table(file: &str, mut ranges: Vec<Range>, cells: Cells, what: &str) -> Result<Table> {
    ranges.sort_by_key(|range| (range.first, range.line));
    let mut table = Table::with_capacity(ranges.len());
    let end = ranges.iter().map(|range| range.line).max().unwrap_or(1);
    let mut free = 0;
    for range in ranges {
        if range.first < free {
            return Err(wrong(
                file,
                range.line,
                format!("{what} {} has a holder already", range.first),
            ));
        }
        if range.first > free {
            return Err(wrong(file, range.line, gap(what, free, range.first - 1)));
        }
        free = range.last + 1;
        table.push((range.first, range.holders));
    }
    if free < cells.count() {
        return Err(wrong(file, end, gap(what, free, cells.count() - 1)));
    }
    Ok(table)
}

fn gap(what: &str, first: u128, last: u128) -> String {
    match first == last {
        true => format!("{what} {first} has no holder"),
        false => format!("{what}s {first} to {last} have no holder"),
    }
}
