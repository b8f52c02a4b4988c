//! Flow: exchanges along shortest paths until everybody has the target, with the least cost there
//! is.
//!
//! The holders are the vertices; where a piece lets holder `a` be replaced by `b`, there is an arc
//! from `a` to `b` with the piece's length as its capacity. The cost of an arc is what it moves: 1
//! onto a holder that has no old copy, -1 when such a holder is left again (a refund), else 0.
//! Successive shortest paths from those who have too much to those who have too little keep the
//! whole at the least cost for what is settled so far (Ahuja, Magnanti, Orlin, Network Flows,
//! chapter 9). The pieces can be cut at any cell, which makes the exchanges of one set independent
//! of each other; among paths of one cost those with the fewest arcs are taken, so that exchanges
//! within one piece do not stand in each other's way.
//!
//! A round finds the distances of all holders and then pushes along all shortest paths. What
//! differs between exchanging copies and exchanging primaries is in `Kind`.

use std::collections::{BTreeMap, VecDeque};

use super::domains::{DomainId, Domains};
use super::holder::{ByHolder, HolderId};
use super::piece::{join, Piece};
use super::sets::{SetId, Sets};

/// Cost first, then the number of arcs.
type Distance = i64;
const COST: Distance = 1 << 32;
const FAR: Distance = Distance::MAX;

/// A run of cells that has the same set, and had the same set before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub cells: u128,
    pub set: SetId,
    pub old: SetId,
    left: Option<usize>,
    right: Option<usize>,
}

impl Run {
    pub(super) fn new(cells: u128, set: SetId, old: SetId) -> Run {
        Run {
            cells,
            set,
            old,
            left: None,
            right: None,
        }
    }
}

/// What is exchanged.
pub(super) trait Kind {
    /// The holders of a set that can be replaced.
    fn sources(&self, sets: &Sets, set: SetId) -> Vec<HolderId>;
    /// Holders that may replace `from` in the run at a cost of their own.
    fn direct(
        &self,
        sets: &Sets,
        domains: &Domains,
        run: &Run,
        from: HolderId,
    ) -> Vec<(HolderId, i64)>;
    /// The cost at which any other holder may replace `from`, if any may.
    fn broad(&self, sets: &Sets, run: &Run, from: HolderId) -> Option<i64>;
    /// The set with `to` in the place of `from`.
    fn exchange(&self, sets: &mut Sets, set: SetId, from: HolderId, to: HolderId) -> SetId;
    /// Whether a set that came of several exchanges is one that may be.
    fn is_sound(&self, sets: &Sets, domains: &Domains, set: SetId) -> bool;
}

/// The state of a flow.
pub(super) struct Flow<'a, K> {
    kind: K,
    sets: &'a mut Sets,
    domains: &'a Domains,
    runs: Vec<Run>,
    /// for each holder the runs in which it can be replaced, and some in which it was
    of: Vec<Vec<usize>>,
    pub excess: ByHolder,
    pub deficit: ByHolder,
    distance: Vec<Distance>,
    /// for each domain, and last for those that are in none, a number that no distance in it is
    /// above
    farthest: Vec<Distance>,
}

/// How a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// Everybody who had too much got rid of it.
    Settled,
    /// The next path would cost more than the limit.
    TooDear,
    /// There is no path.
    Stuck,
}

impl<'a, K: Kind> Flow<'a, K> {
    /// A flow over the runs, in their order. `excess` and `deficit`: what holders have too much and
    /// too little.
    pub(super) fn new(
        kind: K,
        runs: Vec<Run>,
        sets: &'a mut Sets,
        domains: &'a Domains,
        excess: ByHolder,
        deficit: ByHolder,
    ) -> Self {
        let mut flow = Flow {
            kind,
            sets,
            domains,
            of: vec![Vec::new(); excess.0.len()],
            distance: vec![FAR; excess.0.len()],
            farthest: vec![FAR; domains.list().len() + 1],
            runs,
            excess,
            deficit,
        };
        let last = flow.runs.len().saturating_sub(1);
        for i in 0..flow.runs.len() {
            if let Some(run) = flow.runs.get_mut(i) {
                (run.left, run.right) = (i.checked_sub(1), (i < last).then_some(i + 1));
            }
            flow.list(i);
        }
        flow
    }

    fn run(&self, i: usize) -> Option<Run> {
        self.runs.get(i).copied()
    }

    /// Enters a run for each holder that can be replaced in it.
    fn list(&mut self, i: usize) {
        let Some(run) = self.run(i) else { return };
        for holder in self.kind.sources(self.sets, run.set) {
            if let Some(list) = self.of.get_mut(holder.index()) {
                list.push(i);
            }
        }
    }

