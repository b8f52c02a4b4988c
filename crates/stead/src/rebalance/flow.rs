//! Flow: exchanges along shortest paths until every holder has its target, with the least cost.
//!
//! An arc of the graph costs 1 when it leads to a holder that had no copy at the start, -1 when it
//! leaves such a holder again (a refund), and otherwise 0. The algorithm is successive shortest
//! paths, from the holders that have too much to those that have too little. At any time, the cost
//! of what is settled so far is the minimum (Ahuja, Magnanti, Orlin, Network Flows, chapter 9).
//! Pieces can be cut at any cell, so the exchanges of one set are independent of each other. Among
//! paths of the same cost, those with the fewest arcs are taken, so that exchanges within one piece
//! do not block each other.
//!
//! Each round computes the distances of all holders and then pushes cells along all shortest paths.

use std::ops::RangeInclusive;

use super::distances::{distances, Distance};
use super::domains::Domains;
use super::graph::{Arc, Exchange, Graph, Run, COSTS};
use super::holder::{ByHolder, HolderId};
use super::piece::Piece;
use super::pool::{Pool, Spot};
use super::sets::Sets;
use super::table::{Id, Table};

/// Exchanges in a graph, and the surplus and deficit that they still have to settle.
pub(super) struct Flow<'a, E> {
    graph: Graph<'a, E>,
    /// How many cells each holder has too many.
    pub excess: ByHolder,
    /// How many cells each holder has too few.
    pub deficit: ByHolder,
}

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// No holder has a surplus any more, or none has a deficit.
    Settled,
    /// The next path would cost more than the limit.
    TooDear,
    /// There is no path.
    Stuck,
}

impl<'a, E: Exchange> Flow<'a, E> {
    /// A flow over these runs, in their order, from the loads `now` to the loads `wanted`.
    pub(super) fn new(
        exchange: E,
        runs: Vec<Run>,
        sets: &'a mut Sets,
        domains: &'a Domains,
        (now, wanted): (&ByHolder, &ByHolder),
    ) -> Self {
        Flow {
            graph: Graph::new(exchange, runs, sets, domains),
            excess: now.above(wanted),
            deficit: wanted.above(now),
        }
    }

    /// Settles everything that paths of a cost of at most `limit` can settle.
    pub(super) fn settle(&mut self, limit: i64) -> Outcome {
        loop {
            if self.excess.sum() == 0 || self.deficit.sum() == 0 {
                return Outcome::Settled;
            }
            let sources: Vec<HolderId> = self.excess.above_zero().collect();
            let Some(distance) = distances(&self.graph, &sources) else {
                return Outcome::Stuck;
            };
            let lacking = self.deficit.above_zero();
            match lacking.map(|holder| distance[holder]).min() {
                None | Some(Distance::FAR) => return Outcome::Stuck,
                Some(nearest) if nearest.cost() > limit => return Outcome::TooDear,
                Some(_) => {}
            }
            if !self.push(&sources, limit, Walk::new(distance, self.graph.domains)) {
                return Outcome::Stuck;
            }
        }
    }

