//! Locating many keys at once: the answers of `locate`, for less time each.

use std::num::NonZeroUsize;

use super::inside::Members;
use super::open::Map;
use crate::kernel::{self, Keys, BLOCK};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};

/// The least number of keys for which a thread is worth starting.
const KEYS_A_THREAD: usize = 1 << 14;

impl Map {
    /// Computes the points of many keys: `points[i]` becomes that of key `i`. Keys without a point
    /// in the list, and points without a key, are left alone.
    pub fn points(&self, keys: Keys<'_>, points: &mut [Point]) {
        let checked = &self.checked;
        for (keys, points) in keys.parts(BLOCK).zip(points.chunks_mut(BLOCK)) {
            kernel::points(&checked.hash, checked.key_rule, checked.cells, keys, points);
        }
    }

    /// Finds the primary nodes of many points: `nodes[i]` becomes `as_node` of that of point `i`.
    pub fn locate_points<T>(
        &self,
        points: &[Point],
        nodes: &mut [T],
        as_node: impl Fn(NodeId) -> T,
    ) {
        for (point, node) in points.iter().zip(nodes) {
            *node = as_node(self.locate_point(*point));
        }
    }

    /// Finds the primary nodes of many keys: `nodes[i]` becomes `as_node` of that of key `i`.
    ///
    /// With several threads, each takes a part of the keys; few keys are not worth a thread, and
    /// are located by the caller's. Memory: some 10 KiB a thread, whatever the number of keys.
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
            for (key, policy) in keys.iter().zip(policies) {
                *policy = self.policy_of(self.point(key));
            }
        });
    }

    /// Yields where many keys live: for each key its primary node.
    pub fn locate_many<'a, K: AsRef<[u8]>>(
        &'a self,
        keys: impl IntoIterator<Item = K> + 'a,
    ) -> impl Iterator<Item = NodeId> + 'a {
        keys.into_iter().map(|key| self.locate(key.as_ref()))
    }

    /// Yields all nodes of many keys: for each key its nodes, primary first.
    pub fn locate_all_many<'a, K: AsRef<[u8]>>(
        &'a self,
        keys: impl IntoIterator<Item = K> + 'a,
    ) -> impl Iterator<Item = Members<'a>> + 'a {
        keys.into_iter().map(|key| self.locate_all(key.as_ref()))
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
        for (keys, answers) in parts {
            scope.spawn(move || work(keys, answers));
        }
        if let Some((keys, answers)) = own {
            work(keys, answers);
        }
    });
}
