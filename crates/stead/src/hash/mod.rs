//! The hash, which takes a key to a point, as docs/placement.md defines it.

mod adopted;
mod bytewise;
pub(crate) mod checksum;
mod function;
mod key_rule;
mod short_md5;

pub use adopted::{Adopted, Affixes, AFFIX_MAX};
pub use bytewise::Char;
pub use function::Function;
pub use key_rule::KeyRule;

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use md5::{Digest, Md5};

use crate::cell::Cells;
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hash {
    /// The first 8 bytes of MD5, big-endian: the default, since every language has it.
    Md5,
    /// The first 8 bytes of SHA-1, big-endian.
    Sha1,
    /// XXH3, 64 bits, seed 0: the fastest, for keys that no attacker chooses.
    Xxh3,
    /// SipHash-2-4 under a secret: for keys that users choose.
    SipHash(Secret),
    /// The hash of an adopted ring. A plain `md5`, `sha1` or `xxh3` is never stored here but as one
    /// of the three above: see [`Hash::of`].
    Adopted(Adopted),
}

impl Hash {
    /// Returns the point of a key in a map with this hash, `rule` and `cells`.
    #[inline]
    pub(crate) fn point_of(&self, rule: KeyRule, cells: Cells, key: &[u8]) -> Point {
        if cells == Cells::FINEST && !self.is_modulo() {
            return self.point(rule.of(key));
        }
        self.first_point_of(rule, cells, key)
    }

    /// Returns the first point of a key's cell. All points of a cell have the same value of the
    /// hash, so its first point stands for all.
    #[inline(never)]
    fn first_point_of(&self, rule: KeyRule, cells: Cells, key: &[u8]) -> Point {
        Point(cells.bound(self.cell(rule.of(key), cells)) as u64)
    }

    /// The names that a fleet may write, in the order of their numbers. The hashes of adopted rings
    /// are not among them: only a ring brings one.
    pub const NAMES: [&'static str; 4] = ["md5", "sha1", "xxh3", "siphash"];

    /// The hash of a function. With `modulo`, the cell of a key is its number modulo the number of
    /// cells. Affixes that are both empty count as none.
    pub fn of(function: Function, modulo: bool, affixes: Affixes) -> Hash {
        let affixes = (affixes != Affixes::default()).then(|| Arc::new(affixes));
        match function {
            Function::Md5 if !modulo && affixes.is_none() => Hash::Md5,
            Function::Sha1 if !modulo && affixes.is_none() => Hash::Sha1,
            Function::Xxh3 if !modulo && affixes.is_none() => Hash::Xxh3,
            _ => Hash::Adopted(Adopted {
                function,
                modulo,
                affixes,
            }),
        }
    }

    /// The name, as the fleet writes it; for an adopted ring, the name of its function.
    pub fn name(&self) -> &'static str {
        match self {
            Hash::Md5 => "md5",
            Hash::Sha1 => "sha1",
            Hash::Xxh3 => "xxh3",
            Hash::SipHash(_) => "siphash",
            Hash::Adopted(adopted) => adopted.function.name(),
        }
    }

    /// The number, as the map stores it.
    pub fn number(&self) -> u32 {
        match self {
            Hash::Md5 => 1,
            Hash::Sha1 => 2,
            Hash::Xxh3 => 3,
            Hash::SipHash(_) => Hash::SIPHASH,
            Hash::Adopted(adopted) => adopted.number(),
        }
    }

    /// The number of `siphash`. Larger numbers are those of adopted rings.
    pub const SIPHASH: u32 = 4;

    /// The secret, if the hash takes one.
    pub fn secret(&self) -> Option<Secret> {
        match self {
            Hash::SipHash(secret) => Some(*secret),
            _ => None,
        }
    }

    /// Whether the hash has a secret or affixes, so that only the owner may read its map.
    pub fn is_secret(&self) -> bool {
        self.secret().is_some() || self.affixes().is_some()
    }

    /// The bytes that an adopted ring puts around each key, if it does.
    pub fn affixes(&self) -> Option<&Affixes> {
        match self {
            Hash::Adopted(adopted) => adopted.affixes.as_deref(),
            _ => None,
        }
    }

