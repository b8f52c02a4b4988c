//! The rules of the records: strings, nodes and policies here, slices in slice_rules.rs, by
//! docs/map-format.md.

use super::layout::{at, u32_at, u64_at, Layout, Record, Section, NODES_MAX, TWICE};
use super::slice_rules::Used;
use super::verify::broken;
use crate::cell::Cells;
use crate::error::Result;
use crate::hash::{Hash, KeyRule};
use crate::name::{check_name, check_node_name, check_text, NAME_MAX, TEXT_MAX};
use crate::weight::Weight;

/// A cursor over the strings, which must follow each other without gaps.
struct Strings<'a> {
    bytes: &'a [u8],
    pool: Section,
    used: usize,
}

impl<'a> Strings<'a> {
    /// The next string, referred to at `reference`.
    fn next(&mut self, reference: usize) -> Result<&'a [u8]> {
        let (offset, length) = (
            u32_at(self.bytes, reference) as usize,
            u32_at(self.bytes, reference + 4) as usize,
        );
        if offset != self.used {
            return broken(
                reference,
                format!(
                    "the string must lie at {} in section 1, right after the one before",
                    self.used
                ),
            );
        }
        if length > self.pool.count - self.used {
            return broken(reference + 4, "the string reaches beyond section 1");
        }
        let start = self.pool.offset + self.used;
        self.used += length;
        self.bytes
            .get(start..start + length)
            .map_or_else(|| broken(reference, "the string is outside the file"), Ok)
    }

    fn next_text(&mut self, reference: usize) -> Result<&'a str> {
        let bytes = self.next(reference)?;
        std::str::from_utf8(bytes).or_else(|_| broken(reference, "the string is not UTF-8"))
    }
}

/// Checks the rules of the records; the header and the section table are sound.
pub(super) fn rules(
    bytes: &[u8],
    layout: Layout,
    hash: &Hash,
    key_rule: KeyRule,
    cells: Cells,
) -> Result<()> {
    let check = Check {
        bytes,
        layout,
        hash,
        key_rule,
        cells,
    };
    check.strings_nodes_policies()?;
    let bases = check.base_slices()?;
    let targets = check.target_slices(&bases)?;
    let pins = check.pins()?;
    let used = Used::of(check.count(Record::Policies), &bases, &targets, &pins);
    check.unnamed_policies_are_used(&used)?;
    check.leaving(&used)?;
    check.final_slices(&bases, &pins)
}

/// A file whose header and section table are sound.
pub(super) struct Check<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) layout: Layout,
    pub(super) hash: &'a Hash,
    pub(super) key_rule: KeyRule,
    pub(super) cells: Cells,
}

