//! Locate: the owner of a point is the last slice whose first point is not greater.

use super::inside::Members;
use super::open::Map;
use crate::format::{u32_at, u64_at, Record};
use crate::point::Point;
use crate::policy::{NodeId, PolicyId};
use crate::slice::Slice;

impl Map {
    /// The point of a key, under this map's key rule and hash. The key's bytes are taken as they
    /// are.
    pub fn point(&self, key: &[u8]) -> Point {
        let hashed = self.checked.key_rule.of(key);
        // points of one cell are one value of the hash: they stand for each other
        Point(
            self.cells()
                .bound(self.checked.hash.cell(hashed, self.cells())) as u64,
        )
    }

    /// Where a key lives: its primary node.
    pub fn locate(&self, key: &[u8]) -> NodeId {
        self.locate_point(self.point(key))
    }

    /// The primary node of a point.
    pub fn locate_point(&self, point: Point) -> NodeId {
        self.policy(self.policy_of(point)).primary()
    }

    /// All nodes of a key, primary first.
    pub fn locate_all(&self, key: &[u8]) -> Members<'_> {
        self.policy(self.policy_of(self.point(key))).members()
    }

    /// The policy that holds a point, pins applied.
    pub fn policy_of(&self, point: Point) -> PolicyId {
        self.record_policy(self.final_records().1, self.slice_number(point))
    }

    /// The slice that a point is in, pins applied.
    pub fn slice_of(&self, point: Point) -> Slice {
        let (points, policies) = self.final_records();
        self.slice_at(points, policies, self.slice_number(point))
    }

    /// The slice of a number, pins applied; they are numbered from 0, by point.
    pub fn slice(&self, number: usize) -> Option<Slice> {
        let (points, policies) = self.final_records();
        (number < self.slice_count()).then(|| self.slice_at(points, policies, number))
    }

    /// The base slice that a point is in, pins not applied.
    pub fn base_slice_of(&self, point: Point) -> Slice {
        let number = match self.final_records().0 {
            Record::BasePoints => self.slice_number(point),
            _ => self.last_not_after(Record::BasePoints, 0, self.base_count(), point),
        };
        self.slice_at(Record::BasePoints, Record::BasePolicies, number)
    }

    /// The number of the final slice that a point is in, through the search index.
    fn slice_number(&self, point: Point) -> usize {
        let layout = &self.checked.layout;
        let bucket = (point.0 >> (64 - layout.index_bits())) as usize;
        let entry = |b| u32_at(&self.bytes, layout.offset(Record::Index, b)) as usize;
        self.last_not_after(
            self.final_records().0,
            entry(bucket),
            entry(bucket + 1),
            point,
        )
    }

    /// Among slices number `low` to `high` - 1, the last that starts at or before the point; the
    /// one before `low` when none does.
    fn last_not_after(
        &self,
        points: Record,
        mut low: usize,
        mut high: usize,
        point: Point,
    ) -> usize {
        while low < high {
            let middle = low + (high - low) / 2;
            if u64_at(&self.bytes, self.checked.layout.offset(points, middle)) <= point.0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(1) // the first slice starts at 0, so there is one before
    }

    fn record_policy(&self, policies: Record, number: usize) -> PolicyId {
        PolicyId(u32_at(
            &self.bytes,
            self.checked.layout.offset(policies, number),
        ))
    }

    fn slice_at(&self, points: Record, policies: Record, number: usize) -> Slice {
        let first = |i| u64_at(&self.bytes, self.checked.layout.offset(points, i));
        let last = if number + 1 < self.checked.layout.count(points) {
            first(number + 1).wrapping_sub(1)
        } else {
            u64::MAX
        };
        Slice {
            first: Point(first(number)),
            last: Point(last),
            policy: self.record_policy(policies, number),
        }
    }
}
