//! Locating many keys at once: the answers of `locate`, for less time each.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::Builder;

use super::buckets::Buckets;
use super::inside::Members;
use super::open::Map;
use crate::kernel::{self, Kernel, Keys, BLOCK};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};

/// The least number of keys for which a thread is worth starting.
const KEYS_A_THREAD: usize = 1 << 14;

/// The number of keys that an iterator over many of them takes at a time.
const TAKEN: usize = 256;

impl Map {
    /// Computes the points of many keys: `points[i]` becomes that of key `i`. Keys without a point
    /// in the list, and points without a key, are left alone.
    pub fn points(&self, keys: Keys<'_>, points: &mut [Point]) {
        let checked = &self.checked;
        let (hash, rule, cells) = (&checked.hash, checked.key_rule, checked.cells);
        kernel::points(Kernel::chosen(), hash, rule, cells, keys, points);
    }

    /// Finds the primary nodes of many points: `nodes[i]` becomes `as_node` of that of point `i`.
    pub fn locate_points<T>(
        &self,
        points: &[Point],
        nodes: &mut [T],
        as_node: impl Fn(NodeId) -> T,
    ) {
        match self.buckets(points.len()) {
            Some(buckets) => {
                buckets.primaries(points, nodes, as_node, |slice, point| {
                    self.policy_from(slice, point)
                });
            }
            None => {
                for (point, node) in points.iter().zip(nodes) {
                    *node = as_node(self.locate_point(*point));
                }
            }
        }
    }

    /// Finds the primary nodes of many keys: `nodes[i]` becomes `as_node` of that of key `i`.
    ///
    /// With several threads, each takes a part of the keys; few keys are not worth a thread, and
    /// are located by the caller's. Memory: less than 64 KiB a thread, however many keys.
    pub fn locate_keys<T: Send>(
        &self,
        keys: Keys<'_>,
        threads: NonZeroUsize,
        nodes: &mut [T],
        as_node: impl Fn(NodeId) -> T + Sync,
    ) {
        in_threads(keys, threads, nodes, |keys, nodes| {
            let mut points = [Point(0); BLOCK];
            for (keys, nodes) in keys.parts(BLOCK).zip(nodes.chunks_mut(BLOCK)) {
                let points = points.get_mut(..keys.len()).unwrap_or_default();
                self.points(keys, points);
                self.locate_points(points, nodes, &as_node);
            }
        });
    }

    /// Finds the policies that hold many keys: `policies[i]` becomes that of key `i`. Its members
    /// are all nodes of the key.
    pub fn policies_of_keys(
        &self,
        keys: Keys<'_>,
        threads: NonZeroUsize,
        policies: &mut [PolicyId],
    ) {
        in_threads(keys, threads, policies, |keys, policies| {
            let mut points = [Point(0); BLOCK];
            for (keys, policies) in keys.parts(BLOCK).zip(policies.chunks_mut(BLOCK)) {
                let points = points.get_mut(..keys.len()).unwrap_or_default();
                self.points(keys, points);
                self.policies_of_points(points, policies);
            }
        });
    }

    /// Finds the policies that hold many points: `policies[i]` becomes that of point `i`.
    pub fn policies_of_points(&self, points: &[Point], policies: &mut [PolicyId]) {
        match self.buckets(points.len()) {
            Some(buckets) => {
                buckets.policies(
                    points,
                    policies,
                    |policy| policy,
                    |slice, point| self.policy_from(slice, point),
                );
            }
            None => {
                for (point, policy) in points.iter().zip(policies) {
                    *policy = self.policy_of(*point);
                }
            }
        }
    }

    /// Returns the policy of a point in a bucket, of which `slice` is the first slice that starts
    /// inside of it.
    fn policy_from(&self, slice: usize, point: Point) -> PolicyId {
        let (points, policies) = self.final_sections();
        let last = self.count(points) - 1;
        let starts = |slice: usize| self.read(points, slice.min(last)) <= point.0;
        // most buckets have one such slice, and whether a point lies before it cannot be foretold:
        // so it is counted without a branch, and what follows nearly never happens
        let next = slice + usize::from(starts(slice));
        if next <= last && starts(next) {
            return self.policy_of(point);
        }
        PolicyId(self.read(policies, next.saturating_sub(1)))
    }

