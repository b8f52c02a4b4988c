//! Sets of roles: who holds a piece. Each different set is kept once and known by a number, so that
//! pieces stay small and equal sets compare as numbers.

use std::ops::Range;

use hashbrown::HashTable;

use super::holder::HolderId;
use super::role::Role;

/// A set by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SetId(u32);

impl SetId {
    /// As an index.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// All sets there are. Roles in a set are sorted; no holder is in one twice. A set that waits for a
/// copy is one role short.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    /// where each set ends in `roles`; it starts where the one before ends
    ends: Vec<usize>,
    roles: Vec<Role>,
    known: HashTable<SetId>,
}

/// FNV-1a over the roles, with a finish that spreads the low bits. Order in the table is never
/// looked at.
fn hash(roles: &[Role]) -> u64 {
    let all = roles.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, role| {
        (hash ^ role.index() as u64).wrapping_mul(0x0100_0000_01b3)
    });
    (all ^ (all >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Where a set's roles stand: from the end of the set before to its own.
fn range(ends: &[usize], id: SetId) -> Range<usize> {
    let start = id
        .index()
        .checked_sub(1)
        .and_then(|before| ends.get(before))
        .copied()
        .unwrap_or(0);
    start..ends.get(id.index()).copied().unwrap_or(start)
}

impl Sets {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    /// The number of a set; `roles` in any order.
    pub(super) fn id(&mut self, roles: impl IntoIterator<Item = Role>) -> SetId {
        let start = self.roles.len();
        self.roles.extend(roles);
        self.number(start)
    }

    /// The number of the set whose roles were written behind all others, from `start` on; they are
    /// taken off again when it is known.
    fn number(&mut self, start: usize) -> SetId {
        if let Some(new) = self.roles.get_mut(start..) {
            new.sort_unstable();
        }
        let Sets { ends, roles, known } = self;
        let of = |id: &SetId| roles.get(range(ends, *id)).unwrap_or(&[]);
        let new = roles.get(start..).unwrap_or(&[]);
        if let Some(id) = known.find(hash(new), |id| of(id) == new) {
            let id = *id;
            roles.truncate(start);
            return id;
        }
        let id = SetId(ends.len() as u32);
        known.insert_unique(hash(new), id, |id| hash(of(id)));
        ends.push(roles.len());
        id
    }

    /// Writes the roles of a set behind all others once more, each as `change` says; returns where
    /// they start.
    fn copy(&mut self, id: SetId, change: impl Fn(Role) -> Role) -> usize {
        let start = self.roles.len();
        self.roles.extend_from_within(range(&self.ends, id));
        self.roles
            .iter_mut()
            .skip(start)
            .for_each(|role| *role = change(*role));
        start
    }

    /// The roles of a set, by holder.
    pub(super) fn roles(&self, id: SetId) -> &[Role] {
        self.roles.get(range(&self.ends, id)).unwrap_or(&[])
    }

    /// The holders of a set, in their order.
    pub(super) fn holders(&self, id: SetId) -> impl Iterator<Item = HolderId> + Clone + '_ {
        self.roles(id).iter().map(|role| role.holder())
    }

    /// The primary of a set.
    pub(super) fn primary(&self, id: SetId) -> Option<HolderId> {
        self.roles(id)
            .iter()
            .find(|role| role.is_primary())
            .map(|role| role.holder())
    }

    /// The role that a holder has in a set.
    pub(super) fn role_of(&self, id: SetId, holder: HolderId) -> Option<Role> {
        self.roles(id)
            .iter()
            .copied()
            .find(|role| role.holder() == holder)
    }

    /// The set without a role.
    pub(super) fn without(&mut self, id: SetId, role: Role) -> SetId {
        let start = self.copy(id, |role| role);
        if let Some(place) = self
            .roles
            .iter()
            .skip(start)
            .position(|other| *other == role)
        {
            self.roles.remove(start + place);
        }
        self.number(start)
    }

    /// The set with one more role.
    pub(super) fn with(&mut self, id: SetId, role: Role) -> SetId {
        let start = self.copy(id, |role| role);
        self.roles.push(role);
        self.number(start)
    }

    /// The set with `to` in the place of `from`.
    pub(super) fn swap(&mut self, id: SetId, from: Role, to: Role) -> SetId {
        let start = self.copy(id, |role| if role == from { to } else { role });
        self.number(start)
    }

    /// The set with another of its holders as the primary.
    pub(super) fn with_primary(&mut self, id: SetId, primary: HolderId) -> SetId {
        let role = |holder| {
            if holder == primary {
                Role::primary(holder)
            } else {
                Role::other(holder)
            }
        };
        let start = self.copy(id, |old| role(old.holder()));
        self.number(start)
    }

    /// The only role that `from` has and `to` has not, and the only one the other way round, when
    /// that is all that differs.
    pub(super) fn exchange(&self, from: SetId, to: SetId) -> Option<(Role, Role)> {
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

/// The only role that `these` have beyond `those`, both sorted and equally many; `None` when there
/// is none or another.
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
impl Sets {
    /// For tests: the set of these holders, the first of them the primary.
    pub(super) fn of(&mut self, holders: &[u32]) -> SetId {
        let role = |(i, h): (usize, &u32)| {
            if i == 0 {
                Role::primary(HolderId(*h))
            } else {
                Role::other(HolderId(*h))
            }
        };
        self.id(holders.iter().enumerate().map(role))
    }

    /// For tests: one piece for each number of cells and its holders, the first of them the
    /// primary.
    pub(super) fn pieces(&mut self, list: &[(u128, &[u32])]) -> Vec<super::piece::Piece> {
        list.iter()
            .map(|(cells, holders)| super::piece::Piece {
                cells: *cells,
                set: self.of(holders),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_have_one_number_and_differ_by_one_exchange_or_not() {
        let mut sets = Sets::default();
        let (a, b, c) = (
            sets.of(&[1, 2, 3]),
            sets.of(&[1, 3, 2]),
            sets.of(&[2, 1, 3]),
        );
        assert!(a == b && a != c);
        let d = sets.of(&[1, 2, 4]);
        assert_eq!(
            sets.exchange(a, d),
            Some((Role::other(HolderId(3)), Role::other(HolderId(4))))
        );
        assert_eq!(
            (
                sets.exchange(a, a),
                sets.exchange(a, c),
                sets.exchange(c, d)
            ),
            (None, None, None)
        );
        assert_eq!(
            sets.swap(a, Role::other(HolderId(3)), Role::other(HolderId(4))),
            d
        );
        assert_eq!(sets.with_primary(a, HolderId(2)), c);
        let short = sets.without(a, Role::other(HolderId(3)));
        assert_eq!(sets.with(short, Role::other(HolderId(4))), d);
        assert_eq!(sets.roles(short).len(), 2);
        assert_eq!(
            (sets.primary(c), sets.role_of(a, HolderId(2))),
            (Some(HolderId(2)), Some(Role::other(HolderId(2))))
        );
    }
}
