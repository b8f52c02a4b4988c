//! Roles: a holder as the primary of a point, or as one of its other copies.
//!
//! Everything that moves copies moves roles: who takes a copy over takes its role over as well. So
//! the numbers of primaries follow the numbers of copies, and only what is left needs an exchange
//! of roles between holders that both stay.

use super::holder::{ByHolder, HolderId};

/// A holder in one of its two roles. Ordered by holder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Role(u32);

impl Role {
    /// The holder as a primary.
    pub(super) fn primary(holder: HolderId) -> Role {
        Role(holder.0 * 2)
    }

    /// The holder as one of the other copies.
    pub(super) fn other(holder: HolderId) -> Role {
        Role(holder.0 * 2 + 1)
    }

    /// Another holder in this role.
    pub(super) fn of(self, holder: HolderId) -> Role {
        Role(holder.0 * 2 + self.0 % 2)
    }

    /// Who has the role.
    pub(super) fn holder(self) -> HolderId {
        HolderId(self.0 / 2)
    }

    /// Whether it is a primary's.
    pub(super) fn is_primary(self) -> bool {
        self.0 % 2 == 0
    }

    /// As an index.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number of cells for each role. Reading a role that is not in the table gives 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ByRole(Vec<u128>);

impl ByRole {
    pub(super) fn zeros(holders: usize) -> ByRole {
        ByRole(vec![0; holders * 2])
    }

    pub(super) fn of(&self, role: Role) -> u128 {
        self.0.get(role.index()).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, role: Role, cells: u128) {
        if let Some(number) = self.0.get_mut(role.index()) {
            *number += cells;
        }
    }

    /// Takes up to `cells` from the role's number and says how many it took.
    pub(super) fn take(&mut self, role: Role, cells: u128) -> u128 {
        let Some(number) = self.0.get_mut(role.index()) else {
            return 0;
        };
        let taken = cells.min(*number);
        *number -= taken;
        taken
    }

    /// Of each holder both roles together.
    pub(super) fn by_holder(&self) -> ByHolder {
        ByHolder(self.0.chunks(2).map(|roles| roles.iter().sum()).collect())
    }

    /// Of each holder what it is the primary of.
    pub(super) fn primaries(&self) -> ByHolder {
        ByHolder(self.0.iter().step_by(2).copied().collect())
    }

    /// The roles with a number above 0, in order.
    pub(super) fn above_zero(&self) -> impl Iterator<Item = Role> + '_ {
        (0..)
            .map(Role)
            .zip(&self.0)
            .filter(|(_, cells)| **cells > 0)
            .map(|(role, _)| role)
    }

    /// How many roles the table has.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
