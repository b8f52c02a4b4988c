//! Copies that are missing: the map places an item at several nodes, and not all of them have it.
//!
//! Of the nodes that have an item, the first one in the order of the map asks the others. Where one
//! lacks it, both are looked at again, since a write or a delete may be under way. An audit that
//! brings items home copies it there, as a carry does: only where nothing is, durably, and nothing
//! stays there of an item that was deleted meanwhile. It does so only if the copy was missing a
//! grace before as well: a delete that had begun then has ended at all places.

use std::sync::atomic::Ordering;

use super::audited::{Fate, Seen, Stray, What};
use super::kind::{Fault, Item, Node};
use super::pass::{Pass, Task};
use super::protocol::Outcome;
use super::refusals::too_many_failed;
use crate::exit::Result;

impl Pass<'_> {
    /// Looks which of the `homes` of items that are at one of them lack their copies, and copies
    /// them there if this audit brings items home.
    pub(super) fn find_missing(&self, node: &Node, items: &[&Item], homes: &[usize]) -> Result {
        let items: Vec<&Item> = items
            .iter()
            .copied()
            .filter(|item| !self.kind.may_forget(item))
            .collect();
        self.tally
            .items
            .fetch_add(items.len() as u64, Ordering::Relaxed);
        let mut is_told = vec![false; items.len()];
        let mut lacking: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut is_before = true;
        for number in homes {
            if *number == node.number {
                is_before = false;
                continue;
            }
            let home = &self.routes.nodes[*number];
            let places: Vec<usize> = (0..items.len()).filter(|n| !is_told[*n]).collect();
            let asked: Vec<&Item> = places.iter().map(|n| items[*n]).collect();
            let mut lacks = Vec::new();
            for (place, found) in places.iter().zip(self.protocol().versions(home, &asked)) {
                match found {
                    // this home asks the others
                    Ok(Some(_)) => is_told[*place] |= is_before,
                    Ok(None) => lacks.push(*place),
                    Err(fault) => self.lack(items[*place], node, home, Err(fault))?,
                }
            }
            lacking.push((*number, lacks));
        }
        for (number, places) in lacking {
            let places = places.into_iter().filter(|n| !is_told[*n]);
            let items: Vec<&Item> = places.map(|n| items[n]).collect();
            self.lacking_at(node, &self.routes.nodes[number], &items)?;
        }
        Ok(())
    }

    /// Looks again at items of a node that another one seems to lack, and brings them there.
    fn lacking_at(&self, node: &Node, home: &Node, items: &[&Item]) -> Result {
        let protocol = self.protocol();
        let mut lacks: Vec<&Item> = Vec::new();
        for (item, judged) in items.iter().zip(protocol.judge_all(node, home, items)) {
            match judged {
                Ok(Outcome::Absent) if self.task != Task::Fill => {
                    self.tally.audited.see(Seen::Missing, item, home);
                    self.lack(item, node, home, Ok(Fate::Left))?;
                }
                Ok(Outcome::Absent) if self.tally.audited.has_seen(Seen::Missing, item, home) => {
                    lacks.push(item);
                }
                // missing since a moment ago, or too many to be remembered
                Ok(Outcome::Absent) => self.lack(item, node, home, Ok(Fate::Left))?,
                Ok(_) => {}
                Err(fault) => self.lack(item, node, home, Err(fault))?,
            }
        }
        if lacks.is_empty() {
            return Ok(());
        }
        let copied = protocol.copy_all(node, home, &lacks);
        let flushed = protocol.retry(|| self.kind.flush(home));
        let mut bytes = 0;
        for (item, copied) in lacks.iter().zip(copied) {
            match (copied, &flushed) {
                (Ok(Outcome::Copied(more)), Ok(())) => {
                    bytes += more;
                    self.lack(item, node, home, Ok(Fate::Brought))?;
                }
                (Err(fault), _) => self.lack(item, node, home, Err(fault))?,
                (_, Err(fault)) => self.lack(item, node, home, Err(fault.clone().at(home)))?,
                // it was written there, or deleted, a moment ago
                (Ok(_), Ok(())) => {}
            }
        }
        let ends = [node.number, home.number];
        self.throttle
            .done(ends, lacks.len() as u64, bytes, self.stop);
        Ok(())
    }

    /// Counts a copy that is missing, and what became of it.
    fn lack(
        &self,
        item: &Item,
        node: &Node,
        home: &Node,
        done: std::result::Result<Fate, Fault>,
    ) -> Result {
        let mut stray = Stray::of(item, node, &[home], What::Lacking);
        let fault = match done {
            Ok(fate) => {
                stray.done = fate;
                self.tally.audited.add(stray);
                return Ok(());
            }
            Err(fault) => fault,
        };
        (stray.done, stray.why) = (Fate::Failed, Some(fault.line.clone()));
        self.tally.audited.add(stray);
        match self.tally.fail() > self.limits.failures {
            true => Err(too_many_failed(self.limits.failures, node, item, &fault)),
            false => Ok(()),
        }
    }
}
