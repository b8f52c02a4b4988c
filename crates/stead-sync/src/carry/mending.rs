//! How a pass mends what differs while data is verified, and what it does not mend without leave:
//! what only its new place has, and what was written there later.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::journal::Journal;
use super::kind::{Done, Item, Node};
use super::pass::{Job, Pass, Task, COMPARED};
use super::protocol::Outcome;
use super::refusals::{only_new, only_new_in_reverse, written_later};
use crate::exit::{Failure, Result, IO};

impl Pass<'_> {
    /// Removes items that only their new place has, within the limit: they may be what is left of
    /// an earlier time, or the only copies. Items that a server may forget have no limit. While
    /// nothing may be changed, such an item is `Absent`.
    pub(super) fn strays(
        &self,
        from: &Node,
        to: &Node,
        items: &[&Item],
    ) -> Result<Vec<Done<Outcome>>> {
        let looks = self.task == (Task::Look { reverse: true });
        let only_second = self.protocol().only_second_all(from, to, items);
        let mut places = Vec::new();
        let each = items.iter().zip(only_second).enumerate();
        let each = each.map(|(place, (item, only_second))| match only_second {
            Err(fault) => Err(fault),
            Ok(false) => Ok(Outcome::Gone),
            Ok(true) if self.kind.may_forget(item) && looks => Ok(Outcome::Present),
            Ok(true) if self.kind.may_forget(item) => {
                places.push(place);
                Ok(Outcome::Gone)
            }
            Ok(true) if self.journal.is_none() => {
                self.tally.stray(&to.name, item);
                Ok(Outcome::Present)
            }
            Ok(true) if self.tally.only_new() > self.limits.only_new => Err(match looks {
                true => only_new_in_reverse(from, to),
                false => only_new(from, to),
            }),
            Ok(true) if looks => Ok(Outcome::Absent),
            Ok(true) => {
                places.push(place);
                Ok(Outcome::Gone)
            }
        });
        let mut all: Vec<Done<Outcome>> = each.collect();
        let open: Vec<&Item> = places.iter().map(|place| items[*place]).collect();
        let found = vec![Ok(Outcome::Gone); open.len()];
        for (place, done) in places.into_iter().zip(self.mended(from, to, &open, found)?) {
            all[place] = done;
        }
        Ok(all)
    }

    /// While data is verified, mends the items that differ. Otherwise returns what was found.
    pub(super) fn mended(
        &self,
        from: &Node,
        to: &Node,
        items: &[&Item],
        found: Vec<Done<Outcome>>,
    ) -> Result<Vec<Done<Outcome>>> {
        let mut all = found;
        let Some(journal) = self.journal.filter(|_| self.task == Task::Verify) else {
            for (found, item) in all.iter_mut().zip(items) {
                if *found == Ok(Outcome::Absent) && self.kind.may_forget(item) {
                    *found = Ok(Outcome::Gone);
                }
            }
            return Ok(all);
        };
        let mut places = Vec::new();
        for (place, found) in all.iter_mut().enumerate() {
            let may_mend = match found {
                Ok(Outcome::Differs) => self.may_replace(from, to, items[place]),
                Ok(Outcome::Absent | Outcome::Gone) => Ok(()),
                _ => continue,
            };
            match may_mend {
                Ok(()) => places.push(place),
                Err(fault) => *found = Err(fault),
            }
        }
        if places.is_empty() {
            return Ok(all);
        }
        let open: Vec<&Item> = places.iter().map(|place| items[*place]).collect();
        let number = journal.take_off(&from.name, &open)?;
        let settled = self.protocol().settle_all(from, to, &open);
        // one that was not settled stays in flight, and with it all of them
        if settled.iter().all(Done::is_ok) {
            journal.land(Some(number), &from.name, None, 0)?;
        }
        for (place, done) in places.into_iter().zip(settled) {
            all[place] = match (done, &all[place]) {
                // an item that was being written, and is well
                (Ok(Outcome::Present), Ok(Outcome::Gone)) => Ok(Outcome::Gone),
                (Ok(Outcome::Restored), _) if self.kind.may_forget(items[place]) => {
                    Ok(Outcome::Mended)
                }
                (done, _) => done,
            };
        }
        Ok(all)
    }

    /// Copies the items that the target lacks. After a change without a carry, hosts may have read
    /// and written what it has: verifying decides about that.
    pub(super) fn copy_lacking(
        &self,
        from: &Node,
        to: &Node,
        items: &[&Item],
    ) -> Vec<Done<Outcome>> {
        let protocol = self.protocol();
        let there = protocol.versions(to, items);
        let lacks = |n: &usize| matches!(there[*n], Ok(None));
        let places: Vec<usize> = (0..items.len()).filter(lacks).collect();
        let lacking: Vec<&Item> = places.iter().map(|n| items[*n]).collect();
        let copied = protocol.copy_all(from, to, &lacking);
        let mut all: Vec<Done<Outcome>> = there
            .into_iter()
            .map(|there| there.map(|_| Outcome::Present))
            .collect();
        for (place, end) in places.into_iter().zip(copied) {
            all[place] = end;
        }
        all
    }

    /// Checks that a value at a new place may be replaced. Hosts write the old place first, so a
    /// value that was written later at the new place alone is that of a program that does not
    /// follow the carry, or of a time in which hosts read the new place. Where nobody knows the
    /// times, only a change without a carry makes such a time likely; then none is replaced without
    /// leave.
    fn may_replace(&self, from: &Node, to: &Node, item: &Item) -> Done {
        if self.kind.may_forget(item) {
            return Ok(());
        }
        match self.protocol().is_newer(to, from, item)? {
            Some(false) => return Ok(()),
            None if self.routes.uncarried.is_none() => return Ok(()),
            Some(true) | None => (),
        }
        let most = self.limits.different.unwrap_or(0);
        match self.tally.replace() > most {
            true => Err(written_later(from, to, self.kind.differs_also())),
            false => Ok(()),
        }
    }

    /// Settles what was in flight when an earlier process was killed.
    pub(super) fn settle_flights(&self, journal: &Journal) -> Result {
        for (number, (name, items)) in journal.story().flights {
            let mut ways: BTreeMap<(usize, usize), Vec<&Item>> = BTreeMap::new();
            for item in &items {
                let Some(trip) = self.routes.trip(&item.key) else {
                    continue;
                };
                for to in trip.to {
                    ways.entry((trip.from, to)).or_default().push(item);
                }
            }
            for ((from, to), items) in ways {
                let (source, target) = (&self.routes.nodes[from], &self.routes.nodes[to]);
                let (both, only_second) = self.sides(source, target, &items);
                let most = both.first().map_or(1, |item| self.kind.at_once(item));
                let units: Vec<&[&Item]> = both.chunks(most.max(COMPARED)).collect();
                self.in_parallel(&units, &|items| self.settle(source, target, items))?;
                // the listing of the target may be past them
                if self.task == Task::Verify && !only_second.is_empty() {
                    self.unit(target, &only_second, &Job::Stray { from, to })?;
                }
                let flushed = self.kind.flush(target);
                flushed.map_err(|fault| Failure::new(IO, fault.line))?;
            }
            // the map is another one: they are settled by its attributes
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            journal.land(Some(number), &name, None, 0)?;
        }
        Ok(())
    }

    /// Settles items that were in flight, and counts them.
    fn settle(&self, source: &Node, target: &Node, items: &[&Item]) -> Result {
        let settled = self.protocol().settle_all(source, target, items);
        let job = Job::Bring {
            from: source.number,
            to: vec![target.number],
        };
        for (item, done) in items.iter().zip(settled) {
            let done = match done {
                Ok(Outcome::Restored) if self.task == Task::Copy => Ok(Outcome::Copied(0)),
                done => done,
            };
            self.note(source, item, &job, done)?;
        }
        Ok(())
    }

    /// Returns the items that can be settled, and those that only the target has: one was deleted
    /// in the moment in which it was copied, or the source has lost data. Verifying decides about
    /// them by its limit.
    fn sides<'b>(
        &self,
        source: &Node,
        target: &Node,
        items: &[&'b Item],
    ) -> (Vec<&'b Item>, Vec<&'b Item>) {
        let at_source = self.protocol().versions(source, items);
        let at_target = self.protocol().versions(target, items);
        let found = at_source.iter().zip(&at_target).zip(items);
        let (both, only_second): (Vec<_>, Vec<_>) = found.partition(|((one, other), item)| {
            !matches!((one, other), (Ok(None), Ok(Some(_)))) || self.kind.may_forget(item)
        });
        let items = |of: Vec<((_, _), &&'b Item)>| of.into_iter().map(|(_, item)| *item).collect();
        (items(both), items(only_second))
    }
}
