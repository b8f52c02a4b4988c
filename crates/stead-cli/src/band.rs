//! A band of the key space: who is where, as a row of characters in one line or several.
//!
//! The space is cut into as many equal cells as there are characters. Each cell shows whoever has
//! the most of it.

use std::collections::HashMap;

use stead::point::{Point, SPACE};

/// Who has most of each cell. `runs` are ranges of points, in order and without overlaps, each with
/// a number that stands for whoever has it; a cell without any is `None`. Of equals the one that
/// comes first in the cell is shown. Cost: one pass over the runs and the cells.
pub fn cells(
    runs: impl IntoIterator<Item = (Point, Point, usize)>,
    cells: usize,
) -> Vec<Option<usize>> {
    parts(runs, cells).iter().map(|part| most(part)).collect()
}

/// Returns who has how many points of each cell.
fn parts(
    runs: impl IntoIterator<Item = (Point, Point, usize)>,
    cells: usize,
) -> Vec<Vec<(usize, u128)>> {
    let count = cells.max(1) as u128;
    let start = |cell: u128| cell * SPACE / count;
    let mut parts: Vec<Vec<(usize, u128)>> = vec![Vec::new(); count as usize];
    for (first, last, who) in runs {
        let (first, end) = (u128::from(first.0), u128::from(last.0) + 1);
        // the first cell whose end is after the first point
        let mut cell = first * count / SPACE;
        while cell < count && start(cell) < end {
            let inside = end
                .min(start(cell + 1))
                .saturating_sub(first.max(start(cell)));
            if let Some(part) = parts.get_mut(cell as usize).filter(|_| inside > 0) {
                part.push((who, inside));
            }
            cell += 1;
        }
    }
    parts
}

/// Returns which part of each of `cells` equal cells of the space the runs cover, from 0 to 1. The
/// runs do not overlap.
pub fn density(runs: impl IntoIterator<Item = (Point, Point)>, cells: usize) -> Vec<f64> {
    let parts = parts(
        runs.into_iter().map(|(first, last)| (first, last, 0)),
        cells,
    );
    let size = SPACE as f64 / parts.len() as f64;
    let covered =
        |part: &Vec<(usize, u128)>| part.iter().map(|(_, points)| *points as f64).sum::<f64>();
    parts
        .iter()
        .map(|part| f64::min(covered(part) / size, 1.0))
        .collect()
}

fn most(part: &[(usize, u128)]) -> Option<usize> {
    let mut sums: HashMap<usize, u128> = HashMap::new();
    for (who, points) in part {
        *sums.entry(*who).or_default() += points;
    }
    let largest = sums.values().copied().max()?;
    let first = part.iter().find(|(who, _)| sums.get(who) == Some(&largest));
    first.map(|(who, _)| *who)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u64, last: u64, who: usize) -> (Point, Point, usize) {
        (Point(first), Point(last), who)
    }

    #[test]
    fn each_cell_shows_who_has_the_most_of_it() {
        let quarter = 1 << 62;
        let runs = [
            run(0, quarter + quarter / 4, 7),
            run(quarter + quarter / 4 + 1, 2 * quarter - 1, 3),
            run(3 * quarter, u64::MAX, 5),
        ];
        assert_eq!(cells(runs, 4), [Some(7), Some(3), None, Some(5)]);
        assert_eq!(cells(runs, 2), [Some(7), Some(5)]);
        assert_eq!(cells(runs, 1), [Some(7)]);
        assert_eq!(cells([], 2), [None, None]);
        // pieces of one and the same are added up
        let pieces = [run(0, 9, 1), run(10, 24, 2), run(25, 34, 1)];
        assert_eq!(cells(pieces, 3), [Some(1), None, None]);
    }

    #[test]
    fn the_density_of_a_cell_is_the_part_of_it_that_is_covered() {
        let quarter = 1 << 62;
        let runs = [
            (Point(0), Point(quarter / 2 - 1)),
            (Point(quarter), Point(3 * quarter - 1)),
        ];
        assert_eq!(density(runs, 4), [0.5, 1.0, 1.0, 0.0]);
        assert_eq!(density(runs, 2), [0.75, 0.5]);
    }

    #[test]
    fn a_number_of_cells_that_does_not_divide_the_space_loses_no_point() {
        for count in [1, 3, 7, 72, 100] {
            let all = cells([run(0, u64::MAX, 0)], count);
            assert_eq!(all, vec![Some(0); count]);
            let ends = cells([run(0, 0, 1), run(u64::MAX, u64::MAX, 2)], count);
            assert_eq!(ends.iter().flatten().count(), 2.min(count));
        }
    }
}
