//! Finding the slice of a point, its policy and the first node in the bytes of a map.

use std::mem::{offset_of, size_of};
use std::ops::Range;

use crate::format::records::{
    PolicyRecord, Run, Stored, BASE_POINTS, BASE_POLICIES, FINAL_POINTS, FINAL_POLICIES, INDEX,
    MEMBERS, POLICIES,
};
use crate::format::Layout;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};

/// The offsets in the file of what `locate` reads.
///
/// Every read is checked against the length of the file, since somebody may overwrite a mapped
/// file. What is read where the file is damaged is a wrong answer, and nothing worse.
pub(super) struct Finder {
    /// how far to the right a point is shifted, to leave the number of its bucket
    shift: u32,
    index: usize,
    pub(super) points: usize,
    policies: usize,
    /// where the first policy has the number of its first member
    first_members: usize,
    members: usize,
    /// how many bytes of members each policy has, if all have equally many; otherwise 0
    stride: usize,
}

impl Finder {
    /// Cost: one pass over the policies, if they have equally many members.
    pub(super) fn of(layout: &Layout, bytes: &[u8]) -> Finder {
        let each = layout.count(MEMBERS) / layout.count(POLICIES).max(1);
        let mut runs = (0..layout.count(POLICIES)).map(|i| layout.read(bytes, POLICIES, i).members);
        let alike = runs.all(|run| run.count as usize == each);
        // without pins and firsts, the base slices are the final slices
        let (points, policies) = if layout.count(FINAL_POINTS) == 0 {
            (BASE_POINTS, BASE_POLICIES)
        } else {
            (FINAL_POINTS, FINAL_POLICIES)
        };
        Finder {
            shift: 64 - layout.index_bits(),
            index: layout.offset(INDEX, 0),
            points: layout.offset(points, 0),
            policies: layout.offset(policies, 0),
            first_members: layout.offset(POLICIES, 0)
                + offset_of!(PolicyRecord, members)
                + offset_of!(Run, first),
            members: layout.offset(MEMBERS, 0),
            stride: if alike { each * size_of::<u32>() } else { 0 },
        }
    }

    /// Returns the numbers of the slices that start in the bucket of a point. The slice before the
    /// bucket is the one in front of them. The very first slice, which starts at 0, is left out.
    #[inline]
    pub(super) fn bucket(&self, bytes: &[u8], point: Point) -> Range<usize> {
        let bucket = (point.0 >> self.shift) as usize;
        let [low, high] = pair(bytes, self.index + bucket * size_of::<u32>());
        (low as usize).max(1)..high as usize
    }

    #[inline]
    pub(super) fn policy_of(&self, bytes: &[u8], point: Point) -> PolicyId {
        let bucket = self.bucket(bytes, point);
        let policies = |slice| self.policies + slice * size_of::<u32>();
        let low = bucket.start;
        if bucket.end > low + 1 {
            let slice = last_not_after(bytes, self.points, bucket, point);
            return PolicyId(u32::read(bytes, policies(slice)));
        }
        // Nine of ten buckets and more hold at most one bound. A branch on the comparison with it
        // would be mispredicted often, and reading the policy afterwards would wait for it. So the
        // policies on both sides of the bound are read at once.
        let [before, from] = pair(bytes, policies(low - 1));
        let behind = (low < bucket.end) & (first(bytes, self.points, low) <= point.0);
        let both = u64::from(from) << 32 | u64::from(before);
        PolicyId((both >> (u32::from(behind) * u32::BITS)) as u32)
    }

    #[inline]
    pub(super) fn primary_of(&self, bytes: &[u8], policy: PolicyId) -> NodeId {
        if self.stride > 0 {
            // the members of all policies follow each other
            return NodeId(u32::read(
                bytes,
                self.members + policy.index() * self.stride,
            ));
        }
        let place = self.first_members + policy.index() * size_of::<PolicyRecord>();
        let first = u32::read(bytes, place) as usize;
        NodeId(u32::read(bytes, self.members + first * size_of::<u32>()))
    }

    /// Returns the numbers of a policy's members, if all policies have equally many.
    #[inline]
    pub(super) fn members_of(&self, policy: PolicyId) -> Option<Range<usize>> {
        let each = self.stride / size_of::<u32>();
        let first = policy.index() * each;
        (each > 0).then(|| first..first + each)
    }
}

/// Reads two neighbouring numbers.
#[inline]
fn pair(bytes: &[u8], at: usize) -> [u32; 2] {
    let both = u64::read(bytes, at);
    [both as u32, (both >> 32) as u32]
}

/// Returns the first point of a slice, from the points that start at an offset.
#[inline]
fn first(bytes: &[u8], points: usize, slice: usize) -> u64 {
    u64::read(bytes, points + slice * size_of::<u64>())
}

/// Among these slices, returns the number of the last one that starts at or before the point; if
/// none does, that of the slice in front of them.
#[inline]
pub(super) fn last_not_after(
    bytes: &[u8],
    points: usize,
    slices: Range<usize>,
    point: Point,
) -> usize {
    let (mut low, mut high) = (slices.start, slices.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if first(bytes, points, middle) <= point.0 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low - 1
}
