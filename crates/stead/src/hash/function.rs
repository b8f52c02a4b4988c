//! The functions of the hash registry, each of which gives a number of a fixed width.
//! docs/placement.md, "Hash", is normative.
//!
//! The first three are stead's own as well; adopted rings (`ring`) hash their keys with the others.
//! A program in C that reads its keys through `char` hashes bytes from 0x80 differently on x86,
//! where plain `char` is signed, and on ARM, where it is not. Such functions are here twice.

use md5::{Digest, Md5};
use sha1::Sha1;

use super::bytewise::{djb2, fnv, one_at_a_time, Char, FNV_32, FNV_32_A, FNV_64, FNV_64_A};
use super::checksum::{crc16, crc32};
use super::short_md5;

/// A function from keys to numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // the words of docs/placement.md
pub enum Function {
    Md5,
    Sha1,
    Xxh3,
    Md5Le32,
    Md5Be32,
    Crc32,
    Crc32Of15,
    Crc16Tag,
    Fnv1Of32(Char),
    Fnv1aOf32(Char),
    Fnv1Of64(Char),
    Fnv1aOf64(Char),
    OneAtATime(Char),
    Fnv1aFold16,
    Riak,
    RiakTyped,
    Djb2,
    Decimal,
    Xxh64,
}

use Char::{Signed, Unsigned};
use Function::*;

/// For each function: its number in the map, its name, and the width of its numbers in bits.
const REGISTRY: [(u32, &str, Function, u32); 24] = [
    (1, "md5", Md5, 64),
    (2, "sha1", Sha1, 64),
    (3, "xxh3", Xxh3, 64),
    // 4 is siphash, which takes a secret
    (5, "md5-le32", Md5Le32, 32),
    (6, "md5-be32", Md5Be32, 32),
    (7, "crc32", Crc32, 32),
    (8, "crc32-15", Crc32Of15, 15),
    (9, "crc16-tag", Crc16Tag, 14),
    (10, "fnv1-32", Fnv1Of32(Unsigned), 32),
    (11, "fnv1-32-signed", Fnv1Of32(Signed), 32),
    (12, "fnv1a-32", Fnv1aOf32(Unsigned), 32),
    (13, "fnv1a-32-signed", Fnv1aOf32(Signed), 32),
    (14, "fnv1-64", Fnv1Of64(Unsigned), 32),
    (15, "fnv1-64-signed", Fnv1Of64(Signed), 32),
    (16, "fnv1a-64", Fnv1aOf64(Unsigned), 32),
    (17, "fnv1a-64-signed", Fnv1aOf64(Signed), 32),
    (18, "one-at-a-time", OneAtATime(Unsigned), 32),
    (19, "one-at-a-time-signed", OneAtATime(Signed), 32),
    (20, "fnv1a-fold16", Fnv1aFold16, 16),
    (21, "riak", Riak, 64),
    (22, "riak-typed", RiakTyped, 64),
    (23, "djb2", Djb2, 64),
    (24, "decimal", Decimal, 64),
    (25, "xxh64", Xxh64, 64),
];

