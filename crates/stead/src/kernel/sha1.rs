//! SHA-1 (RFC 3174), one block of several messages at a time.

use super::isa::{Isa, Message, Rounds, State};

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
    fn block<const GROUPS: usize>(
        isa: I,
        state: &mut State<I, GROUPS>,
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
            let mut word = 0;
            while word < 16 {
                words[word] = message[word][group];
                word += 1;
            }
            // constants: 2^30 times the square roots of 2, 3, 5 and 10
            let [k0, k1, k2, k3] = [
                isa.splat(0x5a82_7999),
                isa.splat(0x6ed9_eba1),
                isa.splat(0x8f1b_bcdc),
                isa.splat(0xca62_c1d6),
            ];
            macro_rules! step {
                ($i:literal, $a:ident, $b:ident, $c:ident, $d:ident, $e:ident, $f:ident, $k:ident) => {
                    if $i >= 16 {
                        let sum = isa.xor(words[($i + 13) % 16], words[($i + 8) % 16]);
                        let sum = isa.parity(sum, words[($i + 2) % 16], words[$i % 16]);
                        words[$i % 16] = isa.rotate::<1, 31>(sum);
                    }
                    let sum = isa.add(isa.add($e, $k), words[$i % 16]);
                    let sum = isa.add(sum, isa.$f($b, $c, $d));
                    $e = isa.add(sum, isa.rotate::<5, 27>($a));
                    $b = isa.rotate::<30, 2>($b);
                };
            }
            step!(0, a, b, c, d, e, choose, k0);
            step!(1, e, a, b, c, d, choose, k0);
            step!(2, d, e, a, b, c, choose, k0);
            step!(3, c, d, e, a, b, choose, k0);
            step!(4, b, c, d, e, a, choose, k0);
            step!(5, a, b, c, d, e, choose, k0);
            step!(6, e, a, b, c, d, choose, k0);
            step!(7, d, e, a, b, c, choose, k0);
            step!(8, c, d, e, a, b, choose, k0);
            step!(9, b, c, d, e, a, choose, k0);
            step!(10, a, b, c, d, e, choose, k0);
            step!(11, e, a, b, c, d, choose, k0);
            step!(12, d, e, a, b, c, choose, k0);
            step!(13, c, d, e, a, b, choose, k0);
            step!(14, b, c, d, e, a, choose, k0);
            step!(15, a, b, c, d, e, choose, k0);
            step!(16, e, a, b, c, d, choose, k0);
            step!(17, d, e, a, b, c, choose, k0);
            step!(18, c, d, e, a, b, choose, k0);
            step!(19, b, c, d, e, a, choose, k0);
            step!(20, a, b, c, d, e, parity, k1);
            step!(21, e, a, b, c, d, parity, k1);
            step!(22, d, e, a, b, c, parity, k1);
            step!(23, c, d, e, a, b, parity, k1);
            step!(24, b, c, d, e, a, parity, k1);
            step!(25, a, b, c, d, e, parity, k1);
            step!(26, e, a, b, c, d, parity, k1);
            step!(27, d, e, a, b, c, parity, k1);
            step!(28, c, d, e, a, b, parity, k1);
            step!(29, b, c, d, e, a, parity, k1);
            step!(30, a, b, c, d, e, parity, k1);
            step!(31, e, a, b, c, d, parity, k1);
            step!(32, d, e, a, b, c, parity, k1);
            step!(33, c, d, e, a, b, parity, k1);
            step!(34, b, c, d, e, a, parity, k1);
            step!(35, a, b, c, d, e, parity, k1);
            step!(36, e, a, b, c, d, parity, k1);
            step!(37, d, e, a, b, c, parity, k1);
            step!(38, c, d, e, a, b, parity, k1);
            step!(39, b, c, d, e, a, parity, k1);
            step!(40, a, b, c, d, e, majority, k2);
            step!(41, e, a, b, c, d, majority, k2);
            step!(42, d, e, a, b, c, majority, k2);
            step!(43, c, d, e, a, b, majority, k2);
            step!(44, b, c, d, e, a, majority, k2);
            step!(45, a, b, c, d, e, majority, k2);
            step!(46, e, a, b, c, d, majority, k2);
            step!(47, d, e, a, b, c, majority, k2);
            step!(48, c, d, e, a, b, majority, k2);
            step!(49, b, c, d, e, a, majority, k2);
            step!(50, a, b, c, d, e, majority, k2);
            step!(51, e, a, b, c, d, majority, k2);
            step!(52, d, e, a, b, c, majority, k2);
            step!(53, c, d, e, a, b, majority, k2);
            step!(54, b, c, d, e, a, majority, k2);
            step!(55, a, b, c, d, e, majority, k2);
            step!(56, e, a, b, c, d, majority, k2);
            step!(57, d, e, a, b, c, majority, k2);
            step!(58, c, d, e, a, b, majority, k2);
            step!(59, b, c, d, e, a, majority, k2);
            step!(60, a, b, c, d, e, parity, k3);
            step!(61, e, a, b, c, d, parity, k3);
            step!(62, d, e, a, b, c, parity, k3);
            step!(63, c, d, e, a, b, parity, k3);
            step!(64, b, c, d, e, a, parity, k3);
            step!(65, a, b, c, d, e, parity, k3);
            step!(66, e, a, b, c, d, parity, k3);
            step!(67, d, e, a, b, c, parity, k3);
            step!(68, c, d, e, a, b, parity, k3);
            step!(69, b, c, d, e, a, parity, k3);
            step!(70, a, b, c, d, e, parity, k3);
            step!(71, e, a, b, c, d, parity, k3);
            step!(72, d, e, a, b, c, parity, k3);
            step!(73, c, d, e, a, b, parity, k3);
            step!(74, b, c, d, e, a, parity, k3);
            step!(75, a, b, c, d, e, parity, k3);
            step!(76, e, a, b, c, d, parity, k3);
            step!(77, d, e, a, b, c, parity, k3);
            step!(78, c, d, e, a, b, parity, k3);
            step!(79, b, c, d, e, a, parity, k3);
            state[0][group] = isa.add(start[0], a);
            state[1][group] = isa.add(start[1], b);
            state[2][group] = isa.add(start[2], c);
            state[3][group] = isa.add(start[3], d);
            state[4][group] = isa.add(start[4], e);
            group += 1;
        }
    }
}
