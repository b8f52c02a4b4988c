//! Older ways to place a key, for comparison only. stead itself does not place by them.
//!
//! From "Evenly distributing members by MD5": letters (section 2), ASCII sums (3.1) and counter
//! ranges (3.2). From "Distributed RRD by consistent hashing" and "Random Slicing after Riak Core":
//! a hash modulo the number of nodes, with djb2.

use std::num::NonZeroU64;

/// The number of different letters that user names have in the paper: 0-9, a-z and the underscore.
pub const LETTERS: usize = 37;

/// The largest number of one-letter directories in a letter path.
const EXPANSION: usize = 6;

/// The number of a letter in the order of the paper: 0-9, a-z, underscore. `None` for any other
/// byte.
pub const fn letter(byte: u8) -> Option<usize> {
    match byte {
        b'0'..=b'9' => Some((byte - b'0') as usize),
        b'a'..=b'z' => Some((byte - b'a') as usize + 10),
        b'_' => Some(36),
        _ => None,
    }
}

/// The bucket of a name by its first `depth` letters, among 37^depth buckets: the paper's D1, D2
/// and D3.
///
/// `None` when the name is shorter, when any byte of it is not one of the letters, or when the
/// number of buckets overflows.
pub fn letter_bucket(name: &[u8], depth: usize) -> Option<usize> {
    let bucket =
        |bucket: usize, byte: &u8| bucket.checked_mul(LETTERS)?.checked_add(letter(*byte)?);
    let (first, rest) = name.split_at_checked(depth)?;
    rest.iter()
        .all(|byte| letter(*byte).is_some())
        .then_some(())?;
    first.iter().try_fold(0, bucket)
}

/// The path of a name by letter expansion: up to six directories of one letter each, then the name,
/// as in `f/r/a/n/k/i/frankie`.
///
/// `None` when the name is empty or any byte of it is not one of the letters.
pub fn letter_path(name: &[u8]) -> Option<String> {
    if name.is_empty() || !name.iter().all(|byte| letter(*byte).is_some()) {
        return None;
    }
    let mut path = String::new();
    for byte in name.iter().take(EXPANSION) {
        path.push(char::from(*byte));
        path.push('/');
    }
    path.extend(name.iter().map(|byte| char::from(*byte)));
    Some(path)
}

/// The sum of the bytes; `bob` is 98 + 111 + 98 = 307.
pub fn ascii_sum(name: &[u8]) -> u64 {
    name.iter().map(|byte| u64::from(*byte)).sum()
}

/// The bucket of a name by its ASCII sum modulo 31: the paper's N1.
pub fn n1(name: &[u8]) -> usize {
    (ascii_sum(name) % 31) as usize
}

/// The bucket of a name by N1 and by the ASCII sum without the first letter modulo 33, among 31 *
/// 33 = 1,023 buckets: the paper's N2.
pub fn n2(name: &[u8]) -> usize {
    let rest = name.get(1..).unwrap_or_default();
    n1(name) * 33 + (ascii_sum(rest) % 33) as usize
}

/// The buckets of a name by one, two and three letters, and by N2, in one pass over its bytes.
pub(crate) fn buckets(name: &[u8]) -> ([Option<u32>; 3], u32) {
    let (mut sum, mut letters) = (0, 0);
    for byte in name {
        sum += u64::from(*byte);
        letters |= number(*byte);
    }
    let first = |i: usize| u32::from(name.get(i).map_or(NO_LETTER, |byte| number(*byte)));
    let bucket = |depth| (0..depth).fold(0, |bucket, i| bucket * LETTERS as u32 + first(i));
    let by_letters = |depth| (letters < NO_LETTER && name.len() >= depth).then(|| bucket(depth));
    let rest = sum - name.first().map_or(0, |byte| u64::from(*byte));
    let n2 = (sum % 31) * 33 + rest % 33;
    ([by_letters(1), by_letters(2), by_letters(3)], n2 as u32)
}

/// A bit that no number of a letter has.
const NO_LETTER: u8 = 64;

/// The number of a letter, or [`NO_LETTER`].
fn number(byte: u8) -> u8 {
    /// The numbers of all bytes, so that none is compared with the bounds of the letters.
    const NUMBERS: [u8; 256] = {
        let mut numbers = [NO_LETTER; 256];
        let mut byte = 0;
        while byte < numbers.len() {
            if let Some(letter) = letter(byte as u8) {
                numbers[byte] = letter as u8;
            }
            byte += 1;
        }
        numbers
    };
    NUMBERS.get(usize::from(byte)).copied().unwrap_or(NO_LETTER)
}