impl Function {
    /// All functions, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Function> {
        REGISTRY.iter().map(|row| row.2)
    }

    /// The number, as the map stores it.
    pub fn number(self) -> u32 {
        self.row().0
    }

    /// The name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The width of its numbers in bits: 14 to 64.
    pub fn bits(self) -> u32 {
        self.row().3
    }

    fn row(self) -> &'static (u32, &'static str, Function, u32) {
        let [first, ..] = &REGISTRY;
        // a test holds that every function is there
        REGISTRY.iter().find(|row| row.2 == self).unwrap_or(first)
    }

    /// The function of a number.
    pub fn of_number(number: u32) -> Option<Function> {
        REGISTRY.iter().find(|row| row.0 == number).map(|row| row.2)
    }

    /// The function of a name.
    pub fn of_name(name: &str) -> Option<Function> {
        REGISTRY.iter().find(|row| row.1 == name).map(|row| row.2)
    }

    /// The number of a key; it has `bits` bits.
    pub fn value(self, key: &[u8]) -> u64 {
        match self {
            Md5 => md5(key),
            Sha1 => sha1(key),
            Xxh3 => xxh3(key),
            // MD5's words are little-endian, so the first four bytes read that way are the first
            // word
            Md5Le32 => match short_md5::words_of(key) {
                Some([a, _, _, _]) => u64::from(a),
                None => (first_8(&Md5::digest(key)) >> 32).swap_bytes() >> 32,
            },
            Md5Be32 => Md5.value(key) >> 32,
            Crc32 => u64::from(crc32(key)),
            Crc32Of15 => u64::from(crc32(key) >> 16 & 0x7fff),
            Crc16Tag => u64::from(crc16(tag(key)) & 0x3fff),
            Fnv1Of32(char) => fnv(FNV_32, char, key) & 0xffff_ffff,
            Fnv1aOf32(char) => fnv(FNV_32_A, char, key) & 0xffff_ffff,
            Fnv1Of64(char) => fnv(FNV_64, char, key) & 0xffff_ffff,
            Fnv1aOf64(char) => fnv(FNV_64_A, char, key) & 0xffff_ffff,
            OneAtATime(char) => u64::from(one_at_a_time(char, key)),
            Fnv1aFold16 => {
                let hash = Fnv1aOf32(Unsigned).value(key);
                hash >> 16 ^ hash & 0xffff
            }
            Riak | RiakTyped => first_8(&Sha1::digest(self.term(key))),
            Djb2 => djb2(key),
            Decimal => decimal(key),
            Xxh64 => twox_hash::XxHash64::oneshot(0, key),
        }
    }

    /// The remainder of the key's whole hash by `divisor`, which is not 0. The whole hash is all 16
    /// bytes of MD5 or all 20 of SHA-1, as a big-endian number; for other functions it is the
    /// number.
    pub fn remainder(self, key: &[u8], divisor: u64) -> u64 {
        match self {
            Md5 | Sha1 | Riak | RiakTyped => {
                let divisor = u128::from(divisor);
                let digits = self.digest(key);
                digits
                    .iter()
                    .fold(0, |rest, byte| (rest << 8 | u128::from(*byte)) % divisor)
                    as u64
            }
            _ => self.value(key) % divisor,
        }
    }

    /// The whole digest, for people who compare it with another program's.
    pub fn digest(self, key: &[u8]) -> Vec<u8> {
        match self {
            Md5 | Md5Le32 | Md5Be32 => Md5::digest(key).to_vec(),
            Sha1 => Sha1::digest(key).to_vec(),
            Riak | RiakTyped => Sha1::digest(self.term(key)).to_vec(),
            _ => {
                let bytes = self.bits().div_ceil(8) as usize;
                self.value(key)
                    .to_be_bytes()
                    .get(8 - bytes..)
                    .unwrap_or(&[])
                    .to_vec()
            }
        }
    }

    /// The bytes that Riak hashes: Erlang's external form of `{Bucket, Key}` or `{{Type, Bucket},
    /// Key}`, all binaries. The key is BUCKET/KEY or TYPE/BUCKET/KEY, split at the first slashes; a
    /// missing part is empty.
    fn term(self, key: &[u8]) -> Vec<u8> {
        let first = |key: &[u8]| key.iter().position(|byte| *byte == b'/');
        let split = |key: &[u8]| match first(key) {
            Some(at) => (
                key.get(..at).unwrap_or(&[]).to_vec(),
                key.get(at + 1..).unwrap_or(&[]).to_vec(),
            ),
            None => (Vec::new(), key.to_vec()),
        };
        const VERSION: u8 = 131;
        const PAIR: [u8; 2] = [104, 2];
        const BINARY: u8 = 109;
        let mut term = vec![VERSION];
        term.extend(PAIR);
        let mut binary = |bytes: &[u8], before: &[u8]| {
            term.extend(before);
            term.push(BINARY);
            term.extend((bytes.len() as u32).to_be_bytes());
            term.extend(bytes);
        };
        let (bucket, rest) = split(key);
        if self == RiakTyped {
            let (kind, (bucket, rest)) = (bucket, split(&rest));
            binary(&kind, &PAIR);
            binary(&bucket, &[]);
            binary(&rest, &[]);
        } else {
            binary(&bucket, &[]);
            binary(&rest, &[]);
        }
        term
    }
}

