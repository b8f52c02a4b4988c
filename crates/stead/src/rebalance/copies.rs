//! Copies: moves what the greedy steps could not settle along shortest paths, so that the number of
//! copies that move is the minimum.

use std::ops::RangeInclusive;

use super::aim::Aim;
use super::domains::Domains;
use super::flow::Flow;
use super::graph::{Costs, Exchange, Run};
use super::holder::{HolderId, Role};
use super::piece::{loads, overlay, Piece};
use super::room::Room;
use super::sets::{SetId, Sets};

/// Makes every exchange that costs at most `limit` a cell and brings a holder nearer to its target,
/// and returns the resulting pieces. `old` is where the rebalance started. In `old` each set has
/// its least possible cost, which keeps the graph free of negative cycles.
pub(super) fn settle(
    old: &[Piece],
    now: &[Piece],
    sets: &mut Sets,
    aim: &Aim,
    limit: i64,
) -> Vec<Piece> {
    let loads = loads(now, sets, aim.holders());
    let run = |(cells, old, set)| Run { cells, set, old };
    let runs = overlay(old, now).map(run).collect();
    let domains = &aim.domains;
    let amounts = (&loads, &aim.targets);
    let mut flow = Flow::new(Copies { domains }, runs, sets, domains, amounts);
    flow.settle(limit);
    flow.into_pieces()
}

/// No costs.
#[allow(clippy::reversed_empty_ranges)] // it is meant to be empty
const NOTHING: RangeInclusive<i64> = 1..=0;

/// The exchange of copies: a copy may go to any holder that has no copy of the point and whose
/// domains are not full.
struct Copies<'a> {
    domains: &'a Domains,
}

impl Copies<'_> {
    /// Returns what it costs that `from` gives up its copy: -1, a refund, when `from` did not have
    /// the copy at the start; otherwise 0.
    fn refund(sets: &Sets, run: &Run, from: HolderId) -> i64 {
        if run.set != run.old && sets.role_of(run.old, from).is_none() {
            -1
        } else {
            0
        }
    }
}

