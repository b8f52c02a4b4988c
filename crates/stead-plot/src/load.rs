//! Load: how many accesses each node answers, against what its share deserves.

use stead::load::{Reads, Tally};

use crate::canvas::Canvas;
use crate::options::Options;

/// Draws the load of each node by a log of accesses.
pub fn load(tally: &Tally, reads: Reads, options: &Options) -> String {
    let canvas = Canvas::new(options, format!("{}: load", tally.map().name()), &[]);
    canvas.finish(reads.name())
}
