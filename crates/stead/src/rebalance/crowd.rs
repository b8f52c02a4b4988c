//! Crowd: some holders, and how many of them each domain has. So whether a domain is full is one
//! comparison, and one more holder is a few additions, however many there are already.

use super::domains::{DomainId, Domains};
use super::holder::HolderId;
use super::table::Table;

/// Different holders, as they come and go. Only binding domains are counted: where no binding
/// domain is full for a holder outside, none is.
pub(super) struct Crowd<'a> {
    domains: &'a Domains,
    is_in: Table<HolderId, bool>,
    counts: Table<DomainId, u32>,
    /// How many copies are above the caps of the domains, in all of them together.
    above: usize,
}

impl<'a> Crowd<'a> {
    /// Nobody yet.
    pub(super) fn new(domains: &'a Domains) -> Crowd<'a> {
        Crowd {
            domains,
            is_in: Table::filled(domains.holders(), false),
            counts: Table::filled(domains.list().len(), 0),
            above: 0,
        }
    }

    /// Adds a holder, and calls `filled` with each domain that reaches its cap by that.
    pub(super) fn enter(&mut self, holder: HolderId, mut filled: impl FnMut(DomainId)) {
        self.is_in[holder] = true;
        for domain in self.domains.binding(holder) {
            let (count, cap) = (&mut self.counts[*domain], self.domains.cap(*domain));
            *count += 1;
            self.above += usize::from(*count > cap);
            if *count == cap {
                filled(*domain);
            }
        }
    }

    /// Removes a holder.
    pub(super) fn leave(&mut self, holder: HolderId) {
        self.is_in[holder] = false;
        for domain in self.domains.binding(holder) {
            let (count, cap) = (&mut self.counts[*domain], self.domains.cap(*domain));
            self.above -= usize::from(*count > cap);
            *count -= 1;
        }
    }

    /// Whether a holder is there.
    pub(super) fn has(&self, holder: HolderId) -> bool {
        self.is_in[holder]
    }

    /// Whether a domain has as many of the holders as its cap allows, or more.
    pub(super) fn fills(&self, domain: DomainId) -> bool {
        self.counts[domain] >= self.domains.cap(domain)
    }

    /// Whether a domain has more of the holders than its cap allows.
    pub(super) fn is_above(&self, domain: DomainId) -> bool {
        self.counts[domain] > self.domains.cap(domain)
    }

    /// Whether a holder may join: it can hold, it is not there, and none of its domains is full.
    pub(super) fn may_join(&self, holder: HolderId) -> bool {
        let domains = self.domains;
        let full = |domain: &DomainId| self.fills(*domain);
        domains.can_hold(holder) && !self.has(holder) && !domains.binding(holder).iter().any(full)
    }

    /// Does something with these holders, and removes them again. Nobody may be there before.
    pub(super) fn with<T>(
        &mut self,
        holders: impl Iterator<Item = HolderId> + Clone,
        use_it: impl FnOnce(&Crowd<'a>) -> T,
    ) -> T {
        holders
            .clone()
            .for_each(|holder| self.enter(holder, |_| {}));
        let made = use_it(self);
        holders.for_each(|holder| self.leave(holder));
        made
    }

    /// Whether the holders keep all caps.
    pub(super) fn keeps_caps(&self) -> bool {
        self.above == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_counts_as_its_holders_come_and_go() {
        let mut state = 0;
        let mut random = |end: u64| {
            state += 1;
            crate::map::mix(crate::point::Point(state), 0).0 % end
        };
        let mut seen = [0, 0, 0];
        for _ in 0..100 {
            let values = ["a", "b", "c", "d"];
            let mut path = |holder: u32| -> Option<Vec<&str>> {
                let labels = 0..random(4);
                let path = labels.map(|_| values[random(3) as usize]).collect();
                (holder % 7 != 3).then_some(path)
            };
            let paths: Vec<_> = (0..20).map(&mut path).collect();
            let domains = Domains::new(&paths, 2 + random(6) as u32);
            let mut crowd = Crowd::new(&domains);
            let mut inside: Vec<HolderId> = Vec::new();
            for _ in 0..40 {
                let holder = HolderId(random(20) as u32);
                if crowd.has(holder) {
                    crowd.leave(holder);
                    inside.retain(|other| *other != holder);
                } else {
                    let mut filled = Vec::new();
                    crowd.enter(holder, |domain| filled.push(domain));
                    assert!(filled.iter().all(|domain| crowd.fills(*domain)));
                    inside.push(holder);
                }
                let is_broken = domains.broken(inside.iter().copied()).is_some();
                assert_eq!(crowd.keeps_caps(), !is_broken);
                seen[usize::from(is_broken)] += 1;
                let others = || inside.iter().copied();
                for holder in (0..20).map(HolderId) {
                    let may = domains.may_join(holder, others());
                    // beyond the caps, a domain that is not counted may be the only full one
                    if !is_broken {
                        assert_eq!(crowd.may_join(holder), may);
                        seen[2] += usize::from(may);
                    }
                }
            }
            let few: Vec<HolderId> = inside.clone();
            few.iter().for_each(|holder| crowd.leave(*holder));
            let kept = crowd.with(few.iter().copied(), |crowd| crowd.keeps_caps());
            assert_eq!(kept, domains.broken(few.iter().copied()).is_none());
            assert!((0..20).all(|holder| !crowd.has(HolderId(holder))) && crowd.keeps_caps());
        }
        assert!(seen.iter().all(|seen| *seen > 500), "{seen:?}");
    }
}