    /// Returns the table of buckets, if it is there or `more` points make it worth its price: it
    /// costs about as much as looking up as many points as it has buckets and the map slices.
    fn buckets(&self, more: usize) -> Option<&Buckets> {
        if let Some(buckets) = self.buckets.get() {
            return Some(buckets);
        }
        let slices = self.slice_count();
        let asked = self.asked.fetch_add(more, Relaxed).saturating_add(more);
        let count = Buckets::count(slices, self.cells());
        if asked < slices.max(count) {
            return None;
        }
        // without memory for the table, the points are found as before
        let made = self.buckets.get_or_try_init(|| {
            let primaries = self.policies().map(|policy| self.primary_of(policy.id));
            Buckets::of(count, self.slices(), primaries).map(Box::new)
        });
        made.ok()
    }

    /// Yields where many keys live: for each key its primary node.
    pub fn locate_many<'a, K: AsRef<[u8]>>(
        &'a self,
        keys: impl IntoIterator<Item = K> + 'a,
    ) -> impl Iterator<Item = NodeId> + 'a {
        self.policies_many(keys)
            .map(|policy| self.primary_of(policy))
    }

    /// Yields all nodes of many keys: for each key its nodes, primary first.
    pub fn locate_all_many<'a, K: AsRef<[u8]>>(
        &'a self,
        keys: impl IntoIterator<Item = K> + 'a,
    ) -> impl Iterator<Item = Members<'a>> + 'a {
        self.policies_many(keys)
            .map(|policy| self.policy(policy).members())
    }

    /// Yields the policies of many keys, which are taken a few hundred at a time.
    fn policies_many<'a, K: AsRef<[u8]>>(
        &'a self,
        keys: impl IntoIterator<Item = K> + 'a,
    ) -> impl Iterator<Item = PolicyId> + 'a {
        let mut keys = keys.into_iter();
        let mut policies = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if let Some(policy) = policies.next() {
                return Some(policy);
            }
            let held: Vec<K> = keys.by_ref().take(TAKEN).collect();
            let slices: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
            let mut found = vec![PolicyId(0); held.len()];
            self.policies_of_keys(Keys::each(&slices), NonZeroUsize::MIN, &mut found);
            policies = found.into_iter();
            policies.next()
        })
    }
}

/// Calls `work` with equal parts of the keys and of the answers, each part in a thread of its own.
fn in_threads<T: Send>(
    keys: Keys<'_>,
    threads: NonZeroUsize,
    answers: &mut [T],
    work: impl Fn(Keys<'_>, &mut [T]) + Sync,
) {
    let most = keys.len() / KEYS_A_THREAD;
    let threads = threads.get().min(most).max(1);
    if threads == 1 {
        return work(keys, answers);
    }
    let (size, work) = (keys.len().div_ceil(threads).next_multiple_of(BLOCK), &work);
    std::thread::scope(|scope| {
        let mut parts = keys.parts(size).zip(answers.chunks_mut(size));
        let own = parts.next();
        // the system may refuse a thread; then this one does its part, too
        let mut left = Vec::new();
        for (keys, answers) in parts {
            let (give, take) = mpsc::sync_channel(1);
            let thread = Builder::new().spawn_scoped(scope, move || {
                if let Ok((keys, answers)) = take.recv() {
                    work(keys, answers);
                }
            });
            match thread {
                // a thread that has started waits for its part
                Ok(_) => give.send((keys, answers)).unwrap_or(()),
                Err(_) => left.push((keys, answers)),
            }
        }
        for (keys, answers) in own.into_iter().chain(left) {
            work(keys, answers);
        }
    });
}
