//! The four points of 32 bits that a label has on the rings of ketama's family: the words of its
//! MD5.

use super::compile::RingPoint;
use crate::hash::md5;

/// The points of a label: the words of its MD5, each little-endian, in order.
pub(crate) fn points_of<'a>(label: &str, server: u32) -> impl Iterator<Item = RingPoint> + 'a {
    let digest = md5(label.as_bytes());
    let word = move |at: usize| {
        digest
            .iter()
            .skip(4 * at)
            .take(4)
            .rev()
            .fold(0, |word, byte| word << 8 | u128::from(*byte))
    };
    (0..4).map(move |at| (word(at), server))
}
