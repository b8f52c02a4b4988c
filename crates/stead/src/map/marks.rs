//! A set of small numbers, such as those of nodes: one bit for each, so that the set of all nodes
//! that a map may have takes 8 KiB.

/// A set of numbers below an end.
#[derive(Clone)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// No number below `end` is in the set.
    pub(crate) fn new(end: usize) -> Marks {
        Marks(vec![0; end.div_ceil(64)])
    }

    /// Whether a number is in the set.
    pub(super) fn has(&self, number: u32) -> bool {
        let word = self.0.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number. Returns whether it was not in the set. A number at the end or beyond, as an
    /// overwritten file may have it, is never in the set.
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        let is_new = !self.has(number);
        if let Some(word) = self.0.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once_if_it_is_below_the_end() {
        let mut marks = Marks::new(130);
        for number in [0, 1, 63, 64, 129] {
            assert!(!marks.has(number) && marks.mark(number), "{number}");
            assert!(marks.has(number) && !marks.mark(number), "{number}");
        }
        assert!(!marks.has(2) && !marks.has(65));
        assert!(marks.mark(u32::MAX) && marks.mark(u32::MAX));
    }
}
