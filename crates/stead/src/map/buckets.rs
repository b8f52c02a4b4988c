//! A table that finds the policies of many points quickly. It is made when enough keys were located
//! in batches to be worth it, and lives as long as the map.

use crate::cell::Cells;
use crate::error::Result;
use crate::memory;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;

/// For each bucket of points, the policy that holds all of it, or that it is mixed. Buckets are
/// equal parts of the space, and the cells of the map where it has few: no slice divides a cell.
pub(super) struct Buckets {
    count: u64,
    policies: Vec<u32>,
    /// the first node of each policy
    primaries: Vec<u32>,
}

/// The fewest and the most buckets: 1 KiB to 1 MiB of memory.
const COUNT: (usize, usize) = (1 << 8, 1 << 18);
/// The bit of a bucket that lies in several slices. The others are the number of the first slice
/// that starts in the bucket behind its first point.
const MIXED: u32 = 1 << 31;
/// The number of points that are looked up at a time.
const BLOCK: usize = 1024;

impl Buckets {
    /// The number of buckets that `slices` are worth: about 4 to 8 for each, or the cells if they
    /// are not more.
    pub(super) fn count(slices: usize, cells: Cells) -> usize {
        let few = slices.saturating_mul(4).next_power_of_two();
        let few = few.clamp(COUNT.0, COUNT.1);
        usize::try_from(cells.count()).map_or(few, |cells| cells.min(few))
    }

    /// Makes the table of some slices, which cover the space. Cost: one step a slice and a bucket.
    ///
    /// Errors: `Memory` and `MemoryLimit`.
    pub(super) fn of(
        count: usize,
        slices: impl Iterator<Item = Slice>,
        primaries: impl Iterator<Item = NodeId>,
    ) -> Result<Buckets> {
        let mut policies = memory::filled(count, 0)?;
        let count = count as u64;
        // the bucket that the last slice ended in, if it ended inside
        let mut before = None;
        for (number, slice) in (0..).zip(slices) {
            let first = slice.first.0;
            // the first bucket that starts here or later, and the first one that ends later
            let start = first.checked_sub(1).map_or(0, |p| bucket(count, p) + 1);
            let end = match slice.last.0.checked_add(1) {
                Some(next) => bucket(count, next),
                None => count as usize,
            };
            if start > bucket(count, first) && before != Some(start - 1) {
                // the first slice that starts inside of this bucket
                if let Some(policy) = policies.get_mut(start - 1) {
                    *policy = MIXED | number;
                }
                before = Some(start - 1);
            }
            // empty when the slice begins and ends in one bucket
            for policy in policies.get_mut(start..end).unwrap_or_default() {
                *policy = slice.policy.0;
            }
        }
        Ok(Buckets {
            count,
            policies,
            primaries: memory::collected(primaries.map(|node| node.0))?,
        })
    }

    /// Finds the policies of points; `of` finds that of a point in a mixed bucket, from the number
    /// of the first slice that starts inside the bucket.
    pub(super) fn policies<T>(
        &self,
        points: &[Point],
        found: &mut [T],
        as_found: impl Fn(PolicyId) -> T,
        of: impl Fn(usize, Point) -> PolicyId,
    ) {
        self.each(
            points,
            found,
            |policy| as_found(PolicyId(policy)),
            |slice, point| as_found(of(slice, point)),
        );
    }

    /// Finds the primary nodes of points; `of` is as for [`Buckets::policies`].
    pub(super) fn primaries<T>(
        &self,
        points: &[Point],
        found: &mut [T],
        as_found: impl Fn(NodeId) -> T,
        of: impl Fn(usize, Point) -> PolicyId,
    ) {
        let primary = |policy: u32| self.primaries.get(policy as usize).copied().unwrap_or(0);
        self.each(
            points,
            found,
            |policy| as_found(NodeId(primary(policy))),
            |slice, point| as_found(NodeId(primary(of(slice, point).0))),
        );
    }

    /// Points in mixed buckets are set aside and looked up after the others: whether a bucket is
    /// mixed cannot be foretold, and a processor that guesses wrong loses more time than this.
    fn each<T>(
        &self,
        points: &[Point],
        found: &mut [T],
        pure: impl Fn(u32) -> T,
        mixed: impl Fn(usize, Point) -> T,
    ) {
        // a shift is quicker than the product that it is equal to
        match self.count > 1 && self.count.is_power_of_two() {
            true => {
                let shift = 64 - self.count.trailing_zeros();
                let bucket = |point: u64| (point >> shift) as usize;
                self.each_in(bucket, points, found, pure, mixed);
            }
            false => {
                let bucket = |point| bucket(self.count, point);
                self.each_in(bucket, points, found, pure, mixed);
            }
        }
    }

