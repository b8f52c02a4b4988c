//! Safe code for every processor.

use super::{end, row_of, Isa, Message, Rounds, Span, State, LANES_MAX};

/// Any processor. A register is one number, and `block` is a loop over the groups, which the
/// compiler turns into whatever vector instructions every processor of the kind has.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Isa for Portable {
    type V = u32;
    const LANES: usize = 1;

    #[inline(always)]
    fn splat(self, number: u32) -> u32 {
        number
    }

    #[inline(always)]
    fn read(self, from: &[u32; LANES_MAX]) -> u32 {
        from[0]
    }

    #[inline(always)]
    fn write(self, lanes: u32, to: &mut [u32; LANES_MAX]) {
        to[0] = lanes;
    }

    #[inline(always)]
    fn words(self, bytes: &[u8], keys: &[Span], row: usize) -> [u32; 4] {
        let end = end(keys[0].length, row);
        let row = u128::from_le_bytes(*row_of(bytes, keys[0], row));
        let row = row & u128::from_le_bytes(end.mask) | u128::from_le_bytes(end.mark);
        [
            row as u32,
            (row >> 32) as u32,
            (row >> 64) as u32,
            (row >> 96) as u32,
        ]
    }

    #[inline(always)]
    fn add(self, x: u32, y: u32) -> u32 {
        x.wrapping_add(y)
    }

    #[inline(always)]
    fn xor(self, x: u32, y: u32) -> u32 {
        x ^ y
    }

    #[inline(always)]
    fn and(self, x: u32, y: u32) -> u32 {
        x & y
    }

    #[inline(always)]
    fn or(self, x: u32, y: u32) -> u32 {
        x | y
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: u32) -> u32 {
        x.rotate_left(LEFT as u32)
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
            for group in 0..GROUPS {
                let mut one = [
                    [state[0][group]],
                    [state[1][group]],
                    [state[2][group]],
                    [state[3][group]],
                    [state[4][group]],
                ];
                let word = |at: usize| [message[at][group]];
                let words = [
                    word(0),
                    word(1),
                    word(2),
                    word(3),
                    word(4),
                    word(5),
                    word(6),
                    word(7),
                    word(8),
                    word(9),
                    word(10),
                    word(11),
                    word(12),
                    word(13),
                    word(14),
                    word(15),
                ];
                R::block::<1>(isa, &mut one, &words);
                let [a, b, c, d, e] = one;
                state[0][group] = a[0];
                state[1][group] = b[0];
                state[2][group] = c[0];
                state[3][group] = d[0];
                state[4][group] = e[0];
            }
        }
        apart::<R, GROUPS>(self, state, message)
    }
}