impl Check<'_> {
    pub(super) fn count(&self, record: Record) -> usize {
        self.layout.count(record)
    }

    pub(super) fn at(&self, record: Record, i: usize) -> usize {
        self.layout.offset(record, i)
    }

    /// Everything that refers to strings, in the order of the strings.
    fn strings_nodes_policies(&self) -> Result<()> {
        let pool = self.layout.sections.first().copied().unwrap_or_default();
        let mut strings = Strings {
            bytes: self.bytes,
            pool,
            used: 0,
        };
        if self.hash.affixes().is_some() {
            strings.next(at::SECRET)?;
            strings.next(at::SECRET + 8)?;
        }
        let name = strings.next_text(at::NAME)?;
        refuse(at::NAME, "the name of the map", check_name(name, NAME_MAX))?;
        self.spread(&mut strings)?;
        self.nodes(&mut strings)?;
        self.pairs(&mut strings, Record::Labels, 24, 1)?;
        self.pairs(&mut strings, Record::Attributes, 32, 0)?;
        self.policies(&mut strings)?;
        for i in 0..self.count(Record::Pins) {
            strings.next(self.at(Record::Pins, i) + 24)?;
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
        for i in 0..self.count(Record::Spread) {
            let offset = self.at(Record::Spread, i);
            let label = strings.next_text(offset)?;
            refuse(offset, "a label name", check_name(label, TEXT_MAX))?;
            // a handful of levels; more than the nodes' labels can have is nonsense, and quadratic
            // work is not wanted
            if seen.contains(&label) || i >= 255 {
                return broken(
                    offset,
                    "spread names a label twice, or more than 255 labels",
                );
            }
            seen.push(label);
        }
        Ok(())
    }

    fn nodes(&self, strings: &mut Strings) -> Result<()> {
        let count = self.count(Record::Nodes);
        if !(1..=NODES_MAX).contains(&count) {
            return broken(
                self.at(Record::Nodes, 0),
                format!("a map has 1 to {NODES_MAX} nodes, not {count}"),
            );
        }
        let mut before = "";
        for i in 0..count {
            let offset = self.at(Record::Nodes, i);
            let name = strings.next_text(offset)?;
            refuse(offset, "a node's name", check_node_name(name))?;
            if name <= before {
                return broken(offset, "nodes must be ordered by name, none twice");
            }
            before = name;
            let formerly = strings.next_text(offset + 8)?;
            if !formerly.is_empty() {
                refuse(
                    offset + 8,
                    "a node's former name",
                    check_node_name(formerly),
                )?;
            }
            self.weight(offset + 16)?;
        }
        Ok(())
    }

    fn weight(&self, offset: usize) -> Result<Weight> {
        let millionths = u64_at(self.bytes, offset);
        Weight::from_millionths(millionths)
            .map_or_else(|| broken(offset, "a weight is above 1000000"), Ok)
    }

    /// The labels or attributes of all nodes; the node record has first and count at `field`.
    fn pairs(
        &self,
        strings: &mut Strings,
        record: Record,
        field: usize,
        least: usize,
    ) -> Result<()> {
        let mut used = 0;
        for node in 0..self.count(Record::Nodes) {
            let offset = self.at(Record::Nodes, node) + field;
            let count = self.run(offset, &mut used, self.count(record))?;
            let mut before = "";
            for i in used - count..used {
                let offset = self.at(record, i);
                let name = strings.next_text(offset)?;
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
                let value = strings.next_text(offset + 8)?;
                refuse(
                    offset + 8,
                    "a label's or attribute's value",
                    check_text(value, TEXT_MAX),
                )?;
                if value.len() < least {
                    return broken(offset + 8, "a label's value is empty");
                }
            }
        }
        if used != self.count(record) {
            return broken(
                self.at(record, used),
                "labels or attributes belong to no node",
            );
        }
        Ok(())
    }

    /// `u32 first, u32 count` at `offset`: must start where the run before ended and stay within
    /// `most`. Advances `used`.
    fn run(&self, offset: usize, used: &mut usize, most: usize) -> Result<usize> {
        let (first, count) = (
            u32_at(self.bytes, offset) as usize,
            u32_at(self.bytes, offset + 4) as usize,
        );
        if first != *used {
            return broken(
                offset,
                format!("the run must start at {used}, right after the one before"),
            );
        }
        if count > most - *used {
            return broken(offset + 4, "the run reaches beyond its section");
        }
        *used += count;
        Ok(count)
    }

    fn policies(&self, strings: &mut Strings) -> Result<()> {
        let mut used = 0;
        let mut before: Option<(bool, &str, Vec<u32>)> = None;
        let mut listed = vec![u32::MAX; self.count(Record::Nodes)];
        let may_repeat = u64_at(self.bytes, at::FEATURES) & TWICE != 0;
        let mut repeats = false;
        for i in 0..self.count(Record::Policies) {
            let offset = self.at(Record::Policies, i);
            let name = strings.next_text(offset)?;
            let kind = strings.next_text(offset + 8)?;
            let weight = self.weight(offset + 16)?;
            let flags = u32_at(self.bytes, offset + 32);
            let (named, weighted) = (flags & 1 == 1, flags & 2 == 2);
            if flags > 3 || (weighted && !named) || u32_at(self.bytes, offset + 36) != 0 {
                return broken(offset + 32, "the flags of a policy are wrong");
            }
            if named {
                refuse(offset, "a policy's name", check_node_name(name))?;
                refuse(offset + 8, "a policy's kind", check_text(kind, NAME_MAX))?;
            } else if !name.is_empty() || !kind.is_empty() {
                return broken(offset, "an unnamed policy has no name and no kind");
            }
            if !weighted && weight != Weight::ZERO {
                return broken(offset + 16, "a policy without the weight flag has weight 0");
            }
            let count = self.run(offset + 24, &mut used, self.count(Record::Members))?;
            if count == 0 {
                return broken(offset + 28, "a policy has at least one node");
            }
            let members: Vec<u32> = (used - count..used)
                .map(|m| u32_at(self.bytes, self.at(Record::Members, m)))
                .collect();
            for (m, node) in (used - count..).zip(&members) {
                match listed.get_mut(*node as usize) {
                    None => {
                        return broken(
                            self.at(Record::Members, m),
                            format!("there is no node {node}"),
                        )
                    }
                    Some(last) if *last == i as u32 && may_repeat && !named => repeats = true,
                    Some(last) if *last == i as u32 => {
                        return broken(self.at(Record::Members, m), "a policy names a node twice");
                    }
                    Some(last) => *last = i as u32,
                }
            }
            let now = (!named, name, if named { Vec::new() } else { members });
            if before.as_ref().is_some_and(|before| *before >= now) {
                return broken(
                    offset,
                    "policies must be ordered: named ones by name, then unnamed \
                    ones by their nodes, none twice",
                );
            }
            before = Some(now);
        }
        if repeats != may_repeat {
            return broken(
                at::FEATURES,
                "feature 2 must be set when an unnamed policy names a node twice, and only then",
            );
        }
        if used != self.count(Record::Members) {
            return broken(
                self.at(Record::Members, used),
                "members belong to no policy",
            );
        }
        Ok(())
    }
}

/// Turns a bad name into a broken rule.
fn refuse(
    offset: usize,
    what: &str,
    name: std::result::Result<(), crate::name::BadName>,
) -> Result<()> {
    name.or_else(|why| broken(offset, format!("{what} {why}")))
}