impl Exchange for Copies<'_> {
    fn sources<'a>(&self, sets: &'a Sets, set: SetId) -> &'a [Role] {
        sets.roles(set)
    }

    /// Holders that had a copy at the start and may have it back.
    fn direct(
        &self,
        sets: &Sets,
        room: &Room,
        run: &Run,
        from: HolderId,
        list: &mut Vec<(HolderId, i64)>,
    ) {
        list.clear();
        if run.set == run.old {
            return;
        }
        let back = room.back(sets, run.old, run.set);
        if back.is_empty() {
            return;
        }
        let refund = Copies::refund(sets, run, from);
        let full = room.full(sets, run.set, from);
        // none of them is in the set
        let may = back.iter().filter(|holder| !full.stops(**holder));
        list.extend(may.map(|holder| (*holder, refund)));
    }

    fn costs(&self, sets: &Sets, run: &Run, from: HolderId) -> Costs {
        if run.set == run.old {
            return Costs {
                direct: NOTHING,
                broad: Some(1),
            };
        }
        let refund = Copies::refund(sets, run, from);
        Costs {
            direct: refund..=refund,
            broad: Some(1 + refund),
        }
    }

    fn exchanged(&self, sets: &mut Sets, set: SetId, from: HolderId, to: HolderId) -> SetId {
        sets.swap(set, from, to)
    }

    fn is_sound(&self, sets: &Sets, set: SetId) -> bool {
        // no holder can be in the set twice, since a path visits each holder once
        self.domains.broken(sets.holders(set)).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::distances::{distances, Distance};
    use super::super::graph::Graph;
    use super::super::piece::moved;
    use super::super::table::Table;
    use super::*;

    /// The distances, by following every possible exchange until nothing changes; `None` if that
    /// never ends.
    fn plainly(
        runs: &[Run],
        sets: &Sets,
        domains: &Domains,
        sources: &[HolderId],
    ) -> Option<Table<HolderId, Distance>> {
        let all = || (0..domains.holders() as u32).map(HolderId);
        let mut arcs: Vec<(HolderId, HolderId, i64)> = Vec::new();
        for run in runs {
            let is_new = |holder| i64::from(sets.role_of(run.old, holder).is_none());
            for from in sets.holders(run.set) {
                let rest = || sets.holders(run.set).filter(|other| *other != from);
                let may = |to: &HolderId| *to != from && domains.may_join(*to, rest());
                arcs.extend(
                    all()
                        .filter(may)
                        .map(|to| (from, to, is_new(to) - is_new(from))),
                );
            }
        }
        let mut distance = Table::filled(domains.holders(), Distance::FAR);
        sources
            .iter()
            .for_each(|source| distance[*source] = Distance::ZERO);
        for _ in 0..=domains.holders() {
            let mut changed = false;
            for (from, to, cost) in &arcs {
                if distance[*from] < Distance::FAR {
                    let by_arc = distance[*from].after(*cost);
                    changed |= by_arc < distance[*to];
                    distance[*to] = distance[*to].min(by_arc);
                }
            }
            if !changed {
                return Some(distance);
            }
        }
        None
    }

    #[test]
    fn the_distances_are_those_of_all_possible_exchanges() {
        let (mut state, mut found) = (7u64, [0, 0, 0]);
        let mut random = |end: u64| {
            state += 1;
            crate::map::mix(crate::point::Point(state), 0).0 % end
        };
        for _ in 0..400 {
            let (depth, wide, holders) = (random(4), 1 + random(4), 7 + random(18));
            let values = ["a", "b", "c", "d"];
            let mut path = |holder: u64| -> Option<Vec<&str>> {
                let path = (0..depth).map(|_| values[random(wide) as usize]).collect();
                (holder % 7 != 3).then_some(path)
            };
            let paths: Vec<_> = (0..holders).map(&mut path).collect();
            let domains = Domains::new(&paths, 2 + random(4) as u32);
            let mut sets = Sets::default();
            let mut runs = Vec::new();
            for _ in 0..1 + random(8) {
                let mut all: Vec<u32> = (0..holders as u32).collect();
                (0..all.len()).for_each(|at| all.swap(at, random(holders) as usize));
                let copies = domains.replicas() as usize;
                let old = sets.of(&all[..copies]);
                let mut set = old;
                for _ in 0..random(3) {
                    let at = random(copies as u64) as usize;
                    let from = sets.holders(set).nth(at).unwrap();
                    let to = HolderId(all[copies + random(holders - copies as u64) as usize]);
                    if sets.role_of(set, to).is_none() {
                        set = sets.swap(set, from, to);
                    }
                }
                runs.push(Run { cells: 5, set, old });
            }
            let sources: Vec<HolderId> = (0..1 + random(3))
                .map(|_| HolderId(random(holders) as u32))
                .collect();
            let expected = plainly(&runs, &sets, &domains, &sources);
            let exchange = Copies { domains: &domains };
            let graph = Graph::new(exchange, runs, &mut sets, &domains);
            let made = distances(&graph, &sources);
            assert_eq!(made, expected);
            match made {
                None => found[0] += 1,
                Some(made) => {
                    let near = made.values().iter().filter(|d| **d < Distance::FAR);
                    found[1 + usize::from(near.count() > 5)] += 1;
                }
            }
        }
        assert!(found[2] > 50, "{found:?}: most holders must be reached");
    }

    #[test]
    fn a_copy_reaches_its_target_through_a_third_holder() {
        // 0 has to give 2 cells to 2, but 2 is in every set that 0 is in. So 0 gives to 1 or 3 in
        // one piece, and that one gives to 2 in the other piece
        let mut sets = Sets::default();
        let start = sets.pieces(&[(4, &[0, 2]), (4, &[1, 3])]);
        let aim = Aim::free(2, &[2, 4, 6, 4]);
        let dear = settle(&start, &start, &mut sets, &aim, 1);
        assert_eq!(dear, start, "such a path moves two copies a cell");
        let made = settle(&start, &start, &mut sets, &aim, 2);
        assert_eq!(
            (loads(&made, &sets, 4), moved(&start, &made, &sets)),
            (aim.targets, 4)
        );
    }

    #[test]
    fn no_copy_goes_where_a_domain_is_full() {
        // zones: a has 0 and 1; b has 2 and 3; c has 4. 3 may not replace 0 beside 2, so 1 or 4
        // replaces it and gives way to 3 in the other piece
        let aim = Aim::zoned(&["a", "a", "b", "b", "c"], 2, &[3, 4, 4, 1, 4]);
        let mut sets = Sets::default();
        let start = sets.pieces(&[(4, &[0, 2]), (4, &[1, 4])]);
        let made = settle(&start, &start, &mut sets, &aim, i64::MAX);
        assert_eq!(
            (&loads(&made, &sets, 5), moved(&start, &made, &sets)),
            (&aim.targets, 2)
        );
        assert!(aim.all_fit(&made, &sets));
        // control: without zones 3 takes the copy at once
        let free = Aim::free(2, &[3, 4, 4, 1, 4]);
        let made = settle(&start, &start, &mut sets, &free, i64::MAX);
        assert_eq!(moved(&start, &made, &sets), 1);
    }

    #[test]
    fn a_copy_that_goes_back_to_where_it_was_is_a_refund() {
        let mut sets = Sets::default();
        let (old, now) = (sets.pieces(&[(4, &[0, 1])]), sets.pieces(&[(4, &[2, 1])]));
        let aim = Aim::free(2, &[3, 4, 1]);
        let made = settle(&old, &now, &mut sets, &aim, 0);
        assert_eq!(
            (moved(&old, &now, &sets), moved(&old, &made, &sets)),
            (4, 1)
        );
        // control: giving up a copy that was there at the start is no refund, so it is not free
        assert_eq!(settle(&now, &now, &mut sets, &aim, 0), now);
    }
}
