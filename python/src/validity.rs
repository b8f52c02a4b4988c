//! The bits of a column that say which rows are not null, in Arrow's layout.

/// Which rows of a column are not null.
#[derive(Default)]
pub(crate) struct Validity {
    /// A bit for each row, the lowest first: 0 for null. Empty while no row is null.
    bits: Vec<u8>,
    /// The number of rows.
    rows: usize,
    /// The number of nulls.
    nulls: usize,
}

impl Validity {
    /// Appends rows. `valid` has the places, from 0, of those that are not null; if it is None, no
    /// row is null.
    pub(crate) fn extend(&mut self, count: usize, valid: Option<&[usize]>) {
        let (first, end) = (self.rows, self.rows + count);
        self.rows = end;
        if valid.is_none() && self.nulls == 0 {
            return;
        }
        self.nulls += count - valid.map_or(count, <[usize]>::len);
        if self.nulls == 0 {
            return;
        }
        if self.bits.is_empty() {
            self.bits.resize(first.div_ceil(8), 0);
            self.set(0..first);
        }
        self.bits.resize(end.div_ceil(8), 0);
        match valid {
            Some(valid) => self.set(valid.iter().map(|i| first + i)),
            None => self.set(first..end),
        }
    }

    fn set(&mut self, rows: impl Iterator<Item = usize>) {
        for row in rows {
            self.bits[row / 8] |= 1 << (row % 8);
        }
    }

    /// Whether a row is null.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        is_null(&self.bits, row)
    }

    /// The number of nulls.
    pub(crate) fn nulls(&self) -> usize {
        self.nulls
    }

    /// The bits; None if no row is null.
    pub(crate) fn into_bits(self) -> Option<Vec<u8>> {
        (self.nulls > 0).then_some(self.bits)
    }

    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.bits.clear();
        (self.rows, self.nulls) = (0, 0);
    }
}

/// Whether a row is null by these bits.
pub(crate) fn is_null(bits: &[u8], row: usize) -> bool {
    bits.get(row / 8)
        .is_some_and(|byte| byte >> (row % 8) & 1 == 0)
}
