//! SSE2, AVX2 and AVX-512: 4, 8 and 16 lanes.
//!
//! Some of the unsafe code of stead. It is of two kinds only: an instruction is used by a value
//! that exists where the processor has it, and 16 bytes or 16 numbers are read and written through
//! a reference to as many.

// the macros and expressions below have one reason for all of their instructions
#![allow(unsafe_code, clippy::multiple_unsafe_ops_per_block)]

use std::arch::x86_64::*;

use super::{end, row_of, Isa, Message, Rounds, Span, State, LANES_MAX};

/// A processor with SSE2, which every x86-64 processor has.
#[derive(Clone, Copy)]
pub(crate) struct Sse2;

/// A processor with AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// `None` if this processor does not have it.
    pub(crate) fn here() -> Option<Avx2> {
        std::arch::is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

/// Reads 16 bytes of a lane: see [`Isa::words`].
#[inline(always)]
fn read_row(bytes: &[u8], key: Span, row: usize) -> __m128i {
    let (bytes, end) = (row_of(bytes, key, row), end(key.length, row));
    // SAFETY: SSE2 is there on every x86-64 processor, and each pointer is made of a reference to
    // 16 bytes
    unsafe {
        let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
        let mask = _mm_loadu_si128(end.mask.as_ptr().cast());
        let mark = _mm_loadu_si128(end.mark.as_ptr().cast());
        _mm_or_si128(_mm_and_si128(bytes, mask), mark)
    }
}

/// Turns four registers whose parts of 128 bits hold a row each into four of a word each.
macro_rules! transposed {
    ($rows:expr, $lo32:ident, $hi32:ident, $lo64:ident, $hi64:ident) => {{
        let [r0, r1, r2, r3] = $rows;
        let (a, b) = ($lo32(r0, r1), $hi32(r0, r1));
        let (c, d) = ($lo32(r2, r3), $hi32(r2, r3));
        [$lo64(a, c), $hi64(a, c), $lo64(b, d), $hi64(b, d)]
    }};
}

impl Isa for Sse2 {
    type V = __m128i;
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, number: u32) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2
        unsafe { _mm_set1_epi32(number as i32) }
    }

    #[inline(always)]
    fn read(self, from: &[u32; LANES_MAX]) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2, and there are at least four numbers
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn write(self, lanes: __m128i, to: &mut [u32; LANES_MAX]) {
        // SAFETY: every x86-64 processor has SSE2, and there is room for at least four numbers
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), lanes) }
    }

    #[inline(always)]
    fn words(self, bytes: &[u8], keys: &[Span], row: usize) -> [__m128i; 4] {
        let four = [
            read_row(bytes, keys[0], row),
            read_row(bytes, keys[1], row),
            read_row(bytes, keys[2], row),
            read_row(bytes, keys[3], row),
        ];
        // SAFETY: every x86-64 processor has SSE2
        unsafe {
            transposed!(
                four,
                _mm_unpacklo_epi32,
                _mm_unpackhi_epi32,
                _mm_unpacklo_epi64,
                _mm_unpackhi_epi64
            )
        }
    }

    #[inline(always)]
    fn add(self, x: __m128i, y: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2
        unsafe { _mm_add_epi32(x, y) }
    }

    #[inline(always)]
    fn xor(self, x: __m128i, y: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2
        unsafe { _mm_xor_si128(x, y) }
    }

    #[inline(always)]
    fn and(self, x: __m128i, y: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2
        unsafe { _mm_and_si128(x, y) }
    }

    #[inline(always)]
    fn or(self, x: __m128i, y: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2
        unsafe { _mm_or_si128(x, y) }
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: __m128i) -> __m128i {
        // SAFETY: every x86-64 processor has SSE2
        unsafe { _mm_or_si128(_mm_slli_epi32::<LEFT>(x), _mm_srli_epi32::<RIGHT>(x)) }
    }

    #[inline(always)]
    fn block<R: Rounds<Self>, const GROUPS: usize>(
        self,
        state: &mut State<Self, GROUPS>,
        message: &Message<Self, GROUPS>,
    ) {
        #[inline(never)]
        fn apart<R: Rounds<Sse2>, const GROUPS: usize>(
            isa: Sse2,
            state: &mut State<Sse2, GROUPS>,
            message: &Message<Sse2, GROUPS>,
        ) {
            R::block(isa, state, message);
        }
        apart::<R, GROUPS>(self, state, message)
    }
}