    /// The runs as pieces, in order.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        self.graph.into_pieces()
    }

    /// Pushes cells along shortest paths until none is left. Returns whether there was one.
    fn push(&mut self, sources: &[HolderId], limit: i64, mut walk: Walk) -> bool {
        let mut pushed = false;
        for source in sources {
            while self.excess[*source] > 0 {
                let Some(path) = self.path(*source, limit, &mut walk) else {
                    break;
                };
                match self.take(*source, &path) {
                    Ok(()) => pushed = true,
                    // this arc needs another run
                    Err(arc) => walk.cursor[arc.from].next_run(),
                }
            }
        }
        pushed
    }

    /// A shortest path from `source` to a holder that has too little.
    fn path(&self, source: HolderId, limit: i64, walk: &mut Walk) -> Option<Vec<Arc>> {
        let mut path: Vec<Arc> = Vec::new();
        loop {
            let here = path.last().map_or(source, |arc| arc.to);
            if self.deficit[here] > 0 && walk.distance[here].cost() <= limit {
                return Some(path);
            }
            match self.next_arc(here, walk) {
                Some(arc) => path.push(arc),
                None => {
                    walk.bury(here);
                    path.pop()?;
                }
            }
        }
    }

    /// The next arc from the holder `from` that is part of a shortest path and is not known to be a
    /// dead end.
    fn next_arc(&self, from: HolderId, walk: &mut Walk) -> Option<Arc> {
        if !walk.may_go_on(walk.distance[from], COSTS) {
            return None;
        }
        loop {
            let cursor = walk.cursor[from];
            let (at, id) = self.graph.next_run(from, cursor.run)?;
            if at > cursor.run {
                walk.cursor[from] = Cursor::at_run(at);
            }
            if let Some(to) = self.next_in_run(&self.graph.run(id), from, walk) {
                return Some(Arc { run: id, from, to });
            }
            walk.cursor[from].next_run();
        }
    }

    /// The next holder that can replace `from` in the run on a shortest path.
    fn next_in_run(&self, run: &Run, from: HolderId, walk: &mut Walk) -> Option<HolderId> {
        let Graph { exchange, sets, .. } = &self.graph;
        let start = walk.distance[from];
        let costs = exchange.costs(sets, run, from);
        if walk.may_go_on(start, costs.direct) {
            self.graph.direct(run, from, &mut walk.direct);
            for (to, cost) in &walk.direct {
                if !walk.dead[*to] && walk.distance[*to] == start.after(*cost) {
                    return Some(*to);
                }
            }
        }
        let near = walk
            .layer(start.after(costs.broad?))
            .filter(|near| !near.pool.is_empty())?;
        let full = self.graph.full(run, from);
        // a holder that had a copy at the start comes back by `direct` or not at all
        let had = |to: HolderId| run.set != run.old && sets.role_of(run.old, to).is_some();
        let may = |to: HolderId| sets.role_of(run.set, to).is_none() && !had(to);
        let (at, to) = near.pool.first(walk.cursor[from].near, &full, may)?;
        walk.cursor[from].near = at;
        Some(to)
    }

    /// Makes all exchanges of a path, for as many cells as possible. If that is not possible,
    /// returns the arc that prevents it.
    ///
    /// A run that the path uses twice is cut into one part for each exchange. A single cell cannot
    /// be cut: then both exchanges are made in it, if the resulting set is allowed.
    fn take(&mut self, source: HolderId, path: &[Arc]) -> Result<(), Arc> {
        let sink = path.last().map_or(source, |arc| arc.to);
        let mut cells = self.excess[source].min(self.deficit[sink]);
        for arc in path {
            let same_run = |other: &&Arc| other.run == arc.run;
            let uses = path.iter().filter(same_run).count() as u128;
            let has = self.graph.run(arc.run).cells;
            if has >= uses {
                cells = cells.min(has / uses);
            } else if self.graph.may_all(arc.run, path) {
                cells = cells.min(1);
            } else {
                return Err(*path.iter().rfind(same_run).unwrap_or(arc));
            }
        }
        for arc in path {
            self.graph.apply(*arc, cells);
        }
        self.excess[source] -= cells;
        self.deficit[sink] -= cells;
        Ok(())
    }
}

/// How far a walk has tried the arcs of a holder: the position in its list of runs, and the
/// position among the holders at the right distance.
#[derive(Clone, Copy)]
struct Cursor {
    run: usize,
    near: Spot,
}

impl Cursor {
    /// At the first holder that may take part in this run.
    fn at_run(run: usize) -> Cursor {
        Cursor {
            run,
            near: Spot::new(0),
        }
    }

    fn next_run(&mut self) {
        *self = Cursor::at_run(self.run + 1);
    }
}

/// A walk along shortest paths. An arc that led nowhere is not tried again.
struct Walk<'a> {
    distance: Table<HolderId, Distance>,
    cursor: Table<HolderId, Cursor>,
    /// The holders from which no path is left.
    dead: Table<HolderId, bool>,
    /// The holders that were reached, by their distance.
    layers: Vec<(Distance, Layer<'a>)>,
    /// The exchanges of the run that is being tried. It is kept only to reuse its memory.
    direct: Vec<(HolderId, i64)>,
}

/// The holders at one distance.
struct Layer<'a> {
    /// How many are not dead.
    alive: usize,
    /// Those that can hold; the dead ones are closed.
    pool: Pool<'a>,
}

