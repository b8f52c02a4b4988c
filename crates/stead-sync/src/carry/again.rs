//! What a pass does first when an earlier run of it was ended: it goes on with what failed, with
//! what was in flight while copies were removed, and with what was set aside.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::Journal;
use super::kind::Item;
use super::pass::{Pass, Task};
use super::protocol::Outcome;
use super::tally::Show;
use crate::exit::Result;

impl Pass<'_> {
    /// Does again what failed, and what was set aside, in an earlier run of this pass.
    pub(super) fn again(&self, show: &mut Show) -> Result {
        let Some(journal) = self.journal else {
            return Ok(());
        };
        let story = journal.story();
        // where items are copied, what was in flight is settled; other passes but this begin anew
        let removes = matches!(self.task, Task::Remove { .. });
        for (number, (name, items)) in story.flights.into_iter().filter(|_| removes) {
            if let Some(node) = self.routes.nodes.iter().find(|node| node.name == name) {
                for item in items {
                    if let Some(job) = self.job(node.number, &item) {
                        self.unit(node, &[&item], &job)?;
                        self.flush(&[(item, job)])?;
                    }
                    show.show(self.tally);
                }
            }
            journal.land(Some(number), &name, None, 0)?;
        }
        let failed = story.failed.into_keys();
        let aside = match self.task {
            Task::Check => story.aside,
            _ => BTreeSet::new(),
        };
        for (name, item) in failed.chain(aside) {
            let Some(node) = self.routes.nodes.iter().find(|node| node.name == name) else {
                continue;
            };
            let flight = journal.take_off(&name, &[&item])?;
            journal.mend(&name, &item)?;
            if let Some(job) = self.job(node.number, &item) {
                self.unit(node, &[&item], &job)?;
                self.flush(&[(item, job)])?;
            }
            journal.land(Some(flight), &name, None, 0)?;
            show.show(self.tally);
        }
        self.aside_again(journal)?;
        // they stay in the journal, and are removed when their node is done
        for (name, item) in story.newer {
            let node = self.routes.nodes.iter().find(|node| node.name == name);
            if let Some((node, job)) =
                node.and_then(|node| Some((node, self.job(node.number, &item)?)))
            {
                self.unit(node, &[&item], &job)?;
            }
        }
        Ok(())
    }

    /// Before copies are removed, looks again at what an earlier run has set aside: it may be at
    /// its new place now, and the limit may be another one.
    fn aside_again(&self, journal: &Journal) -> Result {
        if !matches!(self.task, Task::Remove { .. }) {
            return Ok(());
        }
        let mut lacking: BTreeMap<String, (Item, u64)> = BTreeMap::new();
        for (name, item) in journal.story().aside {
            let node = self.routes.nodes.iter().find(|node| node.name == name);
            let Some((node, job)) =
                node.and_then(|node| Some((node, self.job(node.number, &item)?)))
            else {
                continue;
            };
            for done in self.carry(node, &[&item], &job)? {
                match done {
                    Ok(Outcome::Absent) => {
                        lacking.entry(name.clone()).or_insert((item.clone(), 0)).1 += 1;
                    }
                    done => {
                        journal.mend(&name, &item)?;
                        self.note(node, &item, &job, done)?;
                    }
                }
            }
            self.flush(&[(item, job)])?;
        }
        for (name, (item, count)) in lacking {
            if let Some(node) = self.routes.nodes.iter().find(|node| node.name == name) {
                self.judge_lacking(node, &item, count, journal)?;
            }
        }
        Ok(())
    }
}