    /// Whether the cell is the key's number modulo the number of cells.
    pub fn is_modulo(&self) -> bool {
        matches!(self, Hash::Adopted(Adopted { modulo: true, .. }))
    }

    /// Whether the number of a hash says that the map stores affixes in the place of the secret.
    pub(crate) fn is_affixed(number: u32) -> bool {
        number & adopted::AFFIXED != 0
    }

    /// Whether this stead knows the hash of a number.
    pub(crate) fn is_known(number: u32) -> bool {
        number == Hash::SIPHASH
            || Function::of_number(number & !(adopted::MODULO | adopted::AFFIXED)).is_some()
    }

    /// The hash that a map stores: its number, and beside it the 16 bytes of the secret, or affixes
    /// instead. `None` if the number is unknown, or if the hash does not take the secret or the
    /// affixes that are there.
    pub fn from_stored(number: u32, secret: [u8; 16], affixes: Affixes) -> Option<Hash> {
        if number == Hash::SIPHASH {
            return (affixes == Affixes::default()).then_some(Hash::SipHash(Secret(secret)));
        }
        let function = Function::of_number(number & !(adopted::MODULO | adopted::AFFIXED))?;
        if secret != [0; 16] || Hash::is_affixed(number) != (affixes != Affixes::default()) {
            return None;
        }
        Some(Hash::of(function, number & adopted::MODULO != 0, affixes))
    }

    /// The whole digest of a key, for people who compare it with another program's: 16 bytes of
    /// MD5, 20 of SHA-1. Other hashes have no more than their number, which is 8 bytes for stead's
    /// own. For stead's own hashes the point is the first 8 bytes of the digest.
    pub fn digest(&self, key: &[u8]) -> Vec<u8> {
        match self {
            Hash::Md5 => Function::Md5.digest(key),
            Hash::Sha1 => Function::Sha1.digest(key),
            Hash::Xxh3 | Hash::SipHash(_) => self.point(key).0.to_be_bytes().to_vec(),
            Hash::Adopted(adopted) => adopted.around(key, |key| adopted.function.digest(key)),
        }
    }

    /// The point of a key, which `modulo` does not change. The bytes of the key are hashed as they
    /// are.
    #[inline]
    pub fn point(&self, key: &[u8]) -> Point {
        match self {
            Hash::Md5 => Point(function::md5(key)),
            Hash::Xxh3 => Point(function::xxh3(key)),
            _ => self.point_of_others(key),
        }
    }

    /// The point of a key by one of the hashes that [`Hash::point`] does not compute itself. If
    /// they were inlined there, md5 and xxh3 would take longer, since more registers would be saved
    /// at each call.
    #[inline(never)]
    fn point_of_others(&self, key: &[u8]) -> Point {
        match self {
            Hash::Md5 | Hash::Xxh3 => self.point(key),
            Hash::Sha1 => Point(function::sha1(key)),
            Hash::SipHash(secret) => {
                let mut hasher = siphasher::sip::SipHasher24::new_with_key(&secret.0);
                hasher.write(key);
                Point(hasher.finish())
            }
            Hash::Adopted(Adopted { function, .. }) if self.affixes().is_none() => {
                Point(function.value(key) << (64 - function.bits()))
            }
            Hash::Adopted(adopted) => Point(
                adopted.around(key, |key| adopted.function.value(key))
                    << (64 - adopted.function.bits()),
            ),
        }
    }

    /// The cell of a key, out of `cells`.
    pub fn cell(&self, key: &[u8], cells: Cells) -> u128 {
        match self {
            Hash::Adopted(adopted) if adopted.modulo => {
                // a map has no modulo over 2^64 cells; the remainder would be the number itself
                let count = u64::try_from(cells.count()).unwrap_or(u64::MAX);
                u128::from(adopted.around(key, |key| adopted.function.remainder(key, count)))
            }
            _ => cells.of(self.point(key)),
        }
    }
}

