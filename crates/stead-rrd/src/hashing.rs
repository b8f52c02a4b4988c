//! The hash by which names are found in the router's tables. It differs from run to run, so that
//! nobody can choose names that collide.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;

/// Returns the hash of a name.
pub fn hash_of(name: &[u8]) -> u64 {
    static BUILDER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
    BUILDER.hash_one(name)
}
