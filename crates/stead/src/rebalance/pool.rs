//! Pool: holders, of which the first one is found that may take the place of another in a set.
//!
//! The holders stand in ascending order, and the first few are simply tried. Where the domains of a
//! set are full, thousands in a row may be stopped. Then an *outline* is searched: the same holders
//! by their domains, each domain in front of what is in it.
//!
//! ```text
//!   zone a   rack 1   n1   n5   rack 2   n3   n4   zone b   n2   ...
//!   |        +------------------^                   ^
//!   +----------------------------------------------+        where each domain ends
//! ```
//!
//! One question passes over a full domain, with everything in it. The same is true of a domain in
//! which all holders are closed.

use std::cell::{Cell, OnceCell};

use super::domains::{DomainId, Domains};
use super::holder::HolderId;
use super::room::Full;
use super::table::{Id, Table};

/// So many holders are tried before the outline is searched.
const FEW: usize = 16;

/// The position of a holder in a pool, in ascending order of the holders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Spot(u32);

impl Id for Spot {
    fn new(place: u32) -> Spot {
        Spot(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// Holders, all of which are open at first.
pub(super) struct Pool<'a> {
    domains: &'a Domains,
    holders: Table<Spot, HolderId>,
    /// For each holder, a spot from which on the next open one is found: its own, while it is open.
    /// A spot behind the last one ends the search.
    next: Table<Spot, Cell<u32>>,
    open: usize,
    outline: OnceCell<Outline>,
}

impl<'a> Pool<'a> {
    /// A pool of these holders, which can hold and are in ascending order.
    pub(super) fn new(domains: &'a Domains, holders: Vec<HolderId>) -> Pool<'a> {
        Pool {
            domains,
            next: (0..holders.len() as u32).map(Cell::new).collect(),
            open: holders.len(),
            holders: holders.into(),
            outline: OnceCell::new(),
        }
    }

    /// Whether no holder is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// Closes a holder: it is not found any more. Holders that are not in the pool are ignored.
    pub(super) fn close(&mut self, holder: HolderId) {
        let Ok(place) = self.holders.values().binary_search(&holder) else {
            return;
        };
        let place = place as u32;
        if self.next[Spot(place)].get() != place {
            return; // it is closed
        }
        self.next[Spot(place)].set(place + 1);
        self.open -= 1;
        if let Some(outline) = self.outline.get_mut() {
            outline.close(Spot(place));
        }
    }

    /// The first open spot from `from` on.
    fn next_open(&self, from: u32) -> Option<Spot> {
        let mut at = from;
        // each step halves the way for those that come after
        while let Some(next) = self.next.find(Spot(at)) {
            let there = next.get();
            if there == at {
                return Some(Spot(at));
            }
            if let Some(further) = self.next.find(Spot(there)) {
                next.set(further.get());
            }
            at = there;
        }
        None
    }

    /// Finds the first open holder, from the spot `from` on, that is in no full domain and that
    /// `may` accepts.
    pub(super) fn first(
        &self,
        from: Spot,
        full: &Full,
        may: impl Fn(HolderId) -> bool,
    ) -> Option<(Spot, HolderId)> {
        let mut at = self.next_open(from.0)?;
        for _ in 0..FEW {
            let holder = self.holders[at];
            if !full.stops(holder) && may(holder) {
                return Some((at, holder));
            }
            at = self.next_open(at.0 + 1)?;
        }
        let outline = self.outline.get_or_init(|| Outline::new(self));
        let spot = outline.first(at, full, |spot| may(self.holders[spot]))?;
        Some((spot, self.holders[spot]))
    }
}

/// An entry of an outline: a domain, or a holder.
struct Entry {
    /// The domain; `None` for a holder.
    domain: Option<DomainId>,
    /// The entry of the domain around it.
    whole: Option<EntryId>,
    /// The entry behind the last one that is in the domain, or behind the holder.
    end: u32,
    /// The first and the last spot in the domain, or that of the holder.
    spots: [Spot; 2],
    /// How many open holders are in the domain, or 1 for an open holder.
    open: u32,
}

/// The position of an entry in an outline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct EntryId(u32);

impl Id for EntryId {
    fn new(place: u32) -> EntryId {
        EntryId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// The holders of a pool, by their domains.
struct Outline {
    entries: Table<EntryId, Entry>,
    /// The entry of each holder.
    of: Table<Spot, EntryId>,
}

impl Outline {
    fn new(pool: &Pool) -> Outline {
        let path = |spot: Spot| pool.domains.binding(pool.holders[spot]);
        // the parts of a domain follow it, so the holders of a domain stand beside each other
        let mut order: Vec<Spot> = pool.holders.ids().collect();
        order.sort_unstable_by_key(|spot| (path(*spot).last(), *spot));
        let mut entries: Table<EntryId, Entry> = Table::default();
        let mut of = Table::filled(order.len(), EntryId(0));
        let mut around: Vec<(DomainId, EntryId)> = Vec::new();
        for spot in order {
            let path = path(spot);
            let alike = |((a, _), b): &(&(DomainId, EntryId), &DomainId)| a == *b;
            let shared = around.iter().zip(path).take_while(alike).count();
            let end = entries.len() as u32;
            for (_, left) in around.drain(shared..) {
                entries[left].end = end;
            }
            let is_open = u32::from(pool.next[spot].get() == spot.0);
            for (_, whole) in &around {
                entries[*whole].take_in(spot, is_open);
            }
            for domain in path.iter().skip(shared) {
                let whole = around.last().map(|(_, id)| *id);
                let id = entries.push(Entry::new(Some(*domain), whole, spot, is_open));
                around.push((*domain, id));
            }
            let whole = around.last().map(|(_, id)| *id);
            of[spot] = entries.push(Entry::new(None, whole, spot, is_open));
            entries[of[spot]].end = entries.len() as u32;
        }
        let end = entries.len() as u32;
        for (_, left) in around {
            entries[left].end = end;
        }
        Outline { entries, of }
    }

    fn close(&mut self, spot: Spot) {
        let mut next = Some(self.of[spot]);
        while let Some(id) = next {
            let entry = &mut self.entries[id];
            entry.open -= 1;
            next = entry.whole;
        }
    }

    /// The first open spot, from `from` on, that is in no full domain and that `may` accepts.
    fn first(&self, from: Spot, full: &Full, may: impl Fn(Spot) -> bool) -> Option<Spot> {
        let mut found = None;
        let mut at = 0;
        while let Some(entry) = self.entries.find(EntryId(at)) {
            let [first, last] = entry.spots;
            let behind = found.is_some_and(|found| found <= first);
            let pass = entry.open == 0 || last < from || behind;
            match entry.domain {
                Some(domain) if !pass && !full.has(domain) => at += 1,
                None if !pass && may(first) => {
                    found = Some(first);
                    at += 1;
                }
                _ => at = entry.end,
            }
        }
        found
    }
}

impl Entry {
    fn new(domain: Option<DomainId>, whole: Option<EntryId>, spot: Spot, open: u32) -> Entry {
        Entry {
            domain,
            whole,
            end: 0,
            spots: [spot, spot],
            open,
        }
    }

    /// Notes one more holder in a domain.
    fn take_in(&mut self, spot: Spot, open: u32) {
        let [first, last] = self.spots;
        self.spots = [first.min(spot), last.max(spot)];
        self.open += open;
    }
}

#[cfg(test)]
mod tests {
    use super::super::room::Room;
    use super::super::sets::Sets;
    use super::*;

    #[test]
    fn the_first_open_holder_that_may_join_is_found_wherever_it_stands() {
        let (mut state, mut far, mut none) = (0u64, 0, 0);
        let mut random = |end: u64| {
            state += 1;
            crate::map::mix(crate::point::Point(state), 0).0 % end
        };
        for _ in 0..300 {
            let (depth, wide) = (random(4), 1 + random(3));
            let values = ["a", "b", "c"];
            // the first 30 holders are in one zone, the next 30 in another
            let mut path = |holder: usize| -> Option<Vec<&str>> {
                let labels = 0..random(depth + 1);
                let inner = labels.map(|_| values[random(wide) as usize]);
                Some(std::iter::once(values[holder / 30]).chain(inner).collect())
            };
            let paths: Vec<_> = (0..90).map(&mut path).collect();
            let domains = Domains::new(&paths, 2 + random(30) as u32);
            let (room, mut sets) = (Room::new(&domains), Sets::default());
            let some = random(90);
            let mut all: Vec<HolderId> = (0..90)
                .filter(|_| random(90) >= some)
                .map(HolderId)
                .collect();
            let mut pool = Pool::new(&domains, all.clone());
            let mut open = all.clone();
            for _ in 0..20 {
                let mut holders: Vec<u32> = (0..90).collect();
                (0..90).for_each(|at| holders.swap(at, random(90) as usize));
                holders.truncate(1 + random(40) as usize);
                let set = sets.of(&holders);
                let from = HolderId(holders[0]);
                let full = room.full(&sets, set, from);
                let rest = || sets.holders(set).filter(|holder| *holder != from);
                let may = |holder: HolderId| rest().all(|other| other != holder);
                let start = random(all.len() as u64 / 2 + 1) as usize;
                let ahead = all.iter().enumerate().skip(start);
                let mut ahead = ahead.filter(|(_, holder)| open.contains(holder));
                let expected = ahead.find(|(_, holder)| domains.may_join(**holder, rest()));
                let found = pool.first(Spot(start as u32), &full, may);
                let found = found.map(|(spot, holder)| (spot.0 as usize, holder));
                assert_eq!(found, expected.map(|(at, holder)| (at, *holder)));
                far += usize::from(found.is_some_and(|(at, _)| at > start + 2 * FEW));
                none += usize::from(found.is_none() && !pool.is_empty());
                for _ in 0..random(4) {
                    let closed = HolderId(random(90) as u32);
                    pool.close(closed);
                    open.retain(|holder| *holder != closed);
                    assert_eq!(pool.is_empty(), open.is_empty());
                }
            }
            all.clear();
        }
        assert!(far > 10 && none > 10, "{far} far, {none} none");
    }
}
