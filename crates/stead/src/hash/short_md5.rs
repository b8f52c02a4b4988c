//! MD5 of a short key: one block, straight from the key.
//!
//! Most keys are names of a few bytes, so the 64 steps of one block are nearly all the cost of
//! their MD5. The buffer in which a general MD5 collects blocks adds nearly half to that (`make
//! bench-md5`). So keys of up to 55 bytes, which fit in one block with the padding, are hashed
//! here, and longer ones by the crate that the tests compare this with. Source: RFC 1321.

/// The longest key that is one block: 64 bytes less one byte 0x80 and eight of length.
const LONGEST: usize = 55;

/// The MD5 of a key as four words, little-endian; `None` when the key is longer than one block.
pub(super) fn words_of(key: &[u8]) -> Option<[u32; 4]> {
    // in a digest of few words the compiler drops the steps that would add a zero
    match key.len() {
        0..=15 => Some(digest::<4>(key)),
        16..=31 => Some(digest::<8>(key)),
        32..=LONGEST => Some(digest::<14>(key)),
        _ => None,
    }
}

/// MD5 of a key of fewer than 4 * LIVE bytes.
#[inline(always)]
fn digest<const LIVE: usize>(key: &[u8]) -> [u32; 4] {
    let block = padded::<LIVE>(key);
    let bits = (key.len() as u32) << 3;
    let [mut a, mut b, mut c, mut d] = START;
    macro_rules! word {
        (14) => {
            bits
        };
        (15) => {
            0
        };
        ($i:literal) => {
            if $i < LIVE {
                block[$i]
            } else {
                0
            }
        };
    }
    macro_rules! step {
        // the two halves of g have no bit in common, so they can be added separately, and neither
        // addition waits for the other half
        (g, $a:ident, $b:ident, $c:ident, $d:ident, $i:tt, $turn:literal, $k:literal) => {
            $a = $a
                .wrapping_add($k)
                .wrapping_add(word!($i))
                .wrapping_add($c & !$d)
                .wrapping_add($b & $d);
            $a = $a.rotate_left($turn).wrapping_add($b);
        };
        ($f:ident, $a:ident, $b:ident, $c:ident, $d:ident, $i:tt, $turn:literal, $k:literal) => {
            $a = $a
                .wrapping_add($k)
                .wrapping_add(word!($i))
                .wrapping_add($f($b, $c, $d));
            $a = $a.rotate_left($turn).wrapping_add($b);
        };
    }
    // constants: the first 32 bits behind the point of |sin(1)|, |sin(2)| ...
    step!(f, a, b, c, d, 0, 7, 0xd76aa478);
    step!(f, d, a, b, c, 1, 12, 0xe8c7b756);
    step!(f, c, d, a, b, 2, 17, 0x242070db);
    step!(f, b, c, d, a, 3, 22, 0xc1bdceee);
    step!(f, a, b, c, d, 4, 7, 0xf57c0faf);
    step!(f, d, a, b, c, 5, 12, 0x4787c62a);
    step!(f, c, d, a, b, 6, 17, 0xa8304613);
    step!(f, b, c, d, a, 7, 22, 0xfd469501);
    step!(f, a, b, c, d, 8, 7, 0x698098d8);
    step!(f, d, a, b, c, 9, 12, 0x8b44f7af);
    step!(f, c, d, a, b, 10, 17, 0xffff5bb1);
    step!(f, b, c, d, a, 11, 22, 0x895cd7be);
    step!(f, a, b, c, d, 12, 7, 0x6b901122);
    step!(f, d, a, b, c, 13, 12, 0xfd987193);
    step!(f, c, d, a, b, 14, 17, 0xa679438e);
    step!(f, b, c, d, a, 15, 22, 0x49b40821);
    step!(g, a, b, c, d, 1, 5, 0xf61e2562);
    step!(g, d, a, b, c, 6, 9, 0xc040b340);
    step!(g, c, d, a, b, 11, 14, 0x265e5a51);
    step!(g, b, c, d, a, 0, 20, 0xe9b6c7aa);
    step!(g, a, b, c, d, 5, 5, 0xd62f105d);
    step!(g, d, a, b, c, 10, 9, 0x02441453);
    step!(g, c, d, a, b, 15, 14, 0xd8a1e681);
    step!(g, b, c, d, a, 4, 20, 0xe7d3fbc8);
    step!(g, a, b, c, d, 9, 5, 0x21e1cde6);
    step!(g, d, a, b, c, 14, 9, 0xc33707d6);
    step!(g, c, d, a, b, 3, 14, 0xf4d50d87);
    step!(g, b, c, d, a, 8, 20, 0x455a14ed);
    step!(g, a, b, c, d, 13, 5, 0xa9e3e905);
    step!(g, d, a, b, c, 2, 9, 0xfcefa3f8);
    step!(g, c, d, a, b, 7, 14, 0x676f02d9);
    step!(g, b, c, d, a, 12, 20, 0x8d2a4c8a);
    step!(h, a, b, c, d, 5, 4, 0xfffa3942);
    step!(h, d, a, b, c, 8, 11, 0x8771f681);
    step!(h, c, d, a, b, 11, 16, 0x6d9d6122);
    step!(h, b, c, d, a, 14, 23, 0xfde5380c);
    step!(h, a, b, c, d, 1, 4, 0xa4beea44);
    step!(h, d, a, b, c, 4, 11, 0x4bdecfa9);
    step!(h, c, d, a, b, 7, 16, 0xf6bb4b60);
    step!(h, b, c, d, a, 10, 23, 0xbebfbc70);
    step!(h, a, b, c, d, 13, 4, 0x289b7ec6);
    step!(h, d, a, b, c, 0, 11, 0xeaa127fa);
    step!(h, c, d, a, b, 3, 16, 0xd4ef3085);
    step!(h, b, c, d, a, 6, 23, 0x04881d05);
    step!(h, a, b, c, d, 9, 4, 0xd9d4d039);
    step!(h, d, a, b, c, 12, 11, 0xe6db99e5);
    step!(h, c, d, a, b, 15, 16, 0x1fa27cf8);
    step!(h, b, c, d, a, 2, 23, 0xc4ac5665);
    step!(i, a, b, c, d, 0, 6, 0xf4292244);
    step!(i, d, a, b, c, 7, 10, 0x432aff97);
    step!(i, c, d, a, b, 14, 15, 0xab9423a7);
    step!(i, b, c, d, a, 5, 21, 0xfc93a039);
    step!(i, a, b, c, d, 12, 6, 0x655b59c3);
    step!(i, d, a, b, c, 3, 10, 0x8f0ccc92);
    step!(i, c, d, a, b, 10, 15, 0xffeff47d);
    step!(i, b, c, d, a, 1, 21, 0x85845dd1);
    step!(i, a, b, c, d, 8, 6, 0x6fa87e4f);
    step!(i, d, a, b, c, 15, 10, 0xfe2ce6e0);
    step!(i, c, d, a, b, 6, 15, 0xa3014314);
    step!(i, b, c, d, a, 13, 21, 0x4e0811a1);
    step!(i, a, b, c, d, 4, 6, 0xf7537e82);
    step!(i, d, a, b, c, 11, 10, 0xbd3af235);
    step!(i, c, d, a, b, 2, 15, 0x2ad7d2bb);
    step!(i, b, c, d, a, 9, 21, 0xeb86d391);
    let [a0, b0, c0, d0] = START;
    [
        a.wrapping_add(a0),
        b.wrapping_add(b0),
        c.wrapping_add(c0),
        d.wrapping_add(d0),
    ]
}