    fn each_in<T>(
        &self,
        bucket: impl Fn(u64) -> usize,
        points: &[Point],
        found: &mut [T],
        pure: impl Fn(u32) -> T,
        mixed: impl Fn(usize, Point) -> T,
    ) {
        for (points, found) in points.chunks(BLOCK).zip(found.chunks_mut(BLOCK)) {
            let mut aside = [(0u16, 0u32); BLOCK];
            let mut count = 0;
            for (i, (point, found)) in points.iter().zip(&mut *found).enumerate() {
                let policy = self.policies.get(bucket(point.0)).copied().unwrap_or(MIXED);
                *found = pure(policy);
                if let Some(place) = aside.get_mut(count) {
                    *place = (i as u16, policy);
                }
                count += usize::from(policy & MIXED != 0);
            }
            for (i, policy) in aside.iter().take(count) {
                let (i, slice) = (usize::from(*i), (policy & !MIXED) as usize);
                if let (Some(point), Some(found)) = (points.get(i), found.get_mut(i)) {
                    *found = mixed(slice, *point);
                }
            }
        }
    }
}

/// The bucket of a point, of `count` equal ones.
fn bucket(count: u64, point: u64) -> usize {
    ((u128::from(point) * u128::from(count)) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::with_ends;

    #[test]
    fn a_bucket_is_pure_only_where_one_slice_holds_all_of_it() {
        let width = 1u64 << 56; // of 256 buckets
        let firsts = [
            0,
            3 * width,
            5 * width + 7,
            5 * width + 8,
            9 * width - 1,
            200 * width,
            u64::MAX,
        ];
        let slices = || with_ends((0..).map(PolicyId).zip(firsts).map(|(p, f)| (Point(f), p)));
        let buckets = Buckets::of(256, slices(), (10..17).map(NodeId)).unwrap();
        assert_eq!(Buckets::count(7, Cells::FINEST), 256);
        let slice_of = |point: Point| slices().find(|s| s.last >= point).map(|s| s.policy);
        for bucket in 0..256u64 {
            let (first, last) = (Point(bucket * width), Point(bucket * width + (width - 1)));
            let pure = slice_of(first) == slice_of(last);
            let found = buckets.policies[bucket as usize];
            assert_eq!(found & MIXED == 0, pure, "bucket {bucket}");
            if pure {
                assert_eq!(Some(PolicyId(found)), slice_of(first));
            } else {
                let inside = firsts.iter().position(|f| *f > first.0).unwrap();
                assert_eq!(found & !MIXED, inside as u32);
            }
        }
        let around = firsts
            .iter()
            .flat_map(|f| [f.saturating_sub(1), *f, f.saturating_add(1)]);
        let points: Vec<Point> = around
            .chain((0..3000).map(|n| n << 52))
            .map(Point)
            .collect();
        let (mut policies, mut nodes) = (vec![0; points.len()], vec![0; points.len()]);
        let of = |_, point| slice_of(point).unwrap();
        buckets.policies(&points, &mut policies, |policy| policy.0, of);
        buckets.primaries(&points, &mut nodes, |node| node.0, of);
        for ((point, policy), node) in points.iter().zip(policies).zip(nodes) {
            assert_eq!(slice_of(*point), Some(PolicyId(policy)), "{point}");
            assert_eq!(node, policy + 10);
        }
    }

    #[test]
    fn where_buckets_are_cells_none_is_mixed() {
        for count in [1usize, 2, 3, 12, 1000, 12_000, 16_384] {
            let cells = Cells::from_stored(count as u64);
            assert_eq!(Buckets::count(100_000, cells), count);
            assert!(Buckets::count(100_000, Cells::FINEST) == COUNT.1);
            // slices of one to five cells each
            let starts = (0..count).scan(0, |next, number| {
                let cell = *next;
                *next += 1 + number * number % 5;
                (cell < count).then_some(cell)
            });
            let starts: Vec<usize> = starts.collect();
            let bound = |cell: usize| Point(cells.bound(cell as u128) as u64);
            let firsts = (0..).map(PolicyId).zip(&starts);
            let slices = with_ends(firsts.map(|(policy, cell)| (bound(*cell), policy)));
            let nodes = (0..starts.len() as u32).map(NodeId);
            let buckets = Buckets::of(count, slices, nodes).unwrap();
            let owner = |cell| starts.partition_point(|start| *start <= cell) as u32 - 1;
            let wanted: Vec<u32> = (0..count).map(owner).collect();
            assert_eq!(buckets.policies, wanted);
            let ends = (1..=count).map(|cell| Point((cells.bound(cell as u128) - 1) as u64));
            for points in [(0..count).map(bound).collect::<Vec<_>>(), ends.collect()] {
                let mut found = vec![0; count];
                let never = |_, point| panic!("{point} is in a mixed bucket");
                buckets.policies(&points, &mut found, |policy| policy.0, never);
                assert_eq!(found, wanted);
            }
        }
    }
}
