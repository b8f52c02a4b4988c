//! The rules for strings, spread, nodes and policies, by docs/map-format.md.

use std::mem::offset_of;

use super::check::{broken, Check};
use super::layout::Extent;
use super::records::{
    AffixRefs, FirstRecord, Header, NodeRecord, PairRecord, PinRecord, PolicyRecord, Run, Section,
    Stored, StringRef, ATTRIBUTES, FIRSTS, LABELS, MEMBERS, NODES, PINS, POLICIES, SPREAD, STRINGS,
    TWICE,
};
use crate::error::Result;
use crate::memory;
use crate::name::{check_name, check_node_name, check_text, NAME_MAX, SPREAD_MAX, TEXT_MAX};
use crate::policy::NODES_MAX;
use crate::weight::Weight;

/// A cursor over the strings, which must follow each other without gaps.
struct Strings<'a> {
    bytes: &'a [u8],
    pool: Extent,
    used: usize,
}

impl<'a> Strings<'a> {
    /// Returns the next string, which the field at `place` refers to.
    fn next(&mut self, string: StringRef, place: usize) -> Result<&'a [u8]> {
        let (offset, length) = (string.offset as usize, string.length as usize);
        if offset != self.used {
            return broken(
                place,
                format!(
                    "the string must lie at {} in section 1, right after the one before",
                    self.used
                ),
            );
        }
        if length > self.pool.count - self.used {
            return broken(
                place + offset_of!(StringRef, length),
                "the string reaches beyond section 1",
            );
        }
        let start = self.pool.offset + self.used;
        self.used += length;
        self.bytes
            .get(start..start + length)
            .map_or_else(|| broken(place, "the string is outside the file"), Ok)
    }

    fn next_text(&mut self, string: StringRef, place: usize) -> Result<&'a str> {
        let bytes = self.next(string, place)?;
        std::str::from_utf8(bytes).or_else(|_| broken(place, "the string is not UTF-8"))
    }
}

