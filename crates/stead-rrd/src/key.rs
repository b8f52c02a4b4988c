//! A file's name as the router's tables find it.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;

/// What finds a file in a table: the hash of its name first, the name last.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The hash of the name. It differs from run to run, so that nobody can choose names that
    /// collide.
    pub hash: u64,
    /// The number of the known file, which no other file ever has, or 0: nothing is known of it.
    pub file: u64,
}

impl Key<'_> {
    /// Returns the key of a file of which nothing is known.
    pub fn of(name: &[u8]) -> Key<'_> {
        let hash = hash_of(name);
        Key {
            name,
            hash,
            file: 0,
        }
    }
}

/// Returns the hash of a name.
pub fn hash_of(name: &[u8]) -> u64 {
    static BUILDER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    BUILDER.hash_one(name)
}
