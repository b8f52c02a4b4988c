//! Holders, the two roles that a holder can have, and tables of cells by holder and by role.
//!
//! Every step that moves a copy moves its role too: a holder that takes a copy over also takes over
//! the role of that copy. So the numbers of primaries follow the numbers of copies, and only the
//! difference that is left needs exchanges of roles between holders that both stay.

use super::table::{Id, Table};

/// A holder, identified by its position in the list of all holders: the nodes by name, then the
/// weighted policies by name, then the holders that are leaving.
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

/// A holder as the primary of a point, or as one of its other copies. Roles are ordered by holder.
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

    /// The holder that has the role.
    pub(super) fn holder(self) -> HolderId {
        HolderId(self.0 / 2)
    }

    /// Whether it is the role of a primary.
    pub(super) fn is_primary(self) -> bool {
        self.0 % 2 == 0
    }
}

/// A number of cells for each role of each holder.
pub(super) type ByRole = Table<Role, u128>;

impl ByRole {
    /// The cells of each holder, in both roles together.
    pub(super) fn by_holder(&self) -> ByHolder {
        let holders = self.values().chunks(2);
        holders.map(|roles| roles.iter().sum()).collect()
    }

    /// The cells of which each holder is the primary.
    pub(super) fn primaries(&self) -> ByHolder {
        self.values().iter().step_by(2).copied().collect()
    }
}
