//! Locating: a point belongs to the last slice whose first point is not greater.

use super::finder::last_not_after;
use super::inside::Members;
use super::open::Map;
use crate::format::records::{Section, BASE_POINTS, BASE_POLICIES, FINAL_POINTS};
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
        self.own_policy(self.policy_of(point)).members()
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
        if self.count(FINAL_POINTS) == 0 {
            return self.policy_of(point);
        }
        PolicyId(self.read(BASE_POLICIES, self.base_slice_number(point)))
    }

    fn base_slice_number(&self, point: Point) -> usize {
        if self.count(FINAL_POINTS) == 0 {
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
