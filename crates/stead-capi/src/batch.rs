//! Many keys as C gives them: bytes end to end, and the offsets at which the keys begin and end.
//!
//! The keys go to the core in blocks. The core wants a position and a length for each key; these
//! are written to the stack, one block at a time, so that a batch of any size allocates nothing.

use stead_core::{Error, Keys, Result, Span};

/// The number of keys in a block. It is that of the core's own blocks, for which the positions and
/// lengths fill 16 KiB of the stack.
pub(crate) const BLOCK: usize = 1024;

/// The number of an offset, which is one of two types.
pub(crate) trait Offset: Copy + Ord {
    /// The same number with 64 bits.
    fn wide(self) -> u64;
}

impl Offset for u32 {
    fn wide(self) -> u64 {
        self.into()
    }
}

impl Offset for u64 {
    fn wide(self) -> u64 {
        self
    }
}

/// Many keys, whose offsets do not decrease and stay inside the bytes.
#[derive(Debug)]
pub(crate) struct Batch<'a, O> {
    bytes: &'a [u8],
    offsets: &'a [O],
}

impl<'a, O: Offset> Batch<'a, O> {
    /// Takes the bytes of the keys, and one offset more than there are keys; or no offset for no
    /// key. `what` names the bytes in messages.
    pub(crate) fn new(bytes: &'a [u8], offsets: &'a [O], what: &str) -> Result<Batch<'a, O>> {
        // every pair is looked at, because that is quicker than leaving at the first wrong one
        let pairs = offsets.iter().zip(offsets.get(1..).unwrap_or_default());
        let falls = pairs.filter(|(from, to)| from > to).count();
        let beyond = |offset: &O| offset.wide() > bytes.len() as u64;
        if falls == 0 && !offsets.last().is_some_and(beyond) {
            return Ok(Batch { bytes, offsets });
        }
        let wrong = |pair: &[O]| matches!(pair, [from, to] if from > to || beyond(to));
        let i = offsets.windows(2).position(wrong).unwrap_or_default();
        let at = |i: usize| offsets.get(i).map_or(0, |offset| offset.wide());
        Err(Error::Invalid {
            problem: format!(
                "offsets {i} and {} are {} and {}; they must not decrease, and must stay within \
                 the {} bytes of {what}",
                i + 1,
                at(i),
                at(i + 1),
                bytes.len()
            ),
        })
    }

    /// Calls `work` with the keys, in their order and in blocks, and with the position of the first
    /// key of each block.
    pub(crate) fn blocks(&self, mut work: impl FnMut(usize, Keys<'_>)) {
        let ends = self.offsets.get(1..).unwrap_or_default();
        let mut spans = [Span::default(); BLOCK];
        let pairs = self.offsets.chunks(BLOCK).zip(ends.chunks(BLOCK));
        for ((from, to), first) in pairs.zip((0..).step_by(BLOCK)) {
            for (span, (from, to)) in spans.iter_mut().zip(from.iter().zip(to)) {
                let (start, end) = (from.wide() as usize, to.wide() as usize);
                *span = Span {
                    start,
                    length: end.saturating_sub(start),
                };
            }
            let block = spans
                .get(..to.len())
                .and_then(|s| Keys::spans(self.bytes, s));
            // `new` has checked all offsets, so there is always a block
            if let Some(keys) = block {
                work(first, keys);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the keys that the blocks have, and how many keys each block has.
    fn keys_of<O: Offset>(batch: &Batch<'_, O>) -> (Vec<Vec<u8>>, Vec<usize>) {
        let (mut keys, mut blocks) = (Vec::new(), Vec::new());
        batch.blocks(|first, block| {
            assert_eq!(first, keys.len());
            keys.extend(block.iter().map(<[u8]>::to_vec));
            blocks.push(block.len());
        });
        (keys, blocks)
    }

    #[test]
    fn the_blocks_have_all_keys_in_their_order() {
        let counts = [
            0,
            1,
            2,
            BLOCK + 1,
            BLOCK - 1,
            BLOCK,
            3 * BLOCK,
            3 * BLOCK + 7,
        ];
        // Miri takes half a minute for a block
        for count in counts.into_iter().take(if cfg!(miri) { 4 } else { 8 }) {
            let keys: Vec<Vec<u8>> = (0..count).map(|i| vec![i as u8; i % 5]).collect();
            let bytes = [b"gap".to_vec(), keys.concat(), b"rest".to_vec()].concat();
            let mut offsets = vec![3_u32];
            for key in &keys {
                offsets.push(offsets[offsets.len() - 1] + key.len() as u32);
            }
            let wide: Vec<u64> = offsets.iter().map(|offset| offset.wide()).collect();
            let of_32 = keys_of(&Batch::new(&bytes, &offsets, "keys").unwrap());
            assert_eq!(of_32, keys_of(&Batch::new(&bytes, &wide, "keys").unwrap()));
            assert_eq!(of_32.0, keys, "{count} keys");
            assert_eq!(of_32.1.len(), count.div_ceil(BLOCK), "{:?}", of_32.1);
        }
        let none = keys_of(&Batch::<u64>::new(b"x", &[], "keys").unwrap());
        assert!(none.1.is_empty());
    }

    #[test]
    fn offsets_that_fall_or_leave_the_bytes_are_refused_by_number() {
        for (offsets, at) in [
            (&[0, 2, 1][..], "offsets 1 and 2 are 2 and 1"),
            (&[0, 1, 6], "offsets 1 and 2 are 1 and 6"),
            (&[6, 6], "offsets 0 and 1 are 6 and 6"),
            (
                &[0, u64::MAX, 1],
                "offsets 0 and 1 are 0 and 18446744073709551615",
            ),
        ] {
            let problem = Batch::new(b"bytes", offsets, "names")
                .unwrap_err()
                .to_string();
            assert!(problem.contains(at), "{problem}");
            assert!(problem.contains("the 5 bytes of names"), "{problem}");
        }
        assert!(Batch::new(b"bytes", &[5_u64, 5], "keys").is_ok());
    }
}
