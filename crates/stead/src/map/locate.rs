//! Locating: a point belongs to the last slice whose first point is not greater.

use super::inside::Members;
use super::open::Map;
use crate::format::records::{Section, BASE_POINTS, BASE_POLICIES, INDEX};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;

impl Map {
    /// Returns the point of a key, by this map's key rule and hash. The bytes of the key are taken
    /// as they are.
    pub fn point(&self, key: &[u8]) -> Point {
        self.checked
            .hash
            .point_of(self.checked.key_rule, self.cells(), key)
    }

    /// Returns where a key lives: its primary node.
    pub fn locate(&self, key: &[u8]) -> NodeId {
        self.locate_point(self.point(key))
    }

    /// Returns the primary node of a point.
    pub fn locate_point(&self, point: Point) -> NodeId {
        self.policy(self.policy_of(point)).primary()
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
    pub fn policy_of(&self, point: Point) -> PolicyId {
        PolicyId(self.read(self.final_sections().1, self.slice_number(point)))
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
        let number = if self.final_sections().0 == BASE_POINTS {
            self.slice_number(point)
        } else {
            self.last_not_after(BASE_POINTS, 0, self.base_count(), point)
        };
        self.slice_at(BASE_POINTS, BASE_POLICIES, number)
    }

    /// Returns the number of the final slice that a point is in, using the search index.
    fn slice_number(&self, point: Point) -> usize {
        let bucket = (point.0 >> (64 - self.checked.layout.index_bits())) as usize;
        let entry = |b| self.read(INDEX, b) as usize;
        self.last_not_after(
            self.final_sections().0,
            entry(bucket),
            entry(bucket + 1),
            point,
        )
    }

    /// Among the slices with numbers `low` to `high` - 1, returns the last one that starts at or
    /// before the point; if none does, the slice before `low`.
    fn last_not_after(
        &self,
        points: Section<u64>,
        mut low: usize,
        mut high: usize,
        point: Point,
    ) -> usize {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.read(points, middle) <= point.0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(1) // the first slice starts at 0, so there is one before
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
