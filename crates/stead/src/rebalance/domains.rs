//! Fault domains: the tree of the spread labels, its caps, and which sets of copies keep them.
//! Normative: docs/placement.md, "Fault domains and caps".

use std::collections::BTreeMap;

use super::holder::HolderId;

/// A domain by its place in the list, which is ordered by the names from the outside in: parts
/// follow their whole.
pub type DomainId = usize;

/// The holders that share the values of the first spread labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// The labels' values, from the outside in; as many as the domain is deep.
    pub path: Vec<String>,
    /// How many copies of one point it may hold.
    pub cap: u32,
    /// How many nodes in it can hold.
    pub nodes: u32,
    /// The domains in it.
    pub parts: Vec<DomainId>,
    /// Its nodes that can hold, of innermost domains only.
    pub members: Vec<HolderId>,
}

/// All domains of a fleet, and who can hold at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Domains {
    list: Vec<Domain>,
    outermost: Vec<DomainId>,
    replicas: u32,
    levels: usize,
    /// holder * levels: its domains from the outside in
    chains: Vec<DomainId>,
    can_hold: Vec<bool>,
    /// those that can hold and are in no domain
    outside: Vec<HolderId>,
}

impl Domains {
    /// For each holder the values of its spread labels, or `None` when it cannot hold (weight 0, or
    /// it leaves).
    ///
    /// At one replica no cap binds, and the labels may be left out: then there are no domains.
    pub fn new(holders: &[Option<Vec<&str>>], replicas: u32) -> Domains {
        let levels = holders.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut by_path: BTreeMap<&[&str], DomainId> = BTreeMap::new();
        for path in holders.iter().flatten() {
            by_path.extend((1..=path.len()).filter_map(|depth| Some((path.get(..depth)?, 0))));
        }
        let mut domains = Domains {
            replicas,
            levels,
            ..Domains::default()
        };
        for (id, (path, place)) in by_path.iter_mut().enumerate() {
            *place = id;
            let path = path.iter().map(|value| (*value).to_owned()).collect();
            domains.list.push(Domain {
                path,
                cap: 0,
                nodes: 0,
                parts: Vec::new(),
                members: Vec::new(),
            });
        }
        let parents: Vec<Option<DomainId>> = by_path
            .keys()
            .map(|path| {
                by_path
                    .get(path.split_last().map_or(&[][..], |(_, before)| before))
                    .copied()
            })
            .collect();
        for (id, parent) in parents.into_iter().enumerate() {
            match parent.and_then(|parent| domains.list.get_mut(parent)) {
                Some(whole) => whole.parts.push(id),
                None => domains.outermost.push(id),
            }
        }
        for (holder, path) in (0..).map(HolderId).zip(holders) {
            domains.can_hold.push(path.is_some());
            if path.as_ref().is_some_and(Vec::is_empty) {
                domains.outside.push(holder);
            }
            let path = path.as_deref().unwrap_or(&[]);
            for depth in 1..=levels {
                let id = path
                    .get(..depth)
                    .and_then(|path| by_path.get(path))
                    .copied()
                    .unwrap_or(usize::MAX);
                domains.chains.push(id);
                if let Some(domain) = domains.list.get_mut(id) {
                    domain.nodes += 1;
                    if depth == path.len() {
                        domain.members.push(holder);
                    }
                }
            }
        }
        domains.set_caps();
        domains
    }

    /// From the outside in: the smallest cap with which the parts together can hold what the whole
    /// may.
    fn set_caps(&mut self) {
        let outermost = self.outermost.clone();
        self.cap_parts(&outermost, self.replicas);
        for id in 0..self.list.len() {
            // a whole comes before its parts, so its own cap is set
            if let Some((parts, cap)) = self
                .list
                .get(id)
                .map(|domain| (domain.parts.clone(), domain.cap))
            {
                self.cap_parts(&parts, cap);
            }
        }
    }

    fn cap_parts(&mut self, parts: &[DomainId], copies: u32) {
        let held = |cap: u32| {
            parts
                .iter()
                .filter_map(|id| self.list.get(*id))
                .map(|part| u64::from(part.nodes.min(cap)))
                .sum::<u64>()
        };
        let cap = (1..=copies)
            .find(|cap| held(*cap) >= u64::from(copies))
            .unwrap_or(copies);
        #[cfg(test)]
        let cap = cap + super::planted::too_high();
        for id in parts {
            if let Some(part) = self.list.get_mut(*id) {
                part.cap = cap.min(part.nodes);
            }
        }
    }

