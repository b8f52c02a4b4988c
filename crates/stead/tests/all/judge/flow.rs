//! The cheapest flow through a small network, computed exactly: successive shortest paths with
//! potentials, where all paths of the same length are used at once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

struct Arc {
    to: usize,
    room: u128,
    cost: i64,
}

/// A network whose arcs have a capacity and a cost of at least 0. Arc `a ^ 1` is the reverse of arc
/// `a`.
#[derive(Default)]
pub struct Network {
    arcs: Vec<Arc>,
    out: Vec<Vec<usize>>,
}

impl Network {
    pub fn vertex(&mut self) -> usize {
        self.out.push(Vec::new());
        self.out.len() - 1
    }

    pub fn add(&mut self, from: usize, to: usize, room: u128, cost: i64) {
        for (from, to, room, cost) in [(from, to, room, cost), (to, from, 0, -cost)] {
            self.out[from].push(self.arcs.len());
            self.arcs.push(Arc { to, room, cost });
        }
    }

    /// Sends as much as possible from `source` to `sink`. Returns the amount and its least possible
    /// cost.
    pub fn send(&mut self, source: usize, sink: usize) -> (u128, u128) {
        let mut height = vec![0i64; self.out.len()];
        let (mut amount, mut cost) = (0, 0);
        while self.raise(&mut height, source, sink) {
            while let Some(levels) = self.levels(&height, source, sink) {
                let mut next = vec![0; self.out.len()];
                let sent = self.push(source, sink, u128::MAX, &height, &levels, &mut next);
                amount += sent;
                cost += sent * (height[sink] - height[source]) as u128;
            }
        }
        (amount, cost)
    }

    /// Adds the shortest distances from `source` to the potentials. Returns whether `sink` can be
    /// reached.
    fn raise(&self, height: &mut [i64], source: usize, sink: usize) -> bool {
        let mut distance = vec![i64::MAX; self.out.len()];
        distance[source] = 0;
        let mut queue = BinaryHeap::from([Reverse((0, source))]);
        while let Some(Reverse((far, at))) = queue.pop() {
            if far > distance[at] {
                continue;
            }
            for arc in self.out[at]
                .iter()
                .map(|a| &self.arcs[*a])
                .filter(|arc| arc.room > 0)
            {
                let there = far + arc.cost + height[at] - height[arc.to];
                if there < distance[arc.to] {
                    distance[arc.to] = there;
                    queue.push(Reverse((there, arc.to)));
                }
            }
        }
        // a vertex that cannot be reached now can never be reached again: no path leads there
        height
            .iter_mut()
            .zip(&distance)
            .filter(|(_, far)| **far < i64::MAX)
            .for_each(|(h, far)| *h += far);
        distance[sink] < i64::MAX
    }

    /// For each vertex, the number of arcs from `source`, over arcs that lie on a shortest path.
    /// `None` when `sink` cannot be reached in this way.
    fn levels(&self, height: &[i64], source: usize, sink: usize) -> Option<Vec<usize>> {
        let mut levels = vec![usize::MAX; self.out.len()];
        levels[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(at) = queue.pop_front() {
            for arc in self.out[at].iter().map(|a| &self.arcs[*a]) {
                if arc.room > 0
                    && levels[arc.to] == usize::MAX
                    && height[at] + arc.cost == height[arc.to]
                {
                    levels[arc.to] = levels[at] + 1;
                    queue.push_back(arc.to);
                }
            }
        }
        (levels[sink] < usize::MAX).then_some(levels)
    }

    fn push(
        &mut self,
        at: usize,
        sink: usize,
        most: u128,
        height: &[i64],
        levels: &[usize],
        next: &mut [usize],
    ) -> u128 {
        if at == sink {
            return most;
        }
        let mut sent = 0;
        while sent < most && next[at] < self.out[at].len() {
            let a = self.out[at][next[at]];
            let Arc { to, room, cost } = self.arcs[a];
            if room > 0 && levels[to] == levels[at] + 1 && height[at] + cost == height[to] {
                let now = self.push(to, sink, room.min(most - sent), height, levels, next);
                self.arcs[a].room -= now;
                self.arcs[a ^ 1].room += now;
                sent += now;
            }
            if sent < most {
                next[at] += 1;
            }
        }
        sent
    }
}