    fn distance(&self, holder: HolderId) -> Distance {
        self.distance.get(holder.index()).copied().unwrap_or(FAR)
    }

    /// Settles what can be settled at a cost of at most `limit` a path.
    pub(super) fn settle(&mut self, limit: i64) -> End {
        loop {
            if self.excess.sum() == 0 || self.deficit.sum() == 0 {
                return End::Settled;
            }
            if !self.search() {
                return End::Stuck;
            }
            let nearest = self
                .deficit
                .iter()
                .filter(|(_, cells)| *cells > 0)
                .map(|(holder, _)| self.distance(holder))
                .min();
            match nearest {
                None | Some(FAR) => return End::Stuck,
                Some(distance) if distance.div_euclid(COST) > limit => return End::TooDear,
                Some(_) => {}
            }
            if !self.push(limit) {
                return End::Stuck;
            }
        }
    }

    /// The runs as pieces, in order.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        let mut at =
            (0..self.runs.len()).find(|i| self.run(*i).is_some_and(|run| run.left.is_none()));
        let pieces = std::iter::from_fn(|| {
            let run = self.run(at?)?;
            at = run.right;
            Some(Piece {
                cells: run.cells,
                set: run.set,
            })
        });
        join(pieces)
    }

    /// Distances from those who have too much, label-correcting: costs may be negative, cycles
    /// never are; false if one were.
    fn search(&mut self) -> bool {
        let mut visits = vec![0; self.distance.len()];
        self.distance.fill(FAR);
        self.farthest.fill(FAR);
        let mut queue: VecDeque<HolderId> = self
            .excess
            .iter()
            .filter(|(_, cells)| *cells > 0)
            .map(|(holder, _)| holder)
            .collect();
        let mut queued: Vec<bool> = self.excess.0.iter().map(|cells| *cells > 0).collect();
        for (distance, cells) in self.distance.iter_mut().zip(&self.excess.0) {
            if *cells > 0 {
                *distance = 0;
            }
        }
        let mut nearer: Vec<HolderId> = Vec::new();
        while let Some(from) = queue.pop_front() {
            if let Some(queued) = queued.get_mut(from.index()) {
                *queued = false;
            }
            // without negative cycles nobody is visited more often than there are holders
            // (Bellman-Ford with a queue)
            if let Some(visits) = visits.get_mut(from.index()) {
                *visits += 1;
                if *visits > self.distance.len() {
                    return false;
                }
            }
            let start = self.distance(from);
            for at in 0..self.of.get(from.index()).map_or(0, Vec::len) {
                let Some(run) = self.run_of(from, at) else {
                    continue;
                };
                for (to, cost) in self.kind.direct(self.sets, self.domains, &run, from) {
                    self.relax(to, start + cost * COST + 1, &mut nearer);
                }
                if let Some(cost) = self.kind.broad(self.sets, &run, from) {
                    self.relax_all(&run, from, start + cost * COST + 1, &mut nearer);
                }
            }
            for holder in nearer.drain(..) {
                if let Some(queued) = queued.get_mut(holder.index()).filter(|queued| !**queued) {
                    *queued = true;
                    queue.push_back(holder);
                }
            }
        }
        true
    }

    /// The run that stands at a place of a holder's list, if the holder can still be replaced
    /// there.
    fn run_of(&self, holder: HolderId, at: usize) -> Option<Run> {
        let run = self.run(*self.of.get(holder.index())?.get(at)?)?;
        self.kind
            .sources(self.sets, run.set)
            .contains(&holder)
            .then_some(run)
    }

    fn relax(&mut self, holder: HolderId, distance: Distance, nearer: &mut Vec<HolderId>) {
        if let Some(known) = self
            .distance
            .get_mut(holder.index())
            .filter(|known| **known > distance)
        {
            *known = distance;
            nearer.push(holder);
        }
    }

    /// Relaxes every holder that may replace `from` in the run. Domains in which all are as near
    /// already are skipped.
    fn relax_all(
        &mut self,
        run: &Run,
        from: HolderId,
        distance: Distance,
        nearer: &mut Vec<HolderId>,
    ) {
        let domains = self.domains;
        let full = domains.full(self.sets.holders(run.set).filter(|holder| *holder != from));
        if self
            .farthest
            .last()
            .is_some_and(|farthest| *farthest > distance)
        {
            let now = self.relax_members(domains.outside(), run.set, distance, nearer);
            if let Some(farthest) = self.farthest.last_mut() {
                *farthest = now;
            }
        }
        for part in domains.outermost() {
            self.relax_domain(*part, run.set, &full, distance, nearer);
        }
    }

    fn relax_domain(
        &mut self,
        id: DomainId,
        set: SetId,
        full: &[DomainId],
        distance: Distance,
        nearer: &mut Vec<HolderId>,
    ) {
        let domains = self.domains;
        let farthest = self.farthest.get(id).copied().unwrap_or(FAR);
        let Some(domain) = domains
            .list()
            .get(id)
            .filter(|_| farthest > distance && !full.contains(&id))
        else {
            return;
        };
        let mut now = Distance::MIN;
        for part in &domain.parts {
            self.relax_domain(*part, set, full, distance, nearer);
            now = now.max(self.farthest.get(*part).copied().unwrap_or(FAR));
        }
        now = now.max(self.relax_members(&domain.members, set, distance, nearer));
        if let Some(farthest) = self.farthest.get_mut(id) {
            *farthest = now;
        }
    }

    /// Relaxes those of the holders that are not in the set; returns how far the farthest of all is
    /// then.
    fn relax_members(
        &mut self,
        holders: &[HolderId],
        set: SetId,
        distance: Distance,
        nearer: &mut Vec<HolderId>,
    ) -> Distance {
        let mut farthest = Distance::MIN;
        for holder in holders {
            if self.distance(*holder) > distance && self.sets.role_of(set, *holder).is_none() {
                self.relax(*holder, distance, nearer);
            }
            farthest = farthest.max(self.distance(*holder));
        }
        farthest
    }

    /// Pushes along shortest paths until none is left; whether there was one.
    fn push(&mut self, limit: i64) -> bool {
        let mut walk = Walk {
            at: vec![Place::default(); self.of.len()],
            dead: vec![false; self.of.len()],
            near: BTreeMap::new(),
        };
        for (holder, distance) in (0..).map(HolderId).zip(&self.distance) {
            if *distance < FAR && self.domains.can_hold(holder) {
                walk.near.entry(*distance).or_default().push(holder);
            }
        }
        let mut pushed = false;
        let sources: Vec<HolderId> = self
            .excess
            .iter()
            .filter(|(_, cells)| *cells > 0)
            .map(|(holder, _)| holder)
            .collect();
        for source in sources {
            while self.excess.of(source) > 0 {
                let Some(path) = self.path(source, limit, &mut walk) else {
                    break;
                };
                match self.take(source, &path) {
                    None => pushed = true,
                    // another run must serve for this arc
                    Some(arc) => {
                        if let Some(place) = walk.at.get_mut(arc.from.index()) {
                            *place = Place {
                                run: place.run + 1,
                                to: 0,
                            };
                        }
                    }
                }
            }
        }
        pushed
    }

    /// A shortest path from `source` to one who has too little.
    fn path(&self, source: HolderId, limit: i64, walk: &mut Walk) -> Option<Vec<Arc>> {
        let mut path: Vec<Arc> = Vec::new();
        loop {
            let here = path.last().map_or(source, |arc| arc.to);
            if self.deficit.of(here) > 0 && self.distance(here).div_euclid(COST) <= limit {
                return Some(path);
            }
            match self.next_arc(here, walk) {
                Some(arc) => path.push(arc),
                None => {
                    if let Some(dead) = walk.dead.get_mut(here.index()) {
                        *dead = true;
                    }
                    path.pop()?;
                }
            }
        }
    }

    /// The next arc from a holder that lies on a shortest path and does not lead nowhere.
    fn next_arc(&self, from: HolderId, walk: &mut Walk) -> Option<Arc> {
        let start = self.distance(from);
        let list = self.of.get(from.index())?;
        let mut place = walk.at.get(from.index()).copied().unwrap_or_default();
        let found = loop {
            let Some(at) = list.get(place.run).copied() else {
                break None;
            };
            let Some(run) = self.run_of(from, place.run) else {
                place = Place {
                    run: place.run + 1,
                    to: 0,
                };
                continue;
            };
            let alive = |to: HolderId| !walk.dead.get(to.index()).copied().unwrap_or(true);
            let direct = self.kind.direct(self.sets, self.domains, &run, from);
            let tight = |(to, cost): &(HolderId, i64)| {
                alive(*to) && self.distance(*to) == start + cost * COST + 1
            };
            if let Some((to, _)) = direct.iter().copied().find(tight) {
                break Some(Arc { run: at, from, to });
            }
            if let Some(cost) = self.kind.broad(self.sets, &run, from) {
                let near = walk
                    .near
                    .get(&(start + cost * COST + 1))
                    .map_or(&[][..], Vec::as_slice);
                let full = self
                    .domains
                    .full(self.sets.holders(run.set).filter(|holder| *holder != from));
                let may = |to: &HolderId| {
                    let open = || {
                        !self
                            .domains
                            .of(*to)
                            .iter()
                            .any(|domain| full.contains(domain))
                    };
                    alive(*to)
                        && self.sets.role_of(run.set, *to).is_none()
                        && open()
                        && !direct.iter().any(|(other, _)| other == to)
                };
                let rest = near.get(place.to..).unwrap_or(&[]);
                if let Some(ahead) = rest.iter().position(may) {
                    place.to += ahead;
                    break near.get(place.to).map(|to| Arc {
                        run: at,
                        from,
                        to: *to,
                    });
                }
            }
            place = Place {
                run: place.run + 1,
                to: 0,
            };
        };
        if let Some(known) = walk.at.get_mut(from.index()) {
            *known = place;
        }
        found
    }

    /// Exchanges along a path, as much as can be; otherwise the arc that stands in the way.
    ///
    /// A run that serves twice is cut for it, one part an exchange. Only a single cell cannot be
    /// cut: then both exchanges are made in it when its set may have both.
    fn take(&mut self, source: HolderId, path: &[Arc]) -> Option<Arc> {
        let mut cells = self
            .excess
            .of(source)
            .min(path.last().map_or(0, |arc| self.deficit.of(arc.to)));
        for arc in path {
            let uses = path.iter().filter(|other| other.run == arc.run).count() as u128;
            let has = self.run(arc.run).map_or(0, |run| run.cells);
            if has < uses {
                if !self.may_all(arc.run, path) {
                    return path.iter().rfind(|other| other.run == arc.run).copied();
                }
                cells = cells.min(1);
            } else {
                cells = cells.min(has / uses);
            }
        }
        for arc in path {
            self.exchange(*arc, cells);
        }
        self.excess.take(source, cells);
        if let Some(sink) = path.last() {
            self.deficit.take(sink.to, cells);
        }
        None
    }

    /// Whether a run of one cell may have all exchanges that the path makes in it.
    fn may_all(&mut self, run: usize, path: &[Arc]) -> bool {
        let Some(Run {
            cells: 1, mut set, ..
        }) = self.run(run)
        else {
            return false;
        };
        for arc in path.iter().filter(|arc| arc.run == run) {
            set = self.kind.exchange(self.sets, set, arc.from, arc.to);
        }
        self.kind.is_sound(self.sets, self.domains, set)
    }

    /// Exchanges so many cells of a run: the whole run, or a piece at that end of it where it makes
    /// no new border.
    fn exchange(&mut self, arc: Arc, cells: u128) {
        let Some(run) = self.run(arc.run) else { return };
        let set = self.kind.exchange(self.sets, run.set, arc.from, arc.to);
        if cells == run.cells {
            if let Some(run) = self.runs.get_mut(arc.run) {
                run.set = set;
            }
            if let Some(list) = self.of.get_mut(arc.to.index()) {
                list.push(arc.run);
            }
            return;
        }
        let new = self.runs.len();
        let beside = |at: Option<usize>| {
            at.and_then(|at| self.run(at))
                .is_some_and(|other| other.set == set)
        };
        let at_right = beside(run.right) && !beside(run.left);
        let (left, right) = if at_right {
            (Some(arc.run), run.right)
        } else {
            (run.left, Some(arc.run))
        };
        self.runs.push(Run {
            cells,
            set,
            old: run.old,
            left,
            right,
        });
        if let Some(run) = left.and_then(|left| self.runs.get_mut(left)) {
            run.right = Some(new);
        }
        if let Some(run) = right.and_then(|right| self.runs.get_mut(right)) {
            run.left = Some(new);
        }
        if let Some(run) = self.runs.get_mut(arc.run) {
            run.cells -= cells;
        }
        self.list(new);
    }
}