impl<'a> Walk<'a> {
    fn new(distance: Table<HolderId, Distance>, domains: &'a Domains) -> Walk<'a> {
        let reached = distance
            .iter()
            .map(|(holder, distance)| (*distance, holder));
        let mut reached: Vec<(Distance, HolderId)> = reached
            .filter(|(distance, _)| *distance < Distance::FAR)
            .collect();
        reached.sort_unstable();
        let layer = |alike: &[(Distance, HolderId)]| {
            let holders = alike.iter().map(|(_, holder)| *holder);
            let layer = Layer {
                alive: alike.len(),
                pool: Pool::new(domains, holders.filter(|h| domains.can_hold(*h)).collect()),
            };
            Some((alike.first()?.0, layer))
        };
        let layers = reached.chunk_by(|a, b| a.0 == b.0);
        Walk {
            cursor: Table::filled(distance.len(), Cursor::at_run(0)),
            dead: Table::filled(distance.len(), false),
            layers: layers.filter_map(layer).collect(),
            direct: Vec::new(),
            distance,
        }
    }

    /// The holders at a distance, if there are any.
    fn layer(&self, distance: Distance) -> Option<&Layer<'a>> {
        let place = self
            .layers
            .binary_search_by_key(&distance, |(at, _)| *at)
            .ok()?;
        self.layers.get(place).map(|(_, layer)| layer)
    }

    /// Whether an arc of one of these costs may lead on from a holder at the distance `start`.
    fn may_go_on(&self, start: Distance, mut costs: RangeInclusive<i64>) -> bool {
        costs.any(|cost| {
            let layer = self.layer(start.after(cost));
            layer.is_some_and(|layer| layer.alive > 0)
        })
    }

    /// Notes that no path is left from a holder.
    fn bury(&mut self, holder: HolderId) {
        if std::mem::replace(&mut self.dead[holder], true) {
            return;
        }
        let distance = self.distance[holder];
        if let Ok(place) = self.layers.binary_search_by_key(&distance, |(at, _)| *at) {
            if let Some((_, layer)) = self.layers.get_mut(place) {
                layer.alive -= 1;
                layer.pool.close(holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::Costs;
    use super::super::holder::Role;
    use super::super::piece::PieceId;
    use super::super::room::Room;
    use super::super::sets::SetId;
    use super::super::table::Id;
    use super::*;

    /// An exchange for four holders, numbered 0 to 3. Each but the last may be replaced by the next
    /// number, at a cost of 1. `sound` says whether a set that results from several exchanges is
    /// allowed.
    struct Next {
        sound: bool,
    }

    impl Exchange for Next {
        fn sources<'a>(&self, sets: &'a Sets, set: SetId) -> &'a [Role] {
            sets.roles(set)
        }
        fn direct(
            &self,
            _: &Sets,
            _: &Room,
            _: &Run,
            from: HolderId,
            list: &mut Vec<(HolderId, i64)>,
        ) {
            list.clear();
            list.extend((from.0 < 3).then(|| (HolderId(from.0 + 1), 1)));
        }
        fn costs(&self, _: &Sets, _: &Run, _: HolderId) -> Costs {
            Costs {
                direct: 1..=1,
                broad: None,
            }
        }
        fn exchanged(&self, sets: &mut Sets, set: SetId, from: HolderId, to: HolderId) -> SetId {
            sets.swap(set, from, to)
        }
        fn is_sound(&self, _: &Sets, _: SetId) -> bool {
            self.sound
        }
    }

    /// Four holders without domains.
    fn four() -> Domains {
        Domains::new(&vec![Some(Vec::new()); 4], 1)
    }

    fn runs(pieces: &[Piece]) -> Vec<Run> {
        let run = |piece: &Piece| Run {
            cells: piece.cells,
            set: piece.set,
            old: piece.set,
        };
        pieces.iter().map(run).collect()
    }

    /// A flow that starts with these pieces, excesses and deficits.
    fn flow<'a>(
        sound: bool,
        start: &[Piece],
        (sets, domains): (&'a mut Sets, &'a Domains),
        excess: [u128; 4],
        deficit: [u128; 4],
    ) -> Flow<'a, Next> {
        let (excess, deficit) = (excess.to_vec().into(), deficit.to_vec().into());
        let amounts = (&excess, &deficit);
        Flow::new(Next { sound }, runs(start), sets, domains, amounts)
    }

