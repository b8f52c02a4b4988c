//! The rules for slices, by docs/map-format.md: base slices, pins, final slices and their index,
//! and the target of a gradual change.

use std::mem::offset_of;

use super::check::{broken, Check};
use super::records::{
    index_bits, Header, PinRecord, PolicyRecord, Section, BASE_POINTS, BASE_POLICIES, FINAL_POINTS,
    FINAL_POLICIES, GRADUAL, INDEX, LEAVING, MEMBERS, NODES, PINS, POLICIES, SHORT_PIN,
    TARGET_POINTS, TARGET_POLICIES,
};
use crate::error::Result;
use crate::point::{Point, SPACE};
use crate::policy::PolicyId;
use crate::slice::{lay_over, Slice};

/// For each policy, what uses it.
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
    /// Reads the policy whose number is stored at `place`.
    fn policy(&self, number: u32, place: usize) -> Result<PolicyRecord> {
        if number as usize >= self.count(POLICIES) {
            return broken(place, format!("there is no policy {number}"));
        }
        Ok(self.read(POLICIES, number as usize))
    }

    pub(super) fn base_slices(&self) -> Result<Vec<Slice>> {
        self.whole_space(BASE_POINTS, BASE_POLICIES, "base")
    }

    /// Checks and returns the target slices; none in a map without a gradual change.
    pub(super) fn target_slices(&self, bases: &[Slice]) -> Result<Vec<Slice>> {
        if !self.has(GRADUAL) {
            return Ok(Vec::new());
        }
        let targets = self.whole_space(TARGET_POINTS, TARGET_POLICIES, "target")?;
        if targets == bases {
            return broken(
                self.at(TARGET_POINTS, 0),
                "the target slices are the base slices, so no change is under way",
            );
        }
        Ok(targets)
    }

    /// Checks and returns slices that must cover the whole space: base or target.
    fn whole_space(
        &self,
        points: Section<u64>,
        policies: Section<u32>,
        what: &str,
    ) -> Result<Vec<Slice>> {
        let count = self.count(points);
        if count == 0 || count != self.count(policies) {
            return broken(
                self.at(points, 0),
                format!("there must be {what} slices, with as many policies as points"),
            );
        }
        let mut slices: Vec<Slice> = Vec::with_capacity(count);
        for i in 0..count {
            let offset = self.at(points, i);
            let first = Point(self.read(points, i));
            let (policy, place) = (self.read(policies, i), self.at(policies, i));
            let record = self.policy(policy, place)?;
            let policy = PolicyId(policy);
            if record.is_named() && !record.is_weighted() {
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
        let mut pins: Vec<Slice> = Vec::with_capacity(self.count(PINS));
        let mut short = false;
        for i in 0..self.count(PINS) {
            let offset = self.at(PINS, i);
            let pin = self.read(PINS, i);
            let (first, last) = (Point(pin.first), Point(pin.last));
            if first > last || pins.last().is_some_and(|before| before.last >= first) {
                return broken(
                    offset,
                    "pins must be ordered, must not be empty and must not overlap",
                );
            }
            let after = u128::from(last.0) + 1;
            if !self.cells.is_bound(first) || self.cells.round_up(after) != after {
                return broken(offset, "a pin's bounds are not cell bounds");
            }
            self.policy(pin.policy, offset + offset_of!(PinRecord, policy))?;
            let key = self.layout.string(self.bytes, pin.key);
            let known = PinRecord::BY_KEY | PinRecord::SHORT;
            if pin.flags & !known != 0 || (!pin.is_by_key() && !key.is_empty()) {
                return broken(
                    offset + offset_of!(PinRecord, flags),
                    "the flags of a pin are wrong, or a pin by range has a key",
                );
            }
            if pin.is_by_key() {
                let cell = self.hash.cell(self.key_rule.of(key), self.cells);
                if self.cells.bound(cell) != u128::from(first.0)
                    || self.cells.bound(cell + 1) != after
                {
                    return broken(offset, "a pin by key must cover exactly its key's cell");
                }
            }
            short |= pin.is_short();
            pins.push(Slice {
                first,
                last,
                policy: PolicyId(pin.policy),
            });
        }
        if short != self.has(SHORT_PIN) {
            return broken(
                offset_of!(Header, features),
                "feature 3 must be set when a pin is short, and only then",
            );
        }
        Ok(pins)
    }

    pub(super) fn unnamed_policies_are_used(&self, used: &Used) -> Result<()> {
        for (i, used) in used.0.iter().enumerate() {
            if *used == 0 && !self.read(POLICIES, i).is_named() {
                return broken(self.at(POLICIES, i), "an unnamed policy holds nothing");
            }
        }
        Ok(())
    }

    /// Checks the nodes that the fleet dropped and that base slices still name. Cost: one pass over
    /// the members, if there are such nodes.
    pub(super) fn leaving(&self, used: &Used) -> Result<()> {
        let count = self.count(LEAVING);
        if count == 0 {
            return Ok(());
        }
        let mut named_by = vec![0u8; self.count(NODES)];
        for (i, used) in used.0.iter().enumerate() {
            let policy = self.read(POLICIES, i);
            let first = policy.members.first as usize;
            for member in first..first + policy.members.count as usize {
                if let Some(by) = named_by.get_mut(self.read(MEMBERS, member) as usize) {
                    *by |= if policy.is_named() {
                        Used::BY_HAND
                    } else {
                        *used
                    };
                }
            }
        }
        let mut before = None;
        for i in 0..count {
            let (node, offset) = (self.read(LEAVING, i), self.at(LEAVING, i));
            let Some(by) = named_by.get(node as usize) else {
                return broken(offset, format!("there is no node {node}"));
            };
            if before.is_some_and(|before| before >= node) {
                return broken(offset, "leaving nodes must be ordered, none twice");
            }
            before = Some(node);
            if self.read(NODES, node as usize).weight != 0 {
                return broken(offset, "a leaving node must have weight 0");
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

    /// Checks the final slices and their index.
    pub(super) fn final_slices(&self, bases: &[Slice], pins: &[Slice]) -> Result<()> {
        let (points, policies) = (self.count(FINAL_POINTS), self.count(FINAL_POLICIES));
        let laid;
        let finals = if pins.is_empty() {
            if points != 0 || policies != 0 {
                return broken(
                    self.at(FINAL_POINTS, 0),
                    "without pins there must be no final slices",
                );
            }
            bases
        } else {
            laid = lay_over(bases.iter().copied(), pins.iter().copied());
            if points != laid.len() || policies != laid.len() {
                return broken(
                    self.at(FINAL_POINTS, 0),
                    format!("there must be {} final slices", laid.len()),
                );
            }
            for (i, slice) in laid.iter().enumerate() {
                if self.read(FINAL_POINTS, i) != slice.first.0
                    || self.read(FINAL_POLICIES, i) != slice.policy.0
                {
                    return broken(
                        self.at(FINAL_POINTS, i),
                        "the final slices must be the base slices with the pins laid over them",
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
                offset_of!(Header, index_bits),
                format!("the index of {} slices must have {bits} bits", finals.len()),
            );
        }
        if self.count(INDEX) != (1 << bits) + 1 {
            return broken(
                self.at(INDEX, 0),
                format!("the index must have {} entries", (1 << bits) + 1),
            );
        }
        let mut firsts = finals.iter().map(|s| u128::from(s.first.0)).peekable();
        let mut below = 0;
        for bucket in 0..=1usize << bits {
            let start = (bucket as u128 * SPACE) >> bits;
            while firsts.next_if(|first| *first < start).is_some() {
                below += 1;
            }
            if self.read(INDEX, bucket) != below {
                return broken(
                    self.at(INDEX, bucket),
                    format!("this entry of the index must be {below}"),
                );
            }
        }
        Ok(())
    }
}
