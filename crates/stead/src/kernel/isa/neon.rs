//! NEON, which every 64-bit ARM processor has: 4 lanes.

// one reason for all: the processor has the instructions
#![allow(unsafe_code, clippy::multiple_unsafe_ops_per_block)]

use std::arch::aarch64::*;

use super::{end, row_of, Isa, Message, Rounds, Span, State, LANES_MAX};

/// A 64-bit ARM processor.
#[derive(Clone, Copy)]
pub(crate) struct Neon;

/// Reads 16 bytes of a lane: see [`Isa::words`].
#[inline(always)]
fn read_row(bytes: &[u8], key: Span, row: usize) -> uint32x4_t {
    let (bytes, end) = (row_of(bytes, key, row), end(key.length, row));
    // SAFETY: every 64-bit ARM processor has NEON, and each pointer is made of a reference to 16
    // bytes
    unsafe {
        let (mask, mark) = (vld1q_u8(end.mask.as_ptr()), vld1q_u8(end.mark.as_ptr()));
        vreinterpretq_u32_u8(vorrq_u8(vandq_u8(vld1q_u8(bytes.as_ptr()), mask), mark))
    }
}

impl Isa for Neon {
    type V = uint32x4_t;
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, number: u32) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { vdupq_n_u32(number) }
    }

    #[inline(always)]
    fn read(self, from: &[u32; LANES_MAX]) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON, and there are at least four numbers
        unsafe { vld1q_u32(from.as_ptr()) }
    }

    #[inline(always)]
    fn write(self, lanes: uint32x4_t, to: &mut [u32; LANES_MAX]) {
        // SAFETY: every 64-bit ARM processor has NEON, and there is room for at least four numbers
        unsafe { vst1q_u32(to.as_mut_ptr(), lanes) }
    }

    #[inline(always)]
    fn words(self, bytes: &[u8], keys: &[Span], row: usize) -> [uint32x4_t; 4] {
        let r0 = read_row(bytes, keys[0], row);
        let r1 = read_row(bytes, keys[1], row);
        let r2 = read_row(bytes, keys[2], row);
        let r3 = read_row(bytes, keys[3], row);
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe {
            let (a, b) = (vzip1q_u32(r0, r2), vzip2q_u32(r0, r2));
            let (c, d) = (vzip1q_u32(r1, r3), vzip2q_u32(r1, r3));
            [
                vzip1q_u32(a, c),
                vzip2q_u32(a, c),
                vzip1q_u32(b, d),
                vzip2q_u32(b, d),
            ]
        }
    }

    #[inline(always)]
    fn add(self, x: uint32x4_t, y: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { vaddq_u32(x, y) }
    }

    #[inline(always)]
    fn xor(self, x: uint32x4_t, y: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { veorq_u32(x, y) }
    }

    #[inline(always)]
    fn and(self, x: uint32x4_t, y: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { vandq_u32(x, y) }
    }

    #[inline(always)]
    fn or(self, x: uint32x4_t, y: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { vorrq_u32(x, y) }
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { vsriq_n_u32::<RIGHT>(vshlq_n_u32::<LEFT>(x), x) }
    }

    #[inline(always)]
    fn block<R: Rounds<Self>, const GROUPS: usize>(
        self,
        state: &mut State<Self, GROUPS>,
        message: &Message<Self, GROUPS>,
    ) {
        #[inline(never)]
        fn apart<R: Rounds<Neon>, const GROUPS: usize>(
            isa: Neon,
            state: &mut State<Neon, GROUPS>,
            message: &Message<Neon, GROUPS>,
        ) {
            R::block(isa, state, message);
        }
        apart::<R, GROUPS>(self, state, message)
    }

    #[inline(always)]
    fn choose(self, choose: uint32x4_t, x: uint32x4_t, y: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { vbslq_u32(choose, x, y) }
    }

    #[inline(always)]
    fn md5_i(self, x: uint32x4_t, y: uint32x4_t, z: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { veorq_u32(y, vornq_u32(x, z)) }
    }

    #[inline(always)]
    fn swap_bytes(self, x: uint32x4_t) -> uint32x4_t {
        // SAFETY: every 64-bit ARM processor has NEON
        unsafe { vreinterpretq_u32_u8(vrev32q_u8(vreinterpretq_u8_u32(x))) }
    }
}
