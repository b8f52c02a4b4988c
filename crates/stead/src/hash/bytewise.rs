//! Hashes that read a key byte by byte, as in libhashkit, carbon and other programs. They serve
//! adopted rings only: none is fit for a new cluster.

/// How a program in C reads a byte of a key: as a `char`, which is signed on x86, or as an
/// `unsigned char`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Char {
    /// Bytes from 0x80 are negative: sign extension sets all bits above them.
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

/// The start, the prime, and whether the byte is added before the product (FNV-1a) or after it
/// (FNV-1).
type Fnv = (u64, u64, bool);
/// The numbers of draft-eastlake-fnv. The low 32 bits of a product do not depend on higher bits, so
/// a computation of 64 bits serves both widths.
pub(super) const FNV_32: Fnv = (0x811c_9dc5, 0x0100_0193, false);
pub(super) const FNV_32_A: Fnv = (0x811c_9dc5, 0x0100_0193, true);
pub(super) const FNV_64: Fnv = (0xcbf2_9ce4_8422_2325, 0x0000_0100_0000_01b3, false);
/// libmemcached keeps only the low 32 bits of start and prime, which gives the low 32 bits of the
/// true hash.
pub(super) const FNV_64_A: Fnv = (0xcbf2_9ce4_8422_2325, 0x0000_0100_0000_01b3, true);

/// FNV of 64 bits. Its low 32 bits are FNV of 32 bits when `start` and `prime` are.
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

/// Dan Bernstein's hash in an `unsigned long` of 64 bits: it starts at 5381, and each byte makes it
/// hash * 33 + byte.
pub(super) fn djb2(key: &[u8]) -> u64 {
    key.iter().fold(5381, |hash: u64, byte| {
        hash.wrapping_mul(33).wrapping_add(u64::from(*byte))
    })
}
