//! Sets of roles: who holds a piece. Each different set is stored once and identified by its id, so
//! that pieces stay small and sets can be compared by number.

use hashbrown::HashTable;

use super::holder::{HolderId, Role};
use super::table::{Id, Lists};

/// A set, identified by its position among all sets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SetId(u32);

impl Id for SetId {
    fn new(place: u32) -> SetId {
        SetId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// All sets. The roles of a set are sorted, and no holder is in a set twice. A set that waits for a
/// copy is one role short.
#[derive(Default)]
pub(super) struct Sets {
    roles: Lists<SetId, Role>,
    known: HashTable<SetId>,
    /// The set that is being looked up. It is kept only to reuse its memory.
    draft: Vec<Role>,
}

/// FNV-1a over the roles, with a final step that spreads the low bits. The order of the hash table
/// is never used.
fn hash(roles: &[Role]) -> u64 {
    let all = roles.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, role| {
        (hash ^ u64::from(role.place())).wrapping_mul(0x0100_0000_01b3)
    });
    (all ^ (all >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Sets {
    /// The number of sets.
    pub(super) fn count(&self) -> usize {
        self.roles.len()
    }

    /// All sets, in the order in which they were added.
    pub(super) fn ids(&self) -> impl Iterator<Item = SetId> {
        self.roles.ids()
    }

    /// The id of the set with these roles, which may be in any order.
    pub(super) fn id(&mut self, roles: impl IntoIterator<Item = Role>) -> SetId {
        self.draft.clear();
        self.draft.extend(roles);
        self.id_of_draft()
    }

    /// Makes room for so many more sets.
    pub(super) fn reserve(&mut self, more: usize) {
        let roles = &self.roles;
        self.known.reserve(more, |id| hash(&roles[*id]));
    }

    fn id_of_draft(&mut self) -> SetId {
        self.draft.sort_unstable();
        let Sets {
            roles,
            known,
            draft,
        } = self;
        let hash_of_draft = hash(draft);
        if let Some(id) = known.find(hash_of_draft, |id| roles[*id] == **draft) {
            return *id;
        }
        let id = roles.push(draft.iter().copied());
        known.insert_unique(hash_of_draft, id, |id| hash(&roles[*id]));
        id
    }

    /// The id of the set in which each role is replaced by what `change` returns. `None` removes
    /// the role.
    fn changed(&mut self, id: SetId, change: impl Fn(Role) -> Option<Role>) -> SetId {
        self.draft.clear();
        let roles = self.roles[id].iter();
        self.draft.extend(roles.filter_map(|role| change(*role)));
        self.id_of_draft()
    }

    /// The roles of a set, ordered by holder.
    pub(super) fn roles(&self, id: SetId) -> &[Role] {
        &self.roles[id]
    }

    /// The holders of a set, in order.
    pub(super) fn holders(&self, id: SetId) -> impl Iterator<Item = HolderId> + Clone + '_ {
        self.roles(id).iter().map(|role| role.holder())
    }

    /// The role of the primary of a set.
    pub(super) fn primary_role(&self, id: SetId) -> Option<&Role> {
        self.roles(id).iter().find(|role| role.is_primary())
    }

    /// The primary of a set.
    pub(super) fn primary(&self, id: SetId) -> Option<HolderId> {
        self.primary_role(id).map(|role| role.holder())
    }

    /// The role that a holder has in a set.
    pub(super) fn role_of(&self, id: SetId, holder: HolderId) -> Option<Role> {
        let roles = self.roles(id);
        let start = match roles.len() {
            0..=16 => 0,
            _ => roles.partition_point(|role| role.holder() < holder),
        };
        let mut roles = roles.iter().skip(start).copied();
        roles
            .find(|role| role.holder() >= holder)
            .filter(|role| role.holder() == holder)
    }

    /// The holders that are in `set` and not in `other`.
    pub(super) fn beyond(&self, set: SetId, other: SetId) -> impl Iterator<Item = HolderId> + '_ {
        self.holders(set)
            .filter(move |holder| self.role_of(other, *holder).is_none())
    }

    /// The set with a role removed.
    pub(super) fn without(&mut self, id: SetId, role: Role) -> SetId {
        self.changed(id, |other| (other != role).then_some(other))
    }

    /// The set with a role added.
    pub(super) fn with(&mut self, id: SetId, role: Role) -> SetId {
        self.draft.clear();
        self.draft.extend_from_slice(&self.roles[id]);
        self.draft.push(role);
        self.id_of_draft()
    }

    /// The set in which `to` has the role of `from`.
    pub(super) fn swap(&mut self, id: SetId, from: HolderId, to: HolderId) -> SetId {
        self.changed(id, |role| {
            let stays = role.holder() != from;
            Some(if stays { role } else { role.taken_by(to) })
        })
    }

    /// The set in which another of its holders is the primary.
    pub(super) fn with_primary(&mut self, id: SetId, primary: HolderId) -> SetId {
        self.changed(id, |role| {
            let holder = role.holder();
            Some(Role::of(holder, holder == primary))
        })
    }

    /// If the sets differ by exactly one role each: the role that only `from` has and the role that
    /// only `to` has. Otherwise `None`.
    pub(super) fn exchange(&self, from: SetId, to: SetId) -> Option<(Role, Role)> {
        exchange(self.roles(from), self.roles(to))
    }
}

/// Like `Sets::exchange`, of the roles of two sets.
#[inline]
pub(super) fn exchange(from: &[Role], to: &[Role]) -> Option<(Role, Role)> {
    if from.len() != to.len() {
        return None;
    }
    if let (&[a], &[b]) = (from, to) {
        return (a != b).then_some((a, b));
    }
    let differs = |(a, b): (&Role, &Role)| a != b;
    let start = from.iter().zip(to).position(differs)?;
    let end = from.iter().zip(to).rposition(differs)?;
    let (from, to) = (from.get(start..=end)?, to.get(start..=end)?);
    // both are sorted, so the exchanged roles stand at opposite ends, and the roles between
    // them are one place further on the side of the higher one
    let (from_first, from_others) = from.split_first()?;
    let (to_last, to_others) = to.split_last()?;
    if from_others == to_others {
        return Some((*from_first, *to_last));
    }
    let (from_last, from_others) = from.split_last()?;
    let (to_first, to_others) = to.split_first()?;
    (from_others == to_others).then_some((*from_last, *to_first))
}

#[cfg(test)]
impl Sets {
    /// For tests: the set of these holders. The first one is the primary.
    pub(super) fn of(&mut self, holders: &[u32]) -> SetId {
        let role = |(i, h): (usize, &u32)| Role::of(HolderId(*h), i == 0);
        self.id(holders.iter().enumerate().map(role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_found_wherever_the_two_roles_stand() {
        let mut sets = Sets::default();
        for a in 0..6 {
            for b in (0..6).filter(|b| *b != a) {
                for c in (0..6).filter(|c| ![a, b].contains(c)) {
                    sets.of(&[a, b, c]);
                }
                sets.of(&[a, b]);
            }
            sets.of(&[a]);
        }
        let all: Vec<SetId> = (0..sets.count() as u32).map(SetId).collect();
        let mut found = 0;
        for from in &all {
            for to in &all {
                let (these, those) = (sets.roles(*from), sets.roles(*to));
                let beyond = |these: &[Role], those: &[Role]| -> Vec<Role> {
                    let beyond = |role: &&Role| !those.contains(role);
                    these.iter().filter(beyond).copied().collect()
                };
                let expected = match (&beyond(these, those)[..], &beyond(those, these)[..]) {
                    ([a], [b]) => Some((*a, *b)),
                    _ => None,
                };
                assert_eq!(sets.exchange(*from, *to), expected, "{these:?} {those:?}");
                found += usize::from(expected.is_some());
            }
        }
        assert!(found > 500, "{found}");
    }

    #[test]
    fn the_role_of_each_holder_is_found_in_short_sets_and_in_long_ones() {
        let mut sets = Sets::default();
        for count in [1, 2, 15, 16, 17, 18, 255] {
            // every third holder, and the last is the primary
            let holders: Vec<u32> = (0..count).map(|i| 1 + 3 * i).rev().collect();
            let set = sets.of(&holders);
            for holder in (0..3 * count + 2).map(HolderId) {
                let all = sets.roles(set).iter().copied();
                let expected = all.clone().find(|role| role.holder() == holder);
                assert_eq!(sets.role_of(set, holder), expected, "{count}, {holder:?}");
                assert_eq!(
                    expected.is_some(),
                    holder.0 % 3 == 1 && holder.0 < 3 * count
                );
            }
        }
    }

    #[test]
    fn equal_sets_have_one_id_and_exchange_finds_a_single_difference() {
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
        assert_eq!(sets.swap(a, HolderId(3), HolderId(4)), d);
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
