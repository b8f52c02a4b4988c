//! A block of keys that are copied into one buffer: those of Python objects, and the strings of
//! NumPy arrays.
//!
//! Copying a key while its object is in the cache costs less than coming back to the object, and
//! nothing has to be held while other threads run.

use stead::{Keys, Span};

/// The number of keys of a full block. Other threads can run after each block, some milliseconds.
/// Smaller blocks would cost more where another thread wants to run all the time, since Python
/// then gives every thread 5 ms.
const KEYS: usize = 1 << 16;
/// The number of bytes of a full block.
const BYTES: usize = 1 << 20;
/// The number of bytes from which on a key is too long to be copied.
const LONG: usize = 1 << 16;

/// A block of keys.
#[derive(Default)]
pub(crate) struct Copied {
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// the places of the keys that are not null; not used while none is null
    valid: Vec<usize>,
    nulls: usize,
}

impl Copied {
    /// Whether a key should be answered where it is.
    pub(crate) fn is_long(key: &[u8]) -> bool {
        key.len() >= LONG
    }

    /// Appends a key; null for None.
    pub(crate) fn push(&mut self, key: Option<&[u8]>) {
        let Some(key) = key else {
            if self.nulls == 0 {
                self.valid.extend(0..self.spans.len());
            }
            self.nulls += 1;
            return;
        };
        if self.nulls > 0 {
            self.valid.push(self.count());
        }
        self.spans.push(Span {
            start: self.bytes.len(),
            length: key.len(),
        });
        self.bytes.extend_from_slice(key);
    }

    /// Appends items of `width` bytes each, whose characters have four bytes in the byte order of
    /// this machine, as UTF-8: the strings of NumPy, which pads them with NUL, and does not count
    /// NULs at the end. Returns false, and may have appended some, if one of them is no text.
    pub(crate) fn push_utf32(&mut self, items: &[u8], width: usize, count: usize) -> bool {
        for i in 0..count {
            let item = items.get(i * width..(i + 1) * width).unwrap_or_default();
            let last = item.iter().rposition(|byte| *byte != 0);
            let characters = last.map_or(0, |last| last / 4 + 1);
            let start = self.bytes.len();
            for unit in item.chunks_exact(4).take(characters) {
                match char::from_u32(unit.try_into().map_or(0, u32::from_ne_bytes)) {
                    Some(ascii) if ascii.is_ascii() => self.bytes.push(ascii as u8),
                    Some(other) => {
                        let mut utf8 = [0; 4];
                        self.bytes
                            .extend_from_slice(other.encode_utf8(&mut utf8).as_bytes());
                    }
                    None => return false,
                }
            }
            self.spans.push(Span {
                start,
                length: self.bytes.len() - start,
            });
        }
        true
    }

    /// The number of keys, null or not.
    pub(crate) fn count(&self) -> usize {
        self.spans.len() + self.nulls
    }

    /// Whether the block should be answered now.
    pub(crate) fn is_full(&self) -> bool {
        self.count() >= KEYS || self.bytes.len() >= BYTES
    }

    /// The keys that are not null.
    pub(crate) fn keys(&self) -> Keys<'_> {
        // every span is inside, so there is never none
        Keys::spans(&self.bytes, &self.spans).unwrap_or(Keys::each(&[]))
    }

    /// The places of the keys that are not null; None if none is null.
    pub(crate) fn valid(&self) -> Option<&[usize]> {
        (self.nulls > 0).then_some(&self.valid)
    }

    /// Removes all keys, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.valid.clear();
        self.nulls = 0;
    }
}
