//! Graph: all possible exchanges, as arcs between holders.
//!
//! The holders are the vertices. Where holder `b` may replace holder `a` in a run of cells, there
//! is an arc from `a` to `b` with the length of the run as its capacity. The cost of an arc is what
//! the exchange moves. `Exchange` holds what differs between exchanging copies and exchanging
//! primaries.
//!
//! An exchange in a part of a run cuts the run, so the graph keeps its runs in a chain.

use std::ops::RangeInclusive;

use super::chain::Chain;
use super::domains::Domains;
use super::holder::{HolderId, Role};
use super::piece::{join, Piece, PieceId};
use super::room::{Full, Room};
use super::sets::{SetId, Sets};
use super::table::Table;

/// A run of cells that have the same set now, and had the same set at the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The number of cells.
    pub cells: u128,
    /// The set that has them now.
    pub set: SetId,
    /// The set that had them at the start.
    pub old: SetId,
}

/// The costs that an exchange can have.
pub(super) const COSTS: RangeInclusive<i64> = -1..=1;

/// A kind of exchange: of copies, or of primaries. Each exchange has one of the `COSTS`, and leads
/// to a holder that can hold.
pub(super) trait Exchange {
    /// The roles of a set whose holders can be replaced.
    fn sources<'a>(&self, sets: &'a Sets, set: SetId) -> &'a [Role];
    /// Lists the holders that may replace `from` in the run, each at a cost of its own. What `list`
    /// had before is removed.
    fn direct(
        &self,
        sets: &Sets,
        room: &Room,
        run: &Run,
        from: HolderId,
        list: &mut Vec<(HolderId, i64)>,
    );
    /// What it costs that another holder replaces `from` in the run.
    fn costs(&self, sets: &Sets, run: &Run, from: HolderId) -> Costs;
    /// The set after `to` has replaced `from`.
    fn exchanged(&self, sets: &mut Sets, set: SetId, from: HolderId, to: HolderId) -> SetId;
    /// Whether a set that results from several exchanges is allowed.
    fn is_sound(&self, sets: &Sets, set: SetId) -> bool;
}

/// The costs of the exchanges in which a holder is replaced in a run.
pub(super) struct Costs {
    /// What those that `direct` lists can cost; an empty range when it lists none.
    pub direct: RangeInclusive<i64>,
    /// The cost at which any other holder may replace it, as far as the caps allow. `None` when
    /// only the holders of `direct` may. Those that had a copy at the start are no others.
    pub broad: Option<i64>,
}

/// An exchange in a run: an arc of the graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// The run.
    pub run: PieceId,
    /// The holder that is replaced.
    pub from: HolderId,
    /// The holder that replaces it.
    pub to: HolderId,
}

/// All possible exchanges.
pub(super) struct Graph<'a, E> {
    pub exchange: E,
    pub sets: &'a mut Sets,
    pub domains: &'a Domains,
    room: Room<'a>,
    runs: Chain<Run>,
    /// For each holder, all runs in which it can be replaced, with their sets at the time when this
    /// was noted. The list may also contain runs in which it no longer can.
    of: Table<HolderId, Vec<(PieceId, SetId)>>,
}

impl<'a, E: Exchange> Graph<'a, E> {
    /// The graph of these runs, in their order. It has as many holders as `domains`.
    pub(super) fn new(
        exchange: E,
        runs: Vec<Run>,
        sets: &'a mut Sets,
        domains: &'a Domains,
    ) -> Self {
        let mut graph = Graph {
            exchange,
            sets,
            domains,
            room: Room::new(domains),
            runs: Chain::new(runs),
            of: Table::default(),
        };
        // with many copies these lists are large, so none of them grows by doubling
        let mut counts: Table<HolderId, usize> = Table::filled(domains.holders(), 0);
        for id in graph.runs.ids() {
            let roles = graph.exchange.sources(graph.sets, graph.runs[id].set);
            roles.iter().for_each(|role| counts[role.holder()] += 1);
        }
        let counts = counts.into_values().into_iter();
        graph.of = counts.map(Vec::with_capacity).collect();
        for id in graph.runs.ids() {
            graph.enter(id);
        }
        graph
    }

    /// Adds a run to the list of each holder that can be replaced in it.
    fn enter(&mut self, id: PieceId) {
        let set = self.runs[id].set;
        for role in self.exchange.sources(self.sets, set) {
            self.of[role.holder()].push((id, set));
        }
    }

    /// A run.
    pub(super) fn run(&self, id: PieceId) -> Run {
        self.runs[id]
    }

    /// The first run in a holder's list, from the position `from` on, in which the holder can still
    /// be replaced. Returns the position and the run.
    pub(super) fn next_run(&self, holder: HolderId, from: usize) -> Option<(usize, PieceId)> {
        let live = |(_, (id, noted)): &(usize, (PieceId, SetId))| {
            let set = self.runs[*id].set;
            // most runs still have the set, which then need not be read
            set == *noted || {
                let sources = self.exchange.sources(self.sets, set);
                sources.iter().any(|role| role.holder() == holder)
            }
        };
        let runs = self.of[holder].iter().copied();
        let (at, (id, _)) = runs.enumerate().skip(from).find(live)?;
        Some((at, id))
    }

    /// Lists the holders that may replace `from` in the run, each at a cost of its own.
    pub(super) fn direct(&self, run: &Run, from: HolderId, list: &mut Vec<(HolderId, i64)>) {
        self.exchange.direct(self.sets, &self.room, run, from, list);
    }

    /// The domains that can take no further copy of a run after `from` has given up its copy.
    pub(super) fn full(&self, run: &Run, from: HolderId) -> Full<'a> {
        self.room.full(self.sets, run.set, from)
    }

    /// Makes the exchange of an arc in `cells` cells of its run: in the whole run, or in a part
    /// that is cut off. The part is cut off beside a neighbour that has the new set already, if
    /// there is one, so that no border is added.
    pub(super) fn apply(&mut self, arc: Arc, cells: u128) {
        let run = self.runs[arc.run];
        let exchange = &self.exchange;
        let set = exchange.exchanged(self.sets, run.set, arc.from, arc.to);
        if cells == run.cells {
            self.runs[arc.run].set = set;
            self.of[arc.to].push((arc.run, set));
            return;
        }
        self.runs[arc.run].cells -= cells;
        let [left, right] = self.runs.neighbours(arc.run);
        let has_set = |beside: Option<PieceId>| beside.is_some_and(|id| self.runs[id].set == set);
        let part = Run { cells, set, ..run };
        let cut_off = if has_set(right) && !has_set(left) {
            self.runs.put_right(arc.run, part)
        } else {
            self.runs.put_left(arc.run, part)
        };
        self.enter(cut_off);
    }

    /// Whether a run of one cell may take all exchanges that the path makes in it.
    pub(super) fn may_all(&mut self, id: PieceId, path: &[Arc]) -> bool {
        let Run { cells, mut set, .. } = self.runs[id];
        if cells != 1 {
            return false;
        }
        for arc in path.iter().filter(|arc| arc.run == id) {
            set = self.exchange.exchanged(self.sets, set, arc.from, arc.to);
        }
        self.exchange.is_sound(self.sets, set)
    }

    /// The runs as pieces, in order.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        let piece = |run: Run| Piece {
            cells: run.cells,
            set: run.set,
        };
        join(self.runs.in_order().map(piece))
    }
}
