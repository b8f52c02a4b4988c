//! The hash of an adopted ring: a function, perhaps with bytes put around the key, perhaps taken
//! modulo the number of cells.

use std::fmt;
use std::sync::Arc;

use super::function::Function;

/// Bytes that are put before and after every key before it is hashed. OpenStack Swift keeps them
/// secret, so they are never printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Affixes {
    /// Before the key; at most 255 bytes.
    pub prefix: Vec<u8>,
    /// After it; at most 255 bytes.
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
    /// The cell is the key's number modulo the number of cells, instead of the one that the number
    /// falls into.
    pub modulo: bool,
    /// What is put around the key. Not both empty.
    pub affixes: Option<Arc<Affixes>>,
}

/// In the number of a hash: the cell is the remainder.
pub(super) const MODULO: u32 = 0x100;
/// In the number of a hash: there are affixes.
pub(super) const AFFIXED: u32 = 0x200;

impl Adopted {
    pub(super) fn number(&self) -> u32 {
        let modulo = if self.modulo { MODULO } else { 0 };
        let affixed = if self.affixes.is_some() { AFFIXED } else { 0 };
        self.function.number() | modulo | affixed
    }

    /// Hands the key with what is put around it on.
    pub(super) fn around<T>(&self, key: &[u8], take: impl FnOnce(&[u8]) -> T) -> T {
        match &self.affixes {
            None => take(key),
            Some(affixes) => take(&[&affixes.prefix, key, &affixes.suffix].concat()),
        }
    }
}
