//! Pieces: the slices while they are being rebalanced, as lengths in cells; and sums by holder.

/// Who takes a share: an index into the list of holders (nodes by name, then weighted policies by name).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HolderId(pub u32);

/// A run of cells that one holder has. The pieces in their order cover the whole space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// How many cells; up to G, which may be 2^64.
    pub cells: u128,
    /// Who has them.
    pub holder: HolderId,
}

/// A number of cells for each holder. Reading a holder that is not in the table gives 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByHolder(pub Vec<u128>);

impl ByHolder {
    /// A table of so many zeros.
    pub fn zeros(holders: usize) -> ByHolder {
        ByHolder(vec![0; holders])
    }

    /// What each holder has.
    pub fn loads(pieces: &[Piece], holders: usize) -> ByHolder {
        let mut loads = ByHolder::zeros(holders);
        for piece in pieces {
            loads.add(piece.holder, piece.cells);
        }
        loads
    }

    /// The holder's number.
    pub fn of(&self, holder: HolderId) -> u128 {
        self.0.get(holder.0 as usize).copied().unwrap_or(0)
    }

    /// Adds to the holder's number.
    pub fn add(&mut self, holder: HolderId, cells: u128) {
        if let Some(number) = self.0.get_mut(holder.0 as usize) {
            *number += cells;
        }
    }

    /// Takes up to `cells` from the holder's number and says how many it took.
    pub fn take(&mut self, holder: HolderId, cells: u128) -> u128 {
        let Some(number) = self.0.get_mut(holder.0 as usize) else { return 0 };
        let taken = cells.min(*number);
        *number -= taken;
        taken
    }

    /// For each holder, by how much `self` is above `other`; 0 where it is not.
    pub fn above(&self, other: &ByHolder) -> ByHolder {
        ByHolder(self.0.iter().zip(&other.0).map(|(a, b)| a.saturating_sub(*b)).collect())
    }

    /// All of it.
    pub fn sum(&self) -> u128 {
        self.0.iter().sum()
    }
}

/// Drops empty pieces and joins neighbours of one holder.
pub(super) fn join(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let pieces = pieces.into_iter();
    let mut out: Vec<Piece> = Vec::with_capacity(pieces.size_hint().0);
    for piece in pieces {
        match out.last_mut() {
            _ if piece.cells == 0 => {}
            Some(before) if before.holder == piece.holder => before.cells += piece.cells,
            _ => out.push(piece),
        }
    }
    out
}