    #[test]
    fn cells_move_along_a_path_and_are_cut_off_where_they_add_no_border() {
        let settled = |excess, deficit, limit| {
            let (mut sets, domains) = (Sets::default(), four());
            let start = sets.pieces(&[(5, &[0]), (5, &[1]), (5, &[2])]);
            let mut flow = flow(true, &start, (&mut sets, &domains), excess, deficit);
            let end = flow.settle(limit);
            let left = flow.excess.sum();
            let cells: Vec<u128> = flow.into_pieces().iter().map(|piece| piece.cells).collect();
            (end, left, cells)
        };
        assert_eq!(
            settled([2, 0, 0, 0], [0, 0, 2, 0], 1),
            (Outcome::TooDear, 2, vec![5, 5, 5])
        );
        assert_eq!(
            settled([2, 0, 0, 0], [0, 0, 2, 0], 2),
            (Outcome::Settled, 0, vec![3, 5, 7])
        );
        // no arc leads to a lower number
        assert_eq!(
            settled([0, 0, 2, 0], [2, 0, 0, 0], i64::MAX),
            (Outcome::Stuck, 2, vec![5, 5, 5])
        );
    }

    #[test]
    fn the_nearest_deficit_is_filled_first_and_the_rest_stays_open() {
        let (mut sets, domains) = (Sets::default(), four());
        let start = sets.pieces(&[(5, &[0]), (5, &[1]), (5, &[2])]);
        let (excess, deficit) = ([3, 0, 0, 0], [0, 2, 0, 9]);
        let mut flow = flow(true, &start, (&mut sets, &domains), excess, deficit);
        assert_eq!(
            flow.settle(1),
            Outcome::TooDear,
            "one of three is left, and the other who lacks some is 3 away"
        );
        assert_eq!(
            (flow.excess.values(), flow.deficit.values()),
            (&[1, 0, 0, 0][..], &[0, 0, 0, 9][..])
        );
        assert_eq!(flow.settle(3), Outcome::Settled);
        assert_eq!(flow.deficit.values(), [0, 0, 0, 8]);
    }

    #[test]
    fn a_run_used_twice_is_cut_and_a_single_cell_takes_both_exchanges_or_none() {
        // 0 -> 1 in the first run, 1 -> 2 in the second, 2 -> 3 in the first again
        let path = [(0, 0, 1), (1, 1, 2), (0, 2, 3)].map(|(run, from, to)| Arc {
            run: PieceId::new(run),
            from: HolderId(from),
            to: HolderId(to),
        });
        let taken = |cells: u128, sound: bool| {
            let (mut sets, domains) = (Sets::default(), four());
            let start = sets.pieces(&[(cells, &[0, 2]), (cells, &[1])]);
            let (excess, deficit) = ([9, 0, 0, 0], [0, 0, 0, 9]);
            let mut flow = flow(sound, &start, (&mut sets, &domains), excess, deficit);
            let in_the_way = flow
                .take(HolderId(0), &path)
                .err()
                .map(|arc| (arc.run.place(), arc.from.0));
            let (left, pieces) = (flow.excess[HolderId(0)], flow.into_pieces());
            let holders = |piece: &Piece| {
                (
                    piece.cells,
                    sets.holders(piece.set)
                        .map(|holder| holder.0)
                        .collect::<Vec<u32>>(),
                )
            };
            (
                in_the_way,
                left,
                pieces.iter().map(holders).collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            taken(1, true),
            (None, 8, vec![(1, vec![1, 3]), (1, vec![2])])
        );
        assert_eq!(
            taken(1, false),
            (Some((0, 2)), 9, vec![(1, vec![0, 2]), (1, vec![1])])
        );
        // three cells: one for each exchange, and one is left; `is_sound` is not asked
        let expected = [
            (1, vec![1, 2]),
            (1, vec![0, 3]),
            (1, vec![0, 2]),
            (1, vec![2]),
            (2, vec![1]),
        ];
        let (in_the_way, left, mut pieces) = taken(3, false);
        pieces.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!((in_the_way, left, pieces), (None, 8, expected));
    }
}
