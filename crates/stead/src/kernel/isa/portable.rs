//! Four lanes in safe code, for every processor.

use super::{Isa, Rows, LANES_MAX};

/// Any processor. The compiler makes vectors of the arrays where it can.
#[derive(Clone, Copy)]
pub(in crate::kernel) struct Portable;

type V = [u32; 4];

macro_rules! lanes {
    ($i:ident => $lane:expr) => {{
        let mut out = [0; 4];
        let mut $i = 0;
        while $i < 4 {
            out[$i] = $lane;
            $i += 1;
        }
        out
    }};
}

#[allow(clippy::indexing_slicing)] // all arrays have at least four lanes
impl Isa for Portable {
    type V = V;
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(self, number: u32) -> V {
        [number; 4]
    }

    #[inline(always)]
    fn read(self, from: &[u32; LANES_MAX]) -> V {
        lanes!(i => from[i])
    }

    #[inline(always)]
    fn write(self, lanes: V, to: &mut [u32; LANES_MAX]) {
        to[..4].copy_from_slice(&lanes);
    }

    #[inline(always)]
    fn words(self, rows: &Rows<'_>) -> [V; 4] {
        let mut words = [[0; 4]; 4];
        for lane in 0..4 {
            let end = rows.ends[lane];
            let row = u128::from_le_bytes(*rows.bytes[lane]) & u128::from_le_bytes(end.mask)
                | u128::from_le_bytes(end.mark);
            for (word, lanes) in words.iter_mut().enumerate() {
                lanes[lane] = (row >> (32 * word)) as u32;
            }
        }
        words
    }

    #[inline(always)]
    fn add(self, x: V, y: V) -> V {
        lanes!(i => x[i].wrapping_add(y[i]))
    }

    #[inline(always)]
    fn xor(self, x: V, y: V) -> V {
        lanes!(i => x[i] ^ y[i])
    }

    #[inline(always)]
    fn and(self, x: V, y: V) -> V {
        lanes!(i => x[i] & y[i])
    }

    #[inline(always)]
    fn or(self, x: V, y: V) -> V {
        lanes!(i => x[i] | y[i])
    }

    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self, x: V) -> V {
        lanes!(i => x[i] << LEFT | x[i] >> RIGHT)
    }
}
