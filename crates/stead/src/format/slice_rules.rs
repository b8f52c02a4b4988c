//! The rules for slices, by docs/map-format.md: base slices, pins, final slices and their index,
//! and the target of a gradual change.

use std::collections::HashMap;
use std::mem::{offset_of, size_of};

use super::check::{broken, Check};
use super::records::{
    index_bits, FirstRecord, Header, PinRecord, PolicyRecord, Section, Stored, BASE_POINTS,
    BASE_POLICIES, FINAL_POINTS, FINAL_POLICIES, FIRST, FIRSTS, GRADUAL, INDEX, LEAVING, MEMBERS,
    NODES, PINS, POLICIES, SHORT_PIN, TARGET_POINTS, TARGET_POLICIES,
};
use crate::error::Result;
use crate::memory;
use crate::point::{Point, SPACE};
use crate::policy::{NodeId, PolicyId};
use crate::slice::{lay_into, turned, under_firsts, with_ends, First, Slice};

/// For each policy, what uses it, and what the rules for slices ask of it.
pub(super) struct Used(Vec<u8>);

impl Used {
    const BY_BASE: u8 = 1;
    const BY_TARGET: u8 = 2;
    /// used by a pin
    const BY_HAND: u8 = 4;
    /// named, and without a weight
    const NO_SHARE: u8 = 8;
    /// used by a final slice over which a first lies
    const BY_FIRST: u8 = 16;

    /// Nothing is used yet.
    pub(super) fn of(check: &Check) -> Result<Used> {
        let no_share = |policy: PolicyRecord| policy.is_named() && !policy.is_weighted();
        let policies = check.all(POLICIES);
        let flags = policies.map(|policy| if no_share(policy) { Used::NO_SHARE } else { 0 });
        Ok(Used(memory::collected(flags)?))
    }

    /// Notes that a policy is used, and returns what is known of it; `None` if there is no such
    /// policy.
    #[inline]
    fn note(&mut self, policy: u32, by: u8) -> Option<u8> {
        let used = self.0.get_mut(policy as usize)?;
        *used |= by;
        Some(*used)
    }

    /// Whether nothing uses the policy with these flags.
    fn is_unused(flags: u8) -> bool {
        flags & (Used::BY_BASE | Used::BY_TARGET | Used::BY_HAND | Used::BY_FIRST) == 0
    }
}