/// The first 8 bytes of MD5, big-endian.
#[inline]
pub(super) fn md5(key: &[u8]) -> u64 {
    match short_md5::words_of(key) {
        Some([a, b, _, _]) => u64::from(a.swap_bytes()) << 32 | u64::from(b.swap_bytes()),
        None => first_8(&Md5::digest(key)),
    }
}

/// The first 8 bytes of SHA-1, big-endian.
#[inline]
pub(super) fn sha1(key: &[u8]) -> u64 {
    first_8(&Sha1::digest(key))
}

/// XXH3, 64 bits, seed 0.
#[inline]
pub(super) fn xxh3(key: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(key)
}

/// The part of a key that Redis Cluster hashes: the text between the first `{` and the first `}`
/// after it, or the whole key if there is no such text or it is empty.
fn tag(key: &[u8]) -> &[u8] {
    let inside = || {
        let open = key.iter().position(|byte| *byte == b'{')?;
        let rest = key.get(open + 1..)?;
        let close = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..close).filter(|inside| !inside.is_empty())
    };
    inside().unwrap_or(key)
}

/// The digits at the start of the key as a number, modulo 2^64: for sites that shard by `user_id %
/// n` or by ranges of ids.
fn decimal(key: &[u8]) -> u64 {
    let digits = key.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| {
        number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'))
    })
}

