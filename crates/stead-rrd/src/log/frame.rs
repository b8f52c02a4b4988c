//! The bytes of a segment: a header, then one record after the other, then zeros up to the
//! segment's size.
//!
//! ```text
//! header  0 magic   8 id        16 base      24 size             32 checksum of 0..32
//! record  0 checksum of the rest   8 number   16 durable   24 length   28 zero   32 the bytes, padded to 8
//! ```
//!
//! Integers are little-endian. Checksums are XXH3-64, seeded with the random id of the log. So
//! bytes that a client sends cannot look like a record, and a segment of another log is not
//! mistaken for one of this log. `durable` is the newest record that was known to be on disk when
//! this record was made. A good record thereby proves that damage before it is not a torn write.

use twox_hash::XxHash3_64;

/// The size of the header of a segment.
pub(super) const HEADER: usize = 40;
/// The size of the head of a record, before its data.
pub(super) const HEAD: usize = 32;
const MAGIC: &[u8; 8] = b"SRRDLOG1";

/// A record in a segment, with a verified checksum.
pub(super) struct Frame<'a> {
    pub number: u64,
    pub durable: u64,
    pub data: &'a [u8],
}

/// Returns how many bytes a record with data of this length takes.
pub(super) fn size(length: usize) -> usize {
    HEAD + length.next_multiple_of(8)
}

/// Appends a record to `buffer` and hashes it in place, without copying it.
pub(super) fn push(buffer: &mut Vec<u8>, id: u64, number: u64, durable: u64, data: &[u8]) {
    let start = buffer.len();
    buffer.reserve(size(data.len()));
    let length = data.len() as u64; // below 4 GiB, so the upper half is the field `zero`
    for word in [0, number, durable, length] {
        buffer.extend_from_slice(&word.to_le_bytes());
    }
    buffer.extend_from_slice(data);
    let (checksum, rest) = buffer[start..].split_at_mut(8);
    checksum.copy_from_slice(&XxHash3_64::oneshot_with_seed(id, rest).to_le_bytes());
    buffer.resize(start + size(data.len()), 0);
}

/// Returns the length of the data of the record that begins here. Nothing has verified it yet.
pub(super) fn length(bytes: &[u8]) -> Option<u64> {
    u64_at(bytes, 24)
}

/// Returns the record that begins here, or `None` if it is incomplete or damaged.
pub(super) fn parse(bytes: &[u8], id: u64) -> Option<Frame<'_>> {
    let end = usize::try_from(length(bytes)?).ok()?.checked_add(HEAD)?;
    let rest = bytes.get(8..end)?;
    let frame = Frame {
        number: u64_at(bytes, 8)?,
        durable: u64_at(bytes, 16)?,
        data: bytes.get(HEAD..end)?,
    };
    (frame.number != 0 && u64_at(bytes, 0)? == XxHash3_64::oneshot_with_seed(id, rest))
        .then_some(frame)
}

/// Returns the header of a segment whose first record has the number `base`.
pub(super) fn header(id: u64, base: u64, size: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for word in [id, base, size] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&XxHash3_64::oneshot_with_seed(id, &bytes).to_le_bytes());
    bytes
}

/// Returns the size of the segment according to its header, if the header is good.
pub(super) fn header_size(bytes: &[u8], id: u64) -> Option<u64> {
    let size = u64_at(bytes, 24)?;
    (bytes.get(..HEADER)? == header(id, u64_at(bytes, 16)?, size)).then_some(size)
}

/// Reads a little-endian integer at this offset.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Returns how many bytes there are up to the last one that is not zero. Most of a segment is
/// zeros, and comparing blocks of them is quick.
pub(super) fn used(bytes: &[u8]) -> usize {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut end = bytes.len();
    while end > 0 {
        let start = end.saturating_sub(ZEROS.len());
        let block = &bytes[start..end];
        if block != &ZEROS[..block.len()] {
            let last = block.iter().rposition(|byte| *byte != 0);
            return start + last.map_or(0, |last| last + 1);
        }
        end = start;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::used;

    #[test]
    fn what_is_used_ends_behind_the_last_byte_that_is_not_zero() {
        for length in [0, 1, 4095, 4096, 4097, 10_000] {
            let mut bytes = vec![0; length];
            assert_eq!(used(&bytes), 0);
            for at in [0, 1, 4095, 4096, 5000, 9999] {
                if at < length {
                    bytes[at] = 1;
                    assert_eq!(used(&bytes), at + 1);
                }
            }
        }
    }
}