impl Check<'_> {
    pub(super) fn base_slices(&self, used: &mut Used) -> Result<()> {
        self.whole_space(BASE_POINTS, BASE_POLICIES, "base", used, Used::BY_BASE)
    }

    /// Checks the target slices, if a gradual change is under way.
    pub(super) fn target_slices(&self, used: &mut Used) -> Result<()> {
        if !self.has(GRADUAL) {
            return Ok(());
        }
        let (points, policies) = (TARGET_POINTS, TARGET_POLICIES);
        self.whole_space(points, policies, "target", used, Used::BY_TARGET)?;
        if self.bytes_of(points) == self.bytes_of(BASE_POINTS)
            && self.bytes_of(policies) == self.bytes_of(BASE_POLICIES)
        {
            return broken(
                self.at(points, 0),
                "the target slices are the base slices, so no change is under way",
            );
        }
        Ok(())
    }

    /// Checks slices that must cover the whole space: base or target. A map may have a million, so
    /// this is one pass that stores nothing but who uses which policy.
    fn whole_space(
        &self,
        points: Section<u64>,
        policies: Section<u32>,
        what: &str,
        used: &mut Used,
        by: u8,
    ) -> Result<()> {
        let count = self.count(points);
        if count == 0 || count != self.count(policies) {
            return broken(
                self.at(points, 0),
                format!("there must be {what} slices, with as many policies as points"),
            );
        }
        let mut before = None;
        for (i, (first, policy)) in self.all(points).zip(self.all(policies)).enumerate() {
            let Some(known) = used.note(policy, by) else {
                return no_policy(policy, self.at(policies, i));
            };
            if known & Used::NO_SHARE != 0 {
                return broken(
                    self.at(policies, i),
                    format!("a {what} slice is held by a named policy without a weight"),
                );
            }
            if !self.cells.is_bound(Point(first)) {
                return broken(
                    self.at(points, i),
                    "the slice does not start at a cell bound",
                );
            }
            match before {
                None if first != 0 => {
                    return broken(self.at(points, i), "the first slice must start at point 0")
                }
                Some((before, _)) if first <= before => {
                    return broken(
                        self.at(points, i),
                        "slices must be ordered by their first points",
                    )
                }
                Some((_, before)) if policy == before => {
                    return broken(
                        self.at(policies, i),
                        "neighbouring slices have the same policy",
                    )
                }
                _ => before = Some((first, policy)),
            }
        }
        Ok(())
    }

    pub(super) fn pins(&self, used: &mut Used) -> Result<Vec<Slice>> {
        let mut pins: Vec<Slice> = memory::empty(self.count(PINS))?;
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
            if used.note(pin.policy, Used::BY_HAND).is_none() {
                return no_policy(pin.policy, offset + offset_of!(PinRecord, policy));
            }
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

    /// Checks the firsts. Returns the parts of base slices that have another first node because of
    /// them, where no pin lies.
    pub(super) fn firsts(&self, pins: &[Slice], used: &mut Used) -> Result<Vec<Slice>> {
        if !self.has(FIRST) {
            return Ok(Vec::new());
        }
        if self.count(FIRSTS) == 0 {
            return broken(
                offset_of!(Header, features),
                "feature 4 must be set when there are firsts, and only then",
            );
        }
        let mut firsts: Vec<First> = memory::empty(self.count(FIRSTS))?;
        let mut before = None;
        for i in 0..self.count(FIRSTS) {
            let first = self.first(i, before)?;
            before = Some(first.last);
            firsts.push(first);
        }
        let unnamed = (0..).map(PolicyId).zip(self.all(POLICIES));
        let unnamed: HashMap<Vec<NodeId>, PolicyId> = unnamed
            .filter(|(_, policy)| !policy.is_named())
            .map(|(id, policy)| (self.members(&policy), id))
            .collect();
        let mut slices = Vec::new();
        for (slice, node) in under_firsts(memory::collected(self.bases())?, &firsts, pins) {
            let policy: PolicyRecord = self.read(POLICIES, slice.policy.index());
            let list = turned(&self.members(&policy), node).filter(|_| !policy.is_named());
            let Some(list) = list else { continue };
            let Some(policy) = unnamed.get(&list).copied() else {
                return broken(
                    self.at(FIRSTS, 0),
                    format!(
                        "there is no policy for the first over point {}",
                        slice.first
                    ),
                );
            };
            used.note(policy.0, Used::BY_FIRST);
            slices.push(Slice { policy, ..slice });
        }
        Ok(slices)
    }

    /// Checks a first; `before` is the last point of the one before it.
    fn first(&self, i: usize, before: Option<Point>) -> Result<First> {
        let offset = self.at(FIRSTS, i);
        let record = self.read(FIRSTS, i);
        let (first, last) = (Point(record.first), Point(record.last));
        if first > last || before.is_some_and(|before| before >= first) {
            return broken(
                offset,
                "firsts must be ordered, must not be empty and must not overlap",
            );
        }
        let after = u128::from(last.0) + 1;
        if !self.cells.is_bound(first) || self.cells.round_up(after) != after {
            return broken(offset, "a first's bounds are not cell bounds");
        }
        let place = offset + offset_of!(FirstRecord, node);
        if record.node as usize >= self.count(NODES) {
            return broken(place, format!("there is no node {}", record.node));
        }
        if self.all(LEAVING).any(|node| node == record.node) {
            return broken(place, "a first names a leaving node");
        }
        let key = self.layout.string(self.bytes, record.key);
        if record.flags & !FirstRecord::BY_KEY != 0 || (!record.is_by_key() && !key.is_empty()) {
            return broken(
                offset + offset_of!(FirstRecord, flags),
                "the flags of a first are wrong, or a first by range has a key",
            );
        }
        if record.is_by_key() {
            let cell = self.hash.cell(self.key_rule.of(key), self.cells);
            if self.cells.bound(cell) != u128::from(first.0) || self.cells.bound(cell + 1) != after
            {
                return broken(offset, "a first by key must cover exactly its key's cell");
            }
        }
        Ok(First {
            first,
            last,
            node: NodeId(record.node),
        })
    }

    /// Returns the nodes of a policy.
    fn members(&self, policy: &PolicyRecord) -> Vec<NodeId> {
        let run = policy.members;
        let members = run.first as usize..run.first as usize + run.count as usize;
        members.map(|i| NodeId(self.read(MEMBERS, i))).collect()
    }

    /// Returns the base slices, which are checked already.
    fn bases(&self) -> impl Iterator<Item = Slice> + '_ {
        let bases = self.all(BASE_POINTS).map(Point);
        with_ends(bases.zip(self.all(BASE_POLICIES).map(PolicyId)))
    }

    pub(super) fn unnamed_policies_are_used(&self, used: &Used) -> Result<()> {
        for (i, used) in used.0.iter().enumerate() {
            if Used::is_unused(*used) && !self.read(POLICIES, i).is_named() {
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
        let mut named_by = memory::filled(self.count(NODES), 0u8)?;
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
    pub(super) fn final_slices(&self, turned: &[Slice], pins: &[Slice]) -> Result<()> {
        let (points, policies) = (self.count(FINAL_POINTS), self.count(FINAL_POLICIES));
        if pins.is_empty() && !self.has(FIRST) {
            if points != 0 || policies != 0 {
                return broken(
                    self.at(FINAL_POINTS, 0),
                    "without pins and firsts there must be no final slices",
                );
            }
            return self.index(BASE_POINTS);
        }
        let most = self.count(BASE_POINTS) + 2 * turned.len();
        let bases = lay_into(memory::empty(most)?, self.bases(), turned.iter().copied());
        let list = memory::empty(bases.len() + 2 * pins.len())?;
        let laid = lay_into(list, bases.into_iter(), pins.iter().copied());
        if points != laid.len() || policies != laid.len() {
            return broken(
                self.at(FINAL_POINTS, 0),
                format!("there must be {} final slices", laid.len()),
            );
        }
        let finals = self.all(FINAL_POINTS).zip(self.all(FINAL_POLICIES));
        for (i, (slice, found)) in laid.iter().zip(finals).enumerate() {
            if found != (slice.first.0, slice.policy.0) {
                return broken(
                    self.at(FINAL_POINTS, i),
                    "the final slices must be the base slices with firsts and pins laid over them",
                );
            }
        }
        self.index(FINAL_POINTS)
    }

    /// Checks the index of slices whose first points are in order.
    fn index(&self, points: Section<u64>) -> Result<()> {
        let count = self.count(points);
        let bits = index_bits(count);
        if self.layout.index_bits != bits {
            return broken(
                offset_of!(Header, index_bits),
                format!("the index of {count} slices must have {bits} bits"),
            );
        }
        if self.count(INDEX) != (1 << bits) + 1 {
            return broken(
                self.at(INDEX, 0),
                format!("the index must have {} entries", (1 << bits) + 1),
            );
        }
        if self.index_is_right(points, bits) {
            return Ok(());
        }
        let mut firsts = self.all(points).map(u128::from).peekable();
        let mut below = 0;
        for (bucket, entry) in self.all(INDEX).enumerate() {
            let start = (bucket as u128 * SPACE) >> bits;
            while firsts.next_if(|first| *first < start).is_some() {
                below += 1;
            }
            if entry != below {
                return broken(
                    self.at(INDEX, bucket),
                    format!("this entry of the index must be {below}"),
                );
            }
        }
        Ok(())
    }

    /// Whether each entry is the number of slices that start before its bucket. Counting them for
    /// each bucket says the same, and takes several times as long, since a processor cannot predict
    /// how many a bucket has.
    ///
    /// If the entries never decrease, they cut the slices into one run for each bucket. If in
    /// addition each slice is in the run of its bucket, then exactly the slices of the buckets
    /// before lie in front of a run, and their number is the entry.
    pub(super) fn index_is_right(&self, points: Section<u64>, bits: u32) -> bool {
        let index = self.bytes_of(INDEX);
        let after = index.get(size_of::<u32>()..).unwrap_or(&[]);
        let pairs = index
            .chunks_exact(size_of::<u32>())
            .zip(after.chunks_exact(size_of::<u32>()));
        // not `any`: looking at all of them without leaving early is quicker
        let decreasing = pairs
            .filter(|(a, b)| u32::read(a, 0) > u32::read(b, 0))
            .count();
        let ends = (self.read(INDEX, 0), self.read(INDEX, 1 << bits));
        let slices = (0u32..).zip(self.all(points)).all(|(slice, first)| {
            let run = u64::read(index, (first >> (64 - bits)) as usize * size_of::<u32>());
            let (start, end) = (run as u32, (run >> 32) as u32);
            start <= slice && slice < end
        });
        decreasing == 0 && ends == (0, self.count(points) as u32) && slices
    }
}

fn no_policy<T>(number: u32, place: usize) -> Result<T> {
    broken(place, format!("there is no policy {number}"))
}