fn first_8(digest: &[u8]) -> u64 {
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_in_the_registry_once() {
        let mut before = 0;
        for (number, name, function, bits) in REGISTRY {
            assert!(number > before && number != 4, "{name}");
            before = number;
            assert_eq!(
                (function.number(), function.name(), function.bits()),
                (number, name, bits)
            );
            assert_eq!(
                (Function::of_number(number), Function::of_name(name)),
                (Some(function), Some(function))
            );
            for key in [&b"frank"[..], b"", b"\xff\x80", &[b'x'; 100]] {
                assert!(bits == 64 || function.value(key) >> bits == 0, "{name}");
                assert!(function.remainder(key, 7) < 7, "{name}");
            }
        }
        assert_eq!(
            (Function::of_number(4), Function::of_number(before + 1)),
            (None, None)
        );
    }

    #[test]
    fn every_function_is_in_the_manual_the_header_and_the_reference() {
        let read = |file: &str| {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
            std::fs::read_to_string(root.to_owned() + file).unwrap()
        };
        let (page, header) = (read("docs/placement.md"), read("include/stead.h"));
        let reference = read("tests/reference/hashes.py");
        for (number, name, _, bits) in REGISTRY {
            assert!(
                page.contains(&format!("`{name}`")),
                "docs/placement.md lacks {name}"
            );
            let constant = name.replace('-', "_").to_uppercase();
            let constant = format!("  STEAD_{constant} = {number},\n");
            assert!(
                header.contains(&constant),
                "include/stead.h lacks {constant}"
            );
            // the first three are stead's own hashes, which have no row
            let row = format!("    \"{name}\": ({number}, {bits}),\n");
            assert!(
                number < 4 || reference.contains(&row),
                "tests/reference/hashes.py lacks {row}"
            );
        }
    }

    #[test]
    fn published_values() {
        // libketama's own test: python_ketama/tests.py
        assert_eq!(Md5Le32.value(b"test"), 3_446_378_249);
        // the check values of the catalogue of CRCs, and the slots of the Redis Cluster
        // specification
        assert_eq!(
            (Crc32.value(b"123456789"), crc16(b"123456789")),
            (0xcbf4_3926, 0x31c3)
        );
        assert_eq!(
            (Crc16Tag.value(b"foo"), Crc16Tag.value(b"user1000")),
            (12182, 3443)
        );
        for (key, tag) in [
            ("{user1000}.following", "user1000"),
            ("foo{}{bar}", "foo{}{bar}"),
            ("foo{{bar}}zap", "{bar"),
            ("foo{bar}{zap}", "bar"),
        ] {
            assert_eq!(
                Crc16Tag.value(key.as_bytes()),
                u64::from(crc16(tag.as_bytes()) & 0x3fff),
                "{key}"
            );
        }
        // draft-eastlake-fnv: FNV-1a of "foobar", FNV-1 of "foobar"
        assert_eq!(Fnv1aOf32(Unsigned).value(b"foobar"), 0xbf9c_f968);
        assert_eq!(Fnv1Of32(Unsigned).value(b"foobar"), 0x31f0_b262);
        assert_eq!(
            Fnv1Of64(Unsigned).value(b"foobar"),
            0x340d_8765_a4dd_a9c2 & 0xffff_ffff
        );
        // Riak's docs/claim-fixes.md
        let hash = Riak
            .digest(b"artist/REM")
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>();
        assert_eq!(
            u64::from_str_radix(&hash[..16], 16),
            Ok(Riak.value(b"artist/REM"))
        );
        // 666603136322215606811169435479313437784925203632 mod 1000007, and its first 8 bytes
        assert_eq!(
            (hash.len(), Riak.remainder(b"artist/REM", 1_000_007)),
            (40, 280_799)
        );
        // Envoy's test/common/common/hash_test.cc
        for (key, hash) in [
            ("foo", 3_728_699_739_546_630_719),
            ("bar", 5_234_164_152_756_840_025),
            ("foo\nbar", 8_917_841_378_505_826_757),
            ("lyft", 4_400_747_396_090_729_504),
            ("", 17_241_709_254_077_376_921),
        ] {
            assert_eq!(Xxh64.value(key.as_bytes()), hash, "{key:?}");
        }
        // the names of the article's example, in the low 8 bits
        let names = [
            "host01.example.com:cpu",
            "host01.example.com:memory",
            "host01.example.com:load",
            "host02.example.com:cpu",
        ];
        let numbers = [
            &b"42"[..],
            b"007:profile",
            b"",
            b"user42",
            b"-1",
            b"18446744073709551615",
            b"18446744073709551618",
            b"9" as &[u8],
        ];
        assert_eq!(
            numbers.map(|key| Decimal.value(key)),
            [42, 7, 0, 0, 0, u64::MAX, 2, 9]
        );
        assert_eq!(
            names.map(|name| Djb2.value(name.as_bytes()) & 255),
            [77, 62, 229, 78]
        );
    }

    #[test]
    fn signed_and_unsigned_char_agree_on_ascii_and_nowhere_else() {
        for (signed, unsigned) in [
            (Fnv1Of32(Signed), Fnv1Of32(Unsigned)),
            (Fnv1aOf32(Signed), Fnv1aOf32(Unsigned)),
            (Fnv1Of64(Signed), Fnv1Of64(Unsigned)),
            (Fnv1aOf64(Signed), Fnv1aOf64(Unsigned)),
            (OneAtATime(Signed), OneAtATime(Unsigned)),
        ] {
            assert_eq!(signed.value(b"user/42"), unsigned.value(b"user/42"));
            assert_ne!(
                signed.value("été".as_bytes()),
                unsigned.value("été".as_bytes()),
                "{signed:?}"
            );
        }
    }

    #[test]
    fn long_keys_take_the_other_way_through_md5_to_the_same_end() {
        for length in [0, 1, 15, 55, 56, 64, 1000] {
            let key = vec![b'k'; length];
            let digest = Md5::digest(&key);
            assert_eq!(
                Md5Le32.value(&key),
                u64::from(u32::from_le_bytes(digest[..4].try_into().unwrap())),
                "{length}"
            );
            assert_eq!(
                Md5Be32.value(&key),
                u64::from(u32::from_be_bytes(digest[..4].try_into().unwrap())),
                "{length}"
            );
            assert_eq!(
                u128::from(Function::Md5.remainder(&key, 1_000_003)),
                u128::from_be_bytes(digest.into()) % 1_000_003
            );
        }
    }
}
