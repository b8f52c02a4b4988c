//! What a pass does first when an earlier run of it was ended: it goes on with what failed, with
//! what was in flight while copies were removed, and with what was set aside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use super::journal::Journal;
use super::kind::Item;
use super::pass::{Load, Pass, Task, BATCH};
use super::protocol::Outcome;
use crate::exit::Result;

impl Pass<'_> {
    /// Goes on with what an earlier run of this pass has left. Where the pass is stopped meanwhile,
    /// what is not done stays in flight.
    pub(super) fn resume(&self) -> Result {
        let Some(journal) = self.journal else {
            return Ok(());
        };
        match self.task {
            Task::Copy | Task::Verify => self.settle_flights(journal)?,
            Task::Remove { .. } => {
                for (number, (name, items)) in journal.story().flights {
                    if !self.do_again(&name, &items)? {
                        return Ok(());
                    }
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
                if !self.do_again(&name, items)? {
                    return Ok(());
                }
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

    /// Does items of a node once more, if the node and they still belong to the pass. Returns
    /// whether all were done.
    fn do_again(&self, name: &str, items: &[Item]) -> Result<bool> {
        if let Some(node) = self.routes.nodes.iter().find(|node| node.name == name) {
            let job = |item: &Item| Some((item.clone(), self.job(node.number, item)?));
            let loads: Vec<Load> = items.iter().filter_map(job).collect();
            self.share(node, &loads)?;
            self.flush(&loads)?;
        }
        Ok(!self.stop.load(Ordering::Relaxed))
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
                    // it is looked at by the next run
                    _ if self.stop.load(Ordering::Relaxed) => return Ok(()),
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
    use super::super::pass::End;
    use super::super::route::{routes, Routes};
    use super::super::settings::Limits;
    use super::super::tally::{Show, Tally};
    use super::super::throttle::Throttle;
    use super::*;

    /// How many items are in flight.
    const FLYING: usize = 200;

    /// Items of a that go to c, of which half are there already, or all if copies are removed.
    fn flying(routes: &Routes, task: Task) -> (Memory, Vec<Item>, usize) {
        let of_a = |item: &Item| routes.trip(&item.key).filter(|trip| trip.from == 0);
        let items: Vec<Item> = (0..4000)
            .map(|n| Item::of_key(format!("key{n}")))
            .filter(|item| of_a(item).is_some())
            .take(FLYING)
            .collect();
        let [new] = of_a(&items[0]).unwrap().to[..] else {
            panic!("one new place")
        };
        let removes = matches!(task, Task::Remove { .. });
        let (kind, _) = Memory::new(routes.nodes.len());
        for (n, item) in items.iter().enumerate() {
            kind.put(0, item, 1);
            (removes || n % 2 == 0).then(|| kind.put(new, item, 1));
        }
        (kind, items, new)
    }

    /// A node that is away may be at another address: nobody waits for it to the end.
    #[test]
    fn what_is_in_flight_stays_so_if_the_map_is_another_one_meanwhile() {
        let routes = routes(1, &["a", "b"], &["a", "b", "c"], &[]);
        for task in [Task::Copy, Task::Verify, Task::Remove { reverse: false }] {
            let (kind, items, new) = flying(&routes, task);
            let directory = tempfile::tempdir().unwrap();
            let journal = Journal::open(&directory.path().join("j"), "id").unwrap();
            journal.begin_pass(task.word(), 3).unwrap();
            let all: Vec<&Item> = items.iter().collect();
            journal.take_off(&routes.nodes[0].name, &all).unwrap();
            let before = [0, new].map(|node| kind.names(node));
            let tally = Tally::default();
            let pass = Pass {
                task,
                kind: &kind,
                routes: &routes,
                journal: Some(&journal),
                limits: Limits {
                    // for a quarter of an hour
                    tries: 100,
                    ..Limits::default()
                },
                throttle: &Throttle::new(0, 0),
                stop: &AtomicBool::new(false),
                tally: &tally,
                tell: None,
                without_step_3: false,
            };
            let mut show = Show::new(task.told(), None, 0);
            kind.is_away(true);
            let end = pass.run(&mut show, &mut || false).unwrap();
            assert!(matches!(end, End::Stopped), "{task:?}");
            assert_eq!([0, new].map(|node| kind.names(node)), before, "{task:?}");
            let story = journal.story();
            assert_eq!(
                (story.flights.len(), story.failed.len()),
                (1, 0),
                "{task:?}"
            );
            kind.is_away(false);
            let end = pass.run(&mut show, &mut || true).unwrap();
            assert!(matches!(end, End::Done), "{task:?}");
            assert!(journal.story().flights.is_empty(), "{task:?}");
            let left = [0, new].map(|node| kind.names(node).len());
            let expected = match task {
                Task::Remove { .. } => [0, FLYING],
                _ => [FLYING, FLYING],
            };
            assert_eq!(left, expected, "{task:?}");
        }
    }

    #[test]
    fn what_was_in_flight_is_done_again_together() {
        let routes = routes(1, &["a", "b"], &["a", "b", "c"], &[]);
        for task in [
            Task::Copy,
            Task::Verify,
            Task::Remove { reverse: false },
            Task::Remove { reverse: true },
        ] {
            let (kind, items, new) = flying(&routes, task);
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
            pass.resume().unwrap();
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