/// The 16 bytes of MD5(key), for directory paths.
pub fn md5(key: &[u8]) -> [u8; 16] {
    Md5::digest(key).into()
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
        // RFC 3174 "abc"; XXH3-64 of nothing and SipHash-2-4's first vectors from their reference
        // implementations
        assert_eq!(Hash::Sha1.point(b"abc").to_string(), "a9993e364706816a");
        assert_eq!(Hash::Xxh3.point(b"").to_string(), "2d06800538d394c2");
        let secret = Secret(std::array::from_fn(|i| i as u8));
        assert_eq!(
            Hash::SipHash(secret).point(b"").to_string(),
            "726fdb47dd0e0e31"
        );
        assert_eq!(
            Hash::SipHash(secret).point(&[0]).to_string(),
            "74f839c593dc67fd"
        );
    }

    #[test]
    fn a_digest_starts_with_the_point() {
        for (hash, length) in [
            (Hash::Md5, 16),
            (Hash::Sha1, 20),
            (Hash::Xxh3, 8),
            (Hash::SipHash(Secret([7; 16])), 8),
        ] {
            let digest = hash.digest(b"frank");
            assert_eq!(
                (digest.len(), &digest[..8]),
                (length, &hash.point(b"frank").0.to_be_bytes()[..]),
                "{hash:?}"
            );
        }
    }

    #[test]
    fn what_a_map_stores_gives_the_same_hash_back() {
        let affixes = Affixes {
            prefix: b"changeme".to_vec(),
            suffix: Vec::new(),
        };
        let plain = Function::all().map(|function| Hash::of(function, false, Affixes::default()));
        let others = Function::all().flat_map(|f| {
            [
                Hash::of(f, true, Affixes::default()),
                Hash::of(f, true, affixes.clone()),
            ]
        });
        for hash in plain.chain(others).chain([Hash::SipHash(Secret([1; 16]))]) {
            let affixes = hash.affixes().cloned().unwrap_or_default();
            let secret = hash.secret().map_or([0; 16], |secret| secret.0);
            assert_eq!(
                Hash::from_stored(hash.number(), secret, affixes),
                Some(hash)
            );
        }
        assert_eq!(Hash::from_stored(1, [1; 16], Affixes::default()), None);
        assert_eq!(Hash::from_stored(0x201, [0; 16], Affixes::default()), None);
        assert_eq!(Hash::from_stored(1, [0; 16], affixes.clone()), None);
        let last = Function::all().map(Function::number).max().unwrap();
        for number in [0, last + 1, 0x104, 0x401, u32::MAX] {
            assert_eq!(
                Hash::from_stored(number, [0; 16], Affixes::default()),
                None,
                "{number}"
            );
        }
        assert_eq!(format!("{:?}", affixes), "Affixes(..)");
    }

    #[test]
    fn a_cell_is_where_the_point_falls_or_the_remainder() {
        let (whole, cells) = (
            Hash::of(Function::Crc32, false, Affixes::default()),
            Cells::from_stored(7),
        );
        assert_eq!(whole.cell(b"123456789", cells), (0xcbf4_3926u128 * 7) >> 32);
        assert_eq!(
            Hash::of(Function::Crc32, true, Affixes::default()).cell(b"123456789", cells),
            0xcbf4_3926 % 7
        );
        let around = Hash::of(
            Function::Crc32,
            true,
            Affixes {
                prefix: b"123".to_vec(),
                suffix: b"789".to_vec(),
            },
        );
        assert_eq!(around.cell(b"456", cells), 0xcbf4_3926 % 7);
    }

    #[test]
    fn a_secret_is_32_hex_digits_and_is_never_printed() {
        let secret = Secret::from_hex("000102030405060708090a0b0c0d0e0F").unwrap();
        assert_eq!(secret.0[15], 15);
        assert_eq!(
            format!("{:?}", Hash::SipHash(secret)),
            "SipHash(Secret(..))"
        );
        for bad in [
            "",
            "00",
            "000102030405060708090a0b0c0d0e0g",
            "+00102030405060708090a0b0c0d0e0f",
            "é00102030405060708090a0b0c0d0e0",
        ] {
            assert_eq!(Secret::from_hex(bad), None, "{bad}");
        }
    }
}
