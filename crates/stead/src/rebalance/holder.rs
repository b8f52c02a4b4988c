//! Holders, and tables over them.

/// Who takes a share: an index into the list of holders (nodes by name, then weighted policies by
/// name, then those that leave).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HolderId(pub u32);

impl HolderId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number of cells for each holder. Reading a holder that is not in the table gives 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByHolder(pub Vec<u128>);

impl ByHolder {
    /// A table of so many zeros.
    pub fn zeros(holders: usize) -> ByHolder {
        ByHolder(vec![0; holders])
    }

    /// The holder's number.
    pub fn of(&self, holder: HolderId) -> u128 {
        self.0.get(holder.index()).copied().unwrap_or(0)
    }

    /// Adds to the holder's number.
    pub fn add(&mut self, holder: HolderId, cells: u128) {
        if let Some(number) = self.0.get_mut(holder.index()) {
            *number += cells;
        }
    }

    /// Takes up to `cells` from the holder's number and says how many it took.
    pub fn take(&mut self, holder: HolderId, cells: u128) -> u128 {
        let Some(number) = self.0.get_mut(holder.index()) else {
            return 0;
        };
        let taken = cells.min(*number);
        *number -= taken;
        taken
    }

    /// For each holder, by how much `self` is above `other`; 0 where it is not.
    pub fn above(&self, other: &ByHolder) -> ByHolder {
        ByHolder(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(a, b)| a.saturating_sub(*b))
                .collect(),
        )
    }

    /// All of it.
    pub fn sum(&self) -> u128 {
        self.0.iter().sum()
    }

    /// Every holder with its number.
    pub fn iter(&self) -> impl Iterator<Item = (HolderId, u128)> + '_ {
        (0..).map(HolderId).zip(self.0.iter().copied())
    }
}
