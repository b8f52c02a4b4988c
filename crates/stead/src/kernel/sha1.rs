//! SHA-1 (RFC 3174), one block of several messages at a time.

use super::isa::Isa;
use super::message::{Message, Rounds};

/// SHA-1.
pub(super) struct Sha1;

impl<I: Isa> Rounds<I> for Sha1 {
    const START: [u32; 5] = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    const BIG_ENDIAN: bool = true;

    #[inline(always)]
    fn block<const GROUPS: usize, const LIVE: usize>(
        isa: I,
        state: &mut [[I::V; GROUPS]; 5],
        message: &Message<I, GROUPS>,
    ) {
        let mut group = 0;
        while group < GROUPS {
            let start = [
                state[0][group],
                state[1][group],
                state[2][group],
                state[3][group],
                state[4][group],
            ];
            let [mut a, mut b, mut c, mut d, mut e] = start;
            // the last 16 words of the schedule
            let mut words = [isa.splat(0); 16];
            let mut i = 0;
            while i < 16 {
                words[i] = message[i][group];
                i += 1;
            }
            macro_rules! twenty {
                ($from:literal, $k:literal, $f:ident) => {
                    let constant = isa.splat($k);
                    let mut i = $from;
                    while i < $from + 20 {
                        if i >= 16 {
                            let sum = isa.xor(words[(i + 13) % 16], words[(i + 8) % 16]);
                            let sum = isa.parity(sum, words[(i + 2) % 16], words[i % 16]);
                            words[i % 16] = isa.rotate::<1, 31>(sum);
                        }
                        let sum = isa.add(isa.rotate::<5, 27>(a), isa.$f(b, c, d));
                        let sum = isa.add(isa.add(sum, e), isa.add(constant, words[i % 16]));
                        (e, d, c, b, a) = (d, c, isa.rotate::<30, 2>(b), a, sum);
                        i += 1;
                    }
                };
            }
            // constants: 2^30 times the square roots of 2, 3, 5 and 10
            twenty!(0, 0x5a82_7999, choose);
            twenty!(20, 0x6ed9_eba1, parity);
            twenty!(40, 0x8f1b_bcdc, majority);
            twenty!(60, 0xca62_c1d6, parity);
            state[0][group] = isa.add(start[0], a);
            state[1][group] = isa.add(start[1], b);
            state[2][group] = isa.add(start[2], c);
            state[3][group] = isa.add(start[3], d);
            state[4][group] = isa.add(start[4], e);
            group += 1;
        }
    }
}
