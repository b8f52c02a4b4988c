//! A pass: goes through all nodes that it has to do with, and does its task for each item.
//!
//! ```text
//! task     nodes listed          each item
//! count    sources, those left   is counted; so is what no map places there, and, after a change
//!                                without a carry, what only the new places have
//! copy     sources               is copied to where it belongs
//! verify   sources, targets      is compared; what differs, or is only at the target, is mended
//! check    sources, those left   is compared, or looked for at its new place; nothing is changed
//! look     those that are left   is looked for at the places that keep it; nothing is changed
//! ahead    targets               is compared; what is ahead of its old place is listed
//! remove   those that are left   is compared once more, and removed
//! audit    all                   is looked for at its places, all but this one
//! fill     all                   is copied to those of its places that lack it
//! ```
//!
//! Several nodes are listed at once. The items of a node come in batches, and several workers share
//! a batch. After a batch the journal says how far the node is done.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::ahead::Tell;
use super::journal::Journal;
use super::kind::{Done, Fault, Item, Kind, Node};
use super::protocol::{Outcome, Protocol, Stays, PAUSE};
use super::refusals::too_many_failed;
use super::route::Routes;
use super::settings::Limits;
use super::story::Mark;
use super::tally::{Show, Tally};
use super::throttle::Throttle;
use crate::exit::{Failure, Result, IO, NO_INPUT};

/// How many items are in flight at once for each listed node, at least.
pub(super) const BATCH: usize = 256;

/// How many items a worker compares at once, at least.
pub(super) const COMPARED: usize = 16;

/// After how many listed items the journal notes the place, also if few of them move.
const LISTED: usize = 100_000;

/// How often the progress is shown and the map looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a pass does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// Counts what there is to do.
    Count,
    /// Copies.
    Copy,
    /// Compares, and mends what differs.
    Verify,
    /// Compares, and changes nothing.
    Check,
    /// Looks for what only the old places have, after a new place was emptied or replaced while
    /// hosts read it, and changes nothing; in reverse for what only the new places have, before
    /// they are given up.
    Look {
        /// Whether the carry is being reversed.
        reverse: bool,
    },
    /// Lists what only new places have and what is newer there, and changes nothing.
    Ahead,
    /// Lists what is where the map does not place it.
    Audit {
        /// Whether it is brought to where it belongs.
        brings: bool,
    },
    /// Copies items to those of their places that lack them.
    Fill,
    /// Removes the copies that are not needed any more; in reverse those at the new places.
    Remove {
        /// Whether the carry is being reversed.
        reverse: bool,
    },
}

impl Task {
    /// The word in the journal.
    pub fn word(self) -> &'static str {
        match self {
            Task::Count => "count",
            Task::Copy => "copy",
            Task::Verify => "verify",
            Task::Check => "check",
            Task::Look { .. } => "look",
            Task::Ahead => "ahead",
            Task::Audit { .. } => "audit",
            Task::Fill => "fill",
            Task::Remove { .. } => "remove",
        }
    }

    /// The word for the user.
    pub fn told(self) -> &'static str {
        match self {
            Task::Count => "counting",
            Task::Copy => "copying",
            Task::Verify => "verifying",
            Task::Check => "verifying again",
            Task::Look { reverse: false } => "looking for what only old places have",
            Task::Look { reverse: true } => "looking for what only new places have",
            Task::Ahead => "comparing",
            Task::Audit { brings: false } => "looking where items are",
            Task::Audit { brings: true } => "bringing items to where they belong",
            Task::Fill => "bringing copies that are missing",
            Task::Remove { .. } => "removing",
        }
    }

    /// The place that keeps the items at the end, and with which others are compared.
    pub fn keeper(self) -> &'static str {
        match self {
            Task::Look { reverse: true } | Task::Remove { reverse: true } => "old",
            _ => "new",
        }
    }

    /// How many items the pass will have to do with, about, if so many are to be copied.
    pub fn total(self, counted: Option<u64>) -> Option<u64> {
        match self {
            // at the old place, and at the new one
            Task::Verify => counted.map(|counted| counted.saturating_mul(2)),
            _ => counted,
        }
    }
}

