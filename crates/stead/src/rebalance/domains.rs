//! Fault domains: the tree of the spread labels, its caps, and which sets of copies keep them.
//! Normative: docs/placement.md, "Fault domains and caps".

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::holder::HolderId;
use super::table::{Id, Lists, Table};

/// A domain, identified by its position in the list of domains. The list is ordered by path, so the
/// parts of a domain follow it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DomainId(pub u32);

impl Id for DomainId {
    fn new(place: u32) -> DomainId {
        DomainId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// The holders that share the values of the first spread labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// How many labels its holders share.
    pub level: usize,
    /// How many copies of one point the domain may hold.
    pub cap: u32,
    /// How many nodes in it can hold.
    pub nodes: u32,
    /// The domains and holders directly in it.
    pub inside: Inside,
}

/// What stands directly in a domain, or outside all domains.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inside {
    /// The domains.
    pub parts: Vec<DomainId>,
    /// The holders. Only those that can hold are listed.
    pub members: Vec<HolderId>,
}

/// So many holders are compared with each other without being sorted.
const FEW: usize = 16;

/// All domains of a fleet, and which holders can hold at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domains {
    list: Table<DomainId, Domain>,
    outermost: Inside,
    replicas: u32,
    /// The depth of the deepest domain.
    levels: usize,
    /// For each holder, its domains from the outside in.
    around: Lists<HolderId, DomainId>,
    /// The same, without the domains that stop nobody whom another one does not stop.
    binding: Lists<HolderId, DomainId>,
    /// What stands in each binding domain when there are no others.
    bound: Table<DomainId, Option<Box<Inside>>>,
    /// What then stands outside all of them.
    unbound: Inside,
    /// For each holder, the first of these.
    outer: Table<HolderId, Option<DomainId>>,
    can_hold: Table<HolderId, bool>,
}

impl Domains {
    /// Builds the domains from the values of the spread labels of each holder. `None` stands for a
    /// holder that cannot hold, because it has weight 0 or is leaving.
    ///
    /// At one replica no cap binds, so the labels may be left out. Then there are no domains.
    pub fn new(holders: &[Option<Vec<&str>>], replicas: u32) -> Domains {
        let holders = ranked(holders);
        let (list, ids) = list(&holders);
        let mut domains = Domains {
            list,
            outermost: Inside::default(),
            replicas,
            levels: holders.iter().flatten().map(Vec::len).max().unwrap_or(0),
            around: Lists::default(),
            binding: Lists::default(),
            bound: Table::default(),
            unbound: Inside::default(),
            outer: Table::default(),
            can_hold: Table::default(),
        };
        for (path, id) in &ids {
            let whole = path.split_last().and_then(|(_, whole)| ids.get(whole));
            domains.inside_mut(whole.copied()).parts.push(*id);
        }
        for path in &holders {
            let holder = domains.can_hold.push(path.is_some());
            let prefixes = prefixes(path.as_deref().unwrap_or(&[]));
            let id = |path| ids.get(path).copied(); // `list` gave each prefix one
            let around: Vec<DomainId> = prefixes.filter_map(id).collect();
            for id in &around {
                domains.list[*id].nodes += 1;
            }
            if path.is_some() {
                domains
                    .inside_mut(around.last().copied())
                    .members
                    .push(holder);
            }
            domains.outer.push(around.first().copied());
            domains.around.push(around);
        }
        for (id, cap) in domains.caps().iter() {
            domains.list[id].cap = *cap;
        }
        domains.bound = Table::filled(domains.list.len(), None);
        for holder in domains.can_hold.ids() {
            let binding = domains.find_binding(holder);
            if domains.can_hold(holder) {
                domains.bind(holder, &binding);
            }
            domains.binding.push(binding);
        }
        domains
    }

    /// Notes a holder, and the domains around it that were not noted yet, in `bound`.
    fn bind(&mut self, holder: HolderId, binding: &[DomainId]) {
        let mut whole = None;
        for part in binding {
            if self.bound[*part].is_none() {
                self.bound[*part] = Some(Box::default());
                self.bound_mut(whole).parts.push(*part);
            }
            whole = Some(*part);
        }
        self.bound_mut(whole).members.push(holder);
    }

    /// What stands directly in a binding domain, or outside all of them.
    fn bound_mut(&mut self, whole: Option<DomainId>) -> &mut Inside {
        match whole {
            Some(whole) => self.bound[whole].get_or_insert_default(),
            None => &mut self.unbound,
        }
    }

