//! Joiners: the holders that must still grow, in an order in which the first one that may join some
//! others is found without asking all of them.
//!
//! Each domain has a set of *heads*: its open members, and the first open holder of each of its
//! parts. Only a few heads can be passed over, since the others fill few domains. So finding a
//! holder and closing one take O(log n) steps for each level of domains and each replica.

use std::collections::BTreeSet;

use super::crowd::Crowd;
use super::domains::{DomainId, Domains, Inside};
use super::holder::HolderId;
use super::table::Table;

/// The open holders, by their domains.
pub(super) struct Joiners<'a> {
    domains: &'a Domains,
    outermost: Heads,
    of_domain: Table<DomainId, Heads>,
}

/// The first open holder of each part of a domain with the id of the part, and the open members of
/// the domain itself.
type Heads = BTreeSet<(HolderId, Option<DomainId>)>;

impl<'a> Joiners<'a> {
    /// All holders of these that can hold are open. They are in ascending order.
    pub(super) fn new(domains: &'a Domains, open: &[HolderId]) -> Joiners<'a> {
        let mut members: Table<DomainId, Vec<HolderId>> =
            Table::filled(domains.list().len(), Vec::new());
        let mut outermost = Vec::new();
        for holder in open.iter().filter(|holder| domains.can_hold(**holder)) {
            match domains.of(*holder).last() {
                Some(domain) => members[*domain].push(*holder),
                None => outermost.push(*holder),
            }
        }
        let mut joiners = Joiners {
            domains,
            outermost: Heads::new(),
            of_domain: Table::filled(domains.list().len(), Heads::new()),
        };
        // the parts of a domain follow it, so their heads are known before its own
        for (id, domain) in domains.list().iter().rev() {
            joiners.of_domain[id] = joiners.heads(&domain.inside, &members[id]);
        }
        joiners.outermost = joiners.heads(domains.outermost(), &outermost);
        joiners
    }

    /// The heads of a domain with these open members. Those of its parts are known.
    fn heads(&self, inside: &Inside, members: &[HolderId]) -> Heads {
        let head = |part: &DomainId| Some((self.head(*part)?, Some(*part)));
        let parts = inside.parts.iter().filter_map(head);
        parts.chain(members.iter().map(|m| (*m, None))).collect()
    }

    /// The first open holder in a domain.
    fn head(&self, domain: DomainId) -> Option<HolderId> {
        self.of_domain[domain].first().map(|(holder, _)| *holder)
    }

    /// The first open holder that may join these others, which keep the caps.
    pub(super) fn first_for(&self, others: &Crowd) -> Option<HolderId> {
        self.first_in(&self.outermost, others)
    }

    /// The first open holder below these heads that is not one of `others` and in no full domain.
    fn first_in(&self, heads: &Heads, others: &Crowd) -> Option<HolderId> {
        let mut first = None;
        for (head, part) in heads {
            if first.is_some_and(|first| first < *head) {
                break; // all that follow are behind their heads
            }
            let found = match part {
                None => Some(*head).filter(|head| !others.has(*head)),
                Some(part) if others.fills(*part) => None,
                Some(part) => self.first_in(&self.of_domain[*part], others),
            };
            first = match (first, found) {
                (Some(first), Some(found)) => Some(found.min(first)),
                (first, found) => first.or(found),
            };
        }
        first
    }

    /// Closes a holder: it is not found any more.
    pub(super) fn close(&mut self, holder: HolderId) {
        let domains = self.domains;
        // a head of the domain that is looked at, and what takes its place
        let (mut old, mut new) = ((holder, None), None);
        for domain in domains.of(holder).iter().rev() {
            let before = self.head(*domain);
            replace(&mut self.of_domain[*domain], old, new);
            let after = self.head(*domain);
            let Some(before) = before.filter(|before| Some(*before) != after) else {
                return; // the domains around it see the same head
            };
            old = (before, Some(*domain));
            new = after.map(|after| (after, Some(*domain)));
        }
        replace(&mut self.outermost, old, new);
    }
}

/// Replaces a head.
fn replace<T: Ord>(heads: &mut BTreeSet<T>, old: T, new: Option<T>) {
    heads.remove(&old);
    heads.extend(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nested domains of unequal depth, with caps of more than one copy.
    fn domains() -> Domains {
        let path = |i: usize| -> Option<Vec<&str>> {
            let zone = ["a", "b", "c"][i * 7 % 3];
            let rack = ["1", "2", "3", "4", "5"][i * 11 % 5];
            match i % 8 {
                0 => None,
                1 => Some(Vec::new()),
                2 => Some(vec![zone]),
                _ => Some(vec![zone, rack]),
            }
        };
        Domains::new(&(0..80).map(path).collect::<Vec<_>>(), 5)
    }

    #[test]
    fn the_first_holder_that_may_join_is_found_and_closed_ones_are_not() {
        let domains = domains();
        let mut open: Vec<HolderId> = (0..80).filter(|i| i % 9 != 4).map(HolderId).collect();
        let mut joiners = Joiners::new(&domains, &open);
        let (mut found, mut crowd) = (0, Crowd::new(&domains));
        for step in 0..400u64 {
            let draw = |n: u64| crate::map::mix(crate::Point(step), n).0;
            let mut others: Vec<HolderId> = Vec::new();
            for n in 0..draw(0) % 5 {
                let other = HolderId((draw(n + 1) % 80) as u32);
                if domains.may_join(other, others.iter().copied()) {
                    others.push(other);
                }
            }
            let others = others.iter().copied();
            let may = |holder: &HolderId| domains.may_join(*holder, others.clone());
            let expected = open.iter().copied().find(may);
            let found_for = |crowd: &Crowd| joiners.first_for(crowd);
            assert_eq!(crowd.with(others.clone(), found_for), expected);
            found += usize::from(expected.is_some() && expected != open.first().copied());
            if step % 6 == 0 && !open.is_empty() {
                let closed = open.remove(draw(9) as usize % open.len());
                joiners.close(closed);
            }
        }
        assert!(found > 100, "{found}: others must often be passed over");
    }

    #[test]
    fn without_domains_all_holders_are_heads() {
        let domains = Domains::new(&vec![Some(Vec::new()); 3], 1);
        let mut joiners = Joiners::new(&domains, &[HolderId(0), HolderId(2)]);
        let mut crowd = Crowd::new(&domains);
        assert_eq!(joiners.first_for(&crowd), Some(HolderId(0)));
        crowd.enter(HolderId(0), |_| {});
        assert_eq!(joiners.first_for(&crowd), Some(HolderId(2)));
        crowd.leave(HolderId(0));
        joiners.close(HolderId(0));
        joiners.close(HolderId(2));
        assert_eq!(joiners.first_for(&crowd), None);
    }
}
