//! Compiles the points of a ring to the cells that each point owns. All kinds with points become
//! slices here.

use std::collections::HashMap;

/// The index of a point in the points of a ring, which are sorted by position.
type PointId = usize;

/// Rows of a first cell and the servers of the cells from there on, primary first. First cells
/// ascend, and the first one is 0.
pub(crate) type Table = Vec<(u128, Vec<u32>)>;

/// A point of a ring: its position, in cells, and the number of its server. A position may lie
/// behind the last cell.
pub(crate) type RingPoint = (u128, u32);

/// The largest number of points of a ring: a map can have as many slices, and real rings have
/// fewer.
pub(crate) const POINTS_MAX: u128 = 1 << 24;

/// The rule that says which point of a ring owns a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// The first point at the position or after it.
    AtOrAfter,
    /// The first point after the position.
    After,
    /// The last point at the position or before it.
    AtOrBefore,
}

/// The rule that says which of several points at one position stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tie {
    /// The one that was inserted first.
    First,
    /// The one that was inserted last.
    Last,
}

/// Sorts the points by position and keeps one for each position.
pub(crate) fn in_order(mut points: Vec<RingPoint>, tie: Tie) -> Vec<RingPoint> {
    if tie == Tie::Last {
        points.reverse();
    }
    points.sort_by_key(|point| point.0); // stable
    points.dedup_by_key(|point| point.0);
    points
}

/// The cells that each point owns, as runs of a first cell and an owner. The first run starts at
/// cell 0, and each run ends where the next one starts.
///
/// `points` is sorted. The ring wraps at both ends. Without points, one run names a point 0 that
/// does not exist.
fn runs(points: &[RingPoint], owner: Owner, cells: u128) -> Vec<(u128, PointId)> {
    let last = points.len().saturating_sub(1);
    let mut runs: Vec<(u128, PointId)> = Vec::with_capacity(points.len() + 1);
    let mut push = |first: u128, point: PointId| {
        if first >= cells {
            return;
        }
        match runs.last_mut() {
            Some(before) if before.0 == first => before.1 = point,
            Some(before) if before.1 == point => {}
            _ => runs.push((first, point)),
        }
    };
    match owner {
        Owner::AtOrBefore => push(0, last),
        Owner::AtOrAfter | Owner::After => push(0, 0),
    }
    for (point, (position, _)) in points.iter().enumerate() {
        let next = if point == last { 0 } else { point + 1 };
        match owner {
            Owner::AtOrAfter => push(position + 1, next),
            Owner::After => push(*position, next),
            Owner::AtOrBefore => push(*position, point),
        }
    }
    runs
}

/// The table of a ring whose keys have one server each. Without points, the cells have no server.
/// Runs of one server that follow each other become one entry. A server with a large weight has
/// many of them.
pub(crate) fn owners(points: &[RingPoint], owner: Owner, cells: u128) -> Table {
    let server = |point: PointId| points.get(point).map(|point| point.1);
    let mut runs = runs(points, owner, cells);
    runs.dedup_by_key(|(_, point)| server(*point));
    runs.into_iter()
        .map(|(first, point)| (first, server(point).into_iter().collect()))
        .collect()
}

/// The table of a ring whose keys have up to `most` servers: those that a clockwise walk finds,
/// each once.
pub(crate) fn walks(points: &[RingPoint], owner: Owner, cells: u128, most: usize) -> Table {
    match most {
        1 => owners(points, owner, cells),
        _ => walks_apart(points, owner, cells, most, |server| server),
    }
}