    /// All of them; parts follow their whole.
    pub fn list(&self) -> &[Domain] {
        &self.list
    }

    /// The domains that are in no other.
    pub fn outermost(&self) -> &[DomainId] {
        &self.outermost
    }

    /// The holders that can hold and are in no domain.
    pub fn outside(&self) -> &[HolderId] {
        &self.outside
    }

    /// R.
    pub fn replicas(&self) -> u32 {
        self.replicas
    }

    /// How many holders can hold.
    pub fn holding(&self) -> usize {
        self.can_hold.iter().filter(|can| **can).count()
    }

    /// Whether a holder may get points at all.
    pub fn can_hold(&self, holder: HolderId) -> bool {
        self.can_hold.get(holder.index()).copied().unwrap_or(false)
    }

    /// The domains that a holder is in, from the outside in; none when it cannot hold.
    pub fn of(&self, holder: HolderId) -> &[DomainId] {
        let start = holder.index() * self.levels;
        match self.can_hold(holder) {
            true => self.chains.get(start..start + self.levels).unwrap_or(&[]),
            false => &[],
        }
    }

    /// A domain's cap.
    pub fn cap(&self, domain: DomainId) -> u32 {
        self.list.get(domain).map_or(0, |domain| domain.cap)
    }

    /// Whether `holder` may join `others`: it can hold, is none of them, and no domain of it is
    /// full.
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

    /// The domains that hold as many of `holders` as their cap allows.
    pub fn full(&self, holders: impl Iterator<Item = HolderId> + Clone) -> Vec<DomainId> {
        let mut all: Vec<DomainId> = holders
            .flat_map(|holder| self.of(holder))
            .copied()
            .collect();
        all.sort_unstable();
        let full = |copies: &&[DomainId]| {
            copies
                .first()
                .is_some_and(|domain| copies.len() >= self.cap(*domain) as usize)
        };
        all.chunk_by(|a, b| a == b)
            .filter(full)
            .filter_map(|copies| copies.first().copied())
            .collect()
    }

    /// An innermost domain of which `holders` has more than its cap allows.
    pub fn broken(&self, holders: impl Iterator<Item = HolderId> + Clone) -> Option<DomainId> {
        (0..self.levels).rev().find_map(|level| {
            let domain = |holder: HolderId| self.of(holder).get(level).copied();
            let count = |wanted: DomainId| {
                holders
                    .clone()
                    .filter(|holder| domain(*holder) == Some(wanted))
                    .count()
            };
            holders
                .clone()
                .filter_map(domain)
                .find(|wanted| count(*wanted) > self.cap(*wanted) as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(holders: &[&str], replicas: u32) -> Vec<(String, u32)> {
        let paths: Vec<Option<Vec<&str>>> = holders
            .iter()
            .map(|h| (*h != "-").then(|| h.split('/').collect()))
            .collect();
        Domains::new(&paths, replicas)
            .list()
            .iter()
            .map(|d| (d.path.join("/"), d.cap))
            .collect()
    }

    fn named(list: &[(&str, u32)]) -> Vec<(String, u32)> {
        list.iter()
            .map(|(name, cap)| ((*name).to_owned(), *cap))
            .collect()
    }

    #[test]
    fn a_cap_is_the_smallest_with_which_all_copies_find_a_place() {
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
        // zone a holds up to 2, its three racks one each; zone b has a single rack, so that rack
        // may hold 2
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
    fn who_may_join_depends_on_every_level() {
        let paths: Vec<Option<Vec<&str>>> = ["a/1", "a/1", "a/2", "b/1", "b/1"]
            .iter()
            .map(|h| Some(h.split('/').collect()))
            .collect();
        let domains = Domains::new(&paths, 3); // caps: a 2, a/1 1, a/2 1, b 2, b/1 2
        let may = |holder: u32, others: &[u32]| {
            domains.may_join(HolderId(holder), others.iter().copied().map(HolderId))
        };
        assert!(may(0, &[2, 3]) && may(4, &[0, 3]) && may(2, &[0]));
        assert!(!may(1, &[0, 3]), "rack a/1 is full");
        assert!(!may(0, &[0]) && !may(9, &[]));
        assert_eq!(domains.broken([0, 1, 3].into_iter().map(HolderId)), Some(1));
        assert_eq!(domains.broken([0, 2, 3].into_iter().map(HolderId)), None);
        assert_eq!(domains.full([0, 3].into_iter().map(HolderId)), [1]);
    }
}