impl Isa for Avx2 {
    type V = __m256i;
    const LANES: usize = 8;

    #[inline(always)]
    fn splat(self, number: u32) -> __m256i {
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe { _mm256_set1_epi32(number as i32) }
    }

    #[inline(always)]
    fn read(self, from: &[u32; LANES_MAX]) -> __m256i {
        // SAFETY: an Avx2 exists only where the processor has AVX2, and there are 16 numbers
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn write(self, lanes: __m256i, to: &mut [u32; LANES_MAX]) {
        // SAFETY: an Avx2 exists only where the processor has AVX2, and there is room for 16
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), lanes) }
    }

    #[inline(always)]
    fn words(self, bytes: &[u8], keys: &[Span], row: usize) -> [__m256i; 4] {
        macro_rules! pair {
            ($lane:literal) => {{
                let low = read_row(bytes, keys[$lane], row);
                let high = read_row(bytes, keys[$lane + 4], row);
                _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
            }};
        }
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe {
            let pairs = [pair!(0), pair!(1), pair!(2), pair!(3)];
            transposed!(
                pairs,
                _mm256_unpacklo_epi32,
                _mm256_unpackhi_epi32,
                _mm256_unpacklo_epi64,
                _mm256_unpackhi_epi64
            )
        }
    }

    #[inline(always)]
    fn add(self, x: __m256i, y: __m256i) -> __m256i {
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe { _mm256_add_epi32(x, y) }
    }

    #[inline(always)]
    fn xor(self, x: __m256i, y: __m256i) -> __m256i {
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe { _mm256_xor_si256(x, y) }
    }

    #[inline(always)]
    fn and(self, x: __m256i, y: __m256i) -> __m256i {
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe { _mm256_and_si256(x, y) }
    }

    #[inline(always)]
    fn or(self, x: __m256i, y: __m256i) -> __m256i {
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe { _mm256_or_si256(x, y) }
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: __m256i) -> __m256i {
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe { _mm256_or_si256(_mm256_slli_epi32::<LEFT>(x), _mm256_srli_epi32::<RIGHT>(x)) }
    }

    #[inline(always)]
    fn block<R: Rounds<Self>, const GROUPS: usize>(
        self,
        state: &mut State<Self, GROUPS>,
        message: &Message<Self, GROUPS>,
    ) {
        #[inline(never)]
        #[target_feature(enable = "avx2")]
        unsafe fn apart<R: Rounds<Avx2>, const GROUPS: usize>(
            isa: Avx2,
            state: &mut State<Avx2, GROUPS>,
            message: &Message<Avx2, GROUPS>,
        ) {
            R::block(isa, state, message);
        }
        // SAFETY: an Avx2 exists only where the processor has AVX2
        unsafe { apart::<R, GROUPS>(self, state, message) }
    }
}

#[cfg(stead_avx512)]
#[allow(clippy::incompatible_msrv)] // build.rs sets the cfg for compilers that have them
mod avx512 {
    use super::*;

    /// A processor with AVX-512F.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(());

    impl Avx512 {
        /// `None` if this processor does not have it.
        pub(crate) fn here() -> Option<Avx512> {
            std::arch::is_x86_feature_detected!("avx512f").then_some(Avx512(()))
        }
    }

    /// The truth table of a function of three bits, as the instruction takes it.
    const fn table(bit: [u8; 8]) -> i32 {
        let mut table = 0;
        let mut row = 0;
        while row < 8 {
            table |= (bit[row] as i32) << row;
            row += 1;
        }
        table
    }