/// Counter ranges: members are numbered from 0 in the order in which they sign up. Each run of
/// `bucket` consecutive numbers is one bucket, and the buckets are dealt to the servers in turn.
///
/// With no more buckets than servers, this is the paper's first form, one bucket a server. The
/// paper prints the formula `x = n mod S` with S as the bucket size. It names a server only if n is
/// taken as the number of the bucket and S as the number of servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranges {
    /// The number of servers.
    pub servers: NonZeroU64,
    /// The number of members in a full bucket.
    pub bucket: NonZeroU64,
}

impl Ranges {
    /// The server of the member with this number.
    pub fn server(&self, member: u64) -> u64 {
        member / self.bucket % self.servers
    }

    /// How many of the first `members` members the server has; 0 for a server that does not exist.
    pub fn load(&self, server: u64, members: u64) -> u64 {
        if server >= self.servers.get() {
            return 0;
        }
        let (full, begun) = (members / self.bucket, members % self.bucket);
        // full rounds, then the bucket of this server in the last round: full, partly filled, or
        // empty
        let (rounds, next) = (full / self.servers, full % self.servers);
        let last = match server.cmp(&next) {
            std::cmp::Ordering::Less => self.bucket.get(),
            std::cmp::Ordering::Equal => begun,
            std::cmp::Ordering::Greater => 0,
        };
        rounds * self.bucket.get() + last // at most `members`
    }
}

/// Bernstein's djb2 with 64 bits, the size of C's `unsigned long` where the RRD article ran it.
pub fn djb2(key: &[u8]) -> u64 {
    key.iter().fold(5381, |hash: u64, byte| {
        hash.wrapping_mul(33).wrapping_add(u64::from(*byte))
    })
}

/// The node of a key by `djb2 mod n`.
pub fn djb2_modulo(key: &[u8], n: NonZeroU64) -> u64 {
    modulo(djb2(key), n)
}

/// The node of a hash value among n nodes: `value mod n`.
pub fn modulo(value: u64, n: NonZeroU64) -> u64 {
    value % n
}

/// A fraction of the keys: `moved` of `keys`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The keys whose node changes.
    pub moved: u128,
    /// All keys.
    pub keys: u128,
}

/// Counts how many of these hash values get another node under `mod` when the number of nodes
/// changes.
pub fn moved(
    values: impl IntoIterator<Item = u64>,
    before: NonZeroU64,
    after: NonZeroU64,
) -> Moved {
    let mut count = Moved { moved: 0, keys: 0 };
    for value in values {
        count.keys += 1;
        count.moved += u128::from(modulo(value, before) != modulo(value, after));
    }
    count
}

