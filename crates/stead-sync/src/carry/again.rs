//! What a pass does first when an earlier run of it was ended: it goes on with what failed, with
//! what was in flight while copies were removed, and with what was set aside.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::Journal;
use super::kind::Item;
use super::pass::{Load, Pass, Task, BATCH};
use super::protocol::Outcome;
use super::tally::Show;
use crate::exit::Result;

impl Pass<'_> {
    /// Goes on with what an earlier run of this pass has left.
    pub(super) fn resume(&self, show: &mut Show) -> Result {
        let Some(journal) = self.journal else {
            return Ok(());
        };
        match self.task {
            Task::Copy | Task::Verify => self.settle_flights(journal, show)?,
            Task::Remove { .. } => {
                for (number, (name, items)) in journal.story().flights {
                    self.do_again(&name, &items, show)?;
                    journal.land(Some(number), &name, None, 0)?;
                }
            }
            // the others begin anew
            _ => {}
        }
        let story = journal.story();
        let failed = story.failed.into_keys();
        let aside = match self.task {
            Task::Check => story.aside,
            _ => BTreeSet::new(),
        };
        let mut by_node: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        for (name, item) in failed.chain(aside) {
            by_node.entry(name).or_default().push(item);
        }
        by_node.retain(|name, _| self.routes.nodes.iter().any(|node| node.name == *name));
        for (name, items) in by_node {
            for items in items.chunks(BATCH) {
                let all: Vec<&Item> = items.iter().collect();
                let flight = journal.take_off(&name, &all)?;
                for item in items {
                    journal.mend(&name, item)?;
                }
                self.do_again(&name, items, show)?;
                journal.land(Some(flight), &name, None, 0)?;
            }
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

    /// Does items of a node once more, if the node and they still belong to the pass.
    fn do_again(&self, name: &str, items: &[Item], show: &mut Show) -> Result {
        if let Some(node) = self.routes.nodes.iter().find(|node| node.name == name) {
            let job = |item: &Item| Some((item.clone(), self.job(node.number, item)?));
            let loads: Vec<Load> = items.iter().filter_map(job).collect();
            self.share(node, &loads)?;
            self.flush(&loads)?;
            show.show(self.tally);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::fake::Memory;
    use super::super::route::routes;
    use super::super::settings::Limits;
    use super::super::tally::Tally;
    use super::super::throttle::Throttle;
    use super::*;

    /// How many items are in flight.
    const FLYING: usize = 200;

    #[test]
    fn what_was_in_flight_is_done_again_together() {
        let routes = routes(1, &["a", "b"], &["a", "b", "c"], &[]);
        let of_a = |item: &Item| routes.trip(&item.key).filter(|trip| trip.from == 0);
        let items: Vec<Item> = (0..4000)
            .map(|n| Item::of_key(format!("key{n}")))
            .filter(|item| of_a(item).is_some())
            .take(FLYING)
            .collect();
        let [new] = of_a(&items[0]).unwrap().to[..] else {
            panic!("one new place")
        };
        for task in [
            Task::Copy,
            Task::Verify,
            Task::Remove { reverse: false },
            Task::Remove { reverse: true },
        ] {
            let removes = matches!(task, Task::Remove { .. });
            let (kind, _) = Memory::new(routes.nodes.len());
            for (n, item) in items.iter().enumerate() {
                kind.put(0, item, 1);
                (removes || n % 2 == 0).then(|| kind.put(new, item, 1));
            }
            let directory = tempfile::tempdir().unwrap();
            let journal = Journal::open(&directory.path().join("j"), "id").unwrap();
            journal.begin_pass(task.word(), 3).unwrap();
            let listed = match task {
                Task::Remove { reverse: true } => new,
                _ => 0,
            };
            let all: Vec<&Item> = items.iter().collect();
            journal.take_off(&routes.nodes[listed].name, &all).unwrap();
            let tally = Tally::default();
            let pass = Pass {
                task,
                kind: &kind,
                routes: &routes,
                journal: Some(&journal),
                limits: Limits::default(),
                throttle: &Throttle::new(0, 0),
                stop: &AtomicBool::new(false),
                tally: &tally,
                tell: None,
                without_step_3: false,
            };
            pass.resume(&mut Show::new(task.told(), None, 0)).unwrap();
            assert!(journal.story().flights.is_empty(), "{task:?}");
            let left = [0, new].map(|node| kind.names(node).len());
            let expected = match task {
                Task::Remove { reverse: false } => [0, FLYING],
                Task::Remove { reverse: true } => [FLYING, 0],
                _ => [FLYING, FLYING],
            };
            assert_eq!(left, expected, "{task:?}");
            // a hundred at once, which is what the kind takes
            for (what, calls) in kind.calls() {
                assert!(
                    calls.len() <= 10,
                    "{task:?}: {what} was called for {calls:?}"
                );
            }
            assert_eq!(tally.counts().items, FLYING as u64, "{task:?}");
        }
    }
}