/// An exchange in a run.
#[derive(Clone, Copy, Debug)]
struct Arc {
    run: usize,
    from: HolderId,
    to: HolderId,
}

/// How far a walk got with a holder's arcs: the place in its list of runs, and among the holders
/// that are as near as need be.
#[derive(Clone, Copy, Default)]
struct Place {
    run: usize,
    to: usize,
}

/// A walk along shortest paths: no arc is tried twice once it led nowhere.
struct Walk {
    at: Vec<Place>,
    dead: Vec<bool>,
    near: BTreeMap<Distance, Vec<HolderId>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set has a chain of holders: each may be replaced by the next number at a cost of 1.
    /// `sound`: whether sets of several exchanges are.
    struct Next {
        sound: bool,
    }

    impl Kind for Next {
        fn sources(&self, sets: &Sets, set: SetId) -> Vec<HolderId> {
            sets.holders(set).collect()
        }
        fn direct(&self, _: &Sets, _: &Domains, _: &Run, from: HolderId) -> Vec<(HolderId, i64)> {
            vec![(HolderId(from.0 + 1), 1)]
        }
        fn broad(&self, _: &Sets, _: &Run, _: HolderId) -> Option<i64> {
            None
        }
        fn exchange(&self, sets: &mut Sets, set: SetId, from: HolderId, to: HolderId) -> SetId {
            sets.role_of(set, from)
                .map_or(set, |role| sets.swap(set, role, role.of(to)))
        }
        fn is_sound(&self, _: &Sets, _: &Domains, _: SetId) -> bool {
            self.sound
        }
    }

