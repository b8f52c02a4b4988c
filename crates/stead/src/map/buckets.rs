//! A table that finds the policies of many points quickly. It is made when enough keys were located
//! in batches to be worth it, and lives as long as the map.

use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;

/// For each bucket of points, the policy that holds all of it, or that it is mixed. A bucket is the
/// points that begin with the same bits.
pub(super) struct Buckets {
    bits: u32,
    policies: Vec<u32>,
    /// the first node of each policy
    primaries: Vec<u32>,
}

/// The fewest and the most bits of a bucket: 1 KiB to 1 MiB of memory.
const BITS: (u32, u32) = (8, 18);
/// The bucket lies in several slices.
const MIXED: u32 = u32::MAX;
/// The number of points that are looked up at a time.
const BLOCK: usize = 1024;

impl Buckets {
    /// The number of buckets that `slices` are worth: about 4 to 8 for each.
    pub(super) fn count(slices: usize) -> usize {
        1 << bits(slices)
    }

    /// Makes the table of some slices, which cover the space. Cost: one step a slice and a bucket.
    pub(super) fn of(
        count: usize,
        slices: impl Iterator<Item = Slice>,
        primaries: impl Iterator<Item = NodeId>,
    ) -> Buckets {
        let bits = bits(count);
        let mut policies = vec![MIXED; 1 << bits];
        for slice in slices {
            let (first, last) = (u128::from(slice.first.0), u128::from(slice.last.0));
            let start = (first << bits).div_ceil(1 << 64) as usize;
            let end = (((last + 1) << bits) >> 64) as usize;
            // empty when the slice begins and ends in one bucket
            for policy in policies.get_mut(start..end).unwrap_or_default() {
                *policy = slice.policy.0;
            }
        }
        Buckets {
            bits,
            policies,
            primaries: primaries.map(|node| node.0).collect(),
        }
    }

    /// Finds the policies of points; `of` finds that of a point in a mixed bucket.
    pub(super) fn policies<T>(
        &self,
        points: &[Point],
        found: &mut [T],
        as_found: impl Fn(PolicyId) -> T,
        of: impl Fn(Point) -> PolicyId,
    ) {
        self.each(
            points,
            found,
            |policy| as_found(PolicyId(policy)),
            |point| as_found(of(point)),
        );
    }

    /// Finds the primary nodes of points; `of` finds that of a point in a mixed bucket.
    pub(super) fn primaries<T>(
        &self,
        points: &[Point],
        found: &mut [T],
        as_found: impl Fn(NodeId) -> T,
        of: impl Fn(Point) -> NodeId,
    ) {
        let primary = |policy: u32| self.primaries.get(policy as usize).copied().unwrap_or(0);
        self.each(
            points,
            found,
            |policy| as_found(NodeId(primary(policy))),
            |point| as_found(of(point)),
        );
    }

    /// Points in mixed buckets are set aside and looked up after the others: whether a bucket is
    /// mixed cannot be foretold, and a processor that guesses wrong loses more time than this.
    fn each<T>(
        &self,
        points: &[Point],
        found: &mut [T],
        pure: impl Fn(u32) -> T,
        mixed: impl Fn(Point) -> T,
    ) {
        let shift = 64 - self.bits;
        for (points, found) in points.chunks(BLOCK).zip(found.chunks_mut(BLOCK)) {
            let mut aside = [0u16; BLOCK];
            let mut count = 0;
            for (i, (point, found)) in points.iter().zip(&mut *found).enumerate() {
                let bucket = (point.0 >> shift) as usize;
                let policy = self.policies.get(bucket).copied().unwrap_or(MIXED);
                *found = pure(policy);
                if let Some(place) = aside.get_mut(count) {
                    *place = i as u16;
                }
                count += usize::from(policy == MIXED);
            }
            for i in aside.iter().take(count).map(|i| usize::from(*i)) {
                if let (Some(point), Some(found)) = (points.get(i), found.get_mut(i)) {
                    *found = mixed(*point);
                }
            }
        }
    }
}

fn bits(slices: usize) -> u32 {
    let bits = slices
        .saturating_mul(4)
        .next_power_of_two()
        .trailing_zeros();
    bits.clamp(BITS.0, BITS.1)
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
        let buckets = Buckets::of(7, slices(), (10..17).map(NodeId));
        assert_eq!((buckets.bits, Buckets::count(7)), (8, 256));
        let slice_of = |point: Point| slices().find(|s| s.last >= point).map(|s| s.policy);
        for bucket in 0..256u64 {
            let (first, last) = (Point(bucket * width), Point(bucket * width + (width - 1)));
            let pure = slice_of(first) == slice_of(last);
            let found = buckets.policies[bucket as usize];
            assert_eq!(found != MIXED, pure, "bucket {bucket}");
            assert!(found == MIXED || Some(PolicyId(found)) == slice_of(first));
        }
        let around = firsts
            .iter()
            .flat_map(|f| [f.saturating_sub(1), *f, f.saturating_add(1)]);
        let points: Vec<Point> = around
            .chain((0..3000).map(|n| n << 52))
            .map(Point)
            .collect();
        let (mut policies, mut nodes) = (vec![0; points.len()], vec![0; points.len()]);
        let of = |point| slice_of(point).unwrap();
        buckets.policies(&points, &mut policies, |policy| policy.0, of);
        buckets.primaries(
            &points,
            &mut nodes,
            |node| node.0,
            |point| NodeId(of(point).0 + 10),
        );
        for ((point, policy), node) in points.iter().zip(policies).zip(nodes) {
            assert_eq!(slice_of(*point), Some(PolicyId(policy)), "{point}");
            assert_eq!(node, policy + 10);
        }
    }
}
