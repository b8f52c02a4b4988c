//! Distributions: how many names each node or bucket has.

use crate::canvas::Canvas;
use crate::options::Options;

/// A bucket of a distribution.
#[derive(Clone, PartialEq, Debug)]
pub struct Bucket {
    /// The name.
    pub label: String,
    /// How many names it has.
    pub names: u64,
    /// How many it would have if its share were met exactly.
    pub ideal: f64,
}

/// A distribution of names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Buckets {
    /// What the picture shows, for its title.
    pub title: String,
    /// Lines below the title.
    pub lines: Vec<String>,
    /// The buckets, from left to right.
    pub buckets: Vec<Bucket>,
}

/// Draws how many names each bucket has.
pub fn distribution(of: &Buckets, options: &Options) -> String {
    Canvas::new(options, of.title.clone(), &of.lines).finish("")
}
