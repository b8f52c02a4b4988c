//! A table that finds the policies of many points quickly. It is made when enough keys were located
//! in batches to be worth it, and lives as long as the map.

use crate::error::Result;
use crate::memory;
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
/// The bit of a bucket that lies in several slices. The others are the number of the first slice
/// that starts in the bucket behind its first point.
const MIXED: u32 = 1 << 31;
/// The number of points that are looked up at a time.
const BLOCK: usize = 1024;

impl Buckets {
    /// The number of buckets that `slices` are worth: about 4 to 8 for each.
    pub(super) fn count(slices: usize) -> usize {
        1 << bits(slices)
    }

    /// Makes the table of some slices, which cover the space. Cost: one step a slice and a bucket.
    ///
    /// Errors: `Memory` and `MemoryLimit`.
    pub(super) fn of(
        count: usize,
        slices: impl Iterator<Item = Slice>,
        primaries: impl Iterator<Item = NodeId>,
    ) -> Result<Buckets> {
        let bits = bits(count);
        let mut policies = memory::filled(1 << bits, 0)?;
        // the bucket that the last slice ended in, if it ended inside
        let mut before = None;
        for (number, slice) in (0..).zip(slices) {
            let (first, last) = (u128::from(slice.first.0), u128::from(slice.last.0));
            let start = (first << bits).div_ceil(1 << 64) as usize;
            let end = (((last + 1) << bits) >> 64) as usize;
            if start > 0 && before != Some(start - 1) && !is_start(slice.first, bits) {
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
            bits,
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
        let shift = 64 - self.bits;
        for (points, found) in points.chunks(BLOCK).zip(found.chunks_mut(BLOCK)) {
            let mut aside = [(0u16, 0u32); BLOCK];
            let mut count = 0;
            for (i, (point, found)) in points.iter().zip(&mut *found).enumerate() {
                let bucket = (point.0 >> shift) as usize;
                let policy = self.policies.get(bucket).copied().unwrap_or(MIXED);
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

/// Whether a bucket starts at a point.
fn is_start(point: Point, bits: u32) -> bool {
    point.0.trailing_zeros() >= 64 - bits
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
        let buckets = Buckets::of(7, slices(), (10..17).map(NodeId)).unwrap();
        assert_eq!((buckets.bits, Buckets::count(7)), (8, 256));
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
}