/// As `walks`, but each server has a group, and a walk skips servers whose group it has already.
///
/// The list of a point is its own server, followed by the list of the next point without the
/// servers of this one's group. So going around the ring backwards twice gives all lists, however
/// long the walk from a single point would be.
pub(crate) fn walks_apart<G: PartialEq>(
    points: &[RingPoint],
    owner: Owner,
    cells: u128,
    most: usize,
    group: impl Fn(u32) -> G,
) -> Table {
    let runs = runs(points, owner, cells);
    let mut lists: HashMap<PointId, Vec<u32>> =
        runs.iter().map(|run| (run.1, Vec::new())).collect();
    let mut list: Vec<u32> = Vec::with_capacity(most + 1);
    for second in [false, true] {
        for (point, (_, server)) in points.iter().enumerate().rev() {
            list.retain(|other| group(*other) != group(*server));
            list.insert(0, *server);
            list.truncate(most);
            // the first time around, the list lacks the servers past the end of the ring
            if let Some(place) = lists.get_mut(&point).filter(|_| second) {
                place.clone_from(&list);
            }
        }
    }
    runs.into_iter()
        .map(|(first, point)| (first, lists.get(&point).cloned().unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The owner of a position, found by a walk as in the originals.
    fn walked(points: &[RingPoint], owner: Owner, position: u128) -> PointId {
        match owner {
            Owner::AtOrAfter => points.iter().position(|p| p.0 >= position).unwrap_or(0),
            Owner::After => points.iter().position(|p| p.0 > position).unwrap_or(0),
            Owner::AtOrBefore => points
                .iter()
                .rposition(|p| p.0 <= position)
                .unwrap_or(points.len() - 1),
        }
    }

    #[test]
    fn neighbours_of_one_server_are_one_entry() {
        let points: Vec<RingPoint> = (0..1000).map(|i| (10 * i, u32::from(i >= 400))).collect();
        for table in [
            owners(&points, Owner::AtOrAfter, 20_000),
            walks(&points, Owner::AtOrAfter, 20_000, 1),
        ] {
            assert_eq!(
                table,
                [(0, vec![0]), (3991, vec![1]), (9991, vec![0])],
                "{} entries",
                table.len()
            );
        }
    }

    #[test]
    fn every_cell_has_the_owner_that_a_walk_finds() {
        let cells = 16;
        // all sets of these positions, of which the last two lie behind the last cell
        let positions = [0u128, 1, 2, 7, 14, 15, 16, 40];
        for set in 1u32..1 << positions.len() {
            let points: Vec<RingPoint> = (0..)
                .zip(positions)
                .filter(|(i, _)| set >> i & 1 == 1)
                .map(|(i, at)| (at, i))
                .collect();
            for owner in [Owner::AtOrAfter, Owner::After, Owner::AtOrBefore] {
                let runs = runs(&points, owner, cells);
                assert_eq!(runs[0].0, 0);
                assert!(
                    runs.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 != w[1].1),
                    "{points:?} {owner:?}: {runs:?}"
                );
                for cell in 0..cells {
                    let found = runs.iter().rfind(|run| run.0 <= cell).unwrap().1;
                    assert_eq!(
                        found,
                        walked(&points, owner, cell),
                        "cell {cell} of {points:?} {owner:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn of_equal_positions_the_first_or_the_last_stands() {
        let points = vec![(5, 0), (3, 1), (5, 2), (3, 3)];
        assert_eq!(in_order(points.clone(), Tie::First), [(3, 1), (5, 0)]);
        assert_eq!(in_order(points, Tie::Last), [(3, 3), (5, 2)]);
    }

    /// The servers of different groups that a walk from a point finds.
    fn found(
        points: &[RingPoint],
        from: PointId,
        most: usize,
        group: impl Fn(u32) -> u32,
    ) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for at in 0..points.len() {
            let server = points[(from + at) % points.len()].1;
            if found.len() < most && !found.iter().any(|other| group(*other) == group(server)) {
                found.push(server);
            }
        }
        found
    }

    #[test]
    fn without_points_there_are_no_owners() {
        assert_eq!(owners(&[], Owner::AtOrAfter, 16), [(0, Vec::new())]);
    }

    #[test]
    fn a_walk_passes_the_end_and_lists_nobody_twice() {
        let points = [(1, 0), (2, 1), (3, 1), (4, 2)];
        assert_eq!(
            walks(&points, Owner::AtOrBefore, 5, 3),
            [
                (0, vec![2, 0, 1]),
                (1, vec![0, 1, 2]),
                (2, vec![1, 2, 0]),
                (3, vec![1, 2, 0]),
                (4, vec![2, 0, 1])
            ]
        );
        // all rings of seven points of up to four servers
        for ring in 0..4usize.pow(7) {
            let points: Vec<RingPoint> =
                (0..7).map(|i| (i, (ring >> (2 * i) & 3) as u32)).collect();
            for most in [1, 2, 4] {
                for bits in [0, 1] {
                    let lists =
                        walks_apart(&points, Owner::AtOrBefore, 7, most, |server| server >> bits);
                    for (at, list) in lists {
                        assert_eq!(
                            list,
                            found(&points, at as usize, most, |server| server >> bits),
                            "{points:?} at {at}"
                        );
                    }
                }
            }
        }
    }
}
