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

/// The most lanes that a register has.
pub(super) const LANES_MAX: usize = 16;

/// The instructions of a kind of processor. A value exists only where the processor has them.
///
/// All functions are always inlined, into a function that is compiled for that processor
/// (choice.rs). They are written without closures: those would be compiled for any processor.
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

    /// Reads 16 bytes a lane: for each lane `row & mask | mark`, as four little-endian words, of
    /// which register i gets word i. Rows, masks and marks behind the last lane are not read.
    fn words(self, rows: &Rows<'_>) -> [Self::V; 4];

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

/// Sixteen bytes of each lane's key, and which of them belong to the message.
pub(super) struct Rows<'a> {
    /// The bytes.
    pub(super) bytes: [&'a [u8; 16]; LANES_MAX],
    /// What to keep of them, and what to put behind.
    pub(super) ends: [&'static End; LANES_MAX],
}

/// How 16 bytes of a message end: `bytes & mask | mark`.
#[repr(align(16))]
pub(super) struct End {
    pub(super) mask: [u8; 16],
    pub(super) mark: [u8; 16],
}

impl End {
    /// Keeps nothing: the message has ended before.
    pub(super) const BEHIND: &'static End = &ENDS[0];

    /// The end of bytes of which `kept` belong to the message, which ends behind them with a byte
    /// 0x80. `None` when all 16 belong to it.
    #[allow(clippy::indexing_slicing)] // min makes it a number of the table
    #[inline(always)]
    pub(super) fn of(length: usize, row: usize) -> &'static End {
        &ENDS[(length + 1).saturating_sub(16 * row).min(17)]
    }
}

/// At 0 nothing is kept; at 1 + n the message ends behind n bytes; at 17 all is kept, and the
/// message goes on.
#[allow(clippy::indexing_slicing)] // computed by the compiler, which would say so
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
