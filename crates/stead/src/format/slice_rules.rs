//! The rules of slices: base slices, pins, final slices and the index over them, and the target of
//! a gradual change, by docs/map-format.md.

use super::layout::{at, index_bits, u32_at, u64_at, Record, GRADUAL, SHORT_PIN};
use super::rules::Check;
use super::verify::broken;
use crate::error::Result;
use crate::point::{Point, SPACE};
use crate::policy::PolicyId;
use crate::slice::{lay_over, Slice};

/// What uses each policy.
pub(super) struct Used(Vec<u8>);

impl Used {
    const BY_BASE: u8 = 1;
    const BY_TARGET: u8 = 2;
    /// by a pin
    const BY_HAND: u8 = 4;

    pub(super) fn of(policies: usize, bases: &[Slice], targets: &[Slice], pins: &[Slice]) -> Used {
        let mut used = vec![0; policies];
        for (slices, by) in [
            (bases, Used::BY_BASE),
            (targets, Used::BY_TARGET),
            (pins, Used::BY_HAND),
        ] {
            for slice in slices {
                if let Some(used) = used.get_mut(slice.policy.index()) {
                    *used |= by;
                }
            }
        }
        Used(used)
    }
}

impl Check<'_> {
    /// Flags of the policy whose number stands at `offset`.
    fn policy(&self, offset: usize) -> Result<(PolicyId, u32)> {
        let policy = u32_at(self.bytes, offset);
        if policy as usize >= self.count(Record::Policies) {
            return broken(offset, format!("there is no policy {policy}"));
        }
        Ok((
            PolicyId(policy),
            u32_at(self.bytes, self.at(Record::Policies, policy as usize) + 32),
        ))
    }

    pub(super) fn base_slices(&self) -> Result<Vec<Slice>> {
        self.whole_space(Record::BasePoints, Record::BasePolicies, "base")
    }

    /// The target slices; none in a map without a gradual change.
    pub(super) fn target_slices(&self, bases: &[Slice]) -> Result<Vec<Slice>> {
        if u64_at(self.bytes, at::FEATURES) & GRADUAL == 0 {
            return Ok(Vec::new());
        }
        let targets = self.whole_space(Record::TargetPoints, Record::TargetPolicies, "target")?;
        if targets == bases {
            return broken(
                self.at(Record::TargetPoints, 0),
                "the target slices are the base slices, so no change is under way",
            );
        }
        Ok(targets)
    }

    /// Slices that cover the space, base or target.
    fn whole_space(&self, points: Record, policies: Record, what: &str) -> Result<Vec<Slice>> {
        let count = self.count(points);
        if count == 0 || count != self.count(policies) {
            return broken(
                self.at(points, 0),
                format!("there must be {what} slices, and as many policies as points"),
            );
        }
        let mut slices: Vec<Slice> = Vec::with_capacity(count);
        for i in 0..count {
            let offset = self.at(points, i);
            let first = Point(u64_at(self.bytes, offset));
            let place = self.at(policies, i);
            let (policy, flags) = self.policy(place)?;
            if flags == 1 {
                return broken(
                    place,
                    format!("a {what} slice is held by a named policy without a weight"),
                );
            }
            if !self.cells.is_bound(first) {
                return broken(offset, "the slice does not start at a cell bound");
            }
            match slices.last_mut() {
                None if first != Point(0) => {
                    return broken(offset, "the first slice must start at point 0")
                }
                None => {}
                Some(before) if first <= before.first => {
                    return broken(offset, "slices must be ordered by their first points")
                }
                Some(before) if before.policy == policy => {
                    return broken(place, "neighbouring slices have the same policy")
                }
                Some(before) => before.last = Point(first.0 - 1),
            }
            slices.push(Slice {
                first,
                last: Point::LAST,
                policy,
            });
        }
        Ok(slices)
    }

    pub(super) fn pins(&self) -> Result<Vec<Slice>> {
        let mut pins: Vec<Slice> = Vec::with_capacity(self.count(Record::Pins));
        let mut short = false;
        for i in 0..self.count(Record::Pins) {
            let offset = self.at(Record::Pins, i);
            let (first, last) = (
                Point(u64_at(self.bytes, offset)),
                Point(u64_at(self.bytes, offset + 8)),
            );
            if first > last || pins.last().is_some_and(|before| before.last >= first) {
                return broken(offset, "pins must be ordered, not empty and not overlap");
            }
            let after = u128::from(last.0) + 1;
            if !self.cells.is_bound(first) || self.cells.round_up(after) != after {
                return broken(offset, "a pin's bounds are not cell bounds");
            }
            let (policy, _) = self.policy(offset + 16)?;
            let key = self.key(offset + 24);
            let flags = u32_at(self.bytes, offset + 20);
            short |= flags & 2 == 2;
            match flags & !2 {
                0 if key.is_empty() => {}
                1 => {
                    let cell = self.hash.cell(self.key_rule.of(key), self.cells);
                    if self.cells.bound(cell) != u128::from(first.0)
                        || self.cells.bound(cell + 1) != after
                    {
                        return broken(offset, "a pin by key does not cover just its key's cell");
                    }
                }
                _ => {
                    return broken(
                        offset + 20,
                        "the flags of a pin are wrong, or a pin by range has a key",
                    )
                }
            }
            pins.push(Slice {
                first,
                last,
                policy,
            });
        }
        if short != (u64_at(self.bytes, at::FEATURES) & SHORT_PIN != 0) {
            return broken(
                at::FEATURES,
                "feature 3 must be set when a pin is short, and only then",
            );
        }
        Ok(pins)
    }

    /// The string that `strings_nodes_policies` found to be sound.
    fn key(&self, reference: usize) -> &[u8] {
        let start = self.at(Record::Strings, u32_at(self.bytes, reference) as usize);
        self.bytes
            .get(start..start + u32_at(self.bytes, reference + 4) as usize)
            .unwrap_or(&[])
    }

    pub(super) fn unnamed_policies_are_used(&self, used: &Used) -> Result<()> {
        for (i, used) in used.0.iter().enumerate() {
            let offset = self.at(Record::Policies, i);
            if *used == 0 && u32_at(self.bytes, offset + 32) & 1 == 0 {
                return broken(offset, "an unnamed policy holds nothing");
            }
        }
        Ok(())
    }

    /// The nodes that the fleet dropped and that base slices still name. Cost: one pass over the
    /// members, if there are any.
    pub(super) fn leaving(&self, used: &Used) -> Result<()> {
        let count = self.count(Record::Leaving);
        if count == 0 {
            return Ok(());
        }
        let mut named_by = vec![0u8; self.count(Record::Nodes)];
        for (i, used) in used.0.iter().enumerate() {
            let record = self.at(Record::Policies, i);
            let named = u32_at(self.bytes, record + 32) & 1 == 1;
            let first = u32_at(self.bytes, record + 24) as usize;
            for member in first..first + u32_at(self.bytes, record + 28) as usize {
                if let Some(by) =
                    named_by.get_mut(u32_at(self.bytes, self.at(Record::Members, member)) as usize)
                {
                    *by |= if named { Used::BY_HAND } else { *used };
                }
            }
        }
        let mut before = None;
        for i in 0..count {
            let offset = self.at(Record::Leaving, i);
            let node = u32_at(self.bytes, offset);
            let Some(by) = named_by.get(node as usize) else {
                return broken(offset, format!("there is no node {node}"));
            };
            if before.is_some_and(|before| before >= node) {
                return broken(offset, "leaving nodes must be ordered, none twice");
            }
            before = Some(node);
            if u64_at(self.bytes, self.at(Record::Nodes, node as usize) + 16) != 0 {
                return broken(offset, "a leaving node has weight 0");
            }
            if by & Used::BY_BASE == 0 {
                return broken(offset, "a leaving node holds no base slice");
            }
            if by & Used::BY_TARGET != 0 {
                return broken(offset, "a leaving node holds a target slice");
            }
            if by & Used::BY_HAND != 0 {
                return broken(offset, "a pin or a named policy names a leaving node");
            }
        }
        Ok(())
    }

    /// Final slices and the index over them.
    pub(super) fn final_slices(&self, bases: &[Slice], pins: &[Slice]) -> Result<()> {
        let (points, policies) = (
            self.count(Record::FinalPoints),
            self.count(Record::FinalPolicies),
        );
        let laid;
        let finals = if pins.is_empty() {
            if points != 0 || policies != 0 {
                return broken(
                    self.at(Record::FinalPoints, 0),
                    "without pins there are no final slices beside the base slices",
                );
            }
            bases
        } else {
            laid = lay_over(bases.iter().copied(), pins.iter().copied());
            if points != laid.len() || policies != laid.len() {
                return broken(
                    self.at(Record::FinalPoints, 0),
                    format!("there must be {} final slices", laid.len()),
                );
            }
            for (i, slice) in laid.iter().enumerate() {
                let (point, policy) = (
                    self.at(Record::FinalPoints, i),
                    self.at(Record::FinalPolicies, i),
                );
                if u64_at(self.bytes, point) != slice.first.0
                    || u32_at(self.bytes, policy) != slice.policy.0
                {
                    return broken(
                        point,
                        "the final slices are not the base slices under the pins",
                    );
                }
            }
            &laid
        };
        self.index(finals)
    }

    fn index(&self, finals: &[Slice]) -> Result<()> {
        let bits = index_bits(finals.len());
        if self.layout.index_bits != bits {
            return broken(
                at::INDEX_BITS,
                format!("the index of {} slices has {bits} bits", finals.len()),
            );
        }
        if self.count(Record::Index) != (1 << bits) + 1 {
            return broken(
                self.at(Record::Index, 0),
                format!("the index has {} entries", (1 << bits) + 1),
            );
        }
        let mut firsts = finals.iter().map(|s| u128::from(s.first.0)).peekable();
        let mut below = 0;
        for bucket in 0..=1usize << bits {
            let start = (bucket as u128 * SPACE) >> bits;
            while firsts.next_if(|first| *first < start).is_some() {
                below += 1;
            }
            let offset = self.at(Record::Index, bucket);
            if u32_at(self.bytes, offset) != below {
                return broken(offset, format!("this entry of the index must be {below}"));
            }
        }
        Ok(())
    }
}
