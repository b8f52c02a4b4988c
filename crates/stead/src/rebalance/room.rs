//! Room: which domains of a set are full, and which holders may come back to a piece. Both are
//! computed once for a set and kept.
//!
//! A set of 100 copies is asked about each of its holders in every round: which domains are full
//! when this holder leaves? That follows from what is kept, because only the domains of the holder
//! that leaves get room.

use std::cell::RefCell;
use std::rc::Rc;

use super::crowd::Crowd;
use super::domains::{DomainId, Domains};
use super::holder::HolderId;
use super::sets::{SetId, Sets};
use super::table::Table;

/// How many ids are kept at most: 128 MiB of them. A set of many copies can have hundreds of full
/// domains. To forget them would cost more than anything else, since each set is asked about each
/// of its holders in turn.
const KEPT: usize = 1 << 25;

/// What is known of the sets.
pub(super) struct Room<'a> {
    domains: &'a Domains,
    known: RefCell<Known>,
    /// Nobody, but while a set is looked at.
    crowd: RefCell<Crowd<'a>>,
}

#[derive(Default)]
struct Known {
    of: Table<SetId, OfSet>,
    /// How many ids this has in all.
    ids: usize,
}

#[derive(Clone, Default)]
struct OfSet {
    /// The full domains, in ascending order.
    full: Option<Rc<[Filled]>>,
    /// A set that the piece had at the start, and its holders that may come back.
    back: Option<(SetId, Rc<[HolderId]>)>,
}

/// A full domain, and whether it has more copies than its cap.
#[derive(Clone, Copy)]
struct Filled(u32);

impl Filled {
    fn of(domain: DomainId, above: bool) -> Filled {
        Filled(domain.0 << 1 | u32::from(above)) // at most 16 labels of 65,536 nodes
    }

    fn domain(self) -> DomainId {
        DomainId(self.0 >> 1)
    }

    fn is_above(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Known {
    /// What is known of a set. Forgets everything when it is too much.
    fn of(&mut self, set: SetId) -> &mut OfSet {
        if self.ids > KEPT {
            *self = Known::default();
        }
        while self.of.find(set).is_none() {
            self.of.push(OfSet::default());
        }
        &mut self.of[set]
    }
}

/// The domains of a set that are full when one of its holders has left.
pub(super) struct Full<'a> {
    domains: &'a Domains,
    with_all: Rc<[Filled]>,
    /// The domains of the holder that has left.
    left: &'a [DomainId],
}

impl Full<'_> {
    /// Whether a domain is full.
    pub(super) fn has(&self, domain: DomainId) -> bool {
        let found = self
            .with_all
            .binary_search_by_key(&domain, |full| full.domain());
        let found = found.ok().and_then(|place| self.with_all.get(place));
        found.is_some_and(|full| full.is_above() || !self.left.contains(&domain))
    }

    /// Whether one of the domains of a holder is full.
    pub(super) fn stops(&self, holder: HolderId) -> bool {
        let mut binding = self.domains.binding(holder).iter();
        binding.any(|domain| self.has(*domain))
    }
}

impl<'a> Room<'a> {
    pub(super) fn new(domains: &'a Domains) -> Room<'a> {
        Room {
            domains,
            known: RefCell::default(),
            crowd: RefCell::new(Crowd::new(domains)),
        }
    }

    /// The domains that are full when `from`, a holder of the set, has left it.
    pub(super) fn full(&self, sets: &Sets, set: SetId, from: HolderId) -> Full<'a> {
        let mut known = self.known.borrow_mut();
        let with_all = match &known.of(set).full {
            Some(full) => Rc::clone(full),
            None => {
                let full = self.find_full(sets, set);
                known.of(set).full = Some(Rc::clone(&full));
                known.ids += full.len();
                full
            }
        };
        Full {
            domains: self.domains,
            with_all,
            left: self.domains.binding(from),
        }
    }

    /// The domains that are full with all holders of the set.
    fn find_full(&self, sets: &Sets, set: SetId) -> Rc<[Filled]> {
        let mut crowd = self.crowd.borrow_mut();
        let mut full: Vec<DomainId> = Vec::new();
        for holder in sets.holders(set) {
            crowd.enter(holder, |domain| full.push(domain));
        }
        full.sort_unstable();
        let full = full.into_iter();
        let filled = full.map(|domain| Filled::of(domain, crowd.is_above(domain)));
        let filled = filled.collect();
        sets.holders(set).for_each(|holder| crowd.leave(holder));
        filled
    }

    /// The holders that can hold, are in `old`, and are not in `set`.
    pub(super) fn back(&self, sets: &Sets, old: SetId, set: SetId) -> Rc<[HolderId]> {
        let mut known = self.known.borrow_mut();
        match &known.of(set).back {
            Some((of, back)) if *of == old => Rc::clone(back),
            _ => {
                let can = |holder: &HolderId| self.domains.can_hold(*holder);
                let back: Rc<[_]> = sets.beyond(old, set).filter(can).collect();
                known.of(set).back = Some((old, Rc::clone(&back)));
                known.ids += back.len();
                back
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_stopped_exactly_where_it_may_not_join() {
        let mut state = 0;
        let mut random = |end: u64| {
            state += 1;
            crate::map::mix(crate::point::Point(state), 0).0 % end
        };
        let mut seen = [0, 0];
        for _ in 0..200 {
            let (depth, wide) = (1 + random(4), 1 + random(4));
            let values = ["a", "b", "c", "d"];
            let mut path = |holder: u32| -> Option<Vec<&str>> {
                let labels = 0..1 + random(depth);
                let path = labels.map(|_| values[random(wide) as usize]).collect();
                (holder % 7 != 3).then_some(path)
            };
            let paths: Vec<_> = (0..20).map(&mut path).collect();
            let domains = Domains::new(&paths, 2 + random(6) as u32);
            let (room, mut sets) = (Room::new(&domains), Sets::default());
            let mut pick = || -> SetId {
                let mut holders: Vec<u32> = (0..20).collect();
                (0..20).for_each(|at| holders.swap(at, random(20) as usize));
                holders.truncate(2 + random(8) as usize);
                sets.of(&holders)
            };
            let (set, old) = (pick(), pick());
            for _ in 0..2 {
                for from in sets.holders(set) {
                    let rest = || sets.holders(set).filter(|holder| *holder != from);
                    let full = room.full(&sets, set, from);
                    for holder in (0..20).map(HolderId) {
                        if domains.can_hold(holder) && rest().all(|other| other != holder) {
                            let may = domains.may_join(holder, rest());
                            assert_eq!(full.stops(holder), !may, "{holder:?}, {paths:?}");
                            seen[usize::from(may)] += 1;
                        }
                    }
                }
                let back: Vec<HolderId> = sets.beyond(old, set).collect();
                let able = back.into_iter().filter(|holder| holder.0 % 7 != 3);
                assert_eq!(*room.back(&sets, old, set), able.collect::<Vec<_>>()[..]);
            }
        }
        assert!(seen.iter().all(|seen| *seen > 1000), "{seen:?}");
    }
}
