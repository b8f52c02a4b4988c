//! What a pass counts against the limits and sets aside: old copies whose new places have another
//! value or none. Those of a node are removed when all others of it are, if they are few enough.

use std::collections::BTreeMap;

use super::journal::Journal;
use super::kind::{told_place, Done, Item, Node};
use super::pass::{Job, Pass, Task};
use super::protocol::{Outcome, Stays};
use super::refusals::{
    lacking, lacking_at_the_end, lacking_since, replaced_meanwhile, too_many_differ, too_many_newer,
};
use super::replaced::replaced;
use super::settings::DELETED;
use crate::exit::Result;

/// How many items may differ where nobody knows which value is the newer one, unless the file of
/// the carry says it. Two programs may have written one key at once.
pub(super) const UNKNOWN: u64 = 100;

impl Pass<'_> {
    /// Counts an item that has another value at its new place.
    ///
    /// Errors: there are more than the limit allows. Those whose new value is the newer one have no
    /// limit, and neither have items that a server may forget.
    pub(super) fn differ(&self, node: &Node, item: &Item, job: &Job) -> Result {
        if self.kind.may_forget(item) {
            self.tally.differ(&node.name, item);
            return Ok(());
        }
        let is_removing = matches!(self.task, Task::Remove { .. });
        let most = match is_removing {
            // it was left there because it is newer
            true => Some(0),
            false => match self.is_newer(node, item, job) {
                Err(fault) => return self.fail(node, item, &fault),
                Ok(Some(false)) => None,
                Ok(Some(true)) => Some(0),
                Ok(None) => Some(UNKNOWN),
            },
        };
        let Some(most) = most.map(|most| self.limits.different.unwrap_or(most)) else {
            self.tally.differ(&node.name, item);
            return Ok(());
        };
        let count = self.tally.doubt(&node.name, item);
        if let Some(journal) = self.journal.filter(|_| is_removing) {
            journal.set_newer(&node.name, item)?;
        }
        let this = told_place(item, &node.name);
        match (count > most, is_removing) {
            (false, _) => Ok(()),
            (true, false) => Err(too_many_differ(most, &this, self.kind.differs_also())),
            (true, true) => Err(too_many_newer(most, &this)),
        }
    }

    /// Whether one of the other places has another value that is older; `None` when nobody knows.
    fn is_newer(&self, node: &Node, item: &Item, job: &Job) -> Done<Option<bool>> {
        let others = match job {
            Job::Bring { to, .. } => &to[..],
            Job::Keep { keepers, .. } | Job::Drop { keepers, .. } => &keepers[..],
            Job::Stray { .. } | Job::Home { .. } => &[],
        };
        let mut any = false;
        for other in others {
            let other = &self.routes.nodes[*other];
            match self.protocol().is_newer(node, other, item)? {
                None => return Ok(None),
                Some(is_newer) => any |= is_newer,
            }
        }
        Ok(Some(any))
    }

    /// Notes an item that its new place lacks, within the limit.
    pub(super) fn set_aside(&self, node: &Node, item: &Item) -> Result {
        self.tally.lack(&node.name, item);
        let is_kept = self.task != (Task::Look { reverse: true });
        let Some(journal) = self.journal.filter(|_| is_kept) else {
            return Ok(());
        };
        if self.task == (Task::Remove { reverse: false }) && !self.kind.has_times(item) {
            let now = self.protocol().versions(node, &[item]);
            if let Some(Ok(Some(version))) = now.first() {
                self.since_check(node, item, version.hash(), true);
            }
        }
        let count = journal.set_aside(&node.name, item)?;
        self.judge_lacking(node, item, count, journal)
    }

    /// Compares items at their old and new places, and remembers the versions at the old ones.
    pub(super) fn checked(&self, from: &Node, to: &Node, items: &[&Item]) -> Vec<Done<Outcome>> {
        let judged = self.protocol().judge_versions(from, to, items);
        let each = judged.into_iter().zip(items).map(|(judged, item)| {
            let (end, version) = judged?;
            if let (Some(journal), Some(version)) = (self.journal, version) {
                if !self.kind.has_times(item) {
                    journal.remembered.add(from, item, version);
                }
            }
            Ok(end)
        });
        each.collect()
    }

    /// Notes what is known since the check of an old copy that its new place lacks, or of which it
    /// has another value.
    pub(super) fn since_check(&self, node: &Node, item: &Item, version: u64, is_absent: bool) {
        let (Some(journal), Task::Remove { reverse: false }) = (self.journal, self.task) else {
            return;
        };
        let trip = self.routes.trip(&item.key);
        let was_listed = trip.is_some_and(|trip| trip.from == node.number);
        let since = journal.remembered.since(node, item, version, was_listed);
        self.tally.since_check(&node.name, item, since, is_absent);
    }

    /// Checks that the new places do not lack more items of a node than the limit allows.
    pub(super) fn judge_lacking(
        &self,
        node: &Node,
        item: &Item,
        count: u64,
        journal: &Journal,
    ) -> Result {
        match self.task {
            Task::Check if count > self.limits.absent => Err(lacking(node, item)),
            Task::Look { .. } if count > self.limits.absent => {
                let doubted = self.routes.doubted.iter();
                let names = doubted
                    .map(|n| &*self.routes.nodes[*n].name)
                    .collect::<Vec<_>>();
                Err(lacking_since(&names.join(", "), node, item))
            }
            Task::Remove { reverse } => {
                let is_compared = reverse || journal.has_compared();
                let usual = if is_compared { DELETED } else { 0 };
                match count > self.limits.deleted.unwrap_or(usual) {
                    true => Err(lacking_at_the_end(count, node, item, is_compared)),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// At the end of a node, removes the old copies of what applications have deleted at the new
    /// place, and those that are newer, where the limits allow that.
    pub(super) fn judge_aside(&self, node: &Node) -> Result {
        let (Some(journal), Task::Remove { reverse }) = (self.journal, self.task) else {
            return Ok(());
        };
        let story = journal.story();
        let aside = story.aside.into_iter().chain(story.newer);
        let mine = aside.filter_map(|(name, item)| (name == node.name).then_some(item));
        let mut by_keepers: BTreeMap<Vec<usize>, Vec<Item>> = BTreeMap::new();
        for item in mine {
            match self.job(node.number, &item) {
                Some(Job::Drop { keepers, .. }) => {
                    by_keepers.entry(keepers).or_default().push(item);
                }
                _ => journal.mend(&node.name, &item)?,
            }
        }
        // what the others lack was deleted there, unless they have lost it just now
        if !by_keepers.is_empty() {
            let lost = replaced(&self.protocol(), self.routes, reverse, journal)?;
            if !lost.nodes.is_empty() {
                return Err(replaced_meanwhile(
                    &lost.told("while other copies were removed"),
                ));
            }
        }
        for (keepers, items) in by_keepers {
            let keepers: Vec<&Node> = keepers.iter().map(|n| &self.routes.nodes[*n]).collect();
            let mut left: Vec<&Item> = items.iter().collect();
            while let Some(first) = left.first() {
                let most = self.kind.at_once(first).clamp(1, left.len());
                let items: Vec<&Item> = left.drain(..most).collect();
                let done = self
                    .protocol()
                    .drop_all(node, &keepers, &items, Stays::Nothing);
                for (item, done) in items.into_iter().zip(done) {
                    match done {
                        // it stays in the journal, for the next run
                        Err(fault) => self.fail(node, item, &fault)?,
                        Ok(outcome) => {
                            self.tally.count(outcome);
                            if matches!(outcome, Outcome::Removed | Outcome::RemovedOther(_)) {
                                self.tally.part_with(&node.name, item);
                            }
                            journal.mend(&node.name, item)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
