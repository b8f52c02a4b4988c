//! Sets of roles: who holds a piece. Each different set is kept once and known by a number, so that pieces stay small and equal sets
//! compare as numbers.

use std::collections::HashMap;

use super::holder::HolderId;
use super::role::Role;

/// A set by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SetId(u32);

/// All sets there are. Roles in a set are sorted; no holder is in one twice. A set that waits for a copy is one role short.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    /// where each set starts in `roles`; one more entry at the end
    ends: Vec<usize>,
    roles: Vec<Role>,
    known: HashMap<Box<[Role]>, SetId>,
}

impl SetId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Sets {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The number of a set; `roles` in any order.
    pub fn id(&mut self, mut roles: Vec<Role>) -> SetId {
        roles.sort_unstable();
        if let Some(id) = self.known.get(roles.as_slice()) {
            return *id;
        }
        let id = SetId(self.ends.len() as u32);
        self.roles.extend(&roles);
        self.ends.push(self.roles.len());
        self.known.insert(roles.into_boxed_slice(), id);
        id
    }

    /// The roles of a set, by holder.
    pub fn roles(&self, id: SetId) -> &[Role] {
        let at = id.0 as usize;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(at).copied().unwrap_or(start);
        self.roles.get(start..end).unwrap_or(&[])
    }

    /// The holders of a set, in their order.
    pub fn holders(&self, id: SetId) -> impl Iterator<Item = HolderId> + Clone + '_ {
        self.roles(id).iter().map(|role| role.holder())
    }

    /// The primary of a set.
    pub fn primary(&self, id: SetId) -> Option<HolderId> {
        self.roles(id).iter().find(|role| role.is_primary()).map(|role| role.holder())
    }

    /// The role that a holder has in a set.
    pub fn role_of(&self, id: SetId, holder: HolderId) -> Option<Role> {
        self.roles(id).iter().copied().find(|role| role.holder() == holder)
    }

    /// The set without a role.
    pub fn without(&mut self, id: SetId, role: Role) -> SetId {
        let rest = self.roles(id).iter().copied().filter(|other| *other != role).collect();
        self.id(rest)
    }

    /// The set with one more role.
    pub fn with(&mut self, id: SetId, role: Role) -> SetId {
        let all = self.roles(id).iter().copied().chain([role]).collect();
        self.id(all)
    }

    /// The set with `to` in the place of `from`.
    pub fn swap(&mut self, id: SetId, from: Role, to: Role) -> SetId {
        let all = self.roles(id).iter().map(|role| if *role == from { to } else { *role }).collect();
        self.id(all)
    }

    /// The set with another of its holders as the primary.
    pub fn with_primary(&mut self, id: SetId, primary: HolderId) -> SetId {
        let role = |holder| if holder == primary { Role::primary(holder) } else { Role::other(holder) };
        let all = self.holders(id).map(role).collect();
        self.id(all)
    }

    /// The only role that `from` has and `to` has not, and the only one the other way round, when that is all that differs.
    pub fn exchange(&self, from: SetId, to: SetId) -> Option<(Role, Role)> {
        let (from, to) = (self.roles(from), self.roles(to));
        if from.len() != to.len() {
            return None;
        }
        if let (&[a], &[b]) = (from, to) {
            return (a != b).then_some((a, b));
        }
        Some((only(from, to)?, only(to, from)?))
    }
}

/// The only role that `these` have beyond `those`, both sorted and equally many; `None` when there is none or another.
fn only(these: &[Role], those: &[Role]) -> Option<Role> {
    let mut found = None;
    for role in these {
        if those.binary_search(role).is_err() && found.replace(*role).is_some() {
            return None;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(sets: &mut Sets, holders: &[u32]) -> SetId {
        let role = |(i, h): (usize, &u32)| if i == 0 { Role::primary(HolderId(*h)) } else { Role::other(HolderId(*h)) };
        sets.id(holders.iter().enumerate().map(role).collect())
    }

    #[test]
    fn equal_sets_have_one_number_and_differ_by_one_exchange_or_not() {
        let mut sets = Sets::default();
        let (a, b, c) = (set(&mut sets, &[1, 2, 3]), set(&mut sets, &[1, 3, 2]), set(&mut sets, &[2, 1, 3]));
        assert!(a == b && a != c);
        let d = set(&mut sets, &[1, 2, 4]);
        assert_eq!(sets.exchange(a, d), Some((Role::other(HolderId(3)), Role::other(HolderId(4)))));
        assert_eq!((sets.exchange(a, a), sets.exchange(a, c), sets.exchange(c, d)), (None, None, None));
        assert_eq!(sets.swap(a, Role::other(HolderId(3)), Role::other(HolderId(4))), d);
        assert_eq!(sets.with_primary(a, HolderId(2)), c);
        let short = sets.without(a, Role::other(HolderId(3)));
        assert_eq!(sets.with(short, Role::other(HolderId(4))), d);
        assert_eq!(sets.roles(short).len(), 2);
        assert_eq!((sets.primary(c), sets.role_of(a, HolderId(2))), (Some(HolderId(2)), Some(Role::other(HolderId(2)))));
    }
}
