//! Modulo: what moves when the number of buckets changes and a key goes to `hash mod n`.

use std::num::NonZeroU64;

use crate::canvas::Canvas;
use crate::options::Options;

/// Draws the buckets of the hashes from 0 to `hashes - 1`, for each number of buckets.
pub fn modulo(from: NonZeroU64, to: NonZeroU64, hashes: u64, options: &Options) -> String {
    let title = format!("hash mod n, for n from {from} to {to}");
    Canvas::new(options, title, &[]).finish(&format!("{hashes} hashes"))
}
