//! How one item is copied, mended and removed while applications read and write it, without locks.
//!
//! [`kind`](super::kind) says what a kind guarantees for this. The source is the place that
//! applications write first: while data is copied, the old one.
//!
//! *Settling* makes the target equal to the source, whatever is there: for items that were in
//! flight when the process was killed, and for those that differ although nobody writes them. It
//! only removes a version that it has seen, and adds only where nothing is. A write that happens
//! meanwhile reaches the source first, so the comparison at the end sees it.

use std::thread::sleep;
use std::time::Duration;

use super::kind::{Added, Compared, Done, Fault, Item, Kind, Moment, Node, Version};
use super::refusals::{busy, distorts};
use super::stop::Stop;

/// The first pause before an operation is tried again; each later one is twice as long.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(10);

/// What a fault ends with that was tried often enough.
const TRIED: &str = " (limits.tries)";

/// The first pause after an item has changed while it was copied.
const CHANGED: Duration = Duration::from_millis(2);

/// How often an item is begun again that is written all the time. The pauses make some minutes.
const AGAIN: u32 = 60;

/// How often a copy may be another value than what was copied, at least: applications write the
/// source before the target, and the second of two writes may come between.
const DISTORTED: u32 = 3;

/// How often two places that differ are looked at again: a write may be under way.
const LOOKS: u32 = 6;

/// How an item ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was copied, with so many bytes.
    Copied(u64),
    /// The target had such an item already, or an equal one.
    Present,
    /// The source has no such item any more.
    Gone,
    /// The target had another value, and has that of the source now.
    Mended,
    /// Only the target had it, and it was removed there.
    Cleared,
    /// The target lacked it, and has it now.
    Restored,
    /// The value at the target stays different; both have one.
    Differs,
    /// The target lacks it.
    Absent,
    /// It was removed.
    Removed,
    /// The same, and nobody knows which of two values was the newer one: that of the keeper stays.
    /// With the hash of the version that was removed.
    RemovedOther(u64),
}

/// How an item ended, and the hash of the version that was judged.
pub type Judged = (Outcome, Option<u64>);

/// What stays when old copies are removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stays {
    /// What a keeper lacks: it is `Absent`.
    Lacking,
    /// The same, and what was written after the other value of a keeper: it `Differs`, and so does
    /// what a keeper lacks and what was written after this moment.
    Newer {
        /// When all hosts had stopped to write here.
        since: Option<Moment>,
    },
    /// Nothing.
    Nothing,
}

/// What is to be done with an old copy.
enum Verdict {
    /// It stays, or is gone.
    Ended(Outcome),
    /// This version is removed. Whether a keeper has another value, of which nobody knows when it
    /// was written.
    Remove(Version, bool),
}

/// An item that is being settled, and how far it is.
struct Settling {
    /// what was done so far
    outcome: Outcome,
    /// the version that the source had when the item was copied
    copied: Option<Version>,
    /// how often the copy was another value although the source still had this version
    distorted: u32,
    /// how it ended
    end: Option<Done<Outcome>>,
}

impl Default for Settling {
    fn default() -> Settling {
        Settling {
            outcome: Outcome::Present,
            copied: None,
            distorted: 0,
            end: None,
        }
    }
}

/// The way items are carried, with a kind.
pub struct Protocol<'a> {
    /// The kind.
    pub kind: &'a dyn Kind,
    /// How often an operation is tried that fails for a reason that may pass.
    pub tries: u32,
    /// Ends pauses.
    pub stop: &'a dyn Stop,
    /// The control of a test: without step 3, deleted items come back.
    #[cfg(test)]
    pub without_step_3: bool,
}