    fn runs(pieces: &[Piece]) -> Vec<Run> {
        pieces
            .iter()
            .map(|piece| Run::new(piece.cells, piece.set, piece.set))
            .collect()
    }

    fn numbers(list: &[u128]) -> ByHolder {
        ByHolder(list.to_vec())
    }

    #[test]
    fn cells_go_along_a_path_and_are_cut_where_they_make_no_border() {
        let none = Domains::default();
        let settled = |excess: &[u128], deficit: &[u128], limit| {
            let mut sets = Sets::default();
            let start = sets.pieces(&[(5, &[0]), (5, &[1]), (5, &[2])]);
            let mut flow = Flow::new(
                Next { sound: true },
                runs(&start),
                &mut sets,
                &none,
                numbers(excess),
                numbers(deficit),
            );
            let end = flow.settle(limit);
            let left = flow.excess.sum();
            let cells: Vec<u128> = flow.into_pieces().iter().map(|piece| piece.cells).collect();
            (end, left, cells)
        };
        assert_eq!(
            settled(&[2, 0, 0], &[0, 0, 2], 1),
            (End::TooDear, 2, vec![5, 5, 5])
        );
        assert_eq!(
            settled(&[2, 0, 0], &[0, 0, 2], 2),
            (End::Settled, 0, vec![3, 5, 7])
        );
        // nobody goes down
        assert_eq!(
            settled(&[0, 0, 2], &[2, 0, 0], i64::MAX),
            (End::Stuck, 2, vec![5, 5, 5])
        );
    }