    /// A domain that has no more nodes than its cap is full only when all of them are there. One
    /// that has the same nodes as the domain around it has a cap that is no lower.
    fn find_binding(&self, holder: HolderId) -> Vec<DomainId> {
        let mut nodes = None;
        let around = self.of(holder).iter().copied();
        let binds = |id: &DomainId| {
            let domain = &self.list[*id];
            let same = nodes.replace(domain.nodes) == Some(domain.nodes);
            domain.cap < domain.nodes && !same
        };
        around.filter(binds).collect()
    }

    /// What stands directly in the domain `whole`, or outside all domains.
    fn inside_mut(&mut self, whole: Option<DomainId>) -> &mut Inside {
        match whole {
            Some(whole) => &mut self.list[whole].inside,
            None => &mut self.outermost,
        }
    }

    /// Computes the caps, from the outside in. The cap of the parts of a domain is the smallest
    /// with which they can together hold as many copies as the domain may.
    fn caps(&self) -> Table<DomainId, u32> {
        let mut caps = Table::filled(self.list.len(), 0);
        self.cap_parts(&self.outermost, self.replicas, &mut caps);
        for (id, whole) in self.list.iter() {
            // a domain comes before its parts, so its own cap is already set
            self.cap_parts(&whole.inside, caps[id], &mut caps);
        }
        caps
    }

    fn cap_parts(&self, whole: &Inside, copies: u32, caps: &mut Table<DomainId, u32>) {
        let nodes = |part: &DomainId| self.list[*part].nodes;
        let held = |cap: u32| -> u64 {
            let parts = whole.parts.iter();
            parts.map(|part| u64::from(nodes(part).min(cap))).sum()
        };
        let cap = (1..=copies)
            .find(|cap| held(*cap) >= u64::from(copies))
            .unwrap_or(copies);
        #[cfg(test)]
        let cap = cap + super::planted::too_high();
        for part in &whole.parts {
            caps[*part] = cap.min(nodes(part));
        }
    }

    /// All domains; the parts of a domain follow it.
    pub fn list(&self) -> &Table<DomainId, Domain> {
        &self.list
    }

    /// The outermost domains, and the holders that can hold and are in no domain.
    pub fn outermost(&self) -> &Inside {
        &self.outermost
    }

    /// The depth of the deepest domain: how many labels there are.
    pub(super) fn levels(&self) -> usize {
        self.levels
    }

    /// The number of replicas, R.
    pub fn replicas(&self) -> u32 {
        self.replicas
    }

    /// The number of holders.
    pub fn holders(&self) -> usize {
        self.can_hold.len()
    }

    /// The number of holders that can hold.
    pub fn holding(&self) -> usize {
        self.can_hold.values().iter().filter(|can| **can).count()
    }

    /// Whether a holder may get points at all.
    pub fn can_hold(&self, holder: HolderId) -> bool {
        self.can_hold[holder]
    }

    /// The domains of a holder, from the outside in; none when it cannot hold.
    pub fn of(&self, holder: HolderId) -> &[DomainId] {
        &self.around[holder]
    }

    /// Those domains of a holder that can stop it from joining a set in which it is not, from the
    /// outside in. The others are full only when one of these is.
    pub fn binding(&self, holder: HolderId) -> &[DomainId] {
        &self.binding[holder]
    }

    /// What stands directly in a binding domain, or outside all of them, if only binding domains
    /// count.
    pub fn bound(&self, whole: Option<DomainId>) -> Option<&Inside> {
        match whole {
            Some(whole) => self.bound[whole].as_deref(),
            None => Some(&self.unbound),
        }
    }

    /// The cap of a domain.
    pub fn cap(&self, domain: DomainId) -> u32 {
        self.list[domain].cap
    }

    /// Whether `holder` may join `others`: it can hold, it is not one of them, and none of its
    /// domains is full.
    pub fn may_join(
        &self,
        holder: HolderId,
        others: impl Iterator<Item = HolderId> + Clone,
    ) -> bool {
        let full = |(level, domain): (usize, &DomainId)| {
            let inside = others
                .clone()
                .filter(|other| self.of(*other).get(level) == Some(domain))
                .count();
            inside >= self.cap(*domain) as usize
        };
        self.can_hold(holder)
            && others.clone().all(|other| other != holder)
            && !self.of(holder).iter().enumerate().any(full)
    }

