//! What the point of a short key costs under MD5: ours of one block against the md-5 crate, in
//! turns, medians of rounds.

use std::hint::black_box;
use std::time::Instant;

use md5::{Digest, Md5};
use stead::hash::Hash;

const ROUNDS: usize = 101;
const KEYS: usize = 20_000;

fn main() {
    println!(
        "{:>12} {:>10} {:>10} {:>12}",
        "key bytes", "crate ns", "ours ns", "ours / crate"
    );
    for pad in [0, 10, 30] {
        let keys: Vec<String> = (0..KEYS)
            .map(|i| format!("user{:0pad$}", i * 7919 % 1_000_003))
            .collect();
        let longest = keys.iter().map(String::len).max().unwrap_or(0);
        let general = || {
            time(&keys, |key| {
                Md5::digest(key)
                    .iter()
                    .take(8)
                    .fold(0, |point, byte| point << 8 | u64::from(*byte))
            })
        };
        let ours = || time(&keys, |key| Hash::Md5.point(key).0);
        let mut rounds: Vec<(f64, f64)> = Vec::new();
        for _ in 0..ROUNDS {
            let ((a, first), (b, second)) = (general(), ours());
            assert_eq!(first, second, "both give the same points");
            rounds.push((a, b));
        }
        let median = |pick: &dyn Fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(pick).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        println!(
            "{:>12} {:>10.1} {:>10.1} {:>12.3}",
            format!("to {longest}"),
            median(&|r| r.0),
            median(&|r| r.1),
            median(&|r| r.1 / r.0)
        );
    }
}

/// Nanoseconds a key, and the sum of the points.
fn time(keys: &[String], point: impl Fn(&[u8]) -> u64) -> (f64, u64) {
    let start = Instant::now();
    let sum = keys.iter().fold(0u64, |sum, key| {
        sum.wrapping_add(point(black_box(key.as_bytes())))
    });
    (start.elapsed().as_nanos() as f64 / keys.len() as f64, sum)
}