/// The look after a new place was emptied or replaced.
const LOOK_FOR_OLD: Task = Task::Look { reverse: false };

/// How a pass ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Everything is done.
    Done,
    /// The map is another one now.
    Stopped,
    /// Some items failed, or a node could not be listed.
    Failed,
    /// A place that keeps the data was emptied or replaced, so the work begins again.
    Again,
}

/// A pass.
pub struct Pass<'a> {
    /// What it does.
    pub task: Task,
    /// The kind.
    pub kind: &'a dyn Kind,
    /// The ways.
    pub routes: &'a Routes,
    /// The journal, without which nothing is noted: for counting only.
    pub journal: Option<&'a Journal>,
    /// The limits.
    pub limits: Limits,
    /// The limits of the nodes.
    pub throttle: &'a Throttle,
    /// Ends the pass.
    pub stop: &'a AtomicBool,
    /// What is done so far.
    pub tally: &'a Tally,
    /// Takes the items that only new places have, or that are newer there.
    pub tell: Option<&'a Tell<'a>>,
    /// The control of a test.
    #[cfg(test)]
    pub without_step_3: bool,
}

/// A running thread of a pass. When it ends, it wakes the thread that watches them.
struct Listing<'a>(&'a AtomicUsize, &'a thread::Thread);

impl Drop for Listing<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
        self.1.unpark();
    }
}

/// What is to be done with an item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Job {
    /// It goes from one node to others.
    Bring { from: usize, to: Vec<usize> },
    /// It is at the target; is it at the source?
    Stray { from: usize, to: usize },
    /// It will be removed at a node that nothing is copied from; do the others have it?
    Keep { node: usize, keepers: Vec<usize> },
    /// It belongs at these nodes, of which this one may be one.
    Home { homes: Vec<usize> },
    /// It is removed at a node; the others keep it.
    Drop { node: usize, keepers: Vec<usize> },
}

/// An item of a listed node and what is to be done with it.
pub(super) type Load = (Item, Job);