    // row 4 * x + 2 * y + z of each table is the function's bit
    const CHOOSE: i32 = table([0, 1, 0, 1, 0, 0, 1, 1]);
    const PARITY: i32 = table([0, 1, 1, 0, 1, 0, 0, 1]);
    const MAJORITY: i32 = table([0, 0, 0, 1, 0, 1, 1, 1]);
    const MD5_I: i32 = table([1, 0, 0, 1, 1, 1, 0, 0]);

    impl Isa for Avx512 {
        type V = __m512i;
        const LANES: usize = 16;

        #[inline(always)]
        fn splat(self, number: u32) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_set1_epi32(number as i32) }
        }

        #[inline(always)]
        fn read(self, from: &[u32; LANES_MAX]) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F; there are 16 numbers
            unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
        }

        #[inline(always)]
        fn write(self, lanes: __m512i, to: &mut [u32; LANES_MAX]) {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F; there is room for 16
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), lanes) }
        }

        #[inline(always)]
        fn words(self, bytes: &[u8], keys: &[Span], row: usize) -> [__m512i; 4] {
            macro_rules! four {
                ($lane:literal) => {{
                    let one = read_row(bytes, keys[$lane], row);
                    let two = read_row(bytes, keys[$lane + 4], row);
                    let three = read_row(bytes, keys[$lane + 8], row);
                    let four = read_row(bytes, keys[$lane + 12], row);
                    let four = _mm512_inserti32x4::<3>(_mm512_castsi128_si512(one), four);
                    _mm512_inserti32x4::<2>(_mm512_inserti32x4::<1>(four, two), three)
                }};
            }
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe {
                let fours = [four!(0), four!(1), four!(2), four!(3)];
                transposed!(
                    fours,
                    _mm512_unpacklo_epi32,
                    _mm512_unpackhi_epi32,
                    _mm512_unpacklo_epi64,
                    _mm512_unpackhi_epi64
                )
            }
        }

        #[inline(always)]
        fn add(self, x: __m512i, y: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_add_epi32(x, y) }
        }

        #[inline(always)]
        fn xor(self, x: __m512i, y: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_xor_si512(x, y) }
        }

        #[inline(always)]
        fn and(self, x: __m512i, y: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_and_si512(x, y) }
        }

        #[inline(always)]
        fn or(self, x: __m512i, y: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_or_si512(x, y) }
        }

        #[inline(always)]
        fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_rol_epi32::<LEFT>(x) }
        }

        #[inline(always)]
        fn block<R: Rounds<Self>, const GROUPS: usize>(
            self,
            state: &mut State<Self, GROUPS>,
            message: &Message<Self, GROUPS>,
        ) {
            #[inline(never)]
            #[target_feature(enable = "avx512f")]
            unsafe fn apart<R: Rounds<Avx512>, const GROUPS: usize>(
                isa: Avx512,
                state: &mut State<Avx512, GROUPS>,
                message: &Message<Avx512, GROUPS>,
            ) {
                R::block(isa, state, message);
            }
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { apart::<R, GROUPS>(self, state, message) }
        }

        #[inline(always)]
        fn choose(self, choose: __m512i, x: __m512i, y: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_ternarylogic_epi32::<CHOOSE>(choose, x, y) }
        }

        #[inline(always)]
        fn parity(self, x: __m512i, y: __m512i, z: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_ternarylogic_epi32::<PARITY>(x, y, z) }
        }

        #[inline(always)]
        fn majority(self, x: __m512i, y: __m512i, z: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_ternarylogic_epi32::<MAJORITY>(x, y, z) }
        }

        #[inline(always)]
        fn md5_i(self, x: __m512i, y: __m512i, z: __m512i) -> __m512i {
            // SAFETY: an Avx512 exists only where the processor has AVX-512F
            unsafe { _mm512_ternarylogic_epi32::<MD5_I>(x, y, z) }
        }
    }
}
#[cfg(stead_avx512)]
pub(crate) use avx512::Avx512;
