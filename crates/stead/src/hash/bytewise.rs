//! Hashes that take a key byte by byte, as libhashkit, carbon and others have them. They are here
//! for adopted rings only: none is fit for new ones.

/// How a program in C reads a byte of a key: as a `char`, which is signed on x86, or as an
/// `unsigned char`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Char {
    /// Bytes from 0x80 are negative, and fill the bits above with ones.
    Signed,
    /// Every byte is 0 to 255.
    Unsigned,
}

impl Char {
    fn read(self, byte: u8) -> u64 {
        match self {
            Char::Signed => i64::from(byte as i8) as u64,
            Char::Unsigned => u64::from(byte),
        }
    }
}

/// Start, prime, and whether the byte comes before the product (FNV-1a) or after it (FNV-1).
type Fnv = (u64, u64, bool);
/// Numbers of draft-eastlake-fnv. Products of the low 32 bits do not depend on those above, so 64
/// bits serve both widths.
pub(super) const FNV_32: Fnv = (0x811c_9dc5, 0x0100_0193, false);
pub(super) const FNV_32_A: Fnv = (0x811c_9dc5, 0x0100_0193, true);
pub(super) const FNV_64: Fnv = (0xcbf2_9ce4_8422_2325, 0x0000_0100_0000_01b3, false);
/// libmemcached keeps only the low 32 bits of start and prime, which gives the low 32 bits of the
/// true one.
pub(super) const FNV_64_A: Fnv = (0xcbf2_9ce4_8422_2325, 0x0000_0100_0000_01b3, true);

/// FNV, of 64 bits; its low bits are those of the narrower ones.
pub(super) fn fnv((start, prime, before): Fnv, char: Char, key: &[u8]) -> u64 {
    key.iter().fold(start, |hash, byte| {
        let byte = char.read(*byte);
        match before {
            true => (hash ^ byte).wrapping_mul(prime),
            false => hash.wrapping_mul(prime) ^ byte,
        }
    })
}

/// Bob Jenkins' one-at-a-time hash.
pub(super) fn one_at_a_time(char: Char, key: &[u8]) -> u32 {
    let mut hash = key.iter().fold(0u32, |hash, byte| {
        let hash = hash.wrapping_add(char.read(*byte) as u32);
        let hash = hash.wrapping_add(hash << 10);
        hash ^ hash >> 6
    });
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Dan Bernstein's hash, in an `unsigned long` of 64 bits: from 5381, hash * 33 + byte.
pub(super) fn djb2(key: &[u8]) -> u64 {
    key.iter().fold(5381, |hash: u64, byte| {
        hash.wrapping_mul(33).wrapping_add(u64::from(*byte))
    })
}