    /// Whether no two of `holders` share a domain. Then they keep all caps, since each is at least
    /// 1.
    pub(super) fn are_apart(&self, holders: impl Iterator<Item = HolderId> + Clone) -> bool {
        let mut outer = holders.filter_map(|holder| self.outer[holder]);
        if outer.clone().nth(FEW).is_some() {
            let mut all: Vec<DomainId> = outer.collect();
            all.sort_unstable();
            return all.windows(2).all(|pair| pair.first() != pair.last());
        }
        while let Some(domain) = outer.next() {
            if outer.clone().any(|other| other == domain) {
                return false;
            }
        }
        true
    }

    /// One of the innermost domains that have more of `holders` than their cap allows.
    pub fn broken(&self, holders: impl Iterator<Item = HolderId> + Clone) -> Option<DomainId> {
        if self.are_apart(holders.clone()) {
            return None;
        }
        // in the order of paths, the holders of a domain stand beside each other at every level
        let mut order: Vec<(&[DomainId], usize)> =
            holders.map(|holder| self.of(holder)).zip(0..).collect();
        order.sort_unstable_by_key(|(around, _)| around.last());
        (0..self.levels).rev().find_map(|level| {
            let domain = |(around, _): &(&[DomainId], usize)| around.get(level).copied();
            let too_many = |alike: &&[(&[DomainId], usize)]| {
                let domain = alike.first().and_then(domain);
                domain.is_some_and(|domain| alike.len() > self.cap(domain) as usize)
            };
            let broken = order.chunk_by(|a, b| domain(a) == domain(b));
            let broken = broken.filter(too_many);
            // of several, the one of the holder that was named first
            let first = |alike: &&[(&[DomainId], usize)]| alike.iter().map(|(_, at)| *at).min();
            let broken = broken.min_by_key(first)?;
            broken.first().and_then(domain)
        })
    }
}

/// The values of the labels as numbers in their order: a path of numbers takes less room, and less
/// time to compare.
fn ranked(holders: &[Option<Vec<&str>>]) -> Vec<Option<Vec<u32>>> {
    let values: BTreeSet<&str> = holders.iter().flatten().flatten().copied().collect();
    let ranks: HashMap<&str, u32> = values.into_iter().zip(0..).collect();
    let rank = |value: &&str| ranks.get(value).copied().unwrap_or(0); // all are there
    let path = |path: &Vec<&str>| path.iter().map(rank).collect();
    holders
        .iter()
        .map(|holder| holder.as_ref().map(path))
        .collect()
}

/// The domains of these paths, still without caps, and the id of each path.
fn list(holders: &[Option<Vec<u32>>]) -> (Table<DomainId, Domain>, BTreeMap<&[u32], DomainId>) {
    let paths = holders.iter().flatten().flat_map(|path| prefixes(path));
    let paths: BTreeSet<&[u32]> = paths.collect();
    let mut list = Table::default();
    let mut add = |path| {
        let id = list.push(Domain {
            level: <[u32]>::len(path),
            cap: 0,
            nodes: 0,
            inside: Inside::default(),
        });
        (path, id)
    };
    let ids = paths.into_iter().map(&mut add).collect();
    (list, ids)
}

