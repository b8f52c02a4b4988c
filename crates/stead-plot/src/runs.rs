//! Runs: who has which part of the hash space, as a list of ranges, and what differs between two of
//! them.

use stead::point::SPACE;
use stead::Map;

/// A range of points and whoever has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first point.
    pub first: u128,
    /// The first point after the run, up to 2^64.
    pub end: u128,
    /// A number that stands for whoever has the run.
    pub who: usize,
}

impl Run {
    /// Returns the part of the space, from 0 to 1.
    pub(crate) fn part(&self) -> f64 {
        (self.end - self.first) as f64 / SPACE as f64
    }
}

/// Returns which node answers first for each range of points, pins included, by its number in the
/// map.
pub(crate) fn primaries(map: &Map) -> Vec<Run> {
    let runs = map.slices().filter_map(|slice| {
        let who = map.policy(slice.policy).members().next()?.index();
        let first = u128::from(slice.first.0);
        Some(Run {
            first,
            end: first + slice.points(),
            who,
        })
    });
    joined(runs)
}

/// Joins neighbours that belong to one.
pub(crate) fn joined(runs: impl IntoIterator<Item = Run>) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    for run in runs {
        match all.last_mut() {
            Some(last) if last.who == run.who && last.end == run.first => last.end = run.end,
            _ => all.push(run),
        }
    }
    all
}

/// Returns the ranges whose owner differs, each with its new owner. Both lists cover the space.
pub(crate) fn changed(old: &[Run], new: &[Run]) -> Vec<Run> {
    let mut before = old.iter().peekable();
    let mut found = Vec::new();
    for run in new {
        while let Some(old) = before.peek() {
            let (first, end) = (old.first.max(run.first), old.end.min(run.end));
            if first < end && old.who != run.who {
                found.push(Run {
                    first,
                    end,
                    who: run.who,
                });
            }
            if old.end > run.end {
                break;
            }
            before.next();
        }
    }
    joined(found)
}

/// Returns one run for each of `groups` that has any, in their order: as long as all runs of the
/// group together.
pub(crate) fn together(runs: &[Run], groups: usize) -> Vec<Run> {
    let mut points = vec![0; groups];
    for run in runs {
        points[run.who] += run.end - run.first;
    }
    let mut end = 0;
    let block = |(who, points): (usize, &u128)| {
        let first = end;
        end += points;
        (end > first).then_some(Run { first, end, who })
    };
    points.iter().enumerate().filter_map(block).collect()
}

/// Returns how much of each of `cells` equal parts of the space each of `groups` has, from 0 to 1.
pub(crate) fn parts(runs: &[Run], cells: usize, groups: usize) -> Vec<Vec<f64>> {
    let mut parts = vec![vec![0.0; groups]; cells];
    let bound = |cell: usize| SPACE * cell as u128 / cells as u128;
    for run in runs {
        let mut cell = (run.first * cells as u128 / SPACE) as usize;
        while cell < cells && bound(cell) < run.end {
            let (first, end) = (bound(cell), bound(cell + 1));
            let inside = end.min(run.end).saturating_sub(first.max(run.first));
            parts[cell][run.who] += inside as f64 / (end - first) as f64;
            cell += 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ends: &[(u128, usize)]) -> Vec<Run> {
        let mut first = 0;
        let mut all = Vec::new();
        for (end, who) in ends {
            let end = SPACE * end / 100;
            all.push(Run {
                first,
                end,
                who: *who,
            });
            first = end;
        }
        all
    }

    #[test]
    fn what_differs_is_found_across_borders() {
        let (old, new) = (
            runs(&[(50, 0), (100, 1)]),
            runs(&[(40, 0), (60, 2), (100, 1)]),
        );
        let part = |run: &Run| (run.part() * 100.0).round();
        let found = changed(&old, &new);
        assert_eq!((found.len(), part(&found[0]), found[0].who), (1, 20.0, 2));
        assert!(changed(&old, &old).is_empty());
        assert_eq!(changed(&new, &old).len(), 2);
    }

    #[test]
    fn the_parts_of_a_cell_add_up() {
        let cells = parts(&runs(&[(30, 0), (75, 1), (100, 0)]), 2, 2);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(cells[0][0], 0.6) && near(cells[0][1], 0.4));
        assert!(near(cells[1][0], 0.5) && near(cells[1][1], 0.5));
        for count in [1, 3, 7, 100] {
            let sums = parts(&runs(&[(33, 0), (100, 1)]), count, 2);
            assert!(sums.iter().all(|cell| near(cell.iter().sum(), 1.0)));
        }
    }
    #[test]
    fn runs_together_are_as_long_as_apart() {
        let blocks = together(&runs(&[(30, 3), (75, 1), (95, 3), (100, 0)]), 4);
        let shown = |run: &Run| (run.who, (run.part() * 100.0).round());
        let blocks_shown: Vec<_> = blocks.iter().map(shown).collect();
        assert_eq!(blocks_shown, [(0, 5.0), (1, 45.0), (3, 50.0)]);
        assert_eq!((blocks[0].first, blocks[2].end), (0, SPACE));
        assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].first));
    }
}
