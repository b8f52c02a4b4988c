//! The hash of an adopted ring: a function, optionally with a prefix and a suffix around the key,
//! optionally modulo the number of cells.

use std::fmt;
use std::sync::Arc;

use super::function::Function;

/// Bytes that are put before and after every key before it is hashed. OpenStack Swift keeps them
/// secret, so they are never printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Affixes {
    /// The bytes before the key; at most 255.
    pub prefix: Vec<u8>,
    /// The bytes after the key; at most 255.
    pub suffix: Vec<u8>,
}

/// The longest prefix and the longest suffix, in bytes.
pub const AFFIX_MAX: usize = 255;

impl fmt::Debug for Affixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Affixes(..)")
    }
}

/// How an adopted ring hashes its keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adopted {
    /// The function.
    pub function: Function,
    /// Whether the cell is the key's number modulo the number of cells, instead of the cell that
    /// the number falls into.
    pub modulo: bool,
    /// The bytes around the key; at least one of the two is not empty.
    pub affixes: Option<Arc<Affixes>>,
}

/// The bit of a hash's number that says: the cell is the remainder.
pub(super) const MODULO: u32 = 0x100;
/// The bit of a hash's number that says: there are affixes.
pub(super) const AFFIXED: u32 = 0x200;

impl Adopted {
    pub(super) fn number(&self) -> u32 {
        let modulo = if self.modulo { MODULO } else { 0 };
        let affixed = if self.affixes.is_some() { AFFIXED } else { 0 };
        self.function.number() | modulo | affixed
    }

    /// Calls `take` with prefix + key + suffix.
    pub(super) fn around<T>(&self, key: &[u8], take: impl FnOnce(&[u8]) -> T) -> T {
        match &self.affixes {
            None => take(key),
            Some(affixes) => take(&[&affixes.prefix, key, &affixes.suffix].concat()),
        }
    }
}