/// Like [`moved`], for hash values that are all equally frequent. The result is a fraction in
/// lowest terms.
///
/// Both remainders repeat after lcm(before, after) values, and they agree only for the first
/// min(before, after) of them (Chinese remainder theorem). From n to n + 1 nodes, n of n + 1 keys
/// move, although 1 of n + 1 would be enough.
pub fn moved_share(before: NonZeroU64, after: NonZeroU64) -> Moved {
    let (large, small) = (
        u128::from(before.max(after).get()),
        u128::from(before.min(after).get()),
    );
    // lcm = large * small / gcd; both parts of the fraction are divided by `small`
    let period = large / gcd(large, small);
    Moved {
        moved: period - 1,
        keys: period,
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    #[test]
    fn the_37_letters_have_the_numbers_0_to_36() {
        let alphabet = b"0123456789abcdefghijklmnopqrstuvwxyz_";
        for (number, byte) in alphabet.iter().enumerate() {
            assert_eq!(letter(*byte), Some(number));
        }
        assert_eq!(
            (0..=255u8).filter(|byte| letter(*byte).is_some()).count(),
            LETTERS
        );
    }

    #[test]
    fn letter_buckets_count_in_base_37_and_skip_what_does_not_fit() {
        assert_eq!(letter_bucket(b"frank", 1), Some(15));
        assert_eq!(letter_bucket(b"frank", 2), Some(15 * 37 + 27));
        assert_eq!(letter_bucket(b"___", 3), Some(37 * 37 * 37 - 1));
        for (name, depth) in [
            (&b"fr"[..], 3),
            (b"", 1),
            (b"Frank", 1),
            (b"f.rank", 1),
            (b"frank\n", 3),
            (&[b'z'; 99], 99),
        ] {
            assert_eq!(letter_bucket(name, depth), None);
        }
    }

    #[test]
    fn a_letter_path_has_up_to_six_directories() {
        assert_eq!(letter_path(b"bob").as_deref(), Some("b/o/b/bob"));
        assert_eq!(
            letter_path(b"jonathan").as_deref(),
            Some("j/o/n/a/t/h/jonathan")
        );
        for name in ["", "../etc", "Bob"] {
            assert_eq!(letter_path(name.as_bytes()), None);
        }
    }

    #[test]
    fn sums_of_the_whole_name_and_of_the_rest_make_n2() {
        assert_eq!(
            (n1(b"bob"), n2(b"bob")),
            (307 % 31, 307 % 31 * 33 + 209 % 33)
        );
        assert_eq!((n1(b""), n2(b"")), (0, 0));
        assert_eq!(n2(b"a"), 97 % 31 * 33);
    }

    #[test]
    fn a_load_is_the_count_of_the_members_that_the_server_gets() {
        for (servers, bucket) in [(1, 1), (3, 4), (5, 1), (2, 7)] {
            let ranges = Ranges {
                servers: nodes(servers),
                bucket: nodes(bucket),
            };
            for members in 0..60 {
                for server in 0..servers + 1 {
                    let counted = (0..members)
                        .filter(|member| ranges.server(*member) == server)
                        .count() as u64;
                    assert_eq!(
                        ranges.load(server, members),
                        counted,
                        "{ranges:?} {members} {server}"
                    );
                }
            }
        }
        let ranges = Ranges {
            servers: nodes(u64::MAX),
            bucket: nodes(u64::MAX),
        };
        assert_eq!(
            (ranges.load(0, u64::MAX), ranges.load(1, u64::MAX)),
            (u64::MAX, 0)
        );
    }

    /// Figure 1 of "Random Slicing after Riak Core": the hash values 0 to 23 in 3 to 10 buckets.
    #[test]
    fn beyond_the_diagonal_most_of_24_hash_values_move() {
        let row = |n: u64| {
            (0..24)
                .map(|value| modulo(value, nodes(n)))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            row(3),
            [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
        );
        assert_eq!(
            row(10),
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3]
        );
        // the article starts the diagonal at (hash 4, 3 buckets), but by its own figure hash 3
        // already moves, from 0 to 3
        for n in 3..10 {
            let (before, after) = (row(n), row(n + 1));
            let first = (0..24).find(|value| before[*value] != after[*value]);
            assert_eq!(first, Some(n as usize), "{n} buckets: the diagonal");
        }
        let stay = (3..10)
            .map(|n| 24 - moved(0..24, nodes(n), nodes(n + 1)).moved)
            .collect::<Vec<_>>();
        // how many of the 24 stay: min(n, 24 - k * lcm) values of each period
        assert_eq!(stay, [6, 8, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn the_share_that_moves_agrees_with_counting_a_whole_period() {
        for (before, after) in [(3, 4), (4, 3), (4, 6), (6, 12), (5, 5), (1, 9), (10, 11)] {
            let counted = moved(0..27_720, nodes(before), nodes(after)); // lcm of 1..=12
            let share = moved_share(nodes(before), nodes(after));
            assert_eq!(
                counted.moved * share.keys,
                share.moved * counted.keys,
                "{before} to {after}"
            );
        }
        assert_eq!(
            moved_share(nodes(10), nodes(11)),
            Moved {
                moved: 10,
                keys: 11
            }
        );
        assert_eq!(moved_share(nodes(7), nodes(7)), Moved { moved: 0, keys: 1 });
        assert_eq!(
            moved_share(nodes(u64::MAX), nodes(u64::MAX - 1)).keys,
            u128::from(u64::MAX)
        );
    }

    #[test]
    fn djb2_wraps_at_64_bits() {
        assert_eq!(djb2(b""), 5381);
        assert_eq!(djb2(b"a"), 5381 * 33 + 97);
        let exact = [0xff; 40]
            .iter()
            .fold((5381u128, ()), |(hash, ()), _: &u8| {
                ((hash * 33 + 255) % (1 << 64), ())
            })
            .0;
        assert_eq!(u128::from(djb2(&[0xff; 40])), exact);
    }
}
