//! Three lanes in safe code, for every processor.

use std::array::from_fn;

use super::{end, row_of, Isa, Message, Rounds, Span, State, LANES_MAX};

/// Any processor: while one lane waits for its last result, the others are computed. Three is the
/// most for which a processor with 16 registers has room.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

type V = [u32; 3];

impl Isa for Portable {
    type V = V;
    const LANES: usize = 3;

    #[inline(always)]
    fn splat(self, number: u32) -> V {
        [number; 3]
    }

    #[inline(always)]
    fn read(self, from: &[u32; LANES_MAX]) -> V {
        from_fn(|i| from[i])
    }

    #[inline(always)]
    fn write(self, lanes: V, to: &mut [u32; LANES_MAX]) {
        to[..3].copy_from_slice(&lanes);
    }

    #[inline(always)]
    fn words(self, bytes: &[u8], keys: &[Span], row: usize) -> [V; 4] {
        let rows: [u128; 3] = from_fn(|lane| {
            let end = end(keys[lane].length, row);
            u128::from_le_bytes(*row_of(bytes, keys[lane], row)) & u128::from_le_bytes(end.mask)
                | u128::from_le_bytes(end.mark)
        });
        from_fn(|word| from_fn(|lane| (rows[lane] >> (32 * word)) as u32))
    }

    #[inline(always)]
    fn add(self, x: V, y: V) -> V {
        from_fn(|i| x[i].wrapping_add(y[i]))
    }

    #[inline(always)]
    fn xor(self, x: V, y: V) -> V {
        from_fn(|i| x[i] ^ y[i])
    }

    #[inline(always)]
    fn and(self, x: V, y: V) -> V {
        from_fn(|i| x[i] & y[i])
    }

    #[inline(always)]
    fn or(self, x: V, y: V) -> V {
        from_fn(|i| x[i] | y[i])
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: V) -> V {
        from_fn(|i| x[i].rotate_left(LEFT as u32))
    }

    #[inline(always)]
    fn block<R: Rounds<Self>, const GROUPS: usize>(
        self,
        state: &mut State<Self, GROUPS>,
        message: &Message<Self, GROUPS>,
    ) {
        #[inline(never)]
        fn apart<R: Rounds<Portable>, const GROUPS: usize>(
            isa: Portable,
            state: &mut State<Portable, GROUPS>,
            message: &Message<Portable, GROUPS>,
        ) {
            R::block(isa, state, message);
        }
        apart::<R, GROUPS>(self, state, message)
    }
}