impl Pass<'_> {
    /// Goes through all nodes. `is_current` is asked now and then, and ends the pass when the map
    /// is another one.
    pub fn run(&self, show: &mut Show, is_current: &mut dyn FnMut() -> bool) -> Result<End> {
        let nodes: Vec<&Node> = in_mixed_order(self.nodes())
            .into_iter()
            .map(|n| &self.routes.nodes[n])
            .collect();
        let next = AtomicUsize::new(0);
        let failure: Mutex<Option<Failure>> = Mutex::default();
        let resume = || {
            if let Err(found) = self.resume() {
                lock(&failure).get_or_insert(found);
            }
        };
        let list = || {
            while !self.stop.load(Ordering::Relaxed) {
                let Some(node) = nodes.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                if let Err(found) = self.node(node) {
                    lock(&failure).get_or_insert(found);
                    // a node that cannot be listed does not keep the others from being done
                    if self.journal.is_none() || self.is_over() {
                        self.stop.store(true, Ordering::Relaxed);
                    }
                }
            }
        };
        let threads = (self.limits.nodes as usize).min(nodes.len());
        let mut is_stopped = self.watched(1, &resume, show, is_current);
        if !is_stopped && lock(&failure).is_none() {
            is_stopped = self.watched(threads, &list, show, is_current);
        }
        show.end();
        self.stop.store(false, Ordering::Relaxed);
        if is_stopped {
            return Ok(End::Stopped);
        }
        if let Some(failure) = lock(&failure).take() {
            return Err(failure);
        }
        match self
            .journal
            .is_none_or(|journal| journal.story().failed.is_empty())
        {
            true => Ok(End::Done),
            false => Ok(End::Failed),
        }
    }

    /// Works in threads, shows how far that is, and stops it when the map is another one. Returns
    /// whether it is.
    fn watched(
        &self,
        threads: usize,
        work: &(dyn Fn() + Sync),
        show: &mut Show,
        is_current: &mut dyn FnMut() -> bool,
    ) -> bool {
        let running = AtomicUsize::new(threads);
        let looking = thread::current();
        let mut is_stopped = false;
        thread::scope(|scope| {
            (0..threads).for_each(|_| {
                scope.spawn(|| {
                    let _listing = Listing(&running, &looking);
                    work();
                });
            });
            while running.load(Ordering::Acquire) > 0 {
                thread::park_timeout(LOOK);
                show.show(self.tally);
                if !is_stopped && !is_current() {
                    is_stopped = true;
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        is_stopped
    }

    fn nodes(&self) -> BTreeSet<usize> {
        match self.task {
            Task::Count => {
                let mut nodes = self.routes.leaving(false);
                let (from, to) = self.routes.ends();
                nodes.extend(from);
                // data may still be where it was before the last change
                nodes.extend(to.iter().filter(|_| self.routes.uncarried.is_some()));
                nodes
            }
            Task::Copy => self.routes.ends().0,
            Task::Audit { .. } | Task::Fill => self.routes.present().into_iter().collect(),
            Task::Ahead | Task::Look { reverse: true } => self.routes.ends().1,
            Task::Check => {
                let (from, leaving) = (self.routes.ends().0, self.routes.leaving(false));
                from.union(&leaving).copied().collect()
            }
            Task::Verify => {
                let (from, to) = self.routes.ends();
                from.union(&to).copied().collect()
            }
            Task::Look { reverse: false } => self.routes.leaving(false),
            Task::Remove { reverse } => self.routes.leaving(reverse),
        }
    }

    /// Returns what is to be done with an item that is at a node.
    pub(super) fn job(&self, node: usize, item: &Item) -> Option<Job> {
        if matches!(self.task, Task::Audit { .. } | Task::Fill) {
            let homes = self.routes.homes(&item.key);
            let is_stray = !homes.contains(&node);
            if self.task != Task::Fill {
                self.tally.audited.list(&self.routes.nodes[node].name);
            }
            // what is brought home from another place may be the copy that is missing
            let is_asked = match self.task {
                Task::Audit { brings } => is_stray || !brings,
                _ => !is_stray,
            };
            let is_asked = is_asked && homes.iter().any(|home| *home != node);
            return is_asked.then_some(Job::Home { homes });
        }
        if let Task::Remove { reverse } = self.task {
            let keepers = self.routes.keepers(&item.key, node, reverse)?;
            return Some(Job::Drop { node, keepers });
        }
        if self.task == LOOK_FOR_OLD {
            let keepers = self.routes.doubted_keepers(&item.key, node)?;
            return Some(Job::Keep { node, keepers });
        }
        let trip = self.routes.trip(&item.key);
        if self.task == Task::Check && trip.as_ref().is_none_or(|trip| trip.from != node) {
            let keepers = self.routes.keepers(&item.key, node, false)?;
            return Some(Job::Keep { node, keepers });
        }
        if self.task == Task::Count && trip.as_ref().is_none_or(|trip| trip.from != node) {
            if let Some(keepers) = self.routes.keepers(&item.key, node, false) {
                return Some(Job::Drop { node, keepers });
            }
        }
        let trip = trip?;
        // a node that gets items may also be the source of others
        let lists_targets_only = matches!(self.task, Task::Ahead | Task::Look { reverse: true });
        if trip.from == node && !lists_targets_only {
            return Some(Job::Bring {
                from: node,
                to: trip.to,
            });
        }
        let lists_targets = matches!(
            self.task,
            Task::Count | Task::Verify | Task::Ahead | Task::Look { reverse: true }
        );
        let is_stray = lists_targets && trip.to.contains(&node);
        is_stray.then_some(Job::Stray {
            from: trip.from,
            to: node,
        })
    }

    /// Does a node: from where the journal says to its end.
    fn node(&self, node: &Node) -> Result {
        let mut after = match self.journal.and_then(|journal| journal.mark(&node.name)) {
            Some(Mark::End) => return Ok(()),
            Some(Mark::Name(name)) if self.kind.is_ordered() => Some(name),
            _ => None,
        };
        let mut tried = 0;
        loop {
            let mut failure = None;
            let listed = self.list(node, &mut after, &mut failure);
            if let Some(failure) = failure {
                return Err(failure);
            }
            match listed {
                Ok(()) => break,
                Err(fault) if fault.passes && tried + 1 < self.limits.tries => {
                    tried += 1;
                    self.protocol().pause(PAUSE, tried);
                }
                Err(fault) => {
                    let line = self.protocol().gives_up(fault).at(node).line;
                    return Err(Failure::new(IO, line + "; run the carry again"));
                }
            }
        }
        if self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        if let Some(journal) = self.journal {
            self.judge_aside(node)?;
            journal.end_node(&node.name)?;
        }
        Ok(())
    }

    /// Lists a node and does its items. Afterwards `after` is where to go on.
    fn list(
        &self,
        node: &Node,
        after: &mut Option<Vec<u8>>,
        failure: &mut Option<Failure>,
    ) -> Done {
        let mut batch: Vec<Load> = Vec::new();
        let (mut since, mut last, mut any) = (0, None, false);
        // at a node that only gets copies, what no map places is not overlooked by this carry
        let gives = self.routes.ends().0.contains(&node.number);
        let counts = self.task == Task::Count && (self.routes.uncarried.is_none() || gives);
        // one that only gets copies is listed by the pass that verifies, and may have an old disk
        let tells = counts || self.task == Task::Verify && !gives;
        let mut from = after.clone();
        let mut finish = |batch: &mut Vec<Load>, last: &mut Option<Vec<u8>>| {
            let place = last.take().filter(|_| self.kind.is_ordered());
            let done = self.batch(node, batch, place.as_deref());
            batch.clear();
            match done {
                Ok(()) => {
                    if place.is_some() {
                        *after = place;
                    }
                    !self.stop.load(Ordering::Relaxed)
                }
                Err(found) => {
                    failure.get_or_insert(found);
                    false
                }
            }
        };
        let mut each = |item: Item| {
            self.tally.listed.fetch_add(1, Ordering::Relaxed);
            if counts && self.kind.may_forget(&item) {
                self.tally.forgettable.fetch_add(1, Ordering::Relaxed);
            }
            since += 1;
            any = true;
            last = Some(item.name.clone());
            // so much that each worker has as many items at once as the kind takes
            let most = BATCH.max(self.kind.at_once(&item) * self.limits.workers as usize);
            if let Some(job) = self.job(node.number, &item) {
                batch.push((item, job));
            } else if tells && !self.routes.places(&item.key, node.number) {
                self.tally.misplace(&node.name, &item);
            }
            if batch.len() < most && since < LISTED {
                return true;
            }
            since = 0;
            finish(&mut batch, &mut last)
        };
        let listed = self
            .kind
            .keys(node, from.take().as_deref(), self.stop, &mut each);
        if any {
            lock(&self.tally.found_at).insert(node.number);
        }
        if listed.is_ok() && !self.stop.load(Ordering::Relaxed) {
            finish(&mut batch, &mut last);
        }
        listed
    }

    /// Does a batch of a node, and notes that it is done up to `mark`.
    fn batch(&self, node: &Node, loads: &[Load], mark: Option<&[u8]>) -> Result {
        if matches!(self.task, Task::Count | Task::Check) {
            self.tie(node, loads)?;
        }
        if self.task == Task::Count {
            self.count_ways(node, loads)?;
            self.count_drops(node, loads)?;
            return self.count_strays(node, loads);
        }
        let Some(journal) = self.journal else {
            return self.share(node, loads).map(drop);
        };
        let items: Vec<&Item> = loads.iter().map(|(item, _)| item).collect();
        let flight = match self.task == Task::Copy && !items.is_empty() {
            true => Some(journal.take_off(&node.name, &items)?),
            false => None,
        };
        let is_whole = self.share(node, loads)?;
        self.flush(loads)?;
        if !is_whole {
            // what was not done is still in flight
            return Ok(());
        }
        journal.land(flight, &node.name, mark, loads.len() as u64)
    }

    /// Looks for what ties the items of a batch to others, before anything of them is removed.
    fn tie(&self, node: &Node, loads: &[Load]) -> Result {
        for loads in loads.chunks(BATCH) {
            let items: Vec<&Item> = loads.iter().map(|(item, _)| item).collect();
            let ties = self.protocol().retry(|| self.kind.ties(node, &items));
            let ties = ties.map_err(|fault| match self.kind.halted() {
                Some(line) => Failure::new(NO_INPUT, line),
                None => Failure::new(IO, fault.line),
            })?;
            ties.into_iter()
                .for_each(|tie| self.tally.tie(&node.name, tie));
        }
        Ok(())
    }

    /// Makes durable what a batch has added.
    pub(super) fn flush(&self, loads: &[Load]) -> Result {
        let mut targets = BTreeSet::new();
        for (_, job) in loads {
            match job {
                Job::Bring { to, .. } => targets.extend(to),
                Job::Stray { to, .. } => {
                    targets.insert(to);
                }
                Job::Keep { .. } | Job::Home { .. } => {}
                Job::Drop { node, .. } => {
                    targets.insert(node);
                }
            }
        }
        for target in targets {
            let node = &self.routes.nodes[*target];
            let flushed = self.protocol().retry(|| self.kind.flush(node));
            flushed.map_err(|fault| Failure::new(IO, fault.at(node).line))?;
        }
        Ok(())
    }

    /// Lets workers share the items of a batch. Returns whether all were done.
    pub(super) fn share(&self, node: &Node, loads: &[Load]) -> Result<bool> {
        // what differs is looked at again after pauses, together
        let least = match self.task {
            Task::Verify | Task::Check | Task::Ahead | Task::Look { .. } => COMPARED,
            Task::Audit { .. } | Task::Fill => BATCH / 4,
            _ => 1,
        };
        let mut units: Vec<Vec<usize>> = Vec::new();
        let mut order: Vec<usize> = (0..loads.len()).collect();
        order.sort_by(|a, b| loads[*a].1.cmp(&loads[*b].1));
        for place in order {
            let fits = |unit: &&mut Vec<usize>| {
                let alike = unit
                    .last()
                    .is_some_and(|last| loads[*last].1 == loads[place].1);
                alike && unit.len() < self.kind.at_once(&loads[place].0).max(least)
            };
            match units.last_mut().filter(fits) {
                Some(unit) => unit.push(place),
                None => units.push(vec![place]),
            }
        }
        self.in_parallel(&units, &|unit| {
            let items: Vec<&Item> = unit.iter().map(|place| &loads[*place].0).collect();
            self.unit(node, &items, &loads[unit[0]].1)
        })
    }

    /// Lets workers share units of work. The first failure ends the pass. Returns whether all were
    /// done.
    pub(super) fn in_parallel<U: Sync>(
        &self,
        units: &[U],
        each: &(dyn Fn(&U) -> Result + Sync),
    ) -> Result<bool> {
        let next = AtomicUsize::new(0);
        let failure: Mutex<Option<Failure>> = Mutex::default();
        let work = || {
            while !self.stop.load(Ordering::Relaxed) {
                let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                if let Err(found) = each(unit) {
                    lock(&failure).get_or_insert(found);
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
        };
        let workers = (self.limits.workers as usize).min(units.len());
        match workers {
            0 | 1 => work(),
            _ => thread::scope(|scope| {
                (0..workers).for_each(|_| {
                    scope.spawn(work);
                });
            }),
        }
        let failure = lock(&failure).take();
        match failure {
            Some(failure) => Err(failure),
            None => Ok(!self.stop.load(Ordering::Relaxed)),
        }
    }

    /// Does items for which the same is to be done, and notes those that fail.
    pub(super) fn unit(&self, node: &Node, items: &[&Item], job: &Job) -> Result {
        if let Job::Home { homes } = job {
            return match homes.contains(&node.number) {
                true => self.find_missing(node, items, homes),
                false => self.audit(node, items, homes),
            };
        }
        let done = self.carry(node, items, job)?;
        for (item, done) in items.iter().zip(done) {
            self.note(node, item, job, done)?;
        }
        Ok(())
    }

    /// Counts an item, and notes what became of it.
    pub(super) fn note(&self, node: &Node, item: &Item, job: &Job, done: Done<Outcome>) -> Result {
        self.tally.items.fetch_add(1, Ordering::Relaxed);
        match done {
            Ok(Outcome::Absent) => self.set_aside(node, item)?,
            // it was written or deleted there just now
            Ok(Outcome::Differs | Outcome::Gone) if self.task == LOOK_FOR_OLD => {
                self.tally.count(Outcome::Present);
            }
            Ok(Outcome::Differs) => self.differ(node, item, job)?,
            Ok(Outcome::RemovedOther(version)) => {
                self.since_check(node, item, version, false);
                self.tally.count(Outcome::Removed);
                self.tally.overrule(&node.name, item);
            }
            Ok(outcome @ (Outcome::Mended | Outcome::Cleared | Outcome::Restored)) => {
                self.tally.mend(&node.name, item, outcome);
            }
            Ok(outcome) => self.tally.count(outcome),
            // nothing is wrong with an item whose pass was ended
            Err(_) if self.stop.load(Ordering::Relaxed) => {}
            Err(fault) => self.fail(node, item, &fault)?,
        }
        Ok(())
    }

    pub(super) fn protocol(&self) -> Protocol<'_> {
        Protocol {
            kind: self.kind,
            tries: self.limits.tries,
            stop: self.stop,
            #[cfg(test)]
            without_step_3: self.without_step_3,
        }
    }

    /// Does what is to be done with items, each to its outcome.
    pub(super) fn carry(
        &self,
        node: &Node,
        items: &[&Item],
        job: &Job,
    ) -> Result<Vec<Done<Outcome>>> {
        let protocol = self.protocol();
        let nodes = &self.routes.nodes;
        match job {
            Job::Bring { from, to } => {
                let mut all: Vec<Done<Outcome>> = vec![Ok(Outcome::Present); items.len()];
                for to in to {
                    let (source, target) = (&nodes[*from], &nodes[*to]);
                    let done = match self.task {
                        Task::Copy if self.routes.uncarried.is_some() => {
                            self.copy_lacking(source, target, items)
                        }
                        Task::Copy => protocol.copy_all(source, target, items),
                        Task::Check => self.checked(source, target, items),
                        _ => protocol.judge_all(source, target, items),
                    };
                    let mut bytes = 0;
                    let done = self.mended(source, target, items, done)?;
                    for (sum, done) in all.iter_mut().zip(done) {
                        if let Ok(Outcome::Copied(n)) = done {
                            bytes += n;
                        }
                        join(sum, done);
                    }
                    let items = items.len() as u64;
                    self.throttle.done([*from, *to], items, bytes, self.stop);
                }
                Ok(all)
            }
            Job::Stray { from, to } => {
                let (source, target) = (&nodes[*from], &nodes[*to]);
                if self.task == Task::Ahead {
                    return self.ahead(source, target, items);
                }
                let found = protocol.versions(source, items);
                let lacks = |n: &usize| matches!(found[*n], Ok(None));
                let places: Vec<usize> = (0..items.len()).filter(lacks).collect();
                let absent: Vec<&Item> = places.iter().map(|n| items[*n]).collect();
                let strays = self.strays(source, target, &absent)?;
                let found = found.into_iter();
                let mut all: Vec<Done<Outcome>> =
                    found.map(|found| found.map(|_| Outcome::Present)).collect();
                for (place, end) in places.into_iter().zip(strays) {
                    all[place] = end;
                }
                self.throttle
                    .done([*from, *to], items.len() as u64, 0, self.stop);
                Ok(all)
            }
            Job::Keep { node: at, keepers } => {
                let mut all: Vec<Done<Outcome>> = vec![Ok(Outcome::Present); items.len()];
                for keeper in keepers {
                    let keeper = &nodes[*keeper];
                    let found = protocol.versions(keeper, items);
                    let lacks = |n: &usize| !matches!(found[*n], Ok(Some(_)));
                    let places: Vec<usize> = (0..items.len()).filter(lacks).collect();
                    let absent: Vec<&Item> = places.iter().map(|n| items[*n]).collect();
                    let judged = protocol.judge_all(node, keeper, &absent);
                    let judged = self.mended(node, keeper, &absent, judged)?;
                    for (place, done) in places.into_iter().zip(judged) {
                        join(&mut all[place], done);
                    }
                    let items = items.len() as u64;
                    self.throttle
                        .done([*at, keeper.number], items, 0, self.stop);
                }
                Ok(all)
            }
            // see `unit`
            Job::Home { .. } => Ok(Vec::new()),
            Job::Drop { node: at, keepers } => {
                let keepers: Vec<&Node> = keepers.iter().map(|keeper| &nodes[*keeper]).collect();
                let all = protocol.drop_all(node, &keepers, items, self.stays());
                self.throttle
                    .done([*at, keepers[0].number], items.len() as u64, 0, self.stop);
                Ok(all)
            }
        }
    }

    /// What stays when copies are removed. In a carry that is reversed, the copies at new places
    /// may have been made by the carry itself after what the old places have.
    fn stays(&self) -> Stays {
        match self.task {
            Task::Remove { reverse: true } => Stays::Lacking,
            _ => Stays::Newer {
                since: self.journal.and_then(Journal::since),
            },
        }
    }

    pub(super) fn fail(&self, node: &Node, item: &Item, fault: &Fault) -> Result {
        if let Some(line) = self.kind.halted() {
            // nothing is wrong with the item itself, and it stays in flight
            return Err(Failure::new(NO_INPUT, line));
        }
        if let Some(journal) = self.journal {
            journal.fail(&node.name, item, &fault.line)?;
        }
        match self.tally.fail() > self.limits.failures {
            false => Ok(()),
            true => Err(too_many_failed(self.limits.failures, node, item, fault)),
        }
    }

    fn is_over(&self) -> bool {
        self.tally.counts().failed > self.limits.failures
    }
}

/// Returns numbers of nodes in an order in which neighbours are far from each other. A plan gives a
/// new node its keys from neighbours: in the order of the numbers, all that are listed at once
/// would fill the same node, and the others would wait.
fn in_mixed_order(nodes: BTreeSet<usize>) -> Vec<usize> {
    let mut nodes: Vec<usize> = nodes.into_iter().collect();
    // 2^32 by the golden ratio: multiples of it are spread evenly
    nodes.sort_by_key(|number| (*number as u32).wrapping_mul(0x9E37_79B1));
    nodes
}

/// Joins the outcomes of an item at several targets: a fault before all, then what was done.
fn join(sum: &mut Done<Outcome>, done: Done<Outcome>) {
    let weight = |done: &Done<Outcome>| match done {
        Ok(Outcome::Present) => 0,
        Ok(Outcome::Gone) => 1,
        Ok(Outcome::Differs) => 2,
        Ok(Outcome::Copied(_)) => 3,
        Ok(Outcome::Removed | Outcome::RemovedOther(_)) => 4,
        Ok(Outcome::Restored) => 5,
        Ok(Outcome::Mended | Outcome::Cleared) => 6,
        Ok(Outcome::Absent) => 7,
        Err(_) => 8,
    };
    if let (Ok(Outcome::Copied(a)), Ok(Outcome::Copied(b))) = (&*sum, &done) {
        *sum = Ok(Outcome::Copied(a + b));
    } else if weight(&done) > weight(sum) {
        *sum = done;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
