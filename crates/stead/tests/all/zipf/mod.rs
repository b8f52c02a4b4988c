//! A made-up log of accesses in which a few keys are hot: Zipf's law with the exponent 1. The key
//! of rank k has a chance of 1/k to that of the first.
//!
//! Used by the test load.rs, and by the example zipf.rs of the program. An access depends only on
//! its number and the seed, so two runs make the same log.

/// A log of accesses to so many keys.
#[derive(Clone)]
pub struct Zipf {
    /// for each rank the chance of this rank or one before it
    below: Vec<f64>,
    /// for each of equal parts of all chances the first rank in it
    starts: Vec<u32>,
    seed: u64,
}

impl Zipf {
    /// Makes a log.
    pub fn new(keys: usize, seed: u64) -> Zipf {
        let whole: f64 = (1..=keys).map(|rank| 1.0 / rank as f64).sum();
        let mut sum = 0.0;
        let below: Vec<f64> = (1..=keys)
            .map(|rank| {
                sum += 1.0 / rank as f64 / whole;
                sum
            })
            .collect();
        let start = |part: usize| {
            let chance = part as f64 / keys as f64;
            below.partition_point(|below| *below <= chance) as u32
        };
        let starts = (0..=keys).map(start).collect();
        Zipf {
            below,
            starts,
            seed: mixed(seed),
        }
    }

    /// Returns the rank of the key of an access, from 0.
    pub fn rank(&self, access: u64) -> usize {
        let random = mixed(self.seed ^ mixed(access));
        let chance = (random >> 11) as f64 / (1u64 << 53) as f64;
        let start = self.starts[(chance * self.below.len() as f64) as usize] as usize;
        let further = self.below[start..]
            .iter()
            .take_while(|below| **below <= chance)
            .count();
        (start + further).min(self.below.len() - 1)
    }

    /// Returns the key of a rank: `user` and a number that says nothing about the rank.
    pub fn key(rank: usize) -> String {
        format!("user{:x}", mixed(rank as u64) >> 24)
    }
}

/// The generator SplitMix64, whose numbers pass for random.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
