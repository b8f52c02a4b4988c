//! Locating: a point belongs to the last slice whose first point is not greater.

use std::mem::{offset_of, size_of};
use std::ops::Range;

use super::inside::Members;
use super::open::Map;
use crate::format::records::{
    PolicyRecord, Run, Section, Stored, BASE_POINTS, BASE_POLICIES, FINAL_POINTS, FINAL_POLICIES,
    INDEX, MEMBERS, PINS, POLICIES,
};
use crate::format::Layout;
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;

impl Map {
    /// Returns the point of a key, by this map's key rule and hash. The bytes of the key are taken
    /// as they are.
    #[inline]
    pub fn point(&self, key: &[u8]) -> Point {
        self.checked
            .hash
            .point_of(self.checked.key_rule, self.cells(), key)
    }

    /// Returns where a key lives: its primary node.
    #[inline]
    pub fn locate(&self, key: &[u8]) -> NodeId {
        self.locate_point(self.point(key))
    }

    /// Returns the primary node of a point.
    #[inline]
    pub fn locate_point(&self, point: Point) -> NodeId {
        self.primary_of(self.policy_of(point))
    }

    /// Returns the first node of a policy. Verifying the map made sure that there is one.
    #[inline]
    pub(super) fn primary_of(&self, policy: PolicyId) -> NodeId {
        self.finder.primary_of(&self.bytes, policy)
    }

    /// Returns all nodes of a key, primary first.
    pub fn locate_all(&self, key: &[u8]) -> Members<'_> {
        self.locate_all_point(self.point(key))
    }

    /// Returns all nodes of a point, primary first.
    pub fn locate_all_point(&self, point: Point) -> Members<'_> {
        self.policy(self.policy_of(point)).members()
    }

    /// Returns the policy that holds a point, pins applied.
    #[inline]
    pub fn policy_of(&self, point: Point) -> PolicyId {
        self.finder.policy_of(&self.bytes, point)
    }

    /// Returns the slice that a point is in, pins applied.
    pub fn slice_of(&self, point: Point) -> Slice {
        let (points, policies) = self.final_sections();
        self.slice_at(points, policies, self.slice_number(point))
    }

    /// Returns the slice with this number, pins applied. Slices are numbered from 0, in the order
    /// of points.
    pub fn slice(&self, number: usize) -> Option<Slice> {
        let (points, policies) = self.final_sections();
        (number < self.slice_count()).then(|| self.slice_at(points, policies, number))
    }

    /// Returns the base slice that a point is in, pins not applied.
    pub fn base_slice_of(&self, point: Point) -> Slice {
        self.slice_at(BASE_POINTS, BASE_POLICIES, self.base_slice_number(point))
    }

    /// Returns the policy of the base slice that a point is in.
    pub(super) fn base_policy_of(&self, point: Point) -> PolicyId {
        if self.count(PINS) == 0 {
            return self.policy_of(point);
        }
        PolicyId(self.read(BASE_POLICIES, self.base_slice_number(point)))
    }

    fn base_slice_number(&self, point: Point) -> usize {
        if self.count(PINS) == 0 {
            return self.slice_number(point);
        }
        let points = self.checked.layout.offset(BASE_POINTS, 0);
        last_not_after(&self.bytes, points, 1..self.base_count(), point)
    }

    /// Returns the number of the final slice that a point is in, using the search index.
    fn slice_number(&self, point: Point) -> usize {
        let (bytes, finder) = (&self.bytes, &self.finder);
        last_not_after(bytes, finder.points, finder.bucket(bytes, point), point)
    }

    fn slice_at(&self, points: Section<u64>, policies: Section<u32>, number: usize) -> Slice {
        let last = if number + 1 < self.count(points) {
            self.read(points, number + 1).wrapping_sub(1)
        } else {
            u64::MAX
        };
        Slice {
            first: Point(self.read(points, number)),
            last: Point(last),
            policy: PolicyId(self.read(policies, number)),
        }
    }
}

/// The offsets in the file of what `locate` reads.
///
/// Every read is checked against the length of the file, since somebody may overwrite a mapped
/// file. What is read where the file is damaged is a wrong answer, and nothing worse.
pub(super) struct Finder {
    /// how far to the right a point is shifted, to leave the number of its bucket
    shift: u32,
    index: usize,
    points: usize,
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
        // without pins, the base slices are the final slices
        let (points, policies) = if layout.count(PINS) == 0 {
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
    fn bucket(&self, bytes: &[u8], point: Point) -> Range<usize> {
        let bucket = (point.0 >> self.shift) as usize;
        let [low, high] = pair(bytes, self.index + bucket * size_of::<u32>());
        (low as usize).max(1)..high as usize
    }

    #[inline]
    fn policy_of(&self, bytes: &[u8], point: Point) -> PolicyId {
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
    fn primary_of(&self, bytes: &[u8], policy: PolicyId) -> NodeId {
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
fn last_not_after(bytes: &[u8], points: usize, slices: Range<usize>, point: Point) -> usize {
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