impl Protocol<'_> {
    /// Copies items from one node to another.
    pub fn copy_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Outcome>> {
        let added = self.retry_all(items, |items| self.kind.add_all(from, to, items));
        let copied = |added: &Done<Added>| matches!(added, Ok(Added::Copied { .. }));
        let places: Vec<usize> = (0..items.len()).filter(|i| copied(&added[*i])).collect();
        let read: Vec<&Item> = places.iter().map(|i| items[*i]).collect();
        let now = self.retry_all(&read, |items| self.kind.version_all(from, items));
        let mut now = now.into_iter();
        let each = items.iter().zip(added).map(|(item, added)| match added {
            Ok(Added::Copied { read, wrote, bytes }) => {
                let now = now.next().unwrap_or_else(|| self.kind.version(from, item));
                if self.skips_step_3() || now.is_ok_and(|now| now.as_ref() == Some(&read)) {
                    return Ok(Outcome::Copied(bytes));
                }
                self.retry(|| self.kind.remove(to, item, &wrote))?;
                self.copy(from, to, item)
            }
            Ok(Added::Held { bytes, replaced }) => Ok(held(bytes, replaced)),
            Ok(Added::Present) => Ok(Outcome::Present),
            Ok(Added::Gone) => Ok(Outcome::Gone),
            Err(fault) => Err(fault),
        });
        each.collect()
    }

    #[cfg(test)]
    fn skips_step_3(&self) -> bool {
        self.without_step_3
    }

    #[cfg(not(test))]
    fn skips_step_3(&self) -> bool {
        false
    }

    /// Copies one item, again and again until it does not change meanwhile.
    fn copy(&self, from: &Node, to: &Node, item: &Item) -> Done<Outcome> {
        for again in 0..AGAIN {
            self.pause(CHANGED, again);
            match self.retry(|| self.kind.add(from, to, item))? {
                Added::Copied { read, wrote, bytes } => {
                    let now = self.retry(|| self.kind.version(from, item))?;
                    if now.as_ref() == Some(&read) {
                        return Ok(Outcome::Copied(bytes));
                    }
                    self.retry(|| self.kind.remove(to, item, &wrote))?;
                }
                Added::Held { bytes, replaced } => return Ok(held(bytes, replaced)),
                Added::Present => return Ok(Outcome::Present),
                Added::Gone => return Ok(Outcome::Gone),
            }
        }
        Err(busy(from, item))
    }

    /// Makes the target equal to the source, for several items at once.
    ///
    /// Each round compares all that are open, removes what differs, copies what is missing, and
    /// looks at the source again where both are equal. What was copied is compared, too.
    pub fn settle_all(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Outcome>> {
        let mut all: Vec<Settling> = items.iter().map(|_| Settling::default()).collect();
        for again in 0..AGAIN {
            let open = |n: &usize| all[*n].end.is_none();
            let places: Vec<usize> = (0..items.len()).filter(open).collect();
            if places.is_empty() {
                break;
            }
            self.pause(CHANGED, again);
            let of = |places: &[usize]| places.iter().map(|n| items[*n]).collect::<Vec<_>>();
            let compared =
                self.retry_all(&of(&places), |items| self.kind.compare_all(from, to, items));
            let (mut equal, mut differing, mut missing) = (vec![], vec![], vec![]);
            for (place, both) in places.into_iter().zip(compared) {
                match both {
                    Err(fault) => all[place].end = Some(Err(fault)),
                    Ok(both) if both.equal => equal.push((place, both.first)),
                    Ok(Compared {
                        first,
                        second: Some(version),
                        ..
                    }) => {
                        let item = &mut all[place];
                        item.distorted += u32::from(item.copied.is_some() && item.copied == first);
                        match item.distorted >= self.tries.max(DISTORTED) {
                            true => item.end = Some(Err(distorts(to, items[place]))),
                            false => differing.push((place, version)),
                        }
                    }
                    Ok(both) => {
                        all[place].copied = both.first;
                        missing.push(place);
                    }
                }
            }
            let places: Vec<usize> = equal.iter().map(|(place, _)| *place).collect();
            for ((place, first), now) in equal.into_iter().zip(self.versions(from, &of(&places))) {
                match now {
                    Err(fault) => all[place].end = Some(Err(fault)),
                    Ok(now) if now != first => {}
                    Ok(None) if all[place].outcome == Outcome::Mended => {
                        all[place].end = Some(Ok(Outcome::Cleared));
                    }
                    Ok(_) => all[place].end = Some(Ok(all[place].outcome)),
                }
            }
            let pairs: Vec<(&Item, &Version)> = differing
                .iter()
                .map(|(place, version)| (items[*place], version))
                .collect();
            let removed = self.retry_all(&pairs, |pairs| self.kind.remove_all(to, pairs));
            for ((place, _), removed) in differing.iter().zip(removed) {
                match removed {
                    Err(fault) => all[*place].end = Some(Err(fault)),
                    Ok(_) => all[*place].outcome = Outcome::Mended,
                }
            }
            let copied = self.copy_all(from, to, &of(&missing));
            for (place, copied) in missing.into_iter().zip(copied) {
                let item = &mut all[place];
                match copied {
                    Err(fault) => item.end = Some(Err(fault)),
                    Ok(_) if item.outcome == Outcome::Present => item.outcome = Outcome::Restored,
                    Ok(_) => {}
                }
            }
        }
        let ends = all.into_iter().zip(items);
        ends.map(|(item, name)| item.end.unwrap_or_else(|| Err(busy(from, name))))
            .collect()
    }

    /// Compares items at two nodes.
    ///
    /// Items that differ are looked at again, because a write may be under way. `Present` when
    /// they are equal or neither has one; `Gone` when only the second has it.
    pub fn judge_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<Outcome>> {
        let judged = self.judge_versions(first, second, items).into_iter();
        judged.map(|done| done.map(|(end, _)| end)).collect()
    }

    /// [`Self::judge_all`], with the hash of the version at the first node.
    pub fn judge_versions(
        &self,
        first: &Node,
        second: &Node,
        items: &[&Item],
    ) -> Vec<Done<Judged>> {
        self.look_again(first, second, items, |both, is_last| {
            let end = match (&both.first, &both.second) {
                _ if both.equal => Some(Outcome::Present),
                (None, Some(_)) => Some(Outcome::Gone),
                _ if !is_last => None,
                (None, None) => Some(Outcome::Gone),
                (Some(_), Some(_)) => Some(Outcome::Differs),
                (Some(_), None) => Some(Outcome::Absent),
            };
            end.map(|end| (end, both.first.as_ref().map(Version::hash)))
        })
    }

    /// Whether only the second of two nodes has each item, also after a time in which a delete that
    /// is under way reaches it.
    pub fn only_second_all(&self, first: &Node, second: &Node, items: &[&Item]) -> Vec<Done<bool>> {
        self.look_again(first, second, items, |both, is_last| {
            let is_only_second = both.first.is_none() && both.second.is_some();
            (is_last || !is_only_second).then_some(is_only_second)
        })
    }

    /// Compares items at two nodes until `decide` returns something, which it must at the last
    /// look. All that are open are looked at again together, so the pauses are not longer for many.
    fn look_again<T>(
        &self,
        first: &Node,
        second: &Node,
        items: &[&Item],
        decide: impl Fn(&Compared, bool) -> Option<T>,
    ) -> Vec<Done<T>> {
        let mut ends: Vec<Option<Done<T>>> = items.iter().map(|_| None).collect();
        for look in 0..LOOKS {
            let places: Vec<usize> = (0..items.len()).filter(|n| ends[*n].is_none()).collect();
            if places.is_empty() {
                break;
            }
            self.pause(CHANGED * 4, look);
            let open: Vec<&Item> = places.iter().map(|n| items[*n]).collect();
            let compared =
                self.retry_all(&open, |items| self.kind.compare_all(first, second, items));
            for (place, both) in places.into_iter().zip(compared) {
                ends[place] = both
                    .map(|both| decide(&both, look + 1 == LOOKS))
                    .transpose();
            }
        }
        let undecided = || Err(Fault::passing("it was not compared"));
        ends.into_iter()
            .map(|end| end.unwrap_or_else(undecided))
            .collect()
    }

    /// Returns the versions of items at a node.
    pub fn versions(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<Version>>> {
        self.retry_all(items, |items| self.kind.version_all(node, items))
    }

    /// Returns how many bytes items take of the disk of a node.
    pub fn sizes(&self, node: &Node, items: &[&Item]) -> Vec<Done<Option<u64>>> {
        self.retry_all(items, |items| self.kind.size_all(node, items))
    }

    /// Removes items at a node that no application uses any more for them. `stays` says what is
    /// left there nevertheless. What nodes may forget by themselves is always removed.
    ///
    /// All items are compared with all keepers first, and then removed at once. An item that has
    /// changed since it was compared stays, and is looked at again by itself.
    pub fn drop_all(
        &self,
        node: &Node,
        keepers: &[&Node],
        items: &[&Item],
        stays: Stays,
    ) -> Vec<Done<Outcome>> {
        let mut ends: Vec<Option<Done<Outcome>>> = vec![None; items.len()];
        let mut found: Vec<Option<(Version, bool)>> = vec![None; items.len()];
        for keeper in keepers {
            let places: Vec<usize> = (0..items.len()).filter(|n| ends[*n].is_none()).collect();
            let open: Vec<&Item> = places.iter().map(|n| items[*n]).collect();
            let compared =
                self.retry_all(&open, |items| self.kind.compare_all(node, keeper, items));
            for (place, both) in places.into_iter().zip(compared) {
                let item = items[place];
                let verdict =
                    both.and_then(|both| self.judge_copy(node, keeper, item, both, stays));
                match verdict {
                    Ok(Verdict::Ended(outcome)) => ends[place] = Some(Ok(outcome)),
                    Ok(Verdict::Remove(version, other)) => {
                        let before = found[place].take().is_some_and(|(_, other)| other);
                        found[place] = Some((version, other || before));
                    }
                    Err(fault) => ends[place] = Some(Err(fault)),
                }
            }
        }
        let open = (0..items.len()).filter(|n| ends[*n].is_none());
        let (places, pairs): (Vec<usize>, Vec<(&Item, &Version)>) = open
            .filter_map(|n| Some((n, (items[n], &found[n].as_ref()?.0))))
            .unzip();
        let removed = self.retry_all(&pairs, |pairs| self.kind.remove_all(node, pairs));
        for (place, removed) in places.into_iter().zip(removed) {
            let other = found[place].as_ref().filter(|(_, other)| *other);
            let other = other.map(|(version, _)| version.hash());
            ends[place] = Some(match removed {
                Ok(true) => self.tidied(node, items[place], other),
                Ok(false) => self.drop_one(node, keepers, items[place], stays),
                Err(fault) => Err(fault),
            });
        }
        // without a keeper nothing was compared, and nothing is removed
        ends.into_iter()
            .map(|end| end.unwrap_or(Ok(Outcome::Absent)))
            .collect()
    }

    /// Decides about an old copy that was compared with a keeper's.
    fn judge_copy(
        &self,
        node: &Node,
        keeper: &Node,
        item: &Item,
        both: Compared,
        stays: Stays,
    ) -> Done<Verdict> {
        let Some(version) = both.first else {
            return Ok(Verdict::Ended(Outcome::Gone));
        };
        if both.equal || stays == Stays::Nothing || self.kind.may_forget(item) {
            return Ok(Verdict::Remove(version, false));
        }
        let since = match stays {
            Stays::Newer { since } => since,
            _ => None,
        };
        let written = |node| self.retry(|| self.kind.written(node, item));
        if both.second.is_none() {
            let is_newer = match since {
                Some(since) => written(node)?.is_some_and(|written| written > since),
                None => false,
            };
            return Ok(Verdict::Ended(match is_newer {
                true => Outcome::Differs,
                false => Outcome::Absent,
            }));
        }
        if stays == Stays::Lacking {
            return Ok(Verdict::Remove(version, false));
        }
        Ok(match (written(node)?, written(keeper)?) {
            (Some(here), Some(there)) if here > there => Verdict::Ended(Outcome::Differs),
            (Some(_), Some(_)) => Verdict::Remove(version, false),
            _ => Verdict::Remove(version, true),
        })
    }

    /// Whether an item has another value at a node than at a keeper, and was written later there;
    /// `None` when nobody knows the times.
    pub fn is_newer(&self, node: &Node, keeper: &Node, item: &Item) -> Done<Option<bool>> {
        if self.retry(|| self.kind.compare(node, keeper, item))?.equal {
            return Ok(Some(false));
        }
        let written = |node| self.retry(|| self.kind.written(node, item));
        let both = written(node)?.zip(written(keeper)?);
        Ok(both.map(|(here, there)| here > there))
    }

    fn tidied(&self, node: &Node, item: &Item, other: Option<u64>) -> Done<Outcome> {
        self.retry(|| self.kind.tidy(node, item))?;
        Ok(other.map_or(Outcome::Removed, Outcome::RemovedOther))
    }

    fn drop_one(&self, node: &Node, keepers: &[&Node], item: &Item, stays: Stays) -> Done<Outcome> {
        for again in 0..LOOKS {
            self.pause(CHANGED, again);
            let (mut found, mut is_other) = (None, false);
            for keeper in keepers {
                let both = self.retry(|| self.kind.compare(node, keeper, item))?;
                match self.judge_copy(node, keeper, item, both, stays)? {
                    Verdict::Ended(outcome) => return Ok(outcome),
                    Verdict::Remove(version, other) => {
                        is_other |= other;
                        found = Some(version);
                    }
                }
            }
            let Some(version) = found else {
                return Ok(Outcome::Absent);
            };
            if self.retry(|| self.kind.remove(node, item, &version))? {
                return self.tidied(node, item, is_other.then(|| version.hash()));
            }
        }
        Err(Fault::final_one(format_args!(
            "{}: it is still written at node {}, where no host should write it; look which program \
             does not follow the map",
            item.told(),
            node.name
        )))
    }

    /// Tries something again while it fails for a reason that may pass.
    pub fn retry<T>(&self, mut what: impl FnMut() -> Done<T>) -> Done<T> {
        let mut tried = 0;
        loop {
            match what() {
                Err(fault) if fault.passes && tried + 1 < self.tries && !self.stops() => {
                    tried += 1;
                    self.pause(PAUSE, tried);
                }
                done => return done.map_err(|fault| self.gives_up(fault)),
            }
        }
    }

    /// Tries something again with those items for which it fails for a reason that may pass.
    pub(super) fn retry_all<I: Copy, T>(
        &self,
        items: &[I],
        what: impl Fn(&[I]) -> Vec<Done<T>>,
    ) -> Vec<Done<T>> {
        if items.is_empty() {
            return Vec::new();
        }
        let mut ends = what(items);
        for tried in 1..self.tries {
            let passes = |n: &usize| matches!(&ends[*n], Err(fault) if fault.passes);
            let places: Vec<usize> = (0..items.len()).filter(passes).collect();
            if places.is_empty() || self.stops() {
                break;
            }
            self.pause(PAUSE, tried);
            let left: Vec<I> = places.iter().map(|n| items[*n]).collect();
            for (place, end) in places.into_iter().zip(what(&left)) {
                ends[place] = end;
            }
        }
        let ends = ends.into_iter();
        ends.map(|end| end.map_err(|fault| self.gives_up(fault)))
            .collect()
    }

    /// Says after a fault that might pass how often it was tried, and how to try for longer.
    pub(super) fn gives_up(&self, fault: Fault) -> Fault {
        if !fault.passes || self.stops() || fault.line.ends_with(TRIED) {
            return fault;
        }
        let tries = match self.tries {
            0 | 1 => "once".to_owned(),
            tries => {
                let pauses = (1..tries)
                    .map(|number| length(PAUSE, number))
                    .sum::<Duration>();
                format!(
                    "{tries} times, with pauses of {:.1} s in all",
                    pauses.as_secs_f64()
                )
            }
        };
        Fault {
            line: format!("{}; tried {tries}{TRIED}", fault.line),
            ..fault
        }
    }

    fn stops(&self) -> bool {
        self.stop.stops()
    }

    /// Pauses before another try.
    pub(super) fn pause(&self, first: Duration, number: u32) {
        let mut left = length(first, number);
        while !left.is_zero() && !self.stops() {
            let nap = left.min(PAUSE);
            sleep(nap);
            left -= nap;
        }
    }
}

/// Returns how long a pause is: twice as long each time.
fn length(first: Duration, number: u32) -> Duration {
    match number.checked_sub(1) {
        None => Duration::ZERO,
        Some(doubled) => first.saturating_mul(1 << doubled.min(20)).min(LONGEST),
    }
}

/// How an item ended that was copied while nobody could write the source.
fn held(bytes: u64, replaced: bool) -> Outcome {
    match replaced {
        true => Outcome::Mended,
        false => Outcome::Copied(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::fake::Memory;
    use super::*;

    fn trying<'a>(tries: u32, kind: &'a Memory, stop: &'a AtomicBool) -> Protocol<'a> {
        Protocol {
            kind,
            tries,
            stop,
            without_step_3: false,
        }
    }

    #[test]
    fn who_gives_up_says_how_often_it_was_tried_and_for_how_long() {
        let (kind, stop) = (Memory::default(), AtomicBool::new(false));
        let told = |tries, fault| trying(tries, &kind, &stop).gives_up(fault).line;
        let away = || Fault::passing("away");
        assert_eq!(told(1, away()), "away; tried once (limits.tries)");
        let said = "away; tried 6 times, with pauses of 3.1 s in all (limits.tries)";
        assert_eq!(told(6, away()), said);
        // it is said once, and not where trying again is of no use
        assert_eq!(told(6, Fault::passing(said)), said);
        assert_eq!(told(6, Fault::final_one("no such table")), "no such table");
        // what docs/carry-reference.md says
        for (tries, seconds) in [(8, "12.7"), (68, "612.7")] {
            let said = told(tries, away());
            assert!(said.contains(&format!("pauses of {seconds} s")), "{said}");
        }
    }

    #[test]
    fn copies_are_removed_as_many_at_once_as_the_kind_takes() {
        let (kind, nodes) = Memory::new(3);
        let items: Vec<Item> = (0..100).map(|n| Item::of_key(format!("{n:03}"))).collect();
        for item in &items {
            (0..3).for_each(|node| kind.put(node, item, 1));
        }
        kind.delete(2, &items[5]);
        kind.delete(0, &items[6]);
        // written between the comparison and the removal: this version was not compared
        kind.before("remove", {
            let item = items[7].clone();
            move |nodes| nodes[0].insert(item.name.clone(), 9).is_some()
        });
        // a server that is away for a moment
        kind.fail_once("compare", &items[8]);
        kind.fail_once("remove", &items[9]);
        let stop = AtomicBool::new(false);
        let protocol = trying(3, &kind, &stop);
        let all: Vec<&Item> = items.iter().collect();
        let ends = protocol.drop_all(&nodes[0], &[&nodes[1], &nodes[2]], &all, Stays::Lacking);
        for (n, end) in ends.into_iter().enumerate() {
            let expected = match n {
                5 => Outcome::Absent,
                6 => Outcome::Gone,
                _ => Outcome::Removed,
            };
            assert_eq!(end, Ok(expected), "{n}");
        }
        assert_eq!(kind.names(0), [items[5].name.clone()]);
        assert_eq!(kind.names(1).len(), 100);
        // the item that had changed was compared once more
        let calls = kind.calls();
        assert_eq!(calls["compare"], [100, 1, 99, 1, 1], "{calls:?}");
        assert_eq!(calls["remove"], [98, 1, 1], "{calls:?}");
    }

    #[test]
    fn items_that_differ_are_looked_at_again_together() {
        let (kind, nodes) = Memory::new(2);
        let items: Vec<Item> = (0..100).map(|n| Item::of_key(format!("{n:03}"))).collect();
        for (n, item) in items.iter().enumerate() {
            // of ten: four differ, two are at one node only, four are equal
            (n % 10 != 4).then(|| kind.put(0, item, 1));
            (n % 10 != 5).then(|| kind.put(1, item, if n % 10 < 4 { 2 } else { 1 }));
        }
        let stop = AtomicBool::new(false);
        let protocol = trying(1, &kind, &stop);
        let all: Vec<&Item> = items.iter().collect();
        let ends = protocol.judge_all(&nodes[0], &nodes[1], &all);
        for (n, end) in ends.into_iter().enumerate() {
            let expected = match n % 10 {
                0..4 => Outcome::Differs,
                4 => Outcome::Gone,
                5 => Outcome::Absent,
                _ => Outcome::Present,
            };
            assert_eq!(end, Ok(expected), "{n}");
        }
        assert_eq!(kind.calls()["compare"], [100, 50, 50, 50, 50, 50]);
        // one of them is written at both nodes meanwhile
        kind.before("compare", {
            let name = items[4].name.clone();
            move |nodes| nodes[0].insert(name, 1).is_none()
        });
        let ends = protocol.only_second_all(&nodes[0], &nodes[1], &all);
        let only: Vec<usize> = (0..100).filter(|n| ends[*n] == Ok(true)).collect();
        assert_eq!(only, (1..10).map(|n| n * 10 + 4).collect::<Vec<_>>());
    }

    #[test]
    fn items_are_settled_together() {
        let (kind, nodes) = Memory::new(2);
        let items: Vec<Item> = (0..100).map(|n| Item::of_key(format!("{n:03}"))).collect();
        for (n, item) in items.iter().enumerate() {
            // of ten: one is only at the target, one only at the source, one differs
            (n % 10 != 4).then(|| kind.put(0, item, 1));
            (n % 10 != 5).then(|| kind.put(1, item, if n % 10 == 6 { 2 } else { 1 }));
        }
        // a server that is away for a moment
        kind.fail_once("add", &items[5]);
        let stop = AtomicBool::new(false);
        let protocol = trying(2, &kind, &stop);
        let all: Vec<&Item> = items.iter().collect();
        let ends = protocol.settle_all(&nodes[0], &nodes[1], &all);
        for (n, end) in ends.into_iter().enumerate() {
            let expected = match n % 10 {
                4 => Outcome::Cleared,
                5 => Outcome::Restored,
                6 => Outcome::Mended,
                _ => Outcome::Present,
            };
            assert_eq!(end, Ok(expected), "{n}");
        }
        assert_eq!(kind.names(0), kind.names(1));
        // three rounds: what differs is removed, is copied, and is compared once more
        let calls = kind.calls();
        assert_eq!(calls["compare"], [100, 30, 10], "{calls:?}");
        assert_eq!(calls["remove"], [20]);
        assert_eq!(calls["add"], [10, 1, 10]);
    }

    #[test]
    fn a_target_that_changes_what_is_written_ends_the_settling_of_that_item_alone() {
        let (kind, nodes) = Memory::new(2);
        let items: Vec<Item> = (0..3).map(|n| Item::of_key(format!("{n}"))).collect();
        for item in &items {
            kind.put(0, item, 1);
            kind.put(1, item, 2);
        }
        let stop = AtomicBool::new(false);
        let protocol = trying(1, &kind, &stop);
        kind.distort(1, &items[1]);
        let all: Vec<&Item> = items.iter().collect();
        let ends = protocol.settle_all(&nodes[0], &nodes[1], &all);
        assert_eq!(ends[0], Ok(Outcome::Mended));
        assert_eq!(ends[2], Ok(Outcome::Mended));
        let line = &ends[1].as_ref().unwrap_err().line;
        assert!(
            line.starts_with("1: node n1 has another value each time"),
            "{line}"
        );
    }

    #[test]
    fn what_was_written_at_the_old_place_later_is_not_removed() {
        let (kind, nodes) = Memory::new(2);
        // (values at the old and the new place, times of them, what becomes of it)
        let cases = [
            ((1, Some(1)), Some((9, 5)), Outcome::Removed),
            ((1, Some(2)), Some((5, 9)), Outcome::Removed),
            ((1, Some(2)), Some((5, 5)), Outcome::Removed),
            ((1, Some(2)), Some((9, 5)), Outcome::Differs),
            (
                (1, Some(2)),
                None,
                Outcome::RemovedOther(Version(vec![1]).hash()),
            ),
            ((1, None), Some((7, 0)), Outcome::Absent),
            ((1, None), Some((8, 0)), Outcome::Differs),
            ((1, None), None, Outcome::Absent),
        ];
        let items: Vec<Item> = (0..cases.len())
            .map(|n| Item::of_key(format!("{n}")))
            .collect();
        for (item, ((old, new), times, _)) in items.iter().zip(cases) {
            kind.put(0, item, old);
            new.into_iter().for_each(|new| kind.put(1, item, new));
            if let Some((old, new)) = times {
                kind.write_at(0, item, old);
                kind.write_at(1, item, new);
            }
        }
        // changed between the comparison and the removal: by then it is the newer one
        kind.before("remove", {
            let item = items[0].clone();
            move |nodes| nodes[0].insert(item.name.clone(), 9).is_some()
        });
        let stop = AtomicBool::new(false);
        let protocol = trying(1, &kind, &stop);
        let all: Vec<&Item> = items.iter().collect();
        let since = Some((7, 0));
        let drop = |stays| protocol.drop_all(&nodes[0], &[&nodes[1]], &all, stays);
        let ends = drop(Stays::Newer { since });
        let mut expected = cases.map(|(_, _, outcome)| Ok(outcome));
        expected[0] = Ok(Outcome::Differs);
        assert_eq!(ends, expected);
        // what stayed is removed where the limits allow it
        let left: Vec<Vec<u8>> = [0, 3, 5, 6, 7].map(|n: usize| items[n].name.clone()).into();
        assert_eq!(kind.names(0), left);
        assert!(drop(Stays::Nothing).iter().all(Result::is_ok));
        assert!(kind.names(0).is_empty());
    }

    #[test]
    fn a_fault_that_passes_is_tried_again_for_all_items_at_once() {
        let (kind, nodes) = Memory::new(2);
        let items: Vec<Item> = (0..50).map(|n| Item::of_key(format!("{n:03}"))).collect();
        for item in &items {
            kind.put(0, item, 1);
            kind.fail_once("add", item);
        }
        let stop = AtomicBool::new(false);
        let protocol = trying(2, &kind, &stop);
        let all: Vec<&Item> = items.iter().collect();
        let ends = protocol.copy_all(&nodes[0], &nodes[1], &all);
        assert!(ends.iter().all(|end| *end == Ok(Outcome::Copied(1))));
        assert_eq!(kind.calls()["add"], [50, 50]);
    }
}