/// The state before the first block.
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

#[inline(always)]
fn f(x: u32, y: u32, z: u32) -> u32 {
    z ^ (x & (y ^ z))
}

#[inline(always)]
fn h(x: u32, y: u32, z: u32) -> u32 {
    x ^ y ^ z
}

#[inline(always)]
fn i(x: u32, y: u32, z: u32) -> u32 {
    y ^ (x | !z)
}

/// The words of a key and the 0x80 behind it; zeros follow.
#[inline(always)]
fn padded<const LIVE: usize>(key: &[u8]) -> [u32; 16] {
    let mut block = [0; 16];
    for (i, four) in block.chunks_exact_mut(4).take(LIVE.div_ceil(4)).enumerate() {
        let words = sixteen(key, i * 16);
        for (word, at) in four.iter_mut().zip([0, 32, 64, 96]) {
            *word = (words >> at) as u32;
        }
    }
    block
}

/// The 16 bytes of the padded key at `at`, little-endian.
///
/// All bytes are loaded at once, and the bits that do not belong are shifted out: keys of mixed
/// lengths would mispredict the end of a loop over bytes, which costs a tenth of the whole MD5.
#[inline(always)]
fn sixteen(key: &[u8], at: usize) -> u128 {
    let Some(rest) = key.get(at..) else { return 0 };
    if let Some(all) = rest.first_chunk() {
        return u128::from_le_bytes(*all);
    }
    let end = 0x80 << (rest.len() * 8);
    if let Some(last) = key.last_chunk() {
        // two shifts, since the sum may be 128
        return u128::from_le_bytes(*last) >> 8 >> ((15 - rest.len()) * 8) | end;
    }
    end | match *key {
        [] => 0,
        [a] => u128::from(a),
        [a, b] => u128::from(a) | u128::from(b) << 8,
        [a, b, c] => u128::from(a) | u128::from(b) << 8 | u128::from(c) << 16,
        _ => match (key.first_chunk(), key.last_chunk()) {
            // the bytes that lie in both are the same, so that `|` leaves them alone
            (Some(first), Some(last)) => {
                u128::from(u64::from_le_bytes(*first))
                    | u128::from(u64::from_le_bytes(*last)) << ((key.len() - 8) * 8)
            }
            _ => {
                let four =
                    |four: Option<&[u8; 4]>| four.map_or(0, |four| u32::from_le_bytes(*four));
                u128::from(four(key.first_chunk()))
                    | u128::from(four(key.last_chunk())) << ((key.len() - 4) * 8)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::{Digest, Md5};

    #[test]
    fn every_length_gives_what_the_crate_gives() {
        let mut seed = 1u32;
        // Miri takes a second for a round
        for round in 0..if cfg!(miri) { 2 } else { 200 } {
            for length in 0..=LONGEST + 9 {
                let key: Vec<u8> = (0..length)
                    .map(|_| {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        if round == 0 {
                            0xff
                        } else {
                            (seed >> 24) as u8
                        }
                    })
                    .collect();
                let bytes = words_of(&key).map(|words| {
                    words
                        .into_iter()
                        .flat_map(u32::to_le_bytes)
                        .collect::<Vec<u8>>()
                });
                let wanted = (length <= LONGEST).then(|| Md5::digest(&key).to_vec());
                assert_eq!(bytes, wanted, "{length} bytes");
            }
        }
    }
}