impl Check<'_> {
    /// Checks everything that refers to strings, in the order of the strings.
    pub(super) fn strings_nodes_policies(&self) -> Result<()> {
        let pool = *STRINGS.of(&self.layout.extents);
        let mut strings = Strings {
            bytes: self.bytes,
            pool,
            used: 0,
        };
        if self.hash.affixes().is_some() {
            let (place, refs) = (
                offset_of!(Header, secret),
                AffixRefs::read(&self.header.secret, 0),
            );
            strings.next(refs.prefix, place + offset_of!(AffixRefs, prefix))?;
            strings.next(refs.suffix, place + offset_of!(AffixRefs, suffix))?;
        }
        let place = offset_of!(Header, name);
        let name = strings.next_text(self.header.name, place)?;
        refuse(place, "the name of the map", check_name(name, NAME_MAX))?;
        self.spread(&mut strings)?;
        self.nodes(&mut strings)?;
        let (labels, attributes) = (
            offset_of!(NodeRecord, labels),
            offset_of!(NodeRecord, attributes),
        );
        self.pairs(&mut strings, LABELS, labels, 1)?;
        self.pairs(&mut strings, ATTRIBUTES, attributes, 0)?;
        self.policies(&mut strings)?;
        for i in 0..self.count(PINS) {
            let place = self.at(PINS, i) + offset_of!(PinRecord, key);
            strings.next(self.read(PINS, i).key, place)?;
        }
        for i in 0..self.count(FIRSTS) {
            let place = self.at(FIRSTS, i) + offset_of!(FirstRecord, key);
            strings.next(self.read(FIRSTS, i).key, place)?;
        }
        if strings.used != pool.count {
            return broken(
                pool.offset + strings.used,
                "section 1 has bytes that no string uses",
            );
        }
        Ok(())
    }

    fn spread(&self, strings: &mut Strings) -> Result<()> {
        let mut seen: Vec<&str> = Vec::new();
        for i in 0..self.count(SPREAD) {
            let offset = self.at(SPREAD, i);
            let label = strings.next_text(self.read(SPREAD, i), offset)?;
            refuse(offset, "a label name", check_name(label, TEXT_MAX))?;
            // a handful of levels is normal; the limit also keeps the search for duplicates from
            // taking quadratic time
            if seen.contains(&label) || i >= SPREAD_MAX {
                return broken(
                    offset,
                    format!("spread names a label twice, or more than {SPREAD_MAX} labels"),
                );
            }
            seen.push(label);
        }
        Ok(())
    }

    fn nodes(&self, strings: &mut Strings) -> Result<()> {
        let count = self.count(NODES);
        if !(1..=NODES_MAX).contains(&count) {
            return broken(
                self.at(NODES, 0),
                format!("a map must have 1 to {NODES_MAX} nodes, not {count}"),
            );
        }
        let mut before = "";
        for i in 0..count {
            let offset = self.at(NODES, i);
            let node = self.read(NODES, i);
            let name = strings.next_text(node.name, offset)?;
            refuse(offset, "a node's name", check_node_name(name))?;
            if name <= before {
                return broken(offset, "nodes must be ordered by name, none twice");
            }
            before = name;
            let place = offset + offset_of!(NodeRecord, formerly);
            let formerly = strings.next_text(node.formerly, place)?;
            if !formerly.is_empty() {
                refuse(place, "a node's former name", check_node_name(formerly))?;
            }
            weight(node.weight, offset + offset_of!(NodeRecord, weight))?;
        }
        Ok(())
    }

    /// Checks the labels or attributes of all nodes. The run of a node is at offset `field` of its
    /// record.
    fn pairs(
        &self,
        strings: &mut Strings,
        section: Section<PairRecord>,
        field: usize,
        least: usize,
    ) -> Result<()> {
        let mut used = 0;
        for node in 0..self.count(NODES) {
            let count = self.run(self.at(NODES, node) + field, &mut used, self.count(section))?;
            let mut before = "";
            for i in used - count..used {
                let offset = self.at(section, i);
                let pair = self.read(section, i);
                let name = strings.next_text(pair.name, offset)?;
                refuse(
                    offset,
                    "a label's or attribute's name",
                    check_name(name, TEXT_MAX),
                )?;
                if name <= before {
                    return broken(
                        offset,
                        "the labels and attributes of a node must be ordered by name, none twice",
                    );
                }
                before = name;
                let place = offset + offset_of!(PairRecord, value);
                let value = strings.next_text(pair.value, place)?;
                refuse(
                    place,
                    "a label's or attribute's value",
                    check_text(value, TEXT_MAX),
                )?;
                if value.len() < least {
                    return broken(place, "a label's value is empty");
                }
            }
        }
        if used != self.count(section) {
            return broken(
                self.at(section, used),
                "labels or attributes belong to no node",
            );
        }
        Ok(())
    }

    /// Returns the number of records in the run at `place`. The run must start where the one before
    /// ended and stay within `most`. Advances `used`.
    fn run(&self, place: usize, used: &mut usize, most: usize) -> Result<usize> {
        let Run { first, count } = Run::read(self.bytes, place);
        if first as usize != *used {
            return broken(
                place,
                format!("the run must start at {used}, right after the one before"),
            );
        }
        if count as usize > most - *used {
            return broken(
                place + offset_of!(Run, count),
                "the run reaches beyond its section",
            );
        }
        *used += count as usize;
        Ok(count as usize)
    }

    fn policies(&self, strings: &mut Strings) -> Result<()> {
        let mut used = 0;
        // of unnamed policies the nodes, of named ones the name; the vectors are used again and
        // again, since a map may have a million policies
        let mut before: Option<(bool, &str)> = None;
        let (mut members, mut before_members) = (Vec::new(), Vec::new());
        let mut listed = memory::filled(self.count(NODES), u32::MAX)?;
        let may_repeat = self.has(TWICE);
        let mut repeats = false;
        for (i, policy) in self.all(POLICIES).enumerate() {
            let offset = self.at(POLICIES, i);
            let (kind_at, weight_at, members_at) = (
                offset + offset_of!(PolicyRecord, kind),
                offset + offset_of!(PolicyRecord, weight),
                offset + offset_of!(PolicyRecord, members),
            );
            let name = strings.next_text(policy.name, offset)?;
            let kind = strings.next_text(policy.kind, kind_at)?;
            let weight = weight(policy.weight, weight_at)?;
            let (named, weighted) = (policy.is_named(), policy.is_weighted());
            let known = PolicyRecord::NAMED | PolicyRecord::WEIGHTED;
            if policy.flags & !known != 0 || (weighted && !named) || policy.zero != 0 {
                return broken(
                    offset + offset_of!(PolicyRecord, flags),
                    "the flags of a policy are wrong",
                );
            }
            if named {
                refuse(offset, "a policy's name", check_node_name(name))?;
                refuse(kind_at, "a policy's kind", check_text(kind, NAME_MAX))?;
            } else if !name.is_empty() || !kind.is_empty() {
                return broken(offset, "an unnamed policy must not have a name or a kind");
            }
            if !weighted && weight != Weight::ZERO {
                return broken(
                    weight_at,
                    "a policy without the weight flag must have weight 0",
                );
            }
            let count = self.run(members_at, &mut used, self.count(MEMBERS))?;
            if count == 0 {
                return broken(
                    members_at + offset_of!(Run, count),
                    "a policy must have at least one node",
                );
            }
            members.clear();
            memory::reserve(&mut members, count)?;
            members.extend(self.some(MEMBERS, used - count..used));
            for (m, node) in (used - count..).zip(&members) {
                match listed.get_mut(*node as usize) {
                    None => return broken(self.at(MEMBERS, m), format!("there is no node {node}")),
                    Some(last) if *last == i as u32 && may_repeat && !named => repeats = true,
                    Some(last) if *last == i as u32 => {
                        return broken(self.at(MEMBERS, m), "a policy names a node twice");
                    }
                    Some(last) => *last = i as u32,
                }
            }
            if named {
                members.clear();
            }
            let now = (!named, name);
            if before.is_some_and(|before| (before, &before_members) >= (now, &members)) {
                return broken(
                    offset,
                    "policies must be ordered: named ones by name, then unnamed \
                    ones by their nodes, none twice",
                );
            }
            before = Some(now);
            std::mem::swap(&mut before_members, &mut members);
        }
        if repeats != may_repeat {
            return broken(
                offset_of!(Header, features),
                "feature 2 must be set when an unnamed policy names a node twice, and only then",
            );
        }
        if used != self.count(MEMBERS) {
            return broken(self.at(MEMBERS, used), "members belong to no policy");
        }
        Ok(())
    }
}

fn weight(millionths: u64, place: usize) -> Result<Weight> {
    Weight::from_millionths(millionths)
        .map_or_else(|| broken(place, "a weight is above 1000000"), Ok)
}

/// Turns a bad name into the error for a broken rule.
fn refuse(
    offset: usize,
    what: &str,
    name: std::result::Result<(), crate::name::BadName>,
) -> Result<()> {
    name.or_else(|why| broken(offset, format!("{what} {why}")))
}
