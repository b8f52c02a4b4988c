//! Vector registers: what the hashes need of them, for each kind of processor.
//!
//! A register holds one number of 32 bits a lane, and each lane belongs to another key. The hashes
//! are written once, over [`Isa`] (md5.rs, sha1.rs).

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(super) use neon::Neon;
pub(super) use portable::Portable;
#[cfg(all(target_arch = "x86_64", stead_avx512))]
pub(super) use x86::Avx512;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Sse2};

use super::keys::Span;

/// The most lanes that a register has.
pub(super) const LANES_MAX: usize = 16;

/// The instructions of a kind of processor. A value exists only where the processor has them.
///
/// Its functions are always inlined, into a function that is compiled for that processor: one of
/// choice.rs, or the one that `block` calls. They are written without closures, which would be
/// compiled for any processor; only the portable code has some.
pub(super) trait Isa: Copy {
    /// A register.
    type V: Copy;
    /// The number of lanes.
    const LANES: usize;

    /// A register with the same number in all lanes.
    fn splat(self, number: u32) -> Self::V;

    /// Reads the first lanes of an array.
    fn read(self, from: &[u32; LANES_MAX]) -> Self::V;

    /// Writes the lanes to the start of an array.
    fn write(self, lanes: Self::V, to: &mut [u32; LANES_MAX]);

    /// Reads 16 bytes of each lane's key, from byte 16 * row on, as four little-endian words;
    /// register i gets word i. What belongs to the key is kept, 0x80 is put behind it, and zeros
    /// follow. The buffer has at least 64 bytes from the start of each key on.
    fn words(self, bytes: &[u8], keys: &[Span], row: usize) -> [Self::V; 4];

    /// The sums, modulo 2^32.
    fn add(self, x: Self::V, y: Self::V) -> Self::V;

    /// Each bit: x ^ y.
    fn xor(self, x: Self::V, y: Self::V) -> Self::V;

    /// Each bit: x & y.
    fn and(self, x: Self::V, y: Self::V) -> Self::V;

    /// Each bit: x | y.
    fn or(self, x: Self::V, y: Self::V) -> Self::V;

    /// Turns each number left by LEFT bits; RIGHT is 32 - LEFT.
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: Self::V) -> Self::V;

    /// Calls [`Rounds::block`] in a function of its own, compiled for this processor. Where the
    /// compiler has more than the block before its eyes, it computes all of one group and then all
    /// of the other, of which neither has something to do while it waits for its last result.
    fn block<R: Rounds<Self>, const GROUPS: usize>(
        self,
        state: &mut State<Self, GROUPS>,
        message: &Message<Self, GROUPS>,
    );

    /// Each bit: x where `choose` is set, otherwise y.
    #[inline(always)]
    fn choose(self, choose: Self::V, x: Self::V, y: Self::V) -> Self::V {
        self.xor(y, self.and(choose, self.xor(x, y)))
    }

    /// Each bit: x ^ y ^ z.
    #[inline(always)]
    fn parity(self, x: Self::V, y: Self::V, z: Self::V) -> Self::V {
        self.xor(self.xor(x, y), z)
    }

    /// Each bit: whether at least two are set.
    #[inline(always)]
    fn majority(self, x: Self::V, y: Self::V, z: Self::V) -> Self::V {
        self.or(self.and(x, y), self.and(z, self.or(x, y)))
    }

    /// Each bit: y ^ (x | !z), the function I of MD5.
    #[inline(always)]
    fn md5_i(self, x: Self::V, y: Self::V, z: Self::V) -> Self::V {
        let all = self.splat(u32::MAX);
        self.xor(y, self.or(x, self.xor(z, all)))
    }

    /// Each number with its four bytes in the opposite order.
    #[inline(always)]
    fn swap_bytes(self, x: Self::V) -> Self::V {
        let (even, odd) = (self.splat(0x00ff_00ff), self.splat(0xff00_ff00));
        self.or(
            self.and(self.rotate::<8, 24>(x), even),
            self.and(self.rotate::<24, 8>(x), odd),
        )
    }
}

/// The 16 words of a block, of GROUPS registers of keys.
pub(super) type Message<I, const GROUPS: usize> = [[<I as Isa>::V; GROUPS]; 16];

/// The words between blocks, for GROUPS registers of keys. A hash of four words ignores the fifth.
pub(super) type State<I, const GROUPS: usize> = [[<I as Isa>::V; GROUPS]; 5];

/// A hash whose blocks have 64 bytes, and whose messages end with 0x80, zeros and their length in
/// bits.
pub(super) trait Rounds<I: Isa> {
    /// The state before the first block.
    const START: [u32; 5];
    /// Whether the words of messages and digests, and the length, are big-endian.
    const BIG_ENDIAN: bool;

    /// Adds a block to the state.
    fn block<const GROUPS: usize>(
        isa: I,
        state: &mut State<I, GROUPS>,
        message: &Message<I, GROUPS>,
    );
}

/// How 16 bytes of a message end: `bytes & mask | mark`.
#[repr(align(32))]
struct End {
    mask: [u8; 16],
    mark: [u8; 16],
}

/// How 16 bytes of the message of a key of `length` bytes end, from byte 16 * row on.
#[inline(always)]
fn end(length: usize, row: usize) -> &'static End {
    &ENDS[(length + 1).saturating_sub(16 * row).min(17)]
}

/// Sixteen bytes of a lane's key, from byte 16 * row on.
#[inline(always)]
fn row_of(bytes: &[u8], key: Span, row: usize) -> &[u8; 16] {
    let from = bytes.get(key.start..).and_then(|key| key.get(16 * row..));
    from.and_then(|row| row.first_chunk()).unwrap_or(&[0; 16])
}

/// At 0 nothing is kept; at 1 + n the message ends behind n bytes; at 17 all is kept, and the
/// message goes on.
static ENDS: [End; 18] = {
    const NONE: End = End {
        mask: [0; 16],
        mark: [0; 16],
    };
    let mut ends = [NONE; 18];
    let mut at = 1;
    while at < 18 {
        let mut byte = 0;
        while byte < at - 1 {
            ends[at].mask[byte] = 0xff;
            byte += 1;
        }
        if at < 17 {
            ends[at].mark[byte] = 0x80;
        }
        at += 1;
    }
    ends
};
