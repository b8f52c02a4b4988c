//! Graph: the exchanges that are possible, as arcs between holders.
//!
//! The holders are the vertices; where a run of cells lets holder `a` be replaced by `b`, there is
//! an arc from `a` to `b` with the run's length as its capacity. The cost of an arc is what it
//! moves. What differs between exchanging copies and exchanging primaries is in `Exchange`.
//!
//! An exchange in a part of a run cuts the run, so a graph keeps its runs in a chain.

use super::chain::Chain;
use super::domains::{DomainId, Domains};
use super::holder::{HolderId, Role};
use super::piece::{join, Piece, PieceId};
use super::sets::{SetId, Sets};
use super::table::Table;

/// A run of cells that has the same set, and had the same set before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// How many cells.
    pub cells: u128,
    /// Who has them now.
    pub set: SetId,
    /// Who had them.
    pub old: SetId,
}

/// What is exchanged.
pub(super) trait Exchange {
    /// The roles of a set whose holders can be replaced.
    fn sources<'a>(&self, sets: &'a Sets, set: SetId) -> &'a [Role];
    /// Holders that may replace `from` in the run, each at a cost of its own.
    fn direct(&self, sets: &Sets, run: &Run, from: HolderId) -> Vec<(HolderId, i64)>;
    /// The cost at which any other holder may replace `from` as far as the caps allow, if any may.
    fn broad(&self, sets: &Sets, run: &Run, from: HolderId) -> Option<i64>;
    /// The set with `to` in the place of `from`.
    fn exchanged(&self, sets: &mut Sets, set: SetId, from: HolderId, to: HolderId) -> SetId;
    /// Whether a set that came of several exchanges is one that may be.
    fn is_sound(&self, sets: &Sets, set: SetId) -> bool;
}

/// An exchange in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// In which run.
    pub run: PieceId,
    /// Who is replaced.
    pub from: HolderId,
    /// By whom.
    pub to: HolderId,
}

/// All exchanges that are possible.
pub(super) struct Graph<'a, E> {
    pub exchange: E,
    pub sets: &'a mut Sets,
    pub domains: &'a Domains,
    runs: Chain<Run>,
    /// for each holder the runs in which it can be replaced, and some in which it was
    of: Table<HolderId, Vec<PieceId>>,
}

impl<'a, E: Exchange> Graph<'a, E> {
    /// The graph of these runs, in their order, for as many holders as `domains` has.
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
            runs: Chain::new(runs),
            of: Table::filled(domains.holders(), Vec::new()),
        };
        for id in graph.runs.ids() {
            graph.enter(id);
        }
        graph
    }

    /// Enters a run for each holder that can be replaced in it.
    fn enter(&mut self, id: PieceId) {
        for role in self.exchange.sources(self.sets, self.runs[id].set) {
            self.of[role.holder()].push(id);
        }
    }

    /// A run.
    pub(super) fn run(&self, id: PieceId) -> Run {
        self.runs[id]
    }

    /// The first of a holder's runs, from the one with this number in its list on, in which it can
    /// still be replaced: its number and itself.
    pub(super) fn next_run(&self, holder: HolderId, from: usize) -> Option<(usize, PieceId)> {
        let live = |(_, id): &(usize, PieceId)| {
            let sources = self.exchange.sources(self.sets, self.runs[*id].set);
            sources.iter().any(|role| role.holder() == holder)
        };
        let runs = self.of[holder].iter().copied();
        runs.enumerate().skip(from).find(live)
    }

    /// The domains that take no more copies of a run when `from` gives its up.
    pub(super) fn full(&self, run: &Run, from: HolderId) -> Vec<DomainId> {
        let rest = self.sets.holders(run.set);
        self.domains.full(rest.filter(|holder| *holder != from))
    }

    /// Makes the exchange of an arc in `cells` cells of its run: in the whole run, or in a part
    /// that is cut off at the end where it makes no new border.
    pub(super) fn apply(&mut self, arc: Arc, cells: u128) {
        let run = self.runs[arc.run];
        let exchange = &self.exchange;
        let set = exchange.exchanged(self.sets, run.set, arc.from, arc.to);
        if cells == run.cells {
            self.runs[arc.run].set = set;
            self.of[arc.to].push(arc.run);
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

    /// Whether a run of one cell may have all exchanges that the path makes in it.
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
