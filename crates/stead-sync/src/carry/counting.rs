//! What the pass that counts finds out about a batch of items: which way they go, which copies are
//! only removed, and what only a new place has.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::kind::{Item, Node};
use super::pass::{Job, Load, Pass};
use crate::exit::{Failure, Result, IO};

impl Pass<'_> {
    /// Counts the items of a batch that are to be brought, each way by itself.
    pub(super) fn count_ways(&self, node: &Node, loads: &[Load]) -> Result {
        let brought = loads.iter().filter_map(|(item, job)| match job {
            Job::Bring { from, to } => Some((item, (*from, to))),
            _ => None,
        });
        let (items, ways): (Vec<&Item>, Vec<_>) = brought.unzip();
        for (size, (from, to)) in self.protocol().sizes(node, &items).into_iter().zip(ways) {
            let size = size.map_err(|fault| Failure::new(IO, fault.at(node).line))?;
            self.tally.items.fetch_add(1, Ordering::Relaxed);
            to.iter()
                .for_each(|to| self.tally.count_way(from, *to, size));
        }
        Ok(())
    }

    /// Counts the items of a batch that only this new place has. Hosts write the old places alone
    /// while items are counted, so one look at these is enough.
    pub(super) fn count_strays(&self, node: &Node, loads: &[Load]) -> Result {
        let mut strays: BTreeMap<usize, Vec<&Item>> = BTreeMap::new();
        for (item, job) in loads {
            match job {
                Job::Stray { from, .. } if !self.kind.may_forget(item) => {
                    strays.entry(*from).or_default().push(item);
                }
                _ => {}
            }
        }
        for (from, items) in strays {
            let source = &self.routes.nodes[from];
            for items in items.chunks(self.kind.at_once(items[0]).max(1)) {
                let found = self.protocol().versions(source, items);
                for (item, found) in items.iter().zip(found) {
                    match found {
                        Ok(Some(_)) => {}
                        Ok(None) => self.tally.stray(&node.name, item),
                        Err(fault) => {
                            return Err(Failure::new(IO, fault.at(source).line));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Counts the copies of a batch that are removed at the end, and from which nothing is copied.
    pub(super) fn count_drops(&self, node: &Node, loads: &[Load]) -> Result {
        let dropped = loads.iter().filter_map(|(item, job)| match job {
            Job::Drop { .. } => Some(item),
            _ => None,
        });
        let items: Vec<&Item> = dropped.collect();
        for size in self.protocol().sizes(node, &items) {
            let size = size.map_err(|fault| Failure::new(IO, fault.at(node).line))?;
            self.tally.count_drop(node.number, size);
        }
        Ok(())
    }
}