/// All prefixes of a path, from the shortest one (one value) to the whole path.
fn prefixes(path: &[u32]) -> impl Iterator<Item = &[u32]> {
    (1..=path.len()).filter_map(|depth| path.get(..depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(holders: &[&str], replicas: u32) -> Vec<(String, u32)> {
        let paths: Vec<Option<Vec<&str>>> = holders
            .iter()
            .map(|h| (*h != "-").then(|| h.split('/').collect()))
            .collect();
        let domains = Domains::new(&paths, replicas);
        let prefixes = |path: &Vec<&str>| -> Vec<String> {
            (1..=path.len()).map(|end| path[..end].join("/")).collect()
        };
        let names: BTreeSet<String> = paths.iter().flatten().flat_map(prefixes).collect();
        assert_eq!(names.len(), domains.list().len());
        let caps = domains.list().values().iter().map(|domain| domain.cap);
        names.into_iter().zip(caps).collect()
    }

    fn named(list: &[(&str, u32)]) -> Vec<(String, u32)> {
        list.iter()
            .map(|(name, cap)| ((*name).to_owned(), *cap))
            .collect()
    }

    #[test]
    fn a_cap_is_the_smallest_that_leaves_room_for_all_copies() {
        assert_eq!(
            caps(&["a", "b", "c"], 3),
            named(&[("a", 1), ("b", 1), ("c", 1)])
        );
        assert_eq!(caps(&["a", "a", "b"], 3), named(&[("a", 2), ("b", 1)]));
        assert_eq!(caps(&["a", "a", "b", "b"], 3), named(&[("a", 2), ("b", 2)]));
        assert_eq!(
            caps(&["a", "b", "c", "d", "e"], 3),
            named(&[("a", 1), ("b", 1), ("c", 1), ("d", 1), ("e", 1)])
        );
        // zone a may hold 2 copies and each of its three racks 1; zone b has a single rack, so that
        // rack may hold 2
        assert_eq!(
            caps(&["a/1", "a/2", "a/3", "b/1", "b/1", "-"], 3),
            named(&[
                ("a", 2),
                ("a/1", 1),
                ("a/2", 1),
                ("a/3", 1),
                ("b", 2),
                ("b/1", 2)
            ])
        );
        // rack 1 of a is not rack 1 of b, and a lone node cannot hold two copies
        assert_eq!(
            caps(&["a/1", "a/1", "a/1", "b/1"], 4),
            named(&[("a", 3), ("a/1", 3), ("b", 1), ("b/1", 1)])
        );
    }

    #[test]
    fn the_broken_domain_is_the_one_that_counting_finds() {
        let mut state = 1u64;
        let mut random = |end: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % end
        };
        let mut found = [0, 0];
        for _ in 0..300 {
            let depth = 1 + random(4);
            let values = ["a", "b", "c"];
            let mut path = || (0..depth).map(|_| values[random(3) as usize]).collect();
            let paths: Vec<Option<Vec<&str>>> = (0..12).map(|_| Some(path())).collect();
            let domains = Domains::new(&paths, 2 + random(4) as u32);
            let mut holders: Vec<HolderId> = (0..12).map(HolderId).collect();
            (0..12).for_each(|at| holders.swap(at, random(12) as usize));
            holders.truncate(1 + random(8) as usize);
            let broken = (0..domains.levels).rev().find_map(|level| {
                let of = |holder: &HolderId| domains.of(*holder).get(level).copied();
                let count = |domain| holders.iter().filter(|h| of(h) == Some(domain)).count();
                let mut all = holders.iter().filter_map(of);
                all.find(|domain| count(*domain) > domains.cap(*domain) as usize)
            });
            assert_eq!(domains.broken(holders.iter().copied()), broken);
            let binds = |id: &DomainId| {
                let mut all = domains.list().ids();
                let domain = &domains.list()[*id];
                let whole = all.find(|whole| domains.list()[*whole].inside.parts.contains(id));
                let is_same = whole.is_some_and(|w| domains.list()[w].nodes == domain.nodes);
                domain.cap < domain.nodes && !is_same
            };
            for holder in (0..12).map(HolderId) {
                let binding: Vec<DomainId> =
                    domains.of(holder).iter().copied().filter(binds).collect();
                assert_eq!(domains.binding(holder), binding);
            }
            found[usize::from(broken.is_some())] += 1;
        }
        assert!(found.iter().all(|found| *found > 30), "{found:?}");
    }

    #[test]
    fn whether_a_holder_may_join_depends_on_every_level() {
        let paths: Vec<Option<Vec<&str>>> = ["a/1", "a/1", "a/2", "b/1", "b/1", "-"]
            .iter()
            .map(|h| (*h != "-").then(|| h.split('/').collect()))
            .collect();
        let domains = Domains::new(&paths, 3); // caps: a 2, a/1 1, a/2 1, b 2, b/1 2
        let may = |holder: u32, others: &[u32]| {
            domains.may_join(HolderId(holder), others.iter().copied().map(HolderId))
        };
        assert!(may(0, &[2, 3]) && may(4, &[0, 3]) && may(2, &[0]));
        assert!(!may(1, &[0, 3]), "rack a/1 is full");
        assert!(!may(0, &[0]), "nobody joins itself");
        assert!(!may(5, &[]), "it cannot hold");
        assert_eq!(
            domains.broken([0, 1, 3].into_iter().map(HolderId)),
            Some(DomainId(1))
        );
        assert_eq!(domains.broken([0, 2, 3].into_iter().map(HolderId)), None);
    }
}
