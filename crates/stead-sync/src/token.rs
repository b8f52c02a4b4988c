//! Names that nobody else uses.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns a text that no other call returns, in no process and at no time. The process id alone is
/// not enough: threads share it, and processes of different containers or hosts that write into one
/// directory may have the same.
pub fn token() -> String {
    // std seeds each of these hashers at random
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{random:016x}", std::process::id())
}