    #[test]
    fn the_nearest_who_lacks_some_is_served_first_and_more_than_there_is_stays_undone() {
        let (mut sets, none) = (Sets::default(), Domains::default());
        let start = sets.pieces(&[(5, &[0]), (5, &[1]), (5, &[2])]);
        let mut flow = Flow::new(
            Next { sound: true },
            runs(&start),
            &mut sets,
            &none,
            numbers(&[3, 0, 0, 0]),
            numbers(&[0, 2, 0, 9]),
        );
        assert_eq!(
            flow.settle(1),
            End::TooDear,
            "one of three is left, and the other who lacks some is 3 away"
        );
        assert_eq!(
            (flow.excess.0.clone(), flow.deficit.0.clone()),
            (vec![1, 0, 0, 0], vec![0, 0, 0, 9])
        );
        assert_eq!(flow.settle(3), End::Settled);
        assert_eq!(flow.deficit.0, [0, 0, 0, 8]);
    }

    #[test]
    fn a_run_that_serves_twice_is_cut_and_a_single_cell_has_both_exchanges_or_none() {
        // 0 -> 1 in the first run, 1 -> 2 in the second, 2 -> 3 in the first again
        let path = [(0, 0, 1), (1, 1, 2), (0, 2, 3)].map(|(run, from, to)| Arc {
            run,
            from: HolderId(from),
            to: HolderId(to),
        });
        let none = Domains::default();
        let taken = |cells: u128, sound: bool| {
            let mut sets = Sets::default();
            let start = sets.pieces(&[(cells, &[0, 2]), (cells, &[1])]);
            let (excess, deficit) = (numbers(&[9, 0, 0, 0]), numbers(&[0, 0, 0, 9]));
            let mut flow = Flow::new(
                Next { sound },
                runs(&start),
                &mut sets,
                &none,
                excess,
                deficit,
            );
            let in_the_way = flow
                .take(HolderId(0), &path)
                .map(|arc| (arc.run, arc.from.0));
            let (left, pieces) = (flow.excess.of(HolderId(0)), flow.into_pieces());
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
        // three cells: one for each exchange, and one stays; nothing asks whether both together are
        // sound
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
