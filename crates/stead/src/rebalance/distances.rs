//! Distances: how far each holder is from the nearest holder with a surplus, along the arcs of a
//! graph.

use std::collections::VecDeque;

use super::domains::DomainId;
use super::graph::{Exchange, Graph};
use super::holder::HolderId;
use super::room::Full;
use super::sets::SetId;
use super::table::Table;

/// The length of a path: compared by cost first, then by the number of arcs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Distance(i64);

/// What a cost of 1 adds to a distance. A path always has fewer arcs than this.
const COST: i64 = 1 << 32;

impl Distance {
    const LEAST: Distance = Distance(i64::MIN);
    /// The distance of a holder with a surplus.
    pub(super) const ZERO: Distance = Distance(0);
    /// The distance of a holder that cannot be reached.
    pub(super) const FAR: Distance = Distance(i64::MAX);

    /// The distance after one more arc, which costs `cost`.
    pub(super) fn after(self, cost: i64) -> Distance {
        Distance(self.0 + cost * COST + 1)
    }

    /// The cost of the path, without its number of arcs.
    pub(super) fn cost(self) -> i64 {
        self.0.div_euclid(COST)
    }
}

/// Computes the distance of each holder from the nearest of `sources`. Costs may be negative.
/// Returns `None` if there is a negative cycle, which the theory rules out.
pub(super) fn distances<E: Exchange>(
    graph: &Graph<E>,
    sources: &[HolderId],
) -> Option<Table<HolderId, Distance>> {
    let holders = graph.domains.holders();
    let mut search = Search {
        graph,
        distance: Table::filled(holders, Distance::FAR),
        queue: VecDeque::new(),
        queued: Table::filled(holders, false),
        farthest: Table::filled(graph.domains.list().len(), Distance::FAR),
        farthest_of_all: Distance::FAR,
        bound: Distance::FAR,
        visits: 0,
        direct: Vec::new(),
    };
    for source in sources {
        search.reach(*source, Distance::ZERO);
    }
    let mut visits: Table<HolderId, usize> = Table::filled(holders, 0);
    while let Some(from) = search.queue.pop_front() {
        search.queued[from] = false;
        // without negative cycles, no holder is visited more often than there are holders
        // (Bellman-Ford with a queue)
        visits[from] += 1;
        if visits[from] > holders {
            return None;
        }
        search.visit(from);
    }
    Some(search.distance)
}

/// A label-correcting search.
struct Search<'a, 'b, E> {
    graph: &'a Graph<'b, E>,
    distance: Table<HolderId, Distance>,
    /// The holders that came nearer since they were last visited.
    queue: VecDeque<HolderId>,
    queued: Table<HolderId, bool>,
    /// For each domain, an upper bound on the distances of the holders in it.
    farthest: Table<DomainId, Distance>,
    farthest_of_all: Distance,
    /// An upper bound on the distances of all holders that can hold, found now and then.
    bound: Distance,
    /// How many holders were visited.
    visits: usize,
    /// The exchanges of the run that is being visited. It is kept only to reuse its memory.
    direct: Vec<(HolderId, i64)>,
}

impl<E: Exchange> Search<'_, '_, E> {
    /// Follows all arcs of a holder.
    fn visit(&mut self, from: HolderId) {
        let Graph { exchange, sets, .. } = self.graph;
        let start = self.distance[from];
        if self.visits % (self.distance.len() / 64 + 1) == 0 {
            let holding = self.distance.iter();
            let holding = holding.filter(|(holder, _)| self.graph.domains.can_hold(*holder));
            let farthest = holding.map(|(_, distance)| *distance).max();
            self.bound = farthest.unwrap_or(Distance::FAR);
        }
        self.visits += 1;
        let mut place = 0;
        let mut direct = std::mem::take(&mut self.direct);
        while let Some((at, id)) = self.graph.next_run(from, place) {
            place = at + 1;
            let run = self.graph.run(id);
            let costs = exchange.costs(sets, &run, from);
            // often all holders are as near already
            if !costs.direct.is_empty() && start.after(*costs.direct.start()) < self.bound {
                self.graph.direct(&run, from, &mut direct);
                for (to, cost) in &direct {
                    self.reach(*to, start.after(*cost));
                }
            }
            if let Some(cost) = costs.broad {
                let distance = start.after(cost);
                if self.farthest_of_all > distance {
                    let full = self.graph.full(&run, from);
                    self.farthest_of_all = self.reach_inside(None, run.set, &full, distance);
                }
            }
        }
        self.direct = direct;
    }

    /// Lowers the distance of a holder to `distance`, unless it is already as low.
    fn reach(&mut self, holder: HolderId, distance: Distance) {
        if self.distance[holder] > distance {
            self.distance[holder] = distance;
            if !std::mem::replace(&mut self.queued[holder], true) {
                self.queue.push_back(holder);
            }
        }
    }

    /// Lowers the distance of every holder in the binding domain `whole`, or of all holders, that
    /// is neither in the set nor in a full domain. Skips domains in which all holders are as near
    /// already. Returns an upper bound on the distances inside.
    fn reach_inside(
        &mut self,
        whole: Option<DomainId>,
        set: SetId,
        full: &Full,
        distance: Distance,
    ) -> Distance {
        let Graph { domains, sets, .. } = self.graph;
        let mut farthest = Distance::LEAST;
        let Some(inside) = domains.bound(whole) else {
            return farthest;
        };
        for part in &inside.parts {
            if self.farthest[*part] > distance && !full.has(*part) {
                self.farthest[*part] = self.reach_inside(Some(*part), set, full, distance);
            }
            farthest = farthest.max(self.farthest[*part]);
        }
        for holder in &inside.members {
            if self.distance[*holder] > distance && sets.role_of(set, *holder).is_none() {
                self.reach(*holder, distance);
            }
            farthest = farthest.max(self.distance[*holder]);
        }
        farthest
    }
}
