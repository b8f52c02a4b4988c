//! Holders, the two roles that a holder can have, and numbers of cells for each of both.
//!
//! Everything that moves copies moves roles: who takes a copy over takes its role over as well. So
//! the numbers of primaries follow the numbers of copies, and only what is left needs an exchange
//! of roles between holders that both stay.

use super::table::{Id, Table};

/// A holder by its place in the list of all that take a share: nodes by name, then weighted
/// policies by name, then those that leave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HolderId(pub u32);

impl Id for HolderId {
    fn new(place: u32) -> HolderId {
        HolderId(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

/// A number of cells for each holder.
pub type ByHolder = Table<HolderId, u128>;

/// A holder as the primary of a point, or as one of its other copies. Ordered by holder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Role(u32);

impl Id for Role {
    fn new(place: u32) -> Role {
        Role(place)
    }

    fn place(self) -> u32 {
        self.0
    }
}

impl Role {
    /// The holder as a primary, or as one of the other copies.
    pub(super) fn of(holder: HolderId, primary: bool) -> Role {
        Role(holder.0 * 2 + u32::from(!primary))
    }

    /// The holder as a primary.
    pub(super) fn primary(holder: HolderId) -> Role {
        Role::of(holder, true)
    }

    /// The holder as one of the other copies.
    pub(super) fn other(holder: HolderId) -> Role {
        Role::of(holder, false)
    }

    /// The same role of another holder.
    pub(super) fn taken_by(self, holder: HolderId) -> Role {
        Role::of(holder, self.is_primary())
    }

    /// Who has the role.
    pub(super) fn holder(self) -> HolderId {
        HolderId(self.0 / 2)
    }

    /// Whether it is a primary's.
    pub(super) fn is_primary(self) -> bool {
        self.0 % 2 == 0
    }
}

/// A number of cells for each role of each holder.
pub(super) type ByRole = Table<Role, u128>;

impl ByRole {
    /// Of each holder both roles together.
    pub(super) fn by_holder(&self) -> ByHolder {
        let holders = self.values().chunks(2);
        holders.map(|roles| roles.iter().sum()).collect()
    }

    /// Of each holder the cells that it is the primary of.
    pub(super) fn primaries(&self) -> ByHolder {
        self.values().iter().step_by(2).copied().collect()
    }
}
