//! The hash: key -> point, by docs/placement.md.

mod short_md5;

use std::fmt;
use std::hash::Hasher;

use md5::{Digest, Md5};
use sha1::Sha1;

use crate::point::Point;

/// The 16 bytes that key `siphash`. Never printed: `Debug` shows that there is one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 16]);

impl Secret {
    /// Reads 32 hex digits; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Secret> {
        let mut bytes = [0u8; 16];
        if text.len() != 32 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            if !pair.bytes().all(|b| b.is_ascii_hexdigit()) {
                return None;
            }
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Secret(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// How keys become points. A map keeps its hash for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hash {
    /// The first 8 bytes of MD5, big-endian: the default, since every language has it.
    Md5,
    /// The first 8 bytes of SHA-1, big-endian.
    Sha1,
    /// XXH3, 64 bits, seed 0: the fastest, for keys that nobody chooses with ill will.
    Xxh3,
    /// SipHash-2-4 under a secret: for keys that users choose.
    SipHash(Secret),
}

impl Hash {
    /// The names that a fleet may write, in the order of their numbers.
    pub const NAMES: [&'static str; 4] = ["md5", "sha1", "xxh3", "siphash"];

    /// The name, as the fleet writes it.
    pub fn name(&self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Xxh3 => "xxh3",
            Hash::SipHash(_) => "siphash",
        }
    }

    /// The number, as the map stores it.
    pub fn number(&self) -> u32 {
        match self {
            Hash::Md5 => 1,
            Hash::Sha1 => 2,
            Hash::Xxh3 => 3,
            Hash::SipHash(_) => 4,
        }
    }

    /// The secret, of the hash that takes one.
    pub fn secret(&self) -> Option<Secret> {
        match self {
            Hash::SipHash(secret) => Some(*secret),
            _ => None,
        }
    }

    /// The hash of a number and the 16 bytes that a map stores beside it. `None` when the number is unknown, or when the
    /// bytes are not zero for a hash without a secret.
    pub fn from_stored(number: u32, secret: [u8; 16]) -> Option<Hash> {
        let plain = secret == [0; 16];
        match number {
            1 if plain => Some(Hash::Md5),
            2 if plain => Some(Hash::Sha1),
            3 if plain => Some(Hash::Xxh3),
            4 => Some(Hash::SipHash(Secret(secret))),
            _ => None,
        }
    }

    /// The whole digest of a key, for people who compare it with another program's: 16 bytes of MD5, 20 of SHA-1; the others
    /// have no more than the 8 bytes of the point. The point is its first 8 bytes.
    pub fn digest(&self, key: &[u8]) -> Vec<u8> {
        match self {
            Hash::Md5 => Md5::digest(key).to_vec(),
            Hash::Sha1 => Sha1::digest(key).to_vec(),
            Hash::Xxh3 | Hash::SipHash(_) => self.point(key).0.to_be_bytes().to_vec(),
        }
    }

    /// The point of a key. The key's bytes are taken as they are.
    pub fn point(&self, key: &[u8]) -> Point {
        match self {
            Hash::Md5 => match short_md5::words_of(key) {
                Some([a, b, _, _]) => Point(u64::from(a.swap_bytes()) << 32 | u64::from(b.swap_bytes())),
                None => first_8(&Md5::digest(key)),
            },
            Hash::Sha1 => first_8(&Sha1::digest(key)),
            Hash::Xxh3 => Point(twox_hash::XxHash3_64::oneshot(key)),
            Hash::SipHash(secret) => {
                let mut hasher = siphasher::sip::SipHasher24::new_with_key(&secret.0);
                hasher.write(key);
                Point(hasher.finish())
            }
        }
    }
}

/// The 16 bytes of MD5(key), for directory paths.
pub fn md5(key: &[u8]) -> [u8; 16] {
    Md5::digest(key).into()
}

fn first_8(digest: &[u8]) -> Point {
    Point(digest.iter().take(8).fold(0, |point, byte| point << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frank_is_hashed_as_the_paper_should_have_printed() {
        assert_eq!(Hash::Md5.point(b"frank").to_string(), "26253c50741faa9c");
        assert_eq!(Hash::Md5.point(b"frank\n").to_string(), "d268c8fe7f154537");
    }

    #[test]
    fn each_hash_gives_its_published_value() {
        // RFC 3174 "abc"; XXH3-64 of nothing and SipHash-2-4's first vectors from their reference implementations
        assert_eq!(Hash::Sha1.point(b"abc").to_string(), "a9993e364706816a");
        assert_eq!(Hash::Xxh3.point(b"").to_string(), "2d06800538d394c2");
        let secret = Secret(std::array::from_fn(|i| i as u8));
        assert_eq!(Hash::SipHash(secret).point(b"").to_string(), "726fdb47dd0e0e31");
        assert_eq!(Hash::SipHash(secret).point(&[0]).to_string(), "74f839c593dc67fd");
    }

    #[test]
    fn a_digest_starts_with_the_point() {
        for (hash, length) in [(Hash::Md5, 16), (Hash::Sha1, 20), (Hash::Xxh3, 8), (Hash::SipHash(Secret([7; 16])), 8)] {
            let digest = hash.digest(b"frank");
            assert_eq!((digest.len(), &digest[..8]), (length, &hash.point(b"frank").0.to_be_bytes()[..]), "{hash:?}");
        }
    }

    #[test]
    fn a_secret_is_32_hex_digits_and_is_never_printed() {
        let secret = Secret::from_hex("000102030405060708090a0b0c0d0e0F").unwrap();
        assert_eq!(secret.0[15], 15);
        assert_eq!(format!("{:?}", Hash::SipHash(secret)), "SipHash(Secret(..))");
        for bad in ["", "00", "000102030405060708090a0b0c0d0e0g", "+00102030405060708090a0b0c0d0e0f", "é00102030405060708090a0b0c0d0e0"] {
            assert_eq!(Secret::from_hex(bad), None, "{bad}");
        }
    }
}
